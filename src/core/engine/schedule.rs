//! When the ledger is worth a look, and what of what is due is begun here.

use super::Engine;
use crate::core::backoff::backoff_ms;
use crate::core::effect::Effect;
use crate::core::input::{DuePage, DueSpan};
use crate::core::intent::IntentRecord;
use crate::core::limits::{
    ATTEMPTS_PER_MINUTE_MAX, BACKOFF_CAP_MS, DUE_PAGE_GROWN_MAX, DUE_PAGE_MAX, MINUTE_MS, RUNS_MAX,
};
use crate::core::shared::Shared;

/// What is known of the ledger's due times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) loading: bool,
    /// Something changed since the last load began.
    pub(super) stale: bool,
    /// The next load looks a backoff's length ahead: what waits only because the network was gone need not wait.
    pub(super) ahead: bool,
    pub(super) next_due_at_ms: Option<u64>,
    /// A page that holds only intents which this realm cannot run must not hide others: the next one is larger, up to
    /// [`DUE_PAGE_GROWN_MAX`], and then begins where it ended.
    pub(super) page: u32,
    pub(super) from_ms: u64,
    /// Something is due that was not begun here: it may be when a run ends.
    pub(super) passed_over: bool,
    pub(super) retry_at_mono_ms: Option<u64>,
    pub(super) failures: u32,
}

impl Schedule {
    pub(super) fn new() -> Self {
        Self {
            loading: false,
            stale: false,
            ahead: false,
            next_due_at_ms: None,
            page: DUE_PAGE_MAX,
            from_ms: 0,
            passed_over: false,
            retry_at_mono_ms: None,
            failures: 0,
        }
    }
}

impl Engine {
    pub(super) fn has_room(&self) -> bool {
        let paced = self.pace_ends_at_ms().is_some();
        !self.is_full() && !paced && !self.suspended && self.started
    }

    /// Whether as many attempts are under way as may be. One that has its answer waits only for the ledger, and the next claim
    /// shares that transaction; as many again may do so.
    fn is_full(&self) -> bool {
        let answered = self.runs.values().filter(|run| run.unrecorded().is_some()).count();
        self.runs.len().saturating_sub(answered.min(RUNS_MAX)) >= RUNS_MAX
    }

    /// When this realm may begin another run, by the monotonic clock; `None`: now.
    pub(super) fn pace_ends_at_ms(&self) -> Option<u64> {
        let place = self.begun.len().checked_sub(ATTEMPTS_PER_MINUTE_MAX)?;
        let at_ms = self.begun.get(place)?.saturating_add(MINUTE_MS);
        (self.now.mono_ms < at_ms).then_some(at_ms)
    }

    pub(super) fn load_due(&mut self) {
        let stamp = self.stamp();
        let reached = self.schedule.next_due_at_ms.is_some_and(|due_at_ms| due_at_ms <= stamp.at_ms);
        let retry = self.schedule.retry_at_mono_ms.is_some_and(|at_ms| at_ms <= self.now.mono_ms);
        let awaited = self.unpark() || reached;
        let wanted = awaited || self.schedule.stale || retry;
        if awaited {
            // It may have been ended by one who died before it could say so.
            self.inbox.look();
        }
        if !wanted || !self.has_room() || self.schedule.loading {
            self.schedule.stale |= wanted;
            return;
        }
        let until_ms = stamp.at_ms.saturating_add(if self.schedule.ahead { BACKOFF_CAP_MS } else { 0 });
        let Schedule { from_ms, page, failures, .. } = self.schedule;
        self.schedule = Schedule { loading: true, from_ms, page, failures, ..Schedule::new() };
        self.effects.push(Effect::LoadDue { span: DueSpan { from_ms, until_ms }, limit: page });
    }

    /// Lets go of the intents whose parking time is over. Says whether there were any.
    fn unpark(&mut self) -> bool {
        let mut any = false;
        for (id, parked) in self.parked.iter_mut() {
            let over = parked.until_mono_ms.is_some_and(|at_ms| at_ms <= self.now.mono_ms);
            if over && !self.runs.contains_key(id) {
                parked.until_mono_ms = None;
                any = true;
            }
        }
        any
    }

