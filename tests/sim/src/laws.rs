//! The laws that every world keeps, checked at every send and after every commit.

mod records;
pub(crate) mod sending;

use std::collections::{BTreeMap, BTreeSet};

use intento::core::attempt::{Attempt, AttemptState};
use intento::core::change::{Applied, Change};
use intento::core::contract::{AnswerClass, AttemptReading};
use intento::core::input::CommitError;
use intento::core::intent::{Evidence, HeldReason, IntentRecord, Replay, State};
use intento::core::key::{Fingerprint, IntentId, Key, ScopeHash};
use intento::core::limits::{CLOCK_STEP_BACK_MS, DELIVER_DEADLINE_MS};
use intento::core::record::{Record, RecordKey, ReferenceName};
use intento::core::shared::Shared;
use intento::core::time::LedgerClock;

use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::server::decide::PastRetention;
use crate::server::{Said, Server};
use crate::world::{RealmNo, SECOND, World};
pub(crate) use records::{Time, agrees, alone, step_by_step};
use records::{dropped, is_erased, may_go};
use sending::FirstSend;
pub use sending::Sending;

/// How long the steps from "reachable" to the send take at most, in a storm.
const STEPS_MAX_MS: u64 = 10 * SECOND;

#[derive(Debug, Default)]
pub struct Laws {
    known: BTreeMap<IntentId, Shared<IntentRecord>>,
    /// The keys of all intents ever: a tombstone has only a hash.
    keys: BTreeMap<IntentId, Key>,
    /// Intents of which nothing is left.
    pub removed: BTreeSet<IntentId>,
    open: BTreeMap<ScopeHash, u64>,
    clock: Option<LedgerClock>,
    sent: BTreeMap<IntentId, FirstSend>,
    /// Realms whose app had no credentials for an intent when it was asked last.
    unauthorized: BTreeSet<(RealmNo, IntentId)>,
    /// Attempts that left, by intent.
    pub sends: BTreeMap<IntentId, Vec<u32>>,
    /// When each realm has sent.
    sent_by_ms: BTreeMap<RealmNo, Vec<u64>>,
    /// The device's wall clock was stepped: realms may disagree about when a lease ends (law 5 bounds what we start).
    pub clocks_disagree: bool,
    /// The wall clock was set back, and none of these, which would know, has written to the ledger since. Until then how
    /// long ago something was is unknowable (design section 9).
    pub unseen_step: Option<Vec<RealmNo>>,
    /// Intents of which a weak tier has lost something: it may say that they were never sent (design section 4).
    pub lost: BTreeSet<IntentId>,
    /// Keys that were sent too late, which nobody could know.
    excused: BTreeSet<String>,
    /// Of those that would know: since when they have run, and so must have written.
    aware_ms: BTreeMap<RealmNo, u64>,
    /// When the wall clock was last set back.
    set_back_ms: Option<u64>,
    /// When the wall clock was last stepped.
    pub stepped_ms: Option<u64>,
    /// Since when the network is gone, as the browser says.
    pub offline_since_ms: Option<u64>,
    /// When each attempt was claimed, and when each realm was last frozen.
    claimed_ms: BTreeMap<(IntentId, u32), u64>,
    pub frozen_ms: BTreeMap<RealmNo, u64>,
    /// When each realm last went on after it had stopped.
    pub woken_ms: BTreeMap<RealmNo, u64>,
    /// Whose credentials were refused for what, by the server or by the app.
    refused: BTreeSet<(RealmNo, IntentId)>,
    /// What each submit was about.
    decided: BTreeMap<u64, Fingerprint>,
    /// Outcomes in the hands of the app.
    handed: BTreeMap<IntentId, Handed>,
}

#[derive(Debug)]
struct Handed {
    realm: RealmNo,
    /// On the ledger clock.
    at_ms: u64,
    state: State,
    verdict: Option<bool>,
}

