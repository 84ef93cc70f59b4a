//! The ledger of a world: the store in memory, which can be told to fail.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use intento::core::input::DuePage;
use intento::core::intent::IntentRecord;
use intento::core::key::{IntentId, ScopeHash};
use intento::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use intento::core::shared::Shared;
use intento::core::time::LedgerClock;
use intento::ledger::memory::MemoryStore;
use intento::ledger::store::{Store, StoreError};

use crate::world::ORIGIN;

/// What the next commit does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    Conflict,
    Aborted,
    /// It is in, and nothing tells.
    UnknownIn,
    /// It is not in, and nothing tells.
    UnknownOut,
    Unreadable,
}

#[derive(Debug, Default)]
pub struct Ledger {
    store: MemoryStore,
    faults: RefCell<VecDeque<LedgerFault>>,
    /// Records that this build cannot read.
    damaged: RefCell<Vec<RecordKey>>,
    pub reads: RefCell<u64>,
    /// Intents written since the laws last looked.
    written: RefCell<Vec<Shared<IntentRecord>>>,
    /// Aborts every commit that writes an intent of this operation.
    poison: RefCell<Option<String>>,
}

impl Ledger {
    pub fn fail_next(&self, faults: impl IntoIterator<Item = LedgerFault>) {
        self.faults.borrow_mut().extend(faults);
    }

    pub fn heal(&self) {
        self.faults.borrow_mut().clear();
    }

    pub fn damage(&self, key: RecordKey) {
        self.damaged.borrow_mut().push(key);
    }

    pub fn abort_operation(&self, operation: &str) {
        *self.poison.borrow_mut() = Some(operation.to_owned());
    }

    pub fn commits(&self) -> u64 {
        self.store.commits()
    }

    pub fn records(&self) -> BTreeMap<RecordKey, Versioned> {
        self.store.records()
    }

    pub fn record(&self, key: &RecordKey) -> Option<Record> {
        let found = crate::world::now(self.store.read(core::slice::from_ref(key))).unwrap_or_default();
        found.into_iter().next().and_then(|versioned| versioned.record)
    }

    pub fn intent(&self, id: &IntentId) -> Option<Shared<IntentRecord>> {
        match self.record(&RecordKey::Intent(id.clone())) {
            Some(Record::Intent(intent)) => Some(intent),
            _ => None,
        }
    }

    pub fn intents(&self) -> Vec<Shared<IntentRecord>> {
        self.store.intents()
    }

    pub fn clock(&self) -> Option<LedgerClock> {
        match self.record(&RecordKey::Clock) {
            Some(Record::Clock(clock)) => Some(clock),
            _ => None,
        }
    }

    pub fn take_written(&self) -> Vec<Shared<IntentRecord>> {
        self.written.take()
    }

    async fn write(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        self.store.commit(expected, writes).await?;
        let intents = writes.values().filter_map(|record| match record {
            Record::Intent(intent) => Some(intent.clone()),
            _ => None,
        });
        self.written.borrow_mut().extend(intents);
        Ok(())
    }

    fn is_poisoned(&self, writes: &Writes) -> bool {
        let poison = self.poison.borrow();
        writes.values().any(|record| match record {
            Record::Intent(intent) => poison.as_ref() == Some(&intent.operation),
            _ => false,
        })
    }
}

impl Store for Ledger {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        *self.reads.borrow_mut() += 1;
        let mut found = self.store.read(keys).await?;
        let damaged = self.damaged.borrow();
        for (versioned, _) in found.iter_mut().zip(keys).filter(|(_, key)| damaged.contains(key)) {
            versioned.record = Some(Record::Undecodable);
        }
        Ok(found)
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        if self.is_poisoned(writes) {
            return Err(StoreError::Aborted);
        }
        let fault = self.faults.borrow_mut().pop_front();
        match fault {
            None => self.write(expected, writes).await,
            Some(LedgerFault::Conflict) => Err(StoreError::Conflict),
            Some(LedgerFault::Aborted) => Err(StoreError::Aborted),
            Some(LedgerFault::UnknownOut) => Err(StoreError::Unknown),
            Some(LedgerFault::Unreadable) => Err(StoreError::Unreadable),
            Some(LedgerFault::UnknownIn) => {
                self.write(expected, writes).await?;
                Err(StoreError::Unknown)
            }
        }
    }

    async fn due(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        let mut page = self.store.due(scope, until_ms, limit).await?;
        if let Some(Record::Origin(origin)) = self.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            page.origins.push((ORIGIN.to_owned(), origin));
        }
        page.clock = self.clock();
        Ok(page)
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        let mut page = self.store.inbox(scope, until_ms, limit).await?;
        page.clock = self.clock();
        Ok(page)
    }

    async fn list(&self, scope: &ScopeHash, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        self.store.list(scope, limit).await
    }
}
