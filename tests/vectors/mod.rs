//! Golden vectors of the contracts that ship: what each answer of a provider comes to, read at the level of `apply`.
//!
//! Shared by the host, which resolves an answer's facts with `serde_json`, and by the browser, where the fetch adapter
//! does. The runner is given that step and decides nothing about it.

#![allow(dead_code, unreachable_pub, reason = "the host and the browser each use their part")]

pub mod bench;
pub mod facts;
#[cfg(not(target_arch = "wasm32"))]
pub mod pages;
pub mod vector;

use intento::core::contract::{Contract, Fault, Observation, find};
use intento::core::intent::IntentRecord;
use intento::core::json::{FromJson, Misread, ToJson, from_text, to_text};
use serde_json::{Map, Value};

use bench::{Bench, Seen, Told};
use vector::{Kind, Reply, Then, Vector, Vectors, Wire, filled};

/// A contract as it ships, and its vectors.
#[derive(Clone, Copy)]
pub struct Shipped {
    pub id: &'static str,
    pub contract: &'static str,
    pub vectors: &'static str,
}

impl std::fmt::Debug for Shipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

macro_rules! shipped {
    ($($id:literal),* $(,)?) => {
        &[$(Shipped {
            id: $id,
            contract: include_str!(concat!("../../contracts/", $id, ".json")),
            vectors: include_str!(concat!("../contracts/", $id, ".json")),
        }),*]
    };
}

/// Every contract that ships.
pub const SHIPPED: &[Shipped] = shipped!(
    "adyen",
    "amazon-pay",
    "azure-repeatability",
    "braintree",
    "generic",
    "gocardless",
    "google-aip",
    "ietf",
    "mollie",
    "none",
    "openfinance-br",
    "paypal",
    "pix",
    "square",
    "stripe",
    "stripe-v2",
);

impl Shipped {
    pub fn contract(&self) -> Contract {
        from_text(self.contract).unwrap_or_else(|error| panic!("contracts/{}.json: {error:?}", self.id))
    }

    pub fn vectors(&self) -> Vec<Vector> {
        let vectors: Vectors = serde_json::from_str(self.vectors)
            .unwrap_or_else(|error| panic!("tests/contracts/{}.json: {error}", self.id));
        assert_eq!(vectors.contract, self.id, "the vectors name their contract");
        vectors.vectors
    }
}

/// What a run of all vectors came to.
#[derive(Debug, Default)]
pub struct Report {
    pub total: usize,
    /// One line for each vector that failed.
    pub failures: Vec<String>,
}

impl Report {
    pub fn passed(&self) -> usize {
        self.total - self.failures.len()
    }
}

/// Runs every vector of every contract. `bring` turns an answer into what an attempt under this contract would bring.
pub async fn run_all(bring: impl AsyncFn(&Contract, &Reply) -> Observation) -> Report {
    let mut report = Report::default();
    for shipped in SHIPPED {
        for vector in shipped.vectors() {
            report.total += 1;
            if let Err(why) = run(&shipped.contract(), shipped.contract, &vector, &bring).await {
                report.failures.push(format!("{}: {}: {why}", shipped.id, vector.name));
            }
        }
    }
    report
}

/// Runs one vector; the error says what came instead. `text` is the contract as it was written.
pub async fn run(
    contract: &Contract,
    text: &str,
    vector: &Vector,
    bring: &impl AsyncFn(&Contract, &Reply) -> Observation,
) -> Result<(), String> {
    match vector.kind()? {
        Kind::Verdict(then) => verdict(contract, vector, then, bring).await,
        Kind::Wire(wire) => on_the_wire(contract, vector, wire),
        Kind::NotSubmitted(code) => match Bench::open(contract, vector) {
            Ok(_) => Err("it was submitted".to_owned()),
            Err(error) => same("error", code, error.code.as_str()),
        },
        Kind::Refused { change, field } => refused(text, change, field),
        Kind::Lookup { answer, finding } => {
            let bench = opened(contract, vector)?;
            let observation = bring(contract, &answer.with_key(bench.key())).await;
            same("finding", &Value::from(finding), &as_json(find(contract, &observation)))
        }
    }
}

fn opened(contract: &Contract, vector: &Vector) -> Result<Bench, String> {
    Bench::open(contract, vector).map_err(|error| format!("not submitted: {}", error.code.as_str()))
}

