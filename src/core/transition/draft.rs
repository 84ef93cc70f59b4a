//! What one change reads and writes, until it is known to apply as a whole.

use std::rc::Rc;

use super::{needs, refuse};
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Change, Refusal};
use crate::core::contract::Contract;
use crate::core::intent::{Claim, IntentRecord};
use crate::core::journal::{JournalEntry, JournalEvent};
use crate::core::key::{ContractHash, IntentId, ScopeHash};
use crate::core::limits::JOURNAL_MAX;
use crate::core::reach::OriginRecord;
use crate::core::record::{Counters, Lane, Overlay, Payload, Record, RecordKey, ReferenceName, Stop, Writes};
use crate::core::shared::Shared;
use crate::core::time::{LedgerClock, Reading, Stamp};

/// Records: clock, intent, payload, journal, counters, origin.
const MOST_CHANGES_WRITE: usize = 8;

pub(super) struct Draft<'a> {
    overlay: &'a Overlay,
    writes: Writes,
    now: Stamp,
    unexplained_ms: u64,
    locks_lost: u64,
}

/// Reads one kind of record: `Ok(None)` where there is none, [`Refusal::Undecodable`] where it cannot be read.
macro_rules! read {
    ($draft:expr, $key:expr, $kind:path) => {{
        let key = &$key;
        match $draft.get(key)? {
            None => Ok(None),
            Some($kind(value)) => Ok(Some(value.clone())),
            Some(Record::Undecodable) => refuse(Refusal::Undecodable),
            Some(_) => refuse(Refusal::Inconsistent),
        }
    }};
}

impl<'a> Draft<'a> {
    /// Starts a change: moves the ledger clock to now. What the change needs is asked for together with the clock, so that
    /// a store needs one round trip.
    pub(super) fn open(overlay: &'a Overlay, change: &Change, reading: Reading) -> Result<Self, Stop> {
        let stored = match overlay.get(&RecordKey::Clock) {
            Ok(None) => LedgerClock::new(reading.wall_ms),
            Ok(Some(Record::Clock(clock))) => *clock,
            // Without its clock a ledger knows no ages: nothing may be decided on it.
            Ok(Some(_)) => return refuse(Refusal::Undecodable),
            Err(_) => {
                let mut unread = needs(change);
                unread.push(RecordKey::Clock);
                return Err(Stop::Unread(unread));
            }
        };
        let clock = stored.observe(reading);
        let mut writes = Writes::with_capacity(MOST_CHANGES_WRITE);
        writes.insert(RecordKey::Clock, Record::Clock(clock));
        Ok(Self {
            overlay,
            writes,
            now: clock.stamp(reading.wall_ms),
            unexplained_ms: clock.unexplained_ms,
            locks_lost: reading.locks_lost,
        })
    }

    pub(super) fn now(&self) -> Stamp {
        self.now
    }

    /// What only single realms have known of time, ever: a claim remembers it, and does not end by more of it.
    pub(super) fn unexplained_ms(&self) -> u64 {
        self.unexplained_ms
    }

    /// How often the realm that makes the change has let go of locks.
    pub(super) fn locks_lost(&self) -> u64 {
        self.locks_lost
    }

