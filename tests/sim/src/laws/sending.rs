//! What must hold when a request leaves.

use std::rc::Rc;

use intento::core::attempt::{Attempt, AttemptState};
use intento::core::contract::Contract;
use intento::core::effect::Dispatch;
use intento::core::intent::{IntentRecord, Purpose, State};
use intento::core::key::ScopeHash;
use intento::core::limits::{ATTEMPTS_PER_MINUTE_MAX, CLOCK_STEP_BACK_MS, MINUTE_MS, REACHABLE_FRESH_MS, RUNS_MAX};
use intento::core::reach::ProbeStanding;
use intento::core::record::{Content, Record, RecordKey};

use super::{Laws, STEPS_MAX_MS};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::realms::name_of;
use crate::world::{ORIGIN, RealmNo};

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
    /// By how much the device's wall clock runs slow, in millionths: where no tab was open, nothing else tells the time, and
    /// the window's margin is there for that.
    pub slow_ppm: u64,
    pub dispatch: &'a Dispatch,
    pub seed: u64,
}

/// What the first attempt of an intent put on the wire: every other must put the same (law 2).
#[derive(Debug)]
pub(crate) struct FirstSend {
    at_ms: u64,
    url: String,
    /// Without credentials.
    headers: Vec<(String, String)>,
    body: Option<Content>,
}

impl FirstSend {
    pub(crate) fn of(dispatch: &Dispatch, at_ms: u64) -> Self {
        let headers = without_credentials(dispatch).cloned().collect();
        Self { at_ms, url: dispatch.url.clone(), headers, body: dispatch.body.clone() }
    }

    pub(crate) fn is_like(&self, dispatch: &Dispatch) -> bool {
        self.url == dispatch.url && self.body == dispatch.body && without_credentials(dispatch).eq(&self.headers)
    }
}

fn without_credentials(dispatch: &Dispatch) -> impl Iterator<Item = &(String, String)> {
    dispatch.headers.iter().filter(|(name, _)| name != "authorization")
}

/// The realm that sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender<'a> {
    pub(crate) realm: RealmNo,
    /// Whose credentials it has.
    pub(crate) scope: &'a ScopeHash,
    /// The ledger's clock, as this realm follows it.
    pub(crate) ledger_ms: u64,
    /// Does it hold the intent's lock, for all that it can know?
    pub(crate) has_lock: bool,
    /// Can the device's realms disagree about the time?
    pub(crate) clocks_disagree: bool,
}

impl Laws {
    pub fn before_send(&mut self, sending: &Sending<'_>) {
        let &Sending { ledger, locks, now_ms, realm, scope, ledger_ms, dispatch, seed, .. } = sending;
        let intent = ledger.intent(&dispatch.intent).unwrap_or_else(|| panic!("seed {seed}: law 1: sent unstored"));
        let has_lock = locks.holds(realm, &intent.id) || locks.is_stolen_unheard(realm, &intent.id);
        let sender = Sender { realm, scope, ledger_ms, has_lock, clocks_disagree: self.clocks_disagree };
        may_leave(&intent, sender, dispatch, seed);
        let refused = self.unauthorized.contains(&(realm, intent.id.clone()));
        assert!(!refused, "seed {seed}: law 9: sent without credentials of its scope");
        self.publishes(None, now_ms);
        self.after_a_freeze(realm, &intent, dispatch.attempt, seed);
        if !self.sends.contains_key(&intent.id) {
            self.reachable(ledger, realm, now_ms, seed);
            let before = self.before_in_lane(&intent).next();
            assert!(before.is_none(), "seed {seed}: lanes: sent before {before:?} of its lane");
        }
        self.within_a_minute(realm, now_ms, seed);
        self.same_bytes(&intent, sending);
        self.sends.entry(intent.id.clone()).or_default().push(dispatch.attempt);
    }

    /// Law 10: no realm begins more in a minute; each of what it runs at a time may have begun before.
    fn within_a_minute(&mut self, realm: RealmNo, now_ms: u64, seed: u64) {
        let sent_ms = self.sent_by_ms.entry(realm).or_default();
        let before = sent_ms.len().checked_sub(ATTEMPTS_PER_MINUTE_MAX + RUNS_MAX).and_then(|place| sent_ms.get(place));
        let dense = before.is_some_and(|before_ms| now_ms - before_ms < MINUTE_MS);
        assert!(!dense, "seed {seed}: law 10: more attempts in a minute than a realm may make");
        sent_ms.push(now_ms);
    }

    /// P2.5: what was claimed before a freeze is not sent after it.
    fn after_a_freeze(&self, realm: RealmNo, intent: &IntentRecord, attempt: u32, seed: u64) {
        let claimed_ms = self.claimed_ms.get(&(intent.id.clone(), attempt));
        let frozen_ms = self.frozen_ms.get(&realm);
        let before = claimed_ms.zip(frozen_ms).is_some_and(|(claimed_ms, frozen_ms)| claimed_ms < frozen_ms);
        assert!(!before, "seed {seed}: P2.5: claimed before a freeze, and sent after it");
    }

