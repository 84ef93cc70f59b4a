//! A browser of one of three engines: launched, killed, launched again on the same profile.

mod driver;
mod engine;
mod log;
mod processes;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::WebDriver;
use tokio::sync::{Semaphore, SemaphorePermit};

use self::driver::{Display, Driver};
use self::processes::{Process, descendants, ticks};
use crate::page::Page;

pub use self::engine::Engine;
pub use self::processes::{Signal, signal};

/// Browsers that run at the same time. More of them on a small machine only makes all of them slow.
const BROWSERS_MAX: usize = 2;
/// How often the profile of a killed browser is removed, and after how many looks without it it is gone.
const REMOVALS_MAX: u32 = 60;
const STAYS_AWAY: u32 = 8;
const REMOVE_AGAIN: Duration = Duration::from_millis(30);

static TURNS: Semaphore = Semaphore::const_new(BROWSERS_MAX);

/// A browser that nobody sees, with a profile of its own. Dropping it ends it, and everything it stored.
#[derive(Debug)]
pub struct Browser {
    engine: Engine,
    session: Option<Session>,
    display: Option<Display>,
    profile: TempDir,
    _turn: SemaphorePermit<'static>,
}

/// A driver serves one browser: not every one of them takes another after one that was killed.
#[derive(Debug)]
struct Session {
    driver: WebDriver,
    /// The browser's main process.
    process: u32,
    _service: Driver,
}

impl Browser {
    /// Waits for its turn, then starts a driver and a Chromium.
    pub async fn launch() -> Result<Self> {
        Self::launch_in(Engine::Chromium).await
    }

    /// As [`launch`](Self::launch), with a browser of that engine.
    pub async fn launch_in(engine: Engine) -> Result<Self> {
        let turn = TURNS.acquire().await?;
        let display = match engine {
            Engine::WebKitGtk => Some(Display::start().await?),
            Engine::Chromium | Engine::Firefox => None,
        };
        let profile = TempDir::with_prefix("intento-profile-")?;
        let mut browser = Self { engine, session: None, display, profile, _turn: turn };
        browser.relaunch().await?;
        Ok(browser)
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// # Errors
    /// If the browser was killed.
    pub fn driver(&self) -> Result<&WebDriver> {
        self.session.as_ref().map(|session| &session.driver).context("the browser is not running")
    }

    /// SIGKILL for all its processes: nothing in the browser gets to finish anything.
    pub fn kill(&mut self) -> Result<()> {
        let Some(session) = self.session.take() else { bail!("the browser is not running") };
        session.kill();
        Ok(())
    }

    /// Starts a browser on the same profile: what the last one stored is still there.
    pub async fn relaunch(&mut self) -> Result<()> {
        let service = Driver::start(self.engine, self.profile.path(), self.display.as_ref()).await?;
        let capabilities = self.engine.capabilities(self.profile.path())?;
        let driver = WebDriver::new(service.url(), capabilities).await?;
        let process = match self.engine.process_capability() {
            Some(name) => driver.capabilities().get(name).and_then(Value::as_u64),
            // The driver has started nothing else, and the newest is the browser.
            None => descendants(service.process()?).first().map(|browser| browser.id.into()),
        };
        let Some(process) = process.and_then(|id| u32::try_from(id).ok()) else {
            driver.quit().await?;
            bail!("the driver does not say which process the browser is: install a newer one");
        };
        self.session = Some(Session { driver, process, _service: service });
        Ok(())
    }

    /// The process that a page runs in, maybe with others: the one that works when the page does.
    pub async fn process_of(&self, page: &Page) -> Result<u32> {
        let ticks = || -> Vec<(u32, u64)> {
            let running = self.processes(|process| self.engine.runs_pages(&process.command_line));
            running.into_iter().map(|process| (process, ticks(process))).collect()
        };
        let before = ticks();
        page.call::<Value>("for (const end = Date.now() + 300; Date.now() < end; );", json!([])).await?;
        let before = |process: u32| before.iter().find(|(known, _)| *known == process).map_or(0, |(_, ticks)| *ticks);
        let worked = ticks().into_iter().max_by_key(|(process, ticks)| ticks.saturating_sub(before(*process)));
        worked.map(|(process, _)| process).context("the browser runs no pages")
    }

    /// Where the browser keeps what it stores.
    pub fn profile(&self) -> &Path {
        self.profile.path()
    }

    /// The process of WebKitGTK that talks to the network and holds what is stored.
    pub fn network_process(&self) -> Result<u32> {
        let found = self.processes(|process| process.command_line.contains("/WebKitNetworkProcess "));
        found.first().copied().context("there is no network process")
    }

    fn processes(&self, wanted: impl Fn(&Process) -> bool) -> Vec<u32> {
        let all = self.session.iter().flat_map(|session| descendants(session.process));
        all.filter(wanted).map(|process| process.id).collect()
    }

    /// Closes the browser, then the driver.
    pub async fn quit(mut self) -> Result<()> {
        if let Some(session) = self.session.take() {
            session.driver.quit().await?;
        }
        Ok(())
    }

    /// The browser's last processes still write for a moment; a profile that comes back after all is only litter.
    fn remove_profile(&self) {
        let mut absent = 0;
        for _ in 0..REMOVALS_MAX {
            absent = if self.profile.path().exists() { 0 } else { absent + 1 };
            if absent == STAYS_AWAY {
                return;
            }
            let _ = std::fs::remove_dir_all(self.profile.path());
            std::thread::sleep(REMOVE_AGAIN);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.kill();
            self.remove_profile();
        }
    }
}

impl Session {
    fn kill(self) {
        let children = descendants(self.process);
        for process in [self.process].into_iter().chain(children.into_iter().map(|child| child.id)) {
            signal(process, Signal::SIGKILL);
        }
        // A session whose browser is gone cannot be ended, and its drop would wait for an answer.
        let _ = self.driver.leak();
    }
}
