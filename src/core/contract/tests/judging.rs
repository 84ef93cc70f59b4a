//! What all attempts of an intent say together.

use proptest::prelude::*;

use super::*;
use crate::core::attempt::{Attempt, AttemptState, History};
use crate::core::contract::{Fault, Judgement, Method, judge};
use crate::core::intent::Evidence;
use crate::core::key::ChangeId;
use crate::core::time::Stamp;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Law 4 and P5.1, P5.4, whatever came in whatever order.
    #[test]
    fn law_4_a_judgement_rests_on_evidence(states in prop::collection::vec(any_state(), 1..12)) {
        let history = history(states);
        let newest = history.total;
        let has = |wanted: fn(&AttemptReading) -> bool| history.attempts.iter().any(|attempt: &Attempt| {
            matches!(&attempt.state, AttemptState::Ended { reading, .. } if wanted(reading))
        });
        let succeeded = has(|it| matches!(it, AttemptReading::Answer { class: AnswerClass::Succeeded, .. }));
        let conclusive = has(|it| matches!(it, AttemptReading::Answer { conclusive: true, .. }));
        let judgement = judge(&generic(), Method::Post, &history, newest);
        prop_assert_eq!(succeeded, matches!(judgement, Some(Judgement::Succeeded { .. })));
        match judgement {
            Some(Judgement::Rejected { evidence, replaceable, .. }) => {
                prop_assert_eq!(replaceable, conclusive);
                prop_assert_eq!(evidence == Evidence::Stored, conclusive);
                prop_assert!(conclusive || !history.any_unknown());
            }
            Some(Judgement::Mismatched) => prop_assert!(!history.any_unknown()),
            _ => {}
        }
    }
}

#[test]
fn a_delete_is_a_repeat_only_if_something_left_before() {
    let gone = || AttemptState::Ended {
        ended: at(0),
        fact: ChangeId::from("f"),
        reading: reading(json(404)),
        retry_after_ms: None,
    };
    let judged = |history: &History| judge(&generic(), Method::Delete, history, history.total);
    let done = |history: &History| matches!(judged(history), Some(Judgement::Succeeded { .. }));
    assert!(done(&history(vec![AttemptState::Open, gone()])));
    assert!(!done(&history(vec![AttemptState::NotSent { ended: at(0) }, gone()])), "the first one never left");
    let first = history(vec![gone()]);
    assert!(!done(&first));
    assert!(done(&History { folded_left: 1, ..first.clone() }), "one that is only counted left, too");
    assert!(done(&History { folded_open: vec![1], ..first }), "so did one that nobody heard of again");
}

fn any_state() -> impl Strategy<Value = AttemptState> {
    let statuses =
        proptest::sample::select(vec![200_u16, 201, 202, 204, 307, 401, 402, 404, 409, 410, 422, 429, 500, 503]);
    let answer = (statuses, 0_u8..4, any::<bool>()).prop_map(|(status, marks, plain)| {
        let facts = if plain { html(status) } else { json(status) };
        let facts = if marks & 1 == 0 { facts } else { echoing(facts, &key()) };
        reading(if marks & 2 == 0 { facts } else { marked(facts) })
    });
    let fault = proptest::sample::select(vec![Fault::Network, Fault::Timeout, Fault::Redirected, Fault::Truncated]);
    let ended =
        |reading| AttemptState::Ended { ended: at(0), fact: ChangeId::from("f"), reading, retry_after_ms: None };
    prop_oneof![
        1 => Just(AttemptState::Open),
        1 => Just(AttemptState::NotSent { ended: at(0) }),
        2 => fault.prop_map(move |fault| ended(AttemptReading::Fault { fault })),
        6 => answer.prop_map(ended),
    ]
}

fn history(states: Vec<AttemptState>) -> History {
    let mut history = History::default();
    for (number, state) in (1_u64..).zip(states) {
        history.open(number, ChangeId::from(format!("nonce-{number}")), at(number));
        if let Some(attempt) = history.attempts.last_mut() {
            attempt.state = state;
        }
    }
    history
}

fn at(at_ms: u64) -> Stamp {
    Stamp { at_ms, epoch: 0, wall_ms: at_ms }
}
