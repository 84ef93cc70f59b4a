//! `cargo xtask test`: every check there is, in order, for people and CI alike.

mod stages;

use std::collections::HashMap;
use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use self::stages::{FULL, QUICK, STAGES};
use crate::browser::Engine;
use crate::counts::Counts;
use crate::workspace::Workspace;
use crate::{browser, package, process, setup, vectors};

/// What `cargo xtask test` can be asked to run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Host,
    Server,
    Wasm,
    Types,
    Packaging,
    E2e,
    /// The golden vectors alone, counted one by one. In a full run they are part of two other stages.
    Contracts,
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "host" => Self::Host,
            "server" => Self::Server,
            "wasm" => Self::Wasm,
            "types" => Self::Types,
            "packaging" => Self::Packaging,
            "e2e" => Self::E2e,
            "contracts" => Self::Contracts,
            _ => bail!("there is no stage `{name}`: choose host, server, wasm, types, packaging, e2e or contracts"),
        })
    }
}

/// Everything, unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) part: Option<Part>,
    /// The wasm32 tests in this engine, and nothing else.
    pub(crate) engine: Option<Engine>,
    /// All of what is end to end in every engine, where it takes minutes.
    pub(crate) full: bool,
}

impl Choice {
    fn takes(self, stage: &Stage) -> bool {
        match self.engine {
            Some(engine) => stage.part == Some(Part::Wasm) && stage.needs.contains(&Need::Browser(engine)),
            None => self.part.is_none() || stage.part == self.part,
        }
    }
}

struct Stage {
    title: &'static str,
    /// None: only in a full run.
    part: Option<Part>,
    needs: &'static [Need],
    /// A stage that must have tests fails when it counts none: a filter or a moved file hides nothing.
    must_count: bool,
    run: fn(&Workspace) -> Result<Counts>,
}

impl Stage {
    fn engine_that_cannot_be_here(&self) -> Option<Engine> {
        self.needs.iter().find_map(|need| match need {
            Need::Browser(engine) if !engine.exists_here() => Some(*engine),
            _ => None,
        })
    }
}

/// Made once, before the first stage that needs it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Need {
    Browser(Engine),
    Package,
}

/// The stages to choose from, in order.
fn stages(full: bool) -> impl Iterator<Item = &'static Stage> {
    STAGES.iter().chain(if full { FULL } else { QUICK })
}

/// Runs one part, or every stage. A failed stage does not stop the later ones. The last line is
/// `N passed, N failed`; a stage that fails without naming a test counts as one failed.
pub(crate) fn run(workspace: &Workspace, only: Choice) -> Result<ExitCode> {
    if only.part == Some(Part::Contracts) {
        return vectors::run(workspace);
    }
    if let Err(error) = set_up(workspace) {
        eprintln!("error: {error:#}");
        return Ok(report(&[("set-up", Counts::BROKEN, Duration::ZERO)]));
    }
    let mut needs = Needs::default();
    let mut results = Vec::new();
    for stage in stages(only.full) {
        if !only.takes(stage) {
            continue;
        }
        if let Some(engine) = stage.engine_that_cannot_be_here().filter(|_| only.engine.is_none()) {
            println!("\n==> {}: not run, {} exists on Linux only", stage.title, engine.title());
            continue;
        }
        let ready = needs.meet(workspace, stage.needs);
        process::heading(stage.title);
        let started = Instant::now();
        let counts = run_stage(workspace, stage, ready);
        println!("    {:.1} s", started.elapsed().as_secs_f64());
        results.push((stage.title, counts, started.elapsed()));
    }
    Ok(report(&results))
}

pub(crate) fn set_up(workspace: &Workspace) -> Result<()> {
    setup::run(workspace)?;
    setup::add_component(workspace, "fmt", "rustfmt")?;
    setup::add_component(workspace, "clippy", "clippy")
}

fn run_stage(workspace: &Workspace, stage: &Stage, ready: Result<()>) -> Counts {
    match ready.and_then(|()| (stage.run)(workspace)) {
        Ok(counts) if stage.must_count && counts == Counts::default() => {
            println!("error: no test ran here, and this stage must have some");
            Counts::BROKEN
        }
        Ok(counts) => counts,
        Err(error) => {
            println!("error: {error:#}");
            Counts::BROKEN
        }
    }
}

