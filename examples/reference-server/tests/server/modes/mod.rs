//! The providers' contracts, each told from beginning to end.

mod contracts;
mod stories;

use reference_server::ledger::Effect;
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use self::contracts::{CONTRACTS, Carriage, Contract, Told};
use crate::bench::Bench;

const KEY: &str = "3f1c9a52-0b5e-4d0b-9f53-6a3f2f1f8a11";

/// A payment with this card, of this much.
fn payment(card: &str, amount: u32) -> Value {
    json!({ "amount": amount, "currency": "BRL", "card": card, "order": "order-842" })
}

/// An answer as a client hears it.
#[derive(Debug, Clone)]
struct Heard {
    status: u16,
    headers: HeaderMap,
    bytes: Vec<u8>,
    body: Value,
}

impl Heard {
    async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.expect("a whole body").to_vec();
        let body = serde_json::from_slice(&bytes).expect("JSON");
        Self { status, headers, bytes, body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    fn at(&self, pointer: &str) -> Option<&str> {
        self.body.pointer(pointer).map(|value| value.as_str().expect("a text"))
    }

    fn marked(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    #[track_caller]
    fn assert(&self, contract: &Contract, told: Told) {
        let Told(status, headers, members) = told;
        assert_eq!(self.status, status, "{}: {:?}", contract.name, self.body);
        for (name, value) in headers {
            assert_eq!(self.header(name).unwrap_or_default(), *value, "{}: {name}", contract.name);
        }
        for (pointer, value) in members {
            let found = self.body.pointer(pointer).map(|found| found.as_str().unwrap_or("no text"));
            assert_eq!(found.unwrap_or_default(), *value, "{}: {pointer} in {}", contract.name, self.body);
        }
    }
}

impl Contract {
    fn url(&self, bench: &Bench, path: &str) -> String {
        bench.url(&format!("/{}{path}", self.name))
    }

    /// `POST /{name}/payments` with the key where this contract has it.
    fn pay(&self, bench: &Bench, key: &str, payment: &Value) -> RequestBuilder {
        let post = bench.client.post(self.url(bench, "/payments")).header("content-type", "application/json");
        match self.carriage {
            Carriage::Raw(name) => post.header(name, key).body(payment.to_string()),
            Carriage::Quoted(name) => post.header(name, format!("\"{key}\"")).body(payment.to_string()),
            Carriage::Member(name) => {
                let mut payment = payment.clone();
                payment[name] = json!(key);
                post.body(payment.to_string())
            }
        }
    }

    async fn paid(&self, bench: &Bench, key: &str, payment: &Value) -> Heard {
        let heard = Heard::of(self.pay(bench, key, payment)).await;
        assert_eq!(heard.status, self.first, "{}: {}", self.name, heard.body);
        assert_eq!((heard.at("/status"), heard.marked()), (Some("paid"), false), "{}", self.name);
        heard
    }

    fn effects(&self, bench: &Bench) -> Vec<Effect> {
        bench.inspect().effects.into_iter().filter(|effect| effect.mode == self.name).collect()
    }
}

async fn advance(bench: &Bench, seconds: u64) {
    let request = bench.client.post(bench.url("/control/clock")).json(&json!({ "advance_ms": seconds * 1_000 }));
    assert_eq!(Heard::of(request).await.status, 200);
}
