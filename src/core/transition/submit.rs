//! Submitting: one decision becomes one intent, however often it is made.

use super::draft::Draft;
use super::{lane, refuse};
use crate::core::attempt::History;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Refusal, Replace, Submit};
use crate::core::intent::{Delivery, IntentRecord, LanePlace, Reconciling, State};
use crate::core::journal::JournalEvent;
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::record::{Payload, RecordKey, ReferenceName, Stop};
use crate::core::shared::Shared;

/// Same scope, operation and reference is the same intent; with another fingerprint it is a conflict.
pub(super) fn submit(draft: &mut Draft<'_>, submit: &Submit) -> Result<Applied, Stop> {
    let name = reference_name(submit);

    // This very change ran before: its id is known (P1.1).
    if let Some(intent) = draft.find_intent(&submit.intent)?.filter(|_| !bug(Bug::RerunCreatesAgain)) {
        return Ok(Applied::Submitted { intent, created: true });
    }
    if let Some(name) = &name
        && let Some(head) = draft.reference(name)?
        && !bug(Bug::ReferenceIgnored)
    {
        let Some(intent) = draft.find_intent(&head)? else { return refuse(Refusal::Inconsistent) };
        if intent.scope == submit.scope {
            return same_decision(intent, submit);
        }
        return in_place_of_a_foreign_one(draft, intent, submit);
    }
    let intent = create(draft, submit, None)?;
    Ok(Applied::Submitted { intent, created: true })
}

/// The reference names an intent that was adopted by another scope, or sent under it: the order must not be paid twice
/// (P8.2). Once it is proved that nothing came of that one and nothing will, this is its successor, the only one.
fn in_place_of_a_foreign_one(
    draft: &mut Draft<'_>,
    mut foreign: Shared<IntentRecord>,
    submit: &Submit,
) -> Result<Applied, Stop> {
    if !foreign.state.safe_to_replace() || foreign.successor.is_some() {
        return refuse(Refusal::ReferenceConflict(foreign));
    }
    let reason = "decided again in another scope".to_owned();
    draft.journal(&mut foreign, JournalEvent::Replaced { successor: submit.intent.clone(), reason });
    foreign.successor = Some(submit.intent.clone());
    draft.put_intent(&foreign);
    let intent = create(draft, submit, Some(&foreign))?;
    Ok(Applied::Submitted { intent, created: true })
}

/// A successor: granted once, and only after a definite outcome without an effect (law 3). The reference then names it.
pub(super) fn replace(draft: &mut Draft<'_>, replace: &Replace) -> Result<Applied, Stop> {
    let submit = &replace.successor;
    let name = reference_name(submit);
    if let Some(intent) = draft.find_intent(&submit.intent)? {
        return Ok(Applied::Submitted { intent, created: true });
    }
    let mut predecessor = draft.intent(&replace.predecessor)?;
    if predecessor.scope != submit.scope {
        return refuse(Refusal::UnknownIntent);
    }
    if predecessor.operation != submit.operation || predecessor.reference != submit.reference {
        return refuse(Refusal::Inconsistent);
    }
    if let Some(successor) = predecessor.successor.as_ref().filter(|_| !bug(Bug::TwoSuccessors)) {
        let Some(successor) = draft.find_intent(successor)? else { return refuse(Refusal::Inconsistent) };
        if successor.scope != submit.scope {
            return refuse(Refusal::ReferenceConflict(successor));
        }
        return same_decision(successor, submit);
    }
    if !predecessor.state.safe_to_replace() && !bug(Bug::SuccessorWhileUnknown) {
        return refuse(Refusal::NotReplaceable(predecessor));
    }
    // The end of a chain is what its reference names.
    if let Some(name) = &name
        && draft.reference(name)?.as_ref() != Some(&predecessor.id)
        && !bug(Bug::TwoSuccessors)
    {
        return refuse(Refusal::Inconsistent);
    }
    let replaced = JournalEvent::Replaced { successor: submit.intent.clone(), reason: replace.reason.clone() };
    draft.journal(&mut predecessor, replaced);
    predecessor.successor = Some(submit.intent.clone());
    predecessor.head_reference = None;
    draft.put_intent(&predecessor);
    let intent = create(draft, submit, Some(&predecessor))?;
    Ok(Applied::Submitted { intent, created: true })
}

