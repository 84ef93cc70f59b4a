//! Handing outcomes to the app: which are due, and each from claim to acknowledgement (P7). Beside the attempts, so
//! that a slow handler never blocks new work.

use super::Engine;
use crate::core::change::{Applied, Change, Delivered, Refusal, TakeClaim};
use crate::core::effect::Effect;
use crate::core::input::{CommitError, DuePage, Ticket};
use crate::core::intent::{IntentRecord, Purpose};
use crate::core::key::IntentId;
use crate::core::limits::{
    DELIVER_AGAIN_MIN_MS, DELIVER_DEADLINE_MS, DELIVER_PRECEDENCE_MS, DELIVERIES_MAX, DUE_PAGE_MAX, OPEN_INTENTS_MAX,
};
use crate::core::map::SortedMap;

#[derive(Clone, Debug)]
pub(super) struct Inbox {
    /// Operations whose outcomes the app has a handler for.
    handled: Vec<String>,
    loading: bool,
    stale: bool,
    next_due_at_ms: Option<u64>,
    page: u32,
    /// Something is due that was not begun here: it may be when a delivery ends.
    passed_over: bool,
    runs: SortedMap<IntentId, Step>,
    /// Outcomes whose records this build cannot read: left for another.
    unreadable: Vec<IntentId>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Claiming,
    Handling { fence: u64 },
    Acknowledging,
}

impl Inbox {
    pub(super) fn new(handled: &[String]) -> Self {
        Self {
            handled: handled.to_vec(),
            loading: false,
            stale: true,
            next_due_at_ms: None,
            page: DUE_PAGE_MAX,
            passed_over: false,
            runs: SortedMap::new(),
            unreadable: Vec::new(),
        }
    }

    /// Something may have come in.
    pub(super) fn look(&mut self) {
        self.stale = true;
    }

    fn has_room(&self) -> bool {
        !self.handled.is_empty() && self.runs.len() < DELIVERIES_MAX
    }

    pub(super) fn is_busy(&self) -> bool {
        self.loading || !self.runs.is_empty()
    }

    /// When the inbox is worth a look by itself, on the ledger clock.
    pub(super) fn next_due_at_ms(&self) -> Option<u64> {
        self.next_due_at_ms.filter(|_| self.has_room() && !self.loading)
    }

    fn look_at(&mut self, at_ms: u64) {
        self.next_due_at_ms = Some(self.next_due_at_ms.map_or(at_ms, |next_ms| next_ms.min(at_ms)));
    }
}

impl Engine {
    pub(super) fn load_inbox(&mut self) {
        let now = self.stamp().at_ms;
        let reached = self.inbox.next_due_at_ms.is_some_and(|at_ms| at_ms <= now);
        let may = self.inbox.has_room() && !self.inbox.loading && self.started && !self.suspended;
        if may && (self.inbox.stale || reached) {
            self.inbox.loading = true;
            self.inbox.stale = false;
            self.inbox.next_due_at_ms = None;
            self.inbox.passed_over = false;
            self.effects.push(Effect::LoadInbox { until_ms: now, limit: self.inbox.page });
        }
    }

    pub(super) fn inbox_loaded(&mut self, page: DuePage) {
        self.follow(page.clock);
        let now = self.stamp();
        self.inbox.loading = false;
        if let Some(at_ms) = page.next_due_at_ms {
            // What is due and was not begun here is not worth another look at once.
            self.inbox.look_at(at_ms.max(now.at_ms.saturating_add(DELIVER_AGAIN_MIN_MS)));
        }
        let full = page.due.len() >= self.inbox.page as usize;
        let before = self.inbox.runs.len();
        page.due.iter().for_each(|intent| self.offer(intent));
        let begun = self.inbox.runs.len() > before;
        let grown = self.inbox.page.saturating_mul(2).min(OPEN_INTENTS_MAX as u32);
        // Outcomes that nobody here handles must not hide those behind them.
        self.inbox.stale |= full && !begun && grown > self.inbox.page;
        self.inbox.page = if full && !begun { grown } else { DUE_PAGE_MAX };
    }

