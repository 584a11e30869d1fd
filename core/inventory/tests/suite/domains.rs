//! Sums by domains, held to a count of each device alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::topologies::{Level, NodeTopology};
use inventory::devices::{DeviceRow, DeviceState};
use inventory::domains::{Domain, levels, root};
use inventory::place::DevicePlace;
use model::device::Reach;
use model::identity::NodeName;
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::LabelSelector;

use crate::world::{DRIVER, World, device, on};

const RACK: &str = "example.com/rack";
const ZONE: &str = "topology.kubernetes.io/zone";

fn keys(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

/// The nodes with a value for the label of racks.
fn in_rack(rack: &str) -> Reach {
    let requirement = Requirement { key: RACK.into(), operator: Operator::In, values: vec![rack.into()] };
    let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
    Reach::Matching(NodeSelector { terms: vec![term] })
}

/// A domain and what is in it, a line each: path, nodes, and devices, free and allocated ones of the driver.
fn lines(domain: &Domain, within: &str, told: &mut Vec<String>) {
    let path = format!("{within}/{}", domain.name);
    let tally = domain.by_driver.get(DRIVER).cloned().unwrap_or_default();
    let fragmentation = tally.fragmentation().map_or_else(|| "-".to_owned(), |percent| percent.to_string());
    told.push(format!(
        "{path}: {} nodes, {} {} {}, {fragmentation}",
        domain.nodes.len(),
        tally.devices,
        tally.free,
        tally.allocated
    ));
    domain.domains.iter().for_each(|one| lines(one, &path, told));
}

fn told(world: &World, levels: &[&str]) -> Vec<String> {
    let mut told = Vec::new();
    lines(&root(&world.observed(), &world.inventory().devices, &keys(levels)), "", &mut told);
    told
}

/// Two racks of a zone with two nodes each and two devices on each, and a node without labels.
fn racks() -> World {
    let mut world = World::new();
    for (node, rack) in [("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", "r2")] {
        world.node(node, &[(RACK, rack), (ZONE, "z")]);
        world.slice(node, on(node), vec![device("a"), device("b")], Vec::new());
    }
    world.node("n5", &[]);
    world
}

#[test]
fn devices_count_in_the_domain_that_has_every_node_that_reaches_them() {
    let mut world = racks();
    world.slice("pooled", in_rack("r1"), vec![device("x"), device("y")], Vec::new());
    world.slice("studio", Reach::Everywhere, vec![device("x")], Vec::new());
    world.slice("lost", on("not-there"), vec![device("x")], Vec::new());
    world.claim("x/1", "n1/a");
    world.claim("x/2", "pooled/x");
    let expected = [
        "/: 5 nodes, 12 10 2, 60",
        "//z: 4 nodes, 10 8 2, 63",
        "//z/r1: 2 nodes, 6 4 2, 25",
        "//z/r2: 2 nodes, 4 4 0, 50",
    ];
    assert_eq!(told(&world, &[ZONE, RACK]), expected);
}

#[test]
fn fragmentation_is_nothing_when_one_node_has_all_free_devices() {
    let mut world = racks();
    for (name, device) in [("x/1", "n1/a"), ("x/2", "n1/b"), ("x/3", "n3/a"), ("x/4", "n4/b")] {
        world.claim(name, device);
    }
    let expected = ["/: 5 nodes, 8 4 4, 50", "//r1: 2 nodes, 4 2 2, 0", "//r2: 2 nodes, 4 2 2, 50"];
    assert_eq!(told(&world, &[RACK]), expected);
}

#[test]
fn levels_are_those_of_topologies_or_else_zones_and_host_names() {
    let mut world = racks();
    assert_eq!(levels(&world.facts), keys(&[ZONE]));
    let level = |name: &str, key: &str| Level { name: name.into(), key: key.into() };
    let topology = |levels: Vec<Level>| NodeTopology {
        name: "floor".into(),
        levels,
        nodes: LabelSelector::All(Vec::new()),
    };
    world.facts.groups.apply_topology(topology(vec![
        level("zone", ZONE),
        level("rack", RACK),
        level("row", "no-label"),
    ]));
    assert_eq!(levels(&world.facts), keys(&[ZONE, RACK]));
    world.facts.groups.apply_topology(topology(vec![level("row", "no-label")]));
    assert_eq!(levels(&world.facts), keys(&[ZONE]), "no node has the label of the topology");
}

/// Whether a device counts in a domain, by its own place alone.
fn is_in(row: &DeviceRow, domain: &Domain) -> bool {
    let nodes: BTreeSet<_> = domain.nodes.iter().collect();
    match (&row.place, &domain.level) {
        (_, None) => true,
        (DevicePlace::Node(node), _) => nodes.contains(node),
        (DevicePlace::Nodes(reaching), _) => {
            !reaching.is_empty() && reaching.iter().all(|node| nodes.contains(node))
        }
        (DevicePlace::AllNodes, _) => false,
    }
}

fn recount(domain: &Domain, rows: &[DeviceRow]) {
    let own: Vec<&DeviceRow> = rows.iter().filter(|row| is_in(row, domain)).collect();
    let free = |row: &&&DeviceRow| row.state == DeviceState::Free;
    let tally = domain.by_driver.get(DRIVER).cloned().unwrap_or_default();
    let held = own.iter().filter(|row| row.state.is_held()).count();
    assert_eq!(
        (tally.devices, tally.free, tally.allocated),
        (own.len(), own.iter().filter(free).count(), held)
    );
    let usable = |node: &NodeName| own.iter().filter(free).filter(|row| row.place.is_at(node)).count();
    let most = domain.nodes.iter().map(usable).max().unwrap_or(0);
    assert_eq!(tally.largest_on_node.map_or(0, |(_, most)| most), most);
    assert_eq!(
        domain.domains.iter().map(|one| one.nodes.len()).sum::<usize>() + domain.elsewhere.len(),
        if domain.domains.is_empty() { domain.elsewhere.len() } else { domain.nodes.len() }
    );
    domain.domains.iter().for_each(|one| recount(one, rows));
}

#[test]
fn sums_are_those_of_counting_each_device_alone() {
    for seed in 0..200_u64 {
        let mut state = seed;
        let mut below = |most: u64| {
            // A step of Knuth's generator; its high bits are the good ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut world = World::new();
        for node in 0..1 + below(6) {
            let (name, rack, zone) = (format!("n{node}"), format!("r{}", below(3)), format!("z{}", below(2)));
            let labels = [(RACK, rack.as_str()), (ZONE, zone.as_str())];
            world.node(&name, &labels[..below(3) as usize]);
            let devices: Vec<_> = (0..below(4)).map(|number| device(&format!("d{number}"))).collect();
            let reach = match below(4) {
                0 => in_rack(&format!("r{}", below(3))),
                1 => Reach::Everywhere,
                _ => on(&name),
            };
            for device in devices.iter().filter(|_| below(2) == 0) {
                world.claim(&format!("x/{node}-{}", device.name), &format!("p{node}/{}", device.name));
            }
            world.slice(&format!("p{node}"), reach, devices, Vec::new());
        }
        let rows = world.inventory().devices;
        recount(&root(&world.observed(), &rows, &keys(&[ZONE, RACK])), &rows);
    }
}
