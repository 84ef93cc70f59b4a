//! Time as arguments: what a realm sees, and the ledger clock that windows, leases and waits are measured on (P3).

use std::rc::Rc;

use super::bugs::{Bug, bug};
use super::json::json;
use super::limits::CLOCK_STEP_BACK_MS;

/// What one realm can see of time in one task. Wall time is epoch milliseconds; monotonic time has a realm's own origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub wall_ms: u64,
    pub mono_ms: u64,
}

/// A point on the ledger clock. Two stamps of different epochs have an unknowable distance (P3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds on the ledger clock; never decreases.
    pub at_ms: u64,
    pub epoch: u32,
    /// The device's wall clock at that moment, for people only.
    pub wall_ms: u64,
}

json!(struct Stamp { at_ms, epoch, wall_ms });

impl Stamp {
    /// An upper bound of the time since `earlier`; `None` where it is unknowable.
    pub fn since(&self, earlier: &Stamp) -> Option<u64> {
        (self.epoch == earlier.epoch || bug(Bug::EpochIgnored)).then(|| self.at_ms.saturating_sub(earlier.at_ms))
    }

    /// The wall time at which the ledger clock will read `at_ms`, if the wall clock runs on as it does now.
    pub fn wall_at(&self, at_ms: u64) -> u64 {
        if at_ms >= self.at_ms {
            self.wall_ms.saturating_add(at_ms - self.at_ms)
        } else {
            self.wall_ms.saturating_sub(self.at_ms - at_ms)
        }
    }
}

/// What a realm brings to a transaction: its wall clock, and its own continuous reading where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    pub wall_ms: u64,
    /// The ledger clock as this realm has followed it on its monotonic clock: `(at_ms, epoch)`.
    pub followed: Option<(u64, u32)>,
    /// How often the realm has let go of locks before their time, or lost them (P2.5).
    pub locks_lost: u64,
    /// How long the realm has run so far, by the larger of its two clocks: what it hears of this transaction it may hear late.
    pub ran_ms: u64,
}

impl Reading {
    /// What a realm brings that has read nothing of the ledger yet.
    pub const fn alone(wall_ms: u64) -> Self {
        Self { wall_ms, followed: None, locks_lost: 0, ran_ms: 0 }
    }
}

/// The ledger's clock as a transaction of this realm left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    pub clock: LedgerClock,
    /// How long the realm had run then.
    pub ran_ms: u64,
}

/// What a realm brings to a transaction at the moment when that decides. It may have waited long, behind others or in a page
/// that did not run: an old reading of the wall clock looks like one that was set ahead, and a lock that was held when a
/// claim was asked for may be another's.
pub type Readings = Rc<dyn Fn() -> Reading>;

/// The ledger clock as stored: `(L, wall_at, epoch)` of P3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerClock {
    pub at_ms: u64,
    pub wall_ms: u64,
    pub epoch: u32,
    /// How much of its advance, ever, only one realm's own clock knew of, and the wall clock did not show. Windows count it;
    /// leases do not end by it, since their holders may never have seen it.
    pub unexplained_ms: u64,
}

json!(struct LedgerClock { at_ms, wall_ms, epoch, unexplained_ms });

impl LedgerClock {
    /// The clock of a ledger that has none yet. It starts at the wall clock, so that stamps are readable in a dump.
    pub fn new(wall_ms: u64) -> Self {
        Self { at_ms: wall_ms, wall_ms, epoch: 0, unexplained_ms: 0 }
    }

