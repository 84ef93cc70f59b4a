//! One request, and what comes back as facts: the platform parses, the contract's names pick, nothing is judged here.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::{Array, JSON, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader, Response, ResponseType};

use super::driver::{Opening, Session};
use super::sys::{fetch, object, set};
use super::url;
use crate::core::contract::{Answer, FactValue, Facts, Fault, Observation};
use crate::core::effect::Dispatch;
use crate::core::limits::{ANSWER_MAX_BYTES, TIMER_MAX_MS};
use crate::core::media_type::{essence, is_json};
use crate::core::record::Content;
use crate::core::submission::SCOPE_HEADER;

/// What one attempt brought: what is judged, and what the app gets.
type Brought = (Observation, Option<Answer>);

/// A request on the wire.
#[derive(Debug)]
pub struct Flight {
    response: Result<Promise, Fault>,
    controller: Option<AbortController>,
    url: String,
    timed_out: Rc<Cell<bool>>,
    _deadline: Option<Timeout>,
    fact_headers: Vec<String>,
    fact_pointers: Vec<String>,
}

/// Hands a request to the browser, in this very task: the guard has just passed. Plain arguments, since patched
/// `fetch` implementations ignore `Request` objects (hazard N15); redirects are not followed (P10); cookies only if the app
/// has said so (P8.1).
pub fn send(dispatch: &Dispatch, opening: &Opening) -> Flight {
    let timed_out = Rc::new(Cell::new(false));
    let mut flight = Flight {
        response: Err(Fault::Forbidden),
        controller: None,
        url: dispatch.url.clone(),
        timed_out: timed_out.clone(),
        _deadline: None,
        fact_headers: dispatch.fact_headers.clone(),
        fact_pointers: dispatch.fact_pointers.clone(),
    };
    // A stored URL is input, not configuration.
    if url::parse(&dispatch.url, None).and_then(|target| opening.destinations.check(&target)).is_err() {
        return flight;
    }
    let init = init(dispatch, opening);
    if let Ok(controller) = AbortController::new() {
        set(&init, "signal", &controller.signal());
        let abort = controller.clone();
        let deadline_ms = dispatch.deadline_ms.min(TIMER_MAX_MS) as u32;
        flight._deadline = Some(Timeout::new(deadline_ms, move || {
            timed_out.set(true);
            abort.abort();
        }));
        flight.controller = Some(controller);
    }
    flight.response = fetch(&dispatch.url, &init).map_err(|_| Fault::Network);
    flight
}

fn init(dispatch: &Dispatch, opening: &Opening) -> JsValue {
    let pair = |(name, value): &(String, String)| Array::of2(&JsValue::from_str(name), &JsValue::from_str(value));
    let headers: Array = dispatch.headers.iter().map(pair).collect();
    if opening.session == Session::Cookie {
        headers.push(&pair(&(SCOPE_HEADER.to_owned(), opening.scope.0.clone())));
    }
    let credentials = if opening.session == Session::None { "omit" } else { "include" };
    let init = object(&[
        ("method", JsValue::from_str(dispatch.method)),
        ("headers", headers.into()),
        ("redirect", JsValue::from_str("manual")),
        ("cache", JsValue::from_str("no-store")),
        ("credentials", JsValue::from_str(credentials)),
    ]);
    match &dispatch.body {
        None => {}
        Some(Content::Text(text)) => set(&init, "body", &JsValue::from_str(text)),
        Some(Content::Bytes(bytes)) => set(&init, "body", &Uint8Array::from(bytes.as_slice())),
    }
    init
}

impl Flight {
    /// Waits for the whole answer, or for the reason why there is none.
    pub async fn land(self) -> Brought {
        match self.answer().await {
            Ok(brought) => brought,
            Err(_) if self.timed_out.get() => (Observation::Fault(Fault::Timeout), None),
            Err(fault) => (Observation::Fault(fault), None),
        }
    }

