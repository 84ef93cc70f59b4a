//! What a contract changes: the gate, the windows, methods, no key at all; and a contract that a deploy changes.

use super::*;
use crate::core::contract::tests::{html, json, marked, with_header};
use crate::core::contract::{CarrierPlace, HeaderName, PathRetention, Windows};
use crate::core::intent::{Cause, Evidence, Replay};

const MINUTE: u64 = 60_000;

fn under(contract: Contract) -> Submit {
    Submit { contract: snapshot(contract), ..submit(1) }
}

fn id() -> IntentId {
    submit(1).intent
}

#[test]
fn a_rate_limit_holds_up_every_intent_of_the_origin() {
    let mut bench = Bench::with(&submit(1));
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.attempt(&id(), Observation::Reply(with_header(json(429), "retry-after", "120")));
    let gated = bench.apply(&Change::Claim(take(&submit(2).intent, "b")));
    assert_eq!(gated, Err(Refusal::NotBefore { at_ms: START + 120_000 }));
    bench.wait(120_000);
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(2).intent, "c"))), Ok(Applied::Claimed(_))));
}

#[test]
fn a_limit_on_the_key_gates_nobody_else() {
    let mut contract = generic();
    let when = crate::core::contract::When { status: vec![429], ..Default::default() };
    let then = crate::core::contract::AnswerClass::InProgress;
    contract.rules = vec![crate::core::contract::Rule { when, then, conclusive: false, resource: None }];
    let mut bench = Bench::with(&under(contract));
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    let intent = bench.attempt(&id(), Observation::Reply(with_header(json(429), "retry-after", "120")));
    assert_eq!(
        (intent.state, intent.floor_at_ms),
        (State::Waiting { cause: Cause::InProgress }, Some(START + 120_000))
    );
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(2).intent, "b"))), Ok(Applied::Claimed(_))));
}

#[test]
fn law_7_a_path_can_have_a_window_of_its_own() {
    let mut contract = generic();
    contract.retention_by_path = vec![PathRetention { prefix: "/payments".to_owned(), retention_ms: 2 * HOUR }];
    let mut bench = Bench::with(&under(contract));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.wait(HOUR);
    bench.apply(&Change::Claim(take(&id(), "b"))).unwrap();
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::WindowClosed });
}

#[test]
fn law_7_a_server_that_says_when_its_window_began_restarts_it() {
    let mut contract = generic();
    contract.window_start = Some(HeaderName { header: "x-request-timestamp".to_owned() });
    let mut bench = Bench::with(&under(contract));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.wait(22 * HOUR);
    // The first delivery never arrived: the server began to remember the key with the second.
    let told = with_header(json(409), "x-request-timestamp", "1700000000000");
    bench.attempt(&id(), Observation::Reply(with_header(told, "date", "Tue, 14 Nov 2023 22:13:25 GMT")));
    bench.wait(10 * HOUR);
    let grant = bench.apply(&Change::Claim(take(&id(), "c")));
    assert!(matches!(grant, Ok(Applied::Claimed(_))), "32 h after the first send, 10 h after the window began");
    let hidden = {
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&id(), Observation::Fault(Fault::Network));
        bench.wait(32 * HOUR);
        bench.apply(&Change::Claim(take(&id(), "c"))).unwrap();
        bench.only().state
    };
    assert_eq!(hidden, State::Held { reason: HeldReason::WindowClosed }, "without that word it is closed");
}

#[test]
fn p3_2_after_a_change_of_the_clock_the_servers_date_opens_the_window_again() {
    let dated = |facts, date: &str| Observation::Reply(with_header(facts, "date", date));
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), dated(json(503), "Tue, 14 Nov 2023 22:13:20 GMT"));
    // Somebody sets the device's clock back by a day; no monotonic clock bridges that.
    bench.wall_ms -= 24 * HOUR;
    let closed = {
        let mut bench = bench.clone();
        bench.wait(BACKOFF_CAP_MS);
        bench.apply(&Change::Claim(take(&id(), "b"))).unwrap();
        bench.intent(&id()).state
    };
    assert_eq!(closed, State::Held { reason: HeldReason::WindowClosed }, "how long ago that was is unknowable");
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.attempt(&submit(2).intent, dated(json(201), "Tue, 14 Nov 2023 23:13:20 GMT"));
    bench.wait(MINUTE);
    let grant = bench.apply(&Change::Claim(take(&id(), "b")));
    assert!(matches!(grant, Ok(Applied::Claimed(_))), "an hour, by the server's clock");
}

