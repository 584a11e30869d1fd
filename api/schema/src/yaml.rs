//! Reads and writes YAML. It is read as kubectl does: `yes` is true, `0123` is octal, merge keys work, and of a key that
//! comes twice the last counts.

mod text;
pub mod tree;

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use thiserror::Error;

use crate::json::Document;

pub use text::write;

/// The text is no YAML, or means something that JSON cannot say.
#[derive(Debug, Error)]
#[error("the body is invalid YAML: {0}")]
pub struct NotYaml(String);

/// Reads one YAML document.
///
/// # Errors
/// When the text is no YAML, is nested too deeply, or its aliases would grow without bound.
pub fn parse_yaml(text: &str) -> Result<Document, NotYaml> {
    match read(text, DuplicateKeyPolicy::Error) {
        Ok(value) => Ok(Document { value, duplicates: Vec::new() }),
        Err(first) => {
            let value = read(text, DuplicateKeyPolicy::LastWins).map_err(NotYaml)?;
            Ok(Document { value, duplicates: vec![first] })
        }
    }
}

fn read(text: &str, duplicates: DuplicateKeyPolicy) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        duplicate_keys: duplicates,
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_yaml;

    #[test]
    fn yaml_means_what_it_means_to_kubectl() {
        let read = parse_yaml("a: yes\nb: 0123\nc: &x {d: 1}\ne:\n  <<: *x\n  f: 2\ng: \"on\"\n")
            .expect("valid YAML");
        assert_eq!(read.value, json!({"a": true, "b": 83, "c": {"d": 1}, "e": {"d": 1, "f": 2}, "g": "on"}));
        assert!(read.duplicates.is_empty());
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_counts_and_is_reported() {
        let read = parse_yaml("a: 1\na: 2\n").expect("valid YAML");
        assert_eq!(read.value, json!({"a": 2}));
        assert_eq!(read.duplicates.len(), 1);
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let last = level - 1;
            bomb += &format!(
                "a{level}: &a{level} [*a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}, *a{last}]\n"
            );
        }
        assert!(parse_yaml(&bomb).is_err());
    }
}
