//! Every durable mutation as data. All ids in a change are made before its first try, so that one whose fate is
//! unknown can be re-run: `apply` finds its id and is done (P1.1).

use std::rc::Rc;

use super::backoff::Jitter;
use super::contract::{Answer, Contract, Fault, Finding, Observation, Windows};
use super::intent::{HeldReason, IntentRecord, Purpose, Request};
use super::json::json;
use super::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RealmId, ScopeHash};
use super::parcel::Parcel;
use super::reach::OriginRecord;
use super::record::Body;
use super::shared::Shared;
use super::window::ServerDate;

/// One mutation of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Submit(Box<Submit>),
    Claim(TakeClaim),
    /// The facts that an attempt brought. `apply` judges them with the stored contract and every attempt.
    Record(Box<RecordFacts>),
    /// What a look at the result of an accepted intent brought.
    Polled(Box<RecordFacts>),
    /// The guard refused, or the realm gave up before `fetch`: the attempt left nothing.
    NotSent(NotSent),
    /// Ends an intent that was never sent.
    Cancel(IntentId),
    /// Lets a held intent run again: its cause is mended, or the customer confirmed that the decision stands.
    Resume(IntentId),
    /// Takes a held intent out of its lane, so that it stands in nobody's way.
    Skip(IntentId),
    /// The app gives up on an intent whose outcome is unknown; evidence may still come (P5.6).
    Abandon {
        intent: IntentId,
        reason: String,
    },
    /// The app asks to find out, without sending again, what became of an intent.
    Reconcile(IntentId),
    /// What the server, or the app, said about it.
    Reconciled(Box<Reconciled>),
    /// Another scope's intents become this one's (P8.2).
    Adopt(Adopt),
    /// The app has these taken away, whatever they are: at sign-out, from a device that others use (P8.3).
    Purge(Purge),
    /// Takes away what nobody needs any more of those that have ended long ago (law 8).
    Prune(Vec<IntentId>),
    /// Packs intents for another ledger, and holds them here (hazard L11).
    MoveOut(MoveOut),
    /// Takes over what another ledger has packed.
    Receive(Box<Receive>),
    /// A successor for an intent that ended without an effect: write-once, linked both ways (law 3).
    Replace(Box<Replace>),
    /// The app's handler took an outcome, or failed to.
    Delivered(Delivered),
    /// An app without a handler has been told the outcome (P7.2).
    Acknowledge(IntentId),
    /// Holds an intent that no attempt can help now.
    Hold {
        intent: IntentId,
        reason: HeldReason,
    },
    /// A realm has seen the wall clock step, and bridges it by its monotonic clock: the ledger's clock must know, or it is
    /// lost with the realm.
    Tick,
    /// A probe of an origin succeeded or failed.
    Probed {
        origin: String,
        ok: bool,
    },
}

impl Change {
    /// What storage has no room for need not be kept (P6.4). Says whether there was anything to drop.
    pub fn drop_answer_body(&mut self) -> bool {
        let answer = match self {
            Self::Record(facts) => &mut facts.answer,
            Self::Polled(polled) => &mut polled.answer,
            Self::Reconciled(reconciled) => &mut reconciled.answer,
            _ => return false,
        };
        answer.as_mut().is_some_and(|answer| answer.body.take().is_some())
    }
}

/// A validated decision of the app, its key rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    pub intent: IntentId,
    /// Where it was submitted: that realm is the first to deliver its outcome.
    pub realm: RealmId,
    pub scope: ScopeHash,
    pub operation: String,
    pub reference: Option<String>,
    /// Intents of one lane of a scope are sent one after the other.
    pub lane: Option<String>,
    pub key: Key,
    pub contract: ContractSnapshot,
    pub fingerprint: Fingerprint,
    pub request: Request,
    pub body: Option<Body>,
    pub expires_in_ms: Option<u64>,
    /// It looks like card data, and the app allows that: for the journal.
    pub card_data: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub intent: IntentId,
    /// Of the claim to deliver.
    pub fence: u64,
    /// The handler resolved.
    pub ok: bool,
    pub jitter: Jitter,
}

