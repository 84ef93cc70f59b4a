//! An answer's facts, resolved on the host as the fetch adapter does in a browser.

use intento::core::contract::{Contract, FactValue, Facts, Fault, Observation};
use intento::core::limits::POINTER_VALUES_MAX;
use intento::core::media_type::{essence, is_json};
use serde_json::Value;

use super::vector::Reply;

/// What an attempt under this contract brings that gets this answer.
pub fn observe(contract: &Contract, reply: &Reply) -> Observation {
    let media_type = reply.content_type().map(|value| essence(&value)).filter(|essence| !essence.is_empty());
    let text = reply.text();
    let document = match (&reply.decoded, &media_type) {
        (Some(decoded), _) => Some(decoded.clone()),
        (None, Some(media_type)) if is_json(media_type) && !text.is_empty() => match serde_json::from_str(&text) {
            Ok(document) => Some(document),
            // JSON that does not parse was cut off on its way.
            Err(_) => return Observation::Fault(Fault::Truncated),
        },
        _ => None,
    };
    let named = contract.fact_headers();
    let headers = reply.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let resolve = |pointer: String| {
        let values = document.as_ref().map(|document| at(document, &pointer)).unwrap_or_default();
        (!values.is_empty()).then_some((pointer, values))
    };
    Observation::Reply(Facts {
        status: reply.status,
        media_type,
        headers: headers.filter(|(name, _)| named.contains(name)).collect(),
        pointers: contract.fact_pointers().into_iter().filter_map(resolve).collect(),
        body_empty: text.is_empty(),
        document: document.is_some(),
    })
}

/// The values at a JSON pointer (RFC 6901); `*` is every element of an array and every member of an object.
pub fn at(document: &Value, pointer: &str) -> Vec<FactValue> {
    let mut found = vec![document];
    for token in pointer.split('/').skip(1) {
        found = found.into_iter().flat_map(|value| step(value, token)).collect();
    }
    found.into_iter().filter_map(fact).take(POINTER_VALUES_MAX).collect()
}

fn step<'a>(value: &'a Value, token: &str) -> Vec<&'a Value> {
    match (value, token) {
        (Value::Array(elements), "*") => elements.iter().collect(),
        (Value::Object(members), "*") => members.values().collect(),
        (Value::Array(elements), index) => {
            index.parse().ok().and_then(|index: usize| elements.get(index)).into_iter().collect()
        }
        (Value::Object(members), name) => {
            members.get(&name.replace("~1", "/").replace("~0", "~")).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn fact(value: &Value) -> Option<FactValue> {
    /// 2^53 - 1.
    const SAFE: f64 = 9_007_199_254_740_991.0;
    match value {
        Value::Null => None,
        Value::String(text) => Some(FactValue::Text(text.clone())),
        Value::Bool(truth) => Some(FactValue::Bool(*truth)),
        Value::Number(number) => Some(match number.as_f64() {
            Some(double) if double.fract() == 0.0 && double.abs() <= SAFE => FactValue::Integer(double as i64),
            _ => FactValue::Inexact,
        }),
        Value::Array(_) | Value::Object(_) => Some(FactValue::Composite),
    }
}
