//! One answer, read by its contract alone. What it means beside the other attempts is [`judge`](mod@super::judge)'s.

use super::rules::{Advice, names};
use super::{ConclusiveWhen, Contract, Facts, Fault, Observation, PROBLEM_TYPE, Rule};
use crate::core::bugs::{Bug, bug};
use crate::core::json::json;
use crate::core::key::Key;

/// What kind of answer this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerClass {
    Succeeded,
    /// It was done before, under this key.
    AlreadyDone,
    /// A refusal: no effect of this delivery.
    Rejected,
    /// The key is known with another payload.
    Mismatched,
    /// 202: taken, the result is to be fetched.
    Accepted,
    /// The key is being worked on, or a 409 of unknown meaning: wait, same key.
    InProgress,
    /// Too many requests from here, whatever their keys.
    RateLimited,
    /// Credentials are missing or refused.
    Auth,
    /// Nothing at this address takes this request: wrong URL, method or size.
    Config,
    /// 5xx and its like: never evidence; again, with the same key.
    Retry,
    /// It will never change, and it does not tell: only a look at the server can (K9).
    Uncertain,
    /// The server takes this key no more, and does not tell what became of it.
    KeyBurnt,
    /// The server says that it may have forgotten the key.
    WindowClosed,
    /// An answer this contract has no reading for.
    Unclear,
    /// A captive portal, a proxy, another service worker.
    NotTheServer,
    /// It repeats another key than ours.
    OtherKey,
}

json!(words AnswerClass {
    Succeeded = "succeeded",
    AlreadyDone = "already_done",
    Rejected = "rejected",
    Mismatched = "mismatched",
    Accepted = "accepted",
    InProgress = "in_progress",
    RateLimited = "rate_limited",
    Auth = "auth",
    Config = "config",
    Retry = "retry",
    Uncertain = "uncertain",
    KeyBurnt = "key_burnt",
    WindowClosed = "window_closed",
    Unclear = "unclear",
    NotTheServer = "not_the_server",
    OtherKey = "other_key",
});

/// One answer or fault, read alone; kept with the attempt so that later facts can be judged beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptReading {
    Answer {
        class: AnswerClass,
        status: u16,
        /// Every delivery of this key, earlier or later, gets the same (P5.2).
        conclusive: bool,
        /// `None`: the marker's header was not visible.
        replayed: Option<bool>,
    },
    Fault {
        fault: Fault,
    },
}

json!(enum AttemptReading {
    Answer { class, status, conclusive, replayed } = "answer",
    Fault { fault } = "fault",
});

impl AnswerClass {
    /// Does an answer of this class say what became of the intent?
    pub(super) fn settles(self) -> bool {
        matches!(self, Self::Succeeded | Self::AlreadyDone | Self::Rejected | Self::Mismatched)
    }
}

impl AttemptReading {
    /// Could this attempt have had an effect that its answer does not tell?
    pub fn leaves_unknown(&self) -> bool {
        match self {
            Self::Fault { fault } => *fault != Fault::Forbidden,
            Self::Answer { class, .. } => match class {
                AnswerClass::Succeeded
                | AnswerClass::AlreadyDone
                | AnswerClass::Rejected
                | AnswerClass::Mismatched
                | AnswerClass::RateLimited
                | AnswerClass::Auth
                | AnswerClass::Config => false,
                AnswerClass::Accepted
                | AnswerClass::InProgress
                | AnswerClass::Retry
                | AnswerClass::Uncertain
                | AnswerClass::KeyBurnt
                | AnswerClass::WindowClosed
                | AnswerClass::Unclear
                | AnswerClass::NotTheServer
                | AnswerClass::OtherKey => true,
            },
        }
    }
}

/// Reads one observation by its contract.
pub fn read(contract: &Contract, key: &Key, observation: &Observation) -> AttemptReading {
    read_by(contract, key, observation, |class, _| class)
}

/// Reads what came back from a look at the result of an accepted intent: what would settle counts only if it is
/// stored under the key.
pub fn read_polled(contract: &Contract, key: &Key, observation: &Observation) -> AttemptReading {
    read_by(contract, key, observation, |class, marks| match class {
        AnswerClass::Succeeded | AnswerClass::AlreadyDone | AnswerClass::Rejected if !marks.stored() => {
            AnswerClass::Unclear
        }
        class => class,
    })
}

impl Contract {
    /// The server's name of what is already there, from an answer that a rule reads as `already_done`.
    pub fn resource(&self, key: &Key, facts: &Facts) -> Option<String> {
        let marks = Marks::of(self, key, facts);
        let rule = rule_for(self, facts, &marks)?;
        facts.text(rule.resource.as_ref()?).map(str::to_owned)
    }
}

