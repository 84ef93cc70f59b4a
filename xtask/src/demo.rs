//! `cargo xtask demo`: the page and the reference server on loopback, to click through or played headless.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};

use crate::workspace::Workspace;
use crate::{browser, package, process, setup};

/// The page's port; the API's is the next one, where the page looks for it.
const PORT: u16 = 8080;

/// How often the two servers are looked at.
const WATCH_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) headless: bool,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) port: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self { headless: false, sabotage: None, port: PORT }
    }
}

/// A promise broken on purpose, to show that the demo, or chaos, would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// A new key at each attempt.
    NewKey,
}

impl Sabotage {
    fn name(self) -> &'static str {
        match self {
            Self::NewKey => "new-key",
        }
    }

    fn feature(self) -> &'static str {
        match self {
            Self::NewKey => "break-new-key",
        }
    }
}

impl FromStr for Sabotage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "new-key" => Ok(Self::NewKey),
            _ => bail!("`--break {name}` is unknown: the only one is `new-key`"),
        }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    setup::run(workspace)?;
    if options.headless {
        browser::set_up(workspace, browser::Engine::Chromium)?;
    }
    let pkg = build_package(workspace, options.sabotage)?;
    match options.headless {
        true => play(workspace, options, &pkg),
        false => serve(workspace, options, &pkg),
    }
}

/// Builds the package that is to be tried. A broken one stays away from pkg/.
pub(crate) fn build_package(workspace: &Workspace, sabotage: Option<Sabotage>) -> Result<PathBuf> {
    let mut build = package::Options::shipped(workspace, false);
    if let Some(sabotage) = sabotage {
        build.out = workspace.scratch().join("broken").join(sabotage.name());
        build.feature = Some(sabotage.feature());
    }
    package::build(workspace, &build)?;
    Ok(build.out)
}

/// Hands over to the story, which prints its steps and checks what the server stored.
fn play(workspace: &Workspace, options: &Options, pkg: &Path) -> Result<ExitCode> {
    process::heading("playing the story in a headless browser");
    let mut story = process::cargo(&workspace.root);
    story.args(["run", "--quiet", "--package=e2e", "--bin=story", "--", "--pkg"]).arg(pkg);
    if let Some(sabotage) = options.sabotage {
        story.args(["--break", sabotage.name()]);
    }
    let status = story.status().context("cargo could not be started")?;
    Ok(process::exit_code(status))
}

/// Serves until it is told to stop (Ctrl-C, SIGTERM) or one of the two servers ends.
fn serve(workspace: &Workspace, options: &Options, pkg: &Path) -> Result<ExitCode> {
    let server = build_server(workspace)?;
    let data = workspace.root.join("data");
    fs::create_dir_all(&data)?;
    let api_port = options.port.checked_add(1).context("`--port` must be below 65535")?;
    // Another origin than the API's, as in a real shop.
    let page_origin = format!("http://localhost:{}", options.port);
    let database = data.join("demo.sqlite");

    let mut api = Command::new(&server);
    api.args(["--listen", &format!("127.0.0.1:{api_port}"), "--control"])
        .args(["--allow-origin", &page_origin, "--database"])
        .arg(&database);
    let mut page = Command::new(&server);
    page.args(["--listen", &format!("127.0.0.1:{}", options.port)])
        .arg("--database")
        .arg(data.join("page.sqlite"))
        .args(["--static", &format!("/pkg={}", pkg.display())])
        .args(["--static", &format!("/={}", workspace.root.join("www").display())]);

    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))?;
    process::heading("serving the demo, until Ctrl-C");
    let mut servers = [Server::start(&mut api)?, Server::start(&mut page)?];
    println!("    page      {page_origin}/");
    println!("    API       http://127.0.0.1:{api_port}");
    println!("    database  {}", database.display());
    loop {
        thread::sleep(WATCH_EVERY);
        let running = servers.iter_mut().try_for_each(Server::check);
        if stop.load(Ordering::Relaxed) {
            // Ctrl-C reaches the servers too, so they may be gone already.
            return Ok(ExitCode::SUCCESS);
        }
        running?;
    }
}

/// The reference server's program.
pub(crate) fn build_server(workspace: &Workspace) -> Result<PathBuf> {
    process::timed("building the reference server", || {
        let messages = process::capture(
            process::cargo(&workspace.root).args([
                "build",
                "--package=reference-server",
                "--bin=reference-server",
                "--message-format=json-render-diagnostics",
            ]),
            "correct what the compiler names above",
        )?;
        messages
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .context("cargo made no reference-server")
    })
}

/// A reference server that listens; dropping it ends it.
struct Server {
    process: Child,
    /// Kept open: the server must not find its stdout closed.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self> {
        let mut process =
            command.stdout(Stdio::piped()).spawn().context("the reference server could not be started")?;
        let mut stdout = BufReader::new(process.stdout.take().context("the child has no stdout")?);
        // Its first line says that it listens; one that cannot listen ends without a line.
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let mut server = Self { process, _stdout: stdout };
        if line.is_empty() {
            server.process.wait()?;
            server.check()?;
        }
        Ok(server)
    }

    fn check(&mut self) -> Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => bail!(
                "the reference server ended ({status}), see its message above: if the port is in use, choose \
                 another with --port"
            ),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_before_it_listens_is_reported() {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let mut silent = Command::new(cargo);
        silent.arg("--no-such-flag").stderr(Stdio::null());
        let error = Server::start(&mut silent).err().unwrap();
        assert!(error.to_string().contains("--port"), "{error}");
    }
}
