//! The wire log: every payment request as it arrived, written before anything acts on it.
//!
//! It is kept outside the payment's transactions, so that a rolled-back payment keeps its trace.
//! Of the body only the hash is kept: bodies carry card tokens.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State as Shared};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rusqlite::params;
use sha2::{Digest, Sha256};

use crate::App;
use crate::caller::scope;
use crate::connection::Severed;
use crate::database::{Database, DatabaseError};
use crate::dialect::Dialect;
use crate::ledger::{hex, key_hash};
use crate::problem::Problem;

/// A payment is a few hundred bytes.
const MAX_BODY_BYTES: usize = 16 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
const TORN: Problem = Problem::BadRequest("The body is too large or did not arrive whole.");

/// A request's line in the log.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    seq: i64,
    database: Database,
}

/// What a request met instead of running the handler. Requests that ran it are counted by runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Met {
    Replay,
    InProgress,
    Mismatch,
    Expired,
    Sealed,
}

impl Ticket {
    pub(crate) async fn met(&self, met: Met) -> Result<(), DatabaseError> {
        let decision = match met {
            Met::Replay => "replay",
            Met::InProgress => "in_progress",
            Met::Mismatch => "mismatch",
            Met::Expired => "expired",
            Met::Sealed => "sealed",
        };
        self.update("UPDATE wire SET decision = ?2 WHERE seq = ?1", decision).await
    }

    pub(crate) async fn fault(&self, name: &'static str) -> Result<(), DatabaseError> {
        self.update("UPDATE wire SET fault = ?2 WHERE seq = ?1", name).await
    }

    async fn answered(&self, status: u16) -> Result<(), DatabaseError> {
        self.update("UPDATE wire SET status = ?2, answered = 1 WHERE seq = ?1", status).await
    }

    async fn update<V>(&self, sql: &'static str, value: V) -> Result<(), DatabaseError>
    where
        V: rusqlite::ToSql + Send + 'static,
    {
        let seq = self.seq;
        self.database
            .run(move |connection| {
                connection.execute(sql, params![seq, value])?;
                Ok(())
            })
            .await
    }
}

/// Middleware around the payment endpoint and its faults. A request that cannot be logged is not
/// served: the log is the evidence.
pub(crate) async fn record(
    Shared(app): Shared<App>,
    Extension(dialect): Extension<&'static Dialect>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = read(body).await;
    let ticket = match arrival(&app, dialect, &parts, body.as_ref()).await {
        Ok(ticket) => ticket,
        Err(error) => return dialect.refusal(error.into()).into_response(),
    };
    let response = match body {
        Some(body) => {
            parts.extensions.insert(ticket.clone());
            next.run(Request::from_parts(parts, Body::from(body))).await
        }
        None => dialect.refusal(TORN).into_response(),
    };
    if Severed::is(&response) {
        return response;
    }
    match ticket.answered(response.status().as_u16()).await {
        Ok(()) => response,
        Err(error) => dialect.refusal(error.into()).into_response(),
    }
}

/// `None` if the body is too large, too slow or cut off.
async fn read(body: Body) -> Option<Bytes> {
    let whole = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await;
    whole.ok()?.ok()
}

async fn arrival(
    app: &App,
    dialect: &'static Dialect,
    parts: &Parts,
    body: Option<&Bytes>,
) -> Result<Ticket, DatabaseError> {
    let method = parts.method.to_string();
    let path = parts.uri.path().to_owned();
    let key = dialect.key(&parts.headers, body.map_or(&[][..], |body| body)).ok().flatten();
    let scope = scope(&parts.headers).ok();
    let body_sha256 = body.map(|body| hex(&Sha256::digest(body)));
    let now = app.clock.now_ms();
    let seq = app
        .database
        .run(move |connection| {
            let key = key.as_ref().map(|key| key.text.as_str());
            connection.execute(
                "INSERT INTO wire (at_ms, mode, method, path, key, key_hash, body_sha256, scope)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![now, dialect.name, method, path, key, key.map(key_hash), body_sha256, scope],
            )?;
            Ok(connection.last_insert_rowid())
        })
        .await?;
    Ok(Ticket { seq, database: app.database.clone() })
}