fn read_by(
    contract: &Contract,
    key: &Key,
    observation: &Observation,
    narrow: fn(AnswerClass, &Marks) -> AnswerClass,
) -> AttemptReading {
    match observation {
        Observation::Fault(fault) => AttemptReading::Fault { fault: *fault },
        Observation::Reply(facts) => {
            let marks = Marks::of(contract, key, facts);
            let (class, by_rule) = classify(contract, facts, &marks);
            let class = narrow(class, &marks);
            let conclusive = class == AnswerClass::Rejected
                && (by_rule
                    || bug(Bug::EveryRefusalConclusive)
                    || (contract.refusal.conclusive == ConclusiveWhen::Stored && marks.stored()));
            AttemptReading::Answer { class, status: facts.status, conclusive, replayed: marks.replayed }
        }
    }
}

/// What an answer says of the key it belongs to.
struct Marks {
    echo: Echo,
    /// By the marker's header; `None`: it was not visible.
    marked: Option<bool>,
    /// By the header, or by a status that only a repetition gets.
    replayed: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Absent,
    Ours,
    Other,
}

impl Marks {
    fn of(contract: &Contract, key: &Key, facts: &Facts) -> Self {
        let echoed = contract.echo.as_ref().and_then(|echo| {
            let in_header = echo.header.as_deref().and_then(|name| facts.header(name));
            in_header.or_else(|| echo.pointer.as_deref().and_then(|pointer| facts.text(pointer)))
        });
        let echo = match echoed {
            None => Echo::Absent,
            Some(value) if key.is(unquoted(value)) => Echo::Ours,
            Some(_) => Echo::Other,
        };
        let marked = contract.replay.as_ref().and_then(|marker| {
            let value = facts.header(marker.header.as_ref()?)?;
            Some(names(&marker.values, value))
        });
        let by_status = contract.replay.as_ref().is_some_and(|marker| marker.status.contains(&facts.status));
        Self { echo, marked, replayed: if by_status { Some(true) } else { marked } }
    }

    /// A status alone proves nothing of who speaks: a captive portal has one, too.
    fn stored(&self) -> bool {
        self.echo == Echo::Ours || self.marked == Some(true)
    }
}

/// The class, and whether a rule calls it conclusive. Order: what contradicts, the contract's rules, the server's
/// hints, problem types, what comes from in front of the layer, who is speaking, the defaults of RFC 9110 section 15.
fn classify(contract: &Contract, facts: &Facts, marks: &Marks) -> (AnswerClass, bool) {
    if marks.echo == Echo::Other {
        return (AnswerClass::OtherKey, false);
    }
    if let Some(rule) = rule_for(contract, facts, marks) {
        return (rule.then, rule.conclusive && rule.then == AnswerClass::Rejected);
    }
    let class = if let Some(class) = advised(contract, facts, marks).or_else(|| by_problem_type(facts)) {
        class
    } else if contract.before_layer.contains(&facts.status) && !bug(Bug::BeforeLayerIsRefusal) {
        in_front_of_the_layer(facts.status)
    } else if !speaks_as_the_server(contract, facts, marks) {
        not_recognised(facts.status)
    } else {
        match by_status(contract, facts, marks) {
            AnswerClass::Succeeded | AnswerClass::Rejected if hides_a_rule(contract, facts) => AnswerClass::Unclear,
            class => class,
        }
    };
    (class, false)
}

/// The first rule that holds. One that settles holds for no redirect and no 5xx, and by a status alone only in the
/// server's own voice: a gateway has the same statuses (law 4).
fn rule_for<'a>(contract: &'a Contract, facts: &Facts, marks: &Marks) -> Option<&'a Rule> {
    let spoken = speaks_as_the_server(contract, facts, marks);
    let mut rules = contract.rules.iter();
    rules.find(|rule| {
        let counts = is_evidence(facts.status) && (spoken || rule.when.looks_inside());
        rule.when.holds(facts, marks.replayed) && (counts || !rule.then.settles())
    })
}

/// Can an answer of this status end anything? Whatever it holds, a redirect and a 5xx cannot (law 4).
pub(super) fn is_evidence(status: u16) -> bool {
    matches!(status, 200..=299 | 400..=499)
}

/// What the server's own hints make of an error. Credentials are not mended by asking again, and a stored error is not
/// changed by it.
fn advised(contract: &Contract, facts: &Facts, marks: &Marks) -> Option<AnswerClass> {
    let asked = facts.status >= 400 && !matches!(facts.status, 401 | 403 | 407) && marks.replayed != Some(true);
    let mut advice = contract.retry_hints.iter().filter(|_| asked).filter_map(|hint| hint.advice(facts));
    match (advice.next()?, facts.status) {
        (Advice::Retry, 409 | 423) => Some(AnswerClass::InProgress),
        // Again, and so later: the limit holds for everything from here.
        (Advice::Retry, 429) => None,
        (Advice::Retry, _) => Some(AnswerClass::Retry),
        (Advice::Stop, 500..=599) => Some(AnswerClass::Uncertain),
        (Advice::Stop, _) => None,
    }
}

