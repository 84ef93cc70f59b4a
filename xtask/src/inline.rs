//! The module as text, for the default entry: every bundler can carry it, no server must serve it.
//!
//! A byte is one character, or two where it is rare, and always the same ones, so that what repeats in the module
//! repeats in the text and compresses as well. In base64 it does not: there the same bytes look different in three
//! positions, which costs a quarter after compression.

/// Printable ASCII but what a string, a template or markup would have to escape. In its own order, and with vowels for
/// shifts: Brotli foretells a character by the class of the one before it, digit, capital, vowel or consonant, and in
/// this order what is about as frequent is of one class. That is 2% of the whole.
const ALPHABET: &str = " !#%()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_bcdfghijklmnopqrstuvwxyz{|}~ae";

/// The last two characters shift the next one to the second and third row of bytes.
const SHIFTS: usize = 2;
const ROW: usize = ALPHABET.len() - SHIFTS;
const _: () = assert!(ROW * (SHIFTS + 1) >= 256, "every byte has a place");

/// A JavaScript module with one export, `wasmBytes()`.
pub(crate) fn module(wasm: &[u8]) -> String {
    let order = by_frequency(wasm);
    let row_of: String = order.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = encode(wasm, &order);
    let length = wasm.len();
    format!(
        "const text = '{text}';\n\
         const alphabet = '{ALPHABET}';\n\
         // All bytes, the most frequent first: {ROW} to a row.\n\
         const bytes = '{row_of}';\n\n\
         export function wasmBytes() {{\n  \
           const places = new Map([...alphabet].map((char, place) => [char, place]));\n  \
           const order = Uint8Array.from(bytes.match(/../g), (byte) => parseInt(byte, 16));\n  \
           const wasm = new Uint8Array({length});\n  \
           let [length, row] = [0, 0];\n  \
           for (const char of text) {{\n    \
             const place = places.get(char);\n    \
             if (place >= {ROW}) {{\n      \
               row = (place - {ROW} + 1) * {ROW};\n    \
             }} else {{\n      \
               wasm[length++] = order[row + place];\n      \
               row = 0;\n    \
             }}\n  \
           }}\n  \
           return wasm;\n\
         }}\n"
    )
}

pub(crate) const DECLARATION: &str = "/** The WebAssembly module, decoded anew at each call. */\n\
                                      export declare function wasmBytes(): Uint8Array<ArrayBuffer>;\n";

/// Every byte, the most frequent first; a permutation of all, so that any module can be encoded.
fn by_frequency(wasm: &[u8]) -> Vec<u8> {
    let mut counts = [0_usize; 256];
    wasm.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let mut order: Vec<u8> = (0..=u8::MAX).collect();
    order.sort_by_key(|byte| usize::MAX - counts[usize::from(*byte)]);
    order
}

fn encode(wasm: &[u8], order: &[u8]) -> String {
    let chars: Vec<char> = ALPHABET.chars().collect();
    let mut spelling = vec![String::new(); 256];
    for (place, byte) in order.iter().enumerate() {
        let shift = (place / ROW).checked_sub(1).map(|row| chars[ROW + row]);
        spelling[usize::from(*byte)] = shift.into_iter().chain([chars[place % ROW]]).collect();
    }
    wasm.iter().map(|byte| spelling[usize::from(*byte)].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_has_a_spelling_that_no_string_must_escape() {
        let wasm: Vec<u8> = (0..=u8::MAX).chain([7; 50]).collect();
        let order = by_frequency(&wasm);
        assert_eq!(order[0], 7);
        let text = encode(&wasm, &order);
        assert!(text.chars().all(|char| char.is_ascii_graphic() || char == ' '));
        assert!(!text.contains(['\'', '"', '`', '\\', '$', '<', '&', '\n']));
        assert_eq!(text.len(), 50 + ROW + 2 * (256 - ROW));
    }

    #[test]
    fn the_alphabet_says_nothing_twice() {
        let mut distinct: Vec<char> = ALPHABET.chars().collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ALPHABET.len());
    }
}
