//! Several realms at one ledger: races, crashes, lost answers and duplicated deliveries, by seed.

#![cfg(not(target_arch = "wasm32"))]

mod world;

use intento::core::contract::Fault;
use intento::core::intent::{Cause, State};
use world::{HOUR, LedgerFault, MINUTE, SECOND, Turn, World};

const SEEDS: u64 = 2_000;
const DECISIONS: u32 = 3;

/// What a seed does for a while: up to three tabs, a device that goes on and off line, a server and a ledger that fail.
fn chaos(seed: u64) -> World {
    let mut world = World::new(seed);
    world.server.chaos = true;
    world.server.work_ms = world.dice.roll(3_000);
    world.latency_max_ms = 1 + world.dice.roll(400);
    for _ in 0..=world.dice.roll(3) {
        world.open();
    }
    for _ in 0..24 {
        happen(&mut world);
        let pause = world.dice.roll(20_000);
        world.run_for(pause);
    }
    world
}

fn happen(world: &mut World) {
    let realms = world.realms();
    let pick = world.dice.roll(realms.len().max(1) as u64) as usize;
    let Some(realm) = realms.get(pick).copied() else {
        world.open();
        return;
    };
    match world.dice.roll(18) {
        0..=5 => {
            let number = world.dice.roll(u64::from(DECISIONS)) as u32;
            world.submit(realm, number);
        }
        6 if realms.len() < 3 => {
            world.open();
        }
        7 => world.close(realm),
        8 => world.freeze(realm),
        9 | 10 => world.thaw(realm),
        11 => world.go_offline(),
        12 | 13 => world.go_online(),
        14 => {
            let fault = match world.dice.roll(4) {
                0 => LedgerFault::Conflict,
                1 => LedgerFault::Aborted,
                2 => LedgerFault::UnknownIn,
                _ => LedgerFault::UnknownOut,
            };
            world.ledger.fail_next([fault]);
        }
        15 => {
            let intents = world.ledger.intents();
            let pick = world.dice.roll(intents.len().max(1) as u64) as usize;
            if let Some(intent) = intents.get(pick) {
                world.cancel(realm, &intent.id);
            }
        }
        // Only odd seeds: where the wall clock is stepped, realms may disagree about when a lease ends.
        16 if world.seed % 2 == 1 => {
            let step_ms = world.dice.roll(4 * HOUR) as i64 - 2 * HOUR as i64;
            world.laws.clocks_disagree = true;
            world.step_wall(step_ms);
        }
        _ => {
            world.reload(realm);
        }
    }
}

/// Faults stop; one tab is left open.
fn calm(world: &mut World) {
    world.server.chaos = false;
    world.ledger.heal();
    for realm in world.realms() {
        world.close(realm);
    }
    world.go_online();
    world.open();
}

fn check_effects(world: &World) {
    let seed = world.seed;
    for number in 0..DECISIONS {
        assert!(
            world.effects_of(number) <= 1,
            "seed {seed}: order {number} was paid {} times",
            world.effects_of(number)
        );
        assert!(world.keys_of(number).len() <= 1, "seed {seed}: order {number} travelled under several keys");
    }
    for intent in world.ledger.intents() {
        let number = intent.reference.as_deref().and_then(|name| name.strip_prefix("order-")?.parse().ok()).unwrap();
        let paid = world.effects_of(number);
        match intent.state {
            State::Succeeded { .. } => assert_eq!(paid, 1, "seed {seed}: succeeded without an effect: {intent:?}"),
            State::Rejected { replaceable, .. } => {
                assert!(paid == 0 || !replaceable, "seed {seed}: paid, and safe to replace: {intent:?}");
            }
            State::Cancelled | State::Expired | State::NotApplied => {
                assert_eq!(paid, 0, "seed {seed}: {} and paid", intent.state.name());
            }
            _ => {}
        }
    }
}

#[test]
fn law_12_whatever_tabs_do_there_is_one_effect_and_an_end() {
    let mut attempts = 0;
    let mut settled = 0;
    for seed in 0..SEEDS {
        let mut world = chaos(seed);
        check_effects(&world);
        calm(&mut world);
        let end_ms = world.now_ms + 30 * MINUTE;
        world.run_for(SECOND);
        while !world.is_settled() && world.now_ms < end_ms {
            world.run_for(5 * SECOND);
        }
        for intent in world.ledger.intents() {
            let held = matches!(intent.state, State::Held { .. });
            assert!(intent.has_ended() || held, "seed {seed}: law 12: neither ended nor held: {intent:?}");
            attempts += intent.history.total;
            settled += 1;
        }
        // What is still on the wire arrives, and pays nothing twice.
        world.run_for(3 * MINUTE);
        check_effects(&world);
    }
    assert!(settled > SEEDS && u64::from(attempts) > 2 * settled, "the seeds do things: {attempts} for {settled}");
}

#[test]
fn a_seed_is_one_run() {
    let trace = |seed| {
        let world = chaos(seed);
        let states: Vec<_> =
            world.ledger.intents().into_iter().map(|intent| (intent.id, intent.state, intent.fence)).collect();
        (states, world.counts.sends, world.server.arrivals, world.now_ms)
    };
    assert_eq!(trace(42), trace(42));
    assert_ne!(trace(42), trace(43));
}

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
