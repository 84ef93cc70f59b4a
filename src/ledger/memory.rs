//! The reference implementation of the port, in memory: what every other tier must behave like. Opt-in for apps
//! (`volatile`), the ledger of the tests on the host.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::store::{Store, StoreError};
use crate::core::input::DuePage;
use crate::core::intent::IntentRecord;
use crate::core::key::{IntentId, ScopeHash};
use crate::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;

#[derive(Debug, Default)]
pub struct MemoryStore {
    records: RefCell<BTreeMap<RecordKey, Versioned>>,
    commits: Cell<u64>,
}

impl From<BTreeMap<RecordKey, Versioned>> for MemoryStore {
    fn from(records: BTreeMap<RecordKey, Versioned>) -> Self {
        Self { records: records.into(), ..Self::default() }
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Commits that wrote, ever.
    pub fn commits(&self) -> u64 {
        self.commits.get()
    }

    /// What `look` makes of the record under a key.
    pub fn look<T>(&self, key: &RecordKey, look: impl FnOnce(&Record) -> Option<T>) -> Option<T> {
        self.records.borrow().get(key)?.record.as_ref().and_then(look)
    }

    /// Every intent, in the order of ids.
    pub fn intents(&self) -> Vec<Shared<IntentRecord>> {
        let records = self.records.borrow();
        let all = records.values().filter_map(|versioned| match &versioned.record {
            Some(Record::Intent(intent)) => Some(intent.clone()),
            _ => None,
        });
        all.collect()
    }

    /// Every record, by name.
    pub fn records(&self) -> BTreeMap<RecordKey, Versioned> {
        self.records.borrow().clone()
    }

    fn page(&self, scope: &ScopeHash, until_ms: u64, limit: u32, at: fn(&IntentRecord) -> Option<u64>) -> DuePage {
        let records = self.records.borrow();
        let mut due: Vec<&Shared<IntentRecord>> =
            intents(&records, scope).filter(|intent| at(intent).is_some()).collect();
        due.sort_by_key(|intent| (at(intent), intent.sequence));
        let within = |intent: &&&Shared<IntentRecord>| at(intent).is_some_and(|due_at_ms| due_at_ms <= until_ms);
        let page = due.iter().take_while(within).count().min(limit as usize);
        let next_due_at_ms = due.get(page).and_then(|intent| at(intent));
        due.truncate(page);
        DuePage { due: due.into_iter().cloned().collect(), next_due_at_ms, ..DuePage::default() }
    }
}

impl Store for MemoryStore {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        let records = self.records.borrow();
        Ok(keys.iter().map(|key| records.get(key).cloned().unwrap_or(Versioned::ABSENT)).collect())
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let mut records = self.records.borrow_mut();
        let version = |records: &BTreeMap<RecordKey, Versioned>, key| records.get(key).map_or(0, |found| found.version);
        if expected.iter().any(|(key, expected)| version(&records, key) != *expected) {
            return Err(StoreError::Conflict);
        }
        // The second belt: one head a reference, whatever was read (P1.5).
        if writes.values().any(|record| takes_a_head(&records, writes, record)) {
            return Err(StoreError::Aborted);
        }
        for (key, record) in writes.iter() {
            let held = records.entry(key.clone()).or_insert(Versioned::ABSENT);
            *held = Versioned { version: held.version + 1, record: Some(record.clone()) };
        }
        self.commits.set(self.commits.get() + u64::from(!writes.is_empty()));
        Ok(())
    }

    async fn due(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        Ok(self.page(scope, until_ms, limit, |intent| intent.due_at_ms))
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        Ok(self.page(scope, until_ms, limit, |intent| intent.delivery.due_at_ms))
    }

    async fn list(&self, scope: &ScopeHash, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        let records = self.records.borrow();
        let mut all: Vec<Shared<IntentRecord>> = intents(&records, scope).cloned().collect();
        all.sort_by_key(|intent| intent.sequence);
        all.truncate(limit as usize);
        Ok(all)
    }
}

/// A scope's intents. They stand together in the order of keys.
fn intents<'a>(
    records: &'a BTreeMap<RecordKey, Versioned>,
    scope: &'a ScopeHash,
) -> impl Iterator<Item = &'a Shared<IntentRecord>> {
    let first = RecordKey::Intent(IntentId("".into()));
    let theirs = records.range(first..).take_while(|(key, _)| matches!(key, RecordKey::Intent(_)));
    theirs.filter_map(move |(_, versioned)| match &versioned.record {
        Some(Record::Intent(intent)) if intent.scope == *scope => Some(intent),
        _ => None,
    })
}

/// Would two records hold one head after these writes?
fn takes_a_head(records: &BTreeMap<RecordKey, Versioned>, writes: &Writes, record: &Record) -> bool {
    let Record::Intent(new) = record else { return false };
    let Some(head) = &new.head_reference else { return false };
    let first = RecordKey::Intent(IntentId("".into()));
    let all = records.range(first..).take_while(|(key, _)| matches!(key, RecordKey::Intent(_)));
    all.into_iter().any(|(key, versioned)| match writes.get(key).or(versioned.record.as_ref()) {
        Some(Record::Intent(old)) => old.id != new.id && old.head_reference.as_ref() == Some(head),
        _ => false,
    })
}
