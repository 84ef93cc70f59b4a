//! One answer alone (`read`), and the fixtures with which other tests make answers.

use proptest::prelude::*;

use super::{
    AnswerClass, AttemptReading, Carrier, CarrierPlace, Contract, FactValue, Facts, Fault, Observation, Place,
    PointerIs,
};
use super::{Judgement, KeyFormat, Rule, When, generic, judge, read};
use crate::core::attempt::{Attempt, AttemptState, History};
use crate::core::contract::Method;
use crate::core::intent::Evidence;
use crate::core::json::{Misread, from_text, to_text};
use crate::core::key::{ChangeId, Key, RandomBits};
use crate::core::limits::{CONTRACT_LIST_MAX, RETENTION_MAX_MS};
use crate::core::time::Stamp;

/// An answer with a JSON body.
pub(crate) fn json(status: u16) -> Facts {
    Facts { status, media_type: Some("application/json".to_owned()), document: true, ..Facts::default() }
}

pub(crate) fn html(status: u16) -> Facts {
    Facts { status, media_type: Some("text/html".to_owned()), ..Facts::default() }
}

pub(crate) fn with_header(mut facts: Facts, name: &str, value: &str) -> Facts {
    facts.headers.insert(name.to_owned(), value.to_owned());
    facts
}

pub(crate) fn echoing(facts: Facts, key: &Key) -> Facts {
    with_header(facts, "idempotency-key", key.expose())
}

pub(crate) fn marked(facts: Facts) -> Facts {
    with_header(facts, "idempotent-replayed", "true")
}

pub(crate) fn with_value(mut facts: Facts, pointer: &str, value: FactValue) -> Facts {
    facts.pointers.insert(pointer.to_owned(), vec![value]);
    facts.document = true;
    facts
}

pub(crate) fn mismatch(status: u16) -> Facts {
    with_value(json(status), "/type", FactValue::Text("urn:intento:problem:payload-mismatch".to_owned()))
}

fn key() -> Key {
    Key::render(RandomBits([0x5a; 16]), &generic().key)
}

fn reading(facts: Facts) -> AttemptReading {
    read(&generic(), &key(), &Observation::Reply(facts))
}

fn class(facts: Facts) -> AnswerClass {
    match reading(facts) {
        AttemptReading::Answer { class, .. } => class,
        AttemptReading::Fault { .. } => unreachable!("an answer is read as an answer"),
    }
}