    /// Begins to hand over an outcome whose time has come, or sees to it that it will be.
    pub(super) fn offer(&mut self, intent: &IntentRecord) {
        let now = self.stamp();
        let wanted = self.inbox.handled.contains(&intent.operation)
            && !self.inbox.runs.contains_key(&intent.id)
            && !self.inbox.unreadable.contains(&intent.id);
        let Some(due_at_ms) = intent.delivery.due_at_ms.filter(|_| wanted) else { return };
        let others = intent.delivery.tries == 0 && intent.delivery.submitted_by != self.settings.owner;
        let at_ms = due_at_ms.saturating_add(if others { DELIVER_PRECEDENCE_MS } else { 0 });
        if now.at_ms < at_ms {
            self.inbox.look_at(at_ms);
        } else if self.inbox.has_room() && !self.suspended && self.started {
            self.inbox.runs.insert(intent.id.clone(), Step::Claiming);
            let claim = self.claim_to_deliver(intent.id.clone());
            self.enqueue(Ticket::Delivery(intent.id.clone()), Change::Claim(claim));
        } else {
            self.inbox.passed_over = true;
        }
    }

    pub(super) fn inbox_failed(&mut self) {
        self.inbox.loading = false;
        let at_ms = self.stamp().at_ms.saturating_add(DELIVER_AGAIN_MIN_MS);
        self.inbox.look_at(at_ms);
    }

    fn claim_to_deliver(&mut self, intent: IntentId) -> TakeClaim {
        let terms = self.terms();
        TakeClaim {
            intent,
            nonce: terms.nonce,
            owner: terms.owner,
            scope: terms.scope,
            purpose: Purpose::Deliver,
            lock: None,
            attempt_ms: DELIVER_DEADLINE_MS,
            windows: terms.windows,
            fresh_credentials: false,
        }
    }

    /// The app's handler has resolved, or rejected, or was silent for too long.
    pub(super) fn delivered(&mut self, intent: &IntentId, ok: bool) {
        let jitter = self.jitter.draw();
        let Some(step) = self.inbox.runs.get_mut(intent) else { return };
        let Step::Handling { fence } = *step else { return };
        *step = Step::Acknowledging;
        let delivered = Delivered { intent: intent.clone(), fence, ok, jitter };
        self.enqueue(Ticket::Delivery(intent.clone()), Change::Delivered(delivered));
    }

    pub(super) fn delivery_committed(&mut self, intent: &IntentId, result: Result<Applied, CommitError>) {
        match result {
            // The realm was frozen meanwhile: by now it may be in another's hands.
            Ok(Applied::Claimed(grant))
                if self.stamp().at_ms.saturating_add(DELIVER_DEADLINE_MS) > grant.lease_until_ms =>
            {
                self.inbox.look();
            }
            Ok(Applied::Claimed(grant)) => {
                self.inbox.runs.insert(intent.clone(), Step::Handling { fence: grant.fence });
                let answer = grant.answer.clone();
                self.effects.push(Effect::Deliver { intent: grant.intent, answer });
                return;
            }
            Err(CommitError::Refused(Refusal::NotBefore { at_ms })) => self.inbox.look_at(at_ms),
            Err(CommitError::Refused(Refusal::Leased { until_ms })) => {
                self.enqueue(Ticket::Engine, Change::Tick);
                self.inbox.look_at(until_ms.max(self.stamp().at_ms.saturating_add(DELIVER_AGAIN_MIN_MS)));
            }
            // Somebody else was quicker; others may wait for this place.
            Err(CommitError::Refused(Refusal::WrongState(_))) => self.inbox.look(),
            Err(CommitError::Refused(_)) => {
                self.inbox.unreadable.push(intent.clone());
                self.inbox.look();
            }
            // An acknowledgement that is not in is made good by delivering again when the lease ends.
            Err(_) => self.inbox_failed(),
            Ok(applied) => {
                let again_at_ms = applied.intent().and_then(|intent| intent.delivery.due_at_ms);
                again_at_ms.into_iter().for_each(|at_ms| self.inbox.look_at(at_ms));
                self.inbox.stale |= self.inbox.passed_over;
            }
        }
        self.inbox.runs.remove(intent);
    }
}
