//! draft-ietf-httpapi-idempotency-key-header-06, to the letter. An expired draft, not a standard.
//!
//! The draft defines neither a replay marker nor a `Retry-After`, and its example uses one problem
//! type for three refusals, so only the status tells them apart. It leaves to the server, and this
//! one chose: keys are kept for 24 hours and then forgotten, and an error is kept like a success.

use axum::http::StatusCode;
use serde_json::json;

use super::{DAY, Dialect, Echo, Keyless, PROBLEM_JSON, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, PastRetention, Policy};
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, printable};
use crate::problem::Problem;

/// The draft's example of a type, in all three of its examples.
const EXAMPLE_TYPE: &str = "https://developer.example.com/idempotency";

pub(super) static IETF: Dialect = Dialect {
    name: "ietf",
    carrier: Carrier::Quoted(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=255, alphabet: printable },
    keyless: Keyless::Refused,
    retention: Retention::SinceFirst(DAY),
    policy: Policy { past_retention: PastRetention::Forgotten, ..CAREFUL },
    created: StatusCode::CREATED,
    repeated: Repeated::Original,
    echo: Echo::Never,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let (kind, title) = match problem {
        Problem::KeyMissing | Problem::KeyMalformed => (EXAMPLE_TYPE, "Idempotency-Key is missing"),
        Problem::PayloadMismatch => (EXAMPLE_TYPE, "Idempotency-Key is already used"),
        Problem::InProgress => (EXAMPLE_TYPE, "A request is outstanding for this Idempotency-Key"),
        _ => ("about:blank", problem.status().canonical_reason().unwrap_or_default()),
    };
    let body = json!({ "type": kind, "title": title, "status": problem.status().as_u16(), "detail": problem.detail() });
    Refusal { content_type: PROBLEM_JSON, ..Refusal::new(problem.status(), body) }
}
