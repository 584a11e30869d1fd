//! One claim that hundreds of pods share, without a gang: it is reserved for them by few writes, and for no more than may use it.

use cluster::change::Change;
use model::node::Node;
use model::pod::Resources;
use scheduler::write::Write;

use crate::readying::told;
use crate::world::{World, claim, claim_id, gpu_class, gpus, pod, world};

/// A node with room for all, and so many pods that share a claim.
fn sharing(pods: usize) -> World {
    let mut world = world();
    let allocatable = Resources { cpu_milli: 1_000_000, memory: 1 << 40, ..Resources::default() };
    let node = Node { name: "a".into(), allocatable, pods_max: 1_000, ..Node::default() };
    for fact in [gpu_class(), Change::NodeApplied(Box::new(node)), gpus("a", &["gpu-0"])] {
        world.fact(fact);
    }
    world.add_claim(claim("shared"));
    (0..pods).for_each(|at| world.add_pod(pod(&format!("p{at}"), 100, &["shared"])));
    world
}

fn placed(world: &World) -> usize {
    world.pods.values().filter(|pod| pod.node.is_some()).count()
}

/// Whether a write is about the users of a claim.
fn is_of_users(write: &Write) -> bool {
    matches!(write, Write::Allocate { .. } | Write::Reserve { .. } | Write::Release { .. })
}

#[test]
fn a_claim_that_two_hundred_pods_share_is_written_a_few_times_and_one_write_at_a_time() {
    let mut world = sharing(200);
    let mut writes = 0;
    for _ in 0..20 {
        // Answers come while pods are still being looked at.
        (0..10).for_each(|_| world.tell(scheduler::engine::Input::Turn { attempts: 5 }));
        let under_way = world.open.iter().filter(|(_, write)| is_of_users(write)).count();
        assert!(under_way <= 1, "{under_way} at a time");
        writes += under_way;
        let notes = world.open.iter().filter(|(_, write)| matches!(write, Write::Note { .. })).count();
        assert_eq!(notes, 0, "nothing is said of what is known in a moment");
        world.carry_out();
    }
    assert_eq!((placed(&world), world.claims[&claim_id("shared")].reserved_for.len()), (200, 200));
    assert!(writes <= 8, "{writes} writes");
    assert_eq!(world.now, crate::world::START, "nobody waited for a pause to end");
}

#[test]
fn a_claim_is_reserved_for_256_and_the_others_are_told_so() {
    let mut world = sharing(300);
    (0..5).for_each(|_| world.turn());
    world.settle();
    (0..5).for_each(|_| {
        world.turn();
        world.carry_out();
    });
    assert_eq!((placed(&world), world.claims[&claim_id("shared")].reserved_for.len()), (256, 256));
    let unplaced = (0..300).find(|at| world.node_of(&format!("p{at}")).is_none()).expect("44 have none");
    let message = format!("p{unplaced}: 0/1 nodes are available: ");
    assert!(told(&world, &message) >= 1, "{:?}", world.told.last());
    assert!(
        world.told.iter().any(|line| line.starts_with(&message) && line.contains("256")),
        "{:?}",
        world.told.last()
    );
    let first = world.pods.values().find(|pod| pod.node.is_some()).expect("placed").id.name.clone();
    world.remove_pod(&first);
    let mut state = world.claims[&claim_id("shared")].clone();
    state.reserved_for.retain(|user| !user.is(&format!("uid-{first}").as_str().into()));
    world.add_claim(state);
    world.later(20);
    world.turn();
    world.settle();
    assert_eq!(placed(&world), 256, "the next one takes its place");
}
