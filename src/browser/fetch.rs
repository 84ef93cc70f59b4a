//! One request, and what comes back as facts: the platform parses, the contract's names pick, nothing is judged here.

use std::cell::Cell;
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Function, JSON, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader, Response, ResponseType, TextDecoder};

use super::driver::{Opening, Session};
use super::sys::{fetch, object, set};
use super::url;
use crate::core::contract::{Answer, FactValue, Facts, Fault, Observation};
use crate::core::effect::Dispatch;
use crate::core::limits::{ANSWER_MAX_BYTES, POINTER_VALUES_MAX, TIMER_MAX_MS};
use crate::core::map::SortedMap;
use crate::core::media_type::{essence, is_json};
use crate::core::record::Content;
use crate::core::submission::SCOPE_HEADER;

/// What one attempt brought: what is judged, and what the app gets.
pub type Brought = (Observation, Option<Answer>);

/// A request on the wire. It is aborted when it is dropped: what has not come by then is wanted no more.
#[derive(Debug)]
pub struct Flight {
    response: Result<Promise, Fault>,
    controller: Option<AbortController>,
    url: String,
    timed_out: Rc<Cell<bool>>,
    _deadline: Option<Timeout>,
    wanted: Wanted,
}

/// What of an answer is wanted: the names of its facts, and what the app is to get.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Lower-case.
    pub headers: Vec<String>,
    pub pointers: Vec<String>,
    pub response_at: Option<String>,
}

/// The app's `fetch`, or the platform's.
#[derive(Clone, Debug)]
pub struct Fetch(pub Option<Function>);

impl Fetch {
    pub fn call(&self, url: &str, init: &JsValue) -> Result<Promise, JsValue> {
        match &self.0 {
            None => fetch(url, init),
            Some(own) => Ok(Promise::resolve(&own.call2(&JsValue::UNDEFINED, &JsValue::from_str(url), init)?)),
        }
    }
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
        wanted: Wanted {
            headers: dispatch.contract.fact_headers(),
            pointers: dispatch.contract.fact_pointers(),
            response_at: dispatch.response_at.clone(),
        },
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
    flight.response = opening.fetch.call(&dispatch.url, &init).map_err(|_| Fault::Network);
    flight
}

