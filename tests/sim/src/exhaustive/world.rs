//! A device with one intent and two realms, as a value: what can happen in it, and what it is afterwards.

use std::cell::RefCell;
use std::rc::Rc;

use intento::core::intent::{IntentRecord, State};
use intento::core::key::IntentId;
use intento::core::limits::TIMER_MAX_MS;
use intento::core::shared::Shared;

use super::Scope;
use super::locks::Locks;
use super::network::{Packet, Server};
use super::realm::{HOURLY, Realm, Sleep};
use crate::laws::sending::FirstSend;
use crate::ledger::Ledger;
use crate::server::decide::End;
use crate::world::{ATTEMPT_MS, HOUR, RealmNo};

/// Far above every length of time, so that a moment can be told from a length by its size.
pub(super) const START_MS: u64 = 1_800_000_000_000;
/// Windows and retentions are a day: a search that ends before them need not tell apart how old an intent is.
const LONGEST_MS: u64 = 12 * HOUR;
const AN_HOUR: Event = Event::Pass(TIMER_MAX_MS as u32);

/// One of the two realms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Left, Self::Right];

    pub(super) fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// What can happen next. Packets go by their place in [`World::packets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Open(Side),
    Crash(Side),
    Freeze(Side),
    /// Nothing tells it that it stops.
    Stop(Side),
    Thaw(Side),
    /// The lock that a realm has waited for comes to it.
    Granted(Side),
    /// The browser has noticed that the lock's holder is dead.
    Freed,
    /// The realm's transaction decides and is durable.
    Commit(Side),
    /// The realm learns what its transaction did.
    Committed(Side),
    Due(Side),
    Inbox(Side),
    /// The app's handler has resolved.
    Handled(Side),
    Timer(Side),
    /// The app has this realm find out what became of the intent.
    Ask(Side),
    /// The app's question reaches the server, which seals what it does not know.
    LookUp(Side),
    /// The server's word on it reaches the realm.
    Found(Side),
    Arrive(u8),
    /// The server's run ends.
    Complete(u8, End),
    Answer(u8),
    /// The attempt's own deadline: the page aborts it, and what is on the wire travels on.
    Deadline(u8),
    LoseRequest(u8),
    LoseAnswer(u8),
    /// From now on there are two of it.
    Double(u8),
    /// It arrives after everything else, if ever.
    Delay(u8),
    /// A refusal from behind the layer that nothing stores.
    RefuseUnstored(u8),
    /// The server dies after it has reserved the key.
    ServerDies(u8),
    /// The server forgets the answer, not that the key was used.
    Prune,
    /// Nothing waits to happen, and so many milliseconds pass.
    Pass(u32),
    /// So many pass while something waits: it is late.
    Jump(u32),
}

/// Cheap to clone: what two worlds have in common they share.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) now_ms: u64,
    realms: [Rc<Realm>; 2],
    pub(super) ledger: Rc<Ledger>,
    /// The intent as the ledger has it.
    pub(super) intent: Option<Shared<IntentRecord>>,
    pub(super) id: Rc<IntentId>,
    pub(super) locks: Locks,
    pub(super) server: Server,
    pub(super) packets: Vec<Packet>,
    /// What may still go wrong.
    pub(super) left: Scope,
    pub(super) realms_opened: RealmNo,
    /// What the first send of all put on the wire: every other must put the same (law 2).
    pub(super) first_send: Rc<RefCell<Option<FirstSend>>>,
}

impl World {
    /// Two realms at an empty ledger, and the decision just made in the left one.
    pub(super) fn new(scope: Scope) -> Self {
        let mut world = Self {
            now_ms: START_MS,
            realms: [Rc::default(), Rc::default()],
            ledger: Rc::new(Ledger::without_journal()),
            intent: None,
            id: Rc::new(IntentId::from("")),
            locks: Locks::default(),
            server: Server::default(),
            packets: Vec::new(),
            left: scope,
            realms_opened: 0,
            first_send: Rc::default(),
        };
        world.know_the_origin();
        Side::BOTH.into_iter().for_each(|side| world.open(side));
        world.submit(Side::Left);
        world
    }

