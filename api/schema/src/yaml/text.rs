//! Writes JSON values as YAML, for those who ask for it.

use serde_json::Value;

/// The value as a YAML document.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push_str(&"  ".repeat(depth));
                }
                out.push_str(&scalar(name));
                out.push(':');
                nested(value, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(&"  ".repeat(depth));
                }
                out.push_str("- ");
                block(item, depth + 1, out);
            }
        }
        other => {
            out.push_str(&flow(other));
            out.push('\n');
        }
    }
}

fn nested(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            out.push_str(&"  ".repeat(depth + 1));
            block(value, depth + 1, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
            block(value, depth, out);
        }
        other => {
            out.push(' ');
            block(other, depth, out);
        }
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Text without quotes where it can mean nothing else.
fn scalar(text: &str) -> String {
    let plain = text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n" | "nan" | "inf"
        );
    if plain { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::write;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let value = json!({"a": {"b": [1, {"c": "yes", "d": []}, "x: y"], "e": {}}, "f": null, "g h": true,
            "nested": [[1, 2], [{"z": "multi\nline"}]], "empty": ""});
        let text = write(&value);
        assert_eq!(crate::parse_yaml(&text).expect("our own YAML").value, value, "{text}");
    }
}
