//! Gangs whose members are in each other's way across nodes: they are seated if they can be, and called impossible only if
//! they cannot. Compared with trying everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use cluster::claims::{Allocated, ClaimState};
use cluster::published::Published;
use model::claim::{Amount, Ask, Claim, ClaimSpec, Class, Request, Wish};
use model::device::{Device, PoolId, Reach, Slice};
use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{HostPort, LabelSelector, Pod, PodTerm, Resources, Shape, Spread};
use model::volume::{Volume, VolumeClaim, VolumeClaimId};
use selector::SliceRevision;

use crate::gang_judge::{Instance, KEYS, Look};
use crate::gangs::{gang_world, group, member, node_in};
use crate::world::{World, claim, gpu_class, gpus, pod};

fn name_of(node: usize) -> String {
    format!("n{node}")
}

/// The nodes of a list.
fn listed(nodes: impl IntoIterator<Item = usize>) -> NodeSelector {
    let values =
        nodes.into_iter().map(|node| format!("host-{node}").into()).chain(["nowhere".into()]).collect();
    let labels = vec![Requirement { key: "host".into(), operator: Operator::In, values }];
    NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] }
}

fn of_app(app: u64) -> LabelSelector {
    let values = vec![format!("app-{app}").into()];
    LabelSelector::All(vec![Requirement { key: "app".into(), operator: Operator::In, values }])
}

fn shape(pod: &Pod, look: &Look, number: usize) -> Arc<Shape> {
    let term = |(app, key): &(u64, usize)| PodTerm {
        selector: of_app(*app),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: KEYS[*key].into(),
    };
    let spread = |(skew, places, (app, key)): &(i64, i64, (u64, usize))| Spread {
        max_skew: *skew as i32,
        key: KEYS[*key].into(),
        required: true,
        selector: of_app(*app),
        min_domains: *places as i32,
        honor_affinity: true,
        honor_taints: false,
    };
    let port = HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 };
    let labels = [("app".into(), format!("app-{}", look.app).into()), ("index".into(), pod.id.name.clone())];
    Arc::new(Shape {
        labels: labels.into(),
        near: look.near.iter().map(term).collect(),
        apart: look.apart.iter().map(term).collect(),
        spread: look.spread.iter().map(spread).collect(),
        ports: if look.port { vec![port] } else { Vec::new() },
        volume_claims: look.disk.iter().map(|_| format!("disk-{number}").into()).collect(),
        ..Shape::clone(&pod.shape)
    })
}

/// A claim that wants so many devices of classes.
fn wants(name: &str, requests: &[(&str, usize)]) -> ClaimState {
    let mut state = claim(name);
    let Wish::Exactly(ask) = &state.wish.spec.requests[0].wish else {
        unreachable!("it asks for one device")
    };
    let request = |(class, count): &(&str, usize)| Request {
        name: (*class).into(),
        wish: Wish::Exactly(Ask {
            class: (*class).into(),
            amount: Amount::Exactly(*count as i64),
            ..ask.clone()
        }),
    };
    let requests = requests.iter().filter(|(_, count)| *count > 0).map(request).collect();
    state.wish =
        Arc::new(Claim { id: state.wish.id.clone(), spec: ClaimSpec { requests, ..ClaimSpec::default() } });
    state
}

fn disk(number: usize, nodes: &[usize], one_pod: bool) -> [Change; 2] {
    let volume = format!("volume-{number}");
    let found = Volume { name: (&*volume).into(), nodes: Some(listed(nodes.to_vec())), ..Volume::default() };
    let claim = VolumeClaim {
        id: VolumeClaimId { namespace: "default".into(), name: format!("disk-{number}").into() },
        volume: Some((&*volume).into()),
        bound: true,
        one_pod,
        ..VolumeClaim::default()
    };
    [StorageChange::VolumeApplied(Box::new(found)), StorageChange::VolumeClaimApplied(Box::new(claim))]
        .map(Change::Storage)
}

