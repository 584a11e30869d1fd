//! Judges what is written by the objects of the API alone.
//!
//! Nothing of the schedulers is looked at here, and nothing that they know is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gates::Gates;
use invariants::{Evidence, GroupsFrom, Violation, check_binding, check_state};
use model::quantity::Quantity;
use objects::Object;
use objects::core::affinity::{NodeSelector, NodeSelectorRequirement};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use store::{Change, Key};

use super::api::Made;
use super::gangs::GangRecord;
use super::rules::Rules;
use super::shown::Shown;

/// The objects that matter, as the API has them.
#[derive(Debug)]
pub(crate) struct Judge {
    gates: Gates,
    /// Schedulers that do not wait for each other may both give away the same, and one of them takes it back.
    rivals: bool,
    pub pods: BTreeMap<Key, Arc<Pod>>,
    /// Claims, slices and classes stand in rows, as the checker of allocations wants them.
    claims: Vec<ResourceClaim>,
    nodes: BTreeMap<Key, Arc<Node>>,
    slices: Vec<ResourceSlice>,
    classes: Vec<DeviceClass>,
    /// Pods that no scheduler has bound, by uid, and the revision at which another client did. They are on their nodes before they
    /// can be.
    bound_by_hand: BTreeMap<String, u64>,
    /// Pods that lost the devices of a claim through a call that was sent before they were bound by hand: the name of the claim and the
    /// uids of pod and claim. Another client has bound what was not ready to be bound, and the call could not know.
    overtaken: BTreeMap<(Key, String), String>,
    /// Which scheduler gave a claim its devices.
    givers: BTreeMap<Key, Option<usize>>,
    pub gangs: GangRecord,
    rules: Rules,
}

/// Keeps an object as it is, and gives it as it was.
fn keep<T>(all: &mut BTreeMap<Key, Arc<T>>, made: &Made, object: &Shown) -> Option<Arc<T>>
where
    T: Object + Send + Sync + 'static,
{
    let key = made.event.key.clone();
    if made.event.change == Change::Deleted {
        return all.remove(&key);
    }
    all.insert(key, Arc::clone(object.read()))
}

/// The same for objects that stand in a row.
fn keep_in_row<T>(row: &mut Vec<T>, made: &Made, object: &Shown) -> Option<T>
where
    T: Object + Send + Sync + 'static,
{
    let key = &made.event.key;
    let at = row.iter().position(|one| is_at(one, key));
    if made.event.change == Change::Deleted {
        return at.map(|at| row.remove(at));
    }
    let new = T::clone(object.read());
    match at {
        Some(at) => Some(std::mem::replace(&mut row[at], new)),
        None => {
            row.push(new);
            None
        }
    }
}

fn is_at(object: &impl Object, key: &Key) -> bool {
    let meta = object.metadata();
    meta.name == *key.name && meta.namespace == *key.namespace
}

impl Judge {
    pub fn new(gates: Gates, rivals: bool) -> Judge {
        Judge {
            gates,
            rivals,
            pods: BTreeMap::new(),
            claims: Vec::new(),
            nodes: BTreeMap::new(),
            slices: Vec::new(),
            classes: Vec::new(),
            bound_by_hand: BTreeMap::new(),
            overtaken: BTreeMap::new(),
            givers: BTreeMap::new(),
            gangs: GangRecord::default(),
            rules: Rules::default(),
        }
    }

    /// Takes a change in, and says what is wrong since. `prepared` are the uids of claims that nodes have prepared.
    pub fn see(&mut self, made: &Made, object: &Shown, prepared: &BTreeSet<&str>) -> Vec<String> {
        let key = &made.event.key;
        match made.site.kind.kind.as_str() {
            "Pod" => {
                let before = keep(&mut self.pods, made, object);
                let mut wrong = self.check_pod(made, before.as_deref());
                wrong.extend(self.gangs.see(made, before.as_deref(), &self.pods));
                wrong.extend(self.check_users());
                wrong.extend(self.check_rivals());
                wrong
            }
            "ResourceClaim" => {
                let before = keep_in_row(&mut self.claims, made, object);
                self.end_overtaken(key);
                let had = before.as_ref().and_then(|claim| claim.status.allocation.as_ref());
                if had.is_none() {
                    self.givers.insert(key.clone(), made.by.map(|by| by.replica));
                }
                let mut wrong = self.check_devices();
                wrong.extend(before.and_then(|before| self.check_prepared(made, &before, prepared)));
                wrong.extend(self.check_users());
                wrong.extend(self.check_rivals());
                wrong
            }
            "Node" => {
                keep(&mut self.nodes, made, object);
                Vec::new()
            }
            "ResourceSlice" => {
                keep_in_row(&mut self.slices, made, object);
                Vec::new()
            }
            "DeviceClass" => {
                keep_in_row(&mut self.classes, made, object);
                Vec::new()
            }
            _ => {
                self.gangs.see_policy(made, object, &self.pods);
                self.rules.see(made, object)
            }
        }
    }

