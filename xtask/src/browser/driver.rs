//! A WebDriver that listens on loopback, with what it needs to run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::Engine;
use super::install::{find, find_driver, find_firefox};
use crate::workspace::Workspace;

/// How long a driver may take until it listens.
const START_DEADLINE: Duration = Duration::from_secs(30);
/// How long a process that was asked to end may take.
const END_DEADLINE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// What is shown of a driver's log.
const LOG_LINES_MAX: usize = 40;
/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A driver that listens. Dropping it ends it, its browser and its display, and removes what they stored; so does a
/// signal that ends this program.
pub(super) struct Driver {
    port: u16,
    running: Running,
    /// The home and the temporary folder of everything that is started here.
    folder: TempDir,
}

impl Driver {
    pub(super) fn start(workspace: &Workspace, engine: Engine) -> Result<Self> {
        let Some(program) = find_driver(workspace, engine) else {
            bail!(
                "there is no driver for {}: run `cargo xtask test wasm --engine {}`, which installs it or says how",
                engine.title(),
                engine.name()
            );
        };
        let folder = TempDir::with_prefix("intento-webdriver-")?;
        let running = Running::default();
        end_on_signal(&running, folder.path())?;
        let mut driver = Self { port: free_port()?, running, folder };
        let mut command = Command::new(program);
        command.arg(format!("--port={}", driver.port)).env("TMPDIR", driver.folder.path());
        match engine {
            Engine::Chromium => {}
            Engine::Firefox => {
                command.args(["--websocket-port=0", "--profile-root"]).arg(driver.folder.path());
                command.env("HOME", driver.folder.path());
                if let Some(firefox) = find_firefox() {
                    command.arg("--binary").arg(firefox);
                }
            }
            Engine::WebKitGtk => {
                command.env("HOME", driver.folder.path()).env("DISPLAY", driver.start_display()?);
                // It has nothing to draw for, and there may be no GPU.
                command.env("WEBKIT_DISABLE_DMABUF_RENDERER", "1").env("LIBGL_ALWAYS_SOFTWARE", "1");
            }
        }
        driver.run(&mut command)?;
        driver.listens()?;
        Ok(driver)
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The last of what the driver and its browser said, under a line that says so; empty if they said nothing.
    pub(super) fn log(&self) -> String {
        let log = fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        if lines.is_empty() {
            return String::new();
        }
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
        format!("the driver's log ends with:\n    {}\n", shown.join("\n    "))
    }

    /// A display that nobody sees: WebKitGTK has no headless mode. Its name is `:N`.
    fn start_display(&mut self) -> Result<String> {
        let xvfb = find(&["Xvfb"]).context("there is no Xvfb: install it")?;
        let mut command = Command::new(xvfb);
        command.args(["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]).stderr(Stdio::null());
        let stdout = self.running.start(command.stdout(Stdio::piped()), |child| child.stdout.take())?;
        let mut number = String::new();
        BufReader::new(stdout.context("the child has no stdout")?).read_line(&mut number)?;
        match number.trim() {
            "" => bail!("Xvfb did not start: try `Xvfb -displayfd 1` to see why"),
            number => Ok(format!(":{number}")),
        }
    }

    fn run(&mut self, command: &mut Command) -> Result<()> {
        let log = File::create(self.folder.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.running.start(command, |_| ())
    }

    /// Waits until the driver accepts connections.
    fn listens(&self) -> Result<()> {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.running.has_ended() || started.elapsed() > START_DEADLINE {
                bail!("the driver does not listen\n{}", self.log());
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.running.end();
    }
}

/// Processes that were started here, in order. Each leads a process group, because browsers start more of them.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<Vec<Child>>>);

impl Running {
    fn start<T>(&self, command: &mut Command, of_child: impl FnOnce(&mut Child) -> T) -> Result<T> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let program = command.get_program().display().to_string();
        children.push(command.spawn().with_context(|| format!("{program} could not be started"))?);
        Ok(of_child(children.last_mut().context("it was pushed")?))
    }

    /// Whether the newest process is gone.
    fn has_ended(&self) -> bool {
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        children.last_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Ends all, the newest first: asks, waits a while, kills what is left of the group.
    fn end(&self) {
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut child) = children.pop() {
            signal_group(&mut child, Signal::Ask);
            let asked = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < END_DEADLINE {
                thread::sleep(LOOK_AGAIN);
            }
            signal_group(&mut child, Signal::Kill);
            // Already gone is what is wanted.
            let _ = child.wait();
        }
    }
}

enum Signal {
    Ask,
    Kill,
}

#[cfg(unix)]
fn signal_group(leader: &mut Child, signal: Signal) {
    use nix::sys::signal::{Signal as Unix, killpg};
    let signal = match signal {
        Signal::Ask => Unix::SIGTERM,
        Signal::Kill => Unix::SIGKILL,
    };
    let group = i32::try_from(leader.id()).map(nix::unistd::Pid::from_raw);
    // A group without members is what is wanted.
    let _ = group.map(|group| killpg(group, signal));
}

#[cfg(not(unix))]
fn signal_group(leader: &mut Child, _: Signal) {
    let _ = leader.kill();
}

/// Ctrl-C and SIGTERM end this program without dropping anything.
fn end_on_signal(running: &Running, folder: &Path) -> Result<()> {
    let (running, folder) = (running.clone(), folder.to_owned());
    ctrlc::set_handler(move || {
        running.end();
        let _ = fs::remove_dir_all(&folder);
        std::process::exit(INTERRUPTED);
    })?;
    Ok(())
}

/// A port that nobody listens on just now: not every driver can choose its own and say which.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;

    use super::*;

    /// The pipe ends when nobody holds it any more.
    #[test]
    fn what_a_driver_started_ends_with_it_even_if_it_does_not_want_to() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "(trap '' TERM; sleep 30) & echo started; wait"]).stdout(Stdio::piped());
        let running = Running::default();
        let stdout = running.start(&mut shell, |child| child.stdout.take()).unwrap().unwrap();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut String::new()).unwrap();
        let asked = Instant::now();
        running.end();
        stdout.read_to_end(&mut Vec::new()).unwrap();
        assert!(asked.elapsed() < Duration::from_secs(20), "the grandchild lived on");
        assert!(running.has_ended());
    }
}