/// A decision that takes the place of one that ended without an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replace {
    pub predecessor: IntentId,
    /// Under the predecessor's scope, operation and reference, and in its place in its lane.
    pub successor: Submit,
    pub reason: String,
}

/// A contract and the hash of its canonical text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractSnapshot {
    pub hash: ContractHash,
    pub contract: Rc<Contract>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeClaim {
    pub intent: IntentId,
    pub nonce: ChangeId,
    pub owner: RealmId,
    /// The scope that this realm's credentials are for.
    pub scope: ScopeHash,
    pub purpose: Purpose,
    /// Made under the intent's lock, by a realm that had let go of locks so many times: if it has done so again when the
    /// claim is decided, this one may be another's (P2.5).
    pub lock: Option<u64>,
    /// How long the attempt may take; the lease is longer by its slack.
    pub attempt_ms: u64,
    /// The windows of the contract that the queue has now; the smaller of this and the stored one's counts (law 7).
    pub windows: Windows,
    /// The realm's credentials have not been refused for this intent: it may claim one that is held for them (P7.3).
    pub fresh_credentials: bool,
}

/// What came back for an attempt, or for a look at its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFacts {
    pub intent: IntentId,
    pub attempt: u32,
    /// Of the claim to send, or to poll.
    pub fence: u64,
    pub fact: ChangeId,
    pub observation: Observation,
    /// Kept only if it settles the intent.
    pub answer: Option<Answer>,
    pub jitter: Jitter,
}

json!(struct RecordFacts { intent, attempt, fence, fact, observation, answer, jitter });

impl RecordFacts {
    /// What is recorded in place of facts that no engine survives: that they came.
    pub fn undecodable(&self) -> Self {
        Self {
            intent: self.intent.clone(),
            fact: self.fact.clone(),
            observation: Observation::Fault(Fault::Undecodable),
            answer: None,
            ..*self
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconciled {
    pub intent: IntentId,
    /// Of the claim to reconcile.
    pub fence: u64,
    pub fact: ChangeId,
    pub found: Found,
    /// Kept only if it settles the intent.
    pub answer: Option<Answer>,
    pub jitter: Jitter,
}

/// Where a finding comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The app's `reconcile` said so.
    ByApp(Finding),
    /// The answer to the contract's lookup; `apply` reads it.
    ByLookup(Observation),
}

/// All or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopt {
    pub from: ScopeHash,
    pub to: ScopeHash,
    pub intents: Vec<IntentId>,
}

/// A page of a scope. What is gone already is passed over, so that it can be run again and go on after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    pub scope: ScopeHash,
    pub intents: Vec<IntentId>,
}

/// A page of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveOut {
    pub scope: ScopeHash,
    pub intents: Vec<IntentId>,
}

/// All or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Of the queue that receives: what was another's is not its to send (law 9).
    pub scope: ScopeHash,
    /// The first to deliver the outcomes.
    pub realm: RealmId,
    pub parcel: Parcel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSent {
    pub intent: IntentId,
    pub attempt: u32,
    pub fence: u64,
    pub jitter: Jitter,
}

