//! `cargo run -p e2e --bin story -- --pkg DIR [--break new-key]`: the demo, played headless on the real page.
//!
//! Prints one line a step, with what was seen. The last line says what the server's file holds once browser and
//! servers are gone. Exits non-zero, with a sentence, if any of it is not as promised.

mod checkout;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use e2e::bench::{existing_package, package};
use e2e::browser::Browser;
use e2e::eventually;
use e2e::ledger::Ledger;
use e2e::shop::Shop;

use checkout::Checkout;

struct Options {
    pkg: PathBuf,
    /// What is broken in that package on purpose, if anything is.
    broken: Option<String>,
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
    let options = options()?;
    if let Some(broken) = &options.broken {
        println!("this package breaks its promise on purpose: {broken}");
    }
    let www = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../www");
    let mut shop = Shop::open(&www, &options.pkg).await?;
    let browser = Browser::launch().await?;
    let played = play(&shop, &browser).await;
    browser.quit().await?;
    shop.close().await;
    println!("browser and servers are closed; now the server's file alone");
    // What the file says weighs more than what the page did.
    report(&shop.ledger()?)?;
    played
}

fn options() -> Result<Options> {
    let mut arguments = lexopt::Parser::from_env();
    let (mut pkg, mut broken) = (None, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            lexopt::Arg::Long("pkg") => pkg = Some(PathBuf::from(arguments.value()?)),
            lexopt::Arg::Long("break") => broken = Some(arguments.value()?.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().into()),
        }
    }
    let pkg = pkg.map_or_else(package, existing_package)?;
    Ok(Options { pkg, broken })
}

/// Pays once, on a line that loses the answers.
async fn play(shop: &Shop, browser: &Browser) -> Result<()> {
    let page = Checkout::open(browser.driver()?, &shop.page_url()).await?;
    println!("the page is open: {}, {}", page.order().await?, page.total().await?);

    page.lose_the_answer(true).await?;
    let armed = async || Ok(shop.armed().await?["drop_after_commit"].as_u64().filter(|left| *left > 0));
    eventually("the server heard of the switch", armed).await?;
    println!("armed \"Lose the answer\": from now on the server charges, then the line drops");
    page.press_pay().await?;
    println!("pressed \"Confirm payment\"");

    eventually("the page has lost an answer and says so", async || {
        Ok(page.seen().await?.filter(|seen| seen.standing == "unknown" && seen.lost > 0))
    })
    .await?;
    let before = page.now().await?;
    let charges = shop.ledger()?.tally().effects;
    println!("the server has charged {charges}×, the answer got lost; the page says: \"{}\"", before.status);
    println!("key {} in {}", before.key_hash, attempts(before.attempts));

    page.reload().await?;
    let after = eventually("the page found the payment again", async || page.seen().await).await?;
    println!("reloaded; the page says: \"{}\"", after.status);
    println!("key {} in {}", after.key_hash, attempts(after.attempts));
    if after.key_hash != before.key_hash {
        bail!("the page came back with another key: {} became {}", before.key_hash, after.key_hash);
    }
    if after.standing == "paid" {
        bail!("the page says paid, and no answer ever reached it");
    }

    page.lose_the_answer(false).await?;
    println!("switched \"Lose the answer\" off");
    let last = eventually("the payment ends", async || Ok(page.seen().await?.filter(|seen| seen.is_over()))).await?;
    let replayed = if last.replayed { "and its answer was replayed" } else { "and nothing was replayed" };
    println!("{} with key {}, {replayed}; the page says: \"{}\"", attempts(last.attempts), last.key_hash, last.status);
    if last.standing != "paid" {
        bail!("the page does not say that it is paid: it says \"{}\"", last.status);
    }
    Ok(())
}

/// The last line of the story, and whether it is the promised one.
fn report(ledger: &Ledger) -> Result<()> {
    let effects = ledger.tally().effects;
    let (keys, attempts) = (ledger.keys().len(), ledger.wire().len());
    let replayed = ledger.wire().last().is_some_and(|last| last.replayed && last.answered);
    println!("effects={effects} keys={keys} attempts={attempts} replayed={replayed}");
    if effects != 1 {
        bail!("one payment was charged {effects} times");
    }
    if keys != 1 {
        bail!("one payment was sent with {keys} keys");
    }
    if attempts < 2 {
        bail!("one attempt was enough: nothing got lost, so nothing was shown");
    }
    if !replayed {
        bail!("the last answer was not a replay of the first");
    }
    Ok(())
}

fn attempts(count: u64) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}
