use std::path::PathBuf;
use std::time::Duration;

use reference_server::ledger::{Inspection, inspect};
use reference_server::{Config, Running, start};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const KEY: &str = "0123456789abcdef-one";
pub(crate) const OTHER_KEY: &str = "0123456789abcdef-two";
pub(crate) const PAYMENT: &str = r#"{"amount":4200,"currency":"BRL","card":"tok_visa","order":"order-842"}"#;
pub(crate) const OTHER_PAYMENT: &str = r#"{"amount":9900,"currency":"BRL","card":"tok_visa","order":"order-842"}"#;
pub(crate) const DECLINED: &str = r#"{"amount":4200,"currency":"BRL","card":"tok_declined"}"#;
pub(crate) const FLAKY: &str = r#"{"amount":4200,"currency":"BRL","card":"tok_flaky"}"#;

/// Longer than anything here takes, shorter than anyone's patience.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// A server with its file, and a client.
pub(crate) struct Bench {
    pub(crate) running: Running,
    pub(crate) config: Config,
    pub(crate) client: Client,
    _dir: TempDir,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = TempDir::new().expect("a directory");
        let mut config = Config { database: dir.path().join("payments.sqlite"), control: true, ..Config::default() };
        change(&mut config);
        Self { running: start(config.clone()).await.expect("a server"), config, client: client(), _dir: dir }
    }

    /// Stops the server and starts another on the same file.
    pub(crate) async fn restart(mut self) -> Self {
        self.running.stop().await;
        self.running = start(self.config.clone()).await.expect("a server");
        self
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.addr)
    }

    pub(crate) fn pay(&self, key: &str, body: &'static str) -> RequestBuilder {
        pay(&self.client, &self.url("/payments"), key, body)
    }

    pub(crate) async fn arm(&self, switches: Value) {
        arm(&self.client, &self.url("/control/faults"), switches).await;
    }

    pub(crate) fn inspect(&self) -> Inspection {
        inspect(&self.config.database).expect("a server's file")
    }

    /// Waits for the file to say so.
    pub(crate) async fn until(&self, what: &str, reached: impl Fn(&Inspection) -> bool) {
        for _ in 0..400 {
            if reached(&self.inspect()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never reached: {what}; {:?}", self.inspect());
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.config.database.clone()
    }
}

pub(crate) fn client() -> Client {
    Client::builder().timeout(CLIENT_TIMEOUT).redirect(reqwest::redirect::Policy::none()).build().expect("a client")
}

pub(crate) fn pay(client: &Client, url: &str, key: &str, body: &'static str) -> RequestBuilder {
    client.post(url).header("content-type", "application/json").header("idempotency-key", key).body(body)
}

pub(crate) async fn arm(client: &Client, url: &str, switches: Value) {
    let armed = client.post(url).json(&switches).send().await;
    assert_eq!(armed.expect("an answer").status(), StatusCode::NO_CONTENT);
}

/// What a test compares of an answer.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) echo: Option<String>,
    pub(crate) replayed: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self::read(request.send().await.expect("an answer")).await
    }

    pub(crate) async fn read(response: Response) -> Self {
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().expect("ASCII").to_owned())
        };
        Self {
            status: response.status().as_u16(),
            content_type: header("content-type"),
            echo: header("idempotency-key"),
            replayed: header("idempotent-replayed"),
            retry_after: header("retry-after"),
            body: response.bytes().await.expect("a whole body").to_vec(),
        }
    }

    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.content_type.as_deref(), Some("application/problem+json"));
        let problem: Value = serde_json::from_slice(&self.body).expect("JSON");
        assert_eq!(problem["status"], self.status);
        let kind = problem["type"].as_str().expect("a type");
        kind.strip_prefix("urn:intento:problem:").expect("one of our problems").to_owned()
    }
}
