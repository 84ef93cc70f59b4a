//! How often each situation came about: a run in which something never happened has tested nothing of it.

use core::ops::AddAssign;

use intento::core::contract::Finding;

use crate::server::decide::Decision;

macro_rules! tally {
    ($($name:ident: $what:literal,)*) => {
        /// Counts of one run, or of many.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Tally {
            $(pub $name: u64,)*
        }

        impl Tally {
            /// Each count with what it counts.
            pub fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$(($what, self.$name)),*]
            }
        }

        impl AddAssign for Tally {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

tally! {
    executed: "a run begun",
    taken_over: "a run taken over after its lease",
    stale_tokens: "a stale run that committed nothing",
    in_progress: "409 while a run holds the key",
    replayed: "a stored answer given again",
    replayed_after_crash: "a stored answer given again, after a server that died before it gave it",
    replayed_after_wait: "a stored answer given again, after a 409",
    mismatched: "422 for a key with another payload",
    expired: "410 for a key past its retention",
    sealed: "410 for a key that a lookup sealed",
    executed_again: "a refusal executed again",
    crashed_unsent: "a tab that died between the record of its attempt and the request",
    crashed_sending: "a tab that died with a request on the wire",
    crashed_unrecorded: "a tab that died between answer and record",
    frozen_sending: "a tab frozen with a request on the wire",
    thawed: "a tab thawed",
    stopped: "a tab stopped, and not told",
    killed: "a browser killed",
    lost: "a record that a weak tier lost",
    passed_on: "a lock passed on to who waited",
    taken: "a lock that another held",
    stolen: "locks stolen",
    two_builds: "two builds with different contracts",
    stale_facts: "facts under an older fence",
    guarded: "a guard that refused to send",
    zombies: "a thawed tab refused by guard or fence",
    inherited: "an attempt after another tab fell silent in one",
    leased: "a claim refused while another tab's lease runs",
    other_scope: "credentials or a claim refused for the scope",
    three_tabs: "three tabs at once",
    crowds: "three tabs at one intent",
    clock_back: "the wall clock set back",
    clock_ahead: "the wall clock far ahead",
    storage_faults: "a commit that failed or whose fate was unknown",
    offline: "a device offline",
    retry_after: "a server's wait honoured",
    window_closed: "a window closed",
    window_applied: "a window closed, then reconciled: applied",
    window_not_applied: "a window closed, then reconciled: never applied",
    reconciled_applied: "reconciled: applied",
    reconciled_not_applied: "reconciled: never applied",
    reconciled_not_found: "reconciled: not found, and not sealed",
    submitted_again: "a submit of unknown fate made again",
    replaced: "a successor",
    adopted: "an intent adopted",
    cancelled: "an intent cancelled unsent",
    in_lane: "an intent that waited behind another of its lane",
    behind_held: "an intent behind one that is held, at the end",
    skipped: "a held intent skipped",
    expired_unsent: "an intent expired unsent",
    auth_held: "credentials refused",
    delivered: "an outcome handed to the app",
    waited_over_step: "a claim that waited while the wall clock was set back",
    polled: "a look at the result of what was accepted",
    polls_inherited: "a look taken over from a tab that died",
    purged: "an intent purged",
    purged_sending: "an intent purged while it was being sent",
    late_for_tombstone: "facts of what was purged",
    moved: "an intent moved to another origin",
    pruned: "an outcome of which only the tombstone is left",
    tombstones_pruned: "a tombstone taken away",
    contradicted: "evidence against an outcome",
}

impl Tally {
    pub(crate) fn found(&mut self, finding: Finding) {
        match finding {
            Finding::Applied => self.reconciled_applied += 1,
            Finding::NotApplied => self.reconciled_not_applied += 1,
            Finding::NotFound => self.reconciled_not_found += 1,
            Finding::Unknown => {}
        }
    }

    pub(crate) fn decided(&mut self, decision: Decision) {
        let count = match decision {
            Decision::Execute => &mut self.executed,
            Decision::TakeOver { .. } => &mut self.taken_over,
            Decision::Again { .. } => &mut self.executed_again,
            Decision::InProgress => &mut self.in_progress,
            Decision::Replay => &mut self.replayed,
            Decision::Expired => &mut self.expired,
            Decision::Sealed => &mut self.sealed,
            Decision::Mismatch => &mut self.mismatched,
        };
        *count += 1;
    }
}
