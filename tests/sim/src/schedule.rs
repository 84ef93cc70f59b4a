//! One life of a device, drawn from a seed: what people and platforms do, in what order, while the storm blows; then the
//! storm ends, and everything must come to an end.

mod draw;

use std::collections::BTreeSet;
use std::fmt;

use intento::core::attempt::{Attempt, AttemptState};
use intento::core::change::{Adopt, Applied, Change, MoveOut, Purge, Replace};
use intento::core::contract::{AnswerClass, AttemptReading};
use intento::core::input::{Input, Wake};
use intento::core::intent::{HeldReason, IntentRecord, State};
use intento::core::key::IntentId;
use intento::core::shared::Shared;
use intento::core::submission::{ExpiresIn, Reference, StatedBody, Submission};

use crate::profile::Profile;
use crate::realms::scope_hash;
use crate::world::{DAY, HOUR, MINUTE, POISON, RealmNo, SECOND, World};
pub use draw::{draw, has_lanes};

/// After the storm, everything must be terminal or held within this much virtual time. The longest way there is patience:
/// thirty answers "in progress", or 200 attempts,
/// each a minute apart at the most.
pub const CALM_MS: u64 = 5 * HOUR;
/// A server that asks for more gets so much before that.
const ASKED_MAX_MS: u64 = DAY;
/// What is still on the wire then arrives.
const LAST_PACKETS_MS: u64 = 5 * MINUTE;
const SCOPES: [&str; 2] = ["user-1", "guest-7"];
const ORDERS: u64 = 3;

/// What happens to the device, or is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Open {
        scope: usize,
    },
    Reload,
    Close,
    Freeze,
    Thaw,
    /// A stopped process, or a device that sleeps: nothing tells the page.
    Stop,
    /// Code that is not ours takes every lock, for so long.
    StealLocks(u64),
    /// Every tab dies. A weak tier loses what is younger than so many milliseconds.
    KillBrowser(u64),
    Offline,
    Online,
    /// In seconds.
    StepWall(i64),
    /// In minutes.
    Sleep(u64),
    /// Both in minutes. `seen`: the clock is set back while tabs still run.
    PowerOff {
        off: u64,
        behind: u64,
        seen: bool,
    },
    /// A tab stops while a claim of its waits for its turn, the clock is set back by so many minutes, another tab goes to work,
    /// and the first goes on.
    WaitOverStep {
        behind: u64,
    },
    /// One reading of the wall clock that is wild, and the next one right again.
    WildReading,
    Submit {
        order: u64,
        kind: Kind,
    },
    Cancel,
    Resume,
    /// A held intent is to stand in nobody's way.
    Skip,
    Reconcile,
    Abandon,
    Replace,
    Adopt,
    /// Somebody signs out of a device that others use.
    Purge,
    /// The app moves to another origin, and is opened at the old one once more.
    MoveOut,
    /// The device lies in a drawer for so many days; then what is old is pruned.
    Prune {
        after_days: u64,
    },
}

/// What is special about a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// The same order with another payload.
    OtherPayload,
    /// After two minutes it must not be sent any more.
    Expiring,
    /// Without a reference.
    Unnamed,
    /// Of an operation that no commit takes.
    Poisoned,
}

/// An act, and how long after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub after_ms: u64,
    /// Which of the tabs, which of the intents: taken modulo how many there are.
    pub pick: usize,
    pub act: Act,
}

/// Without its time, which a story tells.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:<5} {:?}", self.pick, self.act)
    }
}

/// How a life ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Neither terminal nor held.
    pub stuck: Vec<String>,
    pub tally: crate::tally::Tally,
    /// Of everything that left the core, where it was kept.
    pub trace: Option<u64>,
}

/// Lives these steps. Of the faults that the seed draws, only `faults` happen, where they are given.
pub fn live(seed: u64, profile: Profile, steps: &[Step], faults: Option<&BTreeSet<u32>>) -> Ended {
    live_in(World::stormy(seed, profile), steps, faults)
}