async fn verdict(
    contract: &Contract,
    vector: &Vector,
    then: &Then,
    bring: &impl AsyncFn(&Contract, &Reply) -> Observation,
) -> Result<(), String> {
    let mut bench = opened(contract, vector)?;
    let mut last = None;
    for step in vector.steps() {
        if let Some(told) = last {
            return Err(format!("no attempt was left to take: {told:?}"));
        }
        let told = match (step.answer, step.fault) {
            (Some(reply), _) => {
                let reply = reply.with_key(bench.key());
                Told::Facts(bring(contract, &reply).await, reply.text())
            }
            (None, Some(fault)) => Told::Facts(Observation::Fault(fault_named(&fault)?), String::new()),
            (None, None) => Told::Nothing,
        };
        bench.wait(step.after_ms);
        let seen = bench.attempt(told)?;
        if seen.intent.has_ended() {
            last = Some(seen.intent.state.clone());
        }
        bench.seen = Some(seen);
    }
    let seen = bench.seen.take().ok_or("it has neither a history nor an answer")?;
    compare(&seen, then)
}

fn fault_named(name: &str) -> Result<Fault, String> {
    of_json(&Value::from(name)).map_err(|_| format!("no such fault: {name}"))
}

fn compare(seen: &Seen, then: &Then) -> Result<(), String> {
    let state = as_json(&seen.intent.state);
    let detail = |member: &str| match &state {
        Value::Object(object) => {
            object.values().next().and_then(|inner| inner.get(member)).cloned().unwrap_or_default()
        }
        _ => Value::Null,
    };
    then.complete()?;
    same("state", &then.state, seen.intent.state.name())?;
    let wanted = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    same("cause", &wanted(&then.cause), &detail("cause"))?;
    same("reason", &wanted(&then.reason), &detail("reason"))?;
    same("replay", &wanted(&then.replay), &detail("replay"))?;
    if then.evidence.is_some() {
        same("evidence", &wanted(&then.evidence), &detail("evidence"))?;
    }
    same("safeToReplace", &then.safe_to_replace, &seen.intent.state.safe_to_replace())?;
    same("resource", &then.resource, &seen.resource)?;
    same("gated", &then.gated, &seen.gated)?;
    let waits_ms = seen.floor_ms.unwrap_or(0);
    same("waitsAtLeastMs", &then.waits_at_least_ms.unwrap_or(0), &waits_ms)
}

fn on_the_wire(contract: &Contract, vector: &Vector, wire: &Wire) -> Result<(), String> {
    let bench = opened(contract, vector)?;
    let intent = bench.intent()?;
    let key = bench.key();
    let headers: Map<String, Value> =
        intent.carrier.header(&intent.key).into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    if let Some(wanted) = &wire.header {
        same("header", &filled(wanted, key), &Value::Object(headers))?;
    }
    if let Some(wanted) = &wire.url {
        same("url", &wanted.replace("{key}", key), &intent.request.url)?;
    }
    if let Some(wanted) = &wire.body {
        let body: Value = serde_json::from_str(&bench.body()?).map_err(|_| "the body is no JSON".to_owned())?;
        same("body", &filled(wanted, key), &body)?;
    }
    if let Some(wanted) = &wire.first_sent {
        same("firstSent", &Some(wanted.clone()), &intent.carrier.first_sent)?;
    }
    if let Some(wanted) = &wire.key {
        same("key.length", &wanted.length, &key.len())?;
        same("key.of", &true, &key.chars().all(|character| wanted.of.contains(character)))?;
    }
    Ok(())
}

/// A change that would make the contract unsafe is refused, and names its field.
fn refused(text: &str, change: &Value, field: &str) -> Result<(), String> {
    let mut changed: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    merge(&mut changed, change);
    let changed: Contract = of_json(&changed).map_err(|error| format!("not even a contract: {error:?}"))?;
    match changed.validate() {
        Ok(()) => Err("it was not refused".to_owned()),
        Err(fault) => same("field", field, fault.field),
    }
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (name, value) in change {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

pub(crate) fn as_json(value: impl ToJson) -> Value {
    serde_json::from_str(&to_text(&value)).unwrap_or_default()
}

pub(crate) fn of_json<T: FromJson>(value: &Value) -> Result<T, Misread> {
    from_text(&value.to_string())
}

fn same<T: PartialEq<U> + std::fmt::Debug + ?Sized, U: std::fmt::Debug + ?Sized>(
    what: &str,
    wanted: &T,
    found: &U,
) -> Result<(), String> {
    if wanted == found { Ok(()) } else { Err(format!("{what}: wanted {wanted:?}, found {found:?}")) }
}

/// What an intent's record says, for messages.
pub(crate) fn state_of(intent: &IntentRecord) -> String {
    as_json(&intent.state).to_string()
}
