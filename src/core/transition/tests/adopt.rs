//! A guest signs in (P8.2).

use super::*;
use crate::core::change::{Adopt, Replace};
use crate::core::contract::tests::json;
use crate::core::limits::OPEN_INTENTS_MAX;
use crate::core::record::{Counters, ReferenceName};
use crate::core::shared::Shared;

fn guest() -> ScopeHash {
    ScopeHash::of("guest-7")
}

fn as_guest(number: u8) -> Submit {
    Submit { scope: guest(), ..submit(number) }
}

fn adopt(intents: &[u8]) -> Change {
    let intents = intents.iter().map(|number| submit(*number).intent).collect();
    Change::Adopt(Adopt { from: guest(), to: submit(1).scope, intents })
}

fn open_in(bench: &Bench, scope: &ScopeHash) -> u64 {
    match bench.record(&RecordKey::Counters(scope.clone())) {
        Some(Record::Counters(counters)) => counters.open,
        _ => 0,
    }
}

#[test]
fn p8_2_what_was_never_sent_changes_its_scope() {
    let mut bench = Bench::with(&as_guest(1));
    let Ok(Applied::Adopted { moved, left }) = bench.apply(&adopt(&[1])) else { panic!("not adopted") };
    assert_eq!((moved.len(), left.len()), (1, 0));
    let intent = bench.only();
    assert_eq!((&intent.scope, &intent.key), (&submit(1).scope, &as_guest(1).key), "the key stays");
    assert_eq!((open_in(&bench, &guest()), open_in(&bench, &submit(1).scope)), (0, 1));
    // The same decision in the account is this intent; the guest's queue no longer has it.
    let again = Submit { intent: submit(9).intent, ..submit(1) };
    let same = bench.apply(&Change::Submit(Box::new(again)));
    assert!(matches!(same, Ok(Applied::Submitted { created: false, .. })), "{same:?}");
    let as_guest_again = Submit { intent: submit(8).intent, ..as_guest(1) };
    let blocked = bench.apply(&Change::Submit(Box::new(as_guest_again)));
    assert!(matches!(blocked, Err(Refusal::ReferenceConflict(_))), "{blocked:?}");
    let before = bench.only();
    bench.apply(&adopt(&[1])).unwrap();
    assert_eq!(bench.only(), before, "P1.1: adopting twice is adopting once");
}

#[test]
fn p8_2_what_may_have_been_sent_keeps_its_scope_and_blocks_its_reference_in_both() {
    for observation in [Observation::Fault(Fault::Network), Observation::Reply(json(201))] {
        let mut bench = Bench::with(&as_guest(1));
        bench.attempt(&submit(1).intent, observation);
        let Ok(Applied::Adopted { moved, left }) = bench.apply(&adopt(&[1])) else { panic!("not adopted") };
        assert_eq!((moved.len(), left.len()), (0, 1));
        assert_eq!(bench.only().scope, guest());
        let twin = Submit { intent: submit(9).intent, ..submit(1) };
        let blocked = bench.apply(&Change::Submit(Box::new(twin)));
        assert!(matches!(blocked, Err(Refusal::ReferenceConflict(_))), "the order must not be paid twice");
    }
}

