//! Bad input: each row spoils one thing, and gets its code. A refused submission makes no change, so nothing is stored.

use super::*;
use crate::core::contract::{Contract, generic};
use crate::core::key::ContractHash;

fn target(href: &str, scheme: &str, host: &str) -> Target {
    let origin = format!("{scheme}//{host}");
    Target { href: href.to_owned(), scheme: scheme.to_owned(), host: host.to_owned(), origin, has_credentials: false }
}

fn shop() -> Target {
    target("https://api.shop.example/payments", "https:", "api.shop.example")
}

fn good() -> Submission {
    Submission {
        operation: "authorize-payment".to_owned(),
        reference: Reference::Named("order-842".to_owned()),
        lane: None,
        method: "POST".to_owned(),
        target: shop(),
        headers: vec![("X-Tenant".to_owned(), "7".to_owned())],
        body: Some(StatedBody::json("{\"amount\":15000}".to_owned())),
        expires_in: ExpiresIn::Default,
        card_data: false,
    }
}

fn change(submission: Submission) -> Result<Submit, Error> {
    change_under(generic(), submission)
}

fn change_under(contract: Contract, submission: Submission) -> Result<Submit, Error> {
    change_with(contract, submission, RandomBits([2; 16]))
}

fn change_with(contract: Contract, submission: Submission, key: RandomBits) -> Result<Submit, Error> {
    let contract = ContractSnapshot { hash: ContractHash::of("generic"), contract: contract.into() };
    let destinations = Destinations::new(&shop(), &[])?;
    let scope = scope_hash(Some("user-1"))?;
    let context = SubmitContext {
        scope: &scope,
        realm: &RealmId::from("realm-a"),
        contract: &contract,
        destinations: &destinations,
    };
    submission.into_change(context, RandomBits([1; 16]), key)
}

fn with_header(name: &str, value: &str) -> Submission {
    Submission { headers: vec![(name.to_owned(), value.to_owned())], ..good() }
}

fn named(reference: &str) -> Submission {
    Submission { reference: Reference::Named(reference.to_owned()), ..good() }
}

fn in_lane(lane: &str) -> Submission {
    Submission { lane: Some(lane.to_owned()), ..good() }
}

fn headers(count: usize) -> Vec<(String, String)> {
    (0..count).map(|number| (format!("x-{number}"), String::new())).collect()
}

/// So many bytes long.
fn url_of(bytes: usize) -> String {
    format!("{:x<bytes$}", "https://api.shop.example/")
}

fn to(target: Target) -> Submission {
    Submission { target, ..good() }
}

#[test]
fn a_good_submission_becomes_a_change() {
    let submit = change(good()).unwrap();
    assert_eq!(submit.intent, IntentId::new(RandomBits([1; 16])));
    assert_eq!(submit.key, Key::render(RandomBits([2; 16]), &generic().key));
    assert_eq!(submit.request.headers, [("x-tenant".to_owned(), "7".to_owned())]);
    assert_eq!(submit.request.origin, "https://api.shop.example");
    assert_eq!(submit.expires_in_ms, Some(EXPIRES_IN_MS));
    assert_eq!(submit.body.map(|body| body.media_type), Some("application/json".to_owned()));
}

