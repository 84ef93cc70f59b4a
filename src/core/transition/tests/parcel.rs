//! Hazard L11: from one origin's ledger to another's, with the same keys.

use super::*;
use crate::core::change::{MoveOut, Receive};
use crate::core::intent::Cause;
use crate::core::json::from_stored;
use crate::core::parcel::Parcel;

fn pack(bench: &mut Bench, submits: &[Submit]) -> (Parcel, usize, usize) {
    let intents = submits.iter().map(|submit| submit.intent.clone()).collect();
    match bench.apply(&Change::MoveOut(MoveOut { scope: ScopeHash::of("user-1"), intents })) {
        Ok(Applied::MovedOut { parcel, moved, left }) => (parcel, moved.len(), left.len()),
        other => panic!("not moved: {other:?}"),
    }
}

/// As text on the way.
fn receive(bench: &mut Bench, scope: &str, parcel: &Parcel) -> Result<Applied, Refusal> {
    let parcel = from_stored(&to_text(parcel)).expect("what was packed can be read");
    let (scope, realm) = (ScopeHash::of(scope), RealmId::from("realm-b"));
    bench.apply(&Change::Receive(Box::new(Receive { scope, realm, parcel })))
}

/// Another origin of the same device, whose ledger is as old as its first change.
fn other_origin(bench: &Bench) -> Bench {
    Bench { wall_ms: bench.wall_ms, ..Bench::new() }
}

fn lost(submit: &Submit) -> Bench {
    let mut bench = Bench::with(submit);
    bench.attempt(&submit.intent, Observation::Fault(Fault::Network));
    bench
}

#[test]
fn what_is_moved_goes_on_elsewhere_with_its_key_and_never_here() {
    let submit = submit(1);
    let mut source = lost(&submit);
    let before = source.only();
    let (parcel, moved, left) = pack(&mut source, core::slice::from_ref(&submit));
    assert_eq!((moved, left), (1, 0));
    let held = source.only();
    assert_eq!((&held.state, held.due_at_ms), (&State::Held { reason: HeldReason::Moved }, None));
    for purpose in [Purpose::Send, Purpose::Poll, Purpose::Reconcile] {
        let take = TakeClaim { purpose, fresh_credentials: true, ..take(&submit.intent, "here") };
        assert!(matches!(source.apply(&Change::Claim(take)), Err(Refusal::WrongState(_))), "{purpose:?}");
    }
    let refused = [Change::Resume(submit.intent.clone()), Change::Reconcile(submit.intent.clone())];
    assert!(refused.iter().all(|change| source.apply(change).is_err()));

    let mut target = other_origin(&source);
    receive(&mut target, "user-1", &parcel).unwrap();
    let there = target.only();
    assert_eq!((&there.key, &there.request, &there.state), (&before.key, &before.request, &before.state));
    assert!(there.maybe_sent());
    let grant = target.claim(&submit.intent, "there");
    assert_eq!((grant.attempt, &grant.intent.key), (Some(2), &before.key));
    assert_eq!(grant.body, submit.body);
}

#[test]
fn a_lost_parcel_is_packed_again_and_one_that_came_twice_is_taken_once() {
    let submits = [1, 2].map(submit);
    let mut source = lost(&submits[0]);
    source.apply(&Change::Submit(Box::new(submits[1].clone()))).unwrap();
    let (first, ..) = pack(&mut source, &submits);
    let (second, moved, _) = pack(&mut source, &submits);
    assert_eq!((moved, &first.items), (2, &second.items));

    let mut target = other_origin(&source);
    receive(&mut target, "user-1", &first).unwrap();
    let grant = target.claim(&submits[0].intent, "there");
    let claimed = target.intent(&submits[0].intent);
    receive(&mut target, "user-1", &second).unwrap();
    assert_eq!(target.intent(&submits[0].intent), claimed, "it is known, and goes on");
    assert_eq!(grant.attempt, Some(2));
    let Some(Record::Counters(counters)) = target.record(&RecordKey::Counters(ScopeHash::of("user-1"))) else {
        panic!()
    };
    assert_eq!((counters.submitted, counters.open), (2, 2));
}

#[test]
fn what_is_being_sent_is_left() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    let grant = source.claim(&submit.intent, "n1");
    let (parcel, moved, left) = pack(&mut source, core::slice::from_ref(&submit));
    assert_eq!((parcel.items.len(), moved, left), (0, 0, 1));
    assert!(matches!(source.tell(&grant, Observation::Fault(Fault::Network)).state, State::Waiting { .. }));
}

