//! What all attempts of an intent say together (P5). Called inside `apply`, with the stored contract.

use super::{AnswerClass, AttemptReading, Contract, Fault, Method};
use crate::core::attempt::{Attempt, AttemptState, History};
use crate::core::bugs::{Bug, bug};
use crate::core::intent::{Cause, Evidence, HeldReason, Replay};
use crate::core::limits::{ATTEMPTS_MAX, IN_PROGRESS_REPEATS_MAX, UNCLEAR_REPEATS_MAX};

/// The meaning of an intent's attempts, the newest facts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// An attempt brought a recognised success.
    Succeeded { replay: Replay },
    /// An attempt brought a refusal that settles. `replaceable`: no delivery of this key can still have an effect (P5.4).
    Rejected { evidence: Evidence, replaceable: bool },
    /// An attempt was told that the key belongs to another payload, and nothing of ours is unknown.
    Mismatched,
    /// Try again with the same key.
    Wait { cause: Cause },
    /// The server took it; its result is to be fetched.
    Accept,
    /// The app or a person must act.
    Hold { reason: HeldReason },
}

/// Judges the whole history after the facts of attempt `newest` came in. `None`: there is nothing to judge by.
///
/// Order: recognised success from any attempt; a conclusive refusal; an inconclusive refusal or a mismatch, if no
/// other attempt, earlier or later, is unknown; else what the newest facts ask for.
pub fn judge(contract: &Contract, method: Method, history: &History, newest: u32) -> Option<Judgement> {
    if let Some(settled) = settles(contract, method, history) {
        return Some(settled);
    }
    let attempt = history.attempts.iter().find(|attempt| attempt.number == newest)?;
    let AttemptState::Ended { reading, .. } = &attempt.state else { return None };
    let judgement = match reading {
        AttemptReading::Fault { fault } => after_fault(*fault, history),
        AttemptReading::Answer { class, .. } => after_answer(*class, history),
    };
    Some(match judgement {
        // Without a key, the second send could be a second effect.
        Judgement::Wait { .. } if !contract.resends() => Judgement::Hold { reason: HeldReason::Unresolved },
        judgement => judgement,
    })
}

fn settles(contract: &Contract, method: Method, history: &History) -> Option<Judgement> {
    let answers = || history.attempts.iter().filter_map(answer);
    let done = |told: &Told| matches!(told.class, AnswerClass::Succeeded | AnswerClass::AlreadyDone);
    if let Some(told) = answers().find(done) {
        let before = told.class == AnswerClass::AlreadyDone;
        let replay = if before { Replay::Replayed } else { Replay::of_marker(told.replayed) };
        return Some(Judgement::Succeeded { replay });
    }
    if method == Method::Delete && is_gone_after_a_delete(history) {
        return Some(Judgement::Succeeded { replay: Replay::Unknown });
    }
    if answers().any(|told| told.conclusive) {
        return Some(Judgement::Rejected { evidence: Evidence::Stored, replaceable: true });
    }
    if history.any_unknown() && !bug(Bug::RefusalBesideUnknown) {
        return None;
    }
    let replaceable = contract.refusal.single_delivery || bug(Bug::UnstoredRefusalReplaceable);
    answers().find_map(|told| match told.class {
        AnswerClass::Rejected => Some(Judgement::Rejected { evidence: Evidence::Unstored, replaceable }),
        AnswerClass::Mismatched => Some(Judgement::Mismatched),
        _ => None,
    })
}

/// A repeated DELETE that finds nothing is done (RFC 9110 section 9.2.2): an earlier one may have left.
fn is_gone_after_a_delete(history: &History) -> bool {
    let mut left_before = history.folded_left > 0 || !history.folded_open.is_empty();
    history.attempts.iter().any(|attempt| {
        let is_repeat = left_before;
        left_before |= attempt.maybe_left();
        let gone = answer(attempt).is_some_and(|told| {
            matches!(told.class, AnswerClass::Config | AnswerClass::Rejected) && matches!(told.status, 404 | 410)
        });
        is_repeat && gone
    })
}

#[derive(Clone, Copy)]
struct Told {
    class: AnswerClass,
    status: u16,
    conclusive: bool,
    replayed: Option<bool>,
}

fn answer(attempt: &Attempt) -> Option<Told> {
    match &attempt.state {
        AttemptState::Ended { reading: AttemptReading::Answer { class, status, conclusive, replayed }, .. } => {
            Some(Told { class: *class, status: *status, conclusive: *conclusive, replayed: *replayed })
        }
        _ => None,
    }
}

fn after_fault(fault: Fault, history: &History) -> Judgement {
    let cause = match fault {
        Fault::Redirected if bug(Bug::RedirectIsSuccess) => return Judgement::Succeeded { replay: Replay::Unknown },
        Fault::Redirected => return Judgement::Hold { reason: HeldReason::Redirected },
        Fault::Forbidden => return Judgement::Hold { reason: HeldReason::Config },
        Fault::Undecodable => return Judgement::Hold { reason: HeldReason::Undecodable },
        Fault::Network => Cause::Network,
        Fault::Timeout => Cause::Timeout,
        Fault::Truncated | Fault::TooLarge => Cause::Truncated,
    };
    wait_or_give_up(cause, history)
}

fn after_answer(class: AnswerClass, history: &History) -> Judgement {
    let cause = match class {
        AnswerClass::Auth => return Judgement::Hold { reason: HeldReason::Auth },
        AnswerClass::Config => return Judgement::Hold { reason: HeldReason::Config },
        AnswerClass::OtherKey => return Judgement::Hold { reason: HeldReason::ConflictingAnswers },
        // It will never change, and it is no evidence: only a look at the server can tell.
        AnswerClass::Uncertain => return Judgement::Hold { reason: HeldReason::Unresolved },
        // Another attempt is unknown, and the server knows the key: that one arrived. Only a look tells what it did.
        AnswerClass::Mismatched => return Judgement::Hold { reason: HeldReason::Unresolved },
        AnswerClass::KeyBurnt => return Judgement::Hold { reason: HeldReason::KeyBurnt },
        AnswerClass::WindowClosed => return Judgement::Hold { reason: HeldReason::WindowClosed },
        // Sending again is not ours to decide.
        AnswerClass::Accepted => return Judgement::Accept,
        AnswerClass::RateLimited => Cause::RateLimited,
        AnswerClass::Retry => Cause::ServerError,
        AnswerClass::NotTheServer => Cause::NotTheServer,
        AnswerClass::InProgress => {
            if history.run_of(AnswerClass::InProgress) >= IN_PROGRESS_REPEATS_MAX && !bug(Bug::PatienceUnbounded) {
                return Judgement::Hold { reason: HeldReason::Unresolved };
            }
            Cause::InProgress
        }
        AnswerClass::Succeeded | AnswerClass::AlreadyDone | AnswerClass::Rejected | AnswerClass::Unclear => {
            if history.run_of(class) >= UNCLEAR_REPEATS_MAX {
                return Judgement::Hold { reason: HeldReason::Unresolved };
            }
            Cause::Unclear
        }
    };
    wait_or_give_up(cause, history)
}

/// Exhausted patience is never evidence (law 4): the intent is held, its key kept.
fn wait_or_give_up(cause: Cause, history: &History) -> Judgement {
    if history.total >= ATTEMPTS_MAX && !bug(Bug::PatienceUnbounded) {
        Judgement::Hold { reason: HeldReason::Unresolved }
    } else {
        Judgement::Wait { cause }
    }
}