#[test]
fn bad_input_is_refused_with_its_code() {
    use ErrorCode::*;
    let many = headers(HEADERS_MAX + 1);
    let long_url = url_of(URL_MAX_BYTES + 1);
    let rows = [
        (OperationInvalid, Submission { operation: String::new(), ..good() }),
        (OperationInvalid, Submission { operation: "x".repeat(OPERATION_MAX_BYTES + 1), ..good() }),
        (OperationInvalid, Submission { operation: "pay now".to_owned(), ..good() }),
        (ReferenceMissing, Submission { reference: Reference::Missing, ..good() }),
        (ReferenceInvalid, named("")),
        (ReferenceInvalid, named("order\u{1f}842")),
        (ReferenceTooLong, named(&"x".repeat(REFERENCE_MAX_BYTES + 1))),
        (ReferenceTooLong, named(&"é".repeat(REFERENCE_MAX_BYTES / 2 + 1))),
        (LaneInvalid, in_lane("")),
        (LaneInvalid, in_lane("table\u{1f}7")),
        (LaneInvalid, in_lane(&"x".repeat(LANE_MAX_BYTES + 1))),
        (LaneInvalid, in_lane(&"é".repeat(LANE_MAX_BYTES / 2 + 1))),
        (MethodNotAllowed, Submission { method: "GET".to_owned(), ..good() }),
        (MethodNotAllowed, Submission { method: "post".to_owned(), ..good() }),
        (UrlInvalid, to(target("ftp://api.shop.example/", "ftp:", "api.shop.example"))),
        (UrlInvalid, to(Target { has_credentials: true, ..shop() })),
        (UrlInvalid, to(target(&long_url, "https:", "api.shop.example"))),
        (UrlCleartext, to(target("http://api.shop.example/", "http:", "api.shop.example"))),
        (UrlCleartext, to(target("http://localhost.example/", "http:", "localhost.example"))),
        (UrlForeignOrigin, to(target("https://evil.example/", "https:", "evil.example"))),
        (UrlForeignOrigin, to(target("http://127.0.0.1:9/", "http:", "127.0.0.1"))),
        (HeaderForbidden, with_header("Authorization", "Bearer x")),
        (HeaderForbidden, with_header("COOKIE", "a=b")),
        (HeaderForbidden, with_header("X-Api-Key", "x")),
        (HeaderForbidden, with_header("Idempotency-Key", "mine")),
        (HeaderForbidden, with_header("Host", "x")),
        (HeaderForbidden, with_header("Sec-Fetch-Mode", "x")),
        (HeaderForbidden, with_header("Proxy-Whatever", "x")),
        (HeaderInvalid, with_header("no spaces", "x")),
        (HeaderInvalid, with_header("x-split", "a\r\nb: c")),
        (HeaderInvalid, with_header("x-wide", "préau")),
        (HeaderInvalid, with_header("x-padded", " a")),
        (HeaderInvalid, with_header("x-long", &"x".repeat(HEADER_VALUE_MAX_BYTES + 1))),
        (HeaderInvalid, with_header("content-type", "text/plain")),
        (HeaderInvalid, Submission { body: None, ..with_header("content-type", "application/json") }),
        (HeaderInvalid, Submission { headers: vec![("a".into(), "1".into()), ("A".into(), "2".into())], ..good() }),
        (HeaderInvalid, Submission { headers: many, ..good() }),
        (BodyTooLarge, Submission { body: Some(StatedBody::json("x".repeat(BODY_MAX_BYTES + 1))), ..good() }),
        (ExpiresInInvalid, Submission { expires_in: ExpiresIn::AfterMs(0), ..good() }),
    ];
    for (wanted, submission) in rows {
        let shown = format!("{submission:?}");
        assert_eq!(change(submission).map_err(|error| error.code).unwrap_err(), wanted, "{shown}");
    }
}

#[test]
fn what_is_at_a_bound_is_good() {
    let rows = [
        Submission { operation: "x".repeat(OPERATION_MAX_BYTES), ..good() },
        named(&"x".repeat(REFERENCE_MAX_BYTES)),
        in_lane("7"),
        in_lane(&"x".repeat(LANE_MAX_BYTES)),
        to(target(&url_of(URL_MAX_BYTES), "https:", "api.shop.example")),
        Submission { headers: headers(HEADERS_MAX), ..good() },
        with_header("x-long", &"x".repeat(HEADER_VALUE_MAX_BYTES)),
        with_header("content-type", "application/vnd.shop+json; charset=utf-8"),
        Submission { body: Some(StatedBody::json("x".repeat(BODY_MAX_BYTES))), ..good() },
        Submission { body: None, ..good() },
        Submission { reference: Reference::OptedOut, ..good() },
        Submission { expires_in: ExpiresIn::Never, ..good() },
        Submission { expires_in: ExpiresIn::AfterMs(1), ..good() },
    ];
    for submission in rows {
        let shown = format!("{submission:?}");
        assert!(change(submission).is_ok(), "{shown}");
    }
}

