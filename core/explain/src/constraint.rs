//! What a pod and its claims ask for, and what others have, as values: each can be dropped by itself.
//!
//! Invariant: dropping a constraint never takes a place away, and a pod without any constraint fits on every node. So what keeps a
//! pod off all nodes is a set of these.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use decisions::filters::Filter;
use decisions::node_refusal::ResourceName;
use model::claim::{Amount, Ask, Claim, ClaimId, Request, Rule, Wish};
use model::code::Code;
use model::codes;
use model::group::GroupId;
use model::node::{Node, NodeTaintEffect};
use model::pod::{ClaimSource, HostPort, Pod, PodClaim, Shape};
use model::request_name::RequestName;
use model::workload::{LevelTerm, Together};

use crate::case::Case;

/// The taint that stands for a cordoned node.
pub(crate) const CORDON: &str = "node.kubernetes.io/unschedulable";

/// One thing that is asked for or in the way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Constraint {
    /// The pod's node selector.
    NodeSelector,
    /// The pod's required node affinity.
    NodeAffinity,
    /// The node affinity that the scheduler's configuration adds to all pods.
    AddedAffinity,
    /// Taints of nodes with this key and effect, which the pod does not tolerate.
    Taint {
        /// The key.
        key: Arc<str>,
        /// The effect.
        effect: Arc<str>,
    },
    /// Cordoned nodes take no new pods.
    Cordon,
    /// A feature that the node has to declare.
    Feature(Arc<str>),
    /// What the pod asks for of a resource, or that a node has places for so many pods.
    Resource(ResourceName),
    /// A port of the node.
    HostPort(HostPort),
    /// A topology spread constraint of the pod.
    Spread {
        /// Its place among those of the pod.
        index: usize,
        /// Its topology key.
        key: Arc<str>,
    },
    /// A required term of the pod's pod affinity.
    PodAffinity {
        /// Its place.
        index: usize,
        /// Its topology key.
        key: Arc<str>,
    },
    /// A required term of the pod's pod anti-affinity.
    PodAntiAffinity {
        /// Its place.
        index: usize,
        /// Its topology key.
        key: Arc<str>,
    },
    /// The pod anti-affinity of pods that are there.
    ExistingAntiAffinity,
    /// A PersistentVolumeClaim of the pod.
    Volume(Arc<str>),
    /// Disks that the pod names itself.
    Disks,
    /// Room that is kept for other pods, for which pods were preempted.
    Nominations,
    /// A resource claim of the pod that has its devices already, or that cannot be used as it is.
    Claim(Entry),
    /// How many devices a request asks for.
    Count {
        /// The claim.
        claim: Entry,
        /// The request.
        request: Arc<str>,
        /// How many; nothing if it is all, or if there are alternatives.
        count: Option<i64>,
    },
    /// The device class of a request.
    Class {
        /// The claim.
        claim: Entry,
        /// The request, or an alternative of it.
        request: RequestName,
        /// The class.
        class: Arc<str>,
    },
    /// A selector of a request.
    Selector {
        /// The claim.
        claim: Entry,
        /// The request, or an alternative of it.
        request: RequestName,
        /// Its place among those of the request.
        index: usize,
    },
    /// How much capacity of each device a request asks for.
    Capacity {
        /// The claim.
        claim: Entry,
        /// The request, or an alternative of it.
        request: RequestName,
    },
    /// Taints of devices that a request does not tolerate.
    DeviceTaints {
        /// The claim.
        claim: Entry,
        /// The request, or an alternative of it.
        request: RequestName,
    },
    /// A constraint of a claim: devices have a value of an attribute in common, or have none in common.
    Attribute {
        /// The claim.
        claim: Entry,
        /// Its place among those of the claim.
        index: usize,
        /// The attribute, unless the constraint is of another kind.
        attribute: Option<Arc<str>>,
        /// Devices may not have a value in common.
        is_distinct: bool,
    },
    /// Devices are held by others.
    HeldDevices,
    /// All pods of a group are in one domain of a level.
    Topology {
        /// The group, or group of groups.
        group: GroupId,
        /// The level.
        level: Arc<str>,
    },
    /// Devices of some claims of a group are in one set.
    DeviceSet {
        /// The group.
        group: GroupId,
        /// Its place among those of the group.
        index: usize,
        /// What the devices of a set have in common; nothing if they are of one pool.
        attribute: Option<Arc<str>>,
    },
    /// So many pods of a group are placed at once.
    MinCount {
        /// The group.
        group: GroupId,
        /// How many.
        count: u32,
    },
}

