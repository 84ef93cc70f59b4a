//! What was promised, told from outside the browser, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use e2e::ledger::Ledger;
use e2e::told::{Snapshot, Submitted};

/// Every intent that the app was told is stored, written down as it was told.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// By reference; more than one id is one too many.
    acknowledged: BTreeMap<String, BTreeSet<String>>,
}

impl Journal {
    pub(crate) fn acknowledge(&mut self, submitted: &Submitted) {
        let reference = submitted.intent.reference.clone().unwrap_or_default();
        self.acknowledged.entry(reference).or_default().insert(submitted.intent.id.clone());
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.acknowledged.values().flatten().map(String::as_str).collect()
    }

    /// Compares what was promised with what the client shows at the end, one snapshot for each of [`ids`](Self::ids),
    /// and with the server's file.
    pub(crate) fn compare(&self, shown: &[Option<Snapshot>], server: &Ledger) -> Account {
        let mut effects: BTreeMap<&str, usize> = BTreeMap::new();
        for effect in &server.0.effects {
            *effects.entry(effect.order.as_deref().unwrap_or_default()).or_default() += 1;
        }
        let mut account = Account { intents: shown.len(), ..Account::default() };
        let twice = effects.iter().filter(|(_, count)| **count > 1);
        account.duplicated.extend(twice.map(|(reference, count)| format!("{reference}: {count} effects")));
        let apart = self.acknowledged.iter().filter(|(_, ids)| ids.len() > 1);
        account.duplicated.extend(apart.map(|(reference, ids)| format!("{reference}: {} intents", ids.len())));

        let promised = self.acknowledged.iter().flat_map(|(reference, ids)| ids.iter().map(move |id| (reference, id)));
        for ((reference, id), snapshot) in promised.zip(shown) {
            let charged = effects.contains_key(reference.as_str());
            let told = |what: &str| format!("{reference}: {what} ({id})");
            match snapshot {
                None => account.lost.push(told("the client does not know it")),
                Some(snapshot) if snapshot.state == "succeeded" && charged => {}
                Some(snapshot) if ENDS.contains(&snapshot.state.as_str()) => {
                    account.lost.push(told(&format!("{} here, charged there: {charged}", snapshot.state)));
                }
                Some(snapshot) => account.stalled.push(told(&snapshot.standing())),
            }
        }
        account
    }
}

/// The states that an intent does not leave by itself.
pub(crate) const ENDS: [&str; 7] =
    ["succeeded", "rejected", "mismatched", "not_applied", "cancelled", "expired", "abandoned"];

#[derive(Debug, Default)]
pub(crate) struct Account {
    intents: usize,
    /// Promised, and not there, or without its effect.
    lost: Vec<String>,
    /// References with two effects or two intents.
    duplicated: Vec<String>,
    /// Promised, and not at an end.
    stalled: Vec<String>,
}

impl Account {
    pub(crate) fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.duplicated.is_empty() && self.stalled.is_empty()
    }

    pub(crate) fn list_what_is_wrong(&self) {
        for (what, cases) in [("lost", &self.lost), ("duplicated", &self.duplicated), ("stalled", &self.stalled)] {
            cases.iter().for_each(|case| println!("{what}: {case}"));
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { intents, lost, duplicated, stalled } = self;
        let (lost, duplicated, stalled) = (lost.len(), duplicated.len(), stalled.len());
        write!(f, "intents={intents} lost={lost} duplicated={duplicated} stalled={stalled}")
    }
}

#[cfg(test)]
mod tests {
    use reference_server::inspect::{Counters, Effect, Inspection};
    use serde_json::json;

    use super::*;

    fn submitted(reference: &str, id: &str) -> Submitted {
        let intent = json!({
            "id": id, "operation": "pay", "reference": reference, "state": "queued", "keyHash": id, "cause": null,
            "heldReason": null, "maybeSent": false, "safeToReplace": false, "nextAttemptAt": null, "attemptCount": 0,
            "attempts": [], "contradicted": false, "predecessor": null, "successor": null,
        });
        serde_json::from_value(json!({ "intent": intent, "created": true, "durability": "strong" })).unwrap()
    }

    fn shown(submitted: &Submitted, state: &str) -> Option<Snapshot> {
        Some(Snapshot { state: state.to_owned(), ..submitted.intent.clone() })
    }

    fn server(charged: &[&str]) -> Ledger {
        let effect = |order: &&str| Effect {
            id: String::new(),
            mode: "own".to_owned(),
            scope: String::new(),
            key_hash: String::new(),
            amount: 1,
            currency: "BRL".to_owned(),
            order: Some((*order).to_owned()),
            known: true,
            at_ms: 0,
        };
        let counters = Counters {
            wire: 0,
            reservations: 0,
            executions: 0,
            commits: 0,
            effects: 0,
            replays: 0,
            conflicts: 0,
            mismatches: 0,
            expired: 0,
            sealed: 0,
            takeovers: 0,
            stale: 0,
            already_applied: 0,
        };
        Ledger(Inspection { counters, effects: charged.iter().map(effect).collect(), wire: Vec::new() })
    }

    #[test]
    fn what_was_promised_is_counted_by_what_became_of_it() {
        let promised = ["a", "b", "c", "d", "e"].map(|name| submitted(name, name));
        let mut journal = Journal::default();
        promised.iter().for_each(|submitted| journal.acknowledge(submitted));
        assert_eq!(journal.ids(), ["a", "b", "c", "d", "e"]);
        let [a, b, c, d, _] = &promised;
        let at_the_end =
            [shown(a, "succeeded"), shown(b, "succeeded"), shown(c, "rejected"), shown(d, "waiting"), None];
        let account = journal.compare(&at_the_end, &server(&["a", "c", "d"]));
        assert_eq!(account.to_string(), "intents=5 lost=3 duplicated=0 stalled=1");
        assert!(!account.is_clean());
    }

    #[test]
    fn two_effects_or_two_intents_of_one_reference_are_duplicates() {
        let mut journal = Journal::default();
        let (one, other) = (submitted("a", "1"), submitted("a", "2"));
        journal.acknowledge(&one);
        journal.acknowledge(&one);
        let at_the_end = [shown(&one, "succeeded")];
        assert!(journal.compare(&at_the_end, &server(&["a"])).is_clean());
        assert_eq!(journal.compare(&at_the_end, &server(&["a", "a"])).duplicated.len(), 1);
        journal.acknowledge(&other);
        let at_the_end = [shown(&one, "succeeded"), shown(&other, "succeeded")];
        assert_eq!(journal.compare(&at_the_end, &server(&["a"])).duplicated.len(), 1);
        // Also one that nobody was told of.
        assert_eq!(Journal::default().compare(&[], &server(&["x", "x"])).duplicated.len(), 1);
    }
}
