//! How important pods are and what they ask of nodes, in some of the worlds in which drivers give devices themselves; and what must
//! hold of preemption there.
//!
//! Invariant: no pod goes for another, and no node is kept for one, before all drivers gave that one what it wants there. A driver
//! may fall silent for ever, and then nothing is kept for the pods that want something of it.

use std::sync::Arc;

use model::quantity::Quantity;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};
use store::Key;

use super::World;
use super::api::{Api, named, text};
use super::bargain::{Market, Trader, all, at_least, place_of};
use super::dice::Dice;
use super::gangs::rack_of;
use super::judge::is_over;
use super::verdict::group_of;
use super::workload::SCHEDULERS;

/// Pods that want no devices, and are less important than most.
const FILLERS: [&str; 3] = ["filler-0", "filler-1", "filler-2"];

/// The classes of priority, the least important first.
const CLASSES: [&str; 3] = ["low", "middle", "high"];

/// Decides how important pods are.
#[derive(Debug)]
pub(super) struct Ranks {
    dice: Dice,
}

impl Ranks {
    /// Those of a world: one in three has them.
    pub fn of_world(seed: u64) -> Option<Ranks> {
        // Of numbers of its own, so that the other worlds stay what they were.
        let mut dice = Dice::new(seed, 11);
        (dice.below(3) == 0).then_some(Ranks { dice })
    }

    /// One of several drivers that falls silent, in one of four worlds.
    pub fn silent(&mut self, drivers: usize) -> Option<usize> {
        (self.dice.below(4) == 0).then(|| self.dice.below(drivers))
    }

    /// Gives a pod what makes it compete with others. All of a group are equally important.
    pub fn dress(&mut self, pod: &mut Value) {
        let class = match text(&pod["spec"]["schedulingGroup"]["podGroupName"]) {
            "" => CLASSES[self.dice.below(CLASSES.len())],
            group => class_of(group),
        };
        let cpu = ["300m", "900m", "1500m"][self.dice.below(3)];
        pod["spec"]["priorityClassName"] = json!(class);
        pod["spec"]["terminationGracePeriodSeconds"] = json!(5);
        pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": cpu } });
    }

    /// Pods come that want no devices.
    pub fn act(&mut self, api: &mut Api) {
        let name = FILLERS[self.dice.below(FILLERS.len())];
        if !self.dice.per_mille(60) || api.get("Pod", "default", name).is_some() {
            return;
        }
        let mut pod = named("v1", "Pod", name);
        pod["spec"] = json!({ "schedulerName": SCHEDULERS[0], "restartPolicy": "Never",
            "containers": [{ "name": "c", "image": "i" }] });
        self.dress(&mut pod);
        pod["spec"]["priorityClassName"] = json!(CLASSES[0]);
        api.create(&pod).expect("a good pod");
    }
}

/// How important a group is.
pub(super) fn class_of(group: &str) -> &'static str {
    if group == "pair" { CLASSES[2] } else { CLASSES[1] }
}

/// Whether the pods of seats have room on their nodes, if those went that matter less than all of them.
pub(super) fn has_cpu(seats: &[(&Pod, String)], pods: &[Arc<Pod>], cpu: &Quantity) -> bool {
    let priority = |pod: &Pod| pod.spec.priority.unwrap_or(0);
    let least = seats.iter().map(|(pod, _)| priority(pod)).min().unwrap_or(0);
    seats.iter().all(|(_, node)| {
        let stays = |pod: &&Arc<Pod>| pod.spec.node_name == *node && !is_over(pod) && priority(pod) >= least;
        let here = pods.iter().filter(stays).map(|pod| &**pod);
        let comes = seats.iter().filter(|(_, other)| other == node).map(|(pod, _)| *pod);
        let mut used = Quantity::default();
        for container in here.chain(comes).flat_map(|pod| &pod.spec.containers) {
            container.resources.requests.get("cpu").into_iter().for_each(|cpu| used += &cpu.0);
        }
        used <= *cpu
    })
}

impl Market {
    /// The driver that gives a claim of this name something.
    fn trader_of(&self, claim: &str) -> Option<&Trader> {
        self.traders.iter().find(|trader| claim.ends_with(trader.name.trim_end_matches(".example.com")))
    }

