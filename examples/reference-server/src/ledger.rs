//! Reservations and their two transactions.
//!
//! T0 (`Ledger::reserve`) commits the right to run the handler *before* it runs; T1
//! (`Ledger::complete`) commits the effect, the answer and the end of the reservation together.
//! One transaction around both would hold the write lock through the handler, and a second request
//! with the same key would wait instead of being told 409.
//!
//! Between the two stands the token: whoever no longer holds the reservation's token commits
//! nothing, however late it wakes up.

mod asking;
mod rows;

use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

pub(crate) use self::asking::{Finding, Standing};
pub use crate::inspect::{Counters, Effect, Inspection, WireEntry, inspect};

use self::rows::Book;
use crate::answers::Stored;
use crate::clock::{Clock, millis};
use crate::database::{Database, DatabaseError};
use crate::decide::{Decision, End, Fingerprint, PastRetention, Token, decide};
use crate::dialect::{Dialect, Retention};
use crate::payments::Charge;

/// How long a used key is refused after its answer was pruned. Clients keep unsent work for days,
/// and networks have delivered requests later than anyone expects.
const TOMBSTONE_HORIZON: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The table of reservations.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pub(crate) database: Database,
    pub(crate) clock: Clock,
    pub(crate) lease: Duration,
    pub(crate) retention: Duration,
}

/// What an idempotency key is unique within: a contract, and a caller.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) dialect: &'static Dialect,
    pub(crate) scope: String,
    pub(crate) key: String,
}

/// The right to run the handler once for a slot and to commit with this token.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    slot: Slot,
    token: Token,
    /// One life of the key: a contract that forgets keys gives them another, and one effect in each.
    life: i64,
    first_seen: i64,
    /// Made by an earlier run of this life that did not live to know.
    pub(crate) made: Option<Charge>,
}

