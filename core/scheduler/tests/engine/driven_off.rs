//! Nodes and devices that are deleted, cordoned or tainted while pods wait on their way there.

use std::sync::Arc;

use cluster::change::Change;
use cluster::published::Published;
use cluster::taint_rules::TaintRule;
use model::claim::{Claim, Toleration, TolerationValue, Wish};
use model::device::{Taint, TaintEffect};
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{NodeToleration, Pod, Resources, Shape, TolerationOperator};
use scheduler::write::Write;

use crate::readying::{attach, fabric, told};
use crate::world::{World, claim, claim_id, gpu_class, gpus, node, pod, world};

/// A pod that waits on node `a` for its device, and another node with a device.
fn waiting(pod: Pod) -> World {
    let mut world = world();
    let facts =
        [gpu_class(), node("a", 4_000), fabric("a", &["a-0"]), node("b", 3_000), fabric("b", &["b-0"])];
    facts.into_iter().for_each(|change| world.fact(change));
    world.add_claim(claim("c"));
    world.add_pod(pod);
    world.settle();
    assert_eq!((world.devices_of("c"), world.engine.readying()), (vec!["a-0".to_owned()], 1));
    world
}

fn tainted(effect: NodeTaintEffect) -> Change {
    with_node(|node| {
        node.taints = vec![NodeTaint { key: "broken".into(), value: "disk".into(), effect }];
    })
}

fn cordoned() -> Change {
    with_node(|node| node.unschedulable = true)
}

fn with_node(change: impl FnOnce(&mut Node)) -> Change {
    let allocatable = Resources { cpu_milli: 4_000, memory: 1 << 30, ..Resources::default() };
    let mut node = Node { name: "a".into(), allocatable, pods_max: 10, ..Node::default() };
    change(&mut node);
    Change::NodeApplied(Box::new(node))
}

fn tolerating(key: &str, effect: &str) -> Pod {
    let plain = pod("one", 100, &["c"]);
    let mut shape = Shape::clone(&plain.shape);
    shape.tolerations.push(NodeToleration {
        key: key.into(),
        operator: TolerationOperator::Exists,
        value: "".into(),
        effect: effect.into(),
    });
    Pod { shape: Arc::new(shape), ..plain }
}

/// The devices of the slice of a node with a taint on each.
fn with_device_taint(node: &str, names: &[&str], effect: &TaintEffect) -> Change {
    let Change::SliceApplied(published) = fabric(node, names) else { unreachable!("it is a slice") };
    let mut slice = published.slice.clone();
    for device in &mut slice.devices {
        device.taints.push(Taint { key: "hot".into(), value: "".into(), effect: effect.clone() });
    }
    Change::SliceApplied(Arc::new(Published::new(slice, published.revision)))
}

#[test]
fn a_pod_that_waits_is_placed_anew_at_once_when_its_node_goes_or_drives_it_off() {
    let cases = [
        (Change::NodeGone("a".into()), "node a was deleted before the pod was bound"),
        (cordoned(), "node a was cordoned before the pod was bound"),
        (
            tainted(NodeTaintEffect::NoExecute),
            "node a got the taint broken=disk:NoExecute before the pod was bound",
        ),
    ];
    for (change, message) in cases {
        let mut world = waiting(pod("one", 100, &["c"]));
        world.fact(change);
        assert_eq!(told(&world, &format!("one: {message}")), 1, "{:?}", world.told);
        let gives_back = |(_, write): &(_, Write)| matches!(write, Write::Deallocate { .. });
        assert!(world.open.iter().any(gives_back), "without a turn: {:?}", world.open);
        world.settle();
        world.later(2);
        world.settle();
        assert_eq!(
            (world.devices_of("c"), world.engine.readying()),
            (vec!["b-0".to_owned()], 1),
            "{message}"
        );
        assert_eq!(world.pods["uid-one"].nominated_node.as_deref(), Some("b"));
        attach(&mut world, "c");
        world.settle();
        assert_eq!(world.node_of("one").as_deref(), Some("b"));
    }
}

#[test]
fn a_pod_stays_on_its_way_to_a_node_that_it_tolerates_or_that_drives_nobody_off() {
    let stays = [
        (cordoned(), tolerating("node.kubernetes.io/unschedulable", "NoSchedule")),
        (tainted(NodeTaintEffect::NoExecute), tolerating("broken", "NoExecute")),
        (tainted(NodeTaintEffect::NoSchedule), pod("one", 100, &["c"])),
        (with_node(|node| node.labels = [("x".into(), "y".into())].into()), pod("one", 100, &["c"])),
    ];
    for (change, pod) in stays {
        let mut world = waiting(pod);
        world.fact(change.clone());
        world.settle();
        world.later(2);
        world.settle();
        assert_eq!(world.devices_of("c"), ["a-0"], "{change:?}: {:?}", world.told);
        attach(&mut world, "c");
        world.settle();
        assert_eq!(world.node_of("one").as_deref(), Some("a"), "{change:?}");
    }
}

