//! A store that is the face's: the one that an app brings (a native host's, say), or the one in memory. It keeps texts under
//! names and compares versions; what it promises of them it declares itself.

use js_sys::{Array, Function};
use wasm_bindgen::JsValue;

use super::codec::from_js;
use super::sys::call;
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::json::{ToJson, to_text};
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::COMMIT_DEADLINE_MS;
use crate::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;
use crate::ledger::durability::Durability;
use crate::ledger::format::{PackedRows, Shelf, pack_all, unpack};
use crate::ledger::scan::{self, At};
use crate::ledger::store::{Store, StoreError};

/// The app's functions, as the JavaScript face wraps them: JSON text in and out.
#[derive(Clone, Debug)]
pub struct AppStore {
    pub durability: Durability,
    /// `(names)` answers `(text | null)[]`.
    pub read: Function,
    /// `(prefix)` answers `[name, text][]`.
    pub scan: Function,
    /// `([name, version][], [name, text | null][])`, null for a row to be taken away, answers `true`, or `false` where a version is another.
    pub commit: Function,
}

impl AppStore {
    async fn texts(&self, names: &[String]) -> Result<Vec<Option<String>>, StoreError> {
        let answer = call(Some(self.read.clone()), Array::of1(&json(names)), COMMIT_DEADLINE_MS).await;
        let texts: Option<Vec<Option<String>>> = answer.and_then(|answer| from_js(&answer));
        texts.filter(|texts| texts.len() == names.len()).ok_or(StoreError::Unreadable)
    }

    async fn intents(&self) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        let prefix = [Shelf::Intents.name(), "/"].concat();
        let asked = Array::of1(&JsValue::from_str(&prefix));
        let answer = call(Some(self.scan.clone()), asked, COMMIT_DEADLINE_MS).await;
        let rows: Option<Vec<(String, String)>> = answer.and_then(|answer| from_js(&answer));
        let readable = rows.ok_or(StoreError::Unreadable)?.into_iter().filter_map(|(name, text)| {
            let id = IntentId::from(name.strip_prefix(&prefix)?);
            match unpack(&RecordKey::Intent(id), &text).record {
                Some(Record::Intent(intent)) => Some(intent),
                _ => None,
            }
        });
        Ok(readable.collect())
    }

    async fn page(&self, scope: &ScopeHash, span: DueSpan, limit: u32, at: At) -> Result<DuePage, StoreError> {
        Ok(scan::page(self.intents().await?.iter(), scope, span, limit, at))
    }
}

impl Store for AppStore {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        let names: Vec<String> = keys.iter().map(RecordKey::path).collect();
        let texts = self.texts(&names).await?;
        let found = keys.iter().zip(texts).map(|(key, text)| match text {
            Some(text) => unpack(key, &text),
            None => Versioned::ABSENT,
        });
        Ok(found.collect())
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let rows = pack_all(writes, |key| expected.get(key).copied().unwrap_or_default()).ok_or(StoreError::Aborted)?;
        if rows.is_empty() {
            return Ok(());
        }
        let versions: Vec<(String, u64)> = expected.iter().map(|(key, version)| (key.path(), *version)).collect();
        let asked = Array::of2(&json(&versions), &json(&rows));
        let answer = call(Some(self.commit.clone()), asked, COMMIT_DEADLINE_MS).await;
        match answer.and_then(|answer| answer.as_bool()) {
            Some(true) => Ok(()),
            Some(false) => Err(StoreError::Conflict),
            None => self.fate(&rows).await,
        }
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        self.page(scope, span, limit, scan::due_at).await
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        self.page(scope, DueSpan::until(until_ms), limit, scan::inbox_at).await
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        Ok(scan::list(self.intents().await?.iter(), scope, from, limit))
    }
}

impl AppStore {
    /// What became of a commit of which nothing was heard, or that threw (P1.2): it is in if all of it is there.
    async fn fate(&self, rows: &PackedRows) -> Result<(), StoreError> {
        let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
        let found = self.texts(&names).await.map_err(|_| StoreError::Unknown)?;
        let is_in = found.iter().zip(rows).all(|(found, (_, text))| found == text);
        if is_in { Ok(()) } else { Err(StoreError::Unknown) }
    }
}

fn json<T: ToJson + ?Sized>(value: &T) -> JsValue {
    JsValue::from_str(&to_text(value))
}
