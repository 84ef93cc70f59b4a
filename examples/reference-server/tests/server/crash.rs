//! The binary, killed at the two points that matter and started again on the same file.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reference_server::ledger::{Inspection, inspect};
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::bench::{Answer, KEY, PAYMENT, arm, client, pay};

#[tokio::test]
async fn aborted_after_its_reservation_the_payment_is_made_once_after_the_lease() {
    let shop = Shop::new();
    let mut server = shop.open().await;
    server.arm(json!({ "crash_before_commit": 1 })).await;
    assert!(server.pay().send().await.is_err());
    server.process.wait().await.expect("an exit");
    assert_reserved_only(&shop.inspect());

    pays_once_after_the_lease(&shop).await;
}

#[tokio::test]
async fn killed_after_its_reservation_the_payment_is_made_once_after_the_lease() {
    let shop = Shop::new();
    let mut server = shop.open().await;
    server.arm(json!({ "stall_before_commit_ms": 60_000 })).await;
    let lost = tokio::spawn(server.pay().send());
    shop.until(|seen| seen.counters.executions == 1).await;
    server.process.kill().await.expect("SIGKILL");
    assert!(lost.await.expect("no panic").is_err());
    assert_reserved_only(&shop.inspect());

    pays_once_after_the_lease(&shop).await;
}

#[tokio::test]
async fn aborted_after_its_commit_the_answer_is_replayed() {
    let shop = Shop::new();
    let mut server = shop.open().await;
    server.arm(json!({ "crash_after_commit": 1 })).await;
    assert!(server.pay().send().await.is_err());
    server.process.wait().await.expect("an exit");

    replays_at_once(&shop).await;
}

#[tokio::test]
async fn killed_after_its_commit_the_answer_is_replayed() {
    let shop = Shop::new();
    let mut server = shop.open().await;
    server.arm(json!({ "hang_after_commit": 1 })).await;
    let lost = tokio::spawn(server.pay().send());
    shop.until(|seen| seen.counters.commits == 1).await;
    server.process.kill().await.expect("SIGKILL");
    assert!(lost.await.expect("no panic").is_err());

    replays_at_once(&shop).await;
}

fn assert_reserved_only(seen: &Inspection) {
    assert_eq!(seen.counters.reservations, 1);
    assert_eq!((seen.counters.commits, seen.counters.effects), (0, 0));
    assert!(!seen.wire[0].answered);
}

async fn pays_once_after_the_lease(shop: &Shop) {
    let server = shop.open().await;
    let (mut answer, mut waited) = (Answer::of(server.pay()).await, 0);
    while answer.status == 409 && waited < 100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        waited += 1;
        answer = Answer::of(server.pay()).await;
    }
    assert!(waited > 0, "the dead run's lease is respected");
    assert_eq!((answer.status, answer.replayed.clone()), (201, None));
    let again = Answer::of(server.pay()).await;
    assert_eq!(again.replayed.as_deref(), Some("true"));
    assert_eq!(again.body, answer.body);

    let counters = shop.inspect().counters;
    assert_eq!((counters.executions, counters.commits), (2, 1));
    assert_eq!((counters.takeovers, counters.effects), (1, 1));
    assert_eq!(counters.already_applied, 0);
}

async fn replays_at_once(shop: &Shop) {
    let seen = shop.inspect();
    assert_eq!((seen.counters.commits, seen.counters.effects), (1, 1));
    assert_eq!((seen.wire[0].answered, seen.wire[0].status), (false, None));

    let server = shop.open().await;
    let answer = Answer::of(server.pay()).await;
    assert_eq!((answer.status, answer.echo.as_deref()), (201, Some(KEY)));
    assert_eq!(answer.replayed.as_deref(), Some("true"));
    let receipt: Value = serde_json::from_slice(&answer.body).expect("JSON");
    let seen = shop.inspect();
    assert_eq!(receipt["id"], seen.effects[0].id);
    assert_eq!((seen.counters.executions, seen.counters.effects), (1, 1));
}

/// A database file that outlives its servers.
struct Shop {
    dir: TempDir,
}

/// A server process; killed when dropped.
struct Server {
    process: Child,
    base: String,
    client: Client,
}

impl Shop {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        Self { dir }
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("payments.sqlite")
    }

    async fn open(&self) -> Server {
        Server::start(&self.database()).await
    }

    fn inspect(&self) -> Inspection {
        inspect(&self.database()).expect("a server's file")
    }

    async fn until(&self, reached: impl Fn(&Inspection) -> bool) {
        for _ in 0..400 {
            if reached(&self.inspect()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never reached: {:?}", self.inspect());
    }
}

impl Server {
    async fn start(database: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_reference-server"))
            .args(["--listen", "127.0.0.1:0", "--control", "--database"])
            .arg(database)
            .args(["--handler-timeout-ms", "500", "--lease-ms", "3000"])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary");
        let stdout = process.stdout.take().expect("its output");
        let first = BufReader::new(stdout).lines().next_line().await;
        let line = first.expect("output").expect("a line");
        let base = line.strip_prefix("listening on ").expect("the address");
        Self { process, base: base.to_owned(), client: client() }
    }

    fn pay(&self) -> reqwest::RequestBuilder {
        pay(&self.client, &format!("{}/payments", self.base), KEY, PAYMENT)
    }

    async fn arm(&self, switches: Value) {
        arm(&self.client, &format!("{}/control/faults", self.base), switches).await;
    }
}
