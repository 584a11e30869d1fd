//! Places the pods that people have, without any API: many applications of a few replicas, with a Service, spread, apart, or with
//! claims, among pods and nodes that make answers hard to keep.

use std::fmt;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use cluster::change::{Change, CompanionChange};
use model::node::{Node, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{LabelSelector, Owner, OwnerKind, Pod, PodTerm, Resources, Shape, Spread};
use scheduler::engine::{Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::clock::clock;
use crate::considering;
use crate::schedule::{NOW, Run, claim, cluster, written};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const DEVICES: usize = 8;

/// How many decisions a second have to be reached.
const DECISIONS_MIN: f64 = 15_000.0;

/// How many pods a turn is about.
const ATTEMPTS: u32 = 100;

/// Place the pods that people have: with Services, spread, apart, with claims
#[derive(Debug, Args)]
pub(crate) struct Shapes {
    /// How many nodes
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many pods
    #[arg(long, default_value_t = 40_000)]
    pods: usize,
    /// How many replicas an application has
    #[arg(long, default_value_t = 25)]
    replicas: usize,
    /// How many lanes look at nodes. With several, the time on the wall counts
    #[arg(long, default_value_t = 1)]
    lanes: u32,
    /// The shapes; all unless some are named
    shapes: Vec<PodShape>,
}

/// What pods are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PodShape {
    /// They ask for processor and memory
    Plain,
    /// The same, on a cluster of which one node has a PreferNoSchedule taint
    SoftTaint,
    /// Each has a claim for a device
    Claim,
    /// The same, among pods that must be apart from others
    ClaimAmongRules,
    /// They have a Service and a ReplicaSet
    Service,
    /// They must be spread over zones, and had better be over nodes
    Spread,
    /// Each replica must be on another node
    AntiAffinity,
}

impl fmt::Display for PodShape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no shape is hidden");
        out.pad(value.get_name())
    }
}

