//! Gangs in a simulated world: groups that stay in one rack and are placed as a whole, and what must hold of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gates::{Gate, Gates};
use objects::core::pod::Pod;
use serde_json::{Value, json};
use store::Key;

use super::api::{Made, named, text};
use super::dice::Dice;
use super::extras::Extra;
use super::judge::is_over;
use super::policies::{Policies, group_of};
use super::setup::{Arrangement, Groups, WorldSetup};
use super::trees;
use super::workload::SCHEDULERS;

/// The label that says in which rack a node is.
pub(super) const RACK: &str = "example.com/rack";

/// Groups by name: how many are placed at once, how important they are, and how they are disrupted.
const GROUPS: [(&str, usize, &str, &str); 3] =
    [("pair", 2, "low", "single"), ("whole", 2, "middle", "all"), ("trio", 3, "high", "single")];

/// The features that gangs need.
pub(super) fn gates() -> Gates {
    Gates::default().with(Gate::GenericWorkload, true).with(Gate::TopologyAwareWorkloadScheduling, true)
}

/// The features that a world needs.
pub(super) fn gates_of(setup: &WorldSetup) -> Gates {
    let gates = if setup.gangs { gates() } else { Gates::default() };
    gates
        .with(Gate::CompositePodGroup, setup.has(Extra::Trees))
        .with(Gate::DRADeviceCompatibilityGroups, setup.groups != Groups::None)
}

/// The rack of a node: two nodes share one.
pub(super) fn rack_of(node: &str) -> String {
    let number: usize = node.trim_start_matches("node-").parse().unwrap_or_default();
    format!("rack-{}", number / 2)
}

/// The groups that there are from the beginning.
pub(super) fn groups() -> Vec<Value> {
    let group = |(name, at_least, priority, mode): &(&str, usize, &str, &str)| {
        let mut group = named("scheduling.k8s.io/v1beta1", "PodGroup", name);
        group["spec"] = json!({
            "schedulingPolicy": { "gang": { "minCount": at_least } },
            "schedulingConstraints": { "topology": [{ "key": RACK }] },
            "priorityClassName": priority,
            "disruptionMode": { *mode: {} },
        });
        group
    };
    GROUPS.iter().map(group).collect()
}

/// Lets a pod belong to a group, more often than not.
pub(super) fn join(pod: &mut Value, setup: &WorldSetup, dice: &mut Dice) {
    let at = dice.below(GROUPS.len());
    if dice.per_mille(200) || !text(&pod["spec"]["nodeName"]).is_empty() {
        return;
    }
    let joins_other = trees::join(pod, setup, dice);
    let (name, _, priority, _) = GROUPS[at];
    if !joins_other {
        pod["spec"]["schedulingGroup"] = json!({ "podGroupName": name });
        pod["spec"]["priorityClassName"] = json!(priority);
    }
    // One member that waits for something else holds all of them back, so that few gangs would ever be placed.
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("schedulingGates");
        spec.remove("nodeSelector");
    }
    let own = json!([{ "name": "c0", "resourceClaimTemplateName": "one" }]);
    // A claim that others use too, in this gang, in another or in none.
    let shared = json!([{ "name": "c0", "resourceClaimName": format!("shared-{}", dice.below(3)) }]);
    pod["spec"]["resourceClaims"] = match dice.below(8) {
        0..=3 => own,
        4 => shared,
        _ => json!([]),
    };
    if setup.arrangement == Arrangement::Rivals && !joins_other {
        // A group has one scheduler.
        pod["spec"]["schedulerName"] = json!(SCHEDULERS[at % 2]);
    }
}

/// What became of gangs.
#[derive(Debug, Default)]
pub(crate) struct GangRecord {
    /// Those of which enough members were bound at once since the first was.
    whole: BTreeSet<String>,
    /// Those of which a member went while others were bound or about to be: nobody can be unbound for that.
    bereft: BTreeSet<String>,
    /// Members whose bindings are under way, by gang and uid.
    underway: BTreeMap<String, BTreeSet<String>>,
    /// Those of which a binding was refused by chance, or was lost with its scheduler, while another member was bound or about to
    /// be: nobody can be unbound for that, and until the one that is left is tried again its node may be cordoned, or its room taken by who matters more.
    /// That it is placed if it could be is judged like that of any other pod.
    parted: BTreeSet<String>,
    /// When pods were made, by uid, as a revision.
    made: BTreeMap<String, u64>,
    /// When a member of a gang went the last time, as a revision.
    left: BTreeMap<String, u64>,
    /// What groups ask for.
    policies: Policies,
    /// How often a gang became whole.
    pub completed: u64,
}

/// The pods of a root that have not ended.
fn live<'p>(
    policies: &'p Policies,
    pods: &'p BTreeMap<Key, Arc<Pod>>,
    root: &'p str,
) -> impl Iterator<Item = (String, &'p Pod)> {
    let of_root = move |pod: &'p Pod| {
        let group = group_of(pod).filter(|group| policies.root(group) == root)?;
        (!is_over(pod)).then_some((group, pod))
    };
    pods.values().filter_map(move |pod| of_root(pod))
}

/// The pods of a root that are on nodes.
fn bound<'p>(
    policies: &'p Policies,
    pods: &'p BTreeMap<Key, Arc<Pod>>,
    root: &'p str,
) -> Vec<(String, &'p Pod)> {
    live(policies, pods, root).filter(|(_, pod)| !pod.spec.node_name.is_empty()).collect()
}

/// Whether so many pods make a root whole.
fn is_whole(policies: &Policies, root: &str, pods: &[(String, &Pod)]) -> bool {
    policies.is_whole(root, &|group| pods.iter().filter(|(of, _)| of == group).count())
}

