//! A seed is one run, and a small part of what `cargo xtask sim` does at length.

use sim::profile::Profile;
use sim::schedule::{draw, live};
use sim::trace::traced;

#[test]
fn a_seed_is_one_run() {
    let trace = |seed| traced(seed, Profile::Conforming).trace;
    assert!(trace(42).is_some());
    assert_eq!(trace(42), trace(42));
    assert_ne!(trace(42), trace(43));
}

/// Seeds that once broke a law, or stood still. The names of the tests that came of them say what it was.
#[test]
fn what_was_found_once_stays_found() {
    for (seed, profile) in [(444, Profile::Conforming), (3584, Profile::Conforming), (5612, Profile::Conforming)] {
        let ended = live(seed, profile, &draw(seed), None);
        assert!(ended.stuck.is_empty(), "seed {seed}: {:?}", ended.stuck);
    }
}

#[test]
fn law_12_every_kind_of_server_lets_every_life_come_to_an_end() {
    for (number, profile) in (0..).zip(Profile::ALL.iter().cycle().take(140)) {
        let seed = 1_000_000 + number;
        let ended = live(seed, *profile, &draw(seed), None);
        assert!(ended.stuck.is_empty(), "seed {seed}, {}: {:?}", profile.name(), ended.stuck);
    }
}
