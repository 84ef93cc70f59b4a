//! `cargo xtask sim --exhaustive`.

use std::panic;
use std::process::ExitCode;
use std::time::Instant;

use super::{Report, Scope, Twins, search};

/// What is searched unless told otherwise, one after the other: some six minutes on one core, in 2.4 GB.
const SEARCHED: [(&str, Scope); 5] = [
    ("crashes and faults", Scope::DEEP),
    ("three of everything", Scope::WIDE.at_most(3)),
    ("two of everything, without Web Locks", Scope { locks: false, ..Scope::WIDE.at_most(2) }),
    ("two of everything, with a handler for outcomes", Scope { delivers: true, ..Scope::WIDE.at_most(2) }),
    ("one of everything, where queries wait too", Scope { queries_wait: true, ..Scope::WIDE.at_most(1) }),
];
/// About as many as 4 GB hold.
const STATES_MAX: usize = 5_000_000;

/// Exit codes: 1 unsafe, 2 stuck, 3 not closed, 4 wrong arguments.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.collect();
    panic::set_hook(Box::new(|_| {}));
    if arguments.is_empty() {
        return conclude(SEARCHED.map(|(name, scope)| show(name, scope, Twins::Trusted)));
    }
    match stated(&arguments) {
        Some((scope, twins)) => conclude([show("as stated", scope, twins)]),
        None => {
            let kinds = "crashes=N faults=N freezes=N jumps=N asks=N at-most=N";
            eprintln!("sim --exhaustive [{kinds} delivers no-locks queries-wait compared]");
            ExitCode::from(4)
        }
    }
}

/// A scope in words.
fn stated(words: &[String]) -> Option<(Scope, Twins)> {
    let (mut scope, mut twins) = (Scope { at_most: u8::MAX, ..Scope::CALM }, Twins::Trusted);
    for word in words {
        let (name, number) = word.split_once('=').unwrap_or((word, "1"));
        let number: u8 = number.parse().ok()?;
        match name {
            "crashes" => scope.crashes = number,
            "faults" => scope.faults = number,
            "freezes" => scope.freezes = number,
            "jumps" => scope.jumps = number,
            "asks" => scope.asks = number,
            "at-most" => scope.at_most = number,
            "delivers" => scope.delivers = true,
            "no-locks" => scope.locks = false,
            "queries-wait" => scope.queries_wait = true,
            "compared" => twins = Twins::Compared,
            _ => return None,
        }
    }
    let all = scope.kinds().into_iter().fold(0_u8, |all, left| all.saturating_add(*left));
    Some((scope.at_most(scope.at_most.min(all)), twins))
}

fn show(name: &str, scope: Scope, twins: Twins) -> Report {
    let started = Instant::now();
    let report = search(scope, twins, STATES_MAX);
    println!("{name}:");
    report.found.iter().for_each(|found| print!("{found}"));
    report.reached.iter().for_each(|(what, states)| println!("{states:>9}  {what}"));
    if let Some((states, steps)) = report.first_at {
        println!("{states:>9}  states, when {steps} steps first broke a law");
    }
    let seconds = started.elapsed().as_secs_f64();
    let Report { states, transitions, depth, longest_way, .. } = report;
    println!("{states:>9}  states, {transitions} transitions, depth {depth}, {longest_way} fair steps, {seconds:.1} s");
    report
}

fn conclude(reports: impl IntoIterator<Item = Report>) -> ExitCode {
    let (mut states, mut depth, mut frontier, mut broken, mut stuck, mut unlike) = (0, 0, 0, 0, 0, 0);
    for report in reports {
        states += report.states;
        depth = depth.max(report.depth);
        frontier += report.frontier;
        broken += report.unsafe_count;
        stuck += report.stuck;
        unlike += report.unlike;
    }
    if unlike > 0 {
        println!("unlike={unlike}: states that counted as one did not lead to the same");
    }
    println!("exhaustive states={states} depth={depth} frontier={frontier} unsafe={broken} stuck={stuck}");
    ExitCode::from(match (broken, stuck, frontier, unlike) {
        (0, 0, 0, 0) => 0,
        (0, 0, ..) => 3,
        (0, ..) => 2,
        _ => 1,
    })
}
