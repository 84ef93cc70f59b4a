//! What a keyed request may do, decided from the record alone.
//!
//! No clock, no database, no HTTP: the simulator runs this same function, so that the model of the
//! server cannot drift from the server.

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
    pub fingerprint: Fingerprint,
    pub state: State,
}

/// Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A run was granted and has not ended. From `lease_until` on, another may take over.
    InProgress { token: Token, lease_until: i64 },
    /// The answer is stored and replayable before `expires_at`.
    Completed { expires_at: i64 },
    /// The answer was pruned; that the key was used is still known.
    Tombstone,
}

/// The only things a keyed request can lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The key is new: reserve it and run the handler.
    Execute,
    /// The holder's lease is over: reserve under a new token, which makes `stale` unable to commit.
    TakeOver { stale: Token },
    /// Another run holds the key: 409, ask again.
    InProgress,
    /// The key belongs to another payload: 422, nothing changes.
    Mismatch,
    /// Send the stored answer again.
    Replay,
    /// The key was used and its answer is gone: 410, never a second run.
    Expired,
}

/// Decides what a request with this `fingerprint` may do at `now`.
///
/// The fingerprint is compared before the state: a client that reuses a key for another payload
/// must learn so at once, not after waiting out somebody else's run.
pub fn decide(record: Option<&Record>, now: i64, fingerprint: Fingerprint) -> Decision {
    let Some(record) = record else {
        return Decision::Execute;
    };
    if record.fingerprint != fingerprint {
        return Decision::Mismatch;
    }
    match record.state {
        State::InProgress { token, lease_until } if lease_until <= now => Decision::TakeOver { stale: token },
        State::InProgress { .. } => Decision::InProgress,
        State::Completed { expires_at } if expires_at <= now => Decision::Expired,
        State::Completed { .. } => Decision::Replay,
        State::Tombstone => Decision::Expired,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000;
    const SAME: Fingerprint = Fingerprint([1; 32]);
    const OTHER: Fingerprint = Fingerprint([2; 32]);
    const HOLDER: Token = Token(7);

    fn record(state: State) -> Record {
        Record { fingerprint: SAME, state }
    }

    fn held_until(lease_until: i64) -> State {
        State::InProgress { token: HOLDER, lease_until }
    }

    #[test]
    fn a_new_key_executes() {
        assert_eq!(decide(None, NOW, SAME), Decision::Execute);
    }

    #[test]
    fn every_state_at_every_side_of_its_deadline() {
        let table = [
            (held_until(NOW + 1), Decision::InProgress),
            (held_until(NOW), Decision::TakeOver { stale: HOLDER }),
            (held_until(NOW - 1), Decision::TakeOver { stale: HOLDER }),
            (State::Completed { expires_at: NOW + 1 }, Decision::Replay),
            (State::Completed { expires_at: NOW }, Decision::Expired),
            (State::Completed { expires_at: 0 }, Decision::Expired),
            (State::Tombstone, Decision::Expired),
        ];
        for (state, expected) in table {
            let decision = decide(Some(&record(state)), NOW, SAME);
            assert_eq!(decision, expected, "{state:?}");
        }
    }

    #[test]
    fn another_payload_is_a_mismatch_in_every_state() {
        let states = [
            held_until(NOW + 1),
            held_until(NOW - 1),
            State::Completed { expires_at: NOW + 1 },
            State::Completed { expires_at: NOW - 1 },
            State::Tombstone,
        ];
        for state in states {
            let decision = decide(Some(&record(state)), NOW, OTHER);
            assert_eq!(decision, Decision::Mismatch, "{state:?}");
        }
    }

    #[test]
    fn only_a_new_key_or_a_lapsed_lease_ever_runs_the_handler() {
        for lease_until in NOW - 3..=NOW + 3 {
            for now in NOW - 3..=NOW + 3 {
                let decision = decide(Some(&record(held_until(lease_until))), now, SAME);
                let runs = matches!(decision, Decision::Execute | Decision::TakeOver { .. });
                assert_eq!(runs, lease_until <= now);
            }
        }
    }
}
