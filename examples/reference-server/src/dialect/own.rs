//! The server's own contract: RFC 9457 problems, and an echo that means "kept under your key".

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use serde_json::json;

use super::{Dialect, Echo, Keyless, PROBLEM_JSON, Refusal, Repeated, Retention};
use crate::decide::CAREFUL;
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, visible_without_comma};
use crate::problem::{IN_PROGRESS_RETRY_AFTER_S, Problem};

pub(crate) static OWN: Dialect = Dialect {
    name: "own",
    carrier: Carrier::RawOrQuoted(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 16..=255, alphabet: visible_without_comma },
    keyless: Keyless::Refused,
    retention: Retention::Configured,
    policy: CAREFUL,
    created: StatusCode::CREATED,
    repeated: Repeated::Marked,
    echo: Echo::Stored,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let status = problem.status();
    let body = json!({
        "type": format!("urn:intento:problem:{}", name(problem)),
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail(problem),
    });
    let mut refusal = Refusal { content_type: PROBLEM_JSON, ..Refusal::new(status, body) };
    match problem {
        Problem::InProgress => refusal.headers.push((RETRY_AFTER, HeaderValue::from(IN_PROGRESS_RETRY_AFTER_S))),
        Problem::Unauthorized => refusal.headers.push((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        _ => {}
    }
    refusal
}

fn name(problem: Problem) -> &'static str {
    match problem {
        Problem::KeyMissing => "key-missing",
        Problem::KeyMalformed => "key-malformed",
        Problem::Unauthorized => "unauthorized",
        Problem::BadRequest(_) => "bad-request",
        Problem::PayloadMismatch => "payload-mismatch",
        Problem::InProgress => "in-progress",
        Problem::KeyExpired => "key-expired",
        Problem::KeySealed => "key-sealed",
        Problem::UnknownKey => "unknown-key",
        Problem::Declined => "declined",
        Problem::OutcomeUnknown => "outcome-unknown",
        Problem::Transient | Problem::Unavailable { .. } => "unavailable",
    }
}

fn detail(problem: Problem) -> &'static str {
    match problem {
        Problem::KeyMissing => "Send an Idempotency-Key header of 16 to 255 characters.",
        Problem::KeyMalformed => {
            "Send exactly one Idempotency-Key of 16 to 255 visible ASCII characters without a comma, raw or as a quoted string."
        }
        _ => problem.detail(),
    }
}
