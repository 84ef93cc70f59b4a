//! The device's Web Locks: named after intents, first come, first served, gone with the realm that holds them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use intento::core::input::{Input, Lock};
use intento::core::key::IntentId;

use crate::world::{Event, RealmNo, World};

/// How long a browser takes to notice that a holder is dead (measured: 20 to 80 ms).
const DEATH_NOTICED_MS: (u64, u64) = (20, 60);

#[derive(Debug, Default)]
pub struct Locks {
    /// Realms whose browser has no locks, or refuses them, or whose build does not know them.
    pub(crate) without: BTreeSet<RealmNo>,
    holders: BTreeMap<IntentId, Holder>,
    /// Grants so far: one that comes late is not taken for the next.
    grants: u64,
    waiters: BTreeMap<IntentId, VecDeque<RealmNo>>,
    /// Thefts of which their realm has not heard: it is stopped.
    pub(crate) unheard: BTreeSet<(RealmNo, IntentId)>,
    /// Grants to realms that had waited.
    pub passed_on: u64,
    /// Requests that found another holder.
    pub taken: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// By which grant.
    Realm(RealmNo, u64),
    /// It has died, and the browser does not know yet.
    Dead,
    /// Code that is not ours.
    Stranger,
}

impl Locks {
    pub fn holds(&self, realm: RealmNo, intent: &IntentId) -> bool {
        matches!(self.holders.get(intent), Some(Holder::Realm(holder, _)) if *holder == realm)
    }

    /// A stopped realm cannot know that its lock was stolen from outside, and may go on before it does.
    pub fn is_stolen_unheard(&self, realm: RealmNo, intent: &IntentId) -> bool {
        self.unheard.contains(&(realm, intent.clone()))
    }
}

impl World {
    /// What a browser says to a request for a lock. The engine is told in a task of its own, as a promise would.
    pub(crate) fn lock(&mut self, realm: RealmNo, intent: IntentId, wait: bool) {
        if self.locks.without.contains(&realm) {
            return self.later(Event::Input(realm, Input::Lock { intent, lock: Lock::Unavailable }));
        }
        if !self.locks.holders.contains_key(&intent) {
            return self.grant(realm, intent);
        }
        if wait {
            self.locks.waiters.entry(intent).or_default().push_back(realm);
        } else {
            self.locks.taken += 1;
            self.later(Event::Input(realm, Input::Lock { intent, lock: Lock::Taken }));
        }
    }

    pub(crate) fn unlock(&mut self, realm: RealmNo, intent: &IntentId) {
        if let Some(waiters) = self.locks.waiters.get_mut(intent) {
            waiters.retain(|waiter| *waiter != realm);
        }
        if self.locks.holds(realm, intent) {
            self.pass_on(intent.clone());
        }
    }

    /// The browser gives a lock that nobody holds any more to who waits longest for it.
    fn pass_on(&mut self, intent: IntentId) {
        self.locks.holders.remove(&intent);
        let next = self.locks.waiters.get_mut(&intent).and_then(VecDeque::pop_front);
        if let Some(realm) = next {
            self.locks.passed_on += 1;
            self.grant(realm, intent);
        }
    }

    fn grant(&mut self, realm: RealmNo, intent: IntentId) {
        self.locks.grants += 1;
        let grant = self.locks.grants;
        self.locks.holders.insert(intent.clone(), Holder::Realm(realm, grant));
        self.later(Event::Granted(realm, intent, grant));
    }

    /// What a dead realm or a stranger held is free, once that is noticed.
    pub(crate) fn freed(&mut self, intent: IntentId) {
        if matches!(self.locks.holders.get(&intent), Some(Holder::Dead | Holder::Stranger)) {
            self.pass_on(intent);
        }
    }

    /// A grant reaches its realm, unless the realm has let go of it meanwhile.
    pub(crate) fn granted(&mut self, realm: RealmNo, intent: IntentId, grant: u64) {
        // A page that does not run hears of it when it runs again, if it wants it still.
        if let Some(waiting) = self.realms.get_mut(&realm).and_then(|realm| realm.frozen.as_mut()) {
            return waiting.push(Event::Granted(realm, intent, grant));
        }
        if self.locks.holders.get(&intent) == Some(&Holder::Realm(realm, grant)) {
            self.input(realm, Input::Lock { intent, lock: Lock::Held });
        }
    }

    /// A realm is gone: its locks are, once the browser has noticed; what it waited for goes to others.
    pub(crate) fn forget_locks_of(&mut self, realm: RealmNo) {
        self.locks.waiters.values_mut().for_each(|waiters| waiters.retain(|waiter| *waiter != realm));
        let mut died = Vec::new();
        for (intent, holder) in &mut self.locks.holders {
            if matches!(holder, Holder::Realm(of, _) if *of == realm) {
                *holder = Holder::Dead;
                died.push(intent.clone());
            }
        }
        for intent in died {
            let (least_ms, more_ms) = DEATH_NOTICED_MS;
            let wait_ms = least_ms + self.dice.roll(more_ms);
            self.at(self.now_ms + wait_ms, Event::Freed(intent));
        }
    }

    /// Code that is not ours steals the locks of every page that runs (`steal: true`), and gives them up again after so
    /// long. A page that does not run cannot hear of it and would still send what it has claimed, beside who got the lock
    /// after the thief: only the server's reservation stands behind that (P2.8). intento never steals.
    pub fn steal_locks(&mut self, for_ms: u64) {
        let runs = |holder: &Holder| match holder {
            Holder::Realm(realm, _) => !self.is_frozen(*realm),
            Holder::Dead | Holder::Stranger => true,
        };
        let held = self.locks.holders.iter().filter(|(_, holder)| runs(holder));
        let stolen: Vec<(IntentId, Holder)> = held.map(|(intent, holder)| (intent.clone(), *holder)).collect();
        for (intent, holder) in stolen {
            self.locks.holders.insert(intent.clone(), Holder::Stranger);
            if let Holder::Realm(realm, _) = holder {
                self.locks.unheard.insert((realm, intent.clone()));
                self.input(realm, Input::Lock { intent: intent.clone(), lock: Lock::Lost });
            }
            self.at(self.now_ms + for_ms, Event::Freed(intent));
        }
    }
}
