//! Changes to a cluster, or to what is asked for, that can be tried on a case.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::what_if;
use decisions::considering::SchedulingQuestion;
use decisions::node_refusal::ResourceName;
use decisions::underway::Underway;
use model::claim::{Amount, ClaimId, Wish};
use model::code::Code;
use model::codes;
use model::device::DeviceId;
use model::group::GroupId;
use model::identity::NodeName;
use model::node::NodeTaint;
use model::pod::{PodId, Resources, Shape};

use crate::audience::{Audience, Shown};
use crate::case::Case;
use crate::constraint::{Constraint, Entry};

/// A change that may help.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edit {
    /// A claim that no pod uses gives its devices back.
    FreeClaim(Shown<ClaimId>),
    /// A cordoned node takes new pods again.
    Uncordon(NodeName),
    /// A node loses a taint.
    RemoveTaint {
        /// The node.
        node: NodeName,
        /// The key of the taint.
        key: Arc<str>,
        /// Its value.
        value: Arc<str>,
        /// Its effect.
        effect: Arc<str>,
    },
    /// The pod asks for less of a resource.
    LowerRequest {
        /// The resource.
        resource: ResourceName,
        /// To how much.
        to: i64,
    },
    /// A request of a claim asks for fewer devices.
    LowerCount {
        /// The claim.
        claim: Entry,
        /// The request.
        request: Arc<str>,
        /// To how many.
        to: i64,
    },
    /// Fewer pods of a group have to be placed at once.
    LowerMinCount {
        /// The group.
        group: GroupId,
        /// To how many.
        to: u32,
    },
    /// A pod ends, and the claims that it alone uses give their devices back.
    EndPod {
        /// The pod.
        pod: Shown<PodId>,
        /// Its node.
        node: NodeName,
    },
    /// A constraint is dropped.
    Drop(Constraint),
    /// The pod gets a higher priority, and others are preempted for it.
    RaisePriority {
        /// To how much.
        to: i32,
    },
    /// There are more devices like one that is there.
    AddDevices {
        /// The device.
        like: DeviceId,
        /// On which node.
        node: NodeName,
        /// How many.
        count: usize,
    },
    /// There is another node like one that is there, with devices like those of that one, and without pods.
    AddNode {
        /// The node.
        like: NodeName,
    },
}

codes! { Edit, EDITS:
    FreeClaim(_) => "FreeClaim": "A claim that no pod uses is deallocated.",
        "Delete the claim, or clear its allocation.";
    Uncordon(_) => "Uncordon": "A node is uncordoned.",
        "Run `kubectl uncordon NODE`.";
    RemoveTaint { .. } => "RemoveTaint": "A taint is removed from a node.",
        "Run `kubectl taint nodes NODE KEY:EFFECT-`.";
    LowerRequest { .. } => "LowerRequest": "The pod requests less of a resource.",
        "Change the resource request of the pod.";
    LowerCount { .. } => "LowerCount": "A request asks for fewer devices.",
        "Change `count` in the claim or its template.";
    LowerMinCount { .. } => "LowerMinCount": "Fewer pods of a group have to be placed at once.",
        "Change `minCount` of the group.";
    EndPod { .. } => "EndPod": "Another pod ends and frees its capacity and devices.",
        "Wait for it, or delete it.";
    Drop(_) => "DropConstraint": "A constraint is removed.",
        "Remove what the constraint names from the pod, claim or group.";
    RaisePriority { .. } => "RaisePriority": "The pod has a higher priority, and others are preempted for it.",
        "Use another PriorityClass.";
    AddDevices { .. } => "AddDevices": "A node has more devices.",
        "Add devices like the one that is named.";
    AddNode { .. } => "AddNode": "There is another node.",
        "Add a node like the one that is named.";
}

impl Edit {
    /// All codes.
    #[must_use]
    pub fn catalogue() -> &'static [Code] {
        EDITS
    }

    /// Hides what an audience may not see.
    pub(crate) fn mask(&mut self, audience: &Audience) {
        match self {
            Edit::FreeClaim(claim) => audience.mask(claim),
            Edit::EndPod { pod, .. } => audience.mask(pod),
            _ => {}
        }
    }
}

