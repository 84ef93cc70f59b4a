//! Failures to order: what goes wrong with the next payment requests.
//!
//! A request takes its [`Plan`] when it arrives. Faults in front of the handler come first, and a
//! request that met one leaves the others for the requests after it. A server without the control
//! endpoints has no way to arm any of this.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State as Shared};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::answers::IDEMPOTENT_REPLAYED;
use crate::connection::Severed;
use crate::dialect::Dialect;
use crate::key::IDEMPOTENCY_KEY;
use crate::problem::Problem;
use crate::wire::Ticket;

/// The longest delay or stall that can be asked for.
const MAX_DELAY: Duration = Duration::from_secs(600);

/// The name of its switch in the wire log.
pub(crate) const ACCEPT_MS: &str = "accept_ms";

const CAPTIVE_PORTAL: &str = "<!doctype html><title>Wi-Fi</title><h1>Sign in to use this network</h1>";

/// What is armed. Counts are "the next N payment requests".
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Faults {
    /// The connection closes without a byte of an answer, the payment unmade.
    drop_before_handler: u32,
    /// 503 from in front of the idempotency layer.
    unavailable: u32,
    /// The `Retry-After` of those 503s, in seconds; `null` sends none.
    retry_after_s: Option<u64>,
    unauthorized: u32,
    /// 302 to `/login`.
    redirect: u32,
    /// 200 `text/html`, as a captive portal answers.
    html: u32,
    /// The handler never ends by itself.
    stall_handler: u32,
    /// The card is declined, whatever it is.
    decline: u32,
    /// A pause between handler and T1 that no timeout sees, as of a stopped process. The next
    /// request only.
    stall_before_commit_ms: u64,
    /// A payment that may run is answered 202 at once, and its run pauses this long before T1, on
    /// its own and unseen by any timeout; until set to 0. The lease is not stretched: longer than
    /// what is left of it, a repeated POST may take the run over, and then only the later run
    /// commits. A lost answer loses the 202.
    accept_ms: u64,
    /// The process aborts after T0 and the handler, before T1.
    crash_before_commit: u32,
    /// The process aborts after T1, before the answer.
    crash_after_commit: u32,
    /// The connection closes after T1 without a byte of the answer.
    drop_after_commit: u32,
    /// The answer never comes, and the connection stays open until the client leaves.
    hang_after_commit: u32,
    /// Every answer from behind the front faults is late by this much, until set to 0.
    delay_ms: u64,
    /// False strips the key's echo and the replay marker, until set to true.
    echo: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            drop_before_handler: 0,
            unavailable: 0,
            retry_after_s: None,
            unauthorized: 0,
            redirect: 0,
            html: 0,
            stall_handler: 0,
            decline: 0,
            stall_before_commit_ms: 0,
            accept_ms: 0,
            crash_before_commit: 0,
            crash_after_commit: 0,
            drop_after_commit: 0,
            hang_after_commit: 0,
            delay_ms: 0,
            echo: true,
        }
    }
}

/// The armed faults, shared by all requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switchboard(Arc<Mutex<Faults>>);

/// What is going to happen to one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    front: Option<Front>,
    stall_handler: bool,
    decline: bool,
    stall_before_commit: Duration,
    accept: Duration,
    crash: Option<Crash>,
    lost: Option<Lost>,
    delay: Duration,
    strip_echo: bool,
}

/// Where the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    BeforeCommit,
    AfterCommit,
}

#[derive(Debug, Clone, Copy)]
enum Front {
    Drop,
    Unavailable { retry_after_s: Option<u64> },
    Unauthorized,
    Redirect,
    Html,
}

#[derive(Debug, Clone, Copy)]
enum Lost {
    Drop,
    Hang,
}

impl Switchboard {
    /// What is left.
    pub(crate) fn armed(&self) -> Faults {
        self.lock().clone()
    }

    /// Sets the switches that are named and leaves the others as they are.
    ///
    /// # Errors
    /// If a switch is unknown or a value has the wrong type; then nothing changes.
    pub(crate) fn arm(&self, changes: Map<String, Value>) -> serde_json::Result<()> {
        let mut faults = self.lock();
        let mut switches = serde_json::to_value(&*faults)?;
        if let Some(switches) = switches.as_object_mut() {
            switches.extend(changes);
        }
        *faults = serde_json::from_value(switches)?;
        Ok(())
    }

    pub(crate) fn disarm(&self) {
        *self.lock() = Faults::default();
    }

