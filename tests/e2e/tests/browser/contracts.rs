//! Every contract that the reference server speaks: an answer that is lost, a refusal after silence, a window that has
//! closed. One effect at the most each time, one key, and words to the app that are true.

use std::time::Duration;

use anyhow::Result;
use e2e::bench::Bench;
use e2e::page::Page;
use e2e::told::Settled;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A contract, and what its server makes of the stories.
struct Mode {
    /// The server's path.
    path: &'static str,
    /// The package's export.
    contract: &'static str,
    /// What the app is told of a success that had been lost.
    replay: &'static str,
    /// Does it say that a repeated refusal is the stored one? Elsewhere only the server can tell that nothing happened.
    marks_refusals: bool,
    retention: Duration,
}

impl Mode {
    /// The contract that ships, with the reference server's lookup. Where the key does not stand in a header, the app
    /// asks.
    fn options(&self, scope: &str) -> Value {
        let path = format!("/{}/payments/lookup", self.path);
        if self.path == "square" {
            return json!({ "scope": scope, "contract": self.contract, "reconcile": { "ask": path } });
        }
        let rule = |at: &str, is: &str, then: &str| json!({ "when": { "status": [200], "pointer": { "at": at, "is": [is] } }, "then": then });
        let rules = [rule("/result", "applied", "applied"), rule("/sealed", "true", "not_applied")];
        let lookup = json!({ "method": "POST", "path": path, "rules": rules, "responseAt": "/response" });
        let own = json!({ "extends": self.contract, "id": format!("{}-shop", self.path), "reconcile": lookup });
        json!({ "scope": scope, "contract": own })
    }

    fn payment(&self, order: &str, card: &str) -> Value {
        let body = json!({ "amount": 15_000, "currency": "BRL", "card": card, "order": order });
        json!({
            "operation": "authorize-payment",
            "reference": order,
            "request": { "method": "POST", "url": format!("/{}/payments", self.path), "body": body },
        })
    }

    /// All three stories, in one shop.
    async fn run(&self) -> Result<()> {
        let bench = Bench::start().await?;
        let mut page = bench.page_with(self.options("lost")).await?;
        let paid = self.lost_answer(&bench, &page).await?;
        page.load_again(self.options("refused")).await?;
        let refused = self.refusal_after_silence(&bench, &page).await?;
        page.load_again(self.options("late")).await?;
        let late = self.closed_window(&bench, &page).await?;

        let ledger = bench.shop.ledger()?;
        ledger.assert_one_key_per_intent(&[&paid.intent, &refused.intent, &late.intent]);
        assert_eq!(ledger.tally().effects, 2, "{}: two of the three orders were paid, once each", self.path);
        Ok(())
    }

    async fn lost_answer(&self, bench: &Bench, page: &Page) -> Result<Settled> {
        bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
        let id = page.submit(self.payment("order-1", "tok_visa")).await?.intent.id;
        let settled = page.settled(&id).await?;
        assert_eq!((settled.kind.as_str(), settled.evidence.as_deref()), ("succeeded", Some("reply")), "{settled:?}");
        assert_eq!(settled.replay.as_deref(), Some(self.replay), "{}", self.path);
        let results = settled.intent.results();
        assert_eq!(results.first(), Some(&"network"), "the first answer was lost");
        let resource = settled.answer.as_ref().and_then(|answer| answer.resource.as_ref());
        assert_eq!(resource.is_some(), self.path == "gocardless", "the server's name of what was there already");
        assert_eq!(bench.shop.ledger()?.tally().effects, 1);
        Ok(settled)
    }

    async fn refusal_after_silence(&self, bench: &Bench, page: &Page) -> Result<Settled> {
        bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
        let id = page.submit(self.payment("order-2", "tok_declined")).await?.intent.id;
        let settled = page.settled_by_itself(&id).await?;
        let told = (settled.kind.as_str(), settled.evidence.as_deref());
        if self.marks_refusals {
            assert_eq!(told, ("rejected", Some("stored")), "{}", self.path);
        } else {
            assert_eq!(told, ("not_applied", None), "{}", self.path);
            let standings = page.standings(&id).await?;
            assert!(standings.iter().any(|standing| standing == "held:unresolved"), "{}: {standings:?}", self.path);
        }
        assert!(settled.intent.safe_to_replace, "{}: another card may be tried", self.path);
        assert_eq!(bench.shop.ledger()?.tally().effects, 1, "{}: nobody paid for it", self.path);
        Ok(settled)
    }

