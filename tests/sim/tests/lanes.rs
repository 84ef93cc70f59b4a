//! Lanes: intents of one lane are sent one after the other; a held one blocks its lane and no other, until it is skipped.

use intento::core::change::{Adopt, Applied, Change, Refusal};
use intento::core::input::CommitError;
use intento::core::intent::{HeldReason, IntentRecord, State};
use intento::core::key::ScopeHash;
use intento::core::limits::LANE_LENGTH_MAX;
use intento::core::record::{LaneName, RecordKey};
use intento::core::submission::{ExpiresIn, Submission};
use sim::{HOUR, MINUTE, RealmNo, SECOND, Turn, World, json};

const HELD: State = State::Held { reason: HeldReason::Config };

fn in_lane(world: &mut World, realm: RealmNo, lane: &str, number: u32) -> u64 {
    world.submit_with(realm, number, |submission: &mut Submission| {
        submission.lane = Some(lane.to_owned());
        submission.expires_in = ExpiresIn::Never;
    })
}

/// What a lane's intents are, in the order they were submitted.
fn states(world: &World, tickets: &[u64]) -> Vec<&'static str> {
    tickets.iter().map(|ticket| world.state_of(*ticket).name()).collect()
}

/// A world in which the first intent of `table-7` is held: its address may be wrong.
fn held_head() -> (World, RealmNo, Vec<u64>) {
    let mut world = World::new(7);
    let realm = world.open();
    world.server.plan([Turn::Says(json(404))]);
    let tickets: Vec<u64> = (1..=3).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    world.run_for(MINUTE);
    assert_eq!(world.state_of(tickets[0]), HELD);
    (world, realm, tickets)
}

fn decided(world: &mut World, realm: RealmNo, change: Change) -> Result<Applied, CommitError> {
    let decided = world.decide(realm, change);
    world.run_for(MINUTE);
    decided
}

#[test]
fn intents_of_a_lane_are_sent_one_after_the_other_and_lanes_beside_one_another() {
    let mut world = World::new(1);
    world.server.work_ms = SECOND;
    let realms = [world.open(), world.open()];
    let tickets: Vec<u64> =
        (0..6).map(|number| in_lane(&mut world, realms[number % 2], "table-7", number as u32)).collect();
    let other = in_lane(&mut world, realms[0], "table-8", 50);
    let free = world.submit(realms[0], 51);
    world.run_for(SECOND + SECOND / 2);
    assert_eq!(world.counts.most_in_flight, 3, "one of each lane, and what has none");
    assert!(matches!(world.state_of(other), State::Succeeded { .. }));
    assert!(matches!(world.state_of(free), State::Succeeded { .. }));
    world.run_for(10 * SECOND);
    let mut intents: Vec<IntentRecord> = tickets.iter().map(|ticket| world.intent_of(*ticket)).collect();
    intents.sort_by_key(|intent| intent.sequence);
    let order: Vec<u64> = intents.iter().map(|intent| intent.first_sent.unwrap().at_ms).collect();
    assert!(order.is_sorted_by(|before, after| before + SECOND <= *after), "{order:?}");
    assert!(states(&world, &tickets).iter().all(|state| *state == "succeeded"), "in less than two seconds each");
}

/// Nothing polls: another tab goes on at once where the one that ended the head is gone.
#[test]
fn the_turn_passes_on_although_the_tab_that_sent_is_gone() {
    let mut world = World::new(2);
    world.has_locks = true;
    world.server.work_ms = SECOND;
    let (sender, other) = (world.open(), world.open());
    let tickets = [in_lane(&mut world, sender, "table-7", 1), in_lane(&mut world, other, "table-7", 2)];
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 1));
    world.messages_lost = true;
    world.crash(sender);
    world.run_for(MINUTE);
    assert_eq!(states(&world, &tickets), ["succeeded", "succeeded"]);
}

