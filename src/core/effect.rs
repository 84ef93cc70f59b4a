//! What an engine asks its driver to do. The driver does it and feeds back what happened; it decides nothing.

use core::fmt;

use super::change::{Applied, Change};
use super::contract::Answer;
use super::input::{CommitError, Ticket};
use super::intent::IntentRecord;
use super::key::IntentId;
use super::record::Content;
use super::time::Reading;

#[derive(Debug)]
pub enum Effect {
    /// Make these durable in one transaction, in this order. Answered by `Committed`.
    Commit { batch: Vec<(Ticket, Change)>, reading: Reading },
    /// Read what is due up to this ledger time. Answered by `Due` or `DueFailed`.
    LoadDue { until_ms: u64, limit: u32 },
    /// Read what is due for the app up to this ledger time. Answered by `Inbox` or `InboxFailed`.
    LoadInbox { until_ms: u64, limit: u32 },
    /// Hand an outcome to the app's handler. Answered by `Delivered`.
    Deliver { intent: Box<IntentRecord>, answer: Option<Answer> },
    /// Read one intent. Answered by `Loaded`, or by nothing if it cannot be read.
    Load(IntentId),
    /// Ask an origin for anything at all, without an effect. Answered by `Probed`.
    Probe { origin: String },
    /// Ask the app for credentials; for new ones if those it has were refused. Answered by `Authorized`.
    Authorize { intent: IntentId, refresh: bool },
    /// Send, in this very task: the guard has just passed. Answered by `Fetched`.
    Send(Box<Dispatch>),
    /// A caller's change is in, or is refused.
    Done { ticket: u64, result: Result<Applied, CommitError> },
    /// Tell the app: this is in the ledger (or, if not `durable`, could not be written and is known all the same).
    Changed { intent: Box<IntentRecord>, durable: bool, answer: Option<Answer> },
    /// Tell the other realms that this intent changed.
    Nudge(IntentId),
}

/// One request, ready to leave. `Debug` shows no URL, header or body (law 11).
pub struct Dispatch {
    pub intent: IntentId,
    pub attempt: u32,
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Content>,
    /// How long it may take, answer body included.
    pub deadline_ms: u64,
    /// Lower-case names of the answer's headers that are facts.
    pub fact_headers: Vec<String>,
    /// JSON pointers into the answer's body that are facts.
    pub fact_pointers: Vec<String>,
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dispatch({} attempt {})", self.intent, self.attempt)
    }
}
