//! Which tier a queue stores in, and which others hold intents of an earlier time (design, section 4; P6). The choice is
//! made by what is there, never by what failed: a ledger that exists and cannot be read is no reason to begin another.

use super::app_store::AppStore;
use super::clock::moment;
use super::indexeddb::{DATABASE, IndexedDb};
use super::local_storage::{LocalStorage, WEAK};
use super::sys::global;
use crate::core::change::Change;
use crate::core::error::ErrorCode;
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::ScopeHash;
use crate::core::record::{ExpectedVersions, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;
use crate::core::time::Readings;
use crate::ledger::durability::Durability;
use crate::ledger::store::{Store, StoreError, Transacted};
use wasm_bindgen::JsCast;
use web_sys::Storage;

/// Where intents are stored.
#[derive(Debug)]
pub enum Ledger {
    IndexedDb(IndexedDb),
    LocalStorage(LocalStorage),
    App(AppStore),
}

/// What an app asks of its ledger.
#[derive(Debug)]
pub struct Wanted {
    pub scope: ScopeHash,
    pub store: Option<AppStore>,
    /// In memory, for where there is nothing else.
    pub volatile: Option<AppStore>,
    /// Nothing is opened below it.
    pub min_durability: Durability,
    /// The app goes on without a ledger that cannot be read (P6.2).
    pub starts_empty: bool,
}

/// The ledger of a queue, and those that hold intents from a time in which it was not to be had.
#[derive(Debug)]
pub struct Opened {
    pub ledger: Ledger,
    pub others: Vec<Ledger>,
    /// What there was could not be read, and the app went on without it.
    pub started_empty: bool,
}

/// Opens the ledger.
///
/// # Errors
/// `ledger_unreadable` where a ledger exists, or may exist, and cannot be read; `storage_unavailable` where there is nothing
/// to store in; `durability_too_low` where there is only less than the app asks for.
pub async fn open(wanted: Wanted) -> Result<Opened, ErrorCode> {
    let min_durability = wanted.min_durability;
    let opened = choose(wanted).await?;
    if opened.ledger.durability() < min_durability {
        return Err(ErrorCode::DurabilityTooLow);
    }
    Ok(opened)
}

async fn choose(wanted: Wanted) -> Result<Opened, ErrorCode> {
    let opened = |ledger, others| Opened { ledger, others, started_empty: false };
    let Wanted { scope, store, volatile, starts_empty, .. } = wanted;
    if let Some(store) = store {
        let mut others = Vec::from_iter(weak_that_holds().await?);
        match IndexedDb::open_existing(DATABASE).await {
            Ok(indexed) => others.extend(indexed.map(Ledger::IndexedDb)),
            Err(ErrorCode::LedgerUnreadable) if !starts_empty => return Err(ErrorCode::LedgerUnreadable),
            Err(_) => {}
        }
        return Ok(opened(Ledger::App(store), others));
    }
    let failed = match IndexedDb::open(DATABASE).await {
        Ok(indexed) => {
            indexed.probe().await;
            return Ok(opened(Ledger::IndexedDb(indexed), Vec::from_iter(weak_that_holds().await?)));
        }
        Err(failed) => failed,
    };
    // Only what never was may be done without.
    let was_there = failed == ErrorCode::LedgerUnreadable || was_strong(&scope);
    if was_there && !starts_empty {
        return Err(ErrorCode::LedgerUnreadable);
    }
    let ledger = match LocalStorage::open(WEAK).await {
        Some(weak) => {
            if was_there {
                weak.note_started_empty(moment());
            }
            Ledger::LocalStorage(weak)
        }
        None => Ledger::App(volatile.ok_or(failed)?),
    };
    Ok(Opened { ledger, others: Vec::new(), started_empty: was_there })
}

/// The weak tier, if anything lies in it.
async fn weak_that_holds() -> Result<Option<Ledger>, ErrorCode> {
    if !LocalStorage::holds(WEAK) {
        return Ok(None);
    }
    let weak = LocalStorage::open(WEAK).await.ok_or(ErrorCode::LedgerUnreadable)?;
    Ok(Some(Ledger::LocalStorage(weak)))
}

/// Has this scope had a strong ledger? The page notes it beside the ledger, for the day on which that is gone.
fn was_strong(scope: &ScopeHash) -> bool {
    let note = || {
        let area: Storage = global("localStorage")?.unchecked_into();
        area.get_item(&["intento/ledger/", &scope.0].concat()).ok().flatten()
    };
    note().is_some()
}

impl Ledger {
    pub fn durability(&self) -> Durability {
        match self {
            Self::IndexedDb(store) => store.durability(),
            Self::LocalStorage(_) => Durability::Weak,
            Self::App(store) => store.durability,
        }
    }

    /// The name that a strong ledger was given when it was made.
    pub async fn name(&self) -> Option<String> {
        match self {
            Self::IndexedDb(store) => store.ledger_name().await,
            _ => None,
        }
    }

    /// The page may be frozen: see [`IndexedDb::suspend`].
    pub fn suspend(&self) {
        if let Self::IndexedDb(store) = self {
            store.suspend();
        }
    }

    /// The page goes on.
    pub fn resume(&self) {
        if let Self::IndexedDb(store) = self {
            store.resume();
        }
    }
}

macro_rules! each {
    ($ledger:expr, $store:ident => $asked:expr) => {
        match $ledger {
            Ledger::IndexedDb($store) => $asked,
            Ledger::LocalStorage($store) => $asked,
            Ledger::App($store) => $asked,
        }
    };
}

impl Store for Ledger {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        each!(self, store => store.read(keys).await)
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        each!(self, store => store.commit(expected, writes).await)
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        each!(self, store => store.due(scope, span, limit).await)
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        each!(self, store => store.inbox(scope, until_ms, limit).await)
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        each!(self, store => store.list(scope, from, limit).await)
    }

    async fn transact(&self, changes: &[Change], readings: &Readings) -> Result<Transacted, StoreError> {
        each!(self, store => store.transact(changes, readings).await)
    }
}
