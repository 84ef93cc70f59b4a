//! Offline is not an attempt (P4, law 12), and what a device's clock can do (P3).

use intento::core::contract::Fault;
use intento::core::input::{Authorized, Input, Wake};
use intento::core::intent::{Cause, HeldReason, State};
use intento::core::limits::PROBE_FORBIDS_MAX_MS;
use intento::core::submission::ExpiresIn;
use sim::{DAY, HOUR, LedgerFault, MINUTE, SECOND, Turn, World, json, with_header};

/// Three days without a network, with a reload every few hours. `believed`: the browser says that there is one.
fn three_days_offline(expires_in: ExpiresIn, believed: bool) -> (World, u64, usize) {
    let mut world = World::new(7);
    let mut realm = world.open();
    if believed {
        // Probes are known to work here; the browser never says offline.
        world.submit(realm, 9);
        world.run_for(10 * MINUTE);
        assert_eq!(world.effects_of(9), 1);
        world.network.up = false;
    } else {
        world.go_offline();
    }
    let sends = world.counts.sends;
    let ticket = world.submit_with(realm, 1, |submission| submission.expires_in = expires_in);
    for _ in 0..9 {
        world.run_for(8 * HOUR);
        realm = world.reload(realm);
    }
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket);
    assert_eq!((intent.state, intent.history.total), (State::Queued, 0), "never an attempt");
    assert_eq!(world.counts.sends, sends);
    (world, ticket, realm)
}

#[test]
fn p4_3_three_days_offline_then_one_effect() {
    for believed in [false, true] {
        let (mut world, ticket, realm) = three_days_offline(ExpiresIn::Never, believed);
        assert!(!world.intent_of(ticket).maybe_sent(), "still cancellable");
        world.go_online();
        world.run_for(MINUTE);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
        assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
        assert_eq!(world.intent_of(ticket).history.total, 1);
        assert!(!world.cancel(realm, &world.intent_of(ticket).id));
    }
}

#[test]
fn p4_3_three_days_offline_then_cancelled() {
    let (mut world, ticket, realm) = three_days_offline(ExpiresIn::Never, false);
    assert!(world.cancel(realm, &world.intent_of(ticket).id));
    world.go_online();
    world.run_for(HOUR);
    assert_eq!((world.state_of(ticket), world.effects_of(1)), (State::Cancelled, 0));
}

#[test]
fn p4_3_the_twin_with_the_default_expires_uncharged() {
    for believed in [false, true] {
        let (mut world, ticket, _) = three_days_offline(ExpiresIn::Default, believed);
        world.go_online();
        world.run_for(HOUR);
        assert_eq!((world.state_of(ticket), world.effects_of(1)), (State::Expired, 0));
        assert!(world.state_of(ticket).safe_to_replace());
    }
}

