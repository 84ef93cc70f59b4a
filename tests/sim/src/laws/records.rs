//! What the record of an intent may never say, what no change may do to it, and what it must agree with at the end.

use intento::core::attempt::{Attempt, AttemptState};
use intento::core::change::Applied;
use intento::core::contract::AnswerClass;
use intento::core::input::CommitError;
use intento::core::intent::{Claim, Evidence, IntentRecord, Purpose, State};
use intento::core::key::IntentId;
use intento::core::limits::TOMBSTONE_KEPT_MS;
use intento::core::record::{Record, RecordKey};
use intento::core::shared::Shared;
use intento::core::time::LedgerClock;

use super::brought;
use crate::ledger::Ledger;
use crate::world::ATTEMPT_MS;

/// What one record may never say.
pub(crate) fn alone(intent: &IntentRecord, seed: u64) {
    let sent = intent.maybe_sent();
    assert_eq!(sent, intent.first_sent.is_some(), "seed {seed}: {intent:?}");
    let unsent = matches!(intent.state, State::Queued | State::Cancelled | State::Expired);
    assert!(!(unsent && sent), "seed {seed}: law 3: provably never sent: {intent:?}");
    assert!(
        intent.successor.is_none() || intent.state.safe_to_replace(),
        "seed {seed}: law 3: succeeded while unknown: {intent:?}"
    );
    let done = |attempt: &Attempt| {
        [AnswerClass::Succeeded, AnswerClass::AlreadyDone].iter().any(|class| brought(attempt, *class))
    };
    let kept = matches!(intent.state, State::Succeeded { .. }) || intent.contradicted;
    assert!(kept || !intent.history.attempts.iter().any(done), "seed {seed}: law 4: a success was dropped: {intent:?}");
    if intent.state.safe_to_replace() {
        let proved = matches!(intent.state, State::Rejected { replaceable: true, .. } | State::NotApplied);
        assert!(proved || !sent, "seed {seed}: law 3: replaceable while unknown: {intent:?}");
    }
    // What has ended is looked at again only to find out more (P5.4, P5.6).
    let may_be_asked = intent.is_reconcilable();
    assert!(!intent.has_ended() || may_be_asked || intent.due_at_ms.is_none(), "seed {seed}: law 6: ended and due");
}

/// What is made with an intent, and stays.
fn frozen<'a>(intent: &'a IntentRecord, before: &IntentRecord) -> impl PartialEq + use<'a> {
    // Only what was never sent changes its scope, and its place in it (P8.2).
    let place = before.maybe_sent().then_some((&intent.scope, intent.sequence));
    let made = (&intent.id, place, &intent.operation, &intent.reference, intent.created, intent.expires_in_ms);
    let kept = (&intent.carrier, &intent.contract, &intent.fingerprint, &intent.request.method, &intent.request.origin);
    (made, kept, intent.key.short_hash())
}

/// What is frozen, and goes when the intent is erased.
fn whole(intent: &IntentRecord) -> impl PartialEq + use<'_> {
    (&intent.key, &intent.request)
}

/// Law 8: of what is taken away nothing was ever sent, or its tombstone has stood for its time.
pub(super) fn may_go(
    before: &IntentRecord,
    results: &[Result<Applied, CommitError>],
    clock: Option<LedgerClock>,
    seed: u64,
) {
    match dropped(&before.id, results) {
        Some(dropped) => assert!(!dropped.maybe_sent(), "seed {seed}: P8.3: a purge leaves a tombstone of {dropped:?}"),
        None if is_unsure(results) && before.erased.is_none() => {
            assert!(!before.maybe_sent(), "seed {seed}: law 8: an intent disappeared: {before:?}");
        }
        None => {
            let erased =
                before.erased.unwrap_or_else(|| panic!("seed {seed}: law 8: an intent disappeared: {before:?}"));
            let stood_ms = clock.map_or(0, |clock| clock.at_ms - erased.at_ms);
            assert!(stood_ms >= TOMBSTONE_KEPT_MS && before.state.is_definite(), "seed {seed}: law 8: {before:?}");
        }
    }
}

