//! Asking the server what became of a key (design section 5): a request without an effect of its own, and what its
//! answers mean.

use super::reading::{is_evidence, speaks_its_media_type};
use super::{Contract, Observation, When};
use crate::core::intent::IntentRecord;
use crate::core::json::json;

/// How to ask. The key travels as in the intent itself where its carrier is a header, and in the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `GET`, or `POST` where asking seals the key.
    pub method: LookupMethod,
    /// On the intent's origin; `{key}`, `{reference}` and `{operation}` are filled in, escaped. `None`: the intent's
    /// own URL.
    pub path: Option<String>,
    /// Read in order; where none holds, the answer says nothing.
    pub rules: Vec<LookupRule>,
    /// A JSON pointer to the response that the app is to get; `None`: the whole body.
    pub response_at: Option<String>,
}

json!(struct Lookup { method, path, rules, response_at = "responseAt" });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupMethod {
    Get,
    Post,
}

json!(words LookupMethod { Get = "GET", Post = "POST" });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupRule {
    pub when: When,
    pub then: Finding,
}

json!(struct LookupRule { when, then });

/// What reconciling found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The effect is there.
    Applied,
    /// Sealed: nothing happened, and the server can never run it any more.
    NotApplied,
    /// Nothing is there now. A late packet could still run, so that this settles nothing.
    NotFound,
    /// The server, or the app, cannot say.
    Unknown,
}

json!(words Finding { Applied = "applied", NotApplied = "not_applied", NotFound = "not_found", Unknown = "unknown" });

/// Reads the answer to a lookup. A fault finds nothing out.
pub fn find(contract: &Contract, observation: &Observation) -> Finding {
    let (Some(lookup), Observation::Reply(facts)) = (&contract.reconcile, observation) else { return Finding::Unknown };
    // A proxy's page has the same statuses: a rule that looks at nothing else needs the server's own media type.
    let spoken = speaks_its_media_type(contract, facts);
    let holds = |rule: &&LookupRule| rule.when.holds(facts, None) && (spoken || rule.when.looks_inside());
    let found = lookup.rules.iter().find(holds).filter(|_| is_evidence(facts.status));
    found.map_or(Finding::Unknown, |rule| rule.then)
}

impl Lookup {
    pub fn method(&self) -> &'static str {
        match self.method {
            LookupMethod::Get => "GET",
            LookupMethod::Post => "POST",
        }
    }

    /// Where to ask for this intent.
    pub fn url(&self, intent: &IntentRecord) -> String {
        match &self.path {
            None => intent.request.url.clone(),
            Some(path) => fill(&intent.request.origin, path, intent),
        }
    }
}

/// A path of the contract on the intent's origin, its braces filled in.
pub(crate) fn fill(origin: &str, path: &str, intent: &IntentRecord) -> String {
    let mut pieces = path.split('{');
    let mut url = [origin, pieces.next().unwrap_or_default()].concat();
    for piece in pieces {
        let (value, after) = match piece.split_once('}') {
            Some(("key", after)) => (intent.key.expose(), after),
            Some(("reference", after)) => (intent.reference.as_deref().unwrap_or_default(), after),
            Some(("operation", after)) => (intent.operation.as_str(), after),
            _ => {
                url.push('{');
                ("", piece)
            }
        };
        url.push_str(&escaped(value));
        url.push_str(after);
    }
    url
}

/// Everything but RFC 3986's unreserved characters, percent-encoded.
fn escaped(text: &str) -> String {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.extend([byte >> 4, byte & 15].into_iter().filter_map(|digit| HEX.get(usize::from(digit))));
        }
    }
    escaped
}
