//! One answer, read alone: its class, and whether it is conclusive.

use super::*;
use crate::core::contract::{FactValue, Fault, PointerIs, Rule, When, read_polled};

#[test]
fn p5_what_each_answer_is() {
    use AnswerClass::*;
    let empty = |status| Facts { status, body_empty: true, ..Facts::default() };
    let rows = [
        ("created", json(201), Succeeded),
        ("a structured suffix", Facts { media_type: Some("application/hal+json".to_owned()), ..json(200) }, Succeeded),
        ("no content", empty(204), Succeeded),
        ("reset content", empty(205), Succeeded),
        ("accepted", json(202), Accepted),
        ("partial content", json(206), Unclear),
        ("a portal's page", html(200), NotTheServer),
        ("a success without a body or a type", empty(200), NotTheServer),
        ("created, elsewhere", with_header(empty(201), "location", "https://api.shop.example/payments/1"), Succeeded),
        ("accepted, elsewhere", with_header(empty(202), "location", "https://api.shop.example/payments/1"), Accepted),
        ("html, and the echo proves who speaks", echoing(html(200), &key()), Succeeded),
        ("the echo of another key", with_header(json(201), "idempotency-key", "another"), OtherKey),
        ("a quoted echo", with_header(json(201), "idempotency-key", &format!("\"{}\"", key().expose())), Succeeded),
        ("a decline", json(402), Rejected),
        ("a gateway's decline", html(402), NotTheServer),
        ("unauthorised", json(401), Auth),
        ("forbidden, marked", marked(json(403)), Auth),
        ("too large", json(413), Config),
        ("rate limited", json(429), RateLimited),
        ("network login", json(511), NotTheServer),
        ("not found", json(404), Config),
        ("not found, stored", echoing(json(404), &key()), Rejected),
        ("in progress", json(409), InProgress),
        ("in progress, from a proxy", html(409), InProgress),
        ("an echo does not end progress", echoing(json(409), &key()), InProgress),
        ("a stored conflict", marked(json(409)), Rejected),
        ("mismatch", mismatch(422), Mismatched),
        ("another 422", json(422), Rejected),
        (
            "expired key",
            with_value(json(410), "/type", FactValue::Text("urn:intento:problem:key-expired".into())),
            Uncertain,
        ),
        ("bad gateway", html(502), Retry),
        ("unavailable", json(503), Retry),
        ("a 5xx that is echoed", echoing(json(500), &key()), Retry),
        ("a 5xx that is replayed", marked(json(500)), Uncertain),
        ("a redirect that shows its status", json(307), Unclear),
    ];
    for (name, facts, wanted) in rows {
        assert_eq!(class(facts), wanted, "{name}");
    }
}

#[test]
fn p5_5_a_refusal_is_conclusive_if_it_is_stored_under_the_key() {
    assert!(!is_conclusive(json(402)));
    assert!(is_conclusive(echoing(json(402), &key())));
    assert!(is_conclusive(marked(json(402))));
    assert!(!is_conclusive(with_header(json(402), "idempotent-replayed", "false")));
    assert!(!is_conclusive(with_header(json(402), "idempotency-key", "another")));
    assert!(!is_conclusive(marked(json(403))), "from in front of the layer");
    assert!(!is_conclusive(echoing(json(201), &key())), "a success is no refusal");
}

#[test]
fn p5_2_only_a_rule_for_refusals_makes_one_conclusive() {
    let mut contract = generic();
    let when = When { status: vec![402], ..When::default() };
    contract.rules = vec![Rule { when, then: AnswerClass::Rejected, conclusive: true, resource: None }];
    let says = |contract: &Contract| read(contract, &key(), &Observation::Reply(json(402)));
    assert!(matches!(says(&contract), AttemptReading::Answer { conclusive: true, .. }));
    contract.rules[0].then = AnswerClass::Retry;
    assert!(matches!(says(&contract), AttemptReading::Answer { conclusive: false, .. }));
}

