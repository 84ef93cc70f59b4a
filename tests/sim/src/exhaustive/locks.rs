//! The lock on the intent: first come, first served, and gone with the realm that holds it, once the browser has noticed.

use intento::core::input::{Input, Lock};

use super::world::{Event, Side, World};
use crate::world::RealmNo;

#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    pub(super) holder: Holder,
    pub(super) waiters: Vec<RealmNo>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holder {
    #[default]
    Nobody,
    Realm(RealmNo),
    /// It has died, and the browser does not know yet.
    Dead,
}

impl World {
    pub(super) fn enabled_locks(&self, events: &mut Vec<Event>) {
        if self.locks.holder == Holder::Dead {
            events.push(Event::Freed);
        }
    }

    /// What is to be had of the lock at once; `None`: it comes when its holder gives it up.
    pub(super) fn lock(&mut self, side: Side, wait: bool) -> Option<Lock> {
        if !self.left.locks {
            return Some(Lock::Unavailable);
        }
        let number = self.realm(side).number;
        if self.locks.holder == Holder::Nobody {
            self.locks.holder = Holder::Realm(number);
            return Some(Lock::Held);
        }
        if wait {
            self.locks.waiters.push(number);
            return None;
        }
        Some(Lock::Taken)
    }

    pub(super) fn unlock(&mut self, side: Side) {
        let number = self.realm(side).number;
        self.locks.waiters.retain(|waiter| *waiter != number);
        if self.locks.holder == Holder::Realm(number) {
            self.realm_mut(side).granted = false;
            self.freed();
        }
    }

    /// Whoever has waited longest has it now.
    pub(super) fn freed(&mut self) {
        self.locks.holder = Holder::Nobody;
        let Some(next) = self.locks.waiters.first().copied() else { return };
        self.locks.waiters.remove(0);
        self.locks.holder = Holder::Realm(next);
        if let Some(side) = self.side_of(next) {
            self.realm_mut(side).granted = true;
        }
    }

    pub(super) fn granted(&mut self, side: Side) {
        self.realm_mut(side).granted = false;
        self.feed(side, Input::Lock { intent: (*self.id).clone(), lock: Lock::Held });
    }

    pub(super) fn forget_lock_of(&mut self, number: RealmNo) {
        self.locks.waiters.retain(|waiter| *waiter != number);
        if self.locks.holder == Holder::Realm(number) {
            self.locks.holder = Holder::Dead;
        }
    }
}
