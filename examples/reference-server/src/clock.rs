//! The server's one clock. The test bench may set it forward, to see in seconds what a provider forgets in days.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;

/// How far ahead of the machine the clock can be set. Further, and dates stop having four-digit years.
const MAX_AHEAD: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The machine's clock, plus what it was set forward by. Handles share one setting; a server that starts has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    ahead_ms: Arc<AtomicU64>,
}

impl Clock {
    /// Milliseconds since the Unix epoch. A wrong clock moves leases and expiry; it cannot make two
    /// runs of one life commit, which only tokens decide.
    pub(crate) fn now_ms(&self) -> i64 {
        millis(self.now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// The time as the `Date` of an answer.
    pub(crate) fn http_date(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&httpdate::fmt_http_date(self.now())).ok()
    }

    /// Sets the clock forward from where it stands. False, and nothing changes, if that is too far.
    pub(crate) fn advance(&self, by: Duration) -> bool {
        let further = |ahead: u64| {
            let ahead = Duration::from_millis(ahead).checked_add(by).filter(|ahead| *ahead <= MAX_AHEAD)?;
            u64::try_from(ahead.as_millis()).ok()
        };
        self.ahead_ms.fetch_update(Ordering::SeqCst, Ordering::SeqCst, further).is_ok()
    }

    /// Back to the machine's time.
    pub(crate) fn set_back(&self) {
        self.ahead_ms.store(0, Ordering::SeqCst);
    }

    pub(crate) fn ahead(&self) -> Duration {
        Duration::from_millis(self.ahead_ms.load(Ordering::SeqCst))
    }

    fn now(&self) -> SystemTime {
        SystemTime::now() + self.ahead()
    }
}

/// A duration as SQLite stores it.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_forward_for_every_handle_and_back_to_the_machines_time() {
        let clock = Clock::default();
        let other = clock.clone();
        let before = clock.now_ms();
        assert!(clock.advance(Duration::from_secs(3_600)));
        assert!(clock.advance(Duration::from_secs(3_600)));
        assert!(other.now_ms() - before >= 7_200_000);
        assert!(!clock.advance(MAX_AHEAD), "nothing changes");
        assert_eq!(clock.ahead(), Duration::from_secs(7_200));
        clock.set_back();
        assert!(other.now_ms() - before < 3_600_000);
    }
}