/// Law 8: what is erased was purged, or delivered long ago; and of a tombstone nothing else is there, whatever came late.
pub(super) fn is_erased(
    ledger: &Ledger,
    before: Option<&Shared<IntentRecord>>,
    after: &IntentRecord,
    results: &[Result<Applied, CommitError>],
    seed: u64,
) {
    if after.erased.is_none() {
        return;
    }
    let purged = dropped(&after.id, results).is_some() || is_unsure(results);
    if let Some(before) = before.filter(|before| before.erased.is_none() && !purged) {
        let delivered = before.delivery.due_at_ms.is_none() && before.delivery.acknowledged.is_some();
        assert!(
            before.state.is_definite() && delivered,
            "seed {seed}: law 8: pruned before it was delivered: {before:?}"
        );
    }
    let Some(Record::Payload(payload)) = ledger.record(&RecordKey::Payload(after.id.clone())) else {
        panic!("seed {seed}: a tombstone without its payload's place");
    };
    assert!(payload.body.is_none() && payload.answer.is_none(), "seed {seed}: law 8: what was erased is there again");
}

/// Did nothing tell the fate of the transaction, and so nothing what was purged by it?
fn is_unsure(results: &[Result<Applied, CommitError>]) -> bool {
    results.contains(&Err(CommitError::Unknown))
}

/// The intent, as it was before it was purged in this transaction.
pub(super) fn dropped<'a>(
    id: &IntentId,
    results: &'a [Result<Applied, CommitError>],
) -> Option<&'a Shared<IntentRecord>> {
    let purged = results.iter().flatten().filter_map(|applied| match applied {
        Applied::Purged { dropped, .. } => Some(dropped),
        _ => None,
    });
    purged.flatten().find(|intent| intent.id == *id)
}

/// What time it is, for a lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) clock: Option<LedgerClock>,
    /// How long ago, by the clock of the world, the newest attempt was claimed, if no wall clock was stepped since.
    pub(crate) claimed_for_ms: Option<u64>,
}

impl Time {
    /// Does a claim's lease live, by time that its holder could see? The ledger says so, or the world does, whatever a
    /// transaction has made of the ledger's clock.
    fn runs(self, claim: &Claim) -> bool {
        let hidden_ms = |clock: LedgerClock| clock.unexplained_ms.saturating_sub(claim.unexplained_ms);
        self.clock.is_some_and(|clock| clock.at_ms < claim.lease_until_ms + hidden_ms(clock))
            || self.claimed_for_ms.is_some_and(|claimed_for_ms| claimed_for_ms < ATTEMPT_MS)
    }
}

/// What one transaction made of a record: its changes are judged one by one, since what one of them may not do another may
/// have licensed.
pub(crate) fn step_by_step(
    before: &IntentRecord,
    after: &IntentRecord,
    results: &[Result<Applied, CommitError>],
    time: Time,
    seed: u64,
) {
    let one_change = results.len() < 2;
    let steps = results.iter().flatten().filter_map(Applied::intent).filter(|it| !one_change && it.id == after.id);
    let mut last = before;
    for step in steps {
        changed(last, step, time, seed);
        alone(step, seed);
        last = step;
    }
    changed(last, after, time, seed);
}

