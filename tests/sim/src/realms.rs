//! The realms of a world: tabs that open, close, reload and freeze, and what the device does to all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use intento::core::change::ContractSnapshot;
use intento::core::engine::{Engine, Settings};
use intento::core::input::{Input, Wake};
use intento::core::key::{RealmId, ScopeHash};
use intento::core::time::Moment;

use crate::world::{ATTEMPT_MS, Event, ORIGIN, RealmNo, SECOND, World};

const OPEN_AGAIN_MS: u64 = SECOND;

#[derive(Debug)]
pub struct Realm {
    pub engine: Engine,
    pub born_ms: u64,
    pub wake_at_ms: u64,
    /// While frozen: what waits for it.
    pub frozen: Option<Vec<Event>>,
    /// Nothing has told the page that it would be frozen.
    pub stopped: bool,
    /// What the app's build in this tab submits under.
    pub contract: ContractSnapshot,
}

impl Realm {
    /// What its clocks show.
    pub(crate) fn moment(&self, now_ms: u64, wall_ms: u64) -> Moment {
        Moment { wall_ms, mono_ms: now_ms - self.born_ms }
    }
}

/// The hash of a scope. Made once a thread: lives are short.
pub(crate) fn scope_hash(scope: &str) -> ScopeHash {
    thread_local! {
        static MADE: RefCell<BTreeMap<String, ScopeHash>> = const { RefCell::new(BTreeMap::new()) };
    }
    MADE.with_borrow_mut(|made| match made.get(scope) {
        Some(hash) => hash.clone(),
        None => made.entry(scope.to_owned()).or_insert(ScopeHash::of(scope)).clone(),
    })
}

impl World {
    /// Opens a queue in a new realm and lets it start.
    pub fn open(&mut self) -> RealmNo {
        self.open_as("user-1")
    }

    pub fn open_as(&mut self, scope: &str) -> RealmNo {
        self.open_by(scope, |_| {})
    }

    pub fn open_with(&mut self, change: impl FnOnce(&mut Settings)) -> RealmNo {
        self.open_by("user-1", change)
    }

    fn open_by(&mut self, scope: &str, change: impl FnOnce(&mut Settings)) -> RealmNo {
        self.realms_opened += 1;
        let realm = self.realms_opened;
        let later = self.deployed.clone().filter(|_| self.dice.one_in(2));
        let contract = later.unwrap_or_else(|| self.contract.clone());
        let mut settings = Settings {
            scope: scope_hash(scope),
            owner: RealmId::from(name_of(realm)),
            jitter_seed: self.seed.wrapping_mul(31).wrapping_add(realm as u64),
            attempt_ms: ATTEMPT_MS,
            windows: contract.contract.windows(),
            can_reconcile: self.server.asks,
            prepares: false,
            origins: vec![ORIGIN.to_owned()],
            online: self.network.hint,
            can_refresh: self.storm.blows() && self.dice.one_in(2),
            handled: if self.server.asks { vec!["authorize-payment".to_owned()] } else { Vec::new() },
        };
        change(&mut settings);
        let engine = Engine::new(settings, Moment { wall_ms: self.wall_ms(), mono_ms: 0 });
        let born_ms = self.now_ms;
        self.scopes.insert(realm, scope.to_owned());
        if !self.has_locks || (self.storm.blows() && self.dice.one_in(8)) {
            self.locks.without.insert(realm);
        }
        self.realms
            .insert(realm, Realm { engine, born_ms, wake_at_ms: u64::MAX, frozen: None, stopped: false, contract });
        self.start(realm);
        realm
    }

    /// The app opens its queue, again and again where the ledger cannot be read; what it wants meanwhile waits.
    pub(crate) fn start(&mut self, realm: RealmNo) {
        if self.realms.contains_key(&realm) {
            match self.ledger.open() {
                Ok(started) => self.input(realm, started),
                Err(_) => self.at(self.now_ms + OPEN_AGAIN_MS, Event::Open(realm)),
            }
        }
    }

    /// The tab is gone, whatever it was doing. What it has put on the wire travels on.
    pub fn close(&mut self, realm: RealmNo) {
        self.laws.publishes(Some(realm), self.now_ms);
        self.realms.remove(&realm);
        self.forget_locks_of(realm);
    }

    /// As [`reload`](Self::reload), under the tab's own scope.
    pub fn reload_same(&mut self, realm: RealmNo) {
        let scope = self.scopes.get(&realm).cloned().unwrap_or_default();
        self.crash(realm);
        self.open_as(&scope);
    }

