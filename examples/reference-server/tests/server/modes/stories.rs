//! Each story is told of every contract.

use std::time::Duration;

use serde_json::json;

use super::contracts::{Again, Replay};
use super::{CONTRACTS, Carriage, Contract, Heard, KEY, advance, payment};
use crate::bench::Bench;

const STALL_MS: u64 = 600;

#[tokio::test]
async fn a_repetition_gets_what_its_contract_has_for_it_and_makes_no_second_payment() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        let first = contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
        let again = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        let effects = contract.effects(&bench);
        assert_eq!((effects.len(), effects[0].known), (1, true), "{}", contract.name);
        let id = effects[0].id.as_str();
        assert_eq!(first.at("/id"), Some(id));
        assert_repetition(contract, &first, &again, id);

        let echo = if contract.name == "adyen" { Some(KEY) } else { None };
        assert_eq!((first.header("idempotency-key"), again.header("idempotency-key")), (echo, echo));
    }
    let counters = bench.inspect().counters;
    let contracts = i64::try_from(CONTRACTS.len()).expect("a few");
    assert_eq!((counters.executions, counters.effects, counters.replays), (contracts, contracts, contracts));
}

fn assert_repetition(contract: &Contract, first: &Heard, again: &Heard, id: &str) {
    match contract.replay {
        Replay::Original { marked } => {
            assert_eq!((again.status, &again.bytes), (first.status, &first.bytes), "{}", contract.name);
            assert_eq!(again.marked(), marked, "{}", contract.name);
        }
        Replay::CurrentState => {
            assert_eq!((again.status, again.marked()), (200, false), "{}", contract.name);
            assert_eq!((again.at("/id"), again.at("/status")), (Some(id), Some("settled")));
        }
        Replay::Conflict => {
            assert_eq!((again.status, again.at("/error/type")), (409, Some("invalid_state")));
            assert_eq!(again.at("/error/errors/0/reason"), Some("idempotent_creation_conflict"));
            assert_eq!(again.at("/error/errors/0/links/conflicting_resource_id"), Some(id));
        }
    }
}

#[tokio::test]
async fn a_request_beside_a_running_one_is_told_so_and_runs_nothing() {
    let bench = Bench::start().await;
    for (index, contract) in CONTRACTS.iter().enumerate() {
        bench.arm(json!({ "stall_before_commit_ms": STALL_MS })).await;
        let running = tokio::spawn(Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))));
        let started = i64::try_from(index + 1).expect("a few");
        bench.until("the run", |seen| seen.counters.executions == started).await;

        let beside = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        beside.assert(contract, contract.in_progress);
        assert!(!beside.marked() && contract.effects(&bench).is_empty(), "{}", contract.name);
        assert_eq!(running.await.expect("no panic").status, contract.first);
        assert_eq!(contract.effects(&bench).len(), 1);
    }
    let counters = bench.inspect().counters;
    assert_eq!((counters.conflicts, counters.executions), (counters.wire / 2, counters.wire / 2));
}

#[tokio::test]
async fn another_payload_is_refused_or_taken_for_the_first_and_pays_nothing() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        let first = contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
        let other = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 9_900))).await;
        let effects = contract.effects(&bench);
        assert_eq!((effects.len(), effects[0].amount), (1, 4_200), "{}", contract.name);
        match contract.other_payload {
            Some(told) => {
                other.assert(contract, told);
                assert!(!other.marked());
            }
            None => assert_repetition(contract, &first, &other, &effects[0].id),
        }
    }
}

#[tokio::test]
async fn a_refusal_is_kept_or_the_next_request_may_be_paid() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        bench.arm(json!({ "decline": 1 })).await;
        let declined = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        declined.assert(contract, contract.declined);
        assert!(contract.effects(&bench).is_empty(), "{}", contract.name);
        match contract.after_declined {
            Again::Replayed => {
                let again = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
                again.assert(contract, contract.declined);
                assert_eq!(again.bytes, declined.bytes);
                assert_eq!(again.marked(), matches!(contract.replay, Replay::Original { marked: true }));
                assert!(contract.effects(&bench).is_empty(), "{}", contract.name);
            }
            Again::Executed => {
                contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
                assert_eq!(contract.effects(&bench).len(), 1, "{}", contract.name);
            }
        }
    }
}

