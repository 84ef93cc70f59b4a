//! Every storage operation N fails, for every N of a full run and in every way that it can: once, and from N on for a
//! while. Whatever fails, the laws hold, nothing is paid twice or lost, and everything comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use intento::core::change::{Adopt, Applied, Change, Replace, Submit};
use intento::core::contract::Fault;
use intento::core::input::{CommitError, Input};
use intento::core::intent::{Evidence, IntentRecord, State};
use intento::core::key::{IntentId, ScopeHash};
use intento::core::limits::LIST_MAX;
use intento::core::shared::Shared;
use intento::core::submission::ExpiresIn;
use intento::ledger::store::Store;
use sim::schedule::CALM_MS;
use sim::world::now;
use sim::{HOUR, LedgerFault, MINUTE, Operation, RealmNo, SECOND, Turn, World, json, with_header};

/// How many operations, from N on, an outage lasts: one; a few; more than facts are offered before they are given up.
const OUTAGES: [usize; 3] = [1, 8, 60];
/// A device that is full may stay full.
const FOR_GOOD: usize = usize::MAX;
/// How often the app says again what was not taken, and how long it waits for a word: longer than any outage.
const SAID_MAX: usize = 100;
const WORD_MS: u64 = 10 * MINUTE;
/// How long outcomes may take to reach the app once everything is settled.
const HANDING_OVER_MS: u64 = 10 * MINUTE;
const GUEST: &str = "guest-7";

/// Runs a story once as it should go, then once for each operation, fault and length. Cases that must be reached.
fn every_operation_fails(live: fn(&mut World), as_it_should: fn(&World), cases_min: usize) {
    let mut told = World::new(1);
    prepare(&mut told);
    *told.ledger.log.borrow_mut() = Some(Vec::new());
    live(&mut told);
    let operations = told.ledger.log.take().unwrap();
    come_to_an_end(&mut told);
    as_it_should(&told);

    let mut cases = 0;
    let mut kinds: BTreeMap<Operation, usize> = BTreeMap::new();
    for (number, operation) in operations.iter().enumerate() {
        for fault in LedgerFault::ALL.into_iter().filter(|fault| fault.fits(*operation)) {
            for length in OUTAGES.into_iter().chain((fault == LedgerFault::Quota).then_some(FOR_GOOD)) {
                let case = Case(format!("operation {number}, {operation:?}: {fault:?}, {length} times"));
                let mut world = World::new(1);
                prepare(&mut world);
                world.ledger.fail_operations(number..number.saturating_add(length), fault);
                live(&mut world);
                if length != FOR_GOOD {
                    world.ledger.heal();
                }
                come_to_an_end(&mut world);
                assert!(world.ledger.struck.get() > 0, "{} did not come about", case.0);
                if fault == LedgerFault::Quota || length == 1 {
                    as_it_should(&world);
                }
                cases += 1;
                *kinds.entry(*operation).or_default() += 1;
            }
        }
    }
    println!("{} operations, {cases} cases: {kinds:?}", operations.len());
    let commits = [Operation::Commit { answer: false }, Operation::Commit { answer: true }];
    let all = [Operation::Open, Operation::Read, Operation::Due, Operation::Inbox, Operation::List];
    assert!(commits.iter().chain(&all).all(|operation| kinds.contains_key(operation)), "{kinds:?}");
    assert!(cases >= cases_min, "{cases} cases only");
}

/// Says of itself which case it was, where one fails.
struct Case(String);

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

fn prepare(world: &mut World) {
    world.server.asks = true;
    world.server.work_ms = 100;
    // The app's handler fails at first.
    world.handler = |nth| Some(nth != 1);
}

/// Nothing helps: the tabs that are open must do it by themselves.
fn come_to_an_end(world: &mut World) {
    assert!(world.network.up && world.realms().into_iter().all(|realm| !world.is_frozen(realm)));
    let end_ms = world.now_ms + CALM_MS;
    assert!(world.run_until(end_ms, World::is_settled), "stuck: {:?}", world.ledger.intents());
    world.run_for(HANDING_OVER_MS);
    assert!(world.is_settled());
    world.check_the_end();
    nothing_is_lost(world);
    paid_once(world);
}

/// What was acknowledged is there, and every outcome reached the app.
fn nothing_is_lost(world: &World) {
    for applied in world.done.values().flatten() {
        if let Applied::Submitted { intent, .. } = applied {
            assert!(world.ledger.intent(&intent.id).is_some(), "lost: {intent:?}");
        }
    }
    for intent in world.ledger.intents() {
        assert!(!intent.has_ended() || intent.delivery.acknowledged.is_some(), "not handed over: {intent:?}");
        let handed = world.delivered.iter().any(|(_, id, _)| *id == intent.id);
        assert!(handed || !matches!(intent.state, State::Succeeded { .. }), "never told: {intent:?}");
    }
}

