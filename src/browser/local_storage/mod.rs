//! The weak tier: localStorage. It takes what it is given at once and promises nothing for when the browser is killed
//! (hazard L5). It has neither transactions nor compare-and-swap: one transaction is one synchronous task under an
//! exclusive Web Lock (P6.3), and what it writes stands in one value first, so that a page which dies in between leaves
//! all of it or nothing. One value a record: no list is read, changed and written back (hazard L6).
//!
//! A lock orders the tasks of tabs, not what their processes see of each other's writes; no interface does. The lock is
//! kept for a moment after a write for that ([`SECTION_KEPT_MS`](crate::core::limits::SECTION_KEPT_MS)).

mod section;

use std::rc::Rc;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::Storage;

use self::section::{Section, section};
use super::clock::moment;
use super::sys::global;
use crate::core::change::Change;
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::json::{from_text, to_text};
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::WEAK_MAX_CHARS;
use crate::core::record::{ExpectedVersions, Overlay, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;
use crate::core::time::{Moment, Readings};
use crate::ledger::batch::{Decided, decide};
use crate::ledger::format::{PackedRows, Shelf, pack_all, unpack};
use crate::ledger::scan::{self, At};
use crate::ledger::store::{Store, StoreError, Transacted};

/// The name of the ledger that apps use.
pub const WEAK: &str = "intento.weak";

/// A ledger in this origin's localStorage.
#[derive(Clone, Debug)]
pub struct LocalStorage {
    area: Storage,
    /// What its names begin with.
    prefix: Rc<str>,
}

impl LocalStorage {
    /// The ledger of that name. `None` where localStorage is missing, null or refused (hazards L1, L3), where what is
    /// written is not read back (L4), and where there are no Web Locks.
    pub async fn open(name: &str) -> Option<Self> {
        let area: Storage = global("localStorage")?.unchecked_into();
        let store = Self { area, prefix: [name, "/"].concat().into() };
        let probe = store.clone();
        let written = move || {
            let name = probe.name("probe");
            let wanted = moment().wall_ms.to_string();
            probe.set(&name, &wanted)?;
            let found = probe.get(&name)?;
            let _ = probe.area.remove_item(&name);
            if found == Some(wanted) { Ok(Transacted::NOTHING) } else { Err(StoreError::Aborted) }
        };
        store.section(Rc::new(written)).await.ok().map(|_| store)
    }

    /// Notes that it was begun beside a ledger that could not be read.
    pub fn note_started_empty(&self, at: Moment) {
        let _ = self.set(&self.name("started_empty"), &at.wall_ms.to_string());
    }

    /// Does a ledger of that name hold intents?
    pub fn holds(name: &str) -> bool {
        let beginning = [name, "/", Shelf::Intents.name(), "/"].concat();
        let any = || {
            let area: Storage = global("localStorage")?.unchecked_into();
            let mut names = (0..area.length().ok()?).filter_map(|index| area.key(index).ok().flatten());
            Some(names.any(|found| found.starts_with(&beginning)))
        };
        any().unwrap_or(false)
    }

    async fn section(&self, work: Section) -> Result<Transacted, StoreError> {
        section(self.prefix.trim_end_matches('/'), work).await
    }

    fn name(&self, name: &str) -> String {
        [&*self.prefix, name].concat()
    }

    /// What is written and not yet under its names.
    fn log(&self) -> Result<PackedRows, StoreError> {
        match self.get(&self.name(LOG))? {
            None => Ok(PackedRows::new()),
            Some(text) => from_text(&text).map_err(|_| StoreError::Unreadable),
        }
    }

    fn record(&self, key: &RecordKey, log: &PackedRows) -> Result<Versioned, StoreError> {
        let name = self.name(&key.path());
        let text = match log.iter().find(|(logged, _)| *logged == name) {
            Some((_, text)) => text.clone(),
            None => self.get(&name)?,
        };
        Ok(text.map_or(Versioned::ABSENT, |text| unpack(key, &text)))
    }

    /// Every intent that can be read.
    fn intents(&self) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        let log = self.log()?;
        let shelf = [Shelf::Intents.name(), "/"].concat();
        let mut names = self.names(&shelf)?;
        let beginning = self.name(&shelf);
        for (name, _) in log.iter().filter(|(name, _)| name.starts_with(&beginning)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let ids = names.iter().filter_map(|name| name.strip_prefix(&beginning));
        let records = ids.map(|id| self.record(&RecordKey::Intent(IntentId::from(id)), &log));
        let readable = records.filter_map(|found| match found.map(|versioned| versioned.record) {
            Ok(Some(Record::Intent(intent))) => Some(Ok(intent)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        readable.collect()
    }

    fn names(&self, beginning: &str) -> Result<Vec<String>, StoreError> {
        let beginning = self.name(beginning);
        let count = self.area.length().map_err(unreadable)?;
        let mut names = Vec::new();
        for index in 0..count {
            if let Some(name) = self.area.key(index).map_err(unreadable)?
                && name.starts_with(&beginning)
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn page(&self, scope: &ScopeHash, span: DueSpan, limit: u32, at: At) -> Result<DuePage, StoreError> {
        Ok(scan::page(self.intents()?.iter(), scope, span, limit, at))
    }

    fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.area.get_item(name).map_err(unreadable)
    }

    fn set(&self, name: &str, text: &str) -> Result<(), StoreError> {
        // Full, or no longer allowed (hazard L4): nothing of this value is in.
        self.area.set_item(name, text).map_err(|_| StoreError::Aborted)
    }
}

/// The value that holds a transaction until all of it is under its names.
const LOG: &str = "commit";

/// What is done under the lock.
impl LocalStorage {
    fn decided(&self, changes: &[Change], readings: &Readings) -> Result<Transacted, StoreError> {
        self.finish_log()?;
        let (mut overlay, nothing) = (Overlay::default(), PackedRows::new());
        let Decided { results, clock } = loop {
            match decide(&mut overlay, changes, readings()) {
                Ok(decided) => break decided,
                Err(unread) => {
                    for key in unread {
                        let found = self.record(&key, &nothing)?;
                        overlay.insert(key, found);
                    }
                }
            }
        };
        self.write(overlay.writes(), |key| overlay.version(key))?;
        Ok(Transacted { results, clock })
    }

    fn compared(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<Transacted, StoreError> {
        self.finish_log()?;
        let nothing = PackedRows::new();
        for (key, version) in expected.iter() {
            if self.record(key, &nothing)?.version != *version {
                return Err(StoreError::Conflict);
            }
        }
        self.write(writes, |key| expected.get(key).copied().unwrap_or_default())?;
        Ok(Transacted::NOTHING)
    }

    fn write(&self, writes: &Writes, version: impl Fn(&RecordKey) -> u64) -> Result<(), StoreError> {
        let mut rows = pack_all(writes, &version).ok_or(StoreError::Aborted)?;
        rows.iter_mut().for_each(|(name, _)| *name = self.name(name));
        if rows.is_empty() {
            return Ok(());
        }
        let log = to_text(&rows);
        let takes_work = writes.iter().any(|(key, _)| matches!(key, RecordKey::Intent(_)) && version(key) == 0);
        if takes_work && self.chars()? + log.len() > WEAK_MAX_CHARS {
            return Err(StoreError::Aborted);
        }
        // Twice as long first: what is needed to write it under its names is there before it counts.
        let name = self.name(LOG);
        self.set(&name, &[&*log, &" ".repeat(log.len())].concat())?;
        self.set(&name, &log)?;
        // From here on it is in; what does not reach its name now does so under the next lock.
        let _ = self.put(&name, &rows);
        Ok(())
    }

    fn finish_log(&self) -> Result<(), StoreError> {
        let rows = self.log()?;
        if rows.is_empty() { Ok(()) } else { self.put(&self.name(LOG), &rows) }
    }

    fn put(&self, log: &str, rows: &PackedRows) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(name, text)| match text {
            Some(text) => self.set(name, text),
            None => self.area.remove_item(name).map_err(unreadable),
        })?;
        self.area.remove_item(log).map_err(unreadable)
    }

    /// How much lies here.
    fn chars(&self) -> Result<usize, StoreError> {
        let length = |name: &String| Ok(name.len() + self.get(name)?.map_or(0, |text| text.len()));
        self.names("")?.iter().map(length).sum()
    }
}

impl Store for LocalStorage {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        let log = self.log()?;
        keys.iter().map(|key| self.record(key, &log)).collect()
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let (store, expected, writes) = (self.clone(), expected.clone(), writes.clone());
        self.section(Rc::new(move || store.compared(&expected, &writes))).await.map(|_| ())
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        self.page(scope, span, limit, scan::due_at)
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        self.page(scope, DueSpan::until(until_ms), limit, scan::inbox_at)
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        Ok(scan::list(self.intents()?.iter(), scope, from, limit))
    }

    async fn transact(&self, changes: &[Change], readings: &Readings) -> Result<Transacted, StoreError> {
        let (store, changes, readings) = (self.clone(), changes.to_vec(), readings.clone());
        self.section(Rc::new(move || store.decided(&changes, &readings))).await
    }
}

fn unreadable(_: JsValue) -> StoreError {
    StoreError::Unreadable
}
