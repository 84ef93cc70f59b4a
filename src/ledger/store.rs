//! The port to a ledger. Every tier runs the same `apply`; what differs is how it gets atomicity.

#![allow(async_fn_in_trait, reason = "one realm is one thread: futures need not be Send")]

use super::batch::{Decided, decide};
use crate::core::bugs::{Bug, bug};
use crate::core::change::{Applied, Change, Refusal};
use crate::core::input::{CommitError, DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::ScopeHash;
use crate::core::limits::COMMIT_CONFLICTS_MAX;
use crate::core::record::{ExpectedVersions, Overlay, RecordKey, Versioned, Writes};
use crate::core::shared::Shared;
use crate::core::time::{Observed, Readings};

/// Why a store did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Something that the commit relies on has changed since it was read.
    Conflict,
    /// The transaction was aborted: nothing of it is in.
    Aborted,
    /// Nothing tells whether the transaction is in (P1.2).
    Unknown,
    /// The ledger cannot be opened or read. Never to be taken for an empty one (law 8).
    Unreadable,
}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict | StoreError::Aborted => Self::Failed,
            StoreError::Unknown => Self::Unknown,
            StoreError::Unreadable => Self::Unreadable,
        }
    }
}

/// What one transaction did, change by change, and the ledger clock as it observed it.
#[derive(Debug)]
pub struct Transacted {
    pub results: Vec<Result<Applied, Refusal>>,
    pub clock: Option<Observed>,
}

impl Transacted {
    /// No change, and nothing seen.
    pub const NOTHING: Self = Self { results: Vec::new(), clock: None };
}

/// A ledger tier.
pub trait Store {
    /// The records under these keys, in order; [`Versioned::ABSENT`] where there is none.
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError>;

    /// Writes all or nothing, if everything that was read still has the version it had. `expected` names absent
    /// records too, as version 0: no phantoms (P1.4). Resolves when the writes are durable, and what is
    /// [gone](crate::core::record::Record::Gone) is no longer there.
    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError>;

    /// The unfinished intents of a scope that are due within a span of the ledger clock, and when the next one after it is.
    /// Records that cannot be read are passed over, and stay.
    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError>;

    /// The outcomes of a scope that are due for the app up to `until_ms`, as [`due`](Self::due).
    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError>;

    /// A scope's intents in the order they were submitted, from that sequence on.
    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError>;

    /// Applies changes in one transaction. A store that can decide inside a transaction of its own does so; this is
    /// the way of all others: read, decide, commit what was decided if nothing has changed, else again.
    async fn transact(&self, changes: &[Change], readings: &Readings) -> Result<Transacted, StoreError> {
        for _ in 0..COMMIT_CONFLICTS_MAX {
            let mut overlay = Overlay::default();
            let Decided { results, clock } = loop {
                match decide(&mut overlay, changes, readings()) {
                    Ok(decided) => break decided,
                    Err(unread) => {
                        let found = self.read(&unread).await?;
                        unread.into_iter().zip(found).for_each(|(key, versioned)| overlay.insert(key, versioned));
                    }
                }
            };
            let (expected, writes) = overlay.into_commit();
            match self.commit(&expected, &writes).await {
                Ok(()) => return Ok(Transacted { results, clock }),
                Err(StoreError::Aborted) if bug(Bug::DoneAtRequestSuccess) => return Ok(Transacted { results, clock }),
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Conflict)
    }
}

/// Makes a batch durable. If its transaction is aborted, its changes run again singly, so that one bad value does not
/// take a neighbour's outcome with it; and what brings an answer once more without the answer's body, in case there is
/// no room for it (P6.4).
pub async fn commit_batch(
    store: &impl Store,
    changes: &mut [Change],
    readings: &Readings,
) -> (Vec<Result<Applied, CommitError>>, Option<Observed>) {
    match store.transact(changes, readings).await {
        Ok(Transacted { results, clock }) => {
            (results.into_iter().map(|result| result.map_err(CommitError::Refused)).collect(), clock)
        }
        Err(StoreError::Aborted) if changes.len() == 1 || !bug(Bug::AbortDropsNeighbours) => {
            let mut results = Vec::with_capacity(changes.len());
            let mut clock = None;
            let mut tried = changes.len() == 1;
            for change in changes {
                let single = loop {
                    if tried && !change.drop_answer_body() {
                        break Err(StoreError::Aborted);
                    }
                    match store.transact(core::slice::from_ref(change), readings).await {
                        Err(StoreError::Aborted) => tried = true,
                        other => break other,
                    }
                };
                tried = false;
                match single {
                    Ok(single) => {
                        results.extend(single.results.into_iter().map(|result| result.map_err(CommitError::Refused)));
                        clock = single.clock.or(clock);
                    }
                    Err(error) => results.push(Err(error.into())),
                }
            }
            (results, clock)
        }
        Err(error) => (changes.iter().map(|_| Err(error.into())).collect(), None),
    }
}
