//! Named formats: rules for texts that Kubernetes names.

use std::sync::LazyLock;

use regex::Regex;

use super::url::Url;
use crate::value::time::Timestamp;
use crate::value::{Fault, Outcome, Value};

/// A named rule.
#[derive(Debug)]
pub(crate) struct Format {
    /// The name that decides equality.
    pub(crate) name: &'static str,
    /// The name of the function that gives it.
    function: &'static str,
    /// The length of the pattern that costs are counted by.
    pub(crate) pattern_length: u64,
    check: fn(&str) -> Vec<&'static str>,
}

static FORMATS: [Format; 13] = [
    Format { name: "DNS1123Label", function: "dns1123Label", pattern_length: 30, check: label },
    Format { name: "DNS1123Subdomain", function: "dns1123Subdomain", pattern_length: 60, check: subdomain },
    Format { name: "DNS1035Label", function: "dns1035Label", pattern_length: 30, check: old_label },
    Format { name: "QualifiedName", function: "qualifiedName", pattern_length: 60, check: qualified_name },
    Format {
        name: "DNS1123LabelPrefix",
        function: "dns1123LabelPrefix",
        pattern_length: 30,
        check: |text| label(&masked(text)),
    },
    Format {
        name: "DNS1123SubdomainPrefix",
        function: "dns1123SubdomainPrefix",
        pattern_length: 60,
        check: |text| subdomain(&masked(text)),
    },
    Format {
        name: "DNS1035LabelPrefix",
        function: "dns1035LabelPrefix",
        pattern_length: 30,
        check: |text| old_label(&masked(text)),
    },
    Format { name: "LabelValue", function: "labelValue", pattern_length: 40, check: label_value },
    Format {
        name: "URI",
        function: "uri",
        pattern_length: 1103,
        check: |text| one(Url::is_request(text), "not a URI"),
    },
    Format {
        name: "uuid",
        function: "uuid",
        pattern_length: 70,
        check: |text| one(is_uuid(text), "not a UUID"),
    },
    Format {
        name: "byte",
        function: "byte",
        pattern_length: 84,
        check: |text| one(is_base64(text), "not base64"),
    },
    Format {
        name: "date",
        function: "date",
        pattern_length: 71,
        check: |text| one(is_date(text), "not a date"),
    },
    Format {
        name: "datetime",
        function: "datetime",
        pattern_length: 71,
        check: |text| one(is_datetime(text), "not a date and time"),
    },
];

/// The format that a function of the library gives.
pub(crate) fn named(function: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.function == function)
}

fn one(is_valid: bool, reason: &'static str) -> Vec<&'static str> {
    if is_valid { Vec::new() } else { vec![reason] }
}

static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z0-9]([-a-z0-9]*[a-z0-9])?"));
static OLD_LABEL: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z]([-a-z0-9]*[a-z0-9])?"));
static SUBDOMAIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"));
static KEY: LazyLock<Regex> = LazyLock::new(|| pattern("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern("([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))"));

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("^(?:{text})$")).expect("the patterns of this file are valid")
}

fn long(text: &str, most: usize) -> Option<&'static str> {
    (text.len() > most).then_some("too long")
}

fn label(text: &str) -> Vec<&'static str> {
    let shape = (!LABEL.is_match(text)).then_some("not a DNS label");
    long(text, 63).into_iter().chain(shape).collect()
}

fn old_label(text: &str) -> Vec<&'static str> {
    let shape = (!OLD_LABEL.is_match(text)).then_some("not a DNS label that starts with a letter");
    long(text, 63).into_iter().chain(shape).collect()
}

fn subdomain(text: &str) -> Vec<&'static str> {
    let shape = (!SUBDOMAIN.is_match(text)).then_some("not a DNS subdomain");
    long(text, 253).into_iter().chain(shape).collect()
}

fn label_value(text: &str) -> Vec<&'static str> {
    let shape = (!text.is_empty() && !KEY.is_match(text)).then_some("not a label value");
    long(text, 63).into_iter().chain(shape).collect()
}

fn qualified_name(text: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => return vec!["a qualified name has at most one '/'"],
    };
    let mut found = match prefix {
        Some("") => vec!["the prefix is empty"],
        Some(prefix) => subdomain(prefix),
        None => Vec::new(),
    };
    if name.is_empty() {
        found.push("the name is empty");
    } else if name.len() > 63 {
        found.push("the name is too long");
    }
    if !KEY.is_match(name) {
        found.push("not a qualified name");
    }
    found
}

/// A trailing dash is fine in a prefix, because more will follow it.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if text.len() > 1 => {
            let mut cut = rest.len() - 1;
            while !rest.is_char_boundary(cut) {
                cut -= 1;
            }
            format!("{}a", &rest[..cut])
        }
        _ => text.to_owned(),
    }
}

fn is_uuid(text: &str) -> bool {
    UUID.is_match(text)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = TIME.captures(time) else { return false };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// The functions of the library.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    match (overload, args) {
        ("format-named", [Value::String(name)]) => {
            Ok(Value::Optional(named(name).map(|format| Value::Format(format).into())))
        }
        ("format-validate", [Value::Format(format), Value::String(text)]) => {
            let reasons = (format.check)(text);
            if reasons.is_empty() {
                return Ok(Value::Optional(None));
            }
            Ok(Value::some(Value::list(reasons.into_iter().map(Value::text).collect())))
        }
        (constant, []) => {
            let name = constant.strip_prefix("format.").unwrap_or(constant);
            named(name).map(Value::Format).ok_or(Fault::no_such_overload())
        }
        _ => Err(Fault::no_such_overload()),
    }
}