#[test]
fn a_repeated_delete_that_finds_nothing_is_done() {
    let delete = |story: &[Observation]| {
        let mut submit = submit(1);
        submit.request.method = Method::Delete;
        let mut bench = Bench::with(&submit);
        story.iter().for_each(|observation| {
            bench.wait(BACKOFF_CAP_MS);
            bench.attempt(&id(), observation.clone());
        });
        bench.only().state
    };
    let lost = Observation::Fault(Fault::Timeout);
    let done = State::Succeeded { replay: Replay::Unknown, evidence: Evidence::Reply };
    for gone in [json(404), json(410), marked(json(404))] {
        assert_eq!(delete(&[lost.clone(), Observation::Reply(gone)]), done);
    }
    assert_eq!(
        delete(&[Observation::Reply(json(404))]),
        State::Held { reason: HeldReason::Config },
        "it was never there"
    );
    assert_eq!(
        delete(&[lost.clone(), Observation::Reply(html(404))]),
        State::Waiting { cause: Cause::NotTheServer },
        "a proxy's page"
    );
    let mut post = Bench::with(&submit(1));
    post.attempt(&id(), lost);
    post.wait(BACKOFF_CAP_MS);
    post.attempt(&id(), Observation::Reply(json(404)));
    assert_eq!(post.only().state, State::Held { reason: HeldReason::Config }, "a POST is not done");
}

fn without_a_key() -> Contract {
    let mut contract = generic();
    contract.carrier.place = CarrierPlace::None;
    contract.carrier.name = String::new();
    (contract.retention_ms, contract.margin_ms) = (0, 0);
    contract
}

#[test]
fn law_3_without_a_key_nothing_is_sent_twice() {
    let windows = without_a_key().windows();
    let own = |nonce: &str| Change::Claim(TakeClaim { windows: windows.clone(), ..take(&id(), nonce) });
    for observation in
        [Observation::Fault(Fault::Network), Observation::Reply(json(503)), Observation::Reply(json(429))]
    {
        let mut bench = Bench::with(&under(without_a_key()));
        let Ok(Applied::Claimed(grant)) = bench.apply(&own("a")) else { panic!("the first send is not granted") };
        let intent = bench.tell(&grant, observation);
        assert_eq!(intent.state, State::Held { reason: HeldReason::Unresolved });
        bench.wait(HOUR);
        let _ = bench.apply(&Change::Resume(id()));
        let _ = bench.apply(&own("b"));
        assert_eq!(bench.only().history.total, 1, "resuming sends nothing either");
    }
    // Nor after a crash, of which nobody recorded anything.
    let mut bench = Bench::with(&under(without_a_key()));
    bench.apply(&own("a")).unwrap();
    bench.wait(LEASE);
    bench.apply(&own("b")).unwrap();
    assert_eq!((bench.only().history.total, bench.only().state), (1, State::Held { reason: HeldReason::WindowClosed }));
}

#[test]
fn law_2_a_deploy_changes_neither_the_carrier_nor_the_key_of_an_old_intent() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.wait(BACKOFF_CAP_MS);
    // The new build has another contract: another header, other keys, a shorter window.
    let grant = bench.claim(&id(), "b");
    assert_eq!((&*grant.intent.carrier, &grant.intent.key), (&generic().carrier, &submit(1).key));
    assert_eq!(*grant.contract, generic(), "and its answers are read by the contract that it was sent under");
    bench.tell(&grant, Observation::Fault(Fault::Network));
    bench.wait(2 * HOUR);
    bench.apply(&Change::Claim(TakeClaim { windows: Windows::lasting(HOUR), ..take(&id(), "c") })).unwrap();
    assert_eq!(
        bench.only().state,
        State::Held { reason: HeldReason::WindowClosed },
        "law 7: the smaller window counts"
    );
}

/// An answer that tells when the server's window for the key began, five seconds before its `Date`.
fn telling(facts: crate::core::contract::Facts) -> Observation {
    let told = with_header(facts, "x-request-timestamp", "1700000000000");
    Observation::Reply(with_header(told, "date", "Tue, 14 Nov 2023 22:13:25 GMT"))
}