/// The 500 that hides a charge: kept, it hides it for good; executed again, it comes to light.
#[tokio::test]
async fn a_lost_reply_is_kept_or_carried_to_its_end_and_charges_once_in_both() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        let before = bench.inspect().counters.executions;
        let lost = Heard::of(contract.pay(&bench, KEY, &payment("tok_lost_reply", 4_200))).await;
        lost.assert(contract, contract.lost_reply);
        let effects = contract.effects(&bench);
        assert_eq!((effects.len(), effects[0].known), (1, false), "{}: charged, and nobody knows", contract.name);
        let executions = match contract.after_lost_reply {
            Again::Replayed => {
                let again = Heard::of(contract.pay(&bench, KEY, &payment("tok_lost_reply", 4_200))).await;
                again.assert(contract, contract.lost_reply);
                assert_eq!(again.marked(), matches!(contract.replay, Replay::Original { marked: true }));
                1
            }
            Again::Executed => {
                let paid = contract.paid(&bench, KEY, &payment("tok_lost_reply", 4_200)).await;
                assert_eq!(paid.at("/id"), Some(effects[0].id.as_str()));
                assert!(contract.effects(&bench)[0].known);
                2
            }
        };
        assert_eq!(contract.effects(&bench).len(), 1, "{}", contract.name);
        assert_eq!(bench.inspect().counters.executions - before, executions, "{}", contract.name);
    }
    assert_eq!(bench.inspect().counters.already_applied, 0, "no belt had to hold");
}

/// Freeing the key must not free it of the charge.
#[tokio::test]
async fn a_failure_of_the_moment_after_a_lost_reply_leaves_its_charge_known_to_the_next_run() {
    let bench = Bench::start_with(|config| config.handler_timeout = Duration::from_millis(100)).await;
    for contract in CONTRACTS.iter().filter(|contract| contract.after_lost_reply == Again::Executed) {
        let pay = || Heard::of(contract.pay(&bench, KEY, &payment("tok_lost_reply", 4_200)));
        pay().await.assert(contract, contract.lost_reply);
        bench.arm(json!({ "stall_handler": 1 })).await;
        pay().await.assert(contract, contract.transient);
        let lookup = bench.client.post(contract.url(&bench, "/payments/lookup")).header("idempotency-key", KEY);
        assert_eq!(Heard::of(lookup).await.at("/result"), Some("unknown"), "{}", contract.name);

        let paid = contract.paid(&bench, KEY, &payment("tok_lost_reply", 4_200)).await;
        let effects = contract.effects(&bench);
        assert_eq!((effects.len(), effects[0].known), (1, true), "{}", contract.name);
        assert_eq!(paid.at("/id"), Some(effects[0].id.as_str()));
    }
}

#[tokio::test]
async fn a_failure_of_the_moment_leaves_the_key_free_in_every_contract() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        for _ in 0..2 {
            let failed = Heard::of(contract.pay(&bench, KEY, &payment("tok_flaky", 4_200))).await;
            failed.assert(contract, contract.transient);
            assert!(!failed.marked());
        }
        // Another payload, even: nothing of the failure is kept.
        contract.paid(&bench, KEY, &payment("tok_visa", 9_900)).await;
    }
    let counters = bench.inspect().counters;
    assert_eq!((counters.replays, counters.mismatches), (0, 0));
    assert_eq!(counters.executions, 3 * counters.effects);
}

/// The danger that a client has to keep away from by itself: there is no refusal, no hint, nothing.
#[tokio::test]
async fn past_its_retention_a_key_pays_again_in_silence() {
    for contract in &CONTRACTS {
        let bench = Bench::start().await;
        let first = contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
        advance(&bench, contract.retention_s - 60).await;
        let late = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        assert_repetition(contract, &first, &late, first.at("/id").expect("an id"));
        assert_eq!(contract.effects(&bench).len(), 1, "{}", contract.name);

        advance(&bench, 61).await;
        let second = contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
        assert_ne!(second.at("/id"), first.at("/id"), "{}", contract.name);
        let effects = contract.effects(&bench);
        assert_eq!(effects.len(), 2, "{}", contract.name);
        assert_eq!(effects[0].key_hash, effects[1].key_hash);
        let again = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        assert_repetition(contract, &second, &again, second.at("/id").expect("an id"));
        assert_eq!(bench.inspect().counters.expired, 0, "{}", contract.name);
    }
}

/// "Kept for" a time is kept from the request on, at the least; what the run took is no longer kept.
#[tokio::test]
async fn retention_counts_from_the_first_request_and_not_from_its_answer() {
    for contract in &CONTRACTS {
        let bench = Bench::start().await;
        bench.arm(json!({ "stall_before_commit_ms": STALL_MS })).await;
        let running = tokio::spawn(Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))));
        bench.until("the run", |seen| seen.counters.executions == 1).await;
        advance(&bench, contract.retention_s / 2).await;
        assert_eq!(running.await.expect("no panic").status, contract.first, "{}", contract.name);

        advance(&bench, contract.retention_s / 2 + 1).await;
        contract.paid(&bench, KEY, &payment("tok_visa", 4_200)).await;
        assert_eq!(contract.effects(&bench).len(), 2, "{}", contract.name);
    }
}

