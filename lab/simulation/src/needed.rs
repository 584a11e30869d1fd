//! Features without which a cluster would not have what is in manifests.

use std::collections::{BTreeMap, BTreeSet};

use admission::used_gates;
use gates::Gate;
use objects::supercargo::annotations::CONTROLLER_NAME;
use serde_json::Value;

use crate::manifest::Manifest;
use crate::shelf::kind_of;

/// Kinds that a cluster serves, or heeds, only with a feature.
const OF_KINDS: [(&str, &str, Gate); 6] = [
    ("scheduling.k8s.io", "PodGroup", Gate::GenericWorkload),
    ("scheduling.k8s.io", "Workload", Gate::GenericWorkload),
    ("scheduling.k8s.io", "CompositePodGroup", Gate::CompositePodGroup),
    ("resource.k8s.io", "DeviceTaintRule", Gate::DRADeviceTaintRules),
    ("resource.k8s.io", "ResourcePoolStatusRequest", Gate::DRAResourcePoolStatus),
    ("supercargo.dev", "PodSchedulingContext", Gate::DRAControlPlaneController),
];

/// Features that a cluster with these manifests must have, each with the first that needs it: without them it would not
/// heed a kind, or would drop a field.
#[must_use]
pub fn needed_gates(manifests: &[Manifest]) -> BTreeMap<Gate, &Manifest> {
    let mut needed = BTreeMap::new();
    for manifest in manifests {
        for gate in gates_of(&manifest.value) {
            needed.entry(gate).or_insert(manifest);
        }
    }
    needed
}

/// Features that a cluster with an object must have. Of an object of no known kind there are none.
pub(crate) fn gates_of(object: &Value) -> BTreeSet<Gate> {
    // What is wrong with the others is said when they are admitted.
    let Ok(kind) = kind_of(object) else { return BTreeSet::new() };
    let of_kind = OF_KINDS.iter().filter(|(group, name, _)| kind.group() == *group && kind.kind == *name);
    let is_controlled =
        kind.kind == "DeviceClass" && object["metadata"]["annotations"][CONTROLLER_NAME].is_string();
    let by_annotation = is_controlled.then_some(Gate::DRAControlPlaneController);
    of_kind.map(|(_, _, gate)| *gate).chain(by_annotation).chain(used_gates(kind, object)).collect()
}
