//! The laws that every world keeps, checked at every send and after every commit.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use intento::core::attempt::AttemptState;
use intento::core::contract::Contract;
use intento::core::effect::Dispatch;
use intento::core::intent::{Evidence, IntentRecord, Purpose, State};
use intento::core::key::{IntentId, ScopeHash};
use intento::core::record::Content;
use intento::core::record::{Record, RecordKey};
use intento::core::shared::Shared;
use intento::core::time::LedgerClock;

use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::server::Server;
use crate::server::decide::PastRetention;
use crate::world::{RealmNo, World};

#[derive(Debug, Default)]
pub struct Laws {
    known: BTreeMap<IntentId, Shared<IntentRecord>>,
    open: BTreeMap<ScopeHash, u64>,
    clock: Option<LedgerClock>,
    sent: BTreeMap<IntentId, FirstSend>,
    /// Realms whose app had no credentials for an intent when it was asked last.
    unauthorized: BTreeSet<(RealmNo, IntentId)>,
    /// Attempts that left, by intent.
    pub sends: BTreeMap<IntentId, Vec<u32>>,
    /// The device's wall clock was stepped: realms may disagree about when a lease ends (law 5 bounds what we start).
    pub clocks_disagree: bool,
    /// The wall clock was set back, and none of these, which would know, has written to the ledger since. Until then how
    /// long ago something was is unknowable (design section 9).
    pub unseen_step: Option<Vec<RealmNo>>,
    /// The wall clock was ever set back.
    pub stepped_back: bool,
    /// Intents of which a weak tier has lost something: it may say that they were never sent (design section 4).
    pub lost: BTreeSet<IntentId>,
}

/// A request that is about to leave, and what it leaves from.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    pub ledger: &'a Ledger,
    pub locks: &'a Locks,
    /// Since the world began.
    pub now_ms: u64,
    pub realm: RealmNo,
    /// The queue's scope, and the contract of its build.
    pub scope: &'a ScopeHash,
    pub contract: &'a Contract,
    /// The realm's ledger time.
    pub ledger_ms: u64,
    pub dispatch: &'a Dispatch,
    pub seed: u64,
}

#[derive(Debug)]
struct FirstSend {
    at_ms: u64,
    url: String,
    /// Without credentials.
    headers: Vec<(String, String)>,
    body: Option<Content>,
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

    pub fn before_send(&mut self, sending: &Sending<'_>) {
        let &Sending { ledger, locks, realm, scope, ledger_ms, dispatch, seed, .. } = sending;
        let intent = ledger.intent(&dispatch.intent).unwrap_or_else(|| panic!("seed {seed}: law 1: sent unstored"));
        let attempt = intent.history.attempts.iter().find(|attempt| attempt.number == dispatch.attempt);
        let attempt = attempt.unwrap_or_else(|| panic!("seed {seed}: law 1: attempt sent before it is stored"));
        assert_eq!(attempt.state, AttemptState::Open, "seed {seed}: law 1");
        assert_eq!(&intent.scope, scope, "seed {seed}: law 9: sent by another scope's queue");
        let refused = self.unauthorized.contains(&(realm, intent.id.clone()));
        assert!(!refused, "seed {seed}: law 9: sent without credentials of its scope");
        assert!(intent.floor_at_ms.is_none_or(|floor| floor <= ledger_ms), "seed {seed}: sent before the floor");
        if !self.clocks_disagree && matches!(intent.state, State::Waiting { .. }) {
            let claim = intent.claim.as_ref().unwrap_or_else(|| panic!("seed {seed}: law 5: sent without a claim"));
            assert_eq!(*claim.owner.0, format!("realm-{realm}"), "seed {seed}: law 5: another realm's claim is live");
            assert_eq!((claim.purpose, attempt.fence), (Purpose::Send, intent.fence), "seed {seed}: law 5");
            let has_lock = !claim.lock_held || locks.holds(realm, &intent.id);
            assert!(has_lock, "seed {seed}: P2.5: the claim has ended with its lock");
            assert!(claim.lease_until_ms >= ledger_ms + dispatch.deadline_ms, "seed {seed}: law 5: lease too short");
        }
        self.same_bytes(&intent, sending);
        self.sends.entry(intent.id.clone()).or_default().push(dispatch.attempt);
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

    /// Laws 2 and 7.
    fn same_bytes(&mut self, intent: &IntentRecord, sending: &Sending<'_>) {
        let &Sending { ledger, now_ms, dispatch, seed, .. } = sending;
        let headers = || dispatch.headers.iter().filter(|(name, _)| name != "authorization");
        let key = intent.carrier.header(&intent.key).expect("a key that travels in a header");
        assert!(headers().any(|header| *header == key), "seed {seed}: law 2: the stored key travels");
        let first = self.sent.entry(intent.id.clone()).or_insert_with(|| FirstSend {
            at_ms: now_ms,
            url: dispatch.url.clone(),
            headers: headers().cloned().collect(),
            body: dispatch.body.clone(),
        });
        let same = first.url == dispatch.url && first.body == dispatch.body && headers().eq(&first.headers);
        assert!(same, "seed {seed}: law 2: other bytes on attempt {}", dispatch.attempt);
        if self.unseen_step.is_some() || self.lost.contains(&intent.id) {
            return;
        }
        let ends_ms = now_ms - first.at_ms + dispatch.deadline_ms;
        let stored_ms = contract_of(ledger, intent).windows().smallest_ms();
        let window_ms = stored_ms.min(sending.contract.windows().smallest_ms());
        assert!(ends_ms <= window_ms, "seed {seed}: law 7: attempt {} ends too late", dispatch.attempt);
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
        self.unseen_step = self.stepped_back.then(Vec::new);
    }

    pub fn after_commit(&mut self, ledger: &Ledger, seed: u64) {
        let clock = ledger.clock();
        if let (Some(before), Some(after)) = (self.clock, clock) {
            assert!(after.at_ms >= before.at_ms && after.epoch >= before.epoch, "seed {seed}: P3: the clock went back");
        }
        self.clock = clock;
        for intent in ledger.take_written() {
            match self.known.get(&intent.id) {
                Some(before) => {
                    changed(before, &intent, seed);
                    *self.open.entry(before.scope.clone()).or_default() -= u64::from(!before.has_ended());
                }
                None => assert_eq!(intent.history.total, 0, "seed {seed}: law 1"),
            }
            *self.open.entry(intent.scope.clone()).or_default() += u64::from(!intent.has_ended());
            alone(&intent, seed);
            self.known.insert(intent.id.clone(), intent);
        }
        for (scope, open) in &self.open {
            let Some(Record::Counters(counters)) = ledger.record(&RecordKey::Counters(scope.clone())) else { continue };
            assert_eq!(counters.open, *open, "seed {seed}: the count of what is open");
        }
    }
}

fn contract_of(ledger: &Ledger, intent: &IntentRecord) -> Rc<Contract> {
    match ledger.record(&RecordKey::Contract(intent.contract.clone())) {
        Some(Record::Contract(contract)) => contract,
        _ => panic!("the contract is stored with its intent"),
    }
}

/// What one record may never say.
fn alone(intent: &IntentRecord, seed: u64) {
    let sent = intent.maybe_sent();
    assert_eq!(sent, intent.first_sent.is_some(), "seed {seed}: {intent:?}");
    let unsent = matches!(intent.state, State::Queued | State::Cancelled | State::Expired);
    assert!(!(unsent && sent), "seed {seed}: law 3: provably never sent: {intent:?}");
    if intent.state.safe_to_replace() {
        let proved = matches!(intent.state, State::Rejected { replaceable: true, .. } | State::NotApplied);
        assert!(proved || !sent, "seed {seed}: law 3: replaceable while unknown: {intent:?}");
    }
    // What has ended is looked at again only to find out more (P5.4, P5.6).
    let may_be_asked = intent.is_reconcilable();
    assert!(!intent.has_ended() || may_be_asked || intent.due_at_ms.is_none(), "seed {seed}: law 6: ended and due");
}

/// What is made with an intent, and stays.
fn frozen<'a>(intent: &'a IntentRecord, before: &IntentRecord) -> impl PartialEq + use<'a> {
    // Only what was never sent changes its scope, and its place in it (P8.2).
    let place = before.maybe_sent().then_some((&intent.scope, intent.sequence));
    let made = (&intent.id, place, &intent.operation, &intent.reference, intent.created, intent.expires_in_ms);
    (made, &intent.key, &intent.carrier, &intent.contract, &intent.fingerprint, &intent.request)
}

