//! The sequence of one attempt, as a state machine (P2.3): reachable, lock, authorize, claim, prepare, guard, send,
//! record.

use std::rc::Rc;

use super::backoff::Jitter;
use super::bugs::{Bug, bug};
use super::change::{Change, Found, Grant, NotSent, Reconciled, RecordFacts, TakeClaim};
use super::contract::{Answer, CarrierPlace, Contract, Finding, Lookup, Observation, Windows};
use super::effect::{Dispatch, Outgoing};
use super::http_date;
use super::input::{Credentials, Prepared};
use super::intent::{IntentRecord, Polling, Purpose};
use super::key::{ChangeId, IntentId, Key, RealmId, ScopeHash};
use super::limits::{RECONCILE_DEADLINE_MS, RECORD_TRIES_MAX};
use super::shared::Shared;
use super::time::Stamp;
use super::window::{ServerDate, may_start};

/// One attempt of one intent in this realm.
#[derive(Clone, Debug)]
pub struct AttemptRun {
    intent: IntentId,
    step: Step,
    /// Cleared by `freeze`, `pagehide` or a lost lock, in the task that brings it; the guard checks it (P2.5).
    may_send: bool,
    /// Does this realm hold the intent's lock?
    lock_held: bool,
    errand: Errand,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    Send,
    /// The intent is held for credentials, and those of this realm were not refused (P7.3).
    SendWithFreshCredentials,
    /// To fetch the result of what the server accepted. Never sends (P2.1).
    Poll,
    /// To find out what became of it: from the app, or by the contract's lookup. Never sends (P2.1).
    Reconcile {
        by_app: bool,
    },
}

