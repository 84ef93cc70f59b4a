//! Kinds of servers, each with the contract that an app would choose for it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use intento::core::change::ContractSnapshot;
use intento::core::contract::{Contract, Facts};
use intento::core::json::from_text;
use intento::core::key::ContractHash;

use crate::server::decide::{CAREFUL, End, OtherPayload, PastRetention, Policy, Repetition};
use crate::server::{html, json, with_header, with_type, with_value};
use crate::world::{DAY, HOUR, MINUTE};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The reference server: reserves, stores, echoes, marks, keeps a tombstone. The only one that promises everything.
    #[default]
    Conforming,
    /// Stripe v1: marks replays, stores even a 500, forgets after a day.
    Stripe,
    /// GoCardless: a repetition of what was made is a 409 that names it; refusals are executed again.
    Used409,
    /// What was begun is in progress for ever.
    Busy409,
    /// No tombstone: after its retention a key is new.
    Forgets,
    /// Checkout.com: only successes are stored.
    NoRefusals,
    /// Speaks the truth in a media type that its contract does not know.
    WrongTypes,
}

impl Profile {
    pub const ALL: [Self; 7] = [
        Self::Conforming,
        Self::Stripe,
        Self::Used409,
        Self::Busy409,
        Self::Forgets,
        Self::NoRefusals,
        Self::WrongTypes,
    ];

    /// The server of a seed's life. Half of the lives are before the one that promises everything; few before one whose
    /// every answer is somebody else's, since all that happens there is patience, and much of it.
    pub fn drawn(seed: u64) -> Self {
        const OTHERS: [Profile; 5] =
            [Profile::Stripe, Profile::Used409, Profile::Busy409, Profile::Forgets, Profile::NoRefusals];
        match seed % 1_000 {
            7 => Self::WrongTypes,
            odd if odd % 2 == 1 => OTHERS[(seed / 2 % OTHERS.len() as u64) as usize],
            _ => Self::Conforming,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Conforming => "conforming",
            Self::Stripe => "stripe",
            Self::Used409 => "used-409",
            Self::Busy409 => "busy-409",
            Self::Forgets => "forgets",
            Self::NoRefusals => "no-refusals",
            Self::WrongTypes => "wrong-types",
        }
    }

    /// As a later build of the app has it: it trusts the server to remember for half as long.
    pub fn later_contract(self) -> ContractSnapshot {
        let mut contract = (*self.contract().contract).clone();
        contract.retention_ms /= 2;
        let hash = ContractHash::of(&[self.name(), " later"].concat());
        ContractSnapshot { hash, contract: contract.into() }
    }

    /// The contract that an app chooses for it. Read once a thread: lives are short.
    pub fn contract(self) -> ContractSnapshot {
        thread_local! {
            static READ: RefCell<BTreeMap<&'static str, ContractSnapshot>> = const { RefCell::new(BTreeMap::new()) };
        }
        READ.with_borrow_mut(|read| read.entry(self.name()).or_insert_with(|| self.read_contract()).clone())
    }

    fn read_contract(self) -> ContractSnapshot {
        let contract: Contract = from_text(self.contract_text()).expect("a contract that ships can be read");
        ContractSnapshot { hash: ContractHash::of(self.name()), contract: contract.into() }
    }

    fn contract_text(self) -> &'static str {
        match self {
            Self::Conforming | Self::Busy409 | Self::Forgets | Self::WrongTypes => {
                include_str!("../../../contracts/generic.json")
            }
            Self::Stripe => include_str!("../../../contracts/stripe.json"),
            Self::Used409 => include_str!("../../../contracts/gocardless.json"),
            Self::NoRefusals => include_str!("../../../contracts/ietf.json"),
        }
    }

    pub fn policy(self) -> Policy {
        match self {
            Self::Conforming | Self::Busy409 | Self::WrongTypes => CAREFUL,
            Self::Stripe | Self::Forgets => Policy { past_retention: PastRetention::Forgotten, ..CAREFUL },
            Self::Used409 | Self::NoRefusals => Policy {
                other_payload: OtherPayload::Unnoticed,
                after_refusal: Repetition::Executed,
                past_retention: PastRetention::Forgotten,
                ..CAREFUL
            },
        }
    }

    /// Does asking what became of a key seal it, if nothing did?
    pub fn seals(self) -> bool {
        !matches!(self, Self::Stripe | Self::Used409 | Self::NoRefusals)
    }

    pub fn retention_ms(self) -> u64 {
        match self {
            Self::Conforming | Self::Busy409 | Self::WrongTypes | Self::Stripe | Self::NoRefusals => DAY,
            Self::Used409 => 30 * DAY,
            Self::Forgets => DAY + HOUR,
        }
    }

    /// How long a reservation holds, longer than what the handler is allowed; for ever where a run whose server died never
    /// ends by itself.
    pub fn lease_ms(self) -> u64 {
        if self == Self::Busy409 { 10_000 * DAY } else { MINUTE }
    }

    /// The answer to the request that ran.
    pub fn first(self, end: End, key: &str) -> Facts {
        let facts = match end {
            End::Applied => json(201),
            End::Refused => json(402),
            End::Unknown => json(500),
        };
        match self {
            Self::WrongTypes => html(facts.status),
            _ if self.echoes() => with_header(facts, "idempotency-key", key),
            _ => facts,
        }
    }

    /// Does it say under which key an answer is stored?
    pub fn echoes(self) -> bool {
        matches!(self, Self::Conforming | Self::Busy409 | Self::Forgets)
    }

    /// The answer to a repetition of it.
    pub fn again(self, end: End, key: &str) -> Facts {
        let first = self.first(end, key);
        match self {
            Self::Conforming | Self::Busy409 | Self::Forgets | Self::Stripe => {
                with_header(first, "idempotent-replayed", "true")
            }
            Self::Used409 => with_value(json(409), "/error/errors/*/links/conflicting_resource_id", "PM1"),
            Self::NoRefusals | Self::WrongTypes => first,
        }
    }

    pub fn in_progress(self) -> Facts {
        match self {
            Self::WrongTypes => html(409),
            _ => with_header(json(409), "retry-after", "1"),
        }
    }

    pub fn mismatch(self) -> Facts {
        with_type(json(422), "urn:intento:problem:payload-mismatch")
    }

    /// A refusal that nothing stores under the key.
    pub fn unstored_refusal(self) -> Facts {
        if self == Self::WrongTypes { html(402) } else { json(402) }
    }
}
