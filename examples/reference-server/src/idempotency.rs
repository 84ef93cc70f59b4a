//! The HTTP half of the contract: from a request to a [`Reservation`] and from its end to an answer.
//!
//! The order of checks is part of the contract: shape of the key (400), caller (401), shape of the
//! payment (400), then in one transaction fingerprint (422) before state (409, 410, replay).
//! Nothing before that transaction leaves a trace under the key, and nothing before it is answered
//! with the key's echo: the echo says "this answer is stored under your key".

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::App;
use crate::database::DatabaseError;
use crate::decide::Fingerprint;
use crate::faults::{ACCEPT_MS, Crash, Plan};
use crate::ledger::{Completion, Reservation, Run, Slot};
use crate::payments::{self, Answer, Outcome, Payment};
use crate::problem::Problem;
use crate::status;
use crate::wire::{Met, Ticket};

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(crate) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

const KEY_CHARS: std::ops::RangeInclusive<usize> = 16..=255;
const MAX_NAME_CHARS: usize = 64;
/// The scope of callers without credentials. Nobody can sign in under this name.
const GUEST: &str = "guest";

/// `POST /payments`.
pub(crate) async fn pay(
    Shared(app): Shared<App>,
    Extension(plan): Extension<Plan>,
    Extension(ticket): Extension<Ticket>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let presented = presented_key(&headers)?;
    let slot = Slot { key: parse_key(presented)?, scope: scope(&headers)? };
    let content_type = headers.get(CONTENT_TYPE);
    let payment =
        Payment::parse(content_type.and_then(|value| value.to_str().ok()), &body).map_err(Problem::BadRequest)?;
    let fingerprint = fingerprint(&method, &uri, content_type, &body);

    match app.ledger.reserve(slot, fingerprint).await? {
        Reservation::Granted(run) => {
            // On a task of its own: a client that hangs up must not cut a run between its
            // reservation and its commit.
            let accepts = plan.accepts();
            let execution = app.executions.spawn(execute(app.clone(), run, payment, plan));
            if accepts {
                ticket.fault(ACCEPT_MS).await?;
                return Ok(status::accepted());
            }
            let answer = execution.await.map_err(|_| UNAVAILABLE)??;
            Ok(stored(answer, presented, false))
        }
        Reservation::Replay(answer) => {
            ticket.met(Met::Replay).await?;
            Ok(stored(answer, presented, true))
        }
        Reservation::InProgress => {
            ticket.met(Met::InProgress).await?;
            Err(Problem::InProgress)
        }
        Reservation::Mismatch => {
            ticket.met(Met::Mismatch).await?;
            Err(Problem::PayloadMismatch)
        }
        Reservation::Expired => {
            ticket.met(Met::Expired).await?;
            Err(Problem::KeyExpired)
        }
    }
}

/// The key of a request, as text.
///
/// # Errors
/// `KeyMissing` without the header, `KeyMalformed` for anything but exactly one well-formed key.
pub(crate) fn key(headers: &HeaderMap) -> Result<String, Problem> {
    parse_key(presented_key(headers)?)
}

/// Whose keys these are.
///
/// # Errors
/// `Unauthorized` for credentials this server does not know.
pub(crate) fn scope(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(credentials) = headers.get(AUTHORIZATION) else {
        return Ok(GUEST.to_owned());
    };
    credentials
        .to_str()
        .ok()
        .and_then(|credentials| credentials.strip_prefix("Bearer user:"))
        .filter(|name| is_name(name) && *name != GUEST)
        .map(str::to_owned)
        .ok_or(Problem::Unauthorized)
}

const UNAVAILABLE: Problem = Problem::Unavailable { retry_after_s: None };

/// Runs the handler with a reservation and ends it: T1, or release.
async fn execute(app: App, run: Run, payment: Payment, plan: Plan) -> Result<Answer, Problem> {
    app.ledger.start(&run).await?;
    let handler = async {
        plan.stall_handler().await;
        payments::authorize(&payment).await
    };
    // The timeout is below the lease, so a run that keeps its timers ends before anyone may take
    // over. One that does not (a paused process) is stopped by its token.
    let outcome = match tokio::time::timeout(app.handler_timeout, handler).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Outcome::Transient,
    };
    let Outcome::Definite { answer, effect } = outcome else {
        app.ledger.release(&run).await?;
        return Err(UNAVAILABLE);
    };
    plan.stall_before_commit().await;
    plan.crash_at(Crash::BeforeCommit);
    // If T1 fails without a verdict it may still have been committed, so the reservation stays:
    // the next request finds the stored answer, or takes over after the lease.
    match app.ledger.complete(&run, answer.clone(), effect).await? {
        Completion::Committed => {
            plan.crash_at(Crash::AfterCommit);
            Ok(answer)
        }
        Completion::Stale => Err(Problem::InProgress),
        Completion::AlreadyApplied => Err(Problem::KeyExpired),
    }
}

