//! Bad input stops here: what an app hands over, checked before anything is stored or sent.

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use core::fmt;

use super::change::{Adopt, ContractSnapshot, Submit};
use super::contract::{Carrier, CarrierPlace, Method, is_credential, is_token};
use super::error::{Error, ErrorCode};
use super::intent::{IntentRecord, Request};
use super::json::json;
use super::key::{Fingerprint, IntentId, Key, RandomBits, RealmId, ScopeHash};
use super::limits::{
    ADOPT_MAX, BODY_MAX_BYTES, EXPIRES_IN_MS, HEADER_VALUE_MAX_BYTES, HEADERS_MAX, LANE_MAX_BYTES, OPERATION_MAX_BYTES,
    REASON_MAX_BYTES, REFERENCE_MAX_BYTES, SCOPE_MAX_BYTES, URL_MAX_BYTES,
};
use super::media_type::{essence, is_json};
use super::record::{Body, Content};
use super::shared::Shared;

/// A URL as the platform parsed it. Its `Debug` shows the origin only (law 11).
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Absolute, serialised by the platform, without fragment.
    pub href: String,
    /// With the colon: `https:`.
    pub scheme: String,
    pub host: String,
    pub origin: String,
    pub has_credentials: bool,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.origin)
    }
}

impl Target {
    /// https, or http on loopback; no user name or password.
    pub fn check_transport(&self) -> Result<(), Error> {
        if self.has_credentials || self.href.len() > URL_MAX_BYTES {
            return Err(ErrorCode::UrlInvalid.into());
        }
        match self.scheme.as_str() {
            "https:" => Ok(()),
            "http:" if is_loopback(&self.host) => Ok(()),
            "http:" => Err(ErrorCode::UrlCleartext.into()),
            _ => Err(ErrorCode::UrlInvalid.into()),
        }
    }
}

/// Where intents may go: checked at submit and again in the task that sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    origins: Vec<String>,
}

impl Destinations {
    /// `baseUrl`'s origin and the app's extra ones; each must be https or loopback.
    pub fn new(base: &Target, extra: &[Target]) -> Result<Self, Error> {
        let targets = || core::iter::once(base).chain(extra);
        targets().try_for_each(Target::check_transport)?;
        Ok(Self { origins: targets().map(|target| target.origin.clone()).collect() })
    }

    pub fn check(&self, target: &Target) -> Result<(), Error> {
        target.check_transport()?;
        if self.origins.contains(&target.origin) { Ok(()) } else { Err(ErrorCode::UrlForeignOrigin.into()) }
    }
}

/// A decision as the app states it. Its `Debug` shows neither headers nor body (law 11).
#[derive(Clone)]
pub struct Submission {
    pub operation: String,
    pub reference: Reference,
    pub lane: Option<String>,
    pub method: String,
    pub target: Target,
    pub headers: Vec<(String, String)>,
    pub body: Option<StatedBody>,
    pub expires_in: ExpiresIn,
    /// It looks like card data, and the app allows that.
    pub card_data: bool,
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.as_ref().map_or(0, |body| body.content.as_bytes().len());
        write!(f, "Submission({} {:?} to {:?}, {bytes} bytes)", self.operation, self.reference, self.target)
    }
}

/// A body as the app states it (P9).
#[derive(Clone, PartialEq, Eq)]
pub struct StatedBody {
    pub kind: BodyKind,
    pub content: Content,
    /// What the fingerprint is over, where that is not the content: canonical JSON without what the app declares
    /// irrelevant.
    pub compared: Option<String>,
}

impl fmt::Debug for StatedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatedBody({:?}, {:?})", self.kind, self.content)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Canonical JSON (RFC 8785).
    Json,
    /// Opaque.
    Text,
    /// `application/x-www-form-urlencoded`: ordered pairs.
    Form,
    /// Opaque.
    Bytes,
}

json!(words BodyKind { Json = "json", Text = "text", Form = "form", Bytes = "bytes" });

impl StatedBody {
    /// Canonical JSON, compared as it is.
    pub fn json(text: impl Into<String>) -> Self {
        Self { kind: BodyKind::Json, content: Content::Text(text.into()), compared: None }
    }
}

impl BodyKind {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text => "text/plain;charset=UTF-8",
            Self::Form => "application/x-www-form-urlencoded;charset=UTF-8",
            Self::Bytes => "application/octet-stream",
        }
    }
}

