//! Where an intent stands, and why (design section 2).

use super::bugs::{Bug, bug};
use super::json::json;

/// Where an intent stands. `sending` is not one of them: it is how a live send lease shows (P2.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Durable, provably never sent.
    Queued,
    /// Not finished; due at `due_at_ms`.
    Waiting {
        cause: Cause,
    },
    /// The server took it; the result is to be fetched.
    Accepted,
    /// Waits for the app or a person.
    Held {
        reason: HeldReason,
    },
    Succeeded {
        replay: Replay,
        evidence: Evidence,
    },
    /// A refusal: no effect of any delivery that we know of.
    Rejected {
        evidence: Evidence,
        /// No delivery of this key can still have an effect.
        replaceable: bool,
    },
    Mismatched,
    NotApplied,
    Cancelled,
    Expired,
    Abandoned,
}

json!(enum State {
    Queued = "queued",
    Waiting { cause } = "waiting",
    Accepted = "accepted",
    Held { reason } = "held",
    Succeeded { replay, evidence } = "succeeded",
    Rejected { evidence, replaceable } = "rejected",
    Mismatched = "mismatched",
    NotApplied = "not_applied",
    Cancelled = "cancelled",
    Expired = "expired",
    Abandoned = "abandoned",
});

impl State {
    /// Visible to the app as an outcome; absorbs (law 6).
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Queued | Self::Waiting { .. } | Self::Accepted | Self::Held { .. } => false,
            Self::Succeeded { .. }
            | Self::Rejected { .. }
            | Self::Mismatched
            | Self::NotApplied
            | Self::Cancelled
            | Self::Expired
            | Self::Abandoned => true,
        }
    }

    /// Is this what is known for good? `mismatched` and `abandoned` end sending, not evidence (P5.6).
    pub fn is_definite(&self) -> bool {
        self.is_terminal() && !matches!(self, Self::Mismatched | Self::Abandoned)
    }

    /// May the app decide anew? Only after a definite outcome without an effect (law 3).
    pub fn safe_to_replace(&self) -> bool {
        match self {
            Self::Rejected { replaceable, .. } => *replaceable,
            Self::NotApplied | Self::Cancelled | Self::Expired => true,
            _ => false,
        }
    }

    /// Does another ledger see to it?
    pub fn is_moved(&self) -> bool {
        *self == Self::Held { reason: HeldReason::Moved }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Waiting { .. } => "waiting",
            Self::Accepted => "accepted",
            Self::Held { .. } => "held",
            Self::Succeeded { .. } => "succeeded",
            Self::Rejected { .. } => "rejected",
            Self::Mismatched => "mismatched",
            Self::NotApplied => "not_applied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Why an unfinished intent waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Never sent: its turn has not come, or its origin cannot be reached.
    NotSent,
    /// A realm is sending it now. Shown while a send lease lives; never stored.
    InFlight,
    /// It was held, and may run again.
    Resumed,
    /// The server accepted it and is working on it.
    Processing,
    /// It was being sent, and nothing was recorded: a reload, a crash, a closed tab.
    Interrupted,
    Network,
    Timeout,
    NotTheServer,
    Truncated,
    ServerError,
    InProgress,
    RateLimited,
    /// An answer that settles nothing while another attempt is unknown.
    Unclear,
}

json!(words Cause {
    NotSent = "not_sent",
    InFlight = "in_flight",
    Resumed = "resumed",
    Processing = "processing",
    Interrupted = "interrupted",
    Network = "network",
    Timeout = "timeout",
    NotTheServer = "not_the_server",
    Truncated = "truncated",
    ServerError = "server_error",
    InProgress = "in_progress",
    RateLimited = "rate_limited",
    Unclear = "unclear",
});

