//! Reservations and their two transactions.
//!
//! T0 (`Ledger::reserve`) commits the right to run the handler *before* it runs; T1
//! (`Ledger::complete`) commits the effect, the answer and the end of the reservation together.
//! One transaction around both would hold the write lock through the handler, and a second request
//! with the same key would wait instead of being told 409.
//!
//! Between the two stands the token: whoever no longer holds the reservation's token commits
//! nothing, however late it wakes up.

use std::time::Duration;

use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

pub use crate::inspect::{Counters, Effect, Inspection, WireEntry, inspect};

use crate::database::{Database, DatabaseError, millis, now_ms};
use crate::decide::{Decision, Fingerprint, Record, State, Token, decide};
use crate::payments::{Answer, Charge};

/// How long a used key is refused after its answer was pruned. Clients keep unsent work for days,
/// and networks have delivered requests later than anyone expects.
const TOMBSTONE_HORIZON: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The table of reservations.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pub(crate) database: Database,
    pub(crate) lease: Duration,
    pub(crate) retention: Duration,
}

/// What an idempotency key is unique within: one caller's keys say nothing about another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) scope: String,
    pub(crate) key: String,
}

/// The right to run the handler once for a slot and to commit with this token.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    slot: Slot,
    token: Token,
}

/// What a keyed request met.
#[derive(Debug)]
pub(crate) enum Reservation {
    Granted(Run),
    Replay(Answer),
    InProgress,
    Mismatch,
    Expired,
}

/// What is known of a key, for whoever asks without wanting to run.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Never used, or freed by a transient failure.
    Unknown,
    /// A run was granted and has not ended. If its process died, this stays so until a request to
    /// pay takes it over.
    InProgress,
    Stored(Answer),
    Expired,
}

/// How T1 ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    Committed,
    /// Another run holds the reservation, or it was released: everything was rolled back.
    Stale,
    /// The effect exists from before this reservation, whose tombstone was gone: everything was
    /// rolled back and the key is a tombstone again.
    AlreadyApplied,
}

impl Ledger {
    /// T0: reads the record, decides, and reserves if the decision says so.
    pub(crate) async fn reserve(&self, slot: Slot, fingerprint: Fingerprint) -> Result<Reservation, DatabaseError> {
        let lease = self.lease;
        self.database
            .run(move |connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let reservation = reserve(&tx, slot, fingerprint, lease)?;
                tx.commit()?;
                Ok(reservation)
            })
            .await
    }

    /// Reads what is known of a slot. Nothing is reserved, taken over or written.
    pub(crate) async fn look_up(&self, slot: Slot) -> Result<Standing, DatabaseError> {
        self.database
            .run(move |connection| {
                let tx = connection.transaction()?;
                Ok(match find(&tx, &slot)?.map(|record| record.state) {
                    None => Standing::Unknown,
                    Some(State::InProgress { .. }) => Standing::InProgress,
                    Some(State::Completed { expires_at }) if now_ms() < expires_at => {
                        Standing::Stored(read_answer(&tx, &slot)?)
                    }
                    Some(State::Completed { .. } | State::Tombstone) => Standing::Expired,
                })
            })
            .await
    }

    /// Notes that the handler is about to run. On its own, because "granted" and "ran" are
    /// different facts after a crash.
    pub(crate) async fn start(&self, run: &Run) -> Result<(), DatabaseError> {
        let token = run.token;
        self.database
            .run(move |connection| {
                connection.execute("UPDATE runs SET started_at = ?2 WHERE token = ?1", params![token.0, now_ms()])?;
                Ok(())
            })
            .await
    }

    /// T1: the effect, the answer and the completion, or none of them.
    pub(crate) async fn complete(
        &self,
        run: &Run,
        answer: Answer,
        charge: Option<Charge>,
    ) -> Result<Completion, DatabaseError> {
        let (run, retention) = (run.clone(), self.retention);
        self.database
            .run(move |connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let completion = complete(&tx, &run, &answer, charge.as_ref(), retention)?;
                if completion == Completion::Committed {
                    tx.commit()?;
                    return Ok(completion);
                }
                tx.rollback()?;
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                record_rollback(&tx, &run, completion)?;
                tx.commit()?;
                Ok(completion)
            })
            .await
    }

    /// Frees the key after a transient failure, so that the next request runs the handler at once.
    /// Does nothing if the reservation has passed to another run.
    pub(crate) async fn release(&self, run: &Run) -> Result<(), DatabaseError> {
        let run = run.clone();
        self.database
            .run(move |connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let released = tx.execute(
                    "DELETE FROM reservations
                     WHERE scope = ?1 AND key = ?2 AND state = 'in_progress' AND token = ?3",
                    params![run.slot.scope, run.slot.key, run.token.0],
                )?;
                end_run(&tx, run.token, if released == 1 { "released" } else { "stale" })?;
                tx.commit()
            })
            .await
    }

    /// Prunes the answers whose retention is over, leaving tombstones, and tombstones past their
    /// horizon. Refusing an expired key does not wait for this: [`decide`] goes by the time.
    pub(crate) async fn sweep(&self) -> Result<(), DatabaseError> {
        self.database
            .run(|connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let now = now_ms();
                tx.execute(
                    "UPDATE reservations
                     SET state = 'tombstone', status = NULL, content_type = NULL, body = NULL
                     WHERE state = 'completed' AND expires_at <= ?1",
                    [now],
                )?;
                tx.execute("DELETE FROM reservations WHERE state = 'tombstone' AND tombstone_until <= ?1", [now])?;
                tx.commit()
            })
            .await
    }
}

