//! The attempts of one intent: recorded before they are sent, judged together.

use super::contract::{AnswerClass, AttemptReading};
use super::json::json;
use super::key::ChangeId;
use super::limits::ATTEMPTS_KEPT;
use super::time::Stamp;

/// One send. Recorded as `Open` in the claim's transaction, before a byte leaves (law 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// The fence of the claim that made it.
    pub fence: u64,
    /// The claim's nonce; correlates the journal, an app's logs and this attempt.
    pub correlation: ChangeId,
    pub started: Stamp,
    pub state: AttemptState,
}

json!(struct Attempt { number, fence, correlation, started, state });

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// Claimed; bytes may be on the wire. An attempt whose realm died stays open, and open is unknown.
    Open,
    /// The guard refused: nothing left the device.
    NotSent { ended: Stamp },
    Ended {
        ended: Stamp,
        /// The change that recorded these facts (P1.1).
        fact: ChangeId,
        reading: AttemptReading,
        retry_after_ms: Option<u64>,
    },
}

json!(enum AttemptState {
    Open = "open",
    NotSent { ended } = "not_sent",
    Ended { ended, fact, reading, retry_after_ms } = "ended",
});

impl Attempt {
    /// Could this attempt have had an effect that nothing tells?
    pub fn leaves_unknown(&self) -> bool {
        match &self.state {
            AttemptState::Open => true,
            AttemptState::NotSent { .. } => false,
            AttemptState::Ended { reading, .. } => reading.leaves_unknown(),
        }
    }

    /// Did bytes of it possibly leave the device? Stays true after any answer: one fetch can be several deliveries
    /// (P5.3).
    pub fn maybe_left(&self) -> bool {
        !matches!(self.state, AttemptState::NotSent { .. })
    }
}

/// All attempts of an intent: the newest in full, the older ones as counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Attempts ever made; also the newest number.
    pub total: u32,
    /// Oldest first; at most [`ATTEMPTS_KEPT`].
    pub attempts: Vec<Attempt>,
    /// Of the attempts no longer kept here: how many could have left the device.
    pub folded_left: u32,
    /// Of those: how many ended and leave their effect unknown.
    pub folded_unknown: u32,
    /// Of those: the numbers of the ones that are still open, and so unknown too. At most
    /// [`ATTEMPTS_MAX`](super::limits::ATTEMPTS_MAX).
    pub folded_open: Vec<u32>,
}

json!(struct History { total, attempts, folded_left, folded_unknown, folded_open });

impl History {
    /// Starts the next attempt. The oldest one is folded away when the list is full.
    pub fn open(&mut self, fence: u64, correlation: ChangeId, started: Stamp) -> u32 {
        while self.attempts.len() >= ATTEMPTS_KEPT {
            let oldest = self.attempts.remove(0);
            self.folded_left = self.folded_left.saturating_add(u32::from(oldest.maybe_left()));
            if oldest.state == AttemptState::Open {
                self.folded_open.push(oldest.number);
            } else {
                self.folded_unknown = self.folded_unknown.saturating_add(u32::from(oldest.leaves_unknown()));
            }
        }
        self.total = self.total.saturating_add(1);
        self.attempts.push(Attempt { number: self.total, fence, correlation, started, state: AttemptState::Open });
        self.total
    }

    /// Takes back an attempt that was folded while it was open, because facts of it came in after all. Says whether
    /// it was one: another than those has had its say before.
    pub fn recall(&mut self, number: u32, fence: u64, correlation: ChangeId, now: Stamp) -> bool {
        let Some(place) = self.folded_open.iter().position(|folded| *folded == number) else { return false };
        self.folded_open.remove(place);
        self.folded_left = self.folded_left.saturating_sub(1);
        let place = self.attempts.partition_point(|attempt| attempt.number < number);
        self.attempts.insert(place, Attempt { number, fence, correlation, started: now, state: AttemptState::Open });
        true
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Attempt> {
        self.attempts.iter_mut().find(|attempt| attempt.number == number)
    }

    /// Was that attempt refused for its credentials?
    pub fn lacked_credentials(&self, number: u32) -> bool {
        let attempt = self.attempts.iter().find(|attempt| attempt.number == number);
        let reading = attempt.and_then(|attempt| match &attempt.state {
            AttemptState::Ended { reading, .. } => Some(reading),
            AttemptState::Open | AttemptState::NotSent { .. } => None,
        });
        matches!(reading, Some(AttemptReading::Answer { class: AnswerClass::Auth, .. }))
    }

    /// Does any attempt leave its effect unknown?
    pub fn any_unknown(&self) -> bool {
        self.folded_unknown > 0 || !self.folded_open.is_empty() || self.attempts.iter().any(Attempt::leaves_unknown)
    }

    /// Could anything have left the device?
    pub fn maybe_sent(&self) -> bool {
        self.folded_left > 0 || self.attempts.iter().any(Attempt::maybe_left)
    }

    /// Could anything but this attempt have left the device?
    pub fn left_beside(&self, number: u32) -> bool {
        self.folded_left > 0 || self.attempts.iter().any(|attempt| attempt.number != number && attempt.maybe_left())
    }

    /// How many of the newest attempts in a row brought an answer of this class.
    pub fn run_of(&self, wanted: AnswerClass) -> u32 {
        let newest_first = self.attempts.iter().rev();
        let run = newest_first.take_while(|attempt| {
            matches!(&attempt.state, AttemptState::Ended { reading: AttemptReading::Answer { class, .. }, .. } if *class == wanted)
        });
        let kept = u32::try_from(run.count()).unwrap_or(u32::MAX);
        // A run that fills everything kept goes on in what was folded; counting that as part of it errs towards asking.
        if kept as usize == ATTEMPTS_KEPT { self.total } else { kept }
    }

    /// Attempts that count towards backoff: those that may have left the device.
    pub fn failures(&self) -> u32 {
        let kept = self.attempts.iter().filter(|attempt| attempt.maybe_left()).count();
        self.folded_left.saturating_add(u32::try_from(kept).unwrap_or(u32::MAX))
    }
}
