//! The program that drives a browser, and the display that WebKitGTK draws on.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use super::engine::Engine;
use super::processes::{self, Signal};
use crate::eventually;

/// One that chooses its port while others do so now and then finds it taken, and ends.
const RESTARTS_MAX: u32 = 2;

/// A driver that listens. Dropping it ends it, not its browser.
#[derive(Debug)]
pub(super) struct Driver {
    child: Child,
    port: u16,
    // Kept open: chromedriver must not find its stdout closed.
    _stdout: Option<Lines<BufReader<ChildStdout>>>,
}

impl Driver {
    /// `profile` is the folder that holds all that the browser stores.
    pub(super) async fn start(engine: Engine, profile: &Path, display: Option<&Display>) -> Result<Self> {
        let mut command = Command::new(engine.driver());
        command.stderr(Stdio::null()).kill_on_drop(true);
        match engine {
            Engine::Chromium => drop(command.arg("--port=0")),
            Engine::Firefox => {
                command.args(["--port=0", "--websocket-port=0"]).env("MOZ_CRASHREPORTER_DISABLE", "1");
            }
            Engine::WebKitGtk => {
                let display = display.context("WebKitGTK needs a display")?;
                command.env("DISPLAY", &display.name).env("HOME", profile);
                // It has nothing to draw for, and there may be no GPU.
                command.env("WEBKIT_DISABLE_DMABUF_RENDERER", "1").env("LIBGL_ALWAYS_SOFTWARE", "1");
                command
                    .env("LD_PRELOAD", env!("WEBKITGTK_PRELOAD"))
                    .env("MINIBROWSER_STORAGE", profile.join("storage"));
                return Self::on_a_free_port(command).await;
            }
        }
        let mut restarts = 0..RESTARTS_MAX;
        loop {
            let mut child = start(command.stdout(Stdio::piped()))?;
            let mut stdout = BufReader::new(child.stdout.take().context("the driver has no stdout")?).lines();
            match greeted_port(&mut stdout).await {
                Ok(port) => return Ok(Self { child, port, _stdout: Some(stdout) }),
                Err(error) if restarts.next().is_none() => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// A driver that cannot choose a port by itself.
    async fn on_a_free_port(mut command: Command) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = start(command.arg(format!("--port={port}")).stdout(Stdio::null()))?;
        eventually("the driver listens", async || Ok(TcpStream::connect(("127.0.0.1", port)).await.ok())).await?;
        Ok(Self { child, port, _stdout: None })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn process(&self) -> Result<u32> {
        self.child.id().context("the driver has ended")
    }
}

fn start(command: &mut Command) -> Result<Child> {
    let program = command.as_std().get_program().display().to_string();
    let remedy = "run `cargo xtask test e2e --full`, which installs it or says how";
    command.spawn().with_context(|| format!("{program} could not be started: {remedy}"))
}

/// The port that the driver chose, from its greeting: `… on port 4444.` or `… Listening on 127.0.0.1:4444`.
async fn greeted_port(stdout: &mut Lines<BufReader<ChildStdout>>) -> Result<u16> {
    while let Some(line) = stdout.next_line().await? {
        let line = line.trim_end_matches('.');
        let named = line.rsplit_once(" on port ").or(line.rsplit_once(" on 127.0.0.1:"));
        if let Some(port) = named.and_then(|(_, port)| port.parse().ok()).filter(|port| *port != 0) {
            return Ok(port);
        }
    }
    bail!("the driver ended before it listened")
}

/// An X server that nobody sees: WebKitGTK has no headless mode.
#[derive(Debug)]
pub(super) struct Display {
    server: Child,
    /// `:N`
    name: String,
}

impl Display {
    pub(super) async fn start() -> Result<Self> {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]);
        let mut server = start(command.stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let mut stdout = BufReader::new(server.stdout.take().context("Xvfb has no stdout")?).lines();
        match stdout.next_line().await?.as_deref().map(str::trim) {
            None | Some("") => bail!("Xvfb did not start: try `Xvfb -displayfd 1` to see why"),
            Some(number) => Ok(Self { server, name: format!(":{number}") }),
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // Asked, not killed: it removes its lock and its socket.
        if let Some(server) = self.server.id() {
            processes::signal(server, Signal::SIGTERM);
        }
    }
}