    fn take_plan(&self) -> Plan {
        self.lock().take_plan()
    }

    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Faults {
    fn take_plan(&mut self) -> Plan {
        let mut plan = Plan {
            delay: Duration::from_millis(self.delay_ms).min(MAX_DELAY),
            strip_echo: !self.echo,
            ..Plan::default()
        };
        plan.front = self.take_front();
        if plan.front.is_some() {
            return plan;
        }
        plan.stall_handler = take_one(&mut self.stall_handler);
        plan.decline = take_one(&mut self.decline);
        let stall = Duration::from_millis(std::mem::take(&mut self.stall_before_commit_ms));
        plan.stall_before_commit = stall.min(MAX_DELAY);
        plan.accept = Duration::from_millis(self.accept_ms).min(MAX_DELAY);
        plan.crash = if take_one(&mut self.crash_before_commit) {
            Some(Crash::BeforeCommit)
        } else if take_one(&mut self.crash_after_commit) {
            Some(Crash::AfterCommit)
        } else {
            None
        };
        plan.lost = if take_one(&mut self.drop_after_commit) {
            Some(Lost::Drop)
        } else if take_one(&mut self.hang_after_commit) {
            Some(Lost::Hang)
        } else {
            None
        };
        plan
    }

    fn take_front(&mut self) -> Option<Front> {
        if take_one(&mut self.drop_before_handler) {
            Some(Front::Drop)
        } else if take_one(&mut self.unavailable) {
            Some(Front::Unavailable { retry_after_s: self.retry_after_s })
        } else if take_one(&mut self.unauthorized) {
            Some(Front::Unauthorized)
        } else if take_one(&mut self.redirect) {
            Some(Front::Redirect)
        } else if take_one(&mut self.html) {
            Some(Front::Html)
        } else {
            None
        }
    }
}

fn take_one(left: &mut u32) -> bool {
    let taken = *left > 0;
    *left = left.saturating_sub(1);
    taken
}

impl Plan {
    /// Within the handler: never returns if the handler is to hang.
    pub(crate) async fn stall_handler(&self) {
        if self.stall_handler {
            std::future::pending::<()>().await;
        }
    }

    /// The card is declined without being asked.
    pub(crate) fn declines(&self) -> bool {
        self.decline
    }

    /// The client is told 202 and does not wait for the run.
    pub(crate) fn accepts(&self) -> bool {
        !self.accept.is_zero()
    }

    /// Between handler and T1.
    pub(crate) async fn stall_before_commit(&self) {
        tokio::time::sleep(self.stall_before_commit.max(self.accept)).await;
    }

    /// Ends the process, without any cleaning up, if this request is to crash here.
    pub(crate) fn crash_at(&self, point: Crash) {
        if self.crash == Some(point) {
            std::process::abort();
        }
    }

    /// The switch that acts on this request, for the wire log. [`ACCEPT_MS`] is not known yet: it
    /// acts only on a request that is granted its run.
    fn name(&self) -> Option<&'static str> {
        if let Some(front) = self.front {
            return Some(front.name());
        }
        match (self.crash, self.lost) {
            (Some(Crash::BeforeCommit), _) => Some("crash_before_commit"),
            (Some(Crash::AfterCommit), _) => Some("crash_after_commit"),
            (None, Some(Lost::Drop)) => Some("drop_after_commit"),
            (None, Some(Lost::Hang)) => Some("hang_after_commit"),
            (None, None) if self.stall_handler => Some("stall_handler"),
            (None, None) if self.decline => Some("decline"),
            (None, None) if !self.stall_before_commit.is_zero() => Some("stall_before_commit_ms"),
            (None, None) if !self.delay.is_zero() => Some("delay_ms"),
            (None, None) => None,
        }
    }
}

impl Front {
    fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop_before_handler",
            Self::Unavailable { .. } => "unavailable",
            Self::Unauthorized => "unauthorized",
            Self::Redirect => "redirect",
            Self::Html => "html",
        }
    }

    fn response(self, dialect: &Dialect) -> Response {
        match self {
            Self::Drop => Severed::response(),
            Self::Unavailable { retry_after_s } => {
                dialect.refusal(Problem::Unavailable { retry_after_s }).into_response()
            }
            Self::Unauthorized => dialect.refusal(Problem::Unauthorized).into_response(),
            Self::Redirect => (StatusCode::FOUND, [(LOCATION, HeaderValue::from_static("/login"))]).into_response(),
            Self::Html => Html(CAPTIVE_PORTAL).into_response(),
        }
    }
}

/// Middleware around the payment endpoint: acts before and after it as the request's plan says.
pub(crate) async fn inject(
    Shared(app): Shared<App>,
    Extension(dialect): Extension<&'static Dialect>,
    mut request: Request,
    next: Next,
) -> Response {
    let plan = app.faults.take_plan();
    if let (Some(fault), Some(ticket)) = (plan.name(), request.extensions().get::<Ticket>())
        && let Err(error) = ticket.fault(fault).await
    {
        return dialect.refusal(error.into()).into_response();
    }
    if let Some(front) = plan.front {
        return front.response(dialect);
    }
    request.extensions_mut().insert(plan.clone());
    let mut response = next.run(request).await;

    if plan.strip_echo {
        response.headers_mut().remove(IDEMPOTENCY_KEY);
        response.headers_mut().remove(IDEMPOTENT_REPLAYED);
    }
    tokio::time::sleep(plan.delay).await;
    match plan.lost {
        Some(Lost::Drop) => Severed::response(),
        Some(Lost::Hang) => std::future::pending().await,
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_in_front_leaves_the_lost_answer_for_the_request_that_commits() {
        let mut faults = Faults { unavailable: 2, drop_after_commit: 1, ..Faults::default() };
        let names: Vec<_> = (0..4).map(|_| faults.take_plan().name()).collect();
        assert_eq!(names, [Some("unavailable"), Some("unavailable"), Some("drop_after_commit"), None]);
    }
}
