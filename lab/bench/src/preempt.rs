//! Pods that have to preempt others on a full cluster, without any API: what a decision costs on clusters of several sizes.
//!
//! The pods must be apart from each other, and some of them run already, so that each rule has as many places as half the nodes.

use std::sync::Arc;

use clap::Args;
use cluster::change::Change;
use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodTerm, Resources, Shape};
use model::timestamp::Timestamp;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::clock::worked;
use crate::considering;
use crate::schedule::{NOW, cluster};

const HOST: &str = "kubernetes.io/hostname";

/// How many pods fill a node.
const PODS_OF_NODE: usize = 8;

/// How much faster than the number of nodes the cost of a decision may grow.
const GROWTH_MAX: f64 = 1.25;

/// How long a pod waits until it is tried again for the first time.
const BACKOFF_MS: i64 = 1_000;

/// Place pods that must be apart and have to preempt others, on full clusters of several sizes
#[derive(Debug, Args)]
pub(crate) struct Preempt {
    /// How many nodes the clusters have, the smallest first
    #[arg(long, default_values_t = [2_000, 5_000, 10_000], value_delimiter = ',')]
    nodes: Vec<usize>,
    /// How many pods have to preempt others
    #[arg(long, default_value_t = 500)]
    pods: usize,
}

/// What came of a run.
#[derive(Debug, Default)]
struct Run {
    placed: usize,
    preempted: usize,
    turns: usize,
    deciding: f64,
    /// Nominal nanoseconds of all decisions.
    work: u64,
}

impl Preempt {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("nodes   pods  preempted  turns   seconds   ms a pod  nominal ms a pod");
        let mut costs = Vec::new();
        for nodes in &self.nodes {
            let run = play(full(*nodes), self.pods)?;
            let cost = run.deciding / run.placed as f64;
            println!(
                "{nodes:5}  {:5}  {:9}  {:5}  {:8.2}  {:9.3}  {:16.3}",
                run.placed,
                run.preempted,
                run.turns,
                run.deciding,
                cost * 1e3,
                run.work as f64 / run.placed as f64 / 1e6
            );
            costs.push((*nodes as f64, cost));
        }
        let most = costs.windows(2).map(growth).fold(0.0, f64::max);
        anyhow::ensure!(
            most <= GROWTH_MAX,
            "goal not met: the cost of a pod grows at most {GROWTH_MAX} times as fast as nodes, and it was {most:.2} times"
        );
        println!(
            "goal: the cost of a pod grows at most {GROWTH_MAX} times as fast as nodes: met, {most:.2} times"
        );
        Ok(())
    }
}

/// How much faster than the number of nodes a cost grows, of two numbers of nodes with their costs.
fn growth(pair: &[(f64, f64)]) -> f64 {
    (pair[1].1 / pair[0].1) / (pair[1].0 / pair[0].0)
}

/// Has so many pods preempt others. What took long is not tried again before its backoff is over, so the time passes here.
fn play(mut engine: Engine, pods: usize) -> anyhow::Result<Run> {
    let mut now = NOW;
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    (0..pods).for_each(|number| fact(Change::PodApplied(Arc::new(apart(number)))));
    let mut run = Run::default();
    while run.placed < pods {
        if !engine.wants_turn(now) {
            now = now.plus_millis(BACKOFF_MS);
        }
        let began = worked();
        let (effects, work) = considering::turn(&mut engine, now, 1);
        run.deciding += (worked() - began).as_secs_f64();
        run.work += work;
        run.turns += 1;
        anyhow::ensure!(run.turns < 10 * pods, "only {} of {pods} pods were placed", run.placed);
        carry_out(&mut engine, now, effects, &mut run);
    }
    Ok(run)
}