    pub(super) fn realm(&self, side: Side) -> &Realm {
        match side {
            Side::Left => &self.realms[0],
            Side::Right => &self.realms[1],
        }
    }

    pub(super) fn realm_mut(&mut self, side: Side) -> &mut Realm {
        let realm = match side {
            Side::Left => &mut self.realms[0],
            Side::Right => &mut self.realms[1],
        };
        let realm = Rc::make_mut(realm);
        realm.likeness.set(None);
        realm
    }

    pub(super) fn side_of(&self, number: RealmNo) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self.realm(*side).number == number && self.realm(*side).lives())
    }

    /// Everything that can happen.
    pub(super) fn enabled(&self) -> Enabled {
        let mut events = Vec::with_capacity(16);
        for side in Side::BOTH {
            self.realm(side).enabled(side, self.now_ms, &mut events);
        }
        self.enabled_locks(&mut events);
        self.enabled_on_the_wire(&mut events);
        let idle = events.is_empty();
        let rests = idle && self.rests();
        let asleep = Side::BOTH.into_iter().filter(|side| !self.realm(*side).is_awake());
        let asleep: Vec<Event> = asleep.map(|side| self.wake(side)).collect();
        if idle && !rests {
            let all_asleep = asleep.len() == Side::BOTH.len();
            let moments = if all_asleep { self.all_moments() } else { self.moments() };
            let pass = match self.ahead(moments).first() {
                Some(moment) => Some(Event::Pass(self.until(*moment))),
                None => (!all_asleep).then_some(AN_HOUR),
            };
            // A realm that runs needs no other to bring the intent to an end.
            if all_asleep {
                events.extend(asleep.iter().copied().chain(pass));
            } else {
                events.extend(pass);
            }
            let fair = !events.is_empty();
            events.extend(asleep.into_iter().filter(|_| !all_asleep));
            return self.with_mishaps(events, fair, rests);
        }
        let fair = !rests;
        if self.left.jumps > 0 {
            let moments = self.ahead(self.all_moments());
            events.extend(moments.into_iter().map(|moment| Event::Jump(self.until(moment))));
        }
        events.extend(asleep);
        self.with_mishaps(events, fair, rests)
    }

    fn with_mishaps(&self, mut events: Vec<Event>, fair: bool, rests: bool) -> Enabled {
        self.enabled_by_people(&mut events);
        self.enabled_faults(&mut events);
        Enabled { events, fair, rests }
    }

    fn wake(&self, side: Side) -> Event {
        if self.realm(side).lives() { Event::Thaw(side) } else { Event::Open(side) }
    }

    fn enabled_by_people(&self, events: &mut Vec<Event>) {
        for side in Side::BOTH {
            let realm = self.realm(side);
            if realm.lives() && self.left.crashes > 0 {
                events.push(Event::Crash(side));
            }
            if realm.is_awake() && self.left.freezes > 0 {
                events.extend([Event::Freeze(side), Event::Stop(side)]);
            }
            let askable = self.intent.as_ref().is_some_and(|intent| intent.is_reconcilable());
            if realm.is_awake() && self.left.asks > 0 && askable {
                events.push(Event::Ask(side));
            }
        }
    }

    /// Has the intent come to an end, or is it held and nothing is to be done by itself? So does one that never was.
    pub(super) fn rests(&self) -> bool {
        self.intent.as_ref().is_none_or(|intent| {
            let ended = intent.has_ended() || matches!(intent.state, State::Held { .. });
            let told = !self.left.delivers || intent.delivery.due_at_ms.is_none();
            ended && told && intent.due_at_ms.is_none()
        })
    }

    /// The moments ahead at which something happens by itself.
    fn moments(&self) -> Vec<u64> {
        let mut moments = Vec::with_capacity(8);
        let awake = Side::BOTH.into_iter().filter(|side| self.realm(*side).is_awake());
        moments.extend(awake.map(|side| self.realm(side).wake_at_ms));
        let waiting = |packet: &&Packet| self.side_of(packet.waiter).is_some_and(|side| self.realm(side).is_awake());
        moments.extend(self.packets.iter().filter(waiting).map(|packet| packet.deadline_ms));
        if !self.packets.is_empty() {
            moments.extend(self.server.lease_until_ms());
        }
        moments
    }

    /// And those at which something else comes of what happens: the last at which the guard lets an attempt pass, the end
    /// of the lease, the end of the server's.
    fn all_moments(&self) -> Vec<u64> {
        let mut moments = self.moments();
        if let Some(claim) = self.intent.as_ref().and_then(|intent| intent.claim.as_ref()) {
            moments.extend([claim.lease_until_ms.saturating_sub(ATTEMPT_MS), claim.lease_until_ms]);
        }
        moments.extend(self.server.lease_until_ms());
        moments
    }

    fn ahead(&self, mut moments: Vec<u64>) -> Vec<u64> {
        moments.retain(|at_ms| *at_ms > self.now_ms && *at_ms != HOURLY);
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    fn until(&self, moment: u64) -> u32 {
        u32::try_from(moment - self.now_ms).expect("moments ahead are near")
    }

    /// The world after an event that is enabled. Panics where that breaks a law.
    pub(super) fn after(&self, event: Event) -> Self {
        let mut world = self.clone();
        world.happen(event);
        world
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Open(side) => self.open(side),
            Event::Crash(side) => {
                self.left.spend(|left| &mut left.crashes);
                self.crash(side);
            }
            Event::Freeze(side) => {
                self.left.spend(|left| &mut left.freezes);
                self.freeze(side);
            }
            Event::Stop(side) => {
                self.left.spend(|left| &mut left.freezes);
                self.realm_mut(side).sleep = Sleep::Stopped;
            }
            Event::Thaw(side) => self.thaw(side),
            Event::Granted(side) => self.granted(side),
            Event::Freed => self.freed(),
            Event::Commit(side) => self.transact(side),
            Event::Committed(side) => self.committed(side),
            Event::Due(side) => self.query(side),
            Event::Inbox(side) => self.query_inbox(side),
            Event::Handled(side) => self.handled(side),
            Event::Timer(side) => self.timer(side),
            Event::Ask(side) => {
                self.left.spend(|left| &mut left.asks);
                self.ask(side);
            }
            Event::LookUp(side) => self.look_up(side),
            Event::Found(side) => self.found(side),
            Event::Arrive(place) => self.arrive(place),
            Event::Complete(place, end) => self.complete(place, end),
            Event::Answer(place) => self.answer(place),
            Event::Deadline(place) => self.deadline(place),
            Event::Pass(ms) => self.pass(ms),
            Event::Jump(ms) => {
                self.left.spend(|left| &mut left.jumps);
                self.pass(ms);
            }
            Event::LoseRequest(_)
            | Event::LoseAnswer(_)
            | Event::Double(_)
            | Event::Delay(_)
            | Event::RefuseUnstored(_)
            | Event::ServerDies(_)
            | Event::Prune => {
                self.left.spend(|left| &mut left.faults);
                self.fault(event);
            }
        }
    }

    fn pass(&mut self, ms: u32) {
        self.now_ms += u64::from(ms);
        for side in Side::BOTH.into_iter().filter(|_| Event::Pass(ms) == AN_HOUR) {
            if self.realm(side).wake_at_ms == HOURLY {
                self.realm_mut(side).wake_at_ms = self.now_ms;
            }
        }
        assert!(self.now_ms < START_MS + LONGEST_MS, "the search has left its scope");
    }
}

#[derive(Debug)]
pub(super) struct Enabled {
    pub(super) events: Vec<Event>,
    /// Is the first what a fair world does next: nothing goes wrong, what waits happens before time passes, and who
    /// sleeps sleeps on unless everybody does?
    pub(super) fair: bool,
    /// Nothing waits to happen, and the intent has come to its end.
    pub(super) rests: bool,
}
