//! PayPal Orders v2: a repetition gets the state of now, under another status than the first.
//!
//! Unconfirmed: the status of `PAYPAL_REQUEST_ID_PREVIOUSLY_USED`, documented for another product;
//! that a refused request runs again, which follows from "latest status" and is the dangerous
//! reading; a key longer than 38 is refused, though some descriptions allow more.

use axum::http::{HeaderName, StatusCode};
use serde_json::json;

use super::{Dialect, Echo, HOUR, Keyless, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, PastRetention, Policy, Repetition};
use crate::key::{Carrier, KeyFormat, printable};
use crate::problem::Problem;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("paypal-request-id");
const RETENTION_HOURS: u32 = 6;

pub(super) static PAYPAL: Dialect = Dialect {
    name: "paypal",
    carrier: Carrier::Raw(REQUEST_ID),
    key: KeyFormat { chars: 1..=38, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(HOUR.saturating_mul(RETENTION_HOURS)),
    policy: Policy {
        after_refusal: Repetition::Executed,
        after_unknown: Repetition::Executed,
        past_retention: PastRetention::Forgotten,
        ..CAREFUL
    },
    created: StatusCode::CREATED,
    repeated: Repeated::CurrentState(StatusCode::OK),
    echo: Echo::Never,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let (status, name, issue) = match problem {
        Problem::InProgress => (problem.status(), "RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS"),
        Problem::PayloadMismatch => (problem.status(), "UNPROCESSABLE_ENTITY", "PAYPAL_REQUEST_ID_PREVIOUSLY_USED"),
        Problem::Declined => (StatusCode::UNPROCESSABLE_ENTITY, "UNPROCESSABLE_ENTITY", "INSTRUMENT_DECLINED"),
        Problem::KeySealed => (problem.status(), "RESOURCE_GONE", "KEY_SEALED"),
        Problem::KeyExpired => (problem.status(), "RESOURCE_GONE", "KEY_EXPIRED"),
        Problem::UnknownKey => (problem.status(), "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID"),
        Problem::Unauthorized => (problem.status(), "AUTHENTICATION_FAILURE", "INVALID_TOKEN"),
        Problem::OutcomeUnknown => (problem.status(), "INTERNAL_SERVER_ERROR", "INTERNAL_SERVER_ERROR"),
        Problem::Transient | Problem::Unavailable { .. } => {
            (problem.status(), "SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE")
        }
        Problem::KeyMissing | Problem::KeyMalformed | Problem::BadRequest(_) => {
            (problem.status(), "INVALID_REQUEST", "INVALID_PARAMETER_SYNTAX")
        }
    };
    let detail = json!({ "issue": issue, "description": problem.detail() });
    Refusal::new(status, json!({ "name": name, "message": problem.detail(), "details": [detail] }))
}
