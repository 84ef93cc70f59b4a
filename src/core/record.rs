//! The ledger's records and their names, and the overlay that changes are applied to.

use core::fmt;
use std::rc::Rc;

use super::contract::{Answer, Contract};
use super::intent::IntentRecord;
use super::journal::JournalEntry;
use super::json::{FromJson, Reader, ToJson, Value, Writer, json};
use super::key::{ContractHash, IntentId, ScopeHash};
use super::map::SortedMap;
use super::reach::OriginRecord;
use super::shared::Shared;
use super::time::LedgerClock;

/// Names one record. The order is the order of kinds, then of names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKey {
    Clock,
    Counters(ScopeHash),
    /// The head of the chain that a reference names.
    Reference(ReferenceName),
    Lane(LaneName),
    Intent(IntentId),
    Payload(IntentId),
    Journal(IntentId, u64),
    Contract(ContractHash),
    Origin(String),
}

impl RecordKey {
    /// Whether many intents share its record.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Clock | Self::Counters(_) | Self::Contract(_) | Self::Origin(_))
    }
}

/// Scope, operation and reference as one string. Operations and references hold no control character, so no two
/// triples share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceName(pub String);

impl ReferenceName {
    pub fn new(scope: &ScopeHash, operation: &str, reference: &str) -> Self {
        Self([&scope.0, "\u{1f}", operation, "\u{1f}", reference].concat())
    }
}

/// Scope and lane as one string. Lanes hold no control character.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneName(pub String);

impl LaneName {
    pub fn new(scope: &ScopeHash, lane: &str) -> Self {
        Self([&scope.0, "\u{1f}", lane].concat())
    }
}

impl IntentRecord {
    /// Names the record of its reference, if it has one.
    pub fn reference_name(&self) -> Option<ReferenceName> {
        self.reference.as_ref().map(|reference| ReferenceName::new(&self.scope, &self.operation, reference))
    }

    /// Names the record of its lane, if it has one.
    pub fn lane_key(&self) -> Option<RecordKey> {
        self.lane.as_ref().map(|at| RecordKey::Lane(LaneName::new(&self.scope, &at.lane)))
    }
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Clock(LedgerClock),
    Counters(Counters),
    Reference(IntentId),
    Lane(Lane),
    Intent(Shared<IntentRecord>),
    Payload(Shared<Payload>),
    Journal(Shared<JournalEntry>),
    /// Never changed, and so shared by all who hold it.
    Contract(Rc<Contract>),
    Origin(Shared<OriginRecord>),
    /// It exists and this build cannot read it: kept with its bytes, never rewritten, never taken for absent (law 8).
    Undecodable,
    /// Only written, never read: the record is taken away, which [`transition`](super::transition) does where law 8 allows.
    Gone,
}

impl Record {
    /// The record, unless it is to be taken away.
    pub fn there(&self) -> Option<&Self> {
        Some(self).filter(|record| !matches!(record, Self::Gone))
    }
}

/// Counts of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Intents ever submitted.
    pub submitted: u64,
    /// Intents that have not ended.
    pub open: u64,
}

json!(struct Counters { submitted, open });

/// The unfinished intents of one lane, each with its place; only the first is sent.
pub type Lane = Vec<(u64, IntentId)>;

/// What is not needed to list or schedule. `Debug` shows no content (law 11).
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// The frozen body and its media type: the same bytes on every attempt (law 2).
    pub body: Option<Body>,
    /// The newest answer that settled it, or that could yet: the number of its attempt, and the answer.
    pub answer: Option<(u32, Answer)>,
}

json!(struct Payload { body, answer });

/// A request body as it travels.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    pub media_type: String,
    pub content: Content,
}

json!(struct Body { media_type, content });