/// What a change did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// `created` is false where the reference already named this same decision.
    Submitted {
        intent: Shared<IntentRecord>,
        created: bool,
    },
    Claimed(Box<Grant>),
    /// The claim was not granted, and the intent ended or is held instead: it expired, or its window is closed.
    NotGranted(Shared<IntentRecord>),
    /// `origin` is what the ledger now remembers of the intent's origin.
    Recorded {
        intent: Shared<IntentRecord>,
        origin: Shared<OriginRecord>,
    },
    NotSent(Shared<IntentRecord>),
    Cancelled {
        intent: Shared<IntentRecord>,
        cancelled: bool,
    },
    Held(Shared<IntentRecord>),
    Resumed(Shared<IntentRecord>),
    /// If it was held: anything else keeps its place.
    Skipped(Shared<IntentRecord>),
    Abandoned(Shared<IntentRecord>),
    /// It is to be reconciled.
    Reconcile(Shared<IntentRecord>),
    Reconciled(Shared<IntentRecord>),
    Adopted {
        moved: Vec<Shared<IntentRecord>>,
        /// Those that may have been sent keep their scope.
        left: Vec<Shared<IntentRecord>>,
    },
    Purged {
        /// As they were.
        dropped: Vec<Shared<IntentRecord>>,
        /// What became of them: tombstones, and those that were never sent as if they were cancelled.
        ended: Vec<Shared<IntentRecord>>,
    },
    Pruned,
    MovedOut {
        parcel: Parcel,
        moved: Vec<Shared<IntentRecord>>,
        /// Those under a live claim.
        left: Vec<Shared<IntentRecord>>,
    },
    /// Those that were here already included.
    Received(Vec<Shared<IntentRecord>>),
    /// What is known of the delivery changed.
    Delivered(Shared<IntentRecord>),
    Probed {
        name: String,
        origin: Shared<OriginRecord>,
    },
    Ticked,
}

/// A granted claim, with everything that its attempt needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub intent: Shared<IntentRecord>,
    /// Only a claim to send makes one (P2.2).
    pub attempt: Option<u32>,
    pub fence: u64,
    pub lease_until_ms: u64,
    pub contract: Rc<Contract>,
    pub body: Option<Body>,
    /// The origin's clock, for the window.
    pub server: Option<ServerDate>,
    /// For a claim to deliver: what settled the intent, where it was kept.
    pub answer: Option<Answer>,
}

/// Why a change was refused. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The reference names another payload; the intent that has it.
    ReferenceConflict(Shared<IntentRecord>),
    /// [`OPEN_INTENTS_MAX`](super::limits::OPEN_INTENTS_MAX) unfinished intents.
    LedgerFull,
    /// [`LANE_LENGTH_MAX`](super::limits::LANE_LENGTH_MAX) unfinished intents in the lane.
    LaneFull,
    UnknownIntent,
    /// Another realm's lease runs until then, on the ledger clock.
    Leased {
        until_ms: u64,
    },
    /// The server asked to wait until then, on the ledger clock.
    NotBefore {
        at_ms: u64,
    },
    /// The purpose does not fit the state (P2.2): ended, held, or not to be sent.
    WrongState(Shared<IntentRecord>),
    /// The intent may still have an effect, or had one: no successor (law 3).
    NotReplaceable(Shared<IntentRecord>),
    /// The intent is not held, or what holds it is not lifted by sending again.
    NotResumable(Shared<IntentRecord>),
    /// Nothing is unknown about the intent, or everything: asking the server would tell nothing.
    NotReconcilable(Shared<IntentRecord>),
    /// Both scopes have an intent of this reference: the one that was to be adopted, and the one that is there.
    AdoptConflict {
        theirs: Shared<IntentRecord>,
        ours: Shared<IntentRecord>,
    },
    /// The parcel is another scope's.
    ForeignParcel,
    /// A record that exists cannot be read by this build.
    Undecodable,
    /// Records contradict one another: a bug or a damaged ledger. Nothing is sent.
    Inconsistent,
}

impl Applied {
    /// The intent's record after the change.
    pub fn intent(&self) -> Option<&Shared<IntentRecord>> {
        match self {
            Self::Submitted { intent, .. }
            | Self::NotGranted(intent)
            | Self::Recorded { intent, .. }
            | Self::NotSent(intent)
            | Self::Cancelled { intent, .. }
            | Self::Held(intent)
            | Self::Resumed(intent)
            | Self::Skipped(intent)
            | Self::Abandoned(intent)
            | Self::Reconcile(intent)
            | Self::Reconciled(intent)
            | Self::Delivered(intent) => Some(intent),
            Self::Claimed(grant) => Some(&grant.intent),
            Self::Probed { .. }
            | Self::Adopted { .. }
            | Self::Purged { .. }
            | Self::Pruned
            | Self::MovedOut { .. }
            | Self::Received(_)
            | Self::Ticked => None,
        }
    }
}
