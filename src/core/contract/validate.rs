//! What a contract must be before an intent is stored under it.

use super::reading::is_evidence;
use super::{AnswerClass, Carrier, CarrierPlace, Contract, Finding, KeyFormat, KeyRules, Lookup, LookupRule, When};
use crate::core::key::Key;
use crate::core::limits::{CONTRACT_LIST_MAX, KEY_MAX_LENGTH, POINTER_MAX_BYTES, RETENTION_MAX_MS};

/// The field of a contract that is wrong, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractFault {
    pub field: &'static str,
    pub must: &'static str,
}

impl Contract {
    /// Checks what the types cannot say. The first wrong field is named.
    pub fn validate(&self) -> Result<(), ContractFault> {
        require(!self.id.is_empty() && self.id.len() <= 64, "id", "be 1 to 64 characters")?;
        self.carrier.validate()?;
        self.key.validate()?;
        if let Some(echo) = &self.echo {
            require(echo.header.is_some() || echo.pointer.is_some(), "echo", "name a header or a pointer")?;
            require(echo.header.as_deref().is_none_or(is_token), "echo.header", "be a header name")?;
            require(echo.pointer.as_deref().is_none_or(is_pointer), "echo.pointer", "start with '/'")?;
        }
        if let Some(replay) = &self.replay {
            require(replay.header.as_deref().is_none_or(is_token), "replay.header", "be a header name")?;
            let says = replay.header.is_some() != replay.values.is_empty();
            require(says, "replay.values", "name at least one value of the header")?;
            let any = replay.header.is_some() || !replay.status.is_empty();
            require(any, "replay", "name a header or a status")?;
        }
        self.validate_windows()?;
        require(!self.methods.is_empty(), "methods", "name at least one method")?;
        require(!self.success.statuses.is_empty(), "success.statuses", "name at least one range")?;
        let in_2xx = self.success.statuses.iter().all(|(low, high)| 200 <= *low && low <= high && *high <= 299);
        require(in_2xx, "success.statuses", "be ranges within 200 to 299")?;
        require(!self.success.media_types.is_empty(), "success.mediaTypes", "name at least one media type")?;
        let marked = self.success.pointer.as_ref().is_none_or(|pointer| is_pointer(&pointer.at));
        require(marked, "success.pointer.at", "start with '/'")?;
        let lists = [self.before_layer.len(), self.success.media_types.len(), self.retry_hints.len()];
        require(lists.into_iter().all(|len| len <= CONTRACT_LIST_MAX), "beforeLayer", "stay within 64 entries")?;
        self.validate_rules()?;
        let hinted = self.retry_hints.iter().all(|hint| is_token(&hint.header));
        require(hinted, "retryHints.header", "be a header name")?;
        let path = self.poll.as_ref().and_then(|poll| poll.path.as_deref());
        require(path.is_none_or(is_path), "poll.path", "start with one '/'")?;
        self.reconcile.as_ref().map_or(Ok(()), Lookup::validate)
    }

    fn validate_windows(&self) -> Result<(), ContractFault> {
        let start = self.window_start.as_ref().map(|start| start.header.as_str());
        require(start.is_none_or(is_token), "windowStart.header", "be a header name")?;
        let special = &self.retention_by_path;
        require(special.len() <= CONTRACT_LIST_MAX, "retentionByPath", "stay within 64 entries")?;
        require(special.iter().all(|it| is_path(&it.prefix)), "retentionByPath.prefix", "start with one '/'")?;
        if !self.resends() {
            return require(self.retention_ms == 0, "retentionMs", "be 0 where there is no key");
        }
        let fits = |retention_ms: u64| (1..=RETENTION_MAX_MS).contains(&retention_ms);
        require(fits(self.retention_ms), "retentionMs", "be 1 ms to 366 days")?;
        let all = special.iter().all(|it| fits(it.retention_ms));
        require(all, "retentionByPath.retentionMs", "be 1 ms to 366 days")?;
        require(self.windows().smallest_ms() > 0, "marginMs", "be smaller than every retention")
    }

    fn validate_rules(&self) -> Result<(), ContractFault> {
        require(self.rules.len() <= CONTRACT_LIST_MAX, "rules", "stay within 64 entries")?;
        for rule in &self.rules {
            rule.when.validate(["rules.when", "rules.when.header.name", "rules.when.pointer.at"])?;
            let ours = !matches!(rule.then, AnswerClass::OtherKey | AnswerClass::Unclear);
            require(ours, "rules.then", "be a verdict that a contract may give")?;
            let evident = !rule.then.settles() || rule.when.status.iter().copied().all(is_evidence);
            require(evident, "rules.when.status", "be 2xx and 4xx where the rule ends an intent")?;
            let conclusive = !rule.conclusive || rule.then == AnswerClass::Rejected;
            require(conclusive, "rules.conclusive", "stand only with then: rejected")?;
            let named = rule.resource.is_none() || rule.then == AnswerClass::AlreadyDone;
            require(named, "rules.resource", "stand only with then: already_done")?;
            require(rule.resource.as_deref().is_none_or(is_pointer), "rules.resource", "start with '/'")?;
        }
        Ok(())
    }
}

