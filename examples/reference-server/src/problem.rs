//! Refusals as RFC 9457 problems, told apart by their `type` and never by their text.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// Seconds a client should wait while another request with its key is running.
pub(crate) const IN_PROGRESS_RETRY_AFTER_S: u64 = 1;

/// Why a request did not run. Details are fixed sentences: nothing of the request is repeated in
/// them, because requests carry card tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    KeyMissing,
    KeyMalformed,
    Unauthorized,
    BadRequest(&'static str),
    PayloadMismatch,
    InProgress,
    KeyExpired,
    UnknownKey,
    Declined,
    Unavailable { retry_after_s: Option<u64> },
}

impl Problem {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyMalformed | Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::PayloadMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Self::InProgress => StatusCode::CONFLICT,
            Self::KeyExpired => StatusCode::GONE,
            Self::UnknownKey => StatusCode::NOT_FOUND,
            Self::Declined => StatusCode::PAYMENT_REQUIRED,
            Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) fn body(self) -> Value {
        json!({
            "type": format!("urn:intento:problem:{}", self.name()),
            "title": self.status().canonical_reason(),
            "status": self.status().as_u16(),
            "detail": self.detail(),
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::KeyMissing => "key-missing",
            Self::KeyMalformed => "key-malformed",
            Self::Unauthorized => "unauthorized",
            Self::BadRequest(_) => "bad-request",
            Self::PayloadMismatch => "payload-mismatch",
            Self::InProgress => "in-progress",
            Self::KeyExpired => "key-expired",
            Self::UnknownKey => "unknown-key",
            Self::Declined => "declined",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    fn detail(self) -> &'static str {
        match self {
            Self::KeyMissing => "Send an Idempotency-Key header of 16 to 255 characters.",
            Self::KeyMalformed => {
                "Send exactly one Idempotency-Key of 16 to 255 visible ASCII characters without a comma, raw or as a quoted string."
            }
            Self::Unauthorized => "Send Authorization: Bearer user:<name>, or no Authorization.",
            Self::BadRequest(detail) => detail,
            Self::PayloadMismatch => {
                "This key was used with another request. Nothing was changed; a new decision needs a new key."
            }
            Self::InProgress => "A request with this key is running. Send the same request again later.",
            Self::KeyExpired => {
                "This key was used and its answer is no longer kept. Look the payment up; do not pay again blindly."
            }
            Self::UnknownKey => {
                "Nothing of yours is kept under this key. A request on its way may still arrive, so send the payment with this key and no other."
            }
            Self::Declined => "The card was declined. Nothing was charged.",
            Self::Unavailable { .. } => "Send the same request again later, with the same key.",
        }
    }

    fn retry_after_s(self) -> Option<u64> {
        match self {
            Self::InProgress => Some(IN_PROGRESS_RETRY_AFTER_S),
            Self::Unavailable { retry_after_s } => retry_after_s,
            _ => None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self == Self::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
