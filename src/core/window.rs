//! The window of law 7, and the life of an intent that was never sent (P3.3).

use super::intent::IntentRecord;
use super::time::Stamp;

/// How much of a window of `usable_ms` is left; `None` for an intent that was never sent, which has no window.
/// Another epoch than that of the first send means that the elapsed time is unknowable: nothing is left (P3.2).
pub fn window_left_ms(intent: &IntentRecord, usable_ms: u64, now: &Stamp) -> Option<u64> {
    let first_sent = intent.first_sent.as_ref()?;
    Some(now.since(first_sent).map_or(0, |elapsed| usable_ms.saturating_sub(elapsed)))
}

/// May an attempt of `attempt_ms` start now without ending after the server may have forgotten the key? The window of
/// an intent that was never sent would start with it.
pub fn window_open(intent: &IntentRecord, usable_ms: u64, now: &Stamp, attempt_ms: u64) -> bool {
    attempt_ms < window_left_ms(intent, usable_ms, now).unwrap_or(usable_ms)
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
