//! What the app decides, as it states it.

use intento::core::change::{Applied, Change, Replace};
use intento::core::input::{CommitError, Input};
use intento::core::intent::IntentRecord;
use intento::core::submission::{ExpiresIn, Reference, StatedBody, Submission, Target};

use crate::world::{MINUTE, ORIGIN, RealmNo, World};

/// Decision `number` of the app: an order to pay.
pub fn decision(number: u32) -> Submission {
    Submission {
        operation: "authorize-payment".to_owned(),
        reference: Reference::Named(format!("order-{number}")),
        lane: None,
        method: "POST".to_owned(),
        target: target(),
        headers: Vec::new(),
        body: Some(StatedBody::json(body(number))),
        expires_in: ExpiresIn::Default,
        card_data: false,
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

impl World {
    /// Decides something, and says what came of it.
    pub fn decide(&mut self, realm: RealmNo, change: Change) -> Result<Applied, CommitError> {
        let ticket = self.ask(realm, change);
        let heard = self.run_until(self.now_ms + MINUTE, |world| world.done.contains_key(&ticket));
        assert!(heard, "seed {}: no word of ticket {ticket}", self.seed);
        self.done[&ticket].clone()
    }

    /// Decides something; what comes of it will be in `done` under the ticket.
    pub fn ask(&mut self, realm: RealmNo, change: Change) -> u64 {
        let ticket = self.next_ticket();
        if let Change::Replace(replace) = &change {
            self.laws.decides(ticket, &replace.successor.fingerprint);
        }
        self.input(realm, Input::Steer { ticket, change: Box::new(change) });
        ticket
    }

    /// Another card for what came to nothing.
    pub fn replacement(&mut self, realm: RealmNo, predecessor: &IntentRecord) -> Change {
        let successor = self.successor(realm, predecessor).expect("an intent of an order");
        let reason = "another card".to_owned();
        Change::Replace(Box::new(Replace { predecessor: predecessor.id.clone(), successor, reason }))
    }
}
