//! What must hold when nothing has gone wrong for a while: nobody waits without need, and nothing is left over.

use std::collections::{BTreeMap, BTreeSet};

use cluster::ledger::Ledger;
use objects::core::pod::Pod;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;

use super::extras::Extra;
use super::setup::Arrangement;
use super::{CLOSE_MS, World, replica, workload};

/// How often an attempt for a pod may fail after everything has come to rest.
const ATTEMPTS_MAX: u32 = 12;

/// How many more where gangs come and go, which wake the others as often as they have members, and where devices are made ready: a
/// claim then gets them, loses them when their time is over and gets them again, and each of these may free what others wait for.
const MORE_ATTEMPTS: u32 = 18;

impl World {
    pub(super) fn check_ending(&mut self) {
        let mut wrong: Vec<String> = Vec::new();
        let pods: Vec<Pod> = self.judge.pods.values().map(|pod| Pod::clone(pod)).collect();
        if self.setup.arrangement != Arrangement::Rivals {
            wrong.extend(self.judge.check_state(None, Some(&pods)));
        }
        if !self.errands.is_empty() {
            wrong.push(format!("{} writes never end", self.errands.len()));
        }
        let volumes = self.setup.has(Extra::Provisioned);
        let reasons = [self.setup.gangs, self.setup.readied, volumes].map(u32::from).iter().sum::<u32>();
        let attempts_max = ATTEMPTS_MAX + reasons * MORE_ATTEMPTS;
        for (pod, attempts) in &self.attempts {
            if *attempts > attempts_max {
                wrong.push(format!("{attempts} attempts for {pod} failed although nothing goes wrong"));
            }
        }
        for at in 0..self.replicas.len() {
            let fresh = self.fresh(self.replicas[at].name);
            wrong.extend(self.compare(at, &fresh));
        }
        for name in workload::SCHEDULERS {
            let mut fresh = self.fresh(name);
            wrong.extend(
                places(&mut fresh, self).into_iter().map(|what| format!("lost wake-up: {name} could {what}")),
            );
        }
        wrong.extend(self.left_on_machines());
        wrong.extend(self.made_for_nobody());
        wrong.extend(self.judge.gangs.halves(&self.judge.pods));
        self.note_wrong(wrong);
    }

    fn note_wrong(&mut self, wrong: Vec<String>) {
        let now = self.agenda.now();
        for what in wrong {
            self.trace.note(now, format_args!("WRONG at the end: {what}"));
            self.violations.push(what);
        }
    }