    /// The names of those claims of a pod that drivers give something to.
    fn lent<'m>(&'m self, pod: &'m Pod) -> impl Iterator<Item = &'m str> {
        let names = pod.spec.resource_claims.iter().filter_map(|entry| entry.resource_claim_name.as_deref());
        names.filter(|name| self.trader_of(name).is_some())
    }

    /// Whether a pod wants something of a driver that has fallen silent.
    pub fn is_hopeless(&self, pod: &Pod) -> bool {
        let silent = self.silent.map(|at| self.traders[at].name.as_str());
        self.lent(pod).any(|name| self.trader_of(name).map(|trader| trader.name.as_str()) == silent)
    }
}

impl World {
    /// A scheduler lets pods go for one, or keeps a place for it: drivers have given it what it wants there, as the API says or as
    /// the scheduler was told.
    pub(super) fn check_asked(&mut self, replica: usize, uid: &str, place: &str, what: &str) {
        let Some(market) = &self.market else { return };
        let Some(pod) = self.judge.pods.values().find(|pod| pod.metadata.uid == uid) else { return };
        let lacking = self.lacking(market, replica, pod, place);
        if !lacking.is_empty() {
            let pod = &pod.metadata.name;
            let wrong = format!("{what} for pod {pod} at {place}, and no driver gave it {lacking} there");
            self.note_violations(vec![wrong]);
        }
    }

    /// A scheduler lets pods go for one. If that is the member of a gang, it may be another that has no seat: it does for as many members
    /// as the gang still needs to have what they want.
    pub(super) fn check_asked_of_all(&mut self, replica: usize, uid: &str, place: &str, what: &str) {
        let Some(market) = &self.market else { return };
        let Some(pod) = self.judge.pods.values().find(|pod| pod.metadata.uid == uid) else { return };
        let Some(group) = group_of(pod) else { return self.check_asked(replica, uid, place, what) };
        let members = self.judge.pods.values().filter(|pod| group_of(pod) == Some(group) && !is_over(pod));
        let (waiting, seated): (Vec<_>, Vec<_>) = members.partition(|pod| pod.spec.node_name.is_empty());
        let has_all = |pod: &&&Arc<Pod>| self.lacking(market, replica, pod, place).is_empty();
        let needed = at_least(group).saturating_sub(seated.len()).max(1);
        if waiting.iter().filter(has_all).count() < needed {
            self.check_asked(replica, uid, place, what);
        }
    }

    /// What drivers have not given a pod that is to be at a place, as the API says or as the scheduler was told.
    fn lacking(&self, market: &Market, replica: usize, pod: &Pod, place: &str) -> String {
        let told = self.replicas[replica].streams.iter().find(|one| one.site.kind.kind == "ResourceClaim");
        let mut lacking = Vec::new();
        for name in market.lent(pod) {
            let key = Key::new(&pod.metadata.namespace, name);
            let known = [
                self.api.get("ResourceClaim", &key.namespace, name),
                told.and_then(|told| told.known.get(&key).cloned()),
            ];
            let is_local = market.trader_of(name).is_some_and(Trader::is_local);
            let will_do = |claim: &ResourceClaim| {
                let at = place_of(claim);
                claim.status.allocation.is_some() && (!is_local || at == place || rack_of(&at) == place)
            };
            if !known.into_iter().flatten().any(|claim| will_do(claim.read())) {
                lacking.push(name);
            }
        }
        lacking.join(", ")
    }

    /// Nothing is kept for a pod that waits for what no driver gave it.
    pub(super) fn check_nominations(&mut self, market: &Market) {
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let has = |name: &str| {
            claims.iter().any(|claim| claim.metadata.name == name && claim.status.allocation.is_some())
        };
        let mut wrong = Vec::new();
        for pod in all::<Pod>(&mut self.api, "Pod") {
            let nominated = &pod.status.nominated_node_name;
            let waits = pod.spec.node_name.is_empty() && !nominated.is_empty();
            if waits && let Some(name) = market.lent(&pod).find(|name| !has(name)) {
                let pod = &pod.metadata.name;
                wrong.push(format!("pod {pod} is nominated for {nominated}, and no driver gave it {name}"));
            }
        }
        self.note_violations(wrong);
    }
}
