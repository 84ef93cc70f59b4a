//! The test bench's controls. Mounted only on request, and only on loopback: whoever reaches them
//! can wipe the ledger.

use std::time::Duration;

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::clock::Clock;
use crate::dialect::OWN;
use crate::faults::Faults;
use crate::inspect::{Inspection, read};
use crate::problem::Problem;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/control/clock", get(clock).post(advance))
        .route("/control/faults", get(armed).post(arm))
        .route("/control/reset", post(reset))
        .route("/control/state", get(state))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: u64,
}

/// Where the server's clock stands.
#[derive(Debug, Serialize)]
struct Time {
    now_ms: i64,
    /// Of the machine's clock.
    ahead_ms: u128,
}

impl Time {
    fn of(clock: &Clock) -> Json<Self> {
        Json(Self { now_ms: clock.now_ms(), ahead_ms: clock.ahead().as_millis() })
    }
}

async fn clock(Shared(app): Shared<App>) -> Json<Time> {
    Time::of(&app.clock)
}

/// Sweeps at the new time too, as the passing of that time would have done.
async fn advance(Shared(app): Shared<App>, Json(Advance { advance_ms }): Json<Advance>) -> Response {
    if !app.clock.advance(Duration::from_millis(advance_ms)) {
        return refused(Problem::BadRequest("The clock cannot be set that far ahead."));
    }
    match app.ledger.sweep().await {
        Ok(()) => Time::of(&app.clock).into_response(),
        Err(error) => refused(error.into()),
    }
}

async fn armed(Shared(app): Shared<App>) -> Json<Faults> {
    Json(app.faults.armed())
}

async fn arm(Shared(app): Shared<App>, Json(changes): Json<Map<String, Value>>) -> Response {
    match app.faults.arm(changes) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(_) => refused(Problem::BadRequest("A switch is unknown or has a wrong value.")),
    }
}

async fn reset(Shared(app): Shared<App>) -> Response {
    app.faults.disarm();
    app.clock.set_back();
    match app.database.wipe().await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refused(error.into()),
    }
}

async fn state(Shared(app): Shared<App>) -> Response {
    match app.database.run(read).await {
        Ok(inspection) => Json::<Inspection>(inspection).into_response(),
        Err(error) => refused(error.into()),
    }
}

fn refused(problem: Problem) -> Response {
    OWN.refusal(problem).into_response()
}
