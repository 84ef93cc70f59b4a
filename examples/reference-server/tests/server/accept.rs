use std::time::Duration;

use reference_server::ledger::Inspection;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, DECLINED, FLAKY, KEY, OTHER_KEY, PAYMENT};

/// Long enough for a few requests in between.
const ACCEPT_MS: u64 = 1_500;

#[tokio::test]
async fn an_accepted_payment_is_made_later_once_and_its_status_tells() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": ACCEPT_MS })).await;
    let accepted = bench.pay(KEY, PAYMENT).send().await.expect("an answer");
    assert_eq!(accepted.headers()["location"], "/payments/status");
    assert_processing(&Answer::read(accepted).await);
    assert_processing(&Answer::of(status(&bench, KEY)).await);
    let repeated = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((repeated.status, repeated.echo.clone()), (409, None));
    assert_eq!(repeated.problem(), "in-progress");
    assert_eq!(bench.inspect().counters.commits, 0, "all of that was before T1");

    bench.until("the commit", committed).await;
    let polled = Answer::of(status(&bench, KEY)).await;
    assert_eq!((polled.status, polled.echo.as_deref()), (201, Some(KEY)));
    assert_eq!(polled.replayed.as_deref(), Some("true"));
    let replay = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(polled, replay);

    let seen = bench.inspect();
    let receipt: Value = serde_json::from_slice(&polled.body).expect("JSON");
    assert_eq!(receipt["id"], seen.effects[0].id);
    assert_eq!((seen.counters.executions, seen.counters.effects), (1, 1));
    assert_eq!((seen.counters.conflicts, seen.counters.replays), (1, 1));
    let faults: Vec<_> = seen.wire.iter().map(|entry| entry.fault.as_deref()).collect();
    assert_eq!(faults, [Some("accept_ms"), None, None], "no line for a poll");
}

#[tokio::test]
async fn a_run_longer_than_the_handler_timeout_is_not_cut() {
    let bench = Bench::start_with(|config| config.handler_timeout = Duration::from_millis(50)).await;
    bench.arm(json!({ "accept_ms": 400 })).await;
    assert_processing(&Answer::of(bench.pay(KEY, PAYMENT)).await);
    bench.until("the commit", committed).await;
    assert_eq!(Answer::of(status(&bench, KEY)).await.status, 201);
}

#[tokio::test]
async fn the_switch_stays_until_it_is_set_to_zero() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": 1 })).await;
    for key in [KEY, OTHER_KEY] {
        assert_eq!(Answer::of(bench.pay(key, PAYMENT)).await.status, 202);
    }
    let armed = bench.client.get(bench.url("/control/faults")).send().await.expect("an answer");
    let armed: Value = armed.json().await.expect("JSON");
    assert_eq!(armed["accept_ms"], 1);
    bench.arm(json!({ "accept_ms": 0 })).await;
    let paid = Answer::of(bench.pay("0123456789abcdef-three", PAYMENT)).await;
    assert_eq!(paid.status, 201);
}

#[tokio::test]
async fn one_callers_status_says_nothing_of_anothers() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": ACCEPT_MS })).await;
    let quoted = format!("\"{KEY}\"");
    assert_processing(&Answer::of(bench.pay(KEY, PAYMENT).bearer_auth("user:ana")).await);
    assert_processing(&Answer::of(status(&bench, &quoted).bearer_auth("user:ana")).await);
    assert_unknown(&Answer::of(status(&bench, KEY).bearer_auth("user:bia")).await);

    bench.until("the commit", committed).await;
    let ana = Answer::of(status(&bench, &quoted).bearer_auth("user:ana")).await;
    assert_eq!((ana.status, ana.echo), (201, Some(quoted)));
    assert_unknown(&Answer::of(status(&bench, KEY).bearer_auth("user:bia")).await);
    assert_unknown(&Answer::of(status(&bench, KEY)).await);
    let stranger = Answer::of(status(&bench, KEY).bearer_auth("ana")).await;
    assert_eq!((stranger.status, stranger.problem().as_str()), (401, "unauthorized"));
}

#[tokio::test]
async fn asking_for_an_unknown_key_leaves_it_unused() {
    let bench = Bench::start().await;
    assert_unknown(&Answer::of(status(&bench, KEY)).await);
    let counters = bench.inspect().counters;
    assert_eq!((counters.wire, counters.reservations), (0, 0));
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    let reserved: i64 = file.query_row("SELECT count(*) FROM reservations", [], |row| row.get(0)).expect("a count");
    assert_eq!(reserved, 0);
    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((paid.status, paid.replayed), (201, None));
}

#[tokio::test]
async fn a_status_needs_exactly_one_good_key() {
    let bench = Bench::start().await;
    let keyless = Answer::of(bench.client.get(bench.url("/payments/status"))).await;
    assert_eq!((keyless.status, keyless.problem().as_str()), (400, "key-missing"));
    for request in [status(&bench, "short"), status(&bench, KEY).header("idempotency-key", KEY)] {
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.echo.clone()), (400, None));
        assert_eq!(answer.problem(), "key-malformed");
    }
}

