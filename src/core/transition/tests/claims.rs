//! Claims, leases, fences, floors and windows (P2, P3.3, laws 5 and 7).

use super::*;
use crate::core::contract::Windows;
use crate::core::contract::tests::{json, with_header};
use crate::core::intent::{Cause, Evidence, Replay};
use crate::core::limits::{ATTEMPTS_MAX, RETRY_AFTER_MAX_MS};
use crate::core::shared::Shared;

fn all_states() -> Vec<State> {
    vec![
        State::Queued,
        State::Waiting { cause: Cause::Network },
        State::Accepted,
        State::Held { reason: HeldReason::Auth },
        State::Succeeded { replay: Replay::Fresh, evidence: Evidence::Reply },
        State::Rejected { evidence: Evidence::Stored, replaceable: true },
        State::Mismatched,
        State::NotApplied,
        State::Cancelled,
        State::Expired,
        State::Abandoned,
    ]
}

/// Puts the only intent into a state, whatever led there.
fn force(bench: &mut Bench, state: State) -> IntentId {
    let mut intent = bench.only();
    let id = intent.id.clone();
    intent.delivery.due_at_ms = state.is_terminal().then_some(START);
    intent.state = state;
    let record = Some(Record::Intent(Shared::new(intent)));
    bench.records.insert(RecordKey::Intent(id.clone()), Versioned { version: 7, record });
    id
}

#[test]
fn p2_2_purposes_fit_states() {
    let allowed = |purpose| match purpose {
        Purpose::Send => vec!["queued", "waiting"],
        Purpose::Poll => vec!["accepted"],
        Purpose::Reconcile => vec!["waiting", "accepted", "held", "mismatched", "abandoned"],
        Purpose::Deliver => {
            vec!["succeeded", "rejected", "mismatched", "not_applied", "cancelled", "expired", "abandoned"]
        }
    };
    for purpose in [Purpose::Send, Purpose::Poll, Purpose::Reconcile, Purpose::Deliver] {
        for state in all_states() {
            let mut bench = Bench::with(&submit(1));
            let sent = purpose == Purpose::Reconcile;
            if sent {
                let id = bench.only().id;
                bench.attempt(&id, Observation::Fault(Fault::Timeout));
            }
            let id = force(&mut bench, state.clone());
            let result = bench.apply(&Change::Claim(TakeClaim { purpose, ..take(&id, "n") }));
            let wanted = allowed(purpose).contains(&state.name());
            match result {
                Ok(Applied::Claimed(grant)) => {
                    assert!(wanted, "{purpose:?} from {}", state.name());
                    assert_eq!(grant.attempt.is_some(), purpose == Purpose::Send, "only send makes an attempt");
                    assert_eq!(grant.intent.first_sent.is_some(), sent || purpose == Purpose::Send);
                    assert_eq!(grant.intent.maybe_sent(), sent || purpose == Purpose::Send);
                }
                Err(Refusal::WrongState(_)) => assert!(!wanted, "{purpose:?} from {}", state.name()),
                other => panic!("{purpose:?} from {}: {other:?}", state.name()),
            }
        }
    }
}

#[test]
fn what_was_never_sent_is_not_asked_about() {
    for state in all_states() {
        let mut bench = Bench::with(&submit(1));
        let id = force(&mut bench, state.clone());
        let asked = bench.apply(&Change::Claim(TakeClaim { purpose: Purpose::Reconcile, ..take(&id, "n") }));
        assert!(matches!(asked, Err(Refusal::WrongState(_))), "{}", state.name());
        assert_eq!(bench.only().claim, None, "{}", state.name());
    }
}

#[test]
fn law_6_no_claim_to_send_after_a_definite_outcome() {
    for state in all_states().into_iter().filter(State::is_terminal) {
        let mut bench = Bench::with(&submit(1));
        let id = force(&mut bench, state.clone());
        let refused = bench.apply(&Change::Claim(take(&id, "n")));
        assert!(matches!(refused, Err(Refusal::WrongState(_))), "{}", state.name());
        assert_eq!(bench.only().state, state);
    }
}

