//! `cargo xtask test`: every check there is, in order, for people and CI alike.

use std::collections::HashMap;
use std::env;
use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use crate::browser::{ENGINE_VARIABLE, Engine};
use crate::counts::Counts;
use crate::versions::WASM_TARGET;
use crate::workspace::Workspace;
use crate::{
    browser, chaos, consumer, deny, package, packaging, process, react_native, reference, reproduce, setup, sim, size,
    traces, vectors,
};

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

/// A binary for each kind of realm: a window, a dedicated worker, a service worker.
const WASM_TESTS: [&str; 3] = ["--test=web", "--test=web_worker", "--test=web_service_worker"];

/// What every run has.
const STAGES: &[Stage] = &[
    Stage {
        title: "format",
        part: None,
        needs: &[],
        must_count: false,
        run: |workspace| check(workspace, &["fmt", "--all", "--check"], "run `cargo fmt --all`"),
    },
    Stage {
        title: "clippy, host",
        part: None,
        needs: &[],
        must_count: false,
        run: |workspace| clippy(workspace, &["--workspace", "--all-targets"]),
    },
    Stage {
        title: "clippy, wasm32",
        part: None,
        needs: &[],
        must_count: false,
        run: |workspace| {
            let packages = ["--package=intento", "--package=sim-wasm"];
            clippy(workspace, &[&packages[..], &["--lib"], &WASM_TESTS, &["--target", WASM_TARGET]].concat())
        },
    },
    Stage {
        title: "core on the host",
        part: Some(Part::Host),
        needs: &[],
        must_count: true,
        run: |workspace| cargo_test(workspace, &["--package=intento"]),
    },
    Stage {
        title: "simulated world",
        part: Some(Part::Host),
        needs: &[],
        must_count: true,
        run: |workspace| cargo_test(workspace, &["--package=sim"]),
    },
    Stage { title: "lives by seed", part: Some(Part::Host), needs: &[], must_count: true, run: sim::test },
    Stage { title: "deliberate bugs", part: Some(Part::Host), needs: &[], must_count: true, run: sim::hunt },
    Stage {
        title: "deliberate bugs, searched for",
        part: Some(Part::Host),
        needs: &[],
        must_count: true,
        run: |workspace| {
            cargo_test(workspace, &["--package=sim", "--test=exhaustive", "--features=bugs", "a_core_with_a_mistake"])
        },
    },
    Stage {
        title: "reference server",
        part: Some(Part::Server),
        needs: &[],
        must_count: true,
        run: |workspace| cargo_test(workspace, &["--package=reference-server"]),
    },
    Stage {
        title: "xtask",
        part: None,
        needs: &[],
        must_count: true,
        run: |workspace| cargo_test(workspace, &["--package=xtask"]),
    },
    Stage {
        title: "npm package: types and Node",
        part: Some(Part::Types),
        needs: &[Need::Package],
        must_count: true,
        run: consumer::test,
    },
    Stage {
        title: "reference of crate and package",
        part: Some(Part::Types),
        needs: &[Need::Package],
        must_count: true,
        run: reference::test,
    },
    Stage {
        title: "React Native",
        part: Some(Part::Types),
        needs: &[Need::Package],
        must_count: true,
        run: react_native::run,
    },
    Stage {
        title: "size budget",
        part: Some(Part::Types),
        needs: &[Need::Package],
        must_count: false,
        run: size::measure,
    },
    Stage { title: "lives in wasm", part: Some(Part::Wasm), needs: &[], must_count: true, run: traces::test },
    Stage {
        title: "wasm32 in Chromium",
        part: Some(Part::Wasm),
        needs: &[Need::Browser(Engine::Chromium)],
        must_count: true,
        run: |workspace| wasm_tests(workspace, Engine::Chromium),
    },
    Stage {
        title: "wasm32 in Firefox",
        part: Some(Part::Wasm),
        needs: &[Need::Browser(Engine::Firefox)],
        must_count: true,
        run: |workspace| wasm_tests(workspace, Engine::Firefox),
    },
    Stage {
        title: "wasm32 in WebKitGTK",
        part: Some(Part::Wasm),
        needs: &[Need::Browser(Engine::WebKitGtk)],
        must_count: true,
        run: |workspace| wasm_tests(workspace, Engine::WebKitGtk),
    },
    Stage {
        title: "packaging",
        part: Some(Part::Packaging),
        needs: &[Need::Browser(Engine::Chromium), Need::Package],
        must_count: true,
        run: packaging::quick,
    },
    Stage {
        title: "end to end",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::Chromium), Need::Package],
        must_count: true,
        run: |workspace| {
            let other_engines = ["--skip=engines::firefox", "--skip=engines::webkitgtk"];
            cargo_test(workspace, &[&["--package=e2e", "--"], &other_engines[..]].concat())
        },
    },
    Stage {
        title: "chaos in Chromium",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::Chromium), Need::Package],
        must_count: true,
        run: |workspace| chaos::test(workspace, Engine::Chromium),
    },
];

