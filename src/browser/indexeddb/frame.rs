//! Another realm of this origin, for a page whose own way to IndexedDB is lost until it is loaded again (hazard I7).

use js_sys::Function;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::IdbFactory;

use crate::browser::codec::member;
use crate::browser::sys::{global, set};

/// An empty frame in the page. Dropping it removes it, and what its factory has opened is dead.
#[derive(Debug)]
pub(super) struct Frame(JsValue);

impl Frame {
    /// With its factory. `None` in a worker, and where the page may have no such frame.
    pub(super) fn attach() -> Option<(Self, IdbFactory)> {
        let document = global("document")?;
        let frame = Self(call(&document, "createElement", &JsValue::from_str("iframe"))?);
        set(&frame.0, "hidden", &JsValue::TRUE);
        call(&member(&document, "documentElement")?, "appendChild", &frame.0)?;
        let factory = member(&member(&frame.0, "contentWindow")?, "indexedDB")?;
        Some((frame, factory.unchecked_into()))
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        call(&self.0, "remove", &JsValue::UNDEFINED);
    }
}

/// By name: bindings of the document's types would be paid for in every page that never needs a frame.
fn call(target: &JsValue, method: &str, argument: &JsValue) -> Option<JsValue> {
    member(target, method)?.unchecked_ref::<Function>().call1(target, argument).ok()
}
