//! Asking whether an origin can be reached, without an effect (P4.1).

use gloo_timers::callback::Timeout;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Response};

use super::fetch::Fetch;
use super::sys::{object, set};
use crate::core::limits::PROBE_DEADLINE_MS;

/// True if the origin answered. `probe_url` is the app's CORS-readable GET; without one, a `HEAD` whose answer the
/// page may not read, only that there was one.
pub async fn probe(origin: &str, probe_url: Option<&str>, fetch: &Fetch) -> bool {
    let text = JsValue::from_str;
    let common = [("cache", text("no-store")), ("credentials", text("omit"))];
    let (url, init) = match probe_url {
        Some(url) => (url.to_owned(), object(&[("method", text("GET")), ("redirect", text("manual"))])),
        None => ([origin, "/"].concat(), object(&[("method", text("HEAD")), ("mode", text("no-cors"))])),
    };
    common.iter().for_each(|(name, value)| set(&init, name, value));
    let Ok(controller) = AbortController::new() else { return false };
    set(&init, "signal", &controller.signal());
    let deadline = {
        let controller = controller.clone();
        Timeout::new(PROBE_DEADLINE_MS, move || controller.abort())
    };
    let Ok(promise) = fetch.call(&url, &init) else { return false };
    let response = JsFuture::from(promise).await;
    drop(deadline);
    // Nobody reads the body.
    controller.abort();
    let Ok(response) = response else { return false };
    let readable = response.dyn_into::<Response>().is_ok_and(|response| response.ok());
    probe_url.is_none() || readable
}