impl Laws {
    /// Every intent as it was last written.
    pub fn intents(&self) -> impl Iterator<Item = &IntentRecord> {
        self.known.values().map(|intent| &**intent)
    }

    /// An intent as it was last written.
    pub fn known(&self, id: &IntentId) -> Option<&IntentRecord> {
        self.known.get(id).map(|intent| &**intent)
    }

    /// The key that an intent was made with.
    pub fn key_of<'a>(&'a self, intent: &'a IntentRecord) -> &'a str {
        self.keys.get(&intent.id).unwrap_or(&intent.key).expose()
    }

    /// The unfinished ones of its lane that go before this one: they have an earlier place, or may have been sent.
    pub(crate) fn before_in_lane<'a>(&'a self, intent: &'a IntentRecord) -> impl Iterator<Item = &'a IntentRecord> {
        let goes_before = |other: &&IntentRecord| match (&other.lane, &intent.lane) {
            (Some(theirs), Some(own)) => {
                let same = theirs.lane == own.lane && other.scope == intent.scope && other.id != intent.id;
                same && !other.has_ended() && (theirs.place < own.place || other.maybe_sent())
            }
            _ => false,
        };
        self.intents().filter(move |_| intent.lane.is_some() && !intent.has_ended()).filter(goes_before)
    }

    /// What the app said when it was asked for credentials.
    pub fn authorized(&mut self, realm: RealmNo, intent: &IntentId, granted: bool) {
        let asked = (realm, intent.clone());
        if granted {
            self.unauthorized.remove(&asked);
        } else {
            self.unauthorized.insert(asked);
        }
    }

    /// The wall clock was stepped while these realms ran.
    pub fn stepped(&mut self, ms: i64, mut awake: Vec<RealmNo>, now_ms: u64) {
        self.stepped_ms = Some(now_ms);
        if ms >= 0 {
            return;
        }
        self.set_back_ms = Some(now_ms);
        // One that has not seen an earlier step cannot make up for it.
        if let Some(before) = &self.unseen_step {
            awake.retain(|realm| before.contains(realm));
        }
        self.aware_ms.clear();
        if ms.unsigned_abs() <= CLOCK_STEP_BACK_MS {
            awake.iter().for_each(|realm| self.publishes_never(*realm));
        }
        self.unseen_step = Some(awake);
    }

    /// This realm has written to the ledger.
    pub fn published(&mut self, realm: RealmNo) {
        self.unseen_step = self.unseen_step.take().filter(|awake| !awake.contains(&realm));
    }

    /// What this realm knows of a step back may be lost with it: it was too small to be written at once, or storage failed.
    pub fn publishes_never(&mut self, realm: RealmNo) {
        self.aware_ms.insert(realm, u64::MAX);
    }

    /// Was this realm born after the wall clock was last set back?
    pub fn begins_after_the_step(&self, born_ms: u64) -> bool {
        self.set_back_ms.is_some_and(|set_back_ms| set_back_ms <= born_ms)
    }

    /// A realm runs. Where the wall clock was set back further than what goes unnoticed, it knows.
    pub fn runs(&mut self, realm: RealmNo, now_ms: u64) {
        if self.unseen_step.as_ref().is_some_and(|awake| awake.contains(&realm)) {
            self.aware_ms.entry(realm).or_insert(now_ms);
        }
    }

    /// What a realm bridges it publishes at once: one that knew of a step back for a while, and no storage failed, is no
    /// excuse any more. Asked before it stops, and before a law is measured.
    pub fn publishes(&mut self, realm: Option<RealmNo>, now_ms: u64) {
        let long = |(aware, since_ms): (&RealmNo, &u64)| {
            realm.is_none_or(|realm| realm == *aware) && now_ms >= since_ms.saturating_add(STEPS_MAX_MS)
        };
        if self.unseen_step.is_some() && self.aware_ms.iter().any(long) {
            self.unseen_step = None;
        }
        if let Some(realm) = realm {
            self.publishes_never(realm);
        }
    }

