use std::time::Duration;

use reference_server::start;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, DECLINED, FLAKY, KEY, OTHER_KEY, OTHER_PAYMENT, PAYMENT, pay};

#[tokio::test]
async fn a_repetition_gets_the_stored_bytes_with_marker_and_echo() {
    let bench = Bench::start().await;
    let first = Answer::of(bench.pay(KEY, PAYMENT)).await;
    let again = Answer::of(bench.pay(KEY, PAYMENT)).await;

    assert_eq!(first.status, 201);
    let receipt: Value = serde_json::from_slice(&first.body).expect("JSON");
    assert_eq!(receipt["status"], "paid");
    assert_eq!(receipt["amount"], 4200);
    assert_eq!(first.echo.as_deref(), Some(KEY));
    assert_eq!(first.replayed, None);
    let replay = Answer { replayed: Some("true".to_owned()), ..first };
    assert_eq!(again, replay);

    let seen = bench.inspect();
    assert_eq!(seen.effects.len(), 1);
    assert_eq!(seen.effects[0].id, receipt["id"]);
    assert_eq!(seen.effects[0].order.as_deref(), Some("order-842"));
    assert_eq!(seen.counters.wire, 2);
    assert_eq!(seen.counters.reservations, 1);
    assert_eq!(seen.counters.executions, 1);
    assert_eq!(seen.counters.commits, 1);
    assert_eq!(seen.counters.replays, 1);
    assert_eq!(seen.wire[0].status, Some(201));
    assert!(!seen.wire[0].replayed && seen.wire[1].replayed);
    assert!(seen.wire[0].answered && seen.wire[1].answered);
    assert_eq!(seen.wire[0].body_sha256, seen.wire[1].body_sha256);
    assert_eq!(seen.wire[1].key.as_deref(), Some(KEY));
    assert_eq!(seen.wire[1].key_hash.as_deref(), Some(seen.effects[0].key_hash.as_str()));
}

#[tokio::test]
async fn raw_and_quoted_name_the_same_key_and_are_echoed_as_sent() {
    let bench = Bench::start().await;
    let quoted = format!("\"{KEY}\"");
    let first = Answer::of(bench.pay(&quoted, PAYMENT)).await;
    let again = Answer::of(bench.pay(KEY, PAYMENT)).await;

    assert_eq!(first.echo, Some(quoted));
    assert_eq!(again.echo.as_deref(), Some(KEY));
    assert_eq!(again.replayed.as_deref(), Some("true"));
    assert_eq!(bench.inspect().counters.executions, 1);
}

#[tokio::test]
async fn thirty_two_requests_at_two_servers_run_once_and_converge() {
    let bench = Bench::start().await;
    let second = start(bench.config.clone()).await.expect("a second server");
    let url = |index: usize| match index % 2 {
        0 => bench.url("/payments"),
        _ => format!("http://{}/payments", second.addr),
    };
    // Slow enough that others arrive while the first is running.
    bench.arm(json!({ "stall_before_commit_ms": 400 })).await;
    let requests: Vec<_> = (0..32)
        .map(|index| {
            let request = pay(&bench.client, &url(index), KEY, PAYMENT);
            tokio::spawn(Answer::of(request))
        })
        .collect();
    let (mut fresh, mut bodies) = (0, Vec::new());
    for request in requests {
        let answer = request.await.expect("no panic");
        match (answer.status, answer.replayed.is_some()) {
            (409, false) => {
                assert_eq!(answer.problem(), "in-progress");
                assert_eq!(answer.retry_after.as_deref(), Some("1"));
                assert_eq!(answer.echo, None);
            }
            (201, replayed) => {
                fresh += usize::from(!replayed);
                bodies.push(answer.body);
            }
            _ => panic!("{answer:?}"),
        }
    }
    let last = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(last.replayed.as_deref(), Some("true"));
    assert_eq!(fresh, 1);
    assert!(bodies.iter().all(|body| *body == last.body));

    let counters = bench.inspect().counters;
    assert_eq!(counters.wire, 33);
    assert_eq!(counters.reservations, 1);
    assert_eq!(counters.executions, 1);
    assert_eq!(counters.commits, 1);
    assert_eq!(counters.effects, 1);
    assert_eq!(counters.conflicts + counters.replays, 32);
    assert!(counters.conflicts > 0, "nobody met the run in progress");
}

