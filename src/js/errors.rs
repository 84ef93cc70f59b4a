//! Errors as plain objects; the JavaScript face makes its one error class of them.

use wasm_bindgen::JsValue;

use crate::browser::codec::to_js;
use crate::core::change::Refusal;
use crate::core::error::{Error, ErrorCode};
use crate::core::input::CommitError;
use crate::core::json::json;
use crate::core::snapshot::Snapshot;
use crate::core::time::Stamp;

struct PlainError {
    code: &'static str,
    blame: &'static str,
    remedy: &'static str,
    detail: Option<String>,
    existing: Option<Snapshot>,
    conflicting: Option<Snapshot>,
}

json!(write struct PlainError { code, blame, remedy, detail, existing, conflicting });

/// `{ code, blame, remedy, detail, existing, conflicting }`.
pub(super) fn plain(error: &Error, now: &Stamp) -> JsValue {
    let plain = PlainError {
        code: error.code.as_str(),
        blame: error.code.blame().as_str(),
        remedy: error.code.remedy(),
        detail: error.detail.clone(),
        existing: error.existing.as_ref().map(|intent| Snapshot::of(intent, now)),
        conflicting: error.conflicting.as_ref().map(|intent| Snapshot::of(intent, now)),
    };
    to_js(&plain)
}

/// What a caller's change failed by.
pub(super) fn of_commit(error: CommitError) -> Error {
    match error {
        CommitError::Failed => ErrorCode::StorageFailed.into(),
        CommitError::Unknown => ErrorCode::CommitUnknown.into(),
        CommitError::Unreadable => ErrorCode::LedgerUnreadable.into(),
        CommitError::Refused(refusal) => match refusal {
            Refusal::ReferenceConflict(existing) => {
                Error { existing: Some(existing), ..Error::new(ErrorCode::ReferenceConflict) }
            }
            Refusal::NotReplaceable(existing) => {
                Error { existing: Some(existing), ..Error::new(ErrorCode::NotReplaceable) }
            }
            Refusal::NotResumable(existing) => {
                Error { existing: Some(existing), ..Error::new(ErrorCode::NotResumable) }
            }
            Refusal::NotReconcilable(existing) => {
                Error { existing: Some(existing), ..Error::new(ErrorCode::NotReconcilable) }
            }
            Refusal::AdoptConflict { theirs, ours } => {
                Error { existing: Some(ours), conflicting: Some(theirs), ..Error::new(ErrorCode::ReferenceConflict) }
            }
            Refusal::ForeignParcel => ErrorCode::ParcelForeign.into(),
            Refusal::LedgerFull => ErrorCode::LedgerFull.into(),
            Refusal::LaneFull => ErrorCode::LaneFull.into(),
            Refusal::UnknownIntent => ErrorCode::UnknownIntent.into(),
            Refusal::Undecodable | Refusal::Inconsistent => ErrorCode::LedgerUnreadable.into(),
            // Refusals of claims; no caller makes one.
            Refusal::Leased { .. } | Refusal::NotBefore { .. } | Refusal::WrongState(_) => ErrorCode::EngineDead.into(),
        },
    }
}
