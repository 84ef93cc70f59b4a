//! GoCardless: a repetition is a 409 that names the payment it made.
//!
//! Only creations are kept: whatever ended otherwise runs again. Payloads are not compared.
//!
//! Unconfirmed: 128 characters, 30 days and what follows them; and a request in progress. Here that
//! is the same 409 with the same reason and no name in it, so that a client which takes the reason
//! alone for a success gets it wrong.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{DAY, Dialect, Echo, Keyless, Refusal, Repeated, Retention};
use crate::decide::{OtherPayload, PastRetention, Policy, Repetition};
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, printable};
use crate::problem::Problem;

const CONFLICT: &str = "idempotent_creation_conflict";
const RETENTION_DAYS: u32 = 30;

pub(super) static GOCARDLESS: Dialect = Dialect {
    name: "gocardless",
    carrier: Carrier::Raw(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=128, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(DAY.saturating_mul(RETENTION_DAYS)),
    policy: Policy {
        other_payload: OtherPayload::Unnoticed,
        after_refusal: Repetition::Executed,
        after_unknown: Repetition::Executed,
        past_retention: PastRetention::Forgotten,
    },
    created: StatusCode::CREATED,
    repeated: Repeated::Conflict(already_created),
    echo: Echo::Never,
    refuse,
};

fn already_created(payment: &str) -> Refusal {
    let message = "A resource has already been created with this idempotency key.";
    let links = json!({ "conflicting_resource_id": payment });
    let error = json!({ "reason": CONFLICT, "message": message, "links": links });
    envelope(StatusCode::CONFLICT, "invalid_state", message, &error)
}

fn refuse(problem: Problem) -> Refusal {
    let (status, kind, reason) = match problem {
        Problem::InProgress => (problem.status(), "invalid_state", CONFLICT),
        Problem::Declined => (StatusCode::UNPROCESSABLE_ENTITY, "validation_failed", "declined"),
        Problem::KeySealed => (problem.status(), "invalid_state", "key_sealed"),
        Problem::Unauthorized => (problem.status(), "invalid_api_usage", "unauthorized"),
        Problem::OutcomeUnknown | Problem::Transient | Problem::Unavailable { .. } => {
            (problem.status(), "gocardless", "internal_server_error")
        }
        _ => (problem.status(), "invalid_api_usage", "bad_request"),
    };
    envelope(status, kind, problem.detail(), &json!({ "reason": reason, "message": problem.detail() }))
}

fn envelope(status: StatusCode, kind: &str, message: &str, error: &Value) -> Refusal {
    let body = json!({ "type": kind, "code": status.as_u16(), "message": message, "errors": [error] });
    Refusal::new(status, json!({ "error": body }))
}