    async fn answer(&self) -> Result<Brought, Fault> {
        let response = JsFuture::from(self.response.clone()?).await.map_err(|_| Fault::Network)?;
        let response: Response = response.dyn_into().map_err(|_| Fault::Network)?;
        if response.type_() == ResponseType::Opaqueredirect || response.redirected() {
            return Err(Fault::Redirected);
        }
        if response.status() == 0 {
            return Err(Fault::Network);
        }
        let header = |name: &str| response.headers().get(name).ok().flatten();
        let media_type = header("content-type").map(|value| essence(&value)).filter(|essence| !essence.is_empty());
        let mut headers = BTreeMap::new();
        for name in &self.fact_headers {
            header(name).map(|value| self.fact(name, value)).and_then(|value| headers.insert(name.clone(), value));
        }
        let text = self.text(&response).await?;
        let pointers = self.pointers(media_type.as_deref(), &text)?;
        let status = response.status();
        let facts = Facts { status, media_type: media_type.clone(), headers, pointers, body_empty: text.is_empty() };
        let body = (!text.is_empty()).then_some(text);
        Ok((Observation::Reply(facts), Some(Answer { status, media_type, body })))
    }

    /// A header as a fact. `Location` may be relative to what was asked (RFC 9110 section 10.2.2).
    fn fact(&self, name: &str, value: String) -> String {
        match name {
            "location" => url::parse(&value, Some(&self.url)).map_or(value, |target| target.href),
            _ => value,
        }
    }

    /// The body as text. Reading stops at the bound, whatever length was announced.
    async fn text(&self, response: &Response) -> Result<String, Fault> {
        let Some(stream) = response.body() else { return Ok(String::new()) };
        let reader = stream.get_reader().dyn_into::<ReadableStreamDefaultReader>().map_err(|_| Fault::Truncated)?;
        let mut bytes = Vec::new();
        loop {
            let step = JsFuture::from(reader.read()).await.map_err(|_| Fault::Truncated)?;
            let member = |name: &str| Reflect::get(&step, &JsValue::from_str(name)).map_err(|_| Fault::Truncated);
            if member("done")?.is_truthy() {
                break;
            }
            bytes.extend(Uint8Array::new(&member("value")?).to_vec());
            if bytes.len() > ANSWER_MAX_BYTES {
                if let Some(controller) = &self.controller {
                    controller.abort();
                }
                return Err(Fault::TooLarge);
            }
        }
        // As `Response.text()` does: malformed UTF-8 becomes U+FFFD, a byte order mark goes.
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }

    /// The scalars at the contract's pointers. JSON that does not parse was cut off on its way.
    fn pointers(&self, media_type: Option<&str>, text: &str) -> Result<BTreeMap<String, FactValue>, Fault> {
        if text.is_empty() || !media_type.is_some_and(is_json) {
            return Ok(Default::default());
        }
        let document = JSON::parse(text).map_err(|_| Fault::Truncated)?;
        let mut resolved = BTreeMap::new();
        for pointer in &self.fact_pointers {
            scalar(&document, pointer).and_then(|value| resolved.insert(pointer.clone(), value));
        }
        Ok(resolved)
    }
}

/// The scalar at a JSON pointer (RFC 6901).
fn scalar(document: &JsValue, pointer: &str) -> Option<FactValue> {
    let mut value = document.clone();
    for token in pointer.split('/').skip(1) {
        let member = JsValue::from_str(&token.replace("~1", "/").replace("~0", "~"));
        if !value.is_object() || !js_sys::Object::has_own(value.unchecked_ref::<js_sys::Object>(), &member) {
            return None;
        }
        value = Reflect::get(&value, &member).ok()?;
    }
    if let Some(text) = value.as_string() {
        return Some(FactValue::Text(text));
    }
    if let Some(truth) = value.as_bool() {
        return Some(FactValue::Bool(truth));
    }
    value.as_f64().map(|number| {
        if js_sys::Number::is_safe_integer(&value) { FactValue::Integer(number as i64) } else { FactValue::Inexact }
    })
}
