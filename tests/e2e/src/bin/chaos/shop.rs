//! The shop with its payment server in a process of its own, which can be killed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::browser::{Signal, signal};
use e2e::ledger::Ledger;
use reference_server::inspect::inspect;
use reference_server::{Config, Running, start};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// How long the handler may take, and how long a reservation holds that a killed server left behind.
const HANDLER_TIMEOUT_MS: u32 = 1_000;
const LEASE_MS: u32 = 2_000;
/// A server that answers orders does so at once.
const DESK_DEADLINE: Duration = Duration::from_secs(5);

/// Serves the page in this process, and takes payments in another.
pub(crate) struct Shop {
    program: PathBuf,
    api: Option<Api>,
    api_addr: SocketAddr,
    page_origin: String,
    folder: TempDir,
    _page: Running,
}

struct Api {
    process: Child,
    // Kept open: the server must not find its stdout closed.
    _stdout: Lines<BufReader<ChildStdout>>,
}

impl Shop {
    pub(crate) async fn open(program: &Path, pkg: &Path) -> Result<Self> {
        let folder = TempDir::with_prefix("intento-chaos-")?;
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
        let page = start(Config {
            database: folder.path().join("page.sqlite"),
            static_roots: vec![("/pkg".to_owned(), pkg.to_owned()), ("/".to_owned(), pages)],
            ..Config::default()
        })
        .await?;
        let page_origin = format!("http://localhost:{}", page.addr.port());
        let api_addr = (Ipv4Addr::LOCALHOST, 0).into();
        let mut shop = Self { program: program.to_owned(), api: None, api_addr, page_origin, folder, _page: page };
        shop.start().await?;
        Ok(shop)
    }

    /// Takes payments, again at the same address and from the same file if it did before.
    pub(crate) async fn start(&mut self) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(["--listen", &self.api_addr.to_string(), "--control", "--allow-origin", &self.page_origin]);
        command.args(["--handler-timeout-ms", &HANDLER_TIMEOUT_MS.to_string(), "--lease-ms", &LEASE_MS.to_string()]);
        command.arg("--database").arg(self.database()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("the reference server could not be started")?;
        let mut stdout = BufReader::new(process.stdout.take().context("the child has no stdout")?).lines();
        let greeting = stdout.next_line().await?.unwrap_or_default();
        let addr = greeting.strip_prefix("listening on http://").and_then(|addr| addr.parse().ok());
        self.api_addr = addr.context("the reference server does not listen")?;
        self.api = Some(Api { process, _stdout: stdout });
        Ok(())
    }

    /// SIGKILL: a payment may be reserved, run or committed just then.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        let mut api = self.api.take().context("the server is not running")?;
        api.process.start_kill()?;
        api.process.wait().await?;
        Ok(())
    }

    /// Stops answering, with all connections left open, or goes on.
    pub(crate) fn set_silent(&self, silent: bool) -> Result<()> {
        let process = self.api.as_ref().and_then(|api| api.process.id()).context("the server is not running")?;
        signal(process, if silent { Signal::SIGSTOP } else { Signal::SIGCONT });
        Ok(())
    }

    /// Orders what goes wrong with the next payments.
    pub(crate) async fn arm(&self, faults: &Value) -> Result<()> {
        let desk = reqwest::Client::new().post(format!("http://{}/control/faults", self.api_addr));
        desk.timeout(DESK_DEADLINE).json(faults).send().await?.error_for_status()?;
        Ok(())
    }

    pub(crate) fn page_url(&self) -> String {
        format!("{}/?api=http://{}", self.page_origin, self.api_addr)
    }

    pub(crate) fn ledger(&self) -> Result<Ledger> {
        Ok(Ledger(inspect(&self.database())?))
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("payments.sqlite")
    }
}
