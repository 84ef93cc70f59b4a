//! Finding out without sending again: by the app, by the contract's lookup, by itself and when asked for. And the
//! app's other words on an attempt and on whose it is: `prepare`, `adopt`.

use std::rc::Rc;

use intento::core::change::{Adopt, Applied, Change};
use intento::core::contract::{FactValue, Facts, Fault, Finding, Lookup, LookupMethod, LookupRule, PointerIs, When};
use intento::core::input::{Input, Prepared};
use intento::core::intent::{Evidence, HeldReason, Purpose, Replay, State};
use intento::core::key::ScopeHash;
use intento::core::limits::RECONCILES_MAX;
use sim::ledger::LedgerFault;
use sim::{HOUR, MINUTE, RealmNo, SECOND, Turn, World, json, with_header};

const UNRESOLVED: State = State::Held { reason: HeldReason::Unresolved };
const FOUND: State = State::Succeeded { replay: Replay::Unknown, evidence: Evidence::Reconciliation };

/// A 500 that is stored under the key: sending again brings the same.
fn stuck() -> Turn {
    Turn::Says(with_header(json(500), "idempotent-replayed", "true"))
}

fn steer(world: &mut World, realm: RealmNo, ticket: u64, change: Change) {
    world.input(realm, Input::Steer { ticket, change: Box::new(change) });
}

#[test]
fn what_nothing_else_can_help_the_app_is_asked_about() {
    let mut world = World::new(1);
    world.findings = |_| Finding::Applied;
    world.server.plan([stuck()]);
    let realm = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    assert_eq!(world.state_of(ticket), FOUND);
    assert_eq!((world.asked_about.len(), world.counts.sends), (1, 1));
}

#[test]
fn an_app_that_cannot_say_is_asked_a_bounded_number_of_times() {
    let mut world = World::new(2);
    world.findings = |_| Finding::NotFound;
    world.server.plan([stuck()]);
    let mut realm = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(realm, 1);
    world.run_for(2 * HOUR);
    assert_eq!((world.state_of(ticket), world.asked_about.len()), (UNRESOLVED, RECONCILES_MAX as usize));
    world.close(realm);
    realm = world.open_with(|settings| settings.can_reconcile = true);
    world.findings = |_| Finding::NotApplied;
    let asked = Change::Reconcile(world.intent_of(ticket).id);
    steer(&mut world, realm, 77, asked);
    world.run_for(MINUTE);
    assert_eq!(world.state_of(ticket), State::NotApplied);
    assert_eq!(world.counts.sends, 1, "nothing was sent again");
}

#[test]
fn where_nobody_can_ask_the_ledger_is_left_in_peace() {
    let mut world = World::new(3);
    world.server.plan([stuck()]);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(10 * MINUTE);
    let (loads, sends) = (world.counts.loads, world.counts.sends);
    world.run_for(HOUR);
    assert_eq!((world.state_of(ticket), world.counts.sends), (UNRESOLVED, sends));
    assert!(world.counts.loads - loads <= 2, "{} loads in an hour", world.counts.loads - loads);
    world.submit(realm, 2);
    world.run_for(MINUTE);
    assert_eq!(world.effects_of(2), 1, "and stands in nobody's way");
}

fn with_lookup(world: &mut World) {
    let rule = |is: &str, then| {
        let pointer = Some(PointerIs { at: "/result".to_owned(), is: vec![is.to_owned()] });
        LookupRule { when: When { status: vec![200], pointer, ..When::default() }, then }
    };
    Rc::make_mut(&mut world.contract.contract).reconcile = Some(Lookup {
        method: LookupMethod::Post,
        path: Some("/lookup/{operation}/{reference}?k={key}".to_owned()),
        rules: vec![rule("applied", Finding::Applied), rule("not_applied", Finding::NotApplied)],
        response_at: None,
    });
}

fn says(result: &str) -> Facts {
    let mut facts = json(200);
    facts.pointers.insert("/result".to_owned(), vec![FactValue::Text(result.to_owned())]);
    facts
}

#[test]
fn a_contract_that_knows_a_lookup_is_enough() {
    let mut world = World::new(4);
    with_lookup(&mut world);
    world.lookup_says = || says("not_applied");
    world.server.plan([stuck()]);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    let intent = world.intent_of(ticket);
    assert_eq!(intent.state, State::NotApplied);
    let key = intent.key.expose().to_owned();
    let reference = intent.reference.clone().unwrap_or_default();
    let url = format!("{}/lookup/{}/{reference}?k={key}", intent.request.origin, intent.operation);
    assert_eq!(world.lookups, [("POST".to_owned(), url, Some(key))]);
}

#[test]
fn p5_4_a_refusal_becomes_replaceable_by_itself_where_the_server_can_be_asked() {
    let mut world = World::new(5);
    with_lookup(&mut world);
    world.lookup_says = || says("not_applied");
    world.server.plan([Turn::DeclineUnstored]);
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    let rejected = State::Rejected { evidence: Evidence::Reconciliation, replaceable: true };
    assert_eq!(world.state_of(ticket), rejected);
}

#[test]
fn asking_while_it_waits_does_not_stop_it_from_being_sent() {
    let mut world = World::new(6);
    world.server.plan([Turn::Fails(Fault::Timeout), Turn::Says(with_header(json(503), "retry-after", "600"))]);
    let realm = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    let asked = Change::Reconcile(world.intent_of(ticket).id);
    steer(&mut world, realm, 77, asked);
    world.run_for(MINUTE);
    assert_eq!(world.asked_about.len(), 1);
    assert!(!world.intent_of(ticket).reconciling.asked);
    assert_eq!(world.counts.sends, 2, "the server's wait still holds");
    world.run_for(20 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { evidence: Evidence::Reply, .. }));
}

