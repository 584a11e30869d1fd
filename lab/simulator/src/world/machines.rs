//! The nodes of a world at work: their agents do one thing at a time, drivers and the API permitting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controllers::simulated::readiness;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use scheduling::request::{ApiCall, Verb};
use serde_json::json;
use store::Key;

use super::World;
use super::api::Api;
use super::component::Component;
use super::judge::is_over;
use super::machine::{CheckpointEntry, Containers, Deed, Usable};
use super::shown::Shown;

/// How often the containers of a pod end, in a thousand times that their node is looked at.
const ENDS_PER_MILLE: u32 = 12;

impl World {
    /// Every agent that is up does one thing, if there is one to do.
    pub(super) fn run_machines(&mut self) {
        let names: Vec<String> = self.machines.keys().cloned().collect();
        for name in names {
            let pods = self.pods_on(&name);
            self.end_containers(&name, &pods);
            let machine = &self.machines[&name];
            if machine.agent_down_until > self.agenda.now() {
                continue;
            }
            let api = &self.api;
            let deeds = machine.deeds(&pods, &mut |pod| usable_claims(api, pod), self.setup.sabotage);
            let deed = if self.life.is_some() { deeds.first() } else { self.chances.pick(&deeds) };
            if let Some(deed) = deed.cloned() {
                self.carry_out(&name, deed);
            }
        }
    }

    fn pods_on(&mut self, node: &str) -> Vec<Arc<Pod>> {
        let pods = self.api.list("Pod");
        let pods = pods.iter().map(|(_, pod)| pod.read::<Pod>());
        pods.filter(|pod| pod.spec.node_name == node).cloned().collect()
    }

    /// Containers end by themselves: in a life when their time has come, and otherwise by chance.
    fn end_containers(&mut self, node: &str, pods: &[Arc<Pod>]) {
        let now = self.agenda.now();
        let (life, calm) = (self.life.is_some(), self.setup.calm);
        // In a life, the members of a gang wait for each other before they do their work.
        let is_alone = |pod: &Shown| pod.read::<Pod>().status.phase == "Pending";
        if life && self.setup.gangs && self.api.list("Pod").iter().any(|(_, pod)| is_alone(pod)) {
            return;
        }
        let Some(machine) = self.machines.get_mut(node) else { return };
        for pod in pods.iter().filter(|pod| pod.status.phase == "Running") {
            let uid = &pod.metadata.uid;
            let Some(Containers::Run { since }) = machine.containers.get(uid).copied() else { continue };
            let is_over = match life {
                true => now - since > super::life::RUN_MS,
                false => !calm && self.chances.per_mille(ENDS_PER_MILLE),
            };
            if is_over {
                let failed = !life && self.chances.per_mille(300);
                let phase = if failed { "Failed" } else { "Succeeded" };
                machine.containers.insert(uid.clone(), Containers::Ended(phase));
            }
        }
    }

    fn carry_out(&mut self, node: &str, deed: Deed) {
        let now = self.agenda.now();
        let Some(machine) = self.machines.get_mut(node) else { return };
        let has_driver = machine.driver_down_until <= now;
        let (by, what) = match deed {
            Deed::Enter { claim: (key, uid), pod } => {
                let what = format!("{node} notes that it uses claim {}", key.name);
                let pods = BTreeSet::new();
                machine.entries.entry(uid).or_insert(CheckpointEntry { claim: key, pods }).pods.insert(pod);
                (Component::Node, what)
            }
            Deed::Prepare { claim } => return self.prepare(node, claim, has_driver),
            Deed::Start { pod } => {
                machine.containers.insert(pod.clone(), Containers::Run { since: now });
                self.check_start(node, &pod);
                (Component::Node, format!("{node} starts a pod"))
            }
            Deed::Stop { pod } => {
                machine.containers.remove(&pod);
                (Component::Node, format!("{node} stops a pod"))
            }
            Deed::Unprepare { claim } if has_driver => {
                machine.prepared.remove(&claim);
                machine.ready.remove(&claim);
                (Component::Driver, format!("{node} undoes a claim"))
            }
            Deed::Unprepare { .. } => return,
            Deed::Leave { claim, pod } => {
                let is_empty = machine.entries.get_mut(&claim).is_some_and(|entry| {
                    entry.pods.remove(&pod);
                    entry.pods.is_empty()
                });
                if is_empty {
                    machine.entries.remove(&claim);
                    machine.ready.remove(&claim);
                }
                (Component::Node, format!("{node} notes that it uses a claim no more"))
            }
            Deed::Report { pod, phase } => {
                let done = self.api.perform(&report(&pod, phase)).is_ok();
                if done && phase != "Running" {
                    machine.containers.remove(&pod.metadata.uid);
                }
                (Component::Node, format!("{node} says that pod {} is {phase}", pod.metadata.name))
            }
            Deed::Remove { pod } => {
                let meta = &pod.metadata;
                let _ = self.api.delete("Pod", (&meta.namespace, &meta.name), Some(0), Some(&meta.uid));
                (Component::Node, format!("{node} lets pod {} go", meta.name))
            }
        };
        self.did(by, &what, 0);
    }