fn report(results: &[(&str, Counts, Duration)]) -> ExitCode {
    process::heading("results");
    let mut total = Counts::default();
    for (title, counts, elapsed) in results {
        println!(
            "    {title:<28}{:>6} passed{:>6} failed{:>9.1} s",
            counts.passed,
            counts.failed,
            elapsed.as_secs_f64()
        );
        total += *counts;
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    match total.failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

#[derive(Default)]
struct Needs {
    met: HashMap<Need, bool>,
}

impl Needs {
    fn meet(&mut self, workspace: &Workspace, needs: &[Need]) -> Result<()> {
        for need in needs {
            let met = *self.met.entry(*need).or_insert_with(|| need.meet(workspace));
            if !met {
                bail!("not run: {} failed, see above", need.title());
            }
        }
        Ok(())
    }
}

impl Need {
    fn title(self) -> &'static str {
        match self {
            Self::Browser(_) => "the browser's set-up",
            Self::Package => "the build of pkg/",
        }
    }

    fn meet(self, workspace: &Workspace) -> bool {
        let result = match self {
            Self::Browser(engine) => browser::set_up(workspace, engine),
            Self::Package => package::build(workspace, &package::Options::shipped(workspace, false)),
        };
        if let Err(error) = &result {
            println!("error: {error:#}");
        }
        result.is_ok()
    }
}

/// Runs a test harness and counts what it reports.
pub(crate) fn count(harness: &mut Command) -> Result<Counts> {
    let mut counts = Counts::default();
    let status = process::watch(harness, |line| counts.read_line(line))?;
    if !status.success() && counts.failed == 0 {
        counts += Counts::BROKEN;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace::find().unwrap()
    }

    fn stage(must_count: bool, run: fn(&Workspace) -> Result<Counts>) -> Stage {
        Stage { title: "a stage", part: None, needs: &[], must_count, run }
    }

    #[test]
    fn a_stage_that_must_have_tests_fails_without_any() {
        let empty = |_: &Workspace| Ok(Counts::default());
        let workspace = workspace();
        assert_eq!(run_stage(&workspace, &stage(true, empty), Ok(())), Counts::BROKEN);
        assert_eq!(run_stage(&workspace, &stage(false, empty), Ok(())), Counts::default());
    }

    #[test]
    fn a_stage_that_cannot_run_is_one_failure() {
        let broken = stage(true, |_| bail!("no compiler"));
        assert_eq!(run_stage(&workspace(), &broken, Ok(())), Counts::BROKEN);
        let fine = stage(true, |_| Ok(Counts { passed: 3, failed: 0 }));
        let unready = Err(anyhow::anyhow!("no browser"));
        assert_eq!(run_stage(&workspace(), &fine, unready), Counts::BROKEN);
    }

    #[test]
    fn a_harness_that_dies_silently_is_one_failure() {
        let mut cargo = process::cargo(&workspace().root);
        cargo.arg("--no-such-flag").stderr(std::process::Stdio::null());
        assert_eq!(count(&mut cargo).unwrap(), Counts::BROKEN);
    }

    #[test]
    fn every_part_has_a_stage() {
        for name in ["host", "server", "wasm", "types", "packaging", "e2e"] {
            let part: Part = name.parse().unwrap();
            assert!(STAGES.iter().any(|stage| stage.part == Some(part)), "{name}");
        }
    }

    #[test]
    fn a_full_run_leaves_no_engine_out() {
        for full in [false, true] {
            for engine in Engine::ALL {
                let in_it =
                    |stage: &Stage| stage.part == Some(Part::E2e) && stage.needs.contains(&Need::Browser(engine));
                assert!(stages(full).any(in_it), "{engine:?}, full: {full}");
            }
        }
    }

    #[test]
    fn an_engine_chosen_alone_is_one_stage_of_that_engine() {
        for engine in Engine::ALL {
            let choice = Choice { engine: Some(engine), ..Choice::default() };
            let taken: Vec<&str> = stages(false).filter(|stage| choice.takes(stage)).map(|stage| stage.title).collect();
            assert_eq!(taken, [format!("wasm32 in {}", engine.title())]);
        }
    }
}
