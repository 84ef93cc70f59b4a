//! What an app sees of an intent: neither key nor payload.

use super::attempt::{Attempt, AttemptState};
use super::contract::{AnswerClass, AttemptReading, Fault};
use super::intent::{Cause, HeldReason, IntentRecord, Purpose, State};
use super::json::json;
use super::key::{ChangeId, IntentId};
use super::time::Stamp;

/// What is known of an intent at one moment. Times are epoch milliseconds of the device's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub id: IntentId,
    pub operation: String,
    pub reference: Option<String>,
    pub lane: Option<String>,
    /// A state of design section 2; `sending` while a send lease lives.
    pub state: &'static str,
    pub key_hash: String,
    pub cause: Option<Cause>,
    pub held_reason: Option<HeldReason>,
    pub maybe_sent: bool,
    pub safe_to_replace: bool,
    pub created_at: u64,
    pub next_attempt_at: Option<u64>,
    pub attempt_count: u32,
    pub attempts: Vec<AttemptView>,
    pub contradicted: bool,
    /// Only the tombstone is left: body, answer, headers and journal are not kept any more.
    pub erased: bool,
    /// The app has asked what became of it, and has no answer yet.
    pub reconciling: bool,
    /// The intent that this one took the place of.
    pub predecessor: Option<IntentId>,
    /// The intent that took this one's place.
    pub successor: Option<IntentId>,
}

json!(write struct Snapshot {
    id,
    operation,
    reference,
    lane,
    state,
    key_hash = "keyHash",
    cause,
    held_reason = "heldReason",
    maybe_sent = "maybeSent",
    safe_to_replace = "safeToReplace",
    created_at = "createdAt",
    next_attempt_at = "nextAttemptAt",
    attempt_count = "attemptCount",
    attempts,
    contradicted,
    erased,
    reconciling,
    predecessor,
    successor,
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    pub number: u32,
    pub correlation: ChangeId,
    pub started_at: u64,
    pub ended_at: Option<u64>,
    pub result: AttemptResult,
    pub status: Option<u16>,
    pub replayed: bool,
    pub retry_after_ms: Option<u64>,
}

json!(write struct AttemptView {
    number,
    correlation,
    started_at = "startedAt",
    ended_at = "endedAt",
    result,
    status,
    replayed,
    retry_after_ms = "retryAfterMs",
});

/// What became of one attempt, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    Open,
    NotSent,
    Succeeded,
    AlreadyDone,
    Rejected,
    Mismatched,
    Accepted,
    InProgress,
    RateLimited,
    Auth,
    Config,
    ServerError,
    /// An error that asking again does not change.
    Uncertain,
    KeyBurnt,
    WindowClosed,
    Unclear,
    NotTheServer,
    OtherKey,
    Network,
    Timeout,
    Truncated,
    Redirected,
    Forbidden,
    Undecodable,
}

json!(write words AttemptResult {
    Open = "open",
    NotSent = "not_sent",
    Succeeded = "succeeded",
    AlreadyDone = "already_done",
    Rejected = "rejected",
    Mismatched = "mismatched",
    Accepted = "accepted",
    InProgress = "in_progress",
    RateLimited = "rate_limited",
    Auth = "auth",
    Config = "config",
    ServerError = "server_error",
    Uncertain = "uncertain",
    KeyBurnt = "key_burnt",
    WindowClosed = "window_closed",
    Unclear = "unclear",
    NotTheServer = "not_the_server",
    OtherKey = "other_key",
    Network = "network",
    Timeout = "timeout",
    Truncated = "truncated",
    Redirected = "redirected",
    Forbidden = "forbidden",
    Undecodable = "undecodable",
});

