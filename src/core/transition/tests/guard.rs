//! One run before the ledger: what it lets out, and what it gives back (P2.3, P2.6).

use std::rc::Rc;

use super::*;
use crate::core::attempt_run::{AttemptRun, Errand, Next, Terms};
use crate::core::contract::tests::{json, marked, with_header};
use crate::core::contract::{CarrierPlace, Finding, Lookup, LookupMethod, LookupRule, When, Windows};
use crate::core::effect::Dispatch;
use crate::core::http_date;
use crate::core::input::{Credentials, Prepared};
use crate::core::limits::RECONCILE_DEADLINE_MS;
use crate::core::time::Stamp;

const JITTER: Jitter = Jitter(u32::MAX / 2);
const BY_LOOKUP: Errand = Errand::Reconcile { by_app: false };

fn id() -> IntentId {
    submit(1).intent
}

/// Terms of one claim, by the windows of the contract that the queue has now.
fn terms(nonce: &str, windows: Windows) -> Terms {
    Terms {
        owner: RealmId::from("realm-a"),
        scope: ScopeHash::of("user-1"),
        nonce: ChangeId::from(nonce),
        attempt_ms: ATTEMPT_DEADLINE_MS,
        windows,
        prepares: false,
        locks_lost: 0,
    }
}

/// What the ledger clock reads now.
fn stamp(bench: &Bench) -> Stamp {
    let reading = Reading::alone(bench.wall_ms);
    let LedgerClock { at_ms, wall_ms, epoch, .. } = bench.clock().observe(reading);
    Stamp { at_ms, wall_ms, epoch }
}

fn claim(bench: &mut Bench, errand: Errand, terms: &Terms) -> (AttemptRun, Grant) {
    let mut run = AttemptRun::new(id(), errand);
    assert!(matches!(run.reached(true), Next::Authorize));
    let Next::Commit(change) = run.authorized(Credentials::default(), terms.clone()) else { panic!("no claim") };
    match bench.apply(&change) {
        Ok(Applied::Claimed(grant)) => (run, *grant),
        other => panic!("not granted: {other:?}"),
    }
}

/// A claim whose `complete` comes after so long.
fn complete(bench: &mut Bench, terms: &Terms, after_ms: u64) -> Next {
    let (mut run, grant) = claim(bench, Errand::Send, terms);
    bench.wait(after_ms);
    run.claimed(grant, terms, &stamp(bench), JITTER)
}

fn dispatch(next: Next) -> Dispatch {
    match next {
        Next::Send(dispatch) => *dispatch,
        other => panic!("not sent: {other:?}"),
    }
}

fn is_given_back(next: &Next) -> bool {
    matches!(next, Next::Commit(Change::NotSent(_)))
}

fn header<'a>(dispatch: &'a Dispatch, name: &str) -> Option<&'a str> {
    dispatch.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn law_7_the_guard_looks_at_the_window_again() {
    let stored = generic().windows();
    for current in [stored.clone(), Windows::lasting(HOUR)] {
        let usable_ms = stored.usable_ms("/payments").min(current.usable_ms("/payments"));
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&id(), Observation::Fault(Fault::Network));
        bench.wait(usable_ms - ATTEMPT_DEADLINE_MS - 1 - (bench.wall_ms - START));
        let terms = terms("b", current);
        assert!(
            matches!(complete(&mut bench.clone(), &terms, 0), Next::Send(_)),
            "it ends in the window's last moment"
        );
        assert!(is_given_back(&complete(&mut bench.clone(), &terms, 1)), "a moment later it would not");
        bench.wait(1);
        let late = AttemptRun::new(id(), Errand::Send).authorized(Credentials::default(), terms);
        let Next::Commit(late) = late else { panic!("no claim") };
        assert!(matches!(bench.apply(&late), Ok(Applied::NotGranted(_))), "nor is it claimed then");
    }
}

#[test]
fn law_3_without_a_key_the_first_send_passes_the_guard() {
    let mut contract = generic();
    contract.carrier.place = CarrierPlace::None;
    (contract.retention_ms, contract.margin_ms) = (0, 0);
    let terms = terms("a", contract.windows());
    let mut bench = Bench::with(&Submit { contract: snapshot(contract), ..submit(1) });
    let sent = dispatch(complete(&mut bench, &terms, 0));
    assert!(!sent.headers.iter().any(|(_, value)| value.contains(submit(1).key.expose())), "and carries none");
}

#[test]
fn p3_2_the_guard_believes_the_servers_date_as_the_claim_does() {
    let dated = |facts, date: &str| Observation::Reply(with_header(facts, "date", date));
    let mut bench = Bench::with(&submit(1));
    bench.attempt(&id(), dated(json(503), "Tue, 14 Nov 2023 22:13:20 GMT"));
    bench.wall_ms -= 24 * HOUR;
    bench.apply(&Change::Submit(Box::new(submit(2)))).unwrap();
    bench.attempt(&submit(2).intent, dated(json(201), "Tue, 14 Nov 2023 23:13:20 GMT"));
    assert!(matches!(complete(&mut bench, &terms("b", generic().windows()), 0), Next::Send(_)));
}

