//! Contracts that nobody would write: each is refused with a code and a field, or can read whatever an answer holds and
//! keeps law 4.

use std::sync::LazyLock;

use intento::core::contract::{
    AnswerClass, AttemptReading, Carrier, CarrierPlace, ConclusiveWhen, Contract, FactValue, Facts, Finding, HeaderIs,
    HeaderName, KeyFormat, KeyRules, Lookup, LookupMethod, LookupRule, Method, Observation, PathRetention, Place,
    PointerIs, Poll, Refusal, ReplayMarker, RetryHint, Rule, Success, When, find, read, read_polled,
};
use intento::core::error::{Error, ErrorCode};
use intento::core::json::{from_text, to_text};
use intento::core::key::{Key, RandomBits};
use intento::core::limits::{KEY_MAX_LENGTH, RETENTION_MAX_MS};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::arbitrary;
use super::config;
use super::damage::damaged;

static SHIPPED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/contracts")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
});

/// Most of these are valid.
pub(crate) fn contract() -> BoxedStrategy<Contract> {
    let key = select(vec![KeyFormat::Uuid, KeyFormat::Hex32, KeyFormat::Alphabet]).prop_flat_map(|format| {
        let alphabet = select(vec!["01", "0123456789abcdef", "ABCDEFGHJKMNPQRSTVWXYZ23456789", "-._~aZ"]);
        let alphabet = alphabet.prop_map(move |it| (format == KeyFormat::Alphabet).then(|| it.to_owned()));
        (Just(format), alphabet, of(0_u32..40), of(select(vec![36, 128, KEY_MAX_LENGTH, 300]))).prop_map(
            |(format, alphabet, min_length, max_length)| KeyRules { format, alphabet, min_length, max_length },
        )
    });
    let echo =
        (of(header()), pointer()).prop_map(|(header, at)| Place { pointer: header.is_none().then_some(at), header });
    let replay = (header(), vec("[a-z]{1,4}", 1..3), statuses()).prop_map(|(header, values, status)| ReplayMarker {
        header: Some(header),
        values,
        status,
    });
    let span = vec((200_u16..=250, 250_u16..=299), 1..3);
    let success = (span, vec(media_type(), 0..3), of(pointer_is()))
        .prop_map(|(statuses, media_types, pointer)| Success { statuses, media_types, pointer });
    let refusal = (select(vec![ConclusiveWhen::Stored, ConclusiveWhen::ByRule]), any::<bool>())
        .prop_map(|(conclusive, single_delivery)| Refusal { conclusive, single_delivery });
    let lookup_rule =
        (when(), select(vec![Finding::Applied, Finding::NotApplied, Finding::NotFound, Finding::Unknown]))
            .prop_map(|(when, then)| LookupRule { when, then });
    let lookup =
        (select(vec![LookupMethod::Get, LookupMethod::Post]), of(path()), vec(lookup_rule, 1..4), of("/[a-z]{1,4}"))
            .prop_map(|(method, path, rules, response_at)| Lookup { method, path, rules, response_at });
    let hint = (header(), vec("[a-z]{1,4}", 0..2), vec("[a-z]{1,4}", 0..2))
        .prop_map(|(header, retry, stop)| RetryHint { header, retry, stop });
    let retention = prop_oneof![9 => 60_000..=RETENTION_MAX_MS, 1 => arbitrary::number()];
    let special = (path(), retention.clone()).prop_map(|(prefix, retention_ms)| PathRetention { prefix, retention_ms });
    let names = ("[a-z]{1,12}", carried(), key);
    let windows = (retention, vec(special, 0..3), 0..60_000_u64, of(header()));
    let reads = (of(echo), success, of(replay), refusal, vec(400_u16..512, 0..6), vec(rule(), 0..5), vec(hint, 0..2));
    let asks = (of(of(path()).prop_map(|path| Poll { path })), of(lookup));
    let methods = vec(select(Method::ALL.to_vec()), 1..4);
    (names, windows, reads, asks, methods)
        .prop_map(|((id, carrier, key), windows, reads, (poll, reconcile), methods)| {
            let (retention_ms, retention_by_path, margin_ms, window_start) = windows;
            let (echo, success, replay, refusal, before_layer, rules, retry_hints) = reads;
            let without_a_key = carrier.place == CarrierPlace::None;
            Contract {
                id,
                carrier,
                key,
                echo,
                retention_ms: if without_a_key { 0 } else { retention_ms },
                retention_by_path,
                margin_ms,
                window_start: window_start.map(|header| HeaderName { header }),
                methods,
                success,
                replay,
                refusal,
                before_layer,
                rules,
                retry_hints,
                poll,
                reconcile,
            }
        })
        .boxed()
}

