//! The clock that the test bench may set forward.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::bench::{Answer, Bench, KEY, PAYMENT};

const HOUR_MS: u64 = 60 * 60 * 1_000;

#[tokio::test]
async fn time_passes_for_dates_records_and_retention_and_a_reset_takes_it_back() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    let set = advance(&bench, json!({ "advance_ms": 23 * HOUR_MS })).await.expect("it moves");
    assert_eq!(set["ahead_ms"], 23 * HOUR_MS);
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.replayed.as_deref(), Some("true"));
    let set = advance(&bench, json!({ "advance_ms": 2 * HOUR_MS })).await.expect("it moves further");
    assert_eq!(set["ahead_ms"], 25 * HOUR_MS);

    for path in ["/health", "/payments", "/nothing/here", "/control/state"] {
        let ahead = date_ahead(&bench, path).await;
        assert!((24 * HOUR_MS..26 * HOUR_MS).contains(&ahead), "{path}: {ahead}");
    }
    let expired = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((expired.status, expired.problem().as_str()), (410, "key-expired"));
    let seen = bench.inspect();
    let passed = seen.wire.last().expect("a request").at_ms - seen.wire[0].at_ms;
    assert!(passed >= i64::try_from(25 * HOUR_MS).expect("a day"), "{passed}");
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    let swept = "SELECT count(*) FROM reservations WHERE state = 'tombstone' AND body IS NULL";
    assert_eq!(file.query_row(swept, [], |row| row.get(0)), Ok(1), "swept at the new time");

    Answer::of(bench.client.post(bench.url("/control/reset"))).await;
    assert!(date_ahead(&bench, "/health").await < HOUR_MS);
    let stands: Value =
        bench.client.get(bench.url("/control/clock")).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(stands["ahead_ms"], 0);
}

#[tokio::test]
async fn a_lease_ends_when_the_clock_says_so() {
    let bench = Bench::start_with(|config| config.lease = Duration::from_secs(3_600)).await;
    bench.arm(json!({ "stall_before_commit_ms": 1_200 })).await;
    let paused = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the paused run", |seen| seen.counters.executions == 1).await;
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 409);
    advance(&bench, json!({ "advance_ms": HOUR_MS })).await.expect("it moves");
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 201);
    assert_eq!(paused.await.expect("no panic").status, 409);
    let counters = bench.inspect().counters;
    assert_eq!((counters.takeovers, counters.stale, counters.effects), (1, 1, 1));
}

#[tokio::test]
async fn it_never_goes_back_too_far_ahead_or_anywhere_without_control() {
    let bench = Bench::start().await;
    for wrong in
        [json!({ "advance_ms": -1 }), json!({ "advance_ms": 1, "by": 2 }), json!({}), json!({ "advance_ms": u64::MAX })]
    {
        assert!(advance(&bench, wrong).await.is_none());
    }
    assert!(date_ahead(&bench, "/health").await < HOUR_MS);
    let closed = Bench::start_with(|config| config.control = false).await;
    assert!(advance(&closed, json!({ "advance_ms": 24 * HOUR_MS })).await.is_none());
    assert!(date_ahead(&closed, "/health").await < HOUR_MS);
}

/// `None` if it was refused.
async fn advance(bench: &Bench, body: Value) -> Option<Value> {
    let answer = bench.client.post(bench.url("/control/clock")).json(&body).send().await.expect("an answer");
    if !answer.status().is_success() {
        return None;
    }
    Some(answer.json().await.expect("JSON"))
}

/// How far the answer's `Date` is ahead of this machine's clock.
async fn date_ahead(bench: &Bench, path: &str) -> u64 {
    let answer = bench.client.get(bench.url(path)).send().await.expect("an answer");
    let date = answer.headers()["date"].to_str().expect("ASCII");
    let date = httpdate::parse_http_date(date).expect("an HTTP date");
    let ahead = date.duration_since(SystemTime::now()).unwrap_or_default();
    u64::try_from(ahead.as_millis()).expect("a few days")
}
