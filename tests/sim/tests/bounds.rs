//! Bounds (law 10): commits, attempts at a time, looks at the ledger, probes; and that one bad record stops no other.

use intento::core::change::{Applied, Refusal};
use intento::core::effect::Effect;
use intento::core::engine::Engine;
use intento::core::input::{Authorized, CommitError, Credentials, DuePage, Input, Lock, Wake};
use intento::core::intent::{HeldReason, IntentRecord, State};
use intento::core::key::IntentId;
use intento::core::limits::{ATTEMPTS_PER_MINUTE_MAX, COMMIT_BATCH_MAX, DUE_PAGE_GROWN_MAX, DUE_PAGE_MAX, RUNS_MAX};
use intento::core::reach::OriginRecord;
use intento::core::record::RecordKey;
use intento::core::shared::Shared;
use intento::core::time::{Moment, Stamp};
use sim::world::ORIGIN;
use sim::{HOUR, LedgerFault, MINUTE, SECOND, World};

#[test]
fn law_8_a_poisoned_intent_blocks_no_other() {
    let mut world = World::new(10);
    world.go_offline();
    let realm = world.open();
    // More poison than a page holds, and due before the good one.
    let poisoned = DUE_PAGE_MAX * 2 + 3;
    let bad: Vec<u64> = (0..poisoned).map(|number| world.submit(realm, number)).collect();
    world.run_for(SECOND);
    for ticket in &bad {
        let id = world.intent_of(*ticket).id;
        world.ledger.damage(RecordKey::Payload(id));
    }
    let good = world.submit(realm, 1_000);
    world.run_for(SECOND);
    world.go_online();
    world.run_for(10 * MINUTE);
    assert!(matches!(world.state_of(good), State::Succeeded { .. }), "{:?}", world.intent_of(good));
    let held = State::Held { reason: HeldReason::Undecodable };
    assert!(bad.iter().all(|ticket| world.state_of(*ticket) == held), "kept, and never sent");
    assert_eq!(world.counts.sends, 1);
}

/// What cannot run here, however much of it is due, hides nothing, and is not all of it in memory at once.
#[test]
fn law_12_what_cannot_run_here_hides_nothing_behind_it() {
    let mut world = World::new(11);
    world.go_offline();
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    let (mut engine, intent) = (world.engine(realm).clone(), world.intent_of(ticket));
    let config = State::Held { reason: HeldReason::Config };
    // As one transaction makes them due: many at one moment.
    let due_at = |number: u64| intent.due_at_ms.map(|at_ms| at_ms - 10_000 + number / COMMIT_BATCH_MAX as u64);
    let mut ledger: Vec<_> = (0..3_000)
        .map(|number| IntentRecord {
            id: IntentId::from(format!("held-{number}")),
            state: config.clone(),
            due_at_ms: due_at(number),
            ..intent.clone()
        })
        .collect();
    ledger.push(intent.clone());
    let origin = OriginRecord { last_answer: Some(engine.stamp()), answered: true, ..OriginRecord::default() };
    let now = Moment { wall_ms: world.wall_ms(), mono_ms: world.now_ms };
    engine.handle(Input::Wake(Wake::Online), now);
    let (mut looks, mut largest) = (0, 0);
    loop {
        let effects = engine.take_effects();
        if effects.iter().any(|effect| matches!(effect, Effect::Lock { intent: begun, .. } if *begun == intent.id)) {
            break;
        }
        let asked = effects.into_iter().find_map(|effect| match effect {
            Effect::LoadDue { span, limit } => Some((span, limit)),
            _ => None,
        });
        let (span, limit) = asked.expect("it looks on until it has seen all that is due");
        let within =
            |it: &&IntentRecord| it.due_at_ms.is_some_and(|at_ms| (span.from_ms..=span.until_ms).contains(&at_ms));
        let due: Vec<_> = ledger.iter().filter(within).take(limit as usize).cloned().map(Shared::new).collect();
        (looks, largest) = (looks + 1, largest.max(due.len()));
        let origins = vec![(ORIGIN.into(), Shared::new(origin.clone()))];
        engine.handle(Input::Due(DuePage { due, origins, ..DuePage::default() }), now);
    }
    assert_eq!(largest, DUE_PAGE_GROWN_MAX as usize);
    assert!(looks <= 20, "{looks} looks");
}

