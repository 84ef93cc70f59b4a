//! Reconciling: finding out, without sending again, what became of an intent (design section 5). A finding is evidence
//! from any fence; what settles nothing only says when to ask again.

use super::attempt::put_answer;
use super::draft::Draft;
use super::{attempt, refuse};
use crate::core::backoff::{Jitter, backoff_ms};
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Found, Reconciled, Refusal};
use crate::core::contract::{Finding, find};
use crate::core::intent::{Evidence, HeldReason, IntentRecord, Replay, State};
use crate::core::journal::JournalEvent;
use crate::core::key::IntentId;
use crate::core::limits::{RECONCILE_PAUSE_MIN_MS, RECONCILES_MAX};
use crate::core::record::Stop;

/// The app asks. Whoever can, looks at once.
pub(super) fn ask(draft: &mut Draft<'_>, id: &IntentId) -> Result<Applied, Stop> {
    let mut intent = draft.intent(id)?;
    if !intent.is_reconcilable() {
        return refuse(Refusal::NotReconcilable(intent));
    }
    let now = draft.now();
    if !intent.reconciling.asked {
        draft.journal(&mut intent, JournalEvent::ReconcileAsked);
        intent.reconciling.asked = true;
    }
    intent.reconciling.looks = 0;
    if draft.live_claim(&intent).is_none() {
        intent.due_at_ms = Some(now.at_ms);
    }
    draft.put_intent(&intent);
    Ok(Applied::Reconcile(intent))
}

/// What the server, or the app, said. `not_found` is no evidence: a late packet could still run (P5.6).
pub(super) fn reconciled(draft: &mut Draft<'_>, change: &Reconciled) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&change.intent)?;
    if intent.reconciling.last.as_ref() == Some(&change.fact) {
        return Ok(Applied::Reconciled(intent));
    }
    let contract = draft.contract(&intent.contract)?;
    let finding = match &change.found {
        Found::ByApp(finding) => *finding,
        Found::ByLookup(observation) => {
            // A lookup that meets no network is not asked again before a probe has met one (P4).
            let mut origin = draft.origin(&intent.request.origin)?;
            origin.met(observation, draft.now());
            draft.put_origin(&intent.request.origin, &origin);
            find(&contract, observation)
        }
    };
    let current = intent.claim.is_some() && intent.fence == change.fence;
    draft.journal(&mut intent, JournalEvent::Reconciled { fence: change.fence, finding });
    intent.reconciling.last = Some(change.fact.clone());
    intent.reconciling.asked = false;
    match state_after(finding, &intent.state) {
        Some(state) => {
            if let Some(answer) = &change.answer {
                put_answer(draft, &intent, intent.history.total, answer, None)?;
            }
            draft.settle(&mut intent, state)?;
        }
        None if intent.state.is_definite() && attempt::contradicts(&intent, finding == Finding::Applied) => {
            if matches!(finding, Finding::Applied | Finding::NotApplied) {
                attempt::raise(draft, &mut intent, finding == Finding::Applied)?;
            }
            stop_looking(&mut intent, current);
        }
        None if current => {
            intent.claim = None;
            // Silence is a look too: where lookups never come through, asking must end (law 10).
            intent.reconciling.looks = intent.reconciling.looks.saturating_add(1);
            look_again(draft, &mut intent, change.jitter);
        }
        None => {}
    }
    draft.put_intent(&intent);
    Ok(Applied::Reconciled(intent))
}

/// What a finding makes of an intent; `None`: it settles nothing new.
fn state_after(finding: Finding, state: &State) -> Option<State> {
    match (finding, state) {
        // The refusal stands, and now no other delivery can have an effect (P5.4).
        (Finding::NotApplied, State::Rejected { replaceable: false, .. }) => {
            Some(State::Rejected { evidence: Evidence::Reconciliation, replaceable: true })
        }
        (_, state) if state.is_definite() => None,
        (Finding::Applied, _) => Some(State::Succeeded { replay: Replay::Unknown, evidence: Evidence::Reconciliation }),
        (Finding::NotApplied, _) => Some(State::NotApplied),
        (Finding::NotFound, _) if bug(Bug::NotFoundIsSealed) => Some(State::NotApplied),
        (Finding::NotFound | Finding::Unknown, _) => None,
    }
}

fn stop_looking(intent: &mut IntentRecord, current: bool) {
    if current {
        intent.claim = None;
    }
    intent.due_at_ms = None;
}

/// An intent that waits goes on waiting; one that nothing else can help is asked about again, for a while.
fn look_again(draft: &Draft<'_>, intent: &mut IntentRecord, jitter: Jitter) {
    let now = draft.now();
    let looks = intent.reconciling.looks;
    intent.due_at_ms = match &intent.state {
        State::Queued | State::Waiting { .. } | State::Accepted => Some(now.at_ms.max(intent.floor_at_ms.unwrap_or(0))),
        // Another realm's credentials may do (P7.3).
        State::Held { reason: HeldReason::Auth } => Some(now.at_ms.max(intent.floor_at_ms.unwrap_or(0))),
        State::Held { reason } if !reason.only_asking_helps() => None,
        State::Held { .. } | State::Rejected { .. } if looks < RECONCILES_MAX => {
            let pause_ms = backoff_ms(looks.saturating_add(4), jitter).max(RECONCILE_PAUSE_MIN_MS);
            Some(now.at_ms.saturating_add(pause_ms))
        }
        _ => None,
    };
}
