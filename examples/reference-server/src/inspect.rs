//! What the file says happened: the effects, the wire log and the counters, read from outside.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde::Serialize;

use crate::database::BUSY_TIMEOUT;

/// Everything a test asserts, as one consistent view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inspection {
    pub counters: Counters,
    pub effects: Vec<Effect>,
    pub wire: Vec<WireEntry>,
}

/// Counted from append-only rows, so a crash cannot lose or repeat a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Payment requests that arrived whole.
    pub wire: i64,
    /// Rights to run that were granted, first ones and takeovers.
    pub reservations: i64,
    /// Times the handler was started.
    pub executions: i64,
    /// Runs whose T1 committed: charges, definite refusals and unknown outcomes.
    pub commits: i64,
    /// Charges that exist.
    pub effects: i64,
    /// Requests that met a stored answer.
    pub replays: i64,
    /// Requests that met a run in progress.
    pub conflicts: i64,
    /// Requests whose key belonged to another payload.
    pub mismatches: i64,
    /// Requests whose key had expired.
    pub expired: i64,
    /// Requests whose key a lookup had sealed.
    pub sealed: i64,
    /// Reservations taken over after their lease.
    pub takeovers: i64,
    /// Runs that came too late to commit and were rolled back.
    pub stale: i64,
    /// Runs that only the unique key of `effects` stopped. More than zero needs an explanation.
    pub already_applied: i64,
}

/// One charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    pub id: String,
    /// The contract it was made under; `own` is `/payments`.
    pub mode: String,
    pub scope: String,
    pub key_hash: String,
    pub amount: i64,
    pub currency: String,
    pub order: Option<String>,
    /// False: the processor's reply was lost, and the server does not know of this charge.
    pub known: bool,
    pub at_ms: i64,
}

/// One payment request as it arrived, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WireEntry {
    pub seq: i64,
    pub at_ms: i64,
    /// The contract of the path it came to.
    pub mode: String,
    pub method: String,
    pub path: String,
    /// `None` if the request carried no well-formed key.
    pub key: Option<String>,
    pub key_hash: Option<String>,
    /// `None` if the body was too large or never came.
    pub body_sha256: Option<String>,
    /// `None` if the caller was not recognised.
    pub scope: Option<String>,
    /// `None` until an answer was handed to the connection.
    pub status: Option<u16>,
    /// The request met a stored answer, whether or not that answer got out.
    pub replayed: bool,
    /// An answer was handed to the connection. It may still have been lost on the way.
    pub answered: bool,
    /// The control switch that acted on this request.
    pub fault: Option<String>,
}

/// Reads a server's file without changing it, while the server runs or after it has exited.
///
/// # Errors
/// If the file does not exist or was not written by this server.
pub fn inspect(database: &Path) -> rusqlite::Result<Inspection> {
    let mut connection =
        Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A server that is just closing the file holds it for a moment.
    connection.busy_timeout(BUSY_TIMEOUT)?;
    read(&mut connection)
}

pub(crate) fn read(connection: &mut Connection) -> rusqlite::Result<Inspection> {
    let tx = connection.transaction()?;
    Ok(Inspection {
        counters: tx.query_row(COUNTERS, [], read_counters)?,
        effects: all(&tx, EFFECTS, read_effect)?,
        wire: all(&tx, WIRE, read_wire_entry)?,
    })
}

const COUNTERS: &str = "SELECT
    (SELECT count(*) FROM wire) AS wire,
    (SELECT count(*) FROM runs) AS reservations,
    (SELECT count(*) FROM runs WHERE started_at IS NOT NULL) AS executions,
    (SELECT count(*) FROM runs WHERE ended = 'committed') AS commits,
    (SELECT count(*) FROM effects) AS effects,
    (SELECT count(*) FROM wire WHERE decision = 'replay') AS replays,
    (SELECT count(*) FROM wire WHERE decision = 'in_progress') AS conflicts,
    (SELECT count(*) FROM wire WHERE decision = 'mismatch') AS mismatches,
    (SELECT count(*) FROM wire WHERE decision = 'expired') AS expired,
    (SELECT count(*) FROM wire WHERE decision = 'sealed') AS sealed,
    (SELECT count(*) FROM runs WHERE took_over IS NOT NULL) AS takeovers,
    (SELECT count(*) FROM runs WHERE ended = 'stale') AS stale,
    (SELECT count(*) FROM runs WHERE ended = 'already_applied') AS already_applied";

const EFFECTS: &str = "SELECT id, mode, scope, key_hash, amount, currency, order_ref, known, at_ms
    FROM effects ORDER BY at_ms, id";

const WIRE: &str = "SELECT seq, at_ms, mode, method, path, key, key_hash, body_sha256, scope, status,
    decision IS 'replay' AS replayed, answered, fault FROM wire ORDER BY seq";

fn all<T>(connection: &Connection, sql: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map([], read)?.collect()
}

fn read_counters(row: &Row<'_>) -> rusqlite::Result<Counters> {
    Ok(Counters {
        wire: row.get("wire")?,
        reservations: row.get("reservations")?,
        executions: row.get("executions")?,
        commits: row.get("commits")?,
        effects: row.get("effects")?,
        replays: row.get("replays")?,
        conflicts: row.get("conflicts")?,
        mismatches: row.get("mismatches")?,
        expired: row.get("expired")?,
        sealed: row.get("sealed")?,
        takeovers: row.get("takeovers")?,
        stale: row.get("stale")?,
        already_applied: row.get("already_applied")?,
    })
}

fn read_effect(row: &Row<'_>) -> rusqlite::Result<Effect> {
    Ok(Effect {
        id: row.get("id")?,
        mode: row.get("mode")?,
        scope: row.get("scope")?,
        key_hash: row.get("key_hash")?,
        amount: row.get("amount")?,
        currency: row.get("currency")?,
        order: row.get("order_ref")?,
        known: row.get("known")?,
        at_ms: row.get("at_ms")?,
    })
}

fn read_wire_entry(row: &Row<'_>) -> rusqlite::Result<WireEntry> {
    Ok(WireEntry {
        seq: row.get("seq")?,
        at_ms: row.get("at_ms")?,
        mode: row.get("mode")?,
        method: row.get("method")?,
        path: row.get("path")?,
        key: row.get("key")?,
        key_hash: row.get("key_hash")?,
        body_sha256: row.get("body_sha256")?,
        scope: row.get("scope")?,
        status: row.get("status")?,
        replayed: row.get("replayed")?,
        answered: row.get("answered")?,
        fault: row.get("fault")?,
    })
}