/// As [`live`], in a world that may hold more than its seed says.
pub fn live_in(mut world: World, steps: &[Step], faults: Option<&BTreeSet<u32>>) -> Ended {
    world.storm.only = faults.cloned();
    // Only a browser that is killed loses anything.
    world.weak &= steps.iter().any(|step| matches!(step.act, Act::KillBrowser(_)));
    for step in steps {
        world.run_for(step.after_ms);
        if let Some(story) = &world.storm.story {
            story.step(world.now_ms, *step);
        }
        act(&mut world, step);
    }
    calm(&mut world);
    let end_ms = world.now_ms + CALM_MS + if world.storm.asked_too_much { ASKED_MAX_MS } else { 0 };
    world.run_until(end_ms, World::is_settled);
    let open = |intent: &&Shared<IntentRecord>| !world.is_at_an_end(intent);
    let stuck = world.ledger.intents().iter().filter(open).map(|intent| describe(intent)).collect();
    // What is still on the wire arrives, and changes nothing.
    world.run_for(LAST_PACKETS_MS);
    world.check_the_end();
    world.count_intents();
    Ended { stuck, tally: world.tally, trace: world.trace.value() }
}

fn describe(intent: &IntentRecord) -> String {
    format!("{:?} due {:?} after {} attempts", intent.state, intent.due_at_ms, intent.history.total)
}

/// No more faults: the network works, storage works, the server works, and at least one tab of each scope is open.
fn calm(world: &mut World) {
    world.storm.calm();
    world.ledger.heal();
    for realm in world.realms() {
        world.thaw(realm);
    }
    world.go_online();
    // A queue that lived through all of it must find its way out of it by itself.
    for scope in SCOPES {
        let open = |realm: &RealmNo| *world.engine(*realm).scope() == scope_hash(scope);
        if !world.realms().iter().any(open) {
            world.open_as(scope);
        }
    }
    world.run_for(SECOND);
}

fn act(world: &mut World, step: &Step) {
    let realms = world.realms();
    let realm = realms.get(step.pick % realms.len().max(1)).copied();
    match (step.act, realm) {
        (Act::Open { scope }, _) if realms.len() < 4 => {
            world.open_as(SCOPES[scope % SCOPES.len()]);
            world.tally.three_tabs += u64::from(realms.len() == 2);
        }
        (Act::Open { .. }, _) | (_, None) => {}
        (Act::Reload, Some(realm)) => world.reload_same(realm),
        (Act::Close, Some(realm)) => world.crash(realm),
        (Act::Freeze, Some(realm)) => {
            // Half of them come between a claim and what follows from it.
            if step.pick & 1 == 0 {
                until(world, |world| world.is_claiming(realm));
            }
            world.tally.frozen_sending += u64::from(world.server.in_flight(realm) > 0);
            world.freeze(realm);
        }
        (Act::Stop, Some(realm)) => {
            world.tally.stopped += 1;
            world.stop(realm);
        }
        (Act::StealLocks(for_ms), _) => {
            world.tally.stolen += 1;
            world.steal_locks(for_ms);
        }
        (Act::KillBrowser(loses_ms), _) => {
            world.tally.killed += 1;
            world.kill_browser(loses_ms);
        }
        (Act::Thaw, Some(realm)) => {
            world.tally.thawed += u64::from(world.is_frozen(realm));
            world.thaw(realm);
        }
        (Act::Offline, _) => {
            world.tally.offline += 1;
            world.go_offline();
        }
        (Act::Online, _) => world.go_online(),
        (Act::StepWall(seconds), _) => {
            world.tally.clock_back += u64::from(seconds < -60);
            world.tally.clock_ahead += u64::from(seconds > 3_600);
            world.step_wall(seconds * 1_000);
        }
        (Act::Sleep(minutes), _) => world.sleep(minutes * MINUTE),
        (Act::PowerOff { off, behind, seen }, _) => {
            world.tally.clock_back += u64::from(behind > 1);
            if seen || step.pick & 1 == 0 {
                until(world, World::is_sending);
            }
            power_off(world, off * MINUTE, behind * MINUTE, seen);
        }
        (Act::WaitOverStep { behind }, Some(realm)) => {
            until(world, |world| world.waits_to_claim(realm));
            world.tally.waited_over_step += u64::from(world.waits_to_claim(realm));
            let scope = world.scopes[&realm].clone();
            world.freeze(realm);
            world.step_wall(-((behind * MINUTE) as i64));
            world.open_as(&scope);
            until(world, World::is_sending);
            world.thaw(realm);
        }
        (Act::WildReading, Some(realm)) => {
            world.tally.clock_ahead += 1;
            // Half of them come while a commit is under way, which knows another time.
            if step.pick & 1 == 0 {
                until(world, |world| world.is_committing(realm));
            }
            let ahead_ms = 4_000 * DAY as i64;
            world.step_wall(ahead_ms);
            world.input(realm, Input::Wake(Wake::Visible));
            world.run_for(50);
            world.step_wall(-ahead_ms);
            // Some tabs go on to pay, and die while that waits.
            if step.pick & 2 == 0 {
                let order = (step.pick >> 4) as u64 % ORDERS;
                world.submit_with(realm, order as u32, |submission| state(submission, order, Kind::Unnamed));
                until(world, World::is_waiting);
                world.crash(realm);
            }
        }
        (Act::Submit { order, kind }, Some(realm)) => {
            let lane = lane(world, step.pick);
            world.submit_with(realm, order as u32, |submission| {
                state(submission, order, kind);
                submission.lane = lane;
            });
        }
        (_, Some(realm)) => steer(world, realm, step),
    }
}

