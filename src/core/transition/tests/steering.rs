//! What the app decides afterwards: resume, abandon, replace (law 3, P5.4, P5.6, P7.3).

use super::*;
use crate::core::change::Replace;
use crate::core::contract::tests::{echoing, json, marked};
use crate::core::intent::{Cause, Evidence};

fn replace(number: u8) -> Change {
    let mut successor = submit(number);
    successor.reference = submit(1).reference;
    Change::Replace(Box::new(Replace { predecessor: submit(1).intent, successor, reason: "declined".to_owned() }))
}

/// One intent, declined for good.
fn declined() -> Bench {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, Observation::Reply(echoing(json(402), &submit(1).key)));
    bench
}

#[test]
fn law_3_a_declined_intent_has_one_successor_ever() {
    let mut bench = declined();
    let reference = submit(1).reference;
    let Ok(Applied::Submitted { intent: first, created: true }) = bench.apply(&replace(2)) else { panic!() };
    assert_eq!((&first.predecessor, &first.reference), (&Some(submit(1).intent), &reference));
    assert_ne!(first.key, submit(1).key);
    let predecessor = bench.intent(&submit(1).intent);
    assert_eq!((&predecessor.successor, &predecessor.head_reference), (&Some(first.id.clone()), &None));

    let Ok(Applied::Submitted { intent: same, created: true }) = bench.apply(&replace(2)) else { panic!() };
    assert_eq!(same.id, first.id, "re-run");
    let mut again = submit(3);
    again.fingerprint = submit(2).fingerprint;
    again.reference.clone_from(&reference);
    let again = Replace { predecessor: submit(1).intent, successor: again, reason: String::new() };
    let Ok(Applied::Submitted { intent: same, created: false }) = bench.apply(&Change::Replace(Box::new(again))) else {
        panic!()
    };
    assert_eq!(same.id, first.id, "another tab, the same decision");
    let Err(Refusal::ReferenceConflict(existing)) = bench.apply(&replace(4)) else { panic!() };
    assert_eq!(existing.id, first.id, "another tab, another decision");

    let mut by_reference = submit(2);
    by_reference.intent = submit(5).intent;
    by_reference.reference = reference;
    let found = bench.apply(&Change::Submit(Box::new(by_reference)));
    assert!(matches!(found, Ok(Applied::Submitted { intent, created: false }) if intent.id == first.id), "the head");
}

#[test]
fn law_3_nothing_replaces_what_may_have_an_effect() {
    let lost = Observation::Fault(Fault::Network);
    let unstored = Observation::Reply(json(402));
    for story in [vec![], vec![lost.clone()], vec![unstored], vec![Observation::Reply(marked(json(201)))]] {
        let mut bench = Bench::with(&submit(1));
        for observation in &story {
            bench.attempt(&submit(1).intent, observation.clone());
        }
        assert!(matches!(bench.apply(&replace(2)), Err(Refusal::NotReplaceable(_))), "{story:?}");
        assert_eq!(bench.only().successor, None);
    }
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, lost);
    bench.apply(&Change::Abandon { intent: submit(1).intent, reason: "left".to_owned() }).unwrap();
    assert!(matches!(bench.apply(&replace(2)), Err(Refusal::NotReplaceable(_))), "abandoned is not known");
}

#[test]
fn law_3_two_tabs_that_replace_in_one_batch_get_one_successor() {
    let mut bench = declined();
    let results = bench.batch(&[replace(2), replace(3)]);
    assert!(matches!(&results[0], Ok(Applied::Submitted { created: true, .. })));
    assert!(matches!(&results[1], Err(Refusal::ReferenceConflict(it)) if it.id == submit(2).intent));
}

#[test]
fn law_9_another_scope_replaces_nothing() {
    let mut bench = declined();
    let mut foreign = submit(2);
    foreign.scope = ScopeHash::of("user-2");
    let foreign = Replace { predecessor: submit(1).intent, successor: foreign, reason: String::new() };
    assert_eq!(bench.apply(&Change::Replace(Box::new(foreign))), Err(Refusal::UnknownIntent));
}

#[test]
fn p5_4_a_late_success_holds_an_unsent_successor() {
    let mut bench = Bench::with(&submit(1));
    let slow = bench.claim(&submit(1).intent, "slow");
    bench.wait(LEASE);
    bench.attempt(&submit(1).intent, Observation::Reply(echoing(json(402), &submit(1).key)));
    bench.apply(&replace(2)).unwrap();
    bench.tell(&slow, Observation::Reply(json(201)));
    assert!(bench.intent(&submit(1).intent).contradicted);
    let successor = bench.intent(&submit(2).intent);
    assert_eq!(successor.state, State::Held { reason: HeldReason::ConflictingAnswers });
}

