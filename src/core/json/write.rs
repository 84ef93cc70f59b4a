//! From values to text, without spaces.

use super::ToJson;

/// JSON text as it grows. What is opened must be closed.
#[derive(Debug, Default)]
pub struct Writer(String);

impl Writer {
    pub fn finish(self) -> String {
        self.0
    }

    /// Text that is JSON by itself: a number, `null`, a bracket.
    pub fn plain(&mut self, json: &str) {
        // A value follows an opening bracket or a name at once, and another value after a comma.
        if !matches!(self.0.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(',');
        }
        self.0.push_str(json);
    }

    pub fn integer(&mut self, number: u64) {
        self.plain(&number.to_string());
    }

    pub fn close(&mut self, bracket: char) {
        self.0.push(bracket);
    }

    pub fn string(&mut self, text: &str) {
        self.plain("\"");
        let mut rest = text;
        while let Some(end) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            let (plain, special) = rest.split_at_checked(end).unwrap_or_default();
            let mut special = special.chars();
            self.0.push_str(plain);
            self.escape(special.next().unwrap_or_default());
            rest = special.as_str();
        }
        self.0.push_str(rest);
        self.0.push('"');
    }

    fn escape(&mut self, special: char) {
        if special >= ' ' {
            self.0.push('\\');
            self.0.push(special);
            return;
        }
        self.0.push_str("\\u00");
        for shift in [4, 0] {
            self.0.extend(char::from_digit((u32::from(special) >> shift) & 15, 16));
        }
    }

    pub fn member<T: ToJson + ?Sized>(&mut self, name: &str, value: &T) {
        self.name(name);
        value.write(self);
    }

    fn name(&mut self, name: &str) {
        self.string(name);
        self.0.push(':');
    }

    /// A variant with members: an object whose one member is named after it.
    pub fn open_variant(&mut self, name: &str) {
        self.plain("{");
        self.name(name);
        self.plain("{");
    }

    pub fn close_variant(&mut self) {
        self.0.push_str("}}");
    }
}
