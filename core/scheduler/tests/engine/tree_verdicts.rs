//! Trees of pod groups are placed if they can be, and called impossible only if they are. Compared with trying everything.
//!
//! `cargo test --release -p scheduler --features many-trees --test engine tree_verdicts` compares 5,000 trees of each sort.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use model::claim::{Amount, Claim, Wish};
use model::group::{Composite, Group};
use model::node::{Node, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{LabelSelector, NodeToleration, Pod, PodTerm, Resources, Shape, TolerationOperator};

use crate::group_trees::{id, tree_world};
use crate::tree_instances::{Instance, LEVELS, Part, Sizes};
use crate::tree_judge::Seats;
use crate::world::{World, claim, gpu_class, gpus, pod};

/// What is said if not everything was tried.
const LIMIT: &str = "search limit";

/// How many trees of a sort are compared, as one of so many.
const fn seeds(share: u64) -> std::ops::Range<u64> {
    if cfg!(feature = "many-trees") { 0..5_000 } else { 0..5_000 / share }
}

/// The instance as the engine gets to know it.
fn world_of(instance: &Instance) -> World {
    let mut world = tree_world();
    world.fact(gpu_class());
    let mut running = vec![0; instance.nodes.len()];
    for leaf in instance.tree.leaves() {
        let Part::Leaf { members, .. } = leaf else { unreachable!("it is a group") };
        for member in members {
            member.runs_on.iter().for_each(|at| running[*at] += member.cpu);
        }
    }
    for (at, spot) in instance.nodes.iter().enumerate() {
        let place = |(key, place): (&&str, &Option<u64>)| {
            Some(((*key).into(), format!("{key}-{}", (*place)?).into()))
        };
        let host = ("host".into(), format!("host-{at}").into());
        let labels = LEVELS.iter().zip(&spot.places).filter_map(place).chain([host]).collect();
        let cpu_milli = (spot.cpu + running[at]) * 1_000;
        let allocatable = Resources { cpu_milli, memory: 1 << 30, ..Resources::default() };
        let name = format!("n{at}");
        let taint = NodeTaint { key: "worn".into(), value: "".into(), effect: NodeTaintEffect::NoSchedule };
        let taints = if spot.tainted { vec![taint] } else { Vec::new() };
        let node =
            Node { name: (&*name).into(), allocatable, pods_max: 40, labels, taints, ..Node::default() };
        world.fact(Change::NodeApplied(Box::new(node)));
        let cards: Vec<String> = (0..spot.cards).map(|card| format!("{name}-{card}")).collect();
        world.fact(gpus(&name, &cards.iter().map(|card| &**card).collect::<Vec<_>>()));
    }
    add_part(&mut world, &instance.tree, "t", None, &mut 0);
    world
}

fn add_part(world: &mut World, part: &Part, name: &str, parent: Option<&str>, groups: &mut usize) {
    let keys = |levels: &[usize]| levels.iter().map(|level| LEVELS[*level].into()).collect();
    let parent = parent.map(Into::into);
    match part {
        Part::Inner { at_least, levels, parts } => {
            let (at_least, levels) = (*at_least as u32, keys(levels));
            let composite = Composite { id: id(name), at_least, levels, parent, ..Composite::default() };
            world.fact(Change::Group(GroupChange::CompositeApplied(Box::new(composite))));
            for (at, part) in parts.iter().enumerate() {
                add_part(world, part, &format!("{name}{at}"), Some(name), groups);
            }
        }
        Part::Leaf { at_least, levels, members, apart } => {
            let (at_least, levels, uid) = (*at_least as u32, keys(levels), format!("uid-{name}").into());
            let group = Group { id: id(name), uid, at_least, levels, parent, ..Group::default() };
            world.fact(Change::Group(GroupChange::Applied(Box::new(group))));
            for (at, member) in members.iter().enumerate() {
                let own = format!("g{groups}-{at}");
                let claims: &[&str] = if member.cards > 0 { &[&own] } else { &[] };
                if member.cards > 0 {
                    world.add_claim(wants(&own, member.cards));
                }
                let node = member.runs_on.map(|at| format!("n{at}").as_str().into());
                let pod = pod(&own, member.cpu * 1_000, claims);
                let shape = shape(&pod, name, *apart, member.tolerates);
                let priority = member.priority;
                world.add_pod(Pod { group: Some(name.into()), node, shape, priority, ..pod });
            }
            *groups += 1;
        }
    }
}

/// The shape of a member that must be apart from others of its group, or tolerates taints.
fn shape(pod: &Pod, group: &str, apart: Option<usize>, tolerates: bool) -> Arc<Shape> {
    if tolerates {
        let (key, operator) = ("worn".into(), TolerationOperator::Exists);
        let toleration = NodeToleration { key, operator, value: "".into(), effect: "".into() };
        return Arc::new(Shape { tolerations: vec![toleration], ..Shape::clone(&pod.shape) });
    }
    let Some(level) = apart else { return pod.shape.clone() };
    let own = Requirement { key: "group".into(), operator: Operator::In, values: vec![group.into()] };
    let term = PodTerm {
        selector: LabelSelector::All(vec![own]),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: LEVELS.get(level).copied().unwrap_or("host").into(),
    };
    let labels = [("group".into(), group.into())].into();
    Arc::new(Shape { labels, apart: vec![term], ..Shape::clone(&pod.shape) })
}

/// A claim that wants so many cards.
fn wants(name: &str, count: i64) -> cluster::claims::ClaimState {
    let mut state = claim(name);
    let mut wish = Claim::clone(&state.wish);
    if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
        ask.amount = Amount::Exactly(count);
    }
    state.wish = Arc::new(wish);
    state
}