#[test]
fn a_held_head_blocks_its_lane_and_no_other_until_it_is_skipped() {
    let (mut world, realm, tickets) = held_head();
    let others = [in_lane(&mut world, realm, "table-8", 8), world.submit(realm, 9)];
    world.run_for(HOUR);
    assert_eq!(states(&world, &tickets), ["held", "queued", "queued"]);
    assert_eq!(states(&world, &others), ["succeeded", "succeeded"]);
    assert_eq!((world.counts.sends, world.is_settled()), (3, true));

    // What is not held keeps its place.
    let waiting = world.intent_of(tickets[1]);
    let kept = decided(&mut world, realm, Change::Skip(waiting.id.clone()));
    assert!(matches!(kept, Ok(Applied::Skipped(intent)) if intent.lane == waiting.lane));
    assert_eq!(states(&world, &tickets), ["held", "queued", "queued"]);

    let head = world.intent_of(tickets[0]).id;
    let skipped = decided(&mut world, realm, Change::Skip(head.clone()));
    assert!(matches!(skipped, Ok(Applied::Skipped(intent)) if intent.lane.is_none() && intent.state == HELD));
    assert_eq!(states(&world, &tickets), ["held", "succeeded", "succeeded"]);
    // Once its cause is mended it goes beside the lane.
    decided(&mut world, realm, Change::Resume(head)).unwrap();
    assert_eq!(states(&world, &tickets), ["succeeded"; 3]);
}

#[test]
fn whatever_ends_the_head_passes_its_turn_on() {
    let end = |change: fn(IntentRecord) -> Change| {
        let (mut world, realm, tickets) = held_head();
        let head = world.intent_of(tickets[0]);
        decided(&mut world, realm, change(head)).unwrap();
        world.run_for(HOUR);
        states(&world, &tickets)
    };
    let abandon = |head: IntentRecord| Change::Abandon { intent: head.id, reason: "no such address".to_owned() };
    assert_eq!(end(abandon), ["abandoned", "succeeded", "succeeded"]);
    assert_eq!(end(|head| Change::Resume(head.id)), ["succeeded"; 3]);

    // One in the middle that is cancelled holds up nobody, and is never sent.
    let (mut world, realm, tickets) = held_head();
    let middle = world.intent_of(tickets[1]).id;
    assert!(world.cancel(realm, &middle));
    let head = world.intent_of(tickets[0]);
    decided(&mut world, realm, abandon(head)).unwrap();
    assert_eq!(states(&world, &tickets), ["abandoned", "cancelled", "succeeded"]);

    // What has waited for too long expires when its turn comes, and passes it on.
    let (mut world, realm, tickets) = held_head();
    let hasty = world.submit_with(realm, 10, |submission| {
        submission.lane = Some("table-7".to_owned());
        submission.expires_in = ExpiresIn::AfterMs(MINUTE);
    });
    let last = in_lane(&mut world, realm, "table-7", 11);
    world.run_for(HOUR);
    let head = world.intent_of(tickets[0]);
    decided(&mut world, realm, abandon(head)).unwrap();
    assert_eq!(states(&world, &[hasty, last]), ["expired", "succeeded"]);
}

/// Hazard K20: a refusal for good first, a good one second, in a lane and without.
#[test]
fn a_refused_head_is_no_dam() {
    let mut world = World::new(3);
    let realm = world.open();
    world.server.plan([Turn::Decline, Turn::Decline]);
    let bad = [in_lane(&mut world, realm, "table-7", 1), world.submit(realm, 2)];
    world.run_for(20);
    let good = [in_lane(&mut world, realm, "table-7", 3), world.submit(realm, 4)];
    world.run_for(MINUTE);
    assert_eq!(states(&world, &bad), ["rejected", "rejected"]);
    assert_eq!(states(&world, &good), ["succeeded", "succeeded"]);
}

/// Its record cannot be read: whether it was sent nobody knows. Its own lane waits for it, and says so; no other does.
#[test]
fn a_head_that_cannot_be_read_blocks_its_lane_and_no_other() {
    let mut world = World::new(4);
    world.go_offline();
    let realm = world.open();
    let tickets: Vec<u64> = (1..=3).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    let others = [in_lane(&mut world, realm, "table-8", 8), world.submit(realm, 9)];
    world.run_for(SECOND);
    let intents: Vec<IntentRecord> = tickets.iter().map(|ticket| world.intent_of(*ticket)).collect();
    world.ledger.damage(RecordKey::Intent(intents[0].id.clone()));
    world.go_online();
    let later = in_lane(&mut world, realm, "table-7", 4);
    world.run_for(HOUR);
    assert_eq!(states(&world, &others), ["succeeded", "succeeded"]);
    assert_eq!(states(&world, &[tickets[1], tickets[2], later]), ["queued"; 3]);
    assert!(world.cancel(realm, &intents[1].id), "what waits can be decided anew");
    world.run_for(HOUR);
    assert_eq!(world.counts.sends, 2);
}