#[test]
fn p10_a_marker_that_is_not_visible_is_neither_fresh_nor_replayed() {
    let mut contract = generic();
    let when = |replayed| When { status: vec![402], replayed: Some(replayed), ..When::default() };
    let rule = |replayed, then| Rule { when: when(replayed), then, conclusive: false, resource: None };
    contract.rules = vec![rule(false, AnswerClass::Retry), rule(true, AnswerClass::Uncertain)];
    let says = |facts| match read(&contract, &key(), &Observation::Reply(facts)) {
        AttemptReading::Answer { class, .. } => class,
        AttemptReading::Fault { .. } => AnswerClass::Unclear,
    };
    assert_eq!(says(json(402)), AnswerClass::Rejected, "no rule holds");
    assert_eq!(says(with_header(json(402), "idempotent-replayed", "false")), AnswerClass::Retry);
    assert_eq!(says(marked(json(402))), AnswerClass::Uncertain);
}

#[test]
fn p5_8_inexact_numbers_match_no_rule() {
    let mut contract = generic();
    let pointer = Some(PointerIs { at: "/code".to_owned(), is: vec!["9007199254740993".to_owned()] });
    contract.rules = vec![Rule {
        when: When { pointer, ..When::default() },
        then: AnswerClass::Rejected,
        conclusive: true,
        resource: None,
    }];
    let says = |value| match read(&contract, &key(), &Observation::Reply(with_value(json(201), "/code", value))) {
        AttemptReading::Answer { class, .. } => class,
        AttemptReading::Fault { .. } => AnswerClass::Unclear,
    };
    assert_eq!(says(FactValue::Inexact), AnswerClass::Succeeded);
    assert_eq!(says(FactValue::Text("9007199254740993".to_owned())), AnswerClass::Rejected);

    assert!(FactValue::Integer(42).is("42") && !FactValue::Integer(42).is("42.0") && !FactValue::Integer(4).is("42"));
    for spelt_otherwise in ["+42", "042", " 42", "42e0"] {
        assert!(!FactValue::Integer(42).is(spelt_otherwise), "{spelt_otherwise}");
    }
    assert!(!FactValue::Integer(0).is("-0") && FactValue::Integer(-7).is("-7"));
    assert!(FactValue::Bool(true).is("true") && !FactValue::Bool(false).is("true"));
    assert!(!FactValue::Text("TRUE".to_owned()).is("true"));
    assert!(!FactValue::Inexact.is("1.5"));
}

#[test]
fn law_4_no_rule_makes_an_end_of_a_5xx() {
    let mut contract = generic();
    let pointer = Some(PointerIs { at: "/state".to_owned(), is: vec!["paid".to_owned()] });
    let when = When { pointer, ..When::default() };
    let says = |contract: &Contract, status| {
        let facts = with_value(json(status), "/state", FactValue::Text("paid".to_owned()));
        match read(contract, &key(), &Observation::Reply(facts)) {
            AttemptReading::Answer { class, conclusive, .. } => (class, conclusive),
            AttemptReading::Fault { .. } => unreachable!("an answer is read as an answer"),
        }
    };
    for then in [AnswerClass::Succeeded, AnswerClass::AlreadyDone, AnswerClass::Rejected, AnswerClass::Mismatched] {
        let conclusive = then == AnswerClass::Rejected;
        contract.rules = vec![Rule { when: when.clone(), then, conclusive, resource: None }];
        assert_eq!(says(&contract, 409), (then, conclusive));
        assert_eq!(says(&contract, 503), (AnswerClass::Retry, false), "{then:?}");
        assert_eq!(says(&contract, 307), (AnswerClass::Unclear, false), "{then:?}");
    }
    contract.rules[0].then = AnswerClass::KeyBurnt;
    assert_eq!(says(&contract, 503).0, AnswerClass::KeyBurnt, "what ends nothing may be said of any");
}