    /// A weak tier has lost what it had not written yet.
    pub(crate) fn forget(&mut self, ledger: &Ledger) {
        let kept: BTreeMap<_, _> = ledger.intents().into_iter().map(|intent| (intent.id.clone(), intent)).collect();
        let lost = self.known.iter().filter(|(id, known)| kept.get(*id) != Some(known));
        self.lost.extend(lost.map(|(id, _)| id.clone()));
        self.open.values_mut().for_each(|open| *open = 0);
        for intent in kept.values() {
            *self.open.entry(intent.scope.clone()).or_default() += u64::from(!intent.has_ended());
        }
        self.known = kept;
        self.clock = ledger.clock();
        // What a realm knew of a step back, and had written, may be lost as well.
        self.unseen_step = self.set_back_ms.map(|_| Vec::new());
        let lost = &self.lost;
        self.claimed_ms.retain(|(id, _), _| !lost.contains(id));
    }

    /// `newcomer_ms`: the wall clock, if a realm has written that knows of no step back.
    pub fn after_commit(
        &mut self,
        ledger: &Ledger,
        results: &[Result<Applied, CommitError>],
        now_ms: u64,
        newcomer_ms: Option<u64>,
        seed: u64,
    ) {
        let clock = ledger.clock();
        if let (Some(before), Some(after)) = (self.clock, clock) {
            assert!(after.at_ms >= before.at_ms && after.epoch >= before.epoch, "seed {seed}: P3: the clock went back");
            // The step shows after all: nothing before it has an age any more.
            if newcomer_ms.is_some_and(|wall_ms| wall_ms + CLOCK_STEP_BACK_MS < before.wall_ms) {
                self.unseen_step = None;
            }
        }
        self.clock = clock;
        let (written, removed) = (ledger.take_written(), ledger.take_removed());
        let counted = !written.is_empty() || !removed.is_empty();
        for id in removed {
            self.removed.insert(id.clone());
            let Some(before) = self.known.remove(&id) else { continue };
            *self.open.entry(before.scope.clone()).or_default() -= u64::from(!before.has_ended());
            may_go(&before, results, clock, seed);
        }
        for intent in written {
            self.keys.entry(intent.id.clone()).or_insert_with(|| intent.key.clone());
            // Purged, and then submitted by one who did not know its fate: that is another intent.
            let again = intent.erased.is_none() && dropped(&intent.id, results).is_some();
            if let Some(before) = again.then(|| self.known.remove(&intent.id)).flatten() {
                self.removed.insert(intent.id.clone());
                *self.open.entry(before.scope.clone()).or_default() -= u64::from(!before.has_ended());
            }
            is_erased(ledger, self.known.get(&intent.id), &intent, results, seed);
            match self.known.get(&intent.id) {
                Some(before) => {
                    let claimed_ms = self.claimed_ms.get(&(intent.id.clone(), before.history.total));
                    let unstepped =
                        |claimed_ms: &&u64| self.stepped_ms.is_none_or(|stepped_ms| stepped_ms < **claimed_ms);
                    let claimed_for_ms = claimed_ms.filter(unstepped).map(|claimed_ms| now_ms - claimed_ms);
                    step_by_step(before, &intent, results, Time { clock, claimed_for_ms }, seed);
                    *self.open.entry(before.scope.clone()).or_default() -= u64::from(!before.has_ended());
                    if intent.history.total > before.history.total {
                        self.claimed_ms.insert((intent.id.clone(), intent.history.total), now_ms);
                    }
                }
                None => {
                    assert_eq!(intent.history.total, 0, "seed {seed}: law 1");
                    let before = intent.predecessor.as_ref().and_then(|id| self.known.get(id));
                    let same = before.is_none_or(|before| match (&before.lane, &intent.lane) {
                        _ if before.scope != intent.scope => true,
                        // Or right behind what may have been sent already.
                        (Some(was), Some(is)) => was.lane == is.lane && was.place <= is.place,
                        (was, is) => was == is,
                    });
                    assert!(same, "seed {seed}: lanes: a successor takes its predecessor's place");
                }
            }
            *self.open.entry(intent.scope.clone()).or_default() += u64::from(!intent.has_ended());
            alone(&intent, seed);
            self.known.insert(intent.id.clone(), intent);
        }
        for (scope, open) in self.open.iter().filter(|_| counted) {
            let Some(Record::Counters(counters)) = ledger.record(&RecordKey::Counters(scope.clone())) else { continue };
            assert_eq!(counters.open, *open, "seed {seed}: the count of what is open");
        }
    }
}

