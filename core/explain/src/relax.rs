//! A case as it would be without a constraint.

use std::collections::BTreeSet;
use std::sync::Arc;

use decisions::considering::SchedulingQuestion;
use decisions::node_refusal::ResourceName;
use model::claim::{Ask, Claim, ClaimId, Class, Request, Toleration, TolerationValue, Wish};
use model::group::{Composite, Group, GroupId};
use model::node::Node;
use model::pod::{NodeToleration, Pod, PodClaim, Resources, Shape, TolerationOperator};
use model::request_name::RequestName;
use model::workload::LevelTerm;

use crate::case::{Case, drop_nominations};
use crate::constraint::{CORDON, Constraint, Entry, constraints};

/// A class that picks every device. No class of a cluster has this name.
const ANY_CLASS: &str = "*";

impl Case {
    /// All constraints.
    #[must_use]
    pub fn constraints(&self) -> BTreeSet<Constraint> {
        constraints(self)
    }

    /// The same without some constraints.
    #[must_use]
    pub fn without<'c>(&self, constraints: impl IntoIterator<Item = &'c Constraint>) -> Case {
        let mut case = self.clone();
        // Places of things in lists stay what they are as long as the last go first.
        let mut sorted: Vec<&Constraint> = constraints.into_iter().collect();
        sorted.sort_unstable();
        sorted.into_iter().rev().for_each(|constraint| case.drop_constraint(constraint));
        case
    }

    fn drop_constraint(&mut self, constraint: &Constraint) {
        match constraint {
            Constraint::NodeSelector => self.change_shapes(&|shape| shape.node_labels.clear()),
            Constraint::NodeAffinity => self.change_shapes(&|shape| shape.node_affinity = None),
            Constraint::AddedAffinity => {
                self.change_profile(&|profile| profile.filters.enforced_nodes = None)
            }
            Constraint::Taint { key, effect } => self.tolerate(key, effect),
            Constraint::Cordon => self.tolerate(&CORDON.into(), &"NoSchedule".into()),
            Constraint::Feature(feature) => {
                self.change_shapes(&|shape| shape.required_features.retain(|one| one != feature));
            }
            Constraint::Resource(ResourceName::Pods) => {
                self.change_nodes(|_| true, |node| node.pods_max = i64::MAX);
            }
            Constraint::Resource(name) => self.change_shapes(&|shape| ask_nothing(shape, name)),
            Constraint::HostPort(port) => self.change_shapes(&|shape| shape.ports.retain(|one| one != port)),
            Constraint::Spread { index, key } => {
                self.change_shapes(&|shape| {
                    remove_at(&mut shape.spread, *index, |spread| spread.required && spread.key == *key);
                });
            }
            Constraint::PodAffinity { index, key } => {
                self.change_shapes(&|shape| remove_at(&mut shape.near, *index, |term| term.key == *key));
            }
            Constraint::PodAntiAffinity { index, key } => {
                self.change_shapes(&|shape| remove_at(&mut shape.apart, *index, |term| term.key == *key));
            }
            Constraint::ExistingAntiAffinity => self.drop_terms_of_others(),
            Constraint::Volume(name) => self.change_shapes(&|shape| {
                shape.volume_claims.retain(|one| one != name);
                shape.own_volume_claims.retain(|one| one.claim != *name);
            }),
            Constraint::Disks => self.change_shapes(&|shape| shape.disks.clear()),
            Constraint::Nominations => drop_nominations(&mut self.snapshot),
            Constraint::Claim(claim) => self.change_pods(&|pod| remove_entry(pod, &claim.entry)),
            Constraint::HeldDevices => {
                drop_nominations(&mut self.snapshot);
                self.snapshot.facts.claims = self.snapshot.facts.claims.with_all_devices_free();
                self.snapshot.facts.touches.touch_all();
            }
            Constraint::Topology { group, level } => {
                self.change_group(group, &|group| group.levels.retain(|one| one != level));
                self.change_composite(group, &|composite| composite.levels.retain(|one| one != level));
                let is_other = |term: &LevelTerm| term.rank.is_some() || term.level != *level;
                self.snapshot.facts.groups.change_terms(group, |terms| terms.levels.retain(is_other));
            }
            Constraint::DeviceSet { group, index, .. } => {
                let groups = &mut self.snapshot.facts.groups;
                groups.change_terms(group, |terms| remove_at(&mut terms.devices, *index, |_| true));
            }
            Constraint::MinCount { group, .. } => {
                self.change_group(group, &|group| group.at_least = 1);
                self.change_composite(group, &|composite| composite.at_least = 1);
            }
            Constraint::Count { .. }
            | Constraint::Class { .. }
            | Constraint::Selector { .. }
            | Constraint::Capacity { .. }
            | Constraint::DeviceTaints { .. }
            | Constraint::Attribute { .. } => self.drop_of_claim(constraint),
        }
    }

    fn drop_of_claim(&mut self, constraint: &Constraint) {
        match constraint {
            Constraint::Count { claim, request, .. } => {
                let ids = self.claims_of_entry(&claim.entry);
                for id in &ids {
                    self.change_claim(id, |state| remove_request(Arc::make_mut(&mut state.wish), request));
                }
                // A claim that asks for nothing is none.
                let facts = &self.snapshot.facts;
                let asks = |id: &ClaimId| {
                    facts.claims.get(id).is_some_and(|state| !state.wish.spec.requests.is_empty())
                };
                let idle: Vec<ClaimId> = ids.into_iter().filter(|id| !asks(id)).collect();
                self.change_pods(&|pod| remove_claims(pod, &idle));
            }
            Constraint::Class { claim, request, .. } => {
                let any = Class { name: ANY_CLASS.into(), ..Class::default() };
                self.snapshot.facts.apply_class(any);
                self.change_ask(claim, request, &|ask| ask.class = ANY_CLASS.into());
            }
            Constraint::Selector { claim, request, index } => {
                self.change_ask(claim, request, &|ask| remove_at(&mut ask.selectors, *index, |_| true));
            }
            Constraint::Capacity { claim, request } => {
                self.change_ask(claim, request, &|ask| ask.capacity = None);
            }
            Constraint::DeviceTaints { claim, request } => self.change_ask(claim, request, &|ask| {
                let (key, effect, seconds) = Default::default();
                ask.tolerations.push(Toleration { key, value: TolerationValue::Any, effect, seconds });
            }),
            Constraint::Attribute { claim, index, .. } => {
                self.change_wish(claim, &|wish| remove_at(&mut wish.spec.constraints, *index, |_| true));
            }
            _ => {}
        }
    }

    /// Lets the pods tolerate a taint, whatever its value.
    fn tolerate(&mut self, key: &Arc<str>, effect: &Arc<str>) {
        self.change_shapes(&|shape| {
            let (key, effect) = (key.clone(), effect.clone());
            let (operator, value) = (TolerationOperator::Exists, Arc::default());
            shape.tolerations.push(NodeToleration { key, operator, value, effect });
        });
    }

    /// Changes nodes.
    pub(crate) fn change_nodes(&mut self, picks: impl Fn(&Node) -> bool, change: impl Fn(&mut Node)) {
        let facts = &mut self.snapshot.facts;
        let known = facts.nodes.iter().filter_map(|(_, state)| state.node.clone());
        let picked: Vec<Arc<Node>> = known.filter(|node| picks(node)).collect();
        for node in picked {
            let mut node = Arc::unwrap_or_clone(node);
            change(&mut node);
            facts.apply_node(node);
        }
    }

    /// Pods that are there put up with the pods that are asked about.
    fn drop_terms_of_others(&mut self) {
        let shapes: Vec<Arc<Shape>> = self.question.pods().iter().map(|pod| pod.shape.clone()).collect();
        let facts = &mut self.snapshot.facts;
        let mut places = BTreeSet::new();
        for shape in &shapes {
            let picked = facts.nodes.placed_terms().picking(&shape.labels);
            places.extend(picked.flat_map(|(_, nodes)| nodes.keys().copied()));
        }
        let on = |at| facts.nodes.get(at).pods.values().filter(|pod| !pod.shape.apart.is_empty());
        let strict: Vec<Arc<Pod>> = places.into_iter().flat_map(on).cloned().collect();
        for mut pod in strict {
            let there = Arc::make_mut(&mut pod);
            Arc::make_mut(&mut there.shape).apart.clear();
            facts.put_pod(pod);
        }
    }

    /// Changes what claims ask for that pods know under an entry.
    pub(crate) fn change_wish(&mut self, claim: &Entry, change: &dyn Fn(&mut Claim)) {
        for id in self.claims_of_entry(&claim.entry) {
            self.change_claim(&id, |state| change(Arc::make_mut(&mut state.wish)));
        }
    }

    fn change_ask(&mut self, claim: &Entry, name: &RequestName, change: &dyn Fn(&mut Ask)) {
        self.change_wish(claim, &|wish| {
            for request in &mut wish.spec.requests {
                if let Some(ask) = ask_mut(request, name) {
                    change(ask);
                }
            }
        });
    }

    pub(crate) fn change_group(&mut self, id: &GroupId, change: &dyn Fn(&mut Group)) {
        let groups = &mut self.snapshot.facts.groups;
        let Some(known) = groups.get(id) else { return };
        let mut changed = Group::clone(known);
        change(&mut changed);
        groups.apply(changed.clone());
        if let SchedulingQuestion::Gang { group, .. } = &mut self.question
            && group.id == *id
        {
            *group = Arc::new(changed);
        }
    }

    pub(crate) fn change_composite(&mut self, id: &GroupId, change: &dyn Fn(&mut Composite)) {
        let groups = &mut self.snapshot.facts.groups;
        let Some(known) = groups.composite(id) else { return };
        let mut changed = Composite::clone(known);
        change(&mut changed);
        groups.apply_composite(changed);
    }
}

