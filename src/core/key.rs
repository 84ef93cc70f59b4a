//! The idempotency key, and the other names that are made once with an intent.

use core::cmp::Ordering;
use core::fmt;
use std::rc::Rc;

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::contract::{KeyFormat, KeyRules};
use super::json::json;

/// 128 random bits from the platform's generator. The only source of keys and ids.
#[derive(Clone, Copy)]
pub struct RandomBits(pub [u8; 16]);

impl fmt::Debug for RandomBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RandomBits(..)")
    }
}

/// An idempotency key as it travels: rendered once, stored with the intent, never regenerated (law 2).
/// Its `Debug` is the hash (law 11).
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Rc<String>);

json!(text Key);

impl Key {
    /// Renders random bits as a contract asks: 122 of them in a UUID, all 128 otherwise. Nothing is ever cut off; a
    /// contract whose keys could not hold them is refused before (`key.maxLength`).
    pub fn render(bits: RandomBits, rules: &KeyRules) -> Self {
        let alphabet = rules.alphabet.as_deref().unwrap_or_default();
        Self(match rules.format {
            KeyFormat::Uuid => uuid(bits).into(),
            KeyFormat::Hex32 => hex(&bits.0).into(),
            KeyFormat::Alphabet => digits(bits, alphabet.as_bytes(), rules.min_length.unwrap_or(0)).into(),
        })
    }

    /// How many digits of a base hold 128 bits.
    pub fn digits(base: usize) -> u32 {
        let mut left = [u8::MAX; 16];
        let mut count = 0;
        while base > 1 && left != [0; 16] {
            divide(&mut left, base);
            count += 1;
        }
        count
    }

    /// The key itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What stays of a key in a tombstone: its hash, which no server takes for it.
    #[must_use]
    pub fn erased(&self) -> Self {
        match self.hash_only() {
            Some(_) => self.clone(),
            None => Self([ERASED, &self.hash()].concat().into()),
        }
    }

    /// Is this text the key? Asked of what a server repeats; an erased key still knows itself.
    pub fn is(&self, text: &str) -> bool {
        match self.hash_only() {
            Some(hash) => hash == hex(Sha256::digest(text.as_bytes()).as_slice()),
            None => *self.0 == text,
        }
    }

    /// Another key for every retry: what no client may do, so that a demonstration can be seen to fail.
    #[cfg(any(feature = "break-new-key", feature = "deliberate-bugs"))]
    pub fn broken_for_retry(&self, attempt: u32) -> Self {
        if attempt == 1 { self.clone() } else { Self(format!("{}-{attempt}", self.0).into()) }
    }

    /// The first 12 hex digits of SHA-256 of the key: what may appear in logs.
    pub fn short_hash(&self) -> String {
        self.hash().chars().take(12).collect()
    }

    fn hash(&self) -> String {
        match self.hash_only() {
            Some(hash) => hash.to_owned(),
            None => hex(Sha256::digest(self.0.as_bytes()).as_slice()),
        }
    }

    fn hash_only(&self) -> Option<&str> {
        self.0.strip_prefix(ERASED)
    }
}

/// In front of the hash of a key that was erased.
const ERASED: &str = "sha256:";

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(#{})", self.short_hash())
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub Rc<String>);

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                compare(&self.0, &other.0)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        json!(text $name);

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::from(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Names an intent; made with it, independent of the key.
    IntentId
);
name!(
    /// Names one realm: one loaded copy of the engine, in memory only (P8.4).
    RealmId
);
name!(
    /// Names one claim or one recorded fact, so that a change whose fate is unknown can be re-run (P1.1).
    ChangeId
);
name!(
    /// SHA-256 of a scope: what is stored in its place.
    ScopeHash
);
name!(
    /// SHA-256 of a contract's canonical text.
    ContractHash
);
name!(
    /// SHA-256 of what makes a request the same request.
    Fingerprint
);

/// Mostly a name is compared with itself.
fn compare(one: &Rc<String>, other: &Rc<String>) -> Ordering {
    if Rc::ptr_eq(one, other) { Ordering::Equal } else { one.cmp(other) }
}

impl IntentId {
    pub fn new(bits: RandomBits) -> Self {
        Self(uuid(bits).into())
    }
}

impl RealmId {
    pub fn new(bits: RandomBits) -> Self {
        Self(hex(&bits.0).into())
    }
}

impl ScopeHash {
    pub fn of(scope: &str) -> Self {
        Self(hash_hex(&[b"intento/scope/1", scope.as_bytes()]))
    }
}

impl ContractHash {
    pub fn of(canonical_text: &str) -> Self {
        Self(hash_hex(&[b"intento/contract/1", canonical_text.as_bytes()]))
    }
}

impl Fingerprint {
    /// Over method, URL, operation, media type and canonical body. The key is not in it (design section 1).
    pub fn of(method: &str, url: &str, operation: &str, media_type: &str, canonical_body: Option<&[u8]>) -> Self {
        let presence: &[u8] = if canonical_body.is_some() { b"body" } else { b"none" };
        Self(hash_hex(&[
            b"intento/fingerprint/1",
            method.as_bytes(),
            url.as_bytes(),
            operation.as_bytes(),
            media_type.as_bytes(),
            presence,
            canonical_body.unwrap_or_default(),
        ]))
    }
}

