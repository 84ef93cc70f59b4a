//! Finding out, without sending again, what became of an intent (design section 5, P5.6).

use super::*;
use crate::core::change::{Found, Reconciled};
use crate::core::contract::Finding;
use crate::core::contract::tests::{json, marked};
use crate::core::intent::{Cause, Evidence, Replay};
use crate::core::limits::{RECONCILE_PAUSE_MIN_MS, RECONCILES_MAX};

fn id() -> IntentId {
    submit(1).intent
}

/// An intent whose only attempt was lost, held for what nothing but asking can help.
fn lost() -> Bench {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), Observation::Reply(marked(json(500))));
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::Unresolved });
    bench
}

/// Claims to reconcile, and says what was found.
fn found(bench: &mut Bench, nonce: &str, finding: Finding) -> IntentRecord {
    let take = TakeClaim { purpose: Purpose::Reconcile, ..take(&id(), nonce) };
    let Ok(Applied::Claimed(grant)) = bench.apply(&Change::Claim(take)) else { panic!("{nonce}: not granted") };
    assert_eq!(grant.attempt, None, "asking is no attempt");
    tell(bench, nonce, grant.fence, Found::ByApp(finding))
}

fn tell(bench: &mut Bench, fact: &str, fence: u64, found: Found) -> IntentRecord {
    let answer = Answer { status: 200, media_type: None, body: Some(fact.to_owned()), resource: None };
    let change = Change::Reconciled(Box::new(Reconciled {
        intent: id(),
        fence,
        fact: ChangeId::from(fact),
        found,
        answer: Some(answer),
        jitter: Jitter(u32::MAX / 2),
    }));
    bench.apply(&change).unwrap();
    let once = bench.only();
    bench.apply(&change).unwrap();
    assert_eq!(bench.only(), once, "P1.1: a finding that is told twice is told once");
    once
}

#[test]
fn applied_is_success_and_hands_the_response_over() {
    let mut bench = lost();
    let intent = found(&mut bench, "a", Finding::Applied);
    let succeeded = State::Succeeded { replay: Replay::Unknown, evidence: Evidence::Reconciliation };
    assert_eq!((&intent.state, intent.claim.is_none()), (&succeeded, true));
    assert!(intent.delivery.due_at_ms.is_some(), "the app is told");
    let Some(Record::Payload(payload)) = bench.record(&RecordKey::Payload(id())).cloned() else { panic!("no payload") };
    assert_eq!(payload.answer.as_ref().and_then(|(_, answer)| answer.body.clone()), Some("a".to_owned()));
}

#[test]
fn p5_6_only_a_seal_licenses_a_successor() {
    let mut bench = lost();
    for (nonce, finding) in [("a", Finding::NotFound), ("b", Finding::Unknown)] {
        let intent = found(&mut bench, nonce, finding);
        assert_eq!(intent.state, State::Held { reason: HeldReason::Unresolved });
        assert!(!intent.state.safe_to_replace() && intent.claim.is_none());
    }
    let intent = found(&mut bench, "c", Finding::NotApplied);
    assert!(intent.state == State::NotApplied && intent.state.safe_to_replace());
}

#[test]
fn what_settles_nothing_is_asked_again_for_a_while() {
    let mut bench = lost();
    assert!(bench.only().due_at_ms.is_some(), "a held intent that may have had an effect is asked about by itself");
    for look in 1..=RECONCILES_MAX {
        let intent = found(&mut bench, &format!("look-{look}"), Finding::NotFound);
        let wait_ms = intent.due_at_ms.map(|due_at_ms| due_at_ms - START - bench.mono_ms);
        assert_eq!(wait_ms.is_some(), look < RECONCILES_MAX, "look {look}");
        assert!(wait_ms.is_none_or(|wait_ms| wait_ms >= RECONCILE_PAUSE_MIN_MS));
    }
    bench.apply(&Change::Reconcile(id())).unwrap();
    let asked = bench.only();
    assert!(asked.reconciling.asked && asked.reconciling.looks == 0 && asked.due_at_ms.is_some());
    assert!(!found(&mut bench, "z", Finding::Unknown).reconciling.asked, "the app has its answer");
}

