//! Several versions of a kind, one of which is stored: how objects get from one to the other.
//!
//! Objects are stored as `resource.k8s.io/v1`, `scheduling.k8s.io/v1beta1` and core events. Only
//! `resource.k8s.io/v1beta1` and `events.k8s.io/v1` differ from their stored version in more than the name.

use schema::{Kind, fill, table};
use serde_json::{Map, Value};

/// Fields of a request that v1 has inside `exactly` and v1beta1 beside `firstAvailable`.
const EXACTLY: [&str; 8] = [
    "adminAccess",
    "allocationMode",
    "capacity",
    "count",
    "derivedAttributes",
    "deviceClassName",
    "selectors",
    "tolerations",
];

/// What an event's fields are called in events.k8s.io and in the core group, where the names differ.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

/// The kind as which objects of `kind` are stored.
pub fn stored_kind(kind: &Kind) -> &Kind {
    let version = match (kind.group(), kind.kind.as_str(), kind.version()) {
        ("resource.k8s.io", "ResourcePoolStatusRequest", _) => return kind,
        ("resource.k8s.io", _, _) => "resource.k8s.io/v1",
        ("events.k8s.io", "Event", _) => "v1",
        ("coordination.k8s.io", "LeaseCandidate", _) => "coordination.k8s.io/v1beta1",
        ("scheduling.k8s.io", "PodGroup" | "Workload", _) => "scheduling.k8s.io/v1beta1",
        _ => return kind,
    };
    table().kind(version, &kind.kind).unwrap_or(kind)
}

/// Brings an object of `kind` into the version in which it is stored.
pub fn to_stored(kind: &Kind, object: Value) -> Value {
    convert(kind, object, stored_kind(kind), Direction::ToStored)
}

/// Brings a stored object into the version `kind`.
pub fn from_stored(kind: &Kind, object: Value) -> Value {
    let stored = stored_kind(kind);
    if stored.api_version == kind.api_version {
        return object;
    }
    let mut object = convert(stored, object, kind, Direction::FromStored);
    fill(table(), kind.object, &mut object);
    object
}

/// Which way a conversion goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    ToStored,
    FromStored,
}

fn convert(from: &Kind, mut object: Value, to: &Kind, direction: Direction) -> Value {
    if from.api_version == to.api_version {
        return object;
    }
    if from.kind == "Event" {
        rename_event(&mut object, direction);
        // What is always written and what is left out when empty differs too.
        fill(table(), to.object, &mut object);
    }
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), Value::String(to.api_version.clone()));
        let other = if direction == Direction::ToStored { from } else { to };
        if other.api_version == "resource.k8s.io/v1beta1"
            && let Some(Value::Object(spec)) = fields.get_mut("spec")
        {
            match other.kind.as_str() {
                "ResourceSlice" => slice(spec, direction),
                "ResourceClaim" => claim(spec, direction),
                "ResourceClaimTemplate" => {
                    if let Some(Value::Object(inner)) = spec.get_mut("spec") {
                        claim(inner, direction);
                    }
                }
                _ => {}
            }
        }
    }
    object
}

fn objects_of<'a>(
    holder: &'a mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let items = holder.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives the fields of an event the names that they have on the other side.
pub(crate) fn rename_event(event: &mut Value, direction: Direction) {
    let Value::Object(fields) = event else { return };
    for (new, core) in EVENT_FIELDS {
        let (from, to) = if direction == Direction::ToStored { (new, core) } else { (core, new) };
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

fn claim(spec: &mut Map<String, Value>, direction: Direction) {
    let Some(devices) = spec.get_mut("devices").and_then(Value::as_object_mut) else { return };
    for request in objects_of(devices, "requests") {
        match direction {
            Direction::ToStored => {
                let taken = EXACTLY.iter().filter_map(|name| request.remove_entry(*name));
                let exactly: Map<String, Value> = taken.filter(|(_, value)| says_something(value)).collect();
                if !exactly.is_empty() {
                    request.insert("exactly".to_owned(), Value::Object(exactly));
                }
            }
            Direction::FromStored => {
                if let Some(Value::Object(exactly)) = request.remove("exactly") {
                    request.extend(exactly);
                }
            }
        }
    }
}

fn slice(spec: &mut Map<String, Value>, direction: Direction) {
    if direction == Direction::ToStored {
        // v1beta1 has plain values where v1 has optional ones, so empty means unset.
        spec.retain(|name, value| !(matches!(name.as_str(), "nodeName" | "allNodes") && is_empty(value)));
    }
    for device in objects_of(spec, "devices") {
        match direction {
            Direction::ToStored => {
                if let Some(Value::Object(basic)) = device.remove("basic") {
                    device.extend(basic);
                }
            }
            Direction::FromStored => {
                let name = device.remove_entry("name");
                let basic = std::mem::take(device);
                device.extend(name);
                device.insert("basic".to_owned(), Value::Object(basic));
            }
        }
    }
}

/// A request of v1beta1 is exact as soon as one of its fields says something; `false` and an empty list do.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.as_i64() != Some(0),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::{from_stored, to_stored};

    fn check(kind: &str, old: Value, stored: Value) {
        let kind = table().kind("resource.k8s.io/v1beta1", kind).expect("a kind of v1beta1");
        let with =
            |version: &str, spec: Value| json!({"apiVersion": version, "kind": kind.kind, "spec": spec});
        let v1beta1 = with("resource.k8s.io/v1beta1", old);
        let v1 = with("resource.k8s.io/v1", stored);
        assert_eq!(to_stored(kind, v1beta1.clone()), v1);
        let back = from_stored(kind, v1);
        for (name, value) in v1beta1["spec"].as_object().into_iter().flatten() {
            assert_eq!(&back["spec"][name], value, "{name}");
        }
    }

    #[test]
    fn a_flat_request_of_v1beta1_becomes_an_exact_one() {
        check(
            "ResourceClaim",
            json!({"devices": {"requests": [
                {"name": "a", "deviceClassName": "gpu", "count": 2},
                {"name": "b", "deviceClassName": "", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]},
            ]}}),
            json!({"devices": {"requests": [
                {"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}},
                {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]},
            ]}}),
        );
    }

    #[test]
    fn an_event_is_stored_as_the_core_group_has_it() {
        let kind = table().kind("events.k8s.io/v1", "Event").expect("events are served");
        let sent = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "note": "hello",
            "eventTime": "2026-01-02T03:04:05.000006Z", "regarding": {"name": "p"}, "deprecatedSource": {},
            "reportingController": "example.com/s", "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        });
        let stored = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "hello",
            "eventTime": "2026-01-02T03:04:05.000006Z", "involvedObject": {"name": "p"}, "source": {},
            "reportingComponent": "example.com/s", "reportingInstance": "", "firstTimestamp": null,
            "lastTimestamp": null,
        });
        assert_eq!(to_stored(kind, sent.clone()), stored);
        assert_eq!(from_stored(kind, stored), sent);
    }

    #[test]
    fn a_basic_device_of_v1beta1_becomes_a_plain_one() {
        check(
            "ResourceSlice",
            json!({"nodeName": "n", "devices": [{"name": "d", "basic": {"attributes": {"a": {"int": 1}}}}]}),
            json!({"nodeName": "n", "devices": [{"name": "d", "attributes": {"a": {"int": 1}}}]}),
        );
    }
}
