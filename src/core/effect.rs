//! What an engine asks its driver to do. The driver does it and feeds back what happened; it decides nothing.

use core::fmt;
use std::rc::Rc;

use super::change::{Applied, Change};
use super::contract::{Answer, Contract};
use super::input::{CommitError, DueSpan, Prepared, Ticket};
use super::intent::IntentRecord;
use super::key::IntentId;
use super::record::Content;
use super::shared::Shared;

#[derive(Clone, Debug)]
pub enum Effect {
    /// Make these durable in one transaction, in this order, with [`Engine::reading`](super::engine::Engine::reading) of
    /// the moment when the transaction decides. Answered by `Committed`.
    Commit { batch: Vec<(Ticket, Change)> },
    /// Read what is due within this span of the ledger clock. Answered by `Due` or `DueFailed`.
    LoadDue { span: DueSpan, limit: u32 },
    /// Read what is due for the app up to this ledger time. Answered by `Inbox` or `InboxFailed`.
    LoadInbox { until_ms: u64, limit: u32 },
    /// Hand an outcome to the app's handler. Answered by `Delivered`.
    Deliver { intent: Shared<IntentRecord>, answer: Option<Answer> },
    /// Read one intent. Answered by `Loaded` or `NotLoaded`.
    Load(IntentId),
    /// Ask an origin for anything at all, without an effect. Answered by `Probed`.
    Probe { origin: String },
    /// Ask for the lock on an intent: now or not at all, or, with `wait`, as soon as its holder gives it up or dies.
    /// Answered by `Lock`.
    Lock { intent: IntentId, wait: bool },
    /// Release the lock on an intent, or wait for it no longer, in this very task.
    Unlock(IntentId),
    /// Ask the app for credentials; for new ones if those it has were refused. Answered by `Authorized`.
    Authorize { intent: IntentId, refresh: bool },
    /// Let the app prepare a request that is about to leave. Answered by `Prepared`.
    Prepare { intent: IntentId, outgoing: Outgoing },
    /// Ask the app what became of an intent. Answered by `Found`.
    Reconcile { intent: Shared<IntentRecord> },
    /// Send, in this very task: the guard has just passed. Answered by `Fetched`.
    Send(Box<Dispatch>),
    /// A caller's change is in, or is refused.
    Done { ticket: u64, result: Result<Applied, CommitError> },
    /// Tell the app: this is in the ledger (or, if not `durable`, could not be written and is known all the same).
    Changed { intent: Shared<IntentRecord>, durable: bool, answer: Option<Answer> },
    /// Tell the other realms that this intent changed.
    Nudge(IntentId),
}

/// One request, ready to leave. `Debug` shows no URL, header or body (law 11).
#[derive(Clone)]
pub struct Dispatch {
    pub intent: IntentId,
    pub attempt: u32,
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Content>,
    /// How long it may take, answer body included.
    pub deadline_ms: u64,
    /// Names what of the answer are facts.
    pub contract: Rc<Contract>,
    /// Where in the answer's body stands what the app is to get; `None`: the body is.
    pub response_at: Option<String>,
}

/// A request as the app's `prepare` sees it. `Debug` shows no URL, header or body (law 11).
#[derive(Clone)]
pub struct Outgoing {
    pub attempt: u32,
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Content>,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} attempt {})", self.method, self.attempt)
    }
}

impl Dispatch {
    pub fn outgoing(&self) -> Outgoing {
        Outgoing {
            attempt: self.attempt,
            method: self.method,
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
        }
    }

    /// Takes over what the app has prepared: more headers, another body.
    pub fn prepare(&mut self, prepared: Prepared) {
        self.add_headers(prepared.headers);
        if let Some(body) = prepared.body {
            self.body = Some(body);
        }
    }

    /// Headers from a callback come last: they displace neither the key nor a frozen header.
    pub fn add_headers(&mut self, headers: Vec<(String, String)>) {
        for (name, value) in headers {
            if !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                self.headers.push((name, value));
            }
        }
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dispatch({} attempt {})", self.intent, self.attempt)
    }
}
