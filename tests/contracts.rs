//! The contracts that ship: golden vectors, what may never come of any answer, and their pages.
#![cfg(not(target_arch = "wasm32"))]

mod vectors;

use std::collections::BTreeSet;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use intento::core::contract::{
    AnswerClass, AttemptReading, Contract, FactValue, Facts, Fault, Method, Observation, read,
};
use intento::core::intent::{HeldReason, State};
use intento::core::key::{Key, RandomBits};
use proptest::prelude::*;
use serde_json::Value;

use vectors::bench::{Bench, Told};
use vectors::facts::observe;
use vectors::vector::{Kind, Reply, Vector};
use vectors::{SHIPPED, Shipped, as_json, of_json, pages, run_all};

const VECTORS_MIN: usize = 6;

#[test]
fn golden_vectors() {
    let report = now(run_all(async |contract: &Contract, reply: &Reply| observe(contract, reply)));
    for failure in &report.failures {
        println!("{failure}");
    }
    println!("vectors={} passed={}", report.total, report.passed());
    assert!(report.failures.is_empty(), "{} vectors failed", report.failures.len());
}

#[test]
fn every_contract_that_ships_has_vectors_and_every_source_is_named() {
    let names = |folder: &str| -> BTreeSet<String> {
        let folder = std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let shipped: BTreeSet<String> = SHIPPED.iter().map(|shipped| format!("{}.json", shipped.id)).collect();
    assert_eq!(names("contracts"), shipped);
    assert_eq!(names("tests/contracts"), shipped);
    for shipped in SHIPPED {
        let vectors = shipped.vectors();
        assert!(vectors.len() >= VECTORS_MIN, "{}: {} vectors", shipped.id, vectors.len());
        assert!(vectors.iter().all(|vector| !vector.source.is_empty()), "{}", shipped.id);
        let names: BTreeSet<&str> = vectors.iter().map(|vector| vector.name.as_str()).collect();
        assert_eq!(names.len(), vectors.len(), "{}: two vectors share a name", shipped.id);
    }
}

/// Unknown members are ignored by the engine, so that a misspelt one would silently count for nothing.
#[test]
fn every_contract_is_valid_survives_its_json_and_says_nothing_in_vain() {
    for shipped in SHIPPED {
        let contract = shipped.contract();
        assert_eq!(contract.validate(), Ok(()), "{}", shipped.id);
        assert_eq!(contract.id, shipped.id);
        let stored = as_json(&contract);
        assert_eq!(of_json::<Contract>(&stored).unwrap(), contract, "{}", shipped.id);
        let extra = ["name", "sources", "checked", "unconfirmed", "notes"];
        understood(&text(shipped), &stored, &extra, shipped.id);
    }
}

/// Every member that was written is one that is stored, but for `extra` at the top and what a rule says of itself.
fn understood(written: &Value, stored: &Value, extra: &[&str], path: &str) {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => {
            for (name, value) in written.iter().filter(|(name, _)| !extra.contains(&name.as_str())) {
                let kept = stored.get(name).unwrap_or_else(|| panic!("{path}/{name} means nothing"));
                let extra: &[&str] = if name == "rules" { &["source", "unconfirmed"] } else { &[] };
                understood(value, kept, extra, &format!("{path}/{name}"));
            }
        }
        (Value::Array(written), Value::Array(stored)) => {
            assert_eq!(written.len(), stored.len(), "{path}");
            written.iter().zip(stored).for_each(|(written, stored)| understood(written, stored, extra, path));
        }
        (written, stored) => assert_eq!(written, stored, "{path}"),
    }
}

