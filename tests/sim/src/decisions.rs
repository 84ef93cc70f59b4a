//! What the app decides, as it states it.

use intento::core::submission::{ExpiresIn, Reference, StatedBody, Submission, Target};

use crate::world::ORIGIN;

/// Decision `number` of the app: an order to pay.
pub fn decision(number: u32) -> Submission {
    Submission {
        operation: "authorize-payment".to_owned(),
        reference: Reference::Named(format!("order-{number}")),
        method: "POST".to_owned(),
        target: target(),
        headers: Vec::new(),
        body: Some(StatedBody::json(body(number))),
        expires_in: ExpiresIn::Default,
    }
}

pub fn body(number: u32) -> String {
    format!("{{\"order\":{number}}}")
}

pub fn target() -> Target {
    Target {
        href: format!("{ORIGIN}/payments"),
        scheme: "https:".to_owned(),
        host: "api.shop.example".to_owned(),
        origin: ORIGIN.to_owned(),
        has_credentials: false,
    }
}
