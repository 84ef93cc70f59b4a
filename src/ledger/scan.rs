//! The queries of a tier that has no index: it goes through all of its intents.

use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::key::ScopeHash;
use crate::core::shared::Shared;

/// Where on the ledger clock an intent is looked for: when it is due, or when its outcome is.
pub type At = fn(&IntentRecord) -> Option<u64>;

/// When an intent is due to run.
pub fn due_at(intent: &IntentRecord) -> Option<u64> {
    intent.due_at_ms
}

/// When an intent's outcome is due for the app.
pub fn inbox_at(intent: &IntentRecord) -> Option<u64> {
    intent.delivery.due_at_ms
}

/// Those of a scope that are due within a span, the earliest first, and when the next one after it is.
pub fn page<'a>(
    intents: impl Iterator<Item = &'a Shared<IntentRecord>>,
    scope: &ScopeHash,
    span: DueSpan,
    limit: u32,
    at: At,
) -> DuePage {
    let (mut due, mut next_due_at_ms) = (Vec::new(), None);
    for intent in intents.filter(|intent| intent.scope == *scope) {
        match at(intent) {
            Some(at_ms) if at_ms < span.from_ms => {}
            Some(at_ms) if at_ms <= span.until_ms => place(&mut due, intent, |it| (at(it), it.sequence)),
            later => next_due_at_ms = next_due_at_ms.into_iter().chain(later).min(),
        }
    }
    let beyond = due.get(limit as usize).and_then(|intent| at(intent));
    due.truncate(limit as usize);
    DuePage { due, next_due_at_ms: beyond.or(next_due_at_ms), ..DuePage::default() }
}

/// Those of a scope, from that sequence on, in the order of their submission.
pub fn list<'a>(
    intents: impl Iterator<Item = &'a Shared<IntentRecord>>,
    scope: &ScopeHash,
    from: u64,
    limit: u32,
) -> Vec<Shared<IntentRecord>> {
    let mut all = Vec::new();
    intents
        .filter(|intent| intent.scope == *scope && intent.sequence >= from)
        .for_each(|intent| place(&mut all, intent, |it| (None, it.sequence)));
    all.truncate(limit as usize);
    all
}

/// Into its place in the order. The library's sort would weigh more than the whole of this file.
fn place(
    sorted: &mut Vec<Shared<IntentRecord>>,
    intent: &Shared<IntentRecord>,
    order: impl Fn(&IntentRecord) -> (Option<u64>, u64),
) {
    let key = order(intent);
    let at = sorted.partition_point(|before| order(before) <= key);
    sorted.insert(at, intent.clone());
}
