//! One readwrite transaction: reads, the decision inside a request's callback, writes, `complete`. Never an `await`
//! in between: it would let the transaction commit by itself (hazards I1, I2).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::Array;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbRequest, IdbTransaction};

use crate::browser::codec::{decode, encode};
use crate::browser::sys::{Deferred, DurableTransaction, begin_transaction, object};
use crate::core::change::Change;
use crate::core::limits::{COMMIT_DEADLINE_MS, USUAL_RECORDS_MAX};
use crate::core::record::{ExpectedVersions, Overlay, Record, RecordKey, Writes};
use crate::core::time::Readings;
use crate::ledger::batch::{Decided, decide};
use crate::ledger::durability::Durability;
use crate::ledger::format::Shelf;
use crate::ledger::store::{StoreError, Transacted};

/// What a transaction is for.
pub(super) enum Work {
    /// Apply changes to what is there.
    Decide { changes: Vec<Change>, readings: Readings },
    /// Write what was decided elsewhere, if what it was decided on is unchanged.
    Commit { expected: ExpectedVersions, writes: Writes },
    /// Write a row that no decision reads.
    Probe { row: JsValue },
}

#[derive(Debug)]
pub(super) enum Failure {
    /// `transaction()` itself threw: the handle is dead and nothing ran.
    NotStarted,
    Store(StoreError),
}

/// The records that the last decision shared with others: the next one most likely reads them too. Asked for at once, they
/// spare it a second round of reads.
pub(super) type Usual = Rc<RefCell<Vec<RecordKey>>>;

/// Runs one transaction to its `complete`.
pub(super) async fn run(
    database: &IdbDatabase,
    work: &Rc<Work>,
    usual: &Usual,
    durability: &Rc<Cell<Durability>>,
) -> Result<Transacted, Failure> {
    let transaction = begin(database).map_err(|_| Failure::NotStarted)?;
    let strict = transaction.durability().as_deref() == Some("strict");
    durability.set(if strict { Durability::Strong } else { Durability::StrongRelaxed });

    let session = Rc::new(Session {
        transaction: transaction.clone().unchecked_into(),
        work: work.clone(),
        usual: usual.clone(),
        overlay: RefCell::new(Overlay::default()),
        waiting: RefCell::new(Vec::new()),
        on_read: RefCell::new(None),
        outcome: RefCell::new(None),
    });
    session.start();
    let done = Deferred::new();
    let _listeners = listen(&transaction, &done);
    let settled = within_deadline(&done).await;
    *session.on_read.borrow_mut() = None;
    match (settled, session.outcome.borrow_mut().take()) {
        (Ok(()), Some(Ok(transacted))) => Ok(transacted),
        (Ok(()) | Err(Silence::Aborted), Some(Err(error))) => Err(Failure::Store(error)),
        (Err(Silence::Aborted), _) => Err(Failure::Store(StoreError::Aborted)),
        // It completed without a decision: its reads never came back. Nothing was written.
        (Ok(()), None) => Err(Failure::Store(StoreError::Aborted)),
        (Err(Silence::TimedOut), _) => {
            let _ = transaction.abort();
            Err(Failure::Store(StoreError::Unknown))
        }
    }
}

fn begin(database: &IdbDatabase) -> Result<DurableTransaction, JsValue> {
    let names: Array = Shelf::ALL.iter().map(|shelf| JsValue::from_str(shelf.name())).collect();
    let strict = object(&[("durability", JsValue::from_str("strict"))]);
    begin_transaction(database, &names, "readwrite", &strict)
}

/// What the callbacks of one transaction share.
struct Session {
    transaction: IdbTransaction,
    work: Rc<Work>,
    usual: Usual,
    overlay: RefCell<Overlay>,
    waiting: RefCell<Vec<(RecordKey, IdbRequest)>>,
    on_read: RefCell<Option<Closure<dyn FnMut()>>>,
    outcome: RefCell<Option<Result<Transacted, StoreError>>>,
}

impl Session {
    fn start(self: &Rc<Self>) {
        let session = Rc::downgrade(self);
        let on_read = Closure::new(move || {
            if let Some(session) = session.upgrade() {
                session.all_read();
            }
        });
        *self.on_read.borrow_mut() = Some(on_read);
        match &*self.work {
            // What is to be read, the changes say.
            Work::Decide { .. } => self.go_on(),
            Work::Commit { expected, .. } if expected.is_empty() => self.go_on(),
            Work::Commit { expected, .. } => self.read(expected.keys().cloned().collect()),
            Work::Probe { row } => {
                let shelf = self.transaction.object_store(Shelf::Meta.name());
                match shelf.and_then(|shelf| shelf.put(row)) {
                    Ok(_) => *self.outcome.borrow_mut() = Some(Ok(Transacted::NOTHING)),
                    Err(_) => self.give_up(StoreError::Aborted),
                }
            }
        }
    }