/// Why a held intent needs the app or a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeldReason {
    /// The server refused the credentials, or they belong to another scope.
    Auth,
    /// Nothing at this address takes this request.
    Config,
    /// The answer was a redirect: a login page, or a wrong URL (P10).
    Redirected,
    /// The server may have forgotten the key: sending again could run it twice (law 7).
    WindowClosed,
    /// The device's clock was changed, so that its age is unknowable (P3.3).
    ClockChanged,
    /// Patience ended while the outcome is unknown.
    Unresolved,
    /// Answers contradict one another, or repeat another key.
    ConflictingAnswers,
    /// The server takes this key no more, and does not tell what became of it. No other key is made by itself.
    KeyBurnt,
    /// The server accepted it (202) and the result must be looked up.
    Accepted,
    /// Its payload or its contract is stored and cannot be read.
    Undecodable,
    /// It was moved to another origin's ledger, which sees to it.
    Moved,
}

json!(words HeldReason {
    Auth = "auth",
    Config = "config",
    Redirected = "redirected",
    WindowClosed = "window_closed",
    ClockChanged = "clock_changed",
    Unresolved = "unresolved",
    ConflictingAnswers = "conflicting_answers",
    KeyBurnt = "key_burnt",
    Accepted = "accepted",
    Undecodable = "undecodable",
    Moved = "moved",
});

impl HeldReason {
    pub const ALL: [Self; 11] = [
        Self::Auth,
        Self::Config,
        Self::Redirected,
        Self::WindowClosed,
        Self::ClockChanged,
        Self::Unresolved,
        Self::ConflictingAnswers,
        Self::KeyBurnt,
        Self::Accepted,
        Self::Undecodable,
        Self::Moved,
    ];

    /// Is asking the server all that helps? Otherwise going on may, once somebody has mended the cause; a lookup that seals
    /// the key would take that away.
    pub fn only_asking_helps(self) -> bool {
        match self {
            Self::WindowClosed | Self::Unresolved | Self::ConflictingAnswers | Self::KeyBurnt | Self::Accepted => true,
            Self::Auth | Self::Config | Self::Redirected | Self::ClockChanged | Self::Undecodable | Self::Moved => {
                false
            }
        }
    }

    /// What the app or a person can do, in one sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Auth => "Sign in again with the same account and open the queue with fresh credentials.",
            Self::Config => "Check baseUrl, url, method and size: the server has nothing that takes this request.",
            Self::Redirected => "The server redirected the request: sign in again, or correct the URL.",
            Self::WindowClosed => {
                "Ask the server whether it took effect; it may have forgotten the key, so it is not sent again."
            }
            Self::ClockChanged => "The device's clock was changed: ask the customer whether the decision still stands.",
            Self::Unresolved => "Ask the server whether it took effect; the key stays the same until that is known.",
            Self::ConflictingAnswers => {
                "Answers contradict one another: compare the server's records with the journal."
            }
            Self::KeyBurnt => "Ask the server what became of it; the server will not take this key again.",
            Self::Accepted => "The server accepted it and its result did not come: look it up by its reference.",
            Self::Undecodable => {
                "Its record, or an answer to it, cannot be read: ask the server whether it took effect."
            }
            Self::Moved => "It was moved: receive the parcel where it went, or move it again if the parcel was lost.",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replay {
    Fresh,
    Replayed,
    /// The marker was not visible.
    Unknown,
}

json!(words Replay { Fresh = "fresh", Replayed = "replayed", Unknown = "unknown" });

impl Replay {
    /// What a replay marker says; `None` where it was not visible, which is unknown and never fresh (P10).
    pub fn of_marker(replayed: Option<bool>) -> Self {
        match replayed {
            Some(true) => Self::Replayed,
            Some(false) => Self::Fresh,
            None if bug(Bug::MarkerIgnored) => Self::Fresh,
            None => Self::Unknown,
        }
    }
}

/// What a refusal or a success rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// A complete, recognised answer to this key.
    Reply,
    /// A refusal that is stored under the key.
    Stored,
    /// A refusal that another delivery need not get (P5.4).
    Unstored,
    Reconciliation,
}

json!(words Evidence {
    Reply = "reply",
    Stored = "stored",
    Unstored = "unstored",
    Reconciliation = "reconciliation",
});
