//! The SQLite file: its schema, its durability settings and its one writer.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Jobs that may wait for the writer before their senders are made to wait too.
const MAX_WAITING_JOBS: usize = 1_024;
/// How long another process may hold a lock on the file before we give up.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

// `runs` is the fence and the evidence: a row per granted reservation, never updated by anyone but
// its own run. AUTOINCREMENT, so that a wiped table cannot grant an old token again.
// `effects` has a unique key of its own as a second belt, which is why runs are counted apart from
// effects: a belt that held must be seen, not mistaken for a first belt that worked.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS reservations (
    scope           TEXT NOT NULL,
    key             TEXT NOT NULL,
    key_hash        TEXT NOT NULL,
    fingerprint     BLOB NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('in_progress', 'completed', 'tombstone')),
    token           INTEGER NOT NULL,
    lease_until     INTEGER NOT NULL,
    first_seen      INTEGER NOT NULL,
    status          INTEGER,
    content_type    TEXT,
    body            BLOB,
    effect_id       TEXT,
    expires_at      INTEGER,
    tombstone_until INTEGER,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reservations_expiry ON reservations (state, expires_at);
CREATE TABLE IF NOT EXISTS runs (
    token      INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT NOT NULL,
    key_hash   TEXT NOT NULL,
    took_over  INTEGER,
    granted_at INTEGER NOT NULL,
    started_at INTEGER,
    ended      TEXT CHECK (ended IN ('committed', 'released', 'stale', 'already_applied'))
) STRICT;
CREATE TABLE IF NOT EXISTS effects (
    id         TEXT PRIMARY KEY,
    scope      TEXT NOT NULL,
    intent_key TEXT NOT NULL,
    key_hash   TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    order_ref  TEXT,
    at_ms      INTEGER NOT NULL,
    UNIQUE (scope, intent_key)
) STRICT;
CREATE TABLE IF NOT EXISTS wire (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms       INTEGER NOT NULL,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    key         TEXT,
    key_hash    TEXT,
    body_sha256 TEXT,
    scope       TEXT,
    decision    TEXT,
    fault       TEXT,
    status      INTEGER,
    answered    INTEGER NOT NULL DEFAULT 0
) STRICT;
";

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A handle to the thread that owns the only writing connection. SQLite has one write lock per
/// file: queueing for it here costs less than contending for it.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    jobs: mpsc::Sender<Job>,
}

/// A job that may or may not have been committed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("the database refused: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database is closed")]
    Closed,
}

impl Database {
    /// Opens or creates `path` and starts its writer. The writer ends, closing the file, when the
    /// last handle is dropped; the join handle tells when.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<(Self, JoinHandle<()>)> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // In WAL mode the default, NORMAL, may lose an acknowledged commit at a power cut.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;

        let (jobs, mut queue) = mpsc::channel::<Job>(MAX_WAITING_JOBS);
        let writer = tokio::task::spawn_blocking(move || {
            while let Some(job) = queue.blocking_recv() {
                job(&mut connection);
            }
        });
        Ok((Self { jobs }, writer))
    }

    /// Runs `work` on the writer. It runs to its end even if the caller stops waiting.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T, DatabaseError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // The caller may be gone, a client that hung up; the work stands.
            let _ = reply.send(work(connection));
        });
        self.jobs.send(job).await.map_err(|_| DatabaseError::Closed)?;
        Ok(result.await.map_err(|_| DatabaseError::Closed)??)
    }

    /// Empties every table. A run that is under way finds its reservation gone and cannot commit.
    pub(crate) async fn wipe(&self) -> Result<(), DatabaseError> {
        self.run(|connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch("DELETE FROM reservations; DELETE FROM runs; DELETE FROM effects; DELETE FROM wire;")?;
            tx.commit()
        })
        .await
    }
}

/// Milliseconds since the Unix epoch by this machine's clock. A wrong clock moves leases and
/// expiry; it cannot make two runs commit, which only tokens decide.
pub(crate) fn now_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    millis(since_epoch)
}

/// A duration as SQLite stores it.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // No killed process shows the difference, only a power cut, so the setting itself is asserted.
    #[tokio::test]
    async fn the_writer_waits_for_the_disk() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let (database, _writer) = Database::open(&dir.path().join("file")).expect("a database");
        let settings = database.run(|connection| {
            let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
            let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
            Ok((synchronous, journal))
        });
        const FULL: i64 = 2;
        assert_eq!(settings.await.expect("settings"), (FULL, "wal".to_owned()));
    }
}