/// The problem types that the RateLimit draft registers (draft-ietf-httpapi-ratelimit-headers-10, section 6).
fn by_problem_type(facts: &Facts) -> Option<AnswerClass> {
    let problem = facts.status >= 400 && facts.media_type.as_deref() == Some("application/problem+json");
    let kind = facts.text(PROBLEM_TYPE).filter(|_| problem)?;
    match kind.strip_prefix("https://iana.org/assignments/http-problem-types#")? {
        "quota-exceeded" | "abnormal-usage-detected" => Some(AnswerClass::RateLimited),
        "temporary-reduced-capacity" => Some(AnswerClass::Retry),
        _ => None,
    }
}

fn in_front_of_the_layer(status: u16) -> AnswerClass {
    match status {
        401 | 403 | 407 => AnswerClass::Auth,
        408 | 421 | 425 => AnswerClass::Retry,
        429 => AnswerClass::RateLimited,
        511 => AnswerClass::NotTheServer,
        500..=599 => AnswerClass::Retry,
        _ => AnswerClass::Config,
    }
}

/// Is this answer in the server's own voice? An echo or a marker proves it; else the media type must be one of the
/// contract's. A portal neither creates nor accepts anything: an empty 201 or 202 that says where is the server's.
fn speaks_as_the_server(contract: &Contract, facts: &Facts, marks: &Marks) -> bool {
    let points = facts.body_empty && matches!(facts.status, 201 | 202) && facts.header("location").is_some();
    marks.stored() || points || speaks_its_media_type(contract, facts)
}

/// 204 and 205 have no body to name the type of.
pub(super) fn speaks_its_media_type(contract: &Contract, facts: &Facts) -> bool {
    if matches!(facts.status, 204 | 205) || bug(Bug::PortalIsServer) {
        return true;
    }
    if facts.body_empty {
        return false;
    }
    facts.media_type.as_deref().is_some_and(|media_type| {
        contract.success.media_types.iter().any(|wanted| match wanted.strip_prefix('+') {
            Some(suffix) => media_type.rsplit_once('+').is_some_and(|(_, own)| own == suffix),
            None => wanted == media_type,
        })
    })
}

/// An unrecognised 5xx or 409 is still a reason to wait; anything else unrecognised is not the server.
fn not_recognised(status: u16) -> AnswerClass {
    match status {
        511 => AnswerClass::NotTheServer,
        409 | 423 => AnswerClass::InProgress,
        408 | 421 | 425 | 500..=599 => AnswerClass::Retry,
        _ => AnswerClass::NotTheServer,
    }
}

/// A body that could not be read as a document may hold what a rule for this status looks for: then the defaults settle
/// nothing.
fn hides_a_rule(contract: &Contract, facts: &Facts) -> bool {
    let unread = !facts.document && !facts.body_empty;
    unread && contract.rules.iter().any(|rule| rule.when.pointer.is_some() && rule.when.fits_status(facts.status))
}

fn by_status(contract: &Contract, facts: &Facts, marks: &Marks) -> AnswerClass {
    let replayed = marks.replayed == Some(true);
    let status = facts.status;
    if contract.success.statuses.iter().any(|(low, high)| (*low..=*high).contains(&status)) {
        let whole = contract.success.pointer.as_ref().is_none_or(|pointer| pointer.holds(facts));
        return if whole { AnswerClass::Succeeded } else { AnswerClass::Unclear };
    }
    match status {
        202 => AnswerClass::Accepted,
        511 => AnswerClass::NotTheServer,
        500..=599 if bug(Bug::ServerErrorIsRefusal) => AnswerClass::Rejected,
        500..=599 if replayed => AnswerClass::Uncertain,
        408 | 421 | 425 | 500..=599 => AnswerClass::Retry,
        // An echo alone does not tell a stored 409 from "still working on it"; the marker does.
        409 | 423 if !replayed && !bug(Bug::InProgressIsRefusal) => AnswerClass::InProgress,
        429 => AnswerClass::RateLimited,
        // "Not found" says nothing of the request unless it was stored under the key: the address may be wrong.
        404 | 405 if !marks.stored() => AnswerClass::Config,
        400..=499 => AnswerClass::Rejected,
        _ => AnswerClass::Unclear,
    }
}

/// The content of an RFC 8941 string, or the value itself. Keys hold nothing that such a string escapes.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}
