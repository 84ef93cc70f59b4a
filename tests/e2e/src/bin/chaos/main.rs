//! `cargo run -p e2e --bin chaos -- --server PROGRAM [--pkg DIR] [--kills N] [--browser ENGINE] [--seed N]`: several
//! tabs of a real browser, acts drawn by seed, and SIGKILL for browsers, pages' processes and the server.
//!
//! Prints one line an act. The last line says what became of every intent that the app was told is stored; exits
//! non-zero if any of them was lost, duplicated or did not end.

mod account;
mod shop;
mod storm;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use e2e::bench::{existing_package, package};
use e2e::browser::Engine;
use lexopt::{Arg, Parser, ValueExt};

use account::Account;
use shop::Shop;
use storm::Storm;

const KILLS: u32 = 10;

struct Options {
    server: PathBuf,
    pkg: PathBuf,
    kills: u32,
    engine: Engine,
    seed: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(account) if account.is_clean() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<Account> {
    let options = options()?;
    println!("browser={} seed={}", options.engine.name(), options.seed);
    let shop = Shop::open(&options.server, &options.pkg).await?;
    let mut storm = Storm::begin(options.engine, shop, options.seed).await?;
    storm.rage(options.kills).await?;
    let account = storm.settle().await?;
    account.list_what_is_wrong();
    println!("chaos kills={} {account}", options.kills);
    Ok(account)
}

fn options() -> Result<Options> {
    let mut arguments = Parser::from_env();
    let (mut server, mut pkg, mut kills, mut engine, mut seed) = (None, None, KILLS, Engine::default(), None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("server") => server = Some(PathBuf::from(arguments.value()?)),
            Arg::Long("pkg") => pkg = Some(PathBuf::from(arguments.value()?)),
            Arg::Long("kills") => kills = arguments.value()?.parse()?,
            Arg::Long("browser") => engine = arguments.value()?.parse()?,
            Arg::Long("seed") => seed = Some(arguments.value()?.parse()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Options {
        server: server.context("--server names the reference server's program")?,
        pkg: pkg.map_or_else(package, existing_package)?,
        kills,
        engine,
        seed: seed.unwrap_or_else(|| fastrand::u64(..)),
    })
}
