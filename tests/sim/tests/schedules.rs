//! The schedules that the design was corrected for, those of them that no other file tells: each an order of events that
//! once paid twice, on paper.

use std::rc::Rc;

use intento::core::change::{Adopt, Applied, Change, Refusal};
use intento::core::contract::Finding;
use intento::core::input::CommitError;
use intento::core::intent::{Cause, Evidence, HeldReason, IntentRecord, Replay, State};
use intento::core::key::{ContractHash, IntentId, ScopeHash};
use intento::core::limits::LEASE_SLACK_MS;
use sim::crash::Mishaps;
use sim::{ATTEMPT_MS, DAY, HOUR, LedgerFault, MINUTE, RealmNo, SECOND, Turn, World, json};

const WINDOW_CLOSED: State = State::Held { reason: HeldReason::WindowClosed };
const REPLAYED: State = State::Succeeded { replay: Replay::Replayed, evidence: Evidence::Reply };

fn cannot_be_replaced(world: &mut World, tab: RealmNo, intent: &IntentRecord) {
    let change = world.replacement(tab, intent);
    let refused = world.decide(tab, change);
    assert!(matches!(refused, Err(CommitError::Refused(Refusal::NotReplaceable(_)))), "{refused:?}");
}

fn until(world: &mut World, holds: impl Fn(&World) -> bool) {
    assert!(world.run_until(world.now_ms + HOUR, holds), "{:?}", world.ledger.intents());
}

/// The only intent of this world.
fn only(world: &World) -> IntentRecord {
    let mut intents = world.ledger.intents();
    assert_eq!(intents.len(), 1);
    (*intents.remove(0)).clone()
}

#[test]
fn a_ledger_that_cannot_be_read_never_leads_to_another_key() {
    let mut world = World::new(1);
    let tab = world.open();
    world.server.plan([Turn::LostOnReturn]);
    let order = world.submit(tab, 1);
    until(&mut world, |world| world.effects_of(1) == 1);
    world.ledger.fail_operations(0..usize::MAX, LedgerFault::Unreadable);
    let again = world.submit(tab, 1);
    until(&mut world, |world| world.done.contains_key(&again));
    assert_eq!(world.done[&again], Err(CommitError::Unreadable));
    let tab = world.reload(tab);
    let after_reload = world.submit(tab, 1);
    world.run_for(HOUR);
    assert_eq!((world.done.get(&after_reload), world.counts.sends), (None, 1), "no queue, no key, no request");
    world.ledger.heal();
    world.run_for(2 * MINUTE);
    assert_eq!(world.intent_of(after_reload).id, world.intent_of(order).id);
    assert_eq!((world.state_of(order), world.effects_of(1), world.keys_of(1).len()), (REPLAYED, 1, 1));
}

#[test]
fn two_submits_in_one_batch() {
    let mut world = World::new(2);
    let tab = world.open();
    // While a transaction runs, what is submitted gathers.
    world.steer(tab, Change::Cancel(IntentId::from("nobody")));
    let commits = world.counts.commits;
    let tickets = [world.submit(tab, 1), world.submit(tab, 1)];
    until(&mut world, |world| tickets.iter().all(|ticket| world.done.contains_key(ticket)));
    assert_eq!(world.counts.commits - commits, 2, "the one that ran, and one for both");
    let created = tickets.map(|ticket| matches!(world.done[&ticket], Ok(Applied::Submitted { created: true, .. })));
    assert_eq!(created, [true, false]);
    world.run_for(MINUTE);
    only(&world);
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn the_cookie_session_changes_under_a_queue() {
    let mut world = World::new(3);
    world.server.session = Some(ScopeHash::of("user-1"));
    let tab = world.open();
    world.server.plan([Turn::LostOnTheWay]);
    let order = world.submit(tab, 1);
    world.run_for(5);
    // Another tab signs somebody else in; this one does not notice.
    world.server.session = Some(ScopeHash::of("user-2"));
    world.run_for(HOUR);
    assert_eq!((world.effects_of(1), world.server.executions), (0, 0), "nobody pays with another's session");
    let held = world.intent_of(order);
    assert_eq!(held.state, State::Held { reason: HeldReason::Auth });
    cannot_be_replaced(&mut world, tab, &held);
    world.server.session = Some(ScopeHash::of("user-1"));
    world.reload(tab);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(order), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

fn adopt(world: &mut World, account: RealmNo, intent: IntentId) -> Result<Applied, CommitError> {
    let (from, to) = (ScopeHash::of("guest-7"), ScopeHash::of("user-1"));
    world.decide(account, Change::Adopt(Adopt { from, to, intents: vec![intent] }))
}

#[test]
fn a_guest_signs_in_with_a_payment_on_the_wire() {
    let mut world = World::new(4);
    let guest = world.open_as("guest-7");
    world.server.plan([Turn::LostOnReturn]);
    let order = world.submit(guest, 1);
    until(&mut world, |world| world.effects_of(1) == 1);
    let account = world.open();
    let id = only(&world).id;
    let adopted = adopt(&mut world, account, id.clone());
    assert!(matches!(adopted, Ok(Applied::Adopted { moved, left }) if moved.is_empty() && left.len() == 1));
    let again = world.submit(account, 1);
    until(&mut world, |world| world.done.contains_key(&again));
    let Err(CommitError::Refused(Refusal::ReferenceConflict(theirs))) = &world.done[&again] else { panic!() };
    assert_eq!(theirs.id, id, "the order is the guest's still");
    world.run_for(MINUTE);
    assert_eq!((world.state_of(order), world.effects_of(1)), (REPLAYED, 1));
}

#[test]
fn a_guest_signs_in_while_the_guest_s_queue_asks_for_credentials() {
    let mut world = World::new(5);
    let guest = world.open_as("guest-7");
    let account = world.open();
    let order = world.submit(guest, 1);
    until(&mut world, |world| world.counts.authorizations == 1);
    let id = only(&world).id;
    let adopted = adopt(&mut world, account, id);
    assert!(matches!(adopted, Ok(Applied::Adopted { moved, .. }) if moved.len() == 1));
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(order), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.counts.authorizations), (1, 2), "law 9 is checked at each send");
}

