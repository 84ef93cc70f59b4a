//! The packed package in pages that were built with each tool of tests/packaging: each pays, loses the answer, and recovers
//! it. `cargo xtask test packaging` builds them and says where they are.

use std::env;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, anyhow};
use e2e::browser::Browser;
use e2e::eventually;
use e2e::ledger::Tally;
use e2e::shop::Shop;
use e2e::site::Site;
use e2e::told::Settled;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A page under the policy of a shop that trusts nothing: no markup and no script made of text.
const STRICT: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
    connect-src 'self' http://127.0.0.1:*; require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! built {
    ($($name:ident: $project:literal,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() -> Result<()> {
            let shop = open($project).await?;
            let page = shop.page_url();
            pays(&shop, &page).await
        }
    )*};
}

mod quick {
    use super::*;

    built! {
        a_bundle_of_esbuild: "esbuild",
        a_script_tag: "script-tag",
        a_module_service_worker: "service-worker",
        a_service_worker_with_import_scripts: "import-scripts",
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_strict_policy_with_trusted_types() -> Result<()> {
        for entry in ["", "&slim"] {
            let mut shop = open("csp").await?;
            let site = Site::open(vec![("/", dist("csp")?)], &[("Content-Security-Policy", STRICT)]).await?;
            shop.admit(&site.origin).await?;
            pays(&shop, &(shop.page_url_at(&site.origin) + entry)).await?;
        }
        Ok(())
    }
}

mod full {
    use super::*;

    built! {
        a_bundle_of_rollup: "rollup",
        a_bundle_of_vite: "vite",
        a_bundle_of_webpack: "webpack",
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_server_of_vite() -> Result<()> {
        served("vite", "dev.mjs").await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_server_of_next() -> Result<()> {
        served("next", "start.mjs").await
    }
}

/// A page that the tool serves itself. The script says where, among what the tool says.
async fn served(project: &str, script: &str) -> Result<()> {
    let mut shop = open("esbuild").await?;
    let mut server = serve(project, script)?;
    let mut lines = BufReader::new(server.stdout.take().context("no output")?).lines();
    let origin = loop {
        let line = lines.next_line().await?.context("the server ended and did not say where it serves")?;
        if let Some(url) = line.strip_prefix("serving ") {
            break url.trim_end_matches('/').to_owned();
        }
    };
    shop.admit(&origin).await?;
    pays(&shop, &shop.page_url_at(&origin)).await
}

fn serve(project: &str, script: &str) -> Result<Child> {
    let mut node = Command::new("node");
    node.arg(script).current_dir(projects()?.join(project)).stdout(Stdio::piped()).kill_on_drop(true);
    node.spawn().context("node does not start")
}

/// What a page says at the end.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", untagged)]
enum Told {
    Error { error: String },
    Paid { settled: Settled, durability: String },
}

/// The page pays once over a lost answer.
async fn pays(shop: &Shop, page: &str) -> Result<()> {
    shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let browser = Browser::launch().await?;
    let driver = browser.driver()?;
    driver.goto(page).await?;
    let told = eventually("the page says what became of the payment", async || {
        let told = driver.execute("return document.documentElement.dataset.told ?? null", vec![]).await?;
        Ok(told.json().as_str().map(str::to_owned))
    })
    .await?;
    match serde_json::from_str(&told).with_context(|| told.clone())? {
        Told::Error { error } => Err(anyhow!("the page threw: {error}")),
        Told::Paid { settled, durability } => {
            assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")), "{told}");
            assert_eq!(durability, "strong");
            let ledger = shop.ledger()?;
            assert_eq!(ledger.tally(), Tally { effects: 1, executions: 1, wire: 2 });
            ledger.assert_one_key_per_intent(&[&settled.intent]);
            Ok(())
        }
    }
}

async fn open(project: &str) -> Result<Shop> {
    let dist = dist(project)?;
    Shop::open(&dist, &dist).await
}

fn dist(project: &str) -> Result<PathBuf> {
    let dist = projects()?.join(project).join("dist");
    dist.canonicalize().with_context(|| format!("{project} is not built: run `cargo xtask test packaging`"))
}

fn projects() -> Result<PathBuf> {
    env::var_os("INTENTO_PACKAGING").map(PathBuf::from).context("run `cargo xtask test packaging`")
}
