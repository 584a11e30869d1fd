//! Trees of pod groups are called impossible only if they are. Compared with trying everything.

use cluster::change::Change;
use model::node::Node;
use model::pod::{Pod, Resources};

use crate::group_trees::{leaf, tree, tree_world};
use crate::tree_judge::{Instance, LEVELS, Part, Seats};
use crate::world::{World, pod};

/// What is said if not everything was tried.
const LIMIT: &str = "reached its limit";

/// The instance as the engine gets to know it.
fn world_of(instance: &Instance) -> World {
    let mut world = tree_world();
    for (at, spot) in instance.nodes.iter().enumerate() {
        let place = |(key, place): (&&str, &u64)| ((*key).into(), format!("{key}-{place}").into());
        let labels = LEVELS.iter().zip(&spot.places).map(place).collect();
        let allocatable = Resources { cpu_milli: spot.cpu * 1_000, memory: 1 << 30, ..Resources::default() };
        let name = format!("n{at}").into();
        world.fact(Change::NodeApplied(Box::new(Node {
            name,
            allocatable,
            pods_max: 20,
            labels,
            ..Node::default()
        })));
    }
    add_part(&mut world, &instance.tree, "t", None, &mut 0);
    world
}

fn add_part(world: &mut World, part: &Part, name: &str, parent: Option<&str>, groups: &mut usize) {
    match part {
        Part::Inner { at_least, level, parts } => {
            world.fact(tree(name, *at_least as u32, level.map(|level| LEVELS[level]), parent));
            for (at, part) in parts.iter().enumerate() {
                add_part(world, part, &format!("{name}{at}"), Some(name), groups);
            }
        }
        Part::Leaf { at_least, level, members } => {
            let parent = parent.expect("a group is in a tree");
            world.fact(leaf(name, *at_least as u32, level.map(|level| LEVELS[level]), parent));
            for (at, cpu) in members.iter().enumerate() {
                let pod = pod(&format!("g{groups}-{at}"), cpu * 1_000, &[]);
                world.add_pod(Pod { group: Some(name.into()), ..pod });
            }
            *groups += 1;
        }
    }
}

/// Where members are.
fn seats(world: &World, instance: &Instance) -> Seats {
    let of_group = |(group, leaf): (usize, &&Part)| {
        let Part::Leaf { members, .. } = leaf else { unreachable!("it is a group") };
        let seat = |at: usize| world.node_of(&format!("g{group}-{at}"))?[1..].parse().ok();
        (0..members.len()).map(seat).collect()
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
}

impl Tally {
    /// Compares what becomes of an instance with what is possible.
    fn compare(&mut self, seed: u64, instance: &Instance) {
        let mut world = world_of(instance);
        world.settle();
        let seats = seats(&world, instance);
        let is_possible = instance.is_possible();
        if seats.iter().flatten().any(Option::is_some) {
            assert!(instance.are_right(&seats), "seed {seed}: this is wrong: {seats:?}\n{instance:?}");
            self.placed += 1;
            return;
        }
        let told = world.told.iter().find(|line| line.contains("pod group is unschedulable"));
        let told = told.expect("it is said why");
        match (told.contains(LIMIT), is_possible) {
            (true, true) => self.left_open.0 += 1,
            (true, false) => self.left_open.1 += 1,
            (false, _) => {
                assert!(!is_possible, "seed {seed}: it can be placed: {told}\n{instance:?}");
                self.refused += 1;
            }
        }
    }
}

#[test]
fn no_tree_that_can_be_placed_is_called_impossible() {
    let mut tally = Tally::default();
    (0..2_000).for_each(|seed| tally.compare(seed, &Instance::random(seed, 4, 6)));
    let Tally { placed, refused, left_open } = tally;
    let is_decided = placed > 1_000 && refused > 600 && left_open == (0, 0);
    assert!(is_decided, "{placed} placed, {refused} refused, {left_open:?} left open");
}