    /// Claims that were made for pods which are over, and stay.
    fn made_for_nobody(&mut self) -> Vec<String> {
        let pods = self
            .judge
            .pods
            .values()
            .filter(|pod| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed"));
        let live: BTreeSet<String> = pods.map(|pod| pod.metadata.uid.clone()).collect();
        let mut left = Vec::new();
        for (key, claim) in &*self.api.list("ResourceClaim") {
            let owner = claim["metadata"]["ownerReferences"][0]["uid"].as_str();
            if owner.is_some_and(|owner| !live.contains(owner)) {
                left.push(format!("claim {} stays, which was made for a pod that is over", key.name));
            }
        }
        left
    }

    /// Everybody is asked to go, and then nothing is left: no pod, no claim, nothing on a node, no device in the books.
    pub(super) fn close(&mut self) {
        let now = self.agenda.now();
        self.trace.note(now, format_args!("everybody is asked to go"));
        for kind in ["Pod", "ResourceClaim"] {
            for (key, _) in &*self.api.list(kind) {
                let _ = self.api.delete(kind, (&key.namespace, &key.name), None, None);
            }
        }
        self.spread();
        self.end = Some(now + CLOSE_MS);
        self.go_on();
        if self.violations.is_empty() {
            self.check_nothing_left();
        }
    }

    pub(super) fn check_nothing_left(&mut self) {
        let mut wrong = self.left_on_machines();
        for kind in ["Pod", "ResourceClaim", "PodSchedulingContext"] {
            for (key, object) in &*self.api.list(kind) {
                let finalizers = &object["metadata"]["finalizers"];
                wrong.push(format!("{kind} {} is left, with finalizers {finalizers}", key.name));
            }
        }
        for (node, machine) in &self.machines {
            if !machine.prepared.is_empty() || !machine.entries.is_empty() {
                wrong.push(format!("{node} keeps claims {:?} and {:?}", machine.prepared, machine.entries));
            }
        }
        for (at, replica) in self.replicas.iter().enumerate() {
            if replica.engine.ledger() != &Ledger::default() {
                wrong.push(format!("scheduler {at} remembers {:?}", replica.engine.ledger()));
            }
        }
        self.note_wrong(wrong);
    }

    /// An engine that was told everything there is, and nothing else.
    fn fresh(&mut self, name: &str) -> Engine {
        let mut engine = replica::engine(name, self.gates, None);
        for change in replica::everything(&self.api) {
            engine.handle(self.api.now, Input::Changed(change));
        }
        engine
    }

    /// What an engine remembers that the API's objects do not say, or the other way round.
    fn compare(&self, at: usize, fresh: &Engine) -> Vec<String> {
        let mut wrong = Vec::new();
        let replica = &self.replicas[at];
        let engine = &replica.engine;
        if engine.ledger() != fresh.ledger() {
            wrong.push(format!(
                "scheduler {at} remembers {:?} and there is {:?}",
                engine.ledger(),
                fresh.ledger()
            ));
        }
        let (known, there) = (usage(engine), usage(fresh));
        if known != there {
            wrong.push(format!("scheduler {at} remembers on nodes {known:?} and there is {there:?}"));
        }
        for ((what, known), (_, there)) in std::iter::zip(remembered(engine), remembered(fresh)) {
            if known != there {
                wrong.push(format!("scheduler {at} remembers of {what} {known} and there is {there}"));
            }
        }
        if engine.placing() > 0 {
            wrong.push(format!("scheduler {at} has {} pods on their way for ever", engine.placing()));
        }
        let total = |engine: &Engine| {
            let counts = engine.counts();
            counts.ready + counts.undecided + counts.backing_off + counts.asleep + counts.gated
        };
        if total(engine) != total(fresh) {
            wrong.push(format!(
                "scheduler {at} thinks that {} pods wait, and {} do",
                total(engine),
                total(fresh)
            ));
        }
        wrong
    }
}

/// What pods use on each node.
fn usage(engine: &Engine) -> Vec<String> {
    let mut nodes: Vec<String> = engine
        .nodes()
        .iter()
        .filter_map(|(_, state)| {
            let node = state.node.as_ref()?;
            let pods: Vec<&str> = state.pods.values().map(|pod| &*pod.id.name).collect();
            Some(format!("{}: {:?} by {}", node.name, state.used, pods.join(", ")))
        })
        .collect();
    nodes.sort();
    nodes
}

/// What an engine knows of the kinds that are not in its books, each with its name.
fn remembered(engine: &Engine) -> [(&'static str, String); 7] {
    let facts = engine.facts();
    let nodes = facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref());
    let taints: BTreeMap<_, _> = nodes.map(|node| (node.name.clone(), &node.taints)).collect();
    let topologies: Vec<_> = facts.groups.topologies().collect();
    let slices: BTreeMap<_, _> =
        facts.slices.iter().map(|one| (one.slice.name.clone(), &one.slice.devices)).collect();
    [
        ("namespaces", format!("{:?}", facts.namespaces.iter().collect::<Vec<_>>())),
        ("taints of nodes", format!("{taints:?}")),
        ("volumes", format!("{:?}", facts.volumes)),
        ("services and owners", format!("{:?}", facts.companions)),
        ("devices and their taints", format!("{slices:?}")),
        ("budgets", format!("{:?}", facts.budgets)),
        ("topologies", format!("{topologies:?}")),
    ]
}

/// What an engine would do for the pods that wait.
fn places(engine: &mut Engine, world: &World) -> Vec<String> {
    let waiting = engine.counts().ready;
    let effects =
        engine.handle(world.api.now, Input::Turn { attempts: u32::try_from(waiting).unwrap_or(u32::MAX) });
    let mut found = Vec::new();
    for effect in effects {
        if let Effect::Submit(_, write) = effect
            // What is said about pods that wait may be out of date; nobody is placed by it.
            && !matches!(write, Write::Note { .. } | Write::NoteGroup { .. } | Write::Nominate { node: None, .. })
        {
            found.push(super::errand::shown(&write));
        }
    }
    found
}