/// Behind those, unless the run is a full one.
const QUICK: &[Stage] = &[
    Stage {
        title: "kill, two tabs in Firefox",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::Firefox), Need::Package],
        must_count: true,
        run: |workspace| kill_and_two_tabs(workspace, Engine::Firefox),
    },
    Stage {
        title: "kill, two tabs in WebKitGTK",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::WebKitGtk), Need::Package],
        must_count: true,
        run: |workspace| kill_and_two_tabs(workspace, Engine::WebKitGtk),
    },
];

/// In their place in a full run.
const FULL: &[Stage] = &[
    Stage {
        title: "packaging, with every bundler",
        part: Some(Part::Packaging),
        needs: &[Need::Browser(Engine::Chromium), Need::Package],
        must_count: true,
        run: packaging::full,
    },
    Stage { title: "licences, sources, bans", part: None, needs: &[], must_count: true, run: deny::test },
    Stage { title: "built twice, the same", part: None, needs: &[], must_count: true, run: reproduce::test },
    Stage {
        title: "end to end in Firefox",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::Firefox), Need::Package],
        must_count: true,
        run: |workspace| end_to_end(workspace, &["engines::firefox"]),
    },
    Stage {
        title: "end to end in WebKitGTK",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::WebKitGtk), Need::Package],
        must_count: true,
        run: |workspace| end_to_end(workspace, &["engines::webkitgtk"]),
    },
    Stage {
        title: "chaos in Firefox",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::Firefox), Need::Package],
        must_count: true,
        run: |workspace| chaos::test(workspace, Engine::Firefox),
    },
    Stage {
        title: "chaos in WebKitGTK",
        part: Some(Part::E2e),
        needs: &[Need::Browser(Engine::WebKitGtk), Need::Package],
        must_count: true,
        run: |workspace| chaos::test(workspace, Engine::WebKitGtk),
    },
];

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

/// A check without tests of its own: nothing passed, or an error.
fn check(workspace: &Workspace, args: &[&str], remedy: &str) -> Result<Counts> {
    process::run(process::cargo(&workspace.root).args(args), remedy)?;
    Ok(Counts::default())
}

fn clippy(workspace: &Workspace, what: &[&str]) -> Result<Counts> {
    let args = [&["clippy"], what, &["--", "-D", "warnings"]].concat();
    check(workspace, &args, "correct what clippy names above")
}

fn cargo_test(workspace: &Workspace, what: &[&str]) -> Result<Counts> {
    let mut cargo = process::cargo(&workspace.root);
    count(cargo.args(["test", "--no-fail-fast"]).args(what))
}

/// The tests in a browser that have such a name.
fn end_to_end(workspace: &Workspace, names: &[&str]) -> Result<Counts> {
    cargo_test(workspace, &[&["--package=e2e", "--test=browser", "--"], names].concat())
}

/// Where the other cases only run in full.
fn kill_and_two_tabs(workspace: &Workspace, engine: Engine) -> Result<Counts> {
    let cases = ["a_browser_killed_between_charge_and_answer", "two_tabs_with_one_intent"];
    let names = cases.map(|case| format!("engines::{}::{case}", engine.name()));
    let counts = end_to_end(workspace, &["--exact", &names[0], &names[1]])?;
    if counts.passed + counts.failed != names.len() as u64 {
        bail!("not all of these are there: {}", names.join(", "));
    }
    Ok(counts)
}

/// The other tests of the package are for the host.
fn wasm_tests(workspace: &Workspace, engine: Engine) -> Result<Counts> {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(["test", "--no-fail-fast", "--package=intento"]).args(WASM_TESTS);
    cargo.args(["--target", WASM_TARGET]).env(ENGINE_VARIABLE, engine.name());
    let runner = env::current_exe()?.display().to_string();
    // Saves a cargo start per test binary. Cargo splits this variable at spaces; with one in the path
    // the runner of .cargo/config.toml does the same, slower.
    if !runner.contains(char::is_whitespace) {
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", format!("{runner} wasm-test-runner"));
    }
    count(&mut cargo)
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