/// SHA-256 over length-prefixed parts: no two lists of parts share an input.
fn hash_hex(parts: &[&[u8]]) -> Rc<String> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex(hash.finalize().as_slice()).into()
}

/// The bits as a number in the alphabet's base, its first character filling up to `least` in front.
fn digits(bits: RandomBits, alphabet: &[u8], least: u32) -> String {
    let mut left = bits.0;
    let count = Key::digits(alphabet.len()).max(least);
    let reversed: Vec<char> = (0..count)
        .filter_map(|_| alphabet.get(divide(&mut left, alphabet.len())))
        .map(|digit| char::from(*digit))
        .collect();
    reversed.into_iter().rev().collect()
}

/// Divides a number, its first byte the greatest; says what remains.
fn divide(number: &mut [u8; 16], by: usize) -> usize {
    number.iter_mut().fold(0, |above, byte| {
        let part = above << 8 | usize::from(*byte);
        *byte = part.checked_div(by).unwrap_or(0) as u8;
        part.checked_rem(by).unwrap_or(0)
    })
}

fn uuid(bits: RandomBits) -> String {
    let uuid = Builder::from_random_bytes(bits.0).into_uuid();
    uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()).to_owned()
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| DIGITS.get(usize::from(digit))).collect()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    fn rules(format: KeyFormat) -> KeyRules {
        KeyRules { format, alphabet: None, min_length: None, max_length: None }
    }

    #[test]
    fn a_key_is_a_version_4_uuid_of_its_bits() {
        let key = Key::render(RandomBits([0xab; 16]), &rules(KeyFormat::Uuid));
        assert_eq!(key.expose(), "abababab-abab-4bab-abab-abababababab");
        assert_eq!(Key::render(RandomBits([0x0f; 16]), &rules(KeyFormat::Hex32)).expose(), "0f".repeat(16));
    }

    #[test]
    fn a_key_in_an_alphabet_holds_all_its_bits_and_is_as_long_as_asked() {
        let alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let pix =
            |min_length| KeyRules { alphabet: Some(alphabet.to_owned()), min_length, ..rules(KeyFormat::Alphabet) };
        let all = Key::render(RandomBits([0xff; 16]), &pix(None));
        // 2^128 - 1 in base 62.
        assert_eq!(all.expose(), "7n42DGM5Tflk9n8mt7Fhc7");
        assert_eq!(Key::render(RandomBits([0xff; 16]), &pix(Some(26))).expose(), "00007n42DGM5Tflk9n8mt7Fhc7");
        assert_eq!(Key::render(RandomBits([0; 16]), &pix(Some(26))).expose(), "0".repeat(26));
        assert_eq!([Key::digits(2), Key::digits(10), Key::digits(16), Key::digits(62)], [128, 39, 32, 22]);
    }

    #[test]
    fn law_11_debug_never_shows_a_key() {
        let key = Key::render(RandomBits([7; 16]), &rules(KeyFormat::Uuid));
        assert!(!format!("{key:?}").contains(key.expose()));
        assert!(format!("{key:?}").contains(&key.short_hash()));
    }

    /// As a server's log makes it: `printf %s "$key" | sha256sum | cut -c1-12`.
    #[test]
    fn a_short_hash_is_that_of_the_bare_key() {
        assert_eq!(Key("68fb2296-14c9-4cba-8e91-92027ee5d721".to_owned().into()).short_hash(), "a22ecb52e148");
    }

    #[test]
    fn an_erased_key_is_its_hash_and_knows_itself() {
        let key = Key::render(RandomBits([7; 16]), &rules(KeyFormat::Uuid));
        let erased = key.erased();
        assert!(!erased.expose().contains(key.expose()));
        assert_eq!((erased.short_hash(), erased.erased()), (key.short_hash(), erased.clone()));
        assert!(erased.is(key.expose()) && !erased.is(erased.expose()) && !erased.is("another"));
        assert!(key.is(key.expose()) && !key.is("another"));
    }

    #[test]
    fn a_fingerprint_separates_its_parts() {
        let base = Fingerprint::of("POST", "https://a/b", "pay", "application/json", Some(b"{}"));
        for other in [
            Fingerprint::of("PUT", "https://a/b", "pay", "application/json", Some(b"{}")),
            Fingerprint::of("POST", "https://a/bp", "ay", "application/json", Some(b"{}")),
            Fingerprint::of("POST", "https://a/b", "pay", "application/json", Some(b"")),
            Fingerprint::of("POST", "https://a/b", "pay", "application/json", None),
        ] {
            assert_ne!(base, other);
        }
        assert_ne!(Fingerprint::of("POST", "u", "o", "", Some(b"")), Fingerprint::of("POST", "u", "o", "", None),);
    }
}