#[test]
fn law_10_a_thousand_submits_share_their_commits() {
    let mut world = World::new(12);
    world.go_offline();
    let realm = world.open();
    world.run_for(SECOND);
    let before = world.ledger.commits();
    let tickets: Vec<u64> = (0..1_000).map(|number| world.submit(realm, number)).collect();
    assert!(world.run_until(MINUTE, |world| world.done.contains_key(&tickets[999])));
    assert!(world.ledger.commits() - before <= 5, "{} commits", world.ledger.commits() - before);
    assert!(
        tickets
            .iter()
            .all(|ticket| matches!(world.done.get(ticket), Some(Ok(Applied::Submitted { created: true, .. }))))
    );
}

#[test]
fn law_10_a_realm_runs_a_bounded_number_of_attempts() {
    let mut world = World::new(12);
    world.go_offline();
    let realm = world.open();
    let count = DUE_PAGE_MAX * 3 + 4;
    let tickets: Vec<u64> = (0..count).map(|number| world.submit(realm, number)).collect();
    world.run_for(SECOND);
    world.server.work_ms = 100;
    let before = world.ledger.commits();
    world.go_online();
    world.run_for(MINUTE);
    assert_eq!(world.counts.most_in_flight, RUNS_MAX);
    // A claim shares the transaction of the record that made room for it.
    let commits = world.ledger.commits() - before;
    assert!(commits < u64::from(count) / 2, "{commits} commits of {count} intents");
    assert!(tickets.iter().all(|ticket| matches!(world.state_of(*ticket), State::Succeeded { .. })));
    assert_eq!(world.server.effects.values().sum::<u32>(), count);
}

#[test]
fn law_10_a_quiet_world_is_quiet() {
    let mut world = World::new(13);
    let realms = [world.open(), world.open()];
    for number in 0..20 {
        world.submit(realms[0], number);
    }
    world.run_for(MINUTE);
    assert!(world.is_settled());
    let before = world.counts;
    world.run_for(HOUR);
    let loads = world.counts.loads - before.loads;
    assert!(loads <= 6, "{loads} looks at the ledger in a quiet hour");
    assert_eq!((world.counts.commits, world.counts.probes), (before.commits, before.probes));
    assert!(realms.iter().all(|realm| world.engine(*realm).wake_in_ms() > 0));
}

#[test]
fn law_10_an_offline_hour_is_bounded_too() {
    let mut world = World::new(14);
    let realm = world.open();
    world.go_offline();
    for number in 0..200 {
        world.submit(realm, number);
    }
    world.run_for(MINUTE);
    let before = world.counts;
    world.run_for(HOUR);
    let loads = world.counts.loads - before.loads;
    assert!(loads <= 1_000, "{loads} looks in an hour");
    assert!(world.counts.probes - before.probes <= 130, "a probe each half minute at most");
    assert_eq!(world.counts.sends, 0);
}

/// As in an outage, though the network is there.
#[test]
fn law_10_probes_whose_results_the_ledger_does_not_take_are_bounded() {
    let mut world = World::new(16);
    let realm = world.open();
    world.go_offline();
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    world.ledger.fail_operations(0..usize::MAX, LedgerFault::Aborted);
    world.go_online();
    let before = world.counts;
    world.run_for(HOUR);
    let probes = world.counts.probes - before.probes;
    assert!((10..=130).contains(&probes), "{probes} probes in an hour");
    assert_eq!(world.counts.sends, 0);
    world.ledger.heal();
    world.run_for(10 * MINUTE);
    assert!(matches!(world.state_of(ticket), State::Succeeded { .. }));
}

