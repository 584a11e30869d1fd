//! Which changes could help a gang that has no seats.
//!
//! Invariant: every change that could let it in is named. What says nothing about it is not: a taint matters only if one
//! keeps a member off a node, and a label only if members look for labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use gates::Gate;
use model::group::Group;
use model::identity::NodeName;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::devices::wakes::{Breadth, DEVICES, NODES};
use crate::filters;
use crate::gang::seats::sought::Sought;
use crate::values::certainty::Certainty;
use crate::values::miss::Miss;
use crate::values::wake::{Wake, Wakes};

/// What could help whatever members need.
const SEATS: Wakes = Wakes::of(&[Wake::NodeAdded, Wake::OwnRequests, Wake::OwnSpec, Wake::Group]);

/// What could help if it happens to a node that members may be on.
pub(crate) const ROOM: [Wake; 3] = [Wake::NodeAllocatable, Wake::PodRemoved, Wake::PodShrunk];

/// What could help besides where pods elsewhere or volumes count.
const AROUND: Wakes = Wakes::of(&[
    Wake::PodAdded,
    Wake::PodLabels,
    Wake::OwnLabels,
    Wake::NodeRemoved,
    Wake::NodeLabels,
    Wake::NodeTaints,
    Wake::OwnTolerations,
    Wake::Namespace,
    Wake::VolumeClaim,
    Wake::Volume,
    Wake::StorageClass,
    Wake::StorageNode,
    Wake::StorageDriver,
    Wake::StorageCapacity,
    Wake::Attachment,
]);

impl Cycle<'_> {
    /// The changes that could help these members of a group. What they looked for and what they missed is known, unless they did
    /// not come to that.
    pub fn helps(&mut self, group: &Group, pods: &[Arc<Pod>], known: Option<(&Sought, &Miss)>) -> Wakes {
        let mut wakes = self.helps_besides_devices(group, pods);
        match known.and_then(|(sought, miss)| self.nodes_for(sought, miss)) {
            Some(nodes) => wakes.add_domain(&ROOM, &nodes),
            None => wakes.extend(&Wakes::of(&ROOM)),
        }
        wakes.or(self.device_helps(pods, known.map(|(_, miss)| miss)))
    }

    /// The nodes on which room could help a gang: those of its domains, if it is certain that it has no seats as things stand and
    /// if nothing that happens on other nodes counts.
    fn nodes_for(&self, sought: &Sought, miss: &Miss) -> Option<BTreeSet<NodeName>> {
        let is_certain = miss.certainty == Certainty::Proved && sought.cast.is_local;
        let nodes = sought.domains.iter().filter(|_| is_certain).flat_map(|domain| &domain.nodes);
        let nodes: BTreeSet<NodeName> =
            nodes.map(|at| filters::node_of(self.facts.nodes.get(*at)).name.clone()).collect();
        // Without a domain it may be that members run in several, of which some have to go.
        (!nodes.is_empty()).then_some(nodes)
    }

    /// The changes to devices, claims and classes that could help these members.
    pub(crate) fn device_helps(&mut self, pods: &[Arc<Pod>], miss: Option<&Miss>) -> Wakes {
        if !pods.iter().any(|pod| self.facts.wants_devices(pod)) {
            return Wakes::NONE;
        }
        let is_known = miss.is_some_and(|miss| miss.certainty == Certainty::Proved && !miss.unanswered);
        let Some(profile) = pods.first().map(|pod| self.settings.profile_of(pod)).filter(|_| is_known) else {
            return DEVICES;
        };
        let mut wakes = NODES;
        for pod in pods {
            // A member whose claims cannot be used may be the one with which the gang has seats.
            let Ok(claims) = self.claims_of(pod, &profile) else { return DEVICES };
            wakes.extend(&self.device_wakes(&claims, Breadth::OwnDrivers));
        }
        wakes
    }

    /// The changes to anything else that could help these members of a group, but for room on nodes.
    pub(crate) fn helps_besides_devices(&self, group: &Group, pods: &[Arc<Pod>]) -> Wakes {
        let mut wakes = SEATS;
        let mut shapes: Vec<&Arc<Shape>> = Vec::new();
        for pod in pods {
            let is_same = |known: &&Arc<Shape>| Arc::ptr_eq(known, &pod.shape) || **known == pod.shape;
            if !shapes.iter().any(is_same) {
                shapes.push(&pod.shape);
            }
        }
        let profile = pods.first().and_then(|pod| self.settings.profile(pod));
        for shape in &shapes {
            let Some(profile) = profile else { continue };
            for node in self.facts.nodes.iter().map(|(_, state)| filters::node_of(state)) {
                if let Err(refusal) = filters::fixed(shape, node, &profile.filters) {
                    refusal.add_wakes(&node.name, &mut wakes);
                }
            }
        }
        let terms = self.facts.groups.terms(&group.id);
        if terms.is_some_and(|terms| !terms.levels.is_empty()) {
            wakes = wakes.or(Wake::NodeLabels.into());
        }
        if !group.levels.is_empty() && self.settings.gates.enabled(Gate::TopologyAwareWorkloadScheduling) {
            wakes = wakes.or(Wake::NodeLabels.into());
        }
        if shapes.iter().any(|shape| !shape.requests.others.is_empty()) {
            // Devices of a class may stand for it.
            wakes = wakes.or(Wake::Class.into());
        }
        let is_plain = |shape: &&Arc<Shape>| {
            shape.spread.is_empty() && shape.near.is_empty() && shape.apart.is_empty() && !shape.has_volumes()
        };
        let is_around = self.facts.nodes.pods_with_rules() > 0 || !shapes.iter().all(is_plain);
        if is_around { wakes.or(AROUND) } else { wakes }
    }
}
