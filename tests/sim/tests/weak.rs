//! The weak tier: what is in may be lost again, up to its last minute, when the browser is killed (design section 4). What
//! it kept goes on; what it lost nobody on this device knows of.

use intento::core::intent::State;
use sim::{HOUR, MINUTE, SECOND, Turn, World};

fn world(seed: u64) -> World {
    let mut world = World::new(seed);
    world.weak = true;
    world.has_locks = true;
    world
}

#[test]
fn weak_tier_in_two_tabs() {
    for seed in 0..50 {
        let mut world = world(seed);
        world.latency_max_ms = 50;
        world.server.plan([Turn::LostOnReturn]);
        let (left, right) = (world.open(), world.open());
        let tickets = [world.submit(left, 1), world.submit(right, 1)];
        world.run_for(30 * SECOND);
        assert_eq!(world.intent_of(tickets[0]).id, world.intent_of(tickets[1]).id, "seed {seed}");
        // What both saw a minute ago stays.
        world.run_for(2 * MINUTE);
        world.kill_browser(MINUTE);
        world.open();
        world.run_for(MINUTE);
        assert!(matches!(world.state_of(tickets[0]), State::Succeeded { .. }));
        assert_eq!((world.keys_of(1).len(), world.effects_of(1)), (1, 1), "seed {seed}");
    }
}

#[test]
fn what_a_weak_tier_kept_goes_on_under_its_key() {
    let mut world = world(1);
    let tab = world.open();
    world.go_offline();
    let ticket = world.submit(tab, 1);
    world.run_for(2 * MINUTE);
    world.go_online();
    world.server.plan([Turn::LostOnReturn]);
    world.run_until(HOUR, |world| world.counts.sends == 1);
    // The attempt is lost, and with it that the intent was ever sent.
    world.kill_browser(MINUTE);
    world.open();
    let found = world.intent_of(ticket);
    assert_eq!((found.state.clone(), found.maybe_sent()), (State::Queued, false), "{found:?}");
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.keys_of(1).len(), world.effects_of(1)), (1, 1), "its key was kept, and the server knows it");
}

/// Why receipts say `weak`, and `minDurability` refuses it: only a unique business reference on the server covers this.
#[test]
fn what_a_weak_tier_lost_is_another_intent_when_it_is_decided_again() {
    let mut world = world(2);
    let tab = world.open();
    world.submit(tab, 1);
    world.run_for(20 * SECOND);
    assert_eq!(world.effects_of(1), 1);
    world.kill_browser(MINUTE);
    let tab = world.open();
    assert!(world.ledger.intents().is_empty());
    world.submit(tab, 1);
    world.run_for(MINUTE);
    assert_eq!((world.keys_of(1).len(), world.effects_of(1)), (2, 2));
}

#[test]
fn a_strong_tier_keeps_what_it_said_was_in() {
    let mut world = World::new(3);
    let tab = world.open();
    let ticket = world.submit(tab, 1);
    world.run_until(HOUR, |world| world.counts.sends == 1);
    world.kill_browser(MINUTE);
    world.open();
    world.run_for(2 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.keys_of(1).len(), world.effects_of(1)), (1, 1));
}
