//! JSON text: the one form in which values are stored and cross to JavaScript.
//!
//! A type states its form once, with `json!`. Unknown members are passed over; a missing one stands for `None`, or
//! for its default where the type says so. A member that is there twice is misread.

mod parse;
mod write;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use parse::{Value, parse};
pub use write::Writer;

/// A value that has a JSON form.
pub trait ToJson {
    fn write(&self, out: &mut Writer);
}

/// A value that JSON can hold.
pub trait FromJson: Sized {
    /// Reads a value; `None` is a missing member. What cannot be read is noted in `reader`, and some value stands in
    /// for it: reading goes on, so that no type needs a way out. [`from_text`] lets no stand-in out.
    fn read(value: Option<Value>, reader: &mut Reader) -> Self;
}

/// A document cannot be read: the member that is missing or is not what it must be, empty where the text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misread {
    pub member: &'static str,
}

pub fn to_text<T: ToJson + ?Sized>(value: &T) -> String {
    let mut out = Writer::default();
    value.write(&mut out);
    out.finish()
}

pub fn from_text<T: FromJson>(text: &str) -> Result<T, Misread> {
    read_text(text, false)
}

/// As [`from_text`], of what [`to_text`] has written: every member is there, `None` and defaults included, and a missing
/// one is misread. One whose name is damaged must not pass for one that was never set.
pub fn from_stored<T: FromJson>(text: &str) -> Result<T, Misread> {
    read_text(text, true)
}

fn read_text<T: FromJson>(text: &str, is_stored: bool) -> Result<T, Misread> {
    let (value, mut reader) = Reader::open(text, is_stored);
    let read = T::read(value, &mut reader);
    reader.fault.map_or(Ok(read), Err)
}

/// Remembers the first thing that could not be read.
#[derive(Debug)]
pub struct Reader {
    /// What is read holds all its members.
    is_stored: bool,
    member: &'static str,
    fault: Option<Misread>,
}

impl Reader {
    fn open(text: &str, is_stored: bool) -> (Option<Value>, Self) {
        let mut reader = Self { is_stored, member: "", fault: None };
        let value = parse(text);
        if value.is_none() {
            reader.misread();
        }
        (value, reader)
    }

    /// The value at hand is not what it must be.
    pub fn misread(&mut self) {
        self.fault.get_or_insert(Misread { member: self.member });
    }

    /// A member is missing that need not be there, except in what is stored.
    pub fn missing(&mut self) {
        if self.is_stored {
            self.misread();
        }
    }

    pub fn text(&mut self, value: Option<Value>) -> String {
        if let Some(Value::Text(text)) = value {
            return text;
        }
        self.misread();
        String::new()
    }

    pub fn integer(&mut self, value: Option<Value>, max: u64) -> u64 {
        if let Some(Value::Integer(number)) = value
            && number <= max
        {
            return number;
        }
        self.misread();
        0
    }

    pub fn list(&mut self, value: Option<Value>) -> Vec<Value> {
        if let Some(Value::List(items)) = value {
            return items;
        }
        self.misread();
        Vec::new()
    }

    /// The two items of a list.
    pub fn pair(&mut self, value: Option<Value>) -> (Option<Value>, Option<Value>) {
        let mut items = self.list(value);
        if items.len() != 2 {
            self.misread();
        }
        let second = items.pop();
        (items.pop(), second)
    }

    pub fn object(&mut self, value: Option<Value>) -> Members<'_> {
        if let Some(Value::Object(members)) = value {
            return Members { members, reader: self };
        }
        self.misread();
        Members { members: Vec::new(), reader: self }
    }

    /// A variant: its name alone, or an object whose one member is named after it and holds its members.
    pub fn variant(&mut self, value: Option<Value>) -> (String, Members<'_>) {
        match value {
            Some(Value::Object(mut variants)) if variants.len() == 1 => {
                let (name, value) = variants.pop().unzip();
                (name.unwrap_or_default(), self.object(value))
            }
            other => (self.text(other), Members { members: Vec::new(), reader: self }),
        }
    }

    /// The place of a word among those that it may be; 0 where it is none of them.
    pub fn word(&mut self, value: Option<Value>, words: &[&str]) -> usize {
        let text = self.text(value);
        words.iter().position(|word| *word == text).unwrap_or_else(|| {
            self.misread();
            0
        })
    }
}

