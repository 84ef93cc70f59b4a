//! The laws and rules that a story shows, each by its name. That every send is stored first, that keys and requests
//! never change and that outcomes stay is checked in every world: see `src/laws.rs`.

use std::rc::Rc;

use intento::core::change::{Applied, Change, Refusal};
use intento::core::contract::Fault;
use intento::core::input::{CommitError, Input, Wake};
use intento::core::intent::{Cause, Evidence, HeldReason, Replay, State};
use intento::core::key::IntentId;
use intento::core::reach::OriginRecord;
use intento::core::record::{ExpectedVersions, Record, RecordKey, Writes};
use intento::core::shared::Shared;
use intento::core::submission::Reference;
use intento::core::time::{Reading, Readings};
use intento::ledger::memory::MemoryStore;
use intento::ledger::store::{Store, StoreError};
use sim::{ATTEMPT_MS, HOUR, LedgerFault, MINUTE, SECOND, Turn, World, json, with_header};

fn succeeded(replay: Replay) -> State {
    State::Succeeded { replay, evidence: Evidence::Reply }
}

#[test]
fn law_1_the_caller_hears_of_it_after_the_commit_only() {
    let mut world = World::new(1);
    let realm = world.open();
    world.ledger.fail_next([LedgerFault::Aborted]);
    let refused = world.submit(realm, 1);
    world.run_for(SECOND);
    assert_eq!(world.done.get(&refused), Some(&Err(CommitError::Failed)));
    assert_eq!((world.ledger.intents().len(), world.counts.sends), (0, 0), "nothing stored, nothing sent");

    let stored = world.submit(realm, 1);
    world.run_for(10 * SECOND);
    assert_eq!((world.state_of(stored), world.effects_of(1)), (succeeded(Replay::Unknown), 1));
}

#[test]
fn law_1_a_claim_that_is_not_in_sends_nothing() {
    for fault in [LedgerFault::Aborted, LedgerFault::UnknownIn, LedgerFault::UnknownOut, LedgerFault::Unreadable] {
        let mut world = World::new(2);
        let realm = world.open();
        let ticket = world.submit(realm, 1);
        assert!(world.run_until(MINUTE, |world| world.counts.authorizations == 1));
        world.ledger.fail_next([fault]);
        let commits = world.counts.commits;
        assert!(world.run_until(MINUTE, |world| world.counts.commits > commits));
        world.run_for(1);
        assert_eq!(world.counts.sends, 0, "{fault:?}");
        world.run_for(2 * MINUTE);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{fault:?}");
        assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1), "{fault:?}");
    }
}

#[test]
fn law_3_a_lost_answer_is_asked_for_with_the_same_key() {
    let mut world = World::new(3);
    let realm = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    world.reload(realm);
    world.run_for(2 * MINUTE);
    assert_eq!(world.state_of(ticket), succeeded(Replay::Replayed));
    assert_eq!((world.keys_of(1).len(), world.effects_of(1), world.server.executions), (1, 1, 1));
    assert_eq!(world.intent_of(ticket).history.total, 2);
}

#[test]
fn law_3_whatever_goes_wrong_the_key_stays() {
    let turns = [
        Turn::LostOnTheWay,
        Turn::LostOnReturn,
        Turn::Truncated,
        Turn::Late(ATTEMPT_MS + 5 * SECOND),
        Turn::Twice(10),
        Turn::Says(json(500)),
        Turn::Says(json(409)),
        Turn::Fails(Fault::Timeout),
    ];
    for turn in turns {
        let mut world = World::new(4);
        let realm = world.open();
        world.server.plan([turn.clone()]);
        let ticket = world.submit(realm, 1);
        world.run_for(10 * MINUTE);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{turn:?}: {:?}", world.intent_of(ticket));
        assert_eq!((world.keys_of(1).len(), world.effects_of(1)), (1, 1), "{turn:?}");
    }
}

#[test]
fn law_4_a_decline_after_a_hiccup_settles() {
    let mut world = World::new(5);
    let realm = world.open();
    world.server.plan([Turn::Says(json(503)), Turn::Decline]);
    let ticket = world.submit(realm, 1);
    world.run_for(2 * MINUTE);
    assert_eq!(world.state_of(ticket), State::Rejected { evidence: Evidence::Stored, replaceable: true });
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (0, 1));
}

#[test]
fn law_4_a_decline_of_unknown_standing_licenses_no_second_charge() {
    let mut world = World::new(6);
    let realm = world.open();
    world.server.plan([Turn::LostOnTheWay]);
    world.server.plan((0..100).map(|_| Turn::DeclineUnstored));
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE / 20);
    assert_eq!(world.state_of(ticket), State::Waiting { cause: Cause::Unclear });
    world.run_for(HOUR);
    assert_eq!(world.state_of(ticket), State::Held { reason: HeldReason::Unresolved });
    assert!(!world.state_of(ticket).safe_to_replace());
}

