//! Outcomes reach the app: once in normal running, at least once whatever happens, never lost (P7).

use intento::core::input::Input;
use intento::core::intent::{IntentRecord, Purpose, State};
use intento::core::limits::{DELIVER_DEADLINE_MS, DELIVERIES_MAX, LEASE_SLACK_MS};
use intento::core::record::RecordKey;
use sim::crash::ClientPoint;
use sim::{HOUR, MINUTE, SECOND, World};

/// Opens a tab whose app handles the outcomes of payments.
fn open(world: &mut World) -> usize {
    world.open_with(|settings| settings.handled = vec!["authorize-payment".to_owned()])
}

#[test]
fn p7_1_with_two_tabs_open_an_outcome_is_handed_over_once_by_the_tab_that_submitted() {
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.latency_max_ms = 40;
        let first = open(&mut world);
        let second = open(&mut world);
        let tickets: Vec<u64> =
            (0..4).map(|number| world.submit([first, second][number as usize % 2], number)).collect();
        world.run_for(5 * MINUTE);
        assert_eq!(world.delivered.len(), 4, "seed {seed}: {:?}", world.delivered);
        for (number, ticket) in tickets.iter().enumerate() {
            let intent = world.intent_of(*ticket);
            let by = world.delivered.iter().find(|(_, id, _)| *id == intent.id).map(|(realm, ..)| *realm);
            assert_eq!(by, Some([first, second][number % 2]), "seed {seed}");
            assert!(intent.delivery.acknowledged.is_some());
        }
    }
}

#[test]
fn p7_1_an_outcome_waits_for_a_tab_that_handles_it() {
    let mut world = World::new(1);
    let without = world.open();
    let ticket = world.submit(without, 1);
    world.run_for(HOUR);
    assert_eq!(world.delivered.len(), 0);
    world.close(without);
    let next_day = open(&mut world);
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket);
    assert_eq!(world.delivered, [(next_day, intent.id, intent.state)]);
}

#[test]
fn p7_1_a_handler_that_rejects_is_told_again_with_pauses() {
    let mut world = World::new(2);
    world.handler = |nth| Some(nth == 4);
    let realm = open(&mut world);
    world.submit(realm, 1);
    world.run_for(10 * MINUTE);
    assert_eq!(world.delivered.len(), 4);
}

#[test]
fn p7_1_a_realm_that_dies_while_it_hands_over_is_followed_by_another() {
    let mut world = World::new(3);
    world.handler = |nth| (nth > 1).then_some(true);
    let first = open(&mut world);
    world.submit(first, 1);
    assert!(world.run_until(MINUTE, |world| world.delivered.len() == 1));
    world.close(first);
    let second = open(&mut world);
    world.run_for(DELIVER_DEADLINE_MS + LEASE_SLACK_MS + 2 * SECOND);
    assert_eq!(world.delivered.iter().map(|(realm, ..)| *realm).collect::<Vec<_>>(), [first, second]);
}

/// Another tab was open all along, and nobody tells it: the one that recorded the outcome died before it could.
#[test]
fn p7_1_an_outcome_whose_recorder_died_untold_is_found_by_a_tab_that_was_open() {
    let mut world = World::new(10);
    let first = open(&mut world);
    let second = open(&mut world);
    let ticket = world.submit(first, 1);
    assert!(world.run_until(MINUTE, |world| world.is_at(first, ClientPoint::Recorded)));
    world.close(first);
    world.run_for(2 * MINUTE);
    let intent = world.intent_of(ticket);
    assert_eq!(world.delivered, [(second, intent.id, intent.state)]);
}

#[test]
fn p7_1_a_late_word_of_a_handler_does_not_count_against_another_that_is_at_work() {
    let mut world = World::new(4);
    world.handler = |_| None;
    let first = open(&mut world);
    let ticket = world.submit(first, 1);
    assert!(world.run_until(MINUTE, |world| world.delivered.len() == 1));
    open(&mut world);
    assert!(world.run_until(3 * MINUTE, |world| world.delivered.len() == 2));
    let intent = world.intent_of(ticket).id;
    world.input(first, Input::Delivered { intent, ok: false });
    world.run_for(SECOND);
    assert!(world.intent_of(ticket).claim.is_some(), "the second is still at work");
}

