//! What `openQueue` and `submit` hand over, as the JavaScript face has copied it: own properties only.

use serde::Deserialize;
use wasm_bindgen::JsValue;

use super::face::Callbacks;
use crate::browser::codec::from_js;
use crate::browser::driver::{Opening, Session};
use crate::browser::url;
use crate::core::change::ContractSnapshot;
use crate::core::contract::Contract;
use crate::core::error::{Error, ErrorCode};
use crate::core::key::ContractHash;
use crate::core::limits::{ATTEMPT_DEADLINE_MAX_MS, ATTEMPT_DEADLINE_MIN_MS, ATTEMPT_DEADLINE_MS, REASON_MAX_BYTES};
use crate::core::record::Content;
use crate::core::submission::{BodyKind, Destinations, ExpiresIn, Reference, StatedBody, Submission, scope_hash};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainOptions {
    scope: Option<String>,
    /// The contract's canonical JSON, for its hash.
    contract_text: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    extra_origins: Vec<String>,
    probe_url: Option<String>,
    attempt_deadline_ms: Option<f64>,
    /// Operations with a handler.
    #[serde(default)]
    handled: Vec<String>,
    session: Option<String>,
    #[serde(default)]
    unbound_cookies: bool,
}

/// Checks the options of a queue, before anything is opened.
pub(super) fn opening(options: JsValue, contract: JsValue, callbacks: &Callbacks) -> Result<Opening, Error> {
    let plain: PlainOptions = from_js(options).ok_or_else(|| Error::new(ErrorCode::OptionInvalid))?;
    let scope = scope_hash(plain.scope.as_deref())?;
    let contract = contract_snapshot(plain.contract_text.as_deref(), contract)?;
    let base = plain.base_url.ok_or_else(|| Error::new(ErrorCode::UrlInvalid).detail("baseUrl"))?;
    let base = url::parse(&base, None).map_err(|error| error.detail("baseUrl"))?;
    let extra = plain.extra_origins.iter().map(|origin| url::parse(origin, None)).collect::<Result<Vec<_>, _>>();
    let extra = extra.map_err(|error| error.detail("extraOrigins"))?;
    let destinations = Destinations::new(&base, &extra)?;
    let probe = match plain.probe_url {
        None => None,
        Some(probe_url) => {
            let target = url::parse(&probe_url, Some(&base.href)).map_err(|error| error.detail("probeUrl"))?;
            destinations.check(&target).map_err(|error| error.detail("probeUrl"))?;
            Some((target.href, target.origin))
        }
    };
    let attempt_ms = match plain.attempt_deadline_ms {
        None => ATTEMPT_DEADLINE_MS,
        Some(ms) if (ATTEMPT_DEADLINE_MIN_MS as f64..=ATTEMPT_DEADLINE_MAX_MS as f64).contains(&ms) => ms as u64,
        Some(_) => return Err(Error::new(ErrorCode::OptionInvalid).detail("attemptDeadlineMs")),
    };
    // An attempt that cannot end inside the window would never be sent again after its first loss.
    if contract.contract.resends() && attempt_ms >= contract.contract.windows().smallest_ms() {
        return Err(Error::new(ErrorCode::OptionInvalid).detail("attemptDeadlineMs"));
    }
    let session = match (plain.session.as_deref(), plain.unbound_cookies) {
        (None, false) => Session::None,
        (Some("cookie"), false) => Session::Cookie,
        (Some("cookie"), true) => Session::UnboundCookie,
        (None, true) => return Err(Error::new(ErrorCode::OptionInvalid).detail("unboundCookies")),
        (Some(_), _) => return Err(Error::new(ErrorCode::OptionInvalid).detail("session")),
    };
    let origins = core::iter::once(&base).chain(&extra).map(|target| target.origin.clone()).collect();
    Ok(Opening {
        scope,
        contract,
        destinations,
        origins,
        probe,
        attempt_ms,
        can_refresh: callbacks.authorize.is_some(),
        can_reconcile: callbacks.reconcile.is_some(),
        prepares: callbacks.prepare.is_some(),
        handled: plain.handled,
        session,
    })
}

fn contract_snapshot(text: Option<&str>, contract: JsValue) -> Result<ContractSnapshot, Error> {
    let text = text.ok_or_else(|| Error::new(ErrorCode::ContractMissing))?;
    let contract: Contract = serde_wasm_bindgen::from_value(contract)
        .map_err(|error| Error::new(ErrorCode::ContractInvalid).detail(error.to_string()))?;
    contract.validate()?;
    Ok(ContractSnapshot { hash: ContractHash::of(text), contract })
}

/// Why an app abandons or replaces, for the journal.
pub(super) fn reason(reason: String) -> Result<String, Error> {
    let fits = (1..=REASON_MAX_BYTES).contains(&reason.len());
    if fits { Ok(reason) } else { Err(ErrorCode::ReasonInvalid.into()) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainSubmission {
    operation: String,
    /// Present means that the app passed a reference or null.
    has_reference: bool,
    reference: Option<String>,
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<PlainBody>,
    has_expires_in: bool,
    expires_in: Option<f64>,
}

#[derive(Deserialize)]
struct PlainBody {
    kind: PlainKind,
    /// All kinds but bytes.
    text: Option<String>,
    bytes: Option<serde_bytes::ByteBuf>,
    compared: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlainKind {
    Json,
    Text,
    Form,
    Bytes,
}

impl PlainBody {
    fn stated(self) -> Result<StatedBody, Error> {
        let content = match (self.text, self.bytes) {
            (Some(text), None) => Content::Text(text),
            (None, Some(bytes)) => Content::Bytes(bytes.into_vec()),
            _ => return Err(ErrorCode::BodyUnstorable.into()),
        };
        let kind = match self.kind {
            PlainKind::Json => BodyKind::Json,
            PlainKind::Text => BodyKind::Text,
            PlainKind::Form => BodyKind::Form,
            PlainKind::Bytes => BodyKind::Bytes,
        };
        Ok(StatedBody { kind, content, compared: self.compared })
    }
}

/// Reads a submission; its URL is relative to `base`.
pub(super) fn submission(plain: JsValue, base: &str) -> Result<Submission, Error> {
    let plain: PlainSubmission = from_js(plain).ok_or_else(|| Error::new(ErrorCode::OptionInvalid))?;
    Ok(Submission {
        operation: plain.operation,
        reference: match (plain.has_reference, plain.reference) {
            (false, _) => Reference::Missing,
            (true, None) => Reference::OptedOut,
            (true, Some(name)) => Reference::Named(name),
        },
        method: plain.method,
        target: url::parse(&plain.url, Some(base))?,
        headers: plain.headers,
        body: plain.body.map(PlainBody::stated).transpose()?,
        expires_in: match (plain.has_expires_in, plain.expires_in) {
            (false, _) => ExpiresIn::Default,
            (true, None) => ExpiresIn::Never,
            (true, Some(ms)) => ExpiresIn::AfterMs(ms),
        },
    })
}
