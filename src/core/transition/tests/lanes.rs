//! Lanes, where the order of changes is what matters. The rest is told in the simulator.

use super::*;
use crate::core::change::Replace;
use crate::core::contract::tests::{echoing, json};

fn in_lane(number: u8) -> Submit {
    Submit { lane: Some("table-7".to_owned()), ..submit(number) }
}

/// Seed 50058966: the first of the lane was refused and is replaced while the next one is claimed, which then does not leave
/// after all. Its successor stays right behind that one, and before all others.
#[test]
fn a_successor_behind_one_that_may_have_been_sent_stays_behind_it() {
    let mut bench = Bench::with(&in_lane(1));
    for number in [2, 3] {
        bench.apply(&Change::Submit(Box::new(in_lane(number)))).unwrap();
    }
    let refused = bench.attempt(&submit(1).intent, Observation::Reply(echoing(json(402), &submit(1).key)));
    assert!(refused.state.safe_to_replace(), "{:?}", refused.state);
    let under_way = bench.claim(&submit(2).intent, "nonce");
    let successor = Submit { reference: submit(1).reference, ..in_lane(4) };
    let replace = Replace { predecessor: submit(1).intent, successor, reason: "declined".to_owned() };
    bench.apply(&Change::Replace(Box::new(replace))).unwrap();
    bench.apply(&not_sent(&under_way)).unwrap();
    bench.wait(BACKOFF_CAP_MS);
    let place = |number| bench.intent(&submit(number).intent).lane.unwrap().place;
    assert_eq!(place(4), place(2), "places are the order in which they go");

    for (number, next) in [(2, 4), (4, 3)] {
        let out_of_turn = bench.apply(&Change::Claim(take(&submit(next).intent, "early")));
        assert!(matches!(out_of_turn, Ok(Applied::NotGranted(_))), "{next} before {number}: {out_of_turn:?}");
        let settled = bench.attempt(&submit(number).intent, Observation::Reply(json(201)));
        assert!(settled.has_ended());
    }
}