/// The bytes of a body. Text is sent as UTF-8. `Debug` shows only how many there are (law 11).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl ToJson for Content {
    /// `{"text":".."}`; `{"bytes":".."}` with one character, up to U+00FF, for each byte.
    fn write(&self, out: &mut Writer) {
        out.plain("{");
        match self {
            Self::Text(text) => out.member("text", text),
            Self::Bytes(bytes) => out.member("bytes", &bytes.iter().copied().map(char::from).collect::<String>()),
        }
        out.close('}');
    }
}

impl FromJson for Content {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        let mut members = reader.object(value);
        let text = members.member_if_there("text");
        let bytes: Option<String> = members.member_if_there("bytes");
        match (text, bytes.map(|bytes| bytes.chars().map(u8::try_from).collect())) {
            (Some(text), None) => Self::Text(text),
            (None, Some(Ok(bytes))) => Self::Bytes(bytes),
            _ => {
                members.misread();
                Self::Bytes(Vec::new())
            }
        }
    }
}

impl Content {
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.as_bytes().len())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload(body: {:?}, answer: {:?})", self.body, self.answer)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({}, {} bytes)", self.media_type, self.content.as_bytes().len())
    }
}

/// A record as a store holds it. Version 0 means absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    pub version: u64,
    pub record: Option<Record>,
}

impl Versioned {
    pub const ABSENT: Self = Self { version: 0, record: None };
}

/// Versions that a commit relies on: everything that was read, absent records included as 0 (P1.4).
pub type ExpectedVersions = SortedMap<RecordKey, u64>;

/// Records to write, or to take away ([`Record::Gone`]).
pub type Writes = SortedMap<RecordKey, Record>;

/// Why a change was not applied to what the overlay holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// These records were not read yet: read them and apply again.
    Unread(Vec<RecordKey>),
    Refused(super::change::Refusal),
}

/// Records as one transaction sees them: what the store holds, under what its changes have written so far.
#[derive(Clone, Debug)]
pub struct Overlay {
    read: SortedMap<RecordKey, Versioned>,
    written: Writes,
}

/// Records: clock, intent, payload, contract, origin, counters.
const MOST_CHANGES_READ: usize = 8;

impl Default for Overlay {
    fn default() -> Self {
        Self { read: SortedMap::with_capacity(MOST_CHANGES_READ), written: Writes::new() }
    }
}

impl Overlay {
    /// Takes in what the store holds under a key.
    pub fn insert(&mut self, key: RecordKey, versioned: Versioned) {
        self.read.insert(key, versioned);
    }

    /// Whether nothing was taken in yet.
    pub fn is_unread(&self) -> bool {
        self.read.is_empty()
    }

    /// The keys taken in whose records many intents share.
    pub fn shared_keys(&self) -> impl Iterator<Item = &RecordKey> {
        self.read.keys().filter(|key| key.is_shared())
    }

    /// The record under a key; `None` where there is none. [`Stop::Unread`] if the store was not asked yet.
    pub fn get(&self, key: &RecordKey) -> Result<Option<&Record>, Stop> {
        if let Some(record) = self.written.get(key) {
            return Ok(record.there());
        }
        match self.read.get(key) {
            Some(versioned) => Ok(versioned.record.as_ref()),
            None => Err(Stop::Unread(vec![key.clone()])),
        }
    }

    /// Merges what one applied change wrote.
    pub fn write(&mut self, writes: Writes) {
        if self.written.is_empty() {
            self.written = writes;
        } else {
            self.written.extend(writes);
        }
    }

    /// As it was before the first change.
    pub fn forget_writes(&mut self) {
        self.written = Writes::new();
    }

    /// What the commit relies on and what it writes.
    pub fn into_commit(self) -> (ExpectedVersions, Writes) {
        (self.read.map_values(|versioned| versioned.version), self.written)
    }

    pub fn writes(&self) -> &Writes {
        &self.written
    }

    /// The version that was read; 0 where there was no record.
    pub fn version(&self, key: &RecordKey) -> u64 {
        self.read.get(key).map_or(0, |versioned| versioned.version)
    }
}
