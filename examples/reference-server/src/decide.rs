//! What a keyed request may do, decided from the record and the contract alone.
//!
//! No clock, no database, no HTTP: the simulator can run this same function, so that the model of
//! the server cannot drift from the server.

/// SHA-256 over everything that makes two requests the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// Names one run of the handler. Tokens only grow, and each is granted once, so a run that lost
/// its reservation can be told from the run that holds it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub i64);

/// What is durably known about one key of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Of the key's first request. `None`: a lookup sealed the key before any request came.
    pub fingerprint: Option<Fingerprint>,
    /// A caller was told that nothing happened under this key and never will.
    pub sealed: bool,
    pub state: State,
}

/// Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A run was granted and has not ended. From `lease_until` on, another may take over.
    InProgress { token: Token, lease_until: i64 },
    /// The run `token` ended and its answer is stored until `expires_at`.
    Completed { token: Token, end: End, expires_at: i64 },
    /// The answer was pruned; that the key was used is still known.
    Tombstone,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The effect is there.
    Applied,
    /// There is no effect, by decision.
    Refused,
    /// The run broke where the server cannot see whether the effect is there.
    Unknown,
}

/// What a contract leaves open to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// A key that comes back with another payload.
    pub other_payload: OtherPayload,
    /// The repetition of a request that ended [`End::Refused`].
    pub after_refusal: Repetition,
    /// The repetition of a request that ended [`End::Unknown`].
    pub after_unknown: Repetition,
    /// A key past its retention.
    pub past_retention: PastRetention,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherPayload {
    Refused,
    /// It is taken for the first request.
    Unnoticed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// Gets the stored answer.
    Replayed,
    /// Runs the handler again.
    Executed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastRetention {
    /// The key stays used: 410.
    Refused,
    /// The key is new again: a repetition is a silent second effect.
    Forgotten,
}

/// This server's own contract, and the only safe one.
pub const CAREFUL: Policy = Policy {
    other_payload: OtherPayload::Refused,
    after_refusal: Repetition::Replayed,
    after_unknown: Repetition::Replayed,
    past_retention: PastRetention::Refused,
};

/// The only things a keyed request can lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The key is new, or counts as new again: reserve it and run the handler.
    Execute,
    /// The holder's lease is over: reserve under a new token, which makes `stale` unable to commit.
    TakeOver { stale: Token },
    /// The run `ended` without an effect that the server knows of: reserve under a new token and
    /// carry the work to its end.
    Again { ended: Token },
    /// Another run holds the key: ask again.
    InProgress,
    /// The key belongs to another payload: nothing changes.
    Mismatch,
    /// Send the stored answer again, or what the contract has in its place.
    Replay,
    /// The key was used and its answer is gone: never a second run.
    Expired,
    /// Somebody was promised that nothing will ever happen under this key.
    Sealed,
}

/// Decides what a request with this `fingerprint` may do at `now`.
///
/// A seal outlives everything. Otherwise the fingerprint is compared before the state: a client
/// that reuses a key for another payload must learn so at once, not after waiting out somebody
/// else's run.
pub fn decide(record: Option<&Record>, now: i64, fingerprint: Fingerprint, policy: Policy) -> Decision {
    let Some(record) = record else {
        return Decision::Execute;
    };
    let gone = match record.state {
        State::InProgress { .. } => false,
        State::Completed { expires_at, .. } => expires_at <= now,
        State::Tombstone => true,
    };
    if gone && !record.sealed && policy.past_retention == PastRetention::Forgotten {
        return Decision::Execute;
    }
    let other = record.fingerprint.is_some_and(|first| first != fingerprint);
    if other && policy.other_payload == OtherPayload::Refused {
        return Decision::Mismatch;
    }
    match record.state {
        State::InProgress { token, lease_until } if lease_until <= now => Decision::TakeOver { stale: token },
        State::InProgress { .. } => Decision::InProgress,
        State::Completed { token, end, .. } if !gone => match policy.after(end) {
            Repetition::Executed if !record.sealed => Decision::Again { ended: token },
            Repetition::Executed | Repetition::Replayed => Decision::Replay,
        },
        State::Completed { .. } | State::Tombstone if record.sealed => Decision::Sealed,
        State::Completed { .. } | State::Tombstone => Decision::Expired,
    }
}