/// How the pods of a case belong together: what is the same for groups and for groups of groups.
pub(crate) struct Terms {
    pub id: GroupId,
    pub levels: Vec<Arc<str>>,
    pub at_least: u32,
}

/// The groups of a case, and the groups of groups above them.
pub(crate) fn groups_of(case: &Case) -> Vec<Terms> {
    let groups = &case.snapshot.facts.groups;
    let of_group = |group: &Group| Terms {
        id: group.id.clone(),
        levels: group.levels.clone(),
        at_least: group.at_least,
    };
    match &case.question {
        SchedulingQuestion::Pod(_) => Vec::new(),
        SchedulingQuestion::Gang { group, .. } => vec![of_group(group)],
        SchedulingQuestion::Tree { root, .. } => {
            let leaves: Vec<&Arc<Group>> =
                groups.leaves_of(root).into_iter().filter_map(|id| groups.get(&id)).collect();
            let mut above = std::collections::BTreeMap::new();
            for composite in leaves.iter().flat_map(|group| groups.composites_above(group)) {
                above.insert(composite.id.clone(), composite);
            }
            let of_composite = |composite: &Arc<Composite>| Terms {
                id: composite.id.clone(),
                levels: composite.levels.clone(),
                at_least: composite.at_least,
            };
            above.values().map(of_composite).chain(leaves.into_iter().map(|group| of_group(group))).collect()
        }
    }
}

