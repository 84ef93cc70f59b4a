//! The rows of a slot, one statement a function.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{Slot, key_hash};
use crate::answers::{Answer, Stored};
use crate::decide::{End, Fingerprint, Record, State, Token};
use crate::payments::Charge;

/// A row of `reservations`.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) record: Record,
    /// Of the last run that ended; `None` if none has.
    pub(super) end: Option<End>,
}

/// What a new reservation is entered with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Book {
    pub(super) token: Token,
    pub(super) life: i64,
    pub(super) lease_until: i64,
    pub(super) first_seen: i64,
}

pub(super) fn find(tx: &Transaction<'_>, slot: &Slot) -> rusqlite::Result<Option<Found>> {
    tx.query_row(
        "SELECT fingerprint, sealed, state, token, lease_until, outcome, expires_at
         FROM reservations WHERE mode = ?1 AND scope = ?2 AND key = ?3",
        params![slot.dialect.name, slot.scope, slot.key],
        read_record,
    )
    .optional()
}

/// Enters a reservation, in place of a record that its contract has forgotten.
pub(super) fn insert(tx: &Transaction<'_>, slot: &Slot, fingerprint: Fingerprint, book: Book) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT OR REPLACE INTO reservations
         (mode, scope, key, key_hash, fingerprint, state, token, life, lease_until, first_seen)
         VALUES (?1, ?2, ?3, ?4, ?5, 'in_progress', ?6, ?7, ?8, ?9)",
        params![
            slot.dialect.name,
            slot.scope,
            slot.key,
            key_hash(&slot.key),
            fingerprint.0,
            book.token.0,
            book.life,
            book.lease_until,
            book.first_seen,
        ],
    )?;
    Ok(())
}

/// Gives the reservation that `before` holds, or ended, to `token`. What an ended run came to stays
/// known until the new one ends. Tells the life and the first sight of the key.
pub(super) fn reopen(
    tx: &Transaction<'_>,
    slot: &Slot,
    fingerprint: Fingerprint,
    before: Token,
    token: Token,
    lease_until: i64,
) -> rusqlite::Result<(i64, i64)> {
    tx.query_row(
        "UPDATE reservations
         SET state = 'in_progress', token = ?5, lease_until = ?6, fingerprint = ?7,
             status = NULL, content_type = NULL, body = NULL, expires_at = NULL, tombstone_until = NULL
         WHERE mode = ?1 AND scope = ?2 AND key = ?3 AND token = ?4
         RETURNING life, first_seen",
        params![slot.dialect.name, slot.scope, slot.key, before.0, token.0, lease_until, fingerprint.0],
        |row| Ok((row.get("life")?, row.get("first_seen")?)),
    )
}

/// Ends the reservation that `token` holds. False if it holds none.
pub(super) fn close(
    tx: &Transaction<'_>,
    slot: &Slot,
    token: Token,
    stored: &Stored,
    expires_at: i64,
    tombstone_until: i64,
) -> rusqlite::Result<bool> {
    let closed = tx.execute(
        "UPDATE reservations
         SET state = 'completed', outcome = ?5, status = ?6, content_type = ?7, body = ?8, effect_id = ?9,
             expires_at = ?10, tombstone_until = ?11
         WHERE mode = ?1 AND scope = ?2 AND key = ?3 AND state = 'in_progress' AND token = ?4",
        params![
            slot.dialect.name,
            slot.scope,
            slot.key,
            token.0,
            outcome(stored.end),
            stored.answer.status,
            stored.answer.content_type,
            stored.answer.body,
            stored.charge.as_ref().map(|charge| charge.id.as_str()),
            expires_at,
            tombstone_until,
        ],
    )?;
    Ok(closed == 1)
}

/// Frees the reservation that `token` holds. False if it holds none. What an earlier run of this
/// life left unknown stays so: then the lease ends, and the next run goes on from there.
pub(super) fn free(tx: &Transaction<'_>, slot: &Slot, token: Token) -> rusqlite::Result<bool> {
    let held = params![slot.dialect.name, slot.scope, slot.key, token.0];
    let deleted = tx.execute(
        "DELETE FROM reservations
         WHERE mode = ?1 AND scope = ?2 AND key = ?3 AND state = 'in_progress' AND token = ?4
           AND outcome IS NOT 'unknown'",
        held,
    )?;
    let lapsed = tx.execute(
        "UPDATE reservations SET lease_until = 0
         WHERE mode = ?1 AND scope = ?2 AND key = ?3 AND state = 'in_progress' AND token = ?4",
        held,
    )?;
    Ok(deleted + lapsed == 1)
}

/// Turns the reservation that `token` holds into a tombstone.
pub(super) fn bury(
    tx: &Transaction<'_>,
    slot: &Slot,
    token: Token,
    end: End,
    tombstone_until: i64,
) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE reservations SET state = 'tombstone', outcome = ?5, tombstone_until = ?6
         WHERE mode = ?1 AND scope = ?2 AND key = ?3 AND state = 'in_progress' AND token = ?4",
        params![slot.dialect.name, slot.scope, slot.key, token.0, outcome(end), tombstone_until],
    )?;
    Ok(())
}

