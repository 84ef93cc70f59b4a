//! Opening the database, with a deadline of our own: a frozen peer or a dead backend sends no event at all (hazards
//! I5, I10).

use std::cell::RefCell;
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::Array;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DomException, IdbDatabase, IdbFactory, IdbIndexParameters, IdbObjectStore, IdbObjectStoreParameters,
    IdbOpenDbRequest,
};

use super::frame::Frame;
use crate::browser::entropy;
use crate::browser::sys::{Deferred, global, object};
use crate::core::error::ErrorCode;
use crate::core::key::RealmId;
use crate::core::limits::{OPEN_DEADLINE_MS, OPEN_TRIES_MAX};
use crate::ledger::format::Shelf;

/// Never changes: what evolves is inside the records (hazards I4, I6).
const VERSION: u32 = 1;

/// An open database.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) database: IdbDatabase,
    /// What it was opened in, if that is not the page itself. It goes when nothing uses the handle any more.
    _frame: Option<Frame>,
}

/// For what a ledger is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To use it, newly made where there is none.
    Use,
    /// To look at what is there: none is made.
    Look,
    /// To go on after a handle of this page has died or was given up.
    GoOn,
}

/// Opens the ledger; `None` where there is none and none is to be made. `storage_unavailable` only where IndexedDB is
/// structurally absent; everything else that goes wrong is `ledger_unreadable`, because a ledger may be there (P6.2).
///
/// A page of WebKit whose server of IndexedDB has died gets `UnknownError` for every request from then on, and so do its
/// new workers; a new frame does not (hazard I7, measured in WebKitGTK 2.50). Not tried for a first handle: there that
/// error means damage, and a second look may find an empty database in the place of the damaged one.
pub(super) async fn open(name: &str, purpose: Purpose) -> Result<Option<Handle>, ErrorCode> {
    let mut factory: IdbFactory = match global("indexedDB") {
        Some(factory) => factory.unchecked_into(),
        None => return Err(ErrorCode::StorageUnavailable),
    };
    let create = purpose != Purpose::Look;
    let (mut version, mut frame, mut tries) = (Some(VERSION), None, 1);
    loop {
        let name_of = match open_in(&factory, name, version, create).await {
            Ok(database) => return Ok(Some(Handle { database, _frame: frame })),
            Err(name_of) => name_of,
        };
        match name_of.as_str() {
            // A later build opened it with a greater version: whatever that is, the shelves may still be there.
            "VersionError" if version.is_some() => version = None,
            // Some first requests of a page are never answered, and the next one is (hazard I10).
            "TimeoutError" if tries < OPEN_TRIES_MAX => tries += 1,
            "UnknownError" if purpose == Purpose::GoOn && frame.is_none() => {
                let (fresh, its) = Frame::attach().ok_or(ErrorCode::LedgerUnreadable)?;
                (frame, factory) = (Some(fresh), its);
            }
            // Its making was aborted, below.
            "AbortError" if !create => return Ok(None),
            "SecurityError" => return Err(ErrorCode::StorageUnavailable),
            _ => return Err(ErrorCode::LedgerUnreadable),
        }
    }
}

/// What goes wrong is told by its name; a database without the ledger's shelves has none.
async fn open_in(factory: &IdbFactory, name: &str, version: Option<u32>, create: bool) -> Result<IdbDatabase, String> {
    let request = match version {
        Some(version) => factory.open_with_u32(name, version),
        None => factory.open(name),
    };
    let database = settle(&request.map_err(|error| error_name(&error))?, create).await?;
    let present = database.object_store_names();
    if Shelf::ALL.iter().all(|shelf| present.contains(shelf.name())) {
        return Ok(database);
    }
    database.close();
    Err(String::new())
}

/// Forgets a handle that the browser closes, or that another version waits for.
pub(super) fn drop_when_closed(database: &IdbDatabase, kept: &Rc<RefCell<Option<Rc<Handle>>>>) {
    let (this, kept) = (database.clone(), kept.clone());
    let forget = Closure::<dyn FnMut()>::new(move || {
        this.close();
        // By identity: a later handle must not go with an earlier one.
        let is_this = kept.borrow().as_ref().is_some_and(|current| *current.database == *this);
        if is_this {
            *kept.borrow_mut() = None;
        }
    });
    let listener = forget.as_ref().unchecked_ref();
    database.set_onversionchange(Some(listener));
    database.set_onclose(Some(listener));
    // Lives as long as the handle, which the browser owns.
    forget.forget();
}

