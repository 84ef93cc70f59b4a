//! The contracts this server can speak, as data: where the key stands, how long it is remembered,
//! what a repetition gets, and how a refusal is put.
//!
//! `/payments` speaks the server's own; `/{name}/payments` speaks as a provider does, its dangers
//! included. Where a provider's documentation is silent, the most dangerous plausible behaviour is
//! chosen and the provider's module says so: a client that is safe here is safe there. Bodies of
//! success are this server's receipt in every contract; only refusals have the provider's shape.

mod adyen;
mod gocardless;
mod ietf;
mod mollie;
mod own;
mod paypal;
mod square;
mod stripe;

use std::time::Duration;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

pub(crate) use self::own::OWN;

use crate::decide::Policy;
use crate::key::{Carrier, IDEMPOTENCY_KEY, Key, KeyFormat};
use crate::problem::Problem;

/// The providers' contracts.
pub(crate) const PROVIDERS: [&Dialect; 8] = [
    &ietf::IETF,
    &stripe::STRIPE,
    &stripe::STRIPE_V2,
    &adyen::ADYEN,
    &paypal::PAYPAL,
    &gocardless::GOCARDLESS,
    &square::SQUARE,
    &mollie::MOLLIE,
];

/// Headers in which a key may come.
pub(crate) const KEY_HEADERS: [HeaderName; 2] = [IDEMPOTENCY_KEY, paypal::REQUEST_ID];
/// Headers in which a refusal says whether asking again helps.
pub(crate) const HINTS: [HeaderName; 2] = [stripe::SHOULD_RETRY, adyen::TRANSIENT_ERROR];

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// One server's way with idempotency keys.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// In paths, the ledger and the wire log. Keys of one contract say nothing about another's.
    pub(crate) name: &'static str,
    pub(crate) carrier: Carrier,
    pub(crate) key: KeyFormat,
    pub(crate) keyless: Keyless,
    pub(crate) retention: Retention,
    pub(crate) policy: Policy,
    /// The status of a payment made.
    pub(crate) created: StatusCode,
    pub(crate) repeated: Repeated,
    pub(crate) echo: Echo,
    pub(crate) refuse: fn(Problem) -> Refusal,
}

/// A request without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyless {
    Refused,
    /// It runs, and so does its repetition.
    Unprotected,
}

/// How long a key and its answer are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retention {
    /// As configured, from the answer on.
    Configured,
    /// From the first request on, which is the least that "kept for" can mean.
    SinceFirst(Duration),
}

/// What the repetition of a request that made a payment gets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Repeated {
    /// The first answer.
    Original,
    /// The first answer with `Idempotent-Replayed: true`.
    Marked,
    /// The payment as it is now, under this status.
    CurrentState(StatusCode),
    /// A refusal that names the payment.
    Conflict(fn(&str) -> Refusal),
}

/// Which answers repeat the key in `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    Never,
    /// Those stored under the key, so that it says: this is kept.
    Stored,
    /// Everything from behind the check of the request.
    Processed,
}

/// A refusal in a contract's shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Value,
}

impl Dialect {
    /// The key of a request to pay; `None` if it has none and may run without.
    ///
    /// # Errors
    /// `KeyMissing`, `KeyMalformed`.
    pub(crate) fn key(&self, headers: &HeaderMap, body: &[u8]) -> Result<Option<Key>, Problem> {
        match Key::read(&self.carrier, &self.key, headers, body) {
            Ok(key) => Ok(Some(key)),
            Err(Problem::KeyMissing) if self.keyless == Keyless::Unprotected => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// The key of a request that asks after a payment: in the header of the payment itself, or raw
    /// or quoted in `Idempotency-Key`.
    ///
    /// # Errors
    /// `KeyMissing`, `KeyMalformed`.
    pub(crate) fn key_asked_after(&self, headers: &HeaderMap) -> Result<Key, Problem> {
        match &self.carrier {
            Carrier::Raw(name) if headers.contains_key(name) && *name != IDEMPOTENCY_KEY => {
                Key::read(&self.carrier, &self.key, headers, b"")
            }
            _ => Key::read(&Carrier::RawOrQuoted(IDEMPOTENCY_KEY), &self.key, headers, b""),
        }
    }

    /// The path of an endpoint of this contract.
    pub(crate) fn path(&self, endpoint: &str) -> String {
        if self.name == OWN.name { endpoint.to_owned() } else { format!("/{}{endpoint}", self.name) }
    }

    pub(crate) fn refusal(&self, problem: Problem) -> Refusal {
        let mut refusal = (self.refuse)(problem);
        if let Problem::Unavailable { retry_after_s: Some(seconds) } = problem {
            refusal.headers.push((RETRY_AFTER, HeaderValue::from(seconds)));
        }
        refusal
    }
}

impl Refusal {
    fn new(status: StatusCode, body: Value) -> Self {
        Self { status, content_type: JSON, headers: Vec::new(), body }
    }

    fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_one_plain_segment_and_each_their_own() {
        let all: Vec<_> = PROVIDERS.iter().map(|dialect| dialect.name).chain([OWN.name]).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')));
        assert_eq!(
            (OWN.path("/payments").as_str(), stripe::STRIPE.path("/payments").as_str()),
            ("/payments", "/stripe/payments")
        );
    }

    #[test]
    fn pages_may_send_every_header_that_a_key_comes_in() {
        for dialect in PROVIDERS.iter().chain([&&OWN]) {
            let (Carrier::RawOrQuoted(name) | Carrier::Raw(name) | Carrier::Quoted(name)) = &dialect.carrier else {
                continue;
            };
            assert!(KEY_HEADERS.contains(name), "{}", dialect.name);
        }
    }

    #[test]
    fn a_gateways_wait_reaches_the_client_in_every_contract() {
        for dialect in PROVIDERS.iter().chain([&&OWN]) {
            let refusal = dialect.refusal(Problem::Unavailable { retry_after_s: Some(7) });
            assert!(refusal.headers.contains(&(RETRY_AFTER, HeaderValue::from(7))), "{}", dialect.name);
        }
    }
}
