//! What the app, or a person, decides about an intent after it was submitted.

use super::draft::Draft;
use super::refuse;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Refusal};
use crate::core::intent::{Cause, HeldReason, State};
use crate::core::journal::JournalEvent;
use crate::core::key::IntentId;
use crate::core::record::Stop;

/// Ends an intent, if it was provably never sent.
pub(super) fn cancel(draft: &mut Draft<'_>, id: &IntentId) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    // What was moved may be sent from where it went.
    let may_run = intent.maybe_sent() || intent.state.is_moved();
    if !intent.has_ended() && (!may_run || bug(Bug::CancelAfterSend)) {
        draft.settle(&mut intent, State::Cancelled)?;
        draft.put_intent(&intent);
    }
    let cancelled = intent.state == State::Cancelled;
    Ok(Applied::Cancelled { intent, cancelled })
}

/// Lets a held intent run again, with its key. What the claim judges stays judged there: a closed window holds it anew.
pub(super) fn resume(draft: &mut Draft<'_>, id: &IntentId) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    let now = draft.now();
    let State::Held { reason } = intent.state else {
        // It runs already: resuming twice is resuming once.
        let running = matches!(intent.state, State::Queued | State::Waiting { .. } | State::Accepted);
        return if running { Ok(Applied::Resumed(intent)) } else { refuse(Refusal::NotResumable(intent)) };
    };
    // What the server accepted is never sent again: it is looked for again, where that is possible.
    let accepted = reason == HeldReason::Accepted;
    if (reason == HeldReason::Moved && !bug(Bug::MovedGoesOn)) || (accepted && intent.polling.is_none()) {
        return refuse(Refusal::NotResumable(intent));
    }
    draft.journal(&mut intent, JournalEvent::Resumed { from: reason });
    // Somebody has just said that the decision stands.
    intent.renewed = Some(now);
    if let Some(polling) = &mut intent.polling {
        polling.looks = 0;
    }
    intent.state = match intent.maybe_sent() {
        _ if accepted => State::Accepted,
        true => State::Waiting { cause: Cause::Resumed },
        false => State::Queued,
    };
    intent.due_at_ms = Some(now.at_ms.max(intent.floor_at_ms.unwrap_or(0)));
    draft.put_intent(&intent);
    Ok(Applied::Resumed(intent))
}

/// Gives up on an intent whose outcome is unknown. One that was never sent is cancelled instead: that much is known.
pub(super) fn abandon(draft: &mut Draft<'_>, id: &IntentId, reason: &str) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    if !intent.has_ended() {
        draft.journal(&mut intent, JournalEvent::Abandoned { reason: reason.to_owned() });
        let state = if intent.maybe_sent() || intent.state.is_moved() { State::Abandoned } else { State::Cancelled };
        draft.settle(&mut intent, state)?;
        draft.put_intent(&intent);
    }
    Ok(Applied::Abandoned(intent))
}

/// Holds an intent that no attempt can help now. One that is being sent is left to its sender.
pub(super) fn hold(draft: &mut Draft<'_>, id: &IntentId, reason: HeldReason) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    let same = intent.state == State::Held { reason } || intent.state.is_moved();
    if !intent.has_ended() && draft.live_claim(&intent).is_none() && !same {
        draft.hold(&mut intent, reason);
        draft.put_intent(&intent);
    }
    Ok(Applied::Held(intent))
}
