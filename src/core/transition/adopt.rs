//! Adopting: a guest signs in, and what was decided as a guest belongs to the account (P8.2).

use super::draft::Draft;
use super::{lane, refuse};
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Adopt, Applied, Refusal};
use crate::core::intent::IntentRecord;
use crate::core::journal::JournalEvent;
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::record::{ReferenceName, Stop};
use crate::core::shared::Shared;

/// What was provably never sent changes its scope. What may have been sent keeps the scope, and so the credentials, that
/// it was sent with; its reference is blocked in both scopes, or the same order could be paid twice. What waits in a lane
/// behind another that has not moved stays with it, and can be adopted later. All or nothing.
pub(super) fn adopt(draft: &mut Draft<'_>, change: &Adopt) -> Result<Applied, Stop> {
    let (mut moved, mut left) = (Vec::new(), Vec::new());
    for id in &change.intents {
        let mut intent = draft.intent(id)?;
        if intent.scope == change.to {
            // This very change ran before (P1.1).
            moved.push(intent);
            continue;
        }
        if intent.scope != change.from {
            return refuse(Refusal::UnknownIntent);
        }
        if intent.state.safe_to_replace() {
            // Nothing came of it, and nothing will: it stands in nobody's way.
            continue;
        }
        let sent = intent.maybe_sent() && !bug(Bug::AdoptTakesSent);
        let stays = intent.has_ended() || sent || !lane::is_in_turn(draft, &intent)?;
        if !(stays && bug(Bug::AdoptLeavesReference)) {
            take_reference(draft, &intent, change)?;
        }
        if stays {
            if intent.blocks.is_none() {
                intent.blocks = Some(change.to.clone());
                draft.put_intent(&intent);
            }
            left.push(intent);
        } else {
            rescope(draft, &mut intent, change)?;
            moved.push(intent);
        }
    }
    Ok(Applied::Adopted { moved, left })
}

fn take_reference(draft: &mut Draft<'_>, intent: &Shared<IntentRecord>, change: &Adopt) -> Result<(), Stop> {
    // Only the head of a chain stands for its reference (P1.5).
    if intent.head_reference.is_none() {
        return Ok(());
    }
    let Some(name) = name_in(intent, change) else { return Ok(()) };
    match draft.reference(&name)? {
        Some(there) if there != intent.id => {
            let ours = draft.intent(&there)?;
            refuse(Refusal::AdoptConflict { theirs: intent.clone(), ours })
        }
        _ => {
            draft.put_reference(name, intent.id.clone());
            Ok(())
        }
    }
}

fn rescope(draft: &mut Draft<'_>, intent: &mut Shared<IntentRecord>, change: &Adopt) -> Result<(), Stop> {
    let mut from = draft.counters(&change.from)?;
    let mut to = draft.counters(&change.to)?;
    if to.open >= OPEN_INTENTS_MAX {
        return refuse(Refusal::LedgerFull);
    }
    from.open = from.open.saturating_sub(1);
    to.open += 1;
    to.submitted += 1;
    intent.sequence = to.submitted;
    draft.put_counters(&change.from, from);
    draft.put_counters(&change.to, to);
    draft.journal(intent, JournalEvent::Adopted { from: change.from.clone() });
    intent.head_reference = intent.head_reference.as_ref().and(name_in(intent, change)).map(|name| name.0);
    lane::leave(draft, intent)?;
    intent.scope = change.to.clone();
    let place = intent.sequence;
    if let Some(at) = &mut intent.lane {
        at.place = place;
    }
    lane::enter(draft, intent)?;
    draft.put_intent(intent);
    Ok(())
}

fn name_in(intent: &IntentRecord, change: &Adopt) -> Option<ReferenceName> {
    let reference = intent.reference.as_ref()?;
    Some(ReferenceName::new(&change.to, &intent.operation, reference))
}
