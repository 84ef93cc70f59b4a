//! Asking after a payment that was accepted and not yet made.
//!
//! A look, and nothing more: it reserves nothing, runs nothing, and is not in the wire log, which
//! is about requests to pay. Like a payment's, its answer carries the key's echo only if it is
//! stored under the key.

use axum::extract::State as Shared;
use axum::http::header::{CACHE_CONTROL, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Extension, Json};
use serde_json::json;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::App;
use crate::caller::scope;
use crate::dialect::Dialect;
use crate::ledger::{Slot, Standing};
use crate::problem::{IN_PROGRESS_RETRY_AFTER_S, Problem};

pub(crate) const PATH: &str = "/payments/status";

/// What [`PATH`] serves. One address stands for all keys, so no cache may keep its answers.
pub(crate) fn route() -> MethodRouter<App> {
    get(look_up).layer(SetResponseHeaderLayer::overriding(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// The answer to a payment that will be made later: 202, where to ask, and when.
pub(crate) fn accepted(dialect: &Dialect) -> Response {
    let mut response = processing();
    if let Ok(location) = HeaderValue::from_str(&dialect.path(PATH)) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// `GET /payments/status`, with the key and the `Authorization` of the payment.
async fn look_up(
    Shared(app): Shared<App>,
    Extension(dialect): Extension<&'static Dialect>,
    headers: HeaderMap,
) -> Response {
    match standing(&app, dialect, &headers).await {
        Ok(answer) => answer,
        Err(problem) => dialect.refusal(problem).into_response(),
    }
}

async fn standing(app: &App, dialect: &'static Dialect, headers: &HeaderMap) -> Result<Response, Problem> {
    let key = dialect.key_asked_after(headers)?;
    let slot = Slot { dialect, scope: scope(headers)?, key: key.text.clone() };
    match app.ledger.look_up(slot).await? {
        Standing::InProgress => Ok(processing()),
        Standing::Stored(stored) => Ok(stored.repeated(dialect, Some(&key))),
        Standing::Expired => Err(Problem::KeyExpired),
        Standing::Sealed => Err(Problem::KeySealed),
        Standing::Unknown => Err(Problem::UnknownKey),
    }
}

fn processing() -> Response {
    let retry_after = [(RETRY_AFTER, HeaderValue::from(IN_PROGRESS_RETRY_AFTER_S))];
    (StatusCode::ACCEPTED, retry_after, Json(json!({ "status": "processing" }))).into_response()
}
