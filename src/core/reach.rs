//! Offline is not an attempt (P4): whether an origin can be reached, from stored facts and probes.

use super::bugs::{Bug, bug};
use super::contract::{Fault, Observation};
use super::json::json;
use super::limits::{PROBE_FORBIDS_MAX_MS, REACHABLE_FRESH_MS};
use super::time::Stamp;
use super::window::ServerDate;

/// What is remembered of one origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginRecord {
    /// The last real HTTP answer, or successful probe.
    pub last_answer: Option<Stamp>,
    /// Has any intent ever had a real HTTP answer from here?
    pub answered: bool,
    /// Was the last thing an attempt met here a network fault?
    pub network_fault: bool,
    pub probe: ProbeStanding,
    /// Since when probes have been failing without one success between.
    pub probe_failing_since: Option<Stamp>,
    /// No attempt before this: the server had too many requests from here, whatever their keys.
    pub gated_until: Option<Stamp>,
    /// Its clock, as its last answer showed it.
    pub server: Option<ServerDate>,
}

json!(struct OriginRecord {
    last_answer,
    answered,
    network_fault,
    probe,
    probe_failing_since,
    gated_until,
    server,
});

/// Whether a probe's answer is believed for an origin (P4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeStanding {
    #[default]
    Untested,
    Works,
    /// It failed beside a healthy API: skipped.
    Unusable,
}

json!(words ProbeStanding { Untested = "untested", Works = "works", Unusable = "unusable" });

/// May an attempt start?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Go,
    /// Ask the origin first.
    Probe,
    /// Not before the browser says `online` again, or this much time has passed with it saying otherwise.
    Blocked,
}

/// Decides for one intent. `online` is the browser's hint; `blocked_since` is when this realm first met
/// `Blocked` here without an `online` since.
pub fn reach(
    origin: &OriginRecord,
    maybe_sent: bool,
    online: bool,
    blocked_since: Option<Stamp>,
    now: &Stamp,
) -> Reach {
    let answered_lately =
        origin.last_answer.and_then(|last| now.since(&last)).is_some_and(|elapsed| elapsed <= REACHABLE_FRESH_MS);
    let doubtful = !online || origin.network_fault;
    let licensed = if maybe_sent { !doubtful } else { answered_lately && !doubtful };
    if licensed {
        return Reach::Go;
    }
    match origin.probe {
        ProbeStanding::Works => Reach::Probe,
        ProbeStanding::Unusable if online || long_since(blocked_since, now) => Reach::Go,
        ProbeStanding::Unusable => Reach::Blocked,
        // A probe that never worked may be refused beside a healthy API: it delays, it does not forbid for ever.
        ProbeStanding::Untested
            if online && long_since(origin.probe_failing_since, now) && !bug(Bug::ProbeForbidsForEver) =>
        {
            Reach::Go
        }
        ProbeStanding::Untested => Reach::Probe,
    }
}

fn long_since(since: Option<Stamp>, now: &Stamp) -> bool {
    since.and_then(|since| now.since(&since)).is_some_and(|elapsed| elapsed >= PROBE_FORBIDS_MAX_MS)
}

impl OriginRecord {
    /// Until when, on the ledger clock, nothing may be sent here. A gate of another epoch has an unknowable end, and
    /// waiting is only manners: it is open.
    pub fn gate_ends_at_ms(&self, now: &Stamp) -> Option<u64> {
        let gate = self.gated_until.filter(|gate| gate.epoch == now.epoch)?;
        (now.at_ms < gate.at_ms).then_some(gate.at_ms)
    }

    /// May intents that waited for a probe go on, now that one has ended?
    pub fn lets_pass(&self) -> bool {
        self.probe_failing_since.is_none() || self.probe == ProbeStanding::Unusable
    }

    /// Nothing for this long. A shorter wait does not shorten one that runs.
    pub fn gate(&mut self, wait_ms: u64, now: &Stamp) {
        let at_ms = now.at_ms.saturating_add(wait_ms);
        let at_ms = self.gate_ends_at_ms(now).map_or(at_ms, |running_ms| running_ms.max(at_ms));
        self.gated_until = Some(Stamp { at_ms, ..*now });
    }

    /// Takes in what came back from here. Silence says nothing of the network: a slow server and a dead one look the same.
    pub fn met(&mut self, observation: &Observation, now: Stamp) {
        match observation {
            Observation::Reply(_)
            | Observation::Fault(Fault::Redirected | Fault::Truncated | Fault::TooLarge | Fault::Undecodable) => {
                self.attempted(true, false, now);
            }
            Observation::Fault(Fault::Network) => self.attempted(false, true, now),
            Observation::Fault(Fault::Timeout | Fault::Forbidden) => {}
        }
    }

    /// Takes in what an attempt met.
    pub fn attempted(&mut self, answered: bool, network_fault: bool, now: Stamp) {
        if answered {
            self.last_answer = Some(now);
            self.answered = true;
        }
        self.network_fault = network_fault;
    }

