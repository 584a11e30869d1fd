//! Resources that pods ask for by name and that devices stand for.

use std::sync::Arc;

use cluster::change::Change;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::claim::Class;
use model::node::Node;
use model::pod::Pod;
use scheduler::engine::Engine;
use scheduler::write::{RequestMapping, Write};

use crate::world::{World, claim, claim_id, engine, gpu_class, named_pod, node, settings};
use crate::{GPUS_BY_CLASS, two_gpus, with_gpus};

const GPU: &str = "example.com/gpu";

/// The class of cards, which stands for a resource.
fn gpu_resource() -> Change {
    let Change::ClassApplied(class) = gpu_class() else { unreachable!("it is a class") };
    Change::ClassApplied(Class { resource: Some(GPU.into()), ..class })
}

/// Two nodes with a card each, which stand for a resource.
fn cluster() -> World {
    let mut world = with_gpus();
    world.fact(gpu_resource());
    world
}

/// The devices of the claim that was made for a pod.
fn made(world: &World, pod: &str) -> Vec<String> {
    world.made_for(pod).iter().flat_map(|claim| world.devices_of(claim)).collect()
}

#[test]
fn a_claim_is_made_for_a_resource_that_a_class_stands_for() {
    for resource in [GPU, GPUS_BY_CLASS] {
        let mut world = cluster();
        world.add_pod(named_pod("p", resource, 1, &[]));
        world.turn();
        let [(_, Write::MakeClaim { uid, spec, mappings, .. })] = &world.open[..] else {
            unreachable!("a claim is to be made: {:?}", world.open)
        };
        assert_eq!((&**uid, spec.requests.len()), ("uid-p", 1));
        let mapping = |container: &str, resource: &str, request: &str| RequestMapping {
            container: container.into(),
            resource: resource.into(),
            request: request.into(),
        };
        assert_eq!(*mappings, [mapping("c", resource, "container-0-request-1")]);
        world.settle();
        let node = world.node_of("p").expect("it is bound");
        assert_eq!(made(&world, "p"), [format!("gpu-{node}")]);
        assert!(world.engine.is_idle());
    }
}

#[test]
fn no_card_is_given_twice_whoever_asks_for_it_in_which_way() {
    let mut world = cluster();
    world.add_claim(claim("one"));
    world.add_pod(crate::world::pod("by-claim", 100, &["one"]));
    world.later(1);
    world.add_pod(named_pod("by-name", GPU, 1, &[]));
    world.later(1);
    world.add_pod(named_pod("too-late", GPU, 1, &[]));
    world.settle();
    let mut given = [world.devices_of("one"), made(&world, "by-name")].concat();
    given.sort();
    assert_eq!(given, ["gpu-a", "gpu-b"]);
    assert_eq!(world.node_of("too-late"), None);
    let why = world.told.iter().find(|line| line.starts_with("too-late: ")).expect("it was told");
    assert!(why.contains("2 cannot allocate all claims. On node"), "{why}");
    // When the pod that asked by name is gone, and its claim with it, the next one has its turn.
    world.remove_pod("by-name");
    let name: Arc<str> = world.made_for("by-name")[0].as_str().into();
    world.claims.remove(&claim_id(&name));
    world.fact(Change::ClaimGone(claim_id(&name)));
    world.later(2);
    world.settle();
    assert_eq!(made(&world, "too-late").len(), 1);
}

