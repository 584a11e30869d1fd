//! Questions about a large cluster that is nearly full: what `supercargo plan` and `supercargo explain` ask once the state is loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use decisions::considering::Snapshot;
use explain::{Audience, Effort, Explanation, Extent, PodExplanation, Subject, WaitingPod, explain};
use model::claim::{Amount, Wish};
use model::device::DeviceId;
use model::identity::NodeName;
use model::node::NodeSelector;
use model::pod::{ClaimSource, Pod};
use plan::{Alteration, Goal, PlanQuestion, WORK_MAX, capacity, defragment, plan};
use scheduler::engine::Input;

use crate::clock::worked;
use crate::memory::resident_bytes;
use crate::schedule::{NOW, claim, cluster, pod, slice};

/// On one of how many nodes a device is free.
const FREE_ON_ONE_IN: usize = 100;

/// How many pods are planned; fewer devices are free.
const PLANNED: usize = 60;

/// How many seconds a plan may take.
const PLAN_MAX: f64 = 2.0;

/// How many seconds an explanation may take.
const EXPLANATION_MAX: f64 = 1.0;

/// Plan for pods, a drained node, capacity and moves on a nearly full cluster, without any API
#[derive(Debug, Args)]
pub(crate) struct PlanBench {
    #[command(flatten)]
    size: Size,
}

/// Explain pods and a claim of a nearly full cluster, without any API
#[derive(Debug, Args)]
pub(crate) struct ExplainBench {
    #[command(flatten)]
    size: Size,
}

/// How large the cluster is.
#[derive(Debug, Args)]
struct Size {
    /// How many nodes
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many devices each has; there is a pod for each
    #[arg(long, default_value_t = 8)]
    devices: usize,
}

/// A question and the check of its answer.
type Question<'q> = (&'static str, Box<dyn Fn() -> Result<()> + 'q>);

impl PlanBench {
    pub(crate) fn run(&self) -> Result<()> {
        let snapshot = self.size.loaded();
        answer_all(&plans(&snapshot, self.size.nodes.div_ceil(FREE_ON_ONE_IN)), PLAN_MAX)
    }
}

impl ExplainBench {
    pub(crate) fn run(&self) -> Result<()> {
        let snapshot = self.size.loaded();
        answer_all(&explanations(&snapshot), EXPLANATION_MAX)
    }
}

impl Size {
    fn loaded(&self) -> Snapshot {
        let (before, began) = (resident_bytes().unwrap_or(0), worked());
        let snapshot = nearly_full(self.nodes, self.devices);
        let bytes = resident_bytes().unwrap_or(0).saturating_sub(before);
        let (pods, seconds) = (self.nodes * self.devices, (worked() - began).as_secs_f64());
        println!("{} nodes, {pods} pods: loaded in {seconds:.2} s, {} MiB", self.nodes, bytes >> 20);
        snapshot
    }
}

/// Answers one question after the other, and fails if one takes too long.
fn answer_all(questions: &[Question<'_>], seconds_max: f64) -> Result<()> {
    let mut most = 0.0_f64;
    for (name, ask) in questions {
        let began = worked();
        ask().with_context(|| (*name).to_owned())?;
        let seconds = (worked() - began).as_secs_f64();
        println!("{seconds:8.3} s  {name}");
        most = most.max(seconds);
    }
    ensure!(most < seconds_max, "goal not met: under {seconds_max} s each, and one took {most:.2} s");
    println!("goal: under {seconds_max} s each: met");
    Ok(())
}

fn plans(snapshot: &Snapshot, free: usize) -> Vec<Question<'_>> {
    let drain = || Alteration::parse("drain=node-7").map_err(anyhow::Error::msg);
    vec![
        (
            "plan 60 pods, for which there are too few devices",
            Box::new(move || {
                let told = plan(question(snapshot, PLANNED, 1)).map_err(|one| anyhow::anyhow!(one.wrong))?;
                let expected = (free.min(PLANNED), Extent::Whole);
                ensure!((told.placed(), told.extent) == expected, "{} placed", told.placed());
                Ok(())
            }),
        ),
        (
            "drain a node",
            Box::new(move || {
                let asked = PlanQuestion { alterations: vec![drain()?], ..question(snapshot, 0, 1) };
                let told = plan(asked).map_err(|one| anyhow::anyhow!(one.wrong))?;
                ensure!(told.extent == Extent::Whole && !told.pods.is_empty());
                Ok(())
            }),
        ),
        (
            "capacity for more pods",
            Box::new(move || {
                let told = capacity(question(snapshot, 1, 1)).map_err(|one| anyhow::anyhow!("{one:?}"))?;
                ensure!((told.count, told.extent) == (free, Extent::Whole), "{} more", told.count);
                Ok(())
            }),
        ),
        (
            "moves that free two devices of a node",
            Box::new(move || {
                let told = defragment(question(snapshot, 1, 2), Goal::Pods, 3);
                let told = told.map_err(|one| anyhow::anyhow!("{one:?}"))?;
                ensure!(told.moves.as_ref().map(Vec::len) == Some(1), "{:?}", told.moves);
                Ok(())
            }),
        ),
    ]
}

