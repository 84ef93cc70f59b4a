//! The strong tier: IndexedDB with strict durability. One transaction holds the reads, the decision, made
//! synchronously inside a request's callback, and the writes; it is durable at `complete`, not before (law 1).

mod frame;
mod open;
mod transaction;

use std::cell::Cell;
use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbKeyRange, IdbRequest, IdbTransaction, IdbTransactionMode};

use self::open::{Handle, Purpose};
use super::codec::{decode, member};
use super::sys::{Deferred, object};
use crate::core::change::Change;
use crate::core::error::ErrorCode;
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::{IntentId, ScopeHash};
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;
use crate::core::time::Readings;
use crate::ledger::durability::Durability;
use crate::ledger::format::Shelf;
use crate::ledger::store::{Store, StoreError, Transacted};

/// The ledger in this origin's IndexedDB. The handle is disposable: it is dropped when the browser closes it, and
/// opened again when it is next needed.
#[derive(Debug)]
pub struct IndexedDb {
    name: String,
    handle: Rc<RefCell<Option<Rc<Handle>>>>,
    usual: transaction::Usual,
    durability: Rc<Cell<Durability>>,
    /// Settles when a page that may be frozen goes on.
    suspended: RefCell<Option<Rc<Deferred>>>,
}

/// The name of the database that apps use.
pub const DATABASE: &str = "intento";

/// The id of the row that is only written to see that it is there.
const PROBE: &str = "probe";

impl IndexedDb {
    /// Opens, or creates, the ledger of that name.
    pub async fn open(name: &str) -> Result<Self, ErrorCode> {
        let handle = open::open(name, Purpose::Use).await?;
        handle.map(|handle| Self::of(name, handle)).ok_or(ErrorCode::LedgerUnreadable)
    }

    /// Opens the ledger of that name if there is one.
    pub async fn open_existing(name: &str) -> Result<Option<Self>, ErrorCode> {
        Ok(open::open(name, Purpose::Look).await?.map(|handle| Self::of(name, handle)))
    }

    fn of(name: &str, handle: Handle) -> Self {
        let store = Self {
            name: name.to_owned(),
            handle: Rc::new(RefCell::new(None)),
            usual: transaction::Usual::default(),
            durability: Rc::new(Cell::new(Durability::StrongRelaxed)),
            suspended: RefCell::default(),
        };
        store.keep(handle);
        store
    }

    /// Writes and reads back, to learn what a transaction promises here. Where the write fails nothing is learned: what is
    /// stored can still be read, and what is submitted is refused by its own transaction.
    pub async fn probe(&self) {
        let wanted = JsValue::from_f64(js_sys::Math::random());
        let row = object(&[("id", JsValue::from_str(PROBE)), ("written", wanted.clone())]);
        if self.run(transaction::Work::Probe { row }).await.is_ok()
            && self.member_of(PROBE, "written").await != Some(wanted)
        {
            self.durability.set(Durability::Volatile);
        }
    }

    /// What the newest transaction was (P6.1).
    pub fn durability(&self) -> Durability {
        self.durability.get()
    }

    /// The name that this ledger was given when it was made; `None` where it has none, or cannot be asked.
    pub async fn ledger_name(&self) -> Option<String> {
        self.member_of(open::CANARY, "name").await?.as_string()
    }

    /// A member of a row that is no record.
    async fn member_of(&self, id: &str, name: &str) -> Option<JsValue> {
        let ask = |transaction: &IdbTransaction| {
            let shelf = transaction.object_store(Shelf::Meta.name());
            shelf.and_then(|shelf| shelf.get(&JsValue::from_str(id))).map_err(|_| StoreError::Unreadable)
        };
        let request = self.reading(&[Shelf::Meta], ask).await.ok()?;
        member(&request.result().ok()?, name)
    }

    /// Closes the handle; the next use opens another.
    pub fn close(&self) {
        if let Some(handle) = self.handle.borrow_mut().take() {
            handle.database.close();
        }
    }

