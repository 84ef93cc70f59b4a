//! Several realms at one ledger: races, crashes, lost answers and duplicated deliveries, by seed.

use intento::core::contract::Fault;
use intento::core::intent::{Cause, State};
use intento::core::submission::ExpiresIn;
use sim::{HOUR, MINUTE, SECOND, Turn, World};

#[test]
fn p1_5_two_tabs_that_decide_the_same_at_once_make_one_intent() {
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.latency_max_ms = 50;
        let (left, right) = (world.open(), world.open());
        let tickets = [world.submit(left, 1), world.submit(right, 1)];
        world.run_for(MINUTE);
        assert_eq!(world.intent_of(tickets[0]).id, world.intent_of(tickets[1]).id, "seed {seed}");
        assert_eq!((world.ledger.intents().len(), world.keys_of(1).len(), world.effects_of(1)), (1, 1, 1));
    }
}

#[test]
fn law_5_two_tabs_never_send_one_intent_at_the_same_time() {
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.latency_max_ms = 30;
        world.server.work_ms = 5 * SECOND;
        let tabs = [world.open(), world.open(), world.open()];
        for tab in tabs {
            world.submit(tab, 1);
        }
        world.run_for(20 * SECOND);
        assert_eq!(world.counts.sends, 1, "seed {seed}: the lease keeps the others away");
        assert_eq!(world.effects_of(1), 1);
    }
}

#[test]
fn recovery_a_tab_that_died_sending_is_taken_over_when_its_lease_ends() {
    let mut world = World::new(1);
    let tab = world.open();
    world.server.work_ms = 3 * SECOND;
    let ticket = world.submit(tab, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
    world.close(tab);
    world.open();
    world.run_for(30 * SECOND);
    assert_eq!(world.counts.sends, 1, "only time ends the lease");
    assert_eq!(world.state_of(ticket), State::Waiting { cause: Cause::Interrupted });
    world.run_for(10 * SECOND);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.keys_of(1).len(), world.counts.sends), (1, 1, 2));
}

#[test]
fn law_5_a_slow_tab_s_late_answer_still_settles() {
    let mut world = World::new(2);
    let slow = world.open();
    let ticket = world.submit(slow, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
    world.freeze(slow);
    world.run_for(SECOND);
    world.open();
    world.server.plan((0..20).map(|_| Turn::Fails(Fault::Network)));
    world.run_for(37 * SECOND);
    assert!(matches!(world.state_of(ticket), State::Waiting { .. }), "{:?}", world.intent_of(ticket));
    world.thaw(slow);
    world.run_for(SECOND);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "recognised success settles from any fence");
    world.run_for(HOUR);
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

/// Found by seeds 616101 and 653727: a claim waited in a tab that did not run, the wall clock was set back, another tab
/// claimed; then the first claim was decided by what the clocks had read when it was asked for, and to the ledger that
/// looked like a clock set ahead, and every lease like one that had ended.
#[test]
fn law_5_a_claim_that_waited_is_decided_by_the_clocks_of_the_moment() {
    let mut world = World::new(34);
    let first = world.open();
    let ticket = world.submit_with(first, 1, |submission| submission.expires_in = ExpiresIn::Never);
    world.run_until(MINUTE, |world| world.counts.authorizations == 1);
    world.run_for(1);
    world.freeze(first);
    world.step_wall(-6 * HOUR as i64);
    world.server.plan([Turn::Late(10 * SECOND)]);
    let second = world.open();
    world.run_for(5 * SECOND);
    assert_eq!((world.counts.sends, world.server.in_flight(second)), (1, 1));

    world.thaw(first);
    world.run_for(SECOND);
    assert_eq!(world.counts.sends, 1, "the lease of the second tab is live");
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

/// More than one realm runs at once: what waits for room is read once, not again for every run that ends.
#[test]
fn a_backlog_is_drained_without_reading_it_again_and_again() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.latency_max_ms = 30;
        world.go_offline();
        let tab = world.open();
        for order in 1..=100 {
            world.submit(tab, order);
        }
        world.run_for(MINUTE);
        let before = world.counts.loads;
        world.go_online();
        world.run_for(2 * MINUTE);
        let paid = (1..=100).filter(|order| world.effects_of(*order) == 1).count();
        assert_eq!((paid, world.counts.sends), (100, 100), "seed {seed}");
        let loads = world.counts.loads - before;
        assert!(loads <= 12, "seed {seed}: {loads} looks for a hundred intents, 32 a look");
    }
}

/// What waits for room in one tab is taken up by the other meanwhile: known as it was, decided as it is.
#[test]
fn two_tabs_share_a_backlog_and_send_nothing_twice() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.latency_max_ms = 30;
        world.go_offline();
        let (left, right) = (world.open(), world.open());
        for order in 1..=60 {
            world.submit(if order % 2 == 0 { left } else { right }, order);
        }
        world.run_for(MINUTE);
        world.go_online();
        world.run_for(2 * MINUTE);
        let paid = (1..=60).filter(|order| world.effects_of(*order) == 1).count();
        assert_eq!((paid, world.counts.sends), (60, 60), "seed {seed}");
    }
}