/// Where members are that did not run before.
fn seats(world: &World, instance: &Instance) -> Seats {
    let of_group = |(group, leaf): (usize, &&Part)| {
        let Part::Leaf { members, .. } = leaf else { unreachable!("it is a group") };
        let seat = |at: usize| world.node_of(&format!("g{group}-{at}"))?[1..].parse().ok();
        let new = |at: usize| seat(at).filter(|_| members[at].runs_on.is_none());
        (0..members.len()).map(new).collect()
    };
    instance.tree.leaves().iter().enumerate().map(of_group).collect()
}

/// What became of instances.
#[derive(Debug, Default)]
struct Tally {
    placed: u32,
    refused: u32,
    /// Not everything was tried for these: those that could be placed, and those that could not.
    left_open: (u32, u32),
    /// Everything was tried for too long to know what is possible.
    unjudged: u32,
    /// Nothing was to be placed.
    idle: u32,
}

impl Tally {
    /// Compares what becomes of an instance with what is possible.
    fn compare(&mut self, seed: u64, instance: &Instance) {
        let mut world = world_of(instance);
        world.settle();
        let seats = seats(&world, instance);
        if seats.iter().flatten().any(Option::is_some) {
            assert!(instance.are_right(&seats), "seed {seed}: this is wrong: {seats:?}\n{instance:?}");
            self.placed += 1;
            return;
        }
        let told = world.told.iter().find(|line| line.contains("pod group is unschedulable"));
        let Some(told) = told else {
            let leaves = instance.tree.leaves();
            let runs = |leaf: &&Part| match leaf {
                Part::Leaf { members, .. } => members.iter().all(|member| member.runs_on.is_some()),
                Part::Inner { .. } => false,
            };
            assert!(leaves.iter().all(runs), "seed {seed}: it is not said why: {:?}", world.told);
            self.idle += 1;
            return;
        };
        match (told.contains(LIMIT), instance.is_possible()) {
            (_, None) => self.unjudged += 1,
            (true, Some(true)) => self.left_open.0 += 1,
            (true, Some(false)) => self.left_open.1 += 1,
            (false, Some(is_possible)) => {
                assert!(!is_possible, "seed {seed}: it can be placed: {told}\n{instance:?}");
                self.refused += 1;
            }
        }
    }

    /// Compares many instances of a sort. All but one in a hundred have to be decided.
    #[track_caller]
    fn of(seeds: std::ops::Range<u64>, sizes: Sizes) {
        let mut tally = Tally::default();
        let count = seeds.end as u32;
        seeds.for_each(|seed| tally.compare(seed, &Instance::random(seed, sizes)));
        let Tally { placed, refused, left_open, unjudged, .. } = tally;
        let is_decided = (left_open.0 + left_open.1) * 100 <= count && unjudged * 50 <= count;
        assert!(placed * 6 > count && refused * 6 > count && is_decided, "{sizes:?}: {tally:?}");
    }
}

#[test]
fn verdicts_on_small_trees_are_those_of_trying_everything() {
    Tally::of(seeds(12), Sizes::SMALL);
}

#[test]
fn verdicts_on_trees_are_those_of_trying_everything() {
    Tally::of(seeds(50), Sizes::LARGE);
}

#[test]
fn verdicts_on_chains_of_groups_are_those_of_trying_everything() {
    Tally::of(seeds(50), Sizes::CHAIN);
}

#[test]
fn verdicts_on_groups_that_are_alike_are_those_of_trying_everything() {
    Tally::of(seeds(50), Sizes::ALIKE);
}

#[test]
fn verdicts_on_groups_beside_taints_and_with_priorities_are_those_of_trying_everything() {
    Tally::of(seeds(50), Sizes::MIXED);
}

#[test]
fn verdicts_on_groups_whose_members_must_be_apart_are_those_of_trying_everything() {
    Tally::of(seeds(50), Sizes::APART);
}