/// What every new intent is decided on.
pub(super) fn needs(submit: &Submit) -> Vec<RecordKey> {
    let mut needs = vec![
        RecordKey::Intent(submit.intent.clone()),
        RecordKey::Counters(submit.scope.clone()),
        RecordKey::Contract(submit.contract.hash.clone()),
    ];
    needs.extend(reference_name(submit).map(RecordKey::Reference));
    needs
}

fn same_decision(intent: Shared<IntentRecord>, submit: &Submit) -> Result<Applied, Stop> {
    if intent.fingerprint == submit.fingerprint || bug(Bug::FingerprintIgnored) {
        Ok(Applied::Submitted { intent, created: false })
    } else {
        refuse(Refusal::ReferenceConflict(intent))
    }
}

fn create(
    draft: &mut Draft<'_>,
    submit: &Submit,
    predecessor: Option<&IntentRecord>,
) -> Result<Shared<IntentRecord>, Stop> {
    let name = reference_name(submit);
    let mut counters = draft.counters(&submit.scope)?;
    if counters.open >= OPEN_INTENTS_MAX {
        return refuse(Refusal::LedgerFull);
    }
    counters.open += 1;
    counters.submitted += 1;
    draft.put_counters(&submit.scope, counters);

    let mut intent = Shared::new(new_intent(draft, submit, name.as_ref(), counters.submitted));
    draft.journal(&mut intent, JournalEvent::Submitted);
    if submit.card_data {
        draft.journal(&mut intent, JournalEvent::CardDataAllowed);
    }
    if let Some(predecessor) = predecessor {
        draft.journal(&mut intent, JournalEvent::Replaces { predecessor: predecessor.id.clone() });
        intent.predecessor = Some(predecessor.id.clone());
        // A successor takes its predecessor's place, in the lane too.
        if predecessor.scope == intent.scope && !bug(Bug::SuccessorOutOfLane) {
            intent.lane = predecessor.lane.clone();
        }
    }
    lane::enter(draft, &mut intent)?;
    draft.put_intent(&intent);
    draft.put_payload(&intent.id, Shared::new(Payload { body: submit.body.clone(), answer: None }));
    if draft.find_contract(&submit.contract.hash)?.is_none() {
        draft.put_contract(&submit.contract.hash, submit.contract.contract.clone());
    }
    if let Some(name) = name {
        draft.put_reference(name, intent.id.clone());
    }
    Ok(intent)
}

fn reference_name(submit: &Submit) -> Option<ReferenceName> {
    submit.reference.as_ref().map(|reference| ReferenceName::new(&submit.scope, &submit.operation, reference))
}

fn new_intent(draft: &Draft<'_>, submit: &Submit, name: Option<&ReferenceName>, sequence: u64) -> IntentRecord {
    let now = draft.now();
    IntentRecord {
        id: submit.intent.clone(),
        scope: submit.scope.clone(),
        operation: submit.operation.clone(),
        reference: submit.reference.clone(),
        head_reference: name.map(|name| name.0.clone()),
        sequence,
        lane: submit.lane.clone().map(|lane| LanePlace { lane, place: sequence }),
        created: now,
        renewed: None,
        key: submit.key.clone(),
        carrier: Shared::new(submit.contract.contract.carrier.clone()),
        has_lookup: submit.contract.contract.reconcile.is_some(),
        contract: submit.contract.hash.clone(),
        fingerprint: submit.fingerprint.clone(),
        request: Shared::new(submit.request.clone()),
        expires_in_ms: submit.expires_in_ms,
        state: State::Queued,
        due_at_ms: Some(now.at_ms),
        floor_at_ms: None,
        claim: None,
        fence: 0,
        history: History::default(),
        first_sent: None,
        window: None,
        polling: None,
        reconciling: Reconciling::default(),
        delivery: Delivery { submitted_by: submit.realm.clone(), due_at_ms: None, tries: 0, acknowledged: None },
        predecessor: None,
        successor: None,
        contradicted: false,
        journal_entries: 0,
        erased: None,
        blocks: None,
        moved_from: None,
    }
}