#[test]
fn a_parcel_of_another_scope_and_one_against_a_reference_that_is_taken_are_refused_whole() {
    let submits = [1, 2].map(submit);
    let mut source = lost(&submits[0]);
    source.apply(&Change::Submit(Box::new(submits[1].clone()))).unwrap();
    let (parcel, ..) = pack(&mut source, &submits);
    let mut target = other_origin(&source);
    assert_eq!(receive(&mut target, "user-2", &parcel), Err(Refusal::ForeignParcel));
    let ours = Submit { intent: IntentId::from("ours"), key: submit(3).key, ..submits[1].clone() };
    target.apply(&Change::Submit(Box::new(ours))).unwrap();
    let refused = receive(&mut target, "user-1", &parcel);
    assert!(matches!(refused, Err(Refusal::ReferenceConflict(intent)) if intent.id == IntentId::from("ours")));
    assert_eq!(target.only().id, IntentId::from("ours"), "nothing of it was taken");
}

#[test]
fn law_7_the_window_is_as_old_as_it_was_and_the_way_beside_and_closed_in_doubt() {
    let window_ms = generic().windows().smallest_ms();
    // On the way for so long, and with the wall clock off by so much at the end.
    for (way_ms, step_ms, held) in [
        (window_ms / 2, 0, None),
        (window_ms, 0, Some(HeldReason::WindowClosed)),
        (HOUR, -61_000 - HOUR.cast_signed(), Some(HeldReason::WindowClosed)),
    ] {
        let submit = submit(1);
        let mut source = lost(&submit);
        source.wait(window_ms / 4);
        let (parcel, ..) = pack(&mut source, core::slice::from_ref(&submit));
        source.wait(way_ms);
        let mut target = other_origin(&source);
        target.wall_ms = target.wall_ms.saturating_add_signed(step_ms);
        receive(&mut target, "user-1", &parcel).unwrap();
        let claimed = target.apply(&Change::Claim(take(&submit.intent, "there")));
        match held {
            None => assert!(matches!(claimed, Ok(Applied::Claimed(_))), "{claimed:?}"),
            Some(reason) => assert_eq!(target.only().state, State::Held { reason }),
        }
    }
}

#[test]
fn p3_3_what_was_never_sent_and_has_no_age_any_more_waits_for_somebody_to_confirm_it() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    let (parcel, ..) = pack(&mut source, core::slice::from_ref(&submit));
    let mut target = Bench { wall_ms: source.wall_ms - HOUR, ..Bench::new() };
    receive(&mut target, "user-1", &parcel).unwrap();
    target.apply(&Change::Claim(take(&submit.intent, "there"))).unwrap();
    assert_eq!(target.only().state, State::Held { reason: HeldReason::ClockChanged });
}

#[test]
fn what_was_moved_cannot_be_cancelled_and_its_reference_stays_taken_after_a_purge() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    pack(&mut source, core::slice::from_ref(&submit));
    let cancelled = source.apply(&Change::Cancel(submit.intent.clone()));
    assert!(matches!(cancelled, Ok(Applied::Cancelled { cancelled: false, .. })));
    let purge = crate::core::change::Purge { scope: submit.scope.clone(), intents: vec![submit.intent.clone()] };
    source.apply(&Change::Purge(purge)).unwrap();
    assert_eq!(source.only().state, State::Abandoned);
}

#[test]
fn an_outcome_that_nobody_was_told_travels_with_its_answer() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    source.attempt(&submit.intent, paid(&submit));
    let (parcel, ..) = pack(&mut source, core::slice::from_ref(&submit));
    assert!(parcel.items[0].payload.answer.is_some());
    let mut target = other_origin(&source);
    receive(&mut target, "user-1", &parcel).unwrap();
    let there = target.only();
    assert!(matches!(there.state, State::Succeeded { .. }));
    assert!(there.delivery.due_at_ms.is_some_and(|due_at_ms| due_at_ms <= target.clock().at_ms));
    source.apply(&Change::Acknowledge(submit.intent.clone())).unwrap();
    assert_eq!(pack(&mut source, core::slice::from_ref(&submit)).0.items, [], "what was told stays");
}

#[test]
fn what_comes_after_the_move_moves_nothing_here() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    let grant = source.claim(&submit.intent, "n1");
    source.wait(LEASE);
    pack(&mut source, core::slice::from_ref(&submit));
    let late = source.tell(&grant, Observation::Fault(Fault::Timeout));
    assert_eq!(late.state, State::Held { reason: HeldReason::Moved });
    let (parcel, ..) = pack(&mut source, core::slice::from_ref(&submit));
    assert_eq!(parcel.items[0].intent.state, State::Waiting { cause: Cause::Interrupted });
}

#[test]
fn law_4_a_success_that_comes_after_the_move_settles_here_too_and_travels() {
    let submit = submit(1);
    let mut source = Bench::with(&submit);
    let grant = source.claim(&submit.intent, "n1");
    source.wait(LEASE);
    pack(&mut source, core::slice::from_ref(&submit));
    assert!(matches!(source.tell(&grant, paid(&submit)).state, State::Succeeded { .. }));
    let (parcel, ..) = pack(&mut source, core::slice::from_ref(&submit));
    assert!(matches!(parcel.items[0].intent.state, State::Succeeded { .. }));
}
