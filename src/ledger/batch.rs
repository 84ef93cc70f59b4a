//! Deciding a batch: the changes of one transaction, applied in order over one overlay.

use crate::core::change::{Applied, Change, Refusal};
use crate::core::record::{Overlay, Record, RecordKey, Stop};
use crate::core::time::{Observed, Reading};
use crate::core::transition::apply;

/// A batch as decided: one result a change. The overlay holds what to write.
#[derive(Debug)]
pub struct Decided {
    pub results: Vec<Result<Applied, Refusal>>,
    /// The ledger clock as this transaction observed it.
    pub clock: Option<Observed>,
}

/// Applies all changes, each seeing what those before it wrote. `Err` names every record that must be read first, some of them
/// perhaps twice; nothing of the batch counts then, and nothing of it is in the overlay.
pub fn decide(overlay: &mut Overlay, changes: &[Change], reading: Reading) -> Result<Decided, Vec<RecordKey>> {
    let mut results = Vec::with_capacity(changes.len());
    // Apart, so that no key is looked for among thousands: what changes share is little.
    let (mut shared, mut unread): (Vec<RecordKey>, Vec<RecordKey>) = (Vec::new(), Vec::new());
    for change in changes {
        match apply(overlay, change, reading) {
            Ok(applied) => results.push(Ok(applied)),
            Err(Stop::Refused(refusal)) => results.push(Err(refusal)),
            Err(Stop::Unread(keys)) => {
                for key in keys {
                    match key {
                        RecordKey::Intent(_) | RecordKey::Payload(_) | RecordKey::Reference(_) => unread.push(key),
                        _ if shared.contains(&key) => {}
                        _ => shared.push(key),
                    }
                }
            }
        }
    }
    unread.extend(shared);
    if !unread.is_empty() {
        overlay.forget_writes();
        return Err(unread);
    }
    let clock = match overlay.get(&RecordKey::Clock) {
        // Where every change was refused, nothing was written; what the clock reads is of use all the same.
        Ok(Some(Record::Clock(clock))) => Some(Observed { clock: clock.observe(reading), ran_ms: reading.ran_ms }),
        _ => None,
    };
    Ok(Decided { results, clock })
}
