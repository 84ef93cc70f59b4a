//! Law 8: what is taken away, when, and what stays of it.

use super::*;
use crate::core::change::{Purge, Replace};
use crate::core::contract::AnswerClass;
use crate::core::limits::{FINISHED_KEPT_MS, TOMBSTONE_KEPT_MS};
use crate::core::record::ReferenceName;

const CANARIES: [&str; 5] = ["canary-body", "canary-header", "canary-query", "canary-answer", "canary-reason"];

/// A payment of which every part that is not to stay can be told again.
fn secret(number: u8) -> Submit {
    let mut submit = submit(number);
    submit.body = Some(Body { media_type: "text/plain".to_owned(), content: Content::Text("canary-body".to_owned()) });
    submit.request.headers.push(("x-note".to_owned(), "canary-header".to_owned()));
    submit.request.url.push_str("?hint=canary-query");
    submit
}

fn answer(mut facts: RecordFacts) -> Change {
    let answer = facts.answer.as_mut().expect("an answer");
    answer.body = Some("canary-answer".to_owned());
    Change::Record(Box::new(facts))
}

fn purge(bench: &mut Bench, submits: &[Submit]) -> Vec<State> {
    let intents = submits.iter().map(|submit| submit.intent.clone()).collect();
    match bench.apply(&Change::Purge(Purge { scope: ScopeHash::of("user-1"), intents })) {
        Ok(Applied::Purged { dropped, .. }) => dropped.iter().map(|intent| intent.state.clone()).collect(),
        other => panic!("not purged: {other:?}"),
    }
}

fn prune(bench: &mut Bench, submit: &Submit) {
    assert_eq!(bench.apply(&Change::Prune(vec![submit.intent.clone()])), Ok(Applied::Pruned));
}

fn is_there(bench: &Bench, submit: &Submit) -> bool {
    bench.record(&RecordKey::Intent(submit.intent.clone())).is_some()
}

/// Every text that is stored of payments holds none of it.
fn assert_clean(bench: &Bench, submits: &[Submit]) {
    for (key, versioned) in &bench.records {
        let text = versioned.record.as_ref().and_then(Record::to_text).unwrap_or_default();
        let keys = submits.iter().map(|submit| submit.key.expose());
        for canary in CANARIES.into_iter().chain(keys) {
            assert!(!text.contains(canary), "{canary} in {key:?}: {text}");
        }
    }
}

fn settled(submit: &Submit) -> Bench {
    let mut bench = Bench::with(submit);
    let grant = bench.claim(&submit.intent, "n1");
    bench.apply(&answer(facts(&grant, "f1", paid(submit)))).unwrap();
    assert!(matches!(bench.only().state, State::Succeeded { .. }));
    bench
}

#[test]
fn a_purge_leaves_no_byte_of_what_was_decided_and_the_tombstone_of_what_may_have_been_sent() {
    let [queued, waiting, sending, done] = [1, 2, 3, 4].map(secret);
    let submits = [queued.clone(), waiting.clone(), sending.clone(), done.clone()];
    let mut bench = Bench::new();
    for submit in &submits {
        bench.apply(&Change::Submit(Box::new(submit.clone()))).unwrap();
    }
    bench.attempt(&waiting.intent, Observation::Fault(Fault::Network));
    let grant = bench.claim(&done.intent, "n1");
    bench.apply(&answer(facts(&grant, "f1", paid(&done)))).unwrap();
    bench.claim(&sending.intent, "n2");

    let dropped = purge(&mut bench, &submits);
    assert!(matches!(
        dropped[..],
        [State::Queued, State::Waiting { .. }, State::Waiting { .. }, State::Succeeded { .. }]
    ));
    assert_clean(&bench, &submits);
    assert!(!is_there(&bench, &queued), "it was never sent: nothing stays");
    assert_eq!(bench.journal(&queued.intent), []);
    for submit in [&waiting, &sending] {
        let tombstone = bench.intent(&submit.intent);
        assert_eq!((&tombstone.state, tombstone.due_at_ms, &tombstone.claim), (&State::Abandoned, None, &None));
        assert_eq!(tombstone.key.short_hash(), submit.key.short_hash());
        assert_eq!(bench.journal(&submit.intent), [JournalEvent::Erased { purged: true }]);
    }
    let outcome = bench.intent(&done.intent);
    assert!(matches!(outcome.state, State::Succeeded { .. }) && outcome.delivery.due_at_ms.is_none());
    let Some(Record::Counters(counters)) = bench.record(&RecordKey::Counters(queued.scope.clone())) else { panic!() };
    assert_eq!(counters.open, 0);
    assert!(purge(&mut bench, &submits).is_empty(), "what was cut short can be run again");
}

