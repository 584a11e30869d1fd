//! What is written while nothing helps those that wait, without any API: gangs that want more than there is, and pods that go one by one.
//!
//! Each deletion wakes whoever it could help. Nobody it helps, so little is to be written. Writes and events do not depend on the
//! machine, and the bench fails if there are too many.

use std::sync::Arc;

use clap::Args;
use cluster::change::{Change, GroupChange};
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::{Amount, Claim, Class, Wish};
use model::device::DeviceId;
use model::group::{Group, GroupId};
use model::pod::{Pod, Resources, Shape};
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, Effect, Engine, Input};
use scheduler::write::{WriteId, WriteOutcome};

use crate::clock::worked;
use crate::considering;
use crate::schedule::{NOW, claim, node, pod, slice};

/// How many writes and events all deletions may cause.
const WRITTEN_MAX: usize = 200;

/// Small pods on each node, with a device each.
const ON_A_NODE: usize = 4;

/// Delete pods while gangs wait that this does not help
#[derive(Debug, Args)]
pub(crate) struct Storm {
    /// How many nodes, which are full
    #[arg(long, default_value_t = 200)]
    nodes: usize,
    /// How many gangs wait
    #[arg(long, default_value_t = 50)]
    gangs: usize,
    /// How many members each has
    #[arg(long, default_value_t = 10)]
    members: usize,
    /// How many pods go, each from a node of its own
    #[arg(long, default_value_t = 100)]
    deletions: usize,
    /// How long it is from one to the next
    #[arg(long, default_value_t = 1_000)]
    every_ms: i64,
}

/// What gangs lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lack {
    /// More processor than a node has left when one pod goes.
    Processor,
    /// The same, and all members in one rack.
    ProcessorInRack,
    /// More devices of one node than are free when one pod goes.
    Devices,
    /// The same, and all members in one rack.
    DevicesInRack,
    /// Room in one rack for all: each pod that goes makes some for one member more, here and there.
    RoomInRack,
}

const LACKS: [Lack; 5] =
    [Lack::Processor, Lack::ProcessorInRack, Lack::Devices, Lack::DevicesInRack, Lack::RoomInRack];

/// Nodes of a rack.
const IN_RACK: usize = 10;

impl Storm {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("gangs lack          first writes   after deletions   most allowed   ms a deletion");
        let mut over = Vec::new();
        for lack in LACKS {
            let (first, later, ms) = self.play(lack);
            let name = format!("{lack:?}");
            println!("{name:18}  {first:12}   {later:15}   {WRITTEN_MAX:12}   {ms:13.2}");
            if later > WRITTEN_MAX {
                over.push(name);
            }
        }
        anyhow::ensure!(over.is_empty(), "goal not met: at most {WRITTEN_MAX} writes and events: {over:?}");
        Ok(())
    }

    /// Writes and events before the first pod goes and after it, and how long a deletion takes.
    fn play(&self, lack: Lack) -> (usize, usize, f64) {
        let mut engine = self.crowded(lack);
        let mut now = NOW;
        let first = settle(&mut engine, now);
        let (mut later, began) = (0, worked());
        let racks = self.nodes.div_ceil(IN_RACK);
        for number in 0..self.deletions.min(self.nodes) {
            now = now.plus_millis(self.every_ms);
            // One rack after the other, so that none has room for all members of a gang.
            let at = (number % racks * IN_RACK + number / racks) * ON_A_NODE;
            let gone = there(at);
            later += written(&mut engine, now, Input::Changed(Change::PodGone(gone.uid.clone())));
            let released = claim(at);
            later += written(&mut engine, now, Input::Changed(Change::ClaimGone(released.wish.id.clone())));
            later += settle(&mut engine, now);
        }
        (first, later, (worked() - began).as_secs_f64() * 1e3 / self.deletions.max(1) as f64)
    }

    /// Nodes that are full of small pods, and gangs that each want more than one of them leaves.
    fn crowded(&self, lack: Lack) -> Engine {
        let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling];
        let mut engine = Engine::new(Settings {
            profiles: vec![Arc::new(Profile::named("supercargo"))],
            gates: gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true)),
            patience: Patience::default(),
            search_steps_max: 100_000,
        });
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        let selector = "device.driver == \"gpu.example.com\"".into();
        let class = Class { name: "gpu".into(), selectors: vec![Some(selector)], ..Class::default() };
        fact(Change::ClassApplied(class));
        for number in 0..self.nodes {
            let mut node = node(number);
            node.allocatable.cpu_milli = ON_A_NODE as i64 * 1_000;
            node.labels.insert("rack".into(), format!("rack-{}", number / IN_RACK).into());
            let name = node.name.clone();
            fact(Change::NodeApplied(Box::new(node)));
            fact(Change::SliceApplied(Arc::new(slice(number, ON_A_NODE))));
            for at in 0..ON_A_NODE {
                let pod = there(number * ON_A_NODE + at);
                let mut state = claim(number * ON_A_NODE + at);
                let device = DeviceId {
                    driver: "gpu.example.com".into(),
                    pool: (&*name).into(),
                    device: format!("gpu-{at}").into(),
                };
                let holder = state.wish.id.clone().into();
                let holding = Holding { holder, groups: Default::default(), consumed: Default::default() };
                let held = vec![Held { device, share: None, holding, tolerations: Vec::new() }];
                state.allocation = Some(Arc::new(Allocated { nodes: None, held }));
                state.reserved_for = vec![(&pod.uid).into()];
                fact(Change::ClaimApplied(Box::new(state)));
                fact(Change::PodApplied(Arc::new(Pod { node: Some(name.clone()), ..pod })));
            }
        }
        for gang in 0..self.gangs {
            let name = format!("gang-{gang}");
            let in_rack = !matches!(lack, Lack::Processor | Lack::Devices);
            fact(Change::Group(GroupChange::Applied(Box::new(Group {
                id: GroupId { namespace: "default".into(), name: name.as_str().into() },
                uid: name.as_str().into(),
                at_least: self.members as u32,
                levels: in_rack.then(|| "rack".into()).into_iter().collect(),
                preempts: true,
                ..Group::default()
            }))));
            for member in 0..self.members {
                let number = 1_000_000 + gang * self.members + member;
                let wants_devices = matches!(lack, Lack::Devices | Lack::DevicesInRack);
                if wants_devices {
                    fact(Change::ClaimApplied(Box::new(wants(number, ON_A_NODE as i64 - 1))));
                }
                let cpu_milli = match lack {
                    Lack::Devices | Lack::DevicesInRack => 500,
                    Lack::Processor | Lack::ProcessorInRack => ON_A_NODE as i64 * 1_000 - 500,
                    Lack::RoomInRack => 1_000,
                };
                let mut pod = with_cpu(pod(number), cpu_milli);
                if !wants_devices {
                    pod.claims.clear();
                }
                fact(Change::PodApplied(Arc::new(Pod { group: Some(name.as_str().into()), ..pod })));
            }
        }
        engine
    }
}

