//! What travels when an app's origin changes (hazard L11): intents as one ledger held them, for another that knows neither their
//! clock nor each other. It holds keys and payloads; the JavaScript face seals it.

use super::attempt::{Attempt, AttemptState};
use super::contract::Contract;
use super::intent::IntentRecord;
use super::json::json;
use super::key::ScopeHash;
use super::limits::CLOCK_STEP_BACK_MS;
use super::record::Payload;
use super::time::Stamp;

/// A part of what one `move()` exports: a page of one ledger, in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    pub scope: ScopeHash,
    /// When it was exported, by the ledger that it is from.
    pub packed: Stamp,
    pub items: Vec<Packed>,
}

json!(struct Parcel { scope, packed, items });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// As it was before it was moved.
    pub intent: IntentRecord,
    pub payload: Payload,
    pub contract: Contract,
}

json!(struct Packed { intent, payload, contract });

/// From one ledger's clock to another's.
#[derive(Clone, Copy, Debug)]
pub struct Journey {
    packed: Stamp,
    now: Stamp,
    /// By the wall clock, which both have in common; `None`: it was set back on the way, and nobody knows.
    took_ms: Option<u64>,
}

/// No ledger comes to this epoch: what has a stamp of it has no age (P3.2).
const NO_EPOCH: u32 = u32::MAX;

impl Journey {
    pub fn new(packed: Stamp, now: Stamp) -> Self {
        let back_ms = packed.wall_ms.saturating_sub(now.wall_ms);
        let took_ms = (back_ms <= CLOCK_STEP_BACK_MS).then(|| now.wall_ms.saturating_sub(packed.wall_ms));
        Self { packed, now, took_ms }
    }

    /// The same moment on this ledger's clock: as long ago as it was when it was packed, and the time since. In doubt it is of
    /// no epoch: windows are closed, and what was never sent waits for somebody to confirm it (P3.3).
    fn arrive(&self, moment: Stamp) -> Stamp {
        let known = || {
            let ago_ms = self.packed.since(&moment)?.checked_add(self.took_ms?)?;
            Some(Stamp { at_ms: self.now.at_ms.checked_sub(ago_ms)?, epoch: self.now.epoch, ..moment })
        };
        known().unwrap_or(Stamp { epoch: NO_EPOCH, ..moment })
    }

    /// A moment that was still to come; now, if it has come.
    fn ahead(&self, at_ms: u64) -> u64 {
        let left_ms = at_ms.saturating_sub(self.packed.at_ms).saturating_sub(self.took_ms.unwrap_or(0));
        self.now.at_ms.saturating_add(left_ms)
    }

    /// Sets a record's every time by this ledger's clock.
    pub fn restamp(&self, intent: &mut IntentRecord) {
        let on = |moment: &mut Stamp| *moment = self.arrive(*moment);
        let moments = [&mut intent.renewed, &mut intent.first_sent, &mut intent.delivery.acknowledged];
        moments.into_iter().flatten().for_each(on);
        on(&mut intent.created);
        intent.window.iter_mut().for_each(|window| on(&mut window.at));
        for Attempt { started, state, .. } in &mut intent.history.attempts {
            on(started);
            if let AttemptState::Ended { ended, .. } | AttemptState::NotSent { ended } = state {
                on(ended);
            }
        }
        let times = [&mut intent.due_at_ms, &mut intent.floor_at_ms, &mut intent.delivery.due_at_ms];
        times.into_iter().flatten().for_each(|at_ms| *at_ms = self.ahead(*at_ms));
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn at(at_ms: u64, epoch: u32, wall_ms: u64) -> Stamp {
        Stamp { at_ms, epoch, wall_ms }
    }

    #[test]
    fn p3_a_moment_is_as_long_ago_as_it_was_and_the_way_beside() {
        let journey = Journey::new(at(10 * HOUR, 3, 50 * HOUR), at(900 * HOUR, 1, 52 * HOUR));
        assert_eq!(journey.arrive(at(7 * HOUR, 3, 40 * HOUR)), at(895 * HOUR, 1, 40 * HOUR));
        assert_eq!((journey.ahead(11 * HOUR), journey.ahead(15 * HOUR)), (900 * HOUR, 903 * HOUR));
    }

    #[test]
    fn p3_2_in_any_doubt_a_moment_has_no_age() {
        let now = at(900 * HOUR, 1, 50 * HOUR);
        let packed = at(10 * HOUR, 3, 50 * HOUR);
        let moment = at(7 * HOUR, 3, 40 * HOUR);
        for (why, journey, moment) in [
            ("an older epoch", Journey::new(packed, now), at(7 * HOUR, 2, 40 * HOUR)),
            ("set back on the way", Journey::new(at(10 * HOUR, 3, 50 * HOUR + 60_001), now), moment),
            ("older than this clock", Journey::new(packed, at(2 * HOUR, 1, 50 * HOUR)), moment),
        ] {
            assert_eq!(now.since(&journey.arrive(moment)), None, "{why}");
        }
        let barely = Journey::new(at(10 * HOUR, 3, 50 * HOUR + 60_000), now);
        assert_eq!(now.since(&barely.arrive(moment)), Some(3 * HOUR), "a minute is no step");
    }
}