#[test]
fn law_1_the_claim_records_the_attempt_before_it_is_sent() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&submit(1).intent, "n");
    assert_eq!((grant.attempt, grant.fence), (Some(1), 1));
    let intent = bench.only();
    assert_eq!(*grant.intent, intent, "what is granted is what is stored");
    assert_eq!(intent.history.attempts[0].state, AttemptState::Open);
    assert_eq!(intent.history.attempts[0].correlation, ChangeId::from("n"));
    assert!(intent.maybe_sent() && intent.history.any_unknown());
    assert_eq!(grant.body, submit(1).body);
    let cancelled = bench.apply(&Change::Cancel(intent.id));
    assert!(matches!(cancelled, Ok(Applied::Cancelled { cancelled: false, .. })), "it may be on the wire");
}

#[test]
fn law_5_only_time_ends_a_lease() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    bench.claim(&id, "a");
    bench.wait(LEASE - 1);
    let leased = Err(Refusal::Leased { until_ms: START + LEASE });
    assert_eq!(bench.apply(&Change::Claim(take(&id, "b"))), leased);
    let with_lock = TakeClaim { lock: Some(0), ..take(&id, "b") };
    assert_eq!(bench.apply(&Change::Claim(with_lock)), leased, "its holder had no lock to lose (P2.4)");
    bench.wait(1);
    assert_eq!(bench.claim(&id, "b").fence, 2);
}

/// Found by seeds 86155, 87804 and 1040237: one realm alone had seen the clock go ahead and back, and for it the lease of
/// another, which had not, had ended as it was made.
#[test]
fn law_5_a_clock_that_the_holder_never_saw_ends_no_lease() {
    let mut bench = Bench::with(&submit(1));
    bench.reload();
    let ahead = bench.realm.map(|mut realm| {
        let moment = |ahead_ms| Moment { wall_ms: START + ahead_ms, mono_ms: 1 };
        realm.read(moment(12 * HOUR));
        realm.read(moment(1));
        realm
    });
    let id = submit(1).intent;
    bench.realm = None;
    bench.claim(&id, "a");
    // The other realm's clock is twelve hours ahead of what the ledger and the wall clock say.
    bench.realm = ahead;
    bench.wait(1_000);
    assert!(matches!(bench.apply(&Change::Claim(take(&id, "b"))), Err(Refusal::Leased { .. })));
    bench.apply(&Change::Tick).unwrap();
    assert!(
        matches!(bench.apply(&Change::Claim(take(&id, "c"))), Err(Refusal::Leased { .. })),
        "nor once it is published"
    );
    bench.wait(LEASE);
    assert_eq!(bench.claim(&id, "d").fence, 2, "time that everybody sees does");
}

/// Found by seed 1008658: adopted while the guest's queue was asking for credentials, and then sent with those.
#[test]
fn law_9_a_claim_is_for_the_scope_that_asks() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let guest = TakeClaim { scope: ScopeHash::of("guest-7"), ..take(&id, "a") };
    assert!(matches!(bench.apply(&Change::Claim(guest)), Err(Refusal::WrongState(_))));
    assert!(!bench.only().maybe_sent());
}

#[test]
fn p2_4_a_claim_made_with_the_lock_passes_on_with_it() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let locked = |nonce: &str| TakeClaim { lock: Some(0), ..take(&id, nonce) };
    bench.apply(&Change::Claim(locked("a"))).unwrap();
    assert!(matches!(bench.apply(&Change::Claim(take(&id, "b"))), Err(Refusal::Leased { .. })), "without the lock");
    let other_purpose = TakeClaim { purpose: Purpose::Reconcile, ..locked("c") };
    assert!(matches!(bench.apply(&Change::Claim(other_purpose)), Err(Refusal::Leased { .. })), "P2.1: never upgraded");
    assert!(matches!(bench.apply(&Change::Claim(locked("d"))), Ok(Applied::Claimed(grant)) if grant.fence == 2));
}