#[test]
fn claims_of_both_kinds_of_a_pod_get_their_devices_on_one_node() {
    let mut world = with_gpus();
    world.fact(gpu_resource());
    world.fact(crate::world::gpus("b", &["gpu-b", "gpu-b2"]));
    world.add_claim(claim("one"));
    world.add_pod(named_pod("p", GPU, 1, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    let mut given = [world.devices_of("one"), made(&world, "p")].concat();
    given.sort();
    assert_eq!(given, ["gpu-b", "gpu-b2"]);
}

#[test]
fn a_node_that_has_the_resource_itself_needs_no_claim() {
    let mut world = cluster();
    let Change::NodeApplied(mut own) = node("own", 8_000) else { unreachable!("it is a node") };
    own.allocatable.others.insert(GPU.into(), 1);
    world.fact(Change::NodeApplied(Box::new(Node::clone(&own))));
    for name in ["p", "q", "r", "s"] {
        world.add_pod(named_pod(name, GPU, 1, &[]));
        world.later(1);
    }
    world.settle();
    let own: Vec<_> =
        ["p", "q", "r", "s"].into_iter().filter(|pod| world.node_of(pod).as_deref() == Some("own")).collect();
    assert_eq!(own.len(), 1, "the node has one");
    assert_eq!(world.made_for(own[0]), Vec::<String>::new());
    assert_eq!((world.made, world.node_of("s")), (2, None));
}

#[test]
fn a_class_that_comes_later_wakes_who_waits_for_the_resource() {
    let mut world = with_gpus();
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.settle();
    assert_eq!(
        world.told,
        [
            "p: 0/2 nodes are available: 2 Insufficient example.com/gpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        ]
    );
    world.fact(gpu_resource());
    world.later(2);
    world.settle();
    assert_eq!(made(&world, "p").len(), 1);
}

#[test]
fn resources_are_not_left_to_devices_while_the_feature_is_off() {
    let mut world = with_gpus();
    let gates = Gates::default().with(Gate::DRAExtendedResource, false);
    world.engine = Engine::new(Settings { gates, ..settings() });
    two_gpus().into_iter().for_each(|change| world.fact(change));
    world.fact(gpu_resource());
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.settle();
    assert_eq!(
        world.told,
        [
            "p: 0/2 nodes are available: 2 Insufficient example.com/gpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        ]
    );
}

#[test]
fn a_claim_that_could_not_be_made_holds_nothing_and_is_tried_again() {
    let mut world = cluster();
    world.fail.push(|write| matches!(write, Write::MakeClaim { .. }));
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.turn();
    world.carry_out();
    let told = "p: claim for extended resources: conflict";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
    // Nothing is held: others can have both cards.
    for name in ["one", "two"] {
        world.add_claim(claim(name));
        world.add_pod(Pod { priority: 9, ..crate::world::pod(name, 100, &[name]) });
    }
    world.settle();
    assert_eq!(
        (world.node_of("p"), world.devices_of("one").len(), world.devices_of("two").len()),
        (None, 1, 1)
    );
    world.remove_pod("one");
    world.claims.remove(&claim_id("one"));
    world.fact(Change::ClaimGone(claim_id("one")));
    world.later(30);
    world.settle();
    assert_eq!(made(&world, "p").len(), 1);
}

#[test]
fn a_binding_that_fails_deletes_the_claim_and_another_is_made() {
    let mut world = cluster();
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.turn();
    (0..3).for_each(|_| world.carry_out());
    assert!(world.made_for("p").is_empty(), "it was deleted");
    world.later(2);
    world.settle();
    assert_eq!((world.made_for("p"), made(&world, "p").len()), (vec!["p-made-2".to_owned()], 1));
    assert!(world.node_of("p").is_some());
}

#[test]
fn a_claim_that_an_earlier_engine_left_is_deleted_before_the_pod_is_tried_again() {
    let mut world = cluster();
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.turn();
    world.carry_out();
    // The claim is made, the binding was asked for and never carried out; the engine that asked is gone.
    world.open.clear();
    world.engine = engine();
    two_gpus().into_iter().for_each(|change| world.fact(change));
    world.fact(gpu_resource());
    let (claims, pods): (Vec<_>, Vec<_>) =
        (world.claims.values().cloned().collect(), world.pods.values().cloned().collect());
    claims.into_iter().for_each(|claim| world.add_claim(claim));
    pods.into_iter().for_each(|pod| world.add_pod(pod));
    world.turn();
    let told = "p: 0/2 nodes are available: cannot schedule extended resource claim. \
                Claim default/p-made-1 of an earlier attempt is deleted.";
    assert_eq!(world.told.last().map(String::as_str), Some(told));
    world.later(2);
    world.settle();
    assert_eq!(world.made_for("p"), ["p-made-2"]);
    assert!(world.node_of("p").is_some());
}

#[test]
fn the_devices_of_a_pod_that_is_gone_stay_taken_until_its_write_is_answered() {
    let mut world = cluster();
    world.add_pod(named_pod("p", GPU, 1, &[]));
    world.turn();
    let writes = std::mem::take(&mut world.open);
    world.fact(Change::PodGone("uid-p".into()));
    for name in ["one", "two"] {
        world.add_claim(claim(name));
        world.add_pod(crate::world::pod(name, 100, &[name]));
    }
    world.settle();
    let given = [world.devices_of("one"), world.devices_of("two")].concat();
    assert_eq!(given.len(), 1, "the other card may be the claim's by now");
    // It is: the claim was made, and is deleted since its pod is gone.
    world.open = writes;
    world.carry_out();
    assert_eq!(made(&world, "p").len(), 1);
    world.later(2);
    world.settle();
    assert!(world.made_for("p").is_empty());
    let given = [world.devices_of("one"), world.devices_of("two")].concat();
    assert_eq!(given.len(), 2);
}

#[test]
fn who_asks_by_name_displaces_and_is_displaced_like_who_has_a_claim() {
    let mut world = cluster();
    world.add_pod(named_pod("one", GPU, 1, &[]));
    world.add_pod(Pod { priority: 5, ..named_pod("two", GPU, 1, &[]) });
    world.settle();
    world.lingering = true;
    world.add_pod(Pod { priority: 10, ..named_pod("high", GPU, 1, &[]) });
    world.settle();
    assert!(world.pods["uid-one"].deleting && !world.pods["uid-two"].deleting);
    let freed = made(&world, "one");
    world.let_go("one");
    // What is planned for the nominee is kept from others, though it has no claim yet.
    world.add_pod(Pod { priority: 7, ..named_pod("less", GPU, 1, &[]) });
    world.turn();
    world.carry_out();
    world.later(2);
    world.settle();
    assert_eq!(made(&world, "high"), freed);
    assert_eq!(world.node_of("less"), None);
}
