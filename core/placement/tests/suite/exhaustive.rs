//! Verdicts against trying everything, on small random clusters.
//!
//! The reference knows no kinds, no likeness and no bounds: it goes through every set of members on every node of every
//! domain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Device, Dice, Member, Model, Node, gang};
use cluster::nodes::NodeIdx;
use placement::{
    Budget, Domain, Placement, PlacementAnswer, PlacementGenerator, PlacementQuestion, Strictness,
    TightestFit, Topology, TopologyConstraint, TopologyGenerator, Weighted, place,
};

/// Labels that say where nodes are.
pub const LEVELS: [&str; 3] = ["block", "rack", "row"];

/// A small cluster, and a gang that is to be placed in it.
pub struct Instance {
    /// The nodes by number.
    pub nodes: Vec<Node>,
    /// Their labels.
    pub labels: Vec<BTreeMap<Arc<str>, Arc<str>>>,
    /// The members.
    pub members: Vec<Member>,
    /// How many have to be seated.
    pub at_least: u32,
    /// Where they are to be.
    pub constraints: Vec<TopologyConstraint>,
}

/// A node with GPUs that are given whole (class 0) or in halves (class 1), and devices of their own (class 2).
fn node(dice: &mut Dice) -> Node {
    let mut node = Node { cpu: 2 + dice.below(6) as u32, zone: dice.below(2) as u8, ..Node::default() };
    for counter in 0..dice.below(3) as usize {
        node.counters.push(2);
        let device = |class, draws| Device { class, counter, draws };
        node.devices.extend([device(0, 2), device(1, 1), device(1, 1)]);
    }
    let counter = node.counters.len();
    for _ in 0..dice.below(3) {
        node.counters.resize(counter + 1, 9);
        node.devices.push(Device { class: 2, counter, draws: 1 });
    }
    node
}

fn member(dice: &mut Dice) -> Member {
    let classes = (0..dice.below(3)).map(|_| dice.below(3) as u8).collect();
    let zone = (dice.below(5) == 0).then(|| dice.below(2) as u8);
    Member { cpu: 1 + dice.below(3) as u32, zone, classes }
}

/// An instance by its seed.
pub fn instance(seed: u64, nodes_max: u64, members_max: u64) -> Instance {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let alike = node(&mut dice);
    let nodes: Vec<Node> = (0..1 + dice.below(nodes_max))
        .map(|_| if dice.below(3) == 0 { alike.clone() } else { node(&mut dice) })
        .collect();
    let mut labels = Vec::new();
    for _ in &nodes {
        let mut own: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for (level, domains) in LEVELS.into_iter().zip([2, 3, 4]) {
            if dice.below(12) > 0 {
                own.insert(level.into(), format!("{level}-{}", dice.below(domains)).into());
            }
        }
        labels.push(own);
    }
    let patterns: Vec<Member> = (0..1 + dice.below(4)).map(|_| member(&mut dice)).collect();
    let members: Vec<Member> = (0..1 + dice.below(members_max))
        .map(|_| patterns[dice.below(patterns.len() as u64) as usize].clone())
        .collect();
    let all = members.len() as u64;
    let at_least = if dice.below(3) == 0 { 1 + dice.below(all) } else { all } as u32;
    let mut constraints = Vec::new();
    for level in LEVELS {
        let strictness = match dice.below(6) {
            0 => Strictness::Required,
            1 => Strictness::Preferred(dice.below(2) as u32),
            _ => continue,
        };
        constraints.push(TopologyConstraint { level: level.into(), strictness });
    }
    Instance { nodes, labels, members, at_least, constraints }
}

/// The most members that fit at once on these nodes.
fn most_seated(instance: &Instance, nodes: &[usize]) -> u32 {
    let Instance { members, .. } = instance;
    let sets = 1_usize << members.len();
    let mut reached = vec![false; sets];
    reached[0] = true;
    for node in nodes {
        let chosen = |set: usize| (0..members.len()).filter(move |at| set & (1 << at) != 0);
        // A set fits only if it fits without its last member, so most are ruled out at once.
        let mut fits = vec![false; sets];
        for set in 0..sets {
            let last = set.checked_ilog2().map_or(0, |last| 1 << last);
            let is_worth_it = set == 0 || fits[set & !last];
            let these: Vec<&Member> = chosen(set).map(|at| &members[at]).collect();
            fits[set] = is_worth_it && instance.nodes[*node].fits(&these);
        }
        let before = reached.clone();
        for (seated, _) in before.iter().enumerate().filter(|(_, is_reached)| **is_reached) {
            let others = (sets - 1) & !seated;
            let mut more = others;
            while more > 0 {
                if fits[more] {
                    reached[seated | more] = true;
                }
                more = (more - 1) & others;
            }
        }
    }
    (0..sets).filter(|set| reached[*set]).map(usize::count_ones).max().unwrap_or(0)
}

