//! The annotation in which `kubectl apply` keeps what it applied before it learned server-side apply.
//!
//! A person who changes from one to the other owns what the annotation says without a conflict, and the annotation is
//! kept true for those who change back.

use schema::{Kind, Table};
use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::path_element::write_json;
use super::walk::{Difference, compare, fields_of};

/// The only name for which the annotation means something.
pub(super) const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What all annotations of an object may have in total.
const ANNOTATIONS_MAX: usize = 256 << 10;

/// The configuration in the annotation, if it is one of this kind.
pub(super) fn configuration(kind: &Kind, live: &Value) -> Option<Value> {
    let text = live.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    (config.get("apiVersion")?.as_str()? == kind.api_version).then_some(config)
}

/// The fields that were set as the configuration says, and still are.
pub(super) fn untouched<'a>(
    table: &'a Table,
    kind: &Kind,
    config: &'a Value,
    live: &'a Value,
) -> FieldSet<'a> {
    let Difference { changed, removed } = compare(table, kind.object, config, live);
    fields_of(table, kind.object, config).difference(&changed).difference(&removed)
}

/// Brings the annotation up to date, if the object has it.
pub(super) fn renew(object: &mut Value, config: &Value) {
    let Some(annotations) = annotations(object) else { return };
    if annotations.get(ANNOTATION).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = self::annotations(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let mut text = String::new();
    write_json(&mut text, &config);
    text.push('\n');
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    let size: usize =
        annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > ANNOTATIONS_MAX {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
