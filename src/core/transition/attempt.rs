//! Recording what an attempt brought, and judging every attempt beside it (P5).

use super::draft::Draft;
use super::poll;
use crate::core::attempt::AttemptState;
use crate::core::backoff::backoff_ms;
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, NotSent, RecordFacts};
use crate::core::contract::{
    Answer, AnswerClass, AttemptReading, Contract, Judgement, Method, Observation, asked_to_wait_ms, judge, read,
    server_date_ms,
};
use crate::core::intent::{Cause, Evidence, HeldReason, IntentRecord, Purpose, State};
use crate::core::journal::JournalEvent;
use crate::core::limits::ANSWER_KEPT_MAX_BYTES;
use crate::core::reach::OriginRecord;
use crate::core::record::Stop;
use crate::core::shared::Shared;
use crate::core::time::Stamp;
use crate::core::window::{ServerDate, WindowStart, window_left_ms};

pub(super) fn record(draft: &mut Draft<'_>, facts: &RecordFacts) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&facts.intent)?;
    draft.need_surroundings(&intent)?;
    let contract = draft.contract(&intent.contract)?;
    let now = draft.now();
    let reading = read(&contract, &intent.key, &facts.observation);
    let asked_ms = asked_to_wait_ms(&facts.observation, now.wall_ms);

    if facts.attempt > intent.history.total {
        return super::refuse(crate::core::change::Refusal::Inconsistent);
    }
    if intent.history.get_mut(facts.attempt).is_none() {
        // When it started is no longer known: not before the first.
        let started = intent.first_sent.unwrap_or(now);
        intent.history.recall(facts.attempt, facts.fence, facts.fact.clone(), started);
    }
    let untold = intent.history.get_mut(facts.attempt).filter(|it| !matches!(it.state, AttemptState::Ended { .. }));
    let Some(attempt) = untold else {
        // These facts are in: this change ran before. One fetch brings one set of facts.
        let origin = draft.origin(&intent.request.origin)?;
        return Ok(Applied::Recorded { intent, origin });
    };
    let started = attempt.started;
    attempt.state = AttemptState::Ended { ended: now, fact: facts.fact.clone(), reading, retry_after_ms: asked_ms };

    let stale = (intent.claim.is_none() || intent.fence != facts.fence) && !bug(Bug::NoFenceAtRecord);
    let event = JournalEvent::Facts { attempt: facts.attempt, fence: facts.fence, stale, reading };
    draft.journal(&mut intent, event);
    // Facts may be recorded long after they came; what they say of the server's clock is as old as the attempt.
    let server = date_of(&facts.observation, &reading).map(|date_ms| ServerDate { date_ms, read: started });
    note_window(&mut intent, &contract, facts, server.as_ref(), &now);
    let origin = note_origin(draft, &intent, facts, &reading, server)?;
    keep_answer(draft, &intent, &contract, facts, &reading)?;
    draw_conclusion(draft, &mut intent, &contract, facts, stale)?;
    draft.put_intent(&intent);
    Ok(Applied::Recorded { intent, origin })
}

pub(super) fn not_sent(draft: &mut Draft<'_>, change: &NotSent) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&change.intent)?;
    let now = draft.now();
    let open = intent.history.get_mut(change.attempt).filter(|attempt| attempt.state == AttemptState::Open);
    let Some(attempt) = open else { return Ok(Applied::NotSent(intent)) };
    attempt.state = AttemptState::NotSent { ended: now };
    draft.journal(&mut intent, JournalEvent::NotSent { attempt: change.attempt });
    if !intent.maybe_sent() {
        // Nothing of it is unknown any more: there is nothing to ask about, and due is only what may be sent.
        intent.first_sent = None;
        intent.window = None;
        intent.reconciling.asked &= bug(Bug::QuestionOutlivesReason);
        if Purpose::Send.allows(&intent.state) {
            intent.state = State::Queued;
        } else if intent.state != (State::Held { reason: HeldReason::Auth }) && !bug(Bug::GivenUpStaysDue) {
            intent.due_at_ms = None;
        }
    }
    if intent.claim.is_some() && (intent.fence == change.fence || bug(Bug::ReleaseWithoutFence)) {
        intent.claim = None;
        let failures = intent.history.failures().saturating_add(1);
        intent.due_at_ms = Some(now.at_ms.saturating_add(backoff_ms(failures, change.jitter)));
    }
    draft.put_intent(&intent);
    Ok(Applied::NotSent(intent))
}

