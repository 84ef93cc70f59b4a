//! What a contract must be before an intent is stored under it.

use super::Contract;
use crate::core::limits::{CONTRACT_LIST_MAX, RETENTION_MAX_MS};

/// The field of a contract that is wrong, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractFault {
    pub field: &'static str,
    pub must: &'static str,
}

impl Contract {
    /// Checks what the types cannot say. The first wrong field is named.
    pub fn validate(&self) -> Result<(), ContractFault> {
        let name = &self.carrier.name;
        require(!self.id.is_empty() && self.id.len() <= 64, "id", "be 1 to 64 characters")?;
        require(is_token(name), "carrier.name", "be a header name")?;
        require(!is_credential(name), "carrier.name", "not be a header that carries credentials")?;
        if let Some(echo) = &self.echo {
            require(is_token(&echo.header), "echo.header", "be a header name")?;
        }
        if let Some(replay) = &self.replay {
            require(is_token(&replay.header), "replay.header", "be a header name")?;
            require(!replay.values.is_empty(), "replay.values", "name at least one value")?;
        }
        require((1..=RETENTION_MAX_MS).contains(&self.retention_ms), "retentionMs", "be 1 ms to 366 days")?;
        require(self.margin_ms < self.retention_ms, "marginMs", "be smaller than retentionMs")?;
        require(!self.methods.is_empty(), "methods", "name at least one method")?;
        require(!self.success.statuses.is_empty(), "success.statuses", "name at least one range")?;
        let in_2xx = self.success.statuses.iter().all(|(low, high)| 200 <= *low && low <= high && *high <= 299);
        require(in_2xx, "success.statuses", "be ranges within 200 to 299")?;
        let bounded = [self.rules.len(), self.before_layer.len(), self.success.media_types.len()];
        require(bounded.into_iter().all(|len| len <= CONTRACT_LIST_MAX), "rules", "stay within 64 entries")?;
        let path = self.poll.as_ref().and_then(|poll| poll.path.as_ref());
        let plain = path.is_none_or(|path| path.starts_with('/') && !path.starts_with("//"));
        require(plain, "poll.path", "start with one '/'")?;
        let whole = self.rules.iter().all(|rule| !rule.when.status.is_empty() || rule.when.pointer.is_some());
        require(whole, "rules.when", "name a status or a pointer")?;
        let pointers = self.rules.iter().filter_map(|rule| rule.when.pointer.as_ref());
        require(pointers.clone().all(|pointer| pointer.at.starts_with('/')), "rules.when.pointer.at", "start with '/'")
    }
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
