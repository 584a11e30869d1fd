//! Pods go to nodes that have their images, as nodes come, change and go.

use std::sync::Arc;

use model::node::Node;
use model::pod::{Pod, Shape};
use scheduler::change::Change;

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