/// Lets the history say what it says: evidence counts from any fence, the rest only from the current one (law 5).
fn draw_conclusion(
    draft: &mut Draft<'_>,
    intent: &mut IntentRecord,
    contract: &Contract,
    facts: &RecordFacts,
    stale: bool,
) -> Result<(), Stop> {
    let Some(judgement) = judge(contract, intent.request.method, &intent.history, facts.attempt) else { return Ok(()) };
    if intent.state.is_definite() && !bug(Bug::OutcomeOverwritten) {
        return contradict(draft, intent, facts);
    }
    match (outcome_of(judgement), judgement) {
        (Some(State::Mismatched), _) if intent.state.is_terminal() => Ok(()),
        (Some(_), _) if bug(Bug::LateSuccessIgnored) && intent.state == State::Abandoned => Ok(()),
        (Some(_), _) if bug(Bug::SuccessNeedsFence) && stale => Ok(()),
        (Some(state), _) => draft.settle(intent, state),
        (None, _) if stale || intent.state.is_terminal() => Ok(()),
        (None, Judgement::Hold { reason }) => {
            draft.hold(intent, reason);
            Ok(())
        }
        (None, Judgement::Accept) => {
            poll::accept(draft, intent, contract, &facts.observation, facts.jitter);
            Ok(())
        }
        (None, Judgement::Wait { cause }) => {
            wait(draft, intent, contract, facts, cause);
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

fn outcome_of(judgement: Judgement) -> Option<State> {
    match judgement {
        Judgement::Succeeded { replay } => Some(State::Succeeded { replay, evidence: Evidence::Reply }),
        Judgement::Rejected { evidence, replaceable } => Some(State::Rejected { evidence, replaceable }),
        Judgement::Mismatched => Some(State::Mismatched),
        Judgement::Wait { .. } | Judgement::Accept | Judgement::Hold { .. } => None,
    }
}

/// The first definite outcome stands; evidence against it is kept and raised, never dropped (law 6).
///
/// A success that arrives for a predecessor holds its successor while that is unsent (P5.4).
fn contradict(draft: &mut Draft<'_>, intent: &mut IntentRecord, facts: &RecordFacts) -> Result<(), Stop> {
    let Some(AttemptState::Ended { reading, .. }) = intent.history.get_mut(facts.attempt).map(|it| it.state.clone())
    else {
        return Ok(());
    };
    let had_effect = match &reading {
        AttemptReading::Answer { class: AnswerClass::Succeeded | AnswerClass::AlreadyDone, .. } => true,
        AttemptReading::Answer { conclusive: true, .. } => false,
        _ => return Ok(()),
    };
    if contradicts(intent, had_effect) {
        draft.journal(intent, JournalEvent::Contradicted { attempt: facts.attempt, reading });
        raise(draft, intent, had_effect)?;
    }
    Ok(())
}

/// Does what is known now stand against the outcome?
pub(super) fn contradicts(intent: &IntentRecord, had_effect: bool) -> bool {
    had_effect != matches!(intent.state, State::Succeeded { .. })
}

/// Marks an intent whose outcome is contradicted. If it had an effect after all, a successor that was not sent yet must
/// not have another.
pub(super) fn raise(draft: &mut Draft<'_>, intent: &mut IntentRecord, had_effect: bool) -> Result<(), Stop> {
    intent.contradicted = true;
    if let Some(successor) = intent.successor.as_ref().filter(|_| had_effect) {
        let Some(mut successor) = draft.find_intent(successor)? else { return Ok(()) };
        if !successor.has_ended() && !successor.maybe_sent() {
            draft.hold(&mut successor, HeldReason::ConflictingAnswers);
            draft.put_intent(&successor);
        }
    }
    Ok(())
}

fn wait(draft: &mut Draft<'_>, intent: &mut IntentRecord, contract: &Contract, facts: &RecordFacts, cause: Cause) {
    let now = draft.now();
    let backoff = now.at_ms.saturating_add(backoff_ms(intent.history.failures(), facts.jitter));
    let asked_ms = asked_to_wait_ms(&facts.observation, now.wall_ms).filter(|_| !bug(Bug::FloorIgnored));
    let floor = asked_ms.map(|asked_ms| {
        let usable_ms = contract.windows().usable_ms(intent.request.path());
        let left_ms = window_left_ms(intent, usable_ms, None, &now).unwrap_or(asked_ms);
        let left_ms = if bug(Bug::RetryAfterUnclamped) { asked_ms } else { left_ms };
        now.at_ms.saturating_add(asked_ms.min(left_ms))
    });
    let due_at_ms = backoff.max(floor.unwrap_or(0));
    draft.journal(intent, JournalEvent::Waits { cause, due_at_ms });
    intent.state = State::Waiting { cause };
    intent.claim = None;
    intent.due_at_ms = Some(due_at_ms);
    intent.floor_at_ms = floor;
}

/// The server's clock, from an answer that was made for this attempt: a replay may repeat an old date.
fn date_of(observation: &Observation, reading: &AttemptReading) -> Option<u64> {
    use AnswerClass::{NotTheServer, OtherKey};
    match (observation, reading) {
        (_, AttemptReading::Answer { class: NotTheServer | OtherKey, .. } | AttemptReading::Fault { .. }) => None,
        (_, AttemptReading::Answer { replayed: Some(true), .. }) => None,
        (Observation::Reply(facts), _) => server_date_ms(facts),
        (Observation::Fault(_), _) => None,
    }
}

/// What an answer tells of the window: the server's clock, or when the server says the window began (law 7).
fn note_window(
    intent: &mut IntentRecord,
    contract: &Contract,
    facts: &RecordFacts,
    server: Option<&ServerDate>,
    now: &Stamp,
) {
    let (Observation::Reply(reply), Some(server)) = (&facts.observation, server) else { return };
    if let Some(window) = &mut intent.window {
        window.answered(server.date_ms, now);
    }
    let told_ms = contract.window_start.as_ref().and_then(|start| reply.header(&start.header)?.trim().parse().ok());
    if let Some(start_ms) = told_ms {
        intent.window = Some(WindowStart::told(start_ms, server));
    }
}

fn note_origin(
    draft: &mut Draft<'_>,
    intent: &IntentRecord,
    facts: &RecordFacts,
    reading: &AttemptReading,
    server: Option<ServerDate>,
) -> Result<Shared<OriginRecord>, Stop> {
    let now = draft.now();
    let mut origin = draft.origin(&intent.request.origin)?;
    origin.met(&facts.observation, now);
    origin.server = server.or(origin.server);
    // A limit on the key, or on what it locks, is read as `in_progress` by its rule, and closes nothing.
    if matches!(reading, AttemptReading::Answer { class: AnswerClass::RateLimited, .. }) {
        let asked_ms = asked_to_wait_ms(&facts.observation, now.wall_ms);
        origin.gate(asked_ms.unwrap_or_else(|| backoff_ms(intent.history.failures(), facts.jitter)), &now);
    }
    draft.put_origin(&intent.request.origin, &origin);
    Ok(origin)
}

/// Keeps an answer that settles the intent now, or that a later fact may yet make the settling one.
fn keep_answer(
    draft: &mut Draft<'_>,
    intent: &IntentRecord,
    contract: &Contract,
    facts: &RecordFacts,
    reading: &AttemptReading,
) -> Result<(), Stop> {
    let AttemptReading::Answer { class, status, .. } = reading else { return Ok(()) };
    let gone = intent.request.method == Method::Delete && matches!(status, 404 | 410);
    let settling = gone
        || matches!(
            class,
            AnswerClass::Succeeded | AnswerClass::AlreadyDone | AnswerClass::Rejected | AnswerClass::Mismatched
        );
    let Some(answer) = facts.answer.as_ref().filter(|_| settling && !intent.state.is_definite()) else { return Ok(()) };
    let resource = match &facts.observation {
        Observation::Reply(reply) => contract.resource(&intent.key, reply),
        Observation::Fault(_) => None,
    };
    put_answer(draft, intent, facts.attempt, answer, resource)
}

/// A tombstone takes none: what was erased stays erased, whatever comes in late.
pub(super) fn put_answer(
    draft: &mut Draft<'_>,
    intent: &IntentRecord,
    attempt: u32,
    answer: &Answer,
    resource: Option<String>,
) -> Result<(), Stop> {
    if intent.erased.is_some() {
        return Ok(());
    }
    let mut kept = Answer { resource, ..answer.clone() };
    if kept.body.as_ref().is_some_and(|body| body.len() > ANSWER_KEPT_MAX_BYTES) {
        kept.body = None;
    }
    let mut payload = draft.payload(&intent.id)?;
    payload.answer = Some((attempt, kept));
    draft.put_payload(&intent.id, payload);
    Ok(())
}
