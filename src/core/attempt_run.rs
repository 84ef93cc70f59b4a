//! The sequence of one attempt, as a state machine (P2.3): reachable, authorize, claim, guard, send, record. The
//! intent's lock will stand between reachable and authorize; until then claims are made with `lock_held: false`.

use super::backoff::Jitter;
use super::change::{Change, Grant, NotSent, Polled, RecordFacts, TakeClaim};
use super::contract::{Answer, Contract, Observation};
use super::effect::Dispatch;
use super::input::Credentials;
use super::intent::{IntentRecord, Polling, Purpose};
use super::key::{ChangeId, IntentId, Key, RealmId};
use super::limits::RECORD_TRIES_MAX;
use super::time::Stamp;
use super::window::window_open;

/// One attempt of one intent in this realm.
#[derive(Debug)]
pub struct AttemptRun {
    intent: IntentId,
    step: Step,
    /// Cleared by `freeze`, `pagehide` or a lost lock, in the task that brings it; the guard checks it (P2.5).
    may_send: bool,
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
}

#[derive(Debug)]
enum Step {
    Reaching,
    Authorizing,
    Claiming { credentials: Credentials },
    Sending { flight: Box<Flight> },
    Looking { fence: u64 },
    Recording { flight: Box<Flight>, facts: Box<RecordFacts>, tries: u32 },
    Releasing,
}

/// What an attempt on the wire must remember, to be judged even if the ledger is gone.
#[derive(Debug)]
pub struct Flight {
    pub intent: IntentRecord,
    pub contract: Contract,
    attempt: u32,
    fence: u64,
}

/// What a run asks for next.
#[derive(Debug)]
pub enum Next {
    Authorize,
    Commit(Change),
    Send(Box<Dispatch>),
    /// The facts are not in: offer them again later. The app learns the outcome now, marked as not durable.
    TellUndurable,
    /// It is over; whatever remains to do is in the ledger.
    Finished,
}

/// The engine's part of a claim.
#[derive(Clone, Debug)]
pub struct Terms {
    pub owner: RealmId,
    pub nonce: ChangeId,
    pub attempt_ms: u64,
    pub window_ms: u64,
}

impl AttemptRun {
    pub fn new(intent: IntentId, errand: Errand) -> Self {
        Self { intent, step: Step::Reaching, may_send: true, errand }
    }

    /// The facts that wait to be offered again.
    pub fn unrecorded(&self) -> Option<(&Flight, &RecordFacts)> {
        match &self.step {
            Step::Recording { flight, facts, .. } => Some((flight, facts)),
            _ => None,
        }
    }

    /// This realm may be frozen at the end of this task.
    pub fn forbid_sending(&mut self) {
        self.may_send = false;
    }

    pub fn reached(&mut self) -> Next {
        self.step = Step::Authorizing;
        Next::Authorize
    }

    pub fn authorized(&mut self, credentials: Credentials, terms: Terms) -> Next {
        self.step = Step::Claiming { credentials };
        Next::Commit(Change::Claim(TakeClaim {
            intent: self.intent.clone(),
            nonce: terms.nonce,
            owner: terms.owner,
            purpose: if self.errand == Errand::Poll { Purpose::Poll } else { Purpose::Send },
            lock_held: false,
            attempt_ms: terms.attempt_ms,
            window_ms: terms.window_ms,
            fresh_credentials: self.errand == Errand::SendWithFreshCredentials,
        }))
    }

    /// The claim is durable. The guard, in the task that will send: may this realm still send, does the lease still
    /// hold the whole attempt, is the window still open (P2.6, law 5)? `now` includes both clocks: the ledger clock
    /// advances by the larger of the two.
    pub fn claimed(&mut self, grant: Grant, terms: &Terms, now: &Stamp, jitter: Jitter) -> Next {
        let Step::Claiming { credentials } = &mut self.step else { return Next::Finished };
        let credentials = core::mem::take(credentials);
        if self.errand == Errand::Poll {
            return self.look(grant, credentials, terms);
        }
        let Some(attempt) = grant.attempt else { return Next::Finished };
        let lease_holds = now.at_ms.saturating_add(terms.attempt_ms) <= grant.lease_until_ms;
        let usable_ms = grant.contract.window_ms().min(terms.window_ms);
        let may = self.may_send && lease_holds && window_open(&grant.intent, usable_ms, now, terms.attempt_ms);
        if !may {
            self.step = Step::Releasing;
            let (intent, fence) = (self.intent.clone(), grant.fence);
            return Next::Commit(Change::NotSent(NotSent { intent, attempt, fence, jitter }));
        }
        let dispatch = Box::new(dispatch(&grant, attempt, credentials, terms.attempt_ms));
        let flight = Flight { intent: grant.intent, contract: grant.contract, attempt, fence: grant.fence };
        self.step = Step::Sending { flight: Box::new(flight) };
        Next::Send(dispatch)
    }