    /// The claim on an intent and when its lease ends, if it has not ended by any clock that its holder could see.
    pub(super) fn live_claim<'i>(&self, intent: &'i IntentRecord) -> Option<(&'i Claim, u64)> {
        let claim = intent.claim.as_ref()?;
        let seen = bug(Bug::LeaseEndsUnseen);
        let hidden_ms = if seen { 0 } else { self.unexplained_ms.saturating_sub(claim.unexplained_ms) };
        let ends_at_ms = claim.lease_until_ms.saturating_add(hidden_ms);
        (self.now.at_ms < ends_at_ms).then_some((claim, ends_at_ms))
    }

    pub(super) fn into_writes(self) -> Writes {
        self.writes
    }

    fn get(&self, key: &RecordKey) -> Result<Option<&Record>, Stop> {
        match self.writes.get(key) {
            Some(record) => Ok(record.there()),
            None => self.overlay.get(key),
        }
    }

    /// Asks for an intent's contract and origin at once.
    pub(super) fn need_surroundings(&self, intent: &IntentRecord) -> Result<(), Stop> {
        let contract = RecordKey::Contract(intent.contract.clone());
        match self.get(&contract) {
            Ok(_) => Ok(()),
            Err(_) => Err(Stop::Unread(vec![contract, RecordKey::Origin(intent.request.origin.clone())])),
        }
    }

    /// The intent of that id; it must exist.
    pub(super) fn intent(&self, id: &IntentId) -> Result<Shared<IntentRecord>, Stop> {
        match self.find_intent(id)? {
            Some(intent) => Ok(intent),
            None => refuse(Refusal::UnknownIntent),
        }
    }

    pub(super) fn find_intent(&self, id: &IntentId) -> Result<Option<Shared<IntentRecord>>, Stop> {
        read!(self, RecordKey::Intent(id.clone()), Record::Intent)
    }

    pub(super) fn put_intent(&mut self, intent: &Shared<IntentRecord>) {
        self.writes.insert(RecordKey::Intent(intent.id.clone()), Record::Intent(intent.clone()));
    }

    pub(super) fn reference(&self, name: &ReferenceName) -> Result<Option<IntentId>, Stop> {
        read!(self, RecordKey::Reference(name.clone()), Record::Reference)
    }

    pub(super) fn put_reference(&mut self, name: ReferenceName, head: IntentId) {
        self.writes.insert(RecordKey::Reference(name), Record::Reference(head));
    }

    /// `key`: of the lane.
    pub(super) fn lane(&self, key: &RecordKey) -> Result<Lane, Stop> {
        Ok(read!(self, *key, Record::Lane)?.unwrap_or_default())
    }

    pub(super) fn put_lane(&mut self, key: RecordKey, lane: Lane) {
        self.writes.insert(key, Record::Lane(lane));
    }

    /// The stored contract of an intent; it was written with it.
    pub(super) fn contract(&self, hash: &ContractHash) -> Result<Rc<Contract>, Stop> {
        match self.find_contract(hash)? {
            Some(contract) => Ok(contract),
            None => refuse(Refusal::Inconsistent),
        }
    }

    pub(super) fn find_contract(&self, hash: &ContractHash) -> Result<Option<Rc<Contract>>, Stop> {
        read!(self, RecordKey::Contract(hash.clone()), Record::Contract)
    }

    pub(super) fn put_contract(&mut self, hash: &ContractHash, contract: Rc<Contract>) {
        self.writes.insert(RecordKey::Contract(hash.clone()), Record::Contract(contract));
    }

    pub(super) fn payload(&self, id: &IntentId) -> Result<Shared<Payload>, Stop> {
        match read!(self, RecordKey::Payload(id.clone()), Record::Payload)? {
            Some(payload) => Ok(payload),
            None => refuse(Refusal::Inconsistent),
        }
    }

    pub(super) fn put_payload(&mut self, id: &IntentId, payload: Shared<Payload>) {
        self.writes.insert(RecordKey::Payload(id.clone()), Record::Payload(payload));
    }

    pub(super) fn counters(&self, scope: &ScopeHash) -> Result<Counters, Stop> {
        Ok(read!(self, RecordKey::Counters(scope.clone()), Record::Counters)?.unwrap_or_default())
    }

    pub(super) fn put_counters(&mut self, scope: &ScopeHash, counters: Counters) {
        self.writes.insert(RecordKey::Counters(scope.clone()), Record::Counters(counters));
    }

    pub(super) fn origin(&self, origin: &str) -> Result<Shared<OriginRecord>, Stop> {
        Ok(read!(self, RecordKey::Origin(origin.to_owned()), Record::Origin)?.unwrap_or_default())
    }

    pub(super) fn put_origin(&mut self, origin: &str, record: &Shared<OriginRecord>) {
        self.writes.insert(RecordKey::Origin(origin.to_owned()), Record::Origin(record.clone()));
    }

    /// Takes an intent away with everything that belongs to it. Its reference is free, if it was this one's.
    pub(super) fn remove(&mut self, intent: &IntentRecord) -> Result<(), Stop> {
        if let Some(name) = intent.reference_name()
            && self.reference(&name)?.as_ref() == Some(&intent.id)
        {
            self.writes.insert(RecordKey::Reference(name), Record::Gone);
        }
        self.remove_journal(intent);
        self.writes.insert(RecordKey::Payload(intent.id.clone()), Record::Gone);
        self.writes.insert(RecordKey::Intent(intent.id.clone()), Record::Gone);
        Ok(())
    }

    /// Those of its entries that were only counted are not there, and are taken away all the same.
    pub(super) fn remove_journal(&mut self, intent: &IntentRecord) {
        let gone =
            (0..intent.journal_entries).map(|entry| (RecordKey::Journal(intent.id.clone(), entry), Record::Gone));
        self.writes.extend(gone);
    }

    /// Appends to an intent's journal. What it is too long for is only counted.
    pub(super) fn journal(&mut self, intent: &mut IntentRecord, event: JournalEvent) {
        let sequence = intent.journal_entries;
        intent.journal_entries = sequence.saturating_add(1);
        if sequence >= JOURNAL_MAX && !event.is_decisive() {
            return;
        }
        let entry = Shared::new(JournalEntry { intent: intent.id.clone(), sequence, at: self.now, event });
        self.writes.insert(RecordKey::Journal(intent.id.clone(), sequence), Record::Journal(entry));
    }
}