/// The sets of wishes that are tried one after the other.
fn sequence(constraints: &[TopologyConstraint]) -> Vec<Vec<&TopologyConstraint>> {
    let mut sequence = Vec::new();
    for rank in 0..2 {
        let counts = |one: &&TopologyConstraint| {
            one.strictness == Strictness::Required || one.strictness == Strictness::Preferred(rank)
        };
        let mut kept: Vec<&TopologyConstraint> = constraints.iter().filter(counts).collect();
        while let Some(last) = kept.iter().rposition(|one| one.strictness != Strictness::Required) {
            sequence.push(kept.clone());
            kept.remove(last);
        }
    }
    sequence.push(constraints.iter().filter(|one| one.strictness == Strictness::Required).collect());
    sequence
}

/// How many sets of wishes have to be given up, if the gang fits at all: for all members, or else for as many as have to be
/// seated.
fn reference(instance: &Instance) -> Option<u32> {
    let sequence = sequence(&instance.constraints);
    let rank = |at_least: u32| sequence.iter().position(|kept| fits(instance, kept, at_least));
    let rank = rank(instance.members.len() as u32).or_else(|| rank(instance.at_least));
    rank.map(|rank| rank as u32)
}

fn fits(instance: &Instance, kept: &[&TopologyConstraint], at_least: u32) -> bool {
    let path = |at: usize| -> Option<Vec<&Arc<str>>> {
        kept.iter().map(|one| instance.labels[at].get(&one.level)).collect()
    };
    let paths: BTreeSet<Vec<&Arc<str>>> = (0..instance.nodes.len()).filter_map(path).collect();
    paths.into_iter().any(|domain| {
        let nodes: Vec<usize> =
            (0..instance.nodes.len()).filter(|at| path(*at).as_ref() == Some(&domain)).collect();
        most_seated(instance, &nodes) >= at_least
    })
}

fn answer(instance: &Instance) -> PlacementAnswer<String> {
    let numbered = instance.labels.iter().enumerate().map(|(at, labels)| (NodeIdx(at as u32), labels));
    let topology = Topology::read(LEVELS.map(Arc::from), numbered);
    let generator =
        TopologyGenerator { topology: &topology, constraints: &instance.constraints, pinned: &[] };
    let domains = generator.generate(&[Domain::whole(topology.nodes().collect())]);
    let (gang, kinds) = gang(&instance.members, instance.at_least);
    let scorers = [Weighted { scorer: &TightestFit, weight: 1.0 }];
    let question = PlacementQuestion { gang: &gang, domains: &domains, scorers: &scorers };
    let mut budget = Budget::new(10_000_000);
    let answer = place(question, &mut Model::new(&instance.nodes, &kinds), &mut budget);
    if let PlacementAnswer::Placed(placement) = &answer {
        check(instance, placement, &kinds);
    }
    answer
}

/// Seats are for members that there are, in one domain, and every node has room.
fn check(instance: &Instance, placement: &Placement, kinds: &[Member]) {
    assert!(placement.seated() >= instance.at_least, "as many as have to be seated");
    let mut left = instance.members.clone();
    for seats in &placement.seats {
        let load = seats.load.present().flat_map(|(kind, count)| (0..count).map(move |_| kind));
        let here: Vec<&Member> = load.map(|kind| &kinds[kind]).collect();
        assert!(instance.nodes[seats.node.0 as usize].fits(&here), "a node has room for its load");
        for member in here {
            let at = left.iter().position(|one| one == member).expect("nobody has two seats");
            left.remove(at);
        }
    }
    for one in instance.constraints.iter().filter(|one| one.strictness == Strictness::Required) {
        let labels =
            placement.seats.iter().map(|seats| instance.labels[seats.node.0 as usize].get(&one.level));
        let labels: BTreeSet<_> = labels.collect();
        assert!(labels.len() == 1 && !labels.contains(&None), "a gang never straddles domains");
    }
}

fn compare(seeds: std::ops::Range<u64>, nodes_max: u64, members_max: u64) -> (usize, usize) {
    let (mut placed, mut refused) = (0, 0);
    for seed in seeds {
        let instance = instance(seed, nodes_max, members_max);
        let ours = match answer(&instance) {
            PlacementAnswer::Placed(placement) => Ok(Some(placement.rank)),
            PlacementAnswer::Impossible(_) => Ok(None),
            PlacementAnswer::BudgetSpent(refusal) => Err(refusal),
        };
        assert_eq!(ours, Ok(reference(&instance)), "seed {seed}: how many wishes are given up, if it fits");
        let count = if matches!(ours, Ok(Some(_))) { &mut placed } else { &mut refused };
        *count += 1;
    }
    (placed, refused)
}

#[test]
fn verdicts_on_small_clusters_are_those_of_trying_everything() {
    let (placed, refused) = compare(0..4_000, 6, 7);
    assert!(placed > 300 && refused > 300, "{placed} placed, {refused} refused");
}

#[test]
fn verdicts_with_twelve_nodes_and_members_are_those_of_trying_everything() {
    let (placed, refused) = compare(10_000..10_200, 12, 12);
    assert!(placed > 50 && refused > 50, "{placed} placed, {refused} refused");
}