/// Lets things go on until something holds, if it soon does.
fn until(world: &mut World, holds: impl Fn(&World) -> bool) {
    let until_ms = world.now_ms + 2 * SECOND;
    world.run_until(until_ms, holds);
}

/// The device is off for so long, and when it starts again, with a tab for each scope that had one, its clock is behind by so
/// much.
fn power_off(world: &mut World, ms: u64, behind_ms: u64, seen: bool) {
    const STILL_ON_MS: u64 = 11 * SECOND;
    let back = |world: &mut World| {
        if behind_ms > 0 {
            world.step_wall(-(behind_ms as i64));
        }
    };
    if seen {
        back(world);
        world.run_for(STILL_ON_MS);
    }
    let scopes = world.close_all();
    world.run_for(ms);
    if !seen {
        back(world);
    }
    scopes.iter().for_each(|scope| {
        world.open_as(scope);
    });
}

/// In a life with lanes, most intents have one of two.
fn lane(world: &World, pick: usize) -> Option<String> {
    let lane = [None, Some("table-7"), Some("table-7"), Some("bar")][(pick >> 8) % 4];
    lane.filter(|_| world.lanes).map(str::to_owned)
}

fn state(submission: &mut Submission, order: u64, kind: Kind) {
    submission.expires_in = ExpiresIn::Never;
    match kind {
        Kind::Plain => {}
        Kind::OtherPayload => {
            submission.body = Some(StatedBody::json(format!("{{\"order\":{order},\"other\":true}}")));
        }
        Kind::Expiring => submission.expires_in = ExpiresIn::AfterMs(2 * MINUTE),
        Kind::Unnamed => submission.reference = Reference::OptedOut,
        Kind::Poisoned => submission.operation = POISON.to_owned(),
    }
}