/// Removes what is at a place of a list, if it is what is meant. Members of a group may have lists that differ.
fn remove_at<T>(list: &mut Vec<T>, index: usize, is_meant: impl Fn(&T) -> bool) {
    if list.get(index).is_some_and(is_meant) {
        list.remove(index);
    }
}

fn ask_nothing(shape: &mut Shape, name: &ResourceName) {
    let clear = |requests: &mut Resources| match name {
        ResourceName::Pods => {}
        ResourceName::Cpu => requests.cpu_milli = 0,
        ResourceName::Memory => requests.memory = 0,
        ResourceName::EphemeralStorage => requests.ephemeral_storage = 0,
        ResourceName::Other(name) => drop(requests.others.remove(name)),
    };
    clear(&mut shape.requests);
    clear(&mut shape.scored);
    if let ResourceName::Other(name) = name {
        for container in &mut shape.device_containers {
            container.amounts.remove(name);
        }
        shape.device_containers.retain(|container| !container.amounts.is_empty());
        shape.spare.retain(|(resource, _)| resource != name);
    }
}

fn remove_entry(pod: &mut Pod, entry: &str) {
    let kept: Vec<bool> = pod.claims.iter().map(|claim| *claim.name != *entry).collect();
    keep_claims(pod, &kept);
}

fn remove_claims(pod: &mut Pod, ids: &[ClaimId]) {
    let is_other = |claim: &PodClaim| pod.claim_id(claim).is_none_or(|id| !ids.contains(&id));
    let kept: Vec<bool> = pod.claims.iter().map(is_other).collect();
    keep_claims(pod, &kept);
}

fn keep_claims(pod: &mut Pod, kept: &[bool]) {
    keep(&mut pod.claims, kept);
    let shape = Arc::make_mut(&mut pod.shape);
    keep(&mut shape.claim_containers, kept);
    keep(&mut shape.claim_templates, kept);
}

fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next().copied().unwrap_or(true));
}

/// What a request asks for under a name.
fn ask_mut<'r>(request: &'r mut Request, name: &RequestName) -> Option<&'r mut Ask> {
    if request.name != name.request {
        return None;
    }
    match (&mut request.wish, &name.subrequest) {
        (Wish::Exactly(ask), None) => Some(ask),
        (Wish::FirstAvailable(asks), Some(wanted)) => {
            asks.iter_mut().find(|(name, _)| name == wanted).map(|(_, ask)| ask)
        }
        _ => None,
    }
}

/// Removes a request, and what is said of it elsewhere in the claim.
fn remove_request(wish: &mut Claim, name: &Arc<str>) {
    let spec = &mut wish.spec;
    spec.requests.retain(|request| request.name != *name);
    let is_other = |named: &RequestName| named.request != *name;
    let mut left = |named: &mut Vec<RequestName>| {
        let was_for_all = named.is_empty();
        named.retain(is_other);
        was_for_all || !named.is_empty()
    };
    spec.constraints.retain_mut(|constraint| left(&mut constraint.requests));
    spec.configs.retain_mut(&mut left);
}