/// What a contract claims to be conclusive without being sure of it.
fn too_sure(contract: &Value) -> Vec<String> {
    let unconfirmed = |field: &str| {
        let mut entries = contract["unconfirmed"].as_array().into_iter().flatten().filter_map(Value::as_str);
        entries.any(|entry| entry.split(':').next() == Some(field))
    };
    let mut faults = Vec::new();
    let marked = contract["replay"]["header"].is_string() || contract["echo"].is_object();
    if contract["refusal"]["conclusive"] == "stored" && (unconfirmed("refusal") || !marked) {
        faults.push("refusal".to_owned());
    }
    for (number, rule) in contract["rules"].as_array().into_iter().flatten().enumerate() {
        let sure = rule["source"].is_string() && rule["unconfirmed"].is_null();
        let told = rule["when"]["header"].is_object() || rule["when"]["pointer"].is_object();
        let settles = ["succeeded", "already_done"].iter().any(|class| rule["then"] == *class);
        if (rule["conclusive"] == true && !sure) || ((rule["conclusive"] == true || settles) && !told) {
            faults.push(format!("rules[{number}]"));
        }
    }
    faults
}

#[test]
fn p5_2_nothing_unconfirmed_is_conclusive() {
    let mut loosened = 0;
    for shipped in SHIPPED {
        let contract = text(shipped);
        assert_eq!(too_sure(&contract), Vec::<String>::new(), "{}", shipped.id);
        let rules = contract["rules"].as_array().map_or(0, Vec::len);
        for number in 0..rules {
            assert!(contract["rules"][number]["source"].is_string(), "{}: rule {number} has no source", shipped.id);
            let mut loose = contract.clone();
            loose["rules"][number]["conclusive"] = Value::from(true);
            if !contract["rules"][number]["unconfirmed"].is_null() {
                assert_eq!(too_sure(&loose), [format!("rules[{number}]")], "{}", shipped.id);
                loosened += 1;
            }
            loose["rules"][number]["source"] = Value::Null;
            assert_eq!(too_sure(&loose), [format!("rules[{number}]")], "{}", shipped.id);
        }
        for entry in contract["unconfirmed"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let (field, _) = entry.split_once(':').expect("an unconfirmed entry names a field");
            let named = field.split('.').fold(&contract, |value, member| &value[member]);
            assert!(!named.is_null(), "{}: there is no {field}", shipped.id);
            if field == "refusal" {
                let mut loose = contract.clone();
                loose["refusal"]["conclusive"] = Value::from("stored");
                assert_eq!(too_sure(&loose), ["refusal"], "{}", shipped.id);
                loosened += 1;
            }
        }
    }
    assert!(loosened >= 10, "only {loosened} were tried");
}

/// `docs/contracts/*.md`. `UPDATE_DOCS=1 cargo test --test contracts` writes them.
#[test]
fn every_contract_is_documented_as_it_is() {
    for shipped in SHIPPED {
        let page = pages::page(shipped);
        let path = format!("{}/docs/contracts/{}.md", env!("CARGO_MANIFEST_DIR"), shipped.id);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), page, "run UPDATE_DOCS=1 cargo test --test contracts");
    }
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/contracts/README.md")).unwrap();
    for shipped in SHIPPED {
        assert!(guide.contains(&format!("]({}.md)", shipped.id)), "the guide leads to {}", shipped.id);
    }
}