#[test]
fn a_part_of_the_head_that_cannot_be_read_holds_it_and_it_can_be_skipped() {
    let mut world = World::new(5);
    world.go_offline();
    let realm = world.open();
    let tickets: Vec<u64> = (1..=2).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    world.run_for(SECOND);
    let head = world.intent_of(tickets[0]).id;
    world.ledger.damage(RecordKey::Payload(head.clone()));
    world.go_online();
    world.run_for(MINUTE);
    assert_eq!(states(&world, &tickets), ["held", "queued"]);
    decided(&mut world, realm, Change::Skip(head)).unwrap();
    assert_eq!(states(&world, &tickets), ["held", "succeeded"]);
}

/// Who is next in it nobody knows any more: what is due of it is held, the others wait, and it is not written over.
#[test]
fn a_lane_that_cannot_be_read_sends_nothing_and_stops_no_other() {
    let mut world = World::new(12);
    world.go_offline();
    let realm = world.open();
    let tickets: Vec<u64> = (1..=2).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    let other = in_lane(&mut world, realm, "table-8", 8);
    world.run_for(SECOND);
    let lane = RecordKey::Lane(LaneName::new(&ScopeHash::of("user-1"), "table-7"));
    world.ledger.damage(lane.clone());
    let kept = world.ledger.records()[&lane].clone();
    world.go_online();
    let refused = in_lane(&mut world, realm, "table-7", 3);
    world.run_for(HOUR);
    assert_eq!(world.done.get(&refused), Some(&Err(CommitError::Refused(Refusal::Undecodable))));
    assert_eq!(states(&world, &tickets), ["held", "queued"]);
    assert_eq!(states(&world, &[other]), ["succeeded"]);
    assert!(world.cancel(realm, &world.intent_of(tickets[1]).id), "an outcome is worth more than a lane");
    assert_eq!((world.counts.sends, world.ledger.records().get(&lane)), (1, Some(&kept)));
}

#[test]
fn a_successor_takes_its_predecessor_s_place() {
    let mut world = World::new(6);
    let realm = world.open();
    world.go_offline();
    let tickets: Vec<u64> = (1..=3).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    world.run_for(SECOND);
    let first = world.intent_of(tickets[0]);
    assert!(world.cancel(realm, &first.id));
    let replace = world.replacement(realm, &world.intent(&first.id));
    let Ok(Applied::Submitted { intent: successor, .. }) = world.decide(realm, replace) else { panic!("no successor") };
    assert_eq!(successor.lane, first.lane);
    assert!(world.intent_of(tickets[1]).due_at_ms.is_none(), "it had its turn, and waits again");
    world.go_online();
    world.run_for(MINUTE);
    let sent = |intent: IntentRecord| intent.first_sent.unwrap().at_ms;
    let order =
        [sent(world.intent(&successor.id)), sent(world.intent_of(tickets[1])), sent(world.intent_of(tickets[2]))];
    assert!(order.is_sorted_by(|before, after| before < after), "{order:?}");
}

#[test]
fn a_successor_does_not_overtake_what_may_have_been_sent() {
    let mut world = World::new(8);
    world.server.work_ms = 10 * SECOND;
    let realm = world.open();
    world.server.plan([Turn::Decline]);
    let tickets: Vec<u64> = (1..=3).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    assert!(world.run_until(MINUTE, |world| world.counts.sends == 2));
    let refused = world.intent_of(tickets[0]);
    let replace = world.replacement(realm, &refused);
    let Ok(Applied::Submitted { intent: successor, .. }) = world.decide(realm, replace) else { panic!("no successor") };
    world.run_for(5 * SECOND);
    assert_eq!(world.counts.sends, 2);
    world.run_for(MINUTE);
    let sent = |intent: IntentRecord| intent.first_sent.unwrap().at_ms;
    let order =
        [sent(world.intent_of(tickets[1])), sent(world.intent(&successor.id)), sent(world.intent_of(tickets[2]))];
    assert!(order.is_sorted_by(|before, after| before < after), "{order:?}");
}