#[test]
fn loopback_may_be_cleartext() {
    for host in ["localhost", "shop.localhost", "127.0.0.1", "127.8.9.1", "[::1]"] {
        let base = target("http://x/", "http:", host);
        assert!(Destinations::new(&base, &[]).and_then(|known| known.check(&base)).is_ok(), "{host}");
    }
    for host in ["128.0.0.1", "localhost.example", "127.0.0.1.example", "[::2]", "10.0.0.1"] {
        assert!(target("http://x/", "http:", host).check_transport().is_err(), "{host}");
    }
    assert!(Destinations::new(&shop(), &[target("http://x/", "http:", "x")]).is_err(), "extra origins too");
}

#[test]
fn a_scope_is_required_and_bounded() {
    assert_eq!(scope_hash(None).map_err(|error| error.code), Err(ErrorCode::ScopeMissing));
    assert_eq!(scope_hash(Some("")).map_err(|error| error.code), Err(ErrorCode::ScopeMissing));
    let long = "x".repeat(SCOPE_MAX_BYTES + 1);
    assert_eq!(scope_hash(Some(&long)).map_err(|error| error.code), Err(ErrorCode::ScopeTooLong));
    assert!(scope_hash(Some(&"x".repeat(SCOPE_MAX_BYTES))).is_ok());
    assert_ne!(scope_hash(Some("a")), scope_hash(Some("b")));
}

#[test]
fn a_reason_is_required_and_bounded() {
    for (bytes, fits) in [(0, false), (1, true), (REASON_MAX_BYTES, true), (REASON_MAX_BYTES + 1, false)] {
        let given = "x".repeat(bytes);
        let wanted = if fits { Ok(given.clone()) } else { Err(ErrorCode::ReasonInvalid) };
        assert_eq!(reason(given).map_err(|error| error.code), wanted, "{bytes} bytes");
    }
}

#[test]
fn the_fingerprint_ignores_the_key_and_sees_the_rest() {
    let base = change(good()).unwrap().fingerprint;
    let differ = [
        Submission { method: "PUT".to_owned(), ..good() },
        Submission { operation: "refund".to_owned(), ..good() },
        Submission { body: Some(StatedBody::json("{\"amount\":15001}".to_owned())), ..good() },
        Submission { body: None, ..good() },
        to(Target { href: "https://api.shop.example/payments?x".to_owned(), ..shop() }),
    ];
    for submission in differ {
        assert_ne!(change(submission).unwrap().fingerprint, base);
    }
    assert_eq!(change(named("order-843")).unwrap().fingerprint, base, "the reference names it, and is no payload");
}

#[test]
fn the_fingerprint_is_over_what_the_app_calls_relevant() {
    let stated = |content: &str, compared: Option<&str>| {
        let body = StatedBody { compared: compared.map(str::to_owned), ..StatedBody::json(content) };
        change(Submission { body: Some(body), ..good() }).unwrap()
    };
    let relevant = Some("{\"amount\":15000}");
    let first = stated("{\"amount\":15000,\"client_ts\":1}", relevant);
    let second = stated("{\"amount\":15000,\"client_ts\":2}", relevant);
    assert_eq!(first.fingerprint, second.fingerprint);
    assert_ne!(first.body, second.body, "what travels is whole");
    assert_ne!(first.fingerprint, stated("{\"amount\":15000,\"client_ts\":1}", None).fingerprint);
}

#[test]
fn law_11_a_submission_shows_no_secret() {
    let mut submission = with_header("x-note", "canary-header");
    submission.target.href = "https://api.shop.example/payments?token=canary-url".to_owned();
    submission.body = Some(StatedBody::json("{\"card\":\"canary-body\"}"));
    assert!(!format!("{submission:?}").contains("canary"));
    let refused = change(Submission { headers: vec![("Cookie".to_owned(), "canary".to_owned())], ..submission });
    assert!(!format!("{refused:?}").contains("canary"));
}

/// A contract whose key stands elsewhere.
fn carried(place: CarrierPlace, name: &str) -> Contract {
    let carrier = Carrier { place, name: name.to_owned(), quoted: false, first_sent: None };
    Contract { carrier, ..generic() }
}

