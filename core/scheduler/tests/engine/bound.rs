//! Pods that were bound by hand before their claims had devices.

use cluster::change::Change;
use model::pod::{ClaimSource, Pod};
use scheduler::write::Write;

use crate::deallocate::held;
use crate::with_gpus;
use crate::world::{World, claim, claim_id, gpus, node, pod};

/// A pod that another client put on a node.
fn bound(name: &str, node: &str, claims: &[&str]) -> Pod {
    Pod { node: Some(node.into()), ..pod(name, 100, claims) }
}

fn users_of(world: &World, claim: &str) -> Vec<String> {
    world.claims[&claim_id(claim)].reserved_for.iter().map(ToString::to_string).collect()
}

fn binds_or_notes(world: &World) -> bool {
    world.open.iter().any(|(_, write)| matches!(write, Write::Bind { .. } | Write::Note { .. }))
}

/// No pod waits, and nothing is on its way.
fn is_at_rest(world: &World) -> bool {
    let counts = world.engine.counts();
    world.engine.is_idle() && counts.asleep + counts.gated == 0
}

#[test]
fn a_pod_that_was_bound_by_hand_gets_devices_on_its_node_and_is_not_bound_again() {
    let mut world = with_gpus();
    // Whether there is room was not asked.
    world.fact(node("b", 10));
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "b", &["one"]));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]), "{:?}", world.open);
    world.carry_out();
    assert!(world.open.is_empty() && world.told.is_empty(), "{:?} {:?}", world.open, world.told);
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
    assert_eq!(users_of(&world, "one"), ["uid-p"]);
    assert!(is_at_rest(&world));
}

#[test]
fn without_a_free_device_there_it_says_so_and_waits_for_one() {
    let mut world = with_gpus();
    world.add_claim(held("theirs", "b", &["uid-other"]));
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "b", &["one"]));
    world.turn();
    let told = "p: bound to node b without devices for its claims: cannot allocate all claims. On node b, claim \
                default/one, request gpu: wants 1 device of class gpu, can have 0: 1 published for the node, 0 not held by \
                other claims; held: gpu.example.com/b/gpu-b by default/theirs.";
    assert_eq!(world.told, [told]);
    assert!(!binds_or_notes(&world), "it has its node already: {:?}", world.open);
    world.later(2);
    world.fact(gpus("b", &["gpu-b", "gpu-new"]));
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-new"]);
    assert!(is_at_rest(&world));
}

#[test]
fn a_claim_with_devices_elsewhere_gives_them_back_unless_it_is_used() {
    for (users, devices) in [(&[][..], "gpu-b"), (&["uid-other"], "gpu-a"), (&["uid-p"], "gpu-a")] {
        let mut world = with_gpus();
        world.add_claim(held("one", "a", users));
        world.add_pod(bound("p", "b", &["one"]));
        world.turn();
        world.later(2);
        world.settle();
        assert_eq!(world.devices_of("one"), [devices], "used by {users:?}");
        let told =
            "p: bound to node b without devices for its claims: resourceclaim not available on the node.";
        let is_told = world.told.iter().any(|line| line.starts_with(told));
        // What is reserved for a pod may be in use, whatever its node is like by now.
        assert_eq!(is_told, users != ["uid-p"], "{:?}", world.told);
    }
}

#[test]
fn a_claim_that_has_devices_there_is_only_reserved() {
    let mut world = with_gpus();
    world.add_claim(held("one", "b", &["uid-other"]));
    world.add_pod(bound("p", "b", &["one"]));
    world.settle();
    assert_eq!(users_of(&world, "one"), ["uid-other", "uid-p"]);
    assert!(is_at_rest(&world));
}

#[test]
fn if_a_controller_reserves_it_first_the_pod_waits_no_more() {
    let mut world = with_gpus();
    world.add_claim(held("one", "a", &["uid-other"]));
    world.add_pod(bound("p", "b", &["one"]));
    world.turn();
    assert_eq!(world.engine.counts().asleep, 1);
    world.add_claim(held("one", "a", &["uid-other", "uid-p"]));
    assert!(is_at_rest(&world));
}

#[test]
fn on_a_node_that_is_not_there_it_waits_and_holds_nothing() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "c", &["one"]));
    world.turn();
    let told = "p: bound to node c without devices for its claims: the node does not exist.";
    assert_eq!((&world.told[..], world.open.len()), (&[told.to_owned()][..], 0));
    world.later(2);
    world.fact(gpus("c", &["gpu-c"]));
    world.fact(node("c", 100));
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-c"]);
}

