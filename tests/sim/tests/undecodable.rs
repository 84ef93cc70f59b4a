//! Records that cannot be read, because they are damaged or a later build wrote them: they keep their place and their
//! bytes, nothing is sent or decided in their stead, and nothing else waits for them (law 8).

use intento::core::change::{Change, Refusal};
use intento::core::input::{CommitError, DueSpan, Input};
use intento::core::intent::{HeldReason, State};
use intento::core::limits::{LIST_MAX, OPEN_INTENTS_MAX};
use intento::core::record::{Record, RecordKey};
use intento::ledger::store::Store;
use sim::world::{Counts, now};
use sim::{HOUR, MINUTE, SECOND, World};

const REFUSED: CommitError = CommitError::Refused(Refusal::Undecodable);

#[test]
fn law_8_an_intent_that_cannot_be_read_is_left_alone_and_stops_no_other() {
    let mut world = World::new(1);
    world.go_offline();
    let realm = world.open();
    let tickets: Vec<u64> = (0..3).map(|number| world.submit(realm, number)).collect();
    world.run_for(SECOND);
    let lost = world.intent_of(tickets[0]);
    let key = RecordKey::Intent(lost.id.clone());
    world.ledger.damage(key.clone());
    let kept = world.ledger.records()[&key].clone();
    world.input(realm, Input::Watch(lost.id.clone()));
    world.go_online();
    world.run_for(MINUTE);

    // The same decision, made again, is neither found nor made anew.
    let other = world.open();
    let again = [world.submit(realm, 0), world.submit(other, 0)];
    world.run_for(HOUR);
    for ticket in again {
        assert_eq!(world.done.get(&ticket), Some(&Err(REFUSED)));
    }
    for change in [Change::Cancel(lost.id.clone()), Change::Resume(lost.id.clone()), Change::Reconcile(lost.id.clone())]
    {
        world.steer(realm, change);
    }
    world.run_for(SECOND);
    assert_eq!(world.ledger.records().get(&key), Some(&kept), "never rewritten");
    assert!(matches!(world.state_of(tickets[1]), State::Succeeded { .. }));
    assert!(matches!(world.state_of(tickets[2]), State::Succeeded { .. }));
    assert_eq!((world.counts.sends, world.effects_of(0)), (2, 0));

    // Queries pass it over; it is not in anybody's way.
    let scope = lost.scope;
    let listed = now(world.ledger.list(&scope, 0, LIST_MAX)).unwrap();
    let due = now(world.ledger.due(&scope, DueSpan::until(u64::MAX), OPEN_INTENTS_MAX as u32)).unwrap().due;
    let inbox = now(world.ledger.inbox(&scope, u64::MAX, OPEN_INTENTS_MAX as u32)).unwrap().due;
    assert_eq!(listed.len(), 2);
    assert!([listed, due, inbox].concat().iter().all(|intent| intent.id != lost.id));
}

/// The bytes are on their way when the record is damaged: what comes back is told, and not written over it.
#[test]
fn law_8_the_outcome_of_what_cannot_be_read_any_more_is_told_and_not_written() {
    let mut world = World::new(2);
    world.server.work_ms = SECOND;
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
    let intent = world.intent_of(ticket);
    let key = RecordKey::Intent(intent.id.clone());
    world.ledger.damage(key.clone());
    let kept = world.ledger.records()[&key].clone();
    world.run_for(MINUTE);
    let told: Vec<_> = world.told.iter().filter(|(_, it, _)| it.id == intent.id && it.has_ended()).collect();
    assert!(matches!(told.first(), Some((_, it, false)) if matches!(it.state, State::Succeeded { .. })), "{told:?}");
    assert!(told.iter().all(|(.., durable)| !durable));
    assert_eq!(world.ledger.records().get(&key), Some(&kept));
    assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1));
}

/// Whichever record it is: it stays as it is, and nothing is sent twice or under another key.
#[test]
fn law_8_no_record_that_cannot_be_read_is_ever_written_over() {
    let mut world = World::new(3);
    world.go_offline();
    let realm = world.open();
    world.submit(realm, 1);
    world.run_for(SECOND);
    let keys: Vec<RecordKey> = world.ledger.records().into_keys().collect();
    assert!(keys.len() >= 7, "{keys:?}");
    for key in keys {
        let mut world = World::new(3);
        world.go_offline();
        let realm = world.open();
        let ticket = world.submit(realm, 1);
        world.run_for(SECOND);
        world.ledger.damage(key.clone());
        let kept = world.ledger.records()[&key].clone();
        let before = world.counts;
        world.go_online();
        world.run_for(MINUTE);
        let again = world.submit(realm, 1);
        world.run_for(HOUR);
        let Counts { loads, commits, probes, .. } = world.counts;
        let [loads, commits, probes] = [loads - before.loads, commits - before.commits, probes - before.probes];
        assert!(loads + commits + probes <= 1_000, "{key:?}: {loads} looks, {commits} commits, {probes} probes");
        assert_eq!(world.ledger.records().get(&key), Some(&kept), "{key:?}");
        assert_eq!(kept.record, Some(Record::Undecodable));
        assert!(world.effects_of(1) <= 1 && world.keys_of(1).len() <= 1, "{key:?}");
        if matches!(key, RecordKey::Payload(_) | RecordKey::Contract(_)) {
            assert_eq!(world.state_of(ticket), State::Held { reason: HeldReason::Undecodable });
        }
        if matches!(key, RecordKey::Counters(_) | RecordKey::Reference(_) | RecordKey::Journal(..)) {
            assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{key:?}: {:?}", world.state_of(ticket));
            assert_eq!(world.counts.sends, 1);
        }
        if matches!(key, RecordKey::Reference(_) | RecordKey::Intent(_) | RecordKey::Clock) {
            assert_eq!(world.done.get(&again), Some(&Err(REFUSED)), "{key:?}");
        }
    }
}