/// The app's name for a decision, or its explicit absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Missing,
    OptedOut,
    Named(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpiresIn {
    Default,
    Never,
    AfterMs(u64),
}

/// What a queue lends to each submission.
#[derive(Clone, Copy, Debug)]
pub struct SubmitContext<'a> {
    pub scope: &'a ScopeHash,
    pub realm: &'a RealmId,
    pub contract: &'a ContractSnapshot,
    pub destinations: &'a Destinations,
}

/// Hashes a scope, or says why it is none.
pub fn scope_hash(scope: Option<&str>) -> Result<ScopeHash, Error> {
    match scope {
        None | Some("") => Err(ErrorCode::ScopeMissing.into()),
        Some(scope) if scope.len() > SCOPE_MAX_BYTES => Err(ErrorCode::ScopeTooLong.into()),
        Some(scope) => Ok(ScopeHash::of(scope)),
    }
}

/// Why an app abandons or replaces, for the journal.
pub fn reason(reason: String) -> Result<String, Error> {
    let fits = (1..=REASON_MAX_BYTES).contains(&reason.len());
    if fits { Ok(reason) } else { Err(ErrorCode::ReasonInvalid.into()) }
}

/// Takes another scope's intents over. `listed`: one more than may be adopted, where there are more.
pub fn adoption(from: ScopeHash, to: ScopeHash, listed: &[Shared<IntentRecord>]) -> Result<Adopt, Error> {
    if listed.len() > ADOPT_MAX || from == to {
        return Err(Error::new(ErrorCode::OptionInvalid).detail("fromScope"));
    }
    Ok(Adopt { from, to, intents: listed.iter().map(|intent| intent.id.clone()).collect() })
}

impl Submission {
    /// Checks everything, then names the intent and renders its key. `intent` and `key` must be fresh random bits.
    pub fn into_change(self, context: SubmitContext<'_>, intent: RandomBits, key: RandomBits) -> Result<Submit, Error> {
        let contract = &context.contract.contract;
        check_operation(&self.operation)?;
        let reference = check_reference(self.reference)?;
        check_lane(self.lane.as_deref())?;
        let method = Method::parse(&self.method).filter(|method| contract.methods.contains(method));
        let method = method.ok_or_else(|| Error::new(ErrorCode::MethodNotAllowed).detail(self.method.clone()))?;
        context.destinations.check(&self.target)?;
        let (headers, declared) = check_headers(self.headers, &contract.carrier)?;
        let compared = self.body.as_ref().and_then(|body| body.compared.clone());
        let body = check_body(self.body, declared, &contract.carrier)?;
        let expires_in_ms = check_expires_in(self.expires_in)?;
        let fingerprint = Fingerprint::of(
            method.as_str(),
            &self.target.href,
            &self.operation,
            body.as_ref().map_or("", |body| &body.media_type),
            body.as_ref().map(|body| compared.as_ref().map_or(body.content.as_bytes(), |text| text.as_bytes())),
        );
        // The key gets its place last: the fingerprint is of the request without it.
        let key = Key::render(key, &contract.key);
        let url = contract.carrier.url(&self.target.href, &key)?;
        let body = place_key(body, &contract.carrier, &key)?;
        Ok(Submit {
            intent: IntentId::new(intent),
            realm: context.realm.clone(),
            scope: context.scope.clone(),
            operation: self.operation,
            reference,
            lane: self.lane,
            key,
            contract: context.contract.clone(),
            fingerprint,
            request: Request { method, url, origin: self.target.origin, headers },
            body,
            expires_in_ms,
            card_data: self.card_data,
        })
    }
}

fn check_operation(operation: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let fits = (1..=OPERATION_MAX_BYTES).contains(&operation.len());
    if fits && operation.bytes().all(allowed) { Ok(()) } else { Err(ErrorCode::OperationInvalid.into()) }
}

fn check_reference(reference: Reference) -> Result<Option<String>, Error> {
    match reference {
        Reference::Missing => Err(ErrorCode::ReferenceMissing.into()),
        Reference::OptedOut => Ok(None),
        Reference::Named(name) if name.len() > REFERENCE_MAX_BYTES => Err(ErrorCode::ReferenceTooLong.into()),
        Reference::Named(name) if !is_name(&name) => Err(ErrorCode::ReferenceInvalid.into()),
        Reference::Named(name) => Ok(Some(name)),
    }
}