impl Snapshot {
    pub fn of(intent: &IntentRecord, now: &Stamp) -> Self {
        let sending = intent.live_claim(now).is_some_and(|claim| claim.purpose == Purpose::Send);
        let planned = !sending && matches!(intent.state, State::Queued | State::Waiting { .. } | State::Accepted);
        let (cause, held_reason) = match &intent.state {
            _ if sending => (Some(Cause::InFlight), None),
            State::Queued => (Some(Cause::NotSent), None),
            State::Accepted => (Some(Cause::Processing), None),
            State::Waiting { cause } => (Some(*cause), None),
            State::Held { reason } => (None, Some(*reason)),
            _ => (None, None),
        };
        Self {
            id: intent.id.clone(),
            operation: intent.operation.clone(),
            reference: intent.reference.clone(),
            lane: intent.lane.as_ref().map(|at| at.lane.clone()),
            state: if sending { "sending" } else { intent.state.name() },
            key_hash: intent.key.short_hash(),
            cause,
            held_reason,
            maybe_sent: intent.maybe_sent(),
            safe_to_replace: intent.state.safe_to_replace(),
            created_at: intent.created.wall_ms,
            next_attempt_at: intent.due_at_ms.filter(|_| planned).map(|due_at_ms| now.wall_at(due_at_ms)),
            attempt_count: intent.history.total,
            attempts: intent.history.attempts.iter().map(AttemptView::of).collect(),
            contradicted: intent.contradicted,
            erased: intent.erased.is_some(),
            reconciling: intent.reconciling.asked,
            predecessor: intent.predecessor.clone(),
            successor: intent.successor.clone(),
        }
    }
}

impl AttemptView {
    fn of(attempt: &Attempt) -> Self {
        let mut view = Self {
            number: attempt.number,
            correlation: attempt.correlation.clone(),
            started_at: attempt.started.wall_ms,
            ended_at: None,
            result: AttemptResult::Open,
            status: None,
            replayed: false,
            retry_after_ms: None,
        };
        match &attempt.state {
            AttemptState::Open => {}
            AttemptState::NotSent { ended } => {
                view.ended_at = Some(ended.wall_ms);
                view.result = AttemptResult::NotSent;
            }
            AttemptState::Ended { ended, reading, retry_after_ms, .. } => {
                view.ended_at = Some(ended.wall_ms);
                view.retry_after_ms = *retry_after_ms;
                view.result = AttemptResult::of(reading);
                if let AttemptReading::Answer { status, replayed, .. } = reading {
                    view.status = Some(*status);
                    view.replayed = *replayed == Some(true);
                }
            }
        }
        view
    }
}

impl AttemptResult {
    fn of(reading: &AttemptReading) -> Self {
        match reading {
            AttemptReading::Fault { fault } => match fault {
                Fault::Network => Self::Network,
                Fault::Timeout => Self::Timeout,
                Fault::Redirected => Self::Redirected,
                Fault::Truncated | Fault::TooLarge => Self::Truncated,
                Fault::Forbidden => Self::Forbidden,
                Fault::Undecodable => Self::Undecodable,
            },
            AttemptReading::Answer { class, .. } => match class {
                AnswerClass::Succeeded => Self::Succeeded,
                AnswerClass::AlreadyDone => Self::AlreadyDone,
                AnswerClass::Rejected => Self::Rejected,
                AnswerClass::Mismatched => Self::Mismatched,
                AnswerClass::Accepted => Self::Accepted,
                AnswerClass::InProgress => Self::InProgress,
                AnswerClass::RateLimited => Self::RateLimited,
                AnswerClass::Auth => Self::Auth,
                AnswerClass::Config => Self::Config,
                AnswerClass::Retry => Self::ServerError,
                AnswerClass::Uncertain => Self::Uncertain,
                AnswerClass::KeyBurnt => Self::KeyBurnt,
                AnswerClass::WindowClosed => Self::WindowClosed,
                AnswerClass::Unclear => Self::Unclear,
                AnswerClass::NotTheServer => Self::NotTheServer,
                AnswerClass::OtherKey => Self::OtherKey,
            },
        }
    }
}
