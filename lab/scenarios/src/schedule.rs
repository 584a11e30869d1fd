//! A pod is placed by the engine, in a cluster made of the objects of a run.
//!
//! Invariant: the scheduler of a step knows nothing but the objects. Other pods that wait are not there for it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use cluster::change::Change;
use config::SchedulerSettings;
use convert::change;
use decisions::comparison::NodeScores;
use decisions::scores::Score;
use gates::Gates;
use model::timestamp::Timestamp;
use scheduler::engine::{Engine, Input};
use serde_json::{Value, json};
use simulation::{Manifest, Place, PodOutcome, Rules, simulate_by};

use crate::document::{Gathered, Placed, Scores};
use crate::world::{World, revision_of};

/// The key under which the weighted sum stands.
const TOTAL: &str = "total";

/// A scheduler with its settings.
pub(crate) struct Scheduler {
    settings: SchedulerSettings,
    gates: Gates,
}

impl Scheduler {
    /// A scheduler with this configuration, which need not say what it is.
    pub fn new(configuration: &Value, gates: Gates) -> anyhow::Result<Scheduler> {
        let mut file = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        });
        let fields = configuration.as_object().context("the configuration is no map")?;
        file.as_object_mut().into_iter().for_each(|file| file.extend(fields.clone()));
        let settings = SchedulerSettings::read(&file.to_string(), gates)
            .map_err(|bad| anyhow::anyhow!("the configuration is wrong: {bad}"))?;
        Ok(Scheduler { settings, gates })
    }

    /// Scores that are otherwise than expected.
    pub fn scores(&self, world: &World, pod: &str, expected: &Scores) -> anyhow::Result<Vec<String>> {
        if expected.is_empty() {
            return Ok(Vec::new());
        }
        let pod = world.pod(pod)?;
        let found = self.compared(world, pod)?;
        let mut lines = Vec::new();
        for (kind, expected) in expected {
            ensure!(kind == TOTAL || KINDS.iter().any(|(_, name)| name == kind), "{kind} gives no scores");
            let found = of_kind(&found, kind);
            let nodes: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            for node in nodes {
                let (expected, found) = (expected.get(node), found.get(node));
                if expected != found {
                    let told = |score: Option<&i64>| score.map_or("no score".to_owned(), i64::to_string);
                    lines.push(format!("{kind} of {node}: expected {}", told(expected)));
                    lines.push(format!("{kind} of {node}: found    {}", told(found)));
                }
            }
        }
        Ok(lines)
    }

    /// How nodes compare for a pod.
    fn compared(&self, world: &World, pod: &Value) -> anyhow::Result<Vec<NodeScores>> {
        let mut engine = Engine::new(scheduling::settings(&self.settings, self.gates));
        for object in world.in_order().into_iter().filter(|object| !waits(object)) {
            if let Some(change) = change::applied(object, revision_of(object))? {
                engine.handle(Timestamp::from_micros(0), Input::Changed(change));
            }
        }
        match change::applied(pod, 0)? {
            Some(Change::PodApplied(pod)) => Ok(engine.compare(&pod)),
            _ => anyhow::bail!("it is no pod"),
        }
    }

    /// Places a pod, and says what is otherwise than expected.
    pub fn place(
        &self,
        world: &mut World,
        pod: &str,
        expected: &Placed,
        writes: Option<usize>,
    ) -> anyhow::Result<Vec<String>> {
        if matches!(expected, Placed::Untouched) {
            return Ok(Vec::new());
        }
        let (outcomes, made) = self.let_in(world, &[pod.to_owned()], writes.filter(|most| *most > 0))?;
        let mut lines = difference(expected, &outcomes[0]);
        if let Some(writes) = writes.filter(|writes| *writes != made) {
            lines.extend([format!("expected {writes} writes"), format!("found    {made}")]);
        }
        Ok(lines)
    }

    /// Places pods at once, and says what is otherwise than expected: each is on one of its nodes, or has none.
    pub fn seat(
        &self,
        world: &mut World,
        seats: &BTreeMap<String, Vec<String>>,
        refused: &[String],
    ) -> anyhow::Result<Vec<String>> {
        let pods: Vec<String> = seats.keys().cloned().collect();
        let (outcomes, _) = self.let_in(world, &pods, None)?;
        let mut lines = Vec::new();
        for ((pod, nodes), outcome) in seats.iter().zip(outcomes) {
            let reason = outcome.reason.unwrap_or_default();
            let is_met = match &outcome.node {
                Some(node) => nodes.contains(node),
                None => nodes.is_empty() && (refused.is_empty() || is_told(refused, &reason)),
            };
            if is_met {
                continue;
            }
            let expected = if nodes.is_empty() {
                format!("refused: {}", refused.join(" … "))
            } else {
                format!("on {}", nodes.join(" or "))
            };
            let found = outcome.node.map_or(format!("refused: {reason}"), |node| format!("on {node}"));
            lines.extend([format!("{pod}: expected {expected}"), format!("{pod}: found    {found}")]);
        }
        Ok(lines)
    }
}