    /// Takes in a probe's result. A probe that fails beside an origin that has answered and never let a probe through
    /// is unusable there (measured: CORP, COEP and CSP make it fail beside a healthy API).
    pub fn probed(&mut self, ok: bool, now: Stamp) {
        if ok {
            self.probe = ProbeStanding::Works;
            self.last_answer = Some(now);
            self.network_fault = false;
            self.probe_failing_since = None;
        } else {
            if self.probe == ProbeStanding::Untested && self.answered && !self.network_fault {
                self.probe = ProbeStanding::Unusable;
            }
            // Since another epoch is since an unknowable time: it starts again.
            self.probe_failing_since =
                self.probe_failing_since.filter(|since| now.since(since).is_some()).or(Some(now));
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    fn at(at_ms: u64) -> Stamp {
        Stamp { at_ms, epoch: 0, wall_ms: at_ms }
    }

    #[test]
    fn p4_a_never_sent_intent_needs_a_fresh_answer_or_a_probe() {
        let mut origin = OriginRecord::default();
        assert_eq!(reach(&origin, false, true, None, &at(0)), Reach::Probe);
        origin.probed(true, at(0));
        assert_eq!(reach(&origin, false, true, None, &at(REACHABLE_FRESH_MS)), Reach::Go);
        assert_eq!(reach(&origin, false, true, None, &at(REACHABLE_FRESH_MS + 1)), Reach::Probe);
        assert_eq!(reach(&origin, false, false, None, &at(1)), Reach::Probe);
    }

    #[test]
    fn p4_a_maybe_sent_intent_is_probed_only_in_doubt() {
        let mut origin = OriginRecord::default();
        assert_eq!(reach(&origin, true, true, None, &at(0)), Reach::Go);
        assert_eq!(reach(&origin, true, false, None, &at(0)), Reach::Probe);
        origin.attempted(false, true, at(0));
        assert_eq!(reach(&origin, true, true, None, &at(0)), Reach::Probe);
    }

    #[test]
    fn p4_a_probe_that_fails_beside_a_healthy_api_is_skipped() {
        let mut origin = OriginRecord::default();
        origin.attempted(true, false, at(0));
        origin.probed(false, at(1));
        assert_eq!(origin.probe, ProbeStanding::Unusable);
        assert_eq!(reach(&origin, false, true, None, &at(1_000_000)), Reach::Go);
        assert_eq!(reach(&origin, false, false, Some(at(0)), &at(1_000)), Reach::Blocked);
        assert_eq!(reach(&origin, false, false, Some(at(0)), &at(PROBE_FORBIDS_MAX_MS)), Reach::Go);
    }

    #[test]
    fn p4_an_untested_probe_forbids_for_ten_minutes_at_most() {
        let mut origin = OriginRecord::default();
        origin.probed(false, at(0));
        assert_eq!(reach(&origin, false, true, None, &at(PROBE_FORBIDS_MAX_MS - 1)), Reach::Probe);
        assert_eq!(reach(&origin, false, true, None, &at(PROBE_FORBIDS_MAX_MS)), Reach::Go);
        assert_eq!(reach(&origin, false, false, None, &at(PROBE_FORBIDS_MAX_MS)), Reach::Probe);
    }

    #[test]
    fn p4_a_probe_that_once_worked_is_believed() {
        let mut origin = OriginRecord::default();
        origin.probed(true, at(0));
        origin.attempted(true, false, at(0));
        origin.probed(false, at(REACHABLE_FRESH_MS + 1));
        assert_eq!(origin.probe, ProbeStanding::Works);
        assert_eq!(reach(&origin, false, true, None, &at(PROBE_FORBIDS_MAX_MS * 9)), Reach::Probe);
    }

    #[test]
    fn a_gate_ends_at_its_moment_and_is_never_shortened() {
        let mut origin = OriginRecord::default();
        origin.gate(1_000, &at(0));
        assert_eq!(origin.gate_ends_at_ms(&at(999)), Some(1_000));
        assert_eq!(origin.gate_ends_at_ms(&at(1_000)), None);
        origin.gate(100, &at(500));
        assert_eq!(origin.gate_ends_at_ms(&at(999)), Some(1_000), "a shorter wait");
        origin.gate(2_000, &at(500));
        assert_eq!(origin.gate_ends_at_ms(&at(999)), Some(2_500), "a longer one");
    }

    #[test]
    fn p3_2_a_gate_of_another_epoch_is_open() {
        let mut origin = OriginRecord::default();
        origin.gate(1_000, &at(0));
        let later = Stamp { epoch: 1, ..at(1) };
        assert_eq!(origin.gate_ends_at_ms(&later), None);
        origin.gate(10, &later);
        assert_eq!(origin.gate_ends_at_ms(&later), Some(11), "and lengthens none of this one");
    }
}