#[test]
fn a_watched_intent_is_looked_at_now_and_then() {
    let mut world = World::new(15);
    let realm = world.open();
    world.go_offline();
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    let id = world.intent_of(ticket).id;
    world.input(realm, Input::Watch(id.clone()));
    world.run_for(SECOND);
    let (looks, told) = (world.counts.looks, world.told.len());
    world.run_for(MINUTE);
    let looked = world.counts.looks - looks;
    assert!((25..=35).contains(&looked), "{looked} looks in a minute");
    assert_eq!(world.told.len(), told, "nothing is news");

    // Another tab finishes it, and its message gets lost: the look finds it.
    world.input(realm, Input::Wake(Wake::Suspended));
    world.messages_lost = true;
    world.open();
    world.go_online();
    assert!(world.run_until(world.now_ms + MINUTE, World::is_settled));
    world.run_for(3 * SECOND);
    assert!(world.told[told..].iter().any(|(to, intent, _)| *to == realm && intent.has_ended()));
    world.input(realm, Input::Unwatch(id));
    let looks = world.counts.looks;
    world.run_for(MINUTE);
    assert_eq!(world.counts.looks, looks);
}

/// What comes of it does not matter, only that it is begun: each run ends with a claim that is refused for now.
#[test]
fn law_10_no_storm_is_denser_than_a_realm_may_send() {
    let mut world = World::new(17);
    world.go_offline();
    let realm = world.open();
    let ticket = world.submit(realm, 1);
    world.run_for(SECOND);
    let mut storm = Storm { engine: world.engine(realm).clone(), intent: world.intent_of(ticket), begun: 0 };
    let at = |ms: u64| Moment { wall_ms: world.wall_ms() + ms, mono_ms: world.now_ms + ms };
    storm.engine.handle(Input::Wake(Wake::Online), at(0));
    assert!(storm.begins(at(0)), "the first");
    while storm.begun < ATTEMPTS_PER_MINUTE_MAX {
        assert!(storm.begins(at(SECOND)), "{} of {ATTEMPTS_PER_MINUTE_MAX}", storm.begun);
    }
    for ms in [SECOND, MINUTE - 1] {
        assert!(!storm.begins(at(ms)), "one more");
    }
    assert_eq!(storm.engine.wake_in_ms(), 1, "it waits, and is not dropped");
    storm.engine.handle(Input::Wake(Wake::Timer), at(MINUTE));
    let looks = |effect: &Effect| matches!(effect, Effect::LoadDue { .. });
    assert!(storm.engine.take_effects().iter().any(looks), "for what had to wait");
    assert!(storm.begins(at(MINUTE)) && !storm.begins(at(MINUTE)), "as many as a minute ago");
    assert!(storm.begins(at(MINUTE + SECOND)));
}

/// One engine, and intents that are due without end.
struct Storm {
    engine: Engine,
    intent: IntentRecord,
    begun: usize,
}

impl Storm {
    /// One more is due. Says whether the engine goes about it.
    fn begins(&mut self, now: Moment) -> bool {
        let due = IntentRecord { id: IntentId::from(format!("intent-{}", self.begun)), ..self.intent.clone() };
        let answered = Stamp { wall_ms: now.wall_ms, ..self.engine.stamp() };
        let origin = OriginRecord { last_answer: Some(answered), answered: true, ..OriginRecord::default() };
        let origins = vec![(ORIGIN.into(), Shared::new(origin))];
        let page = DuePage { due: vec![Shared::new(due)], origins, ..DuePage::default() };
        self.engine.handle(Input::Due(page), now);
        let before = self.begun;
        loop {
            let effects = self.engine.take_effects();
            if effects.is_empty() {
                return self.begun > before;
            }
            for effect in effects {
                if let Some(input) = self.answer(effect) {
                    self.engine.handle(input, now);
                }
            }
        }
    }

    fn answer(&mut self, effect: Effect) -> Option<Input> {
        Some(match effect {
            Effect::Lock { intent, .. } => Input::Lock { intent, lock: Lock::Unavailable },
            Effect::Authorize { intent, .. } => {
                self.begun += 1;
                Input::Authorized { intent, outcome: Authorized::Granted(Credentials::default()) }
            }
            Effect::Commit { batch } => {
                let refused = || CommitError::Refused(Refusal::NotBefore { at_ms: 0 });
                Input::Committed {
                    results: batch.into_iter().map(|(of, _)| (of, Err(refused()))).collect(),
                    clock: None,
                }
            }
            _ => return None,
        })
    }
}
