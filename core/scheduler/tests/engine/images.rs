//! Pods go to nodes that have their images, as nodes come, change and go.

use std::sync::Arc;

use cluster::change::Change;
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{Pod, Shape};

use crate::world::{World, node, pod, world};

fn node_with(name: &str, cpu_milli: i64, images: &[(&str, i64)]) -> Change {
    let Change::NodeApplied(node) = node(name, cpu_milli) else { unreachable!("a node comes") };
    let images = images.iter().map(|(name, size)| ((*name).into(), size << 20)).collect();
    Change::NodeApplied(Box::new(Node { images, ..*node }))
}

fn running(name: &str, image: &str) -> Pod {
    let pod = pod(name, 100, &[]);
    Pod { shape: Arc::new(Shape { images: vec![image.into()], ..Shape::clone(&pod.shape) }), ..pod }
}

fn place(world: &mut World, name: &str) -> String {
    world.add_pod(running(name, "web:1"));
    world.settle();
    world.node_of(name).expect("there is room")
}

#[test]
fn a_node_that_has_the_image_is_better_as_long_as_it_has_it() {
    let mut world = world();
    world.fact(node_with("a", 4_000, &[]));
    world.fact(node_with("b", 4_000, &[("web:1", 500)]));
    assert_eq!([place(&mut world, "p"), place(&mut world, "q")], ["b", "b"]);
    world.fact(node_with("b", 4_000, &[("db:1", 500)]));
    assert_eq!(place(&mut world, "r"), "a");
    world.fact(node_with("b", 4_000, &[("web:1", 500)]));
    assert_eq!(place(&mut world, "s"), "b");
}

#[test]
fn an_image_that_becomes_rarer_counts_less_even_where_nothing_else_changed() {
    let mut world = world();
    // Of 4000, b has so much less left that one image of 500 MiB on half of the nodes makes up for it.
    world.fact(node_with("a", 4_000, &[]));
    world.fact(node_with("b", 4_000, &[("web:1", 500)]));
    let mut heavy = pod("heavy", 1_200, &[]);
    heavy.node = Some("b".into());
    world.add_pod(heavy);
    assert_eq!(place(&mut world, "p"), "b");
    // With ten nodes it is worth next to nothing, though neither a nor b changed.
    for number in 0..8 {
        world.fact(node_with(&format!("n{number}"), 200, &[]));
    }
    assert_eq!(place(&mut world, "q"), "a");
    for number in 0..8 {
        world.fact(Change::NodeGone(format!("n{number}").into()));
    }
    assert_eq!(place(&mut world, "r"), "b");
}

/// Plays a random story of nodes that get and lose images. With a closed node that has a taint that is judged among all nodes,
/// no answer can be kept; without the taint the node is there all the same, since images count by how many nodes there are.
fn story(seed: u64, keeps_answers: bool) -> Vec<(String, Option<String>)> {
    let mut world = world();
    let mut random = seed;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    let taint =
        NodeTaint { key: "k".into(), value: "v".into(), effect: NodeTaintEffect::named("PreferNoSchedule") };
    let taints = if keeps_answers { Vec::new() } else { vec![taint] };
    let closed = Node { name: "z".into(), unschedulable: true, taints, ..Node::default() };
    world.fact(Change::NodeApplied(Box::new(closed)));
    let mut pods = 0;
    for _ in 0..60 {
        let which = format!("n{}", below(5));
        match below(8) {
            0..=2 => {
                let sizes = [0, 300, 900];
                let (web, db) = (sizes[below(3) as usize], sizes[below(3) as usize]);
                let images = [("web:1", web), ("db:1", db)];
                let images: Vec<_> = images.into_iter().filter(|(_, size)| *size > 0).collect();
                world.fact(node_with(&which, 2_000 * (1 + below(2) as i64), &images));
            }
            3 => world.fact(Change::NodeGone(which.as_str().into())),
            4 if pods > 0 => world.remove_pod(&format!("p{}", below(pods))),
            _ => {
                let image = ["web:1", "db:1", "other:1"][below(3) as usize];
                world.add_pod(running(&format!("p{pods}"), image));
                pods += 1;
            }
        }
        world.turn();
        world.carry_out();
        world.later(1);
    }
    let placed = world.pods.values();
    placed.map(|pod| (pod.id.name.to_string(), pod.node.as_ref().map(ToString::to_string))).collect()
}

#[test]
fn kept_answers_follow_the_images_of_all_nodes() {
    let mut placed = 0;
    for seed in 0..200 {
        let kept = story(seed, true);
        placed += kept.iter().filter(|(_, node)| node.is_some()).count();
        assert_eq!(kept, story(seed, false), "seed {seed}");
    }
    assert!(placed > 1_000, "{placed} pods were placed");
}
