//! The business: what a payment is, and how a card is charged.
//!
//! Nothing here knows about idempotency keys or HTTP. The handler says how its end may be treated
//! by its type, [`Outcome`], so that the layer above never has to guess from a status code.

use std::fmt;

use serde::Deserialize;
use uuid::Uuid;

const DECLINED_CARD: &str = "tok_declined";
const FLAKY_CARD: &str = "tok_flaky";
/// Charged, and nobody hears of it.
const LOST_REPLY_CARD: &str = "tok_lost_reply";
/// Not charged, which nobody hears of either.
const LOST_REQUEST_CARD: &str = "tok_lost_request";
const MAX_ORDER_CHARS: usize = 128;
/// The greatest amount that a JavaScript client reads exactly.
const MAX_AMOUNT: i64 = 9_007_199_254_740_991;

/// A payment as asked for, already checked.
#[derive(Debug, Clone, Deserialize)]
pub struct Payment {
    /// In the currency's minor unit.
    pub amount: i64,
    /// Three capital letters, ISO 4217.
    pub currency: String,
    card: CardToken,
    /// The shop's own name for what is paid.
    pub order: Option<String>,
}

/// A token that stands for a card. It is used once and never stored, logged or printed.
#[derive(Clone, Deserialize)]
struct CardToken(String);

impl fmt::Debug for CardToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardToken(..)")
    }
}

/// How the handler ended.
#[derive(Debug)]
pub enum Outcome {
    /// The charge has to become true together with the answer.
    Paid(Charge),
    /// A definite refusal: nothing was charged.
    Declined,
    /// The processor was asked and its reply was lost. What it did is `charge`: it stands in the
    /// processor's books, for the tests to count, and the server itself does not know of it.
    Unknown { charge: Option<Charge> },
    /// A failure of the moment, before anything happened: store nothing, free the key.
    Transient,
}

/// A row for the `effects` table: money taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub id: String,
    pub amount: i64,
    pub currency: String,
    pub order: Option<String>,
}

impl Payment {
    /// Reads a payment from a request body.
    ///
    /// # Errors
    /// A sentence for the caller. It repeats nothing of the body.
    pub fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, &'static str> {
        if !content_type.is_some_and(is_json) {
            return Err("Send the payment as Content-Type: application/json.");
        }
        let payment: Self = serde_json::from_slice(body)
            .map_err(|_| "The body must be a JSON object with amount, currency and card.")?;
        if !(1..=MAX_AMOUNT).contains(&payment.amount) {
            return Err("amount must be a whole number of minor units, greater than zero.");
        }
        let currency = payment.currency.as_bytes();
        if currency.len() != 3 || !currency.iter().all(u8::is_ascii_uppercase) {
            return Err("currency must be three capital letters.");
        }
        if !payment.card.0.starts_with("tok_") {
            return Err("card must be a token that starts with tok_, never a card number.");
        }
        let order = payment.order.as_deref().unwrap_or_default();
        if order.chars().count() > MAX_ORDER_CHARS {
            return Err("order is too long.");
        }
        Ok(payment)
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Authorises the payment. The charge is only described here; it is made in the transaction that
/// stores the answer, so a run that is cut off anywhere before has charged nobody.
///
/// A real processor would be called from here, with a downstream key derived from the run. Its
/// effect is outside our database: a cut-off then leaves the outcome unknown, and the lease must
/// not simply be taken over.
pub async fn authorize(payment: &Payment) -> Outcome {
    match payment.card.0.as_str() {
        DECLINED_CARD => Outcome::Declined,
        FLAKY_CARD => Outcome::Transient,
        LOST_REPLY_CARD => Outcome::Unknown { charge: Some(charge(payment)) },
        LOST_REQUEST_CARD => Outcome::Unknown { charge: None },
        _ => Outcome::Paid(charge(payment)),
    }
}

fn charge(payment: &Payment) -> Charge {
    Charge {
        id: format!("pay_{}", Uuid::new_v4().simple()),
        amount: payment.amount,
        currency: payment.currency.clone(),
        order: payment.order.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Option<&str> = Some("application/json; charset=utf-8");

    #[test]
    fn refuses_what_is_not_a_payment_without_repeating_it() {
        let bodies = [
            "",
            "[]",
            r#"{"amount":"4111111111111111","currency":"BRL","card":"tok_visa"}"#,
            r#"{"amount":0,"currency":"BRL","card":"tok_visa"}"#,
            r#"{"amount":1.5,"currency":"BRL","card":"tok_visa"}"#,
            r#"{"amount":9007199254740992,"currency":"BRL","card":"tok_visa"}"#,
            r#"{"amount":1,"currency":"brl","card":"tok_visa"}"#,
            r#"{"amount":1,"currency":"BRL","card":"4111111111111111"}"#,
            r#"{"amount":1,"currency":"BRL"}"#,
        ];
        for body in bodies {
            let detail = Payment::parse(JSON, body.as_bytes()).expect_err(body);
            assert!(!detail.contains("4111"));
        }
        let valid = br#"{"amount":1,"currency":"BRL","card":"tok_visa"}"#;
        assert!(Payment::parse(Some("text/plain"), valid).is_err());
        assert!(Payment::parse(None, valid).is_err());
        assert!(Payment::parse(JSON, valid).is_ok());
    }

    #[test]
    fn a_card_token_cannot_be_printed() {
        let body = br#"{"amount":1,"currency":"BRL","card":"tok_visa"}"#;
        let payment = Payment::parse(JSON, body).expect("a payment");
        assert!(!format!("{payment:?}").contains("tok_visa"));
    }
}