#[test]
fn a_waiting_intent_goes_on_waiting_after_a_look() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.apply(&Change::Reconcile(id())).unwrap();
    let intent = found(&mut bench, "a", Finding::NotFound);
    assert_eq!(intent.state, State::Waiting { cause: Cause::Network });
    assert!(intent.due_at_ms.is_some() && intent.history.total == 1);
    let intent = bench.attempt(&id(), Observation::Reply(json(201)));
    assert!(matches!(intent.state, State::Succeeded { .. }), "the same key may still be sent");
}

#[test]
fn law_5_reconciling_and_sending_exclude_each_other() {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    bench.wait(BACKOFF_CAP_MS);
    let ask = |nonce: &str| Change::Claim(TakeClaim { purpose: Purpose::Reconcile, ..take(&id(), nonce) });
    let Ok(Applied::Claimed(asking)) = bench.apply(&ask("r")) else { panic!("not granted") };
    assert!(matches!(bench.apply(&Change::Claim(take(&id(), "s"))), Err(Refusal::Leased { .. })));
    // The lease ends, a send begins, and then the old finding arrives: nothing of it is lost, nothing is freed.
    bench.wait(LEASE + HOUR);
    let sending = bench.claim(&id(), "s2");
    assert!(matches!(bench.apply(&ask("r2")), Err(Refusal::Leased { .. })));
    let intent = tell(&mut bench, "late", asking.fence, Found::ByApp(Finding::NotFound));
    assert_eq!(intent.claim.as_ref().map(|claim| claim.purpose), Some(Purpose::Send), "a stale finding frees no lease");
    let intent = tell(&mut bench, "later", asking.fence, Found::ByApp(Finding::Applied));
    assert!(matches!(intent.state, State::Succeeded { evidence: Evidence::Reconciliation, .. }));
    let intent = bench.tell(&sending, Observation::Reply(json(201)));
    assert!(!intent.contradicted, "the answer says the same");
}

#[test]
fn p5_6_mismatched_and_abandoned_turn_once() {
    for (finding, wanted) in [(Finding::Applied, "succeeded"), (Finding::NotApplied, "not_applied")] {
        let mut bench = lost();
        bench.apply(&Change::Abandon { intent: id(), reason: "no patience".to_owned() }).unwrap();
        assert_eq!(bench.only().due_at_ms, None, "what the app gave up is not asked about by itself");
        bench.apply(&Change::Reconcile(id())).unwrap();
        assert_eq!(found(&mut bench, "a", finding).state.name(), wanted);
        assert!(matches!(bench.apply(&Change::Reconcile(id())), Err(Refusal::NotReconcilable(_))));
    }
}

#[test]
fn p5_4_a_refusal_that_is_not_stored_is_replaced_only_after_reconciling() {
    let refused = || {
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&id(), Observation::Reply(json(402)));
        assert_eq!(bench.only().state, State::Rejected { evidence: Evidence::Unstored, replaceable: false });
        bench.apply(&Change::Acknowledge(id())).unwrap();
        bench.apply(&Change::Reconcile(id())).unwrap();
        bench
    };
    let mut bench = refused();
    let intent = found(&mut bench, "a", Finding::NotApplied);
    assert_eq!(intent.state, State::Rejected { evidence: Evidence::Reconciliation, replaceable: true });
    assert!(intent.state.safe_to_replace() && intent.delivery.due_at_ms.is_none(), "the refusal is no news");

    let mut bench = refused();
    let intent = found(&mut bench, "a", Finding::NotFound);
    assert!(!intent.state.safe_to_replace());
    let intent = found(&mut bench, "b", Finding::Applied);
    assert!(intent.contradicted && !intent.state.safe_to_replace(), "the outcome stands, and somebody should look");
    assert_eq!((intent.claim, intent.due_at_ms), (None, None), "there is nothing more to ask");
}

/// Found by seed 464130: given up and asked about while its only attempt was under way, which then was taken back.
#[test]
fn law_6_what_was_given_up_and_never_sent_is_not_due() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&id(), "a");
    bench.apply(&Change::Abandon { intent: id(), reason: "no patience".to_owned() }).unwrap();
    bench.apply(&Change::Reconcile(id())).unwrap();
    assert!(bench.only().due_at_ms.is_some());
    bench.apply(&not_sent(&grant)).unwrap();
    let intent = bench.only();
    assert_eq!((intent.state, intent.due_at_ms), (State::Abandoned, None));
}

