//! After a 202: the result is fetched, nothing is sent again (P2.1).

use super::*;
use crate::core::contract::Facts;
use crate::core::contract::tests::{echoing, json, marked, with_header};
use crate::core::intent::{Cause, Evidence};
use crate::core::limits::POLLS_MAX;

const RESULT: &str = "https://api.shop.example/payments/status";

fn accepted() -> Observation {
    Observation::Reply(with_header(json(202), "location", RESULT))
}

fn look(bench: &mut Bench, facts: Facts) -> IntentRecord {
    bench.facts += 1;
    let nonce = format!("look-{}", bench.facts);
    let poll = TakeClaim { purpose: Purpose::Poll, ..take(&submit(1).intent, &nonce) };
    let Ok(Applied::Claimed(grant)) = bench.apply(&Change::Claim(poll)) else { panic!("not granted") };
    assert_eq!(grant.attempt, None, "a look is no attempt");
    let answer = Answer {
        status: facts.status,
        media_type: facts.media_type.clone(),
        body: Some("{}".to_owned()),
        resource: None,
    };
    let polled = RecordFacts {
        intent: submit(1).intent,
        attempt: grant.intent.history.total,
        fence: grant.fence,
        fact: ChangeId::from(nonce),
        observation: Observation::Reply(facts),
        answer: Some(answer),
        jitter: Jitter(0),
    };
    let polled = Change::Polled(Box::new(polled));
    let first = bench.apply(&polled);
    assert_eq!(bench.apply(&polled), first, "re-run");
    bench.wait(BACKOFF_CAP_MS);
    bench.only()
}

#[test]
fn p2_1_an_accepted_intent_is_looked_up_and_never_sent_again() {
    let mut bench = Bench::with(&submit(1));
    let intent = bench.attempt(&submit(1).intent, accepted());
    assert_eq!((&intent.state, intent.polling.map(|polling| polling.url)), (&State::Accepted, Some(RESULT.to_owned())));
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "again"))), Err(Refusal::WrongState(_))));
    assert_eq!(look(&mut bench, json(202)).state, State::Accepted);
    let paid = look(&mut bench, marked(json(201)));
    assert!(matches!(paid.state, State::Succeeded { evidence: Evidence::Reply, .. }));
    assert_eq!(paid.history.total, 1);
}

#[test]
fn p2_1_a_look_ignores_the_window() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, accepted());
    bench.wait(10 * generic().retention_ms);
    assert!(matches!(look(&mut bench, marked(json(201))).state, State::Succeeded { .. }));
}

/// A status page answers 200 while it says "processing".
#[test]
fn p5_a_polled_answer_counts_only_if_it_is_stored_under_the_key() {
    for facts in [json(200), json(201), json(402), json(404), json(401), json(500)] {
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&submit(1).intent, accepted());
        assert_eq!(look(&mut bench, facts.clone()).state, State::Accepted, "{facts:?}");
    }
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, accepted());
    let declined = look(&mut bench, echoing(json(402), &submit(1).key));
    assert_eq!(declined.state, State::Rejected { evidence: Evidence::Stored, replaceable: true });
}

#[test]
fn law_10_looks_end_and_can_be_resumed() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, accepted());
    for _ in 0..POLLS_MAX {
        assert_eq!(bench.only().state, State::Accepted);
        look(&mut bench, json(202));
    }
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::Accepted });
    bench.apply(&Change::Resume(submit(1).intent)).unwrap();
    assert_eq!(bench.only().state, State::Accepted);
    assert!(matches!(look(&mut bench, marked(json(201))).state, State::Succeeded { .. }));
}

#[test]
fn p10_without_a_visible_location_on_the_same_origin_it_is_held() {
    let elsewhere = with_header(json(202), "location", "https://api.shop.example.evil.example/x");
    for facts in [json(202), elsewhere] {
        let mut bench = Bench::with(&submit(1));
        let intent = bench.attempt(&submit(1).intent, Observation::Reply(facts));
        assert_eq!(intent.state, State::Held { reason: HeldReason::Accepted });
    }
    let mut contract = generic();
    contract.poll = Some(crate::core::contract::Poll { path: Some("/status".to_owned()) });
    let mut with_path = submit(1);
    with_path.contract = snapshot(contract);
    let mut bench = Bench::with(&with_path);
    let intent = bench.attempt(&submit(1).intent, Observation::Reply(json(202)));
    assert_eq!(intent.polling.map(|polling| polling.url), Some(format!("{ORIGIN}/status")));
}

#[test]
fn the_server_s_retry_after_paces_the_looks() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&submit(1).intent, "a");
    let slow = with_header(with_header(json(202), "location", RESULT), "retry-after", "30");
    let intent = bench.tell(&grant, Observation::Reply(slow));
    assert_eq!(intent.due_at_ms, Some(bench.clock().at_ms + 30_000));
    let stamp = bench.clock().stamp(bench.wall_ms);
    assert_eq!(crate::core::snapshot::Snapshot::of(&intent, &stamp).cause, Some(Cause::Processing));
}