    /// Charged, and the answer never comes; the page is opened again when the server has forgotten the key, and would
    /// charge a second time.
    async fn closed_window(&self, bench: &Bench, page: &Page) -> Result<Settled> {
        let wire = bench.shop.ledger()?.tally().wire;
        bench.shop.arm(json!({ "hang_after_commit": 1 })).await?;
        let id = page.submit(self.payment("order-3", "tok_visa")).await?.intent.id;
        e2e::eventually("it is charged", async || Ok((bench.shop.ledger()?.tally().effects == 2).then_some(())))
            .await?;
        let away = self.retention + HOUR;
        bench.shop.advance_clock(away).await?;
        page.set_clock_ahead(away).await?;
        page.reload().await?;
        let settled = page.settled_by_itself(&id).await?;
        let standings = page.standings(&id).await?;
        assert!(standings.iter().any(|standing| standing == "held:window_closed"), "{}: {standings:?}", self.path);
        let told = (settled.kind.as_str(), settled.evidence.as_deref());
        assert_eq!(told, ("succeeded", Some("reconciliation")), "{}", self.path);
        let receipt = settled.answer.as_ref().and_then(|answer| answer.body["id"].as_str());
        assert!(receipt.is_some_and(|id| id.starts_with("pay_")), "{}: the app gets the receipt", self.path);
        assert_eq!(bench.shop.ledger()?.tally().wire, wire + 1, "{}: nothing was sent again", self.path);
        Ok(settled)
    }
}

macro_rules! modes {
    ($($test:ident: $path:literal, $contract:literal, $replay:literal, $marks:literal, $hours:literal;)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $test() -> Result<()> {
            let mode = Mode {
                path: $path,
                contract: $contract,
                replay: $replay,
                marks_refusals: $marks,
                retention: HOUR * $hours,
            };
            mode.run().await
        })*
    };
}

modes! {
    ietf: "ietf", "ietf", "unknown", false, 24;
    stripe: "stripe", "stripe", "replayed", true, 24;
    stripe_v2: "stripe-v2", "stripeV2", "unknown", false, 720;
    adyen: "adyen", "adyen", "unknown", false, 168;
    paypal: "paypal", "paypal", "replayed", false, 6;
    gocardless: "gocardless", "gocardless", "replayed", false, 720;
    square: "square", "square", "unknown", false, 24;
    mollie: "mollie", "mollie", "replayed", true, 1;
}

/// A deploy changes the contract while a payment is pending: the old one goes on as it was sent, the next one as the new
/// contract says (law 2).
#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_changes_the_contract_under_a_pending_payment() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "unavailable": 1, "retry_after_s": 1 })).await?;
    let mut page = bench.page().await?;
    let old = page.submit(crate::payment("order-1")).await?.intent;
    page.reaches(&old.id, "waiting:server_error").await?;
    let rest = json!({ "extends": "ietf", "id": "new", "retentionMs": 7_200_000, "key": { "format": "hex32" } });
    page.load_again(json!({ "contract": rest })).await?;
    let old = page.settled(&old.id).await?.intent;
    let new = page.submit(crate::payment("order-2")).await?.intent;
    let new = page.settled(&new.id).await?.intent;
    assert_eq!((old.state.as_str(), new.state.as_str()), ("succeeded", "succeeded"));
    let ledger = bench.shop.ledger()?;
    ledger.assert_one_key_per_intent(&[&old, &new]);
    let keys: Vec<usize> = ledger.wire().iter().map(|entry| entry.key.as_ref().map_or(0, String::len)).collect();
    assert_eq!(keys, [36, 36, 32], "a dashed UUID twice, then a key of the new kind");
    Ok(())
}
