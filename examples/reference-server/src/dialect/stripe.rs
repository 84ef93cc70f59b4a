//! Stripe, API v1 and v2: alike in shape and opposite in what a failure leaves behind.
//!
//! v1 keeps every answer once execution began, a 500 included, which may hide a charge; v2 runs a
//! failed request again and never repeats a success.
//!
//! Unconfirmed: a key is forgotten the moment it is 24 hours old (the documentation says "at
//! least", and this is the dangerous reading); v2's key length, and its answer to a request in
//! progress, which is documented nowhere. Here it is a 409 of the type that also means "other
//! payload", so that a client which reads the type alone gets it wrong.

use axum::http::{HeaderName, StatusCode};
use serde_json::{Map, Value, json};

use super::{DAY, Dialect, Echo, Keyless, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, PastRetention, Policy, Repetition};
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, printable};
use crate::problem::Problem;

pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");
const V2_RETENTION_DAYS: u32 = 30;

pub(super) static STRIPE: Dialect = Dialect {
    name: "stripe",
    carrier: Carrier::Raw(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=255, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(DAY),
    policy: Policy { past_retention: PastRetention::Forgotten, ..CAREFUL },
    created: StatusCode::OK,
    repeated: Repeated::Marked,
    echo: Echo::Never,
    refuse: v1,
};

pub(super) static STRIPE_V2: Dialect = Dialect {
    name: "stripe-v2",
    carrier: Carrier::Raw(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=255, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(DAY.saturating_mul(V2_RETENTION_DAYS)),
    policy: Policy {
        after_refusal: Repetition::Executed,
        after_unknown: Repetition::Executed,
        past_retention: PastRetention::Forgotten,
        ..CAREFUL
    },
    created: StatusCode::OK,
    repeated: Repeated::CurrentState(StatusCode::OK),
    echo: Echo::Never,
    refuse: v2,
};

fn v1(problem: Problem) -> Refusal {
    let in_progress = ("invalid_request_error", Some("idempotency_key_in_use"));
    let refusal = refuse(problem, in_progress);
    match problem {
        // The answer is kept, so asking again brings the same.
        Problem::OutcomeUnknown => refusal.with(SHOULD_RETRY, "false"),
        Problem::Transient => refusal.with(SHOULD_RETRY, "true"),
        _ => refusal,
    }
}

fn v2(problem: Problem) -> Refusal {
    let refusal = refuse(problem, ("idempotency_error", Some("idempotency_key_in_use")));
    match problem {
        Problem::OutcomeUnknown | Problem::Transient => refusal.with(SHOULD_RETRY, "true"),
        _ => refusal,
    }
}

fn refuse(problem: Problem, in_progress: (&str, Option<&str>)) -> Refusal {
    let (kind, code) = match problem {
        Problem::PayloadMismatch => ("idempotency_error", None),
        Problem::InProgress => in_progress,
        Problem::KeySealed => ("invalid_request_error", Some("key_sealed")),
        Problem::Declined => ("card_error", Some("card_declined")),
        Problem::OutcomeUnknown | Problem::Transient | Problem::Unavailable { .. } => ("api_error", None),
        _ => ("invalid_request_error", None),
    };
    let status = match problem {
        Problem::PayloadMismatch => StatusCode::BAD_REQUEST,
        _ => problem.status(),
    };
    let mut error = Map::from_iter([("type".to_owned(), json!(kind)), ("message".to_owned(), json!(problem.detail()))]);
    if let Some(code) = code {
        error.insert("code".to_owned(), Value::from(code));
    }
    Refusal::new(status, json!({ "error": error }))
}
