//! The last word on a payment, and the seal that makes it last.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, DECLINED, FLAKY, KEY, OTHER_KEY, OTHER_PAYMENT, PAYMENT};

const MODES: [&str; 9] =
    ["", "/ietf", "/stripe", "/stripe-v2", "/adyen", "/paypal", "/gocardless", "/square", "/mollie"];
const LOST_REPLY: &str = r#"{"amount":4200,"currency":"BRL","card":"tok_lost_reply"}"#;
const LOST_REQUEST: &str = r#"{"amount":4200,"currency":"BRL","card":"tok_lost_request"}"#;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

#[tokio::test]
async fn a_payment_made_is_told_with_its_answer_and_stays_replayable() {
    let bench = Bench::start().await;
    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    for key in [KEY.to_owned(), format!("\"{KEY}\"")] {
        let found = found(lookup(&bench, "", &key)).await;
        let body: Value = serde_json::from_slice(&paid.body).expect("JSON");
        assert_eq!(found, json!({ "result": "applied", "response": { "status": 201, "body": body } }));
    }
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.replayed.as_deref(), Some("true"));
    let seen = bench.inspect();
    assert_eq!((seen.counters.wire, seen.counters.executions), (2, 1), "a lookup is no request to pay");
}

#[tokio::test]
async fn a_lookup_before_the_request_seals_the_key_in_every_contract() {
    for mode in MODES {
        let bench = Bench::start().await;
        for _ in 0..2 {
            let found = found(lookup(&bench, mode, KEY)).await;
            assert_eq!(found, json!({ "result": "not_applied", "sealed": true }), "{mode}");
        }
        // Also after every retention and every horizon.
        for days in [0, 1, 30, 90] {
            advance(&bench, days * DAY_MS).await;
            for body in [PAYMENT, OTHER_PAYMENT] {
                let late = pay(&bench, mode, KEY, body).send().await.expect("an answer");
                assert_eq!(late.status(), 410, "{mode} after {days} days more");
            }
        }
        let seen = bench.inspect();
        assert_eq!((seen.counters.executions, seen.counters.effects, seen.counters.sealed), (0, 0, 8), "{mode}");
        assert_eq!(found(lookup(&bench, mode, KEY)).await["result"], "not_applied");
    }
}

#[tokio::test]
async fn a_sealed_key_has_a_problem_of_its_own_kept_under_the_key() {
    let bench = Bench::start().await;
    found(lookup(&bench, "", KEY)).await;
    let late = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((late.status, late.problem().as_str(), late.echo.as_deref()), (410, "key-sealed", Some(KEY)));
    let status = bench.client.get(bench.url("/payments/status")).header("idempotency-key", KEY);
    assert_eq!(Answer::of(status).await.problem(), "key-sealed");
    assert_eq!(Answer::of(bench.pay(OTHER_KEY, PAYMENT)).await.status, 201);
}

#[tokio::test]
async fn a_running_payment_is_in_progress_not_sealed_and_ends_as_it_would_have() {
    let bench = Bench::start().await;
    bench.arm(json!({ "stall_before_commit_ms": 700 })).await;
    let running = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the run", |seen| seen.counters.executions == 1).await;
    assert_eq!(found(lookup(&bench, "", KEY)).await, json!({ "result": "in_progress" }));
    assert_eq!(running.await.expect("no panic").status, 201);
    assert_eq!(found(lookup(&bench, "", KEY)).await["result"], "applied");
    assert_eq!(bench.inspect().counters.effects, 1);
}

/// Lookups and requests to pay, all at once: whichever transaction is first decides for all.
#[tokio::test]
async fn in_a_race_a_seal_and_a_payment_exclude_each_other() {
    let bench = Bench::start().await;
    let (mut sealed, mut paid) = (0, 0);
    for round in 0..24 {
        let key = format!("0123456789abcdef-{round}");
        let pays = (0..3).map(|_| tokio::spawn(Answer::of(bench.pay(&key, PAYMENT)))).collect::<Vec<_>>();
        let lookups = (0..3).map(|_| tokio::spawn(found(lookup(&bench, "", &key)))).collect::<Vec<_>>();
        let (mut statuses, mut results) = (Vec::new(), Vec::new());
        for pay in pays {
            statuses.push(pay.await.expect("no panic").status);
        }
        for lookup in lookups {
            results.push(lookup.await.expect("no panic")["result"].clone());
        }
        let said_never = results.contains(&json!("not_applied"));
        assert_eq!(said_never, statuses.iter().all(|status| *status == 410), "{statuses:?} {results:?}");
        if said_never { sealed += 1 } else { paid += 1 }
    }
    assert_eq!(bench.inspect().counters.effects, paid);
    assert_eq!(sealed + paid, 24);
}

#[tokio::test]
async fn a_run_that_outlives_its_lease_loses_to_the_seal() {
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_millis(50);
        config.lease = Duration::from_millis(200);
    })
    .await;
    bench.arm(json!({ "stall_before_commit_ms": 900 })).await;
    let late = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the run", |seen| seen.counters.executions == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(found(lookup(&bench, "", KEY)).await, json!({ "result": "not_applied", "sealed": true }));
    assert_ne!(late.await.expect("no panic").status, 201);
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 410);
    let counters = bench.inspect().counters;
    assert_eq!((counters.effects, counters.commits, counters.stale), (0, 0, 1));
}

