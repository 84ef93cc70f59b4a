//! intento in real browsers, over WebDriver, against the real reference server on a real SQLite file.
//!
//! | module | what it is |
//! |---|---|
//! | [`bench`] | what a test starts with: a shop and a browser |
//! | [`shop`] | two origins: one serves the page, the other takes the payments |
//! | [`example`] | an example of `examples/`, built and served |
//! | [`site`] | files, with headers of a test's choosing |
//! | [`ledger`] | what the server's file says, and the promises it must show |
//! | [`browser`] | a browser of one of three engines and its driver: launched, killed, launched again on the same profile |
//! | [`page`] | one tab with the app of `pages/`, which does what a test tells it |
//! | [`wakes`] | a service worker that the browser wakes |
//! | [`worker`] | a worker of that app, asked through a tab |
//! | [`native_host`] | the native app around a webview, with the package's host |
//! | [`relay`] | something between the page and the API that spoils connections or hides headers |
//! | [`told`] | what an app gets to know: snapshots, outcomes, errors |

pub mod bench;
pub mod browser;
pub mod example;
pub mod ledger;
pub mod native_host;
pub mod page;
pub mod relay;
pub mod shop;
pub mod site;
pub mod told;
pub mod wakes;
pub mod worker;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long anything that must happen may take. Long: machines are slow, and a test that passes never waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Looks again and again until there is something to see.
///
/// # Errors
/// What the look fails with, or that `what` did not happen within [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    bail!("not within {} s: {what}", PATIENCE.as_secs())
}