#[test]
fn a_full_lane_takes_no_more_and_goes_on() {
    let mut world = World::new(9);
    world.go_offline();
    let realm = world.open();
    let count = LANE_LENGTH_MAX as u32;
    let tickets: Vec<u64> = (0..count).map(|number| in_lane(&mut world, realm, "table-7", number)).collect();
    world.run_for(SECOND);
    assert!(tickets.iter().all(|ticket| matches!(world.done.get(ticket), Some(Ok(_)))));
    let before = world.ledger.records().len();
    let refused = in_lane(&mut world, realm, "table-7", count);
    world.run_for(SECOND);
    assert_eq!(world.done.get(&refused), Some(&Err(CommitError::Refused(Refusal::LaneFull))));
    assert_eq!(world.ledger.records().len(), before, "nothing is stored of it, and nothing was evicted for it");
    let elsewhere = in_lane(&mut world, realm, "table-8", count + 1);
    world.go_online();
    world.run_for(10 * MINUTE);
    assert!(matches!(world.state_of(elsewhere), State::Succeeded { .. }));
    assert!(states(&world, &tickets).iter().all(|state| *state == "succeeded"));
    let again = in_lane(&mut world, realm, "table-7", count + 2);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(again), State::Succeeded { .. }));
}

/// Guests that sign in: lanes are moved as they are, behind what the account has in its own.
#[test]
fn p8_2_an_adopted_intent_lines_up_at_the_end_of_the_account_s_lane() {
    let mut world = World::new(10);
    world.go_offline();
    let (guest, account) = (world.open_as("guest-7"), world.open());
    let theirs: Vec<u64> = (1..=2).map(|number| in_lane(&mut world, guest, "table-7", number)).collect();
    let ours = in_lane(&mut world, account, "table-7", 9);
    world.run_for(SECOND);
    adopt(&mut world, account, &theirs).unwrap();
    world.go_online();
    world.run_for(MINUTE);
    let sent: Vec<u64> =
        [ours, theirs[0], theirs[1]].map(|ticket| world.intent_of(ticket).first_sent.unwrap().at_ms).into();
    assert!(sent.is_sorted_by(|before, after| before < after), "{sent:?}");
}

#[test]
fn p8_2_what_waits_behind_one_that_stays_stays_with_it() {
    let mut world = World::new(11);
    let (guest, account) = (world.open_as("guest-7"), world.open());
    world.server.plan([Turn::Says(json(404))]);
    let theirs: Vec<u64> = (1..=2).map(|number| in_lane(&mut world, guest, "table-7", number)).collect();
    world.run_for(MINUTE);
    assert_eq!(states(&world, &theirs), ["held", "queued"]);
    let Ok(Applied::Adopted { moved, left }) = adopt(&mut world, account, &theirs) else { panic!("not adopted") };
    assert_eq!((moved.len(), left.len()), (0, 2));
    let head = world.intent_of(theirs[0]).id;
    world.close(guest);
    decided(&mut world, account, Change::Abandon { intent: head, reason: "no such address".to_owned() }).unwrap();
    let Ok(Applied::Adopted { moved, .. }) = adopt(&mut world, account, &theirs[1..]) else { panic!("not adopted") };
    assert_eq!(moved.len(), 1);
    world.run_for(MINUTE);
    assert_eq!(states(&world, &theirs), ["abandoned", "succeeded"]);
}

fn adopt(world: &mut World, account: RealmNo, tickets: &[u64]) -> Result<Applied, CommitError> {
    let intents = tickets.iter().map(|ticket| world.intent_of(*ticket).id).collect();
    let [from, to] = ["guest-7", "user-1"].map(ScopeHash::of);
    world.decide(account, Change::Adopt(Adopt { from, to, intents }))
}