fn init(dispatch: &Dispatch, opening: &Opening) -> JsValue {
    let pair = |(name, value): &(String, String)| Array::of2(&JsValue::from_str(name), &JsValue::from_str(value));
    let headers: Array = dispatch.headers.iter().map(pair).collect();
    if opening.session == Session::Cookie {
        headers.push(&pair(&(SCOPE_HEADER.to_owned(), opening.scope.0.to_string())));
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
    pub async fn land(self) -> Result<Landed, Fault> {
        self.answer().await.map_err(|fault| if self.timed_out.get() { Fault::Timeout } else { fault })
    }

    async fn answer(&self) -> Result<Landed, Fault> {
        let response = JsFuture::from(self.response.clone()?).await.map_err(|_| Fault::Network)?;
        let response: Response = response.dyn_into().map_err(|_| Fault::Network)?;
        Landed::read(&response, &self.url, self.wanted.clone()).await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(controller) = &self.controller {
            controller.abort();
        }
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Landed {
    status: u16,
    media_type: Option<String>,
    headers: SortedMap<String, String>,
    text: String,
    wanted: Wanted,
}

impl Landed {
    /// Reads an answer to a request to `url`.
    pub async fn read(response: &Response, url: &str, wanted: Wanted) -> Result<Self, Fault> {
        if response.type_() == ResponseType::Opaqueredirect || response.redirected() {
            return Err(Fault::Redirected);
        }
        if response.status() == 0 {
            return Err(Fault::Network);
        }
        let header = |name: &str| response.headers().get(name).ok().flatten();
        let media_type = header("content-type").map(|value| essence(&value)).filter(|essence| !essence.is_empty());
        let mut headers = SortedMap::new();
        for name in &wanted.headers {
            header(name).map(|value| fact(name, value, url)).and_then(|value| headers.insert(name.clone(), value));
        }
        let text = body_text(response).await?;
        Ok(Self { status: response.status(), media_type, headers, text, wanted })
    }

    /// A body that only the app can read, as the app gets it.
    pub fn undecoded(&self) -> Option<Answer> {
        let unread = !self.text.is_empty() && !self.media_type.as_deref().is_some_and(is_json);
        unread.then(|| self.as_it_is())
    }

    /// The facts, and the answer for the app. `decoded` is what the app has made of a body that is no JSON. JSON that
    /// does not parse was cut off on its way.
    pub fn told(self, decoded: Option<JsValue>) -> Brought {
        let json = !self.text.is_empty() && self.media_type.as_deref().is_some_and(is_json);
        let document = match decoded {
            None if json => match JSON::parse(&self.text) {
                Ok(document) => Some(document),
                Err(_) => return (Observation::Fault(Fault::Truncated), None),
            },
            decoded => decoded,
        };
        let answer = match (&self.wanted.response_at, &document) {
            (Some(pointer), Some(document)) => self.response_in(pointer, document),
            _ => self.as_it_is(),
        };
        let mut pointers = SortedMap::new();
        for pointer in document.iter().flat_map(|_| &self.wanted.pointers) {
            let mut values = Vec::new();
            let tokens: Vec<&str> = pointer.split('/').skip(1).collect();
            resolve(document.as_ref().unwrap_or(&JsValue::NULL), &tokens, &mut values);
            if !values.is_empty() {
                pointers.insert(pointer.clone(), values);
            }
        }
        let facts = Facts {
            status: self.status,
            media_type: self.media_type,
            headers: self.headers,
            pointers,
            body_empty: self.text.is_empty(),
            document: document.is_some(),
        };
        (Observation::Reply(facts), Some(answer))
    }

    fn as_it_is(&self) -> Answer {
        let body = (!self.text.is_empty()).then(|| self.text.clone());
        Answer { status: self.status, media_type: self.media_type.clone(), body, resource: None }
    }

    /// The response inside the answer to a lookup. One with a `status` and a `body` of its own is taken apart.
    fn response_in(&self, pointer: &str, document: &JsValue) -> Answer {
        let place = pointer.split('/').skip(1).try_fold(document.clone(), |value, token| member(&value, token));
        let Some(response) = place else { return self.as_it_is() };
        let own_status = member(&response, "status").and_then(|status| status.as_f64()).map(|status| status as u16);
        let (status, body) = match (own_status, member(&response, "body")) {
            (Some(status), Some(body)) => (status, body),
            _ => (self.status, response),
        };
        let body = JSON::stringify(&body).ok().map(String::from);
        Answer { status, media_type: Some("application/json".to_owned()), body, resource: None }
    }
}

/// A header as a fact. `Location` may be relative to what was asked (RFC 9110 section 10.2.2).
fn fact(name: &str, value: String, asked: &str) -> String {
    match name {
        "location" => url::parse(&value, Some(asked)).map_or(value, |target| target.href),
        _ => value,
    }
}

/// The body as text. Reading stops at the bound, whatever length was announced.
async fn body_text(response: &Response) -> Result<String, Fault> {
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
            return Err(Fault::TooLarge);
        }
    }
    // As `Response.text()` does: malformed UTF-8 becomes U+FFFD, a byte order mark goes.
    let decoder = TextDecoder::new().and_then(|decoder| decoder.decode_with_u8_array(&bytes));
    decoder.map_err(|_| Fault::Truncated)
}

/// An own member of an object or an element of an array, by its token of a JSON pointer (RFC 6901).
fn member(value: &JsValue, token: &str) -> Option<JsValue> {
    let name = JsValue::from_str(&unescaped(token));
    let has = value.is_object() && Object::has_own(value.unchecked_ref::<Object>(), &name);
    Reflect::get(value, &name).ok().filter(|_| has)
}

/// A token's `~1` is a slash, its `~0` a tilde.
fn unescaped(token: &str) -> String {
    let mut pieces = token.split('~');
    let mut name = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (special, rest) = match piece.strip_prefix('1') {
            Some(rest) => ('/', rest),
            None => ('~', piece.strip_prefix('0').unwrap_or(piece)),
        };
        name.push(special);
        name.push_str(rest);
    }
    name
}

/// The values at a JSON pointer, of which `*` matches every element and every member.
fn resolve(value: &JsValue, tokens: &[&str], values: &mut Vec<FactValue>) {
    match tokens.split_first() {
        _ if values.len() >= POINTER_VALUES_MAX => {}
        None => values.extend(fact_value(value)),
        Some((&"*", rest)) if value.is_object() => {
            Object::values(value.unchecked_ref()).iter().for_each(|value| resolve(&value, rest, values));
        }
        Some((token, rest)) => {
            if let Some(value) = member(value, token) {
                resolve(&value, rest, values);
            }
        }
    }
}

/// `None` for null.
fn fact_value(value: &JsValue) -> Option<FactValue> {
    if let Some(text) = value.as_string() {
        return Some(FactValue::Text(text));
    }
    if let Some(truth) = value.as_bool() {
        return Some(FactValue::Bool(truth));
    }
    if value.is_object() {
        return Some(FactValue::Composite);
    }
    value.as_f64().map(|number| {
        if js_sys::Number::is_safe_integer(value) { FactValue::Integer(number as i64) } else { FactValue::Inexact }
    })
}
