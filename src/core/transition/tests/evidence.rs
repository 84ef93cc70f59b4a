//! What settles an intent, and what does not (law 4, law 6, P5): whole histories through `apply`.

use super::*;
use crate::core::contract::tests::{echoing, html, json, marked, mismatch, with_header};
use crate::core::contract::{Facts, Refusal as RefusalRules};
use crate::core::intent::{Cause, Evidence, Replay};
use crate::core::limits::{ATTEMPTS_KEPT, ATTEMPTS_MAX, IN_PROGRESS_REPEATS_MAX, UNCLEAR_REPEATS_MAX};
use crate::core::shared::Shared;

fn reply(facts: Facts) -> Observation {
    Observation::Reply(facts)
}

fn echoed(facts: Facts) -> Observation {
    reply(echoing(facts, &submit(1).key))
}

fn fault(fault: Fault) -> Observation {
    Observation::Fault(fault)
}

/// The intent after these attempts, one after the other. Checks that its key never changes.
fn after(story: &[Observation]) -> IntentRecord {
    let mut bench = Bench::with(&submit(1));
    let mut intent = bench.only();
    for observation in story {
        intent = bench.attempt(&submit(1).intent, observation.clone());
        assert_eq!((&intent.key, &*intent.request), (&submit(1).key, &submit(1).request), "law 2");
    }
    intent
}

const STORED: State = State::Rejected { evidence: Evidence::Stored, replaceable: true };
const UNSTORED: State = State::Rejected { evidence: Evidence::Unstored, replaceable: false };

fn succeeded(replay: Replay) -> State {
    State::Succeeded { replay, evidence: Evidence::Reply }
}

fn held(reason: HeldReason) -> State {
    State::Held { reason }
}

fn waiting(cause: Cause) -> State {
    State::Waiting { cause }
}

#[test]
fn law_4_what_histories_say() {
    use Fault::{Network, Redirected, TooLarge, Truncated};
    let rows = [
        ("paid at once", vec![reply(json(201))], succeeded(Replay::Unknown)),
        (
            "no content",
            vec![reply(Facts { status: 204, body_empty: true, ..Facts::default() })],
            succeeded(Replay::Unknown),
        ),
        ("lost, then replayed", vec![fault(Network), reply(marked(json(201)))], succeeded(Replay::Replayed)),
        ("not marked", vec![reply(with_header(json(201), "idempotent-replayed", "false"))], succeeded(Replay::Fresh)),
        ("503, then a stored decline", vec![reply(json(503)), echoed(json(402))], STORED),
        ("lost, then a stored decline", vec![fault(Network), reply(marked(json(402)))], STORED),
        ("a decline of a sole attempt", vec![reply(json(402))], UNSTORED),
        ("429, then a decline", vec![reply(json(429)), reply(json(402))], UNSTORED),
        ("503, then a decline of unknown standing", vec![reply(json(503)), reply(json(402))], waiting(Cause::Unclear)),
        ("409, then replayed", vec![reply(json(409)), reply(marked(json(201)))], succeeded(Replay::Replayed)),
        ("409, then a decline of unknown standing", vec![reply(json(409)), reply(json(402))], waiting(Cause::Unclear)),
        ("a portal's 200", vec![reply(html(200))], waiting(Cause::NotTheServer)),
        ("a gateway's 402", vec![reply(html(402))], waiting(Cause::NotTheServer)),
        ("a portal, then paid", vec![reply(html(200)), reply(json(201))], succeeded(Replay::Unknown)),
        ("mismatch", vec![reply(mismatch(422))], State::Mismatched),
        ("lost, then mismatch", vec![fault(Network), reply(mismatch(422))], held(HeldReason::Unresolved)),
        (
            "another key's answer",
            vec![reply(with_header(json(201), "idempotency-key", "k"))],
            held(HeldReason::ConflictingAnswers),
        ),
        ("a stored 500", vec![reply(marked(json(500)))], held(HeldReason::Unresolved)),
        ("a redirect", vec![fault(Redirected)], held(HeldReason::Redirected)),
        ("accepted", vec![reply(json(202))], held(HeldReason::Accepted)),
        ("refused credentials", vec![reply(json(401))], held(HeldReason::Auth)),
        ("lost, then refused credentials", vec![fault(Network), reply(marked(json(403)))], held(HeldReason::Auth)),
        ("wrong address", vec![reply(json(404))], held(HeldReason::Config)),
        ("too large", vec![reply(echoing(json(413), &submit(1).key))], held(HeldReason::Config)),
        ("no network", vec![fault(Network)], waiting(Cause::Network)),
        ("half an answer", vec![fault(Truncated)], waiting(Cause::Truncated)),
        ("too long an answer", vec![fault(TooLarge)], waiting(Cause::Truncated)),
        ("too slow", vec![fault(Fault::Timeout)], waiting(Cause::Timeout)),
        ("rate limited", vec![reply(json(429))], waiting(Cause::RateLimited)),
        ("unavailable", vec![reply(json(503))], waiting(Cause::ServerError)),
    ];
    for (name, story, wanted) in rows {
        let intent = after(&story);
        assert_eq!(intent.state, wanted, "{name}");
        let promised = wanted == STORED;
        assert_eq!(intent.state.safe_to_replace(), promised, "{name}: law 3");
        // One that is held for credentials may be claimed with others (P7.3); one that may have had an effect may be
        // asked about.
        let auth = wanted == held(HeldReason::Auth);
        let asks = matches!(wanted, State::Held { reason } if reason.only_asking_helps());
        let due = auth || asks || matches!(wanted, State::Waiting { .. });
        assert_eq!(intent.due_at_ms.is_some(), due, "{name}");
        assert!(intent.claim.is_none(), "{name}: the lease ends with the record");
    }
}