#[test]
fn it_waits_for_its_claims_to_be_made() {
    let mut world = with_gpus();
    let mut early = bound("p", "a", &["one"]);
    early.claims[0].source = ClaimSource::ToBeGenerated { template: "t".into() };
    world.add_pod(early.clone());
    world.turn();
    assert_eq!((world.engine.counts().gated, world.told.len()), (1, 0));
    early.claims[0].source = ClaimSource::Generated("one".into());
    world.add_pod(early.clone());
    let mut made = claim("one");
    made.owner = Some((&early.uid).into());
    world.add_claim(made);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
    assert!(is_at_rest(&world));
}

#[test]
fn pods_of_others_and_pods_that_run_or_go_or_lack_nothing_are_left_alone() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_claim(held("two", "a", &["uid-served"]));
    world.add_pod(Pod { scheduler: "another".into(), ..bound("theirs", "a", &["one"]) });
    world.add_pod(Pod { running: true, ..bound("runs", "a", &["one"]) });
    world.add_pod(Pod { deleting: true, ..bound("goes", "a", &["one"]) });
    world.add_pod(bound("served", "a", &["two"]));
    world.add_pod(bound("plain", "a", &[]));
    assert!(is_at_rest(&world), "{:?}", world.engine.counts());
    world.settle();
    assert!(world.told.is_empty() && world.devices_of("one").is_empty());
}

#[test]
fn what_was_written_for_another_node_is_undone_when_somebody_binds_the_pod_elsewhere() {
    for answered_before in [true, false] {
        let mut world = with_gpus();
        world.add_claim(claim("one"));
        world.add_pod(pod("p", 100, &["one"]));
        world.turn();
        let [(_, Write::Allocate { allocation, .. })] = &world.open[..] else {
            unreachable!("{:?}", world.open)
        };
        let given = allocation.grants[0].device.device.clone();
        let other = if *given == *"gpu-a" { "b" } else { "a" };
        if answered_before {
            world.carry_out();
            // The binding that is open now comes too late.
            world.fail.push(|write| matches!(write, Write::Bind { .. }));
        }
        world.add_pod(bound("p", other, &["one"]));
        world.later(2);
        world.settle();
        world.later(10);
        world.settle();
        assert_eq!(world.devices_of("one"), [format!("gpu-{other}")], "answered before: {answered_before}");
        assert_eq!(users_of(&world, "one"), ["uid-p"]);
        assert!(is_at_rest(&world));
    }
}

#[test]
fn a_pod_that_goes_while_its_claims_are_written_leaves_nothing_reserved() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "a", &["one"]));
    world.turn();
    world.remove_pod("p");
    world.settle();
    assert!(users_of(&world, "one").is_empty());
    assert!(is_at_rest(&world));
}

#[test]
fn a_write_that_fails_is_tried_again_and_the_pod_stays_on_its_node() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "a", &["one"]));
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.turn();
    world.carry_out();
    assert_eq!(world.told, ["p: claim default/one: conflict"]);
    assert!(world.engine.nodes().has_pod("uid-p") && !binds_or_notes(&world));
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
}

#[test]
fn a_reservation_that_is_lost_before_the_pod_runs_is_made_again() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    let node = world.node_of("p").expect("it is placed");
    world.release("p");
    world.settle();
    assert_eq!(world.devices_of("one"), [format!("gpu-{node}")]);
    let mut runs = bound("p", &node, &["one"]);
    runs.running = true;
    world.fact(Change::PodApplied(runs.into()));
    world.release("p");
    world.settle();
    assert!(world.devices_of("one").is_empty() && is_at_rest(&world), "who runs asks for nothing more");
}

#[test]
fn devices_that_are_taken_from_a_pod_over_and_over_are_allocated_ever_more_rarely() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "a", &["one"]));
    world.settle();
    let mut seconds = 0;
    for waits in [1, 2, 4, 8] {
        world.release("p");
        world.settle();
        assert!(world.devices_of("one").is_empty(), "not at once, after {seconds} s");
        world.later(waits);
        seconds += waits;
        world.settle();
        assert_eq!(world.devices_of("one"), ["gpu-a"], "after {waits} s");
    }
    world.remove_pod("p");
    world.settle();
    assert!(is_at_rest(&world));
}

