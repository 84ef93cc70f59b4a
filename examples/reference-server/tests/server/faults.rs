use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::{Answer, Bench, KEY, OTHER_KEY, PAYMENT};

#[tokio::test]
async fn a_dropped_answer_is_not_a_byte_long_and_its_payment_stands() {
    let bench = Bench::start().await;
    bench.arm(json!({ "drop_after_commit": 2 })).await;

    assert_eq!(raw_answer(&bench).await, b"");
    let lost = bench.pay(KEY, PAYMENT).send().await;
    let error = lost.expect_err("a network error");
    assert!(error.is_request() && !error.is_timeout(), "{error:?}");
    let seen = bench.inspect();
    assert_eq!((seen.counters.effects, seen.counters.executions), (1, 1));
    for entry in &seen.wire {
        assert_eq!(entry.fault.as_deref(), Some("drop_after_commit"));
        assert_eq!((entry.answered, entry.status), (false, None));
    }
    assert!(!seen.wire[0].replayed && seen.wire[1].replayed);

    let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((answer.status, answer.echo.as_deref()), (201, Some(KEY)));
    assert_eq!(answer.replayed.as_deref(), Some("true"));
    let counters = bench.inspect().counters;
    assert_eq!((counters.wire, counters.replays), (3, 2));
    assert_eq!((counters.effects, counters.executions), (1, 1));
}

#[tokio::test]
async fn a_request_dropped_before_the_handler_leaves_no_reservation() {
    let bench = Bench::start().await;
    bench.arm(json!({ "drop_before_handler": 1 })).await;
    assert_eq!(raw_answer(&bench).await, b"");
    assert_eq!(bench.inspect().counters.reservations, 0);

    let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((answer.status, answer.replayed), (201, None));
    let seen = bench.inspect();
    assert_eq!(seen.wire[0].fault.as_deref(), Some("drop_before_handler"));
    assert_eq!((seen.counters.wire, seen.counters.effects), (2, 1));
}

#[tokio::test]
async fn an_unavailable_burst_stands_in_front_of_the_reservation() {
    let bench = Bench::start().await;
    bench.arm(json!({ "unavailable": 2, "retry_after_s": 7 })).await;
    for _ in 0..2 {
        let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
        assert_eq!((answer.status, answer.echo.clone()), (503, None));
        assert_eq!(answer.problem(), "unavailable");
        assert_eq!(answer.retry_after.as_deref(), Some("7"));
    }
    assert_eq!(bench.inspect().counters.reservations, 0);
    bench.arm(json!({ "unavailable": 1, "retry_after_s": null })).await;
    let bare = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((bare.status, bare.retry_after), (503, None));

    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((paid.status, paid.replayed), (201, None));
    assert_eq!(bench.inspect().counters.executions, 1);
}

#[tokio::test]
async fn portals_redirects_and_refusals_never_reach_the_handler() {
    let bench = Bench::start().await;
    bench.arm(json!({ "html": 1, "redirect": 1, "unauthorized": 1 })).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let response = bench.pay(KEY, PAYMENT).send().await.expect("an answer");
        statuses.push(response.status().as_u16());
        match statuses.last() {
            Some(200) => assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8"),
            Some(302) => assert_eq!(response.headers()["location"], "/login"),
            _ => assert_eq!(Answer::read(response).await.problem(), "unauthorized"),
        }
    }
    assert_eq!(statuses, [401, 302, 200]);
    let counters = bench.inspect().counters;
    assert_eq!((counters.wire, counters.reservations), (3, 0));
}

#[tokio::test]
async fn a_hanging_answer_is_replayed_to_the_client_that_comes_back() {
    let bench = Bench::start().await;
    bench.arm(json!({ "hang_after_commit": 1 })).await;
    let client = tokio::spawn(bench.pay(KEY, PAYMENT).send());
    bench.until("the commit", |seen| seen.counters.commits == 1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!client.is_finished(), "no answer and no end");
    client.abort();
    let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(answer.replayed.as_deref(), Some("true"));
    let seen = bench.inspect();
    assert_eq!((seen.wire[0].answered, seen.wire[1].answered), (false, true));
    assert_eq!((seen.counters.effects, seen.counters.executions), (1, 1));
}