/// The members of an object that is being read.
#[derive(Debug)]
pub struct Members<'a> {
    members: Vec<(String, Value)>,
    reader: &'a mut Reader,
}

impl Members<'_> {
    pub fn member<T: FromJson>(&mut self, name: &'static str) -> T {
        let value = self.take(name);
        T::read(value, self.reader)
    }

    /// As [`member`](Self::member), where a missing one stands for the default.
    pub fn member_or_default<T: FromJson + Default>(&mut self, name: &'static str) -> T {
        self.member_if_there(name).unwrap_or_else(|| {
            self.reader.missing();
            T::default()
        })
    }

    /// As [`member`](Self::member), where the form has one of several members.
    pub fn member_if_there<T: FromJson>(&mut self, name: &'static str) -> Option<T> {
        let value = self.take(name)?;
        Some(T::read(Some(value), self.reader))
    }

    /// No variant has the name that was found.
    pub fn misread(&mut self) {
        self.reader.misread();
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.reader.member = name;
        let place = |members: &[(String, Value)]| members.iter().position(|(member, _)| member == name);
        let value = self.members.swap_remove(place(&self.members)?).1;
        if place(&self.members).is_some() {
            self.misread();
        }
        Some(value)
    }
}

/// States the JSON form of a type.
///
/// - `json!(struct T { a, b = "name", c: default })`: an object. Members are named after their fields, or as given;
///   `default` stands in for a missing one. `later`: an `Option` that the first rows of the format do not know, written only
///   where there is one. `write struct` and `read struct` do one direction only.
/// - `json!(enum T { A = "a", B { x, y } = "b" })`: `"a"`, or `{"b":{"x":..,"y":..}}`.
/// - `json!(words T { A = "a", B = "b" })`: one word each, which [`as_str`] gives too.
/// - `json!(text T)`: a string, the type's only field.
///
/// [`as_str`]: crate::core::intent::Cause::as_str
macro_rules! json {
    (struct $type:ident $members:tt) => {
        json!(write struct $type $members);
        json!(read struct $type $members);
    };
    (write struct $type:ident $(<$life:lifetime>)? { $($field:ident $(: $default:ident)? $(= $name:literal)?),* $(,)? }) => {
        impl $(<$life>)? $crate::core::json::ToJson for $type $(<$life>)? {
            fn write(&self, out: &mut $crate::core::json::Writer) {
                let Self { $($field),* } = self;
                out.plain("{");
                $(json!(@write out $($default)? (json!(@name $field $($name)?)) $field);)*
                out.close('}');
            }
        }
    };
    (read struct $type:ident { $($field:ident $(: $default:ident)? $(= $name:literal)?),* $(,)? }) => {
        impl $crate::core::json::FromJson for $type {
            fn read(value: Option<$crate::core::json::Value>, reader: &mut $crate::core::json::Reader) -> Self {
                let mut members = reader.object(value);
                Self { $($field: json!(@member members $($default)? (json!(@name $field $($name)?)))),* }
            }
        }
    };
    (enum $type:ident {
        $first:ident $({ $($of_first:ident),* })? = $first_name:literal
        $(, $variant:ident $({ $($field:ident),* })? = $name:literal)* $(,)?
    }) => {
        impl $crate::core::json::ToJson for $type {
            fn write(&self, out: &mut $crate::core::json::Writer) {
                match self {
                    Self::$first $({ $($of_first),* })? => json!(@variant out $first_name $($($of_first)*)?),
                    $(Self::$variant $({ $($field),* })? => json!(@variant out $name $($($field)*)?),)*
                }
            }
        }

        impl $crate::core::json::FromJson for $type {
            #[allow(unused_mut, unused_variables, reason = "not every enum has members")]
            fn read(value: Option<$crate::core::json::Value>, reader: &mut $crate::core::json::Reader) -> Self {
                let (name, mut members) = reader.variant(value);
                match name.as_str() {
                    $($name => Self::$variant $({ $($field: members.member(stringify!($field))),* })?,)*
                    name => {
                        if name != $first_name {
                            members.misread();
                        }
                        Self::$first $({ $($of_first: members.member(stringify!($of_first))),* })?
                    }
                }
            }
        }
    };
    (words $type:ident { $first:ident = $first_name:literal $(, $variant:ident = $name:literal)* $(,)? }) => {
        json!(write words $type { $first = $first_name $(, $variant = $name)* });

        impl $crate::core::json::FromJson for $type {
            fn read(value: Option<$crate::core::json::Value>, reader: &mut $crate::core::json::Reader) -> Self {
                const ALL: &[$type] = &[$type::$first $(, $type::$variant)*];
                let place = reader.word(value, &[$first_name $(, $name)*]);
                ALL.get(place).copied().unwrap_or($type::$first)
            }
        }
    };
    (write words $type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $type {
            /// The word for it, as it is stored and shown.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl $crate::core::json::ToJson for $type {
            fn write(&self, out: &mut $crate::core::json::Writer) {
                out.string(self.as_str());
            }
        }
    };
    (text $type:ident) => {
        impl $crate::core::json::ToJson for $type {
            fn write(&self, out: &mut $crate::core::json::Writer) {
                out.string(&self.0);
            }
        }

        impl $crate::core::json::FromJson for $type {
            fn read(value: Option<$crate::core::json::Value>, reader: &mut $crate::core::json::Reader) -> Self {
                Self(reader.text(value).into())
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@write $out:ident later ($name:expr) $field:ident) => {
        if let Some(value) = $field {
            $out.member($name, value);
        }
    };
    (@write $out:ident $(default)? ($name:expr) $field:ident) => { $out.member($name, $field) };
    (@member $members:ident ($name:expr)) => { $members.member($name) };
    (@member $members:ident default ($name:expr)) => { $members.member_or_default($name) };
    (@member $members:ident later ($name:expr)) => { $members.member_if_there($name) };
    (@variant $out:ident $name:literal) => { $out.string($name) };
    (@variant $out:ident $name:literal $($field:ident)+) => {{
        $out.open_variant($name);
        $($out.member(stringify!($field), $field);)+
        $out.close_variant();
    }};
}
pub(crate) use json;

impl ToJson for bool {
    fn write(&self, out: &mut Writer) {
        out.plain(if *self { "true" } else { "false" });
    }
}

impl FromJson for bool {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        if let Some(Value::Bool(truth)) = value {
            return truth;
        }
        reader.misread();
        false
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl ToJson for $type {
            fn write(&self, out: &mut Writer) {
                out.integer(u64::from(*self));
            }
        }

        impl FromJson for $type {
            fn read(value: Option<Value>, reader: &mut Reader) -> Self {
                reader.integer(value, u64::from(Self::MAX)) as Self
            }
        }
    )*};
}
integers!(u16, u32, u64);