/// A cluster on which there is no room left: pods that matter little are everywhere, and on every other node one that has to be
/// apart from those that come.
fn full(nodes: usize) -> Engine {
    let mut engine = cluster(0, 0);
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    for number in 0..nodes {
        let mut node = crate::schedule::node(number);
        node.labels = [(HOST.into(), format!("node-{number}").into())].into();
        fact(Change::NodeApplied(Box::new(node)));
        for place in 0..PODS_OF_NODE {
            let mut pod = if place == 0 && number % 2 == 0 {
                apart(number)
            } else {
                let mut pod = plain(number * PODS_OF_NODE + place);
                pod.priority = (number * 7 + place) as i32 % 5;
                pod
            };
            pod.uid = format!("there-uid-{number}-{place}").into();
            pod.id.name = format!("there-{number}-{place}").into();
            pod.node = Some(format!("node-{number}").into());
            fact(Change::PodApplied(Arc::new(pod)));
        }
    }
    engine
}

fn plain(number: usize) -> Pod {
    let mut pod = crate::schedule::pod(number);
    pod.claims.clear();
    let requests = Resources { cpu_milli: 8_000, memory: 1 << 30, ..Resources::default() };
    pod.shape = Arc::new(Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) });
    pod
}

/// An important pod that must be apart from all others like it.
fn apart(number: usize) -> Pod {
    let mut pod = plain(number);
    let values = vec!["web".into()];
    let selector =
        LabelSelector::All(vec![Requirement { key: "app".into(), operator: Operator::In, values }]);
    let (namespaces, key) = (vec!["default".into()], HOST.into());
    let term = PodTerm { selector, namespaces, namespace_selector: None, key };
    let labels = [("app".into(), "web".into())].into();
    pod.shape = Arc::new(Shape { labels, apart: vec![term], ..Shape::clone(&pod.shape) });
    pod.priority = 100;
    pod
}

/// Does what the engine asks for, and tells it.
fn carry_out(engine: &mut Engine, now: Timestamp, mut effects: Vec<Effect>, run: &mut Run) {
    while !effects.is_empty() {
        let mut next = Vec::new();
        for effect in effects {
            let Effect::Submit(id, write) = effect else { continue };
            let change = match &write {
                Write::Evict { uid, .. } => {
                    run.preempted += 1;
                    Some(Change::PodGone(uid.clone()))
                }
                Write::Bind { pod, node, .. } => {
                    run.placed += 1;
                    let number = pod.name.rsplit('-').next().and_then(|number| number.parse().ok());
                    let pod = apart(number.expect("pods are numbered"));
                    Some(Change::PodApplied(Arc::new(Pod { node: Some(node.clone()), ..pod })))
                }
                _ => None,
            };
            next.extend(change.into_iter().flat_map(|one| engine.handle(now, Input::Changed(one))));
            next.extend(engine.handle(now, Input::Settled(id, WriteOutcome::Done)));
        }
        effects = next;
    }
}

#[cfg(test)]
mod tests {
    use super::{GROWTH_MAX, full, play};

    #[test]
    fn every_pod_preempts_one_on_a_node_of_its_own() {
        let run = play(full(40), 15).expect("all pods are placed");
        assert_eq!((run.placed, run.preempted), (15, 15));
    }

    #[test]
    fn what_takes_long_to_decide_is_decided_too() {
        let run = play(full(60).with_slice_max(0), 5).expect("all pods are placed");
        assert_eq!((run.placed, run.preempted), (5, 5));
    }

    #[test]
    fn the_work_for_a_pod_grows_no_faster_than_the_number_of_nodes() {
        const PODS: usize = 12;
        // Each decision is made at once, so that none is begun twice.
        let work = |nodes: usize| {
            let run = play(full(nodes).with_slice_max(u64::MAX), PODS).expect("all pods are placed");
            assert_eq!((run.placed, run.preempted), (PODS, PODS));
            run.work as f64
        };
        let [small, middle, large] = [150, 600, 2_400].map(work);
        // From 600 to 2,400 nodes there are four times as many more as from 150 to 600.
        let growth = (large - middle) / (middle - small) / 4.0;
        assert!(growth <= GROWTH_MAX, "{growth} times as fast: {small}, {middle} and {large}");
    }
}
