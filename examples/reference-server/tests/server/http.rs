use std::io::Read as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use reference_server::ledger::inspect;
use reference_server::{Config, StartError, start};
use reqwest::Method;
use reqwest::header::HeaderMap;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::{Answer, Bench, KEY, PAYMENT};

const SHOP: &str = "http://127.0.0.1:5173";

#[tokio::test]
async fn a_preflight_allows_what_a_payment_needs_to_the_listed_origin_only() {
    let bench = Bench::start_with(|config| config.allowed_origins.push(SHOP.to_owned())).await;
    let preflight = |origin: &'static str| {
        bench
            .client
            .request(Method::OPTIONS, bench.url("/payments"))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type,idempotency-key")
    };
    let ours = preflight(SHOP).send().await.expect("an answer");
    assert!(ours.status().is_success());
    let allowed = list(ours.headers(), "access-control-allow-headers");
    for header in ["content-type", "idempotency-key", "authorization"] {
        assert!(allowed.contains(&header.to_owned()), "{allowed:?}");
    }
    assert_eq!(ours.headers()["access-control-allow-origin"], SHOP);
    assert_eq!(ours.headers()["access-control-max-age"], "600");
    assert!(list(ours.headers(), "access-control-allow-methods").contains(&"post".to_owned()));

    let foreign = preflight("http://127.0.0.1:5174").send().await;
    let foreign = foreign.expect("an answer");
    assert!(!foreign.headers().contains_key("access-control-allow-origin"));
    assert_eq!(bench.inspect().counters.wire, 0, "preflights are not payments");
}

#[tokio::test]
async fn every_answer_exposes_what_the_client_judges_by() {
    let bench = Bench::start_with(|config| config.allowed_origins.push(SHOP.to_owned())).await;
    let keyless = bench.client.post(bench.url("/payments"));
    for request in [bench.pay(KEY, PAYMENT), bench.pay(KEY, PAYMENT), keyless] {
        let answer = request.header("origin", SHOP).send().await.expect("an answer");
        let exposed = list(answer.headers(), "access-control-expose-headers");
        for header in ["retry-after", "date", "location", "idempotency-key", "idempotent-replayed"] {
            assert!(exposed.contains(&header.to_owned()), "{exposed:?}");
        }
        assert_eq!(answer.headers()["access-control-allow-origin"], SHOP);
        assert!(answer.headers().contains_key("date"));
    }
}

#[tokio::test]
async fn every_contract_is_open_to_the_page_with_the_headers_it_needs() {
    let bench = Bench::start_with(|config| config.allowed_origins.push(SHOP.to_owned())).await;
    for (path, header) in [
        ("/ietf/payments", "idempotency-key"),
        ("/stripe/payments", "idempotency-key"),
        ("/paypal/payments", "paypal-request-id"),
        ("/square/payments", "content-type"),
        ("/mollie/payments/lookup", "idempotency-key"),
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let preflight = bench
                .client
                .request(Method::OPTIONS, bench.url(path))
                .header("origin", SHOP)
                .header("access-control-request-method", method)
                .header("access-control-request-headers", header);
            let preflight = preflight.send().await.expect("an answer");
            assert_eq!(preflight.headers()["access-control-allow-origin"], SHOP, "{path}");
            let allowed = list(preflight.headers(), "access-control-allow-headers");
            assert!(allowed.contains(&header.to_owned()), "{path}: {allowed:?}");
            let methods = list(preflight.headers(), "access-control-allow-methods");
            assert!(methods.contains(&method.to_ascii_lowercase()), "{path}: {methods:?}");
        }
        let answer = bench.client.post(bench.url(path)).header("origin", SHOP).send().await.expect("an answer");
        let exposed = list(answer.headers(), "access-control-expose-headers");
        for header in ["idempotent-replayed", "stripe-should-retry", "transient-error", "idempotency-key"] {
            assert!(exposed.contains(&header.to_owned()), "{path}: {exposed:?}");
        }
    }
}

#[tokio::test]
async fn health_answers_a_probe_from_the_page() {
    let bench = Bench::start_with(|config| config.allowed_origins.push(SHOP.to_owned())).await;
    let probe = bench.client.get(bench.url("/health")).header("origin", SHOP);
    let answer = probe.send().await.expect("an answer");
    assert_eq!(answer.status(), 204);
    assert_eq!(answer.headers()["access-control-allow-origin"], SHOP);
    assert_eq!(bench.inspect().counters.wire, 0);
}

#[tokio::test]
async fn without_the_option_there_is_no_control() {
    let bench = Bench::start_with(|config| config.control = false).await;
    for path in ["/control/faults", "/control/clock", "/control/reset", "/control/state"] {
        let read = Answer::of(bench.client.get(bench.url(path))).await;
        let write = Answer::of(bench.client.post(bench.url(path)).body("{}")).await;
        assert_eq!((read.status, write.status), (404, 404));
    }
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 201);
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 201);
    bench.running.stop().await;
}

#[tokio::test]
async fn a_followed_redirect_shows_in_the_wire_log() {
    let bench = Bench::start().await;
    let answer = Answer::of(bench.client.get(bench.url("/payments"))).await;
    assert_eq!(answer.status, 405);
    let entry = bench.inspect().wire.remove(0);
    assert_eq!((entry.method.as_str(), entry.status), ("GET", Some(405)));
}

