//! Valid documents, damaged: in their structure, in their bytes, or in both.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// How deep the deepest nesting is that damage makes by itself.
const NESTED_MAX: usize = 200;
/// How long the longest string is that damage makes by itself.
const LONG: usize = 70_000;

/// What may have become of a document.
pub(crate) fn damaged(documents: impl Strategy<Value = String> + Clone + 'static) -> BoxedStrategy<String> {
    let hits = || prop::collection::vec(hit(), 1..5);
    let flips = || prop::collection::vec(flip(), 1..5);
    prop_oneof![
        8 => (documents.clone(), hits()).prop_map(|(text, hits)| restructure(&text, &hits)),
        4 => (documents.clone(), flips()).prop_map(|(text, flips)| overwrite(&text, &flips)),
        1 => (documents, hits(), flips()).prop_map(|(text, hits, flips)| overwrite(&restructure(&text, &hits), &flips)),
        1 => any::<String>(),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
    .boxed()
}

/// A text of which one byte is another.
pub(crate) fn flipped(text: &str, at: Index, bits: u8) -> String {
    overwrite(text, &[Flip::Bits(at, bits)])
}

/// JSON texts that stand at an edge of what is a value, or of what a value may be.
pub(crate) fn token() -> impl Strategy<Value = String> {
    let plain = vec![
        "0",
        "1",
        "-1",
        "-0",
        "1.0",
        "1e3",
        "65535",
        "65536",
        "4294967295",
        "4294967296",
        "9007199254740991",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "01",
        "NaN",
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[[]]",
        "[null]",
        r#"{"":0}"#,
        r#""""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud83d\ude00""#,
        r#""\u0000""#,
        r#""\u012B""#,
        "\"\u{80}\"",
        "\"\u{0}\"",
        "",
    ];
    prop_oneof![
        8 => prop::sample::select(plain).prop_map(str::to_owned),
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => any::<String>().prop_map(|text| Value::from(text).to_string()),
        1 => (1..NESTED_MAX).prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
        1 => (1..LONG).prop_map(|length| format!("\"{}\"", "é".repeat(length / 2))),
    ]
}

/// A document as text: what no [`Value`] holds, a member twice or half a character, can stand in it.
#[derive(Clone, Debug)]
enum Doc {
    Token(String),
    List(Vec<Doc>),
    /// Names are tokens, too.
    Object(Vec<(String, Doc)>),
}

impl Doc {
    fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(members) => {
                let named =
                    |(name, value): (&String, &Value)| (Value::from(name.as_str()).to_string(), Self::of(value));
                Self::Object(members.iter().map(named).collect())
            }
            scalar => Self::Token(scalar.to_string()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Token(token) => token.clone(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::text).collect::<Vec<_>>().join(",")),
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| format!("{name}:{}", value.text()));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }

    fn children(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Token(_) => Vec::new(),
            Self::List(items) => items.iter_mut().collect(),
            Self::Object(members) => members.iter_mut().map(|(_, value)| value).collect(),
        }
    }

    fn count(&mut self, wanted: fn(&Self) -> bool) -> usize {
        usize::from(wanted(self)) + self.children().into_iter().map(|child| child.count(wanted)).sum::<usize>()
    }

    /// The part of that number among those that are wanted.
    fn part(&mut self, number: &mut usize, wanted: fn(&Self) -> bool) -> Option<&mut Self> {
        if wanted(self) {
            if *number == 0 {
                return Some(self);
            }
            *number -= 1;
        }
        self.children().into_iter().find_map(|child| child.part(number, wanted))
    }

    fn pick(&mut self, at: Index, wanted: fn(&Self) -> bool) -> Option<&mut Self> {
        let count = self.count(wanted);
        let mut number = if count == 0 { return None } else { at.index(count) };
        self.part(&mut number, wanted)
    }

    fn members(&mut self, at: Index) -> Option<&mut Vec<(String, Self)>> {
        match self.pick(at, |doc| matches!(doc, Self::Object(members) if !members.is_empty()))? {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

/// One change of the structure.
#[derive(Clone, Debug)]
enum Hit {
    /// Another value in the place of one.
    Replace(Index, String),
    /// One part of the document in the place of another.
    Transplant(Index, Index),
    Drop(Index, Index),
    /// A member once more, with another value.
    Repeat(Index, Index, String),
    /// A member under the name of another, or under one that nobody knows.
    Rename(Index, Index, Option<Index>),
    Rotate(Index, Index),
}

fn hit() -> impl Strategy<Value = Hit> {
    use Hit::*;
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), token()).prop_map(|(at, token)| Replace(at, token)),
        3 => (at(), at()).prop_map(|(at, from)| Transplant(at, from)),
        1 => (at(), at()).prop_map(|(at, member)| Drop(at, member)),
        1 => (at(), at(), token()).prop_map(|(at, member, token)| Repeat(at, member, token)),
        1 => (at(), at(), prop::option::of(at())).prop_map(|(at, member, as_is)| Rename(at, member, as_is)),
        1 => (at(), at()).prop_map(|(at, by)| Rotate(at, by)),
    ]
}

fn restructure(text: &str, hits: &[Hit]) -> String {
    let mut doc = Doc::of(&serde_json::from_str(text).unwrap());
    for hit in hits {
        strike(&mut doc, hit);
    }
    doc.text()
}

fn strike(doc: &mut Doc, hit: &Hit) {
    let any = |_: &Doc| true;
    match hit {
        Hit::Replace(at, token) => {
            if let Some(part) = doc.pick(*at, any) {
                *part = Doc::Token(token.clone());
            }
        }
        Hit::Transplant(at, from) => {
            let donor = doc.pick(*from, any).map(|part| part.clone());
            if let (Some(donor), Some(part)) = (donor, doc.pick(*at, any)) {
                *part = donor;
            }
        }
        Hit::Drop(at, member) => {
            if let Some(members) = doc.members(*at) {
                members.remove(member.index(members.len()));
            }
        }
        Hit::Repeat(at, member, token) => {
            if let Some(members) = doc.members(*at) {
                let name = members[member.index(members.len())].0.clone();
                members.push((name, Doc::Token(token.clone())));
            }
        }
        Hit::Rename(at, member, as_is) => {
            if let Some(members) = doc.members(*at) {
                let taken = as_is.map(|other| members[other.index(members.len())].0.clone());
                let place = member.index(members.len());
                members[place].0 = taken.unwrap_or_else(|| r#""\ud800 nobody's""#.to_owned());
            }
        }
        Hit::Rotate(at, by) => {
            if let Some(members) = doc.members(*at) {
                let by = by.index(members.len());
                members.rotate_left(by);
            }
        }
    }
}

/// One change of the bytes.
#[derive(Clone, Debug)]
enum Flip {
    /// Some bits of a byte.
    Bits(Index, u8),
    Cut(Index),
    Insert(Index, u8),
}

fn flip() -> impl Strategy<Value = Flip> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), 1_u8..).prop_map(|(at, bits)| Flip::Bits(at, bits)),
        1 => at().prop_map(Flip::Cut),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Flip::Insert(at, byte)),
    ]
}

/// Bytes that are no text any more are read as the platform reads them.
fn overwrite(text: &str, flips: &[Flip]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for flip in flips {
        match flip {
            _ if bytes.is_empty() => {}
            Flip::Bits(at, bits) => {
                let place = at.index(bytes.len());
                bytes[place] ^= bits;
            }
            Flip::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Flip::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
