//! What happens, drawn by seed, and the calm after it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use e2e::browser::{Browser, Engine, Signal, signal};
use e2e::page::Page;
use e2e::told::{Snapshot, Submitted};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::account::{Account, ENDS, Journal};
use crate::shop::Shop;

const TABS: usize = 3;
/// A call that takes longer is one of a browser that does not answer.
const CALL_DEADLINE: Duration = Duration::from_secs(20);
/// How long everything may take to come to an end once nothing goes wrong any more: a full backoff, and then some.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Short, so that leases end while a page is frozen.
const ATTEMPT_DEADLINE_MS: u64 = 3_000;
/// How long a charge is made before its answer leaves: where a kill is to come in between.
const ANSWERS_LATE_BY_MS: std::ops::Range<u64> = 100..1_500;
/// Acts between two kills.
const ACTS: std::ops::RangeInclusive<u32> = 2..=5;

/// Submits all of these; those that are acknowledged, with what the app was told.
const SUBMIT: &str = "const each = await Promise.allSettled(args[0].map((payment) => app.submit(payment)));
    return each.map((one) => (one.status === 'fulfilled' ? one.value : null));";
const SNAPSHOTS: &str = "return Promise.all(args[0].map((id) => app.snapshot(id)));";

pub(crate) struct Storm {
    shop: Shop,
    browser: Browser,
    tabs: Vec<Page>,
    dice: Rng,
    journal: Journal,
    orders: u32,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Submit,
    Reload,
    Freeze,
    Offline,
    Fault,
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Browser,
    /// A process that pages run in.
    Page,
    Server,
}

impl Storm {
    pub(crate) async fn begin(engine: Engine, shop: Shop, seed: u64) -> Result<Self> {
        let browser = Browser::launch_in(engine).await?;
        let (dice, journal) = (Rng::with_seed(seed), Journal::default());
        let mut storm = Self { shop, browser, tabs: Vec::new(), dice, journal, orders: 0 };
        storm.make_answers_late().await?;
        storm.open_tabs(TABS).await?;
        Ok(storm)
    }

    /// Acts until so many processes were killed.
    pub(crate) async fn rage(&mut self, kills: u32) -> Result<()> {
        let mut victims = Vec::new();
        for _ in 0..kills {
            for _ in 0..self.dice.u32(ACTS) {
                let act = *self.choose(&[Act::Submit, Act::Submit, Act::Reload, Act::Freeze, Act::Offline, Act::Fault]);
                println!("{act:?}");
                if let Err(error) = self.act(act).await {
                    self.launch_again(&format!("after {error:#}")).await?;
                }
            }
            // In rounds, so that few kills are of all kinds too.
            if victims.is_empty() {
                victims = vec![Victim::Browser, Victim::Page, Victim::Server];
                self.dice.shuffle(&mut victims);
            }
            let Some(victim) = victims.pop() else { bail!("there is always a victim") };
            println!("Kill {victim:?}");
            match victim {
                Victim::Browser => self.kill_browser().await?,
                Victim::Page => self.kill_page().await?,
                Victim::Server => self.kill_server().await?,
            }
        }
        Ok(())
    }

