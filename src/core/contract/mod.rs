//! A contract: how one server speaks idempotency, as data. This folder is the only place that reads a status.

mod carrier;
mod facts;
mod judge;
mod lookup;
mod patience;
mod reading;
mod rules;
mod validate;

#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) mod tests;

pub use carrier::{Carrier, CarrierPlace, KEY_PLACE};
pub use facts::{Answer, FactValue, Facts, Fault, Observation};
pub use judge::{Judgement, judge};
pub(crate) use lookup::fill;
pub use lookup::{Finding, Lookup, LookupMethod, LookupRule, find};
pub use patience::{asked_to_wait_ms, server_date_ms};
pub use reading::{AnswerClass, AttemptReading, read, read_polled};
pub use rules::{HeaderIs, PointerIs, RetryHint, Rule, When};
pub use validate::ContractFault;
pub(crate) use validate::{is_credential, is_token};

use crate::core::json::json;

/// How one server speaks idempotency. Always chosen by the app; stored with each intent as a snapshot, so that a
/// deploy cannot change how an old key travels (law 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    pub id: String,
    pub carrier: Carrier,
    pub key: KeyRules,
    /// Where the server repeats the key. A different key there is `conflicting_answers`.
    pub echo: Option<Place>,
    /// How long the server remembers a key, from the first send.
    pub retention_ms: u64,
    /// Where that depends on what is asked: the first entry whose prefix the URL's path has.
    pub retention_by_path: Vec<PathRetention>,
    /// How much of the retention is not used, for clocks and for the length of an attempt.
    pub margin_ms: u64,
    /// A header of its answers that says when the server's window for this key began, in epoch milliseconds.
    pub window_start: Option<HeaderName>,
    pub methods: Vec<Method>,
    pub success: Success,
    /// What marks a stored answer that is given again.
    pub replay: Option<ReplayMarker>,
    pub refusal: Refusal,
    /// Statuses from in front of the idempotency layer: they never settle (P5.3).
    pub before_layer: Vec<u16>,
    /// Read in order, before the defaults of RFC 9110.
    pub rules: Vec<Rule>,
    /// Headers in which the server says whether asking again helps. Read after the rules.
    pub retry_hints: Vec<RetryHint>,
    /// Where the result of a 202 is. Without it, a 202 is held.
    pub poll: Option<Poll>,
    /// How to ask the server what became of a key. Without it, only the app can.
    pub reconcile: Option<Lookup>,
}

json!(struct Contract {
    id,
    carrier,
    key,
    echo,
    retention_ms = "retentionMs",
    retention_by_path: default = "retentionByPath",
    margin_ms = "marginMs",
    window_start = "windowStart",
    methods,
    success,
    replay,
    refusal,
    before_layer = "beforeLayer",
    rules: default,
    retry_hints: default = "retryHints",
    poll,
    reconcile,
});

/// A retention of its own for paths that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRetention {
    pub prefix: String,
    pub retention_ms: u64,
}

json!(struct PathRetention { prefix, retention_ms = "retentionMs" });

impl PathRetention {
    /// Segment by segment: `/pay` does not cover `/payments`.
    fn covers(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.prefix);
        rest.is_some_and(|rest| self.prefix.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?']))
    }
}

/// How long a key may be used, by what is asked (law 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// False: without a key nothing is ever sent twice.
    pub resends: bool,
    margin_ms: u64,
    retention_ms: u64,
    by_path: Vec<PathRetention>,
}

impl Windows {
    /// The same for every path, all of it usable.
    pub fn lasting(retention_ms: u64) -> Self {
        Self { resends: true, margin_ms: 0, retention_ms, by_path: Vec::new() }
    }

    /// How long after the window's start an attempt may still end, for this path.
    pub fn usable_ms(&self, path: &str) -> u64 {
        if self.resends { self.retention_ms(path).saturating_sub(self.margin_ms) } else { 0 }
    }

    /// How long the server says that it remembers a key on this path.
    pub fn retention_ms(&self, path: &str) -> u64 {
        let special = self.by_path.iter().find(|special| special.covers(path));
        special.map_or(self.retention_ms, |special| special.retention_ms)
    }

    /// The smallest of all.
    pub fn smallest_ms(&self) -> u64 {
        let special = self.by_path.iter().map(|special| special.retention_ms).min().unwrap_or(u64::MAX);
        self.retention_ms.min(special).saturating_sub(self.margin_ms)
    }
}

/// How the result of an accepted intent is fetched: `GET`, with the key and with credentials. An answer there is
/// evidence only if it carries the key's echo or the replay marker: a status page's 200 says nothing by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The path to ask where `Location` is not visible; `None`: then the intent is held.
    pub path: Option<String>,
}

json!(struct Poll { path });

/// What a key must look like for this server. A contract in which 128 random bits do not fit is refused; no key is
/// ever truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRules {
    pub format: KeyFormat,
    /// With `format: alphabet`: the characters a key is made of.
    pub alphabet: Option<String>,
    /// In characters.
    pub min_length: Option<u32>,
    /// In characters.
    pub max_length: Option<u32>,
}