/// What a keyed request met.
#[derive(Debug)]
pub(crate) enum Reservation {
    Granted(Run),
    Replay(Stored),
    InProgress,
    Mismatch,
    Expired,
    Sealed,
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
        let (lease, clock) = (self.lease, self.clock.clone());
        self.database
            .run(move |connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let reservation = reserve(&tx, slot, fingerprint, clock.now_ms(), lease)?;
                tx.commit()?;
                Ok(reservation)
            })
            .await
    }

    /// Notes that the handler is about to run. On its own, because "granted" and "ran" are
    /// different facts after a crash.
    pub(crate) async fn start(&self, run: &Run) -> Result<(), DatabaseError> {
        let (token, now) = (run.token, self.clock.now_ms());
        self.database
            .run(move |connection| {
                connection.execute("UPDATE runs SET started_at = ?2 WHERE token = ?1", params![token.0, now])?;
                Ok(())
            })
            .await
    }

    /// T1: the effect, the answer and the completion, or none of them. `unheard`: a charge that the
    /// processor made and the server does not know of.
    pub(crate) async fn complete(
        &self,
        run: &Run,
        stored: Stored,
        unheard: Option<Charge>,
    ) -> Result<Completion, DatabaseError> {
        let (run, configured, clock) = (run.clone(), self.retention, self.clock.clone());
        self.database
            .run(move |connection| {
                let now = clock.now_ms();
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let completion = complete(&tx, &run, &stored, unheard.as_ref(), now, configured)?;
                if completion == Completion::Committed {
                    tx.commit()?;
                    return Ok(completion);
                }
                tx.rollback()?;
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                record_rollback(&tx, &run, completion, now)?;
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
                let released = rows::free(&tx, &run.slot, run.token)?;
                end_run(&tx, run.token, if released { "released" } else { "stale" })?;
                tx.commit()
            })
            .await
    }

    /// Prunes the answers whose retention is over, leaving tombstones, and tombstones past their
    /// horizon. Two kinds stay for good: seals, which are a promise, and outcomes that are unknown,
    /// which no effect will ever tell. Refusing an expired key does not wait for this: [`decide`]
    /// goes by the time.
    pub(crate) async fn sweep(&self) -> Result<(), DatabaseError> {
        let now = self.clock.now_ms();
        self.database
            .run(move |connection| {
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                tx.execute(
                    "UPDATE reservations
                     SET state = 'tombstone', status = NULL, content_type = NULL, body = NULL
                     WHERE state = 'completed' AND expires_at <= ?1",
                    [now],
                )?;
                tx.execute(
                    "DELETE FROM reservations
                     WHERE state = 'tombstone' AND tombstone_until <= ?1
                       AND sealed = 0 AND outcome IS NOT 'unknown'",
                    [now],
                )?;
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
    now: i64,
    lease: Duration,
) -> rusqlite::Result<Reservation> {
    let lease_until = now.saturating_add(millis(lease));
    let policy = slot.dialect.policy;
    let found = rows::find(tx, &slot)?;
    Ok(match decide(found.as_ref().map(|row| &row.record), now, fingerprint, policy) {
        Decision::Execute => {
            let token = grant_run(tx, &slot, None, now)?;
            let life = match policy.past_retention {
                PastRetention::Refused => 0,
                PastRetention::Forgotten => token.0,
            };
            rows::insert(tx, &slot, fingerprint, Book { token, life, lease_until, first_seen: now })?;
            Reservation::Granted(Run { slot, token, life, first_seen: now, made: None })
        }
        Decision::TakeOver { stale } => {
            let token = grant_run(tx, &slot, Some(stale), now)?;
            regrant(tx, slot, fingerprint, token, stale, lease_until)?
        }
        Decision::Again { ended } => {
            let token = grant_run(tx, &slot, None, now)?;
            regrant(tx, slot, fingerprint, token, ended, lease_until)?
        }
        Decision::Replay => Reservation::Replay(rows::read_stored(tx, &slot)?),
        Decision::InProgress => Reservation::InProgress,
        Decision::Mismatch => Reservation::Mismatch,
        Decision::Expired => Reservation::Expired,
        Decision::Sealed => Reservation::Sealed,
    })
}

/// The same life of the key under a new token.
fn regrant(
    tx: &Transaction<'_>,
    slot: Slot,
    fingerprint: Fingerprint,
    token: Token,
    before: Token,
    lease_until: i64,
) -> rusqlite::Result<Reservation> {
    let (life, first_seen) = rows::reopen(tx, &slot, fingerprint, before, token, lease_until)?;
    let made = rows::effect_of_life(tx, &slot, life)?;
    Ok(Reservation::Granted(Run { slot, token, life, first_seen, made }))
}

fn grant_run(tx: &Transaction<'_>, slot: &Slot, stale: Option<Token>, now: i64) -> rusqlite::Result<Token> {
    tx.execute(
        "INSERT INTO runs (mode, scope, key_hash, took_over, granted_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![slot.dialect.name, slot.scope, key_hash(&slot.key), stale.map(|token| token.0), now],
    )?;
    Ok(Token(tx.last_insert_rowid()))
}

fn complete(
    tx: &Transaction<'_>,
    run: &Run,
    stored: &Stored,
    unheard: Option<&Charge>,
    now: i64,
    configured: Duration,
) -> rusqlite::Result<Completion> {
    let expires_at = match run.slot.dialect.retention {
        Retention::Configured => now.saturating_add(millis(configured)),
        Retention::SinceFirst(kept) => run.first_seen.saturating_add(millis(kept)),
    };
    // The guard comes before the insert: otherwise the unique key of `effects` would answer for
    // it, and a lost guard would go unseen.
    let tombstone_until = expires_at.saturating_add(millis(TOMBSTONE_HORIZON));
    if !rows::close(tx, &run.slot, run.token, stored, expires_at, tombstone_until)? {
        return Ok(Completion::Stale);
    }
    match (&run.made, &stored.charge, unheard) {
        (Some(made), _, _) => rows::hear_of(tx, &made.id)?,
        (None, Some(charge), _) if !rows::insert_effect(tx, &run.slot, run.life, charge, true, now)? => {
            return Ok(Completion::AlreadyApplied);
        }
        (None, None, Some(charge)) if !rows::insert_effect(tx, &run.slot, run.life, charge, false, now)? => {
            return Ok(Completion::AlreadyApplied);
        }
        (None, _, _) => {}
    }
    end_run(tx, run.token, "committed")?;
    Ok(Completion::Committed)
}

fn record_rollback(tx: &Transaction<'_>, run: &Run, completion: Completion, now: i64) -> rusqlite::Result<()> {
    if completion == Completion::AlreadyApplied {
        let tombstone_until = now.saturating_add(millis(TOMBSTONE_HORIZON));
        rows::bury(tx, &run.slot, run.token, End::Applied, tombstone_until)?;
        return end_run(tx, run.token, "already_applied");
    }
    end_run(tx, run.token, "stale")
}

fn end_run(tx: &Transaction<'_>, token: Token, ended: &str) -> rusqlite::Result<()> {
    tx.execute("UPDATE runs SET ended = ?2 WHERE token = ?1", params![token.0, ended])?;
    Ok(())
}