#[test]
fn p2_7_a_lease_is_not_lengthened_by_a_clock_stepped_back() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    bench.claim(&id, "a");
    bench.wall_ms -= 5 * HOUR;
    bench.reload();
    let leased = |bench: &mut Bench| matches!(bench.apply(&Change::Claim(take(&id, "b"))), Err(Refusal::Leased { .. }));
    assert!(leased(&mut bench));
    // A realm that is refused publishes its clock: from here on everybody sees the time that passes.
    bench.apply(&Change::Tick).unwrap();
    bench.wait(LEASE - 1);
    assert!(leased(&mut bench));
    bench.wait(1);
    // The lease is over; the window is unknowable in the new epoch (P3.2).
    let result = bench.apply(&Change::Claim(take(&id, "b")));
    assert!(matches!(result, Ok(Applied::NotGranted(_))), "{result:?}");
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::WindowClosed });
    assert_eq!(bench.clock().epoch, 1);
}

#[test]
fn p3_1_the_ledger_decides_the_epoch_for_every_realm() {
    let mut bench = Bench::with(&submit(1));
    bench.wall_ms -= 61_000;
    bench.reload();
    bench.wait(5_000);
    // Only 56 s are left of the step: the ledger does not see it, and the realm must not go on in an epoch of its own.
    let grant = bench.claim(&submit(1).intent, "a");
    let realm = bench.realm.map(|realm| realm.stamp().epoch);
    assert_eq!((realm, bench.clock().epoch), (Some(0), 0));
    assert_eq!(grant.intent.first_sent.map(|first| first.epoch), Some(0));
}

#[test]
fn p3_1_a_refusal_does_not_bridge_a_step_back() {
    let mut bench = Bench::with(&submit(1));
    bench.claim(&submit(1).intent, "a");
    bench.wall_ms -= 5 * HOUR;
    bench.reload();
    for _ in 0..3 {
        assert!(bench.apply(&Change::Claim(take(&submit(1).intent, "b"))).is_err());
        bench.wait(1_000);
    }
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    assert_eq!(bench.clock().epoch, 1);
}

#[test]
fn a_floor_is_stored_and_binds_every_claim() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let grant = bench.claim(&id, "a");
    let waits = bench.tell(&grant, Observation::Reply(with_header(json(503), "retry-after", "120")));
    assert_eq!((waits.floor_at_ms, waits.due_at_ms), (Some(START + 120_000), Some(START + 120_000)));
    bench.wait(119_999);
    let refused = bench.apply(&Change::Claim(take(&id, "b")));
    assert_eq!(refused, Err(Refusal::NotBefore { at_ms: START + 120_000 }));
    bench.wait(1);
    bench.claim(&id, "b");
}

#[test]
fn a_floor_is_clamped_to_what_is_left_of_the_window() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&submit(1).intent, "a");
    bench.wait(1_000);
    let waits = bench.tell(&grant, Observation::Reply(with_header(json(503), "retry-after", "99999999999")));
    assert!(RETRY_AFTER_MAX_MS > generic().windows().smallest_ms());
    assert_eq!(waits.floor_at_ms, Some(START + generic().windows().smallest_ms()));
}

#[test]
fn law_7_no_attempt_starts_that_could_end_past_the_window() {
    let window_ms = generic().windows().smallest_ms();
    let try_at = |elapsed: u64, own_window_ms: u64| {
        let mut bench = Bench::with(&submit(1));
        let id = submit(1).intent;
        let grant = bench.claim(&id, "a");
        bench.tell(&grant, Observation::Fault(Fault::Network));
        bench.wait(elapsed);
        let _ = bench.apply(&Change::Claim(TakeClaim { windows: Windows::lasting(own_window_ms), ..take(&id, "b") }));
        bench.only()
    };
    let open = try_at(window_ms - ATTEMPT_DEADLINE_MS - 1, window_ms);
    assert_eq!(open.history.total, 2);
    let closed = try_at(window_ms - ATTEMPT_DEADLINE_MS, window_ms);
    assert_eq!((closed.history.total, closed.state), (1, State::Held { reason: HeldReason::WindowClosed }));
    assert_eq!(closed.key, submit(1).key, "never re-keyed");
    let shorter = try_at(HOUR, HOUR);
    assert_eq!(shorter.history.total, 1, "the smaller of the stored and the queue's window counts");
    let longer = try_at(window_ms, 10 * window_ms);
    assert_eq!(longer.history.total, 1);
}

