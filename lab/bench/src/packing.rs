//! Gangs of up to eight sizes that take 80 to 100 percent of their cluster, by what they need: how many are decided, and in how much work.
//!
//! Half of them are cut from full nodes, so that they fit; the others are drawn until they take as much as was rolled. Work does not
//! depend on the machine, so the bench fails if too few are decided. With `--json` each instance is written down with our verdict, one
//! to a line, so that a judge of another kind can be asked about it.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use cluster::change::{Change, GroupChange};
use cluster::published::Published;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::{Amount, Claim, Class, Wish};
use model::device::{Attribute, CounterSet, Device, Draw, Slice};
use model::group::{Group, GroupId};
use model::pod::{Pod, Resources, Shape};
use model::quantity::{Format, Quantity};
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;
use selector::SliceRevision;
use serde_json::{Value, json};

use crate::clock::worked;
use crate::considering;
use crate::random::Random;
use crate::schedule::{NOW, claim, node, pod, slice};

/// How many of a hundred have to be decided.
const DECIDED_MIN: u64 = 95;

/// How many slices a GPU can be cut into.
const SLICES: i64 = 7;

/// Something that nodes have some of.
const EXTENDED: &str = "example.com/licence";

/// Seat gangs of many sizes that nearly fill their cluster
#[derive(Args, Debug)]
pub(crate) struct Packing {
    /// How many nodes
    #[arg(long, value_delimiter = ',', default_values_t = [16, 64, 256, 512])]
    nodes: Vec<usize>,
    /// How many instances for each number of nodes and each thing that is needed
    #[arg(long, default_value_t = 25)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// What is needed; everything if nothing is named
    #[arg(long, value_delimiter = ',')]
    need: Vec<Need>,
    /// Within how many steps they have to be decided
    #[arg(long, default_value_t = 100_000)]
    steps: u64,
    /// Write instances and verdicts to this file, one to a line
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What members need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Need {
    /// Processor
    Cpu,
    /// Processor, memory and something else, on nodes with room for few pods
    Several,
    /// Whole devices, besides processor
    Devices,
    /// Partitions of devices, besides processor
    Partitions,
}

/// What a node has, or a member needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Size {
    cpu: i64,
    memory: i64,
    extended: i64,
    pods: i64,
    /// Devices; slices of one device if they are cut.
    devices: i64,
}

/// A cluster and a gang.
#[derive(Debug)]
struct Instance {
    need: Need,
    nodes: Vec<Size>,
    /// Sizes, and how many members there are of each.
    members: Vec<(Size, usize)>,
}

impl Size {
    fn less(self, other: Size) -> Size {
        Size {
            cpu: self.cpu - other.cpu,
            memory: self.memory - other.memory,
            extended: self.extended - other.extended,
            pods: self.pods - other.pods,
            devices: self.devices - other.devices,
        }
    }

    fn is_enough(self) -> bool {
        [self.cpu, self.memory, self.extended, self.pods, self.devices].iter().all(|left| *left >= 0)
    }

    /// The largest part of what there is that this is, in thousandths.
    fn share(self, all: Size) -> i64 {
        let parts = [
            (self.cpu, all.cpu),
            (self.memory, all.memory),
            (self.extended, all.extended),
            (self.pods, all.pods),
            (self.devices, all.devices),
        ];
        parts.iter().filter(|(_, all)| *all > 0).map(|(part, all)| part * 1_000 / all).max().unwrap_or(0)
    }
}

impl Need {
    fn node(self, random: &mut Random) -> Size {
        let cpu = 32 + 16 * random.below(3) as i64;
        let whole = Size { cpu: cpu * 1_000, memory: 1 << 20, pods: 110, ..Size::default() };
        match self {
            Need::Cpu => whole,
            Need::Several => Size {
                memory: 4 * cpu,
                extended: 6 + random.below(20) as i64,
                pods: 4 + random.below(8) as i64,
                ..whole
            },
            Need::Devices => Size { devices: 4 + 4 * random.below(2) as i64, ..whole },
            Need::Partitions => Size { devices: SLICES * (1 + random.below(4) as i64), ..whole },
        }
    }

