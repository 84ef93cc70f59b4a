//! What the server's file says, and the promises it must show.

use std::collections::BTreeSet;

use reference_server::inspect::{Inspection, WireEntry};

use crate::told::Snapshot;

/// The server's side of a test.
#[derive(Clone, Debug)]
pub struct Ledger(pub Inspection);

/// The three numbers that every test asserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Charges that exist.
    pub effects: i64,
    /// Times the handler ran.
    pub executions: i64,
    /// Payment requests that arrived.
    pub wire: i64,
}

impl Ledger {
    pub fn tally(&self) -> Tally {
        let counters = &self.0.counters;
        Tally { effects: counters.effects, executions: counters.executions, wire: counters.wire }
    }

    /// Payment requests in the order of their arrival.
    pub fn wire(&self) -> &[WireEntry] {
        &self.0.wire
    }

    pub fn statuses(&self) -> Vec<Option<u16>> {
        self.wire().iter().map(|entry| entry.status).collect()
    }

    /// Milliseconds from one arrival to the next.
    pub fn gaps_ms(&self) -> Vec<i64> {
        self.wire().windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms).collect()
    }

    /// The different keys that arrived, hashed.
    pub fn keys(&self) -> BTreeSet<&str> {
        self.wire().iter().map(|entry| entry.key_hash.as_deref().unwrap_or("none")).collect()
    }

    /// Panics unless every request carried the key of one of these intents, each intent's requests were the same
    /// bytes every time, and no intent was charged twice (laws 2 and 3).
    #[track_caller]
    pub fn assert_one_key_per_intent(&self, intents: &[&Snapshot]) {
        let known: BTreeSet<&str> = intents.iter().map(|intent| intent.key_hash.as_str()).collect();
        assert_eq!(known.len(), intents.len(), "two intents share a key");
        assert!(self.keys().is_subset(&known), "a request carried another key than its intent's: {:#?}", self.wire());
        for key_hash in known {
            let mine = || self.wire().iter().filter(|entry| entry.key_hash.as_deref() == Some(key_hash));
            let keys: BTreeSet<_> = mine().map(|entry| &entry.key).collect();
            let bodies: BTreeSet<_> = mine().map(|entry| &entry.body_sha256).collect();
            assert!(keys.len() <= 1 && bodies.len() <= 1, "an intent was sent in two versions: {:#?}", self.wire());
            let charges = self.0.effects.iter().filter(|effect| effect.key_hash == key_hash).count();
            assert!(charges <= 1, "one intent was charged {charges} times");
        }
    }
}