#[test]
fn p5_4_a_contract_may_promise_single_delivery() {
    let mut contract = generic();
    contract.refusal = RefusalRules { single_delivery: true, ..contract.refusal };
    let mut bench = Bench::with(&Submit { contract: snapshot(contract), ..submit(1) });
    let intent = bench.attempt(&submit(1).intent, reply(json(402)));
    assert!(intent.state.safe_to_replace());
}

#[test]
fn law_4_exhausted_patience_is_never_evidence() {
    let mut unclear = vec![reply(json(503))];
    unclear.extend((1..UNCLEAR_REPEATS_MAX).map(|_| reply(json(402))));
    assert_eq!(after(&unclear).state, waiting(Cause::Unclear));
    unclear.push(reply(json(402)));
    assert_eq!(after(&unclear).state, held(HeldReason::Unresolved));

    let busy = |times: u32| (0..times).map(|_| reply(json(409))).collect::<Vec<_>>();
    assert_eq!(after(&busy(IN_PROGRESS_REPEATS_MAX - 1)).state, waiting(Cause::InProgress));
    assert_eq!(after(&busy(IN_PROGRESS_REPEATS_MAX)).state, held(HeldReason::Unresolved));

    let lost = |times: u32| (0..times).map(|_| fault(Fault::Network)).collect::<Vec<_>>();
    assert_eq!(after(&lost(ATTEMPTS_MAX - 1)).state, waiting(Cause::Network));
    let given_up = after(&lost(ATTEMPTS_MAX));
    assert_eq!(given_up.state, held(HeldReason::Unresolved));
    assert!(given_up.maybe_sent() && !given_up.state.safe_to_replace());
}

/// Two open attempts: the first realm was slow, and its lease ended.
fn two_attempts() -> (Bench, Grant, Grant) {
    let mut bench = Bench::with(&submit(1));
    let first = bench.claim(&submit(1).intent, "a");
    bench.wait(LEASE);
    let second = bench.claim(&submit(1).intent, "b");
    (bench, first, second)
}

#[test]
fn p5_1_each_late_fact_judges_the_whole_history_again() {
    let (mut bench, first, second) = two_attempts();
    assert_eq!(bench.tell(&second, reply(json(402))).state, waiting(Cause::Unclear));
    assert_eq!(bench.tell(&first, reply(json(402))).state, UNSTORED);

    let (mut bench, first, second) = two_attempts();
    bench.tell(&second, reply(json(402)));
    assert_eq!(bench.tell(&first, reply(json(201))).state, succeeded(Replay::Unknown));

    let (mut bench, first, second) = two_attempts();
    bench.tell(&second, reply(json(402)));
    assert_eq!(bench.tell(&first, fault(Fault::Timeout)).state, waiting(Cause::Unclear));
}

#[test]
fn law_5_a_stale_fence_writes_facts_and_nothing_else() {
    for observation in
        [fault(Fault::Network), reply(json(401)), reply(json(402)), reply(json(503)), fault(Fault::Redirected)]
    {
        let (mut bench, first, _) = two_attempts();
        let before = bench.only();
        let after = bench.tell(&first, observation.clone());
        assert_eq!((&after.state, &after.claim, after.due_at_ms), (&before.state, &before.claim, before.due_at_ms));
        assert_ne!(after.history.attempts[0].state, AttemptState::Open, "{observation:?}");
        assert!(matches!(bench.journal(&after.id).last(), Some(JournalEvent::Facts { stale: true, .. })));
    }
}

#[test]
fn p5_1_recognised_success_settles_from_any_fence() {
    let (mut bench, first, second) = two_attempts();
    assert_eq!(bench.tell(&first, reply(json(201))).state, succeeded(Replay::Unknown));
    let after = bench.tell(&second, reply(marked(json(201))));
    assert!(!after.contradicted, "the same answer again contradicts nothing");
}

#[test]
fn p5_1_a_conclusive_refusal_settles_from_any_fence() {
    let (mut bench, first, _) = two_attempts();
    assert_eq!(bench.tell(&first, echoed(json(402))).state, STORED);
}

#[test]
fn p5_1_success_is_heard_while_held() {
    for wait in [fault(Fault::Redirected), reply(json(401)), reply(with_header(json(201), "idempotency-key", "k"))] {
        let (mut bench, first, second) = two_attempts();
        let held = bench.tell(&second, wait);
        assert!(matches!(held.state, State::Held { .. }));
        assert_eq!(bench.tell(&first, reply(json(201))).state, succeeded(Replay::Unknown));
    }
}

