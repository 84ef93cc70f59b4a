//! `cargo xtask sim --bugs`: mistakes made on purpose, one at a time, until a law catches them. A mistake that survives means
//! that a law is missing, or a situation.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use intento::core::bugs::{Bug, switch};

use crate::profile::Profile;
use crate::run::guarded;
use crate::schedule::{draw, live_in};
use crate::server::ServerBug;
use crate::world::World;

/// Lives for each mistake: several trials, each from seeds of its own.
#[derive(Clone, Debug)]
struct Hunt {
    trials: usize,
    /// A mistake that so many lives of a trial do not show has survived it.
    lives_max: u64,
    /// Only the mistakes whose names hold this.
    only: String,
}

#[derive(Clone, Copy, Debug)]
enum Mistake {
    Client(Bug),
    Server(ServerBug),
}

impl Mistake {
    fn all() -> Vec<Self> {
        let client = Bug::ALL.iter().map(|bug| Self::Client(*bug));
        client.chain(ServerBug::ALL.iter().map(|bug| Self::Server(*bug))).collect()
    }

    fn name(self) -> String {
        match self {
            Self::Client(bug) => format!("{bug:?}"),
            Self::Server(bug) => format!("{bug:?}"),
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Client(bug) => bug.what(),
            Self::Server(bug) => bug.what(),
        }
    }
}

/// What a trial came to.
#[derive(Clone, Debug)]
struct Caught {
    after: u64,
    seed: u64,
    law: String,
}

/// Prints one line a mistake: its name, after how many lives it was caught in the median trial, by which law. The last line
/// is `bugs caught=N of=N`. Exit codes: 1 one survived, 4 wrong arguments.
pub(crate) fn main(given: impl Iterator<Item = String>) -> ExitCode {
    let Some(hunt) = arguments(given) else {
        eprintln!("sim --bugs [--trials N] [--lives N] [--only NAME]");
        return ExitCode::from(4);
    };
    let mistakes: Vec<Mistake> = Mistake::all().into_iter().filter(|it| it.name().contains(&hunt.only)).collect();
    let results = run(&hunt, &mistakes);
    let mut caught = 0;
    for (mistake, trials) in mistakes.iter().zip(&results) {
        caught += usize::from(print(*mistake, trials));
    }
    println!("bugs caught={caught} of={}", mistakes.len());
    ExitCode::from(u8::from(caught < mistakes.len()))
}

fn arguments(mut given: impl Iterator<Item = String>) -> Option<Hunt> {
    let mut hunt = Hunt { trials: 9, lives_max: 200_000, only: String::new() };
    while let Some(option) = given.next() {
        let value = given.next()?;
        match option.as_str() {
            "--trials" => hunt.trials = value.parse().ok()?,
            "--lives" => hunt.lives_max = value.parse().ok()?,
            "--only" => hunt.only = value,
            _ => return None,
        }
    }
    Some(hunt).filter(|hunt| hunt.trials > 0 && hunt.lives_max > 0)
}

/// The trials of each mistake, on every core: the first of all mistakes, then the second of all.
fn run(hunt: &Hunt, mistakes: &[Mistake]) -> Vec<Vec<Option<Caught>>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Vec::new(); mistakes.len()]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (trial, place) = (number / mistakes.len(), number % mistakes.len());
                    let Some(mistake) = mistakes.get(place).filter(|_| trial < hunt.trials) else { break };
                    let first = number as u64 * hunt.lives_max;
                    let caught = search(*mistake, first..first + hunt.lives_max);
                    let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    results[place].push(caught);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The first life that the mistake breaks, and that is sound without it.
fn search(mistake: Mistake, seeds: std::ops::Range<u64>) -> Option<Caught> {
    let first = seeds.start;
    seeds.into_iter().find_map(|seed| {
        let law = broken(Some(mistake), seed)?;
        broken(None, seed).is_none().then(|| Caught { after: seed - first + 1, seed, law })
    })
}

/// Lives one life. Says which law it broke, or what stood still.
fn broken(mistake: Option<Mistake>, seed: u64) -> Option<String> {
    let profile = Profile::drawn(seed);
    let mut world = World::stormy(seed, profile);
    switch(None);
    match mistake {
        Some(Mistake::Client(bug)) => switch(Some(bug)),
        Some(Mistake::Server(bug)) => world.server.bug = Some(bug),
        None => {}
    }
    let ended = guarded(|| live_in(world, &draw(seed), None));
    switch(None);
    match ended {
        Ok(ended) => ended.stuck.first().map(|what| format!("stuck: {what}")),
        Err(why) => Some(why),
    }
}

/// Says whether every trial caught it.
fn print(mistake: Mistake, trials: &[Option<Caught>]) -> bool {
    let mut caught: Vec<&Caught> = trials.iter().flatten().collect();
    caught.sort_by_key(|caught| caught.after);
    let name = mistake.name();
    match caught.get(trials.len() / 2) {
        Some(median) if caught.len() == trials.len() => {
            let law = median.law.lines().next().unwrap_or_default();
            let law = law.strip_prefix(&format!("seed {}: ", median.seed)).unwrap_or(law);
            println!("{name:<26} {:>7}  {}", median.after, law.chars().take(LAW_SHOWN_MAX).collect::<String>());
            true
        }
        _ => {
            println!(
                "{name:<26} SURVIVED {} of {} trials: {}",
                trials.len() - caught.len(),
                trials.len(),
                mistake.what()
            );
            false
        }
    }
}

/// A law's text may go on with the whole record that breaks it.
const LAW_SHOWN_MAX: usize = 80;
