//! Resources that pods ask for by name and that a class of devices stands for: where a node has none of such a resource itself,
//! devices take its place, by a claim that is made for the pod.

mod wish;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::resource_classes::ResourceClasses;
use model::claim::{Claim, ClaimId};
use model::node::Node;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::in_the_way::{InTheWay, Remedy};

/// A container that gets the devices of a request in place of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestMapping {
    /// The container.
    pub container: Arc<str>,
    /// The resource that it asks for.
    pub resource: Arc<str>,
    /// The request.
    pub request: Arc<str>,
}

/// The name of a claim that is not made yet. No claim can have it.
const UNMADE: &str = "<extended-resources>";

/// The claim for what a pod asks for and a node does not have itself, and which container gets what of it.
pub fn wish_on(
    resources: &ResourceClasses,
    shape: &Shape,
    node: &Node,
) -> Option<(Claim, Vec<RequestMapping>)> {
    let names = shape.device_containers.iter().flat_map(|container| container.amounts.keys());
    let left_to_devices = |name: &&Arc<str>| node.allocatable.get(name) <= 0;
    let resources: BTreeMap<&Arc<str>, &Arc<str>> =
        names.filter(left_to_devices).filter_map(|name| resources.get(name)).collect();
    if resources.is_empty() {
        return None;
    }
    let (requests, mappings) = wish::requests(&shape.device_containers, &resources);
    let id = ClaimId { namespace: shape.namespace.clone(), name: UNMADE.into() };
    Some((Claim { id, requests, constraints: Vec::new(), configs: Vec::new() }, mappings))
}

impl Cycle<'_> {
    /// What keeps a claim from being made for a pod, and what can be done about it.
    pub(crate) fn cannot_make(&self, pod: &Pod) -> Option<(String, Option<InTheWay>)> {
        if let Some(claim) = self.facts.made.get(&pod.uid) {
            let known = self.facts.claims.get(claim)?;
            let delete = InTheWay { claim: claim.clone(), uid: known.uid.clone(), remedy: Remedy::Delete };
            let is_leaving = known.deleting || self.underway.is_given_up(claim);
            return Some((
                "cannot schedule extended resource claim".to_owned(),
                (!is_leaving).then_some(delete),
            ));
        }
        let is_coming = self.underway.is_being_made(&pod.uid);
        is_coming
            .then(|| ("the pod's extended resource claim is in the process of being made".to_owned(), None))
    }
}