#[test]
fn law_7_a_window_that_holds_no_attempt_sends_none() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let result =
        bench.apply(&Change::Claim(TakeClaim { windows: Windows::lasting(ATTEMPT_DEADLINE_MS), ..take(&id, "a") }));
    assert!(matches!(result, Ok(Applied::NotGranted(_))), "{result:?}");
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::WindowClosed });
}

#[test]
fn law_7_one_wild_clock_closes_no_later_window() {
    let mut bench = Bench::with(&submit(1));
    bench.wait(100_000 * HOUR);
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.wall_ms = START + HOUR;
    let late = submit(3);
    bench.apply(&Change::Submit(Box::new(late.clone()))).unwrap();
    let grant = bench.claim(&late.intent, "a");
    bench.tell(&grant, Observation::Fault(Fault::Network));
    bench.wait(HOUR);
    assert_eq!(bench.claim(&late.intent, "b").attempt, Some(2));
    assert_eq!(bench.clock().epoch, 1);
}

#[test]
fn p3_3_an_unsent_intent_expires_in_its_claim_only() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    bench.wait(72 * HOUR);
    assert_eq!(bench.only().state, State::Queued);
    let result = bench.apply(&Change::Claim(take(&id, "a")));
    assert!(matches!(result, Ok(Applied::NotGranted(intent)) if intent.state == State::Expired));
    assert_eq!(bench.only().history.total, 0);
    assert!(bench.only().state.safe_to_replace());

    let mut patient = Bench::with(&Submit { expires_in_ms: None, ..submit(1) });
    patient.wait(72 * HOUR);
    assert_eq!(patient.claim(&id, "a").attempt, Some(1));
}

#[test]
fn p3_3_a_changed_clock_holds_instead_of_expiring() {
    let mut bench = Bench::with(&submit(1));
    bench.wait(72 * HOUR);
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.wall_ms -= 71 * HOUR;
    let result = bench.apply(&Change::Claim(take(&submit(1).intent, "a")));
    assert!(matches!(result, Ok(Applied::NotGranted(_))));
    assert_eq!(bench.intent(&submit(1).intent).state, State::Held { reason: HeldReason::ClockChanged });

    let mut patient = Bench::with(&Submit { expires_in_ms: None, ..submit(1) });
    patient.wall_ms -= 5 * HOUR;
    assert_eq!(patient.claim(&submit(1).intent, "a").attempt, Some(1), "what never expires has no age to know");
}

#[test]
fn law_5_a_guard_that_refused_clears_its_own_attempt() {
    let mut bench = Bench::with(&submit(1));
    let grant = bench.claim(&submit(1).intent, "a");
    bench.apply(&not_sent(&grant)).unwrap();
    let intent = bench.only();
    assert_eq!((intent.state.clone(), intent.first_sent, intent.claim.clone()), (State::Queued, None, None));
    assert!(!intent.maybe_sent());
    let cancelled = bench.apply(&Change::Cancel(intent.id));
    assert!(matches!(cancelled, Ok(Applied::Cancelled { cancelled: true, .. })), "provably never sent");
}

#[test]
fn law_5_a_refused_guard_keeps_what_an_earlier_attempt_started() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let first = bench.attempt(&id, Observation::Fault(Fault::Timeout));
    let grant = bench.claim(&id, "b");
    bench.apply(&not_sent(&grant)).unwrap();
    let intent = bench.only();
    assert_eq!(intent.first_sent, first.first_sent);
    assert!(intent.maybe_sent() && matches!(intent.state, State::Waiting { .. }));
}

#[test]
fn law_5_a_stale_guard_clears_its_attempt_and_nothing_else() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let slow = bench.claim(&id, "a");
    bench.wait(LEASE);
    let quick = bench.claim(&id, "b");
    bench.apply(&not_sent(&slow)).unwrap();
    let intent = bench.only();
    assert_eq!(intent.claim.map(|claim| claim.nonce), Some(ChangeId::from("b")), "the live claim stays");
    assert!(intent.first_sent.is_some());
    bench.apply(&not_sent(&quick)).unwrap();
    assert_eq!((bench.only().state, bench.only().first_sent), (State::Queued, None));
}