    /// No device has two holders that may not share it, and no counter or capacity is overdrawn: by one scheduler.
    fn check_devices(&self) -> Vec<String> {
        let givers: Vec<Option<usize>> = if self.rivals { vec![Some(0), Some(1)] } else { vec![None] };
        givers.into_iter().flat_map(|giver| self.check_state(giver, None)).collect()
    }

    /// No device is used by pods of two schedulers that may not share it. That counters or capacities are overdrawn by both
    /// together is not found out by them.
    fn check_rivals(&self) -> Vec<String> {
        if !self.rivals {
            return Vec::new();
        }
        let on_node = |pod: &&Arc<Pod>| !pod.spec.node_name.is_empty() && !is_over(pod);
        let users: BTreeSet<&str> =
            self.pods.values().filter(on_node).map(|pod| pod.metadata.uid.as_str()).collect();
        let is_used = |claim: &&ResourceClaim| {
            claim.status.reserved_for.iter().any(|user| users.contains(user.uid.as_str()))
        };
        let claims: Vec<ResourceClaim> = self.claims.iter().filter(is_used).cloned().collect();
        let violations = check_state(&self.evidence(&claims), None);
        let is_twice =
            |one: &&Violation| matches!(one, Violation::TakenTwice { .. } | Violation::WholeAndShared { .. });
        violations.iter().filter(is_twice).map(|one| format!("in use: {one}")).collect()
    }

    fn evidence<'e>(&'e self, claims: &'e [ResourceClaim]) -> Evidence<'e> {
        Evidence {
            gates: self.gates,
            slices: &self.slices,
            classes: &self.classes,
            claims,
            groups: GroupsFrom::Results,
        }
    }

    /// The state of everything, or of what one scheduler gave away.
    pub fn check_state(&self, giver: Option<usize>, pods: Option<&[Pod]>) -> Vec<String> {
        let is_of = |claim: &&ResourceClaim| {
            let key = Key::new(&claim.metadata.namespace, &claim.metadata.name);
            self.givers.get(&key) == Some(&giver)
        };
        let theirs: Vec<ResourceClaim>;
        let claims = match giver {
            None => &self.claims,
            Some(_) => {
                theirs = self.claims.iter().filter(is_of).cloned().collect();
                &theirs
            }
        };
        check_state(&self.evidence(claims), pods).iter().map(ToString::to_string).collect()
    }

    /// A claim does not lose its devices while a node has them prepared.
    fn check_prepared(
        &mut self,
        made: &Made,
        before: &ResourceClaim,
        prepared: &BTreeSet<&str>,
    ) -> Option<String> {
        let key = &made.event.key;
        let now = self.claims.iter().find(|claim| is_at(*claim, key));
        let now = now.filter(|now| now.metadata.uid == before.metadata.uid);
        let keeps = now.is_some_and(|now| now.status.allocation == before.status.allocation);
        let loses = before.status.allocation.is_some() && !keeps;
        let is_prepared = prepared.contains(before.metadata.uid.as_str());
        if !loses || !is_prepared || self.is_overtaken(made, before) {
            return None;
        }
        Some(format!("claim {} loses its devices while a node uses them", key.name))
    }

    /// Whether all pods that use a claim on a node were bound by hand after the call was sent that takes its devices away. That the
    /// claim did not change meanwhile is all that the API can be asked.
    fn is_overtaken(&mut self, made: &Made, claim: &ResourceClaim) -> bool {
        let Some(sent) = made.by.map(|by| by.sent) else { return false };
        let uses =
            |pod: &&Arc<Pod>| claim.status.reserved_for.iter().any(|user| user.uid == pod.metadata.uid);
        let users: Vec<&String> = self
            .pods
            .values()
            .filter(|pod| !pod.spec.node_name.is_empty())
            .filter(uses)
            .map(|pod| &pod.metadata.uid)
            .collect();
        let is_later = |uid: &&String| self.bound_by_hand.get(*uid).is_some_and(|bound| *bound > sent);
        let are_later = !users.is_empty() && users.iter().all(is_later);
        if are_later {
            let users = users.into_iter().map(|user| (made.event.key.clone(), user.clone()));
            self.overtaken.extend(users.map(|one| (one, claim.metadata.uid.clone())));
        }
        are_later
    }

