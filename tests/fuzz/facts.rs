//! Whatever attempts a history holds and whatever they brought, judging them keeps law 4.

use intento::core::attempt::{Attempt, AttemptState, History};
use intento::core::contract::{AnswerClass, AttemptReading, FactValue, Facts, Fault, Judgement, Method, judge};
use intento::core::key::ChangeId;
use intento::core::limits::ATTEMPTS_KEPT;
use intento::core::time::Stamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{arbitrary, config, contracts};

const NOW: Stamp = Stamp { at_ms: 1, epoch: 0, wall_ms: 1 };

/// What happens to a history.
#[derive(Clone, Debug)]
enum Step {
    Open,
    /// One of the attempts that are still open ends.
    End(Index, AttemptState),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = (any::<Index>(), arbitrary::attempt_state()).prop_map(|(at, state)| Step::End(at, state));
    vec(prop_oneof![Just(Step::Open), end], 0..60)
}

/// Every attempt ever made: what a history would be if it kept them all.
fn whole(steps: &[Step], kept: &mut History) -> Vec<Attempt> {
    let mut all: Vec<Attempt> = Vec::new();
    for step in steps {
        match step {
            Step::Open => {
                let number = kept.open(7, ChangeId::from("nonce"), NOW);
                let correlation = ChangeId::from("nonce");
                all.push(Attempt { number, fence: 7, correlation, started: NOW, state: AttemptState::Open });
            }
            Step::End(at, state) => {
                let open: Vec<usize> = (0..all.len()).filter(|place| all[*place].state == AttemptState::Open).collect();
                if open.is_empty() {
                    continue;
                }
                let attempt = &mut all[*at.get(&open)];
                attempt.state = state.clone();
                if kept.get_mut(attempt.number).is_none() {
                    assert!(kept.recall(attempt.number, 7, attempt.correlation.clone(), NOW));
                }
                kept.get_mut(attempt.number).unwrap().state = state.clone();
            }
        }
    }
    all
}

#[test]
fn law_4_a_count_that_is_full_stays_full() {
    let mut history = History { folded_left: u32::MAX, folded_unknown: u32::MAX, ..History::default() };
    let ended = AttemptState::Ended {
        ended: NOW,
        fact: ChangeId::from("fact"),
        reading: AttemptReading::Fault { fault: Fault::Timeout },
        retry_after_ms: None,
    };
    for _ in 0..=ATTEMPTS_KEPT {
        let number = history.open(7, ChangeId::from("nonce"), NOW);
        history.get_mut(number).unwrap().state = ended.clone();
    }
    assert_eq!((history.folded_left, history.folded_unknown), (u32::MAX, u32::MAX));
}

proptest! {
    #![proptest_config(config())]

    /// What is folded away is still counted: an attempt that nobody heard of stays unknown, however old.
    #[test]
    fn law_4_a_history_forgets_no_attempt_that_is_unknown(steps in steps()) {
        let mut history = History::default();
        let all = whole(&steps, &mut history);
        prop_assert_eq!(history.total as usize, all.len());
        prop_assert_eq!(history.any_unknown(), all.iter().any(Attempt::leaves_unknown));
        prop_assert_eq!(history.maybe_sent(), all.iter().any(Attempt::maybe_left));
        prop_assert_eq!(history.failures() as usize, all.iter().filter(|attempt| attempt.maybe_left()).count());
        // A guard asks about the newest, which is always kept.
        let newest = history.total;
        let others = all.iter().any(|attempt| attempt.number != newest && attempt.maybe_left());
        prop_assert_eq!(history.left_beside(newest), others);
        prop_assert!(newest == 0 || history.get_mut(newest).is_some());
    }

    /// However many a damaged count says, one more is still unknown.
    #[test]
    fn law_4_no_count_of_a_history_runs_over(mut history in arbitrary::history(), opened in 1..2 * ATTEMPTS_KEPT) {
        let (left, unknown) = (history.folded_left, history.folded_unknown);
        for _ in 0..opened {
            history.open(7, ChangeId::from("nonce"), NOW);
            prop_assert!(history.maybe_sent() && history.any_unknown());
            prop_assert!(history.folded_left >= left && history.folded_unknown >= unknown);
        }
    }

    /// Numbers that do not count up, counts that fit nothing, any contract: never a panic, never an outcome from nothing.
    #[test]
    fn law_4_a_judgement_of_any_history_rests_on_an_attempt(
        contract in contracts::contract(),
        method in select(Method::ALL.to_vec()),
        history in arbitrary::history(),
        newest in 0_u32..24,
    ) {
        let judgement = judge(&contract, method, &history, newest);
        let answers = || history.attempts.iter().filter_map(|attempt| match &attempt.state {
            AttemptState::Ended { reading: AttemptReading::Answer { class, status, conclusive, .. }, .. } => {
                Some((*class, *status, *conclusive))
            }
            _ => None,
        });
        let has = |wanted: AnswerClass| answers().any(|(class, ..)| class == wanted);
        let done = has(AnswerClass::Succeeded) || has(AnswerClass::AlreadyDone);
        match judgement {
            Some(Judgement::Succeeded { .. }) => {
                let gone = method == Method::Delete && answers().any(|(_, status, _)| matches!(status, 404 | 410));
                prop_assert!(done || gone);
            }
            Some(Judgement::Rejected { replaceable, .. }) => {
                let conclusive = answers().any(|(.., conclusive)| conclusive);
                prop_assert!(!done && (conclusive || (has(AnswerClass::Rejected) && !history.any_unknown())));
                prop_assert!(!replaceable || conclusive || contract.refusal.single_delivery);
            }
            Some(Judgement::Mismatched) => {
                prop_assert!(!done && has(AnswerClass::Mismatched) && !history.any_unknown());
            }
            Some(Judgement::Wait { .. }) => prop_assert!(!done && contract.resends()),
            Some(Judgement::Accept | Judgement::Hold { .. }) | None => prop_assert!(!done),
        }
    }

    /// By their JSON spelling: a rule that says `042` is not about 42.
    #[test]
    fn p5_8_a_value_is_what_its_json_spells(
        value in prop_oneof![any::<i64>(), -20..20_i64],
        before in select(vec!["", "+", "-", "0", "-0", " "]),
        after in select(vec!["", ".0", "e0", " "]),
        other in any::<String>(),
        spelt in prop::bool::weighted(0.8),
    ) {
        let text = if spelt { format!("{before}{}{after}", value.unsigned_abs()) } else { other };
        prop_assert_eq!(FactValue::Integer(value).is(&text), value.to_string() == text, "{} is {}", value, text);
        prop_assert!(FactValue::Integer(value).is(&value.to_string()));
        prop_assert!(FactValue::Text(text.clone()).is(&text));
        prop_assert!(!FactValue::Inexact.is(&text) && !FactValue::Composite.is(&text));
    }

    #[test]
    fn a_header_is_found_in_any_case_and_shown_in_none(name in "[A-Za-z-]{1,12}", value in "[!-~]{8,20}") {
        let headers = [(name.to_ascii_lowercase(), value.clone())].into_iter().collect();
        let pointers = [("/a".to_owned(), vec![FactValue::Composite, FactValue::Text(value.clone())])].into_iter().collect();
        let facts = Facts { headers, pointers, ..Facts::default() };
        prop_assert_eq!(facts.header(&name.to_ascii_uppercase()), Some(value.as_str()));
        prop_assert_eq!(facts.text("/a"), Some(value.as_str()));
        prop_assert!(!format!("{facts:?} {:?}", facts.pointers).contains(&value), "law 11");
    }
}