/// Seals a slot for good. A run in progress loses its reservation; a stored answer stays and is replayed.
pub(super) fn seal(tx: &Transaction<'_>, slot: &Slot, now: i64) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO reservations
         (mode, scope, key, key_hash, state, token, life, lease_until, first_seen, sealed)
         VALUES (?1, ?2, ?3, ?4, 'tombstone', 0, 0, 0, ?5, 1)
         ON CONFLICT (mode, scope, key) DO UPDATE
         SET sealed = 1, state = iif(state = 'completed', state, 'tombstone')",
        params![slot.dialect.name, slot.scope, slot.key, key_hash(&slot.key), now],
    )?;
    Ok(())
}

pub(super) fn read_stored(tx: &Transaction<'_>, slot: &Slot) -> rusqlite::Result<Stored> {
    tx.query_row(
        "SELECT r.outcome, r.status, r.content_type, r.body, e.id, e.amount, e.currency, e.order_ref
         FROM reservations r LEFT JOIN effects e ON e.id = r.effect_id
         WHERE r.mode = ?1 AND r.scope = ?2 AND r.key = ?3",
        params![slot.dialect.name, slot.scope, slot.key],
        |row| {
            let answer =
                Answer { status: row.get("status")?, content_type: row.get("content_type")?, body: row.get("body")? };
            let made: Option<String> = row.get("id")?;
            let charge = made.map(|_| read_charge(row)).transpose()?;
            Ok(Stored { end: read_end(row)?.unwrap_or(End::Unknown), answer, charge })
        },
    )
}

/// Enters a charge. False if this life of the slot already has one.
pub(super) fn insert_effect(
    tx: &Transaction<'_>,
    slot: &Slot,
    life: i64,
    charge: &Charge,
    known: bool,
    now: i64,
) -> rusqlite::Result<bool> {
    let inserted = tx.execute(
        "INSERT INTO effects
         (id, mode, scope, intent_key, life, key_hash, amount, currency, order_ref, known, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (mode, scope, intent_key, life) DO NOTHING",
        params![
            charge.id,
            slot.dialect.name,
            slot.scope,
            slot.key,
            life,
            key_hash(&slot.key),
            charge.amount,
            charge.currency,
            charge.order,
            known,
            now,
        ],
    )?;
    Ok(inserted == 1)
}

/// The server learns of a charge whose reply was lost.
pub(super) fn hear_of(tx: &Transaction<'_>, effect: &str) -> rusqlite::Result<()> {
    tx.execute("UPDATE effects SET known = 1 WHERE id = ?1", [effect])?;
    Ok(())
}

/// The charge of one life of a slot, heard of or not.
pub(super) fn effect_of_life(tx: &Transaction<'_>, slot: &Slot, life: i64) -> rusqlite::Result<Option<Charge>> {
    tx.query_row(
        "SELECT id, amount, currency, order_ref FROM effects
         WHERE mode = ?1 AND scope = ?2 AND intent_key = ?3 AND life = ?4",
        params![slot.dialect.name, slot.scope, slot.key, life],
        read_charge,
    )
    .optional()
}

/// The first charge of any life of a slot, and whether the server knows of it.
pub(super) fn effect_of_any_life(tx: &Transaction<'_>, slot: &Slot) -> rusqlite::Result<Option<(Charge, bool)>> {
    tx.query_row(
        "SELECT id, amount, currency, order_ref, known FROM effects
         WHERE mode = ?1 AND scope = ?2 AND intent_key = ?3 ORDER BY known DESC, at_ms LIMIT 1",
        params![slot.dialect.name, slot.scope, slot.key],
        |row| Ok((read_charge(row)?, row.get("known")?)),
    )
    .optional()
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<Found> {
    let state: String = row.get("state")?;
    let token = Token(row.get("token")?);
    let end = read_end(row)?;
    let state = match (state.as_str(), end) {
        ("in_progress", _) => State::InProgress { token, lease_until: row.get("lease_until")? },
        ("completed", Some(end)) => State::Completed { token, end, expires_at: row.get("expires_at")? },
        // Anything else must never run the handler.
        _ => State::Tombstone,
    };
    let fingerprint = row.get::<_, Option<[u8; 32]>>("fingerprint")?.map(Fingerprint);
    Ok(Found { record: Record { fingerprint, sealed: row.get("sealed")?, state }, end })
}

fn read_charge(row: &Row<'_>) -> rusqlite::Result<Charge> {
    Ok(Charge {
        id: row.get("id")?,
        amount: row.get("amount")?,
        currency: row.get("currency")?,
        order: row.get("order_ref")?,
    })
}

fn outcome(end: End) -> &'static str {
    match end {
        End::Applied => "applied",
        End::Refused => "refused",
        End::Unknown => "unknown",
    }
}

fn read_end(row: &Row<'_>) -> rusqlite::Result<Option<End>> {
    let outcome: Option<String> = row.get("outcome")?;
    Ok(match outcome.as_deref() {
        None => None,
        Some("applied") => Some(End::Applied),
        Some("refused") => Some(End::Refused),
        Some(_) => Some(End::Unknown),
    })
}
