//! Asking what came of a payment, for the last word.
//!
//! Where nothing came of it, the question seals the key: a request still on its way will find the
//! seal and run nothing. Without that, "nothing happened" would be true for a moment only, and a
//! client that acts on it could pay twice.

use axum::extract::State as Shared;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::App;
use crate::answers::Answer;
use crate::caller::scope;
use crate::dialect::Dialect;
use crate::ledger::{Finding, Slot};
use crate::problem::Problem;

pub(crate) const PATH: &str = "/payments/lookup";

/// What [`PATH`] serves, in every contract alike: no provider has such an endpoint.
pub(crate) fn route() -> MethodRouter<App> {
    post(find_out).layer(SetResponseHeaderLayer::overriding(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// The body of the answer, `{"result": ..}`; always 200.
#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Found {
    Applied {
        response: Told,
    },
    NotApplied {
        sealed: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<Told>,
    },
    InProgress,
    Unknown,
}

/// The payment's own answer.
#[derive(Debug, Serialize)]
struct Told {
    status: u16,
    body: Value,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Applied(answer) => Self::Applied { response: answer.into() },
            Finding::NotApplied(answer) => Self::NotApplied { sealed: true, response: answer.map(Told::from) },
            Finding::InProgress => Self::InProgress,
            Finding::Unknown => Self::Unknown,
        }
    }
}

impl From<Answer> for Told {
    fn from(answer: Answer) -> Self {
        Self { status: answer.status, body: serde_json::from_slice(&answer.body).unwrap_or_default() }
    }
}

/// `POST /payments/lookup`, with the key and the `Authorization` of the payment. The body is not read.
async fn find_out(
    Shared(app): Shared<App>,
    Extension(dialect): Extension<&'static Dialect>,
    headers: HeaderMap,
) -> Response {
    match found(&app, dialect, &headers).await {
        Ok(found) => Json(found).into_response(),
        Err(problem) => dialect.refusal(problem).into_response(),
    }
}

async fn found(app: &App, dialect: &'static Dialect, headers: &HeaderMap) -> Result<Found, Problem> {
    let key = dialect.key_asked_after(headers)?;
    let slot = Slot { dialect, scope: scope(headers)?, key: key.text };
    Ok(app.ledger.find_out(slot).await?.into())
}