#[test]
fn queued_means_provably_never_sent_whatever_the_order_of_guards() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let slow = bench.claim(&id, "a");
    bench.wait(LEASE);
    let quick = bench.claim(&id, "b");
    bench.apply(&not_sent(&quick)).unwrap();
    assert!(bench.only().maybe_sent());
    bench.apply(&not_sent(&slow)).unwrap();
    assert_eq!((bench.only().state, bench.only().first_sent), (State::Queued, None));
}

#[test]
fn law_5_a_stale_guard_does_not_release_a_held_intent() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let slow = bench.claim(&id, "a");
    bench.wait(LEASE);
    bench.apply(&Change::Hold { intent: id, reason: HeldReason::Config }).unwrap();
    bench.apply(&not_sent(&slow)).unwrap();
    let intent = bench.only();
    assert_eq!((intent.state, intent.due_at_ms), (State::Held { reason: HeldReason::Config }, None));
}

#[test]
fn law_7_an_attempt_that_was_given_back_opened_no_window() {
    let mut bench = Bench::with(&Submit { expires_in_ms: None, ..submit(1) });
    let id = submit(1).intent;
    let grant = bench.claim(&id, "a");
    bench.apply(&not_sent(&grant)).unwrap();
    bench.wait(72 * HOUR);
    let grant = bench.claim(&id, "b");
    assert_eq!(grant.intent.window.map(|window| window.at.at_ms), Some(START + 72 * HOUR), "it starts with this one");
}

#[test]
fn what_was_held_unsent_is_no_longer_asked_about() {
    for (reason, due) in [(HeldReason::Unresolved, false), (HeldReason::Auth, true)] {
        let mut bench = Bench::with(&submit(1));
        let id = submit(1).intent;
        let slow = bench.claim(&id, "a");
        bench.wait(LEASE);
        bench.apply(&Change::Hold { intent: id, reason }).unwrap();
        assert!(bench.only().due_at_ms.is_some());
        bench.apply(&not_sent(&slow)).unwrap();
        let intent = bench.only();
        assert_eq!((intent.state, intent.due_at_ms.is_some()), (State::Held { reason }, due));
    }
}

#[test]
fn law_5_late_facts_do_not_release_a_held_intent() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let slow = bench.claim(&id, "a");
    bench.wait(LEASE);
    bench.apply(&Change::Hold { intent: id, reason: HeldReason::Config }).unwrap();
    let intent = bench.tell(&slow, Observation::Reply(json(503)));
    assert_eq!(intent.state, State::Held { reason: HeldReason::Config }, "whose claim is over decides nothing");
    let intent = bench.only();
    assert_eq!((intent.due_at_ms, intent.floor_at_ms), (None, None));
}

#[test]
fn law_10_attempts_that_nobody_records_end_too() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    for number in 1..=ATTEMPTS_MAX {
        assert_eq!(bench.claim(&id, &format!("n{number}")).attempt, Some(number));
        bench.wait(LEASE);
    }
    let result = bench.apply(&Change::Claim(take(&id, "one more")));
    assert!(matches!(result, Ok(Applied::NotGranted(_))), "{result:?}");
    assert_eq!(bench.only().state, State::Held { reason: HeldReason::Unresolved });
}

/// A store needs a round trip for what a change names, and another for what that names.
#[test]
fn a_claim_asks_twice_for_what_it_is_decided_on() {
    let bench = Bench::with(&submit(1));
    let claim = Change::Claim(take(&submit(1).intent, "n"));
    let reading = Reading::alone(bench.wall_ms);
    let mut overlay = Overlay::default();
    let mut asked = 0;
    while let Err(Stop::Unread(keys)) = apply(&mut overlay.clone(), &claim, reading) {
        asked += 1;
        for key in keys {
            let held = bench.records.get(&key).cloned().unwrap_or(Versioned::ABSENT);
            overlay.insert(key, held);
        }
    }
    assert!(matches!(apply(&mut overlay, &claim, reading), Ok(Applied::Claimed(_))));
    assert_eq!(asked, 2);
}