impl Scheduler {
    /// Places pods in one go, and says what is otherwise than expected.
    pub fn gather(
        &self,
        world: &mut World,
        pods: &[String],
        expected: &Gathered,
    ) -> anyhow::Result<Vec<String>> {
        let (outcomes, _) = self.let_in(world, pods, None)?;
        Ok(Scheduler::differences(pods, &outcomes, expected))
    }

    /// What is otherwise than expected of pods that are placed in one go.
    pub fn differences(pods: &[String], outcomes: &[PodOutcome], expected: &Gathered) -> Vec<String> {
        let mut lines = Vec::new();
        let mut unused: BTreeSet<&String> = match expected {
            Gathered::On { nodes, .. } => nodes.iter().collect(),
            Gathered::Refused(_) => BTreeSet::new(),
        };
        for (pod, outcome) in pods.iter().zip(outcomes) {
            let reason = outcome.reason.clone().unwrap_or_default();
            let is_right = match (expected, &outcome.node) {
                (Gathered::On { nodes, waiting }, Some(node)) => {
                    unused.remove(node);
                    nodes.contains(node) && !waiting.contains(pod)
                }
                (Gathered::On { waiting, .. }, None) => waiting.contains(pod),
                (Gathered::Refused(parts), None) => is_told(parts, &reason),
                (Gathered::Refused(_), Some(_)) => false,
            };
            if !is_right {
                let found = outcome.node.as_ref().map(|node| format!("on {node}"));
                lines.push(format!("found {pod} {}", found.unwrap_or_else(|| format!("refused: {reason}"))));
            }
        }
        lines.extend(unused.into_iter().map(|node| format!("found nobody on {node}")));
        if !lines.is_empty() {
            lines.insert(0, format!("expected {expected:?}"));
        }
        lines
    }

    /// Lets pods into a simulated cluster in which nobody else waits, takes over what became of them, and tells with how many
    /// writes of the scheduler, if there may be no more than so many.
    pub fn let_in(
        &self,
        world: &mut World,
        pods: &[String],
        writes_max: Option<usize>,
    ) -> anyhow::Result<(Vec<PodOutcome>, usize)> {
        let wanted: Vec<Value> =
            pods.iter().map(|pod| world.pod(pod).cloned()).collect::<anyhow::Result<_>>()?;
        for (pod, name) in wanted.iter().zip(pods) {
            ensure!(waits(pod), "pod {name} has a node already");
        }
        let is_there = |object: &&Value| !waits(object) || wanted.contains(*object);
        let manifests: Vec<Manifest> = world.in_order().into_iter().filter(is_there).map(manifest).collect();
        let made = manifests.iter().map(|manifest| &manifest.value).filter(|object| is_made(object));
        let made: Vec<Value> = made.cloned().collect();
        let rules = Rules {
            scheduler: Some(&self.settings),
            scheduler_gates: self.gates,
            writes_max,
            ..Rules::new(Gates::all_on())
        };
        let ending = simulate_by(manifests, &rules)
            .map_err(|bad| anyhow::anyhow!("the simulator refuses what is there: {}", bad.what))?;
        let outcome = |wanted: &Value| {
            let meta = &wanted["metadata"];
            let is_it = |pod: &&PodOutcome| meta["name"] == *pod.name && meta["namespace"] == *pod.namespace;
            ending.outcome.pods.iter().find(is_it).cloned().context("the simulator lost the pod")
        };
        let outcomes = wanted.iter().map(outcome).collect::<anyhow::Result<_>>()?;
        let objects = ending.objects();
        for gone in gone(&made, &objects) {
            world.forget(gone)?;
        }
        for object in objects {
            if matches!(object["kind"].as_str(), Some("PodGroup")) || is_made(&object) {
                world.take_over(object)?;
            }
        }
        Ok((outcomes, ending.writes))
    }
}

