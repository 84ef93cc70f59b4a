//! Many seeds, on every core; what fails is shrunk to the steps and faults that it takes, and printed.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::exhaustive;
use crate::profile::Profile;
use crate::schedule::{Ended, draw, live};
use crate::shrink::retell;
use crate::tally::Tally;
use crate::trace::{account, traced};

const SEEDS: u64 = 1_000_000;
/// Of a million lives, each situation must come about this often.
const FLOOR_PER_MILLION: u64 = 100;
/// Fewer lives say nothing about what is rare.
const JUDGED_FROM: u64 = 100_000;
/// What a run need not show: these lives hold nothing that brings it about, or hardly anything.
const NOT_ASKED_FOR: [&str; 1] = ["410 for a key past its retention"];
/// Every so many-th seed is lived twice.
const TWICE_EACH: u64 = 100;
/// Failures that are shrunk and printed; the rest is only counted.
const SHOWN_MAX: usize = 3;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: u64,
    count: u64,
    profile: Option<Profile>,
    /// Print each life's account, and judge nothing.
    traces: bool,
}

#[derive(Debug, Default)]
struct Found {
    tally: Tally,
    unsafe_seeds: Vec<(u64, String)>,
    stuck_seeds: Vec<(u64, String)>,
}

/// Exit codes: 1 unsafe, 2 stuck, 3 vacuous, 4 wrong arguments.
pub fn main() -> ExitCode {
    let mut given = std::env::args().skip(1).peekable();
    if given.next_if(|first| first == "--bugs").is_some() {
        return hunt(given);
    }
    if given.next_if(|first| first == "--exhaustive").is_some() {
        return exhaustive::main(given);
    }
    let Some(asked) = arguments(given) else {
        let profiles = Profile::ALL.map(Profile::name).join("|");
        eprintln!("sim [--seeds N | --traces N] [--from S] [--seed S] [--profile {profiles}]");
        return ExitCode::from(4);
    };
    if asked.traces {
        (asked.first..asked.first + asked.count).for_each(|seed| println!("{}", account(seed)));
        return ExitCode::SUCCESS;
    }
    panic::set_hook(Box::new(|_| {}));
    let started_s = core_s();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(asked.count as usize);
    let found = run(asked, threads);
    let per_core_per_s = (asked.count as f64 / (core_s() - started_s)) as u64;

    for (seed, why) in found.unsafe_seeds.iter().chain(&found.stuck_seeds).take(SHOWN_MAX) {
        let profile = profile_of(asked, *seed);
        println!("seed {seed}, {}: {}", profile.name(), why.lines().next().unwrap_or_default());
        print!("{}", retell(*seed, profile));
    }
    println!("situations:");
    found.tally.rows().iter().for_each(|(what, times)| println!("  {what}: {times}"));
    let vacuous = vacuous(&found.tally, asked);
    let (unsafe_count, stuck) = (found.unsafe_seeds.len(), found.stuck_seeds.len());
    println!(
        "sim schedules={} per_core_per_s={per_core_per_s} unsafe={unsafe_count} stuck={stuck} vacuous={vacuous}",
        asked.count
    );
    ExitCode::from(match (unsafe_count, stuck, vacuous) {
        (0, 0, 0) => 0,
        (0, 0, _) => 3,
        (0, ..) => 2,
        _ => 1,
    })
}

#[cfg(feature = "bugs")]
fn hunt(given: impl Iterator<Item = String>) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    crate::bugs::main(given)
}

#[cfg(not(feature = "bugs"))]
fn hunt(_: impl Iterator<Item = String>) -> ExitCode {
    eprintln!("this build has no bugs to switch on: `cargo xtask sim --bugs` makes one that has");
    ExitCode::from(4)
}

/// Seconds that this process has had of all cores together: what else the machine does says nothing of a life.
fn core_s() -> f64 {
    let had = clock_gettime(ClockId::ProcessCPUTime);
    had.tv_sec as f64 + had.tv_nsec as f64 / 1e9
}

