//! The one way in, for people and CI: `cargo xtask <command>`.

mod api;
mod bench;
mod bill;
mod browser;
mod chaos;
mod classic;
mod compress;
mod consumer;
mod contracts;
mod counts;
mod demo;
mod deny;
mod glue;
mod inline;
mod module;
mod names;
mod package;
mod packaging;
mod packed;
mod process;
mod react_native;
mod reference;
mod reproduce;
mod setup;
mod sim;
mod size;
mod snippets;
mod test;
mod traces;
mod vectors;
mod versions;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};
use lexopt::{Arg, Parser, ValueExt};

use crate::workspace::Workspace;

const HELP: &str = "\
cargo xtask <command>

  setup                  install what a build needs: wasm32 target, npm tools
  build [--debug]        build the npm package into pkg/
  size                   build, then print the sizes that ship
  test [STAGE] [--full]  set up and run everything, or one of: host server wasm types packaging e2e contracts;
                         --full runs all that is end to end in every engine, not only in Chromium
  test wasm --engine E   the wasm32 tests in one engine alone: chromium, firefox or webkitgtk
  sim [--seeds N] [--seed S] [--from S] [--profile P]
                         lives of the shipped core in a simulated world; a million unless told otherwise
  sim --bugs [--trials N] [--lives N] [--only NAME]
                         mistakes made on purpose: after how many lives which law catches each
  sim --exhaustive [crashes=N faults=N freezes=N jumps=N asks=N at-most=N delivers no-locks queries-wait compared]
                         everything that can happen within a small scope, or within the one that is stated
  sim --wasm [--seeds N] [--from S]
                         the same lives natively and, built as it ships, in Node; a thousand unless told otherwise
  demo [--headless] [--break new-key] [--port N]
                         serve the demo page and the reference server on loopback;
                         --headless plays the story in a headless browser and checks it
  bench                  build, then measure in one browser what intento costs beside raw IndexedDB: six figures,
                         each with its target
  chaos [--kills N] [--browser E] [--seed N] [--break new-key]
                         several tabs, and SIGKILL for the browser, a page's process or the server; then every intent
                         that was acknowledged is compared with the server's file
  docs                   build, then write the reference of crate and package; undocumented is an error
  reproduce              build the package in two folders, and compare every byte
  deny                   licences, sources, bans and advisories of all crates, by cargo-deny
  ci                     what CI runs: the same as `test`
  wasm-test-runner ...   cargo's runner for wasm32 tests (cargo calls it); WASM_TEST_ENGINE names an engine as above
";

enum Command {
    Help,
    Setup,
    Build { debug: bool },
    Size,
    Test { only: test::Choice },
    Demo(demo::Options),
    Bench,
    Chaos(chaos::Options),
    Docs,
    Reproduce,
    Deny,
    Sim { args: Vec<OsString> },
    Traces(traces::Lives),
    WasmTestRunner { args: Vec<OsString> },
}

fn main() -> ExitCode {
    match parse(Parser::from_env()).and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Help => print!("{HELP}"),
        Command::Setup => {
            setup::run(&Workspace::find()?)?;
            println!("ready to build");
        }
        Command::Build { debug } => {
            let workspace = Workspace::find()?;
            setup::run(&workspace)?;
            package::build(&workspace, &package::Options::shipped(&workspace, debug))?;
        }
        Command::Size => size::run(&Workspace::find()?)?,
        Command::Test { only } => return test::run(&Workspace::find()?, only),
        Command::Demo(options) => return demo::run(&Workspace::find()?, &options),
        Command::Bench => return bench::run(&Workspace::find()?),
        Command::Chaos(options) => return chaos::run(&Workspace::find()?, &options),
        Command::Docs => {
            let workspace = Workspace::find()?;
            setup::run(&workspace)?;
            package::build(&workspace, &package::Options::shipped(&workspace, false))?;
            reference::run(&workspace)?;
        }
        Command::Reproduce => reproduce::run(&Workspace::find()?)?,
        Command::Deny => deny::run(&Workspace::find()?)?,
        Command::Sim { args } => return sim::run(&Workspace::find()?, &args),
        Command::Traces(lives) => return traces::run(&Workspace::find()?, lives),
        Command::WasmTestRunner { args } => return browser::run_wasm_tests(args),
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(mut parser: Parser) -> Result<Command> {
    let name = match parser.next()? {
        None | Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Help),
        Some(Arg::Value(name)) => name.string()?,
        Some(other) => return Err(other.unexpected().into()),
    };
    let command = match name.as_str() {
        "help" => Command::Help,
        "setup" => Command::Setup,
        "build" => Command::Build { debug: parse_debug(&mut parser)? },
        "size" => Command::Size,
        "ci" => Command::Test { only: test::Choice::default() },
        "test" => Command::Test { only: parse_choice(&mut parser)? },
        "demo" => Command::Demo(parse_demo(&mut parser)?),
        "bench" => Command::Bench,
        "chaos" => Command::Chaos(parse_chaos(&mut parser)?),
        "docs" => Command::Docs,
        "reproduce" => Command::Reproduce,
        "deny" => Command::Deny,
        "sim" => parse_sim(parser.raw_args()?.collect())?,
        "wasm-test-runner" => Command::WasmTestRunner { args: parser.raw_args()?.collect() },
        _ => bail!("there is no command `{name}`: run `cargo xtask help` for the list"),
    };
    match parser.next()? {
        None => Ok(command),
        Some(extra) => Err(extra.unexpected().into()),
    }
}