/// A claim as pods name it, and its name if it is the claim of one pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// The pods' name for it.
    pub entry: Arc<str>,
    /// The claim.
    pub claim: Option<ClaimId>,
}

codes! { Constraint, CONSTRAINTS:
    NodeSelector => "NodeSelector": "The pod has a node selector.",
        "Change the node selector, or label nodes.";
    NodeAffinity => "NodeAffinity": "The pod has required node affinity.",
        "Change the node affinity, or label nodes.";
    AddedAffinity => "AddedAffinity": "The scheduler's configuration adds node affinity to all pods.",
        "Change `addedAffinity` in the KubeSchedulerConfiguration.";
    Taint { .. } => "NodeTaint": "Nodes have a taint that the pod does not tolerate.",
        "Remove the taint, or add a toleration.";
    Cordon => "NodeUnschedulable": "Nodes are cordoned.",
        "Uncordon a node.";
    Feature(_) => "NodeFeature": "The pod needs a feature that the kubelet of a node has to declare.",
        "Upgrade kubelets.";
    Resource(_) => "ResourceRequest": "The pod requests an amount of a resource, or nodes have as many pods as they can have.",
        "Lower the request, or add nodes.";
    HostPort(_) => "HostPort": "The pod asks for a host port.",
        "Use another port, or a Service.";
    Spread { .. } => "TopologySpread": "The pod has a topology spread constraint.",
        "Raise `maxSkew`, or use `ScheduleAnyway`.";
    PodAffinity { .. } => "PodAffinity": "The pod has required pod affinity.",
        "Change the pod affinity, or start the pods that it selects.";
    PodAntiAffinity { .. } => "PodAntiAffinity": "The pod has required pod anti-affinity.",
        "Change the pod anti-affinity, or add nodes.";
    ExistingAntiAffinity => "ExistingPodAntiAffinity": "Pods on nodes have pod anti-affinity that selects the pod.",
        "Change the anti-affinity of those pods, or add nodes.";
    Volume(_) => "VolumeClaim": "The pod uses a PersistentVolumeClaim.",
        "Add storage that suitable nodes reach.";
    Disks => "Disks": "The pod names disks itself.",
        "Use PersistentVolumeClaims.";
    Nominations => "NominatedPods": "Capacity is reserved for pods for which others were preempted.",
        "Wait until those pods run.";
    Claim(_) => "Claim": "A ResourceClaim of the pod has its devices already, or cannot be used as it is.",
        "Free the claim, or use another.";
    Count { .. } => "DeviceCount": "A request asks for a number of devices.",
        "Ask for fewer devices.";
    Class { .. } => "DeviceClass": "A request names a DeviceClass.",
        "Use another class, or change its selectors.";
    Selector { .. } => "DeviceSelector": "A request has a selector.",
        "Relax the selector.";
    Capacity { .. } => "DeviceCapacity": "A request asks for an amount of capacity of each device.",
        "Ask for less capacity.";
    DeviceTaints { .. } => "DeviceTaint": "Devices have taints that a request does not tolerate.",
        "Remove the taints, or add tolerations to the request.";
    Attribute { is_distinct: false, .. } => "MatchAttribute": "Devices of a claim must have the same value of an attribute.",
        "Remove the constraint, or ask for fewer devices.";
    Attribute { is_distinct: true, .. } => "DistinctAttribute": "Devices of a claim must have different values of an attribute.",
        "Remove the constraint, or ask for fewer devices.";
    HeldDevices => "HeldDevices": "Devices are allocated to other claims.",
        "Free claims, or add devices.";
    Topology { .. } => "Topology": "All pods of a group must be in one topology domain.",
        "Use a wider level, or free capacity in a domain.";
    DeviceSet { .. } => "DeviceSet": "Devices of claims of a group must be in one set.",
        "Remove the constraint, or free devices of one set.";
    MinCount { .. } => "MinCount": "A number of pods of a group must be placed at once.",
        "Lower `minCount`.";
}