    fn read(&self, keys: Vec<RecordKey>) {
        let mut waiting = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(request) = request(&self.transaction, &key) else { return self.give_up(StoreError::Aborted) };
            waiting.push((key, request));
        }
        // Requests are answered in their order (Indexed Database API 3.0, section 2.7.1): the last one's word is enough.
        if let Some(((_, last), on_read)) = waiting.last().zip(self.on_read.borrow().as_ref()) {
            last.set_onsuccess(Some(on_read.as_ref().unchecked_ref()));
        }
        *self.waiting.borrow_mut() = waiting;
    }

    fn all_read(&self) {
        for (key, request) in self.waiting.take() {
            let Ok(row) = request.result() else { return self.give_up(StoreError::Aborted) };
            let versioned = decode(&key, &row);
            self.overlay.borrow_mut().insert(key, versioned);
        }
        self.go_on();
    }

    /// Everything that was asked for is read: decide, or find that more must be read.
    fn go_on(&self) {
        match &*self.work {
            Work::Decide { changes, readings } => {
                let mut overlay = self.overlay.borrow_mut();
                match decide(&mut overlay, changes, readings()) {
                    Err(unread) => self.read(self.with_usual(unread, &overlay)),
                    Ok(Decided { results, clock }) => {
                        *self.usual.borrow_mut() = overlay.shared_keys().take(USUAL_RECORDS_MAX).cloned().collect();
                        if self.write(&overlay, overlay.writes()) {
                            *self.outcome.borrow_mut() = Some(Ok(Transacted { results, clock }));
                        }
                    }
                }
            }
            Work::Commit { expected, writes } => {
                let overlay = self.overlay.borrow();
                if expected.iter().any(|(key, version)| overlay.version(key) != *version) {
                    return self.give_up(StoreError::Conflict);
                }
                if self.write(&overlay, writes) {
                    *self.outcome.borrow_mut() = Some(Ok(Transacted::NOTHING));
                }
            }
            Work::Probe { .. } => {}
        }
    }

    /// What is unread, and with the first of it what is usual.
    fn with_usual(&self, mut unread: Vec<RecordKey>, overlay: &Overlay) -> Vec<RecordKey> {
        if overlay.is_unread() {
            let usual = self.usual.borrow();
            let more: Vec<_> = usual.iter().filter(|key| !unread.contains(key)).cloned().collect();
            unread.extend(more);
        }
        unread
    }

    /// Puts every written record on its shelf. Journal entries are new by their name; the others know the version
    /// that was read.
    fn write(&self, overlay: &Overlay, writes: &Writes) -> bool {
        // A record that gives its head up goes before the one that takes it: the index is unique at every step (P1.5).
        let heads = |record: &Record| matches!(record, Record::Intent(intent) if intent.head_reference.is_some());
        let (last, first): (Vec<_>, Vec<_>) = writes.iter().partition(|(_, record)| heads(record));
        for (key, record) in first.into_iter().chain(last) {
            let shelf = self.transaction.object_store(key.shelf().name());
            let written = shelf.ok().is_some_and(|shelf| match record.there() {
                Some(record) => encode(key, overlay.version(key).saturating_add(1), record)
                    .is_some_and(|row| shelf.put(&row).is_ok()),
                None => shelf.delete(&JsValue::from_str(&key.name())).is_ok(),
            });
            if !written {
                self.give_up(StoreError::Aborted);
                return false;
            }
        }
        // It ends by itself, a round trip later than `commit()` would: with that, Firefox 153 completes a transaction in which
        // a put has failed (measured, by the second belt).
        true
    }

    fn give_up(&self, error: StoreError) {
        *self.outcome.borrow_mut() = Some(Err(error));
        let _ = self.transaction.abort();
    }
}

/// Asks for one record inside a transaction.
pub(super) fn request(transaction: &IdbTransaction, key: &RecordKey) -> Option<IdbRequest> {
    let shelf = transaction.object_store(key.shelf().name()).ok()?;
    shelf.get(&JsValue::from_str(&key.name())).ok()
}

/// Why a transaction did not complete.
pub(super) enum Silence {
    Aborted,
    TimedOut,
}

/// Settles `done` at the transaction's end: undefined at `complete`, true at `abort`. Keep the result until then.
pub(super) fn listen(transaction: &IdbTransaction, done: &Deferred) -> [Closure<dyn FnMut()>; 2] {
    let settle = |value: JsValue| {
        let resolve = done.resolver();
        Closure::<dyn FnMut()>::new(move || resolve(&value))
    };
    let (completed, aborted) = (settle(JsValue::UNDEFINED), settle(JsValue::TRUE));
    transaction.set_oncomplete(Some(completed.as_ref().unchecked_ref()));
    transaction.set_onabort(Some(aborted.as_ref().unchecked_ref()));
    [completed, aborted]
}

/// Waits for [`listen`]'s word, for at most [`COMMIT_DEADLINE_MS`].
pub(super) async fn within_deadline(done: &Deferred) -> Result<(), Silence> {
    let resolve = done.resolver();
    let deadline = Timeout::new(COMMIT_DEADLINE_MS, move || resolve(&JsValue::NULL));
    let word = JsFuture::from(done.promise.clone()).await;
    drop(deadline);
    match word {
        Ok(word) if word.is_undefined() => Ok(()),
        Ok(word) if word.is_null() => Err(Silence::TimedOut),
        Ok(_) | Err(_) => Err(Silence::Aborted),
    }
}
