//! The reference implementation of the port, in memory: what every tier must behave like, and the ledger of the tests on the
//! host. It does not ship; the volatile tier is a few lines of the JavaScript face.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::format::Shelf;
use super::scan;
use super::store::{Store, StoreError};
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::ScopeHash;
use crate::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;

type Records = BTreeMap<RecordKey, Versioned>;

/// Apart, as other tiers keep them: intents are found without passing over the rest.
#[derive(Clone, Debug, Default)]
struct Shelves {
    intents: Records,
    payloads: Records,
    journal: Records,
    contracts: Records,
    meta: Records,
}

#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    shelves: RefCell<Shelves>,
    commits: Cell<u64>,
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
        self.shelves.borrow().held(key)?.record.as_ref().and_then(look)
    }

    /// Every intent, in the order of ids.
    pub fn intents(&self) -> Vec<Shared<IntentRecord>> {
        intents(&self.shelves.borrow()).cloned().collect()
    }

    /// Every record, by name.
    pub fn records(&self) -> BTreeMap<RecordKey, Versioned> {
        let Shelves { intents, payloads, journal, contracts, meta } = &*self.shelves.borrow();
        let all = [intents, payloads, journal, contracts, meta].into_iter().flatten();
        all.map(|(key, held)| (key.clone(), held.clone())).collect()
    }
}

impl Store for MemoryStore {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        let shelves = self.shelves.borrow();
        Ok(keys.iter().map(|key| shelves.held(key).cloned().unwrap_or(Versioned::ABSENT)).collect())
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let mut shelves = self.shelves.borrow_mut();
        let version = |key| shelves.held(key).map_or(0, |held| held.version);
        if expected.iter().any(|(key, expected)| version(key) != *expected) {
            return Err(StoreError::Conflict);
        }
        // The second belt: one head a reference, whatever was read (P1.5).
        if writes.values().any(|record| takes_a_head(&shelves, writes, record)) {
            return Err(StoreError::Aborted);
        }
        for (key, record) in writes.iter() {
            if *record == Record::Gone {
                shelves.of_mut(key).remove(key);
                continue;
            }
            let held = shelves.of_mut(key).entry(key.clone()).or_insert(Versioned::ABSENT);
            *held = Versioned { version: held.version + 1, record: Some(record.clone()) };
        }
        self.commits.set(self.commits.get() + u64::from(!writes.is_empty()));
        Ok(())
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        Ok(scan::page(intents(&self.shelves.borrow()), scope, span, limit, scan::due_at))
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        Ok(scan::page(intents(&self.shelves.borrow()), scope, DueSpan::until(until_ms), limit, scan::inbox_at))
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        Ok(scan::list(intents(&self.shelves.borrow()), scope, from, limit))
    }
}

impl Shelves {
    fn held(&self, key: &RecordKey) -> Option<&Versioned> {
        let records = match key.shelf() {
            Shelf::Intents => &self.intents,
            Shelf::Payloads => &self.payloads,
            Shelf::Journal => &self.journal,
            Shelf::Contracts => &self.contracts,
            Shelf::Meta => &self.meta,
        };
        records.get(key)
    }

    fn of_mut(&mut self, key: &RecordKey) -> &mut Records {
        match key.shelf() {
            Shelf::Intents => &mut self.intents,
            Shelf::Payloads => &mut self.payloads,
            Shelf::Journal => &mut self.journal,
            Shelf::Contracts => &mut self.contracts,
            Shelf::Meta => &mut self.meta,
        }
    }
}

/// Those that can be read, in the order of ids.
fn intents(shelves: &Shelves) -> impl Iterator<Item = &Shared<IntentRecord>> {
    shelves.intents.values().filter_map(|held| match &held.record {
        Some(Record::Intent(intent)) => Some(intent),
        _ => None,
    })
}

/// Would two records hold one head after these writes?
fn takes_a_head(shelves: &Shelves, writes: &Writes, record: &Record) -> bool {
    let Record::Intent(new) = record else { return false };
    let Some(head) = &new.head_reference else { return false };
    let before = shelves.held(&RecordKey::Intent(new.id.clone())).and_then(|held| held.record.as_ref());
    if matches!(before, Some(Record::Intent(old)) if old.head_reference.as_ref() == Some(head)) {
        return false;
    }
    let after = |old: &IntentRecord| match writes.get(&RecordKey::Intent(old.id.clone())) {
        Some(Record::Intent(written)) => written.head_reference.as_ref() == Some(head),
        Some(_) => false,
        None => old.head_reference.as_ref() == Some(head),
    };
    intents(shelves).any(|old| old.id != new.id && after(old))
}