/// Otherwise an order that is proved unpaid could never be paid again in the account.
#[test]
fn p8_2_what_is_proved_to_have_come_to_nothing_is_decided_anew_once() {
    let mut bench = Bench::with(&as_guest(1));
    let guest_id = submit(1).intent;
    bench.attempt(&guest_id, Observation::Fault(Fault::Network));
    bench.apply(&adopt(&[1])).unwrap();
    let anew = |number: u8| Submit { intent: submit(number).intent, ..submit(1) };
    let blocked = bench.apply(&Change::Submit(Box::new(anew(8))));
    assert!(matches!(blocked, Err(Refusal::ReferenceConflict(_))), "not while it is unknown");
    let mut proved = bench.intent(&guest_id);
    proved.state = State::NotApplied;
    let record = Some(Record::Intent(Shared::new(proved)));
    bench.records.insert(RecordKey::Intent(guest_id.clone()), Versioned { version: 99, record });

    let created = bench.apply(&Change::Submit(Box::new(anew(9))));
    assert!(matches!(created, Ok(Applied::Submitted { created: true, .. })), "{created:?}");
    let (new, old) = (bench.intent(&submit(9).intent), bench.intent(&guest_id));
    assert_eq!((new.predecessor, old.successor), (Some(guest_id.clone()), Some(new.id)));
    let again = bench.apply(&Change::Submit(Box::new(anew(10))));
    assert!(matches!(again, Ok(Applied::Submitted { created: false, .. })), "law 3: one successor ever");
    let successor = Submit { intent: submit(11).intent, ..as_guest(1) };
    let replace = Replace { predecessor: guest_id, successor, reason: "another card".to_owned() };
    let by_guest = bench.apply(&Change::Replace(Box::new(replace)));
    assert!(matches!(by_guest, Err(Refusal::ReferenceConflict(_))), "nor a second one for the guest: {by_guest:?}");
}

#[test]
fn p8_2_a_reference_that_both_have_adopts_nothing() {
    let mut bench = Bench::with(&as_guest(1));
    bench.apply(&Change::Submit(Box::new(as_guest(2)))).unwrap();
    let ours = Submit { intent: submit(9).intent, key: submit(9).key, ..submit(2) };
    bench.apply(&Change::Submit(Box::new(ours.clone()))).unwrap();
    match bench.apply(&adopt(&[1, 2])) {
        Err(Refusal::AdoptConflict { theirs, ours: there }) => {
            assert_eq!((theirs.id.clone(), there.id.clone()), (submit(2).intent, ours.intent));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.intent(&submit(1).intent).scope, guest(), "all or nothing");
    assert_eq!(open_in(&bench, &guest()), 2);
}

#[test]
fn what_nothing_came_of_stands_in_nobody_s_way() {
    let mut bench = Bench::with(&as_guest(1));
    bench.apply(&Change::Cancel(submit(1).intent)).unwrap();
    let Ok(Applied::Adopted { moved, left }) = bench.apply(&adopt(&[1])) else { panic!("not adopted") };
    assert_eq!((moved.len(), left.len()), (0, 0));
    let anew = Submit { intent: submit(9).intent, ..submit(1) };
    let created = bench.apply(&Change::Submit(Box::new(anew)));
    assert!(matches!(created, Ok(Applied::Submitted { created: true, .. })), "{created:?}");
}

#[test]
fn law_9_only_the_named_scope_is_adopted_from() {
    let mut bench = Bench::with(&Submit { scope: ScopeHash::of("somebody else"), ..submit(1) });
    assert!(matches!(bench.apply(&adopt(&[1])), Err(Refusal::UnknownIntent)));
}

#[test]
fn the_adopted_come_last_in_their_new_scope() {
    let mut bench = Bench::with(&as_guest(1));
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.apply(&adopt(&[1])).unwrap();
    let intent = bench.intent(&submit(1).intent);
    assert_eq!((intent.sequence, bench.intent(&submit(2).intent).sequence), (2, 1));
    let name = ReferenceName::new(&submit(1).scope, &intent.operation, "order-1");
    assert_eq!(intent.head_reference, Some(name.0), "P1.5: it is the head in its new scope");
    bench.apply(&Change::Submit(Box::new(submit(3)))).unwrap();
    assert_eq!(bench.intent(&submit(3).intent).sequence, 3);
}

#[test]
fn law_10_a_full_account_adopts_nothing() {
    for (open, fits) in [(OPEN_INTENTS_MAX - 1, true), (OPEN_INTENTS_MAX, false)] {
        let mut bench = Bench::with(&as_guest(1));
        let record = Some(Record::Counters(Counters { open, submitted: open }));
        bench.records.insert(RecordKey::Counters(submit(1).scope), Versioned { version: 1, record });
        let adopted = bench.apply(&adopt(&[1]));
        assert_eq!(matches!(adopted, Ok(Applied::Adopted { .. })), fits, "{adopted:?}");
        assert!(fits || (adopted == Err(Refusal::LedgerFull) && bench.only().scope == guest()));
    }
}
