//! Public reports of other libraries, told again as sequences (docs/hazards.md has them all).

use std::collections::BTreeSet;

use intento::core::input::{Input, Wake};
use intento::core::intent::{HeldReason, State};
use intento::core::limits::IN_PROGRESS_REPEATS_MAX;
use sim::{ATTEMPT_MS, DAY, MINUTE, SECOND, Turn, World, json};

/// GoogleChrome/workbox#600 (hazard T9): everything that starts the work does so, several times, while it is under way.
#[test]
fn overlapping_triggers_send_once() {
    let triggers = [Wake::Online, Wake::Visible, Wake::Timer];
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.has_locks = seed % 2 == 0;
        world.latency_max_ms = 30;
        world.server.work_ms = 5 * SECOND;
        let tabs = [world.open(), world.open()];
        world.submit(tabs[0], 1);
        for _ in 0..200 {
            triggers.iter().for_each(|wake| world.everywhere(*wake));
            world.run_for(20);
        }
        assert_eq!((world.counts.sends, world.server.arrivals), (1, 1), "seed {seed}");
        world.run_for(MINUTE);
        assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1), "seed {seed}");
    }
}

/// redux-offline/redux-offline#167: two tabs restore what was pending, at the same moment, and each hears of it once.
#[test]
fn two_tabs_that_start_with_one_pending_intent_send_it_once() {
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.has_locks = seed % 2 == 0;
        world.latency_max_ms = 30;
        world.server.work_ms = 2 * SECOND;
        world.go_offline();
        let tab = world.open();
        let ticket = world.submit(tab, 1);
        world.run_for(MINUTE);
        world.close(tab);
        world.network.up = true;
        world.network.hint = true;
        world.told.clear();
        let tabs = [world.open(), world.open()];
        world.run_for(MINUTE);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "seed {seed}");
        assert_eq!((world.counts.sends, world.server.arrivals, world.effects_of(1)), (1, 1, 1), "seed {seed}");
        assert!(tabs.iter().all(|tab| world.server.in_flight(*tab) == 0));
    }
}

/// A browser that says it is offline while it is not (hazard N1): a probe decides.
#[test]
fn n1_a_browser_that_wrongly_says_offline_sends_all_the_same() {
    let mut world = World::new(1);
    world.network.hint = false;
    let tab = world.open();
    let (never_sent, unknown) = (world.submit(tab, 1), world.submit(tab, 2));
    world.server.plan([Turn::Pay, Turn::LostOnReturn]);
    world.run_for(MINUTE);
    for ticket in [never_sent, unknown] {
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
    }
    assert_eq!((world.effects_of(1), world.effects_of(2), world.counts.sends), (1, 1, 3));
    assert!(world.counts.probes <= 5, "{} probes", world.counts.probes);
}

/// What passed before the browser said `offline` proves nothing of afterwards: not an attempt (P4).
#[test]
fn p4_a_probe_that_offline_has_overtaken_licenses_nothing() {
    let mut world = World::new(2);
    let tab = world.open();
    world.run_for(SECOND);
    let ticket = world.submit(tab, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.probes == 1));
    // It is on its way back.
    world.input(tab, Input::Wake(Wake::Offline));
    world.run_until(world.now_ms + MINUTE, |world| world.counts.probes == 2);
    world.network.up = false;
    world.run_for(MINUTE);
    assert_eq!((world.state_of(ticket), world.counts.sends), (State::Queued, 0));
}

/// electric-sql/electric#2435 (hazard T12): a minute of sleep, twice the deadline of the request that is under way. What
/// wakes up is one attempt that has ended, not one more beside it.
#[test]
fn a_request_that_was_slept_through_is_one_attempt() {
    for (seed, told) in [(0, true), (1, false), (2, true), (3, false)] {
        let mut world = World::new(seed);
        world.has_locks = seed < 2;
        world.server.work_ms = 2 * SECOND;
        world.server.plan([Turn::LostOnReturn]);
        let tab = world.open();
        let ticket = world.submit(tab, 1);
        assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
        if told {
            world.freeze(tab);
        } else {
            world.stop(tab);
        }
        world.run_for(2 * ATTEMPT_MS);
        assert_eq!(world.counts.sends, 1, "what stands still sends nothing");
        world.thaw(tab);
        world.run_for(2 * MINUTE);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
        assert_eq!((world.counts.sends, world.counts.most_in_flight), (2, 1), "seed {seed}");
        assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
    }
}

/// stripe/stripe-ruby#598 and resend/resend-node#498 (hazard K12): two calls in a row, both repeated.
#[test]
fn no_key_leaks_into_the_next_call() {
    let mut world = World::new(4);
    world.server.plan([Turn::LostOnReturn, Turn::LostOnReturn, Turn::LostOnReturn]);
    let tab = world.open();
    let tickets = [world.submit(tab, 1), world.submit(tab, 2)];
    world.run_for(5 * MINUTE);
    assert!(tickets.iter().all(|ticket| matches!(world.state_of(*ticket), State::Succeeded { .. })));
    assert!(world.server.arrivals >= 5, "both were sent again");
    let all: BTreeSet<String> = world.keys_of(1).union(&world.keys_of(2)).cloned().collect();
    assert_eq!((world.keys_of(1).len(), world.keys_of(2).len(), all.len()), (1, 1, 2));
}

/// idempot-dev/idempot-js#185 (hazard K6): "in progress" for as long as the server remembers the key.
#[test]
fn a_server_that_is_for_ever_in_progress_is_asked_so_often_and_then_somebody_decides() {
    let mut world = World::new(5);
    world.server.plan((0..1_000).map(|_| Turn::Says(json(409))));
    let tab = world.open();
    let ticket = world.submit(tab, 1);
    world.run_for(DAY);
    let intent = world.intent_of(ticket);
    assert_eq!(intent.state, State::Held { reason: HeldReason::Unresolved });
    assert!(!intent.state.safe_to_replace() && intent.maybe_sent());
    assert_eq!((world.counts.sends, world.keys_of(1).len()), (u64::from(IN_PROGRESS_REPEATS_MAX), 1));
}