impl Constraint {
    /// All codes.
    #[must_use]
    pub fn catalogue() -> &'static [Code] {
        CONSTRAINTS
    }
}

/// All constraints of a case.
pub(crate) fn constraints(case: &Case) -> BTreeSet<Constraint> {
    let mut all = BTreeSet::new();
    let mut known: Vec<Arc<Claim>> = Vec::new();
    for pod in case.question.pods() {
        of_shape(case, &pod.shape, &mut all);
        of_claims(case, pod, &mut known, &mut all);
    }
    of_cluster(case, &mut all);
    of_groups(case, &mut all);
    all
}

fn of_shape(case: &Case, shape: &Shape, all: &mut BTreeSet<Constraint>) {
    if !shape.node_labels.is_empty() {
        all.insert(Constraint::NodeSelector);
    }
    if shape.node_affinity.is_some() {
        all.insert(Constraint::NodeAffinity);
    }
    all.extend(shape.required_features.iter().cloned().map(Constraint::Feature));
    let requests = &shape.requests;
    let amounts = [
        (ResourceName::Cpu, requests.cpu_milli),
        (ResourceName::Memory, requests.memory),
        (ResourceName::EphemeralStorage, requests.ephemeral_storage),
    ];
    let others = requests.others.iter().map(|(name, amount)| (ResourceName::Other(name.clone()), *amount));
    let asked = amounts.into_iter().chain(others).filter(|(_, amount)| *amount > 0);
    all.extend(asked.map(|(name, _)| Constraint::Resource(name)));
    all.extend(shape.ports.iter().cloned().map(Constraint::HostPort));
    let required = shape.spread.iter().enumerate().filter(|(_, spread)| spread.required);
    all.extend(required.map(|(index, spread)| Constraint::Spread { index, key: spread.key.clone() }));
    let near = shape.near.iter().enumerate();
    all.extend(near.map(|(index, term)| Constraint::PodAffinity { index, key: term.key.clone() }));
    let apart = shape.apart.iter().enumerate();
    all.extend(apart.map(|(index, term)| Constraint::PodAntiAffinity { index, key: term.key.clone() }));
    if case.snapshot.facts.nodes.placed_terms().picking(&shape.labels).next().is_some() {
        all.insert(Constraint::ExistingAntiAffinity);
    }
    all.extend(shape.volume_claims.iter().cloned().map(Constraint::Volume));
    if !shape.disks.is_empty() {
        all.insert(Constraint::Disks);
    }
}

/// The constraints of the claims of a pod. Claims that ask for the same as others that are known are not told again.
fn of_claims(case: &Case, pod: &Pod, known: &mut Vec<Arc<Claim>>, all: &mut BTreeSet<Constraint>) {
    let facts = &case.snapshot.facts;
    let is_single = case.pod().is_some();
    for named in &pod.claims {
        let id = pod.claim_id(named);
        let claim = Entry { entry: named.name.clone(), claim: id.clone().filter(|_| is_single) };
        let state =
            id.and_then(|id| facts.claims.get(&id)).filter(|state| asks_freely(case, pod, named, state));
        let Some(state) = state else {
            all.insert(Constraint::Claim(claim));
            continue;
        };
        let spec = &state.wish.spec;
        if !is_single && known.iter().any(|claim| claim.spec == *spec) {
            continue;
        }
        known.push(state.wish.clone());
        spec.requests.iter().for_each(|request| of_request(&claim, request, all));
        for (index, constraint) in spec.constraints.iter().enumerate() {
            let (attribute, is_distinct) = match &constraint.rule {
                Rule::Match(attribute) => (Some(attribute.clone()), false),
                Rule::Distinct(attribute) => (Some(attribute.clone()), true),
                Rule::Within(_) | Rule::Without(_) | Rule::Unknown => (None, false),
            };
            all.insert(Constraint::Attribute { claim: claim.clone(), index, attribute, is_distinct });
        }
        all.insert(Constraint::HeldDevices);
    }
    if !pod.shape.device_containers.is_empty() {
        all.insert(Constraint::HeldDevices);
    }
}