#[test]
fn law_5_what_was_prepared_for_too_long_is_given_back() {
    let terms = Terms { prepares: true, ..terms("a", generic().windows()) };
    for (took_ms, sent) in [(LEASE_SLACK_MS, true), (LEASE_SLACK_MS + 1, false)] {
        let mut bench = Bench::with(&submit(1));
        let (mut run, grant) = claim(&mut bench, Errand::Send, &terms);
        assert!(matches!(run.claimed(grant, &terms, &stamp(&bench), JITTER), Next::Prepare(_)));
        bench.wait(took_ms);
        let next = run.prepared(Some(Prepared::default()), &terms, &stamp(&bench), JITTER);
        assert_eq!((matches!(next, Next::Send(_)), is_given_back(&next)), (sent, !sent), "{took_ms} ms");
    }
}

#[test]
fn law_3_what_is_prepared_keeps_the_key_in_its_body() {
    let mut submit = submit(1);
    Rc::make_mut(&mut submit.contract.contract).carrier.place = CarrierPlace::Body;
    let key = submit.key.expose().to_owned();
    let terms = Terms { prepares: true, ..terms("a", generic().windows()) };
    let prepared = |body: String| Prepared { headers: Vec::new(), body: Some(Content::Text(body)) };
    for (prepared, sent) in [
        (Prepared::default(), true),
        (prepared(format!("{{\"signed\":{{\"key\":\"{key}\"}}}}")), true),
        (prepared("{\"amount\":1}".to_owned()), false),
        (prepared(String::new()), false),
    ] {
        let mut bench = Bench::with(&submit);
        let (mut run, grant) = claim(&mut bench, Errand::Send, &terms);
        run.claimed(grant, &terms, &stamp(&bench), JITTER);
        let next = run.prepared(Some(prepared), &terms, &stamp(&bench), JITTER);
        assert_eq!((matches!(next, Next::Send(_)), is_given_back(&next)), (sent, !sent));
    }
}

#[test]
fn law_2_the_time_of_the_first_send_is_the_devices_and_stays() {
    let mut contract = generic();
    contract.carrier.first_sent = Some("repeatability-first-sent".to_owned());
    let mut bench = Bench::with(&Submit { contract: snapshot(contract), expires_in_ms: None, ..submit(1) });
    // The ledger clock does not follow a clock that is set back.
    bench.wall_ms -= 48 * HOUR;
    let first = http_date::format(bench.wall_ms);
    for nonce in ["a", "b"] {
        let (mut run, grant) = claim(&mut bench, Errand::Send, &terms(nonce, generic().windows()));
        let next = run.claimed(grant.clone(), &terms(nonce, generic().windows()), &stamp(&bench), JITTER);
        assert_eq!(header(&dispatch(next), "repeatability-first-sent"), Some(first.as_str()), "attempt {nonce}");
        bench.tell(&grant, Observation::Fault(Fault::Network));
        bench.wait(BACKOFF_CAP_MS);
    }
}

/// A contract with a lookup, and an intent that nothing but asking can help.
fn lost() -> Bench {
    let mut contract = generic();
    let when = When { status: vec![404], ..When::default() };
    contract.reconcile = Some(Lookup {
        method: LookupMethod::Post,
        path: Some("/lookup/{reference}?of={operation}".to_owned()),
        rules: vec![LookupRule { when, then: Finding::NotApplied }],
        response_at: Some("/response".to_owned()),
    });
    let reference = Some("a/b?\u{e9}".to_owned());
    let mut bench = Bench::with(&Submit { contract: snapshot(contract), reference, ..submit(1) });
    bench.attempt(&id(), Observation::Reply(marked(json(500))));
    bench
}

#[test]
fn a_lookup_asks_where_the_contract_says_and_has_time_to() {
    let mut bench = lost();
    let quick = Terms { attempt_ms: 1_000, ..terms("r", generic().windows()) };
    let (mut run, grant) = claim(&mut bench, BY_LOOKUP, &quick);
    assert_eq!(grant.lease_until_ms, bench.wall_ms + RECONCILE_DEADLINE_MS + LEASE_SLACK_MS);
    let asked = dispatch(run.claimed(grant, &quick, &stamp(&bench), JITTER));
    let url = format!("{ORIGIN}/lookup/a%2Fb%3F%C3%A9?of=authorize-payment");
    assert_eq!((asked.method, asked.url), ("POST", url));
    assert_eq!((asked.response_at.as_deref(), asked.body), (Some("/response"), None));
}

#[test]
fn p2_5_a_realm_that_may_be_frozen_asks_nobody() {
    let accepted = || {
        let mut bench = Bench::with(&submit(1));
        bench.attempt(&id(), Observation::Reply(with_header(json(202), "location", &format!("{ORIGIN}/result"))));
        bench
    };
    for (mut bench, errand) in [(lost(), BY_LOOKUP), (accepted(), Errand::Poll)] {
        let terms = terms("r", generic().windows());
        let (mut run, grant) = claim(&mut bench, errand, &terms);
        run.suspend();
        assert!(matches!(run.claimed(grant, &terms, &stamp(&bench), JITTER), Next::Finished), "{errand:?}");
    }
}