#[test]
fn law_4_which_answers_tell_what_became_of_an_attempt() {
    use AnswerClass::*;
    let leaves_unknown =
        |class| AttemptReading::Answer { class, status: 400, conclusive: false, replayed: None }.leaves_unknown();
    let told = [Succeeded, AlreadyDone, Rejected, Mismatched, RateLimited, Auth, Config];
    let untold = [Accepted, InProgress, Retry, Uncertain, KeyBurnt, WindowClosed, Unclear, NotTheServer, OtherKey];
    assert!(!told.into_iter().any(leaves_unknown));
    assert!(untold.into_iter().all(leaves_unknown));
    use Fault::{Network, Redirected, Timeout, TooLarge, Truncated, Undecodable};
    let faults = [Network, Timeout, Redirected, Truncated, TooLarge, Undecodable];
    assert!(faults.into_iter().all(|fault| AttemptReading::Fault { fault }.leaves_unknown()));
    assert!(!AttemptReading::Fault { fault: Fault::Forbidden }.leaves_unknown(), "nothing left the device");
}

#[test]
fn p5_5_a_polled_answer_settles_only_if_it_is_stored_under_the_key() {
    for then in [AnswerClass::Succeeded, AnswerClass::AlreadyDone, AnswerClass::Rejected] {
        let mut contract = generic();
        let pointer = Some(PointerIs { at: "/state".to_owned(), is: vec!["done".to_owned()] });
        contract.rules =
            vec![Rule { when: When { pointer, ..When::default() }, then, conclusive: false, resource: None }];
        let says = |facts| read_polled(&contract, &key(), &Observation::Reply(facts));
        let is = |reading, wanted| matches!(reading, AttemptReading::Answer { class, .. } if class == wanted);
        let page = || with_value(json(200), "/state", FactValue::Text("done".to_owned()));
        assert!(is(says(page()), AnswerClass::Unclear), "{then:?} on a status page");
        assert!(is(says(echoing(page(), &key())), then) && is(says(marked(page())), then), "{then:?}");
    }
}

#[test]
fn law_4_only_an_empty_body_lets_a_location_speak_for_the_server() {
    let located = |facts| with_header(facts, "location", "https://api.shop.example/payments/1");
    let empty = |status| Facts { status, body_empty: true, ..Facts::default() };
    assert_eq!(class(located(empty(201))), AnswerClass::Succeeded);
    assert_eq!(class(empty(201)), AnswerClass::NotTheServer);
    assert_eq!(class(located(empty(200))), AnswerClass::NotTheServer);
    assert_eq!(class(located(html(201))), AnswerClass::NotTheServer, "a portal that sends somebody elsewhere");
}

#[test]
fn an_empty_body_hides_nothing_from_a_rule() {
    let mut contract = generic();
    let pointer = Some(PointerIs { at: "/state".to_owned(), is: vec!["declined".to_owned()] });
    let when = When { pointer, ..When::default() };
    contract.rules = vec![Rule { when, then: AnswerClass::Rejected, conclusive: false, resource: None }];
    let says = |facts| match read(&contract, &key(), &Observation::Reply(facts)) {
        AttemptReading::Answer { class, .. } => class,
        AttemptReading::Fault { .. } => AnswerClass::Unclear,
    };
    let unread = Facts { document: false, ..json(201) };
    assert_eq!(says(Facts { status: 204, body_empty: true, ..Facts::default() }), AnswerClass::Succeeded);
    assert_eq!(says(unread), AnswerClass::Unclear, "what nobody could read may say that it was declined");
}

#[test]
fn a_hint_of_another_value_says_nothing() {
    assert_eq!(class(with_header(json(500), "x-should-retry", "false")), AnswerClass::Uncertain);
    assert_eq!(class(with_header(json(500), "x-should-retry", "perhaps")), AnswerClass::Retry);
    assert_eq!(class(with_header(json(402), "x-should-retry", "true")), AnswerClass::Retry);
    assert_eq!(class(with_header(json(402), "x-should-retry", "perhaps")), AnswerClass::Rejected);
    for status in [401, 403, 407] {
        let mended = class(with_header(json(status), "x-should-retry", "true"));
        assert_eq!(mended, AnswerClass::Auth, "{status}: asking again mends no credentials");
    }
    assert_eq!(class(marked(with_header(json(402), "x-should-retry", "true"))), AnswerClass::Rejected, "stored");
}
