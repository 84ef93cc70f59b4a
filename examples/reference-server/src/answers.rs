//! From what a run came to, to the answer that its contract gives: the first time and ever after.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::decide::End;
use crate::dialect::{Dialect, Echo, JSON, Refusal, Repeated};
use crate::key::{IDEMPOTENCY_KEY, Key};
use crate::payments::Charge;
use crate::problem::Problem;

pub(crate) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// An HTTP answer as it is stored: a replay sends these bytes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// What is kept of a run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) end: End,
    pub(crate) answer: Answer,
    /// The charge that the server knows of.
    pub(crate) charge: Option<Charge>,
}

impl Stored {
    pub(crate) fn applied(dialect: &Dialect, charge: Charge) -> Self {
        let answer = Answer::json(dialect.created, &receipt(&charge, "paid"));
        Self { end: End::Applied, answer, charge: Some(charge) }
    }

    pub(crate) fn refused(dialect: &Dialect) -> Self {
        let answer = Answer::refusal(&dialect.refusal(Problem::Declined));
        Self { end: End::Refused, answer, charge: None }
    }

    pub(crate) fn unknown(dialect: &Dialect) -> Self {
        let answer = Answer::refusal(&dialect.refusal(Problem::OutcomeUnknown));
        Self { end: End::Unknown, answer, charge: None }
    }

    /// To the request that ran.
    pub(crate) fn first(self, dialect: &Dialect, key: Option<&Key>) -> Response {
        let headers = self.headers(dialect);
        let mut response = self.answer.into_response();
        response.headers_mut().extend(headers);
        echo(&mut response, dialect, key, Echo::Stored);
        response
    }

    /// To every repetition.
    pub(crate) fn repeated(self, dialect: &Dialect, key: Option<&Key>) -> Response {
        let mut response = match (dialect.repeated, &self.charge) {
            (Repeated::CurrentState(status), Some(charge)) => {
                Answer::json(status, &receipt(charge, "settled")).into_response()
            }
            (Repeated::Conflict(refuse), Some(charge)) => refuse(&charge.id).into_response(),
            (Repeated::CurrentState(_) | Repeated::Conflict(_), None) | (Repeated::Original | Repeated::Marked, _) => {
                return self.original(dialect, key);
            }
        };
        echo(&mut response, dialect, key, Echo::Stored);
        response
    }

    fn original(self, dialect: &Dialect, key: Option<&Key>) -> Response {
        let mut response = self.first(dialect, key);
        if matches!(dialect.repeated, Repeated::Marked) {
            response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }

    /// Of a refusal; they follow from what it says and are not stored.
    fn headers(&self, dialect: &Dialect) -> HeaderMap {
        let problem = match self.end {
            End::Applied => return HeaderMap::new(),
            End::Refused => Problem::Declined,
            End::Unknown => Problem::OutcomeUnknown,
        };
        dialect.refusal(problem).headers.into_iter().collect()
    }
}

/// The receipt of a charge whose answer is no longer kept.
pub(crate) fn receipt_of(dialect: &Dialect, charge: &Charge) -> Answer {
    Answer::json(dialect.created, &receipt(charge, "paid"))
}

/// Repeats the key on an answer, if the contract does so on answers of this kind.
pub(crate) fn echo(response: &mut Response, dialect: &Dialect, key: Option<&Key>, kind: Echo) {
    let due = match dialect.echo {
        Echo::Never => false,
        Echo::Stored => kind == Echo::Stored,
        Echo::Processed => true,
    };
    if due && let Some(presented) = key.and_then(|key| key.presented.clone()) {
        response.headers_mut().insert(IDEMPOTENCY_KEY, presented);
    }
}

fn receipt(charge: &Charge, status: &str) -> Value {
    json!({ "id": charge.id, "status": status, "amount": charge.amount, "currency": charge.currency })
}

impl Answer {
    fn json(status: StatusCode, body: &Value) -> Self {
        Self { status: status.as_u16(), content_type: JSON.to_owned(), body: body.to_string().into_bytes() }
    }

    fn refusal(refusal: &Refusal) -> Self {
        Self { content_type: refusal.content_type.to_owned(), ..Self::json(refusal.status, &refusal.body) }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Ok(content_type) = HeaderValue::from_str(&self.content_type) {
            response.headers_mut().insert(CONTENT_TYPE, content_type);
        }
        response
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Answer::refusal(&self).into_response();
        response.headers_mut().extend(self.headers.into_iter().collect::<HeaderMap>());
        response
    }
}
