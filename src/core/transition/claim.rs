//! Claiming: the time-bounded right to run an intent, and the record of an attempt before it is sent (law 1, P2).

use std::rc::Rc;

use super::draft::Draft;
use super::{deliver, lane, refuse};
use crate::core::attempt::AttemptState;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Grant, Refusal, TakeClaim};
use crate::core::contract::Contract;
use crate::core::intent::{Cause, Claim, HeldReason, IntentRecord, Purpose, State};
use crate::core::journal::JournalEvent;
use crate::core::limits::{ATTEMPTS_MAX, LEASE_SLACK_MS};
use crate::core::record::{Payload, Stop};
use crate::core::shared::Shared;
use crate::core::window::{Age, WindowStart, age, may_start};

pub(super) fn claim(draft: &mut Draft<'_>, take: &TakeClaim) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&take.intent)?;
    // Adopted by another scope while this one's queue was asking for credentials (law 9).
    if intent.scope != take.scope && !bug(Bug::ScopeUnchecked) {
        return refuse(Refusal::WrongState(intent));
    }
    draft.need_surroundings(&intent)?;
    let read = draft.contract(&intent.contract).and_then(|contract| {
        let in_turn = take.purpose != Purpose::Send || lane::is_in_turn(draft, &intent)?;
        Ok((contract, draft.payload(&intent.id)?, in_turn))
    });
    let (contract, payload, in_turn) = match read {
        Err(Stop::Refused(why)) => return hold_undecodable(draft, intent, why),
        read => read?,
    };
    let lease_ms = take.attempt_ms / if bug(Bug::LeaseShorterThanAttempt) { 2 } else { 1 };
    let lease_until_ms = draft.now().at_ms.saturating_add(lease_ms).saturating_add(LEASE_SLACK_MS);

    // This very claim was granted before; only what depends on now is made again (P1.3).
    if let Some(claim) = intent.claim.as_mut().filter(|claim| claim.nonce == take.nonce) {
        claim.lease_until_ms = lease_until_ms;
        let purpose = claim.purpose;
        look_again_at(&mut intent, purpose, lease_until_ms);
        return grant(draft, intent, contract, &payload, lease_until_ms);
    }
    // It was granted before, and is over (P1.1).
    if intent.history.attempts.iter().any(|attempt| attempt.correlation == take.nonce) {
        return refuse(Refusal::WrongState(intent));
    }
    // A lock that was let go of since may be another's, who may have claimed under it.
    let lock_held =
        take.lock.is_some_and(|locks_lost| locks_lost == draft.locks_lost() || bug(Bug::LockAskedForIsHeld));
    let held_for_credentials = intent.state == State::Held { reason: HeldReason::Auth };
    let refreshed = take.purpose == Purpose::Send && take.fresh_credentials && held_for_credentials;
    // What was taken back while this realm was on its way to ask leaves nothing to ask about.
    let moot = take.purpose == Purpose::Reconcile && !intent.maybe_sent();
    let upgraded = intent.state == State::Accepted && bug(Bug::PollInheritedAsSend);
    if moot || (!take.purpose.allows(&intent.state) && !refreshed && !upgraded) {
        return refuse(Refusal::WrongState(intent));
    }
    if let Some((live, until_ms)) = draft.live_claim(&intent) {
        // A claim made under the intent's lock ends with it, and passes on to who acquires the lock, its purpose
        // repeated (P2.1, P2.4).
        let repeats = live.purpose == take.purpose || bug(Bug::PollInheritedAsSend);
        let inherits = live.lock_held && (lock_held || bug(Bug::InheritedWithoutLock)) && repeats;
        let stolen = bug(Bug::LiveLeaseStolen) || (bug(Bug::DeliveredWithoutLease) && take.purpose == Purpose::Deliver);
        if !inherits && !stolen {
            return refuse(Refusal::Leased { until_ms });
        }
    }
    if take.purpose == Purpose::Deliver {
        deliver::check(&intent, take, &draft.now())?;
        intent.delivery.tries = intent.delivery.tries.saturating_add(1);
    }
    if !in_turn {
        // It is due when its turn comes.
        intent.due_at_ms = None;
        draft.put_intent(&intent);
        return Ok(Applied::NotGranted(intent));
    }
    if take.purpose == Purpose::Send
        && let Some(instead) = instead_of_sending(draft, &mut intent, &contract, take)?
    {
        return Ok(instead);
    }
    intent.fence = intent.fence.saturating_add(1);
    intent.claim = Some(Claim {
        owner: take.owner.clone(),
        nonce: take.nonce.clone(),
        purpose: take.purpose,
        lease_until_ms,
        lock_held,
        unexplained_ms: draft.unexplained_ms(),
    });
    look_again_at(&mut intent, take.purpose, lease_until_ms);
    if take.purpose == Purpose::Send {
        open_attempt(draft, &mut intent, take)?;
    }
    grant(draft, intent, contract, &payload, lease_until_ms)
}

