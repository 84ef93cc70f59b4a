//! One decision is one intent (P1.1, P1.5).

use super::*;
use crate::core::contract::Facts;
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::record::{Counters, ReferenceName};
use crate::core::shared::Shared;

fn again(number: u8, as_number: u8) -> Change {
    let intent = submit(as_number).intent;
    let key = submit(as_number).key;
    Change::Submit(Box::new(Submit { intent, key, ..submit(number) }))
}

#[test]
fn law_1_a_submit_is_queued_durably_and_unsent() {
    let bench = Bench::with(&submit(1));
    let intent = bench.only();
    assert_eq!(intent.state, State::Queued);
    assert!(!intent.maybe_sent() && intent.first_sent.is_none() && intent.history.total == 0);
    assert_eq!(intent.due_at_ms, Some(START));
    assert_eq!(bench.journal(&intent.id), [JournalEvent::Submitted]);
    let payload = bench.record(&RecordKey::Payload(intent.id));
    assert_eq!(payload, Some(&Record::Payload(Shared::new(Payload { body: submit(1).body, answer: None }))));
}

#[test]
fn card_data_that_the_app_allows_is_journalled() {
    let bench = Bench::with(&Submit { card_data: true, ..submit(1) });
    assert_eq!(bench.journal(&bench.only().id), [JournalEvent::Submitted, JournalEvent::CardDataAllowed]);
}

#[test]
fn p1_two_submits_of_one_reference_in_one_batch_are_one_intent() {
    let mut bench = Bench::new();
    let results = bench.batch(&[again(1, 1), again(1, 2), again(1, 3)]);
    let first = bench.only();
    for (place, result) in results.into_iter().enumerate() {
        let wanted = Applied::Submitted { intent: Shared::new(first.clone()), created: place == 0 };
        assert_eq!(result, Ok(wanted));
    }
    assert_eq!(first.key, submit(1).key, "the first key stays");
}

#[test]
fn p1_another_payload_is_a_conflict_and_changes_nothing() {
    let mut bench = Bench::with(&submit(1));
    let before = bench.records.clone();
    let other = Submit { reference: submit(1).reference, ..submit(2) };
    let refused = bench.apply(&Change::Submit(Box::new(other.clone())));
    assert_eq!(refused, Err(Refusal::ReferenceConflict(Shared::new(bench.only()))));
    assert_eq!(bench.records, before);

    let in_one_batch = Bench::new().batch(&[again(1, 1), Change::Submit(Box::new(other))]);
    assert!(matches!(in_one_batch[..], [Ok(_), Err(Refusal::ReferenceConflict(_))]));
}

#[test]
fn a_reference_is_bounded_by_its_scope_and_operation() {
    let mut bench = Bench::with(&submit(1));
    let elsewhere = Submit { scope: ScopeHash::of("user-2"), intent: submit(2).intent, ..submit(1) };
    let otherwise = Submit { operation: "refund".to_owned(), intent: submit(3).intent, ..submit(1) };
    for other in [elsewhere, otherwise] {
        let applied = bench.apply(&Change::Submit(Box::new(other)));
        assert!(matches!(applied, Ok(Applied::Submitted { created: true, .. })), "{applied:?}");
    }
}

#[test]
fn without_a_reference_every_submit_is_its_own_intent() {
    let mut bench = Bench::new();
    let nameless = |number| Change::Submit(Box::new(Submit { reference: None, ..submit(number) }));
    let results = bench.batch(&[nameless(1), nameless(2)]);
    assert!(results.iter().all(|result| matches!(result, Ok(Applied::Submitted { created: true, .. }))));
    assert_eq!(bench.intent(&submit(1).intent).head_reference, None, "null references are not in the unique index");
}