#[test]
fn a_pod_that_is_bound_stays_whatever_becomes_of_its_node() {
    let mut world = waiting(pod("one", 100, &["c"]));
    attach(&mut world, "c");
    world.settle();
    world.fact(cordoned());
    world.fact(Change::NodeGone("a".into()));
    world.settle();
    assert_eq!((world.node_of("one").as_deref(), world.devices_of("c").len()), (Some("a"), 1));
}

#[test]
fn a_pod_gives_a_device_back_that_a_taint_drives_it_off() {
    let rule = TaintRule {
        name: "rule".into(),
        driver: None,
        pool: Some("a".into()),
        device: None,
        taint: Taint { key: "hot".into(), value: "".into(), effect: TaintEffect::NoExecute },
    };
    let by_slice = with_device_taint("a", &["a-0"], &TaintEffect::NoExecute);
    for change in [by_slice, Change::TaintRuleApplied(rule)] {
        let mut world = waiting(pod("one", 100, &["c"]));
        world.fact(change);
        let message = "one: claim default/c: device gpu.example.com/a/a-0 got the taint hot:NoExecute before the pod \
                       was bound";
        assert_eq!(told(&world, message), 1, "{:?}", world.told);
        world.settle();
        world.later(2);
        world.settle();
        assert_eq!((world.devices_of("c"), world.engine.readying()), (vec!["b-0".to_owned()], 1));
    }
}

#[test]
fn a_claim_that_tolerates_the_taint_keeps_its_device() {
    let mut tolerant = claim("t");
    let mut wish = Claim::clone(&tolerant.wish);
    let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish else { unreachable!("it asks for one device") };
    let value = TolerationValue::Any;
    ask.tolerations.push(Toleration { key: "hot".into(), value, effect: "".into(), seconds: None });
    tolerant.wish = Arc::new(wish);
    let mut world = world();
    let facts = [gpu_class(), node("a", 4_000), fabric("a", &["a-0"])];
    facts.into_iter().for_each(|change| world.fact(change));
    world.add_claim(tolerant);
    world.add_pod(pod("one", 100, &["t"]));
    world.settle();
    world.fact(with_device_taint("a", &["a-0"], &TaintEffect::NoExecute));
    world.settle();
    assert_eq!((world.devices_of("t"), world.engine.readying()), (vec!["a-0".to_owned()], 1));
    attach(&mut world, "t");
    world.settle();
    assert_eq!(world.node_of("one").as_deref(), Some("a"));
    assert_eq!(world.claims[&claim_id("t")].reserved_for.len(), 1);
}

/// A pod on node `a` with the device of a claim, which gets a taint, and then another pod with the same claim.
fn sharing_a_tainted_device() -> World {
    let mut world = world();
    let facts = [gpu_class(), node("a", 4_000), gpus("a", &["a-0"]), node("b", 3_000), gpus("b", &["b-0"])];
    facts.into_iter().for_each(|change| world.fact(change));
    world.add_claim(claim("c"));
    world.add_pod(pod("one", 100, &["c"]));
    world.settle();
    assert_eq!((world.node_of("one").as_deref(), world.devices_of("c")), (Some("a"), vec!["a-0".to_owned()]));
    world.fact(with_device_taint("a", &["a-0"], &TaintEffect::NoExecute));
    world.add_pod(pod("two", 100, &["c"]));
    world
}

#[test]
fn a_claim_whose_device_drives_pods_off_is_not_reserved_for_another() {
    let mut world = sharing_a_tainted_device();
    for _ in 0..5 {
        world.turn();
        let reserves = |(_, write): &(_, Write)| matches!(write, Write::Reserve { .. });
        assert!(!world.open.iter().any(reserves), "{:?}", world.open);
        world.carry_out();
        world.later(20);
    }
    let message = "claim default/c: device gpu.example.com/a/a-0 has the taint hot:NoExecute, and the claim does not tolerate it";
    assert_eq!(told(&world, message), 1, "it sleeps: {:?}", world.told);
    world.let_go("one");
    world.settle();
    assert_eq!((world.node_of("two").as_deref(), world.devices_of("c")), (Some("b"), vec!["b-0".to_owned()]));
}

#[test]
fn a_pod_whose_claim_has_a_tainted_device_goes_there_when_the_taint_is_gone() {
    let mut world = sharing_a_tainted_device();
    world.settle();
    assert_eq!(world.node_of("two"), None);
    world.fact(gpus("a", &["a-0"]));
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("two").as_deref(), Some("a"));
}

#[test]
fn a_claim_that_has_a_tainted_device_and_no_user_gives_it_back_for_its_pod() {
    let mut world = sharing_a_tainted_device();
    world.settle();
    let mut state = world.claims[&claim_id("c")].clone();
    state.reserved_for.clear();
    world.remove_pod("one");
    world.add_claim(state);
    world.settle();
    world.later(2);
    world.settle();
    assert_eq!((world.node_of("two").as_deref(), world.devices_of("c")), (Some("b"), vec!["b-0".to_owned()]));
}
