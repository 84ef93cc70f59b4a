//! Moving to another ledger, and taking over what comes from one (hazard L11). What was moved stays where it was, and is never
//! sent, polled or asked about from there again.

use super::draft::Draft;
use super::{lane, refuse};
use crate::core::change::{Applied, MoveOut, Receive, Refusal};
use crate::core::intent::{HeldReason, IntentRecord, State};
use crate::core::journal::JournalEvent;
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::parcel::{Journey, Packed, Parcel};
use crate::core::record::Stop;
use crate::core::shared::Shared;

/// Packs what is unfinished, or undelivered, and holds what is unfinished in the same transaction. What was packed before is
/// packed again as it was then, so that a parcel that is lost loses nothing. What is under a live claim is left: it may be on
/// its way.
pub(super) fn move_out(draft: &mut Draft<'_>, change: &MoveOut) -> Result<Applied, Stop> {
    let (mut items, mut moved, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for id in &change.intents {
        let mut intent = draft.intent(id)?;
        if intent.scope != change.scope {
            return refuse(Refusal::UnknownIntent);
        }
        let undelivered = intent.delivery.due_at_ms.is_some();
        if intent.erased.is_some() || (intent.has_ended() && !undelivered) {
            continue;
        }
        if draft.live_claim(&intent).is_some() && !intent.has_ended() {
            left.push(intent);
            continue;
        }
        items.push(Packed {
            payload: (*draft.payload(id)?).clone(),
            contract: (*draft.contract(&intent.contract)?).clone(),
            intent: as_it_was(&intent),
        });
        if !intent.has_ended() && intent.moved_from.is_none() {
            intent.moved_from = Some((intent.state.clone(), intent.due_at_ms));
            draft.hold(&mut intent, HeldReason::Moved);
            draft.put_intent(&intent);
        }
        moved.push(intent);
    }
    let parcel = Parcel { scope: change.scope.clone(), packed: draft.now(), items };
    Ok(Applied::MovedOut { parcel, moved, left })
}

/// Takes over a parcel, all of it or nothing. What is known already is done.
pub(super) fn receive(draft: &mut Draft<'_>, change: &Receive) -> Result<Applied, Stop> {
    let Parcel { scope, packed, items } = &change.parcel;
    if *scope != change.scope {
        return refuse(Refusal::ForeignParcel);
    }
    let journey = Journey::new(*packed, draft.now());
    let mut received = Vec::with_capacity(items.len());
    for item in items {
        if let Some(intent) = draft.find_intent(&item.intent.id)? {
            received.push(intent);
            continue;
        }
        check_reference(draft, &item.intent)?;
        let mut intent = Shared::new(item.intent.clone());
        journey.restamp(&mut intent);
        take_over(draft, &mut intent, change)?;
        draft.put_intent(&intent);
        draft.put_payload(&intent.id, Shared::new(item.payload.clone()));
        if draft.find_contract(&intent.contract)?.is_none() {
            draft.put_contract(&intent.contract, item.contract.clone().into());
        }
        received.push(intent);
    }
    Ok(Applied::Received(received))
}

/// Before it was held for the move, if it was.
fn as_it_was(intent: &IntentRecord) -> IntentRecord {
    let mut intent = intent.clone();
    intent.claim = None;
    // That stays here.
    intent.journal_entries = 0;
    let moved_from = intent.moved_from.take();
    if let Some((state, due_at_ms)) = moved_from.filter(|_| !intent.has_ended()) {
        (intent.state, intent.due_at_ms) = (state, due_at_ms);
    }
    intent
}

/// The same order must not be decided twice (law 3).
fn check_reference(draft: &Draft<'_>, intent: &IntentRecord) -> Result<(), Stop> {
    let Some(name) = intent.reference_name().filter(|_| intent.head_reference.is_some()) else { return Ok(()) };
    match draft.reference(&name)? {
        Some(there) => refuse(Refusal::ReferenceConflict(draft.intent(&there)?)),
        None => Ok(()),
    }
}

/// Its place in this ledger: behind all that is here.
fn take_over(draft: &mut Draft<'_>, intent: &mut Shared<IntentRecord>, change: &Receive) -> Result<(), Stop> {
    let mut counters = draft.counters(&change.scope)?;
    if counters.open >= OPEN_INTENTS_MAX && !intent.has_ended() {
        return refuse(Refusal::LedgerFull);
    }
    counters.submitted += 1;
    counters.open += u64::from(!intent.has_ended());
    draft.put_counters(&change.scope, counters);
    intent.sequence = counters.submitted;
    intent.delivery.submitted_by = change.realm.clone();
    intent.blocks = None;
    draft.journal(intent, JournalEvent::Received);
    if let Some(name) = intent.reference_name().filter(|_| intent.head_reference.is_some()) {
        draft.put_reference(name, intent.id.clone());
    }
    if intent.has_ended() {
        return Ok(());
    }
    // A place in a lane, and so a due time, that it was to wait for in the other ledger.
    let waits = matches!(intent.state, State::Queued | State::Waiting { .. } | State::Accepted);
    if waits && intent.due_at_ms.is_none() {
        intent.due_at_ms = Some(draft.now().at_ms.max(intent.floor_at_ms.unwrap_or(0)));
    }
    let place = intent.sequence;
    if let Some(at) = &mut intent.lane {
        at.place = place;
    }
    lane::enter(draft, intent)
}
