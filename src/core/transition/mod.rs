//! `apply`: the only code that changes an intent. Pure and synchronous, so that a store can run it inside one
//! transaction; judging happens inside it.

mod adopt;
mod attempt;
mod claim;
mod deliver;
mod draft;
mod erase;
mod lane;
mod parcel;
mod poll;
mod reconcile;
mod steering;
mod submit;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use super::bugs::{Bug, bug};
use super::change::{Applied, Change, Delivered, MoveOut, NotSent, Purge, Refusal};
use super::intent::{HeldReason, IntentRecord, State};
use super::journal::JournalEvent;
use super::key::IntentId;
use super::record::{Overlay, RecordKey, Stop};
use super::time::Reading;
use draft::Draft;

pub use erase::may_be_pruned;

/// Applies one change over the overlay. On [`Stop`] the overlay is as it was. Re-running a change that was applied
/// before, in this batch or in an earlier transaction, does nothing and says the same (P1.1).
pub fn apply(overlay: &mut Overlay, change: &Change, reading: Reading) -> Result<Applied, Stop> {
    let mut draft = Draft::open(overlay, change, reading)?;
    let applied = match change {
        Change::Submit(submit) => submit::submit(&mut draft, submit)?,
        Change::Claim(take) => claim::claim(&mut draft, take)?,
        Change::Record(facts) => attempt::record(&mut draft, facts)?,
        Change::Polled(polled) => poll::polled(&mut draft, polled)?,
        Change::NotSent(not_sent) => attempt::not_sent(&mut draft, not_sent)?,
        Change::Reconcile(id) => reconcile::ask(&mut draft, id)?,
        Change::Reconciled(reconciled) => reconcile::reconciled(&mut draft, reconciled)?,
        Change::Adopt(adopt) => adopt::adopt(&mut draft, adopt)?,
        Change::Purge(purge) => erase::purge(&mut draft, purge)?,
        Change::MoveOut(moved) => parcel::move_out(&mut draft, moved)?,
        Change::Receive(receive) => parcel::receive(&mut draft, receive)?,
        Change::Prune(intents) => erase::prune(&mut draft, intents)?,
        Change::Replace(replace) => submit::replace(&mut draft, replace)?,
        Change::Cancel(id) => steering::cancel(&mut draft, id)?,
        Change::Resume(id) => steering::resume(&mut draft, id)?,
        Change::Skip(id) => lane::skip(&mut draft, id)?,
        Change::Abandon { intent, reason } => steering::abandon(&mut draft, intent, reason)?,
        Change::Delivered(delivered) => deliver::delivered(&mut draft, delivered)?,
        Change::Acknowledge(id) => deliver::acknowledge(&mut draft, id)?,
        Change::Hold { intent, reason } => steering::hold(&mut draft, intent, *reason)?,
        // Every change moves the ledger's clock; this one does nothing else.
        Change::Tick => Applied::Ticked,
        Change::Probed { origin, ok } => {
            let mut record = draft.origin(origin)?;
            record.probed(*ok, draft.now());
            draft.put_origin(origin, &record);
            Applied::Probed { name: origin.clone(), origin: record }
        }
    };
    let writes = draft.into_writes();
    overlay.write(writes);
    Ok(applied)
}

/// The records that a change is decided on, as far as it names them itself. What those name is read after them.
fn needs(change: &Change) -> Vec<RecordKey> {
    let alone = |id: &IntentId| vec![RecordKey::Intent(id.clone())];
    let whole = |id: &IntentId| vec![RecordKey::Intent(id.clone()), RecordKey::Payload(id.clone())];
    match change {
        Change::Submit(submit) => submit::needs(submit),
        Change::Replace(replace) => {
            let mut needs = submit::needs(&replace.successor);
            needs.push(RecordKey::Intent(replace.predecessor.clone()));
            needs
        }
        Change::Claim(take) => whole(&take.intent),
        Change::Record(facts) => whole(&facts.intent),
        Change::Polled(polled) => whole(&polled.intent),
        Change::Reconciled(reconciled) => whole(&reconciled.intent),
        Change::Adopt(adopt) => adopt.intents.iter().cloned().map(RecordKey::Intent).collect(),
        Change::Receive(receive) => {
            receive.parcel.items.iter().map(|item| RecordKey::Intent(item.intent.id.clone())).collect()
        }
        Change::Purge(Purge { intents, .. }) | Change::MoveOut(MoveOut { intents, .. }) | Change::Prune(intents) => {
            intents.iter().flat_map(whole).collect()
        }
        Change::NotSent(NotSent { intent, .. })
        | Change::Delivered(Delivered { intent, .. })
        | Change::Cancel(intent)
        | Change::Resume(intent)
        | Change::Skip(intent)
        | Change::Abandon { intent, .. }
        | Change::Reconcile(intent)
        | Change::Acknowledge(intent)
        | Change::Hold { intent, .. } => alone(intent),
        Change::Probed { origin, .. } => vec![RecordKey::Origin(origin.clone())],
        Change::Tick => Vec::new(),
    }
}

/// Shorthand of this folder: a refusal as a stop.
fn refuse<T>(refusal: Refusal) -> Result<T, Stop> {
    Err(Stop::Refused(refusal))
}

impl Draft<'_> {
    /// Ends an intent. Everything that could make it run again goes; the first definite outcome wins (law 6).
    fn settle(&mut self, intent: &mut IntentRecord, state: State) -> Result<(), Stop> {
        if !intent.has_ended() {
            match self.counters(&intent.scope) {
                Ok(mut counters) => {
                    counters.open = counters.open.saturating_sub(u64::from(!bug(Bug::OpenCountKept)));
                    self.put_counters(&intent.scope, counters);
                }
                // An outcome is worth more than the count of what is open.
                Err(Stop::Refused(_)) => {}
                Err(unread) => return Err(unread),
            }
            match lane::leave(self, intent) {
                Err(unread @ Stop::Unread(_)) => return Err(unread),
                // And more than a lane.
                Ok(()) | Err(Stop::Refused(_)) => {}
            }
        }
        self.journal(intent, JournalEvent::Settled { state: state.name().to_owned() });
        // What the app did itself it need not be told.
        let own_act = matches!(state, State::Cancelled | State::Abandoned);
        // Nor is it news that a refusal which was told can now be replaced.
        let told = matches!((&intent.state, &state), (State::Rejected { .. }, State::Rejected { .. }));
        if !told {
            intent.delivery.acknowledged = own_act.then_some(self.now());
            intent.delivery.due_at_ms = (!own_act).then_some(self.now().at_ms);
            intent.delivery.tries = 0;
        }
        intent.state = state;
        intent.claim = None;
        // A refusal that cannot be replaced yet can be, once the server has been asked (P5.4).
        let worth_asking = intent.has_lookup && matches!(intent.state, State::Rejected { replaceable: false, .. });
        intent.due_at_ms = worth_asking.then_some(self.now().at_ms);
        intent.floor_at_ms = None;
        Ok(())
    }

    /// Stops an intent until the app or a person acts. The key and the request stay.
    fn hold(&mut self, intent: &mut IntentRecord, reason: HeldReason) {
        self.journal(intent, JournalEvent::Held { reason });
        intent.state = State::Held { reason };
        intent.claim = None;
        intent.reconciling.looks = 0;
        // Any realm with credentials that were not refused may claim it again (P7.3), and any that can find out what
        // became of it, may ask.
        let due = reason == HeldReason::Auth || (reason.only_asking_helps() && intent.history.any_unknown());
        intent.due_at_ms = due.then_some(self.now().at_ms);
    }
}