#[tokio::test]
async fn an_accepted_payment_may_be_declined() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": 100 })).await;
    assert_processing(&Answer::of(bench.pay(KEY, DECLINED)).await);
    bench.until("the commit", committed).await;
    let declined = Answer::of(status(&bench, KEY)).await;
    assert_eq!((declined.status, declined.echo.as_deref()), (402, Some(KEY)));
    assert_eq!(declined.replayed.as_deref(), Some("true"));
    assert_eq!(declined.problem(), "declined");
    assert_eq!(declined, Answer::of(bench.pay(KEY, DECLINED)).await);
    assert_eq!(bench.inspect().counters.effects, 0);
}

#[tokio::test]
async fn an_accepted_payment_that_fails_for_the_moment_frees_its_key() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": 100 })).await;
    assert_processing(&Answer::of(bench.pay(KEY, FLAKY)).await);
    for _ in 0..400 {
        if Answer::of(status(&bench, KEY)).await.status != 202 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_unknown(&Answer::of(status(&bench, KEY)).await);
    assert_eq!(bench.inspect().counters.commits, 0);
}

#[tokio::test]
async fn an_expired_answer_is_gone_for_its_status_too_and_a_tombstone_likewise() {
    let bench = Bench::start_with(|config| config.retention = Duration::from_millis(1)).await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let before_sweep = Answer::of(status(&bench, KEY)).await;
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    let swept = "UPDATE reservations SET state = 'tombstone', status = NULL, content_type = NULL, body = NULL";
    assert_eq!(file.execute(swept, []), Ok(1));
    let after_sweep = Answer::of(status(&bench, KEY)).await;
    for gone in [before_sweep, after_sweep] {
        assert_eq!((gone.status, gone.echo.clone()), (410, None));
        assert_eq!(gone.problem(), "key-expired");
    }
}

/// A poll must not take over what only a payment may take over.
#[tokio::test]
async fn a_status_after_the_lease_changes_nothing_and_a_payment_takes_over() {
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_millis(50);
        config.lease = Duration::from_millis(200);
    })
    .await;
    bench.arm(json!({ "accept_ms": 2_000 })).await;
    assert_processing(&Answer::of(bench.pay(KEY, PAYMENT)).await);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_processing(&Answer::of(status(&bench, KEY)).await);
    assert_eq!(bench.inspect().counters.takeovers, 0);

    bench.arm(json!({ "accept_ms": 0 })).await;
    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((paid.status, paid.replayed), (201, None));
    bench.until("the late run's end", |seen| seen.counters.stale == 1).await;
    let polled = Answer::of(status(&bench, KEY)).await;
    assert_eq!(polled.body, paid.body);
    let counters = bench.inspect().counters;
    assert_eq!((counters.takeovers, counters.commits, counters.effects), (1, 1, 1));
}

#[tokio::test]
async fn a_page_may_poll_and_read_what_it_needs_and_nobody_caches_it() {
    let shop = "http://127.0.0.1:5173";
    let bench = Bench::start_with(|config| config.allowed_origins.push(shop.to_owned())).await;
    let preflight = bench
        .client
        .request(Method::OPTIONS, bench.url("/payments/status"))
        .header("origin", shop)
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization,idempotency-key");
    let preflight = preflight.send().await.expect("an answer");
    let allowed = |name: &str| preflight.headers()[name].to_str().expect("ASCII").to_ascii_lowercase();
    assert_eq!(allowed("access-control-allow-origin"), shop);
    assert!(allowed("access-control-allow-methods").contains("get"));
    for header in ["authorization", "idempotency-key"] {
        assert!(allowed("access-control-allow-headers").contains(header));
    }

    bench.arm(json!({ "accept_ms": 100 })).await;
    let accepted = bench.pay(KEY, PAYMENT).header("origin", shop).send().await.expect("an answer");
    let polled = status(&bench, KEY).header("origin", shop).send().await.expect("an answer");
    assert_eq!(polled.headers()["cache-control"], "no-store");
    for answer in [accepted, polled] {
        assert_eq!(answer.headers()["access-control-allow-origin"], shop);
        let exposed = answer.headers()["access-control-expose-headers"].to_str().expect("ASCII");
        for header in ["location", "retry-after", "idempotency-key", "idempotent-replayed"] {
            assert!(exposed.contains(header), "{exposed}");
        }
    }
}

fn status(bench: &Bench, key: &str) -> RequestBuilder {
    bench.client.get(bench.url("/payments/status")).header("idempotency-key", key)
}

fn committed(seen: &Inspection) -> bool {
    seen.counters.commits == 1
}

fn assert_processing(answer: &Answer) {
    assert_eq!((answer.status, &answer.echo, &answer.replayed), (202, &None, &None));
    assert_eq!(answer.content_type.as_deref(), Some("application/json"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));
    assert_eq!(answer.body, br#"{"status":"processing"}"#);
}

fn assert_unknown(answer: &Answer) {
    assert_eq!((answer.status, &answer.echo), (404, &None));
    assert_eq!(answer.problem(), "unknown-key");
}
