//! Asking after a payment that was accepted and not yet made.
//!
//! A look, and nothing more: it reserves nothing, runs nothing, and is not in the wire log, which
//! is about requests to pay. Like a payment's, its answer carries the key's echo only if it is
//! stored under the key.

use axum::Json;
use axum::extract::State as Shared;
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde_json::json;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::App;
use crate::idempotency::{key, presented_key, scope, stored};
use crate::ledger::{Slot, Standing};
use crate::problem::{IN_PROGRESS_RETRY_AFTER_S, Problem};

pub(crate) const PATH: &str = "/payments/status";

/// What [`PATH`] serves. One address stands for all keys, so no cache may keep its answers.
pub(crate) fn route() -> MethodRouter<App> {
    get(look_up).layer(SetResponseHeaderLayer::overriding(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// The answer to a payment that will be made later: 202, where to ask, and when.
pub(crate) fn accepted() -> Response {
    ([(LOCATION, HeaderValue::from_static(PATH))], processing()).into_response()
}

/// `GET /payments/status`, with the `Idempotency-Key` and `Authorization` of the payment.
async fn look_up(Shared(app): Shared<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let presented = presented_key(&headers)?;
    let slot = Slot { key: key(&headers)?, scope: scope(&headers)? };
    match app.ledger.look_up(slot).await? {
        Standing::InProgress => Ok(processing()),
        Standing::Stored(answer) => Ok(stored(answer, presented, true)),
        Standing::Expired => Err(Problem::KeyExpired),
        Standing::Unknown => Err(Problem::UnknownKey),
    }
}

fn processing() -> Response {
    let retry_after = [(RETRY_AFTER, HeaderValue::from(IN_PROGRESS_RETRY_AFTER_S))];
    (StatusCode::ACCEPTED, retry_after, Json(json!({ "status": "processing" }))).into_response()
}