fn arguments(mut given: impl Iterator<Item = String>) -> Option<Asked> {
    let mut asked = Asked { first: 0, count: SEEDS, profile: None, traces: false };
    while let Some(option) = given.next() {
        let value = given.next()?;
        match option.as_str() {
            "--seeds" => asked.count = value.parse().ok()?,
            "--seed" => asked = Asked { first: value.parse().ok()?, count: 1, ..asked },
            "--traces" => asked = Asked { count: value.parse().ok()?, traces: true, ..asked },
            "--from" => asked.first = value.parse().ok()?,
            "--profile" => asked.profile = Some(Profile::ALL.into_iter().find(|profile| profile.name() == value)?),
            _ => return None,
        }
    }
    Some(asked).filter(|asked| asked.count > 0)
}

fn profile_of(asked: Asked, seed: u64) -> Profile {
    asked.profile.unwrap_or_else(|| Profile::drawn(seed))
}

fn run(asked: Asked, threads: usize) -> Found {
    let next = AtomicU64::new(asked.first);
    let found = Mutex::new(Found::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut mine = Found::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= asked.first + asked.count {
                        break;
                    }
                    match guarded(|| life(seed, profile_of(asked, seed))) {
                        Ok(ended) => {
                            mine.tally += ended.tally;
                            if let Some(why) = ended.stuck.first() {
                                mine.stuck_seeds.push((seed, why.clone()));
                            }
                        }
                        Err(why) => mine.unsafe_seeds.push((seed, why)),
                    }
                }
                let mut all = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                all.tally += mine.tally;
                all.unsafe_seeds.append(&mut mine.unsafe_seeds);
                all.stuck_seeds.append(&mut mine.stuck_seeds);
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.unsafe_seeds.sort();
    found.stuck_seeds.sort();
    found
}

/// One in a hundred is lived twice: a seed that is not one life reproduces nothing.
fn life(seed: u64, profile: Profile) -> Ended {
    if !seed.is_multiple_of(TWICE_EACH) {
        return live(seed, profile, &draw(seed), None);
    }
    let ended = traced(seed, profile);
    assert_eq!(ended.trace, traced(seed, profile).trace, "seed {seed}: another life the second time");
    ended
}

/// A law that is broken ends a life by a panic; its message is the error.
pub(crate) fn guarded(life: impl FnOnce() -> Ended) -> Result<Ended, String> {
    panic::catch_unwind(AssertUnwindSafe(life)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

/// Situations that came about too rarely. Few lives, or those before one kind of server, are not judged.
fn vacuous(tally: &Tally, asked: Asked) -> usize {
    if asked.count < JUDGED_FROM || asked.profile.is_some() {
        println!("  (not judged: that takes {JUDGED_FROM} lives before all kinds of servers)");
        return 0;
    }
    let floor = FLOOR_PER_MILLION * asked.count / 1_000_000;
    let wanted = tally.rows().into_iter().filter(|(what, _)| !NOT_ASKED_FOR.contains(what));
    let rare: Vec<_> = wanted.filter(|(_, times)| *times < floor).collect();
    for (what, times) in &rare {
        println!("too rare: {what}: {times}, wanted {floor}");
    }
    rare.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lives_in_which_nothing_came_about_are_vacuous_and_few_are_not_judged() {
        let asked = |count, profile| Asked { first: 0, count, profile, traces: false };
        let nothing = Tally::default();
        assert_eq!(vacuous(&nothing, asked(JUDGED_FROM, None)), nothing.rows().len() - NOT_ASKED_FOR.len());
        assert_eq!(vacuous(&nothing, asked(JUDGED_FROM - 1, None)), 0);
        assert_eq!(vacuous(&nothing, asked(JUDGED_FROM, Some(Profile::Stripe))), 0);
    }

    #[test]
    fn what_is_not_asked_for_is_named_as_it_is_counted() {
        let rows = Tally::default().rows();
        assert!(NOT_ASKED_FOR.iter().all(|named| rows.iter().any(|(what, _)| what == named)));
    }
}