    fn member(self, random: &mut Random) -> Size {
        let cpu = 1_500 + 500 * random.below(50) as i64;
        let one = Size { cpu, memory: 1, pods: 1, ..Size::default() };
        let few = Size { cpu: 500 + 500 * random.below(12) as i64, ..one };
        match self {
            Need::Cpu => one,
            Need::Several => {
                Size { memory: 4 + random.below(80) as i64, extended: random.below(6) as i64, ..one }
            }
            Need::Devices => Size { devices: 1 + random.below(4) as i64, ..few },
            Need::Partitions => Size { devices: [1, 1, 2, 3, 3, 4][random.below(6) as usize], ..few },
        }
    }

    /// What the devices of a node have left, by device.
    fn devices(self, node: Size) -> Vec<i64> {
        match self {
            Need::Partitions => vec![SLICES; (node.devices / SLICES) as usize],
            _ => vec![node.devices],
        }
    }
}

impl Instance {
    fn random(need: Need, nodes: usize, seed: u64) -> Instance {
        let mut random = Random::new(seed ^ (need as u64) << 40 ^ (nodes as u64) << 48);
        let kinds: Vec<Size> = (0..1 + random.below(3)).map(|_| need.node(&mut random)).collect();
        let nodes: Vec<Size> = (0..nodes).map(|at| kinds[at % kinds.len()]).collect();
        let sizes: Vec<Size> = (0..2 + random.below(7)).map(|_| need.member(&mut random)).collect();
        let load = 800 + random.below(201) as i64;
        let members = match random.below(2) {
            0 => planted(need, &nodes, &sizes, load, &mut random),
            _ => drawn(&nodes, &sizes, load, &mut random),
        };
        let mut counts: Vec<(Size, usize)> = Vec::new();
        for member in members {
            match counts.iter_mut().find(|(size, _)| *size == member) {
                Some((_, count)) => *count += 1,
                None => counts.push((member, 1)),
            }
        }
        Instance { need, nodes, members: counts }
    }

    fn written(&self, mut head: Value) -> Value {
        let size = |size: &Size| json!([size.cpu, size.memory, size.extended, size.pods, size.devices]);
        head["nodes"] = self.nodes.iter().map(size).collect();
        head["members"] = self.members.iter().map(|(one, count)| json!([size(one), count])).collect();
        head
    }

    fn total(&self) -> usize {
        self.members.iter().map(|(_, count)| count).sum()
    }

    fn engine(&self, steps: u64) -> Engine {
        let mut engine = Engine::new(Settings {
            profiles: vec![Arc::new(Profile::named("supercargo"))],
            gates: Gates::default().with(Gate::GenericWorkload, true),
            patience: Patience::default(),
            search_steps_max: steps,
        });
        let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
        let selector = "device.driver == \"gpu.example.com\"".into();
        let class = Class { name: "gpu".into(), selectors: vec![Some(selector)], ..Class::default() };
        fact(Change::ClassApplied(class));
        for (number, size) in self.nodes.iter().enumerate() {
            let mut node = node(number);
            (node.allocatable, node.pods_max) = (resources(*size), size.pods);
            fact(Change::NodeApplied(Box::new(node)));
            if size.devices > 0 {
                for slice in self.slices(number, *size) {
                    fact(Change::SliceApplied(Arc::new(slice)));
                }
            }
        }
        fact(Change::Group(GroupChange::Applied(Box::new(Group {
            id: GroupId { namespace: "default".into(), name: "gang".into() },
            uid: "gang-uid".into(),
            at_least: self.total() as u32,
            ..Group::default()
        }))));
        let members = self.members.iter().flat_map(|(size, count)| std::iter::repeat_n(*size, *count));
        for (number, size) in members.enumerate() {
            let mut pod = pod(number);
            let requests = resources(size);
            pod.shape = Arc::new(Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) });
            if size.devices == 0 {
                pod.claims.clear();
            } else {
                fact(Change::ClaimApplied(Box::new(self.claim(number, size))));
            }
            fact(Change::PodApplied(Arc::new(Pod { group: Some("gang".into()), ..pod })));
        }
        engine
    }

    /// The devices of a node: whole ones, or all partitions of each and their counters.
    fn slices(&self, number: usize, size: Size) -> Vec<Published> {
        if self.need != Need::Partitions {
            return vec![slice(number, size.devices as usize)];
        }
        let Published { slice: mut all, revision, .. } = slice(number, 0);
        all.slices_in_pool = 2;
        let mut counters = Slice { name: format!("{}-counters", all.name).into(), ..all.clone() };
        let count = |value: i64| Quantity::new(value, Format::DecimalSi);
        for gpu in 0..size.devices / SLICES {
            let set: Arc<str> = format!("gpu-{gpu}").into();
            let here = [("slices".into(), count(SLICES))].into();
            counters.counter_sets.push(CounterSet { name: set.clone(), counters: here });
            for part in 1..=4 {
                for copy in 0..SLICES / part {
                    let draw = Draw {
                        counter_set: set.clone(),
                        counters: [("slices".into(), count(part))].into(),
                        groups: Vec::new(),
                    };
                    all.devices.push(Device {
                        name: format!("gpu-{gpu}-{part}-{copy}").into(),
                        attributes: [
                            ("model".into(), Attribute::String("h100".into())),
                            ("part".into(), Attribute::Int(part)),
                        ]
                        .into(),
                        draws: vec![draw],
                        ..Device::default()
                    });
                }
            }
        }
        let of_counters = SliceRevision { slice: revision.slice | 1 << 32, ..revision };
        vec![Published::new(all, revision), Published::new(counters, of_counters)]
    }

    fn claim(&self, number: usize, size: Size) -> cluster::claims::ClaimState {
        let mut state = claim(number);
        let mut wish = Claim::clone(&state.wish);
        if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
            if self.need == Need::Partitions {
                let part = format!("device.attributes[\"gpu.example.com\"].part == {}", size.devices);
                ask.selectors = vec![Some(part.into())];
            } else {
                ask.amount = Amount::Exactly(size.devices);
            }
        }
        state.wish = Arc::new(wish);
        state
    }
}