/// An answer that is stored under the key: the only kind that carries the key's echo.
pub(crate) fn stored(answer: Answer, presented: &HeaderValue, replayed: bool) -> Response {
    let code = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (code, answer.body).into_response();
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(IDEMPOTENCY_KEY, presented.clone());
    if replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The key's header as it was sent, for the echo.
///
/// # Errors
/// `KeyMissing` without the header, `KeyMalformed` if it came twice.
pub(crate) fn presented_key(headers: &HeaderMap) -> Result<&HeaderValue, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Problem::KeyMissing),
        (Some(only), None) => Ok(only),
        // Two keys mean two reservations to one reader and none to another.
        (Some(_), Some(_)) => Err(Problem::KeyMalformed),
    }
}

/// Reads `k` and `"k"` (RFC 8941) as the same key. A comma is refused even inside quotes: a proxy
/// that joins repeated headers must not be able to make a key.
fn parse_key(presented: &HeaderValue) -> Result<String, Problem> {
    let text = presented.to_str().map_err(|_| Problem::KeyMalformed)?;
    let key = if text.starts_with('"') {
        let item: sfv::Item = sfv::Parser::new(text).parse().map_err(|_| Problem::KeyMalformed)?;
        match item.bare_item {
            sfv::BareItem::String(key) if item.params.is_empty() => key.into(),
            _ => return Err(Problem::KeyMalformed),
        }
    } else {
        text.to_owned()
    };
    let well_formed = KEY_CHARS.contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    well_formed.then_some(key).ok_or(Problem::KeyMalformed)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Each part goes in after its length, so that no two requests run together into one.
fn fingerprint(method: &Method, uri: &Uri, content_type: Option<&HeaderValue>, body: &[u8]) -> Fingerprint {
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let parts =
        [method.as_str().as_bytes(), target.as_bytes(), content_type.map_or(&[][..], HeaderValue::as_bytes), body];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Fingerprint(hash.finalize().into())
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        eprintln!("reference-server: {error}");
        UNAVAILABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, Problem> {
        parse_key(&HeaderValue::from_str(text).expect("a header value"))
    }

    #[test]
    fn raw_and_quoted_are_the_same_key() {
        let key = "0123456789abcdef";
        assert_eq!(parse(key).as_deref(), Ok(key));
        assert_eq!(parse(&format!("\"{key}\"")).as_deref(), Ok(key));
        assert_eq!(parse(r#""0123456789abcd\"\\""#).as_deref(), Ok(r#"0123456789abcd"\"#));
        assert!(parse(&"k".repeat(255)).is_ok());
    }

    #[test]
    fn refuses_every_other_shape() {
        let malformed = [
            "short",
            "0123456789abcdef, 0123456789abcdef",
            "0123456789abcdef,fedcba9876543210",
            "\"0123456789abcdef\", \"0123456789abcdef\"",
            "\"0123456789abcdef,0123456789abcdef\"",
            "\"0123456789abcdef",
            "\"0123456789abcdef\";p=1",
            "0123456789 abcdef",
            "0123456789abcde\u{e9}",
        ];
        for text in malformed {
            assert_eq!(parse(text), Err(Problem::KeyMalformed), "{text}");
        }
        assert_eq!(parse(&"k".repeat(256)), Err(Problem::KeyMalformed));
    }

    #[test]
    fn every_part_of_the_request_moves_the_fingerprint() {
        let json = HeaderValue::from_static("application/json");
        let text = HeaderValue::from_static("text/plain");
        let uri = Uri::from_static("/payments");
        let base = fingerprint(&Method::POST, &uri, Some(&json), b"body");
        let others = [
            fingerprint(&Method::PUT, &uri, Some(&json), b"body"),
            fingerprint(&Method::POST, &Uri::from_static("/payments?a"), Some(&json), b"body"),
            fingerprint(&Method::POST, &uri, Some(&text), b"body"),
            fingerprint(&Method::POST, &uri, None, b"body"),
            fingerprint(&Method::POST, &uri, Some(&json), b"body "),
        ];
        for other in others {
            assert_ne!(base, other);
        }
    }
}
