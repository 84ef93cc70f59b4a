//! Lanes: the intents of one lane of a scope are sent one after the other, in the order of their places. The first is due; the
//! others are not, until what was before them has ended or was skipped, in that same transaction.

use super::draft::Draft;
use super::refuse;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Refusal};
use crate::core::intent::{HeldReason, IntentRecord, Purpose, State};
use crate::core::journal::JournalEvent;
use crate::core::key::IntentId;
use crate::core::limits::LANE_LENGTH_MAX;
use crate::core::record::Stop;
use crate::core::shared::Shared;

/// Lines an unsent intent up in its lane, if it has one. It waits behind all with an earlier place, and behind a first one
/// that may have been sent, or cannot be read.
pub(super) fn enter(draft: &mut Draft<'_>, intent: &mut Shared<IntentRecord>) -> Result<(), Stop> {
    let Some((key, mut place)) = intent.lane_key().zip(intent.lane.as_ref().map(|at| at.place)) else { return Ok(()) };
    let mut lane = draft.lane(&key)?;
    if lane.len() >= LANE_LENGTH_MAX {
        return refuse(Refusal::LaneFull);
    }
    let mut turn = lane.partition_point(|(before, _)| *before <= place);
    if let Some((taken, first)) = lane.first().filter(|_| turn == 0) {
        match draft.intent(first) {
            Ok(mut first) if !first.maybe_sent() => {
                first.due_at_ms = None;
                draft.put_intent(&first);
            }
            Err(unread @ Stop::Unread(_)) => return Err(unread),
            // Right behind it, for good: should it come out that it was not sent, it still goes first.
            Ok(_) | Err(Stop::Refused(_)) => (turn, place) = (1, *taken),
        }
    }
    if let Some(at) = &mut intent.lane {
        at.place = place;
    }
    if turn > 0 && !bug(Bug::LaneOvertakes) {
        intent.due_at_ms = None;
    }
    lane.insert(turn, (place, intent.id.clone()));
    draft.put_lane(key, lane);
    Ok(())
}

/// Takes an intent out of its lane. If it was the first, the next one is due. One that cannot be read stays first, and what
/// is behind it waits: nobody knows what became of it.
pub(super) fn leave(draft: &mut Draft<'_>, intent: &IntentRecord) -> Result<(), Stop> {
    let Some(key) = intent.lane_key() else { return Ok(()) };
    let mut lane = draft.lane(&key)?;
    let was_first = lane.first().is_some_and(|(_, first)| *first == intent.id);
    lane.retain(|(_, id)| *id != intent.id);
    if let Some((_, next)) = lane.first().filter(|_| was_first && !bug(Bug::LaneForgotten)) {
        match draft.intent(next) {
            Ok(mut next) => {
                let held_for_credentials = next.state == State::Held { reason: HeldReason::Auth };
                if Purpose::Send.allows(&next.state) || held_for_credentials {
                    next.due_at_ms = Some(draft.now().at_ms.max(next.floor_at_ms.unwrap_or(0)));
                    draft.put_intent(&next);
                }
            }
            Err(unread @ Stop::Unread(_)) => return Err(unread),
            Err(Stop::Refused(_)) => {}
        }
    }
    draft.put_lane(key, lane);
    Ok(())
}

/// May it be sent, as far as its lane goes?
pub(super) fn is_in_turn(draft: &Draft<'_>, intent: &IntentRecord) -> Result<bool, Stop> {
    let Some(key) = intent.lane_key().filter(|_| !bug(Bug::LaneOvertakes)) else { return Ok(true) };
    Ok(draft.lane(&key)?.iter().skip(1).all(|(_, id)| *id != intent.id))
}

/// Takes a held intent out of its lane for good: the others go on, and it is sent beside them, if ever. What is not held
/// keeps its place.
pub(super) fn skip(draft: &mut Draft<'_>, id: &IntentId) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    if intent.lane.is_some() && matches!(intent.state, State::Held { .. }) {
        leave(draft, &intent)?;
        draft.journal(&mut intent, JournalEvent::Skipped);
        intent.lane = None;
        draft.put_intent(&intent);
    }
    Ok(Applied::Skipped(intent))
}
