//! The state of a device, one test for each.

use cluster::preparation::Failed;
use model::claim::Class;
use model::device::{Device, Reach, Taint, TaintEffect};

use crate::world::{World, amount, card, device, on, only, part, preparation, share, shareable};

#[test]
fn devices_are_free_or_allocated_in_the_order_of_nodes_and_numbers() {
    let mut world = World::new();
    world.slice("b", on("node-10"), vec![device("gpu-10"), device("gpu-2")], Vec::new());
    world.slice("a", on("node-2"), vec![device("gpu-0")], Vec::new());
    world.slice("c", Reach::Everywhere, vec![device("recorder")], Vec::new());
    world.claim("team-a/train", "b/gpu-2");
    let expected = [
        "node-2: a/gpu-0 free",
        "node-10: b/gpu-2 allocated team-a/train by train",
        "node-10: b/gpu-10 free",
        "all nodes: c/recorder free",
    ];
    assert_eq!(world.told(), expected);
}

#[test]
fn a_device_that_claims_share_is_partly_used_until_nothing_is_left() {
    let mut world = World::new();
    world.slice("n", on("n"), vec![shareable("nic", 10)], Vec::new());
    world.claim_with("a/one", "n/nic", |_, held, _| share(held, 4));
    assert_eq!(world.told(), ["n: n/nic partly used 6/10 bandwidth a/one by one"]);
    world.claim_with("b/two", "n/nic", |_, held, _| share(held, 6));
    assert_eq!(world.told(), ["n: n/nic allocated 0/10 bandwidth a/one by one b/two by two"]);
    world.named = only(&["b"]);
    assert_eq!(world.told(), ["n: n/nic allocated 0/10 bandwidth in use b/two by two"]);
    let row = &world.inventory().devices[0];
    assert_eq!(row.holders[1].consumed["bandwidth"], amount(6));
}

#[test]
fn administrative_access_takes_nothing() {
    let mut world = World::new();
    world.slice("n", on("n"), vec![device("gpu")], Vec::new());
    world.claim_with("ops/monitor", "n/gpu", |_, _, used| used.admin = true);
    assert_eq!(world.told(), ["n: n/gpu free ops/monitor by monitor as admin"]);
}

#[test]
fn a_device_waits_until_its_conditions_are_reported_and_a_failure_counts_first() {
    let mut world = World::new();
    world.slice("n", on("n"), vec![device("gpu")], Vec::new());
    world.claim_with("a/c", "n/gpu", |claim, _, _| {
        claim.preparation = Some(preparation("n/gpu", &["Attached"], None))
    });
    assert_eq!(world.told(), ["n: n/gpu waiting for readiness (Attached not reported yet) a/c by c"]);
    let failed = Failed { condition: "Broken".into(), reason: "Burnt".into(), message: "smoke".into() };
    world.claim_with("a/c", "n/gpu", |claim, _, _| {
        claim.version = "2".into();
        claim.preparation = Some(preparation("n/gpu", &["Attached"], Some(failed)));
    });
    let told = "n: n/gpu failed (condition Broken is True, reason=\"Burnt\", message=\"smoke\") a/c by c";
    assert_eq!(world.told(), [told]);
}

#[test]
fn a_taint_keeps_claims_off_a_free_device_unless_it_is_only_told() {
    let tainted = |name: &str, effect: TaintEffect| {
        let taint = Taint { key: "worn".into(), value: "".into(), effect };
        Device { taints: vec![taint], ..device(name) }
    };
    let mut world = World::new();
    let devices = vec![
        tainted("a", TaintEffect::NoSchedule),
        tainted("b", TaintEffect::NoExecute),
        tainted("c", TaintEffect::Told("None".into())),
        tainted("d", TaintEffect::NoSchedule),
    ];
    world.slice("n", on("n"), devices, Vec::new());
    world.claim("x/y", "n/d");
    let expected = ["n: n/a tainted", "n: n/b tainted", "n: n/c free", "n: n/d allocated x/y by y"];
    assert_eq!(world.told(), expected);
}

#[test]
fn partitions_are_used_up_or_incompatible_when_others_hold_their_counters() {
    let mut world = World::new();
    let parts = vec![
        part("whole", 80, &["a"]),
        part("half", 40, &["a"]),
        part("rest", 40, &["a"]),
        part("other", 10, &["b"]),
    ];
    world.slice("n 1 of 2", on("n"), parts, Vec::new());
    world.slice("n 2 of 2", on("n"), Vec::new(), vec![card(80)]);
    world.claim("x/y", "n/half");
    let expected = [
        "n: n/half allocated x/y by y",
        "n: n/other incompatible groups",
        "n: n/rest free",
        "n: n/whole counters used up",
    ];
    assert_eq!(world.told(), expected);
    let counters = world.inventory().counters;
    let told: Vec<String> = counters
        .iter()
        .map(|one| format!("{} {} {} of {}", one.set, one.counter, one.left, one.value))
        .collect();
    assert_eq!(told, ["card memory 40 of 80"]);
}

#[test]
fn a_pool_that_cannot_be_used_says_why() {
    let mut world = World::new();
    world.slice("gathering 1 of 2", on("n"), vec![device("a"), device("b")], Vec::new());
    world.slice("twice", on("n"), vec![device("a"), device("a")], Vec::new());
    world.claim("x/y", "gathering/b");
    let twice = "n: twice/a pool invalid (it has two devices of the name a)";
    let expected =
        ["n: gathering/a pool incomplete (1 of 2 slices)", "n: gathering/b allocated x/y by y", twice, twice];
    assert_eq!(world.told(), expected);
}

#[test]
fn a_device_that_is_held_and_no_longer_published_is_told() {
    let mut world = World::new();
    world.claim("x/y", "gone/gpu");
    assert_eq!(world.told(), ["no node: gone/gpu not published x/y by y"]);
}

#[test]
fn what_no_known_claim_holds_is_unknown_unless_all_claims_are_known() {
    let mut world = World::new();
    world.slice("n", on("n"), vec![device("a"), device("b")], Vec::new());
    world.claim("x/y", "n/a");
    world.claims = only(&["x"]);
    assert_eq!(world.told(), ["n: n/a allocated x/y by y", "n: n/b unknown"]);
}

#[test]
fn classes_are_those_whose_selectors_all_pick_the_device() {
    let mut world = World::new();
    let class = |name: &str, selectors: &[Option<&str>]| Class {
        name: name.into(),
        selectors: selectors.iter().map(|one| one.map(Into::into)).collect(),
        ..Class::default()
    };
    world.facts.apply_class(class("all", &[]));
    world.facts.apply_class(class("gpu", &[Some("device.driver == 'gpu.example.com'")]));
    world.facts.apply_class(class("none", &[Some("true"), Some("device.driver == 'nic.example.com'")]));
    world.facts.apply_class(class("unknown", &[None]));
    world.facts.apply_class(class("wrong", &[Some("device.")]));
    world.slice("n", on("n"), vec![device("a")], Vec::new());
    let classes = &world.inventory().devices[0].classes;
    assert_eq!(classes.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["all", "gpu"]);
}
