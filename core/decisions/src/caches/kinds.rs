//! What is known about nodes for pods that need the same of a node, kept from one scheduling cycle to the next.
//!
//! What pods everywhere mean for a pod is none of it: that differs from application to application, and is held against tiers of
//! nodes afterwards.
//!
//! Invariant: every node that is known is in the tier that its record names, and in no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::{NodeIdx, Nodes};
use model::allocation::Allocation;
use model::claim::Claim;
use model::pod::Shape;

use crate::caches::tiers::{Membership, Tiers};
use crate::profile::Profile;

/// How many kinds of pods are kept; beyond that the one that was asked for the longest ago goes.
pub(crate) const KINDS_MAX: usize = 64;

/// What is known about nodes for pods that need the same of a node.
#[derive(Debug)]
pub(crate) struct PodKind {
    pub(crate) profile: Arc<Profile>,
    /// The shape of one of the pods. Only what it needs of a node counts.
    pub(crate) shape: Arc<Shape>,
    pub(crate) wishes: Vec<Arc<Claim>>,
    /// Nominees that are less important do not count.
    pub(crate) priority: i32,
    /// By node number, if the node exists.
    nodes: Vec<Option<KnownNode>>,
    pub(crate) tiers: Tiers,
    /// How common the images were, and the revision of the counts that said so.
    pub(crate) images: (u64, Option<(u32, Vec<u32>)>),
    /// Touches up to this moment are taken into account.
    pub(crate) seen: Option<u64>,
    /// But for touches of nodes that there was no time to look at.
    pub(crate) unseen: BTreeSet<NodeIdx>,
}

/// What is known about a node.
#[derive(Debug)]
pub(crate) struct KnownNode {
    pub(crate) membership: Membership,
    /// The devices, if the node will do.
    pub(crate) allocations: Vec<Allocation>,
}

impl PodKind {
    pub(crate) fn new(
        profile: Arc<Profile>,
        shape: Arc<Shape>,
        wishes: Vec<Arc<Claim>>,
        priority: i32,
    ) -> PodKind {
        PodKind {
            profile,
            shape,
            wishes,
            priority,
            nodes: Vec::new(),
            tiers: Tiers::default(),
            images: Default::default(),
            seen: None,
            unseen: BTreeSet::new(),
        }
    }

    pub(crate) fn forget(&mut self) {
        self.nodes.clear();
        self.tiers.forget();
    }

    /// A node, if it exists and was looked at.
    pub(crate) fn get(&self, at: NodeIdx) -> Option<&KnownNode> {
        self.nodes.get(at.0 as usize)?.as_ref()
    }

    /// Keeps what was found out about a node.
    pub(crate) fn set(&mut self, at: NodeIdx, known: Option<KnownNode>) {
        let place = at.0 as usize;
        if self.nodes.len() <= place {
            self.nodes.resize_with(place + 1, || None);
        }
        let before = std::mem::replace(&mut self.nodes[place], known);
        if let Some(before) = before {
            self.tiers.leave(at, &before.membership);
        }
    }

    /// Tells nodes apart by these labels from now on.
    pub(crate) fn tell_apart(&mut self, keys: BTreeSet<Arc<str>>, nodes: &Nodes) {
        if keys.iter().all(|key| self.tiers.has_key(key)) {
            return;
        }
        self.tiers.add_keys(keys, nodes);
        for (number, known) in self.nodes.iter_mut().enumerate() {
            let at = NodeIdx(number as u32);
            if let (Some(known), Some(node)) = (known, &nodes.get(at).node) {
                known.membership =
                    self.tiers.enter(at, node, known.membership.traits(), known.membership.found);
            }
        }
    }
}

/// Whether two shapes need the same of a node, whichever pods are near it and whichever they want to be near to.
pub(crate) fn need_the_same(one: &Arc<Shape>, other: &Arc<Shape>) -> bool {
    let Shape {
        requests,
        scored,
        node_labels,
        node_affinity,
        preferred_nodes,
        tolerations,
        ports,
        images,
        containers,
        required_features,
        device_containers,
        claim_containers,
        claim_templates,
        spare,
        // What pods everywhere mean for a pod, and it for them.
        namespace: _,
        labels: _,
        spread: _,
        near: _,
        apart: _,
        preferred_pods: _,
        owner: _,
        // Pods with volumes have answers of their own.
        volume_claims: _,
        own_volume_claims: _,
        disks: _,
    } = &**one;
    Arc::ptr_eq(one, other)
        || (*requests == other.requests
            && *scored == other.scored
            && *node_labels == other.node_labels
            && *node_affinity == other.node_affinity
            && *preferred_nodes == other.preferred_nodes
            && *tolerations == other.tolerations
            && *ports == other.ports
            && *images == other.images
            && *containers == other.containers
            && *required_features == other.required_features
            && *device_containers == other.device_containers
            && *claim_containers == other.claim_containers
            && *claim_templates == other.claim_templates
            && *spare == other.spare)
}