    /// Closes the handle of a page that may be frozen at the end of this task, and opens no other until the page goes on: with
    /// one that a frozen page keeps, another version waits without a word (hazards I5, I19). What is under way ends first.
    pub fn suspend(&self) {
        self.suspended.borrow_mut().get_or_insert_with(Rc::default);
        self.close();
    }

    /// The page goes on: what has waited for that opens another handle.
    pub fn resume(&self) {
        if let Some(suspended) = self.suspended.take() {
            suspended.resolve(&JsValue::UNDEFINED);
        }
    }

    fn keep(&self, handle: Handle) -> Rc<Handle> {
        open::drop_when_closed(&handle.database, &self.handle);
        let handle = Rc::new(handle);
        *self.handle.borrow_mut() = Some(handle.clone());
        handle
    }

    /// To be kept for as long as its transaction lasts.
    async fn usable(&self) -> Result<Rc<Handle>, StoreError> {
        let suspended = self.suspended.borrow().clone();
        if let Some(suspended) = suspended {
            let _ = JsFuture::from(suspended.promise.clone()).await;
        }
        if let Some(handle) = self.handle.borrow().as_ref() {
            return Ok(handle.clone());
        }
        let handle = open::open(&self.name, Purpose::GoOn).await;
        let handle = handle.ok().flatten().ok_or(StoreError::Unreadable)?;
        Ok(self.keep(handle))
    }

    /// A read-only transaction, to its end: `ask` makes its requests. One that fails runs again, once, on a fresh handle
    /// (hazards I7, I8, I9).
    async fn reading<T>(
        &self,
        shelves: &[Shelf],
        ask: impl Fn(&IdbTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let names: Array = shelves.iter().map(|shelf| JsValue::from_str(shelf.name())).collect();
        for _ in 0..2 {
            let handle = self.usable().await?;
            let begun = handle.database.transaction_with_str_sequence_and_mode(&names, IdbTransactionMode::Readonly);
            if let Ok(transaction) = begun
                && let Ok(asked) = ask(&transaction)
                && complete(&transaction).await.is_ok()
            {
                return Ok(asked);
            }
            self.close();
        }
        Err(StoreError::Unreadable)
    }
}

impl Store for IndexedDb {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ask = |transaction: &IdbTransaction| {
            let requests: Option<Vec<IdbRequest>> =
                keys.iter().map(|key| transaction::request(transaction, key)).collect();
            requests.ok_or(StoreError::Unreadable)
        };
        let requests = self.reading(&Shelf::ALL, ask).await?;
        let rows = requests.iter().map(|request| request.result().map_err(|_| StoreError::Unreadable));
        keys.iter().zip(rows).map(|(key, row)| Ok(decode(key, &row?))).collect()
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let work = transaction::Work::Commit { expected: expected.clone(), writes: writes.clone() };
        self.run(work).await.map(|_| ())
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        self.page("due", scope, span, limit).await
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        self.page("inbox", scope, DueSpan::until(until_ms), limit).await
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        let range = bound(scope, from as f64, f64::INFINITY, false)?;
        let request = self.reading(&[Shelf::Intents], |transaction| all(transaction, "order", &range, limit)).await?;
        Ok(rows(&request)?.iter().filter_map(readable_intent).collect())
    }

    async fn transact(&self, changes: &[Change], readings: &Readings) -> Result<Transacted, StoreError> {
        self.run(transaction::Work::Decide { changes: changes.to_vec(), readings: readings.clone() }).await
    }
}

impl IndexedDb {
    /// Runs one readwrite transaction. Whatever it failed of, it is run again, once, on a fresh handle: one that looks healthy
    /// may fail for ever (hazards I8, I9, I14). Its changes know themselves, so that it does not matter whether the first
    /// try is in (P1.2).
    async fn run(&self, work: transaction::Work) -> Result<Transacted, StoreError> {
        let work = Rc::new(work);
        let mut last = StoreError::Unreadable;
        for _ in 0..2 {
            let Ok(handle) = self.usable().await else { break };
            last = match transaction::run(&handle.database, &work, &self.usual, &self.durability).await {
                Ok(transacted) => return Ok(transacted),
                Err(transaction::Failure::Store(StoreError::Conflict)) => return Err(StoreError::Conflict),
                // What a second try fails of says nothing of the first one.
                Err(_) if last == StoreError::Unknown => last,
                Err(transaction::Failure::NotStarted) => last,
                Err(transaction::Failure::Store(error)) => error,
            };
            self.close();
        }
        Err(last)
    }

