//! Mollie: the first answer again, with a marker, for one hour.
//!
//! Unconfirmed: one hour (the published documentation says 24; the shorter is the dangerous one);
//! that "the initial response" includes a 500, which is the dangerous reading.

use axum::http::StatusCode;
use serde_json::json;

use super::{Dialect, Echo, HOUR, Keyless, Refusal, Repeated, Retention};
use crate::decide::{CAREFUL, PastRetention, Policy};
use crate::key::{Carrier, IDEMPOTENCY_KEY, KeyFormat, printable};
use crate::problem::Problem;

pub(super) static MOLLIE: Dialect = Dialect {
    name: "mollie",
    carrier: Carrier::Raw(IDEMPOTENCY_KEY),
    key: KeyFormat { chars: 1..=255, alphabet: printable },
    keyless: Keyless::Unprotected,
    retention: Retention::SinceFirst(HOUR),
    policy: Policy { past_retention: PastRetention::Forgotten, ..CAREFUL },
    created: StatusCode::CREATED,
    repeated: Repeated::Marked,
    echo: Echo::Never,
    refuse,
};

fn refuse(problem: Problem) -> Refusal {
    let status = match problem {
        Problem::PayloadMismatch => StatusCode::BAD_REQUEST,
        Problem::Declined => StatusCode::UNPROCESSABLE_ENTITY,
        _ => problem.status(),
    };
    let body = json!({
        "status": status.as_u16(),
        "title": status.canonical_reason(),
        "detail": problem.detail(),
    });
    Refusal::new(status, body)
}