#[test]
fn p5_4_a_late_success_leaves_a_successor_that_was_sent_to_its_answer() {
    let mut bench = Bench::with(&submit(1));
    let slow = bench.claim(&submit(1).intent, "slow");
    bench.wait(LEASE);
    bench.attempt(&submit(1).intent, Observation::Reply(echoing(json(402), &submit(1).key)));
    bench.apply(&replace(2)).unwrap();
    let sent = bench.claim(&submit(2).intent, "b");
    bench.tell(&slow, Observation::Reply(json(201)));
    let successor = bench.intent(&submit(2).intent);
    assert_eq!((successor.claim.is_some(), successor.fence), (true, sent.fence), "holding it would free no money");
}

#[test]
fn p5_6_an_abandoned_intent_still_learns_what_happened() {
    let mut bench = Bench::with(&submit(1));
    let flight = bench.claim(&submit(1).intent, "a");
    let left = Change::Abandon { intent: submit(1).intent, reason: "closed the shop".to_owned() };
    bench.apply(&left).unwrap();
    assert_eq!(bench.only().state, State::Abandoned);
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "b"))), Err(Refusal::WrongState(_))));
    let intent = bench.tell(&flight, Observation::Reply(json(201)));
    assert!(matches!(intent.state, State::Succeeded { evidence: Evidence::Reply, .. }));
    bench.apply(&left).unwrap();
    assert!(matches!(bench.only().state, State::Succeeded { .. }), "an outcome stands");
}

#[test]
fn what_was_never_sent_is_cancelled_not_abandoned() {
    let mut bench = Bench::with(&submit(1));
    bench.apply(&Change::Abandon { intent: submit(1).intent, reason: "left".to_owned() }).unwrap();
    assert_eq!(bench.only().state, State::Cancelled);
}

#[test]
fn a_resumed_intent_keeps_its_key_and_its_history() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, Observation::Fault(Fault::Redirected));
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::Redirected });
    bench.apply(&Change::Resume(submit(1).intent)).unwrap();
    let intent = bench.only();
    assert_eq!((&intent.state, &intent.key), (&State::Waiting { cause: Cause::Resumed }, &submit(1).key));
    let intent = bench.attempt(&submit(1).intent, Observation::Reply(marked(json(201))));
    assert!(matches!(intent.state, State::Succeeded { .. }));
    assert!(matches!(bench.apply(&Change::Resume(submit(1).intent)), Err(Refusal::NotResumable(_))));
}

#[test]
fn resuming_does_not_open_a_closed_window_and_never_re_posts_a_202() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, Observation::Fault(Fault::Network));
    bench.wait(generic().windows().smallest_ms());
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "b"))), Ok(Applied::NotGranted(_))));
    bench.apply(&Change::Resume(submit(1).intent)).unwrap();
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "c"))), Ok(Applied::NotGranted(_))));
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::WindowClosed });

    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, Observation::Reply(json(202)));
    assert!(matches!(bench.apply(&Change::Resume(submit(1).intent)), Err(Refusal::NotResumable(_))));
}

#[test]
fn p3_3_a_confirmed_decision_has_its_whole_life_again() {
    let mut bench = Bench::with(&submit(1));
    bench.wall_ms -= 2 * HOUR;
    bench.wait(1_000);
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "a"))), Ok(Applied::NotGranted(_))));
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::ClockChanged });
    bench.wait(23 * HOUR);
    bench.apply(&Change::Resume(submit(1).intent)).unwrap();
    bench.wait(23 * HOUR);
    bench.claim(&submit(1).intent, "b");
}

#[test]
fn p7_3_only_credentials_that_were_not_refused_claim_what_is_held_for_them() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&submit(1).intent, Observation::Reply(json(401)));
    assert!(matches!(bench.apply(&Change::Claim(take(&submit(1).intent, "b"))), Err(Refusal::WrongState(_))));
    let fresh = TakeClaim { fresh_credentials: true, ..take(&submit(1).intent, "c") };
    let Ok(Applied::Claimed(grant)) = bench.apply(&Change::Claim(fresh.clone())) else { panic!() };
    assert_eq!(grant.attempt, Some(2), "a new attempt, with a higher fence");
    bench.tell(&grant, Observation::Fault(Fault::Redirected));
    let other_hold = TakeClaim { nonce: ChangeId::from("d"), ..fresh };
    assert!(matches!(bench.apply(&Change::Claim(other_hold)), Err(Refusal::WrongState(_))), "held for another reason");
}
