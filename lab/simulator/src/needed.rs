//! Features without which a cluster would not have what is in manifests.

use gates::Gate;

use crate::manifest::Manifest;

/// Features that a cluster with these manifests must have: without them it would not serve a kind, or would drop a field.
#[must_use]
pub fn needed_gates(manifests: &[Manifest]) -> Vec<Gate> {
    let of_kind =
        |kind: &'static str| manifests.iter().filter(move |manifest| manifest.value["kind"] == kind);
    let groups = || of_kind("PodGroup");
    let mut needed = Vec::new();
    if groups().next().is_some() {
        needed.push(Gate::GenericWorkload);
    }
    if of_kind("CompositePodGroup").next().is_some() {
        let trees = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling, Gate::CompositePodGroup];
        needed.extend(trees);
    }
    if groups().any(|group| group.value["spec"]["resourceClaims"].is_array()) {
        needed.push(Gate::DRAWorkloadResourceClaims);
    }
    if groups().any(|group| group.value["spec"]["schedulingConstraints"].is_object()) {
        needed.push(Gate::TopologyAwareWorkloadScheduling);
    }
    let is_controlled = |class: &Manifest| class.value["spec"]["controllerName"].is_string();
    if of_kind("DeviceClass").any(is_controlled) || of_kind("PodSchedulingContext").next().is_some() {
        needed.push(Gate::DRAControlPlaneController);
    }
    needed
}
