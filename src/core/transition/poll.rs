//! After a 202: fetching the result, never sending again (P2.1, P10).

use super::attempt::put_answer;
use super::draft::Draft;
use crate::core::backoff::{Jitter, backoff_ms};
use crate::core::change::{Applied, RecordFacts};
use crate::core::contract::{AnswerClass, AttemptReading, Contract, Observation, asked_to_wait_ms, fill, read_polled};
use crate::core::intent::{Evidence, HeldReason, IntentRecord, Polling, Replay, State};
use crate::core::journal::JournalEvent;
use crate::core::limits::{POLL_PAUSE_MIN_MS, POLLS_MAX};
use crate::core::record::Stop;

/// The server took the intent: its result is at `Location` where that is visible and on the same origin, else where
/// the contract says, else nowhere we can look.
pub(super) fn accept(
    draft: &mut Draft<'_>,
    intent: &mut IntentRecord,
    contract: &Contract,
    observation: &Observation,
    jitter: Jitter,
) {
    let origin = &intent.request.origin;
    let location = match observation {
        Observation::Reply(facts) => facts.headers.get("location"),
        Observation::Fault(_) => None,
    };
    let at_location =
        location.filter(|url| url.strip_prefix(origin.as_str()).is_some_and(|path| path.starts_with('/')));
    let path = contract.poll.as_ref().and_then(|poll| poll.path.as_ref());
    let url = at_location.cloned().or(path.map(|path| fill(origin, path, intent)));
    let Some(url) = url.filter(|_| contract.poll.is_some()) else {
        return draft.hold(intent, HeldReason::Accepted);
    };
    draft.journal(intent, JournalEvent::Accepted);
    intent.state = State::Accepted;
    intent.claim = None;
    intent.floor_at_ms = None;
    intent.polling = Some(Polling { url, looks: 0, last: None });
    look_again(draft, intent, observation, jitter);
}

/// What a look brought. A stored answer settles from any fence, as evidence does; the rest only says when to look again.
pub(super) fn polled(draft: &mut Draft<'_>, facts: &RecordFacts) -> Result<Applied, Stop> {
    let mut intent = draft.intent(&facts.intent)?;
    draft.need_surroundings(&intent)?;
    let contract = draft.contract(&intent.contract)?;
    let origin = draft.origin(&intent.request.origin)?;
    let seen = intent.polling.as_ref().is_none_or(|polling| polling.last.as_ref() == Some(&facts.fact));
    if seen || intent.state.is_definite() {
        return Ok(Applied::Recorded { intent, origin });
    }
    let current = intent.claim.is_some() && intent.fence == facts.fence;
    let reading = read_polled(&contract, &intent.key, &facts.observation);
    draft.journal(&mut intent, JournalEvent::Polled { fence: facts.fence, reading });
    if let Some(polling) = &mut intent.polling {
        polling.last = Some(facts.fact.clone());
        polling.looks = polling.looks.saturating_add(1);
    }
    match outcome(&reading) {
        Some(state) => {
            if let Some(answer) = &facts.answer {
                put_answer(draft, &intent, facts.attempt, answer, None)?;
            }
            draft.settle(&mut intent, state)?;
        }
        None if current => {
            intent.claim = None;
            if intent.polling.as_ref().is_some_and(|polling| polling.looks >= POLLS_MAX) {
                draft.hold(&mut intent, HeldReason::Accepted);
            } else {
                look_again(draft, &mut intent, &facts.observation, facts.jitter);
            }
        }
        None => {}
    }
    draft.put_intent(&intent);
    Ok(Applied::Recorded { intent, origin })
}

fn outcome(reading: &AttemptReading) -> Option<State> {
    let AttemptReading::Answer { class, conclusive, replayed, .. } = reading else { return None };
    match class {
        AnswerClass::Succeeded | AnswerClass::AlreadyDone => {
            Some(State::Succeeded { replay: Replay::of_marker(*replayed), evidence: Evidence::Reply })
        }
        AnswerClass::Rejected if *conclusive => Some(State::Rejected { evidence: Evidence::Stored, replaceable: true }),
        _ => None,
    }
}

fn look_again(draft: &Draft<'_>, intent: &mut IntentRecord, observation: &Observation, jitter: Jitter) {
    let now = draft.now();
    let looks = intent.polling.as_ref().map_or(0, |polling| polling.looks);
    let asked_ms = asked_to_wait_ms(observation, now.wall_ms).unwrap_or(0);
    let pause_ms = backoff_ms(looks.saturating_add(1), jitter).max(asked_ms).max(POLL_PAUSE_MIN_MS);
    intent.due_at_ms = Some(now.at_ms.saturating_add(pause_ms));
}
