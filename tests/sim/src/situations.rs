//! Situations that nobody brings about: they come of what was drawn, and are counted where they show.

use intento::core::attempt::AttemptState;
use intento::core::change::{Applied, Change, Grant, Refusal, TakeClaim};
use intento::core::input::CommitError;
use intento::core::intent::{Evidence, HeldReason, IntentRecord, Purpose, State};
use intento::core::key::IntentId;
use intento::core::shared::Shared;

use crate::realms::name_of;
use crate::tally::Tally;
use crate::world::{RealmNo, World};

type Outcome = Result<Applied, CommitError>;

/// How many realms want one intent at once.
const CROWD: usize = 3;

impl World {
    /// What a realm's transaction shows. The laws have not looked at it yet: they still know what was before.
    pub(crate) fn count_commit(&mut self, realm: RealmNo, changes: &[Change], outcomes: &[Outcome]) {
        for (change, outcome) in changes.iter().zip(outcomes) {
            match (change, outcome) {
                (Change::Claim(take), outcome) => self.count_claim(realm, take, outcome),
                (Change::Record(facts), Ok(Applied::Recorded { intent, .. })) => {
                    let stale = intent.fence != facts.fence;
                    self.tally.stale_facts += u64::from(stale);
                    self.tally.late_for_tombstone += u64::from(intent.erased.is_some());
                    self.tally.zombies += u64::from(stale && self.thawed.contains(&realm));
                }
                (Change::Submit(_), Ok(Applied::Submitted { intent, created: true })) => {
                    self.tally.in_lane += u64::from(intent.lane.is_some() && intent.due_at_ms.is_none());
                }
                (Change::Purge(_), Ok(Applied::Purged { dropped, .. })) => {
                    self.tally.purged += dropped.len() as u64;
                    let sending = |it: &&Shared<IntentRecord>| {
                        it.claim.as_ref().is_some_and(|claim| claim.purpose == Purpose::Send)
                    };
                    self.tally.purged_sending += dropped.iter().filter(sending).count() as u64;
                }
                (Change::MoveOut(_), Ok(Applied::MovedOut { moved, .. })) => {
                    self.tally.moved += moved.iter().filter(|intent| intent.state.is_moved()).count() as u64;
                }
                (Change::Prune(intents), Ok(Applied::Pruned)) => {
                    for before in intents.iter().filter_map(|id| self.laws.known(id)) {
                        let after = self.ledger.intent(&before.id);
                        self.tally.tombstones_pruned += u64::from(after.is_none());
                        let erased = after.is_some_and(|after| after.erased.is_some());
                        self.tally.pruned += u64::from(before.erased.is_none() && erased);
                    }
                }
                (Change::Skip(_), Ok(Applied::Skipped(intent))) => {
                    let had_lane = self.laws.known(&intent.id).is_some_and(|before| before.lane.is_some());
                    self.tally.skipped += u64::from(had_lane && intent.lane.is_none());
                }
                (Change::NotSent(_), Ok(_)) => {
                    self.tally.guarded += 1;
                    self.tally.zombies += u64::from(self.thawed.contains(&realm));
                }
                (Change::Reconciled(_), Ok(Applied::Reconciled(intent))) => {
                    let before = self.laws.known(&intent.id);
                    count_end_of_window(&mut self.tally, before, intent);
                }
                _ => {}
            }
        }
    }

    fn count_claim(&mut self, realm: RealmNo, take: &TakeClaim, outcome: &Outcome) {
        if take.purpose == Purpose::Poll && matches!(outcome, Ok(Applied::Claimed(_))) {
            let before = self.laws.known(&take.intent).and_then(|intent| intent.claim.as_ref());
            self.tally.polls_inherited += u64::from(before.is_some_and(|claim| claim.owner != take.owner));
        }
        if take.purpose != Purpose::Send {
            return;
        }
        match outcome {
            Ok(Applied::Claimed(grant)) => {
                self.tally.inherited += u64::from(follows_silence(realm, grant));
                self.wanted_by.insert(take.intent.clone(), vec![realm]);
            }
            Err(CommitError::Refused(Refusal::Leased { .. })) => {
                self.tally.leased += 1;
                self.wants(realm, &take.intent);
            }
            Err(CommitError::Refused(Refusal::WrongState(intent))) => {
                self.tally.other_scope += u64::from(intent.scope != take.scope);
            }
            _ => {}
        }
    }

    /// A realm wants an intent that another is at.
    pub(crate) fn wants(&mut self, realm: RealmNo, intent: &IntentId) {
        let Some(wanting) = self.wanted_by.get_mut(intent) else { return };
        if !wanting.contains(&realm) {
            wanting.push(realm);
            self.tally.crowds += u64::from(wanting.len() == CROWD);
        }
    }

    /// A tab is about to die. Has it an attempt that is recorded, and has not left?
    pub(crate) fn is_about_to_send(&self, realm: RealmNo) -> bool {
        self.laws.intents().any(|intent| {
            let claimed = intent.claim.as_ref().is_some_and(|claim| *claim.owner.0 == name_of(realm));
            let newest = intent.history.attempts.last();
            claimed
                && newest.is_some_and(|attempt| {
                    let sent = self.laws.sends.get(&intent.id).is_some_and(|sent| sent.contains(&attempt.number));
                    attempt.state == AttemptState::Open && attempt.fence == intent.fence && !sent
                })
        })
    }
}

/// Another realm has begun the attempt before, and has said nothing since.
fn follows_silence(realm: RealmNo, grant: &Grant) -> bool {
    let before = grant.intent.history.attempts.iter().rev().nth(1);
    before.is_some_and(|attempt| {
        let own = attempt.correlation.0.strip_prefix(&*name_of(realm)).is_some_and(|rest| rest.starts_with('-'));
        attempt.state == AttemptState::Open && !own
    })
}

/// An intent whose window had closed, and that asking has settled.
fn count_end_of_window(tally: &mut Tally, before: Option<&IntentRecord>, after: &IntentRecord) {
    if before.is_none_or(|before| before.state != State::Held { reason: HeldReason::WindowClosed }) {
        return;
    }
    match after.state {
        State::Succeeded { evidence: Evidence::Reconciliation, .. } => tally.window_applied += 1,
        State::NotApplied => tally.window_not_applied += 1,
        _ => {}
    }
}
