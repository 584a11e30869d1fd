//! Changes to a cluster, or to what is asked for, that can be tried on a case.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::published::Published;
use decisions::considering::SchedulingQuestion;
use decisions::node_refusal::ResourceName;
use decisions::underway::Underway;
use model::claim::{Amount, ClaimId, Wish};
use model::code::Code;
use model::codes;
use model::device::{Device, DeviceId, Reach, Slice};
use model::group::GroupId;
use model::identity::NodeName;
use model::node::NodeTaint;
use model::pod::{Pod, PodId, Resources, Shape};

use crate::audience::{Audience, Shown};
use crate::case::Case;
use crate::constraint::{Constraint, Entry};

/// The label that tells nodes apart.
const HOSTNAME: &str = "kubernetes.io/hostname";

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
        let facts = &mut self.snapshot.facts;
        let Some(known) = facts.claims.get(id) else { return };
        let state = ClaimState { allocation: None, reserved_for: Vec::new(), ..ClaimState::clone(known) };
        let uid = state.uid.clone();
        facts.touch_claim(id);
        facts.claims.undecide(id, &uid);
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
        for id in claims_of(&self.snapshot.facts, &pod) {
            let facts = &self.snapshot.facts;
            let Some(known) = facts.claims.get(&id) else { continue };
            if facts.has_other_users(&id, &pod.uid) || self.snapshot.underway.is_being_reserved(&id, None) {
                let mut state = ClaimState::clone(known);
                state.reserved_for.retain(|user| !user.is(&pod.uid));
                self.snapshot.facts.claims.apply(state);
            } else {
                self.free_claim(&id);
            }
        }
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
        let pool = like.pool_id();
        let has_it = |published: &&Arc<Published>| {
            published.slice.devices.iter().any(|device| device.name == like.device)
        };
        let found = facts.slices.of_pool(&pool).find(has_it).cloned();
        let Some(published) = found else { return };
        let mut slice = published.slice.clone();
        let Some(device) = slice.devices.iter().find(|one| one.name == like.device).cloned() else { return };
        // What is wrong with one is not wrong with another of its kind.
        let fresh = |number: usize| Device {
            name: format!("{}-new-{number}", like.device).into(),
            taints: Vec::new(),
            ..device.clone()
        };
        slice.devices.extend((0..count).map(fresh));
        facts.apply_slice(renewed(&published, slice));
    }

    fn add_node(&mut self, like: &NodeName) {
        let name = name_like(self, like);
        let facts = &mut self.snapshot.facts;
        let known = facts.nodes.find(like).and_then(|at| facts.nodes.get(at).node.clone());
        let Some(known) = known else { return };
        let mut node = Arc::unwrap_or_clone(known);
        node.name = name.clone();
        if node.labels.contains_key(HOSTNAME) {
            node.labels.insert(HOSTNAME.into(), (*name).into());
        }
        facts.apply_node(node);
        let own: Vec<Arc<Published>> = facts.slices.of_node(like).cloned().collect();
        let mut pools = BTreeMap::new();
        for published in own {
            let mut slice = published.slice.clone();
            slice.reach = Reach::Node(name.clone());
            slice.name = format!("{}-of-{name}", slice.name).into();
            let of_pool = || -> Arc<str> { format!("{}-of-{name}", slice.pool.pool).into() };
            slice.pool.pool = pools.entry(slice.pool.clone()).or_insert_with(of_pool).clone();
            facts.apply_slice(renewed(&published, slice));
        }
    }
}

/// The claims of a pod, with that which was made for the resources that it asks for by name.
pub(crate) fn claims_of(facts: &cluster::facts::Facts, pod: &Pod) -> Vec<ClaimId> {
    pod.claim_ids().chain(facts.made_for(&pod.uid).cloned()).collect()
}

/// A slice with other content than the one that it is made of.
fn renewed(published: &Published, slice: Slice) -> Arc<Published> {
    let mut revision = published.revision;
    // Names of slices tell their states apart where one is made of another; nothing else has odd high bits like these.
    let names = slice.devices.last().into_iter().flat_map(|device| device.name.bytes());
    let salt =
        slice.name.bytes().chain(names).fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    revision.slice ^= salt;
    revision.revision = revision.revision.wrapping_add(slice.devices.len() as u64) | 1 << 63;
    Arc::new(Published::new(slice, revision))
}

/// The name of a node that is like another.
pub(crate) fn name_like(case: &Case, like: &NodeName) -> NodeName {
    let free = (1..).map(|number| NodeName::from(format!("{like}-new-{number}")));
    let mut free = free.filter(|name| case.snapshot.facts.nodes.find(name).is_none());
    free.next().expect("there are more numbers than nodes")
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