impl Laws {
    /// A submit is about this, however often it is made.
    pub fn decides(&mut self, ticket: u64, fingerprint: &Fingerprint) {
        self.decided.insert(ticket, fingerprint.clone());
    }

    /// What the caller of a submit is told: that its decision was taken, not another.
    pub fn told(&self, ticket: u64, result: &Result<Applied, CommitError>, seed: u64) {
        let Ok(Applied::Submitted { intent, .. }) = result else { return };
        let decided = self.decided.get(&ticket).is_none_or(|decided| *decided == intent.fingerprint);
        assert!(decided, "seed {seed}: law 2: another payload was taken for this decision");
    }

    /// What one transaction came to. `struck`: storage failed in it.
    pub fn committed<'a>(
        &mut self,
        ledger: &Ledger,
        realm: RealmNo,
        results: impl Iterator<Item = (&'a Change, &'a Result<Applied, CommitError>)>,
        struck: bool,
        seed: u64,
    ) {
        let poison = ledger.poison();
        for (change, result) in results {
            let poisoned = matches!(change, Change::Submit(submit) if Some(&submit.operation) == poison.as_ref());
            let failed = matches!(result, Err(CommitError::Failed | CommitError::Unknown | CommitError::Unreadable));
            assert!(!failed || struck || poisoned, "seed {seed}: law 12: a change failed, and storage works");
            match (change, result) {
                (Change::Adopt(adopt), Ok(Applied::Adopted { left, .. })) => {
                    left.iter().for_each(|intent| blocked(ledger, &adopt.to, intent, seed));
                }
                (Change::Record(facts), Ok(Applied::Recorded { intent, .. })) => {
                    let attempt = intent.history.attempts.iter().find(|attempt| attempt.number == facts.attempt);
                    if attempt.is_some_and(|attempt| brought(attempt, AnswerClass::Auth)) {
                        self.has_no_other_credentials(realm, &intent.id);
                    }
                }
                _ => {}
            }
        }
    }

    /// P7.1: once in normal running; again only after a rejected promise, its deadline, or the realm's death.
    pub fn hands_over(
        &mut self,
        realm: RealmNo,
        intent: &IntentRecord,
        (now_ms, at_ms): (u64, u64),
        verdict: Option<bool>,
        lives: impl Fn(RealmNo) -> bool,
        seed: u64,
    ) {
        if let Some(before) = self.handed.get(&intent.id) {
            let over = before.verdict == Some(false) || !lives(before.realm) || before.state != intent.state;
            let late = at_ms >= before.at_ms + DELIVER_DEADLINE_MS;
            // For a lease's length after a step of the wall clock realms may disagree about when it ends.
            let stepped = self.stepped_ms.is_some_and(|stepped_ms| now_ms < stepped_ms + 2 * DELIVER_DEADLINE_MS);
            assert!(over || late || stepped, "seed {seed}: P7.1: an outcome handed over twice");
        }
        self.handed.insert(intent.id.clone(), Handed { realm, at_ms, state: intent.state.clone(), verdict });
    }

    /// What this realm has will not do for that intent.
    pub fn has_no_other_credentials(&mut self, realm: RealmNo, intent: &IntentId) {
        self.refused.insert((realm, intent.clone()));
    }

    /// P7.3: what is held for credentials ends there only if every queue of its scope has had its own refused.
    pub fn is_held_for_good(&self, intent: &IntentRecord, realms: impl Iterator<Item = RealmNo>) -> bool {
        let auth = intent.state == State::Held { reason: HeldReason::Auth };
        let mut realms = realms.map(|realm| (realm, intent.id.clone()));
        !auth || realms.all(|refused| self.refused.contains(&refused))
    }
}