fn is_closed(mut bench: Bench) -> bool {
    bench.wait(2 * HOUR);
    let _ = bench.apply(&Change::Resume(id()));
    bench.apply(&Change::Claim(take(&id(), "last"))).unwrap();
    bench.only().state == State::Held { reason: HeldReason::WindowClosed }
}

#[test]
fn law_7_the_servers_clock_is_read_from_fresh_answers_to_this_key_only() {
    let mut contract = generic();
    contract.window_start = Some(HeaderName { header: "x-request-timestamp".to_owned() });
    for (name, facts, closed) in [
        ("an answer", json(409), false),
        ("a replay repeats an old date", marked(json(500)), true),
        ("another key has another window", with_header(json(409), "idempotency-key", "another"), true),
        ("a page from in between", html(400), true),
    ] {
        let mut bench = Bench::with(&under(contract.clone()));
        bench.attempt(&id(), Observation::Fault(Fault::Network));
        bench.wait(22 * HOUR);
        bench.attempt(&id(), telling(facts));
        assert_eq!(is_closed(bench), closed, "{name}");
    }
}

#[test]
fn law_7_what_is_recorded_late_is_not_from_now() {
    let mut contract = generic();
    contract.window_start = Some(HeaderName { header: "x-request-timestamp".to_owned() });
    let mut bench = Bench::with(&under(contract));
    let grant = bench.claim(&id(), "a");
    // The page was frozen with the answer in its hands.
    bench.wait(22 * HOUR);
    bench.tell(&grant, telling(json(409)));
    assert!(is_closed(bench), "24 h after the window began");
}

#[test]
fn law_7_of_an_attempt_that_was_folded_nobody_knows_when_it_started() {
    let mut contract = generic();
    contract.window_start = Some(HeaderName { header: "x-request-timestamp".to_owned() });
    let mut bench = Bench::with(&under(contract));
    let grant = bench.claim(&id(), "a");
    bench.wait(LEASE);
    for _ in 0..crate::core::limits::ATTEMPTS_KEPT {
        bench.attempt(&id(), Observation::Fault(Fault::Network));
    }
    bench.wait(22 * HOUR - (bench.wall_ms - START));
    bench.tell(&grant, telling(json(409)));
    assert!(is_closed(bench));
}

#[test]
fn p3_2_a_date_that_is_known_at_the_first_send_counts() {
    let dated = |facts, date: &str| Observation::Reply(with_header(facts, "date", date));
    let mut bench = Bench::with(&submit(1));
    for number in [2, 3] {
        bench.apply(&Change::Submit(Box::new(Submit { expires_in_ms: None, ..submit(number) }))).unwrap();
    }
    bench.attempt(&submit(2).intent, dated(json(201), "Tue, 14 Nov 2023 22:13:20 GMT"));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.wall_ms -= 24 * HOUR;
    bench.attempt(&submit(3).intent, dated(json(201), "Tue, 14 Nov 2023 23:13:20 GMT"));
    let grant = bench.apply(&Change::Claim(take(&id(), "b")));
    assert!(matches!(grant, Ok(Applied::Claimed(_))), "an hour, by the server's clock");
}

#[test]
fn p4_1_silence_says_nothing_of_the_network() {
    for (fault, network) in [(Fault::Network, true), (Fault::Timeout, false), (Fault::Truncated, false)] {
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&id(), Observation::Fault(fault));
        let origin = match bench.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            Some(Record::Origin(origin)) => origin.clone(),
            _ => Default::default(),
        };
        assert_eq!(origin.network_fault, network, "{fault:?}");
        assert_eq!(origin.answered, fault == Fault::Truncated, "{fault:?}");
    }
}

#[test]
fn p3_2_a_date_that_is_recorded_late_is_of_the_clock_before() {
    let dated = |facts, date: &str| Observation::Reply(with_header(facts, "date", date));
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), dated(json(503), "Tue, 14 Nov 2023 22:13:20 GMT"));
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    let frozen = bench.claim(&submit(2).intent, "b");
    // Frozen for a day, and the device's clock is set back by more than that.
    bench.wait(24 * HOUR);
    bench.wall_ms -= 48 * HOUR;
    bench.tell(&frozen, dated(json(201), "Tue, 14 Nov 2023 22:14:00 GMT"));
    bench.wait(BACKOFF_CAP_MS);
    bench.apply(&Change::Claim(take(&id(), "c"))).unwrap();
    assert_eq!(bench.intent(&id()).state, State::Held { reason: HeldReason::WindowClosed });
}