#[tokio::test]
async fn a_refusal_is_not_applied_with_its_answer_and_stays_so_where_it_would_run_again() {
    for mode in MODES {
        let bench = Bench::start().await;
        bench.arm(json!({ "decline": 1 })).await;
        let declined = pay(&bench, mode, KEY, PAYMENT).send().await.expect("an answer");
        let status = declined.status().as_u16();
        let body: Value = declined.json().await.expect("JSON");
        let told = json!({ "result": "not_applied", "sealed": true, "response": { "status": status, "body": body } });
        assert_eq!(found(lookup(&bench, mode, KEY)).await, told, "{mode}");

        let again = pay(&bench, mode, KEY, PAYMENT).send().await.expect("an answer");
        assert_eq!(again.status(), status, "{mode}: the refusal, not a run");
        advance(&bench, 40 * DAY_MS).await;
        let late = pay(&bench, mode, KEY, PAYMENT).send().await.expect("an answer");
        assert_eq!(late.status(), 410, "{mode}: sealed past its retention");
        assert_eq!(bench.inspect().counters.effects, 0, "{mode}");
    }
}

#[tokio::test]
async fn a_lost_reply_is_unknown_and_nothing_is_sealed() {
    for mode in MODES {
        let bench = Bench::start().await;
        for (key, body) in [(KEY, LOST_REPLY), (OTHER_KEY, LOST_REQUEST)] {
            let lost = pay(&bench, mode, key, body).send().await.expect("an answer");
            assert_eq!(lost.status(), 500, "{mode}");
            for days in [0, 31, 90] {
                advance(&bench, days * DAY_MS).await;
                assert_eq!(found(lookup(&bench, mode, key)).await, json!({ "result": "unknown" }), "{mode}");
            }
        }
    }
}

#[tokio::test]
async fn an_effect_is_applied_for_good_whatever_is_forgotten_of_its_key() {
    for mode in MODES {
        let bench = Bench::start().await;
        let paid = pay(&bench, mode, KEY, PAYMENT).send().await.expect("an answer");
        let status = paid.status().as_u16();
        let body: Value = paid.json().await.expect("JSON");
        let told = json!({ "result": "applied", "response": { "status": status, "body": body } });
        // Replayable, expired, swept, and with its tombstone gone.
        for days in [0, 31, 1, 40] {
            advance(&bench, days * DAY_MS).await;
            assert_eq!(found(lookup(&bench, mode, KEY)).await, told, "{mode} after {days} days more");
        }
        assert_eq!(bench.inspect().counters.effects, 1);
    }
}

#[tokio::test]
async fn a_failure_of_the_moment_is_sealed_like_nothing_at_all() {
    let bench = Bench::start().await;
    assert_eq!(Answer::of(bench.pay(KEY, FLAKY)).await.status, 503);
    assert_eq!(found(lookup(&bench, "", KEY)).await, json!({ "result": "not_applied", "sealed": true }));
    assert_eq!(Answer::of(bench.pay(KEY, FLAKY)).await.status, 410);
}

#[tokio::test]
async fn one_callers_lookup_neither_tells_nor_seals_anothers() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT).bearer_auth("user:ana")).await;
    let bia = found(lookup(&bench, "", KEY).bearer_auth("user:bia")).await;
    assert_eq!(bia, json!({ "result": "not_applied", "sealed": true }));
    assert_eq!(found(lookup(&bench, "", KEY).bearer_auth("user:ana")).await["result"], "applied");
    assert_eq!(found(lookup(&bench, "/stripe", KEY).bearer_auth("user:ana")).await["result"], "not_applied");
    assert_eq!(Answer::of(bench.pay(KEY, DECLINED)).await.status, 402, "a guest's is free");

    let stranger = Answer::of(lookup(&bench, "", KEY).bearer_auth("ana")).await;
    assert_eq!((stranger.status, stranger.problem().as_str()), (401, "unauthorized"));
    let keyless = Answer::of(bench.client.post(bench.url("/payments/lookup"))).await;
    assert_eq!((keyless.status, keyless.problem().as_str()), (400, "key-missing"));
    let twice = Answer::of(lookup(&bench, "", KEY).header("idempotency-key", KEY)).await;
    assert_eq!((twice.status, twice.problem().as_str()), (400, "key-malformed"));
}

#[tokio::test]
async fn a_lookup_may_carry_the_key_in_the_payments_own_header_and_nobody_caches_it() {
    let bench = Bench::start().await;
    pay(&bench, "/paypal", KEY, PAYMENT).send().await.expect("an answer");
    let url = bench.url("/paypal/payments/lookup");
    let found = bench.client.post(url).header("paypal-request-id", KEY).send().await.expect("an answer");
    assert_eq!(found.headers()["cache-control"], "no-store");
    assert_eq!(found.json::<Value>().await.expect("JSON")["result"], "applied");
}

/// `POST {mode}/payments`, with the key in every place where some contract looks for it.
fn pay(bench: &Bench, mode: &str, key: &str, body: &str) -> RequestBuilder {
    let mut payment: Value = serde_json::from_str(body).expect("JSON");
    payment["idempotency_key"] = json!(key);
    let header = if mode == "/ietf" { format!("\"{key}\"") } else { key.to_owned() };
    let post = bench.client.post(bench.url(&format!("{mode}/payments")));
    post.header("idempotency-key", header).header("paypal-request-id", key).json(&payment)
}

fn lookup(bench: &Bench, mode: &str, key: &str) -> RequestBuilder {
    bench.client.post(bench.url(&format!("{mode}/payments/lookup"))).header("idempotency-key", key)
}

async fn found(request: RequestBuilder) -> Value {
    let response = request.send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/json".parse().expect("a value"))
    );
    response.json().await.expect("JSON")
}

async fn advance(bench: &Bench, ms: u64) {
    let request = bench.client.post(bench.url("/control/clock")).json(&json!({ "advance_ms": ms }));
    assert_eq!(request.send().await.expect("an answer").status(), 200);
}
