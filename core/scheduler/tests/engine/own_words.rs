//! Pods that are alike share answers, and each is told of its own claims.

use cluster::change::Change;
use model::pod::Pod;

use crate::world::{World, claim, gpu_class, gpus, node, pod, world};

/// What a pod was told last.
fn told(world: &World, name: &str) -> String {
    let begin = format!("{name}: ");
    let line = world.told.iter().rev().find_map(|line| line.strip_prefix(&begin));
    line.expect("it was told something").to_owned()
}

/// Two pods that are alike, each with two claims of its own.
fn add_two(world: &mut World, priority: i32) {
    for name in ["one", "two"] {
        let claims = [format!("{name}-a"), format!("{name}-b")];
        claims.iter().for_each(|name| world.add_claim(claim(name)));
        world.add_pod(Pod { priority, ..pod(name, 100, &[&claims[0], &claims[1]]) });
    }
    world.settle();
}

/// Both pods are told the same, but for the names of their own claims.
fn check(world: &World, claim: &str, said: &str) {
    for name in ["one", "two"] {
        let (told, own) = (told(world, name), format!("claim default/{name}-{claim}"));
        assert_eq!(told, said.replace("CLAIM", &own), "{name}");
    }
}

#[test]
fn who_shares_the_nearest_miss_is_told_of_its_own_claim() {
    let mut world = world();
    [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    add_two(&mut world, 0);
    let said = "0/1 nodes are available: 1 cannot allocate all claims. On node a, CLAIM, request gpu: wants 1 device \
                of class gpu, can have 0: 1 published for the node, 0 not needed for other requests. preemption: 0/1 \
                nodes are available: 1 No preemption victims found for incoming pod.";
    check(&world, "b", said);
}

#[test]
fn who_shares_an_error_about_a_claim_is_told_of_its_own_claim() {
    let mut world = world();
    // The class is not there.
    [node("a", 4_000), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    add_two(&mut world, 0);
    let said = "0/1 nodes are available: 1 CLAIM, request gpu: DeviceClass gpu does not exist. preemption: 0/1 nodes are \
                available: 1 No preemption victims found for incoming pod.";
    check(&world, "a", said);
}

#[test]
fn who_shares_why_preemption_is_of_no_use_is_told_of_its_own_claim() {
    let mut world = world();
    [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])].into_iter().for_each(|fact| world.fact(fact));
    world.add_claim(claim("low"));
    world.add_pod(pod("low", 100, &["low"]));
    world.settle();
    world.fact(Change::ClassGone("gpu".into()));
    add_two(&mut world, 5);
    let said = "0/1 nodes are available: 1 CLAIM, request gpu: DeviceClass gpu does not exist. preemption: 0/1 nodes are \
                available: 1 CLAIM, request gpu: DeviceClass gpu does not exist.";
    check(&world, "a", said);
}
