//! The store in memory, which every other tier must behave like.

use intento::core::input::DueSpan;
use intento::core::intent::IntentRecord;
use intento::core::record::{ExpectedVersions, Record, RecordKey, Writes};
use intento::core::shared::Shared;
use intento::ledger::store::{Store, StoreError};
use sim::world::now;
use sim::{SECOND, World};

/// Intents that wait, in the order of their due times.
fn waiting(world: &mut World, count: u32) -> Vec<IntentRecord> {
    world.go_offline();
    let realm = world.open();
    let tickets: Vec<u64> = (0..count)
        .map(|number| {
            world.run_for(SECOND);
            world.submit(realm, number)
        })
        .collect();
    world.run_for(SECOND);
    tickets.into_iter().map(|ticket| world.intent_of(ticket)).collect()
}

#[test]
fn a_page_tells_when_what_it_leaves_out_is_due() {
    let mut world = World::new(1);
    let intents = waiting(&mut world, 3);
    let due: Vec<u64> = intents.iter().filter_map(|intent| intent.due_at_ms).collect();
    let page = |until_ms, limit| {
        let page = now(world.ledger.due(&intents[0].scope, DueSpan::until(until_ms), limit)).unwrap();
        let ids: Vec<_> = page.due.iter().map(|intent| intent.id.clone()).collect();
        (ids, page.next_due_at_ms)
    };
    let ids = |count: usize| -> Vec<_> { intents[..count].iter().map(|intent| intent.id.clone()).collect() };
    assert!(due[0] < due[1] && due[1] < due[2], "{due:?}");
    assert_eq!(page(due[0] - 1, 9), (ids(0), Some(due[0])));
    assert_eq!(page(due[1], 9), (ids(2), Some(due[2])), "up to, and with");
    assert_eq!(page(due[2], 9), (ids(3), None));
    assert_eq!(page(due[2], 2), (ids(2), Some(due[2])), "the limit");
    assert_eq!(page(due[0], 0), (ids(0), Some(due[0])));
}

#[test]
fn p1_5_two_intents_never_share_a_head() {
    let mut world = World::new(1);
    let intents = waiting(&mut world, 2);
    let write = |intent: &IntentRecord| {
        let writes: Writes =
            [(RecordKey::Intent(intent.id.clone()), Record::Intent(Shared::new(intent.clone())))].into();
        now(world.ledger.commit(&ExpectedVersions::new(), &writes))
    };
    let [first, second] = &intents[..] else { panic!("two intents") };
    assert_eq!(write(first), Ok(()), "its own head is its own");
    let thief = IntentRecord { head_reference: first.head_reference.clone(), ..second.clone() };
    assert_eq!(write(&thief), Err(StoreError::Aborted));
    assert_eq!(write(&IntentRecord { head_reference: None, ..first.clone() }), Ok(()), "it gives its head up");
    assert_eq!(write(&thief), Ok(()));
}