fn resources(size: Size) -> Resources {
    let others = [(EXTENDED.into(), size.extended)];
    let others = others.into_iter().filter(|(_, amount)| *amount > 0).collect();
    Resources { cpu_milli: size.cpu, memory: size.memory << 20, others, ..Resources::default() }
}

/// Members that were on nodes until these were full, less some of them.
fn planted(need: Need, nodes: &[Size], sizes: &[Size], load: i64, random: &mut Random) -> Vec<Size> {
    let mut members = Vec::new();
    for node in nodes {
        let fill = |random: &mut Random| {
            let (mut left, mut devices, mut there) = (*node, need.devices(*node), Vec::new());
            let mut misses = 0;
            while misses < 12 {
                let size = sizes[random.below(sizes.len() as u64) as usize];
                let device = devices.iter().position(|left| *left >= size.devices);
                match device.filter(|_| left.less(size).is_enough()) {
                    Some(device) => {
                        devices[device] -= size.devices;
                        left = left.less(size);
                        there.push(size);
                    }
                    None => misses += 1,
                }
            }
            there
        };
        let tries = (0..8).map(|_| fill(random));
        let used = |there: &Vec<Size>| {
            let used = there.iter().fold(Size::default(), |sum, size| sum.less(*size));
            Size::default().less(used).share(*node)
        };
        members.extend(tries.max_by_key(used).expect("there are tries"));
    }
    while !members.is_empty() && share(&members, nodes) > load {
        members.swap_remove(random.below(members.len() as u64) as usize);
    }
    members
}

/// Members by chance, until they take so much.
fn drawn(nodes: &[Size], sizes: &[Size], load: i64, random: &mut Random) -> Vec<Size> {
    let weights: Vec<u64> = sizes.iter().map(|_| 1 + random.below(5)).collect();
    let all: u64 = weights.iter().sum();
    let mut members = Vec::new();
    loop {
        let mut rolled = random.below(all);
        let at = weights.iter().position(|weight| {
            let is_it = rolled < *weight;
            rolled = rolled.saturating_sub(*weight);
            is_it
        });
        members.push(sizes[at.unwrap_or(0)]);
        if share(&members, nodes) > load {
            members.pop();
            return members;
        }
    }
}

fn share(members: &[Size], nodes: &[Size]) -> i64 {
    let sum = |sizes: &[Size]| {
        let negative = sizes.iter().fold(Size::default(), |sum, size| sum.less(*size));
        Size::default().less(negative)
    };
    sum(members).share(sum(nodes))
}

