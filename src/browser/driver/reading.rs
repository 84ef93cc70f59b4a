//! What a driver reads of its ledger.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use std::rc::Rc;

use super::{App, Driver};
use crate::core::contract::Answer;
use crate::core::error::{Error, ErrorCode};
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::IntentId;
use crate::core::limits::DUE_PAGE_GROWN_MAX;
use crate::core::reach::OriginRecord;
use crate::core::record::{Record, RecordKey, ReferenceName, Versioned};
use crate::core::shared::Shared;
use crate::core::time::LedgerClock;
use crate::ledger::store::{Store, StoreError};

/// The ledger's clock, and what it knows of origins.
pub(super) type Remembered = (Result<Option<LedgerClock>, Error>, Vec<(Rc<str>, Shared<OriginRecord>)>);

/// What a realm has still to do for a scope.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// Is something under way here?
    pub busy: bool,
    /// Intents that are due, that nobody runs, and about which this realm can do something; of a page at most.
    pub due: u32,
    /// When the next thing will be due, by the wall clock.
    pub next_at_ms: Option<u64>,
}

impl<A: App + 'static> Driver<A> {
    /// The intent with that id, if it is one of this scope.
    pub async fn find(&self, intent: &IntentId) -> Result<Option<Shared<IntentRecord>>, Error> {
        Ok(self.look(intent).await?.0)
    }

    /// The intent that a reference stands for: the newest of its chain. `None`: the ledger does not know the reference.
    pub async fn referred(&self, operation: &str, reference: &str) -> Result<Option<IntentId>, Error> {
        let name = ReferenceName::new(&self.opening.scope, operation, reference);
        match self.read(&RecordKey::Reference(name)).await.map(|versioned| versioned.record) {
            Ok(None) => Ok(None),
            Ok(Some(Record::Reference(intent))) => Ok(Some(intent)),
            Ok(Some(_)) | Err(()) => Err(ErrorCode::LedgerUnreadable.into()),
        }
    }

    /// As [`find`](Self::find), and what the ledger's clock says beside it.
    pub(super) async fn look(
        &self,
        intent: &IntentId,
    ) -> Result<(Option<Shared<IntentRecord>>, Option<LedgerClock>), Error> {
        let keys = [RecordKey::Intent(intent.clone()), RecordKey::Clock];
        let found = self.store.read(&keys).await.map_err(|_| Error::new(ErrorCode::LedgerUnreadable))?;
        let mut found = found.into_iter().map(|versioned| versioned.record);
        let intent = match found.next().flatten() {
            Some(Record::Intent(record)) => Some(record).filter(|record| record.scope == self.opening.scope),
            Some(Record::Undecodable) => return Err(ErrorCode::LedgerUnreadable.into()),
            _ => None,
        };
        // A clock that cannot be read says nothing of the intent.
        let clock = match found.next().flatten() {
            Some(Record::Clock(clock)) => Some(clock),
            _ => None,
        };
        Ok((intent, clock))
    }

    /// What there is still to do here. `busy` is asked first: what ends meanwhile is not missed.
    pub async fn outlook(&self) -> Result<Outlook, Error> {
        let (busy, now) = (self.engine.borrow().is_busy(), self.stamp());
        let page = self.store.due(&self.opening.scope, DueSpan::until(now.at_ms), DUE_PAGE_GROWN_MAX).await;
        let page = page.map_err(|_| Error::new(ErrorCode::LedgerUnreadable))?;
        let engine = self.engine.borrow();
        let due = page.due.iter().filter(|intent| engine.has_errand(intent)).count() as u32;
        let next_at_ms = page.next_due_at_ms.into_iter().chain(engine.next_delivery_at_ms()).min();
        Ok(Outlook { busy, due, next_at_ms: next_at_ms.map(|at_ms| now.wall_at(at_ms)) })
    }

    /// The answer kept with an intent.
    pub async fn answer(&self, intent: &IntentId) -> Option<Answer> {
        match self.read(&RecordKey::Payload(intent.clone())).await.ok()?.record? {
            Record::Payload(payload) => payload.answer.as_ref().map(|(_, answer)| answer.clone()),
            _ => None,
        }
    }

    /// A page, and beside it what the ledger [remembers](Self::remembered): both are asked for at once, since each would
    /// wait for the writes before it.
    pub(super) async fn beside(
        &self,
        page: impl Future<Output = Result<DuePage, StoreError>>,
    ) -> (Result<DuePage, StoreError>, Remembered) {
        let (mut page, mut remembered) = (pin!(page), pin!(self.remembered()));
        let (mut found, mut beside) = (None, None);
        poll_fn(|context| {
            if found.is_none()
                && let Poll::Ready(ready) = page.as_mut().poll(context)
            {
                found = Some(ready);
            }
            if beside.is_none()
                && let Poll::Ready(ready) = remembered.as_mut().poll(context)
            {
                beside = Some(ready);
            }
            match (found.take(), beside.take()) {
                (Some(page), Some(remembered)) => Poll::Ready((page, remembered)),
                (page, remembered) => {
                    (found, beside) = (page, remembered);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The ledger's clock, `None` in a ledger that has none yet; and what it knows of the queue's origins, nothing where
    /// that cannot be read.
    pub(super) async fn remembered(&self) -> Remembered {
        let origins = &self.opening.origins;
        let mut keys = vec![RecordKey::Clock];
        keys.extend(origins.iter().cloned().map(RecordKey::Origin));
        let Ok(found) = self.store.read(&keys).await else {
            return (Err(ErrorCode::LedgerUnreadable.into()), Vec::new());
        };
        let mut found = found.into_iter().map(|versioned| versioned.record);
        let clock = match found.next().flatten() {
            None => Ok(None),
            Some(Record::Clock(clock)) => Ok(Some(clock)),
            Some(_) => Err(ErrorCode::LedgerUnreadable.into()),
        };
        let known = origins.iter().zip(found).filter_map(|(origin, record)| match record {
            Some(Record::Origin(record)) => Some((origin.as_str().into(), record)),
            _ => None,
        });
        (clock, known.collect())
    }

    async fn read(&self, key: &RecordKey) -> Result<Versioned, ()> {
        let found = self.store.read(core::slice::from_ref(key)).await;
        found.ok().and_then(|mut found| found.pop()).ok_or(())
    }
}
