//! How records are stored: format 1. A record is one JSON text with a checksum; around it stand the columns that the
//! store's indexes need, so that a record which this build cannot read keeps its place and its bytes.

use std::rc::Rc;

use crate::core::intent::IntentRecord;
use crate::core::json::{FromJson, from_stored, json, to_text};
use crate::core::record::{Record, RecordKey, Versioned, Writes};

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
            Self::Clock | Self::Counters(_) | Self::Reference(_) | Self::Lane(_) | Self::Origin(_) => Shelf::Meta,
        }
    }

    /// Its name where there are no shelves.
    pub fn path(&self) -> String {
        [self.shelf().name(), "/", &self.name()].concat()
    }

    /// Its name on that shelf. Journal entries of one intent sort in their order.
    pub fn name(&self) -> String {
        match self {
            Self::Intent(id) | Self::Payload(id) => id.0.to_string(),
            Self::Journal(id, sequence) => {
                let digits = sequence.to_string();
                [&id.0, "/", "0000000000".get(digits.len()..).unwrap_or_default(), &digits].concat()
            }
            Self::Contract(hash) => hash.0.to_string(),
            Self::Clock => "clock".to_owned(),
            Self::Counters(scope) => ["counters/", &scope.0].concat(),
            Self::Reference(name) => ["reference/", &name.0].concat(),
            Self::Lane(name) => ["lane/", &name.0].concat(),
            Self::Origin(origin) => ["origin/", origin].concat(),
        }
    }
}

impl Record {
    /// Its text; `None` for one that was not read, and so is never written.
    pub fn to_text(&self) -> Option<String> {
        Some(match self {
            Self::Clock(clock) => to_text(clock),
            Self::Counters(counters) => to_text(counters),
            Self::Reference(head) => to_text(head),
            Self::Lane(lane) => to_text(lane),
            Self::Intent(intent) => to_text(intent),
            Self::Payload(payload) => to_text(payload),
            Self::Journal(entry) => to_text(entry),
            Self::Contract(contract) => to_text(contract.as_ref()),
            Self::Origin(origin) => to_text(origin),
            Self::Undecodable | Self::Gone => return None,
        })
    }

    /// The record of a row that was found under a key; [`Record::Undecodable`] where it is of another format, or not what
    /// was written.
    pub fn from_row(key: &RecordKey, v: u32, text: &str, found: &str) -> Self {
        if v == FORMAT && found == checksum(key, text) { Self::from_text(key, text) } else { Self::Undecodable }
    }

    /// The record of that text; [`Record::Undecodable`] where it is no record of the key's kind, or another's than the
    /// key's.
    pub fn from_text(key: &RecordKey, text: &str) -> Self {
        fn read<T: FromJson>(text: &str, kind: fn(T) -> Record) -> Record {
            from_stored(text).map_or(Record::Undecodable, kind)
        }
        let record = match key {
            RecordKey::Clock => read(text, Self::Clock),
            RecordKey::Counters(_) => read(text, Self::Counters),
            RecordKey::Reference(_) => read(text, Self::Reference),
            RecordKey::Lane(_) => read(text, Self::Lane),
            RecordKey::Intent(_) => read(text, Self::Intent),
            RecordKey::Payload(_) => read(text, Self::Payload),
            RecordKey::Journal(..) => read(text, Self::Journal),
            RecordKey::Contract(_) => read(text, |contract| Self::Contract(Rc::new(contract))),
            RecordKey::Origin(_) => read(text, Self::Origin),
        };
        match (key, &record) {
            (RecordKey::Intent(id), Self::Intent(intent)) if intent.id != *id => Self::Undecodable,
            (RecordKey::Journal(id, sequence), Self::Journal(entry))
                if (&entry.intent, entry.sequence) != (id, *sequence) =>
            {
                Self::Undecodable
            }
            _ => record,
        }
    }
}