#[test]
fn law_5_the_guard_refuses_after_suspension() {
    let mut world = World::new(7);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.authorizations == 1));
    world.run_for(1);
    assert_eq!(world.counts.sends, 0, "the claim is under way");
    world.freeze(realm);
    world.run_for(2 * SECOND);
    world.thaw(realm);
    world.run_for(0);
    let intent = world.intent_of(ticket);
    assert_eq!((world.counts.sends, intent.history.total), (0, 1), "claimed, and not sent");
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket);
    assert!(matches!(intent.state, State::Succeeded { .. }), "{intent:?}");
    assert_eq!((world.effects_of(1), intent.history.total), (1, 2));
}

#[test]
fn law_5_the_guard_refuses_a_lease_that_cannot_hold_the_attempt() {
    let mut world = World::new(8);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.authorizations == 1));
    world.latency_max_ms = 1;
    let commits = world.counts.commits;
    // The transaction is in, and its `complete` comes six seconds later: the device was asleep.
    assert!(world.run_until(MINUTE, |world| world.counts.commits > commits));
    world.step_wall(6_000);
    world.run_for(10);
    let intent = world.intent_of(ticket);
    assert_eq!((intent.state.clone(), intent.first_sent, world.counts.sends), (State::Queued, None, 0), "{intent:?}");
    assert!(world.cancel(realm, &intent.id), "provably never sent");
    world.run_for(HOUR);
    assert_eq!((world.effects_of(1), world.server.arrivals), (0, 0));
}

#[test]
fn law_6_contradicting_evidence_is_raised_and_changes_nothing() {
    let mut world = World::new(9);
    let slow = world.open();
    // The first delivery is paid late; meanwhile another tab hears a stored decline (from another machine).
    let echoed = |world: &World| {
        let key = world.ledger.intents()[0].key.expose().to_owned();
        with_header(json(402), "idempotency-key", &key)
    };
    world.server.work_ms = 20 * SECOND;
    let ticket = world.submit(slow, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
    world.run_for(SECOND);
    world.freeze(slow);
    world.open();
    let decline = echoed(&world);
    world.server.plan([Turn::Says(decline)]);
    world.run_for(2 * MINUTE);
    assert_eq!(world.state_of(ticket), State::Rejected { evidence: Evidence::Stored, replaceable: true });
    world.thaw(slow);
    world.run_for(SECOND);
    let intent = world.intent_of(ticket);
    assert!(intent.contradicted, "{intent:?}");
    assert_eq!(intent.state, State::Rejected { evidence: Evidence::Stored, replaceable: true });
}

#[test]
fn law_9_a_queue_sends_nothing_of_another_scope() {
    let mut world = World::new(11);
    let first = world.open_as("user-1");
    world.server.plan([Turn::Says(json(503))]);
    let ticket = world.submit(first, 1);
    assert!(world.run_until(MINUTE, |world| {
        world.ledger.intents().iter().any(|intent| intent.state == State::Waiting { cause: Cause::ServerError })
    }));
    world.close(first);
    world.run_for(MINUTE);
    let second = world.open_as("user-2");
    assert!(!world.cancel(second, &world.intent_of(ticket).id));
    world.input(second, Input::Peer(world.intent_of(ticket).id));
    world.run_for(10 * MINUTE);
    assert_eq!(world.counts.sends, 1, "only the queue of its own scope sends it");
}

#[test]
fn p1_one_bad_value_takes_no_neighbour_s_outcome_with_it() {
    let mut world = World::new(16);
    let realm = world.open();
    world.ledger.abort_operation("poison");
    let good = world.submit(realm, 1);
    world.run_for(0);
    // These share the next transaction.
    let before = world.submit(realm, 2);
    let bad = world.submit_with(realm, 3, |submission| submission.operation = "poison".to_owned());
    let after = world.submit(realm, 4);
    world.run_for(MINUTE);
    assert_eq!(world.done.get(&bad), Some(&Err(CommitError::Failed)));
    for ticket in [good, before, after] {
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    }
}

#[test]
fn p1_a_conflict_is_tried_again() {
    let mut world = World::new(17);
    let realm = world.open();
    world.ledger.fail_next([LedgerFault::Conflict; 5]);
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));

    world.ledger.fail_next([LedgerFault::Conflict; 16]);
    let given_up = world.submit(realm, 2);
    world.run_for(SECOND);
    assert_eq!(world.done.get(&given_up), Some(&Err(CommitError::Failed)), "bounded (law 10)");
}