    /// Advances by what a realm sees now. Never goes back: a step back of the wall clock by more than a minute that
    /// no monotonic clock bridges starts a new epoch instead.
    #[must_use]
    pub fn observe(self, reading: Reading) -> Self {
        let across = reading.wall_ms.saturating_sub(self.wall_ms);
        let step_back = self.wall_ms.saturating_sub(reading.wall_ms);
        let bridged = reading.followed.is_some_and(|(_, epoch)| epoch == self.epoch);
        // A realm that met a step back when it read the ledger is an epoch ahead; it has followed the clock since, so
        // that leases end for it (P2.7). What one of an older epoch brings may be wild.
        let followed = reading.followed.filter(|(_, epoch)| *epoch >= self.epoch).map_or(0, |(at_ms, _)| at_ms);
        let explained = self.at_ms.saturating_add(across);
        let at_ms = followed.max(explained);
        let unexplained_ms = self.unexplained_ms.saturating_add(at_ms.saturating_sub(explained));
        let (wall_ms, epoch) = if bridged {
            (reading.wall_ms, self.epoch)
        } else if step_back > CLOCK_STEP_BACK_MS && !bug(Bug::ClockBackUnnoticed) {
            (reading.wall_ms, self.epoch.saturating_add(1))
        } else {
            // A small step back keeps the old anchor: many small steps then add up to one that is seen.
            (self.wall_ms.max(reading.wall_ms), self.epoch)
        };
        Self { at_ms, wall_ms, epoch, unexplained_ms }
    }

    /// This clock's reading as a stamp, with the wall clock of the realm that looks.
    pub fn stamp(&self, wall_ms: u64) -> Stamp {
        Stamp { at_ms: self.at_ms, epoch: self.epoch, wall_ms }
    }
}

/// One realm's continuous view of the ledger clock: advances by the larger of the monotonic and the wall delta.
#[derive(Clone, Copy, Debug)]
pub struct RealmClock {
    clock: Option<LedgerClock>,
    last: Moment,
    ran_ms: u64,
}

impl RealmClock {
    /// A realm that has not read the ledger yet: it has no ledger time to bring.
    pub fn new(now: Moment) -> Self {
        Self { clock: None, last: now, ran_ms: 0 }
    }

    /// Has the wall clock moved otherwise than the monotonic one since the last moment, by more than a step back that
    /// would be noticed across realms? A device that slept looks the same.
    pub fn steps_at(&self, now: Moment) -> bool {
        let mono_ms = now.mono_ms.saturating_sub(self.last.mono_ms);
        now.wall_ms.abs_diff(self.last.wall_ms.saturating_add(mono_ms)) > CLOCK_STEP_BACK_MS
    }

    /// Moves to `now` and says what this realm brings to a transaction.
    pub fn read(&mut self, now: Moment) -> Reading {
        let mono_delta = now.mono_ms.saturating_sub(self.last.mono_ms);
        let wall_delta = now.wall_ms.saturating_sub(self.last.wall_ms);
        let passed_ms = mono_delta.max(wall_delta);
        self.ran_ms = self.ran_ms.saturating_add(passed_ms);
        if let Some(clock) = &mut self.clock {
            clock.at_ms = clock.at_ms.saturating_add(passed_ms);
            clock.wall_ms = now.wall_ms;
        }
        self.last = now;
        let followed = self.clock.map(|clock| (clock.at_ms, clock.epoch));
        Reading { wall_ms: now.wall_ms, followed, locks_lost: 0, ran_ms: self.ran_ms }
    }

    /// Takes over what a transaction of this realm observed, and adds what has passed since: a page may have slept before it
    /// heard of it, and its lease runs (law 5).
    pub fn take_over(&mut self, observed: Observed) {
        let since_ms = self.ran_ms.saturating_sub(observed.ran_ms);
        self.adopt(LedgerClock { at_ms: observed.clock.at_ms.saturating_add(since_ms), ..observed.clock });
    }

    /// Takes over what the ledger says, as it was read at the start. The ledger decides what epoch it is.
    pub fn adopt(&mut self, stored: LedgerClock) {
        let Some(own) = self.clock else {
            self.clock = Some(stored.observe(Reading::alone(self.last.wall_ms)));
            return;
        };
        if stored.epoch != own.epoch {
            self.clock = Some(LedgerClock { at_ms: stored.at_ms.max(own.at_ms), wall_ms: self.last.wall_ms, ..stored });
        } else if stored.at_ms > own.at_ms {
            self.clock = Some(LedgerClock { at_ms: stored.at_ms, ..own });
        }
    }