const KEY: &str = "02020202-0202-4202-8202-020202020202";

#[test]
fn the_key_stands_where_the_contract_says_and_is_no_part_of_the_fingerprint() {
    let at = |href: &str| to(Target { href: href.to_owned(), ..shop() });
    let body = |text: &str| Submission { body: Some(StatedBody::json(text)), ..good() };
    let url = |place, name: &str, submission| change_under(carried(place, name), submission).map(|it| it.request.url);
    let shop = "https://api.shop.example/payments";
    assert_eq!(url(CarrierPlace::Query, "key", good()), Ok(format!("{shop}?key={KEY}")));
    assert_eq!(
        url(CarrierPlace::Query, "key", at(&format!("{shop}?a=1&monkey=2"))),
        Ok(format!("{shop}?a=1&monkey=2&key={KEY}"))
    );
    let cob = at("https://api.shop.example/cob/%7Btxid%7D?x=%7Btxid%7D");
    assert_eq!(url(CarrierPlace::Path, "txid", cob), Ok(format!("https://api.shop.example/cob/{KEY}?x=%7Btxid%7D")));

    let text = "{\"amount\":15000,\"key\":\"\\ud800\"}";
    let placed = change_under(carried(CarrierPlace::Body, "/key"), body(text)).unwrap();
    let content = placed.body.clone().map(|body| body.content);
    assert_eq!(content, Some(Content::Text(format!("{{\"amount\":15000,\"key\":\"{KEY}\"}}"))));
    let again = change_with(carried(CarrierPlace::Body, "/key"), body(text), RandomBits([9; 16])).unwrap();
    assert_ne!(again.key, placed.key);
    assert_eq!(again.fingerprint, placed.fingerprint, "another key, the same decision");
}

#[test]
fn a_key_without_a_place_or_with_two_is_refused() {
    let at = |href: &str| to(Target { href: href.to_owned(), ..shop() });
    let body = |body: Option<StatedBody>| Submission { body, ..good() };
    let opaque = StatedBody { kind: BodyKind::Text, ..StatedBody::json("{\"key\":\"\\ud800\"}") };
    let rows = [
        (CarrierPlace::Query, "key", at("https://api.shop.example/payments?key=mine")),
        (CarrierPlace::Query, "key", at("https://api.shop.example/payments?a=1&key")),
        (CarrierPlace::Path, "txid", good()),
        (CarrierPlace::Path, "txid", at("https://api.shop.example/%7Btxid%7D/%7Btxid%7D")),
        (CarrierPlace::Path, "txid", at("https://api.shop.example/payments?id=%7Btxid%7D")),
        (CarrierPlace::Body, "/key", good()),
        (CarrierPlace::Body, "/key", body(None)),
        (CarrierPlace::Body, "/key", body(Some(opaque))),
        (CarrierPlace::Body, "/key", body(Some(StatedBody::json("[\"\\ud800\",\"\\ud800\"]")))),
    ];
    for (place, name, submission) in rows {
        let refused = change_under(carried(place, name), submission).map_err(|error| (error.code, error.detail));
        assert_eq!(refused.err(), Some((ErrorCode::KeyPlaceInvalid, Some(name.to_owned()))), "{place:?} {name}");
    }
}

#[test]
fn a_header_that_the_contract_fills_is_not_the_app_s() {
    let mut contract = generic();
    contract.carrier.first_sent = Some("Repeatability-First-Sent".to_owned());
    let refused = change_under(contract, with_header("repeatability-first-sent", "now"));
    assert_eq!(refused.map_err(|error| error.code).err(), Some(ErrorCode::HeaderForbidden));
    let refused = change_under(carried(CarrierPlace::Header, "X-Key"), with_header("x-KEY", "mine"));
    assert_eq!(refused.map_err(|error| error.code).err(), Some(ErrorCode::HeaderForbidden));
    let free = change_under(carried(CarrierPlace::Query, "x-note"), with_header("x-note", "a header of the same name"));
    assert!(free.is_ok());
}
