//! Any bytes are read or refused, and what was read is written so that it reads the same again.

use objects::Object;
use objects::core::{node::Node, pod::Pod};
use objects::resource::{claim::ResourceClaim, class::DeviceClass, slice::ResourceSlice};
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::{node_topology::NodeTopology, workload::Workload};
use schema::table;
use serde_json::Value;
use testkit::Choices;

use crate::quantity;

/// Pieces of JSON and YAML that parsers have to tell apart.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\n",
    "  ",
    "- ",
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "1e-7",
    "0x1F",
    "18446744073709551616",
    "\"metadata\":",
    "\"spec\":",
    "\"status\":",
    "\"name\":",
    "\"devices\":",
    "\"items\":",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"é\"",
    "\u{feff}",
    "&a ",
    "*a",
    "<<: ",
    "!!binary ",
    "|\n",
    ">-\n",
    "# c\n",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "\t",
];

/// Reads the bytes as every format and as several kinds. Says whether they were JSON.
pub fn check(bytes: &[u8]) -> bool {
    check_yaml(&String::from_utf8_lossy(bytes));
    check_kind::<Pod>(bytes);
    check_kind::<Node>(bytes);
    check_kind::<ResourceClaim>(bytes);
    check_kind::<ResourceSlice>(bytes);
    check_kind::<DeviceClass>(bytes);
    check_kind::<PodGroup>(bytes);
    check_kind::<NodeTopology>(bytes);
    check_kind::<Workload>(bytes);
    let Ok(document) = schema::parse(bytes) else { return false };
    let written = document.value.to_string();
    let again = schema::parse(written.as_bytes()).expect("what was written is JSON");
    assert_eq!(again.value, document.value, "{written} reads differently the second time");
    assert!(again.duplicates.is_empty(), "{written} has a key twice");
    true
}

/// YAML that was read is a value that JSON can hold.
fn check_yaml(text: &str) {
    let Ok(document) = schema::parse_yaml(text) else { return };
    let written = document.value.to_string();
    let again = schema::parse(written.as_bytes()).expect("what YAML means can be said in JSON");
    assert_eq!(again.value, document.value, "{text:?} means something else in JSON");
}

fn check_kind<T: Object + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok(object) = objects::decode::<T>(bytes) else { return };
    let written = object.write();
    let again: T = objects::decode(&written).expect("what was written is of its kind");
    // Some amounts are lost in print, as they are in Kubernetes; what was printed once stays.
    if again != object && loses_amounts(bytes) {
        assert_eq!(again.write(), written, "{} is written differently the second time", T::KIND);
        return;
    }
    assert_eq!(again, object, "{} reads differently the second time", T::KIND);
}

/// Whether a document has an amount that is lost in print.
fn loses_amounts(bytes: &[u8]) -> bool {
    fn is_lost(value: &Value) -> bool {
        let lost = |text: &str| text.parse().is_ok_and(|amount| !quantity::keeps_amount(&amount));
        match value {
            Value::String(text) => lost(text),
            Value::Number(number) => lost(&number.to_string()),
            Value::Array(items) => items.iter().any(is_lost),
            Value::Object(fields) => fields.values().any(is_lost),
            Value::Null | Value::Bool(_) => false,
        }
    }
    schema::parse(bytes).is_ok_and(|document| is_lost(&document.value))
}

/// Turns bytes into a text made of pieces that mean something to parsers.
pub fn spell(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect()
}

/// An object of some kind as JSON, with a few of its bytes damaged: the first bytes say where, the rest make the object.
pub fn damage(bytes: &[u8]) -> Vec<u8> {
    let (damages, rest) = bytes.split_at(bytes.len().min(8));
    let mut choices = Choices::new(damages);
    let kinds = table().kinds();
    let kind = &kinds[choices.below(kinds.len())];
    let mut text = testkit::object(kind, rest).to_string().into_bytes();
    for _ in 0..choices.below(3) {
        let at = (choices.below(256) * 256 + choices.below(256)) % text.len();
        match choices.below(4) {
            0 => text[at] ^= 1,
            1 => text.truncate(at),
            2 => text.insert(at, choices.byte()),
            _ => drop(text.remove(at)),
        }
        if text.is_empty() {
            break;
        }
    }
    text
}