/// Found by seed 3584: asked about while its only attempt was under way, which then was taken back. Nothing was unknown any
/// more, and the question that nobody could answer kept it from ever being sent.
#[test]
fn a_question_does_not_outlive_its_reason() {
    let mut world = World::new(3584);
    let realm = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(realm, 1);
    assert!(world.run_until(MINUTE, |world| world.counts.authorizations > 0));
    assert!(world.run_until(MINUTE, |world| world.ledger.intents()[0].maybe_sent()));
    world.freeze(realm);
    let other = world.open_with(|settings| settings.can_reconcile = true);
    let asked = Change::Reconcile(world.ledger.intents()[0].id.clone());
    steer(&mut world, other, 77, asked);
    world.run_for(SECOND);
    world.thaw(realm);
    world.run_for(2 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }), "{:?}", world.intent_of(ticket));
    assert_eq!(world.effects_of(1), 1);
}

/// The page that asked is gone, and the next one's app cannot say.
#[test]
fn a_question_that_nobody_can_answer_holds_nothing_up() {
    let mut world = World::new(12);
    world.server.plan([Turn::Says(with_header(json(503), "retry-after", "60"))]);
    let realm = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    world.close(realm);
    let other = world.open();
    let asked = Change::Reconcile(world.ledger.intents()[0].id.clone());
    steer(&mut world, other, 77, asked);
    world.run_for(10 * MINUTE);
    let intent = world.ledger.intents().remove(0);
    assert!(matches!(intent.state, State::Succeeded { .. }), "{ticket}: {intent:?}");
}

#[test]
fn the_app_prepares_every_attempt_and_takes_nothing_away() {
    let mut world = World::new(7);
    world.prepare = |outgoing| {
        let header = |name: &str, value: String| (name.to_owned(), value);
        let key = outgoing.headers.iter().find(|(name, _)| name == "Idempotency-Key");
        assert!(key.is_some() && outgoing.body.is_some(), "it sees what will be sent");
        Some(Prepared {
            headers: vec![header("authorization", "stolen".into()), header("Idempotency-Key", "another".into())],
            body: None,
        })
    };
    world.server.plan([Turn::LostOnReturn]);
    let realm = world.open_with(|settings| settings.prepares = true);
    let ticket = world.submit(realm, 1);
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { replay: Replay::Replayed, .. }));
    assert_eq!((world.effects_of(1), world.keys_of(1).len()), (1, 1));
}

#[test]
fn an_attempt_that_could_not_be_prepared_was_not_sent() {
    let mut world = World::new(8);
    world.prepare = |outgoing| (outgoing.attempt > 2).then(Prepared::default);
    let realm = world.open_with(|settings| settings.prepares = true);
    let ticket = world.submit(realm, 1);
    world.run_for(500);
    assert_eq!((world.counts.sends, world.intent_of(ticket).maybe_sent()), (0, false), "still cancellable");
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.counts.sends, world.effects_of(1)), (1, 1));
}

#[test]
fn a_rate_limit_keeps_the_whole_origin_quiet_and_then_lets_all_go() {
    let mut world = World::new(9);
    world.server.plan([Turn::Says(with_header(json(429), "retry-after", "60"))]);
    let realm = world.open();
    let first = world.submit(realm, 1);
    world.run_for(SECOND);
    assert_eq!(world.counts.sends, 1);
    let others: Vec<u64> = (2..=5).map(|number| world.submit(realm, number)).collect();
    world.run_for(50 * SECOND);
    assert_eq!(world.counts.sends, 1, "nobody is sent while the server wants peace");
    assert!(world.counts.loads < 20, "and nobody asks all the time: {:?}", world.counts);
    world.run_for(MINUTE);
    for ticket in others.into_iter().chain([first]) {
        assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    }
}

#[test]
fn p8_2_a_guest_signs_in_while_offline() {
    let mut world = World::new(10);
    world.go_offline();
    let guest = world.open_as("guest-7");
    let ticket = world.submit(guest, 1);
    world.run_for(MINUTE);
    let account = world.open_as("user-1");
    let (from, to) = (ScopeHash::of("guest-7"), ScopeHash::of("user-1"));
    let adopt = Adopt { from, to, intents: vec![world.intent_of(ticket).id] };
    steer(&mut world, account, 77, Change::Adopt(adopt));
    world.run_for(SECOND);
    assert!(matches!(world.done.get(&77), Some(Ok(Applied::Adopted { moved, .. })) if moved.len() == 1));
    world.go_online();
    world.run_for(MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
    assert_eq!((world.effects_of(1), world.counts.sends), (1, 1), "law 9 is checked at each send");
}

/// Found by seed 40263629: what was found out could not be recorded, and the app resumed the intent while the claim to ask
/// still held. It was due, nobody could claim it, and nobody looked again when they could have.
#[test]
fn what_is_due_under_another_purpose_s_claim_is_taken_up_when_that_ends() {
    let mut world = World::new(9);
    world.findings = |_| Finding::NotFound;
    world.server.plan([stuck()]);
    let tab = world.open_with(|settings| settings.can_reconcile = true);
    let ticket = world.submit(tab, 1);
    assert!(world.run_until(MINUTE, |world| world.asked_about.len() == 1));
    world.ledger.fail_next([LedgerFault::Aborted]);
    world.run_for(100);
    let intent = world.intent_of(ticket);
    let live = intent.claim.as_ref().map(|claim| claim.purpose);
    assert_eq!((live, intent.reconciling.looks), (Some(Purpose::Reconcile), 0), "what it found is not in");
    steer(&mut world, tab, 88, Change::Resume(intent.id.clone()));
    world.run_for(MINUTE);
    assert_eq!((world.state_of(ticket).name(), world.counts.sends), ("succeeded", 2));
}