impl Errand {
    pub fn purpose(self) -> Purpose {
        match self {
            Self::Send | Self::SendWithFreshCredentials => Purpose::Send,
            Self::Poll => Purpose::Poll,
            Self::Reconcile { .. } => Purpose::Reconcile,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Reaching,
    Locking,
    Authorizing,
    Claiming { credentials: Credentials },
    Preparing { dispatch: Box<Dispatch>, flight: Box<Flight> },
    Sending { flight: Box<Flight> },
    Looking { attempt: u32, fence: u64 },
    Asking { fence: u64 },
    Recording { flight: Box<Flight>, facts: Box<RecordFacts>, tries: u32 },
    Releasing,
}

/// What an attempt on the wire must remember, to be judged even if the ledger is gone.
#[derive(Clone, Debug)]
pub struct Flight {
    pub intent: Shared<IntentRecord>,
    pub contract: Rc<Contract>,
    attempt: u32,
    fence: u64,
    lease_until_ms: u64,
    server: Option<ServerDate>,
}

/// What a run asks for next.
#[derive(Debug)]
pub enum Next {
    /// Ask for the intent's lock, now or not at all.
    Lock,
    Authorize,
    Commit(Change),
    /// Let the app prepare the request: its answer is not part of what is compared or stored.
    Prepare(Outgoing),
    Send(Box<Dispatch>),
    /// Ask the app what became of the intent.
    AskApp(Shared<IntentRecord>),
    /// The facts are not in: offer them again later. The app learns the outcome now, marked as not durable.
    TellUndurable,
    /// It is over; whatever remains to do is in the ledger.
    Finished,
}

/// The engine's part of a claim.
#[derive(Clone, Debug)]
pub struct Terms {
    pub owner: RealmId,
    pub scope: ScopeHash,
    pub nonce: ChangeId,
    pub attempt_ms: u64,
    pub windows: Windows,
    /// Does the app prepare requests?
    pub prepares: bool,
    /// How often this realm has let go of locks so far.
    pub locks_lost: u64,
}

impl AttemptRun {
    pub fn new(intent: IntentId, errand: Errand) -> Self {
        Self { intent, step: Step::Reaching, may_send: true, lock_held: false, errand }
    }

    /// The facts that wait to be offered again.
    pub fn unrecorded(&self) -> Option<(&Flight, &RecordFacts)> {
        match &self.step {
            Step::Recording { flight, facts, .. } => Some((flight, facts)),
            _ => None,
        }
    }

    /// This realm may be frozen at the end of this task, and holds no lock then. Says whether the run is over: nothing
    /// of it is in the ledger yet, and no lock comes to a realm that has ceased to ask for it.
    pub fn suspend(&mut self) -> bool {
        self.lose_lock();
        matches!(self.step, Step::Reaching | Step::Locking)
    }

    /// Somebody else may run the intent from now on: what was not sent yet, this run does not send (P2.5).
    pub fn lose_lock(&mut self) {
        self.may_send = bug(Bug::MaySendAfterFreeze);
        self.lock_held = false;
    }

    pub fn holds_lock(&self) -> bool {
        self.lock_held
    }

    pub fn is_locking(&self) -> bool {
        matches!(self.step, Step::Locking)
    }

    /// The origin is within reach. `lock_held`: this realm has waited for the lock, and got it.
    pub fn reached(&mut self, lock_held: bool) -> Next {
        self.step = Step::Locking;
        if lock_held { self.locked(true) } else { Next::Lock }
    }

    /// With the lock or, where there is none to be had, without (P2.4).
    pub fn locked(&mut self, held: bool) -> Next {
        self.lock_held = held;
        self.step = Step::Authorizing;
        Next::Authorize
    }

    pub fn authorized(&mut self, credentials: Credentials, terms: Terms) -> Next {
        self.step = Step::Claiming { credentials };
        Next::Commit(Change::Claim(TakeClaim {
            intent: self.intent.clone(),
            nonce: terms.nonce,
            owner: terms.owner,
            scope: terms.scope,
            purpose: self.errand.purpose(),
            lock: self.lock_held.then_some(terms.locks_lost),
            attempt_ms: match self.errand {
                Errand::Reconcile { .. } => terms.attempt_ms.max(RECONCILE_DEADLINE_MS),
                _ => terms.attempt_ms,
            },
            windows: terms.windows,
            fresh_credentials: self.errand == Errand::SendWithFreshCredentials,
        }))
    }

    /// The claim is durable: the app prepares the request, or it goes out in this task.
    pub fn claimed(&mut self, grant: Grant, terms: &Terms, now: &Stamp, jitter: Jitter) -> Next {
        let Step::Claiming { credentials } = &mut self.step else { return Next::Finished };
        let credentials = core::mem::take(credentials);
        match self.errand {
            Errand::Poll => return self.look(grant, credentials, terms),
            Errand::Reconcile { by_app } => return self.ask(grant, credentials, terms, by_app),
            Errand::Send | Errand::SendWithFreshCredentials => {}
        }
        let Some(attempt) = grant.attempt else { return Next::Finished };
        let dispatch = Box::new(dispatch(&grant, attempt, credentials, terms.attempt_ms));
        let flight = Box::new(Flight {
            intent: grant.intent,
            contract: grant.contract,
            attempt,
            fence: grant.fence,
            lease_until_ms: grant.lease_until_ms,
            server: grant.server,
        });
        if terms.prepares {
            let outgoing = dispatch.outgoing();
            self.step = Step::Preparing { dispatch, flight };
            return Next::Prepare(outgoing);
        }
        self.guard(dispatch, flight, terms, now, jitter)
    }

    /// The app has prepared the request, or could not. The key, the frozen headers and the URL are not its to change.
    pub fn prepared(&mut self, prepared: Option<Prepared>, terms: &Terms, now: &Stamp, jitter: Jitter) -> Next {
        match core::mem::replace(&mut self.step, Step::Releasing) {
            Step::Preparing { mut dispatch, flight } => match prepared {
                Some(prepared) if keeps_the_key(&flight.intent, &prepared) => {
                    dispatch.prepare(prepared);
                    self.guard(dispatch, flight, terms, now, jitter)
                }
                Some(_) | None => self.give_back(&flight, jitter),
            },
            step => {
                self.step = step;
                Next::Finished
            }
        }
    }

    /// The guard, in the task that will send: may this realm still send, does the lease still hold the whole attempt,
    /// is the window still open (P2.6, law 5)? `now` includes both clocks: the ledger clock advances by the larger of
    /// the two.
    fn guard(
        &mut self,
        dispatch: Box<Dispatch>,
        flight: Box<Flight>,
        terms: &Terms,
        now: &Stamp,
        jitter: Jitter,
    ) -> Next {
        let needs_ms = if bug(Bug::LeaseShorterThanAttempt) { 0 } else { terms.attempt_ms };
        let lease_holds = now.at_ms.saturating_add(needs_ms) <= flight.lease_until_ms;
        let again = flight.intent.history.left_beside(flight.attempt);
        let windows = [&flight.contract.windows(), &terms.windows];
        let open = may_start(&flight.intent, again, windows, flight.server.as_ref(), now, terms.attempt_ms);
        if !(self.may_send && lease_holds && open || bug(Bug::GuardSkipped)) {
            return self.give_back(&flight, jitter);
        }
        self.step = Step::Sending { flight };
        Next::Send(dispatch)
    }

    /// Nothing left this device: the attempt is taken back.
    fn give_back(&mut self, flight: &Flight, jitter: Jitter) -> Next {
        self.step = Step::Releasing;
        let (intent, attempt, fence) = (self.intent.clone(), flight.attempt, flight.fence);
        Next::Commit(Change::NotSent(NotSent { intent, attempt, fence, jitter }))
    }

    /// The claim to poll is durable: ask. A look has no effect, so that neither lease nor window guards it; a realm that
    /// may be frozen leaves it to the next.
    fn look(&mut self, grant: Grant, credentials: Credentials, terms: &Terms) -> Next {
        let Some(polling) = grant.intent.polling.as_ref().filter(|_| self.may_send) else { return Next::Finished };
        let dispatch = look(&grant, polling, credentials, terms.attempt_ms);
        self.step = Step::Looking { attempt: dispatch.attempt, fence: grant.fence };
        Next::Send(Box::new(dispatch))
    }

    /// The claim to reconcile is durable: ask the app, or the server.
    fn ask(&mut self, grant: Grant, credentials: Credentials, terms: &Terms, by_app: bool) -> Next {
        self.step = Step::Asking { fence: grant.fence };
        if by_app {
            return Next::AskApp(grant.intent);
        }
        match grant.contract.reconcile.as_ref().filter(|_| self.may_send) {
            Some(lookup) => Next::Send(Box::new(ask(&grant, lookup, credentials, terms.attempt_ms))),
            None => Next::Finished,
        }
    }

    /// The app has said what became of the intent.
    pub fn found(&mut self, finding: Finding, answer: Option<Answer>, fact: ChangeId, jitter: Jitter) -> Next {
        self.reconciled(Found::ByApp(finding), answer, fact, jitter)
    }

    fn reconciled(&mut self, found: Found, answer: Option<Answer>, fact: ChangeId, jitter: Jitter) -> Next {
        let Step::Asking { fence } = self.step else { return Next::Finished };
        self.step = Step::Releasing;
        let intent = self.intent.clone();
        Next::Commit(Change::Reconciled(Box::new(Reconciled { intent, fence, fact, found, answer, jitter })))
    }

    /// Something came back, or nothing did.
    pub fn fetched(
        &mut self,
        observation: Observation,
        answer: Option<Answer>,
        fact: ChangeId,
        jitter: Jitter,
    ) -> Next {
        if matches!(self.step, Step::Asking { .. }) {
            return self.reconciled(Found::ByLookup(observation), answer, fact, jitter);
        }
        let (attempt, fence) = match &self.step {
            Step::Sending { flight } => (flight.attempt, flight.fence),
            Step::Looking { attempt, fence } => (*attempt, *fence),
            _ => return Next::Finished,
        };
        let intent = self.intent.clone();
        let facts = Box::new(RecordFacts { intent, attempt, fence, fact, observation, answer, jitter });
        let Step::Sending { flight } = core::mem::replace(&mut self.step, Step::Releasing) else {
            return Next::Commit(Change::Polled(facts));
        };
        self.step = Step::Recording { flight, facts: facts.clone(), tries: 1 };
        Next::Commit(Change::Record(facts))
    }

    /// The ledger did not take the facts: the app is told, and the ledger is asked again later.
    pub fn not_recorded(&mut self) -> Next {
        let Step::Recording { tries, .. } = &mut self.step else { return Next::Finished };
        *tries += 1;
        if *tries > RECORD_TRIES_MAX { Next::Finished } else { Next::TellUndurable }
    }

    /// Time to offer the facts again.
    pub fn record_again(&self) -> Option<Change> {
        self.unrecorded().map(|(_, facts)| Change::Record(Box::new(facts.clone())))
    }
}

/// A body that carries the key must carry it still, or a repetition would be another payment (law 3).
fn keeps_the_key(intent: &IntentRecord, prepared: &Prepared) -> bool {
    let key = intent.key.expose().as_bytes();
    let body = prepared.body.as_ref().filter(|_| intent.carrier.place == CarrierPlace::Body);
    body.is_none_or(|body| body.as_bytes().windows(key.len()).any(|part| part == key))
}

/// The attempt itself: the frozen request, under its key.
fn dispatch(grant: &Grant, attempt: u32, credentials: Credentials, deadline_ms: u64) -> Dispatch {
    let request = &grant.intent.request;
    let key = &grant.intent.key;
    #[cfg(any(feature = "break-new-key", feature = "deliberate-bugs"))]
    let key = &if cfg!(feature = "break-new-key") || bug(Bug::NewKeyOnRetry) {
        key.broken_for_retry(attempt)
    } else {
        key.clone()
    };
    let media_type = grant.body.as_ref().map(|body| body.media_type.clone());
    Dispatch {
        attempt,
        method: request.method.as_str(),
        body: grant.body.as_ref().map(|body| body.content.clone()),
        ..get(grant, key, request.url.clone(), media_type, credentials, deadline_ms)
    }
}

/// A `GET` of the result, with the key, so that the server can say whose result it is.
fn look(grant: &Grant, polling: &Polling, credentials: Credentials, deadline_ms: u64) -> Dispatch {
    get(grant, &grant.intent.key, polling.url.clone(), None, credentials, deadline_ms)
}

/// The contract's own way of asking what became of the key.
fn ask(grant: &Grant, lookup: &Lookup, credentials: Credentials, deadline_ms: u64) -> Dispatch {
    let url = lookup.url(&grant.intent);
    Dispatch {
        method: lookup.method(),
        response_at: lookup.response_at.clone(),
        ..get(grant, &grant.intent.key, url, None, credentials, deadline_ms)
    }
}

/// What every request of an intent has in common: the frozen headers, credentials, the key.
fn get(
    grant: &Grant,
    key: &Key,
    url: String,
    media_type: Option<String>,
    credentials: Credentials,
    deadline_ms: u64,
) -> Dispatch {
    let carrier = &grant.intent.carrier;
    let mut own: Vec<(String, String)> = carrier.header(key).into_iter().collect();
    if let (Some(name), Some(first_sent)) = (&carrier.first_sent, &grant.intent.first_sent) {
        own.push((name.clone(), http_date::format(first_sent.wall_ms)));
    }
    let mut headers = grant.intent.request.headers.clone();
    headers.extend(media_type.map(|media_type| ("content-type".to_owned(), media_type)));
    headers.append(&mut own);
    let mut dispatch = Dispatch {
        intent: grant.intent.id.clone(),
        attempt: grant.intent.history.total,
        method: "GET",
        url,
        headers,
        body: None,
        deadline_ms,
        contract: grant.contract.clone(),
        response_at: None,
    };
    dispatch.add_headers(credentials.0);
    dispatch
}
