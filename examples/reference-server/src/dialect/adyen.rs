//! Adyen Checkout.
//!
//! `transient-error: true` frees the key; an error without it is final and kept, even where the
//! payment may have gone through. A request in progress is a 422, the status of a refused payment.
//! The key is repeated on everything that was processed under it, which is no proof of a replay.
//!
//! Unconfirmed: another payload under the same key is documented nowhere, so it gets the first
//! answer here; seven days of retention is the shorter of the documented variants; the code of a
//! refused payment (a refused card is often a 200 whose `resultCode` says so, which is a success
//! at this level).

use axum::http::{HeaderName, StatusCode};
use serde_json::json;

use super::{DAY, Dialect, Echo, Keyless, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, OtherPayload, PastRetention, Policy};
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, printable};
use crate::problem::Problem;

pub(super) const TRANSIENT_ERROR: HeaderName = HeaderName::from_static("transient-error");
const RETENTION_DAYS: u32 = 7;

pub(super) static ADYEN: Dialect = Dialect {
    name: "adyen",
    carrier: Carrier::Raw(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=64, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(DAY.saturating_mul(RETENTION_DAYS)),
    policy: Policy { other_payload: OtherPayload::Unnoticed, past_retention: PastRetention::Forgotten, ..CAREFUL },
    created: StatusCode::OK,
    repeated: Repeated::Original,
    echo: Echo::Processed,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let status = match problem {
        Problem::InProgress | Problem::Declined => StatusCode::UNPROCESSABLE_ENTITY,
        Problem::Transient => StatusCode::INTERNAL_SERVER_ERROR,
        _ => problem.status(),
    };
    let (code, kind) = match problem {
        Problem::InProgress => ("704", "validation"),
        Problem::Declined => ("14_030", "validation"),
        Problem::Unauthorized => ("000", "security"),
        Problem::OutcomeUnknown | Problem::Transient => ("000", "internal"),
        // The store of keys is down.
        Problem::Unavailable { .. } => ("703", "internal"),
        Problem::KeySealed => ("key_sealed", "validation"),
        _ => ("000", "validation"),
    };
    let body = json!({
        "status": status.as_u16(),
        "errorCode": code,
        "errorType": kind,
        "message": problem.detail(),
    });
    let refusal = Refusal::new(status, body);
    match problem {
        Problem::InProgress | Problem::Transient => refusal.with(TRANSIENT_ERROR, "true"),
        _ => refusal,
    }
}
