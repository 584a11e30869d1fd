//! Features without which a cluster would not have what is in manifests.

use std::collections::BTreeMap;

use admission::used_gates;
use gates::Gate;
use objects::supercargo::annotations::CONTROLLER_NAME;

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
        // What is wrong with the others is said when they are admitted.
        let Ok(kind) = kind_of(&manifest.value) else { continue };
        let of_kind = OF_KINDS.iter().filter(|(group, name, _)| kind.group() == *group && kind.kind == *name);
        let is_controlled = kind.kind == "DeviceClass"
            && manifest.value["metadata"]["annotations"][CONTROLLER_NAME].is_string();
        let by_annotation = is_controlled.then_some(Gate::DRAControlPlaneController);
        let used = used_gates(kind, &manifest.value);
        for gate in of_kind.map(|(_, _, gate)| *gate).chain(by_annotation).chain(used) {
            needed.entry(gate).or_insert(manifest);
        }
    }
    needed
}
