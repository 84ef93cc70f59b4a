//! What left the core during a life, as one number: the same wherever the same life is lived.

use core::fmt::Write;
use core::hash::{Hash, Hasher};
use core::mem::discriminant;

use intento::core::change::{Applied, Change, Refusal};
use intento::core::effect::{Dispatch, Effect, Outgoing};
use intento::core::input::{CommitError, Ticket};
use intento::core::intent::IntentRecord;
use intento::core::time::Reading;
use rustc_stable_hash::hashers::StableSipHasher128;

use crate::profile::Profile;
use crate::schedule::{Ended, draw, live_in};
use crate::world::{RealmNo, World};

/// A hash over every effect, every result of a commit and every wait, in order and with the moment at which it came. The
/// hasher knows no width of `usize` and no byte order. By default it is not kept: a twentieth of a life's time goes into it.
#[derive(Debug, Default)]
pub struct Trace(Option<StableSipHasher128>);

impl Trace {
    pub fn kept() -> Self {
        Self(Some(StableSipHasher128::default()))
    }

    /// `None` unless it is kept.
    pub fn value(&self) -> Option<u64> {
        self.0.as_ref().map(Hasher::finish)
    }

    /// An engine has taken in an input, and may sleep for so long.
    pub(crate) fn wakes(&mut self, at_ms: u64, realm: RealmNo, wake_in_ms: u64) {
        if let Some(to) = &mut self.0 {
            (at_ms, realm, wake_in_ms).hash(to);
        }
    }

    pub(crate) fn effect(&mut self, effect: &Effect) {
        let Some(to) = &mut self.0 else { return };
        discriminant(effect).hash(to);
        match effect {
            Effect::Commit { batch } => commit(batch, to),
            Effect::LoadDue { span, limit } => (span, limit).hash(to),
            Effect::LoadInbox { until_ms, limit } => (until_ms, limit).hash(to),
            Effect::Deliver { intent, answer } => {
                record(intent, to);
                answer.hash(to);
            }
            Effect::Load(intent) | Effect::Nudge(intent) | Effect::Unlock(intent) => intent.hash(to),
            Effect::Lock { intent, wait } => (intent, wait).hash(to),
            Effect::Probe { origin } => origin.hash(to),
            Effect::Authorize { intent, refresh } => (intent, refresh).hash(to),
            Effect::Prepare { intent, outgoing: Outgoing { attempt, method, url, headers, body } } => {
                (intent, attempt, method, url, headers, body).hash(to);
            }
            Effect::Reconcile { intent } => record(intent, to),
            Effect::Send(dispatch) => send(dispatch, to),
            Effect::Done { ticket, result } => {
                ticket.hash(to);
                told(result, to);
            }
            Effect::Changed { intent, durable, answer } => {
                record(intent, to);
                (durable, answer).hash(to);
            }
        }
    }

    /// What `apply` made of a batch.
    pub(crate) fn committed(&mut self, reading: Reading, results: &[Result<Applied, CommitError>]) {
        if let Some(to) = &mut self.0 {
            reading.hash(to);
            results.iter().for_each(|result| told(result, to));
        }
    }
}

fn commit(batch: &[(Ticket, Change)], to: &mut impl Hasher) {
    batch.len().hash(to);
    for (ticket, change) in batch {
        ticket.hash(to);
        discriminant(change).hash(to);
    }
}

fn send(dispatch: &Dispatch, to: &mut impl Hasher) {
    let Dispatch { intent, attempt, method, url, headers, body, deadline_ms, .. } = dispatch;
    (intent, attempt, method, url, headers, body, deadline_ms).hash(to);
    (dispatch.contract.fact_headers(), dispatch.contract.fact_pointers(), &dispatch.response_at).hash(to);
}

fn told(result: &Result<Applied, CommitError>, to: &mut impl Hasher) {
    discriminant(result).hash(to);
    match result {
        Ok(applied) => {
            discriminant(applied).hash(to);
            if let Some(intent) = applied.intent() {
                record(intent, to);
            }
        }
        Err(error) => {
            discriminant(error).hash(to);
            if let CommitError::Refused(refusal) = error {
                refused(refusal, to);
            }
        }
    }
    match result {
        Ok(Applied::Submitted { created: said, .. } | Applied::Cancelled { cancelled: said, .. }) => said.hash(to),
        Ok(Applied::Claimed(grant)) => (grant.attempt, grant.lease_until_ms).hash(to),
        Ok(Applied::MovedOut { moved, left, .. }) => moved.iter().chain(left).for_each(|intent| record(intent, to)),
        Ok(Applied::Purged { dropped, ended }) => dropped.iter().chain(ended).for_each(|intent| record(intent, to)),
        Ok(Applied::Adopted { moved, left }) => moved.iter().chain(left).for_each(|intent| record(intent, to)),
        _ => {}
    }
}

fn refused(refusal: &Refusal, to: &mut impl Hasher) {
    discriminant(refusal).hash(to);
    match refusal {
        Refusal::ReferenceConflict(intent)
        | Refusal::WrongState(intent)
        | Refusal::NotReplaceable(intent)
        | Refusal::NotResumable(intent)
        | Refusal::NotReconcilable(intent) => record(intent, to),
        Refusal::Leased { until_ms: at_ms } | Refusal::NotBefore { at_ms } => at_ms.hash(to),
        Refusal::AdoptConflict { theirs, ours } => {
            record(theirs, to);
            record(ours, to);
        }
        Refusal::LedgerFull
        | Refusal::ForeignParcel
        | Refusal::LaneFull
        | Refusal::UnknownIntent
        | Refusal::Undecodable
        | Refusal::Inconsistent => {}
    }
}

/// An intent by what changes of it.
fn record(intent: &IntentRecord, to: &mut impl Hasher) {
    let IntentRecord { id, state, fence, journal_entries, due_at_ms, floor_at_ms, contradicted, .. } = intent;
    (id, state, fence, journal_entries, due_at_ms, floor_at_ms, contradicted).hash(to);
}

/// The life of a seed, its trace kept.
pub fn traced(seed: u64, profile: Profile) -> Ended {
    let mut world = World::stormy(seed, profile);
    world.trace = Trace::kept();
    live_in(world, &draw(seed), None)
}

/// One life on one line, to be held against the same life lived elsewhere: seed, server, trace, intents left standing, and
/// how often each situation came about.
pub fn account(seed: u64) -> String {
    let profile = Profile::drawn(seed);
    let ended = traced(seed, profile);
    let trace = ended.trace.unwrap_or_default();
    let mut line = format!("{seed} {} {trace:016x} {}", profile.name(), ended.stuck.len());
    for (_, times) in ended.tally.rows() {
        let _ = write!(line, " {times}");
    }
    line
}
