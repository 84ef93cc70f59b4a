//! Processes that were started here, by id.

use std::fs;

pub use nix::sys::signal::Signal;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// A process, as the system tells of it.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) id: u32,
    /// The arguments with spaces between them, which is all that some processes leave of it.
    pub(super) command_line: String,
}

/// The processes that one has started, theirs included. Of those that cannot be read, and on systems without `/proc`,
/// nothing is known.
pub(super) fn descendants(ancestor: u32) -> Vec<Process> {
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

/// What it has used of a processor so far, in the system's ticks; none for one that is gone.
pub(super) fn ticks(process: u32) -> u64 {
    const USER_AND_SYSTEM: std::ops::Range<usize> = 11..13;
    let fields = status(process);
    let spent = fields.get(USER_AND_SYSTEM).unwrap_or_default();
    spent.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn parent(process: u32) -> Option<u32> {
    status(process).get(1)?.parse().ok()
}

/// The fields of `/proc/ID/stat` from the state on, which is the third of them: see proc(5).
fn status(process: u32) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // `id (name) state parent …`, and a name may contain anything.
    let behind_the_name = status.rsplit_once(')').map(|(_, fields)| fields);
    behind_the_name.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn command_line(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}