#[tokio::test]
async fn without_a_key_a_request_is_refused_or_every_repetition_pays() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        let request = || {
            let post = bench.client.post(contract.url(&bench, "/payments"));
            Heard::of(post.header("content-type", "application/json").body(payment("tok_visa", 4_200).to_string()))
        };
        let (first, second) = (request().await, request().await);
        match contract.keyless {
            Some(told) => {
                first.assert(contract, told);
                second.assert(contract, told);
                assert!(contract.effects(&bench).is_empty(), "{}", contract.name);
            }
            None => {
                assert_eq!((first.status, second.status), (contract.first, contract.first), "{}", contract.name);
                assert_eq!(contract.effects(&bench).len(), 2, "{}", contract.name);
            }
        }
    }
    assert!(bench.inspect().wire.iter().all(|entry| entry.key.is_none()));
}

#[tokio::test]
async fn a_key_has_a_greatest_length_and_a_string_has_quotes() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        let longest = "k".repeat(contract.longest_key);
        contract.paid(&bench, &longest, &payment("tok_visa", 4_200)).await;
        let longer = Heard::of(contract.pay(&bench, &format!("{longest}k"), &payment("tok_visa", 4_200))).await;
        longer.assert(contract, contract.malformed);
        let Carriage::Quoted(name) = contract.carriage else { continue };
        let bare = bench.client.post(contract.url(&bench, "/payments")).header(name, KEY);
        let bare = bare.header("content-type", "application/json").body(payment("tok_visa", 4_200).to_string());
        Heard::of(bare).await.assert(contract, contract.malformed);
    }
    assert_eq!(bench.inspect().counters.executions, i64::try_from(CONTRACTS.len()).expect("a few"));
}

#[tokio::test]
async fn faults_wire_log_and_callers_are_those_of_the_servers_own_contract() {
    let bench = Bench::start().await;
    for contract in &CONTRACTS {
        bench.arm(json!({ "unauthorized": 1, "drop_after_commit": 1 })).await;
        let pay = || contract.pay(&bench, KEY, &payment("tok_visa", 4_200)).bearer_auth("user:ana");
        Heard::of(pay()).await.assert(contract, contract.unauthorized);
        assert!(pay().send().await.is_err(), "{}: the answer is lost", contract.name);
        let stranger = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200)).bearer_auth("ana")).await;
        stranger.assert(contract, contract.unauthorized);

        let seen = bench.inspect();
        let wire: Vec<_> = seen.wire.iter().filter(|entry| entry.mode == contract.name).collect();
        let faults: Vec<_> = wire.iter().map(|entry| entry.fault.as_deref()).collect();
        assert_eq!(faults, [Some("unauthorized"), Some("drop_after_commit"), None], "{}", contract.name);
        let effect = &contract.effects(&bench)[0];
        assert_eq!(effect.scope, "ana");
        for entry in wire {
            assert_eq!(entry.path, format!("/{}/payments", contract.name));
            assert_eq!(entry.key.as_deref(), Some(KEY), "{}", contract.name);
            assert_eq!(entry.key_hash.as_deref(), Some(effect.key_hash.as_str()));
        }
        // Another caller's, and by now another contract's, key says nothing about this one's.
        contract.paid(&bench, KEY, &payment("tok_visa", 9_900)).await;
    }
}

#[tokio::test]
async fn an_accepted_payment_is_asked_after_under_its_own_contract() {
    let bench = Bench::start().await;
    bench.arm(json!({ "accept_ms": 100 })).await;
    for contract in &CONTRACTS {
        let accepted = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        let place = format!("/{}/payments/status", contract.name);
        assert_eq!((accepted.status, accepted.header("location")), (202, Some(place.as_str())));
        bench.until("the payment", |seen| seen.effects.iter().any(|effect| effect.mode == contract.name)).await;
        let name = if contract.name == "paypal" { "paypal-request-id" } else { "idempotency-key" };
        let polled = Heard::of(bench.client.get(bench.url(&place)).header(name, KEY)).await;
        let repeated = Heard::of(contract.pay(&bench, KEY, &payment("tok_visa", 4_200))).await;
        assert_eq!((polled.status, &polled.bytes), (repeated.status, &repeated.bytes), "{}", contract.name);
    }
}