#[test]
fn what_is_known_is_not_asked_about() {
    let mut bench = Bench::with(&submit(1));
    assert!(matches!(bench.apply(&Change::Reconcile(id())), Err(Refusal::NotReconcilable(_))), "never sent");
    bench.attempt(&id(), Observation::Reply(json(201)));
    assert!(matches!(bench.apply(&Change::Reconcile(id())), Err(Refusal::NotReconcilable(_))), "succeeded");
}

/// Two realms ask; the attempt's own answer comes in between, and then the slower realm's finding.
fn late(observation: Observation, finding: Finding) -> (IntentRecord, IntentRecord) {
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), Observation::Fault(Fault::Network));
    let take = TakeClaim { purpose: Purpose::Reconcile, ..take(&id(), "r") };
    let Ok(Applied::Claimed(asking)) = bench.apply(&Change::Claim(take)) else { panic!("not granted") };
    bench.wait(LEASE + HOUR);
    let before = bench.attempt(&id(), observation);
    (before, tell(&mut bench, "late", asking.fence, Found::ByApp(finding)))
}

#[test]
fn law_6_a_finding_against_the_outcome_is_raised_and_changes_nothing() {
    let stored = || Observation::Reply(marked(json(402)));
    for (observation, finding, raised) in [
        (Observation::Reply(json(201)), Finding::NotApplied, true),
        (Observation::Reply(json(201)), Finding::Applied, false),
        (Observation::Reply(json(201)), Finding::NotFound, false),
        (Observation::Reply(json(201)), Finding::Unknown, false),
        (stored(), Finding::Applied, true),
        (stored(), Finding::NotApplied, false),
        (stored(), Finding::NotFound, false),
    ] {
        let (before, after) = late(observation, finding);
        assert_eq!((&after.state, after.contradicted), (&before.state, raised), "{finding:?}");
        assert_eq!((after.claim, after.due_at_ms), (None, None), "nothing is left to ask: {finding:?}");
    }
}

#[test]
fn law_5_asking_about_what_is_being_sent_waits_for_its_lease() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&id(), "a");
    bench.apply(&Change::Reconcile(id())).unwrap();
    let asked = bench.only();
    assert!(asked.reconciling.asked);
    assert_eq!((asked.due_at_ms, asked.claim.is_some()), (Some(grant.lease_until_ms), true));
}

#[test]
fn law_10_silence_is_a_look_and_a_lookup_tells_of_the_network() {
    let mut bench = lost();
    let answers =
        [Observation::Fault(Fault::Network), Observation::Fault(Fault::Timeout), Observation::Reply(json(500))];
    for (observation, looks) in answers.into_iter().zip(1..) {
        let take = TakeClaim { purpose: Purpose::Reconcile, ..take(&id(), &format!("{observation:?}")) };
        let Ok(Applied::Claimed(grant)) = bench.apply(&Change::Claim(take)) else { panic!("not granted") };
        let fact = format!("{observation:?}");
        let intent = tell(&mut bench, &fact, grant.fence, Found::ByLookup(observation));
        assert_eq!((intent.reconciling.looks, intent.due_at_ms.is_some()), (looks, true), "{fact}");
        let Some(Record::Origin(origin)) = bench.record(&RecordKey::Origin(ORIGIN.to_owned())) else {
            panic!("unknown")
        };
        assert_eq!(origin.network_fault, looks < 3, "a lookup that meets no network waits for a probe");
    }
}

#[test]
fn what_is_held_anew_is_asked_about_anew() {
    let mut bench = lost();
    for look in 1..=RECONCILES_MAX {
        found(&mut bench, &format!("look-{look}"), Finding::NotFound);
    }
    assert_eq!(bench.only().due_at_ms, None);
    bench.apply(&Change::Resume(id())).unwrap();
    let intent = bench.attempt(&id(), Observation::Reply(marked(json(500))));
    assert_eq!((intent.state, intent.reconciling.looks), (State::Held { reason: HeldReason::Unresolved }, 0));
    assert!(found(&mut bench, "z", Finding::NotFound).due_at_ms.is_some());
}

#[test]
fn p2_2_asking_after_a_crash_is_no_attempt() {
    let mut bench = Bench::with(&submit(1));
    bench.claim(&id(), "a");
    bench.wait(LEASE);
    let intent = found(&mut bench, "r", Finding::NotFound);
    assert_eq!((intent.history.total, intent.history.any_unknown()), (1, true), "and the lost one stays unknown");
}
