//! The HTTP half of a contract: from a request to a [`Reservation`] and from its end to an answer.
//!
//! The order of checks is part of the contract: shape of the key (400), caller (401), shape of the
//! payment (400), then in one transaction fingerprint before state. Nothing before that transaction
//! leaves a trace under the key.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::App;
use crate::answers::{Stored, echo};
use crate::caller::scope;
use crate::database::DatabaseError;
use crate::decide::Fingerprint;
use crate::dialect::{Dialect, Echo};
use crate::faults::{ACCEPT_MS, Crash, Plan};
use crate::key::Key;
use crate::ledger::{Completion, Reservation, Run, Slot};
use crate::payments::{self, Outcome, Payment};
use crate::problem::Problem;
use crate::status;
use crate::wire::{Met, Ticket};

/// `POST /payments`, and the same under every contract's prefix.
#[expect(clippy::too_many_arguments, reason = "each is an extractor")]
pub(crate) async fn pay(
    Shared(app): Shared<App>,
    Extension(dialect): Extension<&'static Dialect>,
    Extension(plan): Extension<Plan>,
    Extension(ticket): Extension<Ticket>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked = Asked::read(dialect, &method, &uri, &headers, &body);
    let asked = match asked {
        Ok(asked) => asked,
        Err(problem) => return dialect.refusal(problem).into_response(),
    };
    let key = asked.key.clone();
    match process(&app, dialect, asked, plan, &ticket).await {
        Ok(answer) => answer,
        Err(problem) => {
            let mut response = dialect.refusal(problem).into_response();
            // A seal is kept under the key, like an answer.
            let kind = if problem == Problem::KeySealed { Echo::Stored } else { Echo::Processed };
            echo(&mut response, dialect, key.as_ref(), kind);
            response
        }
    }
}

/// A request to pay whose shape is right.
#[derive(Debug)]
struct Asked {
    /// `None` where the contract lets a request run without.
    key: Option<Key>,
    scope: String,
    payment: Payment,
    fingerprint: Fingerprint,
}

impl Asked {
    fn read(dialect: &Dialect, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<Self, Problem> {
        let key = dialect.key(headers, body)?;
        let scope = scope(headers)?;
        let content_type = headers.get(CONTENT_TYPE);
        let payment =
            Payment::parse(content_type.and_then(|value| value.to_str().ok()), body).map_err(Problem::BadRequest)?;
        Ok(Self { key, scope, payment, fingerprint: fingerprint(method, uri, content_type, body) })
    }
}

async fn process(
    app: &App,
    dialect: &'static Dialect,
    asked: Asked,
    plan: Plan,
    ticket: &Ticket,
) -> Result<Response, Problem> {
    let key = asked.key.as_ref();
    // Without a key every request is the first of its own.
    let name = key.map_or_else(|| format!("keyless-{}", Uuid::new_v4()), |key| key.text.clone());
    let slot = Slot { dialect, scope: asked.scope, key: name };
    match app.ledger.reserve(slot, asked.fingerprint).await? {
        Reservation::Granted(run) => {
            // On a task of its own: a client that hangs up must not cut a run between its
            // reservation and its commit.
            let accepts = plan.accepts();
            let execution = app.executions.spawn(execute(app.clone(), dialect, run, asked.payment, plan));
            if accepts {
                ticket.fault(ACCEPT_MS).await?;
                return Ok(status::accepted(dialect));
            }
            let stored = execution.await.map_err(|_| UNAVAILABLE)??;
            Ok(stored.first(dialect, key))
        }
        Reservation::Replay(stored) => {
            ticket.met(Met::Replay).await?;
            Ok(stored.repeated(dialect, key))
        }
        Reservation::InProgress => {
            ticket.met(Met::InProgress).await?;
            Err(Problem::InProgress)
        }
        Reservation::Mismatch => {
            ticket.met(Met::Mismatch).await?;
            Err(Problem::PayloadMismatch)
        }
        Reservation::Expired => {
            ticket.met(Met::Expired).await?;
            Err(Problem::KeyExpired)
        }
        Reservation::Sealed => {
            ticket.met(Met::Sealed).await?;
            Err(Problem::KeySealed)
        }
    }
}

const UNAVAILABLE: Problem = Problem::Unavailable { retry_after_s: None };

/// Runs the handler with a reservation and ends it: T1, or release.
async fn execute(
    app: App,
    dialect: &'static Dialect,
    run: Run,
    payment: Payment,
    plan: Plan,
) -> Result<Stored, Problem> {
    app.ledger.start(&run).await?;
    let handler = async {
        plan.stall_handler().await;
        match &run.made {
            // What an earlier run did not live to hear, the processor tells when it is asked again.
            Some(made) => Outcome::Paid(made.clone()),
            None if plan.declines() => Outcome::Declined,
            None => payments::authorize(&payment).await,
        }
    };
    // The timeout is below the lease, so a run that keeps its timers ends before anyone may take
    // over. One that does not (a paused process) is stopped by its token.
    let outcome = match tokio::time::timeout(app.handler_timeout, handler).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Outcome::Transient,
    };
    let (stored, unheard) = match outcome {
        Outcome::Paid(charge) => (Stored::applied(dialect, charge), None),
        Outcome::Declined => (Stored::refused(dialect), None),
        Outcome::Unknown { charge } => (Stored::unknown(dialect), charge),
        Outcome::Transient => {
            app.ledger.release(&run).await?;
            return Err(Problem::Transient);
        }
    };
    plan.stall_before_commit().await;
    plan.crash_at(Crash::BeforeCommit);
    // If T1 fails without a verdict it may still have been committed, so the reservation stays:
    // the next request finds the stored answer, or takes over after the lease.
    match app.ledger.complete(&run, stored.clone(), unheard).await? {
        Completion::Committed => {
            plan.crash_at(Crash::AfterCommit);
            Ok(stored)
        }
        Completion::Stale => Err(Problem::InProgress),
        Completion::AlreadyApplied => Err(Problem::KeyExpired),
    }
}

/// Each part goes in after its length, so that no two requests run together into one.
fn fingerprint(method: &Method, uri: &Uri, content_type: Option<&HeaderValue>, body: &[u8]) -> Fingerprint {
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let parts =
        [method.as_str().as_bytes(), target.as_bytes(), content_type.map_or(&[][..], HeaderValue::as_bytes), body];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Fingerprint(hash.finalize().into())
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        eprintln!("reference-server: {error}");
        UNAVAILABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_request_moves_the_fingerprint() {
        let json = HeaderValue::from_static("application/json");
        let text = HeaderValue::from_static("text/plain");
        let uri = Uri::from_static("/payments");
        let base = fingerprint(&Method::POST, &uri, Some(&json), b"body");
        let others = [
            fingerprint(&Method::PUT, &uri, Some(&json), b"body"),
            fingerprint(&Method::POST, &Uri::from_static("/payments?a"), Some(&json), b"body"),
            fingerprint(&Method::POST, &uri, Some(&text), b"body"),
            fingerprint(&Method::POST, &uri, None, b"body"),
            fingerprint(&Method::POST, &uri, Some(&json), b"body "),
        ];
        for other in others {
            assert_ne!(base, other);
        }
    }
}