/// Whether the scheduler is to find devices for a claim of a pod, and nothing else is wrong with it.
fn asks_freely(case: &Case, pod: &Pod, named: &PodClaim, state: &ClaimState) -> bool {
    let (facts, id) = (&case.snapshot.facts, &state.wish.id);
    let is_foreign = matches!(named.source, ClaimSource::Generated(_))
        && state.owner.as_ref() != Some(&facts.user_of(pod, id));
    facts.claims.allocation(id).is_none()
        && !(facts.is_controlled(state) || state.deleting || is_foreign)
        && !case.snapshot.underway.given_up.contains(id)
}

fn of_request(claim: &Entry, request: &Request, all: &mut BTreeSet<Constraint>) {
    let count = match &request.wish {
        Wish::Exactly(Ask { amount: Amount::Exactly(count), .. }) => Some(*count),
        Wish::Exactly(_) | Wish::FirstAvailable(_) => None,
    };
    all.insert(Constraint::Count { claim: claim.clone(), request: request.name.clone(), count });
    for (request, ask) in asks(request) {
        let claim = || claim.clone();
        all.insert(Constraint::Class { claim: claim(), request: request.clone(), class: ask.class.clone() });
        let selectors = 0..ask.selectors.len();
        all.extend(selectors.map(|index| Constraint::Selector {
            claim: claim(),
            request: request.clone(),
            index,
        }));
        if ask.capacity.is_some() {
            all.insert(Constraint::Capacity { claim: claim(), request: request.clone() });
        }
        all.insert(Constraint::DeviceTaints { claim: claim(), request });
    }
}

/// What a request asks for: itself, or each of its alternatives.
pub(crate) fn asks(request: &Request) -> Vec<(RequestName, &Ask)> {
    match &request.wish {
        Wish::Exactly(ask) => vec![(request.name.clone().into(), ask)],
        Wish::FirstAvailable(asks) => {
            let named = |name: &Arc<str>| RequestName {
                request: request.name.clone(),
                subrequest: Some(name.clone()),
            };
            asks.iter().map(|(name, ask)| (named(name), ask)).collect()
        }
    }
}

fn of_cluster(case: &Case, all: &mut BTreeSet<Constraint>) {
    let Some(profile) = case.profile() else { return };
    let (facts, filters) = (&case.snapshot.facts, &profile.filters);
    if filters.enforced_nodes.is_some() {
        all.insert(Constraint::AddedAffinity);
    }
    if !case.snapshot.plans.nominations.is_empty() {
        all.insert(Constraint::Nominations);
    }
    let places = case.question.pods().len().max(1) + case.snapshot.plans.nominations.pods().count();
    for (_, state) in facts.nodes.iter() {
        let Some(node) = &state.node else { continue };
        if filters.has(Filter::Taints) {
            all.extend(taints_of(node));
        }
        if node.unschedulable {
            all.insert(Constraint::Cordon);
        }
        if node.pods_max < (state.pods.len() + places) as i64 {
            all.insert(Constraint::Resource(ResourceName::Pods));
        }
    }
}

/// The taints of a node that keep off pods which do not tolerate them.
pub(crate) fn taints_of(node: &Node) -> impl Iterator<Item = Constraint> {
    let strict = node.taints.iter().filter(|taint| {
        &*taint.key != CORDON
            && matches!(taint.effect, NodeTaintEffect::NoSchedule | NodeTaintEffect::NoExecute)
    });
    strict.map(|taint| Constraint::Taint { key: taint.key.clone(), effect: taint.effect.name().into() })
}

fn of_groups(case: &Case, all: &mut BTreeSet<Constraint>) {
    for group in crate::relax::groups_of(case) {
        let id = &group.id;
        let levels = group.levels.iter().cloned();
        all.extend(levels.map(|level| Constraint::Topology { group: id.clone(), level }));
        if let Some(terms) = case.snapshot.facts.groups.terms(id) {
            let levels = terms.levels.iter().filter(|term| term.rank.is_none());
            let topology =
                |term: &LevelTerm| Constraint::Topology { group: id.clone(), level: term.level.clone() };
            all.extend(levels.map(topology));
            for (index, term) in terms.devices.iter().enumerate() {
                let attribute = match &term.together {
                    Together::Pool => None,
                    Together::Attribute(attribute) => Some(attribute.clone()),
                };
                all.insert(Constraint::DeviceSet { group: id.clone(), index, attribute });
            }
        }
        if group.at_least > 1 {
            all.insert(Constraint::MinCount { group: id.clone(), count: group.at_least });
        }
    }
}