#[test]
fn p1_an_unknown_fate_is_found_again_by_its_reference() {
    for fault in [LedgerFault::UnknownIn, LedgerFault::UnknownOut] {
        let mut world = World::new(18);
        let realm = world.open();
        world.ledger.fail_next([fault]);
        let unknown = world.submit(realm, 1);
        world.run_for(SECOND);
        assert_eq!(world.done.get(&unknown), Some(&Err(CommitError::Unknown)), "never called not stored");
        let again = world.submit(realm, 1);
        world.run_for(MINUTE);
        assert!(matches!(world.state_of(again), State::Succeeded { .. }), "{fault:?}");
        assert_eq!((world.ledger.intents().len(), world.keys_of(1).len(), world.effects_of(1)), (1, 1, 1));
    }
}

#[test]
fn p1_5_the_same_decision_is_one_intent_and_another_payload_is_refused() {
    let mut world = World::new(19);
    let realm = world.open();
    let first = world.submit(realm, 1);
    let twice = world.submit(realm, 1);
    let other = world.submit_with(realm, 2, |submission| submission.reference = Reference::Named("order-1".to_owned()));
    world.run_for(MINUTE);
    let realm = world.reload(realm);
    let reloaded = world.submit(realm, 1);
    world.run_for(MINUTE);
    for ticket in [twice, reloaded] {
        assert_eq!(world.intent_of(ticket).id, world.intent_of(first).id);
        assert!(matches!(world.done.get(&ticket), Some(Ok(Applied::Submitted { created: false, .. }))));
    }
    let refused = world.done.get(&other);
    assert!(matches!(refused, Some(Err(CommitError::Refused(Refusal::ReferenceConflict(_))))), "{refused:?}");
    assert_eq!((world.effects_of(1), world.effects_of(2), world.counts.sends), (1, 0, 1));
}

#[test]
fn p2_a_suspended_page_starts_nothing() {
    let mut world = World::new(20);
    let realm = world.open();
    world.submit(realm, 9);
    world.run_for(SECOND);
    assert_eq!(world.effects_of(9), 1, "the origin is known to answer");
    world.input(realm, Input::Wake(Wake::Suspended));
    let ticket = world.submit(realm, 1);
    world.run_for(10 * MINUTE);
    assert_eq!((world.state_of(ticket), world.counts.sends), (State::Queued, 1), "stored all the same");
    world.input(realm, Input::Wake(Wake::Resumed));
    world.run_for(SECOND);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn p1_4_what_was_absent_and_now_exists_is_a_conflict() {
    let store = MemoryStore::new();
    let key = || RecordKey::Origin(sim::world::ORIGIN.to_owned());
    let writes = || Writes::from([(key(), Record::Origin(Shared::new(OriginRecord::default())))]);
    let absent = || ExpectedVersions::from([(key(), 0)]);
    assert_eq!(sim::world::now(store.commit(&absent(), &writes())), Ok(()));
    assert_eq!(sim::world::now(store.commit(&absent(), &writes())), Err(StoreError::Conflict), "no phantoms");
    let unwritten = ExpectedVersions::from([(key(), 1), (RecordKey::Clock, 1)]);
    assert_eq!(
        sim::world::now(store.commit(&unwritten, &writes())),
        Err(StoreError::Conflict),
        "read and not written counts"
    );
    assert_eq!(sim::world::now(store.commit(&ExpectedVersions::from([(key(), 1)]), &writes())), Ok(()));
    assert_eq!(store.records().get(&key()).map(|found| found.version), Some(2));
}

#[test]
fn p3_1_a_transaction_that_refused_everything_tells_the_clock_all_the_same() {
    let mut world = World::new(21);
    let realm = world.open();
    world.submit(realm, 1);
    world.run_for(SECOND);
    let stored = world.ledger.clock().unwrap();
    let reading = Reading::alone(stored.wall_ms + HOUR);
    let unknown = Change::Cancel(IntentId::from("nobody"));
    let told = sim::world::now(world.ledger.transact(&[unknown], &(Rc::new(move || reading) as Readings))).unwrap();
    assert_eq!(told.results, [Err(Refusal::UnknownIntent)]);
    assert_eq!(told.clock.map(|observed| observed.clock), Some(stored.observe(reading)));
    assert_eq!(world.ledger.clock(), Some(stored), "and writes nothing");
}

/// What has come back waits to be recorded; somebody who resumes the intent meanwhile takes nothing of that away.
#[test]
fn law_12_resume_leaves_facts_that_wait_to_be_recorded() {
    let mut world = World::new(22);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_until(MINUTE, |world| world.counts.sends == 1);
    world.ledger.fail_next([LedgerFault::Unreadable; 3]);
    world.run_for(100);
    let id = world.intent_of(ticket).id;
    world.steer(realm, Change::Resume(id));
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
    assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1));
}
