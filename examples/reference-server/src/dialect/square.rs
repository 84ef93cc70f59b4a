//! Square Payments: the key is a member of the body, 45 characters at most, and required.
//!
//! Only successes are kept: whatever ended otherwise runs again.
//!
//! Unconfirmed: how long a key is kept and what follows (24 hours here, and then it is forgotten),
//! and a request in progress. Here that is a 400 with the code of another payload, so that a client
//! which believes it about its first attempt gets it wrong.

use axum::http::StatusCode;
use serde_json::json;

use super::{DAY, Dialect, Echo, Keyless, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, PastRetention, Policy, Repetition};
use crate::key::{Carrier, KeyFormat};
use crate::problem::Problem;

pub(super) static SQUARE: Dialect = Dialect {
    name: "square",
    carrier: Carrier::Member("idempotency_key"),
    key: KeyFormat { chars: 1..=45, alphabet: |_| true },
    keyless: Keyless::Refused,
    retention: Retention::SinceFirst(DAY),
    policy: Policy {
        after_refusal: Repetition::Executed,
        after_unknown: Repetition::Executed,
        past_retention: PastRetention::Forgotten,
        ..CAREFUL
    },
    created: StatusCode::OK,
    repeated: Repeated::Original,
    echo: Echo::Never,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let (status, category, code) = match problem {
        Problem::InProgress | Problem::PayloadMismatch => {
            (StatusCode::BAD_REQUEST, "INVALID_REQUEST_ERROR", "IDEMPOTENCY_KEY_REUSED")
        }
        Problem::Declined => (problem.status(), "PAYMENT_METHOD_ERROR", "CARD_DECLINED"),
        Problem::Unauthorized => (problem.status(), "AUTHENTICATION_ERROR", "UNAUTHORIZED"),
        Problem::KeyMissing => (problem.status(), "INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER"),
        Problem::KeySealed => (problem.status(), "INVALID_REQUEST_ERROR", "KEY_SEALED"),
        Problem::UnknownKey => (problem.status(), "INVALID_REQUEST_ERROR", "NOT_FOUND"),
        Problem::OutcomeUnknown => (problem.status(), "API_ERROR", "INTERNAL_SERVER_ERROR"),
        Problem::Transient | Problem::Unavailable { .. } => (problem.status(), "API_ERROR", "SERVICE_UNAVAILABLE"),
        Problem::KeyMalformed | Problem::BadRequest(_) | Problem::KeyExpired => {
            (problem.status(), "INVALID_REQUEST_ERROR", "BAD_REQUEST")
        }
    };
    let error = json!({ "category": category, "code": code, "detail": problem.detail() });
    Refusal::new(status, json!({ "errors": [error] }))
}
