//! Replies that came and are not recorded yet. The face keeps them outside this memory, so that they outlive the engine (P1.3).

use std::rc::Rc;

use js_sys::Function;
use wasm_bindgen::JsValue;

use super::clock::moment;
use super::tiers::Ledger;
use crate::core::change::{Change, RecordFacts};
use crate::core::input::CommitError;
use crate::core::json::{from_text, to_text};
use crate::core::key::IntentId;
use crate::core::time::{Readings, RealmClock};
use crate::ledger::store::commit_batch;

/// The face's functions.
#[derive(Clone, Debug)]
pub struct Replies {
    /// `(fact, text, instead)`
    pub keep: Option<Function>,
    /// `(fact)`
    pub forget: Option<Function>,
    /// `()` answers the text of one that an engine which is gone left behind, each once; `undefined` after the last. Should
    /// it end this engine too, the next one is given `instead`.
    pub next: Option<Function>,
}

impl Replies {
    /// They came.
    pub fn keep(&self, facts: &RecordFacts) {
        let text = |facts: &RecordFacts| JsValue::from_str(&to_text(facts));
        if let Some(keep) = &self.keep {
            let fact = JsValue::from_str(&facts.fact.0);
            let _ = keep.call3(&JsValue::UNDEFINED, &fact, &text(facts), &text(&facts.undecodable()));
        }
    }

    /// They are recorded, or never will be.
    pub fn forget(&self, facts: &RecordFacts) {
        if let Some(forget) = &self.forget {
            let _ = forget.call1(&JsValue::UNDEFINED, &JsValue::from_str(&facts.fact.0));
        }
    }

    fn next(&self) -> Option<RecordFacts> {
        let text = self.next.as_ref()?.call0(&JsValue::UNDEFINED).ok()?.as_string()?;
        from_text(&text).ok()
    }

    /// Records those that are kept, each in a transaction of its own, in the ledger that has its intent. Before a driver runs
    /// there: what was answered is not to be sent again. Returns the intents.
    pub async fn replay(&self, ledgers: &[&Ledger]) -> Vec<IntentId> {
        let clock = RealmClock::new(moment());
        let readings: Readings = Rc::new(move || clock.clone().read(moment()));
        let mut recorded = Vec::new();
        while let Some(facts) = self.next() {
            let mut change = [Change::Record(Box::new(facts.clone()))];
            let mut heard = true;
            for ledger in ledgers {
                match commit_batch(*ledger, &mut change, &readings).await.0.pop() {
                    Some(Ok(_)) => recorded.push(facts.intent.clone()),
                    // Another ledger's, say.
                    Some(Err(CommitError::Refused(_))) => {}
                    _ => heard = false,
                }
            }
            if heard { self.forget(&facts) } else { self.keep(&facts) }
        }
        recorded
    }
}
