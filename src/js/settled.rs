//! What `settled()` answers, flat; the JavaScript face gives it the shape of its kind.

use wasm_bindgen::JsValue;

use crate::browser::codec::to_js;
use crate::core::contract::Answer;
use crate::core::intent::{Evidence, HeldReason, IntentRecord, Replay, State};
use crate::core::json::json;
use crate::core::snapshot::Snapshot;
use crate::core::time::Stamp;

struct Plain<'a> {
    kind: &'static str,
    intent: Snapshot,
    durable: bool,
    answer: Option<PlainAnswer<'a>>,
    replay: Option<Replay>,
    evidence: Option<Evidence>,
    reason: Option<HeldReason>,
    remedy: Option<&'static str>,
}

json!(write struct Plain<'a> { kind, intent, durable, answer, replay, evidence, reason, remedy });

struct PlainAnswer<'a> {
    status: u16,
    media_type: Option<&'a str>,
    body: Option<&'a str>,
    resource: Option<&'a str>,
}

json!(write struct PlainAnswer<'a> { status, media_type = "mediaType", body, resource });

impl<'a> PlainAnswer<'a> {
    fn of(answer: &'a Answer) -> Self {
        Self {
            status: answer.status,
            media_type: answer.media_type.as_deref(),
            body: answer.body.as_deref(),
            resource: answer.resource.as_deref(),
        }
    }
}

/// `{ status, mediaType, body, resource }`.
pub(super) fn plain_answer(answer: &Answer) -> JsValue {
    to_js(&PlainAnswer::of(answer))
}

/// Everything that is known of an intent now.
pub(super) fn plain(intent: &IntentRecord, now: &Stamp, durable: bool, answer: Option<&Answer>) -> JsValue {
    let (replay, evidence) = match &intent.state {
        State::Succeeded { replay, evidence } => (Some(*replay), Some(*evidence)),
        State::Rejected { evidence, .. } => (None, Some(*evidence)),
        _ => (None, None),
    };
    let reason = match &intent.state {
        State::Held { reason } => Some(*reason),
        _ => None,
    };
    let kind = match &intent.state {
        // Somebody has asked what became of it, and is told when that is known.
        State::Held { .. } if intent.reconciling.asked => "pending",
        State::Held { .. } => "held",
        state if state.is_terminal() => state.name(),
        _ => "pending",
    };
    let plain = Plain {
        kind,
        intent: Snapshot::of(intent, now),
        durable,
        answer: answer.map(PlainAnswer::of),
        replay,
        evidence,
        reason,
        remedy: reason.map(HeldReason::remedy),
    };
    to_js(&plain)
}
