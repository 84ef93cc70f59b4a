//! The intent as stored: one decision, its write-once key and request, and what is known of it.

use core::fmt;

use super::attempt::History;
use super::bugs::{Bug, bug};
use super::contract::{Carrier, Method};
use super::json::json;
use super::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RealmId, ScopeHash};
use super::shared::Shared;
use super::time::Stamp;
use super::window::WindowStart;

/// An intent's record, format 1. `key`, `request`, `carrier`, `contract`, `scope` and `fingerprint` are write-once
/// (law 2); only [`apply`](super::transition::apply) changes the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentRecord {
    pub id: IntentId,
    pub scope: ScopeHash,
    pub operation: String,
    pub reference: Option<String>,
    /// Present only on the head of a reference's chain; the store's unique index is over it (P1.5).
    pub head_reference: Option<String>,
    /// Order of submission within the scope.
    pub sequence: u64,
    /// The lane that it is sent in, if any; `None` again once it was skipped.
    pub lane: Option<LanePlace>,
    pub created: Stamp,
    /// When a person confirmed that the decision stands: `expires_in_ms` counts from here.
    pub renewed: Option<Stamp>,

    pub key: Key,
    /// How the key travels, frozen with the intent.
    pub carrier: Shared<Carrier>,
    /// Does the contract know how to ask the server what became of the key?
    pub has_lookup: bool,
    /// The contract's snapshot; its text is a record of its own.
    pub contract: ContractHash,
    pub fingerprint: Fingerprint,
    pub request: Shared<Request>,
    /// How long it may stay unsent; `None` = for ever.
    pub expires_in_ms: Option<u64>,

    pub state: State,
    /// When a realm should look at it again, on the ledger clock; `None`: nothing to do by itself.
    pub due_at_ms: Option<u64>,
    /// No attempt before this, whatever wakes the queue: the server's `Retry-After`, on the ledger clock.
    pub floor_at_ms: Option<u64>,
    pub claim: Option<Claim>,
    /// Counts claims; a change made under an older one is stale (law 5).
    pub fence: u64,
    pub history: History,
    /// When the first attempt that could have left was recorded.
    pub first_sent: Option<Stamp>,
    /// When the server's window for the key began (law 7): with the first send, or when the server says it did.
    pub window: Option<WindowStart>,

    /// Where its result is, once the server has accepted it.
    pub polling: Option<Polling>,
    pub reconciling: Reconciling,
    pub delivery: Delivery,
    pub predecessor: Option<IntentId>,
    pub successor: Option<IntentId>,
    /// Evidence against the outcome arrived after it (law 6).
    pub contradicted: bool,
    /// Entries in its journal, those that were only counted included.
    pub journal_entries: u64,
}

json!(struct IntentRecord {
    id,
    scope,
    operation,
    reference,
    head_reference,
    sequence,
    lane: later,
    created,
    renewed,
    key,
    carrier,
    has_lookup,
    contract,
    fingerprint,
    request,
    expires_in_ms,
    state,
    due_at_ms,
    floor_at_ms,
    claim,
    fence,
    history,
    first_sent,
    window,
    polling,
    reconciling,
    delivery,
    predecessor,
    successor,
    contradicted,
    journal_entries,
});

/// A place in a lane of the scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlace {
    pub lane: String,
    /// The sequence of the intent that took it first: a successor takes over its predecessor's.
    pub place: u64,
}

json!(struct LanePlace { lane, place });

/// The frozen request, its body apart. `Debug` shows no URL and no header value (law 11).
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Absolute.
    pub url: String,
    /// Scheme, host and port of `url`.
    pub origin: String,
    pub headers: Vec<(String, String)>,
}

json!(struct Request { method, url, origin, headers });

impl Request {
    /// The URL's path and query.
    pub fn path(&self) -> &str {
        self.url.strip_prefix(self.origin.as_str()).unwrap_or_default()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} to {}, {} headers)", self.method.as_str(), self.origin, self.headers.len())
    }
}

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
});

impl HeldReason {
    pub const ALL: [Self; 10] = [
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
    ];