/// What no change may do to a record.
fn changed(before: &IntentRecord, after: &IntentRecord, time: Time, seed: u64) {
    assert!(frozen(before, before) == frozen(after, before), "seed {seed}: law 2: a write-once member changed");
    assert!(after.erased.is_some() || whole(before) == whole(after), "seed {seed}: law 2: a write-once member changed");
    assert!(before.erased.is_none() || after.erased == before.erased, "seed {seed}: law 8: what was erased is back");
    assert!(after.fence >= before.fence, "seed {seed}: law 5: the fence went back");
    let successor_stays = before.successor.is_none() || before.successor == after.successor;
    assert!(successor_stays, "seed {seed}: law 3: two successors");
    claim_stays(before, after, time, seed);
    let unstored = matches!(after.state, State::Rejected { evidence: Evidence::Unstored, .. } | State::Mismatched);
    let settled = unstored && !before.has_ended();
    assert!(
        !(settled && after.history.any_unknown()),
        "seed {seed}: P5.1: settled beside an unknown attempt: {after:?}"
    );
    assert!(after.journal_entries >= before.journal_entries, "seed {seed}: the journal only grows");
    if before.state.is_moved() {
        assert_eq!(before.history.total, after.history.total, "seed {seed}: L11: sent after it was moved");
        assert!(after.has_ended() || after.state == before.state, "seed {seed}: L11: it goes on after it was moved");
    }
    if before.state.is_definite() {
        let freed = matches!(before.state, State::Rejected { replaceable: false, .. })
            && after.state == State::Rejected { evidence: Evidence::Reconciliation, replaceable: true };
        assert!(before.state == after.state || freed, "seed {seed}: law 6: the first definite outcome stays");
        assert_eq!(before.history.total, after.history.total, "seed {seed}: law 6: claimed to send after its outcome");
        let harmless = |purpose| matches!(purpose, Purpose::Deliver | Purpose::Reconcile);
        let looked_at = after.claim.as_ref().is_none_or(|claim| harmless(claim.purpose));
        assert!(looked_at, "seed {seed}: law 6: claimed after its outcome, neither to deliver it nor to find out more");
    }
    let taken = before.state == State::Accepted && after.history.total > before.history.total;
    assert!(!taken, "seed {seed}: P2.2: what the server has taken is never sent again");
    assert!(after.history.total <= before.history.total + 1, "seed {seed}: one attempt a claim");
}

/// Law 5: a claim to send whose lease lives ends with its attempt, or with the intent, and by nothing else.
fn claim_stays(before: &IntentRecord, after: &IntentRecord, time: Time, seed: u64) {
    let send = before.claim.as_ref().filter(|claim| claim.purpose == Purpose::Send);
    let Some(claim) = send.filter(|claim| time.runs(claim)) else { return };
    let under_way = |it: &IntentRecord| {
        let attempt = it.history.attempts.iter().find(|attempt| attempt.fence == before.fence);
        attempt.is_some_and(|attempt| attempt.state == AttemptState::Open)
    };
    if under_way(before) && under_way(after) && !after.has_ended() {
        // Under the intent's lock it may be inherited, by a claim or by what comes in place of one (P2.4).
        let passed_on = |now: &Claim| claim.lock_held && now.lock_held && now.purpose == claim.purpose;
        let same = match &after.claim {
            Some(now) => now.nonce == claim.nonce || passed_on(now),
            None => claim.lock_held && matches!(after.state, State::Held { .. }),
        };
        assert!(same, "seed {seed}: law 5: a live claim ended while its attempt is under way");
    }
}

/// What the client says is what the server did, this many times; more than once is `after_effect`'s. `unsure`: the ledger
/// has lost something, and may say that what was sent was not.
pub(crate) fn agrees(intent: &IntentRecord, effects: u32, unsure: bool, seed: u64) {
    let paid = effects.min(1);
    let said = || format!("seed {seed}: {:?}, {paid} effects, {:?}", intent.state, intent.history);
    match &intent.state {
        State::Succeeded { .. } => assert_eq!(paid, 1, "law 4: paid: {}", said()),
        _ if unsure => {}
        State::NotApplied | State::Cancelled | State::Expired => assert_eq!(paid, 0, "law 4: not paid: {}", said()),
        State::Rejected { replaceable: true, .. } => assert_eq!(paid, 0, "law 3: replaceable: {}", said()),
        _ => {}
    }
}