    /// P4.1: offline is not an attempt.
    fn reachable(&self, ledger: &Ledger, realm: RealmNo, now_ms: u64, seed: u64) {
        let probe = match ledger.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            Some(Record::Origin(origin)) => origin.probe,
            _ => ProbeStanding::Untested,
        };
        let Some(since_ms) = self.offline_since_ms.filter(|_| probe != ProbeStanding::Unusable) else { return };
        // A clock set back by less than a minute goes unseen.
        let licensed_ms = REACHABLE_FRESH_MS + CLOCK_STEP_BACK_MS + STEPS_MAX_MS;
        // One that slept between asking and sending does not ask again.
        let slept = self.woken_ms.get(&realm).is_some_and(|woken_ms| now_ms < woken_ms + STEPS_MAX_MS);
        let licensed = self.unseen_step.is_some() || slept || now_ms - since_ms <= licensed_ms;
        assert!(licensed, "seed {seed}: P4.1: first sent while the network is gone");
    }

    /// Laws 2 and 7.
    fn same_bytes(&mut self, intent: &IntentRecord, sending: &Sending<'_>) {
        let &Sending { ledger, now_ms, dispatch, seed, .. } = sending;
        let first = self.sent.entry(intent.id.clone()).or_insert_with(|| FirstSend::of(dispatch, now_ms));
        assert!(first.is_like(dispatch), "seed {seed}: law 2: other bytes on attempt {}", dispatch.attempt);
        let elapsed_ms = now_ms - first.at_ms;
        let ends_ms = elapsed_ms - elapsed_ms * sending.slow_ppm / 1_000_000 + dispatch.deadline_ms;
        let stored_ms = contract_of(ledger, intent).windows().smallest_ms();
        let in_time = ends_ms <= stored_ms.min(sending.contract.windows().smallest_ms());
        if !in_time && (self.unseen_step.is_some() || self.lost.contains(&intent.id)) {
            self.excused.insert(self.key_of(intent).to_owned());
            return;
        }
        assert!(in_time, "seed {seed}: law 7: attempt {} ends too late", dispatch.attempt);
    }
}

/// What a server asked for is a floor, clamped to what is left of the window, that nothing skips. Facts that came too late
/// to count set none.
fn left_alone(intent: &IntentRecord, attempt: &Attempt, ledger_ms: u64, seed: u64) {
    let before = intent.history.attempts.iter().find(|before| before.number + 1 == attempt.number);
    let Some(before) = before.filter(|before| before.fence + 1 == attempt.fence) else { return };
    let AttemptState::Ended { ended, retry_after_ms: Some(asked_ms), .. } = &before.state else { return };
    let in_time = ended.at_ms < attempt.started.at_ms;
    assert!(!in_time || ended.at_ms + asked_ms <= ledger_ms, "seed {seed}: sent before the server's wait was over");
}

/// Laws 1, 2, 5 and 9: what must hold when an attempt leaves.
pub(crate) fn may_leave(intent: &IntentRecord, sender: Sender<'_>, dispatch: &Dispatch, seed: u64) {
    let Sender { realm, scope, ledger_ms, has_lock, clocks_disagree } = sender;
    let (carrier, _) = intent.carrier.header(&intent.key).expect("a key that travels in a header");
    let mut carried = without_credentials(dispatch).filter(|(name, _)| *name == carrier);
    assert!(carried.any(|(_, key)| intent.key.is(key.trim_matches('"'))), "seed {seed}: law 2: the stored key travels");
    let attempt = intent.history.attempts.iter().find(|attempt| attempt.number == dispatch.attempt);
    let attempt = attempt.unwrap_or_else(|| panic!("seed {seed}: law 1: attempt sent before it is stored"));
    assert_eq!(attempt.state, AttemptState::Open, "seed {seed}: law 1");
    assert_eq!(&intent.scope, scope, "seed {seed}: law 9: sent by another scope's queue");
    assert!(intent.floor_at_ms.is_none_or(|floor| floor <= ledger_ms), "seed {seed}: sent before the floor");
    if !clocks_disagree && matches!(intent.state, State::Waiting { .. }) {
        let claim = intent.claim.as_ref().unwrap_or_else(|| panic!("seed {seed}: law 5: sent without a claim"));
        assert_eq!(*claim.owner.0, name_of(realm), "seed {seed}: law 5: another realm's claim is live");
        assert_eq!((claim.purpose, attempt.fence), (Purpose::Send, intent.fence), "seed {seed}: law 5");
        assert!(has_lock || !claim.lock_held, "seed {seed}: P2.5: the claim has ended with its lock");
        assert!(claim.lease_until_ms >= ledger_ms + dispatch.deadline_ms, "seed {seed}: law 5: lease too short");
    }
    left_alone(intent, attempt, ledger_ms, seed);
}

fn contract_of(ledger: &Ledger, intent: &IntentRecord) -> Rc<Contract> {
    match ledger.record(&RecordKey::Contract(intent.contract.clone())) {
        Some(Record::Contract(contract)) => contract,
        _ => panic!("the contract is stored with its intent"),
    }
}
