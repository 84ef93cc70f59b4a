//! Taking away what is stored of intents (law 8): at the app's word (P8.3), or long after the outcome was delivered. What may
//! have been sent stays as a tombstone, so that its reference makes no second effect.

use super::draft::Draft;
use super::refuse;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Purge, Refusal};
use crate::core::intent::{IntentRecord, Request, State};
use crate::core::journal::JournalEvent;
use crate::core::key::IntentId;
use crate::core::limits::{FINISHED_KEPT_MS, TOMBSTONE_KEPT_MS};
use crate::core::record::{Payload, Stop};
use crate::core::shared::Shared;
use crate::core::time::Stamp;

/// Whatever they are, undelivered outcomes included. One that may have been sent, or may be on its way under a live claim,
/// becomes a tombstone: with its outcome if it has a definite one, else `abandoned`. What was never sent leaves nothing.
pub(super) fn purge(draft: &mut Draft<'_>, change: &Purge) -> Result<Applied, Stop> {
    let (mut dropped, mut ended) = (Vec::new(), Vec::new());
    for id in &change.intents {
        let Some(mut intent) = found(draft, id)? else { continue };
        if intent.scope != change.scope {
            return refuse(Refusal::UnknownIntent);
        }
        if intent.erased.is_some() {
            continue;
        }
        dropped.push(intent.clone());
        if !intent.has_ended() {
            let sent = intent.maybe_sent() || intent.moved_from.is_some();
            let state = if sent { State::Abandoned } else { State::Cancelled };
            draft.settle(&mut intent, state)?;
        }
        if stays(&intent) {
            // What cannot be read of it goes, too: it is what the app wants gone.
            match draft.payload(id) {
                Err(unread @ Stop::Unread(_)) => return Err(unread),
                Ok(_) | Err(Stop::Refused(_)) => erase(draft, &mut intent, true),
            }
        } else {
            draft.remove(&intent)?;
        }
        ended.push(intent);
    }
    Ok(Applied::Purged { dropped, ended })
}

/// Of those whose time has come: first what belongs to them, much later the tombstone. What cannot be read stays.
pub(super) fn prune(draft: &mut Draft<'_>, intents: &[IntentId]) -> Result<Applied, Stop> {
    for id in intents {
        let Some(mut intent) = found(draft, id)? else { continue };
        if !may_be_pruned(&intent, &draft.now()) || draft.live_claim(&intent).is_some() {
            continue;
        }
        if intent.erased.is_some() {
            if !is_linked(draft, &intent)? {
                draft.remove(&intent)?;
            }
            continue;
        }
        let retention_ms =
            match draft.contract(&intent.contract).and_then(|contract| Ok((contract, draft.payload(id)?))) {
                Err(unread @ Stop::Unread(_)) => return Err(unread),
                // Without its contract nothing is known of its retention.
                Err(Stop::Refused(_)) => continue,
                Ok((contract, _)) => contract.windows().retention_ms(intent.request.path()),
            };
        let delivered = intent.delivery.acknowledged;
        if delivered.is_some_and(|at| surely_since(&at, &draft.now()) >= retention_ms) {
            erase(draft, &mut intent, false);
        }
    }
    Ok(Applied::Pruned)
}

/// As far as its record alone tells: its outcome is definite and was delivered, nothing stands against it, and that is long
/// ago; or it has been a tombstone for long.
pub fn may_be_pruned(intent: &IntentRecord, now: &Stamp) -> bool {
    let delivered = intent.delivery.acknowledged.filter(|_| intent.delivery.due_at_ms.is_none());
    let finished = intent.state.is_definite() && !intent.contradicted;
    let (since, kept_ms) = match intent.erased {
        // Nobody knows whether that scope still asks for it.
        Some(_) if intent.blocks.is_some() => return false,
        Some(erased) => (delivered.map(|_| erased), TOMBSTONE_KEPT_MS),
        None => (delivered, FINISHED_KEPT_MS),
    };
    let over = since.is_some_and(|since| surely_since(&since, now) >= kept_ms);
    (finished && over) || (bug(Bug::PrunedUndelivered) && intent.state.is_definite())
}

/// By whichever clock saw less: a wild reading of the wall clock moves the ledger's for good, and must take nothing away once
/// it is over.
fn surely_since(earlier: &Stamp, now: &Stamp) -> u64 {
    let by_ledger_ms = now.at_ms.saturating_sub(earlier.at_ms);
    by_ledger_ms.min(now.wall_ms.saturating_sub(earlier.wall_ms))
}

fn found(draft: &Draft<'_>, id: &IntentId) -> Result<Option<Shared<IntentRecord>>, Stop> {
    match draft.find_intent(id) {
        Err(Stop::Refused(_)) => Ok(None),
        found => found,
    }
}

/// Must something stay of it? Of what was never sent only where others name it: a chain, or a scope that would have adopted it.
fn stays(intent: &IntentRecord) -> bool {
    let named = intent.predecessor.is_some() || intent.blocks.is_some();
    (intent.maybe_sent() || intent.moved_from.is_some() || named) && !bug(Bug::PurgeForgetsSent)
}

/// Does the intent that it took the place of still name it? A chain goes from its beginning.
fn is_linked(draft: &Draft<'_>, intent: &IntentRecord) -> Result<bool, Stop> {
    match intent.predecessor.as_ref().map(|predecessor| draft.find_intent(predecessor)) {
        Some(Err(unread @ Stop::Unread(_))) => Err(unread),
        Some(Err(Stop::Refused(_)) | Ok(Some(_))) => Ok(true),
        Some(Ok(None)) | None => Ok(false),
    }
}

/// Leaves the tombstone: who it was, what became of it, and how to know it again.
fn erase(draft: &mut Draft<'_>, intent: &mut Shared<IntentRecord>, purged: bool) {
    let now = draft.now();
    draft.remove_journal(intent);
    draft.journal(intent, JournalEvent::Erased { purged });
    let Request { method, origin, .. } = (*intent.request).clone();
    intent.request = Shared::new(Request { method, url: origin.clone(), origin, headers: Vec::new() });
    intent.key = intent.key.erased();
    // Nothing is left to ask with.
    intent.has_lookup = false;
    intent.polling = None;
    intent.moved_from = None;
    intent.reconciling.asked = false;
    intent.claim = None;
    intent.due_at_ms = None;
    intent.delivery.due_at_ms = None;
    intent.delivery.acknowledged = intent.delivery.acknowledged.or(Some(now));
    intent.erased = Some(now);
    draft.put_intent(intent);
    if !bug(Bug::PurgeKeepsPayload) {
        draft.put_payload(&intent.id, Shared::new(Payload { body: None, answer: None }));
    }
}