#[tokio::test]
async fn another_payload_is_refused_in_progress_and_after_and_changes_nothing() {
    let bench = Bench::start().await;
    bench.arm(json!({ "stall_before_commit_ms": 1_000 })).await;
    let first = tokio::spawn(Answer::of(bench.pay(KEY, PAYMENT)));
    bench.until("the handler ran", |seen| seen.counters.executions == 1).await;

    let during = Answer::of(bench.pay(KEY, OTHER_PAYMENT)).await;
    assert_eq!(bench.inspect().counters.commits, 0, "it was still running");
    assert_eq!((during.status, during.echo.clone()), (422, None));
    assert_eq!(during.problem(), "payload-mismatch");

    let first = first.await.expect("no panic");
    let after = Answer::of(bench.pay(KEY, OTHER_PAYMENT)).await;
    assert_eq!((after.status, after.echo.clone()), (422, None));
    let again = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(again.body, first.body);

    let seen = bench.inspect();
    assert_eq!(seen.counters.mismatches, 2);
    assert_eq!(seen.counters.executions, 1);
    assert_eq!(seen.effects.len(), 1);
    assert_eq!(seen.effects[0].amount, 4200);
}

#[tokio::test]
async fn a_different_content_type_is_a_different_request() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    let mut request = bench.pay(KEY, PAYMENT).build().expect("a request");
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    let answer = bench.client.execute(request).await.expect("an answer");
    assert_eq!(answer.status(), 422);
}

#[tokio::test]
async fn a_request_without_exactly_one_good_key_reserves_nothing() {
    let bench = Bench::start().await;
    let keyless = bench.client.post(bench.url("/payments")).header("content-type", "application/json").body(PAYMENT);
    let answer = Answer::of(keyless).await;
    assert_eq!((answer.status, answer.echo.clone()), (400, None));
    assert_eq!(answer.problem(), "key-missing");

    let repeated = bench.pay(KEY, PAYMENT).header("idempotency-key", KEY);
    let mut malformed = vec![repeated];
    let long = "k".repeat(256);
    for key in [
        "",
        "short",
        &format!("{KEY}, {KEY}"),
        &format!("\"{KEY}\", \"{KEY}\""),
        &format!("\"{KEY}"),
        "0123456789 abcdef",
        &long,
    ] {
        malformed.push(bench.pay(key, PAYMENT));
    }
    let count = malformed.len();
    for request in malformed {
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.echo.clone()), (400, None));
        assert_eq!(answer.problem(), "key-malformed");
    }

    let seen = bench.inspect();
    assert_eq!(seen.counters.reservations, 0);
    assert_eq!(seen.counters.effects, 0);
    assert_eq!(seen.wire.len(), count + 1);
    assert!(seen.wire.iter().all(|entry| entry.key.is_none()));
}

#[tokio::test]
async fn a_request_that_is_not_a_payment_leaves_the_key_unused() {
    let bench = Bench::start().await;
    let card_number = r#"{"amount":"4111111111111111","currency":"BRL","card":"tok_visa"}"#;
    let answer = Answer::of(bench.pay(KEY, card_number)).await;
    assert_eq!((answer.status, answer.echo.clone()), (400, None));
    assert_eq!(answer.problem(), "bad-request");
    assert!(!String::from_utf8_lossy(&answer.body).contains("4111"));
    assert_eq!(bench.inspect().counters.reservations, 0);

    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(paid.status, 201);
}

#[tokio::test]
async fn a_decline_is_definite_stored_and_replayed() {
    let bench = Bench::start().await;
    let first = Answer::of(bench.pay(KEY, DECLINED)).await;
    let again = Answer::of(bench.pay(KEY, DECLINED)).await;

    assert_eq!(first.status, 402);
    assert_eq!(first.problem(), "declined");
    assert_eq!(first.echo.as_deref(), Some(KEY));
    assert_eq!(again.body, first.body);
    assert_eq!(again.content_type, first.content_type);
    assert_eq!(again.replayed.as_deref(), Some("true"));
    assert_eq!(again.echo.as_deref(), Some(KEY));
    let counters = bench.inspect().counters;
    assert_eq!((counters.executions, counters.commits), (1, 1));
    assert_eq!(counters.effects, 0);
}