fn parse_debug(parser: &mut Parser) -> Result<bool> {
    match parser.next()? {
        None => Ok(false),
        Some(Arg::Long("debug")) => Ok(true),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn parse_choice(parser: &mut Parser) -> Result<test::Choice> {
    let mut choice = test::Choice::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(part) if choice.part.is_none() => choice.part = Some(part.string()?.parse()?),
            Arg::Long("engine") => choice.engine = Some(parser.value()?.string()?.parse()?),
            Arg::Long("full") => choice.full = true,
            other => return Err(other.unexpected().into()),
        }
    }
    match choice {
        test::Choice { part: None | Some(test::Part::Wasm), engine: Some(_), .. }
        | test::Choice { engine: None, .. } => Ok(choice),
        _ => bail!("`--engine` chooses among the stages of `wasm`"),
    }
}

/// What the simulator is asked is its own to read.
fn parse_sim(args: Vec<OsString>) -> Result<Command> {
    if !args.iter().any(|arg| arg == "--wasm") {
        return Ok(Command::Sim { args });
    }
    let mut lives = traces::Lives::default();
    let mut parser = Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("wasm") => {}
            Arg::Long("seeds") => lives.count = parser.value()?.parse()?,
            Arg::Long("from") => lives.first = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Traces(lives))
}

fn parse_demo(parser: &mut Parser) -> Result<demo::Options> {
    let mut options = demo::Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("headless") => options.headless = true,
            Arg::Long("break") => options.sabotage = Some(parser.value()?.string()?.parse()?),
            Arg::Long("port") => options.port = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}

fn parse_chaos(parser: &mut Parser) -> Result<chaos::Options> {
    let mut options = chaos::Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("kills") => options.kills = parser.value()?.parse()?,
            Arg::Long("browser") => options.engine = parser.value()?.string()?.parse()?,
            Arg::Long("seed") => options.seed = Some(parser.value()?.parse()?),
            Arg::Long("break") => options.sabotage = Some(parser.value()?.string()?.parse()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Command> {
        parse(Parser::from_args(args))
    }

    #[test]
    fn reads_every_demo_option() {
        let Ok(Command::Demo(options)) = parsed(&["demo", "--headless", "--break", "new-key", "--port", "9000"]) else {
            panic!("not read as a demo");
        };
        assert!(options.headless);
        assert_eq!(options.sabotage, Some(demo::Sabotage::NewKey));
        assert_eq!(options.port, 9000);
    }

    #[test]
    fn reads_every_chaos_option() {
        let args = ["chaos", "--kills", "3", "--browser", "webkitgtk", "--seed", "7", "--break", "new-key"];
        let Ok(Command::Chaos(options)) = parsed(&args) else { panic!("not read as chaos") };
        let (engine, sabotage) = (browser::Engine::WebKitGtk, Some(demo::Sabotage::NewKey));
        assert_eq!(options, chaos::Options { kills: 3, engine, seed: Some(7), sabotage });
    }

    #[test]
    fn an_engine_is_chosen_with_or_without_the_stage() {
        for args in [&["test", "--engine", "firefox"][..], &["test", "wasm", "--engine", "firefox"]] {
            let Ok(Command::Test { only }) = parsed(args) else { panic!("{args:?} is not read as a test") };
            assert_eq!(only.engine, Some(browser::Engine::Firefox));
        }
    }

    #[test]
    fn a_full_run_is_asked_for_with_or_without_a_stage() {
        for args in [&["test", "--full"][..], &["test", "e2e", "--full"]] {
            let Ok(Command::Test { only }) = parsed(args) else { panic!("{args:?} is not read as a test") };
            assert!(only.full);
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for args in [
            &["bild"][..],
            &["build", "--debugg"],
            &["test", "unit"],
            &["test", "host", "wasm"],
            &["test", "host", "--engine", "firefox"],
            &["test", "--engine", "opera"],
            &["demo", "--break", "old-key"],
            &["chaos", "--engine", "firefox"],
            &["setup", "twice"],
            &["sim", "--wasm", "--profile", "stripe"],
        ] {
            assert!(parsed(args).is_err(), "{args:?} was accepted");
        }
    }

    #[test]
    fn lives_in_wasm_are_counted_from_a_seed() {
        let Ok(Command::Traces(lives)) = parsed(&["sim", "--seeds", "20", "--wasm", "--from", "7"]) else {
            panic!("not read as a comparison");
        };
        assert_eq!(lives, traces::Lives { first: 7, count: 20 });
    }

    #[test]
    fn hands_the_runner_its_arguments_untouched() {
        let Ok(Command::WasmTestRunner { args }) = parsed(&["wasm-test-runner", "t.wasm", "--nocapture", "name"])
        else {
            panic!("not read as the runner");
        };
        assert_eq!(args, ["t.wasm", "--nocapture", "name"]);
    }
}