fn is_conclusive(facts: Facts) -> bool {
    matches!(reading(facts), AttemptReading::Answer { conclusive: true, .. })
}

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
fn an_alphabet_of_a_key_names_each_character_once() {
    let with = |alphabet: &str| {
        let mut contract = generic();
        contract.key.format = KeyFormat::Alphabet;
        contract.key.alphabet = Some(alphabet.to_owned());
        contract.validate().map_err(|fault| fault.field)
    };
    assert_eq!([with("01"), with("0123456789abcdef")], [Ok(()), Ok(())]);
    for wrong in ["", "0", "00", "0120", "0122", "01/", "01é"] {
        assert_eq!(with(wrong), Err("key.alphabet"), "{wrong}");
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
    assert!(FactValue::Bool(true).is("true") && !FactValue::Bool(false).is("true"));
    assert!(!FactValue::Text("TRUE".to_owned()).is("true"));
    assert!(!FactValue::Inexact.is("1.5"));
}

#[test]
fn law_2_the_key_travels_as_the_carrier_says() {
    let raw =
        Carrier { place: CarrierPlace::Header, name: "Idempotency-Key".to_owned(), quoted: false, first_sent: None };
    assert_eq!(raw.header(&key()), Some(("Idempotency-Key".to_owned(), key().expose().to_owned())));
    let quoted =
        Carrier { place: CarrierPlace::Header, name: "Idempotency-Key".to_owned(), quoted: true, first_sent: None };
    assert_eq!(quoted.header(&key()).map(|(_, value)| value), Some(format!("\"{}\"", key().expose())));
}

#[test]
fn the_facts_asked_for_are_those_the_contract_names() {
    let headers = generic().fact_headers();
    for named in ["retry-after", "date", "idempotency-key", "idempotent-replayed", "location", "x-should-retry"] {
        assert_eq!(headers.iter().filter(|header| *header == named).count(), 1, "{named}");
    }
    assert_eq!(generic().fact_pointers(), ["/type"]);

    let mut contract = generic();
    contract.window_start = Some(super::HeaderName { header: "X-Window".to_owned() });
    contract.success.pointer = Some(PointerIs { at: "/ok".to_owned(), is: Vec::new() });
    contract.rules[0].resource = Some("/id".to_owned());
    let when = When {
        header: Some(super::HeaderIs { name: "X-Found".to_owned(), is: Vec::new() }),
        pointer: Some(PointerIs { at: "/state".to_owned(), is: Vec::new() }),
        ..When::default()
    };
    let rules = vec![super::LookupRule { when, then: super::Finding::Applied }];
    let method = super::LookupMethod::Get;
    contract.reconcile = Some(super::Lookup { method, path: None, rules, response_at: None });
    let headers = contract.fact_headers();
    for named in ["x-window", "x-found", "age"] {
        assert!(headers.iter().any(|header| header == named), "{named}");
    }
    let mut pointers = contract.fact_pointers();
    pointers.sort();
    assert_eq!(pointers, ["/id", "/ok", "/state", "/type"], "each once");
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
    let faults = [Fault::Network, Fault::Timeout, Fault::Redirected, Fault::Truncated, Fault::TooLarge];
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
        let says = |facts| super::read_polled(&contract, &key(), &Observation::Reply(facts));
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

/// One way to spoil a contract.
type Spoil = fn(&mut Contract);

#[test]
fn a_wrong_contract_names_its_field() {
    let rows: [(&str, Spoil); 14] = [
        ("id", |c| c.id.clear()),
        ("id", |c| c.id = "x".repeat(65)),
        ("carrier.name", |c| {
            c.carrier =
                Carrier { place: CarrierPlace::Header, name: "no spaces".to_owned(), quoted: false, first_sent: None }
        }),
        ("carrier.name", |c| {
            c.carrier = Carrier {
                place: CarrierPlace::Header,
                name: "Authorization".to_owned(),
                quoted: false,
                first_sent: None,
            }
        }),
        ("echo.header", |c| c.echo = Some(Place { header: Some(String::new()), pointer: None })),
        ("replay.values", |c| c.replay.iter_mut().for_each(|replay| replay.values.clear())),
        ("retentionMs", |c| c.retention_ms = 0),
        ("retentionMs", |c| c.retention_ms = RETENTION_MAX_MS + 1),
        ("marginMs", |c| c.margin_ms = c.retention_ms),
        ("methods", |c| c.methods.clear()),
        ("success.statuses", |c| c.success.statuses = vec![(200, 302)]),
        ("beforeLayer", |c| c.before_layer = vec![401; CONTRACT_LIST_MAX + 1]),
        ("rules.when", |c| c.rules[0].when = When { replayed: Some(true), ..When::default() }),
        ("rules.when.pointer.at", |c| c.rules[0].when.pointer.iter_mut().for_each(|at| at.at = "type".to_owned())),
    ];
    assert_eq!(generic().validate(), Ok(()));
    for (field, spoil) in rows {
        let mut contract = generic();
        spoil(&mut contract);
        assert_eq!(contract.validate().map_err(|fault| fault.field), Err(field));
    }
}

#[test]
fn what_would_make_a_contract_dangerous_is_refused() {
    use super::{Lookup, LookupMethod, PathRetention, Poll};
    fn special(c: &mut Contract, retention_ms: u64) {
        c.retention_by_path = vec![PathRetention { prefix: "/payments".to_owned(), retention_ms }];
    }
    fn lookup(c: &mut Contract, path: &str, response_at: &str, rules: usize) {
        let when = When { status: vec![404], ..When::default() };
        let rule = super::LookupRule { when, then: super::Finding::NotFound };
        c.reconcile = Some(Lookup {
            method: LookupMethod::Get,
            path: Some(path.to_owned()),
            rules: vec![rule; rules],
            response_at: Some(response_at.to_owned()),
        });
    }
    fn alphabet(c: &mut Contract, alphabet: &str) {
        c.key.format = super::KeyFormat::Alphabet;
        c.key.alphabet = Some(alphabet.to_owned());
    }
    fn without_a_key(c: &mut Contract) {
        c.carrier = Carrier { place: CarrierPlace::None, name: String::new(), quoted: false, first_sent: None };
        (c.retention_ms, c.margin_ms) = (0, 0);
    }
    let rows: [(Option<&str>, Spoil); 20] = [
        (Some("marginMs"), |c| special(c, c.margin_ms)),
        (None, |c| special(c, c.margin_ms + 1)),
        (Some("retentionByPath.retentionMs"), |c| special(c, RETENTION_MAX_MS + 1)),
        (None, without_a_key),
        (Some("retentionMs"), |c| (without_a_key(c), c.retention_ms = 1).1),
        (Some("carrier.name"), |c| (without_a_key(c), c.carrier.name = "key".to_owned()).1),
        (Some("carrier.quoted"), |c| (c.carrier.place = CarrierPlace::Query, c.carrier.quoted = true).1),
        (Some("poll.path"), |c| c.poll = Some(Poll { path: Some("//elsewhere.example".to_owned()) })),
        (None, |c| lookup(c, "/look", "/response", 1)),
        (Some("reconcile.path"), |c| lookup(c, "//elsewhere.example", "/response", 1)),
        (Some("reconcile.responseAt"), |c| lookup(c, "/look", "/all/*", 1)),
        (Some("reconcile.rules"), |c| lookup(c, "/look", "/response", 0)),
        (Some("rules.conclusive"), |c| (c.rules[0].then = AnswerClass::Retry, c.rules[0].conclusive = true).1),
        (Some("rules.then"), |c| c.rules[0].then = AnswerClass::Unclear),
        (Some("rules.then"), |c| c.rules[0].then = AnswerClass::OtherKey),
        (Some("key.maxLength"), |c| c.key.max_length = Some(35)),
        (Some("key.minLength"), |c| c.key.min_length = Some(37)),
        (None, |c| alphabet(c, "0123456789abcdef")),
        (Some("key.alphabet"), |c| alphabet(c, "0123456789abcdefa")),
        (Some("key.alphabet"), |c| alphabet(c, "0")),
    ];
    for (number, (field, spoil)) in rows.into_iter().enumerate() {
        let mut contract = generic();
        spoil(&mut contract);
        assert_eq!(contract.validate().err().map(|fault| fault.field), field, "row {number}");
    }
}

#[test]
fn a_contract_survives_its_json() -> Result<(), Misread> {
    let text = to_text(&generic());
    assert_eq!(from_text::<Contract>(&text)?, generic());
    Ok(())
}

fn at(at_ms: u64) -> Stamp {
    Stamp { at_ms, epoch: 0, wall_ms: at_ms }
}

fn history(states: Vec<AttemptState>) -> History {
    let mut history = History::default();
    for (number, state) in (1_u64..).zip(states) {
        history.open(number, ChangeId(format!("nonce-{number}")), at(number));
        if let Some(attempt) = history.attempts.last_mut() {
            attempt.state = state;
        }
    }
    history
}

fn any_state() -> impl Strategy<Value = AttemptState> {
    let statuses =
        proptest::sample::select(vec![200_u16, 201, 202, 204, 307, 401, 402, 404, 409, 410, 422, 429, 500, 503]);
    let answer = (statuses, 0_u8..4, any::<bool>()).prop_map(|(status, marks, plain)| {
        let facts = if plain { html(status) } else { json(status) };
        let facts = if marks & 1 == 0 { facts } else { echoing(facts, &key()) };
        reading(if marks & 2 == 0 { facts } else { marked(facts) })
    });
    let fault = proptest::sample::select(vec![Fault::Network, Fault::Timeout, Fault::Redirected, Fault::Truncated]);
    let ended =
        |reading| AttemptState::Ended { ended: at(0), fact: ChangeId("f".into()), reading, retry_after_ms: None };
    prop_oneof![
        1 => Just(AttemptState::Open),
        1 => Just(AttemptState::NotSent { ended: at(0) }),
        2 => fault.prop_map(move |fault| ended(AttemptReading::Fault { fault })),
        6 => answer.prop_map(ended),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Law 4 and P5.1, P5.4, whatever came in whatever order.
    #[test]
    fn law_4_a_judgement_rests_on_evidence(states in prop::collection::vec(any_state(), 1..12)) {
        let history = history(states);
        let newest = history.total;
        let has = |wanted: fn(&AttemptReading) -> bool| history.attempts.iter().any(|attempt: &Attempt| {
            matches!(&attempt.state, AttemptState::Ended { reading, .. } if wanted(reading))
        });
        let succeeded = has(|it| matches!(it, AttemptReading::Answer { class: AnswerClass::Succeeded, .. }));
        let conclusive = has(|it| matches!(it, AttemptReading::Answer { conclusive: true, .. }));
        let judgement = judge(&generic(), Method::Post, &history, newest);
        prop_assert_eq!(succeeded, matches!(judgement, Some(Judgement::Succeeded { .. })));
        match judgement {
            Some(Judgement::Rejected { evidence, replaceable, .. }) => {
                prop_assert_eq!(replaceable, conclusive);
                prop_assert_eq!(evidence == Evidence::Stored, conclusive);
                prop_assert!(conclusive || !history.any_unknown());
            }
            Some(Judgement::Mismatched) => prop_assert!(!history.any_unknown()),
            _ => {}
        }
    }
}

#[test]
fn a_delete_is_a_repeat_only_if_something_left_before() {
    let gone = || AttemptState::Ended {
        ended: at(0),
        fact: ChangeId("f".to_owned()),
        reading: reading(json(404)),
        retry_after_ms: None,
    };
    let judged = |history: &History| judge(&generic(), Method::Delete, history, history.total);
    let done = |history: &History| matches!(judged(history), Some(Judgement::Succeeded { .. }));
    assert!(done(&history(vec![AttemptState::Open, gone()])));
    assert!(!done(&history(vec![AttemptState::NotSent { ended: at(0) }, gone()])), "the first one never left");
    let first = history(vec![gone()]);
    assert!(!done(&first));
    assert!(done(&History { folded_left: 1, ..first.clone() }), "one that is only counted left, too");
    assert!(done(&History { folded_open: vec![1], ..first }), "so did one that nobody heard of again");
}

#[test]
fn law_7_a_prefix_covers_whole_segments() {
    let mut contract = generic();
    let special =
        |prefix: &str, hours: u64| super::PathRetention { prefix: prefix.to_owned(), retention_ms: hours * 3_600_000 };
    contract.retention_by_path = vec![special("/v2/pay", 3), special("/v2/", 5)];
    let usable_h = |path: &str| (contract.windows().usable_ms(path) + contract.margin_ms) / 3_600_000;
    let rows = [("/v2/pay", 3), ("/v2/pay/1", 3), ("/v2/pay?x", 3), ("/v2/payments", 5), ("/v2", 24), ("/", 24)];
    for (path, hours) in rows {
        assert_eq!(usable_h(path), hours, "{path}");
    }
}

#[test]
fn a_lookup_is_believed_in_the_servers_own_voice_only() {
    use super::{Finding, Lookup, LookupMethod, LookupRule, find};
    let mut contract = generic();
    let when = When { status: vec![404], ..When::default() };
    let rules = vec![LookupRule { when, then: Finding::NotApplied }];
    contract.reconcile = Some(Lookup { method: LookupMethod::Get, path: None, rules, response_at: None });
    let found = |facts| find(&contract, &Observation::Reply(facts));
    assert_eq!(found(json(404)), Finding::NotApplied);
    assert_eq!(found(html(404)), Finding::Unknown, "a proxy's page");
    assert_eq!(found(json(200)), Finding::Unknown, "no rule, no finding");
    let mut contract = contract.clone();
    let header = Some(super::HeaderIs { name: "x-found".to_owned(), is: vec!["no".to_owned()] });
    let inside = LookupRule { when: When { header, ..When::default() }, then: Finding::NotFound };
    contract.reconcile.iter_mut().for_each(|lookup| lookup.rules.insert(0, inside.clone()));
    let found = |facts| find(&contract, &Observation::Reply(facts));
    assert_eq!(found(with_header(html(404), "x-found", "NO ")), Finding::NotFound, "a value that only the server says");
    assert_eq!(found(with_header(json(404), "x-found", "no")), Finding::NotFound, "the first rule that holds");
    assert_eq!(found(json(404)), Finding::NotApplied);
    assert_eq!(find(&contract, &Observation::Fault(Fault::Network)), Finding::Unknown);
    assert_eq!(find(&generic(), &Observation::Reply(json(404))), Finding::Unknown, "no lookup");
}
