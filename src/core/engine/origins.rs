//! What this realm knows of its origins, and when it may probe them again.

use std::rc::Rc;

use crate::core::backoff::{Jitter, backoff_ms};
use crate::core::limits::PROBE_FORBIDS_MAX_MS;
use crate::core::map::SortedMap;
use crate::core::reach::{OriginRecord, ProbeStanding, Reach, reach};
use crate::core::shared::Shared;
use crate::core::time::Stamp;

#[derive(Clone, Debug)]
pub(super) struct Origins(SortedMap<String, Origin>);

#[derive(Clone, Debug, Default)]
struct Origin {
    record: Shared<OriginRecord>,
    probing: bool,
    /// The browser said `offline` after the probe had begun: what comes of it is of before.
    overtaken: bool,
    /// Probes in a row that failed, or that the ledger did not take in.
    failures: u32,
    /// A probe failed, or the browser said `online`: the next one that succeeds means that the network is back.
    returning: bool,
    /// No probe before this monotonic time.
    next_probe_at_ms: Option<u64>,
    blocked_since: Option<Stamp>,
    /// Does an intent wait for this origin?
    wanted: bool,
    /// The probe that tells whether probes work here was asked for (P4.2).
    checked: bool,
}

/// What to do about an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approach {
    Go,
    /// Start a probe now.
    Probe,
    /// A probe runs, or its time has not come.
    Wait,
    /// Not one of the queue's origins.
    Foreign,
}

impl Origins {
    pub(super) fn new(origins: &[String]) -> Self {
        let mut known = SortedMap::new();
        known.extend(origins.iter().map(|origin| (origin.clone(), Origin::default())));
        Self(known)
    }

    /// Takes over what the ledger remembers.
    pub(super) fn learn_all(&mut self, records: Vec<(Rc<str>, Shared<OriginRecord>)>) {
        records.into_iter().for_each(|(origin, record)| self.learn(&origin, record));
    }

    pub(super) fn learn(&mut self, origin: &str, record: Shared<OriginRecord>) {
        if let Some(known) = self.0.get_mut(origin) {
            known.record = record;
        }
    }

    pub(super) fn approach(
        &mut self,
        origin: &str,
        maybe_sent: bool,
        online: bool,
        now: Stamp,
        mono_ms: u64,
    ) -> Approach {
        let Some(known) = self.0.get_mut(origin) else { return Approach::Foreign };
        if let Some(ends_at_ms) = known.record.gate_ends_at_ms(&now) {
            known.wanted = true;
            known.next_probe_at_ms = Some(mono_ms.saturating_add(ends_at_ms.saturating_sub(now.at_ms)));
            return Approach::Wait;
        }
        match reach(&known.record, maybe_sent, online, known.blocked_since, &now) {
            Reach::Go => {
                known.blocked_since = None;
                Approach::Go
            }
            Reach::Blocked => {
                // Since another epoch is since an unknowable time: it starts again.
                let since = known.blocked_since.filter(|since| now.since(since).is_some()).unwrap_or(now);
                let left_ms = PROBE_FORBIDS_MAX_MS.saturating_sub(now.since(&since).unwrap_or(0));
                known.blocked_since = Some(since);
                known.wanted = true;
                known.next_probe_at_ms = Some(mono_ms.saturating_add(left_ms));
                Approach::Wait
            }
            Reach::Probe => {
                known.wanted = true;
                let may = !known.probing && known.next_probe_at_ms.is_none_or(|at_ms| at_ms <= mono_ms);
                if may {
                    known.probing = true;
                    Approach::Probe
                } else {
                    Approach::Wait
                }
            }
        }
    }

    /// A probe ended. Its result is judged in the ledger; this sets only the pace, as of one that failed until the ledger
    /// has taken it in. The origin stays busy until the ledger has answered. Says whether there is a network, whatever the
    /// browser says.
    pub(super) fn probed(&mut self, origin: &str, ok: bool, mono_ms: u64, jitter: Jitter) -> bool {
        let Some(known) = self.0.get_mut(origin) else { return false };
        let overtaken = core::mem::take(&mut known.overtaken);
        known.failures = known.failures.saturating_add(1);
        known.returning |= !ok;
        // At least half the ceiling: a probe that was just refused is not asked again at once.
        let wait = backoff_ms(known.failures + 1, Jitter(jitter.0 | (1 << 31)));
        known.next_probe_at_ms = Some(mono_ms.saturating_add(wait));
        ok && !overtaken
    }

    /// The browser says that there is no network.
    pub(super) fn doubt(&mut self) {
        for origin in self.0.values_mut() {
            origin.overtaken = origin.probing;
        }
    }

    /// The ledger has taken in a probe's result, or could not. Says whether the network is back.
    pub(super) fn settle_probe(&mut self, origin: &str, record: Option<Shared<OriginRecord>>) -> bool {
        let Some(known) = self.0.get_mut(origin) else { return false };
        known.probing = false;
        let Some(record) = record else { return false };
        known.record = record;
        if known.record.probe_failing_since.is_some() {
            return false;
        }
        known.failures = 0;
        known.next_probe_at_ms = None;
        core::mem::take(&mut known.returning)
    }

    /// Something changed outside: the next probe may go at once. `online`: the browser says that the network is back.
    pub(super) fn ask_again(&mut self, online: bool) {
        for origin in self.0.values_mut() {
            origin.returning |= online;
            origin.next_probe_at_ms = None;
            origin.blocked_since = None;
            origin.failures = 0;
        }
    }

    /// May an origin that intents wait for be asked again? Forgets that it was wanted.
    pub(super) fn take_due(&mut self, mono_ms: u64) -> bool {
        let mut any = false;
        for origin in self.0.values_mut() {
            let due = !origin.probing && origin.next_probe_at_ms.is_none_or(|at_ms| at_ms <= mono_ms);
            if origin.wanted && due {
                origin.wanted = false;
                origin.next_probe_at_ms = None;
                any = true;
            }
        }
        any
    }

    /// When the next wanted origin may be asked again.
    pub(super) fn next_probe_at_ms(&self) -> Option<u64> {
        let waiting = self.0.values().filter(|origin| origin.wanted && !origin.probing);
        waiting.map(|origin| origin.next_probe_at_ms.unwrap_or(0)).min()
    }

    /// After the first real answer, once: does a probe work here at all? (P4.2)
    pub(super) fn needs_check(&mut self, origin: &str) -> bool {
        let Some(known) = self.0.get_mut(origin) else { return false };
        let untested = known.record.answered && known.record.probe == ProbeStanding::Untested;
        let needed = untested && !known.checked && !known.probing;
        if needed {
            known.checked = true;
            known.probing = true;
        }
        needed
    }
}
