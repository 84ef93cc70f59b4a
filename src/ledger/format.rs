//! How records are stored: format 1. A record's members are those of its type; around it stand the columns that the
//! store's indexes need, so that a record which this build cannot read keeps its place and its bytes.

use serde::{Deserialize, Serialize};

use crate::core::intent::IntentRecord;
use crate::core::record::{Record, RecordKey};

/// The format that this build writes. A record of another format is kept and not read.
pub const FORMAT: u32 = 1;

/// The object stores of the IndexedDB ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shelf {
    Intents,
    Payloads,
    Journal,
    Contracts,
    Meta,
}

impl Shelf {
    pub const ALL: [Self; 5] = [Self::Intents, Self::Payloads, Self::Journal, Self::Contracts, Self::Meta];

    pub fn name(self) -> &'static str {
        match self {
            Self::Intents => "intents",
            Self::Payloads => "payloads",
            Self::Journal => "journal",
            Self::Contracts => "contracts",
            Self::Meta => "meta",
        }
    }
}

impl RecordKey {
    /// Which shelf a record lies on.
    pub fn shelf(&self) -> Shelf {
        match self {
            Self::Intent(_) => Shelf::Intents,
            Self::Payload(_) => Shelf::Payloads,
            Self::Journal(..) => Shelf::Journal,
            Self::Contract(_) => Shelf::Contracts,
            Self::Clock | Self::Counters(_) | Self::Reference(_) | Self::Origin(_) => Shelf::Meta,
        }
    }

    /// Its name on that shelf. Journal entries of one intent sort in their order.
    pub fn name(&self) -> String {
        match self {
            Self::Intent(id) | Self::Payload(id) => id.0.clone(),
            Self::Journal(id, sequence) => format!("{id}/{sequence:010}"),
            Self::Contract(hash) => hash.0.clone(),
            Self::Clock => "clock".to_owned(),
            Self::Counters(scope) => format!("counters/{scope}"),
            Self::Reference(name) => format!("reference/{}", name.0),
            Self::Origin(origin) => format!("origin/{origin}"),
        }
    }
}

/// What stands around a record. Times beyond `due` and the rest are in the record itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    pub id: String,
    /// The format of the record: [`FORMAT`].
    pub v: u32,
    /// Counts the writes of this record (P1.4).
    pub version: u64,
    /// `[scope, due]` is the index that scheduling reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<u64>,
    /// `[scope, inbox]` is the index that delivering reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inbox: Option<u64>,
    /// `[scope, sequence]` is the index that listing reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sequence: Option<u64>,
    /// Unique (P1.5).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head_reference: Option<String>,
}

impl Columns {
    pub fn new(key: &RecordKey, version: u64, record: &Record) -> Self {
        let bare = Self {
            id: key.name(),
            v: FORMAT,
            version,
            scope: None,
            due: None,
            inbox: None,
            sequence: None,
            head_reference: None,
        };
        match record {
            Record::Intent(intent) => bare.with_intent(intent),
            _ => bare,
        }
    }

    fn with_intent(self, intent: &IntentRecord) -> Self {
        Self {
            scope: Some(intent.scope.0.clone()),
            due: intent.due_at_ms,
            inbox: intent.delivery.due_at_ms,
            sequence: Some(intent.sequence),
            head_reference: intent.head_reference.clone(),
            ..self
        }
    }
}