    pub(super) fn due(&mut self, page: DuePage) {
        self.follow(page.clock);
        let now = self.stamp().at_ms;
        let Schedule { page: page_len, from_ms, .. } = self.schedule;
        let last_ms = page.due.last().and_then(|intent| intent.due_at_ms).unwrap_or(0);
        let full = page.due.len() >= page_len as usize;
        let later = page.due.iter().filter_map(|intent| intent.due_at_ms).filter(|due_at_ms| *due_at_ms > now).min();
        let next_due_at_ms = page.next_due_at_ms.into_iter().chain(later).min();
        self.schedule.next_due_at_ms = next_due_at_ms;
        self.schedule.loading = false;
        self.schedule.failures = 0;
        self.origins.learn_all(page.origins);
        self.backlog.clear();
        let mut started = 0_u32;
        for intent in page.due {
            if self.start_or_pass_over(&intent) {
                started += 1;
            }
        }
        self.schedule.passed_over |= full;
        (self.schedule.page, self.schedule.from_ms) = (DUE_PAGE_MAX, 0);
        if full && started == 0 && self.backlog.is_empty() {
            // Nothing here can run now, and it may hide what can.
            let grown = page_len.saturating_mul(2).min(DUE_PAGE_GROWN_MAX);
            let begin_ms = if grown > page_len { from_ms } else { last_ms.max(from_ms.saturating_add(1)) };
            (self.schedule.page, self.schedule.from_ms) = (grown, begin_ms);
            self.schedule.stale = true;
        }
    }

    pub(super) fn due_failed(&mut self) {
        self.schedule.loading = false;
        self.schedule.failures = self.schedule.failures.saturating_add(1);
        let wait = backoff_ms(self.schedule.failures, self.jitter.draw()).max(100);
        self.schedule.retry_at_mono_ms = Some(self.now.mono_ms.saturating_add(wait));
    }

    /// The newest record of an intent is in hand: what is there to do about it needs no look at the ledger.
    pub(super) fn heed(&mut self, intent: &Shared<IntentRecord>) {
        if intent.scope != self.settings.scope {
            return;
        }
        self.offer(intent);
        // It has passed its turn on, to one that nobody names.
        self.schedule.stale |= intent.lane.is_some() && intent.has_ended();
        match intent.due_at_ms {
            Some(at_ms) if at_ms <= self.stamp().at_ms => {
                self.start_or_pass_over(intent);
            }
            Some(at_ms) => self.look_at(at_ms),
            None => {}
        }
    }

    /// The ledger is worth a look then.
    pub(super) fn look_at(&mut self, at_ms: u64) {
        if self.schedule.loading {
            // What is being read may be older than this.
            self.schedule.stale = true;
        } else {
            let next_ms = self.schedule.next_due_at_ms;
            self.schedule.next_due_at_ms = Some(next_ms.map_or(at_ms, |next_ms| next_ms.min(at_ms)));
        }
    }

    /// Starts what the ledger calls due, or leaves it for when a run has ended.
    pub(super) fn start_or_pass_over(&mut self, intent: &Shared<IntentRecord>) -> bool {
        self.backlog.retain(|waiting| waiting.id != intent.id);
        let full = self.is_full() && !self.runs.contains_key(&intent.id);
        if full && self.backlog.len() < DUE_PAGE_MAX as usize {
            self.backlog.push(intent.clone());
            return false;
        }
        let begun = self.has_room() && self.start(intent);
        self.schedule.passed_over |= !begun && !self.runs.contains_key(&intent.id);
        begun
    }

    /// Runs have ended: what waited only for them goes on, without another look at the ledger.
    pub(super) fn begin_backlog(&mut self) {
        while self.has_room() && !self.backlog.is_empty() {
            let intent = self.backlog.remove(0);
            self.start_or_pass_over(&intent);
            self.schedule.stale |= self.backlog.is_empty() && self.schedule.passed_over;
        }
    }
}