/// The contract in the guide's example is one.
#[test]
fn the_guides_example_is_valid() {
    let guide = include_str!("../docs/contracts/README.md");
    let (_, rest) = guide.split_once("<!-- the example, as data -->\n```json\n").expect("the guide has an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let mut contract = text(SHIPPED.iter().find(|shipped| shipped.id == "generic").unwrap());
    let example: Value = serde_json::from_str(example).unwrap();
    for (name, value) in example.as_object().unwrap() {
        let inherited = match name.as_str() {
            "rules" | "retryHints" => contract[name].as_array().cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        contract[name] = match value {
            Value::Array(own) => own.iter().cloned().chain(inherited).collect(),
            value => value.clone(),
        };
    }
    let example: Contract = of_json(&contract).unwrap();
    assert_eq!(example.validate(), Ok(()));
}

fn text(shipped: &Shipped) -> Value {
    serde_json::from_str(shipped.contract).unwrap()
}

fn key_of(contract: &Contract) -> Key {
    Key::render(RandomBits([0x5a; 16]), &contract.key)
}

/// A future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// An intent of this contract, as its vectors submit it.
fn submitted(contract: &Contract) -> Bench {
    let method = contract.methods.first().map_or("POST", |method| method.as_str());
    let path = if contract.carrier.name == "txid" { "/cob/{txid}" } else { "/payments" };
    let vector = serde_json::json!({ "name": "", "source": "", "method": method, "path": path });
    let vector: Vector = serde_json::from_value(vector).unwrap();
    Bench::open(contract, &vector).unwrap()
}

fn shipped() -> impl Strategy<Value = Shipped> {
    prop::sample::select(SHIPPED)
}

/// What tells nothing definite: silence, errors, pages of somebody else, requests to wait.
fn indefinite() -> impl Strategy<Value = Observation> {
    let fault = prop::sample::select(vec![Fault::Network, Fault::Timeout, Fault::Truncated, Fault::TooLarge]);
    let errors =
        vec![202_u16, 401, 403, 404, 407, 408, 409, 413, 421, 423, 425, 429, 500, 501, 502, 503, 504, 511, 529];
    let answer = (prop::sample::select(errors), prop::option::of(0_u32..100));
    let page = (100_u16..600).prop_filter("has a body that is a page", |status| !matches!(status, 204 | 205));
    prop_oneof![
        fault.prop_map(Observation::Fault),
        answer.prop_map(|(status, seconds)| {
            let asked = seconds.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
            let media_type = Some("application/json".to_owned());
            let headers = asked.into_iter().collect();
            Observation::Reply(Facts { status, media_type, headers, document: true, ..Facts::default() })
        }),
        page.prop_map(|status| {
            Observation::Reply(Facts { status, media_type: Some("text/html".to_owned()), ..Facts::default() })
        }),
    ]
}

/// Facts in which anything that the contract could look at may stand.
fn anything(contract: &Contract) -> BoxedStrategy<Facts> {
    let mut texts = vec!["true".to_owned(), "false".to_owned(), "0".to_owned(), key_of(contract).expose().to_owned()];
    for rule in &contract.rules {
        texts.extend(rule.when.pointer.iter().flat_map(|pointer| pointer.is.clone()));
        texts.extend(rule.when.header.iter().flat_map(|header| header.is.clone()));
    }
    let text = prop_oneof![prop::sample::select(texts), any::<String>()].boxed();
    let value = prop_oneof![
        text.clone().prop_map(FactValue::Text),
        any::<bool>().prop_map(FactValue::Bool),
        any::<i64>().prop_map(FactValue::Integer),
        Just(FactValue::Inexact),
        Just(FactValue::Composite),
    ];
    let mut statuses: Vec<u16> = contract.rules.iter().flat_map(|rule| rule.when.status.clone()).collect();
    statuses.extend([200, 201, 202, 400, 402, 404, 409, 422, 429, 500]);
    let status = prop_oneof![prop::sample::select(statuses), any::<u16>()];
    let media_types = vec!["application/json", "application/problem+json", "application/jwt", "text/html"];
    let media_type =
        prop::option::of(prop_oneof![prop::sample::select(media_types).prop_map(str::to_owned), any::<String>()]);
    let headers = prop::collection::btree_map(prop::sample::select(contract.fact_headers()), text, 0..5);
    let values = prop::collection::vec(value, 1..4);
    let pointers = prop::collection::btree_map(prop::sample::select(contract.fact_pointers()), values, 0..4);
    (status, media_type, headers, pointers, any::<bool>(), any::<bool>())
        .prop_map(|(status, media_type, headers, pointers, body_empty, document)| Facts {
            status,
            media_type,
            headers: headers.into_iter().collect(),
            pointers: pointers.into_iter().collect(),
            body_empty,
            document,
        })
        .boxed()
}

fn class_of(reading: AttemptReading) -> Option<AnswerClass> {
    match reading {
        AttemptReading::Answer { class, .. } => Some(class),
        AttemptReading::Fault { .. } => None,
    }
}

proptest! {
    #[test]
    fn law_4_without_a_definite_answer_nothing_ends(
        shipped in shipped(),
        told in prop::collection::vec(prop::option::weighted(0.9, indefinite()), 1..12),
    ) {
        let mut bench = submitted(&shipped.contract());
        for observation in told {
            let told = observation.map_or(Told::Nothing, |observation| Told::Facts(observation, "{}".to_owned()));
            let seen = bench.attempt(told).map_err(TestCaseError::fail)?;
            prop_assert!(!seen.intent.has_ended(), "{}: {:?}", shipped.id, seen.intent.state);
            // Fresh credentials let it go on; what else holds it, no attempt lifts.
            let held_for_credentials = seen.intent.state == State::Held { reason: HeldReason::Auth };
            if seen.intent.state == State::Accepted || (seen.intent.is_at_rest() && !held_for_credentials) {
                break;
            }
        }
    }

    #[test]
    fn p5_whatever_an_answer_holds_only_a_success_or_a_rule_brings_success(
        (shipped, facts) in shipped().prop_flat_map(|shipped| (Just(shipped), anything(&shipped.contract())))
    ) {
        let contract = shipped.contract();
        let reading = read(&contract, &key_of(&contract), &Observation::Reply(facts.clone()));
        let status = facts.status;
        let in_2xx = contract.success.statuses.iter().any(|(low, high)| (*low..=*high).contains(&status));
        let ruled = |class: AnswerClass| contract.rules.iter().any(|rule| {
            rule.then == class && (rule.when.status.is_empty() || rule.when.status.contains(&status))
        });
        match class_of(reading) {
            Some(AnswerClass::Succeeded) => prop_assert!(in_2xx),
            Some(AnswerClass::AlreadyDone) => prop_assert!(ruled(AnswerClass::AlreadyDone)),
            _ => {}
        }
        let AttemptReading::Answer { conclusive, replayed, .. } = reading else { panic!("an answer is read as one") };
        let echoed = contract.echo.is_some();
        prop_assert!(!conclusive || echoed || replayed == Some(true), "{}: nothing says that it is stored", shipped.id);
        // It goes through `apply` as well, whatever it holds.
        let told = Told::Facts(Observation::Reply(facts), "{}".to_owned());
        submitted(&contract).attempt(told).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn verdicts_depend_neither_on_the_order_of_members_nor_on_the_case_of_headers(
        shipped in shipped(),
        pick in any::<prop::sample::Index>(),
        upper in any::<u64>(),
    ) {
        let contract = shipped.contract();
        let key = key_of(&contract);
        let vectors: Vec<Vector> = shipped.vectors().into_iter().filter(|vector| vector.answer.is_some()).collect();
        let reply = pick.get(&vectors).answer.as_ref().unwrap().with_key(key.expose());
        let cased = |name: &String| name.chars().enumerate().map(|(at, letter)| {
            if upper >> (at % 64) & 1 == 1 { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
        }).collect::<String>();
        let headers = reply.headers.iter().map(|(name, value)| (cased(name), value.clone()));
        let mut other = Reply { headers: headers.collect(), ..reply.clone() };
        if let Some(body) = &reply.body {
            other.media_type = reply.content_type();
            other.text = Some(backwards(body));
            other.body = None;
        }
        let observed = observe(&contract, &reply);
        prop_assert_eq!(read(&contract, &key, &observed), read(&contract, &key, &observe(&contract, &other)));
        if let Observation::Reply(mut facts) = observed.clone() {
            facts.pointers.values_mut().for_each(|values| values.reverse());
            prop_assert_eq!(read(&contract, &key, &observed), read(&contract, &key, &Observation::Reply(facts)));
        }
    }
}

#[test]
fn p5_5_a_status_alone_never_makes_a_foreign_page_an_answer() {
    use AnswerClass::{AlreadyDone, Mismatched, Rejected, Succeeded};
    for shipped in SHIPPED {
        let contract = shipped.contract();
        for status in (100..1000).filter(|status| !matches!(status, 204 | 205)) {
            let facts = Facts { status, media_type: Some("text/html".to_owned()), ..Facts::default() };
            let class = class_of(read_as(&contract, facts));
            let settles = matches!(class, Some(Succeeded | AlreadyDone | Rejected | Mismatched));
            assert!(!settles, "{} {status}: {class:?}", shipped.id);
        }
    }
}

/// A contract of somebody's own, which ships with nobody's vectors.
fn own(base: &str, change: Value) -> Contract {
    let mut contract = text(SHIPPED.iter().find(|shipped| shipped.id == base).unwrap());
    for (name, value) in change.as_object().unwrap() {
        contract[name] = value.clone();
    }
    let contract: Contract = of_json(&contract).unwrap();
    assert_eq!(contract.validate(), Ok(()));
    contract
}

fn read_as(contract: &Contract, facts: Facts) -> AttemptReading {
    read(contract, &key_of(contract), &Observation::Reply(facts))
}

#[test]
fn law_4_a_rule_that_settles_by_a_status_alone_needs_the_servers_voice() {
    for then in ["rejected", "mismatched", "already_done", "succeeded"] {
        let conclusive = then == "rejected";
        let rules = serde_json::json!([{ "when": { "status": [402] }, "then": then, "conclusive": conclusive }]);
        let contract = own("generic", serde_json::json!({ "rules": rules }));
        let answer =
            |media_type: &str| Facts { status: 402, media_type: Some(media_type.to_owned()), ..Facts::default() };
        assert_eq!(class_of(read_as(&contract, answer("text/html"))), Some(AnswerClass::NotTheServer), "{then}");
        assert_eq!(as_json(class_of(read_as(&contract, answer("application/json")))), then);
    }
}

#[test]
fn what_could_not_be_decoded_is_not_refused_by_default() {
    let errors = serde_json::json!({ "at": "/errors/*/code", "is": ["ERRO_IDEMPOTENCIA"] });
    for when in [serde_json::json!({ "status": [422], "pointer": errors }), serde_json::json!({ "pointer": errors })] {
        let rules = serde_json::json!([{ "when": when, "then": "mismatched" }]);
        let contract = own("openfinance-br", serde_json::json!({ "rules": rules }));
        let media_type = Some("application/jwt".to_owned());
        let facts = Facts { status: 422, media_type, ..Facts::default() };
        assert_eq!(class_of(read_as(&contract, facts.clone())), Some(AnswerClass::Unclear), "{when}");
        let decoded = Facts { document: true, ..facts };
        assert_eq!(class_of(read_as(&contract, decoded)), Some(AnswerClass::Rejected), "{when}");
    }
}

#[test]
fn a_burnt_key_is_held_and_never_replaced_by_itself() {
    let at = serde_json::json!({ "at": "/code", "is": ["33009"] });
    let rules = serde_json::json!([{ "when": { "status": [422], "pointer": at }, "then": "key_burnt" }]);
    let contract = own("generic", serde_json::json!({ "rules": rules }));
    let reply: Reply = serde_json::from_value(serde_json::json!({ "status": 422, "body": { "code": 33009 } })).unwrap();
    let seen = submitted(&contract).attempt(Told::Facts(observe(&contract, &reply), reply.text())).unwrap();
    assert_eq!(seen.intent.state, State::Held { reason: HeldReason::KeyBurnt });
    assert!(!seen.intent.state.safe_to_replace());
}

/// The same document, the members of every object in the opposite order.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .rev()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), backwards(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(backwards).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn every_kind_of_vector_is_used() {
    let vectors: Vec<Vector> = SHIPPED.iter().flat_map(Shipped::vectors).collect();
    let count = |wanted: fn(&Kind<'_>) -> bool| {
        vectors.iter().filter(|vector| vector.kind().is_ok_and(|kind| wanted(&kind))).count()
    };
    assert!(count(|kind| matches!(kind, Kind::Verdict(_))) > 200);
    for wanted in [
        (|kind| matches!(kind, Kind::Wire(_))) as fn(&Kind<'_>) -> bool,
        |kind| matches!(kind, Kind::NotSubmitted(_)),
        |kind| matches!(kind, Kind::Refused { .. }),
        |kind| matches!(kind, Kind::Lookup { .. }),
    ] {
        assert!(count(wanted) > 2);
    }
    let methods: BTreeSet<&str> = vectors.iter().map(|vector| vector.method.as_str()).collect();
    assert!(methods.iter().all(|method| Method::parse(method).is_some()));
}
