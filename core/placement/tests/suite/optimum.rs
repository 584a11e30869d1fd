//! Scores against the best that there is, on small random clusters.
//!
//! What a scorer makes of a placement depends on the nodes that are used and on which members are seated, not on which is where. So the best
//! is found by trying every set of nodes of every domain, with every number of members of each kind that these take.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use placement::{
    Amounts, Budget, Domain, FewestParts, Gang, LeastFragments, Load, MostMembers, PlacementAnswer,
    PlacementGenerator, PlacementQuestion, PlacementState, Scored, Seats, TightestFit, Topology,
    TopologyGenerator, Weighted, place,
};
use rustc_hash::FxHashMap;

use crate::exhaustive::{Instance, LEVELS, instance};
use crate::model::{Member, Model, gang};

/// More numbers of members than this take too long to try.
const LOADS_MAX: usize = 130;

/// All numbers of members of each kind, up to those that there are.
fn loads(gang: &Gang) -> Vec<Load> {
    let mut loads = vec![Load::none(gang.kinds.len())];
    for (kind, of_kind) in gang.kinds.iter().enumerate() {
        let more = |load: &Load| {
            let load = load.clone();
            (0..=of_kind.members).map(move |count| {
                let mut load = load.clone();
                load.set(kind, count);
                load
            })
        };
        loads = loads.iter().flat_map(more).collect();
    }
    loads
}

/// For each pair of loads the number of their sum, if there are as many members.
fn sums(all: &[Load]) -> Vec<Vec<Option<usize>>> {
    let sum = |one: &Load, other: &Load| {
        let counts = one.counts().iter().zip(other.counts()).map(|(one, other)| one + other);
        let sum = Load::new(counts.collect::<Vec<_>>());
        all.iter().position(|load| *load == sum)
    };
    all.iter().map(|one| all.iter().map(|other| sum(one, other)).collect()).collect()
}

/// Loads that a node takes, as members.
fn fitting(instance: &Instance, kinds: &[Member], node: NodeIdx, all: &[Load]) -> Vec<usize> {
    let fits = |load: &Load| {
        let members = load.present().flat_map(|(kind, count)| (0..count).map(move |_| &kinds[kind]));
        instance.nodes[node.0 as usize].fits(&members.collect::<Vec<_>>())
    };
    (0..all.len()).filter(|at| !all[*at].is_empty() && fits(&all[*at])).collect()
}

/// The best score of a placement for so many members in one of these domains, if there is one.
fn optimum(
    instance: &Instance,
    (gang, kinds): (&Gang, &[Member]),
    domains: &[&Domain],
    at_least: u32,
    scorers: &[Weighted<'_>],
) -> Option<f64> {
    let all = loads(gang);
    let sums = sums(&all);
    let mut model = Model::new(&instance.nodes, kinds);
    let mut best: Option<f64> = None;
    for domain in domains {
        let free: FxHashMap<NodeIdx, Amounts> =
            domain.nodes.iter().map(|node| (*node, model.free(*node))).collect();
        let takes: Vec<Vec<usize>> =
            domain.nodes.iter().map(|node| fitting(instance, kinds, *node, &all)).collect();
        // What a set of nodes takes if each of them is used.
        let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::from([0])];
        for set in 1..1_usize << domain.nodes.len() {
            let last = set.ilog2() as usize;
            let before = &reached[set & !(1 << last)];
            let more =
                |load: &usize| takes[last].iter().filter_map(|more| sums[*load][*more]).collect::<Vec<_>>();
            reached.push(before.iter().flat_map(more).collect());
            for load in reached[set].iter().filter(|load| all[**load].total() >= at_least) {
                let used = (0..domain.nodes.len()).filter(|at| set & (1 << at) != 0);
                let mut seats: Vec<Seats> = used
                    .map(|at| Seats { node: domain.nodes[at], load: Load::none(gang.kinds.len()) })
                    .collect();
                seats[0].load = all[*load].clone();
                let scored = Scored { gang, domain, free: &free, shared: &Amounts::default(), seats: &seats };
                let score: f64 = scorers.iter().map(|one| one.weight * one.scorer.score(&scored)).sum();
                best = Some(best.map_or(score, |best| best.max(score)));
            }
        }
    }
    best
}

/// What share of the best score a placement has, if there is a placement.
fn share(seed: u64) -> Option<f64> {
    let instance = instance(seed, 12, 12);
    let (gang, kinds) = gang(&instance.members, instance.at_least);
    if gang.kinds.iter().map(|kind| kind.members as usize + 1).product::<usize>() > LOADS_MAX {
        return None;
    }
    let numbered = instance.labels.iter().enumerate().map(|(at, labels)| (NodeIdx(at as u32), labels));
    let topology = Topology::read(LEVELS.map(Arc::from), numbered);
    let generator =
        TopologyGenerator { topology: &topology, constraints: &instance.constraints, pinned: &[] };
    let domains = generator.generate(&[Domain::whole(topology.nodes().collect())]);
    let scorers = [
        Weighted { scorer: &TightestFit, weight: 2.0 },
        Weighted { scorer: &FewestParts, weight: 2.0 },
        Weighted { scorer: &LeastFragments, weight: 1.0 },
        Weighted { scorer: &MostMembers, weight: 2.0 },
    ];
    let question = PlacementQuestion { gang: &gang, domains: &domains, scorers: &scorers };
    let mut budget = Budget::new(10_000_000);
    let placed = match place(question, &mut Model::new(&instance.nodes, &kinds), &mut budget) {
        PlacementAnswer::Placed(placed) => placed,
        PlacementAnswer::Impossible(_) | PlacementAnswer::BudgetSpent(_) => return None,
    };
    let rivals: Vec<&Domain> = domains.iter().filter(|domain| domain.rank == placed.rank).collect();
    // Room for all members counts more than any score, and so does room for as many as were found.
    let at_least = if placed.seated() == gang.members() { gang.members() } else { gang.at_least };
    let best = optimum(&instance, (&gang, &kinds), &rivals, at_least, &scorers);
    let best = best.expect("there is one, since one was found");
    assert!(placed.score <= best + 1e-9, "seed {seed}: {} is better than the best, {best}", placed.score);
    Some(placed.score / best)
}

#[test]
fn scores_are_within_a_twentieth_of_the_best_on_average() {
    let shares: Vec<f64> = (20_000..20_240).filter_map(share).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let worst = shares.iter().copied().fold(1.0, f64::min);
    assert!(shares.len() > 60, "{} placements", shares.len());
    assert!(mean >= 0.95, "{mean:.4} of the best on average, {worst:.4} at the worst");
}
