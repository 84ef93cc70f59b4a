//! The stages of `cargo xtask test`, in their order.

use std::env;

use anyhow::{Result, bail};

use super::{Need, Part, Stage, count};
use crate::browser::{ENGINE_VARIABLE, Engine};
use crate::counts::Counts;
use crate::versions::WASM_TARGET;
use crate::workspace::Workspace;
use crate::{chaos, consumer, deny, packaging, process, react_native, reference, reproduce, sim, size, traces};

/// A binary for each kind of realm: a window, a dedicated worker, a service worker.
const WASM_TESTS: [&str; 3] = ["--test=web", "--test=web_worker", "--test=web_service_worker"];

/// What every run has.
pub(super) const STAGES: &[Stage] = &[
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
pub(super) const QUICK: &[Stage] = &[
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
pub(super) const FULL: &[Stage] = &[
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