    /// A claim that has devices again is judged as all are.
    fn end_overtaken(&mut self, key: &Key) {
        let has_devices = |claim: &&ResourceClaim| claim.status.allocation.is_some() && is_at(*claim, key);
        if let Some(claim) = self.claims.iter().find(has_devices) {
            self.overtaken.retain(|_, uid| *uid != claim.metadata.uid);
        }
    }

    /// Pods that are on a node and have not ended use claims that have devices and are reserved for them.
    fn check_users(&self) -> Vec<String> {
        let on_node = |pod: &&Arc<Pod>| !pod.spec.node_name.is_empty() && !is_over(pod);
        // Who was put there by hand may have to wait for its devices, but does not run without.
        let may_wait =
            |pod: &Pod| pod.status.phase != "Running" && self.bound_by_hand.contains_key(&pod.metadata.uid);
        self.pods
            .values()
            .filter(|pod| on_node(pod) && !may_wait(pod))
            .flat_map(|pod| self.check_user(pod))
            .collect()
    }

    fn check_user(&self, pod: &Pod) -> Vec<String> {
        let mut wrong = Vec::new();
        let (name, node) = (&pod.metadata.name, &pod.spec.node_name);
        for claim_name in claims_of(pod) {
            let key = Key::new(&pod.metadata.namespace, claim_name);
            // A claim without devices goes when it is deleted, whichever pod is left without.
            if self.overtaken.contains_key(&(key, pod.metadata.uid.clone())) {
                continue;
            }
            let named = |claim: &&ResourceClaim| {
                claim.metadata.name == *claim_name && claim.metadata.namespace == pod.metadata.namespace
            };
            let Some(claim) = self.claims.iter().find(named) else {
                wrong.push(format!("pod {name} is on {node}, and its claim {claim_name} is gone"));
                continue;
            };
            let Some(allocation) = &claim.status.allocation else {
                wrong.push(format!("pod {name} is on {node}, and its claim {claim_name} has no devices"));
                continue;
            };
            if !claim.status.reserved_for.iter().any(|one| one.uid == pod.metadata.uid) {
                wrong.push(format!(
                    "pod {name} is on {node}, and its claim {claim_name} is not reserved for it"
                ));
            }
            let labels = self.nodes.get(&Key::new("", node)).map(|node| &node.metadata.labels);
            let selector = allocation.node_selector.as_ref();
            if selector.is_some_and(|selector| !picks(selector, node, labels)) {
                wrong.push(format!(
                    "pod {name} is on {node}, and the devices of its claim {claim_name} are not"
                ));
            }
        }
        wrong
    }

