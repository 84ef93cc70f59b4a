//! What a contract must be: each row spoils one thing, and the fault names its field.

use super::*;
use crate::core::contract::{
    AnswerClass, Carrier, CarrierPlace, Finding, KeyFormat, Lookup, LookupMethod, LookupRule, PathRetention, Place,
    Poll, When,
};
use crate::core::json::{Misread, from_text, to_text};
use crate::core::limits::{CONTRACT_LIST_MAX, KEY_MAX_LENGTH, POINTER_MAX_BYTES, RETENTION_MAX_MS};

/// One way to spoil a contract.
type Spoil = fn(&mut Contract);

#[test]
fn a_wrong_contract_names_its_field() {
    let rows: [(&str, Spoil); 16] = [
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
        ("success.mediaTypes", |c| c.success.media_types.clear()),
        ("rules.when.status", |c| c.rules[0].when.status = vec![422, 503]),
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

/// As large as it may be, and one more.
#[test]
fn what_is_at_a_bound_is_a_contract_and_one_more_is_none() {
    type Size = fn(&mut Contract, usize);
    let rows: [(&str, Size, usize); 5] = [
        ("beforeLayer", |c, count| c.before_layer = vec![401; count], CONTRACT_LIST_MAX),
        ("rules", |c, count| c.rules = vec![c.rules[0].clone(); count], CONTRACT_LIST_MAX),
        ("retentionMs", |c, ms| c.retention_ms = ms as u64, RETENTION_MAX_MS as usize),
        ("key.maxLength", |c, length| c.key.max_length = Some(length as u32), KEY_MAX_LENGTH as usize),
        (
            "rules.when.pointer.at",
            |c, bytes| c.rules[0].when.pointer.iter_mut().for_each(|at| at.at = format!("/{:x<1$}", "", bytes - 1)),
            POINTER_MAX_BYTES,
        ),
    ];
    for (field, resize, bound) in rows {
        for (size, fault) in [(bound, None), (bound + 1, Some(field))] {
            let mut contract = generic();
            resize(&mut contract, size);
            assert_eq!(contract.validate().err().map(|fault| fault.field), fault, "{size}");
        }
    }
}

#[test]
fn what_would_make_a_contract_dangerous_is_refused() {
    fn special(c: &mut Contract, retention_ms: u64) {
        c.retention_by_path = vec![PathRetention { prefix: "/payments".to_owned(), retention_ms }];
    }
    fn lookup(c: &mut Contract, path: &str, response_at: &str, rules: usize) {
        let when = When { status: vec![404], ..When::default() };
        let rule = LookupRule { when, then: Finding::NotFound };
        c.reconcile = Some(Lookup {
            method: LookupMethod::Get,
            path: Some(path.to_owned()),
            rules: vec![rule; rules],
            response_at: Some(response_at.to_owned()),
        });
    }
    fn sealed(c: &mut Contract, status: u16) {
        lookup(c, "/look", "/response", 1);
        c.reconcile.iter_mut().flat_map(|lookup| &mut lookup.rules).for_each(|rule| {
            rule.then = Finding::NotApplied;
            rule.when.status = vec![404, status];
        });
    }
    fn alphabet(c: &mut Contract, alphabet: &str) {
        c.key.format = KeyFormat::Alphabet;
        c.key.alphabet = Some(alphabet.to_owned());
    }
    fn without_a_key(c: &mut Contract) {
        c.carrier = Carrier { place: CarrierPlace::None, name: String::new(), quoted: false, first_sent: None };
        (c.retention_ms, c.margin_ms) = (0, 0);
    }
    let rows: [(Option<&str>, Spoil); 22] = [
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
        (Some("reconcile.rules.when.status"), |c| sealed(c, 503)),
        (None, |c| sealed(c, 410)),
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
fn a_contract_survives_its_json() -> Result<(), Misread> {
    let text = to_text(&generic());
    assert_eq!(from_text::<Contract>(&text)?, generic());
    Ok(())
}