#[test]
fn law_6_evidence_against_an_outcome_is_raised_and_changes_nothing() {
    let rows = [
        (echoed(json(402)), reply(json(201)), STORED, true),
        (reply(json(201)), echoed(json(402)), succeeded(Replay::Unknown), true),
        (reply(json(201)), reply(json(402)), succeeded(Replay::Unknown), false),
        (reply(json(201)), fault(Fault::Network), succeeded(Replay::Unknown), false),
        (echoed(json(402)), echoed(json(402)), STORED, false),
    ];
    for (settling, late, wanted, contradicted) in rows {
        let (mut bench, first, second) = two_attempts();
        bench.tell(&second, settling);
        let open = bench.records.clone();
        let after = bench.tell(&first, late.clone());
        assert_eq!((after.state.clone(), after.contradicted), (wanted, contradicted), "{late:?}");
        let raised = bench.journal(&after.id).iter().any(|event| matches!(event, JournalEvent::Contradicted { .. }));
        assert_eq!(raised, contradicted);
        let counters = RecordKey::Counters(after.scope);
        assert_eq!(bench.records.get(&counters), open.get(&counters), "it ended once");
    }
}

#[test]
fn p5_6_late_evidence_turns_a_mismatch_once() {
    let (mut bench, first, second) = two_attempts();
    bench.apply(&not_sent(&first)).unwrap();
    assert_eq!(bench.tell(&second, reply(mismatch(422))).state, State::Mismatched);
    assert!(!bench.only().state.safe_to_replace());

    // Facts of the attempt that was thought unsent: a second delivery of it, seen late.
    let mut late = bench.only();
    late.history.attempts[0].state = AttemptState::Open;
    bench.records.insert(
        RecordKey::Intent(late.id.clone()),
        Versioned { version: 9, record: Some(Record::Intent(Shared::new(late))) },
    );
    assert_eq!(bench.tell(&first, reply(json(201))).state, succeeded(Replay::Unknown));
}

#[test]
fn law_4_folded_attempts_stay_unknown() {
    let mut story = vec![fault(Fault::Network)];
    story.extend((0..ATTEMPTS_KEPT + 2).map(|_| reply(json(429))));
    story.push(reply(json(402)));
    let intent = after(&story);
    assert_eq!(intent.history.attempts.len(), ATTEMPTS_KEPT);
    assert_eq!(intent.state, waiting(Cause::Unclear), "the first attempt is still unknown");

    let known: Vec<_> = (0..ATTEMPTS_KEPT + 2).map(|_| reply(json(429))).chain([reply(json(402))]).collect();
    assert_eq!(after(&known).state, UNSTORED);
}

#[test]
fn law_4_facts_of_a_folded_attempt_count() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let slow = bench.claim(&id, "slow");
    bench.wait(LEASE);
    for _ in 0..ATTEMPTS_KEPT + 1 {
        bench.attempt(&id, reply(json(429)));
    }
    assert_eq!(bench.attempt(&id, reply(json(402))).state, waiting(Cause::Unclear));
    assert_eq!(bench.tell(&slow, reply(json(402))).state, UNSTORED, "nothing is unknown any more");
}

#[test]
fn law_4_facts_told_twice_take_no_other_attempt_s_doubt_away() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let first = bench.claim(&id, "first");
    bench.tell(&first, reply(json(429)));
    bench.wait(BACKOFF_CAP_MS);
    bench.attempt(&id, fault(Fault::Network));
    for _ in 0..ATTEMPTS_KEPT {
        bench.attempt(&id, reply(json(429)));
    }
    bench.tell(&first, reply(json(429)));
    assert!(bench.only().history.any_unknown(), "the second attempt is still unknown");
    assert_eq!(bench.attempt(&id, reply(json(402))).state, waiting(Cause::Unclear));
}

#[test]
fn the_answer_kept_is_one_that_settles() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let kept = |bench: &Bench| match bench.record(&RecordKey::Payload(submit(1).intent)) {
        Some(Record::Payload(payload)) => payload.answer.clone().map(|(attempt, answer)| (attempt, answer.status)),
        other => panic!("{other:?}"),
    };
    bench.attempt(&id, reply(json(503)));
    assert_eq!(kept(&bench), None);
    bench.attempt(&id, echoed(json(402)));
    assert_eq!(kept(&bench), Some((2, 402)));
    let (mut bench, first, second) = two_attempts();
    bench.tell(&second, echoed(json(402)));
    bench.tell(&first, reply(json(201)));
    assert_eq!(kept(&bench), Some((2, 402)), "law 6: the answer of the outcome that stands");
    match bench.record(&RecordKey::Payload(id)) {
        Some(Record::Payload(payload)) => assert_eq!(payload.body, submit(1).body, "law 2: the body stays"),
        other => panic!("{other:?}"),
    }
}
