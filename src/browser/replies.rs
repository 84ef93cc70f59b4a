//! Replies that came and are not recorded yet. The face keeps them outside this memory, so that they outlive the engine (P1.3).

use js_sys::Function;
use wasm_bindgen::JsValue;

use crate::core::change::RecordFacts;
use crate::core::json::{from_text, to_text};

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
    /// They came, and are not recorded.
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

    /// One that an engine which is gone left behind.
    pub fn next(&self) -> Option<RecordFacts> {
        let text = self.next.as_ref()?.call0(&JsValue::UNDEFINED).ok()?.as_string()?;
        from_text(&text).ok()
    }
}