#[test]
fn two_tabs_replace_one_refusal_with_two_cards() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        world.latency_max_ms = 20;
        let tabs = [world.open(), world.open()];
        world.server.plan([Turn::Decline]);
        let order = world.submit(tabs[0], 1);
        until(&mut world, |world| world.ledger.intents().iter().any(|intent| intent.has_ended()));
        world.run_for(SECOND);
        let declined = world.intent_of(order);
        let tickets = tabs.map(|tab| {
            let change = world.replacement(tab, &declined);
            world.ask(tab, change)
        });
        world.run_for(MINUTE);
        let refused = |ticket| matches!(world.done[ticket], Err(CommitError::Refused(Refusal::ReferenceConflict(_))));
        assert_eq!(tickets.iter().filter(|ticket| refused(ticket)).count(), 1, "seed {seed}");
        assert_eq!((world.ledger.intents().len(), world.server.effects.values().sum::<u32>()), (2, 1), "seed {seed}");
    }
}

/// Another build of the app, with another contract for the same server.
fn deploy(world: &mut World, carrier: &str, retention_ms: u64) {
    let contract = Rc::make_mut(&mut world.contract.contract);
    carrier.clone_into(&mut contract.carrier.name);
    contract.retention_ms = retention_ms;
    world.contract.hash = ContractHash::of(carrier);
}

#[test]
fn a_deploy_changes_the_contract_with_a_payment_on_the_wire() {
    // How long offline under which retention of the new build, the old one's being a day; is it sent again?
    for (retention_ms, offline_ms, sent_again) in
        [(DAY, 0, true), (2 * HOUR, 0, true), (2 * HOUR, 3 * HOUR, false), (30 * DAY, 25 * HOUR, false)]
    {
        let mut world = World::new(6);
        let old = world.open();
        world.server.plan([Turn::LostOnReturn]);
        let order = world.submit(old, 1);
        until(&mut world, |world| world.effects_of(1) == 1);
        if offline_ms > 0 {
            world.go_offline();
        }
        deploy(&mut world, "X-Payment-Key", retention_ms);
        let new = world.open();
        assert_eq!(world.realms(), [old, new], "side by side");
        world.close(old);
        world.run_for(offline_ms);
        world.go_online();
        let again = world.submit(new, 1);
        world.run_for(MINUTE);
        assert_eq!(world.intent_of(again).id, world.intent_of(order).id);
        assert_eq!(world.state_of(order), if sent_again { REPLAYED } else { WINDOW_CLOSED }, "{retention_ms}");
        // Under the old header, or the server would have seen no key.
        assert_eq!(
            (world.effects_of(1), world.keys_of(1).len(), world.counts.sends),
            (1, 1, 1 + u64::from(sent_again))
        );
    }
}