/// What is otherwise than expected of one pod.
fn difference(expected: &Placed, outcome: &PodOutcome) -> Vec<String> {
    match (expected, &outcome.node, &outcome.reason) {
        (Placed::Anywhere, _, _) => Vec::new(),
        (Placed::On(expected), Some(node), _) if expected == node => Vec::new(),
        (Placed::Refused(parts), None, Some(reason)) if is_told(parts, reason) => Vec::new(),
        (_, node, reason) => {
            let expected = match expected {
                Placed::On(node) => format!("on {node}"),
                Placed::Refused(parts) => format!("refused: {}", parts.join(" … ")),
                Placed::Untouched | Placed::Anywhere => String::new(),
            };
            let found = node.as_ref().map(|node| format!("on {node}"));
            let reason = || format!("refused: {}", reason.clone().unwrap_or_default());
            vec![format!("expected {expected}"), format!("found    {}", found.unwrap_or_else(reason))]
        }
    }
}

/// One text is how the sentence begins; several are parts of it.
fn is_told(parts: &[String], sentence: &str) -> bool {
    match parts {
        [whole] => sentence.starts_with(whole.as_str()),
        parts => parts.iter().all(|part| sentence.contains(part.as_str())),
    }
}

/// Pods that were displaced, claims that went with them and negotiations that are over.
fn gone<'m>(before: &'m [Value], after: &[Value]) -> Vec<&'m Value> {
    let is_same = |left: &Value, right: &Value| {
        let fields = ["namespace", "name"];
        left["kind"] == right["kind"]
            && fields.iter().all(|field| left["metadata"][field] == right["metadata"][field])
    };
    before.iter().filter(|object| !after.iter().any(|left| is_same(left, object))).collect()
}

/// Whether this is of a kind that comes and goes while pods are placed.
fn is_made(object: &Value) -> bool {
    let kinds = ["PersistentVolume", "PersistentVolumeClaim", "Pod", "PodSchedulingContext", "ResourceClaim"];
    object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))
}

/// Whether this is a pod without a node.
fn waits(object: &Value) -> bool {
    object["kind"] == "Pod" && object["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
}

fn manifest(object: &Value) -> Manifest {
    let place = Place { file: "the objects of the scenario".to_owned(), line: 0 };
    Manifest::made(place, object.clone())
}

fn of_kind(nodes: &[NodeScores], kind: &str) -> BTreeMap<String, i64> {
    let of_node = |node: &NodeScores| {
        let score = match KINDS.iter().find(|(_, name)| *name == kind) {
            None => node.total,
            Some((kind, _)) => node.scores.iter().find(|(scored, _)| scored == kind)?.1,
        };
        Some((node.node.to_string(), score))
    };
    nodes.iter().filter_map(of_node).collect()
}

/// Scores by the plugins that people know them by.
const KINDS: [(Score, &str); 8] = [
    (Score::Taints, "TaintToleration"),
    (Score::NodeAffinity, "NodeAffinity"),
    (Score::Resources, "NodeResourcesFit"),
    (Score::Volumes, "VolumeBinding"),
    (Score::Spread, "PodTopologySpread"),
    (Score::PodAffinity, "InterPodAffinity"),
    (Score::Balanced, "NodeResourcesBalancedAllocation"),
    (Score::Images, "ImageLocality"),
];