/// Devices that several nodes reach.
fn links(links: &[BTreeSet<usize>]) -> Change {
    let device = |(number, nodes): (usize, &BTreeSet<usize>)| Device {
        name: format!("link-{number}").into(),
        reach: Reach::Matching(listed(nodes.iter().copied())),
        ..Device::default()
    };
    let slice = Slice {
        name: "links".into(),
        pool: PoolId { driver: "link.example.com".into(), pool: "links".into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::PerDevice,
        devices: links.iter().enumerate().map(device).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    Change::SliceApplied(Arc::new(Published::new(slice, SliceRevision { slice: 7, revision: 1 })))
}

/// The instance as the engine gets to know it.
fn world_of(instance: &Instance) -> World {
    let mut world = gang_world();
    world.fact(gpu_class());
    let selector = "device.driver == \"link.example.com\"".into();
    let class = Class { name: "link".into(), selectors: vec![Some(selector)], ..Class::default() };
    world.fact(Change::ClassApplied(class));
    for (at, spot) in instance.nodes.iter().enumerate() {
        let label = |(key, place): (&&str, &Option<u64>)| {
            Some(((*key).into(), format!("{key}-{}", (*place)?).into()))
        };
        let labels = KEYS.iter().zip(&spot.places).filter_map(label).collect();
        let allocatable = Resources { cpu_milli: spot.cpu * 1_000, memory: 1 << 30, ..Resources::default() };
        let name = name_of(at);
        let node = Node { name: (&*name).into(), allocatable, pods_max: 20, labels, ..Node::default() };
        world.fact(Change::NodeApplied(Box::new(node)));
        let cards: Vec<String> = (0..spot.gpus).map(|gpu| format!("{name}-gpu-{gpu}")).collect();
        world.fact(gpus(&name, &cards.iter().map(|card| &**card).collect::<Vec<_>>()));
    }
    if !instance.links.is_empty() {
        world.fact(links(&instance.links));
    }
    for (number, (at, look)) in instance.placed.iter().enumerate() {
        let pod = pod(&format!("old-{number}"), look.cpu * 1_000, &[]);
        let shape = shape(&pod, look, 100 + number);
        world.add_pod(Pod { node: Some(name_of(*at).into()), shape, ..pod });
    }
    let (count, is_link) = instance.shared;
    world.add_claim(wants("shared", &[(if is_link { "link" } else { "gpu" }, count)]));
    // A pod uses it, so that it keeps its devices.
    world.add_pod(Pod { node: Some("elsewhere".into()), ..pod("user", 0, &[]) });
    for (number, look) in instance.looks.iter().enumerate() {
        if let Some((nodes, one_pod)) = &look.disk {
            disk(number, nodes, *one_pod).into_iter().for_each(|change| world.fact(change));
        }
        if let Some(nodes) = &look.settled {
            let nodes = Some(listed(nodes.iter().copied()));
            let allocation = Some(Arc::new(Allocated { nodes, held: Vec::new() }));
            let name = format!("settled-{number}");
            let reserved_for = vec!["uid-user".into()];
            world.add_claim(ClaimState { allocation, reserved_for, ..claim(&name) });
        }
    }
    let level = instance.level.map(|level| KEYS[level]);
    world.fact(group(instance.at_least as u32, level.as_slice()));
    for (number, look) in instance.members.iter().enumerate() {
        add_member(&mut world, instance, number, *look);
    }
    world
}

fn add_member(world: &mut World, instance: &Instance, number: usize, kind: usize) {
    let look = &instance.looks[kind];
    let name = format!("m{number}");
    let mut claims: Vec<String> = Vec::new();
    if look.gpus + look.links > 0 {
        let own = format!("own-{number}");
        world.add_claim(wants(&own, &[("gpu", look.gpus), ("link", look.links)]));
        claims.push(own);
    }
    if look.shares {
        claims.push("shared".to_owned());
    }
    if look.settled.is_some() {
        claims.push(format!("settled-{kind}"));
    }
    let claims: Vec<&str> = claims.iter().map(|claim| &**claim).collect();
    let pod = member(&name, look.cpu * 1_000, &claims);
    let shape = shape(&pod, look, kind);
    world.add_pod(Pod { shape, ..pod });
}

/// Where members are.
fn seats(world: &World, instance: &Instance) -> Vec<Option<usize>> {
    let seat = |number: usize| world.node_of(&format!("m{number}"))?[1..].parse().ok();
    (0..instance.members.len()).map(seat).collect()
}

/// What became of instances.
#[derive(Debug, Default)]
struct Tally {
    seated: u32,
    refused: u32,
    open: u32,
}

impl Tally {
    /// Compares what becomes of an instance with what is possible.
    fn compare(&mut self, seed: u64, instance: &Instance) {
        let mut world = world_of(instance);
        world.settle();
        let seats = seats(&world, instance);
        let seated = seats.iter().filter(|seat| seat.is_some()).count();
        let is_possible = instance.is_possible();
        if world.told.iter().any(|line| line.contains("search limit")) {
            self.open += 1;
            return;
        }
        if seated == 0 {
            let told = world.told.last();
            assert!(!is_possible, "seed {seed}: it can be seated: {told:?}\n{instance:?}");
            self.refused += 1;
            return;
        }
        assert!(seated >= instance.at_least, "seed {seed}: too few have seats: {seats:?}");
        assert!(instance.are_right(&seats), "seed {seed}: these seats are wrong: {seats:?}\n{instance:?}");
        assert!(is_possible, "seed {seed}: the judge did not find {seats:?}\n{instance:?}");
        self.seated += 1;
    }
}

#[test]
fn verdicts_on_gangs_with_rules_and_devices_are_those_of_trying_everything() {
    let mut tally = Tally::default();
    (0..3_000).for_each(|seed| tally.compare(seed, &Instance::random(seed, 5, 5)));
    let Tally { seated, refused, open } = tally;
    assert!(
        seated > 900 && refused > 900 && open == 0,
        "{seated} seated, {refused} refused, {open} left open"
    );
}

#[test]
fn verdicts_on_larger_gangs_are_those_of_trying_everything() {
    let mut tally = Tally::default();
    (0..400).for_each(|seed| tally.compare(seed, &Instance::random(seed, 8, 8)));
    let Tally { seated, refused, open } = tally;
    assert!(seated > 80 && refused > 80 && open == 0, "{seated} seated, {refused} refused, {open} left open");
}

/// Members of an application with a look of their own, each with so much processor.
fn add_of(world: &mut World, names: &[&str], cpu_milli: i64, look: &Look) {
    for name in names {
        let pod = member(name, cpu_milli, &[]);
        let shape = shape(&pod, look, 0);
        world.add_pod(Pod { shape, ..pod });
    }
}

fn rack_of(world: &mut World, rack: &str, names: &[&str]) {
    for name in names {
        world.fact(node_in(rack, name, 4_000));
    }
}

#[test]
fn the_best_domain_is_taken_and_not_the_first_that_will_do() {
    let mut world = gang_world();
    rack_of(&mut world, "r0", &["a", "b", "c"]);
    rack_of(&mut world, "r1", &["d", "e"]);
    world.fact(group(2, &["rack"]));
    // They are spread over hosts, so that each node is in the way of the others.
    add_of(&mut world, &["m0", "m1"], 1_000, &Look { spread: vec![(1, 1, (0, 0))], ..Look::default() });
    world.settle();
    let mut nodes = ["m0", "m1"].map(|name| world.node_of(name).expect("it has a seat"));
    nodes.sort();
    assert_eq!(nodes, ["d", "e"], "r1 is left with less");
}

#[test]
fn the_domain_that_comes_closest_is_told_with_why_the_next_member_has_no_seat() {
    let mut world = gang_world();
    rack_of(&mut world, "r0", &["a", "b"]);
    world.fact(group(3, &["rack"]));
    let (red, blue) = (0, 1);
    add_of(&mut world, &["m0"], 100, &Look { app: red, apart: vec![(blue, 2)], ..Look::default() });
    add_of(&mut world, &["m1", "m2"], 100, &Look { app: blue, ..Look::default() });
    for (row, name) in [("0", "a"), ("0", "b")] {
        let Change::NodeApplied(mut node) = node_in("r0", name, 4_000) else { unreachable!("a node comes") };
        node.labels.insert("row".into(), row.into());
        world.fact(Change::NodeApplied(node));
    }
    world.settle();
    let told = world.told.iter().find(|line| line.starts_with("m0: pod group")).expect("it was refused");
    let expected = "m0: pod group is unschedulable, 3 members do not fit in r0 at once: 1 of 3 fit, and none for \
                    the next: m1: 2 node(s) didn't satisfy existing pods anti-affinity rules (topologyKey row)";
    assert_eq!(told, expected);
}

#[test]
fn members_that_share_a_claim_are_where_its_devices_are_though_other_nodes_are_alike_otherwise() {
    let mut world = gang_world();
    world.fact(gpu_class());
    rack_of(&mut world, "r0", &["a", "b", "c"]);
    world.fact(gpus("c", &["gpu-0"]));
    world.add_claim(wants("shared", &[("gpu", 1)]));
    world.fact(group(2, &[]));
    // There is no room for all of them on one node, so that each is looked at by itself.
    for name in ["m0", "m1", "m2"] {
        world.add_pod(member(name, 2_000, &["shared"]));
    }
    world.settle();
    let mut nodes = ["m0", "m1", "m2"].map(|name| world.node_of(name));
    nodes.sort();
    assert_eq!(nodes, [None, Some("c".into()), Some("c".into())], "{:?}", world.told);
}

#[test]
fn what_no_order_of_members_could_mend_is_refused_by_counting() {
    let mut world = gang_world();
    rack_of(&mut world, "r0", &["a", "b"]);
    rack_of(&mut world, "r1", &["c", "d"]);
    world.fact(group(3, &[]));
    let apart = PodTerm {
        selector: of_app(0),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: "rack".into(),
    };
    for name in ["m0", "m1", "m2"] {
        let pod = member(name, 100, &[]);
        let look = shape(&pod, &Look::default(), 0);
        let shape = Arc::new(Shape { apart: vec![apart.clone()], ..Shape::clone(&look) });
        world.add_pod(Pod { shape, ..pod });
    }
    world.settle();
    let told = world.told.iter().find(|line| line.starts_with("m0: pod group")).expect("it was refused");
    let expected = "m0: pod group is unschedulable, 3 members do not fit at once: 2 of 3 fit, and none for \
                    the next: m2: 4 node(s) didn't match pod anti-affinity rules (topologyKey rack)";
    assert_eq!(told, expected);
}

#[test]
fn too_few_devices_that_several_nodes_reach_are_found_out_by_counting() {
    let mut world = gang_world();
    let selector = "device.driver == \"link.example.com\"".into();
    let class = Class { name: "link".into(), selectors: vec![Some(selector)], ..Class::default() };
    world.fact(Change::ClassApplied(class));
    for number in 0..16 {
        let rack = if number < 8 { "r0" } else { "r1" };
        let Change::NodeApplied(mut node) = node_in(rack, &name_of(number), 64_000) else {
            unreachable!("a node comes")
        };
        node.labels.insert("host".into(), format!("host-{number}").into());
        node.pods_max = 100;
        world.fact(Change::NodeApplied(node));
    }
    // Each reaches four nodes of one rack: there are 30 in the first and 10 in the second.
    let reached = |link: usize| {
        let first = if link < 30 { link % 5 } else { 8 + link % 5 };
        (first..first + 4).collect()
    };
    world.fact(links(&(0..40).map(reached).collect::<Vec<_>>()));
    world.fact(group(40, &["rack"]));
    for number in 0..40 {
        let own = format!("own-{number}");
        // Two kinds of members take from the same.
        world.add_claim(wants(&own, &[("link", 1)]));
        world.add_pod(member(&format!("m{number}"), if number % 2 == 0 { 500 } else { 1_000 }, &[&own]));
    }
    world.settle();
    let told = world.told.iter().find(|line| line.starts_with("m0: pod group")).expect("it was refused");
    let expected = "m0: pod group is unschedulable, 40 members fit in none of 2 domains at once; r0 comes closest: \
                    30 of 40 fit, insufficient devices: 40 needed, 30 free";
    assert_eq!(told, expected);
}