    /// One page of an index over `[scope, column]`, and when the next one is due.
    async fn page(&self, column: &str, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        let mut asked = limit;
        loop {
            let (rows, next_due_at_ms) = self.page_rows(column, scope, span, asked).await?;
            let full = rows.len() >= asked as usize;
            let due: Vec<Shared<IntentRecord>> = rows.iter().filter_map(readable_intent).collect();
            // Rows that cannot be read stay, and must not hide those behind them.
            if due.len() >= limit as usize || !full || u64::from(asked) >= OPEN_INTENTS_MAX {
                return Ok(DuePage { due, next_due_at_ms, ..DuePage::default() });
            }
            asked = asked.saturating_mul(2);
        }
    }

    async fn page_rows(
        &self,
        column: &str,
        scope: &ScopeHash,
        DueSpan { from_ms, until_ms }: DueSpan,
        limit: u32,
    ) -> Result<(Vec<JsValue>, Option<u64>), StoreError> {
        let due = bound(scope, from_ms as f64, until_ms as f64, false)?;
        let later = bound(scope, until_ms as f64, f64::INFINITY, true)?;
        let ask = |transaction: &IdbTransaction| {
            Ok((all(transaction, column, &due, limit)?, all(transaction, column, &later, 1)?))
        };
        let (page, next) = self.reading(&[Shelf::Intents], ask).await?;
        let page = rows(&page)?;
        let due_of = |row: &JsValue| member(row, column)?.as_f64();
        // Behind a full page the next one is due as well.
        let behind = if page.len() >= limit as usize { Some(until_ms) } else { None };
        let next_due_at_ms = behind.or(rows(&next)?.first().and_then(due_of).map(|due_at_ms| due_at_ms as u64));
        Ok((page, next_due_at_ms))
    }
}

fn readable_intent(row: &JsValue) -> Option<Shared<IntentRecord>> {
    let id = member(row, "id")?.as_string()?;
    match decode(&RecordKey::Intent(IntentId::from(id)), row).record {
        Some(Record::Intent(intent)) => Some(intent),
        _ => None,
    }
}

/// Asks for the rows of one index within a range.
fn all(transaction: &IdbTransaction, index: &str, range: &JsValue, limit: u32) -> Result<IdbRequest, StoreError> {
    let shelf = transaction.object_store(Shelf::Intents.name());
    let index = shelf.and_then(|shelf| shelf.index(index));
    index.and_then(|index| index.get_all_with_key_and_limit(range, limit)).map_err(|_| StoreError::Unreadable)
}

fn bound(scope: &ScopeHash, low: f64, high: f64, low_open: bool) -> Result<JsValue, StoreError> {
    let key = |number: f64| Array::of2(&JsValue::from_str(&scope.0), &JsValue::from_f64(number));
    IdbKeyRange::bound_with_lower_open_and_upper_open(&key(low), &key(high), low_open, false)
        .map(JsValue::from)
        .map_err(|_| StoreError::Unreadable)
}

fn rows(request: &IdbRequest) -> Result<Vec<JsValue>, StoreError> {
    let result = request.result().map_err(|_| StoreError::Unreadable)?;
    Ok(result.dyn_into::<Array>().map_err(|_| StoreError::Unreadable)?.to_vec())
}

/// Waits for a read-only transaction.
async fn complete(transaction: &IdbTransaction) -> Result<(), StoreError> {
    let done = Deferred::new();
    let _listeners = transaction::listen(transaction, &done);
    transaction::within_deadline(&done).await.map_err(|_| StoreError::Unreadable)
}