#[test]
fn a_stale_refusal_from_a_thawed_tab() {
    let mut world = World::new(7);
    let stale = world.open();
    world.server.plan([Turn::DeclineUnstored, Turn::LostOnTheWay]);
    let order = world.submit(stale, 1);
    until(&mut world, |world| world.counts.sends == 1);
    world.freeze(stale);
    let other = world.open();
    until(&mut world, |world| world.counts.sends == 2);
    world.run_for(5);
    world.thaw(stale);
    world.run_for(5);
    let intent = world.intent_of(order);
    assert!(matches!(intent.state, State::Waiting { .. }), "{intent:?}");
    assert_eq!(world.tally.stale_facts, 1, "the refusal is in the journal, and nowhere else");
    cannot_be_replaced(&mut world, other, &intent);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(order), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn reconciling_races_a_send() {
    let (mut sealed, mut paid) = (0, 0);
    for step in 0..100 {
        let mut world = World::new(step);
        world.latency_max_ms = 50;
        world.server.asks = true;
        world.server.work_ms = 300;
        // The tab dies; its request is on the way still when the next one asks what became of it.
        world.server.plan([Turn::Late(ATTEMPT_MS + LEASE_SLACK_MS - SECOND + step * 20)]);
        let tab = world.open();
        world.submit(tab, 1);
        until(&mut world, |world| world.counts.sends == 1);
        world.close(tab);
        let next = world.open();
        let ask = Change::Reconcile(only(&world).id);
        let asked = world.decide(next, ask);
        assert!(asked.is_ok(), "{asked:?}");
        world.run_for(HOUR);
        world.check_the_end();
        assert!(!only(&world).contradicted);
        match only(&world).state {
            State::NotApplied => sealed += 1,
            State::Succeeded { .. } => paid += 1,
            state => panic!("{state:?}"),
        }
    }
    assert!(sealed > 10 && paid > 10, "{sealed} sealed first, {paid} paid first");
}

#[test]
fn a_poll_of_what_was_accepted_is_inherited_after_a_crash() {
    let mut world = World::new(10);
    world.poll_says = Some(|_| json(200));
    world.server.plan([Turn::Accept]);
    let tab = world.open();
    let order = world.submit(tab, 1);
    until(&mut world, |world| world.polls.len() == 2);
    world.crash(tab);
    assert!(only(&world).claim.is_some(), "it died looking");
    let heir = world.open();
    until(&mut world, |world| world.polls.len() == 4);
    assert_eq!(world.state_of(order), State::Accepted, "a status page's 200 says nothing");
    world.poll_says = None;
    world.run_for(2 * MINUTE);
    assert_eq!(world.state_of(order), State::Succeeded { replay: Replay::Replayed, evidence: Evidence::Reply });
    assert!(world.polls.iter().all(|(_, method, _)| *method == "GET") && world.polls[2].0 == heir);
    assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1), "what was accepted is never sent again");
}

#[test]
fn a_refusal_is_recomputed_from_today_s_balance() {
    let mut world = World::new(11);
    let tab = world.open_with(|settings| settings.can_reconcile = true);
    // The first request is on the way while those after it find too little money; then there is some.
    world.findings = |_| Finding::NotFound;
    world.server.plan([Turn::Late(2 * MINUTE)]);
    world.server.plan((0..20).map(|_| Turn::DeclineUnstored));
    let order = world.submit(tab, 1);
    until(&mut world, |world| world.counts.sends == 3);
    world.run_for(5);
    let refused = world.intent_of(order);
    assert_eq!(refused.state, State::Waiting { cause: Cause::Unclear });
    cannot_be_replaced(&mut world, tab, &refused);
    until(&mut world, |world| world.effects_of(1) == 1);
    let refused = world.intent_of(order);
    assert!(!refused.state.safe_to_replace() && !refused.state.is_definite(), "{:?}", refused.state);
    world.findings = |_| Finding::Applied;
    world.run_for(HOUR);
    assert_eq!(world.state_of(order).name(), "succeeded");
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn a_post_that_the_browser_delivers_twice_is_refused_once() {
    let mut world = World::new(12);
    world.findings = |_| Finding::Applied;
    world.server.plan([Turn::DeclineUnstored]);
    world.server.mishaps = Mishaps { repeated_after_ms: Some(50), ..Mishaps::default() };
    let tab = world.open_with(|settings| settings.can_reconcile = true);
    let order = world.submit(tab, 1);
    world.run_for(20);
    let refused = world.intent_of(order);
    assert_eq!(refused.state, State::Rejected { evidence: Evidence::Unstored, replaceable: false });
    cannot_be_replaced(&mut world, tab, &refused);
    world.run_for(SECOND);
    assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1), "one attempt, refused and run");
    world.decide(tab, Change::Reconcile(refused.id)).unwrap();
    world.run_for(MINUTE);
    let raised = world.intent_of(order);
    assert!(raised.contradicted && !raised.state.safe_to_replace(), "{raised:?}");
}

#[test]
fn a_page_is_frozen_with_a_post_still_in_the_browser_s_hands() {
    for work_ms in [0, 10 * SECOND] {
        let mut world = World::new(13);
        world.server.work_ms = work_ms;
        // It leaves six seconds after its own deadline.
        world.server.plan([Turn::Late(ATTEMPT_MS + 6 * SECOND)]);
        let frozen = world.open();
        let order = world.submit(frozen, 1);
        until(&mut world, |world| world.counts.sends == 1);
        world.freeze(frozen);
        world.open();
        world.run_for(2 * MINUTE);
        assert!(matches!(world.state_of(order), State::Succeeded { .. }), "{:?}", world.intent_of(order));
        assert!(world.server.arrivals >= 2 && world.counts.sends >= 2, "both came");
        world.thaw(frozen);
        world.run_for(MINUTE);
        assert_eq!((world.effects_of(1), world.server.executions, world.keys_of(1).len()), (1, 1, 1));
        assert!(!world.intent_of(order).contradicted);
    }
}
