//! Why a request did not run: one list for all contracts, told apart by type and never by text.

use axum::http::StatusCode;

/// Seconds a client should wait while another request with its key is running.
pub(crate) const IN_PROGRESS_RETRY_AFTER_S: u64 = 1;

/// A refusal before its contract has given it a shape. Details are fixed sentences: nothing of the
/// request is repeated in them, because requests carry card tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    KeyMissing,
    KeyMalformed,
    Unauthorized,
    BadRequest(&'static str),
    PayloadMismatch,
    InProgress,
    KeyExpired,
    KeySealed,
    UnknownKey,
    Declined,
    /// The processor broke, and whether it charged is not known.
    OutcomeUnknown,
    /// The handler failed and nothing happened; the key is free.
    Transient,
    /// From in front of the idempotency layer, or because that layer cannot work.
    Unavailable {
        retry_after_s: Option<u64>,
    },
}

impl Problem {
    /// The status that HTTP has for it. A contract may have another.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyMalformed | Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::PayloadMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Self::InProgress => StatusCode::CONFLICT,
            Self::KeyExpired | Self::KeySealed => StatusCode::GONE,
            Self::UnknownKey => StatusCode::NOT_FOUND,
            Self::Declined => StatusCode::PAYMENT_REQUIRED,
            Self::OutcomeUnknown => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Transient | Self::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) fn detail(self) -> &'static str {
        match self {
            Self::KeyMissing => "Send an idempotency key.",
            Self::KeyMalformed => "Send exactly one idempotency key, of the length and form that this endpoint takes.",
            Self::Unauthorized => "Send Authorization: Bearer user:<name>, or no Authorization.",
            Self::BadRequest(detail) => detail,
            Self::PayloadMismatch => {
                "This key was used with another request. Nothing was changed; a new decision needs a new key."
            }
            Self::InProgress => "A request with this key is running. Send the same request again later.",
            Self::KeyExpired => {
                "This key was used and its answer is no longer kept. Look the payment up; do not pay again blindly."
            }
            Self::KeySealed => "Nothing was paid under this key and nothing will be: a lookup said so and sealed it.",
            Self::UnknownKey => {
                "Nothing of yours is kept under this key. A request on its way may still arrive, so send the payment with this key and no other."
            }
            Self::Declined => "The card was declined. Nothing was charged.",
            Self::OutcomeUnknown => {
                "The processor's reply was lost. Whether it charged is not known here; do not pay again blindly."
            }
            Self::Transient | Self::Unavailable { .. } => "Send the same request again later, with the same key.",
        }
    }
}
