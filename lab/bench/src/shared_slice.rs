//! What it costs pods and gangs with claims that there is a slice for all nodes of a driver that they have nothing to do with, or
//! that devices may take of their nodes: without any API, beside the same without that.
//!
//! Which devices a claim could ever get is asked per claim, so it is to cost next to nothing. Work does not depend on the machine, and
//! the bench fails if there is too much more of it; it fails too if the time is too much longer.

use std::sync::Arc;

use clap::Args;
use cluster::change::{Change, GroupChange};
use cluster::published::Published;
use gates::{Gate, Gates};
use model::device::{Device, PoolId, Reach, Slice};
use model::group::{Group, GroupId};
use model::pod::Pod;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;
use selector::SliceRevision;

use crate::clock::worked;
use crate::considering;
use crate::schedule::{NOW, Run, carry_out, claim, cluster_with, node, pod};

/// How much more it may cost.
const RATIO_MAX: f64 = 1.2;

/// Nodes in a rack.
const IN_RACK: usize = 100;

/// Place pods and gangs beside a slice of an unrelated driver that all nodes reach
#[derive(Debug, Args)]
pub(crate) struct SharedSlice {
    /// How many nodes, with eight devices each
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many pods
    #[arg(long, default_value_t = 10_000)]
    pods: usize,
    /// How many members the gang has
    #[arg(long, default_value_t = 600)]
    members: usize,
    /// How often gangs are seated, of which the fastest counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// What is there besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Besides {
    Nothing,
    /// A slice for all nodes.
    Slice,
    /// Devices may take of their nodes.
    Footings,
    Both,
}

/// What it cost: nominal nanoseconds, and seconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    work: u64,
    seconds: f64,
}

const BESIDES: [Besides; 3] = [Besides::Slice, Besides::Footings, Besides::Both];

impl SharedSlice {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("of            besides     nominal ms         ms   times work   times ms");
        let mut over = Vec::new();
        for (of, place) in [("pods", Self::pods as fn(&Self, Besides) -> _), ("gang", Self::best_gang)] {
            let before = place(self, Besides::Nothing)?;
            let mut show = |besides: Besides, Cost { work, seconds }: Cost| {
                let (more, longer) = (work as f64 / before.work as f64, seconds / before.seconds);
                let name = format!("{besides:?}").to_lowercase();
                println!(
                    "{of:12}  {name:9}  {:11.1}  {:9.1}   {more:10.2}   {longer:8.2}",
                    work as f64 / 1e6,
                    seconds * 1e3
                );
                if more > RATIO_MAX || longer > RATIO_MAX {
                    over.push(format!(
                        "{of} beside {name}: {more:.2} times the work, {longer:.2} times the time"
                    ));
                }
            };
            show(Besides::Nothing, before);
            for besides in BESIDES {
                show(besides, place(self, besides)?);
            }
        }
        anyhow::ensure!(
            over.is_empty(),
            "goal not met, at most {RATIO_MAX} times as much: {}",
            over.join("; ")
        );
        Ok(())
    }

    fn engine(&self, besides: Besides) -> Engine {
        let footings = matches!(besides, Besides::Footings | Besides::Both);
        let gates = [(Gate::GenericWorkload, true), (Gate::TopologyAwareWorkloadScheduling, true)];
        let gates = gates.into_iter().chain([(Gate::DRANodeAllocatableResources, footings)]);
        let gates = gates.fold(Gates::default(), |gates, (gate, on)| gates.with(gate, on));
        let mut engine = cluster_with(gates, self.nodes, 8);
        for number in 0..self.nodes {
            let mut node = node(number);
            node.labels.insert("rack".into(), format!("rack-{}", number / IN_RACK).into());
            engine.handle(NOW, Input::Changed(Change::NodeApplied(Box::new(node))));
        }
        if matches!(besides, Besides::Slice | Besides::Both) {
            engine.handle(NOW, Input::Changed(Change::SliceApplied(Arc::new(of_others()))));
        }
        engine
    }

    /// Places pods with a claim each.
    fn pods(&self, besides: Besides) -> anyhow::Result<Cost> {
        let mut engine = self.engine(besides);
        for number in 0..self.pods {
            engine.handle(NOW, Input::Changed(Change::ClaimApplied(Box::new(claim(number)))));
            engine.handle(NOW, Input::Changed(Change::PodApplied(Arc::new(pod(number)))));
        }
        let (mut run, mut cost) = (Run::default(), Cost { work: 0, seconds: 0.0 });
        while run.placed < self.pods {
            let began = worked();
            let (effects, work) = considering::turn(&mut engine, NOW, 1);
            cost.seconds += (worked() - began).as_secs_f64();
            cost.work += work;
            let placed = run.placed;
            carry_out(&mut engine, NOW, effects, &mut run);
            anyhow::ensure!(run.placed > placed, "no pod was placed any more after {placed}");
        }
        Ok(cost)
    }

    /// The fastest of some runs.
    fn best_gang(&self, besides: Besides) -> anyhow::Result<Cost> {
        let runs = (0..self.runs.max(1)).map(|_| self.gang(besides));
        let runs = runs.collect::<anyhow::Result<Vec<Cost>>>()?;
        Ok(runs
            .into_iter()
            .min_by(|one, other| one.seconds.total_cmp(&other.seconds))
            .expect("there is a run"))
    }

    /// Seats a gang whose members have a claim each in one rack.
    fn gang(&self, besides: Besides) -> anyhow::Result<Cost> {
        let mut engine = self.engine(besides);
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        fact(Change::Group(GroupChange::Applied(Box::new(Group {
            id: GroupId { namespace: "default".into(), name: "gang".into() },
            uid: "gang-uid".into(),
            at_least: self.members as u32,
            levels: vec!["rack".into()],
            preempts: true,
            ..Group::default()
        }))));
        for number in 0..self.members {
            fact(Change::ClaimApplied(Box::new(claim(number))));
            fact(Change::PodApplied(Arc::new(Pod { group: Some("gang".into()), ..pod(number) })));
        }
        let (mut cost, mut seated) = (Cost { work: 0, seconds: 0.0 }, 0);
        while engine.wants_turn(NOW) {
            let began = worked();
            let (effects, work) = considering::turn(&mut engine, NOW, 1);
            cost.seconds += (worked() - began).as_secs_f64();
            cost.work += work;
            let is_seat = |effect: &&Effect| matches!(effect, Effect::Submit(_, Write::Allocate { .. }));
            seated += effects.iter().filter(is_seat).count();
        }
        anyhow::ensure!(seated == self.members, "{seated} of {} members have seats", self.members);
        Ok(cost)
    }
}

/// A pool of another driver that all nodes reach.
fn of_others() -> Published {
    let device = |at: usize| Device { name: format!("channel-{at}").into(), ..Device::default() };
    let slice = Slice {
        name: "channels".into(),
        pool: PoolId { driver: "channel.example.com".into(), pool: "channels".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Everywhere,
        devices: (0..64).map(device).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Published::new(slice, SliceRevision { slice: u64::MAX, revision: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_others_adds_next_to_no_work() {
        let bench = SharedSlice { nodes: 200, pods: 300, members: 200, runs: 1 };
        for place in [SharedSlice::pods as fn(&SharedSlice, Besides) -> _, SharedSlice::gang] {
            let before = place(&bench, Besides::Nothing).expect("everybody is placed").work as f64;
            for besides in BESIDES {
                let more = place(&bench, besides).expect("everybody is placed").work as f64 / before;
                assert!(more <= RATIO_MAX, "{besides:?}: {more} times the work");
            }
        }
    }
}