async fn settle(request: &IdbOpenDbRequest, create: bool) -> Result<IdbDatabase, String> {
    let done = Rc::new(Deferred::new());
    let upgrade = {
        let request = request.clone();
        Closure::<dyn FnMut()>::new(move || {
            let created = create
                && request
                    .result()
                    .map(JsCast::unchecked_into::<IdbDatabase>)
                    .and_then(|db| create_shelves(&db))
                    .is_ok();
            if !created && let Some(transaction) = request.transaction() {
                let _ = transaction.abort();
            }
        })
    };
    let finished = {
        let done = done.clone();
        Closure::<dyn FnMut()>::new(move || done.resolve(&JsValue::UNDEFINED))
    };
    request.set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
    request.set_onsuccess(Some(finished.as_ref().unchecked_ref()));
    request.set_onerror(Some(finished.as_ref().unchecked_ref()));
    let deadline = {
        let done = done.clone();
        Timeout::new(OPEN_DEADLINE_MS, move || done.resolve(&JsValue::TRUE))
    };
    let late = JsFuture::from(done.promise.clone()).await.is_ok_and(|value| value.is_truthy());
    drop(deadline);
    request.set_onupgradeneeded(None);
    request.set_onerror(None);
    if late {
        close_late(request);
        return Err("TimeoutError".to_owned());
    }
    request.set_onsuccess(None);
    match request.error() {
        Ok(None) => request.result().map(JsCast::unchecked_into).map_err(|error| error_name(&error)),
        // A request that has failed has a result all the same: `undefined` (Indexed Database API 3.0, section 4.1).
        Ok(Some(error)) => Err(error.name()),
        Err(error) => Err(error_name(&error)),
    }
}

/// A success that comes after its deadline is closed: nobody waits for it, and it would block later versions.
fn close_late(request: &IdbOpenDbRequest) {
    let this = request.clone();
    let close = Closure::once_into_js(move || {
        if let Ok(database) = this.result() {
            database.unchecked_into::<IdbDatabase>().close();
        }
    });
    request.set_onsuccess(Some(close.unchecked_ref()));
}

/// The id of the row that names the ledger.
pub(super) const CANARY: &str = "canary";

/// A ledger is named when it is made: one that was evicted and made again has another name (hazard I15).
fn name_ledger(store: &IdbObjectStore) -> Result<(), JsValue> {
    let name = entropy::draw().map_err(|_| JsValue::UNDEFINED)?;
    let row = object(&[("id", JsValue::from_str(CANARY)), ("name", JsValue::from_str(&RealmId::new(name).0))]);
    store.put(&row).map(|_| ())
}

fn create_shelves(database: &IdbDatabase) -> Result<(), JsValue> {
    let options = IdbObjectStoreParameters::new();
    options.set_key_path(&JsValue::from_str("id"));
    let present = database.object_store_names();
    for shelf in Shelf::ALL.into_iter().filter(|shelf| !present.contains(shelf.name())) {
        let store = database.create_object_store_with_optional_parameters(shelf.name(), &options)?;
        if shelf == Shelf::Meta {
            name_ledger(&store)?;
        }
        if shelf == Shelf::Intents {
            let columns = |second: &str| Array::of2(&JsValue::from_str("scope"), &JsValue::from_str(second));
            store.create_index_with_str_sequence("due", &columns("due"))?;
            store.create_index_with_str_sequence("inbox", &columns("inbox"))?;
            store.create_index_with_str_sequence("order", &columns("sequence"))?;
            let unique = IdbIndexParameters::new();
            unique.set_unique(true);
            store.create_index_with_str_and_optional_parameters("head_reference", "head_reference", &unique)?;
        }
    }
    Ok(())
}

fn error_name(error: &JsValue) -> String {
    error.dyn_ref::<DomException>().map(DomException::name).unwrap_or_default()
}