fn explanations(snapshot: &Snapshot) -> Vec<Question<'_>> {
    let ask = |snapshot: &Snapshot, subject: Subject| {
        explain(snapshot, &subject, &Audience::AllNamespaces, Effort::default())
    };
    let of_pod = move |snapshot: &Snapshot, number: usize| match ask(snapshot, Subject::Pod(pod(number).id)) {
        Explanation::Pod(told) => Ok(told),
        other => bail!("{other}"),
    };
    vec![
        (
            "a pod that wants two devices of a node",
            Box::new(move || {
                let (snapshot, number) = with_waiting(snapshot);
                let told = of_pod(&snapshot, number)?;
                let PodExplanation::Waiting(WaitingPod::Refused(refused)) = *told else { bail!("{told}") };
                ensure!(refused.conflict.extent == Extent::Whole && !refused.remedies.remedies.is_empty());
                println!("{}", refused.message());
                Ok(())
            }),
        ),
        (
            "a pod that is on a node",
            Box::new(move || {
                let told = of_pod(snapshot, 17)?;
                ensure!(matches!(*told, PodExplanation::Placed(_)), "{told}");
                Ok(())
            }),
        ),
        (
            "a claim",
            Box::new(move || {
                let told = ask(snapshot, Subject::Claim(claim(17).wish.id.clone())).to_string();
                ensure!(told.contains("is allocated"), "{told}");
                Ok(())
            }),
        ),
    ]
}

/// The cluster with a pod that waits, and the number of the pod.
fn with_waiting(snapshot: &Snapshot) -> (Snapshot, usize) {
    let mut engine = scheduler::engine::Engine::of(snapshot.clone());
    let number = snapshot.facts.nodes.pods().count();
    for change in arrival(number, 2) {
        drop(engine.handle(NOW, Input::Changed(change)));
    }
    (engine.snapshot(), number)
}

/// A pod and the claim of so many devices that was made for it.
fn arrival(number: usize, devices: i64) -> [Change; 2] {
    let mut state = claim(number);
    let mut wanted = state.wish.as_ref().clone();
    for request in &mut wanted.spec.requests {
        if let Wish::Exactly(ask) = &mut request.wish {
            ask.amount = Amount::Exactly(devices);
        }
    }
    state.wish = Arc::new(wanted);
    let mut pod = pod(number);
    state.owner = Some((&pod.uid).into());
    for claim in &mut pod.claims {
        claim.source = ClaimSource::Generated(state.wish.id.name.clone());
    }
    [Change::ClaimApplied(Box::new(state)), Change::PodApplied(Arc::new(pod))]
}

fn question(snapshot: &Snapshot, pods: usize, devices: i64) -> PlanQuestion {
    let first = snapshot.facts.nodes.pods().count();
    PlanQuestion {
        snapshot: snapshot.clone(),
        arrivals: (first..first + pods).flat_map(|number| arrival(number, devices)).collect(),
        alterations: Vec::new(),
        namespace: "default".to_owned(),
        priorities: BTreeMap::new(),
        stays: BTreeSet::new(),
        work_max: WORK_MAX,
    }
}

/// Nodes on which pods hold all devices but one on every so many nodes. There is a pod for each device in any case.
fn nearly_full(nodes: usize, devices: usize) -> Snapshot {
    let mut engine = cluster(nodes, devices);
    let mut tell = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    for (node, device) in (0..nodes).flat_map(|node| (0..devices).map(move |device| (node, device))) {
        let number = node * devices + device;
        let mut there = Pod { node: Some(format!("node-{node}").into()), ..pod(number) };
        if node.is_multiple_of(FREE_ON_ONE_IN) && device == 0 {
            there.claims.clear();
        } else {
            tell(Change::ClaimApplied(Box::new(held(number, (node, device), devices, &there))));
        }
        tell(Change::PodApplied(Arc::new(there)));
    }
    engine.snapshot()
}

/// A claim that has a device of a node, for a pod.
fn held(number: usize, (node, device): (usize, usize), devices: usize, user: &Pod) -> ClaimState {
    let published = slice(node, devices);
    let (pool, device) = (&published.slice.pool, &published.slice.devices[device]);
    let device =
        DeviceId { driver: pool.driver.clone(), pool: pool.pool.clone(), device: device.name.clone() };
    let mut state = claim(number);
    let holder = state.wish.id.clone().into();
    let holding = Holding { holder, groups: BTreeMap::new(), consumed: BTreeMap::new() };
    let held = vec![Held { device, share: None, holding, tolerations: Vec::new() }];
    let name: NodeName = format!("node-{node}").into();
    state.allocation = Some(Arc::new(Allocated { nodes: Some(NodeSelector::only(&name)), held }));
    state.reserved_for = vec![(&user.uid).into()];
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_a_small_cluster_have_their_answers() {
        let snapshot = nearly_full(200, 4);
        answer_all(&plans(&snapshot, 2), f64::MAX).expect("plans");
        answer_all(&explanations(&snapshot), f64::MAX).expect("explanations");
    }
}