fn carried() -> impl Strategy<Value = Carrier> {
    let plain = |place, name: &str| Carrier { place, name: name.to_owned(), quoted: false, first_sent: None };
    let header = (header(), any::<bool>(), of(header())).prop_map(|(name, quoted, first_sent)| Carrier {
        place: CarrierPlace::Header,
        name,
        quoted,
        first_sent,
    });
    let others = vec![
        plain(CarrierPlace::Body, "/meta/key"),
        plain(CarrierPlace::Query, "key"),
        plain(CarrierPlace::Path, "txid"),
        plain(CarrierPlace::None, ""),
    ];
    prop_oneof![6 => header, 4 => select(others), 1 => arbitrary::carrier()]
}

fn header() -> impl Strategy<Value = String> {
    select(vec!["idempotency-key", "X-Replayed", "x-state", "Link", "retry-after", "date"]).prop_map(str::to_owned)
}

fn pointer() -> impl Strategy<Value = String> {
    select(vec!["/type", "/error/code", "/state", "/errors/*/code", "/~1/~0", "/"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    select(vec!["/", "/payments", "/payments/", "/look/{key}", "/{reference}/{nobody", "/}{"]).prop_map(str::to_owned)
}

fn media_type() -> impl Strategy<Value = String> {
    select(vec!["application/json", "+json", "application/jwt", "+"]).prop_map(str::to_owned)
}

fn pointer_is() -> impl Strategy<Value = PointerIs> {
    (pointer(), vec(select(vec!["true", "paid", "42", "-0"]).prop_map(str::to_owned), 0..3))
        .prop_map(|(at, is)| PointerIs { at, is })
}

fn statuses() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![20 => select(vec![200_u16, 201, 204, 400, 404, 409, 422]), 1 => any::<u16>()], 0..4)
}