#[tokio::test]
async fn a_transient_failure_frees_the_key() {
    let bench = Bench::start().await;
    for _ in 0..2 {
        let answer = Answer::of(bench.pay(KEY, FLAKY)).await;
        assert_eq!((answer.status, answer.echo.clone()), (503, None));
        assert_eq!(answer.problem(), "unavailable");
        assert_eq!(answer.replayed, None);
    }
    let counters = bench.inspect().counters;
    assert_eq!(counters.executions, 2);
    assert_eq!((counters.commits, counters.effects), (0, 0));
    assert_eq!((counters.replays, counters.takeovers), (0, 0));

    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    assert_eq!(paid.status, 201, "nothing of the failure is kept");
}

#[tokio::test]
async fn one_callers_key_says_nothing_about_anothers() {
    let bench = Bench::start().await;
    let ana = Answer::of(bench.pay(KEY, PAYMENT).bearer_auth("user:ana")).await;
    let bia = Answer::of(bench.pay(KEY, OTHER_PAYMENT).bearer_auth("user:bia")).await;
    let guest = Answer::of(bench.pay(KEY, PAYMENT)).await;
    for answer in [&ana, &bia, &guest] {
        assert_eq!((answer.status, answer.replayed.clone()), (201, None));
    }
    for stranger in ["ana", "user:", "user:guest", "user:a b"] {
        let answer = Answer::of(bench.pay(KEY, PAYMENT).bearer_auth(stranger)).await;
        assert_eq!((answer.status, answer.echo.clone()), (401, None));
        assert_eq!(answer.problem(), "unauthorized");
    }
    let seen = bench.inspect();
    let scopes: Vec<_> = seen.effects.iter().map(|effect| &effect.scope).collect();
    assert_eq!(scopes, ["ana", "bia", "guest"]);
    assert_eq!(seen.counters.executions, 3);
}

#[tokio::test]
async fn an_expired_key_is_refused_and_never_runs_again() {
    let bench = Bench::start_with(|config| config.retention = Duration::from_millis(1)).await;
    let paid = Answer::of(bench.pay(KEY, PAYMENT)).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let before_sweep = Answer::of(bench.pay(KEY, PAYMENT)).await;

    let id = paid_id(&paid);
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    // The server sweeps when it starts.
    let bench = bench.restart().await;
    let pruned = "SELECT body IS NULL AND effect_id = ?1 FROM reservations WHERE state = 'tombstone'";
    for _ in 0..400 {
        if file.query_row(pruned, [&id], |row| row.get(0)) == Ok(true) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(file.query_row(pruned, [&id], |row| row.get(0)), Ok(true));
    let after_sweep = Answer::of(bench.pay(KEY, PAYMENT)).await;
    for refused in [before_sweep, after_sweep] {
        assert_eq!((refused.status, refused.echo.clone()), (410, None));
        assert_eq!(refused.problem(), "key-expired");
    }
    let mismatch = Answer::of(bench.pay(KEY, OTHER_PAYMENT)).await;
    assert_eq!(mismatch.status, 422);
    let counters = bench.inspect().counters;
    assert_eq!(counters.expired, 2);
    assert_eq!((counters.executions, counters.effects), (1, 1));
}

/// The second belt, shown on its own: with the reservation gone, the effect's unique key decides,
/// and the counters say that it had to.
#[tokio::test]
async fn a_key_whose_record_is_lost_cannot_charge_twice() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    let file = rusqlite::Connection::open(bench.database()).expect("the file");
    file.execute("DELETE FROM reservations", []).expect("a delete");

    for _ in 0..2 {
        let answer = Answer::of(bench.pay(KEY, PAYMENT)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (410, "key-expired"));
    }
    let counters = bench.inspect().counters;
    assert_eq!(counters.effects, 1);
    assert_eq!((counters.executions, counters.commits), (2, 1));
    assert_eq!(counters.already_applied, 1);
}

#[tokio::test]
async fn no_card_token_reaches_the_file() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    Answer::of(bench.pay(OTHER_KEY, DECLINED)).await;
    let dir = bench.database();
    let dir = dir.parent().expect("a directory");
    let mut bytes = Vec::new();
    for file in std::fs::read_dir(dir).expect("a directory") {
        bytes.extend(std::fs::read(file.expect("a file").path()).expect("its bytes"));
    }
    let found = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(found("order-842"), "the search works");
    assert!(!found("tok_"));
}

fn paid_id(answer: &Answer) -> String {
    let receipt: Value = serde_json::from_slice(&answer.body).expect("JSON");
    receipt["id"].as_str().expect("an id").to_owned()
}