impl Shapes {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let shapes = if self.shapes.is_empty() { PodShape::value_variants() } else { &self.shapes };
        println!("shape              nodes   pods   decisions/s   µs a decision");
        let mut slow = Vec::new();
        for shape in shapes {
            let run = self.play(*shape, ATTEMPTS)?;
            let rate = run.placed as f64 / run.deciding;
            println!(
                "{shape:17}  {:5}  {:5}  {rate:12.0}  {:14.1}",
                self.nodes,
                run.placed,
                run.deciding / run.placed as f64 * 1e6
            );
            if rate < DECISIONS_MIN {
                slow.push(shape.to_string());
            }
        }
        anyhow::ensure!(
            slow.is_empty(),
            "goal not met: {DECISIONS_MIN} decisions a second on one core: {}",
            slow.join(", ")
        );
        println!("goal: {DECISIONS_MIN} decisions a second on one core: met");
        Ok(())
    }

    /// Places all pods, with so many decisions in a turn.
    fn play(&self, shape: PodShape, attempts: u32) -> anyhow::Result<Run> {
        let mut engine = cluster(self.nodes, DEVICES).with_lanes(crate::lanes::lanes(self.lanes));
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        (0..self.nodes).for_each(|number| fact(Change::NodeApplied(Box::new(self.node(number, shape)))));
        if shape == PodShape::ClaimAmongRules {
            for number in 0..self.nodes.min(100) {
                let there =
                    Pod { node: Some(format!("node-{number}").as_str().into()), ..self.apart(number) };
                fact(Change::PodApplied(Arc::new(there)));
            }
        }
        let apps = self.pods.div_ceil(self.replicas);
        for app in (0..apps).filter(|_| shape == PodShape::Service) {
            let (namespace, name): (Arc<str>, Arc<str>) = ("default".into(), format!("app-{app}").into());
            let labels = [("app".into(), name.clone())].into();
            fact(Change::Companions(CompanionChange::ServiceApplied(
                namespace.clone(),
                name.clone(),
                labels,
            )));
            let owner = Owner { kind: OwnerKind::ReplicaSet, name };
            fact(Change::Companions(CompanionChange::OwnerApplied(namespace, owner, selector(app))));
        }
        for number in 0..self.pods {
            if matches!(shape, PodShape::Claim | PodShape::ClaimAmongRules) {
                fact(Change::ClaimApplied(Box::new(claim(number))));
            }
            fact(Change::PodApplied(Arc::new(self.pod(number, shape))));
        }
        self.place_all(&mut engine, shape, attempts)
    }

    fn place_all(&self, engine: &mut Engine, shape: PodShape, attempts: u32) -> anyhow::Result<Run> {
        let mut run = Run::default();
        let worked = clock(self.lanes);
        while run.placed < self.pods {
            let turn = worked();
            let (mut effects, work) = considering::turn(engine, NOW, attempts);
            run.work += work;
            run.deciding += (worked() - turn).as_secs_f64();
            let placed = run.placed;
            while !effects.is_empty() {
                let mut next = Vec::new();
                for (id, write) in effects.into_iter().filter_map(submitted) {
                    let change = match (&write, written(&write, &mut run)) {
                        (Write::Bind { pod, node, .. }, Some(_)) => {
                            let number = pod.name.rsplit('-').next().and_then(|number| number.parse().ok());
                            let number = number.expect("pods are numbered");
                            let bound = Pod { node: Some(node.clone()), ..self.pod(number, shape) };
                            Some(Change::PodApplied(Arc::new(bound)))
                        }
                        (_, change) => change,
                    };
                    next.extend(change.into_iter().flat_map(|one| engine.handle(NOW, Input::Changed(one))));
                    next.extend(engine.handle(NOW, Input::Settled(id, WriteOutcome::Done)));
                }
                effects = next;
            }
            anyhow::ensure!(run.placed > placed, "no {shape} pod was placed any more after {placed}");
        }
        Ok(run)
    }

    fn node(&self, number: usize, shape: PodShape) -> Node {
        let mut node = crate::schedule::node(number);
        node.labels = [
            (HOST.into(), format!("node-{number}").into()),
            (ZONE.into(), format!("zone-{}", number % 3).into()),
        ]
        .into();
        if shape == PodShape::SoftTaint && number == 0 {
            let (key, value) = ("maintenance".into(), "soon".into());
            node.taints.push(NodeTaint { key, value, effect: NodeTaintEffect::PreferNoSchedule });
        }
        node
    }

    fn apart(&self, number: usize) -> Pod {
        let apart = vec![term(number)];
        let mut pod = self.pod(number, PodShape::Plain);
        pod.uid = format!("apart-uid-{number}").into();
        pod.id.name = format!("apart-{number}").into();
        pod.shape = Arc::new(Shape { apart, ..Shape::clone(&pod.shape) });
        pod
    }

    fn pod(&self, number: usize, shape: PodShape) -> Pod {
        let mut pod = crate::schedule::pod(number);
        if !matches!(shape, PodShape::Claim | PodShape::ClaimAmongRules) {
            pod.claims.clear();
        }
        let requests = Resources { cpu_milli: 100, memory: 100 << 20, ..Resources::default() };
        let mut own = Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) };
        let app = number / self.replicas;
        let name: Arc<str> = format!("app-{app}").into();
        own.labels = [("app".into(), name.clone()), ("pod-template-hash".into(), name.clone())].into();
        match shape {
            PodShape::Plain | PodShape::SoftTaint | PodShape::Claim | PodShape::ClaimAmongRules => {}
            PodShape::Service => own.owner = Some(Owner { kind: OwnerKind::ReplicaSet, name }),
            PodShape::Spread => {
                let rule = |(key, required): (&str, bool)| Spread {
                    max_skew: 1,
                    key: key.into(),
                    required,
                    selector: selector(app),
                    min_domains: 1,
                    honor_affinity: true,
                    honor_taints: false,
                };
                own.spread = [(ZONE, true), (HOST, false)].map(rule).into();
            }
            PodShape::AntiAffinity => own.apart = vec![term(app)],
        }
        pod.shape = Arc::new(own);
        pod
    }
}

fn submitted(effect: scheduler::engine::Effect) -> Option<(scheduler::write::WriteId, Write)> {
    match effect {
        scheduler::engine::Effect::Submit(id, write) => Some((id, write)),
        _ => None,
    }
}

fn selector(app: usize) -> LabelSelector {
    let values = vec![format!("app-{app}").into()];
    LabelSelector::All(vec![Requirement { key: "app".into(), operator: Operator::In, values }])
}

fn term(app: usize) -> PodTerm {
    let (namespaces, key) = (vec!["default".into()], HOST.into());
    PodTerm { selector: selector(app), namespaces, namespace_selector: None, key }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{PodShape, Shapes};

    /// How much work a decision may be on average, with 400 nodes and 400 pods, in nominal nanoseconds: half as much again as it is. To
    /// look at all nodes for each pod would be 200,000.
    fn work_max(shape: PodShape) -> u64 {
        match shape {
            PodShape::Plain => 2_250,
            PodShape::SoftTaint => 3_000,
            PodShape::Claim => 23_500,
            PodShape::ClaimAmongRules => 24_300,
            PodShape::Service | PodShape::Spread => 7_100,
            PodShape::AntiAffinity => 5_600,
        }
    }

    #[test]
    fn pods_of_every_shape_are_placed_with_little_work() {
        let bench = Shapes { nodes: 400, pods: 400, replicas: 10, lanes: 1, shapes: Vec::new() };
        for shape in PodShape::value_variants() {
            let run = bench.play(*shape, 1).expect("all pods are placed");
            assert_eq!(run.placed, bench.pods, "{shape}");
            let work = run.work / run.placed as u64;
            let most = work_max(*shape);
            assert!(work <= most, "{shape}: {work} for a decision, and at most {most} are expected");
        }
    }
}
