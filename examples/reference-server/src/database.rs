//! The SQLite file: its schema, its durability settings and its one writer.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Jobs that may wait for the writer before their senders are made to wait too.
const MAX_WAITING_JOBS: usize = 1_024;
/// How long another process may hold a lock on the file before we give up.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Written into the file, so that a file of another layout is refused and not misread.
const LAYOUT: i64 = 2;

// `mode` is the contract's name. `runs` is the fence and the evidence: a row per granted
// reservation, never updated by anyone but its own run. AUTOINCREMENT, so that a wiped table cannot
// grant an old token again. `effects` has a unique key of its own as a second belt, which is why
// runs are counted apart from effects: a belt that held must be seen, not mistaken for a first belt
// that worked. `life` is 0 for ever where keys are never forgotten.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS reservations (
    mode            TEXT NOT NULL,
    scope           TEXT NOT NULL,
    key             TEXT NOT NULL,
    key_hash        TEXT NOT NULL,
    fingerprint     BLOB,
    state           TEXT NOT NULL CHECK (state IN ('in_progress', 'completed', 'tombstone')),
    sealed          INTEGER NOT NULL DEFAULT 0,
    token           INTEGER NOT NULL,
    life            INTEGER NOT NULL,
    lease_until     INTEGER NOT NULL,
    first_seen      INTEGER NOT NULL,
    outcome         TEXT CHECK (outcome IN ('applied', 'refused', 'unknown')),
    status          INTEGER,
    content_type    TEXT,
    body            BLOB,
    effect_id       TEXT,
    expires_at      INTEGER,
    tombstone_until INTEGER,
    PRIMARY KEY (mode, scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reservations_expiry ON reservations (state, expires_at);
CREATE TABLE IF NOT EXISTS runs (
    token      INTEGER PRIMARY KEY AUTOINCREMENT,
    mode       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    key_hash   TEXT NOT NULL,
    took_over  INTEGER,
    granted_at INTEGER NOT NULL,
    started_at INTEGER,
    ended      TEXT CHECK (ended IN ('committed', 'released', 'stale', 'already_applied'))
) STRICT;
CREATE TABLE IF NOT EXISTS effects (
    id         TEXT PRIMARY KEY,
    mode       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    intent_key TEXT NOT NULL,
    life       INTEGER NOT NULL,
    key_hash   TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    order_ref  TEXT,
    known      INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    UNIQUE (mode, scope, intent_key, life)
) STRICT;
CREATE TABLE IF NOT EXISTS wire (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms       INTEGER NOT NULL,
    mode        TEXT NOT NULL,
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

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("it was written by another version of this server; move it away")]
    OtherLayout,
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
    pub(crate) fn open(path: &Path) -> Result<(Self, JoinHandle<()>), OpenError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // In WAL mode the default, NORMAL, may lose an acknowledged commit at a power cut.
        connection.pragma_update(None, "synchronous", "FULL")?;
        lay_out(&mut connection)?;

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

/// Creates the tables in an empty file.
fn lay_out(connection: &mut Connection) -> Result<(), OpenError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let layout: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if tables > 0 && layout != LAYOUT {
        return Err(OpenError::OtherLayout);
    }
    tx.execute_batch(SCHEMA)?;
    tx.pragma_update(None, "user_version", LAYOUT)?;
    Ok(tx.commit()?)
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

    #[tokio::test]
    async fn a_file_of_another_layout_is_refused_and_left_alone() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let path = dir.path().join("file");
        let older = Connection::open(&path).expect("a file");
        older.execute_batch("CREATE TABLE reservations (scope TEXT)").expect("a table");
        assert!(matches!(Database::open(&path), Err(OpenError::OtherLayout)));
        let tables: i64 = older.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).expect("a count");
        assert_eq!(tables, 1);
    }
}
