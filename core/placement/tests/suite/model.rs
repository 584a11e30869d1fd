//! A small cluster for tests: nodes with processor, a zone, and devices that share counters.
//!
//! Devices of a load are found by trying every choice, so what the model says about a node is so.

use cluster::nodes::NodeIdx;
use placement::{Amounts, Axis, Budget, Gang, Kind, Likeness, Load, PlacementState, Verdict};

/// A device: its class, the counter that it draws on, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Device {
    /// Which requests it is for.
    pub class: u8,
    /// The number of its counter on the node.
    pub counter: usize,
    /// How much it draws.
    pub draws: u32,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Node {
    /// Processors that are free.
    pub cpu: u32,
    /// Where it is.
    pub zone: u8,
    /// Its devices.
    pub devices: Vec<Device>,
    /// What its counters have left.
    pub counters: Vec<u32>,
}

/// A member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Member {
    /// Processors that it needs.
    pub cpu: u32,
    /// Where it has to be, if anywhere.
    pub zone: Option<u8>,
    /// A device for each of these classes.
    pub classes: Vec<u8>,
}

impl Node {
    /// Whether members fit at once, by trying every choice of devices.
    pub fn fits(&self, members: &[&Member]) -> bool {
        let cpu: u32 = members.iter().map(|member| member.cpu).sum();
        let right = |member: &&Member| member.zone.is_none_or(|zone| zone == self.zone);
        let wanted: Vec<u8> = members.iter().flat_map(|member| member.classes.clone()).collect();
        let mut taken = vec![false; self.devices.len()];
        cpu <= self.cpu
            && members.iter().all(right)
            && wanted.len() <= self.devices.len()
            && self.choose(&wanted, &mut taken, &mut self.counters.clone())
    }

    fn choose(&self, wanted: &[u8], taken: &mut [bool], counters: &mut [u32]) -> bool {
        let Some((class, rest)) = wanted.split_first() else { return true };
        for (at, device) in self.devices.iter().enumerate() {
            if taken[at] || device.class != *class || counters[device.counter] < device.draws {
                continue;
            }
            taken[at] = true;
            counters[device.counter] -= device.draws;
            let done = self.choose(rest, taken, counters);
            taken[at] = false;
            counters[device.counter] += device.draws;
            if done {
                return true;
            }
        }
        false
    }
}

/// Members by kind, with what arithmetic can know of them: processor, places, and devices of each class.
pub fn gang(members: &[Member], at_least: u32) -> (Gang, Vec<Member>) {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let mut kinds: Vec<(Member, u32)> = Vec::new();
    for member in sorted {
        match kinds.last_mut() {
            Some((known, count)) if *known == member => *count += 1,
            _ => kinds.push((member, 1)),
        }
    }
    let kind = |(at, (member, count)): (usize, &(Member, u32))| Kind {
        name: format!("kind-{at}").into(),
        members: *count,
        needs: amounts(member.cpu, 1, |class| member.classes.iter().filter(|one| **one == class).count()),
    };
    let axes = ["cpu", "pods", "class 0", "class 1", "class 2"].map(Axis::counted).to_vec();
    let gang = Gang { axes, kinds: kinds.iter().enumerate().map(kind).collect(), at_least };
    (gang, kinds.into_iter().map(|(member, _)| member).collect())
}

fn amounts(cpu: u32, pods: u64, devices: impl Fn(u8) -> usize) -> Amounts {
    let devices = (0..3).map(|class| devices(class) as u64);
    Amounts([u64::from(cpu), pods].into_iter().chain(devices).collect())
}

/// The cluster, as a gang sees it.
#[derive(Debug)]
pub struct Model<'m> {
    /// The nodes by number.
    pub nodes: &'m [Node],
    /// What a member of each kind needs.
    pub kinds: &'m [Member],
    /// How often it was asked about a load.
    pub asked: usize,
}

impl<'m> Model<'m> {
    /// The cluster, as a gang of these kinds sees it.
    pub fn new(nodes: &'m [Node], kinds: &'m [Member]) -> Model<'m> {
        Model { nodes, kinds, asked: 0 }
    }
}

impl PlacementState for Model<'_> {
    type Stop = String;

    fn free(&mut self, node: NodeIdx) -> Amounts {
        let node = &self.nodes[node.0 as usize];
        amounts(node.cpu, 110, |class| node.devices.iter().filter(|device| device.class == class).count())
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        let same = |other: &Node| *other == self.nodes[node.0 as usize];
        Likeness(self.nodes.iter().position(same).expect("it is like itself") as u64)
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, _: &mut Budget) -> Verdict {
        self.asked += 1;
        let members = load.present().flat_map(|(kind, count)| (0..count).map(move |_| kind));
        let members: Vec<&Member> = members.map(|kind| &self.kinds[kind]).collect();
        if self.nodes[node.0 as usize].fits(&members) { Verdict::Yes } else { Verdict::No }
    }
}

/// Numbers that look random.
pub struct Dice(pub u64);

impl Dice {
    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
