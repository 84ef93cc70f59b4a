//! `cargo run -p e2e --bin bench -- --json FILE`: what intento costs beside raw strict IndexedDB with the same records, in one
//! headless Chromium page.
//!
//! Ratios of one run: seconds of a shared machine mean nothing. One line a figure with its target and PASS or FAIL; the last
//! line is `bench pass=N fail=N`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use e2e::bench::Bench;
use e2e::page::Page;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A slow machine takes minutes for twenty thousand intents.
const RUN_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// One figure: a ratio, or MiB.
#[derive(Debug, Deserialize, Serialize)]
struct Figure {
    name: String,
    /// What it is to reach, at most.
    target: f64,
    ratio: f64,
    ours_ms: Option<f64>,
    raw_ms: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measured {
    Figures(Vec<Figure>),
    Error(String),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let json = json_path()?;
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let figures = measured(&page).await?;
    if let Some(path) = json {
        fs::write(&path, serde_json::to_string_pretty(&figures)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let passed = figures.iter().filter(|figure| print(figure)).count();
    println!("bench pass={passed} fail={}", figures.len() - passed);
    Ok(())
}

/// Runs all of it; asked for again and again, since a driver's client has little patience.
async fn measured(page: &Page) -> Result<Vec<Figure>> {
    let begin = "const { run } = await import('/bench.js');
        window.measured = run(app.api).then((figures) => ({ figures }), (error) => ({ error: String(error) }));";
    page.call::<Value>(begin, json!([])).await?;
    let look = "return Promise.race([window.measured, new Promise((done) => setTimeout(done, 5000))])";
    let started = Instant::now();
    while started.elapsed() < RUN_DEADLINE {
        match page.call::<Option<Measured>>(look, json!([])).await? {
            Some(Measured::Figures(figures)) => return Ok(figures),
            Some(Measured::Error(error)) => bail!("the page: {error}"),
            None => {}
        }
    }
    bail!("not measured within {} s", RUN_DEADLINE.as_secs())
}

/// Prints one figure; true if it is reached.
fn print(figure: &Figure) -> bool {
    let Figure { name, target, ratio, ours_ms, raw_ms } = figure;
    let passed = ratio <= target;
    let verdict = if passed { "PASS" } else { "FAIL" };
    let spent = match (ours_ms, raw_ms) {
        (Some(ours_ms), Some(raw_ms)) => format!("   {ours_ms:.1} ms / {raw_ms:.1} ms"),
        _ => String::new(),
    };
    println!("{verdict}  {ratio:6.2} of {target:4.1}   {name}{spent}");
    passed
}

fn json_path() -> Result<Option<PathBuf>> {
    let mut arguments = lexopt::Parser::from_env();
    let mut json = None;
    while let Some(argument) = arguments.next()? {
        match argument {
            lexopt::Arg::Long("json") => json = Some(PathBuf::from(arguments.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(json)
}
