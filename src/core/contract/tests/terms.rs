//! What a contract says beside its readings: how the key travels and how long it counts, which facts it needs, how to ask.

use super::*;
use crate::core::contract::{
    Carrier, CarrierPlace, Fault, Finding, HeaderIs, HeaderName, Lookup, LookupMethod, LookupRule, PathRetention,
    PointerIs, When, find,
};

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
fn law_7_a_prefix_covers_whole_segments() {
    let mut contract = generic();
    let special =
        |prefix: &str, hours: u64| PathRetention { prefix: prefix.to_owned(), retention_ms: hours * 3_600_000 };
    contract.retention_by_path = vec![special("/v2/pay", 3), special("/v2/", 5)];
    let usable_h = |path: &str| (contract.windows().usable_ms(path) + contract.margin_ms) / 3_600_000;
    let rows = [("/v2/pay", 3), ("/v2/pay/1", 3), ("/v2/pay?x", 3), ("/v2/payments", 5), ("/v2", 24), ("/", 24)];
    for (path, hours) in rows {
        assert_eq!(usable_h(path), hours, "{path}");
    }
}

#[test]
fn the_facts_asked_for_are_those_the_contract_names() {
    let headers = generic().fact_headers();
    for named in ["retry-after", "date", "idempotency-key", "idempotent-replayed", "location", "x-should-retry"] {
        assert_eq!(headers.iter().filter(|header| *header == named).count(), 1, "{named}");
    }
    assert_eq!(generic().fact_pointers(), ["/type"]);

    let mut contract = generic();
    contract.window_start = Some(HeaderName { header: "X-Window".to_owned() });
    contract.success.pointer = Some(PointerIs { at: "/ok".to_owned(), is: Vec::new() });
    contract.rules[0].resource = Some("/id".to_owned());
    let when = When {
        header: Some(HeaderIs { name: "X-Found".to_owned(), is: Vec::new() }),
        pointer: Some(PointerIs { at: "/state".to_owned(), is: Vec::new() }),
        ..When::default()
    };
    let rules = vec![LookupRule { when, then: Finding::Applied }];
    let method = LookupMethod::Get;
    contract.reconcile = Some(Lookup { method, path: None, rules, response_at: None });
    let headers = contract.fact_headers();
    for named in ["x-window", "x-found", "age"] {
        assert!(headers.iter().any(|header| header == named), "{named}");
    }
    let mut pointers = contract.fact_pointers();
    pointers.sort();
    assert_eq!(pointers, ["/id", "/ok", "/state", "/type"], "each once");
}

#[test]
fn a_lookup_is_believed_in_the_servers_own_voice_only() {
    let mut contract = generic();
    let when = When { status: vec![404], ..When::default() };
    let rules = vec![LookupRule { when, then: Finding::NotApplied }];
    contract.reconcile = Some(Lookup { method: LookupMethod::Get, path: None, rules, response_at: None });
    let found = |facts| find(&contract, &Observation::Reply(facts));
    assert_eq!(found(json(404)), Finding::NotApplied);
    assert_eq!(found(html(404)), Finding::Unknown, "a proxy's page");
    assert_eq!(found(json(200)), Finding::Unknown, "no rule, no finding");
    let mut contract = contract.clone();
    let header = Some(HeaderIs { name: "x-found".to_owned(), is: vec!["no".to_owned()] });
    let inside = LookupRule { when: When { header, ..When::default() }, then: Finding::NotFound };
    contract.reconcile.iter_mut().for_each(|lookup| lookup.rules.insert(0, inside.clone()));
    let found = |facts| find(&contract, &Observation::Reply(facts));
    assert_eq!(found(with_header(html(404), "x-found", "NO ")), Finding::NotFound, "a value that only the server says");
    assert_eq!(found(with_header(json(404), "x-found", "no")), Finding::NotFound, "the first rule that holds");
    assert_eq!(found(json(404)), Finding::NotApplied);
    assert_eq!(find(&contract, &Observation::Fault(Fault::Network)), Finding::Unknown);
    assert_eq!(find(&generic(), &Observation::Reply(json(404))), Finding::Unknown, "no lookup");
}

#[test]
fn law_4_no_lookup_makes_an_end_of_a_5xx() {
    let mut contract = generic();
    let header = Some(HeaderIs { name: "x-found".to_owned(), is: Vec::new() });
    let rules = vec![LookupRule { when: When { header, ..When::default() }, then: Finding::Applied }];
    contract.reconcile = Some(Lookup { method: LookupMethod::Get, path: None, rules, response_at: None });
    let found = |status| find(&contract, &Observation::Reply(with_header(json(status), "x-found", "yes")));
    assert_eq!([found(404), found(503), found(307)], [Finding::Applied, Finding::Unknown, Finding::Unknown]);
}
