//! Everything that can happen within scopes that take seconds. `cargo xtask sim --exhaustive` searches larger ones.

use sim::exhaustive::{Report, Scope, Twins, search};

const PLENTY: usize = 100_000;

fn closed(scope: Scope) -> Report {
    let report = search(scope, Twins::Compared, PLENTY);
    let broken = (report.unsafe_count, report.stuck, report.unlike);
    assert_eq!(broken, (0, 0, 0), "unsafe, stuck, unlike: {}", report.found.join("\n"));
    assert_eq!(report.frontier, 0, "nothing is left to follow");
    report
}

#[test]
fn whatever_goes_wrong_once_breaks_no_law_and_holds_nothing_up() {
    let report = closed(Scope::WIDE.at_most(1));
    for shown in ["absent", "in progress", "lapsed", "completed, Applied", "completed, Refused", "tombstone"] {
        assert!(report.reached.contains_key(&format!("server {shown}")), "{shown} among {:?}", report.reached);
    }
    assert!(report.reached.contains_key("both realms wait for an answer"), "{:?}", report.reached);
}

#[test]
fn nor_does_it_without_web_locks() {
    closed(Scope { locks: false, ..Scope::WIDE.at_most(1) });
}

#[test]
fn nor_where_outcomes_are_handed_to_the_app() {
    closed(Scope { delivers: true, ..Scope::WIDE.at_most(1) });
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    let report = search(Scope::DEEP, Twins::Trusted, 100);
    assert!(report.frontier > 0 && report.states >= 100, "{report:?}");
}

/// Among the mistakes that `sim --bugs` knows, those that a race of two realms or a lost answer brings to light.
#[cfg(feature = "bugs")]
#[test]
fn a_core_with_a_mistake_in_it_is_found_out() {
    use intento::core::bugs::{Bug, switch};
    let locked = Scope::WIDE.at_most(1);
    let unlocked = Scope { locks: false, ..locked };
    let made = [
        (Bug::LiveLeaseStolen, unlocked),
        (Bug::LeaseShorterThanAttempt, unlocked),
        (Bug::GuardSkipped, locked),
        (Bug::MaySendAfterFreeze, locked),
        (Bug::RefusalBesideUnknown, Scope::DEEP.at_most(2)),
        (Bug::NewKeyOnRetry, locked),
    ];
    for (bug, scope) in made {
        switch(Some(bug));
        let report = search(scope, Twins::Trusted, PLENTY);
        switch(None);
        assert!(report.unsafe_count > 0, "{bug:?} in {} states", report.states);
    }
}
