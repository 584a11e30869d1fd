//! How much work it is to ask drivers about a pod where there are many nodes, and which nodes are asked about first.

use model::device::Binding;

use crate::negotiation::{lent, negotiating};
use crate::world::{START, World, claim, claim_id, gpu_class, gpus, gpus_with, node, pod};

/// So many nodes, and pods that are alike and each of which wants something of the driver.
fn crowd(nodes: usize, pods: usize) -> World {
    let mut world = negotiating();
    (0..nodes).for_each(|at| world.fact(node(&format!("n{at}"), 100_000)));
    for at in 0..pods {
        world.add_claim(lent(&format!("c{at}")));
    }
    world
}

/// The most work that a turn of pods was which are alike to others that were asked about before.
fn work_of_the_next(nodes: usize) -> u64 {
    const PODS: usize = 20;
    let mut world = crowd(nodes, PODS);
    let add = |world: &mut World, at: usize| {
        world.add_pod(pod(&format!("p{at}"), 100, &[&format!("c{at}")]));
        world.settle();
        assert!(world.selected(&format!("p{at}")).is_some(), "the driver is asked");
    };
    add(&mut world, 0);
    world.work_max = 0;
    for at in 1..PODS {
        add(&mut world, at);
        // It is told something, and looks again.
        let other = world.selected(&format!("p{at}")).expect("chosen").to_owned();
        world.answer(&format!("p{at}"), &format!("c{at}"), &[&other]);
        world.settle();
        assert_ne!(world.selected(&format!("p{at}")), Some(&*other));
    }
    world.work_max
}

#[test]
fn what_is_known_of_nodes_serves_pods_that_drivers_are_asked_about() {
    let (few, many) = (work_of_the_next(500), work_of_the_next(5_000));
    // To look at 5,000 nodes anew counts 2,500,000.
    assert!(many <= 150_000, "{many} for each of 5,000 nodes that are known, {few} with 500");
}

#[test]
fn nodes_whose_devices_are_ready_are_asked_about_first() {
    let attached =
        Binding { conditions: vec!["Attached".into()], failures: vec!["AttachFailed".into()], timeout: None };
    for ready in ["a", "b", "c"] {
        let mut world = negotiating();
        world.now = START;
        world.fact(gpu_class());
        for name in ["a", "b", "c"] {
            // More room counts for less than devices that are ready.
            world.fact(node(name, if name == ready { 4_000 } else { 64_000 }));
            let cards = ["gpu-0", "gpu-1"];
            world.fact(if name == ready { gpus(name, &cards) } else { gpus_with(name, &cards, &attached) });
        }
        for at in 0..2 {
            let (own, card) = (format!("f{at}"), format!("g{at}"));
            world.add_claim(lent(&own));
            world.add_claim(claim(&card));
            world.add_pod(pod(&format!("p{at}"), 1_000, &[&own, &card]));
        }
        world.settle();
        for at in 0..2 {
            assert_eq!(world.selected(&format!("p{at}")), Some(ready), "p{at}");
            assert!(
                world.claims[&claim_id(&format!("g{at}"))].allocation.is_none(),
                "it waits for the driver"
            );
        }
    }
}