    /// A pod is put on a node once, and only if the node has room for it.
    fn check_pod(&mut self, made: &Made, before: Option<&Pod>) -> Vec<String> {
        let key = &made.event.key;
        let Some(pod) = self.pods.get(key) else { return Vec::new() };
        let node = &pod.spec.node_name;
        let was = before.map(|before| before.spec.node_name.as_str()).unwrap_or_default();
        if node == was {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        if !was.is_empty() {
            wrong.push(format!("pod {} was on {was} and is on {node:?} now", key.name));
        }
        if !pod.spec.scheduling_gates.is_empty() {
            wrong.push(format!("pod {} is gated and on {node}", key.name));
        }
        if made.by.is_none() {
            self.bound_by_hand.insert(pod.metadata.uid.clone(), made.event.revision());
        } else {
            let is_its = |claim: &&ResourceClaim| {
                let is_named = claims_of(pod).any(|name| *name == claim.metadata.name);
                is_named && claim.metadata.namespace == pod.metadata.namespace
            };
            let claims: Vec<&ResourceClaim> = self.claims.iter().filter(is_its).collect();
            wrong.extend(check_binding(pod, &claims).iter().map(ToString::to_string));
            wrong.extend(self.rules.check_reach(pod));
        }
        // Who knows nothing of a rival, or of somebody who puts pods on nodes, cannot keep room for it.
        let is_by_hand = |pod: &Arc<Pod>| {
            pod.spec.node_name == *node && self.bound_by_hand.contains_key(&pod.metadata.uid)
        };
        if !self.rivals && !self.pods.values().any(is_by_hand) {
            wrong.extend(self.check_room(node));
            // Whoever binds a pod by hand answers for what it uses besides others.
            let others = self.pods.values().filter(|pod| !self.bound_by_hand.contains_key(&pod.metadata.uid));
            wrong.extend(self.rules.check_company(pod, others));
        }
        wrong
    }

    /// Somebody is about to bind a pod. The first of a gang is bound only when enough of them have all that they need, with their
    /// devices ready.
    pub fn check_gang(&mut self, key: &Key, uid: &str) -> Option<String> {
        let pod = self.pods.get(key).filter(|pod| pod.metadata.uid == uid)?;
        self.gangs.begins(pod);
        let has_all = |pod: &Pod| {
            let named = |name: &String| {
                let is_its = |claim: &&ResourceClaim| {
                    claim.metadata.name == *name && claim.metadata.namespace == pod.metadata.namespace
                };
                self.claims.iter().find(is_its)
            };
            let claims: Option<Vec<&ResourceClaim>> = claims_of(pod).map(named).collect();
            claims.is_some_and(|claims| {
                let is_reserved = |claim: &&ResourceClaim| {
                    let mut users = claim.status.reserved_for.iter();
                    claim.status.allocation.is_some() && users.any(|user| user.uid == pod.metadata.uid)
                };
                claims.iter().all(is_reserved) && check_binding(pod, &claims).is_empty()
            })
        };
        self.gangs.begun_by_few(pod, &self.pods, has_all)
    }

    /// It is known of a pod that was about to be bound whether it is.
    pub fn see_binding(&mut self, key: &Key, uid: &str, is_bound: bool) {
        if let Some(pod) = self.pods.get(key).filter(|pod| pod.metadata.uid == uid) {
            self.gangs.ends(pod, is_bound, &self.pods);
        }
    }

    /// A scheduler died that was about to bind a pod. If that does not arrive after all, the pod is not bound.
    pub fn lose_binding(&mut self, key: &Key, uid: &str) {
        let is_bound = self.pods.get(key).is_some_and(|pod| !pod.spec.node_name.is_empty());
        self.see_binding(key, uid, is_bound);
    }

    fn check_room(&self, name: &str) -> Vec<String> {
        let Some(node) = self.nodes.get(&Key::new("", name)) else { return Vec::new() };
        let pods: Vec<&Arc<Pod>> =
            self.pods.values().filter(|pod| pod.spec.node_name == name && !is_over(pod)).collect();
        let mut used = Quantity::default();
        for container in pods.iter().flat_map(|pod| &pod.spec.containers) {
            container.resources.requests.get("cpu").into_iter().for_each(|cpu| used += &cpu.0);
        }
        let mut wrong = Vec::new();
        if let Some(room) = node.status.allocatable.get("cpu").filter(|room| used > room.0) {
            wrong.push(format!("pods on {name} ask for {used} cpu, and it has {}", room.0));
        }
        let most = node.status.allocatable.get("pods").map(|most| most.0.to_string());
        if most.and_then(|most| most.parse().ok()).is_some_and(|most: usize| pods.len() > most) {
            wrong.push(format!("{name} has {} pods, which is too many", pods.len()));
        }
        wrong
    }
}

/// The names of the claims that a pod uses.
fn claims_of(pod: &Pod) -> impl Iterator<Item = &String> {
    let named = pod.spec.resource_claims.iter().filter_map(|claim| claim.resource_claim_name.as_ref());
    let made =
        pod.status.resource_claim_statuses.iter().filter_map(|status| status.resource_claim_name.as_ref());
    let extended =
        pod.status.extended_resource_claim_status.as_ref().map(|status| &status.resource_claim_name);
    named.chain(made).chain(extended)
}

pub(super) fn is_over(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

/// Whether a selector of an allocation picks a node, as far as devices of nodes make such selectors. Labels of a node that
/// is gone are not known, and are no mistake.
fn picks(selector: &NodeSelector, node: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
    let field =
        |one: &NodeSelectorRequirement| one.operator == "In" && one.values.iter().any(|value| value == node);
    let label = |one: &NodeSelectorRequirement| {
        labels.is_none_or(|labels| labels.get(&one.key).is_some_and(|value| one.values.contains(value)))
    };
    selector
        .node_selector_terms
        .iter()
        .any(|term| term.match_fields.iter().all(field) && term.match_expressions.iter().all(label))
}
