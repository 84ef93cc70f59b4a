//! The drivers of one queue: one of the ledger that it stores in, and one of each other that holds intents from a time in
//! which that one was not to be had. All of them drain; what is new goes to the first, what is known to where it is.

use std::rc::Rc;

use super::face::{Callbacks, Face};
use super::options;
use crate::browser::driver::Driver;
use crate::browser::entropy;
use crate::browser::tiers::{self, Opened};
use crate::core::error::Error;
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
        let every_ledger: Vec<_> = core::iter::once(&ledger).chain(&ledgers).collect();
        let replayed = callbacks.replies.replay(&every_ledger).await;
        let opening = Rc::new(opening);
        let drive = async |ledger| {
            let face = Face::new(opening.scope.clone(), callbacks.clone());
            let driver = Driver::open(opening.clone(), ledger, face).await?;
            driver.app().attach(&driver);
            Ok::<_, Error>(driver)
        };
        let newest = drive(ledger).await?;
        let mut others = Vec::with_capacity(ledgers.len());
        for ledger in ledgers {
            others.push(drive(ledger).await?);
        }
        let drivers = Self { newest, others, started_empty };
        for intent in &replayed {
            drivers.all().for_each(|driver| driver.has_changed(intent));
        }
        Ok(drivers)
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
                if other.knows(&submission.operation, reference).await? {
                    return Ok(other.clone());
                }
            }
        }
        Ok(self.newest.clone())
    }
}
