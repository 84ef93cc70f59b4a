//! Processes that were started here, by id.

use std::fs;

pub use nix::sys::signal::Signal;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// A process, as the system tells of it.
#[derive(Clone, Debug)]
pub struct Process {
    pub id: u32,
    pub command_line: Vec<String>,
}

/// The processes that one has started, theirs included. Of those that cannot be read, and on systems without `/proc`,
/// nothing is known.
pub fn descendants(ancestor: u32) -> Vec<Process> {
    let known: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect();
    let mut family = vec![ancestor];
    let mut next = 0;
    while let Some(elder) = family.get(next).copied() {
        family.extend(known.iter().filter(|(_, parent)| *parent == elder).map(|(id, _)| *id));
        next += 1;
    }
    family.into_iter().skip(1).map(|id| Process { id, command_line: command_line(id) }).collect()
}

/// Sends a signal to that one process. One that is gone needs none.
pub fn signal(process: u32, signal: Signal) {
    let _ = i32::try_from(process).map(|id| kill(Pid::from_raw(id), signal));
}

fn parent(id: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // `id (name) state parent …`, and a name may contain anything.
    let (_, behind_the_name) = status.rsplit_once(')')?;
    behind_the_name.split_whitespace().nth(1)?.parse().ok()
}

fn command_line(id: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}
