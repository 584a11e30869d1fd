//! One element of a path into an object, and its two texts: in managed fields and in messages.
//!
//! Steps have a total order in which equal numbers are equal however they are written, so that sets of fields can
//! be sorted lists.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;

/// How to get from a value to one of its parts.
#[derive(Clone, Debug)]
pub enum PathElement<'a> {
    /// The field of an object, or the entry of a map.
    Field(&'a str),
    /// The element of a list whose fields have these values; the names are in order.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The element of a set that has this value.
    Item(Cow<'a, Value>),
    /// The element at this position.
    Index(i64),
}

impl<'a> PathElement<'a> {
    /// Reads the text of managed fields: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`.
    ///
    /// A text of a kind that nobody knows yet is `None`: it is passed over, so that newer writers are no error.
    pub(crate) fn read(text: &'a str) -> Result<Option<Self>, String> {
        let bad = || format!("{text:?} is no step of a path");
        let (kind, rest) = text.split_once(':').filter(|(kind, _)| kind.len() == 1).ok_or_else(bad)?;
        Ok(Some(match kind {
            "f" => PathElement::Field(rest),
            "k" => {
                let fields: serde_json::Map<String, Value> = serde_json::from_str(rest).map_err(|_| bad())?;
                let fields = fields.into_iter();
                PathElement::Key(fields.map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))).collect())
            }
            "v" => PathElement::Item(Cow::Owned(serde_json::from_str(rest).map_err(|_| bad())?)),
            "i" => PathElement::Index(rest.parse().map_err(|_| bad())?),
            _ => return Ok(None),
        }))
    }

    /// The text of managed fields.
    pub(crate) fn text(&self) -> String {
        match self {
            PathElement::Field(name) => ["f:", name].concat(),
            PathElement::Key(fields) => {
                let mut text = String::with_capacity(32);
                text.push_str("k:{");
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    write_string(&mut text, name);
                    text.push(':');
                    write_json(&mut text, value);
                }
                text.push('}');
                text
            }
            PathElement::Item(value) => {
                let mut text = "v:".to_owned();
                write_json(&mut text, value);
                text
            }
            PathElement::Index(index) => format!("i:{index}"),
        }
    }
}

/// The text of messages: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_char('[')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}={value}", if at > 0 { "," } else { "" })?;
                }
                f.write_char(']')
            }
            PathElement::Item(value) => write!(f, "[={value}]"),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Ord for PathElement<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => {
                let pairs = a.iter().zip(b);
                let mut unequal = pairs.map(|((a_name, a_value), (b_name, b_value))| {
                    a_name.cmp(b_name).then_with(|| order(a_value, b_value))
                });
                unequal.find(|ordering| ordering.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (PathElement::Item(a), PathElement::Item(b)) => order(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement<'_> {}

impl PathElement<'_> {
    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Item(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

/// A total order of values: numbers, text, truth values, lists, maps, null.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
        },
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut unequal = a.iter().zip(b).map(|(a, b)| order(a, b));
            unequal.find(|ordering| ordering.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b);
            let mut unequal = pairs.map(|((a_name, a_value), (b_name, b_value))| {
                a_name.cmp(b_name).then_with(|| order(a_value, b_value))
            });
            unequal.find(|ordering| ordering.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same, however their numbers are written.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    order(a, b).is_eq()
}

/// Writes compact JSON with the escapes of Go's library, because the text itself is stored and compared.
pub(crate) fn write_json(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_json(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_string(text, name);
                text.push(':');
                write_json(text, value);
            }
            text.push('}');
        }
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    if string.bytes().all(plain) {
        text.push_str(string);
    } else {
        for character in string.chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    text.push_str("\\u");
                    let code = u32::from(character);
                    let digit = |shift: u32| char::from_digit(code >> shift & 15, 16).unwrap_or('0');
                    text.extend([12, 8, 4, 0].map(digit));
                }
                other => text.push(other),
            }
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::PathElement;

    #[test]
    fn a_step_is_written_as_it_was_read() {
        for text in [
            "f:name",
            "f:a/b:c",
            r#"k:{"containerPort":80,"protocol":"TCP"}"#,
            r#"v:"x\u003cy""#,
            "v:3",
            "i:7",
        ] {
            let element = PathElement::read(text).expect("well formed").expect("of a known kind");
            assert_eq!(element.text(), text);
        }
    }

    #[test]
    fn steps_of_unknown_kinds_are_passed_over_and_malformed_ones_refused() {
        assert_eq!(PathElement::read("x:1"), Ok(None));
        for text in ["", "f", "name", "k:[", "i:x", "v:"] {
            assert!(PathElement::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_are_ordered_by_value_not_by_text() {
        let key = |text| PathElement::read(text).expect("well formed");
        assert!(key(r#"k:{"port":80}"#) < key(r#"k:{"port":443}"#));
        assert_eq!(key(r#"k:{"port":80}"#), key(r#"k:{"port":80.0}"#));
    }

    #[test]
    fn a_path_reads_as_in_messages() {
        let shown = |text| PathElement::read(text).expect("well formed").expect("known").to_string();
        assert_eq!(shown(r#"k:{"name":"a","port":1}"#), r#"[name="a",port=1]"#);
        assert_eq!(shown(r#"v:"a/b""#), r#"[="a/b"]"#);
    }
}
