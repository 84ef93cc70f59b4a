//! Running other programs: announce, stream what they print, and fail with a sentence that says what to do.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

/// Says on stdout that a step begins.
pub(crate) fn heading(title: &str) {
    println!("\n==> {title}");
}

/// Runs a step under a heading and says how long it took.
pub(crate) fn timed<T>(title: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    heading(title);
    let started = Instant::now();
    let result = step();
    let verb = if result.is_ok() { "done" } else { "failed" };
    println!("    {verb} in {:.1} s", started.elapsed().as_secs_f64());
    result
}

/// The cargo that runs this program, in the folder `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Runs a command whose output goes straight to the terminal. `remedy` completes the error: "…: {remedy}".
pub(crate) fn run(command: &mut Command, remedy: &str) -> Result<()> {
    let status = command.status().map_err(|e| not_started(command, &e))?;
    succeed(command, status, remedy)
}

/// Runs a command and returns what it printed on stdout; stderr goes to the terminal.
pub(crate) fn capture(command: &mut Command, remedy: &str) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| not_started(command, &e))?;
    succeed(command, output.status, remedy)?;
    String::from_utf8(output.stdout).with_context(|| format!("{} printed what is not UTF-8", shown(command)))
}

/// Runs a command, passes its stdout on line by line, and gives each line to `see` as well.
pub(crate) fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| not_started(command, &e))?;
    let pipe = child.stdout.take().context("the child has no stdout")?;
    let mut stdout = io::stdout().lock();
    for line in BufReader::new(pipe).split(b'\n') {
        let mut line = line?;
        see(&String::from_utf8_lossy(&line));
        line.push(b'\n');
        stdout.write_all(&line)?;
    }
    stdout.flush()?;
    Ok(child.wait()?)
}

/// The exit code of a child as this program's own.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(code) => ExitCode::from(code),
        None => ExitCode::FAILURE,
    }
}

fn succeed(command: &Command, status: ExitStatus, remedy: &str) -> Result<()> {
    if !status.success() {
        bail!("`{}` failed ({status}): {remedy}", shown(command));
    }
    Ok(())
}

fn not_started(command: &Command, error: &io::Error) -> anyhow::Error {
    let program = command.get_program().display();
    match error.kind() {
        ErrorKind::NotFound => anyhow!("`{program}` was not found: install it and put it on PATH"),
        _ => anyhow!("`{program}` could not be started: {error}"),
    }
}

/// Program and arguments, with long argument lists cut so that an error stays a sentence.
fn shown(command: &Command) -> String {
    const ARGS_SHOWN_MAX: usize = 6;
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let mut words: Vec<&OsStr> = vec![program];
    words.extend(command.get_args().take(ARGS_SHOWN_MAX));
    if command.get_args().len() > ARGS_SHOWN_MAX {
        words.push(OsStr::new("…"));
    }
    words.join(OsStr::new(" ")).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_remedy() {
        let error = run(&mut Command::new("no-such-program-here"), "unused").unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
        assert!(error.to_string().contains("install it"));
    }

    #[test]
    fn a_failure_carries_its_remedy() {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        let command = command.arg("--no-such-flag").stderr(Stdio::null());
        let error = run(command, "try another flag").unwrap_err();
        assert!(error.to_string().ends_with(": try another flag"), "{error}");
    }
}