#[test]
fn a_finished_reference_answers_with_its_intent() {
    let mut bench = Bench::with(&submit(1));
    bench.apply(&Change::Cancel(submit(1).intent)).unwrap();
    let applied = bench.apply(&again(1, 2));
    assert!(matches!(applied, Ok(Applied::Submitted { created: false, intent }) if intent.state == State::Cancelled));
}

#[test]
fn law_10_a_full_ledger_refuses_and_evicts_nothing() {
    let mut bench = Bench::with(&submit(1));
    let counters = RecordKey::Counters(submit(1).scope);
    let full = Counters { submitted: OPEN_INTENTS_MAX, open: OPEN_INTENTS_MAX };
    bench.records.insert(counters.clone(), Versioned { version: 9, record: Some(Record::Counters(full)) });
    assert_eq!(bench.apply(&again(2, 2)), Err(Refusal::LedgerFull));
    assert!(bench.apply(&again(1, 3)).is_ok(), "what is known is found in a full ledger too");

    bench.apply(&Change::Cancel(submit(1).intent)).unwrap();
    assert!(bench.apply(&again(2, 2)).is_ok(), "what has ended makes room");
}

#[test]
fn law_8_a_record_that_cannot_be_read_is_never_taken_for_absent() {
    let damaged = Versioned { version: 3, record: Some(Record::Undecodable) };
    let intent = submit(1).intent;
    let name = ReferenceName::new(&submit(1).scope, &submit(1).operation, "order-1");
    for key in [RecordKey::Clock, RecordKey::Reference(name), RecordKey::Intent(intent.clone())] {
        let mut bench = Bench::with(&submit(1));
        bench.records.insert(key.clone(), damaged.clone());
        assert_eq!(bench.apply(&again(1, 2)), Err(Refusal::Undecodable), "{key:?}");
        assert_eq!(bench.records.get(&key), Some(&damaged), "kept as it was");
    }
    for key in [RecordKey::Payload(intent.clone()), RecordKey::Contract(submit(1).contract.hash)] {
        let mut bench = Bench::with(&submit(1));
        bench.records.insert(key.clone(), damaged.clone());
        let claimed = bench.apply(&Change::Claim(take(&intent, "n")));
        let held = bench.intent(&intent);
        assert_eq!(claimed, Ok(Applied::NotGranted(Shared::new(held.clone()))), "{key:?}");
        assert_eq!(held.state, State::Held { reason: HeldReason::Undecodable }, "not due again and again");
        assert_eq!((held.due_at_ms, held.history.total), (None, 0), "no attempt without its body or contract");
        assert_eq!(bench.records.get(&key), Some(&damaged), "kept as it was");
    }
}

/// What a realm is sending, and what the server has accepted, is no other's to stop.
#[test]
fn law_8_only_what_would_be_sent_now_is_held_for_what_cannot_be_read() {
    let damaged = Versioned { version: 3, record: Some(Record::Undecodable) };
    let id = submit(1).intent;
    let payload = RecordKey::Payload(id.clone());
    let mut sending = Bench::with(&submit(1));
    sending.claim(&id, "first");
    let mut accepted = Bench::with(&submit(1));
    let grant = accepted.claim(&id, "first");
    let result = ("location".to_owned(), format!("{ORIGIN}/payments/1"));
    let answer = Facts {
        status: 202,
        headers: [result].into(),
        media_type: Some("application/json".to_owned()),
        document: true,
        ..Facts::default()
    };
    assert_eq!(accepted.tell(&grant, Observation::Reply(answer)).state, State::Accepted);
    for mut bench in [sending, accepted] {
        bench.records.insert(payload.clone(), damaged.clone());
        let before = bench.records.clone();
        for purpose in [Purpose::Send, Purpose::Poll, Purpose::Reconcile] {
            let refused = bench.apply(&Change::Claim(TakeClaim { purpose, ..take(&id, "second") }));
            assert_eq!(refused, Err(Refusal::Undecodable), "{purpose:?}");
        }
        assert_eq!(bench.records, before);
    }
}