fn check_lane(lane: Option<&str>) -> Result<(), Error> {
    let fits = |lane: &str| is_name(lane) && lane.len() <= LANE_MAX_BYTES;
    if lane.is_none_or(fits) { Ok(()) } else { Err(ErrorCode::LaneInvalid.into()) }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

/// The header that binds a cookie's request to its scope (P8.1); its value is the scope's hash.
pub const SCOPE_HEADER: &str = "intento-scope";

/// Headers that a page cannot set, or that intento sets itself.
const TRANSPORT_HEADERS: [&str; 9] =
    ["host", "content-length", "connection", "transfer-encoding", "upgrade", "origin", "referer", "date", "expect"];

/// Common names for credentials beside those of HTTP itself.
const CREDENTIAL_HEADERS: [&str; 3] = ["x-api-key", "x-auth-token", "x-access-token"];

type Headers = Vec<(String, String)>;

/// The headers to store, and the media type that the app declared for its body.
fn check_headers(headers: Headers, carrier: &Carrier) -> Result<(Headers, Option<String>), Error> {
    if headers.len() > HEADERS_MAX {
        return Err(ErrorCode::HeaderInvalid.into());
    }
    let mut media_type = None;
    let mut stored = Headers::new();
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if !is_token(&name) || value.len() > HEADER_VALUE_MAX_BYTES || !is_field_value(&value) {
            return Err(Error::new(ErrorCode::HeaderInvalid).detail(name));
        }
        let forbidden = is_credential(&lower)
            || CREDENTIAL_HEADERS.contains(&lower.as_str())
            || TRANSPORT_HEADERS.contains(&lower.as_str())
            || lower.starts_with("sec-")
            || lower.starts_with("proxy-")
            || lower == "idempotency-key"
            || lower == SCOPE_HEADER
            || carrier.first_sent.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&lower))
            || (carrier.place == CarrierPlace::Header && carrier.name.eq_ignore_ascii_case(&lower));
        if forbidden {
            return Err(Error::new(ErrorCode::HeaderForbidden).detail(name));
        }
        if stored.iter().any(|(known, _)| *known == lower) || (lower == "content-type" && media_type.is_some()) {
            return Err(Error::new(ErrorCode::HeaderInvalid).detail(name));
        }
        if lower == "content-type" {
            media_type = Some(value);
        } else {
            stored.push((lower, value));
        }
    }
    Ok((stored, media_type))
}

/// RFC 9110 section 5.5, ASCII only: browsers refuse other values at the send, which would look like a network fault.
fn is_field_value(value: &str) -> bool {
    value.trim() == value && value.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t')
}

fn check_body(stated: Option<StatedBody>, declared: Option<String>, carrier: &Carrier) -> Result<Option<Body>, Error> {
    let wrong_type = || Error::new(ErrorCode::HeaderInvalid).detail("content-type");
    let in_body = carrier.place == CarrierPlace::Body;
    if in_body && stated.as_ref().is_none_or(|stated| stated.kind != BodyKind::Json) {
        return Err(Error::new(ErrorCode::KeyPlaceInvalid).detail(carrier.name.clone()));
    }
    let Some(StatedBody { kind, content, .. }) = stated else {
        return if declared.is_none() { Ok(None) } else { Err(wrong_type()) };
    };
    if content.as_bytes().len() > BODY_MAX_BYTES {
        return Err(ErrorCode::BodyTooLarge.into());
    }
    let media_type = declared.unwrap_or_else(|| kind.media_type().to_owned());
    let essence = essence(&media_type);
    match kind {
        BodyKind::Json if !is_json(&essence) => Err(wrong_type()),
        BodyKind::Form if essence != "application/x-www-form-urlencoded" => Err(wrong_type()),
        _ => Ok(Some(Body { media_type, content })),
    }
}

/// The body as it travels: with the key in it, if that is where it stands.
fn place_key(body: Option<Body>, carrier: &Carrier, key: &Key) -> Result<Option<Body>, Error> {
    match body {
        Some(Body { media_type, content: Content::Text(text) }) if carrier.place == CarrierPlace::Body => {
            Ok(Some(Body { media_type, content: Content::Text(carrier.body(&text, key)?) }))
        }
        body => Ok(body),
    }
}

fn check_expires_in(expires_in: ExpiresIn) -> Result<Option<u64>, Error> {
    match expires_in {
        ExpiresIn::Default => Ok(Some(EXPIRES_IN_MS)),
        ExpiresIn::Never => Ok(None),
        ExpiresIn::AfterMs(0) => Err(ErrorCode::ExpiresInInvalid.into()),
        ExpiresIn::AfterMs(ms) => Ok(Some(ms)),
    }
}

/// A potentially trustworthy host that never leaves the device.
fn is_loopback(host: &str) -> bool {
    // The platform writes every IPv4 address as four decimal numbers, and takes no other host of digits and dots.
    let is_ipv4 = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || (is_ipv4 && host.starts_with("127."))
}
