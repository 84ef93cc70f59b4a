//! What becomes known of a key to whoever asks without paying.

use rusqlite::{Transaction, TransactionBehavior};

use super::{Ledger, Slot, rows};
use crate::answers::{Answer, Stored, receipt_of};
use crate::database::DatabaseError;
use crate::decide::{End, State};

/// What is known of a key, for whoever polls. Nothing is promised of the future.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Never used, or freed by a transient failure.
    Unknown,
    /// A run was granted and has not ended. If its process died, this stays so until a request to
    /// pay takes it over.
    InProgress,
    Stored(Stored),
    Expired,
    Sealed,
}

/// What came of a key, for whoever reconciles. The last word, except `InProgress` and `Unknown`.
#[derive(Debug)]
pub(crate) enum Finding {
    /// The effect is there, with the answer it had, or its receipt where that is no longer kept.
    Applied(Answer),
    /// Nothing happened and, from this finding on, nothing will. With the answer, if the payment
    /// was refused and that is still kept.
    NotApplied(Option<Answer>),
    InProgress,
    /// The effect is outside of what this server can see.
    Unknown,
}

impl Ledger {
    /// Reads what is known of a slot. Nothing is reserved, taken over or written.
    pub(crate) async fn look_up(&self, slot: Slot) -> Result<Standing, DatabaseError> {
        let clock = self.clock.clone();
        self.database
            .run(move |connection| {
                let tx = connection.transaction()?;
                let Some(found) = rows::find(&tx, &slot)? else {
                    return Ok(Standing::Unknown);
                };
                Ok(match found.record.state {
                    State::InProgress { .. } => Standing::InProgress,
                    State::Completed { expires_at, .. } if clock.now_ms() < expires_at => {
                        Standing::Stored(rows::read_stored(&tx, &slot)?)
                    }
                    State::Completed { .. } | State::Tombstone if found.record.sealed => Standing::Sealed,
                    State::Completed { .. } | State::Tombstone => Standing::Expired,
                })
            })
            .await
    }

    /// Finds out what came of a slot, and seals it in the same transaction if nothing did.
    ///
    /// A run whose lease is over counts as dead: the seal takes its reservation, so that it commits
    /// nothing if it wakes up after all.
    pub(crate) async fn find_out(&self, slot: Slot) -> Result<Finding, DatabaseError> {
        let clock = self.clock.clone();
        self.database
            .run(move |connection| {
                let now = clock.now_ms();
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let finding = find_out(&tx, &slot, now)?;
                tx.commit()?;
                Ok(finding)
            })
            .await
    }
}

fn find_out(tx: &Transaction<'_>, slot: &Slot, now: i64) -> rusqlite::Result<Finding> {
    let found = rows::find(tx, slot)?;
    let state = found.as_ref().map(|found| found.record.state);
    match state {
        Some(State::InProgress { lease_until, .. }) if now < lease_until => return Ok(Finding::InProgress),
        Some(State::Completed { end: End::Applied, .. }) => {
            return Ok(Finding::Applied(rows::read_stored(tx, slot)?.answer));
        }
        _ => {}
    }
    // The record may be gone, or be of a later life of the key; an effect is there for good.
    match rows::effect_of_any_life(tx, slot)? {
        Some((charge, true)) => return Ok(Finding::Applied(receipt_of(slot.dialect, &charge))),
        Some((_, false)) => return Ok(Finding::Unknown),
        None if found.is_some_and(|found| found.end == Some(End::Unknown)) => return Ok(Finding::Unknown),
        None => {}
    }
    rows::seal(tx, slot, now)?;
    Ok(Finding::NotApplied(match state {
        Some(State::Completed { .. }) => Some(rows::read_stored(tx, slot)?.answer),
        _ => None,
    }))
}