/// One order, one effect, whatever became of the intents that it took.
fn paid_once(world: &World) {
    let mut paid: BTreeMap<String, u32> = BTreeMap::new();
    for intent in world.ledger.intents() {
        let effects = world.server.effects_of_key.get(intent.key.expose()).copied().unwrap_or(0);
        *paid.entry(intent.reference.clone().unwrap_or_default()).or_default() += effects;
    }
    assert!(paid.values().all(|effects| *effects <= 1), "{paid:?}");
    let total: u32 = world.server.effects.values().sum();
    assert_eq!(total, paid.values().sum::<u32>(), "paid under a key that no intent has");
}

/// Submits an order until it is acknowledged, as an app must whose submit failed or whose fate is unknown.
fn submit(world: &mut World, tab: RealmNo, order: u32, expires_in: ExpiresIn) -> IntentId {
    for _ in 0..SAID_MAX {
        let ticket = world.submit_with(tab, order, |submission| submission.expires_in = expires_in);
        assert!(world.run_until(world.now_ms + WORD_MS, |world| world.done.contains_key(&ticket)), "no word");
        match &world.done[&ticket] {
            Ok(applied) => return applied.intent().unwrap().id.clone(),
            Err(error) => assert!(!matches!(error, CommitError::Refused(_)), "{error:?}"),
        }
        world.run_for(SECOND);
    }
    panic!("order {order} was never taken");
}

/// Decides something until it is taken or refused.
fn steer(world: &mut World, tab: RealmNo, change: impl Fn(&mut World) -> Change) -> Result<Applied, CommitError> {
    for number in 0..SAID_MAX as u64 {
        let ticket = (1 << 32) + world.now_ms * SAID_MAX as u64 + number;
        let change = Box::new(change(world));
        world.input(tab, Input::Steer { ticket, change });
        assert!(world.run_until(world.now_ms + WORD_MS, |world| world.done.contains_key(&ticket)), "no word");
        match &world.done[&ticket] {
            Err(CommitError::Failed | CommitError::Unknown | CommitError::Unreadable) => world.run_for(SECOND),
            done => return done.clone(),
        }
    }
    panic!("never taken");
}

/// The successor of what came to nothing, decided once more where the first word was lost.
fn replace(world: &mut World, tab: RealmNo, predecessor: &IntentId) -> Shared<IntentRecord> {
    let first = world.successor(tab, &world.intent(predecessor)).unwrap();
    let change = |world: &mut World| {
        let again = world.successor(tab, &world.intent(predecessor)).unwrap();
        let successor = Submit { body: first.body.clone(), fingerprint: first.fingerprint.clone(), ..again };
        let reason = "another card".to_owned();
        Change::Replace(Box::new(Replace { predecessor: predecessor.clone(), successor, reason }))
    };
    let applied = steer(world, tab, change).unwrap();
    applied.intent().unwrap().clone()
}

fn settle(world: &mut World, intent: &IntentId) -> State {
    let end_ms = world.now_ms + CALM_MS;
    let ended = world.run_until(end_ms, |world| {
        let state = world.intent(intent).state;
        state.is_terminal() || matches!(state, State::Held { .. })
    });
    assert!(ended, "{:?}", world.intent(intent));
    world.intent(intent).state
}

/// What the app is shown: nothing, where the ledger cannot be read; never less than everything.
fn listed(world: &World, tab: RealmNo, scope: &str) -> Option<usize> {
    let scope = ScopeHash::of(scope);
    assert_eq!(world.engine(tab).scope(), &scope);
    let listed = now(world.ledger.list(&scope, 0, LIST_MAX)).ok()?;
    let stored = world.ledger.intents().iter().filter(|intent| intent.scope == scope).count();
    assert_eq!(listed.len(), stored, "law 8: what cannot be read is not nothing");
    Some(stored)
}

fn states(world: &World) -> BTreeSet<&'static str> {
    world.ledger.intents().iter().map(|intent| intent.state.name()).collect()
}

#[test]
fn a_lost_answer_a_busy_server_and_a_reload() {
    fn live(world: &mut World) {
        let tab = world.open();
        world.open();
        world.server.plan([Turn::LostOnReturn, Turn::Says(with_header(json(503), "retry-after", "2"))]);
        let order = submit(world, tab, 1, ExpiresIn::Default);
        world.run_for(SECOND);
        let tab = world.reload(tab);
        assert_eq!(submit(world, tab, 1, ExpiresIn::Default), order, "the same decision after a reload");
        world.input(tab, Input::Watch(order.clone()));
        listed(world, tab, "user-1");
        settle(world, &order);
        world.input(tab, Input::Unwatch(order));
        world.run_for(MINUTE);
    }
    every_operation_fails(
        live,
        |world| assert_eq!((states(world), world.effects_of(1)), (["succeeded"].into(), 1)),
        900,
    );
}