/// The first 12 hex digits of SHA-256: enough to follow a key through a log, useless as a key.
pub(crate) fn key_hash(key: &str) -> String {
    let mut hash = hex(&Sha256::digest(key));
    hash.truncate(12);
    hash
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reserve(
    tx: &Transaction<'_>,
    slot: Slot,
    fingerprint: Fingerprint,
    lease: Duration,
) -> rusqlite::Result<Reservation> {
    let now = now_ms();
    let record = find(tx, &slot)?;
    Ok(match decide(record.as_ref(), now, fingerprint) {
        Decision::Execute => {
            let token = grant_run(tx, &slot, None, now)?;
            tx.execute(
                "INSERT INTO reservations
                 (scope, key, key_hash, fingerprint, state, token, lease_until, first_seen)
                 VALUES (?1, ?2, ?3, ?4, 'in_progress', ?5, ?6, ?7)",
                params![
                    slot.scope,
                    slot.key,
                    key_hash(&slot.key),
                    fingerprint.0,
                    token.0,
                    now.saturating_add(millis(lease)),
                    now,
                ],
            )?;
            Reservation::Granted(Run { slot, token })
        }
        Decision::TakeOver { stale } => {
            let token = grant_run(tx, &slot, Some(stale), now)?;
            tx.execute(
                "UPDATE reservations SET token = ?4, lease_until = ?5
                 WHERE scope = ?1 AND key = ?2 AND token = ?3",
                params![slot.scope, slot.key, stale.0, token.0, now.saturating_add(millis(lease)),],
            )?;
            Reservation::Granted(Run { slot, token })
        }
        Decision::Replay => Reservation::Replay(read_answer(tx, &slot)?),
        Decision::InProgress => Reservation::InProgress,
        Decision::Mismatch => Reservation::Mismatch,
        Decision::Expired => Reservation::Expired,
    })
}

fn find(tx: &Transaction<'_>, slot: &Slot) -> rusqlite::Result<Option<Record>> {
    tx.query_row(
        "SELECT fingerprint, state, token, lease_until, expires_at
         FROM reservations WHERE scope = ?1 AND key = ?2",
        params![slot.scope, slot.key],
        read_record,
    )
    .optional()
}

fn grant_run(tx: &Transaction<'_>, slot: &Slot, stale: Option<Token>, now: i64) -> rusqlite::Result<Token> {
    tx.execute(
        "INSERT INTO runs (scope, key_hash, took_over, granted_at) VALUES (?1, ?2, ?3, ?4)",
        params![slot.scope, key_hash(&slot.key), stale.map(|token| token.0), now],
    )?;
    Ok(Token(tx.last_insert_rowid()))
}

fn complete(
    tx: &Transaction<'_>,
    run: &Run,
    answer: &Answer,
    charge: Option<&Charge>,
    retention: Duration,
) -> rusqlite::Result<Completion> {
    let now = now_ms();
    let expires_at = now.saturating_add(millis(retention));
    // The guard comes before the insert: otherwise the unique key of `effects` would answer for
    // it, and a lost guard would go unseen.
    let completed = tx.execute(
        "UPDATE reservations
         SET state = 'completed', status = ?4, content_type = ?5, body = ?6, effect_id = ?7,
             expires_at = ?8, tombstone_until = ?9
         WHERE scope = ?1 AND key = ?2 AND state = 'in_progress' AND token = ?3",
        params![
            run.slot.scope,
            run.slot.key,
            run.token.0,
            answer.status,
            answer.content_type,
            answer.body,
            charge.map(|charge| charge.id.as_str()),
            expires_at,
            expires_at.saturating_add(millis(TOMBSTONE_HORIZON)),
        ],
    )?;
    if completed == 0 {
        return Ok(Completion::Stale);
    }
    if let Some(charge) = charge
        && !insert_effect(tx, &run.slot, charge, now)?
    {
        return Ok(Completion::AlreadyApplied);
    }
    end_run(tx, run.token, "committed")?;
    Ok(Completion::Committed)
}

/// False if this slot already has an effect.
fn insert_effect(tx: &Transaction<'_>, slot: &Slot, charge: &Charge, now: i64) -> rusqlite::Result<bool> {
    let inserted = tx.execute(
        "INSERT INTO effects (id, scope, intent_key, key_hash, amount, currency, order_ref, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (scope, intent_key) DO NOTHING",
        params![
            charge.id,
            slot.scope,
            slot.key,
            key_hash(&slot.key),
            charge.amount,
            charge.currency,
            charge.order,
            now,
        ],
    )?;
    Ok(inserted == 1)
}

fn record_rollback(tx: &Transaction<'_>, run: &Run, completion: Completion) -> rusqlite::Result<()> {
    if completion == Completion::AlreadyApplied {
        tx.execute(
            "UPDATE reservations SET state = 'tombstone', tombstone_until = ?4
             WHERE scope = ?1 AND key = ?2 AND state = 'in_progress' AND token = ?3",
            params![run.slot.scope, run.slot.key, run.token.0, now_ms().saturating_add(millis(TOMBSTONE_HORIZON)),],
        )?;
        return end_run(tx, run.token, "already_applied");
    }
    end_run(tx, run.token, "stale")
}

fn end_run(tx: &Transaction<'_>, token: Token, ended: &str) -> rusqlite::Result<()> {
    tx.execute("UPDATE runs SET ended = ?2 WHERE token = ?1", params![token.0, ended])?;
    Ok(())
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let state: String = row.get("state")?;
    let state = match state.as_str() {
        "in_progress" => State::InProgress { token: Token(row.get("token")?), lease_until: row.get("lease_until")? },
        "completed" => State::Completed { expires_at: row.get("expires_at")? },
        // Anything else must never run the handler.
        _ => State::Tombstone,
    };
    Ok(Record { fingerprint: Fingerprint(row.get("fingerprint")?), state })
}

fn read_answer(tx: &Transaction<'_>, slot: &Slot) -> rusqlite::Result<Answer> {
    tx.query_row(
        "SELECT status, content_type, body FROM reservations WHERE scope = ?1 AND key = ?2",
        params![slot.scope, slot.key],
        |row| Ok(Answer { status: row.get("status")?, content_type: row.get("content_type")?, body: row.get("body")? }),
    )
}
