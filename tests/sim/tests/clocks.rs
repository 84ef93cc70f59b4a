//! Wrong clocks at the first send of a payment (P3, law 7): of the schedules that the design was corrected for.

use intento::core::input::{Input, Wake};
use intento::core::intent::{Evidence, HeldReason, Replay, State};
use intento::core::submission::ExpiresIn;
use sim::profile::Profile;
use sim::{DAY, HOUR, MINUTE, SECOND, Turn, World, json, with_header};

const WINDOW_CLOSED: State = State::Held { reason: HeldReason::WindowClosed };
const REPLAYED: State = State::Succeeded { replay: Replay::Replayed, evidence: Evidence::Reply };

#[test]
fn the_clock_is_twelve_hours_ahead_at_the_first_send() {
    // Corrected before the eyes of a tab, or while none is open; how long offline; is it sent again? The server remembers a
    // key for 25 hours, the contract believes in 23.
    for (seen, offline_ms, sent_again) in [(true, 10 * HOUR, true), (true, 30 * HOUR, false), (false, HOUR, false)] {
        let mut world = World::stormy(8, Profile::Forgets);
        world.storm.calm();
        world.step_wall(12 * HOUR as i64);
        let tab = world.open();
        world.server.plan([Turn::LostOnReturn]);
        let order = world.submit_with(tab, 1, |submission| submission.expires_in = ExpiresIn::Never);
        assert!(world.run_until(MINUTE, |world| world.effects_of(1) == 1));
        world.run_for(5);
        world.server.asks = false;
        world.go_offline();
        if !seen {
            world.close(tab);
        }
        world.step_wall(-12 * HOUR as i64);
        world.everywhere(Wake::Visible);
        world.run_for(offline_ms);
        let asks_nobody = world.open_with(|settings| settings.can_reconcile = false);
        world.realms().into_iter().filter(|tab| *tab != asks_nobody).for_each(|tab| world.close(tab));
        world.go_online();
        world.run_for(MINUTE);
        let expected = if sent_again { REPLAYED } else { WINDOW_CLOSED };
        assert_eq!(world.state_of(order), expected, "seen: {seen}, {offline_ms} ms offline");
        assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
    }
}

/// Thirty hours look like eighteen where nobody saw the clock set back: what a server that remembers is for.
#[test]
fn a_correction_that_no_tab_saw_is_the_server_s_to_catch() {
    let mut world = World::new(8);
    world.step_wall(12 * HOUR as i64);
    let tab = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let order = world.submit(tab, 1);
    assert!(world.run_until(MINUTE, |world| world.effects_of(1) == 1));
    world.close(tab);
    world.step_wall(-12 * HOUR as i64);
    world.run_for(30 * HOUR);
    world.open();
    world.run_for(HOUR);
    assert_eq!(world.state_of(order), State::Held { reason: HeldReason::Unresolved });
    assert_eq!((world.effects_of(1), world.keys_of(1).len(), world.counts.sends), (1, 1, 2));
}

#[test]
fn one_reading_of_the_year_2038() {
    let mut world = World::new(9);
    let tab = world.open();
    world.server.plan([Turn::Says(with_header(json(503), "retry-after", "60"))]);
    let caught = world.submit(tab, 1);
    world.run_for(SECOND);
    let to_2038_ms = 2_147_483_648_000 - world.wall_ms() as i64;
    world.step_wall(to_2038_ms);
    world.input(tab, Input::Wake(Wake::Visible));
    world.step_wall(-to_2038_ms);
    world.run_for(2 * MINUTE);
    assert_eq!(world.state_of(caught), WINDOW_CLOSED, "how long ago its first send was nobody knows");
    let tab = world.reload(tab);
    world.server.plan([Turn::LostOnReturn]);
    let later = world.submit(tab, 2);
    world.run_for(MINUTE);
    assert_eq!(world.state_of(later), REPLAYED, "no later window is closed");
    world.server.plan([Turn::LostOnReturn]);
    let last = world.submit(tab, 3);
    assert!(world.run_until(HOUR, |world| world.effects_of(3) == 1));
    world.go_offline();
    world.run_for(DAY);
    world.go_online();
    world.run_for(MINUTE);
    assert_eq!(world.state_of(last), WINDOW_CLOSED, "or held open");
    assert_eq!(world.keys_of(1).len(), 1);
}