#[test]
fn a_refusal_and_another_card() {
    fn live(world: &mut World) {
        let tab = world.open();
        world.server.plan([Turn::DeclineLost, Turn::Says(json(503))]);
        let order = submit(world, tab, 1, ExpiresIn::Default);
        if settle(world, &order).safe_to_replace() {
            world.server.plan([Turn::LostOnReturn]);
            let successor = replace(world, tab, &order);
            world.run_for(SECOND);
            let tab = world.reload(tab);
            assert_eq!(submit(world, tab, 2, ExpiresIn::Default), submit(world, tab, 2, ExpiresIn::Default));
            settle(world, &successor.id);
            listed(world, tab, "user-1");
        }
        world.run_for(MINUTE);
    }
    let as_it_should = |world: &World| {
        assert_eq!(states(world), ["rejected", "succeeded"].into());
        assert!(world.ledger.intents().iter().any(|intent| intent.predecessor.is_some()));
    };
    every_operation_fails(live, as_it_should, 800);
}

#[test]
fn what_nobody_answers_is_found_out() {
    fn live(world: &mut World) {
        let tab = world.open();
        let stuck = || Turn::Says(with_header(json(500), "idempotent-replayed", "true"));
        world.server.plan([Turn::LostOnReturn, stuck()]);
        let paid = submit(world, tab, 1, ExpiresIn::Default);
        settle(world, &paid);
        world.server.plan([Turn::LostOnTheWay, stuck()]);
        let unpaid = submit(world, tab, 2, ExpiresIn::Default);
        settle(world, &unpaid);
        let asked = steer(world, tab, |_| Change::Reconcile(unpaid.clone()));
        assert!(asked.is_ok() || world.intent(&unpaid).has_ended(), "{asked:?}");
        let tab = world.reload(tab);
        listed(world, tab, "user-1");
        let end_ms = world.now_ms + HOUR;
        world.run_until(end_ms, |world| world.intent(&unpaid).has_ended());
        if world.intent(&unpaid).state.safe_to_replace() {
            replace(world, tab, &unpaid);
        }
        world.run_for(MINUTE);
    }
    let as_it_should = |world: &World| {
        assert_eq!(states(world), ["not_applied", "succeeded"].into());
        let found = |intent: &Shared<IntentRecord>| {
            matches!(intent.state, State::Succeeded { evidence: Evidence::Reconciliation, .. })
        };
        assert!(world.ledger.intents().iter().any(found));
        assert_eq!(world.ledger.intents().len(), 3, "and decided anew");
    };
    every_operation_fails(live, as_it_should, 800);
}

#[test]
fn two_tabs_a_freeze_and_a_guest_who_signs_in() {
    fn live(world: &mut World) {
        world.latency_max_ms = 20;
        world.server.work_ms = 5 * SECOND;
        let (left, right) = (world.open(), world.open());
        let order = submit(world, left, 1, ExpiresIn::Default);
        assert_eq!(submit(world, right, 1, ExpiresIn::Default), order);
        world.run_until(world.now_ms + MINUTE, |world| world.counts.sends == 1);
        world.freeze(left);
        world.run_for(MINUTE);
        world.thaw(left);
        settle(world, &order);

        world.go_offline();
        let regretted = submit(world, right, 2, ExpiresIn::Default);
        let stale = submit(world, left, 3, ExpiresIn::AfterMs(2 * MINUTE));
        let guest = world.open_as(GUEST);
        let theirs = submit(world, guest, 4, ExpiresIn::Never);
        steer(world, right, |_| Change::Cancel(regretted.clone())).unwrap();
        let (from, to) = (ScopeHash::of(GUEST), ScopeHash::of("user-1"));
        let adopt = || Change::Adopt(Adopt { from: from.clone(), to: to.clone(), intents: vec![theirs.clone()] });
        let adopted = steer(world, right, |_| adopt()).unwrap();
        assert!(matches!(adopted, Applied::Adopted { moved, .. } if moved.len() == 1));
        world.run_for(3 * MINUTE);
        world.go_online();
        listed(world, guest, GUEST);
        assert_eq!(settle(world, &stale), State::Expired);
        settle(world, &theirs);
        world.run_for(MINUTE);
    }
    let as_it_should = |world: &World| {
        assert_eq!(states(world), ["cancelled", "expired", "succeeded"].into());
        assert_eq!([1, 2, 3, 4].map(|order| world.effects_of(order)), [1, 0, 0, 1]);
    };
    every_operation_fails(live, as_it_should, 1_800);
}

#[test]
fn what_was_accepted_is_fetched_by_the_next_tab() {
    fn live(world: &mut World) {
        world.poll_says = Some(|_| json(200));
        let tab = world.open();
        world.server.plan([Turn::Fails(Fault::Timeout), Turn::Accept]);
        let order = submit(world, tab, 1, ExpiresIn::Default);
        world.run_for(2 * MINUTE);
        let tab = world.reload(tab);
        world.poll_says = None;
        listed(world, tab, "user-1");
        settle(world, &order);
        world.run_for(MINUTE);
    }
    let as_it_should = |world: &World| {
        assert_eq!((states(world), world.effects_of(1)), (["succeeded"].into(), 1));
        assert!(world.polls.len() > 2, "{:?}", world.polls);
    };
    every_operation_fails(live, as_it_should, 1_000);
}
