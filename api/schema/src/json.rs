//! Reads JSON text, and remembers the keys that came twice.
//!
//! Bytes that are no UTF-8 become the replacement character, as Kubernetes does, so that a stray byte in an
//! annotation does not make an object unreadable.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// JSON that was read.
#[derive(Debug)]
pub struct Document {
    /// The value; a key that came twice has both contents, the last one winning where they differ.
    pub value: Value,
    /// Where a key came twice, such as `spec.devices`.
    pub duplicates: Vec<String>,
}

/// The text is no JSON, or nested too deeply.
#[derive(Debug, Error)]
#[error("the body is not valid JSON: {0}")]
pub struct NotJson(#[from] serde_json::Error);

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// When the text is no JSON, is nested deeper than 128 levels or has a number that no float can hold.
pub fn parse(bytes: &[u8]) -> Result<Document, NotJson> {
    let text = mend_surrogates(String::from_utf8_lossy(bytes));
    let seen = Duplicates { found: RefCell::new(Vec::new()), path: RefCell::new(String::new()) };
    let mut reader = serde_json::Deserializer::from_str(&text);
    let value = Reader(&seen).deserialize(&mut reader)?;
    reader.end()?;
    Ok(Document { value, duplicates: seen.found.into_inner() })
}

/// So many keys that came twice tell a reader enough, and so much of where they are.
const DUPLICATES_MAX: usize = 1_000;
const DUPLICATE_BYTES_MAX: usize = 1_024;

struct Duplicates {
    found: RefCell<Vec<String>>,
    path: RefCell<String>,
}

impl Duplicates {
    /// Notes that the key at the path came before.
    fn note(&self) {
        let mut found = self.found.borrow_mut();
        if found.len() < DUPLICATES_MAX {
            let path = self.path.borrow();
            found.push(path[..path.floor_char_boundary(DUPLICATE_BYTES_MAX)].to_owned());
        }
    }

    /// Runs `inside` with the path extended by one step, and takes the step back afterwards.
    fn within<T>(&self, step: impl FnOnce(&mut String), inside: impl FnOnce() -> T) -> T {
        let length = self.path.borrow().len();
        step(&mut self.path.borrow_mut());
        let result = inside();
        self.path.borrow_mut().truncate(length);
        result
    }
}

#[derive(Clone, Copy)]
struct Reader<'s>(&'s Duplicates);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let at = list.len();
            let step = |path: &mut String| write!(path, "[{at}]").expect("a string takes all text");
            let next = self.0.within(step, || items.next_element_seed(self))?;
            match next {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let step = |path: &mut String| {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&key);
            };
            let value = self.0.within(step, || {
                if map.contains_key(&key) {
                    self.0.note();
                }
                entries.next_value_seed(self)
            })?;
            merge(map.entry(key).or_insert(Value::Null), value);
        }
        Ok(Value::Object(map))
    }
}

/// A key that comes again adds to an object and replaces anything else, as if one had been written after the other.
fn merge(have: &mut Value, new: Value) {
    match (have, new) {
        (Value::Object(have), Value::Object(new)) => {
            for (name, value) in new {
                merge(have.entry(name).or_insert(Value::Null), value);
            }
        }
        (have, new) => *have = new,
    }
}

/// Replaces each half of a surrogate pair that stands alone, which is no character, by the replacement character.
fn mend_surrogates(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return text;
    }
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut mended = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let (high, low) = (unit(rest), rest.get(6..).and_then(unit));
        let taken = match (high, low) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        let read =
            parse(br#"{"a":"x\ud800y","b":"\ud83d\ude00","c":"\\ud800","d":"\udc00\ud800"}"#).expect("valid");
        assert_eq!(read.value["a"], "x\u{fffd}y");
        assert_eq!(read.value["b"], "\u{1f600}");
        assert_eq!(read.value["c"], "\\ud800");
        assert_eq!(read.value["d"], "\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_key_that_comes_twice_is_found_and_adds_to_what_was_there() {
        let read = parse(br#"{"spec":{"a":1,"b":[{"c":1,"c":2}]},"spec":{"d":3}}"#).expect("valid JSON");
        assert_eq!(read.duplicates, ["spec.b[0].c", "spec"]);
        assert_eq!(read.value, serde_json::json!({"spec": {"a": 1, "b": [{"c": 2}], "d": 3}}));
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_exhausting_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
    }

    #[test]
    fn bytes_that_are_no_utf8_become_the_replacement_character() {
        let read = parse(b"{\"a\":\"x\xffy\"}").expect("the rest is valid");
        assert_eq!(read.value["a"], "x\u{fffd}y");
    }

    #[test]
    fn text_after_the_value_is_an_error() {
        assert!(parse(b"{} x").is_err());
        assert!(parse(b"").is_err());
    }
}
