//! What `openQueue` and `submit` hand over, as the JavaScript face has written it: JSON text of own properties only.

use std::rc::Rc;

use super::face::Callbacks;
use crate::browser::app_store::AppStore;
use crate::browser::driver::{Opening, Session};
use crate::browser::fetch::Fetch;
use crate::browser::tiers::Wanted;
use crate::browser::url;
use crate::core::change::ContractSnapshot;
use crate::core::contract::Contract;
use crate::core::error::{Error, ErrorCode};
use crate::core::json::{FromJson, from_text, json};
use crate::core::key::ContractHash;
use crate::core::limits::{ATTEMPT_DEADLINE_MAX_MS, ATTEMPT_DEADLINE_MIN_MS, ATTEMPT_DEADLINE_MS};
use crate::core::record::Content;
use crate::core::submission::{BodyKind, Destinations, ExpiresIn, Reference, StatedBody, Submission, scope_hash};
use crate::ledger::durability::Durability;

struct PlainOptions {
    scope: Option<String>,
    /// The contract's canonical JSON.
    contract_text: Option<String>,
    base_url: Option<String>,
    extra_origins: Vec<String>,
    probe_url: Option<String>,
    attempt_deadline_ms: Option<u64>,
    /// Operations with a handler.
    handled: Vec<String>,
    session: Option<String>,
    unbound_cookies: bool,
    min_durability: Option<String>,
    /// What the app's own store promises, where it brings one.
    store_durability: Option<String>,
    on_unreadable: Option<String>,
}

json!(read struct PlainOptions {
    scope,
    contract_text = "contractText",
    base_url = "baseUrl",
    extra_origins: default = "extraOrigins",
    probe_url = "probeUrl",
    attempt_deadline_ms = "attemptDeadlineMs",
    handled: default,
    session,
    unbound_cookies: default = "unboundCookies",
    min_durability = "minDurability",
    store_durability = "storeDurability",
    on_unreadable = "onUnreadable",
});

fn plain<T: FromJson>(text: &str) -> Result<T, Error> {
    from_text(text).map_err(|misread| Error::new(ErrorCode::OptionInvalid).detail(misread.member))
}

/// Checks the options of a queue, before anything is opened.
pub(super) fn checked(options: &str, callbacks: &Callbacks) -> Result<(Opening, Wanted), Error> {
    let mut plain: PlainOptions = plain(options)?;
    let min_durability = durability(plain.min_durability.as_deref().unwrap_or("weak"), "minDurability")?;
    // Without a durability of its own, the store that the face brings is the one in memory.
    let (store, volatile) = match plain.store_durability.take() {
        Some(promised) => (store(durability(&promised, "store.durability")?, callbacks), None),
        None => (None, store(Durability::Volatile, callbacks)),
    };
    let starts_empty = match plain.on_unreadable.as_deref() {
        None => false,
        Some("start-empty") => true,
        Some(_) => return Err(Error::new(ErrorCode::OptionInvalid).detail("onUnreadable")),
    };
    let opening = opening(plain, callbacks)?;
    let wanted = Wanted { scope: opening.scope.clone(), store, volatile, min_durability, starts_empty };
    Ok((opening, wanted))
}

fn store(durability: Durability, callbacks: &Callbacks) -> Option<AppStore> {
    let Callbacks { store_read, store_scan, store_commit, .. } = callbacks.clone();
    Some(AppStore { durability, read: store_read?, scan: store_scan?, commit: store_commit? })
}

fn durability(name: &str, option: &str) -> Result<Durability, Error> {
    Durability::named(name).ok_or_else(|| Error::new(ErrorCode::OptionInvalid).detail(option))
}

fn opening(plain: PlainOptions, callbacks: &Callbacks) -> Result<Opening, Error> {
    let scope = scope_hash(plain.scope.as_deref())?;
    let contract = contract_snapshot(plain.contract_text.as_deref())?;
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
        Some(ms) if (ATTEMPT_DEADLINE_MIN_MS..=ATTEMPT_DEADLINE_MAX_MS).contains(&ms) => ms,
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
        fetch: Fetch(callbacks.fetch.clone()),
    })
}

fn contract_snapshot(text: Option<&str>) -> Result<ContractSnapshot, Error> {
    let text = text.ok_or_else(|| Error::new(ErrorCode::ContractMissing))?;
    let contract: Contract =
        from_text(text).map_err(|misread| Error::new(ErrorCode::ContractInvalid).detail(misread.member))?;
    contract.validate()?;
    Ok(ContractSnapshot { hash: ContractHash::of(text), contract: Rc::new(contract) })
}

struct PlainSubmission {
    operation: String,
    /// Present means that the app passed a reference or null.
    has_reference: bool,
    reference: Option<String>,
    lane: Option<String>,
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<PlainBody>,
    has_expires_in: bool,
    expires_in: Option<u64>,
    card_data: bool,
}

json!(read struct PlainSubmission {
    operation,
    has_reference = "hasReference",
    reference,
    lane,
    method,
    url,
    headers: default,
    body,
    has_expires_in = "hasExpiresIn",
    expires_in = "expiresIn",
    card_data: default = "cardData",
});

struct PlainBody {
    kind: BodyKind,
    /// All kinds but bytes, which stand beside the submission.
    text: Option<String>,
    compared: Option<String>,
}

json!(read struct PlainBody { kind, text, compared });

impl PlainBody {
    fn stated(self, bytes: Option<Vec<u8>>) -> Result<StatedBody, Error> {
        let content = match (self.text, bytes) {
            (Some(text), None) => Content::Text(text),
            (None, Some(bytes)) => Content::Bytes(bytes),
            _ => return Err(ErrorCode::BodyUnstorable.into()),
        };
        Ok(StatedBody { kind: self.kind, content, compared: self.compared })
    }
}

/// Reads a submission; its URL is relative to `base`, and `bytes` are its body where that is no text.
pub(super) fn submission(text: &str, bytes: Option<Vec<u8>>, base: &str) -> Result<Submission, Error> {
    let plain: PlainSubmission = plain(text)?;
    Ok(Submission {
        operation: plain.operation,
        reference: match (plain.has_reference, plain.reference) {
            (false, _) => Reference::Missing,
            (true, None) => Reference::OptedOut,
            (true, Some(name)) => Reference::Named(name),
        },
        lane: plain.lane,
        method: plain.method,
        target: url::parse(&plain.url, Some(base))?,
        headers: plain.headers,
        body: plain.body.map(|body| body.stated(bytes)).transpose()?,
        expires_in: match (plain.has_expires_in, plain.expires_in) {
            (false, _) => ExpiresIn::Default,
            (true, None) => ExpiresIn::Never,
            (true, Some(ms)) => ExpiresIn::AfterMs(ms),
        },
        card_data: plain.card_data,
    })
}