impl Carrier {
    fn validate(&self) -> Result<(), ContractFault> {
        let name = self.name.as_str();
        let word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        match self.place {
            CarrierPlace::Header => {
                require(is_token(name), "carrier.name", "be a header name")?;
                require(!is_credential(name), "carrier.name", "not be a header that carries credentials")?;
            }
            CarrierPlace::Body => require(is_plain_pointer(name), "carrier.name", "be a JSON pointer such as '/key'")?,
            CarrierPlace::Query => require(word, "carrier.name", "be a plain parameter name")?,
            CarrierPlace::Path => require(word, "carrier.name", "be the word that stands in braces in the path")?,
            CarrierPlace::None => require(name.is_empty(), "carrier.name", "be absent where there is no key")?,
        }
        let in_header = self.place == CarrierPlace::Header;
        require(in_header || !self.quoted, "carrier.quoted", "stand only with a header")?;
        require(self.first_sent.as_deref().is_none_or(is_token), "carrier.firstSent", "be a header name")
    }
}

impl KeyRules {
    /// 128 random bits must fit: a key that had to be cut would no longer be one of a kind.
    fn validate(&self) -> Result<(), ContractFault> {
        let (least, most) = (self.min_length.unwrap_or(0), self.max_length.unwrap_or(KEY_MAX_LENGTH));
        require(most <= KEY_MAX_LENGTH, "key.maxLength", "be at most 255")?;
        require(least <= most, "key.minLength", "be at most maxLength")?;
        let length = match self.format {
            KeyFormat::Uuid => 36,
            KeyFormat::Hex32 => 32,
            KeyFormat::Alphabet => {
                let alphabet = self.alphabet.as_deref().unwrap_or_default();
                let distinct = (1..alphabet.len()).all(|place| {
                    let (before, after) = alphabet.as_bytes().split_at(place);
                    after.first().is_none_or(|byte| !before.contains(byte))
                });
                let plain = alphabet.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
                let many = distinct && alphabet.len() >= 2;
                require(plain && many, "key.alphabet", "be 2 or more different characters of A-Z a-z 0-9 - . _ ~")?;
                Key::digits(alphabet.len()).max(least)
            }
        };
        require(
            self.format == KeyFormat::Alphabet || self.alphabet.is_none(),
            "key.alphabet",
            "stand with its format",
        )?;
        require(least <= length, "key.minLength", "be no longer than the format makes")?;
        require(length <= most, "key.maxLength", "leave room for 128 random bits: choose another format")
    }
}

impl Lookup {
    fn validate(&self) -> Result<(), ContractFault> {
        require(self.path.as_deref().is_none_or(is_path), "reconcile.path", "start with one '/'")?;
        let some = (1..=CONTRACT_LIST_MAX).contains(&self.rules.len());
        require(some, "reconcile.rules", "have 1 to 64 entries")?;
        let fields = ["reconcile.rules.when", "reconcile.rules.when.header.name", "reconcile.rules.when.pointer.at"];
        self.rules.iter().try_for_each(|rule| rule.when.validate(fields))?;
        let settles = |rule: &&LookupRule| matches!(rule.then, Finding::Applied | Finding::NotApplied);
        let mut statuses = self.rules.iter().filter(settles).flat_map(|rule| rule.when.status.iter().copied());
        require(
            statuses.all(is_evidence),
            "reconcile.rules.when.status",
            "be 2xx and 4xx where the rule ends an intent",
        )?;
        require(self.response_at.as_deref().is_none_or(is_plain_pointer), "reconcile.responseAt", "start with '/'")
    }
}

impl When {
    /// `fields`: the names of the condition, of its header and of its pointer.
    fn validate(&self, fields: [&'static str; 3]) -> Result<(), ContractFault> {
        let [field, header, pointer] = fields;
        let any = !self.status.is_empty() || self.header.is_some() || self.pointer.is_some();
        require(any, field, "name a status, a header or a pointer")?;
        require(self.header.as_ref().is_none_or(|named| is_token(&named.name)), header, "be a header name")?;
        let pointed = self.pointer.as_ref().is_none_or(|named| is_pointer(&named.at));
        require(pointed, pointer, "start with '/'")
    }
}

fn is_pointer(pointer: &str) -> bool {
    pointer.starts_with('/') && pointer.len() <= POINTER_MAX_BYTES
}

/// One that names one place: no `*`.
fn is_plain_pointer(pointer: &str) -> bool {
    is_pointer(pointer) && pointer.split('/').skip(1).all(|token| !token.is_empty() && token != "*")
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//")
}

fn require(holds: bool, field: &'static str, must: &'static str) -> Result<(), ContractFault> {
    if holds { Ok(()) } else { Err(ContractFault { field, must }) }
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Headers that carry credentials: asked for at each attempt, never stored (law 9).
pub(crate) fn is_credential(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie"]
        .iter()
        .any(|credential| credential.eq_ignore_ascii_case(name))
}