    /// The driver of a node prepares a claim, and the agent is told if both are still there.
    fn prepare(&mut self, node: &str, claim: String, has_driver: bool) {
        let here = self.machines.get(node).and_then(|machine| machine.entries.get(&claim)).cloned();
        let Some(entry) = here.filter(|entry| has_driver && self.has_devices_of(node, entry, &claim)) else {
            return;
        };
        if let Some(machine) = self.machines.get_mut(node) {
            machine.prepared.insert(claim.clone());
        }
        self.did(Component::Driver, &format!("{node} prepares claim {}", entry.claim.name), 0);
        let now = self.agenda.now();
        if let Some(machine) = self.machines.get_mut(node)
            && machine.driver_down_until <= now
            && machine.agent_down_until <= now
        {
            machine.ready.insert(claim);
        }
    }

    /// Whether a claim has devices of a node. A driver knows no others, but for those that it has no names for.
    fn has_devices_of(&mut self, node: &str, entry: &CheckpointEntry, claim: &str) -> bool {
        let found = self.api.get("ResourceClaim", &entry.claim.namespace, &entry.claim.name);
        let found = found.as_ref().map(|found| found.read::<ResourceClaim>());
        let found = found.filter(|found| found.metadata.uid == claim);
        let allocation = found.and_then(|found| found.status.allocation.as_ref());
        allocation.is_some_and(|one| one.devices.results.iter().all(|result| result.pool == node))
    }

    /// A pod runs only when all of its claims are prepared.
    fn check_start(&mut self, node: &str, pod: &str) {
        let pods = self.pods_on(node);
        let Some(started) = pods.iter().find(|one| one.metadata.uid == pod) else { return };
        let claims = usable_claims(&self.api, started);
        let prepared = &self.machines[node].prepared;
        if claims.is_none_or(|claims| claims.iter().any(|(_, claim)| !prepared.contains(claim))) {
            let name = &started.metadata.name;
            self.violations.push(format!("pod {name} runs on {node}, and its claims are not prepared there"));
        }
    }

    /// Something happens to the agent or the driver of a node.
    pub(super) fn stop_on(&mut self, node: &str, component: Component, until: i64) {
        self.trace.note(self.agenda.now(), format_args!("the {component} of {node} dies"));
        let sabotage = self.setup.sabotage;
        let Some(machine) = self.machines.get_mut(node) else { return };
        match component {
            Component::Driver => machine.driver_down_until = until,
            _ => machine.stop_agent(until, sabotage),
        }
    }

    /// What is on machines and has no reason to be there any more.
    pub(super) fn left_on_machines(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for node in self.machines.keys().cloned().collect::<Vec<_>>() {
            let pods = self.pods_on(&node);
            let lives = |pod: &String| pods.iter().any(|one| one.metadata.uid == *pod && !is_over(one));
            let machine = &self.machines[&node];
            for (claim, entry) in &machine.entries {
                for pod in entry.pods.iter().filter(|pod| !lives(pod)) {
                    left.push(format!(
                        "{node} keeps claim {} ({claim}) for pod {pod}, which is over",
                        entry.claim.name
                    ));
                }
            }
            for claim in machine.prepared.iter().filter(|claim| !machine.entries.contains_key(*claim)) {
                left.push(format!("claim {claim} stays prepared on {node}, and nobody knows it"));
            }
            for pod in machine.containers.keys().filter(|pod| !lives(pod)) {
                left.push(format!("containers of pod {pod} stay on {node}"));
            }
        }
        left
    }
}

/// The claims of a pod, if nothing keeps its node from having them prepared.
fn usable_claims(api: &Api, pod: &Pod) -> Option<Vec<Usable>> {
    let namespace = &pod.metadata.namespace;
    let mut claims: BTreeMap<&str, Arc<ResourceClaim>> = BTreeMap::new();
    for name in readiness::claims_of(pod) {
        let claim = api.get("ResourceClaim", namespace, name);
        claims.extend(claim.map(|claim| (name, Arc::clone(claim.read()))));
    }
    let is_usable = readiness::refusal(pod, &|name| claims.get(name).map(|claim| &**claim)).is_none();
    let usable =
        |claim: &Arc<ResourceClaim>| (Key::new(namespace, &claim.metadata.name), claim.metadata.uid.clone());
    is_usable.then(|| claims.values().map(usable).collect())
}

/// The call by which an agent says what its pod does. The uid keeps it from a pod that took the name of this one.
fn report(pod: &Pod, phase: &str) -> ApiCall {
    let meta = &pod.metadata;
    ApiCall {
        verb: Verb::Patch,
        kind: "Pod",
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        subresource: Some("status"),
        body: json!({ "metadata": { "uid": meta.uid }, "status": { "phase": phase } }),
    }
}