/// Without its body or its contract nothing of an intent is sent: one that would be waits for people instead.
fn hold_undecodable(draft: &mut Draft<'_>, mut intent: Shared<IntentRecord>, why: Refusal) -> Result<Applied, Stop> {
    if !Purpose::Send.allows(&intent.state) || draft.live_claim(&intent).is_some() {
        return refuse(why);
    }
    draft.hold(&mut intent, HeldReason::Undecodable);
    draft.put_intent(&intent);
    Ok(Applied::NotGranted(intent))
}

/// If the lease's holder falls silent, somebody looks at the intent again when the lease ends.
fn look_again_at(intent: &mut IntentRecord, purpose: Purpose, lease_until_ms: u64) {
    if purpose == Purpose::Deliver {
        if bug(Bug::DeliveredWithoutLease) {
            return;
        }
        intent.delivery.due_at_ms = Some(lease_until_ms);
    } else {
        intent.due_at_ms = Some(lease_until_ms);
    }
}

/// What happens to a sendable intent that must not be sent now: it waits, expires or is held.
fn instead_of_sending(
    draft: &mut Draft<'_>,
    intent: &mut Shared<IntentRecord>,
    contract: &Contract,
    take: &TakeClaim,
) -> Result<Option<Applied>, Stop> {
    let now = draft.now();
    if let Some(at_ms) = intent.floor_at_ms.filter(|floor_at_ms| now.at_ms < *floor_at_ms) {
        return refuse(Refusal::NotBefore { at_ms });
    }
    let origin = draft.origin(&intent.request.origin)?;
    if let Some(at_ms) = origin.gate_ends_at_ms(&now) {
        return refuse(Refusal::NotBefore { at_ms });
    }
    let age = if intent.maybe_sent() && !bug(Bug::ExpireAfterSend) { Age::Fresh } else { age(intent, &now) };
    let windows = [&contract.windows(), &take.windows];
    let open = may_start(intent, intent.maybe_sent(), windows, origin.server.as_ref(), &now, take.attempt_ms);
    match age {
        Age::Expired => draft.settle(intent, State::Expired)?,
        Age::Unknowable => draft.hold(intent, HeldReason::ClockChanged),
        Age::Fresh if !open => draft.hold(intent, HeldReason::WindowClosed),
        // Attempts of which nobody recorded anything have no facts that would end the patience.
        Age::Fresh if intent.maybe_sent() && intent.history.total >= ATTEMPTS_MAX && !bug(Bug::PatienceUnbounded) => {
            draft.hold(intent, HeldReason::Unresolved);
        }
        Age::Fresh => return Ok(None),
    }
    draft.put_intent(intent);
    Ok(Some(Applied::NotGranted(intent.clone())))
}

fn open_attempt(draft: &mut Draft<'_>, intent: &mut IntentRecord, take: &TakeClaim) -> Result<(), Stop> {
    let now = draft.now();
    if intent.window.is_none() || bug(Bug::WindowFromLastSend) {
        let origin = draft.origin(&intent.request.origin)?;
        intent.window = Some(WindowStart::now(now, origin.server.as_ref()));
    }
    let attempt = intent.history.open(intent.fence, take.nonce.clone(), now);
    intent.first_sent = intent.first_sent.or(Some(now));
    intent.state = State::Waiting { cause: Cause::Interrupted };
    let claimed = JournalEvent::Claimed {
        attempt,
        fence: intent.fence,
        owner: take.owner.clone(),
        correlation: take.nonce.clone(),
    };
    draft.journal(intent, claimed);
    Ok(())
}

fn grant(
    draft: &mut Draft<'_>,
    intent: Shared<IntentRecord>,
    contract: Rc<Contract>,
    payload: &Payload,
    lease_until_ms: u64,
) -> Result<Applied, Stop> {
    if !bug(Bug::AttemptRecordedAfterSend) {
        draft.put_intent(&intent);
    }
    let body = payload.body.clone();
    let answer = payload.answer.as_ref().filter(|_| intent.has_ended()).map(|(_, answer)| answer.clone());
    let open = intent.history.attempts.last().filter(|attempt| attempt.state == AttemptState::Open);
    let attempt = open.filter(|attempt| attempt.fence == intent.fence).map(|attempt| attempt.number);
    let fence = intent.fence;
    let server = draft.origin(&intent.request.origin)?.server;
    Ok(Applied::Claimed(Box::new(Grant { intent, attempt, fence, lease_until_ms, contract, body, server, answer })))
}