#[test]
fn law_3_the_reference_of_a_tombstone_stays_taken_and_that_of_what_was_never_sent_is_free() {
    let (sent, unsent) = (secret(1), secret(2));
    let mut bench = Bench::with(&sent);
    bench.apply(&Change::Submit(Box::new(unsent.clone()))).unwrap();
    bench.attempt(&sent.intent, Observation::Fault(Fault::Network));
    purge(&mut bench, &[sent.clone(), unsent.clone()]);
    for (submit, created) in [(&sent, false), (&unsent, true)] {
        let again = Submit { intent: IntentId::from(format!("again-{created}")), ..submit.clone() };
        match bench.apply(&Change::Submit(Box::new(again))) {
            Ok(Applied::Submitted { created: made, .. }) => assert_eq!(made, created),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn p5_6_a_success_that_comes_after_a_purge_counts_and_brings_nothing_back() {
    let submit = secret(1);
    let mut bench = Bench::with(&submit);
    let grant = bench.claim(&submit.intent, "n1");
    purge(&mut bench, core::slice::from_ref(&submit));
    bench.apply(&answer(facts(&grant, "f1", paid(&submit)))).unwrap();
    let intent = bench.only();
    assert!(matches!(intent.state, State::Succeeded { .. }), "the echo is known by the key's hash: {:?}", intent.state);
    assert!(intent.delivery.due_at_ms.is_some(), "and the app is told");
    assert_clean(&bench, &[submit]);
}

#[test]
fn another_key_s_echo_is_no_success_of_a_tombstone() {
    let submit = secret(1);
    let mut bench = Bench::with(&submit);
    let grant = bench.claim(&submit.intent, "n1");
    purge(&mut bench, core::slice::from_ref(&submit));
    bench.apply(&answer(facts(&grant, "f1", paid(&secret(2))))).unwrap();
    let intent = bench.only();
    assert_eq!(intent.state, State::Abandoned);
    let AttemptState::Ended { reading, .. } = &intent.history.attempts[0].state else { panic!("not recorded") };
    assert!(format!("{reading:?}").contains(&format!("{:?}", AnswerClass::OtherKey)));
}

#[test]
fn a_purge_is_of_its_scope_only() {
    let submit = secret(1);
    let mut bench = Bench::with(&submit);
    let purge = Purge { scope: ScopeHash::of("user-2"), intents: vec![submit.intent.clone()] };
    assert_eq!(bench.apply(&Change::Purge(purge)), Err(Refusal::UnknownIntent));
    assert_eq!(bench.only().state, State::Queued);
}

#[test]
fn a_purged_lane_passes_its_turn_on_to_nobody() {
    let submits = [1, 2].map(|number| Submit { lane: Some("table-7".to_owned()), ..secret(number) });
    let mut bench = Bench::with(&submits[0]);
    bench.apply(&Change::Submit(Box::new(submits[1].clone()))).unwrap();
    purge(&mut bench, &submits);
    let lanes: Vec<&Versioned> =
        bench.records.iter().filter(|(key, _)| matches!(key, RecordKey::Lane(_))).map(|(_, held)| held).collect();
    assert!(matches!(&lanes[..], [Versioned { record: Some(Record::Lane(lane)), .. }] if lane.is_empty()));
    assert!(submits.iter().all(|submit| !is_there(&bench, submit)));
}

#[test]
fn law_8_an_outcome_goes_only_after_it_was_delivered_and_its_time_is_over() {
    let submit = secret(1);
    let mut bench = settled(&submit);
    bench.wait(10 * FINISHED_KEPT_MS);
    prune(&mut bench, &submit);
    assert!(bench.only().erased.is_none(), "nobody was told");

    bench.apply(&Change::Acknowledge(submit.intent.clone())).unwrap();
    bench.wait(FINISHED_KEPT_MS - 1);
    prune(&mut bench, &submit);
    assert!(bench.only().erased.is_none(), "a moment too early");

    bench.wait(1);
    prune(&mut bench, &submit);
    assert!(bench.only().erased.is_some());
    assert_clean(&bench, core::slice::from_ref(&submit));
    let again = Submit { intent: IntentId::from("again"), ..submit.clone() };
    let found = bench.apply(&Change::Submit(Box::new(again)));
    assert!(matches!(found, Ok(Applied::Submitted { created: false, intent }) if intent.id == submit.intent));

    bench.wait(TOMBSTONE_KEPT_MS - 1);
    prune(&mut bench, &submit);
    assert!(is_there(&bench, &submit), "a tombstone stands for its time");
    bench.wait(1);
    prune(&mut bench, &submit);
    let left: Vec<&RecordKey> =
        bench.records.keys().filter(|key| !matches!(key, RecordKey::Clock | RecordKey::Counters(_))).collect();
    assert!(left.iter().all(|key| matches!(key, RecordKey::Contract(_) | RecordKey::Origin(_))), "{left:?}");
}

#[test]
fn law_8_a_longer_retention_keeps_it_longer() {
    let mut submit = secret(1);
    let contract = Contract { retention_ms: 4 * FINISHED_KEPT_MS, ..generic() };
    submit.contract = snapshot(contract);
    let mut bench = settled(&submit);
    bench.apply(&Change::Acknowledge(submit.intent.clone())).unwrap();
    for (wait_ms, erased) in [(FINISHED_KEPT_MS, false), (3 * FINISHED_KEPT_MS, true)] {
        bench.wait(wait_ms);
        prune(&mut bench, &submit);
        assert_eq!(bench.only().erased.is_some(), erased);
    }
}

#[test]
fn law_8_nothing_unfinished_held_or_unresolved_is_pruned() {
    let submit = secret(1);
    let mut bench = Bench::with(&submit);
    let grant = bench.claim(&submit.intent, "n1");
    bench.tell(&grant, Observation::Fault(Fault::Network));
    let years_ms = 20 * TOMBSTONE_KEPT_MS;
    for change in [
        Change::Tick,
        Change::Hold { intent: submit.intent.clone(), reason: HeldReason::Config },
        Change::Abandon { intent: submit.intent.clone(), reason: "canary-reason".to_owned() },
    ] {
        bench.apply(&change).unwrap();
        bench.wait(years_ms);
        let before = bench.only();
        prune(&mut bench, &submit);
        assert_eq!(bench.only(), before);
    }
    purge(&mut bench, core::slice::from_ref(&submit));
    assert_clean(&bench, core::slice::from_ref(&submit));
    bench.wait(years_ms);
    prune(&mut bench, &submit);
    assert!(is_there(&bench, &submit), "nobody knows what became of it: its reference stays taken");
}

#[test]
fn a_wild_reading_of_the_clock_that_is_over_takes_no_tombstone_away() {
    let submit = secret(1);
    let mut bench = settled(&submit);
    bench.apply(&Change::Acknowledge(submit.intent.clone())).unwrap();
    bench.wait(FINISHED_KEPT_MS);
    prune(&mut bench, &submit);
    bench.wall_ms += 20 * TOMBSTONE_KEPT_MS;
    bench.apply(&Change::Tick).unwrap();
    bench.wall_ms -= 20 * TOMBSTONE_KEPT_MS;
    bench.wait(HOUR);
    prune(&mut bench, &submit);
    assert!(is_there(&bench, &submit) && bench.only().erased.is_some());
}

#[test]
fn a_chain_goes_from_its_beginning() {
    let first = secret(1);
    let mut bench = Bench::with(&first);
    bench.apply(&Change::Cancel(first.intent.clone())).unwrap();
    let second = Submit { intent: IntentId::from("second"), key: submit(2).key, ..first.clone() };
    let replace = Replace { predecessor: first.intent.clone(), successor: second.clone(), reason: "more".to_owned() };
    bench.apply(&Change::Replace(Box::new(replace))).unwrap();
    bench.apply(&Change::Cancel(second.intent.clone())).unwrap();
    for _ in 0..2 {
        bench.wait(TOMBSTONE_KEPT_MS);
        prune(&mut bench, &second);
    }
    assert!(is_there(&bench, &second), "what it took the place of still names it");
    for submit in [&first, &first, &second] {
        bench.wait(TOMBSTONE_KEPT_MS);
        prune(&mut bench, submit);
    }
    assert!(!is_there(&bench, &first) && !is_there(&bench, &second));
    let name = ReferenceName::new(&first.scope, &first.operation, "order-1");
    assert!(bench.record(&RecordKey::Reference(name)).is_none());
}