fn brought(attempt: &Attempt, wanted: AnswerClass) -> bool {
    matches!(&attempt.state, AttemptState::Ended { reading: AttemptReading::Answer { class, .. }, .. } if *class == wanted)
}

/// P2.5: a claim says that it was made under the intent's lock only if its realm holds that.
pub fn under_lock(locks: &Locks, realm: RealmNo, result: &Result<Applied, CommitError>, seed: u64) {
    let Ok(Applied::Claimed(grant)) = result else { return };
    let said = grant.intent.claim.as_ref().is_some_and(|claim| claim.lock_held);
    let holds = locks.holds(realm, &grant.intent.id) || locks.is_stolen_unheard(realm, &grant.intent.id);
    assert!(!said || holds, "seed {seed}: P2.5: a claim was made under a lock that was let go");
}

/// P8.2: what may have been sent blocks its reference in the scope that would have adopted it.
fn blocked(ledger: &Ledger, to: &ScopeHash, intent: &IntentRecord, seed: u64) {
    let Some(reference) = intent.reference.as_ref().filter(|_| intent.head_reference.is_some()) else { return };
    let name = ReferenceName::new(to, &intent.operation, reference);
    let taken = matches!(ledger.record(&RecordKey::Reference(name)), Some(Record::Reference(_)));
    assert!(taken, "seed {seed}: P8.2: the same decision could be made again under another scope");
}

impl Laws {
    /// One key, one effect. A server that forgets keys cannot promise it to a device that cannot know how long ago it sent:
    /// its clock was set back with nobody there to see it, or its weak tier has lost the attempt (design section 9).
    pub(crate) fn after_effect(&self, server: &Server, key: &str, seed: u64) {
        let count = server.effects_of_key.get(key).copied().unwrap_or(0);
        let excused = forgets(server) && self.excused.contains(key);
        assert!(count <= 1 || excused, "seed {seed}: {count} effects under one key");
    }
}

fn forgets(server: &Server) -> bool {
    server.profile.policy().past_retention == PastRetention::Forgotten
}

impl World {
    /// When everything has come to an end: what the client says is what the server did.
    pub fn check_the_end(&self) {
        let seed = self.seed;
        let excused = |key: &str| forgets(&self.server) && self.laws.excused.contains(key);
        for intent in self.ledger.intents().into_iter().filter(|intent| !excused(self.laws.key_of(intent))) {
            let key = self.laws.key_of(&intent);
            let effects = self.server.effects_of_key.get(key).copied().unwrap_or(0);
            let unsure = self.laws.lost.contains(&intent.id);
            agrees(&intent, effects, unsure, seed);
            let said = || format!("seed {seed}: {:?}, {effects} effects, {:?}", intent.state, intent.history);
            let told = |what| self.server.has_said(key, what);
            match &intent.state {
                State::Succeeded { replay, evidence: Evidence::Reply } => {
                    let heard = match replay {
                        Replay::Fresh => told(Said::Done),
                        Replay::Replayed => told(Said::DoneBefore),
                        Replay::Unknown => told(Said::Done) || told(Said::DoneBefore),
                    };
                    assert!(heard, "law 4: no answer said so: {}", said());
                }
                // A weak tier may have lost the attempt beside which a refusal would not have counted.
                _ if unsure => {}
                State::Rejected { .. } => {
                    assert!(told(Said::Refused) || told(Said::Sealed), "law 4: nobody refused: {}", said());
                }
                State::Mismatched => assert!(told(Said::OtherPayload), "law 4: no other payload: {}", said()),
                _ => {}
            }
        }
    }
}
