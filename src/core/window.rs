//! The window of law 7, and the life of an intent that was never sent (P3.3).

use super::contract::Windows;
use super::intent::IntentRecord;
use super::json::json;
use super::time::Stamp;

/// When the server began to remember an intent's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowStart {
    /// On the ledger clock: never later than it was.
    pub at: Stamp,
    /// What the server's own clock read then, at the least and at the most, where its `Date` was visible. Epoch
    /// milliseconds.
    pub server_from_ms: Option<u64>,
    /// See `server_from_ms`.
    pub server_to_ms: Option<u64>,
}

json!(struct WindowStart { at, server_from_ms, server_to_ms });

/// A server's `Date`, and when it was read: at the earliest, since an answer may be recorded late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerDate {
    /// Epoch milliseconds, in whole seconds.
    pub date_ms: u64,
    pub read: Stamp,
}

json!(struct ServerDate { date_ms, read });

impl WindowStart {
    /// The first send, now. What the origin said last was said before it.
    pub fn now(now: Stamp, server: Option<&ServerDate>) -> Self {
        Self { at: now, server_from_ms: server.map(|server| server.date_ms), server_to_ms: None }
    }

    /// Takes in the `Date` of an answer that came after the start.
    pub fn answered(&mut self, date_ms: u64, now: &Stamp) {
        // `Date` counts whole seconds.
        let latest_ms = date_ms.saturating_add(999);
        self.server_to_ms = Some(self.server_to_ms.map_or(latest_ms, |known_ms| known_ms.min(latest_ms)));
        // The ledger clock runs fast rather than slow, so that this is early rather than late.
        let earliest_ms = now.since(&self.at).map(|elapsed_ms| date_ms.saturating_sub(elapsed_ms));
        self.server_from_ms = self.server_from_ms.max(earliest_ms);
    }

    /// The server says itself when its window for the key began, in an answer with this `Date`.
    pub fn told(start_ms: u64, server: &ServerDate) -> Self {
        let elapsed_ms = server.date_ms.saturating_add(999).saturating_sub(start_ms);
        let at = Stamp { at_ms: server.read.at_ms.saturating_sub(elapsed_ms), ..server.read };
        Self { at, server_from_ms: Some(start_ms), server_to_ms: Some(start_ms) }
    }

    /// How much of the window has passed, at the most. The ledger clock says, and where the server's own clock proves
    /// that it was longer, that counts. Where another epoch makes the ledger clock useless, the server's `Date` alone
    /// can tell, if it was read in this epoch (P3.2). `None`: unknowable, which means closed.
    fn elapsed_ms(&self, server: Option<&ServerDate>, now: &Stamp) -> Option<u64> {
        let at_least = server.zip(self.server_to_ms).map(|(server, to_ms)| server.date_ms.saturating_sub(to_ms));
        let at_most = || {
            let server = server?;
            let reads_ms = server.date_ms.saturating_add(999).saturating_add(now.since(&server.read)?);
            Some(reads_ms.saturating_sub(self.server_from_ms?))
        };
        match now.since(&self.at) {
            Some(elapsed_ms) => Some(elapsed_ms.max(at_least.unwrap_or(0))),
            None => at_most(),
        }
    }
}

/// How much of a window of `usable_ms` is left; `None` for an intent that was never sent, which has no window.
pub fn window_left_ms(intent: &IntentRecord, usable_ms: u64, server: Option<&ServerDate>, now: &Stamp) -> Option<u64> {
    let elapsed_ms = intent.window.as_ref()?.elapsed_ms(server, now);
    Some(elapsed_ms.map_or(0, |elapsed_ms| usable_ms.saturating_sub(elapsed_ms)))
}

/// May an attempt of `attempt_ms` start now without ending after the server may have forgotten the key? `again`: an
/// attempt before it may have left. The smaller of the stored and the current contract's window counts; the window of an
/// intent that was never sent starts with the attempt, and where there is no key nothing but that is sent.
pub fn may_start(
    intent: &IntentRecord,
    again: bool,
    windows: [&Windows; 2],
    server: Option<&ServerDate>,
    now: &Stamp,
    attempt_ms: u64,
) -> bool {
    let path = intent.request.path();
    let [stored_ms, current_ms] = windows.map(|windows| windows.usable_ms(path));
    let usable_ms = stored_ms.min(current_ms);
    let without_a_key = windows.iter().any(|windows| !windows.resends);
    (!again && without_a_key) || attempt_ms < window_left_ms(intent, usable_ms, server, now).unwrap_or(usable_ms)
}

