//! The locks on intents: a realm that runs an intent holds its lock, one that would run it waits for that lock, and may
//! go on as soon as it has it: the holder is dead, or has given up its right to send (P2.4, P2.5).

use super::Engine;
use crate::core::effect::Effect;
use crate::core::input::Lock;
use crate::core::intent::IntentRecord;
use crate::core::key::IntentId;
use crate::core::limits::LOCK_WAITS_MAX;
use crate::core::map::SortedMap;

/// Intents whose locks this realm has asked for, and whether it holds them.
#[derive(Clone, Debug, Default)]
pub(super) struct LockWaits(SortedMap<IntentId, bool>);

impl LockWaits {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_granted(&self, intent: &IntentId) -> bool {
        self.0.get(intent).is_some_and(|granted| *granted)
    }
}

impl Engine {
    pub(super) fn lock_told(&mut self, intent: &IntentId, lock: Lock) {
        if let Some(run) = self.runs.get_mut(intent) {
            match lock {
                // Stolen before this realm was told that it had it: nothing more will come of that request.
                Lock::Lost if run.is_locking() => {
                    self.locks_lost += 1;
                    self.leave_alone(intent);
                }
                Lock::Lost => {
                    run.lose_lock();
                    self.locks_lost += 1;
                }
                _ if run.holds_lock() => {}
                _ if !run.is_locking() => self.unlock_if(lock, intent),
                // Whoever has it is about to claim, or dies first. One that does neither, because it is frozen, is not
                // left alone a second time.
                Lock::Taken if !self.parked.contains_key(intent) => {
                    self.leave_alone(intent);
                    self.wait_for_lock(intent);
                }
                Lock::Held | Lock::Taken | Lock::Unavailable => {
                    let next = run.locked(lock == Lock::Held);
                    self.advance(intent, next);
                }
            }
            return;
        }
        match self.lock_waits.0.get_mut(intent) {
            Some(granted) if lock == Lock::Held => {
                *granted = true;
                // What is there to do is in the ledger.
                self.effects.push(Effect::Load(intent.clone()));
            }
            Some(_) => {
                self.lock_waits.0.remove(intent);
            }
            None => self.unlock_if(lock, intent),
        }
    }

    /// What another realm runs is worth waiting for; what came with its lock is run, or the lock is given up.
    pub(super) fn look_for_lock(&mut self, intent: &IntentRecord) {
        let wanted = intent.live_claim(&self.stamp()).is_some_and(|claim| claim.lock_held);
        let granted = self.lock_waits.is_granted(&intent.id);
        let started = (wanted || granted) && self.has_room() && self.start(intent);
        if !started && (granted || !wanted) {
            self.give_up_lock(&intent.id);
        }
    }

    /// Asks to be told when the realm that runs this intent has let go of it.
    pub(super) fn wait_for_lock(&mut self, intent: &IntentId) {
        if self.lock_waits.0.len() < LOCK_WAITS_MAX && !self.lock_waits.0.contains_key(intent) {
            self.lock_waits.0.insert(intent.clone(), false);
            self.effects.push(Effect::Lock { intent: intent.clone(), wait: true });
        }
    }

    /// Ends the wait for a lock. Says whether it is held; one that has not come yet will not come any more.
    pub(super) fn take_lock(&mut self, intent: &IntentId) -> bool {
        let granted = self.lock_waits.0.remove(intent);
        if granted == Some(false) {
            self.effects.push(Effect::Unlock(intent.clone()));
        }
        granted == Some(true)
    }

    pub(super) fn give_up_lock(&mut self, intent: &IntentId) {
        if self.take_lock(intent) {
            self.effects.push(Effect::Unlock(intent.clone()));
        }
    }

    /// This realm may be frozen at the end of this task: it neither keeps a lock nor waits for one, since a frozen waiter
    /// would be granted it and keep it (P2.5).
    pub(super) fn release_locks(&mut self) {
        let mut locks: Vec<IntentId> = core::mem::take(&mut self.lock_waits).0.into_iter().map(|(id, _)| id).collect();
        self.locks_lost += 1;
        let mut over = Vec::new();
        for (intent, run) in self.runs.iter_mut() {
            if run.is_locking() || run.holds_lock() {
                locks.push(intent.clone());
            }
            if run.suspend() {
                over.push(intent.clone());
            }
        }
        for intent in &over {
            self.runs.remove(intent);
        }
        self.effects.extend(locks.into_iter().map(Effect::Unlock));
    }

    fn unlock_if(&mut self, lock: Lock, intent: &IntentId) {
        if lock == Lock::Held {
            self.effects.push(Effect::Unlock(intent.clone()));
        }
    }
}
