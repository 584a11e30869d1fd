//! Fields that the server did not keep, and the feature gates that are off.
//!
//! A server drops the fields of features that are off without a word. Whoever sent them should hear of it.

use std::collections::BTreeSet;

use objects::resource::slice::ResourceSliceSpec;
use serde_json::Value;

/// Which gate a field needs, by the last part of its path.
const GATES: [(&str, &str); 16] = [
    ("allowMultipleAllocations", "DRAConsumableCapacity"),
    ("bindingConditions", "DRADeviceBindingConditions"),
    ("bindingFailureConditions", "DRADeviceBindingConditions"),
    ("bindsToNode", "DRADeviceBindingConditions"),
    ("bools", "DRAListTypeAttributes"),
    ("compatibilityGroups", "DRADeviceCompatibilityGroups"),
    ("consumesCounters", "DRAPartitionableDevices"),
    ("ints", "DRAListTypeAttributes"),
    ("nodeAllocatableResources", "DRANodeAllocatableResources"),
    ("partitionTypeAttribute", "DRAPartitionableDevicesType"),
    ("perDeviceNodeSelection", "DRAPartitionableDevices"),
    ("requestPolicy", "DRAConsumableCapacity"),
    ("sharedCounters", "DRAPartitionableDevices"),
    ("skipNodeOperations", "DRAOptionalNodeOperations"),
    ("strings", "DRAListTypeAttributes"),
    ("taints", "DRADeviceTaints"),
];

/// The fields that were sent and not kept as they were, each once: `devices[].taints`.
pub(crate) fn fields(sent: &ResourceSliceSpec, kept: &ResourceSliceSpec) -> Vec<String> {
    let value =
        |spec: &ResourceSliceSpec| serde_json::to_value(spec).expect("a slice can be written as JSON");
    let mut found = BTreeSet::new();
    compare(&value(sent), &value(kept), String::new(), &mut found);
    // A field of ours; where the server does not know it, an annotation says the same.
    found.remove("devices[].bindingTimeout");
    found.into_iter().collect()
}

/// The gates that these fields need.
pub(crate) fn gates(fields: &[String]) -> Vec<String> {
    let last =
        |field: &String| field.rsplit('.').next().unwrap_or_default().trim_end_matches("[]").to_owned();
    let names: BTreeSet<String> = fields.iter().map(last).collect();
    let needed = GATES.iter().filter(|(field, _)| names.contains(*field)).map(|(_, gate)| (*gate).to_owned());
    needed.collect::<BTreeSet<_>>().into_iter().collect()
}

fn compare(sent: &Value, kept: &Value, path: String, found: &mut BTreeSet<String>) {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            for (name, sent) in sent {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match kept.get(name) {
                    None => drop(found.insert(path)),
                    Some(kept) => compare(sent, kept, path, found),
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            for (sent, kept) in sent.iter().zip(kept) {
                compare(sent, kept, format!("{path}[]"), found);
            }
        }
        (sent, kept) if sent == kept => {}
        _ => drop(found.insert(path)),
    }
}
