//! What a slice of work counts, and what is kept of that which took longer.

use model::pod::Pod;

use crate::preemption::running;
use crate::world::{World, node, pod, world};

const NODES: usize = 300;

/// Nodes that are full of less important pods, but for one they are all of the same importance.
fn full_nodes() -> World {
    let mut world = world();
    for number in 0..NODES {
        world.fact(node(&format!("n{number}"), 4_000));
        for part in 0..4 {
            let priority = if number == 7 { 1 } else { 2 };
            world.add_pod(running(&format!("p{number}-{part}"), priority, &format!("n{number}"), 1_000));
        }
    }
    world
}

#[test]
fn preemption_that_takes_long_is_considered_while_others_have_their_turns() {
    let urgent = || Pod { priority: 10, ..pod("urgent", 2_000, &[]) };
    let mut at_once = full_nodes();
    at_once.add_pod(urgent());
    at_once.turn();
    let mut world = full_nodes();
    // Long enough to look at all nodes, and not to try what would be without their pods.
    world.engine = world.engine.with_slice_max(NODES as u64 * 500);
    world.holds_considerations = true;
    world.add_pod(urgent());
    world.turn();
    assert_eq!(world.to_consider.len(), 1, "{:?}", world.told);
    assert!(world.evicted().is_empty());
    world.add_pod(Pod { priority: 20, ..running("other", 0, "n3", 0) });
    world.consider_all();
    world.turn();
    assert_eq!(at_once.evicted(), ["p7-2", "p7-3"]);
    assert_eq!(world.evicted(), at_once.evicted());
}