/// Has the intent outlived `expiresIn` without being sent?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    Fresh,
    Expired,
    /// The clock was changed since it was submitted.
    Unknowable,
}

/// Judged only inside a send claim's transaction, and only for an intent that was never sent.
pub fn age(intent: &IntentRecord, now: &Stamp) -> Age {
    let Some(expires_in_ms) = intent.expires_in_ms else { return Age::Fresh };
    match now.since(intent.renewed.as_ref().unwrap_or(&intent.created)) {
        None => Age::Unknowable,
        Some(elapsed) if elapsed >= expires_in_ms => Age::Expired,
        Some(_) => Age::Fresh,
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    /// Some server time.
    const NOON: u64 = 1_700_000_000_000;

    fn at(at_ms: u64, epoch: u32) -> Stamp {
        Stamp { at_ms, epoch, wall_ms: at_ms }
    }

    fn server(date_ms: u64, read: Stamp) -> ServerDate {
        ServerDate { date_ms, read }
    }

    #[test]
    fn law_7_the_ledger_clock_says_how_much_has_passed() {
        let start = WindowStart::now(at(HOUR, 0), None);
        assert_eq!(start.elapsed_ms(None, &at(3 * HOUR, 0)), Some(2 * HOUR));
        assert_eq!(start.elapsed_ms(None, &at(3 * HOUR, 1)), None, "another epoch");
    }

    #[test]
    fn p3_2_the_servers_date_tells_where_the_device_cannot() {
        let mut start = WindowStart::now(at(HOUR, 0), None);
        start.answered(NOON, &at(HOUR + 2_000, 0));
        let now = at(50 * HOUR, 1);
        let read_before = server(NOON + HOUR, at(2 * HOUR, 0));
        assert_eq!(start.elapsed_ms(Some(&read_before), &now), None, "read in the lost epoch");
        let read_since = server(NOON + HOUR, at(50 * HOUR - 60_000, 1));
        assert_eq!(start.elapsed_ms(Some(&read_since), &now), Some(HOUR + 60_000 + 2_000 + 999));
    }

    #[test]
    fn p3_2_a_date_from_before_the_first_send_counts_too() {
        let start = WindowStart::now(at(HOUR, 0), Some(&server(NOON, at(0, 0))));
        let read_since = server(NOON + 3 * HOUR, at(0, 1));
        assert_eq!(start.elapsed_ms(Some(&read_since), &at(0, 1)), Some(3 * HOUR + 999));
    }

    #[test]
    fn p3_2_what_one_answer_proves_of_the_start_no_later_one_takes_back() {
        let mut start = WindowStart::now(at(HOUR, 0), None);
        start.answered(NOON, &at(HOUR + 2_000, 0));
        // This answer was an hour on its way.
        start.answered(NOON + HOUR, &at(3 * HOUR, 0));
        assert_eq!((start.server_from_ms, start.server_to_ms), (Some(NOON - 2_000), Some(NOON + 999)));
    }

    #[test]
    fn law_7_a_device_clock_that_slept_is_corrected_by_the_server() {
        let mut start = WindowStart::now(at(0, 0), None);
        start.answered(NOON, &at(1_000, 0));
        let later = server(NOON + 30 * HOUR, at(2_000, 0));
        assert_eq!(start.elapsed_ms(Some(&later), &at(2_000, 0)), Some(30 * HOUR - 999));
    }

    #[test]
    fn law_7_a_server_can_say_when_its_window_began() {
        let now = at(10 * HOUR, 0);
        let start = WindowStart::told(NOON, &server(NOON + HOUR, now));
        assert_eq!(start.elapsed_ms(None, &now), Some(HOUR + 999));
        assert_eq!(start.elapsed_ms(None, &at(11 * HOUR, 0)), Some(2 * HOUR + 999));
    }
}
