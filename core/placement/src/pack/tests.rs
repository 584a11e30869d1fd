//! Passes alone, without the searches before and after them, against trying everything.

use std::collections::BTreeSet;

use cluster::nodes::NodeIdx;

use crate::arithmetic::Amounts;
use crate::axis::Axis;
use crate::budget::Budget;
use crate::gang::{Gang, Kind};
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::{Packed, Packing};
use crate::room::Room;
use crate::state::{Likeness, PlacementState, Verdict};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Nodes with amounts along two axes. On some the first two kinds cannot be together, which amounts do not show.
struct Shelves {
    nodes: Vec<([u64; 2], bool)>,
    needs: Vec<[u64; 2]>,
}

impl Shelves {
    fn takes(&self, node: usize, load: &[u32]) -> bool {
        let (free, parted) = self.nodes[node];
        let needed = |axis: usize| {
            load.iter().zip(&self.needs).map(|(count, need)| u64::from(*count) * need[axis]).sum::<u64>()
        };
        (0..2).all(|axis| needed(axis) <= free[axis]) && !(parted && load[0] > 0 && load[1] > 0)
    }

    /// The most members that have seats at once.
    fn most(&self, members: &[u32]) -> u32 {
        let mut loads = vec![Vec::new()];
        for count in members {
            let longer = |load: &Vec<u32>| {
                let load = load.clone();
                (0..=*count).map(move |count| load.iter().copied().chain([count]).collect::<Vec<u32>>())
            };
            loads = loads.iter().flat_map(longer).collect();
        }
        let mut left: BTreeSet<Vec<u32>> = BTreeSet::from([members.to_vec()]);
        for node in 0..self.nodes.len() {
            let taken: Vec<&Vec<u32>> = loads.iter().filter(|load| self.takes(node, load)).collect();
            let next = |left: &Vec<u32>| {
                let less = |load: &&Vec<u32>| {
                    left.iter().zip(*load).map(|(one, less)| one.checked_sub(*less)).collect()
                };
                taken.iter().filter_map(less).collect::<Vec<Vec<u32>>>()
            };
            left = left.iter().flat_map(next).collect();
        }
        let all: u32 = members.iter().sum();
        left.iter().map(|left| all - left.iter().sum::<u32>()).max().unwrap_or(0)
    }
}

impl PlacementState for Shelves {
    type Stop = String;

    fn free(&mut self, node: NodeIdx) -> Amounts {
        Amounts(self.nodes[node.0 as usize].0.to_vec())
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        let own = self.nodes[node.0 as usize];
        Likeness(self.nodes.iter().position(|other| *other == own).expect("it is like itself") as u64)
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, _: &mut Budget) -> Verdict {
        if Shelves::takes(self, node.0 as usize, load.counts()) { Verdict::Yes } else { Verdict::No }
    }
}

fn instance(seed: u64) -> (Shelves, Gang) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let models: Vec<([u64; 2], bool)> =
        (0..2).map(|_| ([4 + dice.below(9), 4 + dice.below(9)], dice.below(3) == 0)).collect();
    let nodes = (0..2 + dice.below(3)).map(|_| models[dice.below(2) as usize]).collect();
    let needs: Vec<[u64; 2]> = (0..2 + dice.below(2)).map(|_| [1 + dice.below(6), dice.below(6)]).collect();
    let kind = |(at, needs): (usize, &[u64; 2])| Kind {
        name: format!("kind-{at}").into(),
        members: 1 + dice.below(5) as u32,
        needs: Amounts(needs.to_vec()),
    };
    let kinds: Vec<Kind> = needs.iter().enumerate().map(kind).collect();
    let all: u32 = kinds.iter().map(|kind| kind.members).sum();
    let at_least = if dice.below(3) == 0 { 1 + dice.below(u64::from(all)) as u32 } else { all };
    let axes = vec![Axis::counted("cpu"), Axis::counted("memory")];
    (Shelves { nodes, needs }, Gang { axes, kinds, at_least })
}

#[test]
fn passes_alone_decide_as_trying_everything_does() {
    let mut verdicts = [0, 0];
    for seed in 0..1_200 {
        let (mut state, gang) = instance(seed);
        let members: Vec<u32> = gang.kinds.iter().map(|kind| kind.members).collect();
        let most = state.most(&members);
        let nodes: Vec<NodeIdx> = (0..state.nodes.len() as u32).map(NodeIdx).collect();
        let (mut room, mut budget) = (Room::new(&gang), Budget::new(1_000_000));
        let inquiry = &mut Inquiry { gang: &gang, state: &mut state, room: &mut room, budget: &mut budget };
        let mut packing = Packing::new(&nodes, gang.at_least, inquiry);
        let packed = packing.advance(inquiry).expect("it does not pause");
        let loads = match packed {
            Packed::Seated(loads) => {
                assert!(most >= gang.at_least, "seed {seed}");
                loads
            }
            Packed::Refused => {
                assert!(most < gang.at_least, "seed {seed}: there are {most} seats for {}", gang.at_least);
                packing.best()
            }
            Packed::Open => panic!("seed {seed}: something is open"),
        };
        verdicts[usize::from(most >= gang.at_least)] += 1;
        let mut left = members;
        for (node, load) in &loads {
            assert!(
                Shelves::takes(&state, node.0 as usize, load.counts()),
                "seed {seed}: a node takes its load"
            );
            left.iter_mut().zip(load.counts()).for_each(|(left, count)| *left -= count);
        }
        let used: BTreeSet<NodeIdx> = loads.iter().map(|(node, _)| *node).collect();
        assert_eq!(used.len(), loads.len(), "seed {seed}: a node has one load");
        let seated: u32 = loads.iter().map(|(_, load)| load.total()).sum();
        assert!(seated <= most && seated + 2 >= most.min(gang.at_least), "seed {seed}: {seated} of {most}");
    }
    assert!(verdicts.into_iter().all(|count| count > 150), "{verdicts:?}");
}
