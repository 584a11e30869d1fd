//! Features without which a cluster would not have what is in manifests.

use gates::Gate;

use crate::manifest::Manifest;

/// Features that a cluster with these manifests must have: without them it would not serve a kind, or would drop a field.
#[must_use]
pub fn needed_gates(manifests: &[Manifest]) -> Vec<Gate> {
    let groups = || manifests.iter().filter(|manifest| manifest.value["kind"] == "PodGroup");
    let mut needed = Vec::new();
    if groups().next().is_some() {
        needed.push(Gate::GenericWorkload);
    }
    if groups().any(|group| group.value["spec"]["schedulingConstraints"].is_object()) {
        needed.push(Gate::TopologyAwareWorkloadScheduling);
    }
    needed
}
