//! Gangs in a simulated world: groups that stay in one rack and are placed as a whole, and what must hold of them.

use std::collections::{BTreeMap, BTreeSet};

use gates::{Gate, Gates};
use objects::core::pod::Pod;
use serde_json::{Value, json};
use store::Key;

use super::api::{Made, named, text};
use super::dice::Dice;
use super::judge::is_over;
use super::plan::{Arrangement, Plan};
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
pub(super) fn join(pod: &mut Value, plan: &Plan, dice: &mut Dice) {
    let at = dice.below(GROUPS.len());
    if dice.per_mille(200) || !text(&pod["spec"]["nodeName"]).is_empty() {
        return;
    }
    let (name, _, priority, _) = GROUPS[at];
    pod["spec"]["schedulingGroup"] = json!({ "podGroupName": name });
    pod["spec"]["priorityClassName"] = json!(priority);
    // One member that waits for something else holds all of them back, so that few gangs would ever be placed.
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("schedulingGates");
        spec.remove("nodeSelector");
    }
    let own = json!([{ "name": "c0", "resourceClaimTemplateName": "one" }]);
    pod["spec"]["resourceClaims"] = if dice.per_mille(500) { own } else { json!([]) };
    if plan.arrangement == Arrangement::Rivals {
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
    /// Those of which a binding was refused by chance while another member was bound or about to be: nobody can be unbound for
    /// that, and until the one that is left is tried again its node may be cordoned, or its room taken by who matters more.
    /// That it is placed if it could be is judged like that of any other pod.
    parted: BTreeSet<String>,
    /// When pods were made, by uid, as a revision.
    made: BTreeMap<String, u64>,
    /// When a member of a gang went the last time, as a revision.
    left: BTreeMap<String, u64>,
    /// How often a gang became whole.
    pub completed: u64,
}

fn group_of(pod: &Pod) -> Option<&str> {
    pod.spec.scheduling_group.as_ref()?.pod_group_name.as_deref()
}

/// The members of a group that are on nodes.
fn bound<'p>(pods: &'p BTreeMap<Key, Pod>, group: &str) -> Vec<&'p Pod> {
    let is_bound =
        |pod: &&Pod| group_of(pod) == Some(group) && !pod.spec.node_name.is_empty() && !is_over(pod);
    pods.values().filter(is_bound).collect()
}

impl GangRecord {
    /// Takes in what happened to a pod: whoever is put on a node is in the rack of the others.
    pub fn see(&mut self, made: &Made, before: Option<&Pod>, pods: &BTreeMap<Key, Pod>) -> Vec<String> {
        let now = pods.get(&made.event.key);
        let Some(group) = now.or(before).and_then(group_of).map(str::to_owned) else { return Vec::new() };
        let members = bound(pods, &group);
        let revision = made.event.revision();
        if before.is_none() {
            self.made.extend(now.map(|pod| (pod.metadata.uid.clone(), revision)));
        }
        if now.is_none_or(|pod| is_over(pod) || pod.metadata.deletion_timestamp.is_some()) {
            self.left.insert(group.clone(), revision);
            if !members.is_empty() {
                self.bereft.insert(group.clone());
            }
        }
        let was_bound = before.is_some_and(|before| !before.spec.node_name.is_empty());
        let is_bound = now.is_some_and(|pod| !pod.spec.node_name.is_empty());
        if is_bound && !was_bound && members.len() == 1 {
            self.whole.remove(&group);
            self.bereft.remove(&group);
            // Whoever joins others that go meanwhile is there alone.
            let made = now.and_then(|pod| self.made.get(&pod.metadata.uid));
            if self.left.get(&group) > made {
                self.bereft.insert(group.clone());
            }
        }
        let at_least = GROUPS.iter().find(|known| known.0 == group).map_or(1, |known| known.1);
        if members.len() >= at_least {
            self.completed += u64::from(self.whole.insert(group.clone()));
            self.parted.remove(&group);
        }
        let racks: BTreeSet<String> = members.iter().map(|pod| rack_of(&pod.spec.node_name)).collect();
        if is_bound && !was_bound && racks.len() > 1 {
            return vec![format!("gang {group} straddles racks {racks:?}")];
        }
        Vec::new()
    }

    /// A member is about to be bound.
    pub fn begins(&mut self, pod: &Pod) {
        if let Some(group) = group_of(pod) {
            self.underway.entry(group.to_owned()).or_default().insert(pod.metadata.uid.clone());
        }
    }

    /// It is known whether a member is bound.
    pub fn ends(&mut self, pod: &Pod, is_bound: bool, pods: &BTreeMap<Key, Pod>) {
        let Some(group) = group_of(pod) else { return };
        let underway = self.underway.entry(group.to_owned()).or_default();
        underway.remove(&pod.metadata.uid);
        if is_bound {
            return;
        }
        // If nobody is bound, the gang begins anew as a whole.
        if underway.is_empty() && bound(pods, group).is_empty() {
            self.parted.remove(group);
        } else {
            self.parted.insert(group.to_owned());
        }
    }

    /// What is wrong if a pod is to be the first of its gang on a node, and too few of the gang have all that they need. Of a gang
    /// that lost somebody meanwhile nothing is said: who binds may not have heard of it.
    pub fn begun_by_few(
        &self,
        pod: &Pod,
        pods: &BTreeMap<Key, Pod>,
        has_all: impl Fn(&Pod) -> bool,
    ) -> Option<String> {
        let (group, at_least, ..) = *GROUPS.iter().find(|known| Some(known.0) == group_of(pod))?;
        let made = self.made.get(&pod.metadata.uid);
        if !bound(pods, group).is_empty() || self.bereft.contains(group) || self.left.get(group) > made {
            return None;
        }
        let live = |other: &&Pod| group_of(other) == Some(group) && !is_over(other);
        let ready = pods.values().filter(live).filter(|other| has_all(other)).count();
        let name = &pod.metadata.name;
        (ready < at_least)
            .then(|| format!("gang {group} begins with {name}, and {ready} of {at_least} are ready"))
    }

    /// Gangs of which fewer are bound than have to be at once, though none of them was lost and no binding refused.
    pub fn halves(&self, pods: &BTreeMap<Key, Pod>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (group, at_least, ..) in GROUPS {
            let count = bound(pods, group).len();
            let is_known =
                [&self.whole, &self.bereft, &self.parted].iter().any(|known| known.contains(group));
            // Who was deleted while it was being bound is missed by the others, and nobody can be unbound.
            let live = pods.values().filter(|pod| group_of(pod) == Some(group) && !is_over(pod)).count();
            if count > 0 && count < at_least && live >= at_least && !is_known {
                wrong.push(format!("of gang {group} {count} are bound, and {at_least} have to be at once"));
            }
        }
        wrong
    }
}
