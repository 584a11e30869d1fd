//! Writes JSON values as YAML that people like to read.
//!
//! The same value always gives the same text. Texts that YAML could take for something else are quoted as in JSON, which
//! YAML understands.

use serde_json::Value;

/// The value as a YAML document that ends with a line break.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => mapping(fields, 0, &mut text),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut text),
        other => {
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
    text
}

fn mapping(fields: &serde_json::Map<String, Value>, depth: usize, text: &mut String) {
    for (index, (name, value)) in fields.iter().enumerate() {
        // The first field of a list element stands behind its dash.
        if index > 0 || !text.ends_with("- ") {
            indent(depth, text);
        }
        text.push_str(&plain_or_quoted(name));
        text.push(':');
        below(value, depth, text);
    }
}

fn sequence(items: &[Value], depth: usize, text: &mut String) {
    for item in items {
        indent(depth, text);
        text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => mapping(fields, depth + 1, text),
            // A list in a list is written in one line, since it is always short.
            other => {
                text.push_str(&scalar(other));
                text.push('\n');
            }
        }
    }
}

fn below(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            mapping(fields, depth + 1, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            sequence(items, depth, text);
        }
        other => {
            text.push(' ');
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
}

fn indent(depth: usize, text: &mut String) {
    (0..depth).for_each(|_| text.push_str("  "));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => plain_or_quoted(text),
        other => other.to_string(),
    }
}

fn plain_or_quoted(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || " _-./,()'".contains(c);
    let is_plain = begins
        && text.chars().all(is_harmless)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_lowercase().as_str());
    if is_plain { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::document;

    #[test]
    fn values_are_written_in_blocks() {
        let value = json!({"a": {"b": [1, "x", {"c": true, "d": []}]}, "e": "it: is", "f": "no", "g": {}});
        let expected = "a:\n  b:\n  - 1\n  - x\n  - c: true\n    d: []\ne: \"it: is\"\nf: \"no\"\ng: {}\n";
        assert_eq!(document(&value), expected);
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        let definitions = schema::openapi::crds();
        assert!(!definitions.is_empty());
        for definition in definitions {
            let read = schema::parse_yaml(&document(&definition)).expect("what we write is YAML");
            assert_eq!(read.value, definition);
        }
    }
}
