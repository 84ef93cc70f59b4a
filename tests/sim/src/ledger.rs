//! The ledger of a world: the store in memory, which can be told to fail.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use intento::core::input::{DuePage, DueSpan, Input};
use intento::core::intent::IntentRecord;
use intento::core::key::{IntentId, ScopeHash};
use intento::core::reach::OriginRecord;
use intento::core::record::{ExpectedVersions, Record, RecordKey, Versioned, Writes};
use intento::core::shared::Shared;
use intento::core::time::LedgerClock;
use intento::ledger::memory::MemoryStore;
use intento::ledger::store::{Store, StoreError};

use crate::world::ORIGIN;

/// One thing that a driver asks of its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The clock, and what is remembered of origins, before anything else.
    Open,
    /// One intent, for somebody who waits for it.
    Load,
    /// The records that a transaction decides on.
    Read,
    Commit {
        /// Is the body of an answer among what it writes?
        answer: bool,
    },
    Due,
    Inbox,
    List,
}

/// What a storage operation does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    Conflict,
    Aborted,
    /// It is in, and nothing tells.
    UnknownIn,
    /// It is not in, and nothing tells.
    UnknownOut,
    Unreadable,
    /// There is no room for the body of an answer.
    Quota,
    /// A query brings its page, and not what belongs to it: the clock and the origins.
    Bare,
}

impl LedgerFault {
    pub const ALL: [Self; 7] =
        [Self::Conflict, Self::Aborted, Self::UnknownIn, Self::UnknownOut, Self::Unreadable, Self::Quota, Self::Bare];

    /// Can this operation fail so?
    pub fn fits(self, operation: Operation) -> bool {
        let commits = matches!(operation, Operation::Commit { .. });
        match self {
            Self::Conflict | Self::Aborted | Self::UnknownIn => commits,
            Self::UnknownOut | Self::Unreadable => true,
            Self::Quota => operation == Operation::Commit { answer: true },
            Self::Bare => matches!(operation, Operation::Due | Operation::Inbox),
        }
    }

