//! From text to a tree (RFC 8259). Malformed text is an error, never a panic.

use crate::core::limits::JSON_DEPTH_MAX;

/// One JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(u64),
    /// A fraction, an exponent, a number below zero or beyond 64 bits: nothing here holds one.
    OtherNumber,
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Reads one document; `None` where it is malformed, nested deeper than [`JSON_DEPTH_MAX`], or followed by anything.
pub fn parse(text: &str) -> Option<Value> {
    let mut parser = Parser { rest: text };
    let value = parser.value(JSON_DEPTH_MAX)?;
    parser.skip_space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match self.rest.bytes().next()? {
            b'"' => self.string().map(Value::Text),
            b'[' => {
                let mut items = Vec::new();
                self.list(b']', |parser| {
                    items.push(parser.value(depth)?);
                    Some(())
                })?;
                Some(Value::List(items))
            }
            b'{' => {
                let mut members = Vec::new();
                self.list(b'}', |parser| {
                    parser.skip_space();
                    let name = parser.string()?;
                    parser.skip_space();
                    parser.eat(b':').then_some(())?;
                    members.push((name, parser.value(depth)?));
                    Some(())
                })?;
                Some(Value::Object(members))
            }
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            _ => self.number(),
        }
    }

    /// Items between brackets, separated by commas.
    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip(1);
        self.skip_space();
        if self.eat(close) {
            return Some(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if self.eat(close) {
                return Some(());
            }
            self.eat(b',').then_some(())?;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let part_of_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        let text = self.take_while(part_of_number);
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
        if whole == 0 || (whole > 1 && digits.starts_with('0')) {
            return None;
        }
        if whole < digits.len() {
            return is_fraction(digits.get(whole..)?).then_some(Value::OtherNumber);
        }
        Some(if negative { Value::OtherNumber } else { digits.parse().map_or(Value::OtherNumber, Value::Integer) })
    }

    fn string(&mut self) -> Option<String> {
        self.eat(b'"').then_some(())?;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\'));
            if self.eat(b'"') {
                return Some(text);
            }
            self.eat(b'\\').then_some(())?;
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Option<char> {
        let escaped = self.rest.bytes().next()?;
        // A backslash before anything but ASCII is malformed; `skip` would stop inside a character.
        escaped.is_ascii().then(|| self.skip(1))?;
        Some(match escaped {
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            _ => return None,
        })
    }

    /// Four hex digits, or two times four for a surrogate pair. A lone surrogate is no character.
    fn code_point(&mut self) -> Option<char> {
        let high = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        self.rest = self.rest.strip_prefix("\\u")?;
        let low = self.code_unit()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low)
    }

    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        self.skip(4);
        digits.chars().try_fold(0, |unit, digit| Some(unit << 4 | digit.to_digit(16)?))
    }

    fn skip_space(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.rest.bytes().next() == Some(byte);
        if is_next {
            self.skip(1);
        }
        is_next
    }

    /// Skips ASCII that was looked at.
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The bytes up to the first that is not `wanted`, which must be ASCII.
    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &str {
        let end = self.rest.bytes().position(|byte| !wanted(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        taken
    }
}

/// What may follow the whole part of a number.
fn is_fraction(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (fraction, exponent) = match text.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (text, None),
    };
    let exponent = exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    exponent && (fraction.is_empty() || fraction.strip_prefix('.').is_some_and(digits))
}
