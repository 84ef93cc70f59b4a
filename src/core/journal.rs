//! The journal of an intent: what was attempted and decided, append-only; never payload, key or headers. It ends at
//! [`JOURNAL_MAX`](super::limits::JOURNAL_MAX), but for what decides: what is known of the intent is in its record, whose
//! history loses nothing.

use super::contract::{AttemptReading, Finding};
use super::intent::{Cause, HeldReason};
use super::json::json;
use super::key::{ChangeId, IntentId, RealmId, ScopeHash};
use super::time::Stamp;

/// One line of an intent's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    pub intent: IntentId,
    /// The store orders an intent's entries by this.
    pub sequence: u64,
    pub at: Stamp,
    pub event: JournalEvent,
}

json!(struct JournalEntry { intent, sequence, at, event });

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEvent {
    Submitted,
    /// The request looked like card data, and the app allows that for the operation.
    CardDataAllowed,
    Claimed {
        attempt: u32,
        fence: u64,
        owner: RealmId,
        correlation: ChangeId,
    },
    NotSent {
        attempt: u32,
    },
    /// Facts of an attempt. `stale`: they came under an older fence.
    Facts {
        attempt: u32,
        fence: u64,
        stale: bool,
        reading: AttemptReading,
    },
    Waits {
        cause: Cause,
        due_at_ms: u64,
    },
    Held {
        reason: HeldReason,
    },
    /// A look at the result of an accepted intent.
    Polled {
        fence: u64,
        reading: AttemptReading,
    },
    Accepted,
    /// The app asked what became of it.
    ReconcileAsked,
    /// What reconciling found out.
    Reconciled {
        fence: u64,
        finding: Finding,
    },
    Adopted {
        from: ScopeHash,
    },
    Resumed {
        from: HeldReason,
    },
    /// It came in a parcel from another ledger, which has its journal until then.
    Received,
    /// It is in no lane any more.
    Skipped,
    /// In the app's words.
    Abandoned {
        reason: String,
    },
    /// In the app's words.
    Replaced {
        successor: IntentId,
        reason: String,
    },
    Replaces {
        predecessor: IntentId,
    },
    Settled {
        state: String,
    },
    /// The app's handler took the outcome, or failed to.
    Delivered {
        ok: bool,
    },
    /// The app has the outcome by other means.
    Acknowledged,
    /// Everything before was taken away, with body, answer and key. `purged`: at the app's word, not by its age.
    Erased {
        purged: bool,
    },
    /// Evidence against the outcome (law 6).
    Contradicted {
        attempt: u32,
        reading: AttemptReading,
    },
}

impl JournalEvent {
    /// Does it decide about the intent? None of these comes again and again.
    pub fn is_decisive(&self) -> bool {
        use JournalEvent::{
            Abandoned, Adopted, CardDataAllowed, Contradicted, Erased, Received, Replaced, Replaces, Settled, Skipped,
            Submitted,
        };
        matches!(
            self,
            Submitted
                | CardDataAllowed
                | Received
                | Skipped
                | Adopted { .. }
                | Abandoned { .. }
                | Replaced { .. }
                | Replaces { .. }
                | Settled { .. }
                | Contradicted { .. }
                | Erased { .. }
        )
    }
}

json!(enum JournalEvent {
    Submitted = "submitted",
    CardDataAllowed = "card_data_allowed",
    Claimed { attempt, fence, owner, correlation } = "claimed",
    NotSent { attempt } = "not_sent",
    Facts { attempt, fence, stale, reading } = "facts",
    Waits { cause, due_at_ms } = "waits",
    Held { reason } = "held",
    Polled { fence, reading } = "polled",
    Accepted = "accepted",
    ReconcileAsked = "reconcile_asked",
    Reconciled { fence, finding } = "reconciled",
    Received = "received",
    Adopted { from } = "adopted",
    Resumed { from } = "resumed",
    Skipped = "skipped",
    Abandoned { reason } = "abandoned",
    Replaced { successor, reason } = "replaced",
    Replaces { predecessor } = "replaces",
    Settled { state } = "settled",
    Delivered { ok } = "delivered",
    Acknowledged = "acknowledged",
    Erased { purged } = "erased",
    Contradicted { attempt, reading } = "contradicted",
});