impl Policy {
    fn after(self, end: End) -> Repetition {
        match end {
            End::Applied => Repetition::Replayed,
            End::Refused => self.after_refusal,
            End::Unknown => self.after_unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000;
    const SAME: Fingerprint = Fingerprint([1; 32]);
    const OTHER: Fingerprint = Fingerprint([2; 32]);
    const HOLDER: Token = Token(7);
    /// The opposite of [`CAREFUL`] in everything.
    const CARELESS: Policy = Policy {
        other_payload: OtherPayload::Unnoticed,
        after_refusal: Repetition::Executed,
        after_unknown: Repetition::Executed,
        past_retention: PastRetention::Forgotten,
    };
    const AGAIN: Decision = Decision::Again { ended: HOLDER };

    fn record(state: State) -> Record {
        Record { fingerprint: Some(SAME), sealed: false, state }
    }

    fn sealed(state: State) -> Record {
        Record { sealed: true, ..record(state) }
    }

    fn held_until(lease_until: i64) -> State {
        State::InProgress { token: HOLDER, lease_until }
    }

    fn completed(end: End, expires_at: i64) -> State {
        State::Completed { token: HOLDER, end, expires_at }
    }

    #[test]
    fn a_new_key_executes() {
        for policy in [CAREFUL, CARELESS] {
            assert_eq!(decide(None, NOW, SAME, policy), Decision::Execute);
        }
    }

    #[test]
    fn every_state_at_every_side_of_its_deadline_under_both_policies() {
        let takeover = Decision::TakeOver { stale: HOLDER };
        let table = [
            (held_until(NOW + 1), Decision::InProgress, Decision::InProgress),
            (held_until(NOW), takeover, takeover),
            (held_until(NOW - 1), takeover, takeover),
            (completed(End::Applied, NOW + 1), Decision::Replay, Decision::Replay),
            (completed(End::Refused, NOW + 1), Decision::Replay, AGAIN),
            (completed(End::Unknown, NOW + 1), Decision::Replay, AGAIN),
            (completed(End::Applied, NOW), Decision::Expired, Decision::Execute),
            (completed(End::Refused, NOW), Decision::Expired, Decision::Execute),
            (completed(End::Unknown, 0), Decision::Expired, Decision::Execute),
            (State::Tombstone, Decision::Expired, Decision::Execute),
        ];
        for (state, careful, careless) in table {
            assert_eq!(decide(Some(&record(state)), NOW, SAME, CAREFUL), careful, "{state:?}");
            assert_eq!(decide(Some(&record(state)), NOW, SAME, CARELESS), careless, "{state:?}");
        }
    }

    #[test]
    fn each_choice_changes_its_own_decision_only() {
        let refusals = Policy { after_refusal: Repetition::Executed, ..CAREFUL };
        assert_eq!(decide(Some(&record(completed(End::Refused, NOW + 1))), NOW, SAME, refusals), AGAIN);
        assert_eq!(decide(Some(&record(completed(End::Unknown, NOW + 1))), NOW, SAME, refusals), Decision::Replay);
        let forgets = Policy { past_retention: PastRetention::Forgotten, ..CAREFUL };
        assert_eq!(decide(Some(&record(State::Tombstone)), NOW, OTHER, forgets), Decision::Execute);
        assert_eq!(decide(Some(&record(completed(End::Applied, NOW + 1))), NOW, OTHER, forgets), Decision::Mismatch);
    }

    #[test]
    fn another_payload_is_a_mismatch_in_every_state_or_is_not_noticed_in_any() {
        let states = [
            held_until(NOW + 1),
            held_until(NOW - 1),
            completed(End::Applied, NOW + 1),
            completed(End::Applied, NOW - 1),
            State::Tombstone,
        ];
        for state in states {
            assert_eq!(decide(Some(&record(state)), NOW, OTHER, CAREFUL), Decision::Mismatch, "{state:?}");
            let unnoticed = decide(Some(&record(state)), NOW, OTHER, CARELESS);
            assert_eq!(unnoticed, decide(Some(&record(state)), NOW, SAME, CARELESS), "{state:?}");
        }
    }

    #[test]
    fn a_sealed_key_never_runs_the_handler_under_any_policy() {
        let states = [
            (completed(End::Refused, NOW + 1), Decision::Replay),
            (completed(End::Refused, NOW), Decision::Sealed),
            (State::Tombstone, Decision::Sealed),
        ];
        for policy in [CAREFUL, CARELESS] {
            for (state, expected) in states {
                assert_eq!(decide(Some(&sealed(state)), NOW, SAME, policy), expected, "{state:?}");
            }
            let unused = Record { fingerprint: None, ..sealed(State::Tombstone) };
            assert_eq!(decide(Some(&unused), NOW, SAME, policy), Decision::Sealed);
        }
    }

    #[test]
    fn of_a_run_in_progress_only_a_lapsed_lease_ever_runs_the_handler_again() {
        for lease_until in NOW - 3..=NOW + 3 {
            for now in NOW - 3..=NOW + 3 {
                for policy in [CAREFUL, CARELESS] {
                    let decision = decide(Some(&record(held_until(lease_until))), now, SAME, policy);
                    assert_eq!(matches!(decision, Decision::TakeOver { .. }), lease_until <= now);
                    assert!(!matches!(decision, Decision::Execute | Decision::Again { .. }));
                }
            }
        }
    }
}