impl ToJson for str {
    fn write(&self, out: &mut Writer) {
        out.string(self);
    }
}

impl ToJson for String {
    fn write(&self, out: &mut Writer) {
        out.string(self);
    }
}

impl FromJson for String {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        reader.text(value)
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Some(value) => value.write(out),
            None => out.plain("null"),
        }
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        match value {
            None => {
                reader.missing();
                None
            }
            Some(Value::Null) => None,
            value => Some(T::read(value, reader)),
        }
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, out: &mut Writer) {
        out.plain("[");
        self.iter().for_each(|item| item.write(out));
        out.close(']');
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, out: &mut Writer) {
        self.as_slice().write(out);
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        let mut items = Self::new();
        for item in reader.list(value) {
            items.push(T::read(Some(item), reader));
        }
        items
    }
}

impl<A: ToJson, B: ToJson> ToJson for (A, B) {
    fn write(&self, out: &mut Writer) {
        out.plain("[");
        self.0.write(out);
        self.1.write(out);
        out.close(']');
    }
}

impl<A: FromJson, B: FromJson> FromJson for (A, B) {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        let (first, second) = reader.pair(value);
        (A::read(first, reader), B::read(second, reader))
    }
}

impl<T: ToJson> ToJson for Box<T> {
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn read(value: Option<Value>, reader: &mut Reader) -> Self {
        Box::new(T::read(value, reader))
    }
}