impl GangRecord {
    /// Takes in what happened to a group, a workload or a topology. Whoever binds may not have heard of it.
    pub fn see_policy(&mut self, made: &Made, object: &Value, pods: &BTreeMap<Key, Arc<Pod>>) {
        for root in self.policies.see(made, object) {
            self.left.insert(root.clone(), made.event.revision());
            let is_begun = self.underway.get(&root).is_some_and(|underway| !underway.is_empty());
            if is_begun || !bound(&self.policies, pods, &root).is_empty() {
                self.bereft.insert(root);
            }
        }
    }

    /// Takes in what happened to a pod: whoever is put on a node is in the domains of the others.
    pub fn see(&mut self, made: &Made, before: Option<&Pod>, pods: &BTreeMap<Key, Arc<Pod>>) -> Vec<String> {
        let now = pods.get(&made.event.key).map(|pod| &**pod);
        let Some(root) = now.or(before).and_then(group_of).map(|group| self.policies.root(&group)) else {
            return Vec::new();
        };
        let members = bound(&self.policies, pods, &root);
        let revision = made.event.revision();
        if before.is_none() {
            self.made.extend(now.map(|pod| (pod.metadata.uid.clone(), revision)));
        }
        if now.is_none_or(|pod| is_over(pod) || pod.metadata.deletion_timestamp.is_some()) {
            self.left.insert(root.clone(), revision);
            if !members.is_empty() {
                self.bereft.insert(root.clone());
            }
        }
        let was_bound = before.is_some_and(|before| !before.spec.node_name.is_empty());
        let is_bound = now.is_some_and(|pod| !pod.spec.node_name.is_empty());
        if is_bound && !was_bound && members.len() == 1 {
            self.whole.remove(&root);
            self.bereft.remove(&root);
            // Whoever joins others that go meanwhile is there alone.
            let made = now.and_then(|pod| self.made.get(&pod.metadata.uid));
            if self.left.get(&root) > made {
                self.bereft.insert(root.clone());
            }
        }
        if is_whole(&self.policies, &root, &members) {
            self.completed += u64::from(self.whole.insert(root.clone()));
            self.parted.remove(&root);
        }
        if !is_bound || was_bound {
            return Vec::new();
        }
        let seats: Vec<(String, &str)> =
            members.into_iter().map(|(group, pod)| (group, pod.spec.node_name.as_str())).collect();
        let made = now.and_then(|pod| self.made.get(&pod.metadata.uid)).copied().unwrap_or_default();
        self.policies.torn(&seats, made)
    }

    fn root_of(&self, pod: &Pod) -> Option<String> {
        group_of(pod).map(|group| self.policies.root(&group))
    }

    /// A member is about to be bound.
    pub fn begins(&mut self, pod: &Pod) {
        if let Some(root) = self.root_of(pod) {
            self.underway.entry(root).or_default().insert(pod.metadata.uid.clone());
        }
    }

    /// It is known whether a member is bound.
    pub fn ends(&mut self, pod: &Pod, is_bound: bool, pods: &BTreeMap<Key, Arc<Pod>>) {
        let Some(root) = self.root_of(pod) else { return };
        let underway = self.underway.entry(root.clone()).or_default();
        underway.remove(&pod.metadata.uid);
        if is_bound {
            return;
        }
        // If nobody is bound, the gang begins anew as a whole.
        if underway.is_empty() && bound(&self.policies, pods, &root).is_empty() {
            self.parted.remove(&root);
        } else {
            self.parted.insert(root);
        }
    }

    /// What is wrong if a pod is to be the first of its gang on a node, and too few of the gang have all that they need. Of a gang
    /// that lost somebody meanwhile nothing is said: who binds may not have heard of it.
    pub fn begun_by_few(
        &self,
        pod: &Pod,
        pods: &BTreeMap<Key, Arc<Pod>>,
        has_all: impl Fn(&Pod) -> bool,
    ) -> Option<String> {
        let root = self.root_of(pod)?;
        let made = self.made.get(&pod.metadata.uid);
        let is_begun = !bound(&self.policies, pods, &root).is_empty();
        if is_begun || self.bereft.contains(&root) || self.left.get(&root) > made {
            return None;
        }
        let ready: Vec<(String, &Pod)> =
            live(&self.policies, pods, &root).filter(|(_, other)| has_all(other)).collect();
        let (name, count) = (&pod.metadata.name, ready.len());
        (!is_whole(&self.policies, &root, &ready))
            .then(|| format!("gang {root} begins with {name}, and {count} are ready, which are too few"))
    }

    /// Gangs of which fewer are bound than have to be at once, though none of them was lost and no binding refused.
    pub fn halves(&self, pods: &BTreeMap<Key, Arc<Pod>>) -> Vec<String> {
        let mut wrong = Vec::new();
        for root in self.policies.roots() {
            let here = bound(&self.policies, pods, &root);
            let is_known =
                [&self.whole, &self.bereft, &self.parted].iter().any(|known| known.contains(&root));
            // Who was deleted while it was being bound is missed by the others, and nobody can be unbound.
            let all: Vec<(String, &Pod)> = live(&self.policies, pods, &root).collect();
            let could_be = is_whole(&self.policies, &root, &all) && self.policies.is_there(&root);
            if !here.is_empty() && could_be && !is_whole(&self.policies, &root, &here) && !is_known {
                wrong.push(format!("of gang {root} {} are bound, which are too few at once", here.len()));
            }
        }
        wrong
    }
}