    /// The claim to poll is durable: ask. A look has no effect, so that neither lease nor window guards it; a realm that
    /// may be frozen leaves it to the next.
    fn look(&mut self, grant: Grant, credentials: Credentials, terms: &Terms) -> Next {
        let Some(polling) = grant.intent.polling.as_ref().filter(|_| self.may_send) else { return Next::Finished };
        let dispatch = look(&grant, polling, credentials, terms.attempt_ms);
        self.step = Step::Looking { fence: grant.fence };
        Next::Send(Box::new(dispatch))
    }

    /// Something came back, or nothing did.
    pub fn fetched(
        &mut self,
        observation: Observation,
        answer: Option<Answer>,
        fact: ChangeId,
        jitter: Jitter,
    ) -> Next {
        let intent = self.intent.clone();
        let step = core::mem::replace(&mut self.step, Step::Releasing);
        let flight = match step {
            Step::Sending { flight } => flight,
            Step::Looking { fence } => {
                return Next::Commit(Change::Polled(Box::new(Polled {
                    intent,
                    fence,
                    fact,
                    observation,
                    answer,
                    jitter,
                })));
            }
            other => {
                self.step = other;
                return Next::Finished;
            }
        };
        let facts = Box::new(RecordFacts {
            intent,
            attempt: flight.attempt,
            fence: flight.fence,
            fact,
            observation,
            answer,
            jitter,
        });
        let change = Change::Record(facts.clone());
        self.step = Step::Recording { flight, facts, tries: 1 };
        Next::Commit(change)
    }

    /// The ledger did not take the facts. First again at once without the answer's body, in case it is the quota
    /// (P6.4); then the app is told, and the ledger is asked again later.
    pub fn not_recorded(&mut self) -> Next {
        let Step::Recording { facts, tries, .. } = &mut self.step else { return Next::Finished };
        *tries += 1;
        let had_body = facts.answer.as_mut().is_some_and(|answer| answer.body.take().is_some());
        match *tries {
            2 if had_body => Next::Commit(Change::Record(facts.clone())),
            tries if tries > RECORD_TRIES_MAX => Next::Finished,
            _ => Next::TellUndurable,
        }
    }

    /// Time to offer the facts again.
    pub fn record_again(&self) -> Option<Change> {
        self.unrecorded().map(|(_, facts)| Change::Record(Box::new(facts.clone())))
    }
}

/// The attempt itself: the frozen request, under its key.
fn dispatch(grant: &Grant, attempt: u32, credentials: Credentials, deadline_ms: u64) -> Dispatch {
    let request = &grant.intent.request;
    let key = &grant.intent.key;
    #[cfg(feature = "break-new-key")]
    let key = &key.broken_for_retry(attempt);
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

/// What every request of an intent has in common: the frozen headers, credentials, the key.
fn get(
    grant: &Grant,
    key: &Key,
    url: String,
    media_type: Option<String>,
    credentials: Credentials,
    deadline_ms: u64,
) -> Dispatch {
    let (key_name, key_value) = grant.intent.carrier.header(key);
    let mut headers = grant.intent.request.headers.clone();
    headers.extend(media_type.map(|media_type| ("content-type".to_owned(), media_type)));
    add_credentials(&mut headers, credentials, &key_name);
    headers.push((key_name, key_value));
    Dispatch {
        intent: grant.intent.id.clone(),
        attempt: grant.intent.history.total,
        method: "GET",
        url,
        headers,
        body: None,
        deadline_ms,
        fact_headers: grant.contract.fact_headers(),
        fact_pointers: grant.contract.fact_pointers(),
    }
}

fn add_credentials(headers: &mut Vec<(String, String)>, credentials: Credentials, key_name: &str) {
    // Credentials come from a callback at each attempt: they must not displace the key or the frozen headers.
    let taken = |name: &str, headers: &[(String, String)]| {
        name.eq_ignore_ascii_case(key_name) || headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    for (name, value) in credentials.0 {
        if !taken(&name, headers) {
            headers.push((name, value));
        }
    }
}
