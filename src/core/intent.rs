//! The intent as stored: one decision, its write-once key and request, and what is known of it.

use core::fmt;

use super::attempt::History;
use super::contract::{Carrier, Method};
use super::json::json;
use super::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RealmId, ScopeHash};
use super::shared::Shared;
use super::time::Stamp;
use super::window::WindowStart;

pub use super::state::{Cause, Evidence, HeldReason, Replay, State};

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
    /// Since when it is only a tombstone: without body, answer, headers and journal, and of its key only the hash (law 8).
    pub erased: Option<Stamp>,
    /// Another scope in which its reference is taken, too: what was left when that scope adopted (P8.2).
    pub blocks: Option<ScopeHash>,
    /// Its state, and when it was due, before it was held because it was moved: so it is packed again.
    pub moved_from: Option<(State, Option<u64>)>,
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
    erased: later,
    blocks: later,
    moved_from: later,
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
            Self::Reconcile if state.is_moved() => false,
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