#[tokio::test]
async fn a_late_answer_is_late_after_its_commit() {
    let bench = Bench::start().await;
    bench.arm(json!({ "delay_ms": 700 })).await;
    let request = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the commit", |seen| seen.counters.commits == 1).await;
    assert!(!request.is_finished(), "the answer waits");
    assert_eq!(request.await.expect("no panic").status, 201);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_cut_the_run() {
    let bench = Bench::start().await;
    bench.arm(json!({ "stall_before_commit_ms": 1_000 })).await;
    let client = tokio::spawn(bench.pay(KEY, PAYMENT).send());
    bench.until("the handler ran", |seen| seen.counters.executions == 1).await;
    client.abort();
    assert_eq!(bench.inspect().counters.commits, 0, "it left before T1");
    bench.until("the commit", |seen| seen.counters.commits == 1).await;
    let seen = bench.inspect();
    assert_eq!(seen.counters.effects, 1);
    assert!(!seen.wire[0].answered);
}

#[tokio::test]
async fn a_handler_past_its_timeout_commits_nothing_and_frees_the_key() {
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_millis(100);
        config.lease = Duration::from_secs(60);
    })
    .await;
    bench.arm(json!({ "stall_handler": 1 })).await;
    let asked = Instant::now();
    let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "cut by its timeout");
    assert_eq!((answer.status, answer.echo.clone()), (503, None));
    assert_eq!(bench.inspect().counters.commits, 0);

    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((paid.status, paid.replayed), (201, None));
    let counters = bench.inspect().counters;
    assert_eq!((counters.executions, counters.commits), (2, 1));
    assert_eq!((counters.effects, counters.takeovers), (1, 0));
}

#[tokio::test]
async fn a_run_that_outlives_its_lease_is_rolled_back_by_its_token() {
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_millis(50);
        config.lease = Duration::from_millis(700);
    })
    .await;
    bench.arm(json!({ "stall_before_commit_ms": 2_000 })).await;
    let paused = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the paused run", |seen| seen.counters.executions == 1).await;
    let early = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(early.status, 409, "the lease holds");
    tokio::time::sleep(Duration::from_millis(800)).await;

    let taken_over = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!((taken_over.status, taken_over.replayed.clone()), (201, None));
    let paused = paused.await.expect("no panic");
    assert_eq!((paused.status, paused.echo.clone()), (409, None));

    let replay = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(replay.body, taken_over.body);
    let counters = bench.inspect().counters;
    assert_eq!((counters.executions, counters.commits), (2, 1));
    assert_eq!((counters.takeovers, counters.stale), (1, 1));
    assert_eq!(counters.effects, 1);
    assert_eq!(counters.already_applied, 0, "the token stopped it, not the belt");
}

/// The same while the new holder is still running: then only the token, not the state, tells the
/// two apart.
#[tokio::test]
async fn a_late_run_cannot_commit_in_place_of_the_run_that_took_over() {
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_millis(50);
        config.lease = Duration::from_millis(200);
    })
    .await;
    bench.arm(json!({ "stall_before_commit_ms": 1_000 })).await;
    let late = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the late run", |seen| seen.counters.executions == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    bench.arm(json!({ "stall_before_commit_ms": 1_500 })).await;
    let holder = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));

    let late = late.await.expect("no panic");
    assert!(!holder.is_finished(), "the holder is still running");
    assert_eq!((late.status, late.echo.clone()), (409, None));
    let holder = holder.await.expect("no panic");
    assert_eq!((holder.status, holder.replayed.clone()), (201, None));
    let counters = bench.inspect().counters;
    assert_eq!((counters.executions, counters.commits), (2, 1));
    assert_eq!((counters.stale, counters.effects), (1, 1));
}

