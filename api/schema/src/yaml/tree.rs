//! The text as a tree in which every key and value knows its place.
//!
//! Invariant: nothing of the text is left out, not even a key that comes twice, so that whoever walks the tree can say
//! what is wrong with it and where.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

/// A place in the text, both counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A value and where it begins.
#[derive(Debug)]
pub struct Node {
    /// Where it begins.
    pub at: Place,
    /// What it is.
    pub value: Value,
}

/// What stands there.
#[derive(Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Real(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map.
    Map(Vec<KeyedNode>),
}

/// A key, where it is, and its value.
#[derive(Debug)]
pub struct KeyedNode {
    /// Where the key is.
    pub at: Place,
    /// The key.
    pub key: String,
    /// The value.
    pub node: Node,
}

impl Value {
    /// What it is, for a message.
    #[must_use]
    pub fn told(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Whole(_) => "a whole number",
            Self::Real(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Why there is no tree.
#[derive(Debug)]
pub struct NoTree {
    /// Where the text is wrong.
    pub at: Place,
    /// What is wrong there.
    pub what: String,
}

/// Nearly twice as deep as a file can sensibly be, and far less than a small stack can bear.
const DEPTH_MAX: usize = 24;

/// Reads YAML, of which JSON is a part.
///
/// # Errors
/// The text is no YAML, or not a single document, or nested too deeply.
pub fn read(text: &str) -> Result<Node, NoTree> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| fault(&error))
}

/// What the library says of a text, with its place. The options that it was read with must leave out snippets.
#[must_use]
pub fn fault(error: &serde_saphyr::Error) -> NoTree {
    let at = error.location().map_or_else(Place::default, Place::from);
    let told = error.to_string();
    // Some of the library's sentences are about its own functions and numbers.
    let what = if told.starts_with("multiple YAML documents") {
        "a second document begins here"
    } else if told.starts_with("budget breached: Depth") || told.starts_with("recursion limit") {
        "lists and maps are nested too deeply"
    } else if told.starts_with("budget breached") {
        "the document is too large"
    } else {
        told.trim_end_matches(&format!(" at {at}"))
    };
    NoTree { at, what: what.to_owned() }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: spanned.referenced.into(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Node>()? {
            entries.push(KeyedNode { at: key.referenced.into(), key: key.value, node });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::{Node, Value, read};

    /// The places of keys and values, written behind them.
    fn shown(node: &Node) -> String {
        let at = format!("@{}:{}", node.at.line, node.at.column);
        match &node.value {
            Value::List(nodes) => {
                format!("[{}]{at}", nodes.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
            Value::Map(entries) => {
                let told = entries.iter().map(|entry| {
                    format!("{}@{}:{}={}", entry.key, entry.at.line, entry.at.column, shown(&entry.node))
                });
                format!("{{{}}}{at}", told.collect::<Vec<_>>().join(" "))
            }
            Value::Text(text) => format!("{text}{at}"),
            Value::Whole(number) => format!("{number}{at}"),
            other => format!("{other:?}{at}"),
        }
    }

    fn tree(text: &str) -> String {
        match read(text) {
            Ok(node) => shown(&node),
            Err(error) => format!("{}: {}", error.at, error.what),
        }
    }

    #[test]
    fn every_key_and_value_has_its_place() {
        assert_eq!(tree("a: 1\nb:\n  c: [x, 2]\n"), "{a@1:1=1@1:4 b@2:1={c@3:3=[x@3:7 2@3:10]@3:6}@3:3}@1:1");
        assert_eq!(tree("{\n\t\"a\": [true]\n}"), "{a@2:2=[Bool(true)@2:8]@2:7}@1:1");
    }

    #[test]
    fn a_key_that_comes_twice_is_there_twice() {
        assert_eq!(tree("a: 1\na: 2\n"), "{a@1:1=1@1:4 a@2:1=2@2:4}@1:1");
    }

    #[test]
    fn an_alias_is_where_it_is_used() {
        assert_eq!(tree("a: &x 1\nb: *x\n"), "{a@1:1=1@1:7 b@2:1=1@2:4}@1:1");
    }

    #[test]
    fn no_depth_is_too_much_for_the_stack() {
        let deep = |depth: usize| tree(&("{a: ".repeat(depth) + "[" + "]" + &"}".repeat(depth)));
        assert!(deep(23).starts_with("{a@1:2={a@1:6="));
        assert_eq!(deep(24), "line 1, column 97: lists and maps are nested too deeply");
        for depth in [25, 1000, 100_000] {
            assert!(deep(depth).ends_with("lists and maps are nested too deeply"), "{}", deep(depth));
        }
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let items = format!("*a{}, ", level - 1).repeat(10);
            bomb += &format!("a{level}: &a{level} [{items}]\n");
        }
        assert_eq!(tree(&bomb), "line 6, column 15: the document is too large");
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_place() {
        assert_eq!(tree("a: b: c"), "line 1, column 5: mapping values are not allowed in this context");
        assert_eq!(tree("a: 1\n---\nb: 2\n"), "line 3, column 1: a second document begins here");
    }
}