impl Case {
    /// The same after some changes.
    #[must_use]
    pub fn after<'e>(&self, edits: impl IntoIterator<Item = &'e Edit> + Clone) -> Case {
        // Constraints are known by their places in lists, so all that go go at once.
        let dropped = edits.clone().into_iter().filter_map(|edit| match edit {
            Edit::Drop(constraint) => Some(constraint),
            _ => None,
        });
        let mut case = self.without(dropped);
        edits.into_iter().for_each(|edit| case.make(edit));
        case
    }

    fn make(&mut self, edit: &Edit) {
        match edit {
            Edit::Drop(_) | Edit::FreeClaim(Shown::Hidden) | Edit::EndPod { pod: Shown::Hidden, .. } => {}
            Edit::FreeClaim(Shown::Named(id)) => self.free_claim(id),
            Edit::EndPod { pod: Shown::Named(id), node } => self.end_pod(id, node),
            Edit::Uncordon(name) => {
                self.change_nodes(|node| node.name == *name, |node| node.unschedulable = false);
            }
            Edit::RemoveTaint { node: name, key, value, effect } => {
                let is_meant = |taint: &NodeTaint| {
                    taint.key == *key && taint.value == *value && taint.effect.name() == &**effect
                };
                self.change_nodes(
                    |node| node.name == *name,
                    |node| {
                        node.taints.retain(|taint| !is_meant(taint));
                    },
                );
            }
            Edit::LowerRequest { resource, to } => self.change_shapes(&|shape| lower(shape, resource, *to)),
            Edit::LowerCount { claim, request, to } => self.change_wish(claim, &|wish| {
                let mut requests = wish.spec.requests.iter_mut();
                if let Some(Wish::Exactly(ask)) =
                    requests.find(|one| one.name == *request).map(|one| &mut one.wish)
                {
                    ask.amount = Amount::Exactly(*to);
                }
            }),
            Edit::LowerMinCount { group, to } => {
                self.change_group(group, &|group| group.at_least = group.at_least.min(*to));
                self.change_composite(group, &|composite| composite.at_least = composite.at_least.min(*to));
            }
            Edit::RaisePriority { to } => self.raise_priority(*to),
            Edit::AddDevices { like, count, .. } => self.add_devices(like, *count),
            Edit::AddNode { like } => self.add_node(like),
        }
    }

    fn free_claim(&mut self, id: &ClaimId) {
        let Some(known) = self.snapshot.facts.claims.get(id) else { return };
        self.put_claim(what_if::without_devices(known));
    }

    /// Takes note of a claim as it is after a change.
    fn put_claim(&mut self, state: ClaimState) {
        let facts = &mut self.snapshot.facts;
        if state.allocation.is_none() && state.reserved_for.is_empty() {
            let (id, uid) = (state.wish.id.clone(), state.uid.clone());
            facts.touch_claim(&id);
            facts.claims.undecide(&id, &uid);
        }
        facts.claims.apply(state);
    }

    fn end_pod(&mut self, id: &PodId, node: &NodeName) {
        let facts = &mut self.snapshot.facts;
        let Some(at) = facts.nodes.find(node) else { return };
        let Some(pod) = facts.nodes.get(at).pods.values().find(|pod| pod.id == *id).cloned() else { return };
        facts.take_pod(&pod.uid);
        facts.waiting.remove(&pod.uid);
        let underway = &mut self.snapshot.underway;
        underway.ties.remove(&pod.uid);
        underway.reserved.values_mut().for_each(|users| users.retain(|user| *user != pod.uid));
        underway.reserving.values_mut().for_each(|users| users.retain(|user| user.uid != pod.uid));
        let is_being_reserved = |id: &ClaimId| self.snapshot.underway.is_being_reserved(id, None);
        let after = what_if::claims_after(&self.snapshot.facts, &pod, &is_being_reserved);
        after.into_iter().for_each(|state| self.put_claim(state));
        self.snapshot.facts.claims.forget_unmade(&pod.uid);
    }

    fn raise_priority(&mut self, to: i32) {
        self.change_pods(&|pod| pod.priority = pod.priority.max(to));
        if let SchedulingQuestion::Gang { group, .. } = &self.question {
            let id = group.id.clone();
            self.change_group(&id, &|group| group.priority = group.priority.max(to));
        }
        if let SchedulingQuestion::Tree { root, .. } = &self.question {
            let id = root.id().clone();
            self.change_composite(&id, &|composite| composite.priority = composite.priority.max(to));
        }
    }

    fn add_devices(&mut self, like: &DeviceId, count: usize) {
        let facts = &mut self.snapshot.facts;
        if let Some(published) = what_if::more_devices(facts, like, count) {
            facts.apply_slice(published);
        }
    }

    fn add_node(&mut self, like: &NodeName) {
        let facts = &mut self.snapshot.facts;
        let name = what_if::free_name(facts, like);
        let Some((node, slices)) = what_if::node_like(facts, like, &name) else { return };
        facts.apply_node(node);
        slices.into_iter().for_each(|published| facts.apply_slice(published));
    }
}

fn lower(shape: &mut Shape, name: &ResourceName, to: i64) {
    let lower = |requests: &mut Resources| {
        let amount = match name {
            ResourceName::Pods => return,
            ResourceName::Cpu => &mut requests.cpu_milli,
            ResourceName::Memory => &mut requests.memory,
            ResourceName::EphemeralStorage => &mut requests.ephemeral_storage,
            ResourceName::Other(name) => match requests.others.get_mut(name) {
                Some(amount) => amount,
                None => return,
            },
        };
        *amount = (*amount).min(to);
    };
    lower(&mut shape.requests);
    lower(&mut shape.scored);
}