    /// Is asking the server all that helps? Otherwise going on may, once somebody has mended the cause; a lookup that seals
    /// the key would take that away.
    pub fn only_asking_helps(self) -> bool {
        match self {
            Self::WindowClosed | Self::Unresolved | Self::ConflictingAnswers | Self::KeyBurnt | Self::Accepted => true,
            Self::Auth | Self::Config | Self::Redirected | Self::ClockChanged | Self::Undecodable => false,
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

/// Fetching the result of an accepted intent. Never sends it again (P2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Absolute, on the intent's own origin.
    pub url: String,
    /// Looks that brought no result.
    pub looks: u32,
    /// The last change that recorded a look (P1.1).
    pub last: Option<ChangeId>,
}

json!(struct Polling { url, looks, last });

/// Finding out, without sending again, what became of an intent (design section 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciling {
    /// The app asked for it, and has had no finding since.
    pub asked: bool,
    /// Findings since that settled nothing.
    pub looks: u32,
    /// The last change that recorded a finding (P1.1).
    pub last: Option<ChangeId>,
}

json!(struct Reconciling { asked, looks, last });

/// Handing the outcome to the app: at least once, acknowledged (P7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The realm that submitted the intent has precedence at first.
    pub submitted_by: RealmId,
    /// When the outcome is due for the app, on the ledger clock; `None`: there is none yet, or it was acknowledged.
    pub due_at_ms: Option<u64>,
    /// Handings-over begun since there is an outcome.
    pub tries: u32,
    pub acknowledged: Option<Stamp>,
}

json!(struct Delivery { submitted_by, due_at_ms, tries, acknowledged });

/// The time-bounded right of one realm to run an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub owner: RealmId,
    /// Made before the claim's first try; a re-run finds it and is done (P1.1).
    pub nonce: ChangeId,
    pub purpose: Purpose,
    /// On the ledger clock.
    pub lease_until_ms: u64,
    /// Was the intent's Web Lock held when it was made? Such a claim may be inherited with the lock (P2.4).
    pub lock_held: bool,
    /// What the ledger's clock held of time that only single realms had known of, when the claim was made.
    pub unexplained_ms: u64,
}

json!(struct Claim { owner, nonce, purpose, lease_until_ms, lock_held, unexplained_ms });

/// What a claim licenses (P2.1, P2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Send,
    Poll,
    Reconcile,
    Deliver,
}

json!(words Purpose { Send = "send", Poll = "poll", Reconcile = "reconcile", Deliver = "deliver" });

impl Purpose {
    /// May a claim with this purpose be taken from that state? (P2.2)
    pub fn allows(self, state: &State) -> bool {
        match self {
            Self::Send => matches!(state, State::Queued | State::Waiting { .. }),
            Self::Poll => matches!(state, State::Accepted),
            // A refusal that another delivery need not get is replaced only after reconciling (P5.4).
            Self::Reconcile => matches!(
                state,
                State::Waiting { .. }
                    | State::Accepted
                    | State::Held { .. }
                    | State::Mismatched
                    | State::Abandoned
                    | State::Rejected { replaceable: false, .. }
            ),
            Self::Deliver => state.is_terminal(),
        }
    }
}

impl IntentRecord {
    /// The claim, if its lease has not ended by this clock. The ledger's word is that of `apply`.
    pub fn live_claim(&self, now: &Stamp) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| now.at_ms < claim.lease_until_ms)
    }

    /// Could any attempt have left the device? False means cancelling is safe.
    pub fn maybe_sent(&self) -> bool {
        self.history.maybe_sent()
    }

    pub fn has_ended(&self) -> bool {
        self.state.is_terminal()
    }

    /// Is there nothing to wait for: it has ended, or is held, and nobody has asked what became of it?
    pub fn is_at_rest(&self) -> bool {
        (self.has_ended() || matches!(self.state, State::Held { .. })) && !self.reconciling.asked
    }

    /// Can asking the server tell more than is known?
    pub fn is_reconcilable(&self) -> bool {
        self.maybe_sent() && Purpose::Reconcile.allows(&self.state)
    }
}