/// A record as every tier keeps it. Times beyond `due` and the rest are in the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    /// The format of the record: [`FORMAT`].
    pub v: u32,
    /// Counts the writes of this record (P1.4).
    pub version: u64,
    /// The record's text.
    pub record: String,
    /// [`checksum`] of it.
    pub checksum: String,
    /// `[scope, due]` is the index that scheduling reads.
    pub scope: Option<String>,
    pub due: Option<u64>,
    /// `[scope, inbox]` is the index that delivering reads.
    pub inbox: Option<u64>,
    /// `[scope, sequence]` is the index that listing reads.
    pub sequence: Option<u64>,
    /// Unique (P1.5).
    pub head_reference: Option<String>,
}

impl Row {
    /// What is put on a shelf. `None`: a record that was not read is not written.
    pub fn new(key: &RecordKey, version: u64, record: &Record) -> Option<Self> {
        let text = record.to_text()?;
        let bare = Self {
            id: key.name(),
            v: FORMAT,
            version,
            checksum: checksum(key, &text),
            record: text,
            scope: None,
            due: None,
            inbox: None,
            sequence: None,
            head_reference: None,
        };
        Some(match record {
            Record::Intent(intent) => bare.with_intent(intent),
            _ => bare,
        })
    }

    fn with_intent(self, intent: &IntentRecord) -> Self {
        Self {
            scope: Some(intent.scope.0.to_string()),
            due: intent.due_at_ms,
            inbox: intent.delivery.due_at_ms,
            sequence: Some(intent.sequence),
            head_reference: intent.head_reference.clone(),
            ..self
        }
    }
}

/// A row of a tier that has no columns: one text a record.
struct Packed {
    v: u32,
    version: u64,
    checksum: String,
    record: String,
}

json!(struct Packed { v, version, checksum, record });

/// What a tier without columns keeps under a record's name. `None`: a record that was not read is not written.
fn pack(key: &RecordKey, version: u64, record: &Record) -> Option<String> {
    let Row { v, version, checksum, record, .. } = Row::new(key, version, record)?;
    Some(to_text(&Packed { v, version, checksum, record }))
}

/// Rows by their names; `None` takes one away.
pub type PackedRows = Vec<(String, Option<String>)>;

/// The rows of a transaction, by [`RecordKey::path`], each a version later than `version` says; as `pack`.
pub fn pack_all(writes: &Writes, version: impl Fn(&RecordKey) -> u64) -> Option<PackedRows> {
    let row = |(key, record): (&RecordKey, &Record)| {
        let text = match record.there() {
            Some(record) => Some(pack(key, version(key).saturating_add(1), record)?),
            None => None,
        };
        Some((key.path(), text))
    };
    writes.iter().map(row).collect()
}

/// What was found under a key, from what `pack` made of it. Text that is none of that is [`Record::Undecodable`].
pub fn unpack(key: &RecordKey, text: &str) -> Versioned {
    match from_stored::<Packed>(text) {
        Ok(Packed { v, version, checksum, record }) => {
            Versioned { version, record: Some(Record::from_row(key, v, &record, &checksum)) }
        }
        Err(_) => Versioned { version: 1, record: Some(Record::Undecodable) },
    }
}

