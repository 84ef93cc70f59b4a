//! Canonical JSON (RFC 8785) is the same text in the browser as on a host: on the RFC's own vectors, and on values
//! that nobody thought of. A server can compute the fingerprint of a body that a page has sent.

use anyhow::{Context, Result};
use e2e::bench::Bench;
use serde_json::{Map, Number, Value, json};
use serde_json_canonicalizer::to_string;

const VECTORS: &str = include_str!("../../../canonical-json/rfc8785.json");
/// Values that are made up.
const FUZZED: u64 = 4_000;

/// The page's canonical text of each of these JSON texts; `null` where it refuses one.
const IN_PAGE: &str = "const { canonicalJson } = await import('/pkg/canonical-json.js');
    const of = (text) => { try { return canonicalJson(JSON.parse(text)); } catch { return null; } };
    return args[0].map(of)";

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_and_the_host_agree_on_the_vectors_of_the_rfc() -> Result<()> {
    let vectors: Value = serde_json::from_str(VECTORS)?;
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;

    let documents: Vec<(String, String)> = serde_json::from_value(vectors["documents"].clone())?;
    let texts: Vec<&String> = documents.iter().map(|(text, _)| text).collect();
    let told: Vec<Option<String>> = page.call(IN_PAGE, json!([texts])).await?;
    for ((text, wanted), told) in documents.iter().zip(told) {
        assert_eq!(told.as_ref(), Some(wanted), "the browser");
        assert_eq!(&to_string(&serde_json::from_str::<Value>(text)?)?, wanted, "the host");
    }

    let numbers: Vec<(String, String)> = serde_json::from_value(vectors["numbers"].clone())?;
    let refused: Vec<String> = serde_json::from_value(vectors["refused"].clone())?;
    let bits: Vec<&String> = numbers.iter().map(|(bits, _)| bits).chain(&refused).collect();
    let script = "const { canonicalJson } = await import('/pkg/canonical-json.js');
        const double = (bits) => new DataView(new BigUint64Array([BigInt('0x' + bits)]).buffer).getFloat64(0, true);
        const of = (bits) => { try { return canonicalJson(double(bits)); } catch { return null; } };
        return args[0].map(of)";
    let told: Vec<Option<String>> = page.call(script, json!([bits])).await?;
    let wanted = numbers.iter().map(|(_, text)| Some(text.clone())).chain(refused.iter().map(|_| None));
    assert_eq!(told, wanted.collect::<Vec<_>>(), "every finite double has a text, and nothing else has");
    for (bits, wanted) in &numbers {
        let number = Number::from_f64(f64::from_bits(u64::from_str_radix(bits, 16)?)).context("a finite double")?;
        assert_eq!(&to_string(&Value::Number(number))?, wanted, "the host");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_and_the_host_agree_on_values_that_nobody_thought_of() -> Result<()> {
    let mut dice = Dice(0x0008_7858_785c_afe5);
    let values: Vec<Value> = (0..FUZZED).map(|_| dice.value(0)).collect();
    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let told: Vec<Option<String>> = page.call(IN_PAGE, json!([texts])).await?;
    for (value, told) in values.iter().zip(told) {
        assert_eq!(told, Some(to_string(value)?), "{value}");
    }
    Ok(())
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.below(if depth < 3 { 8 } else { 6 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => self.double(),
            // Money, and other numbers of everyday.
            3 => json!((self.below(2_000_000) as f64 - 1_000_000.0) / 100.0),
            4 => json!(self.bits() as i64 >> 11),
            5 => Value::String(self.text()),
            6 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => Value::Object((0..self.below(5)).map(|_| (self.text(), self.value(depth + 1))).collect::<Map<_, _>>()),
        }
    }

    /// Any finite double, as likely subnormal or huge as not.
    fn double(&mut self) -> Value {
        loop {
            if let Some(number) = Number::from_f64(f64::from_bits(self.bits())) {
                return Value::Number(number);
            }
        }
    }

    fn text(&mut self) -> String {
        let length = self.below(6);
        let any = |dice: &mut Self| match dice.below(4) {
            0 => char::from(dice.below(0x80) as u8),
            1 => char::from_u32(0xff00 + dice.below(0x100) as u32).unwrap_or('x'),
            2 => char::from_u32(0x1_f600 + dice.below(0x50) as u32).unwrap_or('x'),
            _ => char::from_u32(dice.below(0x11_0000) as u32).unwrap_or('\u{2028}'),
        };
        (0..length).map(|_| any(self)).collect()
    }
}
