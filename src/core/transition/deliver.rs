//! Handing outcomes to the app: once in normal running, at least once whatever happens (P7).

use super::draft::Draft;
use super::refuse;
use crate::core::backoff::backoff_ms;
use crate::core::change::{Applied, Delivered, Refusal, TakeClaim};
use crate::core::intent::{IntentRecord, Purpose};
use crate::core::journal::JournalEvent;
use crate::core::key::IntentId;
use crate::core::limits::{DELIVER_AGAIN_MIN_MS, DELIVER_PRECEDENCE_MS};
use crate::core::record::Stop;
use crate::core::shared::Shared;
use crate::core::time::Stamp;

/// May this realm hand the outcome over now? The one that submitted the intent is the first to try.
pub(super) fn check(intent: &Shared<IntentRecord>, take: &TakeClaim, now: &Stamp) -> Result<(), Stop> {
    let Some(due_at_ms) = intent.delivery.due_at_ms else {
        return refuse(Refusal::WrongState(intent.clone()));
    };
    let others_wait = intent.delivery.tries == 0 && intent.delivery.submitted_by != take.owner;
    let at_ms = due_at_ms.saturating_add(if others_wait { DELIVER_PRECEDENCE_MS } else { 0 });
    if now.at_ms < at_ms { refuse(Refusal::NotBefore { at_ms }) } else { Ok(()) }
}

/// The handler's word. One that comes after its lease is too late: somebody else may be handing it over.
pub(super) fn delivered(draft: &mut Draft<'_>, change: &Delivered) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&change.intent)?;
    let now = draft.now();
    let current = intent.claim.as_ref().is_some_and(|claim| claim.purpose == Purpose::Deliver);
    if current && intent.fence == change.fence {
        draft.journal(&mut intent, JournalEvent::Delivered { ok: change.ok });
        intent.claim = None;
        if change.ok {
            intent.delivery.acknowledged = Some(now);
            intent.delivery.due_at_ms = None;
        } else {
            let pause_ms = backoff_ms(intent.delivery.tries, change.jitter).max(DELIVER_AGAIN_MIN_MS);
            intent.delivery.due_at_ms = Some(now.at_ms.saturating_add(pause_ms));
        }
        draft.put_intent(&intent);
    }
    Ok(Applied::Delivered(intent))
}

/// The app has the outcome by other means. A handler that is at work finishes first.
pub(super) fn acknowledge(draft: &mut Draft<'_>, id: &IntentId) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    let now = draft.now();
    if intent.delivery.due_at_ms.is_some() && draft.live_claim(&intent).is_none() {
        draft.journal(&mut intent, JournalEvent::Acknowledged);
        intent.delivery.acknowledged = Some(now);
        intent.delivery.due_at_ms = None;
        draft.put_intent(&intent);
    }
    Ok(Applied::Delivered(intent))
}