#[test]
fn p4_the_network_s_return_is_noticed_without_the_browser_s_help() {
    let (mut world, ticket, _) = three_days_offline(ExpiresIn::Never, true);
    world.network.up = true;
    world.run_for(2 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn p4_2_probes_that_never_pass_forbid_for_ten_minutes_only() {
    let mut world = World::new(1);
    world.network.probes_pass = false;
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(PROBE_FORBIDS_MAX_MS - MINUTE);
    assert_eq!(world.counts.sends, 0);
    world.run_for(3 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    world.run_for(MINUTE);
    let second = world.submit(realm, 2);
    world.run_for(SECOND);
    assert!(matches!(world.state_of(second), State::Succeeded { .. }), "the probe is unusable here, and skipped");
}

#[test]
fn p4_2_a_changed_clock_does_not_make_a_bad_probe_forbid_for_ever() {
    let mut world = World::new(1);
    world.network.probes_pass = false;
    let realm = world.open();
    let ticket = world.submit_with(realm, 1, |submission| submission.expires_in = ExpiresIn::Never);
    world.run_for(MINUTE);
    world.close(realm);
    world.laws.clocks_disagree = true;
    world.step_wall(-(5 * HOUR as i64));
    world.open();
    world.run_for(PROBE_FORBIDS_MAX_MS + 3 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
}

#[test]
fn law_12_network_lost_in_flight_then_back() {
    let mut world = World::new(3);
    let realm = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let ticket = world.submit(realm, 1);
    world.run_until(MINUTE, |world| world.counts.sends == 1);
    world.go_offline();
    world.run_for(2 * HOUR);
    let waiting = world.intent_of(ticket);
    assert!(matches!(waiting.state, State::Waiting { .. }) && waiting.history.total == 1, "{waiting:?}");
    world.go_online();
    world.run_for(SECOND);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "what waits for the network does not wait on");
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn a_floor_outlives_reloads_and_the_network_s_return() {
    let mut world = World::new(4);
    let realm = world.open();
    world.server.plan([Turn::Says(with_header(json(503), "retry-after", "600"))]);
    let ticket = world.submit(realm, 1);
    world.run_for(30 * SECOND);
    let realm = world.reload(realm);
    world.everywhere(Wake::Online);
    world.run_for(5 * MINUTE);
    world.reload(realm);
    world.everywhere(Wake::Online);
    world.everywhere(Wake::Visible);
    world.run_for(4 * MINUTE);
    assert_eq!(world.counts.sends, 1, "not before ten minutes have passed");
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn law_7_a_window_that_passed_is_held_and_never_re_keyed() {
    let mut world = World::new(5);
    let realm = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let ticket = world.submit(realm, 1);
    world.run_until(MINUTE, |world| world.counts.sends == 1);
    world.go_offline();
    world.run_for(DAY);
    world.go_online();
    world.run_for(HOUR);
    assert_eq!(world.state_of(ticket), State::Held { reason: HeldReason::WindowClosed });
    assert_eq!((world.counts.sends, world.keys_of(1).len()), (1, 1));
}

#[test]
fn law_7_a_forward_jump_closes_only_windows_that_were_open() {
    let mut world = World::new(6);
    world.laws.clocks_disagree = true;
    let realm = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let caught = world.submit(realm, 1);
    world.run_until(MINUTE, |world| world.counts.sends == 1);
    world.step_wall(3_650 * DAY as i64);
    world.run_for(MINUTE);
    world.step_wall(-(3_650 * DAY as i64));
    world.run_for(MINUTE);
    assert_eq!(world.state_of(caught), State::Held { reason: HeldReason::WindowClosed });

    world.server.plan([Turn::LostOnReturn, Turn::Says(json(503))]);
    let later = world.submit(realm, 2);
    world.run_for(HOUR);
    assert!(matches!(world.state_of(later), State::Succeeded { .. }), "{:?}", world.intent_of(later));
}

#[test]
fn p3_3_an_unbridged_step_back_holds_what_would_expire() {
    let mut world = World::new(8);
    world.laws.clocks_disagree = true;
    world.go_offline();
    let realm = world.open();
    let ages = world.submit(realm, 1);
    let ageless = world.submit_with(realm, 2, |submission| submission.expires_in = ExpiresIn::Never);
    world.run_for(HOUR);
    world.close(realm);
    world.step_wall(-(6 * HOUR as i64));
    world.go_online();
    world.open();
    world.run_for(10 * MINUTE);
    assert_eq!(world.state_of(ages), State::Held { reason: HeldReason::ClockChanged });
    assert!(matches!(world.state_of(ageless), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.effects_of(2)), (0, 1));
}

#[test]
fn p3_1_a_step_back_that_a_realm_bridged_changes_nothing() {
    let mut world = World::new(8);
    world.go_offline();
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(HOUR);
    world.step_wall(-(6 * HOUR as i64));
    world.run_for(HOUR);
    world.go_online();
    world.run_for(10 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
}

#[test]
fn law_12_no_step_of_the_clock_wedges_a_queue() {
    for step_s in [-86_400, -3_600, -62, -61, -60, -59, -30, 30, 61, 3_600, 86_400] {
        let mut world = World::new(11);
        world.laws.clocks_disagree = true;
        let realm = world.open();
        world.server.plan([Turn::LostOnReturn]);
        let ticket = world.submit_with(realm, 1, |submission| submission.expires_in = ExpiresIn::Never);
        world.run_until(MINUTE, |world| world.counts.sends == 1);
        world.close(realm);
        world.step_wall(step_s * 1_000);
        let realm = world.open();
        world.run_for(5 * SECOND);
        let fresh = world.submit_with(realm, 2, |submission| submission.expires_in = ExpiresIn::Never);
        let before = world.counts;
        world.run_for(10 * MINUTE);
        assert!(world.is_settled(), "{step_s} s: {:?}", world.intent_of(ticket));
        assert!(matches!(world.state_of(fresh), State::Succeeded { .. }), "{step_s} s: {:?}", world.intent_of(fresh));
        assert!(world.effects_of(1) <= 1 && world.effects_of(2) == 1);
        assert!(world.counts.commits - before.commits < 40, "{step_s} s: {:?}", world.counts);
    }
}

#[test]
fn law_12_credentials_that_fail_park_and_come_back() {
    let mut world = World::new(12);
    let realm = world.open();
    world.authorize = || Authorized::Failed;
    let ticket = world.submit(realm, 1);
    world.run_for(10 * MINUTE);
    assert_eq!((world.state_of(ticket), world.counts.sends), (State::Queued, 0));
    assert!(world.counts.authorizations < 60, "{:?}", world.counts);
    world.authorize = || Authorized::Granted(Default::default());
    world.run_for(2 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn law_9_credentials_of_another_scope_hold_every_intent_unsent() {
    let mut world = World::new(13);
    let realm = world.open();
    world.authorize = || Authorized::OtherScope;
    let tickets: Vec<u64> = (0..20).map(|number| world.submit(realm, number)).collect();
    world.run_for(5 * MINUTE);
    for ticket in tickets {
        assert_eq!(world.state_of(ticket), State::Held { reason: HeldReason::Auth });
        assert!(!world.intent_of(ticket).maybe_sent());
    }
    assert_eq!(world.counts.sends, 0);
}

#[test]
fn the_app_learns_an_outcome_that_the_ledger_does_not_take() {
    let mut world = World::new(14);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.server.work_ms = 100;
    world.run_until(MINUTE, |world| world.counts.sends == 1);
    world.ledger.fail_next([LedgerFault::Aborted; 6]);
    let heard =
        world.run_until(MINUTE, |world| world.told.iter().any(|(_, intent, durable)| intent.has_ended() && !durable));
    assert!(heard, "told, marked as not durable");
    world.run_for(10 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "and the facts are offered again");
    assert_eq!((world.effects_of(1), world.counts.sends), (1, 1));
}

#[test]
fn law_4_faults_alone_never_settle() {
    for fault in [Fault::Network, Fault::Timeout, Fault::Truncated, Fault::TooLarge] {
        let mut world = World::new(15);
        let realm = world.open();
        world.server.plan((0..1_000).map(|_| Turn::Fails(fault)));
        let ticket = world.submit(realm, 1);
        world.run_for(12 * HOUR);
        let intent = world.intent_of(ticket);
        assert_eq!(intent.state, State::Held { reason: HeldReason::Unresolved }, "{fault:?}: {}", intent.history.total);
        assert!(!intent.state.safe_to_replace());
        assert_eq!(world.keys_of(1).len(), 1);
    }
}

#[test]
fn law_12_what_waits_for_the_network_goes_at_once_when_it_is_back() {
    let mut long_waits = 0;
    for seed in 0..10 {
        let mut world = World::new(seed);
        let realm = world.open();
        world.server.plan((0..9).map(|_| Turn::LostOnTheWay));
        let ticket = world.submit(realm, 1);
        assert!(world.run_until(HOUR, |world| world.counts.sends == 9));
        world.run_for(5);
        let waits = world.intent_of(ticket);
        assert_eq!(waits.state, State::Waiting { cause: Cause::Network });
        let wait_ms = waits.due_at_ms.unwrap() - world.engine(realm).stamp().at_ms;
        long_waits += u32::from(wait_ms > 5 * SECOND);
        world.everywhere(Wake::Online);
        world.run_for(SECOND);
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "seed {seed}: not after {wait_ms} ms");
    }
    assert!(long_waits > 3, "else this shows nothing");
}

#[test]
fn p4_2_a_changed_clock_does_not_block_an_origin_for_ever() {
    let mut world = World::new(16);
    world.network.probes_pass = false;
    let realm = world.open();
    world.submit(realm, 9);
    world.run_for(PROBE_FORBIDS_MAX_MS + 3 * MINUTE);
    assert_eq!(world.effects_of(9), 1, "probes are unusable here from now on");
    world.network.hint = false;
    world.everywhere(Wake::Offline);
    let ticket = world.submit_with(realm, 1, |submission| submission.expires_in = ExpiresIn::Never);
    world.run_for(MINUTE);
    assert_eq!(world.counts.sends, 1, "the browser says offline, and nothing can be asked");

    // The clock is stepped back, and a tab that has not seen it before is the first to write.
    world.laws.clocks_disagree = true;
    world.step_wall(-(5 * HOUR as i64));
    let other = world.open();
    world.submit_with(other, 2, |submission| submission.expires_in = ExpiresIn::Never);
    world.run_for(SECOND);
    world.close(other);
    assert_eq!(world.ledger.clock().map(|clock| clock.epoch), Some(1));
    world.submit(realm, 3);
    world.run_for(PROBE_FORBIDS_MAX_MS + 3 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
}

/// Found by seed 444: a tab took one wild reading of the wall clock and moved the ledger's clock years ahead; another, which
/// had read the ledger before and never wrote, waited those years.
#[test]
fn p3_a_tab_that_only_reads_follows_the_ledgers_clock() {
    let mut world = World::new(444);
    let wild = world.open();
    let reader = world.open();
    world.messages_lost = true;
    world.run_for(SECOND);
    world.step_wall(4_000 * DAY as i64);
    world.input(wild, Input::Wake(Wake::Visible));
    world.step_wall(-4_000 * DAY as i64);
    world.network.probes_pass = false;
    world.submit(wild, 1);
    assert!(world.run_until(MINUTE, |world| !world.ledger.intents().is_empty()));
    world.close(wild);
    world.network.probes_pass = true;
    world.run_for(2 * HOUR);
    let state = world.ledger.intents()[0].state.clone();
    assert!(matches!(state, State::Succeeded { .. }), "{state:?} at {:?}", world.engine(reader).stamp());
}

/// Found by seed 23171 and its like: a tab saw the clock being set back, bridged it, wrote nothing, and was closed. For the
/// next tab hours had not passed that had, and it sent again after the server had forgotten the key.
#[test]
fn law_7_a_step_back_that_one_tab_has_seen_the_next_one_knows() {
    let mut world = World::new(23_171);
    world.server.plan([Turn::Says(with_header(json(503), "retry-after", "82800"))]);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(HOUR);
    world.step_wall(-20 * HOUR as i64);
    world.run_for(2 * HOUR);
    world.close(realm);
    world.run_for(22 * HOUR);
    world.open();
    world.run_for(HOUR);
    assert_eq!(world.state_of(ticket), State::Held { reason: HeldReason::WindowClosed });
    assert_eq!(world.counts.sends, 1, "and the law is checked at each send");
}
