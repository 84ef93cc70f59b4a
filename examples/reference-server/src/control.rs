//! The test bench's controls. Mounted only on request, and only on loopback: whoever reaches them
//! can wipe the ledger.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value};

use crate::App;
use crate::faults::Faults;
use crate::inspect::{Inspection, read};
use crate::problem::Problem;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/control/faults", get(armed).post(arm))
        .route("/control/reset", post(reset))
        .route("/control/state", get(state))
}

async fn armed(Shared(app): Shared<App>) -> Json<Faults> {
    Json(app.faults.armed())
}

async fn arm(Shared(app): Shared<App>, Json(changes): Json<Map<String, Value>>) -> Result<StatusCode, Problem> {
    app.faults.arm(changes).map_err(|_| Problem::BadRequest("A switch is unknown or has a wrong value."))?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reset(Shared(app): Shared<App>) -> Response {
    app.faults.disarm();
    match app.database.wipe().await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn state(Shared(app): Shared<App>) -> Result<Json<Inspection>, Problem> {
    Ok(Json(app.database.run(read).await?))
}
