//! The drivers of one queue: one of the ledger that it stores in, and one of each other that holds intents from a time in
//! which that one was not to be had. All of them drain; what is new goes to the first, what is known to where it is.

use std::rc::Rc;

use super::face::{Callbacks, Face};
use super::options;
use crate::browser::driver::Driver;
use crate::browser::entropy;
use crate::browser::replies::Replies;
use crate::browser::tiers::{self, Opened};
use crate::core::change::Change;
use crate::core::error::Error;
use crate::core::input::Input;
use crate::core::key::IntentId;
use crate::core::submission::{Reference, Submission};

#[derive(Debug)]
pub(super) struct Drivers {
    newest: Rc<Driver<Face>>,
    others: Vec<Rc<Driver<Face>>>,
    pub(super) started_empty: bool,
}

impl Drivers {
    /// Checks the options, opens the ledgers, and starts to drain them.
    pub(super) async fn open(plain_options: &str, callbacks: Callbacks) -> Result<Self, Error> {
        let (opening, wanted) = options::checked(plain_options, &callbacks)?;
        // Nothing is made where no key could be.
        entropy::draw()?;
        let Opened { ledger, others: ledgers, started_empty } = tiers::open(wanted).await?;
        let opening = Rc::new(opening);
        let driver = |ledger| {
            let face = Face::new(opening.scope.clone(), callbacks.clone());
            let driver = Driver::new(opening.clone(), ledger, face)?;
            driver.app().attach(&driver);
            Ok::<_, Error>(driver)
        };
        let mut drivers = Self { newest: driver(ledger)?, others: Vec::with_capacity(ledgers.len()), started_empty };
        for ledger in ledgers {
            drivers.others.push(driver(ledger)?);
        }
        let replayed = drivers.replay(&callbacks.replies).await;
        for driver in drivers.all() {
            driver.start().await?;
        }
        for (driver, committed) in replayed {
            driver.feed(committed);
        }
        Ok(drivers)
    }

    /// Records, one in a transaction, what came back to engines that are gone: before anything is sent, for it need not be sent
    /// again (P1.3).
    async fn replay(&self, replies: &Replies) -> Vec<(Rc<Driver<Face>>, Input)> {
        let mut replayed = Vec::new();
        while let Some(facts) = replies.next() {
            match self.of_intent(&facts.intent).await {
                Ok(driver) => {
                    if let Some(committed) = driver.commit(Change::Record(Box::new(facts))).await {
                        replayed.push((driver, committed));
                    }
                }
                Err(_) => replies.keep(&facts),
            }
        }
        replayed
    }

    /// The only one, as nearly always.
    pub(super) fn only(&self) -> Option<&Rc<Driver<Face>>> {
        Some(&self.newest).filter(|_| self.others.is_empty())
    }

    /// The one that new intents go to.
    pub(super) fn newest(&self) -> &Rc<Driver<Face>> {
        &self.newest
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Rc<Driver<Face>>> {
        core::iter::once(&self.newest).chain(&self.others)
    }

    /// The one whose ledger holds the intent; the newest where none does.
    pub(super) async fn of_intent(&self, intent: &IntentId) -> Result<Rc<Driver<Face>>, Error> {
        for other in &self.others {
            if other.find(intent).await?.is_some() {
                return Ok(other.clone());
            }
        }
        Ok(self.newest.clone())
    }

    /// The one whose ledger knows the reference: the same reference is the same intent, wherever that is.
    pub(super) async fn of_reference(&self, submission: &Submission) -> Result<Rc<Driver<Face>>, Error> {
        if let Reference::Named(reference) = &submission.reference {
            for other in &self.others {
                if other.referred(&submission.operation, reference).await?.is_some() {
                    return Ok(other.clone());
                }
            }
        }
        Ok(self.newest.clone())
    }
}