/// What came of a turn: seats, unless it was left open whether there are some.
struct Outcome {
    seated: Option<usize>,
    told: String,
    ms: f64,
    work: u64,
}

fn turn(instance: &Instance, steps: u64) -> Outcome {
    let mut engine = instance.engine(steps);
    let (mut effects, mut ms, mut work) = (Vec::new(), 0.0, 0);
    while engine.wants_turn(NOW) {
        let began = worked();
        let (more, done) = considering::turn(&mut engine, NOW, 1);
        ms += (worked() - began).as_secs_f64() * 1e3;
        effects.extend(more);
        work += done;
    }
    let uses_devices = instance.nodes.iter().any(|node| node.devices > 0);
    let is_seat = |effect: &&Effect| match effect {
        Effect::Submit(_, Write::Allocate { .. }) => uses_devices,
        Effect::Submit(_, Write::Bind { .. }) => !uses_devices,
        _ => false,
    };
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Submit(_, Write::Note { message, .. }) => Some(message.clone()),
        _ => None,
    });
    let told = told.unwrap_or_default();
    let seated = effects.iter().filter(is_seat).count();
    Outcome { seated: (!told.contains("search limit")).then_some(seated), told, ms, work }
}

impl Packing {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut file = self.json.as_ref().map(File::create).transpose()?.map(BufWriter::new);
        println!(
            "need         nodes  seated  impossible  open  nominal ms: half      99 %   ms: half      most"
        );
        let needs = if self.need.is_empty() { Need::value_variants() } else { &self.need };
        let (mut decided, mut all, mut short) = (0_u64, 0_u64, Vec::new());
        for need in needs {
            for nodes in &self.nodes {
                let (mut seated, mut impossible, mut open) = (0_u64, 0, 0);
                let (mut times, mut works) = (Vec::new(), Vec::new());
                for seed in self.from..self.from + self.seeds {
                    let instance = Instance::random(*need, *nodes, seed);
                    let outcome = turn(&instance, self.steps);
                    let verdict = match outcome.seated {
                        Some(0) => "impossible",
                        Some(_) => "seated",
                        None => "open",
                    };
                    match outcome.seated {
                        Some(0) => impossible += 1,
                        None => open += 1,
                        Some(all) => {
                            anyhow::ensure!(all == instance.total(), "{need:?} {seed}: {all} have seats");
                            seated += 1;
                        }
                    }
                    times.push(outcome.ms);
                    works.push(outcome.work as f64 / 1e6);
                    if let Some(file) = &mut file {
                        let head = json!({"need": format!("{need:?}"), "seed": seed, "verdict": verdict, "ms": outcome.ms,
                            "work": outcome.work, "told": outcome.told});
                        writeln!(file, "{}", instance.written(head))?;
                    }
                }
                times.sort_by(f64::total_cmp);
                works.sort_by(f64::total_cmp);
                let at = |values: &[f64], part: f64| {
                    values[((values.len() as f64 * part) as usize).min(values.len() - 1)]
                };
                let name = format!("{need:?}").to_lowercase();
                println!(
                    "{name:11}  {nodes:5}  {seated:6}  {impossible:10}  {open:4}  {:16.2}  {:8.2}  {:9.2}  {:8.2}",
                    at(&works, 0.5),
                    at(&works, 0.99),
                    at(&times, 0.5),
                    at(&times, 1.0)
                );
                (decided, all) = (decided + seated + impossible, all + seated + impossible + open);
                if (seated + impossible) * 100 < DECIDED_MIN * (seated + impossible + open) {
                    short.push(format!("{name} on {nodes} nodes"));
                }
                // Nearly half of them fit by construction.
                anyhow::ensure!(seated * 5 >= self.seeds, "only {seated} gangs that need {name} have seats");
            }
        }
        println!("{decided} of {all} are decided");
        anyhow::ensure!(
            short.is_empty(),
            "fewer than {DECIDED_MIN} in 100 are decided: {}",
            short.join(", ")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gangs_of_many_sizes_near_full_are_decided() {
        let packing =
            Packing { nodes: vec![16, 40], seeds: 5, from: 0, need: Vec::new(), steps: 100_000, json: None };
        packing.run().expect("enough of them are decided");
    }
}
