//! Web Locks (P2.4, P2.5): who holds an intent's lock runs it, who gets it next may go on.

use intento::core::attempt::AttemptState;
use intento::core::change::Change;
use intento::core::input::{Input, Lock};
use intento::core::intent::{HeldReason, State};
use sim::{HOUR, MINUTE, SECOND, Turn, World};

/// A world in which every browser has locks.
fn world(seed: u64) -> World {
    let mut world = World::new(seed);
    world.has_locks = true;
    world
}

fn sends(world: &World) -> u64 {
    world.counts.sends
}

#[test]
fn p2_4_a_tab_that_waits_takes_over_from_a_dead_one_in_a_moment() {
    let mut world = world(1);
    let (left, right) = (world.open(), world.open());
    world.server.work_ms = 10 * SECOND;
    let ticket = world.submit(left, 1);
    world.run_until(MINUTE, |world| sends(world) == 1);
    world.run_for(100);
    let died_ms = world.now_ms;
    world.close(left);
    world.run_until(MINUTE, |world| sends(world) == 2);
    assert!(world.now_ms - died_ms < 200, "took {} ms", world.now_ms - died_ms);
    assert_eq!(world.server.in_flight(right), 1);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn p2_4_the_next_page_load_takes_over_from_a_dead_one_in_a_moment() {
    let mut world = world(2);
    let tab = world.open();
    world.server.work_ms = 10 * SECOND;
    world.submit(tab, 1);
    world.run_until(MINUTE, |world| sends(world) == 1);
    let died_ms = world.now_ms;
    world.reload(tab);
    world.run_until(MINUTE, |world| sends(world) == 2);
    assert!(world.now_ms - died_ms < 200, "took {} ms", world.now_ms - died_ms);
    world.run_for(MINUTE);
    assert_eq!(world.effects_of(1), 1);
}

#[test]
fn p2_4_a_holder_that_runs_is_left_alone() {
    let mut world = world(3);
    let (left, _right) = (world.open(), world.open());
    world.server.work_ms = 20 * SECOND;
    world.submit(left, 1);
    world.run_for(19 * SECOND);
    assert_eq!(sends(&world), 1);
    assert_eq!(world.counts.authorizations, 1, "the other tab does not even ask for credentials");
    world.run_for(MINUTE);
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

/// A frozen page keeps its lock, if nothing has told it that it would be frozen; then only its lease ends.
#[test]
fn p2_4_a_frozen_holder_is_waited_for_until_its_lease_ends() {
    let mut world = world(4);
    let left = world.open();
    world.open();
    world.server.plan([Turn::LostOnReturn]);
    world.submit(left, 1);
    world.run_until(MINUTE, |world| sends(world) == 1);
    world.stop(left);
    world.run_for(30 * SECOND);
    assert_eq!(sends(&world), 1);
    world.run_for(10 * SECOND);
    assert_eq!((sends(&world), world.effects_of(1)), (2, 1), "and then it is claimed without the lock");
}

/// A holder that has not claimed, because it was frozen before it could, is not waited for.
#[test]
fn p2_4_a_lock_whose_holder_has_not_claimed_is_done_without() {
    let mut world = world(5);
    let left = world.open();
    world.submit(left, 1);
    world.run_until(MINUTE, |world| world.counts.authorizations == 1);
    world.stop(left);
    let opened_ms = world.now_ms;
    world.open();
    world.run_until(MINUTE, |world| sends(world) == 1);
    assert!(world.now_ms - opened_ms < 2 * SECOND);
    world.run_for(MINUTE);
    world.thaw(left);
    world.run_for(MINUTE);
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

#[test]
fn p2_5_a_lock_released_on_freeze_is_inherited_and_the_thawed_tab_does_not_send() {
    let mut world = world(6);
    let (left, _right) = (world.open(), world.open());
    world.run_for(SECOND);
    world.server.work_ms = 5 * SECOND;
    world.submit(left, 1);
    // The claim is durable, and its tab does not know yet.
    world.run_until(MINUTE, |world| world.ledger.intents().first().is_some_and(|intent| intent.claim.is_some()));
    assert_eq!(sends(&world), 0);
    world.freeze(left);
    world.run_for(SECOND);
    assert_eq!(sends(&world), 1, "the other tab has inherited it");
    world.thaw(left);
    world.run_for(MINUTE);
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

/// The lock is asked for before the claim: a claim that took it afterwards could be inherited while its maker sends.
#[test]
fn p2_3_the_lock_comes_before_the_claim_and_goes_after_the_record() {
    let mut world = world(7);
    let tab = world.open();
    let ticket = world.submit(tab, 1);
    let id = loop {
        world.run_for(1);
        if let Some(intent) = world.ledger.intents().first() {
            break intent.id.clone();
        }
    };
    world.run_until(MINUTE, |world| world.locks.holds(tab, &id));
    assert!(world.intent(&id).claim.is_none());
    world.run_until(MINUTE, |world| world.intent(&id).claim.is_some());
    assert!(world.intent(&id).claim.is_some_and(|claim| claim.lock_held));
    world.run_until(MINUTE, |world| !world.locks.holds(tab, &id));
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn p2_5_what_was_stolen_before_it_was_sent_is_not_sent() {
    let mut world = world(8);
    let tab = world.open();
    world.submit(tab, 1);
    world.run_until(MINUTE, |world| world.ledger.intents().first().is_some_and(|intent| intent.claim.is_some()));
    let id = world.ledger.intents()[0].id.clone();
    world.steal_locks(10 * SECOND);
    world.run_until(MINUTE, |world| sends(world) == 1);
    let states: Vec<_> = world.intent(&id).history.attempts.into_iter().map(|attempt| attempt.state).collect();
    assert!(matches!(states[..], [AttemptState::NotSent { .. }, AttemptState::Open]), "{states:?}");
    world.run_for(MINUTE);
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

/// A grant that comes to a realm which has ceased to want it is given back at once.
#[test]
fn p2_5_a_late_grant_is_given_back() {
    let mut world = world(9);
    let (left, right) = (world.open(), world.open());
    world.server.work_ms = 5 * SECOND;
    world.submit(left, 1);
    world.run_until(MINUTE, |world| sends(world) == 1);
    let id = world.ledger.intents()[0].id.clone();
    world.run_for(MINUTE);
    assert!(!world.locks.holds(left, &id) && !world.locks.holds(right, &id));
    world.input(right, Input::Lock { intent: id, lock: Lock::Held });
    world.run_for(SECOND);
    assert_eq!(sends(&world), 1);
}

/// Found by seed 147990: a claim waited behind a slow commit, its tab was frozen and let go of the lock, another tab claimed
/// under it, and then the first claim, made "with the lock", took that one's place while it was about to send.
#[test]
fn p2_5_a_claim_that_waited_is_not_made_under_a_lock_that_was_let_go() {
    let mut world = world(10);
    let left = world.open();
    world.submit(left, 1);
    world.run_until(MINUTE, |world| world.counts.authorizations == 1);
    world.run_for(1);
    assert!(world.ledger.intents()[0].claim.is_none(), "the claim is on its way to the ledger");
    world.freeze(left);
    world.server.work_ms = 20 * SECOND;
    let right = world.open();
    world.run_until(MINUTE, |world| sends(world) == 1);
    let fence = world.ledger.intents()[0].fence;
    world.thaw(left);
    world.run_for(5 * SECOND);
    let intent = world.ledger.intents()[0].clone();
    let owner = intent.claim.as_ref().map(|claim| claim.owner.0.to_string());
    assert_eq!((intent.fence, owner), (fence, Some(format!("realm-{right}"))));
    world.run_for(MINUTE);
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

/// The grant is on its way, and so is word of the theft: nothing more will come of that request.
#[test]
fn p2_5_a_lock_that_is_stolen_before_its_realm_was_told_does_not_end_the_intent() {
    let mut world = world(11);
    let tab = world.open();
    let ticket = world.submit(tab, 1);
    let held = |world: &World| world.laws.intents().any(|intent| world.locks.holds(tab, &intent.id));
    assert!(world.run_until(MINUTE, held));
    assert_eq!(world.counts.authorizations, 0, "its realm does not know yet");
    world.steal_locks(SECOND);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
    assert_eq!((sends(&world), world.effects_of(1)), (1, 1));
}

/// Found by seed 40296278, in the laws themselves: a claim that inherited by the lock found the window closed, and the app
/// resumed the intent in the same transaction. Judged as one step, a live claim had ended by nothing.
#[test]
fn law_5_what_one_change_licenses_another_of_the_same_transaction_may_use() {
    let mut world = world(12);
    let tab = world.open();
    world.server.work_ms = 10 * SECOND;
    let ticket = world.submit(tab, 1);
    assert!(world.run_until(MINUTE, |world| sends(world) == 1));
    let id = world.intent_of(ticket).id;
    world.crash(tab);
    world.step_wall(-(HOUR as i64));
    let next = world.open();
    assert!(world.run_until(2 * MINUTE, |world| world.counts.authorizations == 2));
    // While this is being written, the claim waits, and then the resumption with it.
    world.submit(next, 2);
    world.run_for(1);
    world.steer(next, Change::Resume(id.clone()));
    world.run_for(MINUTE);
    let intent = world.intent(&id);
    assert!(intent.renewed.is_some(), "{intent:?}");
    assert_eq!((intent.state, intent.history.total), (State::Held { reason: HeldReason::WindowClosed }, 1));
}