json!(struct KeyRules { format, alphabet, min_length = "minLength", max_length = "maxLength" });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFormat {
    /// A dashed version 4 UUID.
    Uuid,
    /// 32 lower-case hex digits.
    Hex32,
    /// Digits of `alphabet`, as few as hold 128 bits and as many as `minLength` asks for.
    Alphabet,
}

json!(words KeyFormat { Uuid = "uuid", Hex32 = "hex32", Alphabet = "alphabet" });

/// Where something stands in an answer: a header, or a JSON pointer into its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub header: Option<String>,
    pub pointer: Option<String>,
}

json!(struct Place { header, pointer });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderName {
    pub header: String,
}

json!(struct HeaderName { header });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

json!(words Method { Post = "POST", Put = "PUT", Patch = "PATCH", Delete = "DELETE" });

impl Method {
    pub const ALL: [Self; 4] = [Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// The method of that exact name; methods are case-sensitive (RFC 9110 section 9.1).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }
}

/// What a recognised answer looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Success {
    /// Inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Media types of the server's own answers, without parameters; `+json` matches every structured suffix. An
    /// answer in another type, or with no type where a body is due, is from somebody else.
    pub media_types: Vec<String>,
    /// What a success must hold in its body, where a status alone does not tell.
    pub pointer: Option<PointerIs>,
}

json!(struct Success { statuses, media_types = "mediaTypes", pointer });

/// What marks a replay: a header with one of these values, compared without case, or a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayMarker {
    pub header: Option<String>,
    pub values: Vec<String>,
    /// Statuses that only a repetition gets.
    pub status: Vec<u16>,
}

json!(struct ReplayMarker { header, values: default, status: default });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub conclusive: ConclusiveWhen,
    /// The transport provably delivers one request once, so that a refusal of unknown standing may be replaced (P5.4).
    pub single_delivery: bool,
}

json!(struct Refusal { conclusive, single_delivery: default = "singleDelivery" });

/// When a refusal from inside the layer is conclusive (P5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConclusiveWhen {
    /// It carries the key's echo or the replay marker (P5.5).
    Stored,
    /// Only where a rule says so.
    ByRule,
}

json!(words ConclusiveWhen { Stored = "stored", ByRule = "by_rule" });

impl Contract {
    pub fn windows(&self) -> Windows {
        Windows {
            resends: self.resends(),
            margin_ms: self.margin_ms,
            retention_ms: self.retention_ms,
            by_path: self.retention_by_path.clone(),
        }
    }

    /// May the same request be sent twice? Not without a key.
    pub fn resends(&self) -> bool {
        self.carrier.place != CarrierPlace::None
    }

    /// Lower-case names of the headers whose values are facts.
    pub fn fact_headers(&self) -> Vec<String> {
        let mut names: Vec<&str> = COMMON_HEADERS.to_vec();
        names.extend(self.echo.iter().filter_map(|echo| echo.header.as_deref()));
        names.extend(self.replay.iter().filter_map(|replay| replay.header.as_deref()));
        names.extend(self.window_start.iter().map(|start| start.header.as_str()));
        names.extend(self.whens().filter_map(|when| when.header.as_ref()).map(|header| header.name.as_str()));
        names.extend(self.retry_hints.iter().map(|hint| hint.header.as_str()));
        distinct(&names, str::to_ascii_lowercase)
    }

    /// The JSON pointers whose values are facts.
    pub fn fact_pointers(&self) -> Vec<String> {
        let mut pointers: Vec<&str> = vec![PROBLEM_TYPE];
        pointers.extend(self.echo.iter().filter_map(|echo| echo.pointer.as_deref()));
        pointers.extend(self.success.pointer.iter().map(|pointer| pointer.at.as_str()));
        pointers.extend(self.whens().filter_map(|when| when.pointer.as_ref()).map(|pointer| pointer.at.as_str()));
        pointers.extend(self.rules.iter().filter_map(|rule| rule.resource.as_deref()));
        distinct(&pointers, str::to_owned)
    }

    fn whens(&self) -> impl Iterator<Item = &When> {
        let looked_up = self.reconcile.iter().flat_map(|lookup| &lookup.rules).map(|rule| &rule.when);
        self.rules.iter().map(|rule| &rule.when).chain(looked_up)
    }
}

/// Headers that any answer may have: to ask for patience, the clock that is read against, and where its result is.
const COMMON_HEADERS: [&str; 10] = [
    "retry-after",
    "retry-after-ms",
    "date",
    "ratelimit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "age",
    "location",
];

/// The member of a problem document that names its kind (RFC 9457 section 3.1.1).
const PROBLEM_TYPE: &str = "/type";

fn distinct(names: &[&str], form: fn(&str) -> String) -> Vec<String> {
    let mut distinct = Vec::new();
    for name in names {
        let name = form(name);
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// The contract that ships as `contracts/generic.json`, for tests.
#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) fn generic() -> Contract {
    let text = include_str!("../../../contracts/generic.json");
    #[expect(clippy::unwrap_used, reason = "a test fixture")]
    let contract: Contract = super::json::from_text(text).unwrap();
    contract
}