/// The release of a late run must not free the reservation of the run that took over.
#[tokio::test]
async fn a_late_release_leaves_the_new_holder_alone() {
    let flaky = r#"{"amount":1,"currency":"BRL","card":"tok_flaky"}"#;
    let bench = Bench::start_with(|config| {
        config.handler_timeout = Duration::from_secs(1);
        config.lease = Duration::from_secs(60);
    })
    .await;
    bench.arm(json!({ "stall_handler": 1 })).await;
    let late = tokio::spawn(Answer::of(bench.pay(KEY, flaky)));
    bench.until("the stalled run", |seen| seen.counters.executions == 1).await;
    // What a takeover leaves behind, put in by hand: the order of two timers is no test.
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    file.execute("UPDATE reservations SET token = token + 1000", []).expect("an update");
    assert_eq!(late.await.expect("no panic").status, 503);
    let held: i64 = file.query_row("SELECT count(*) FROM reservations", [], |row| row.get(0)).expect("a count");
    assert_eq!(held, 1);
    assert_eq!(bench.inspect().counters.stale, 1);
}

#[tokio::test]
async fn the_echo_can_be_switched_off() {
    let bench = Bench::start().await;
    bench.arm(json!({ "echo": false })).await;
    for _ in 0..2 {
        let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
        assert_eq!((answer.status, answer.echo, answer.replayed), (201, None, None));
    }
    bench.arm(json!({ "echo": true })).await;
    let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(answer.echo.as_deref(), Some(KEY));
    assert_eq!(bench.inspect().counters.replays, 2);
}

#[tokio::test]
async fn switches_add_up_count_down_and_reset() {
    let bench = Bench::start().await;
    bench.arm(json!({ "unavailable": 2 })).await;
    bench.arm(json!({ "retry_after_s": 3 })).await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    let left = get(&bench, "/control/faults").await;
    assert_eq!((&left["unavailable"], &left["retry_after_s"]), (&json!(1), &json!(3)));
    assert_eq!(left["echo"], true);

    for wrong in [json!({ "no_such_switch": 1 }), json!({ "html": -1 })] {
        let request = bench.client.post(bench.url("/control/faults")).json(&wrong);
        assert_eq!(Answer::of(request).await.status, 400);
    }
    assert_eq!(get(&bench, "/control/faults").await, left);

    Answer::of(bench.pay(KEY, PAYMENT)).await;
    Answer::of(bench.pay(OTHER_KEY, PAYMENT)).await;
    let state = get(&bench, "/control/state").await;
    assert_eq!(state, serde_json::to_value(bench.inspect()).expect("JSON"));
    assert_eq!(state["counters"]["effects"], 1);

    bench.arm(json!({ "html": 5 })).await;
    let reset = bench.client.post(bench.url("/control/reset"));
    assert_eq!(Answer::of(reset).await.status, 204);
    let seen = bench.inspect();
    assert!(seen.effects.is_empty() && seen.wire.is_empty());
    assert_eq!(seen.counters.reservations, 0);
    let paid = Answer::of(bench.pay(OTHER_KEY, PAYMENT)).await;
    assert_eq!((paid.status, paid.replayed), (201, None));
}

async fn get(bench: &Bench, path: &str) -> Value {
    let answer = Answer::of(bench.client.get(bench.url(path))).await;
    assert_eq!(answer.status, 200);
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// Everything that comes back on the wire before the connection ends.
async fn raw_answer(bench: &Bench) -> Vec<u8> {
    let mut stream = TcpStream::connect(bench.running.addr).await.expect("a connection");
    let request = format!(
        "POST /payments HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n\
         idempotency-key: {KEY}\r\ncontent-length: {}\r\n\r\n{PAYMENT}",
        PAYMENT.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an orderly end");
    answer
}
