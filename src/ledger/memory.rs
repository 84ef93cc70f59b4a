//! The reference implementation of the port, in memory: what every other tier must behave like. Opt-in for apps
//! (`volatile`), the ledger of the tests on the host.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::format::Shelf;
use super::store::{Store, StoreError};
use crate::core::input::DuePage;
use crate::core::intent::IntentRecord;
use crate::core::key::ScopeHash;
use crate::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;

type Shelves = BTreeMap<Shelf, BTreeMap<RecordKey, Versioned>>;

#[derive(Debug, Default)]
pub struct MemoryStore {
    shelves: RefCell<Shelves>,
    commits: Cell<u64>,
}

impl From<BTreeMap<RecordKey, Versioned>> for MemoryStore {
    fn from(records: BTreeMap<RecordKey, Versioned>) -> Self {
        let mut shelves = Shelves::new();
        for (key, held) in records {
            shelves.entry(key.shelf()).or_default().insert(key, held);
        }
        Self { shelves: shelves.into(), ..Self::default() }
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
        held(&self.shelves.borrow(), key)?.record.as_ref().and_then(look)
    }

    /// Every intent, in the order of ids.
    pub fn intents(&self) -> Vec<Shared<IntentRecord>> {
        intents(&self.shelves.borrow()).cloned().collect()
    }

    /// Every record, by name.
    pub fn records(&self) -> BTreeMap<RecordKey, Versioned> {
        self.shelves.borrow().values().flatten().map(|(key, held)| (key.clone(), held.clone())).collect()
    }

    fn page(&self, scope: &ScopeHash, until_ms: u64, limit: u32, at: fn(&IntentRecord) -> Option<u64>) -> DuePage {
        let shelves = self.shelves.borrow();
        let waits = |intent: &&Shared<IntentRecord>| intent.scope == *scope && at(intent).is_some();
        let mut due: Vec<&Shared<IntentRecord>> = intents(&shelves).filter(waits).collect();
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
        let shelves = self.shelves.borrow();
        Ok(keys.iter().map(|key| held(&shelves, key).cloned().unwrap_or(Versioned::ABSENT)).collect())
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let mut shelves = self.shelves.borrow_mut();
        let version = |key| held(&shelves, key).map_or(0, |held| held.version);
        if expected.iter().any(|(key, expected)| version(key) != *expected) {
            return Err(StoreError::Conflict);
        }
        // The second belt: one head a reference, whatever was read (P1.5).
        if writes.values().any(|record| takes_a_head(&shelves, writes, record)) {
            return Err(StoreError::Aborted);
        }
        for (key, record) in writes.iter() {
            let shelf = shelves.entry(key.shelf()).or_default();
            let held = shelf.entry(key.clone()).or_insert(Versioned::ABSENT);
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
        let shelves = self.shelves.borrow();
        let mut all: Vec<_> = intents(&shelves).filter(|intent| intent.scope == *scope).cloned().collect();
        all.sort_by_key(|intent| intent.sequence);
        all.truncate(limit as usize);
        Ok(all)
    }
}

fn held<'a>(shelves: &'a Shelves, key: &RecordKey) -> Option<&'a Versioned> {
    shelves.get(&key.shelf())?.get(key)
}

/// Those that can be read, in the order of ids.
fn intents(shelves: &Shelves) -> impl Iterator<Item = &Shared<IntentRecord>> {
    let all = shelves.get(&Shelf::Intents).into_iter().flat_map(BTreeMap::values);
    all.filter_map(|held| match &held.record {
        Some(Record::Intent(intent)) => Some(intent),
        _ => None,
    })
}

/// Would two records hold one head after these writes?
fn takes_a_head(shelves: &Shelves, writes: &Writes, record: &Record) -> bool {
    let Record::Intent(new) = record else { return false };
    let Some(head) = &new.head_reference else { return false };
    let after = |old: &IntentRecord| match writes.get(&RecordKey::Intent(old.id.clone())) {
        Some(Record::Intent(written)) => written.head_reference.as_ref() == Some(head),
        _ => old.head_reference.as_ref() == Some(head),
    };
    intents(shelves).any(|old| old.id != new.id && after(old))
}