/// A pod that is there, and more important than those that wait.
fn there(number: usize) -> Pod {
    Pod { priority: 10, ..with_cpu(pod(number), 1_000) }
}

fn with_cpu(pod: Pod, cpu_milli: i64) -> Pod {
    let requests = Resources { cpu_milli, ..Resources::default() };
    let shape = Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) };
    Pod { shape: Arc::new(shape), ..pod }
}

/// A claim that wants so many devices.
fn wants(number: usize, count: i64) -> ClaimState {
    let mut state = claim(number);
    let mut wish = Claim::clone(&state.wish);
    if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
        ask.amount = Amount::Exactly(count);
    }
    state.wish = Arc::new(wish);
    state
}

/// Lets everybody have a turn that wants one.
fn settle(engine: &mut Engine, now: Timestamp) -> usize {
    let mut count = 0;
    while engine.wants_turn(now) {
        count += written(engine, now, Input::Turn { attempts: 100 });
    }
    count
}

/// Events and writes that came of an input, which is answered.
fn written(engine: &mut Engine, now: Timestamp, input: Input) -> usize {
    let (mut writes, mut count): (Vec<WriteId>, usize) = (Vec::new(), 0);
    let effects = engine.handle(now, input);
    let (effects, _) = considering::consider(engine, now, effects);
    for effect in effects {
        match effect {
            Effect::Submit(id, _) => writes.push(id),
            Effect::Announce(Announcement::FailedScheduling { is_news: true, .. }) => count += 1,
            Effect::Announce(Announcement::Gang(news)) => count += usize::from(news.is_news),
            _ => {}
        }
    }
    count += writes.len();
    let answered = writes.into_iter().map(|id| written(engine, now, Input::Settled(id, WriteOutcome::Done)));
    count + answered.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_that_help_nobody_cause_few_writes() {
        // As long as a hundred of them take, so that figures get old.
        let storm = Storm { nodes: 200, gangs: 50, members: 10, deletions: 20, every_ms: 5_000 };
        for lack in LACKS {
            let (first, later, _) = storm.play(lack);
            assert!(first >= 500, "{lack:?}: everybody is told why it waits: {first}");
            assert!(later <= WRITTEN_MAX, "{lack:?}: {later} writes and events for 20 deletions");
        }
    }
}