/// What an app does with an intent of the tab's scope.
fn steer(world: &mut World, realm: RealmNo, step: &Step) {
    if step.act == Act::Adopt {
        return adopt(world);
    }
    if let Act::Prune { after_days } = step.act {
        power_off(world, after_days * DAY, 0, false);
        let Some(realm) = world.realms().into_iter().next() else { return };
        return name_all(world, realm, Change::Prune);
    }
    let scope = world.engine(realm).scope().clone();
    let mut intents = world.ledger.intents();
    intents.retain(|intent| intent.scope == scope);
    if step.act == Act::Skip {
        intents.retain(|intent| intent.lane.is_some() && matches!(intent.state, State::Held { .. }));
    }
    let Some(intent) = intents.get((step.pick >> 4) % intents.len().max(1)) else { return };
    let id = intent.id.clone();
    let change = match step.act {
        Act::Cancel => Change::Cancel(id),
        Act::MoveOut => return name_all(world, realm, |intents| Change::MoveOut(MoveOut { scope, intents })),
        Act::Purge => return name_all(world, realm, |intents| Change::Purge(Purge { scope, intents })),
        Act::Resume => Change::Resume(id),
        Act::Skip => Change::Skip(id),
        Act::Reconcile => Change::Reconcile(id),
        Act::Abandon if intent.maybe_sent() => Change::Abandon { intent: id, reason: "no patience".to_owned() },
        Act::Replace => match world.successor(realm, intent) {
            Some(successor) => {
                Change::Replace(Box::new(Replace { predecessor: id, successor, reason: "another card".to_owned() }))
            }
            None => return,
        },
        _ => return,
    };
    world.steer(realm, change);
    // Half of those who give up ask at once what became of it.
    if step.act == Act::Abandon && step.pick & 1 == 0 {
        world.steer(realm, Change::Reconcile(intent.id.clone()));
    }
}

/// Names every intent of a tab's scope in one change.
fn name_all(world: &mut World, realm: RealmNo, change: impl FnOnce(Vec<IntentId>) -> Change) {
    let scope = world.engine(realm).scope().clone();
    let intents = world.ledger.intents().into_iter().filter(|intent| intent.scope == scope);
    let change = change(intents.map(|intent| intent.id.clone()).collect());
    world.steer(realm, change);
}

/// The guest signs in, where the account has a tab.
fn adopt(world: &mut World) {
    let [to, from] = SCOPES.map(scope_hash);
    let realms = world.realms();
    let Some(realm) = realms.into_iter().find(|realm| *world.engine(*realm).scope() == to) else { return };
    let mut intents = world.ledger.intents();
    intents.retain(|intent| intent.scope == from);
    let intents = intents.into_iter().map(|intent| intent.id.clone()).collect();
    world.steer(realm, Change::Adopt(Adopt { from, to, intents }));
}

impl World {
    /// What the run has shown, once more.
    fn count_intents(&mut self) {
        self.tally.lost += self.laws.lost.len() as u64;
        self.tally.passed_on += self.locks.passed_on;
        self.tally.taken += self.locks.taken;
        self.tally.two_builds += u64::from(self.deployed.is_some());
        for (_, result) in core::mem::take(&mut self.done) {
            match result {
                Ok(Applied::Adopted { moved, .. }) => self.tally.adopted += moved.len() as u64,
                Ok(Applied::Cancelled { cancelled: true, .. }) => self.tally.cancelled += 1,
                _ => {}
            }
        }
        for intent in self.ledger.intents() {
            let held = |reason| intent.state == State::Held { reason };
            self.tally.window_closed += u64::from(held(HeldReason::WindowClosed));
            self.tally.expired_unsent += u64::from(intent.state == State::Expired);
            self.tally.replaced += u64::from(intent.predecessor.is_some());
            self.tally.contradicted += u64::from(intent.contradicted);
            self.tally.behind_held += u64::from(self.laws.before_in_lane(&intent).next().is_some());
            self.tally.delivered += u64::from(intent.delivery.acknowledged.is_some());
            let asked = |attempt: &&Attempt| matches!(attempt.state, AttemptState::Ended { retry_after_ms: Some(wait_ms), .. } if wait_ms > 1_000);
            let refused = |attempt: &&Attempt| {
                let auth = AnswerClass::Auth;
                matches!(attempt.state, AttemptState::Ended { reading: AttemptReading::Answer { class, .. }, .. } if class == auth)
            };
            self.tally.auth_held += intent.history.attempts.iter().filter(refused).count() as u64;
            self.tally.retry_after += intent.history.attempts.iter().filter(asked).count() as u64;
        }
    }
}
