//! What must hold of a list of conditions.

use objects::meta::Condition;
use schema::Path;

use crate::cause::{ANY_NUMBER, Causes};
use crate::names;

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// Each condition is well formed, and no type comes twice.
pub(crate) fn validate(conditions: &[Condition], path: &Path<'_>, causes: &mut Causes) {
    causes.each_once(conditions, ANY_NUMBER, path, |condition| condition.type_.clone(), validate_one);
}

fn validate_one(causes: &mut Causes, condition: &Condition, path: &Path<'_>) {
    if condition.type_.is_empty() {
        causes.required(&path.field("type"), "must be set");
    } else {
        causes.malformed(&path.field("type"), &condition.type_, names::label_key(&condition.type_));
    }
    match condition.status.as_str() {
        "" => causes.required(&path.field("status"), "must be True, False or Unknown"),
        "True" | "False" | "Unknown" => {}
        other => causes.not_supported(&path.field("status"), other, &["True", "False", "Unknown"]),
    }
    if condition.observed_generation < 0 {
        causes.invalid(&path.field("observedGeneration"), "must not be negative");
    }
    if condition.last_transition_time.is_none() {
        causes.required(&path.field("lastTransitionTime"), "must be set");
    }
    validate_reason(causes, &condition.reason, &path.field("reason"));
    if condition.message.len() > MESSAGE_BYTES_MAX {
        causes.too_long(&path.field("message"), MESSAGE_BYTES_MAX);
    }
}

fn validate_reason(causes: &mut Causes, reason: &str, path: &Path<'_>) {
    if reason.is_empty() {
        causes.required(path, "must be set");
        return;
    }
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    let bytes = reason.as_bytes();
    let well_formed = bytes[0].is_ascii_alphabetic()
        && bytes.iter().all(|byte| inner(*byte))
        && bytes.last().is_some_and(|last| last.is_ascii_alphanumeric() || *last == b'_');
    if !well_formed {
        causes.invalid(
            path,
            "must be letters, digits, '_', ',' and ':', starting with a letter and ending with none of ',:'",
        );
    }
    if reason.len() > REASON_BYTES_MAX {
        causes.too_long(path, REASON_BYTES_MAX);
    }
}