#[test]
fn it_cannot_wait_for_devices_that_are_not_ready_and_says_so() {
    let mut world = with_gpus();
    world.fact(crate::readying::fabric("b", &["gpu-b"]));
    world.add_claim(claim("one"));
    world.add_pod(bound("p", "b", &["one"]));
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
    assert!(world.claims[&claim_id("one")].preparation.is_some(), "the claim says what is left to do");
    let told = "p: already bound to node b, so binding conditions cannot be awaited: claim default/one, device \
                gpu.example.com/b/gpu-b: Attached not reported yet";
    assert_eq!(world.told, [told]);
    assert!(is_at_rest(&world));
}

#[test]
fn devices_on_the_node_are_chosen_only_when_the_release_of_others_is_answered() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    let allocation = std::mem::take(&mut world.open);
    assert!(matches!(allocation[..], [(_, Write::Allocate { .. })]), "{allocation:?}");
    world.add_pod(bound("p", "b", &["one"]));
    world.open = allocation;
    world.carry_out();
    assert_eq!(world.devices_of("one"), ["gpu-a"], "which are not where the pod is");
    let releases = std::mem::take(&mut world.open);
    assert!(matches!(releases[..], [(_, Write::Release { .. })]), "{releases:?}");
    // It is carried out, and its answer is lost: it may be carried out once more.
    world.apply(&releases[0].1);
    world.later(20);
    world.turn();
    assert!(world.open.is_empty(), "what is reserved now could be released: {:?}", world.open);
    world.open = releases;
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(
        (world.devices_of("one"), users_of(&world, "one")),
        (vec!["gpu-b".into()], vec!["uid-p".into()])
    );
}

#[test]
fn a_pod_that_has_its_node_keeps_the_claim_that_it_may_use_there_when_another_cannot_be_had() {
    let mut world = with_gpus();
    world.fact(gpus("b", &["gpu-b", "gpu-c"]));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
    }
    world.add_pod(bound("p", "b", &["one", "two"]));
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if &*claim.name == "two"));
    world.turn();
    world.carry_out();
    assert!(world.open.is_empty(), "its node may use the other: {:?}", world.open);
    assert_eq!(users_of(&world, "one"), ["uid-p"]);
    world.later(20);
    world.settle();
    assert_eq!(
        (users_of(&world, "one"), users_of(&world, "two")),
        (vec!["uid-p".into()], vec!["uid-p".into()])
    );
    assert!(is_at_rest(&world));
}

#[test]
fn a_pod_that_has_its_node_keeps_the_claim_whose_device_cannot_be_made_ready_there() {
    let mut world = with_gpus();
    world.fact(crate::readying::fabric("b", &["gpu-b", "gpu-c"]));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
    }
    world.add_pod(bound("p", "b", &["one", "two"]));
    world.fail.push(|write| matches!(write, Write::Allocate { claim, .. } if &*claim.name == "two"));
    world.turn();
    world.carry_out();
    crate::readying::fail(&mut world, "one");
    world.later(20);
    world.turn();
    // To take it from a pod on a node is refused where writes are carried out, each time.
    let is_taken = world.open.iter().any(|(_, write)| matches!(write, Write::Deallocate { .. }));
    assert!(!is_taken, "its node may use it by now: {:?}", world.open);
    world.settle();
    assert_eq!(
        (users_of(&world, "one"), users_of(&world, "two")),
        (vec!["uid-p".into()], vec!["uid-p".into()])
    );
    assert!(is_at_rest(&world));
}

#[test]
fn a_pod_lets_go_of_a_claim_that_it_cannot_use_where_it_was_put() {
    let mut world = with_gpus();
    world.fact(gpus("b", &["gpu-b", "gpu-c"]));
    world.add_claim(held("one", "a", &["uid-p"]));
    world.add_claim(claim("two"));
    world.add_pod(bound("p", "b", &["one", "two"]));
    for _ in 0..3 {
        world.settle();
        world.later(20);
    }
    let devices = [world.devices_of("one"), world.devices_of("two")].concat();
    assert_eq!(devices, ["gpu-b", "gpu-c"], "{:#?}", world.told);
    assert_eq!(
        (users_of(&world, "one"), users_of(&world, "two")),
        (vec!["uid-p".into()], vec!["uid-p".into()])
    );
}