/// What tells a damaged text from the one that was written, and a text under another record's key from one under its
/// own: FNV-1a, 64 bits, over the shelf's name, the record's name and the text, each ended by a byte that no UTF-8 holds;
/// in decimal digits. No single byte can change unnoticed. It keeps nobody out: whoever can write the ledger can write a
/// checksum.
pub fn checksum(key: &RecordKey, text: &str) -> String {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    const END: u8 = 0xff;
    let mut hash = OFFSET_BASIS;
    for part in [key.shelf().name(), &key.name(), text] {
        for byte in part.as_bytes().iter().chain(&[END]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
    hash.to_string()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::core::contract::{Answer, generic};
    use crate::core::journal::{JournalEntry, JournalEvent};
    use crate::core::key::{ContractHash, IntentId, ScopeHash};
    use crate::core::reach::OriginRecord;
    use crate::core::record::{Body, Content, Counters, Payload};
    use crate::core::shared::Shared;
    use crate::core::time::{LedgerClock, Stamp};

    fn survives(key: &RecordKey, record: Record) {
        let text = record.to_text().unwrap();
        assert_eq!(Record::from_text(key, &text), record, "{text}");
    }

    #[test]
    fn every_kind_of_record_survives_its_text() {
        let (id, now) = (IntentId::from("an-intent"), Stamp { at_ms: u64::MAX, epoch: 1, wall_ms: 0 });
        let counters = Counters { submitted: 2, open: 1 };
        let origin = OriginRecord { last_answer: Some(now), answered: true, ..OriginRecord::default() };
        let event = JournalEvent::Abandoned { reason: "the customer left".to_owned() };
        let entry = JournalEntry { intent: id.clone(), sequence: 3, at: now, event };
        survives(&RecordKey::Clock, Record::Clock(LedgerClock::new(7)));
        survives(&RecordKey::Counters(ScopeHash::of("shopper")), Record::Counters(counters));
        survives(&RecordKey::Contract(ContractHash::of("generic")), Record::Contract(Rc::new(generic())));
        survives(&RecordKey::Origin("https://api.shop.example".to_owned()), Record::Origin(Shared::new(origin)));
        survives(&RecordKey::Journal(id, 3), Record::Journal(Shared::new(entry)));
    }

    #[test]
    fn law_2_a_body_comes_back_byte_for_byte() {
        let every_byte: Vec<u8> = (0..=u8::MAX).rev().collect();
        let body = Some("{\"id\":\"pay_1\"}".to_owned());
        let answer = Answer { status: 201, media_type: None, body, resource: None };
        for content in [Content::Bytes(every_byte), Content::Bytes(Vec::new()), Content::Text("\u{0}ação".to_owned())]
        {
            let body = Body { media_type: "application/octet-stream".to_owned(), content };
            let payload = Payload { body: Some(body), answer: Some((3, answer.clone())) };
            survives(&RecordKey::Payload(IntentId::from("an-intent")), Record::Payload(Shared::new(payload)));
        }
    }

    #[test]
    fn law_8_a_text_that_is_no_such_record_is_undecodable() {
        let clock = Record::Clock(LedgerClock::new(7)).to_text().unwrap();
        for text in [clock.as_str(), "", "{}", "null", "{\"submitted\":2,\"open\":-1}"] {
            let counters = RecordKey::Counters(ScopeHash::of("shopper"));
            assert_eq!(Record::from_text(&counters, text), Record::Undecodable, "{text}");
        }
        let payload = RecordKey::Payload(IntentId::from("an-intent"));
        for text in [
            "{}",
            r#"{"answer":null}"#,
            r#"{"b0dy":{"media_type":"","content":{"text":"1"}},"answer":null}"#,
            r#"{"body":{"media_type":"","content":{"bytes":"ā"}},"answer":null}"#,
            r#"{"body":{"media_type":"","content":{"text":"1","bytes":"1"}},"answer":null}"#,
        ] {
            assert_eq!(
                Record::from_text(&payload, text),
                Record::Undecodable,
                "nothing is sent with another body: {text}"
            );
        }
    }

    #[test]
    fn law_8_a_record_that_is_another_s_is_undecodable() {
        let entry = |sequence| {
            Shared::new(JournalEntry {
                intent: IntentId::from("an-intent"),
                sequence,
                at: Stamp { at_ms: 1, epoch: 0, wall_ms: 1 },
                event: JournalEvent::Submitted,
            })
        };
        let text = Record::Journal(entry(3)).to_text().unwrap();
        for (id, sequence, wanted) in [
            ("an-intent", 3, Record::Journal(entry(3))),
            ("an-intent", 4, Record::Undecodable),
            ("another", 3, Record::Undecodable),
        ] {
            assert_eq!(Record::from_text(&RecordKey::Journal(IntentId::from(id), sequence), &text), wanted);
        }
    }
}