    /// What is told of an operation that is not carried out.
    fn error(self) -> StoreError {
        match self {
            Self::Conflict => StoreError::Conflict,
            Self::Aborted | Self::Quota => StoreError::Aborted,
            Self::UnknownIn | Self::UnknownOut => StoreError::Unknown,
            Self::Unreadable | Self::Bare => StoreError::Unreadable,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    store: MemoryStore,
    origin: Origin,
    /// Of the commits to come.
    faults: RefCell<VecDeque<LedgerFault>>,
    /// Of the operations with these numbers, those that can fail so.
    outage: RefCell<Option<(Range<usize>, LedgerFault)>>,
    operations: Cell<usize>,
    /// Operations that a fault has struck. What poison aborts is none.
    pub struck: Cell<usize>,
    /// Every operation so far, if asked for.
    pub log: RefCell<Option<Vec<Operation>>>,
    pub reads: RefCell<u64>,
    /// Intents written since the laws last looked, each as it was written last.
    written: RefCell<Vec<Shared<IntentRecord>>>,
    /// Intents taken away since the laws last looked.
    removed: RefCell<Vec<IntentId>>,
    /// Aborts every commit that writes an intent of this operation.
    poison: RefCell<Option<String>>,
    without_journal: bool,
    /// What it held in the last minute, from when on; empty unless it is weak.
    past: VecDeque<(u64, MemoryStore)>,
}

/// The names of the one origin and of its record: every query needs them.
#[derive(Clone, Debug)]
struct Origin {
    name: Rc<str>,
    key: RecordKey,
}

impl Default for Origin {
    fn default() -> Self {
        Self { name: ORIGIN.into(), key: RecordKey::Origin(ORIGIN.to_owned()) }
    }
}

/// How much a weak tier may lose when its browser is killed (measured in Chromium: up to about a minute).
const WEAK_LOSES_MS: u64 = 60_000;

impl Ledger {
    /// One that keeps no journal: nothing decides by it, and a search holds many ledgers.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn without_journal() -> Self {
        Self { without_journal: true, ..Self::default() }
    }

    pub fn fail_next(&self, faults: impl IntoIterator<Item = LedgerFault>) {
        self.faults.borrow_mut().extend(faults);
    }

    /// Of the operations with these numbers, counted from the first ever, those that can fail so do.
    pub fn fail_operations(&self, numbers: Range<usize>, fault: LedgerFault) {
        *self.outage.borrow_mut() = Some((numbers, fault));
    }

    pub fn heal(&self) {
        self.faults.borrow_mut().clear();
        *self.outage.borrow_mut() = None;
    }

    /// After a commit to a weak tier: that it is in is not that it stays in.
    pub fn remember(&mut self, now_ms: u64) {
        self.past.push_back((now_ms, self.store.clone()));
        while self.past.get(1).is_some_and(|(since_ms, _)| since_ms + WEAK_LOSES_MS < now_ms) {
            self.past.pop_front();
        }
    }

    /// The browser was killed: a weak tier is as it was at `at_ms`, or as far back as it goes.
    pub fn lose_since(&mut self, at_ms: u64) {
        self.past.retain(|(since_ms, _)| *since_ms <= at_ms);
        self.store = self.past.back().map(|(_, kept)| kept.clone()).unwrap_or_default();
        self.written.borrow_mut().clear();
        self.removed.borrow_mut().clear();
    }

    /// What a queue is opened with.
    pub fn open(&self) -> Result<Input, StoreError> {
        self.strike(Operation::Open)?;
        Ok(Input::Started { clock: self.clock(), origins: self.origins() })
    }

    /// One intent, as a driver reads it.
    pub fn load(&self, id: &IntentId) -> Result<Option<Shared<IntentRecord>>, StoreError> {
        self.strike(Operation::Load)?;
        Ok(self.intent(id))
    }

    /// What lies under a key cannot be read any more.
    pub fn damage(&self, key: RecordKey) {
        let writes = [(key, Record::Undecodable)].into();
        crate::world::now(self.store.commit(&ExpectedVersions::new(), &writes)).expect("nothing is expected");
    }

    pub fn abort_operation(&self, operation: &str) {
        *self.poison.borrow_mut() = Some(operation.to_owned());
    }

    /// The operation whose intents no commit takes.
    pub fn poison(&self) -> Option<String> {
        self.poison.borrow().clone()
    }

    pub fn commits(&self) -> u64 {
        self.store.commits()
    }

    pub fn records(&self) -> BTreeMap<RecordKey, Versioned> {
        self.store.records()
    }

    pub fn record(&self, key: &RecordKey) -> Option<Record> {
        let found = crate::world::now(self.store.read(core::slice::from_ref(key))).unwrap_or_default();
        found.into_iter().next().and_then(|versioned| versioned.record)
    }

    pub fn intent(&self, id: &IntentId) -> Option<Shared<IntentRecord>> {
        self.store.look(&RecordKey::Intent(id.clone()), |record| match record {
            Record::Intent(intent) => Some(intent.clone()),
            _ => None,
        })
    }

    pub fn intents(&self) -> Vec<Shared<IntentRecord>> {
        self.store.intents()
    }

    pub fn clock(&self) -> Option<LedgerClock> {
        self.store.look(&RecordKey::Clock, |record| match record {
            Record::Clock(clock) => Some(*clock),
            _ => None,
        })
    }

    pub fn take_removed(&self) -> Vec<IntentId> {
        self.removed.take()
    }

    pub fn take_written(&self) -> Vec<Shared<IntentRecord>> {
        self.written.take()
    }

    /// What is known of origins: there is one.
    fn origins(&self) -> Vec<(Rc<str>, Shared<OriginRecord>)> {
        let found = self.store.look(&self.origin.key, |record| match record {
            Record::Origin(origin) => Some(origin.clone()),
            _ => None,
        });
        found.map(|record| (self.origin.name.clone(), record)).into_iter().collect()
    }

    /// Counts an operation. What becomes of it instead, if something does.
    fn fault(&self, operation: Operation) -> Option<LedgerFault> {
        let number = self.operations.replace(self.operations.get() + 1);
        if let Some(log) = &mut *self.log.borrow_mut() {
            log.push(operation);
        }
        let outage = self.outage.borrow();
        let (numbers, fault) = outage.as_ref()?;
        let strikes = numbers.contains(&number) && fault.fits(operation);
        self.struck.set(self.struck.get() + usize::from(strikes));
        strikes.then_some(*fault)
    }

    /// As [`fault`](Self::fault), for what is carried out wholly or not at all.
    fn strike(&self, operation: Operation) -> Result<(), StoreError> {
        self.fault(operation).map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// A page, with what belongs to it.
    fn accompany(&self, mut page: DuePage, fault: Option<LedgerFault>) -> Result<DuePage, StoreError> {
        match fault {
            None => {
                page.origins = self.origins();
                page.clock = self.clock();
            }
            Some(LedgerFault::Bare) => {}
            Some(fault) => return Err(fault.error()),
        }
        Ok(page)
    }

    async fn write(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        if self.without_journal {
            let kept = writes.iter().filter(|(key, _)| !matches!(key, RecordKey::Journal(..)));
            let kept = kept.map(|(key, record)| (key.clone(), record.clone())).collect();
            self.store.commit(expected, &kept).await?;
        } else {
            self.store.commit(expected, writes).await?;
        }
        for (key, record) in writes.iter() {
            if let (RecordKey::Intent(id), Record::Gone) = (key, record) {
                self.removed.borrow_mut().push(id.clone());
                self.written.borrow_mut().retain(|before| before.id != *id);
            }
        }
        let intents = writes.values().filter_map(|record| match record {
            Record::Intent(intent) => Some(intent.clone()),
            _ => None,
        });
        let mut written = self.written.borrow_mut();
        for intent in intents {
            written.retain(|before| before.id != intent.id);
            written.push(intent);
        }
        Ok(())
    }

    fn is_poisoned(&self, writes: &Writes) -> bool {
        let poison = self.poison.borrow();
        writes.values().any(|record| match record {
            Record::Intent(intent) => poison.as_ref() == Some(&intent.operation),
            _ => false,
        })
    }
}

impl Store for Ledger {
    async fn read(&self, keys: &[RecordKey]) -> Result<Vec<Versioned>, StoreError> {
        *self.reads.borrow_mut() += 1;
        self.strike(Operation::Read)?;
        self.store.read(keys).await
    }

    async fn commit(&self, expected: &ExpectedVersions, writes: &Writes) -> Result<(), StoreError> {
        let answer = writes.values().any(has_answer);
        let fault = self.fault(Operation::Commit { answer });
        if self.is_poisoned(writes) {
            return Err(StoreError::Aborted);
        }
        let planned = self.faults.borrow_mut().pop_front();
        self.struck.set(self.struck.get() + usize::from(planned.is_some()));
        match fault.or(planned) {
            None => self.write(expected, writes).await,
            Some(LedgerFault::UnknownIn) => {
                self.write(expected, writes).await?;
                Err(StoreError::Unknown)
            }
            Some(fault) => Err(fault.error()),
        }
    }

    async fn due(&self, scope: &ScopeHash, span: DueSpan, limit: u32) -> Result<DuePage, StoreError> {
        let fault = self.fault(Operation::Due);
        self.accompany(self.store.due(scope, span, limit).await?, fault)
    }

    async fn inbox(&self, scope: &ScopeHash, until_ms: u64, limit: u32) -> Result<DuePage, StoreError> {
        let fault = self.fault(Operation::Inbox);
        let page = self.accompany(self.store.inbox(scope, until_ms, limit).await?, fault)?;
        Ok(DuePage { origins: Vec::new(), ..page })
    }

    async fn list(&self, scope: &ScopeHash, from: u64, limit: u32) -> Result<Vec<Shared<IntentRecord>>, StoreError> {
        self.strike(Operation::List)?;
        self.store.list(scope, from, limit).await
    }
}

fn has_answer(record: &Record) -> bool {
    match record {
        Record::Payload(payload) => payload.answer.as_ref().is_some_and(|(_, answer)| answer.body.is_some()),
        _ => false,
    }
}