#[test]
fn p7_a_slow_handler_never_blocks_new_work() {
    let mut world = World::new(5);
    world.handler = |_| None;
    let realm = open(&mut world);
    let tickets: Vec<u64> = (0..20).map(|number| world.submit(realm, number)).collect();
    world.run_for(20 * SECOND);
    assert_eq!(world.delivered.len(), DELIVERIES_MAX);
    assert!(tickets.iter().all(|ticket| matches!(world.state_of(*ticket), State::Succeeded { .. })));
}

#[test]
fn p7_2_an_outcome_that_was_told_is_not_handed_over_again() {
    let mut world = World::new(6);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket).id;
    world.input(realm, Input::Acknowledge(intent));
    world.run_for(SECOND);
    open(&mut world);
    world.run_for(HOUR);
    assert_eq!(world.delivered.len(), 0);
}

#[test]
fn p7_what_the_app_did_itself_is_not_news() {
    let mut world = World::new(7);
    world.network.up = false;
    let realm = open(&mut world);
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket).id;
    assert!(world.cancel(realm, &intent));
    world.run_for(MINUTE);
    assert_eq!(world.delivered.len(), 0);
}

#[test]
fn p7_outcomes_that_nobody_handles_hide_none_and_cost_no_busy_loop() {
    let mut world = World::new(8);
    let realm = world.open();
    for number in 0..100 {
        world.submit_with(realm, number, |submission| submission.operation = "somebody-elses".to_owned());
    }
    world.run_for(10 * MINUTE);
    world.close(realm);
    let realm = open(&mut world);
    world.submit(realm, 500);
    let before = world.counts.inbox_loads;
    world.run_for(HOUR);
    assert_eq!(world.delivered.len(), 1);
    assert!(world.counts.inbox_loads - before < 100, "{:?}", world.counts);
}

#[test]
fn law_12_an_outcome_that_cannot_be_read_keeps_no_other_from_the_app() {
    let mut world = World::new(9);
    let realm = world.open();
    let tickets: Vec<u64> = (0..6).map(|number| world.submit(realm, number)).collect();
    world.run_for(MINUTE);
    for ticket in &tickets[..5] {
        let id = world.intent_of(*ticket).id;
        world.ledger.damage(RecordKey::Payload(id));
    }
    world.close(realm);
    let realm = open(&mut world);
    let before = world.counts.commits;
    world.run_for(HOUR);
    let last = world.intent_of(tickets[5]).id;
    assert_eq!(world.delivered.iter().map(|(realm, id, _)| (*realm, id.clone())).collect::<Vec<_>>(), [(realm, last)]);
    assert!(world.counts.commits - before < 100, "{:?}", world.counts);
}

/// A tab claims an outcome to hand it over, stops before it knows, and goes on when another has taken over.
#[test]
fn p7_1_a_thawed_tab_leaves_what_another_hands_over_by_now() {
    let mut world = World::new(12);
    world.handler = |_| None;
    let first = open(&mut world);
    let ticket = world.submit(first, 1);
    let claims_to_deliver = |world: &World| {
        let purpose = |intent: &IntentRecord| intent.claim.as_ref().map(|claim| claim.purpose);
        world.laws.intents().any(|intent| purpose(intent) == Some(Purpose::Deliver))
    };
    assert!(world.run_until(MINUTE, claims_to_deliver));
    assert!(world.delivered.is_empty(), "the claim is durable, and its tab does not know");
    world.stop(first);
    let second = open(&mut world);
    world.run_for(DELIVER_DEADLINE_MS + LEASE_SLACK_MS + 2 * SECOND);
    assert_eq!(world.delivered.iter().map(|(realm, ..)| *realm).collect::<Vec<_>>(), [second]);
    world.thaw(first);
    world.run_for(SECOND);
    assert_eq!(world.delivered.len(), 1, "{:?}", world.intent_of(ticket).delivery);
}
