//! The claim for what a pod asks for by name and a node does not have itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::resource_classes::ResourceClasses;
use model::claim::ClaimSpec;
use model::node::Node;
use model::pod::Shape;

use super::wish;
use crate::devices::extended::mapping::RequestMapping;

/// What the claim asks for that stands for what a pod asks for and a node does not have itself, and which container gets what of it.
pub fn wish_on(
    resources: &ResourceClasses,
    shape: &Shape,
    node: &Node,
) -> Option<(ClaimSpec, Vec<RequestMapping>)> {
    let names = shape.device_containers.iter().flat_map(|container| container.amounts.keys());
    let left_to_devices = |name: &&Arc<str>| node.allocatable.get(name) <= 0;
    let resources: BTreeMap<&Arc<str>, &Arc<str>> =
        names.filter(left_to_devices).filter_map(|name| resources.get(name)).collect();
    if resources.is_empty() {
        return None;
    }
    let (requests, mappings) = wish::requests(&shape.device_containers, &resources);
    Some((ClaimSpec { requests, ..ClaimSpec::default() }, mappings))
}