fn when() -> impl Strategy<Value = When> {
    let header = (header(), vec("[a-z]{1,4}", 0..2)).prop_map(|(name, is)| HeaderIs { name, is });
    (statuses(), of(any::<bool>()), of(header), of(pointer_is())).prop_map(|(status, replayed, header, pointer)| When {
        status,
        replayed,
        header,
        pointer,
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    (when(), arbitrary::class(), prop::bool::weighted(0.2), of(pointer())).prop_map(|(when, then, sure, resource)| {
        Rule {
            when,
            then,
            conclusive: sure && then == AnswerClass::Rejected,
            resource: resource.filter(|_| then == AnswerClass::AlreadyDone),
        }
    })
}

/// What is read from a shipped contract that was damaged, where it is read at all.
fn misprint() -> impl Strategy<Value = Option<Contract>> {
    damaged(select(SHIPPED.clone())).prop_map(|text| from_text(&text).ok())
}

fn valid() -> BoxedStrategy<Contract> {
    let made_up = contract().prop_filter("valid", |contract| contract.validate().is_ok());
    let shipped = select(SHIPPED.clone()).prop_map(|text| from_text(&text).unwrap());
    let misprint = (misprint(), shipped)
        .prop_map(|(misprint, shipped)| misprint.filter(|contract| contract.validate().is_ok()).unwrap_or(shipped));
    prop_oneof![2 => made_up, 1 => misprint].boxed()
}

/// A valid contract, and an answer in which anything may stand that it could look at.
fn answered() -> impl Strategy<Value = (Contract, Facts)> {
    valid().prop_flat_map(|contract| {
        let facts = facts(&contract);
        (Just(contract), facts)
    })
}

fn status() -> impl Strategy<Value = u16> {
    prop_oneof![3 => 200..300_u16, 2 => 300..400_u16, 3 => 400..500_u16, 3 => 500..600_u16, 1 => any::<u16>()]
}

/// Half of these fit a condition of the contract, but for the status.
fn facts(contract: &Contract) -> BoxedStrategy<Facts> {
    let key = key_of(contract).expose().to_owned();
    let looked_up = contract.reconcile.iter().flat_map(|lookup| &lookup.rules).map(|rule| &rule.when);
    let whens: Vec<When> = contract.rules.iter().map(|rule| &rule.when).chain(looked_up).cloned().collect();
    let marks = contract.replay.iter().flat_map(|replay| replay.values.clone());
    let texts: Vec<String> = marks.chain(["true".to_owned(), format!("\"{key}\""), key]).collect();
    let text = prop_oneof![4 => select(texts), 1 => any::<String>()].boxed();
    let value = prop_oneof![
        3 => text.clone().prop_map(FactValue::Text),
        1 => any::<bool>().prop_map(FactValue::Bool),
        1 => any::<i64>().prop_map(FactValue::Integer),
        1 => select(vec![FactValue::Inexact, FactValue::Composite]),
    ];
    let known = vec!["application/json", "application/problem+json", "application/jwt", "text/html", "+", ""];
    let media_type = of(prop_oneof![4 => select(known).prop_map(str::to_owned), 1 => any::<String>()]);
    let headers = btree_map(select(contract.fact_headers()), text, 0..5);
    let pointers = btree_map(select(contract.fact_pointers()), vec(value, 0..3), 0..4);
    (status(), media_type, headers, pointers, any::<(bool, bool)>(), of(any::<Index>()))
        .prop_map(move |(status, media_type, headers, pointers, (body_empty, document), fit)| {
            let (headers, pointers) = (headers.into_iter().collect(), pointers.into_iter().collect());
            let mut facts = Facts { status, media_type, headers, pointers, body_empty, document };
            if let Some(fit) = fit.filter(|_| !whens.is_empty()) {
                fit_in(&mut facts, fit.get(&whens));
            }
            facts
        })
        .boxed()
}

fn fit_in(facts: &mut Facts, when: &When) {
    let one_of = |texts: &[String]| texts.first().cloned().unwrap_or_default();
    if let Some(header) = &when.header {
        facts.headers.insert(header.name.to_ascii_lowercase(), one_of(&header.is));
    }
    if let Some(pointer) = &when.pointer {
        facts.pointers.insert(pointer.at.clone(), vec![FactValue::Text(one_of(&pointer.is))]);
    }
}

fn key_of(contract: &Contract) -> Key {
    Key::render(RandomBits([0x5a; 16]), &contract.key)
}

fn class_of(reading: AttemptReading) -> Option<AnswerClass> {
    match reading {
        AttemptReading::Answer { class, .. } => Some(class),
        AttemptReading::Fault { .. } => None,
    }
}

fn ends(class: Option<AnswerClass>) -> bool {
    use AnswerClass::{AlreadyDone, Mismatched, Rejected, Succeeded};
    matches!(class, Some(Succeeded | AlreadyDone | Rejected | Mismatched))
}

/// Otherwise what is said of valid contracts would be said of few.
#[test]
fn most_of_the_contracts_that_are_made_up_are_valid() {
    let mut runner = TestRunner::deterministic();
    let tree = |runner: &mut TestRunner| contract().new_tree(runner).unwrap().current();
    let valid = (0..200).filter(|_| tree(&mut runner).validate().is_ok()).count();
    assert!(valid >= 50, "{valid} of 200");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_contract_is_valid_or_is_refused_with_a_code_and_a_member_that_it_has(
        contract in prop_oneof![contract().prop_map(Some), misprint()],
    ) {
        let Some(contract) = contract else { return Ok(()) };
        let text = to_text(&contract);
        prop_assert_eq!(from_text::<Contract>(&text), Ok(contract.clone()));
        let Err(fault) = contract.validate() else { return Ok(()) };
        let member = fault.field.split('.').next().unwrap();
        let stored: Value = serde_json::from_str(&text).unwrap();
        prop_assert!(stored.get(member).is_some(), "there is no {}", fault.field);
        let error = Error::from(fault);
        prop_assert_eq!(error.code, ErrorCode::ContractInvalid);
        prop_assert!(error.detail.is_some_and(|detail| detail.starts_with(fault.field)));
    }

    /// Neither a redirect nor a 5xx nor any rule about one ends an intent, and nor does silence.
    #[test]
    fn law_4_whatever_a_valid_contract_says_only_an_answer_of_the_server_ends_an_intent(
        (contract, facts) in answered(),
        fault in arbitrary::fault(),
    ) {
        let key = key_of(&contract);
        let evidence = matches!(facts.status, 200..=299 | 400..=499);
        let asked = find(&contract, &Observation::Reply(facts.clone()));
        let reply = Observation::Reply(facts);
        for reading in [read(&contract, &key, &reply), read_polled(&contract, &key, &reply)] {
            prop_assert!(evidence || !ends(class_of(reading)), "{:?}", reading);
            let AttemptReading::Answer { class, conclusive, .. } = reading else { panic!("an answer is read as one") };
            prop_assert!(!conclusive || class == AnswerClass::Rejected);
        }
        prop_assert!(evidence || !matches!(asked, Finding::Applied | Finding::NotApplied), "{asked:?}");

        let silence = Observation::Fault(fault);
        prop_assert_eq!(read(&contract, &key, &silence), AttemptReading::Fault { fault });
        prop_assert_eq!(read_polled(&contract, &key, &silence), AttemptReading::Fault { fault });
        prop_assert_eq!(find(&contract, &silence), Finding::Unknown);
    }

    /// A captive portal has every status, and a page.
    #[test]
    fn law_4_a_page_of_somebody_else_ends_nothing(contract in valid(), status in status(), document: bool) {
        prop_assume!(!matches!(status, 204 | 205));
        let spoken = contract.success.media_types.iter().any(|media_type| media_type == "text/html");
        prop_assume!(!spoken);
        let page = Facts { status, media_type: Some("text/html".to_owned()), document, ..Facts::default() };
        let key = key_of(&contract);
        let found = find(&contract, &Observation::Reply(page.clone()));
        let page = Observation::Reply(page);
        prop_assert!(!ends(class_of(read(&contract, &key, &page))));
        prop_assert!(!ends(class_of(read_polled(&contract, &key, &page))));
        prop_assert!(!matches!(found, Finding::Applied | Finding::NotApplied));
    }

    #[test]
    fn a_valid_contract_makes_keys_that_hold_their_bits_and_fit(contract in valid(), bits: [u8; 16], other: [u8; 16]) {
        let rules = &contract.key;
        let key = Key::render(RandomBits(bits), rules);
        let length = u32::try_from(key.expose().len()).unwrap();
        let fits = rules.min_length.unwrap_or(0)..=rules.max_length.unwrap_or(KEY_MAX_LENGTH);
        prop_assert!(fits.contains(&length), "{length} characters");
        // A key stands in a header, a query and a path as it is.
        prop_assert!(key.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)));
        // Six bits of a UUID say what it is.
        let random = |bits: [u8; 16]| {
            let uuid = u128::from(rules.format == KeyFormat::Uuid) * (0xf << 76 | 0x3 << 62);
            u128::from_be_bytes(bits) & !uuid
        };
        let same = random(bits) == random(other);
        prop_assert_eq!(key == Key::render(RandomBits(other), rules), same);
    }

    #[test]
    fn law_7_no_window_of_a_valid_contract_is_empty_or_longer_than_its_retention(contract in valid(), path: String) {
        let windows = contract.windows();
        for path in [path.as_str(), "/payments", "/payments/1?a", "/", ""] {
            let usable_ms = windows.usable_ms(path);
            prop_assert_eq!(usable_ms > 0, contract.resends());
            prop_assert!(usable_ms <= RETENTION_MAX_MS && usable_ms >= windows.smallest_ms().min(usable_ms));
        }
    }
}
