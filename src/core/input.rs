//! What can happen to an engine.

use core::fmt;
use std::rc::Rc;

use super::change::{Applied, Change, Refusal, Submit};
use super::contract::{Answer, Finding, Observation};
use super::intent::IntentRecord;
use super::key::IntentId;
use super::reach::OriginRecord;
use super::record::Content;
use super::shared::Shared;
use super::time::{LedgerClock, Observed};

#[derive(Debug)]
pub enum Input {
    /// The ledger is open: its clock, and what it remembers of the queue's origins.
    Started {
        clock: Option<LedgerClock>,
        origins: Vec<(Rc<str>, Shared<OriginRecord>)>,
    },
    Submit {
        ticket: u64,
        submit: Box<Submit>,
    },
    /// The app cancels, resumes, abandons or replaces an intent.
    Steer {
        ticket: u64,
        change: Box<Change>,
    },
    /// Somebody waits for news of this intent: it is read now, and again while they wait.
    Watch(IntentId),
    Unwatch(IntentId),
    /// A batch is durable, or is known not to be.
    Committed {
        results: Vec<(Ticket, Result<Applied, CommitError>)>,
        clock: Option<Observed>,
    },
    Due(DuePage),
    /// The ledger could not be asked; look again later.
    DueFailed,
    Inbox(DuePage),
    InboxFailed,
    /// The app's handler resolved; if not `ok`, it rejected or was silent for too long.
    Delivered {
        intent: IntentId,
        ok: bool,
    },
    /// An app without a handler for it has been told an outcome.
    Acknowledge(IntentId),
    Loaded {
        intent: Shared<IntentRecord>,
        /// The ledger's, read with it; `None` where it could not be.
        clock: Option<LedgerClock>,
    },
    /// There is no such intent, or the ledger could not be asked.
    NotLoaded(IntentId),
    /// What is to be had of the lock on an intent; `Lost` at any time while it is held.
    Lock {
        intent: IntentId,
        lock: Lock,
    },
    Probed {
        origin: String,
        ok: bool,
    },
    Authorized {
        intent: IntentId,
        outcome: Authorized,
    },
    /// What the app has prepared; `None`: it threw, or took too long.
    Prepared {
        intent: IntentId,
        prepared: Option<Prepared>,
    },
    /// What the app's `reconcile` said of an intent.
    Found {
        intent: IntentId,
        finding: Finding,
        answer: Option<Answer>,
    },
    Fetched {
        intent: IntentId,
        observation: Observation,
        answer: Option<Answer>,
    },
    Wake(Wake),
    /// Another realm changed this intent.
    Peer(IntentId),
}

/// Why the engine looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Timer,
    /// The browser says so; a hint in both directions (hazards N1, N2).
    Online,
    Offline,
    /// Visible, focused, shown again.
    Visible,
    /// `freeze` or `pagehide`: nothing may be sent until [`Wake::Resumed`].
    Suspended,
    Resumed,
}

/// A realm's part in the lock on an intent: a Web Lock, named after it (P2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// This realm holds it, until its driver is told to release it.
    Held,
    /// Another realm holds it.
    Taken,
    /// There are no locks here, or none were to be had in time: only time ends a claim made without one.
    Unavailable,
    /// It was held, and somebody has stolen it.
    Lost,
}

/// Who asked for a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ticket {
    Caller(u64),
    Run(IntentId),
    Probe(String),
    Delivery(IntentId),
    Engine,
}

/// Why a change is not in the ledger, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitError {
    Refused(Refusal),
    /// The transaction was aborted: it is not in.
    Failed,
    /// Nothing tells whether it is in (P1.2).
    Unknown,
    /// The ledger cannot be read.
    Unreadable,
}

/// A part of the ledger clock, both ends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DueSpan {
    pub from_ms: u64,
    pub until_ms: u64,
}

impl DueSpan {
    /// From the beginning.
    pub fn until(until_ms: u64) -> Self {
        Self { from_ms: 0, until_ms }
    }
}

/// One page of what is due, oldest due first.
#[derive(Clone, Debug, Default)]
pub struct DuePage {
    pub due: Vec<Shared<IntentRecord>>,
    /// The earliest due time after this page, on the ledger clock.
    pub next_due_at_ms: Option<u64>,
    pub origins: Vec<(Rc<str>, Shared<OriginRecord>)>,
    /// The ledger's clock: another realm may have moved it on.
    pub clock: Option<LedgerClock>,
}

/// What the app's `authorize` said.
#[derive(Debug)]
pub enum Authorized {
    Granted(Credentials),
    /// They belong to another scope (law 9).
    OtherScope,
    /// It threw, or took too long.
    Failed,
}

/// Headers for one attempt. Never stored; `Debug` shows none of it (law 11).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(pub Vec<(String, String)>);

/// What the app adds to one attempt: a signature, say. Outside the fingerprint, never stored; `Debug` shows none of it
/// (law 11).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    pub headers: Vec<(String, String)>,
    /// In place of the stored body.
    pub body: Option<Content>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({} headers)", self.headers.len())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} headers)", self.0.len())
    }
}