    /// The tab dies, whatever it was doing.
    pub fn crash(&mut self, realm: RealmNo) {
        self.tally.crashed_sending += u64::from(self.server.in_flight(realm) > 0);
        self.tally.crashed_unsent += u64::from(self.is_about_to_send(realm));
        self.tally.crashed_unrecorded += u64::from(self.has_facts_for(realm));
        self.close(realm);
    }

    /// The browser is killed, and every tab with it. A weak tier loses what it has not written yet.
    pub fn kill_browser(&mut self, loses_ms: u64) {
        for realm in self.realms() {
            self.crash(realm);
        }
        if self.weak {
            self.ledger.lose_since(self.now_ms.saturating_sub(loses_ms));
            self.laws.forget(&self.ledger);
        }
    }

    pub fn is_frozen(&self, realm: RealmNo) -> bool {
        self.realms.get(&realm).is_some_and(|realm| realm.frozen.is_some())
    }

    pub fn reload(&mut self, realm: RealmNo) -> RealmNo {
        self.close(realm);
        self.open()
    }

    pub fn realms(&self) -> Vec<RealmNo> {
        self.realms.keys().copied().collect()
    }

    pub fn engine(&self, realm: RealmNo) -> &Engine {
        &self.realms[&realm].engine
    }

    /// The page is frozen: it learns of it, then nothing runs in it.
    pub fn freeze(&mut self, realm: RealmNo) {
        if self.is_frozen(realm) {
            return;
        }
        self.laws.publishes(Some(realm), self.now_ms);
        self.input(realm, Input::Wake(Wake::Suspended));
        self.laws.frozen_ms.insert(realm, self.now_ms);
        if let Some(realm) = self.realms.get_mut(&realm) {
            realm.frozen.get_or_insert_default();
        }
    }

    /// The page stops where it is, and nothing has told it: a stopped process, a device that sleeps.
    pub fn stop(&mut self, realm: RealmNo) {
        self.laws.publishes(Some(realm), self.now_ms);
        if let Some(realm) = self.realms.get_mut(&realm).filter(|realm| realm.frozen.is_none()) {
            realm.frozen = Some(Vec::new());
            realm.stopped = true;
        }
    }

    pub fn thaw(&mut self, realm: RealmNo) {
        self.laws.woken_ms.insert(realm, self.now_ms);
        let Some(tab) = self.realms.get_mut(&realm) else { return };
        let waiting = tab.frozen.take();
        if waiting.is_some() {
            self.thawed.insert(realm);
        }
        if !core::mem::take(&mut tab.stopped) {
            self.input(realm, Input::Wake(Wake::Resumed));
        }
        for event in waiting.into_iter().flatten() {
            self.happen(event);
        }
    }

    /// The device sleeps: everything stops where it is, untold, and goes on afterwards.
    pub fn sleep(&mut self, ms: u64) {
        let mut awake = self.realms();
        awake.retain(|realm| !self.is_frozen(*realm));
        awake.iter().for_each(|realm| self.stop(*realm));
        self.run_for(ms);
        awake.into_iter().for_each(|realm| self.thaw(realm));
    }

    /// Every tab dies. Says whose they were.
    pub fn close_all(&mut self) -> Vec<String> {
        let realms = self.realms();
        let mut scopes: Vec<String> = realms.iter().filter_map(|realm| self.scopes.get(realm).cloned()).collect();
        scopes.sort();
        scopes.dedup();
        realms.into_iter().for_each(|realm| self.crash(realm));
        scopes
    }

    /// Steps the device's wall clock; monotonic clocks do not see it.
    pub fn step_wall(&mut self, ms: i64) {
        self.wall_ahead_ms += ms;
        // Only a realm that runs can tell, once it has written.
        let mut awake = self.realms();
        awake.retain(|realm| !self.is_frozen(*realm));
        self.laws.stepped(ms, awake, self.now_ms);
    }

    /// The network goes, and the browser says so.
    pub fn go_offline(&mut self) {
        self.network.up = false;
        self.network.hint = false;
        self.laws.offline_since_ms.get_or_insert(self.now_ms);
        self.everywhere(Wake::Offline);
    }

    pub fn go_online(&mut self) {
        self.network.up = true;
        self.network.hint = true;
        self.laws.offline_since_ms = None;
        self.everywhere(Wake::Online);
    }

    pub fn everywhere(&mut self, wake: Wake) {
        for realm in self.realms() {
            self.input(realm, Input::Wake(wake));
        }
    }
}

/// What a realm's owner id says.
pub(crate) fn name_of(realm: RealmNo) -> String {
    format!("realm-{realm}")
}