    /// Nothing goes wrong any more: one tab finishes what there is. Then the account.
    pub(crate) async fn settle(mut self) -> Result<Account> {
        self.shop.kill().await?;
        self.shop.start().await?;
        self.browser.kill()?;
        self.browser.relaunch().await?;
        self.open_tabs(1).await?;
        let tab = self.tabs.first().context("a tab was opened")?;
        let calm = Instant::now();
        loop {
            let shown: Vec<Option<Snapshot>> = tab.call(SNAPSHOTS, json!([self.journal.ids()])).await?;
            let open = |shown: &&Snapshot| !ENDS.contains(&shown.state.as_str());
            let left = shown.iter().flatten().filter(open).count();
            if left == 0 || calm.elapsed() > PATIENCE {
                println!("calm for {:.1} s", calm.elapsed().as_secs_f64());
                let ledger = self.shop.ledger()?;
                if shown.is_empty() {
                    bail!("nothing was acknowledged, so nothing was tried");
                }
                println!("{} requests, {} replayed", ledger.tally().wire, ledger.0.counters.replays);
                return Ok(self.journal.compare(&shown, &ledger));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    async fn act(&mut self, act: Act) -> Result<()> {
        match act {
            Act::Submit => self.submit(Duration::ZERO).await,
            Act::Reload => {
                let tab = self.dice.usize(..self.tabs.len());
                within_deadline(self.tabs[tab].reload()).await
            }
            Act::Freeze => self.freeze().await,
            Act::Offline => self.go_offline().await,
            Act::Fault => {
                let faults = [
                    json!({ "drop_before_handler": 2 }),
                    json!({ "drop_after_commit": 2 }),
                    json!({ "hang_after_commit": 2 }),
                    json!({ "unavailable": 2, "retry_after_s": null }),
                ];
                let mut fault = self.choose(&faults).clone();
                fault["delay_ms"] = self.dice.u64(ANSWERS_LATE_BY_MS).into();
                self.shop.arm(&fault).await
            }
        }
    }

    /// One to three orders from one tab, one of them sometimes known already; then a pause.
    async fn submit(&mut self, pause: Duration) -> Result<()> {
        let (tab, payments) = self.draw_orders();
        let told: Vec<Option<Submitted>> = within_deadline(self.tabs[tab].call(SUBMIT, json!([payments]))).await?;
        self.acknowledge(told);
        sleep(pause).await;
        Ok(())
    }

    /// With a page stopped, the others go on; its lease may end meanwhile.
    async fn freeze(&mut self) -> Result<()> {
        let (tab, pause) = (self.dice.usize(..self.tabs.len()), self.pause(500..5_000));
        if self.browser.engine() == Engine::Chromium {
            within_deadline(self.tabs[tab].set_frozen(true)).await?;
            sleep(pause).await;
            return within_deadline(self.tabs[tab].set_frozen(false)).await;
        }
        let process = within_deadline(self.browser.process_of(&self.tabs[tab])).await?;
        signal(process, Signal::SIGSTOP);
        sleep(pause).await;
        signal(process, Signal::SIGCONT);
        Ok(())
    }

    /// The server does not answer, or, where the browser can be told so, one tab has no network.
    async fn go_offline(&mut self) -> Result<()> {
        let pause = self.pause(200..5_000);
        if self.browser.engine() == Engine::Chromium && self.dice.bool() {
            let tab = self.dice.usize(..self.tabs.len());
            within_deadline(self.tabs[tab].go_offline()).await?;
            self.submit(pause).await?;
            return within_deadline(self.tabs[tab].go_online()).await;
        }
        self.shop.set_silent(true)?;
        let submitted = self.submit(pause).await;
        self.shop.set_silent(false)?;
        submitted
    }

    /// While a submit is under way, or a little later.
    async fn kill_browser(&mut self) -> Result<()> {
        let (tab, payments) = self.draw_orders();
        let pause = self.pause(0..400);
        let (tabs, browser) = (&self.tabs, &mut self.browser);
        let call = within_deadline(tabs[tab].call(SUBMIT, json!([payments])));
        let (told, killed) = tokio::join!(call, async {
            sleep(pause).await;
            browser.kill()
        });
        killed?;
        self.acknowledge(told.unwrap_or_default());
        self.browser.relaunch().await?;
        self.open_tabs(TABS).await
    }

    /// The other tabs go on for a while before what died is opened again.
    async fn kill_page(&mut self) -> Result<()> {
        let (tab, payments) = self.draw_orders();
        let (before, after) = (self.pause(0..400), self.pause(0..3_000));
        let dying = self.dice.usize(..self.tabs.len());
        let process = within_deadline(self.browser.process_of(&self.tabs[dying])).await?;
        let (told, ()) = tokio::join!(within_deadline(self.tabs[tab].call(SUBMIT, json!([payments]))), async {
            sleep(before).await;
            signal(process, Signal::SIGKILL);
        });
        self.acknowledge(told.unwrap_or_default());
        sleep(after).await;
        self.launch_again("to have the page again").await
    }

    async fn kill_server(&mut self) -> Result<()> {
        let pause = self.pause(0..400);
        let submitted = self.submit(pause).await;
        self.shop.kill().await?;
        if let Err(error) = submitted {
            self.launch_again(&format!("after {error:#}")).await?;
        }
        sleep(self.pause(0..3_000)).await;
        self.shop.start().await?;
        self.make_answers_late().await
    }

    async fn make_answers_late(&mut self) -> Result<()> {
        let late = json!({ "delay_ms": self.dice.u64(ANSWERS_LATE_BY_MS) });
        self.shop.arm(&late).await
    }

    /// A browser that does not answer, or has lost a page, is ended, which is not counted.
    async fn launch_again(&mut self, why: &str) -> Result<()> {
        println!("launched again {why}");
        self.browser.kill()?;
        self.browser.relaunch().await?;
        self.open_tabs(TABS).await
    }

    async fn open_tabs(&mut self, count: usize) -> Result<()> {
        self.tabs.clear();
        let driver = self.browser.driver()?;
        let mut windows = driver.windows().await?;
        while windows.len() < count {
            windows.push(driver.new_tab().await?);
        }
        for window in windows.into_iter().take(count) {
            let mut page = Page::visit(driver, window, self.shop.page_url()).await?;
            let options = json!({ "attemptDeadlineMs": ATTEMPT_DEADLINE_MS, "quiet": true });
            within_deadline(page.open(options)).await.context("the queue does not open")?;
            self.tabs.push(page);
        }
        Ok(())
    }

    fn draw_orders(&mut self) -> (usize, Vec<Value>) {
        let payments = (0..self.dice.u32(1..=3)).map(|_| {
            let known = self.orders > 0 && self.dice.u8(..4) == 0;
            if !known {
                self.orders += 1;
            }
            payment(if known { self.dice.u32(1..=self.orders) } else { self.orders })
        });
        let payments = payments.collect();
        (self.dice.usize(..self.tabs.len()), payments)
    }

    fn acknowledge(&mut self, told: Vec<Option<Submitted>>) {
        told.iter().flatten().for_each(|submitted| self.journal.acknowledge(submitted));
    }

    fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.dice.usize(..among.len())]
    }

    fn pause(&mut self, ms: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.dice.u64(ms))
    }
}

fn payment(order: u32) -> Value {
    let reference = format!("order-{order}");
    json!({
        "operation": "authorize-payment",
        "reference": reference,
        "request": {
            "method": "POST",
            "url": "/payments",
            "body": { "amount": 15_000, "currency": "BRL", "card": "tok_visa", "order": reference },
        },
    })
}

async fn within_deadline<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(CALL_DEADLINE, call).await.context("the browser does not answer")?
}