    /// Takes over what the ledger says where this realm has written nothing to it. One that met a step back of the wall
    /// clock when it read the ledger is an epoch ahead, until it writes: it must not forget that.
    pub fn follow(&mut self, stored: LedgerClock) {
        match &mut self.clock {
            Some(own) if own.epoch > stored.epoch => own.at_ms = own.at_ms.max(stored.at_ms),
            _ => self.adopt(stored),
        }
    }

    /// The ledger time at the realm's last moment. Before the ledger was read: its wall clock, epoch 0.
    pub fn stamp(&self) -> Stamp {
        self.clock.unwrap_or(LedgerClock::new(self.last.wall_ms)).stamp(self.last.wall_ms)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000;

    #[test]
    fn p3_across_realms_the_clock_advances_by_the_wall_delta() {
        let clock = LedgerClock::new(1_000_000).observe(Reading::alone(1_000_000 + 3 * HOUR));
        let wall_ms = 1_000_000 + 3 * HOUR;
        assert_eq!(clock, LedgerClock { at_ms: wall_ms, wall_ms, epoch: 0, unexplained_ms: 0 });
    }

    #[test]
    fn p3_an_unbridged_step_back_starts_an_epoch_and_the_clock_goes_on() {
        let start = LedgerClock::new(10 * HOUR);
        let back = start.observe(Reading::alone(8 * HOUR));
        assert_eq!((back.at_ms, back.epoch), (10 * HOUR, 1));
        let later = back.observe(Reading::alone(9 * HOUR));
        assert_eq!((later.at_ms, later.epoch), (11 * HOUR, 1));
    }

    #[test]
    fn p3_a_bridged_step_back_keeps_the_epoch() {
        let mut realm = RealmClock::new(Moment { wall_ms: 10 * HOUR, mono_ms: 5 });
        realm.adopt(LedgerClock::new(10 * HOUR));
        let reading = realm.read(Moment { wall_ms: 8 * HOUR, mono_ms: 5 + HOUR });
        let clock = LedgerClock::new(10 * HOUR).observe(reading);
        assert_eq!((clock.at_ms, clock.epoch), (11 * HOUR, 0));
    }

    #[test]
    fn p3_many_small_steps_back_are_seen_as_one() {
        let mut clock = LedgerClock::new(10 * HOUR);
        for step in 1..=3 {
            clock = clock.observe(Reading::alone(10 * HOUR - step * 25_000));
        }
        assert_eq!(clock.epoch, 1);
    }

    #[test]
    fn p3_sleep_counts_even_if_the_monotonic_clock_stops() {
        let mut realm = RealmClock::new(Moment { wall_ms: HOUR, mono_ms: 0 });
        realm.adopt(LedgerClock::new(HOUR));
        realm.read(Moment { wall_ms: 3 * HOUR, mono_ms: 10 });
        assert_eq!(realm.stamp().at_ms, 3 * HOUR);
    }

    /// Found by seed 40293913: another realm's wild reading had put the ledger's clock years ahead; this one claimed, slept for
    /// eighteen hours before it heard of it, took over what the clock had read then, and sent as if no time had passed.
    #[test]
    fn law_5_what_is_heard_late_of_a_transaction_counts_from_when_that_decided() {
        let mut realm = RealmClock::new(Moment { wall_ms: HOUR, mono_ms: 0 });
        realm.adopt(LedgerClock::new(HOUR));
        let reading = realm.read(Moment { wall_ms: 2 * HOUR, mono_ms: HOUR });
        let wild = LedgerClock { at_ms: 100_000 * HOUR, ..LedgerClock::new(HOUR) };
        let observed = Observed { clock: wild.observe(reading), ran_ms: reading.ran_ms };
        realm.read(Moment { wall_ms: 20 * HOUR, mono_ms: HOUR });
        // What else it hears meanwhile changes nothing about that.
        realm.follow(wild);
        realm.take_over(observed);
        assert_eq!(realm.stamp().at_ms, observed.clock.at_ms + 18 * HOUR);
    }

    #[test]
    fn p3_one_wild_clock_closes_no_later_window() {
        let wild = LedgerClock::new(HOUR).observe(Reading::alone(100_000 * HOUR));
        let corrected = wild.observe(Reading::alone(2 * HOUR));
        let sent = corrected.stamp(2 * HOUR);
        let later = corrected.observe(Reading::alone(3 * HOUR)).stamp(3 * HOUR);
        assert_eq!(later.since(&sent), Some(HOUR));
        assert_eq!(later.since(&wild.stamp(100_000 * HOUR)), None);
    }

    #[test]
    fn p3_2_a_wild_clock_of_an_older_epoch_closes_no_later_window() {
        let corrected = LedgerClock { at_ms: 5 * HOUR, wall_ms: 2 * HOUR, epoch: 1, unexplained_ms: 0 };
        let wild = Reading { followed: Some((100_000 * HOUR, 0)), ..Reading::alone(2 * HOUR + 5) };
        let followed = LedgerClock { at_ms: 5 * HOUR + 5, wall_ms: 2 * HOUR + 5, ..corrected };
        assert_eq!(corrected.observe(wild), followed);
    }

    /// Else what another realm's wild reading made due in years would never be due here.
    #[test]
    fn p3_1_a_reader_that_is_an_epoch_ahead_follows_the_ledger_s_time_all_the_same() {
        let mut realm = RealmClock::new(Moment { wall_ms: 8 * HOUR, mono_ms: 0 });
        realm.adopt(LedgerClock::new(10 * HOUR));
        assert_eq!((realm.stamp().at_ms, realm.stamp().epoch), (10 * HOUR, 1));
        realm.follow(LedgerClock { at_ms: 100_000 * HOUR, ..LedgerClock::new(10 * HOUR) });
        assert_eq!((realm.stamp().at_ms, realm.stamp().epoch), (100_000 * HOUR, 1));
    }

    #[test]
    fn p3_2_two_epochs_have_no_distance() {
        let stamp = |at_ms, epoch| Stamp { at_ms, epoch, wall_ms: 0 };
        assert_eq!(stamp(HOUR, 1).since(&stamp(0, 1)), Some(HOUR));
        assert_eq!(stamp(HOUR, 1).since(&stamp(0, 0)), None);
        assert_eq!(stamp(0, 1).since(&stamp(HOUR, 1)), Some(0));
    }

    fn any_reading() -> impl Strategy<Value = Reading> {
        (0..HOUR, prop::option::of((0..2 * HOUR, 0_u32..4)))
            .prop_map(|(wall_ms, followed)| Reading { followed, ..Reading::alone(wall_ms) })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn p3_1_whatever_realms_bring_the_ledger_clock_never_goes_back(
            readings in prop::collection::vec(any_reading(), 1..50),
        ) {
            let mut clock = LedgerClock::new(HOUR / 2);
            for reading in readings {
                let next = clock.observe(reading);
                prop_assert!(next.at_ms >= clock.at_ms && next.epoch >= clock.epoch && next.epoch <= clock.epoch + 1);
                let stepped_back = clock.wall_ms.saturating_sub(reading.wall_ms) > CLOCK_STEP_BACK_MS;
                let bridged = reading.followed.is_some_and(|(_, epoch)| epoch == clock.epoch);
                prop_assert_eq!(next.epoch > clock.epoch, stepped_back && !bridged);
                clock = next;
            }
        }

        /// An upper bound of the time that passed: never less than the monotonic clock says.
        #[test]
        fn p3_1_a_realm_s_clock_runs_at_least_as_fast_as_its_monotonic_clock(
            steps in prop::collection::vec((0..HOUR, 0..HOUR), 1..50),
        ) {
            let mut realm = RealmClock::new(Moment { wall_ms: HOUR, mono_ms: 0 });
            realm.adopt(LedgerClock::new(HOUR));
            let (mut mono_ms, mut last) = (0, HOUR);
            for (wall_ms, passed_ms) in steps {
                mono_ms += passed_ms;
                realm.read(Moment { wall_ms, mono_ms });
                let at_ms = realm.stamp().at_ms;
                prop_assert!(at_ms >= HOUR + mono_ms && at_ms >= last + passed_ms);
                last = at_ms;
            }
        }
    }
}