#[tokio::test]
async fn an_oversized_body_is_refused_unread() {
    let bench = Bench::start().await;
    let request = bench.pay(KEY, PAYMENT).body(" ".repeat(17 * 1024));
    let answer = Answer::of(request).await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "bad-request"));
    let seen = bench.inspect();
    assert_eq!((seen.counters.wire, seen.counters.reservations), (1, 0));
    assert_eq!(seen.wire[0].body_sha256, None);
}

#[tokio::test]
async fn files_come_with_policy_and_type_and_only_from_their_roots() {
    let site = TempDir::new().expect("a directory");
    let write = |name: &str| {
        let path = site.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, name).expect("a file");
    };
    for name in ["www/index.html", "www/app.js", "pkg/intento.wasm", "secret.txt"] {
        write(name);
    }
    let bench = Bench::start_with(|config| {
        config.static_roots =
            vec![("/".to_owned(), site.path().join("www")), ("/pkg".to_owned(), site.path().join("pkg"))];
    })
    .await;
    for (path, media_type) in
        [("/", "text/html"), ("/app.js", "text/javascript"), ("/pkg/intento.wasm", "application/wasm")]
    {
        let file = bench.client.get(bench.url(path)).send().await;
        let file = file.expect("an answer");
        assert_eq!(file.status(), 200, "{path}");
        assert_eq!(file.headers()["content-type"], media_type);
        assert_eq!(file.headers()["cache-control"], "no-store");
        assert_eq!(
            file.headers()["content-security-policy"],
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self' http://127.0.0.1:* http://localhost:*; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
    }
    for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/pkg/..%2fsecret.txt", "/pkg/..%5csecret.txt"] {
        let answer = raw_get(bench.running.addr, path).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(!answer.ends_with("secret.txt"), "{path}: {answer}");
    }
    assert_eq!(Answer::of(bench.pay(KEY, PAYMENT)).await.status, 201);
}

#[tokio::test]
async fn files_are_compressed_for_whoever_asks_and_keep_their_policy() {
    let site = TempDir::new().expect("a directory");
    let page = "<p>Paid.</p>".repeat(500);
    std::fs::write(site.path().join("index.html"), &page).expect("a file");
    let bench = Bench::start_with(|config| config.static_roots = vec![("/".to_owned(), site.path().to_owned())]).await;
    let get = |encoding: Option<&'static str>| {
        let request = bench.client.get(bench.url("/"));
        encoding.into_iter().fold(request, |request, accepted| request.header("accept-encoding", accepted)).send()
    };

    let whole = get(None).await.expect("an answer");
    assert!(!whole.headers().contains_key("content-encoding"));
    assert_eq!(whole.text().await.expect("a body"), page);

    let packed = get(Some("gzip")).await.expect("an answer");
    assert_eq!(packed.status(), 200);
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert_eq!(packed.headers()["content-type"], "text/html");
    assert!(packed.headers().contains_key("content-security-policy"));
    let packed = packed.bytes().await.expect("a body");
    assert!(packed.len() < page.len() / 10, "{} bytes", packed.len());
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("gzip");
    assert_eq!(unpacked, page);
}

#[tokio::test]
async fn the_file_tells_the_same_after_a_clean_stop() {
    let bench = Bench::start().await;
    Answer::of(bench.pay(KEY, PAYMENT)).await;
    let (running, stopped) = (bench.inspect(), bench.database());
    bench.running.stop().await;
    assert!(!stopped.with_extension("sqlite-wal").exists(), "closed");
    assert_eq!(inspect(&stopped).expect("a server's file"), running);
    assert_eq!(running.counters.effects, 1);
    assert!(inspect(&stopped.with_extension("absent")).is_err());
}

#[tokio::test]
async fn a_configuration_that_cannot_keep_the_promise_does_not_start() {
    let dir = TempDir::new().expect("a directory");
    let base = Config { database: dir.path().join("payments.sqlite"), ..Config::default() };
    let refusal = |config: Config| async move { start(config).await.expect_err("a refusal") };

    let error =
        refusal(Config { handler_timeout: Duration::from_secs(10), lease: Duration::from_secs(10), ..base.clone() });
    assert!(matches!(error.await, StartError::LeaseTooShort { .. }));
    let error = refusal(Config { control: true, listen: SocketAddr::from(([0, 0, 0, 0], 0)), ..base.clone() });
    assert!(matches!(error.await, StartError::ControlOffLoopback(_)));
    for origin in ["*", "127.0.0.1:80", "http://127.0.0.1:80/", "http://"] {
        let error = refusal(Config { allowed_origins: vec![origin.to_owned()], ..base.clone() });
        assert!(matches!(error.await, StartError::BadOrigin(_)), "{origin}");
    }
    for prefix in ["", "pkg", "/pkg/", "/{path}", "/payments", "/control/x"] {
        let error = refusal(Config { static_roots: vec![(prefix.to_owned(), PathBuf::from("www"))], ..base.clone() });
        assert!(matches!(error.await, StartError::BadStaticPrefix(_)), "{prefix}");
    }
    let error = refusal(Config { database: dir.path().join("absent/payments.sqlite"), ..base.clone() });
    assert!(matches!(error.await, StartError::Database { .. }));
}

fn list(headers: &HeaderMap, name: &str) -> Vec<String> {
    let value = headers.get(name).expect(name).to_str().expect("ASCII");
    value.split(',').map(|item| item.trim().to_ascii_lowercase()).collect()
}

/// A client library would tidy the path before sending it.
async fn raw_get(addr: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}