/// What no change may do to a record.
fn changed(before: &IntentRecord, after: &IntentRecord, seed: u64) {
    assert!(frozen(before, before) == frozen(after, before), "seed {seed}: law 2: a write-once member changed");
    assert!(after.fence >= before.fence, "seed {seed}: law 5: the fence went back");
    assert!(after.journal_entries >= before.journal_entries, "seed {seed}: the journal only grows");
    if before.state.is_definite() {
        let freed = matches!(before.state, State::Rejected { replaceable: false, .. })
            && after.state == State::Rejected { evidence: Evidence::Reconciliation, replaceable: true };
        assert!(before.state == after.state || freed, "seed {seed}: law 6: the first definite outcome stays");
        assert_eq!(before.history.total, after.history.total, "seed {seed}: law 6: claimed to send after its outcome");
        let harmless = |purpose| matches!(purpose, Purpose::Deliver | Purpose::Reconcile);
        let looked_at = after.claim.as_ref().is_none_or(|claim| harmless(claim.purpose));
        assert!(looked_at, "seed {seed}: law 6: claimed after its outcome, neither to deliver it nor to find out more");
    }
    assert!(after.history.total <= before.history.total + 1, "seed {seed}: one attempt a claim");
}

impl Laws {
    /// One key, one effect. A server that forgets keys cannot promise it to a device whose clock was set back with nobody
    /// there to see it: that is the one excuse (design section 9).
    pub(crate) fn after_effect(&self, server: &Server, key: &str, seed: u64) {
        let count = server.effects_of_key.get(key).copied().unwrap_or(0);
        let forgets = server.profile.policy().past_retention == PastRetention::Forgotten;
        let excused = forgets && self.unseen_step.is_some();
        assert!(count <= 1 || excused, "seed {seed}: {count} effects under one key");
    }
}

impl World {
    /// When everything has come to an end: what the client says is what the server did.
    pub fn check_the_end(&self) {
        let seed = self.seed;
        for intent in self.ledger.intents() {
            // More than once is `after_effect`'s.
            let paid = self.server.effects_of_key.get(intent.key.expose()).copied().unwrap_or(0).min(1);
            let said = || format!("seed {seed}: {:?}, {paid} effects, {:?}", intent.state, intent.history);
            let unsure = self.laws.lost.contains(&intent.id);
            match &intent.state {
                State::Succeeded { .. } => assert_eq!(paid, 1, "law 4: paid: {}", said()),
                _ if unsure => {}
                State::NotApplied | State::Cancelled | State::Expired => {
                    assert_eq!(paid, 0, "law 4: not paid: {}", said());
                }
                State::Rejected { replaceable: true, .. } => assert_eq!(paid, 0, "law 3: replaceable: {}", said()),
                _ => {}
            }
            assert!(intent.state.safe_to_replace() || intent.successor.is_none(), "law 3: succeeded by: {}", said());
        }
    }
}
