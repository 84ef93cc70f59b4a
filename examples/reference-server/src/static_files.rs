//! The demo page and the package it loads, under the policy that a payment page should have.

use std::path::Path;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::App;
use crate::dialect::PROVIDERS;

/// `wasm-unsafe-eval` lets the page compile WebAssembly and nothing else; without it a page under
/// `script-src 'self'` cannot start the queue.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self' http://127.0.0.1:* http://localhost:*; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files are compressed anew for every request: a higher level costs more time than it saves bytes.
const LEVEL: CompressionLevel = CompressionLevel::Precise(3);

/// Paths that belong to the server, besides the contracts'.
const RESERVED: [&str; 3] = ["/payments", "/health", "/control"];

/// Whether files can be served under `prefix`: `/` or `/word/word`, not one of the server's paths.
pub(crate) fn is_prefix(prefix: &str) -> bool {
    let contracts = PROVIDERS.iter().map(|dialect| dialect.path(""));
    let mut reserved = RESERVED.into_iter().map(str::to_owned).chain(contracts);
    let free = reserved.all(|reserved| prefix != reserved && !prefix.starts_with(&format!("{reserved}/")));
    let plain = |segment: &str| {
        !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    free && (prefix == "/" || prefix.strip_prefix('/').is_some_and(|rest| rest.split('/').all(plain)))
}

pub(crate) fn mount(router: Router<App>, prefix: &str, root: &Path) -> Router<App> {
    let fixed = |name, value| SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value));
    let files = ServiceBuilder::new()
        .layer(fixed(CONTENT_SECURITY_POLICY, POLICY))
        .layer(fixed(CACHE_CONTROL, "no-store"))
        .layer(fixed(X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(CompressionLayer::new().quality(LEVEL))
        .service(ServeDir::new(root));
    if prefix == "/" { router.fallback_service(files) } else { router.nest_service(prefix, files) }
}
