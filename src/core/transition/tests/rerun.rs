//! A change may be run again when its fate is unknown (P1.1, P1.3), and the ledger clock (P3).

use proptest::prelude::*;

use super::*;
use crate::core::contract::Facts;
use crate::core::contract::tests::{echoing, html, json, marked};
use crate::core::shared::Shared;

#[test]
fn p1_3_a_claim_run_again_is_the_same_claim_with_a_new_lease() {
    let mut bench = Bench::with(&submit(1));
    let claim = Change::Claim(take(&submit(1).intent, "a"));
    let first = bench.apply(&claim).unwrap();
    bench.wait(1_000);
    let second = bench.apply(&claim).unwrap();
    match (first, second) {
        (Applied::Claimed(first), Applied::Claimed(second)) => {
            assert_eq!((second.attempt, second.fence), (first.attempt, first.fence));
            assert_eq!(second.lease_until_ms, first.lease_until_ms + 1_000);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn p1_1_a_claim_that_is_over_is_not_made_again() {
    let mut bench = Bench::with(&submit(1));
    let claim = Change::Claim(take(&submit(1).intent, "a"));
    let Ok(Applied::Claimed(grant)) = bench.apply(&claim) else { panic!("not granted") };
    bench.tell(&grant, Observation::Fault(Fault::Network));
    bench.wait(BACKOFF_CAP_MS);
    let before = bench.only();
    assert_eq!(bench.apply(&claim), Err(Refusal::WrongState(Shared::new(before.clone()))));
    assert_eq!(bench.only(), before);
}

#[derive(Clone, Debug)]
enum Move {
    Submit(u8),
    /// Another decision under the reference of this number.
    Clash(u8),
    Claim(u8, bool),
    Tell(u8, u8),
    NotSent(u8),
    Cancel(u8),
    Hold(u8),
    Probed(bool),
    Wait(u32),
    StepBack(u32),
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => (0_u8..3).prop_map(Move::Submit),
        1 => (0_u8..3).prop_map(Move::Clash),
        5 => (0_u8..3, any::<bool>()).prop_map(|(number, locked)| Move::Claim(number, locked)),
        5 => (any::<u8>(), 0_u8..8).prop_map(|(grant, what)| Move::Tell(grant, what)),
        2 => any::<u8>().prop_map(Move::NotSent),
        1 => (0_u8..3).prop_map(Move::Cancel),
        1 => (0_u8..3).prop_map(Move::Hold),
        1 => any::<bool>().prop_map(Move::Probed),
        4 => (0_u32..200_000).prop_map(Move::Wait),
        1 => (0_u32..200_000).prop_map(Move::StepBack),
    ]
}

/// A bench that remembers the grants it gave, and the changes that took effect.
struct Walk {
    bench: Bench,
    grants: Vec<Grant>,
    made: u32,
}

impl Walk {
    fn change(&mut self, step: &Move) -> Option<Change> {
        self.made += 1;
        let grant = |at: u8| self.grants.get(usize::from(at) % self.grants.len().max(1));
        Some(match step {
            Move::Submit(number) => Change::Submit(Box::new(submit(*number))),
            Move::Clash(number) => {
                Change::Submit(Box::new(Submit { reference: submit(*number).reference, ..submit(number + 100) }))
            }
            Move::Claim(number, lock_held) => {
                let claim = take(&submit(*number).intent, &format!("nonce-{}", self.made));
                Change::Claim(TakeClaim { lock: lock_held.then_some(0), ..claim })
            }
            Move::Tell(at, what) => {
                let grant = grant(*at)?;
                Change::Record(Box::new(facts(
                    grant,
                    &format!("fact-{}", self.made),
                    observation(*what, &grant.intent.key),
                )))
            }
            // An attempt that was not sent brings no facts.
            Move::NotSent(at) if !self.grants.is_empty() => {
                not_sent(&self.grants.swap_remove(usize::from(*at) % self.grants.len()))
            }
            Move::NotSent(_) => return None,
            Move::Cancel(number) => Change::Cancel(submit(*number).intent),
            Move::Hold(number) => Change::Hold { intent: submit(*number).intent, reason: HeldReason::Auth },
            Move::Probed(ok) => Change::Probed { origin: ORIGIN.to_owned(), ok: *ok },
            Move::Wait(_) | Move::StepBack(_) => return None,
        })
    }

    fn take(&mut self, step: &Move) -> Option<(Change, Result<Applied, Refusal>)> {
        match step {
            Move::Wait(ms) => self.bench.wall_ms += u64::from(*ms),
            Move::StepBack(ms) => self.bench.wall_ms -= u64::from(*ms),
            _ => {}
        }
        let change = self.change(step)?;
        let result = self.bench.apply(&change);
        if let Ok(Applied::Claimed(grant)) = &result {
            self.grants.push((**grant).clone());
        }
        Some((change, result))
    }
}

fn observation(what: u8, key: &Key) -> Observation {
    let reply = |facts: Facts| Observation::Reply(facts);
    match what {
        0 => Observation::Fault(Fault::Network),
        1 => reply(json(503)),
        2 => reply(json(402)),
        3 => reply(echoing(json(402), key)),
        4 => reply(marked(json(201))),
        5 => reply(html(200)),
        6 => reply(json(409)),
        _ => reply(json(401)),
    }
}

/// The records without the clock, without what P1.3 makes again, and without the time of a probe.
fn essence(bench: &Bench) -> BTreeMap<RecordKey, Record> {
    let mut all = BTreeMap::new();
    for (key, versioned) in &bench.records {
        let record = match versioned.record.clone() {
            None | Some(Record::Clock(_)) => continue,
            Some(Record::Origin(mut origin)) => {
                (origin.last_answer, origin.probe_failing_since) = (None, None);
                Record::Origin(origin)
            }
            Some(Record::Intent(mut intent)) => {
                if let Some(claim) = &mut intent.claim {
                    claim.lease_until_ms = 0;
                    intent.due_at_ms = None;
                }
                Record::Intent(intent)
            }
            Some(record) => record,
        };
        all.insert(key.clone(), record);
    }
    all
}

/// What a change said, without what may differ when it is said again.
fn said(result: &Result<Applied, Refusal>) -> String {
    match result {
        Ok(Applied::Claimed(grant)) => format!("claimed {:?} {}", grant.attempt, grant.fence),
        // The first run ended or held it; the second finds it so.
        Ok(Applied::NotGranted(intent)) | Err(Refusal::WrongState(intent)) => {
            format!("not granted, {}", intent.state.name())
        }
        Ok(Applied::Probed { name, origin }) => format!("{name} {:?}", origin.probe),
        Ok(Applied::Recorded { intent, .. }) => format!("recorded {intent:?}"),
        other => format!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p1_1_a_change_run_again_says_the_same_and_writes_nothing(
        steps in prop::collection::vec(any_move(), 1..60), pause in 0_u64..500,
    ) {
        let mut walk = Walk { bench: Bench::new(), grants: Vec::new(), made: 0 };
        for step in &steps {
            let Some((change, result)) = walk.take(step) else { continue };
            if result.is_err() {
                continue;
            }
            let before = essence(&walk.bench);
            walk.bench.wait(pause);
            let again = walk.bench.apply(&change);
            prop_assert_eq!(said(&again), said(&result), "{:?}", change);
            prop_assert_eq!(essence(&walk.bench), before, "{:?}", change);
        }
    }

    #[test]
    fn p1_1_changes_that_carry_an_id_stay_done_whatever_came_between(
        steps in prop::collection::vec(any_move(), 1..60),
    ) {
        let mut walk = Walk { bench: Bench::new(), grants: Vec::new(), made: 0 };
        let mut applied = Vec::new();
        for step in &steps {
            if let Some((change, Ok(_))) = walk.take(step) {
                applied.push(change);
            }
        }
        let before = essence(&walk.bench);
        let with_id = |change: &&Change| !matches!(change, Change::Hold { .. } | Change::Probed { .. } | Change::Cancel(_));
        for change in applied.iter().filter(with_id) {
            let _ = walk.bench.apply(change);
            prop_assert_eq!(essence(&walk.bench), before.clone(), "{:?}", change);
        }
    }

    /// P3.1 and law 6, and the counts that bounds rest on.
    #[test]
    fn p3_1_the_ledger_clock_never_goes_back_and_outcomes_stay(steps in prop::collection::vec(any_move(), 1..80)) {
        let mut walk = Walk { bench: Bench::new(), grants: Vec::new(), made: 0 };
        let mut clock = LedgerClock::new(0);
        let mut outcomes: BTreeMap<IntentId, State> = BTreeMap::new();
        for step in &steps {
            if walk.take(step).is_none() || walk.bench.records.is_empty() {
                continue;
            }
            let now = walk.bench.clock();
            prop_assert!(now.at_ms >= clock.at_ms && now.epoch >= clock.epoch, "{:?} then {:?}", clock, now);
            clock = now;
            let mut open = 0;
            for id in (0..3).map(|number| submit(number).intent) {
                let Some(Record::Intent(intent)) = walk.bench.record(&RecordKey::Intent(id.clone())) else { continue };
                open += u64::from(!intent.has_ended());
                prop_assert_eq!(intent.maybe_sent(), intent.first_sent.is_some(), "{:?}", intent);
                prop_assert!(intent.state != State::Queued || !intent.maybe_sent(), "{:?}", intent);
                prop_assert!(intent.history.attempts.windows(2).all(|pair| pair[0].number < pair[1].number));
                if let Some(outcome) = outcomes.get(&id) {
                    prop_assert_eq!(outcome, &intent.state, "law 6");
                }
                if intent.state.is_definite() {
                    outcomes.insert(id, intent.state.clone());
                }
            }
            if let Some(Record::Counters(counters)) = walk.bench.record(&RecordKey::Counters(submit(0).scope)) {
                let clashes = walk.bench.records.keys().filter(|key| matches!(key, RecordKey::Intent(_))).count() as u64;
                prop_assert_eq!(counters.submitted, clashes);
                prop_assert!(counters.open >= open && counters.open <= open + counters.submitted);
            }
        }
    }
}
