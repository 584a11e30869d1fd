//! Groups of groups.

use cluster::change::{Change, GroupChange};
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::group::{Composite, Group, GroupId};
use model::pod::Pod;
use scheduler::engine::Engine;
use scheduler::write::Write;

use crate::gangs::{node_in, seats};
use crate::world::{World, claim, gpu_class, gpus, pod, settings, world};

pub fn id(name: &str) -> GroupId {
    GroupId { namespace: "default".into(), name: name.into() }
}

pub fn tree_settings() -> Settings {
    let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling, Gate::CompositePodGroup];
    let gates = gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    Settings { gates, ..settings() }
}

/// A world whose engine knows groups of groups.
pub fn tree_world() -> World {
    World { engine: Engine::new(tree_settings()), ..world() }
}

/// Two zones with two racks of two nodes each, of four processors: `z0-r0-a` and so on.
pub fn zones() -> World {
    let mut world = tree_world();
    add_zones(&mut world);
    world
}

pub fn add_zones(world: &mut World) {
    for zone in ["z0", "z1"] {
        for rack in ["r0", "r1"] {
            for name in ["a", "b"] {
                let rack = format!("{zone}-{rack}");
                let Change::NodeApplied(mut node) = node_in(&rack, &format!("{rack}-{name}"), 4_000) else {
                    unreachable!("it is a node")
                };
                node.labels.insert("zone".into(), zone.into());
                world.fact(Change::NodeApplied(node));
            }
        }
    }
}

pub fn tree(name: &str, at_least: u32, level: Option<&str>, parent: Option<&str>) -> Change {
    Change::Group(GroupChange::CompositeApplied(Box::new(Composite {
        id: id(name),
        at_least,
        levels: level.into_iter().map(Into::into).collect(),
        parent: parent.map(Into::into),
        ..Composite::default()
    })))
}

pub fn leaf(name: &str, at_least: u32, level: Option<&str>, parent: &str) -> Change {
    Change::Group(GroupChange::Applied(Box::new(Group {
        id: id(name),
        uid: format!("uid-{name}").into(),
        at_least,
        levels: level.into_iter().map(Into::into).collect(),
        parent: Some(parent.into()),
        preempts: true,
        ..Group::default()
    })))
}

/// Members of a group with two processors each, `x0` and so on.
pub fn add(world: &mut World, group: &str, count: usize) {
    for at in 0..count {
        let name = format!("{group}{at}");
        world.add_pod(Pod { group: Some(group.into()), ..pod(&name, 2_000, &[]) });
    }
}

/// A pod that fills a node.
pub fn fill(world: &mut World, node: &str) {
    world.add_pod(Pod { node: Some(node.into()), ..pod(&format!("full-{node}"), 4_000, &[]) });
}

/// The racks in which members of a group are.
pub fn racks(world: &World, group: &str) -> Vec<String> {
    let members = world.pods.values().filter(|pod| pod.group == Some(group.into()));
    let mut racks: Vec<String> =
        members.filter_map(|pod| pod.node.as_ref()).map(|node| node[..5].to_owned()).collect();
    racks.dedup();
    racks
}

#[test]
fn a_tree_is_placed_as_a_whole_in_one_zone_with_each_group_in_its_rack() {
    let mut world = zones();
    fill(&mut world, "z0-r0-a");
    world.fact(tree("t", 2, Some("zone"), None));
    world.fact(leaf("x", 4, Some("rack"), "t"));
    add(&mut world, "x", 4);
    world.settle();
    assert!(racks(&world, "x").is_empty(), "the other group is missing: {}", seats(&world));
    world.fact(leaf("y", 4, Some("rack"), "t"));
    add(&mut world, "y", 4);
    world.settle();
    let (x, y) = (racks(&world, "x"), racks(&world, "y"));
    assert_eq!((x.len(), y.len()), (1, 1), "{}", seats(&world));
    assert!(x != y && x[0].starts_with("z1") && y[0].starts_with("z1"), "{}", seats(&world));
}

#[test]
fn nobody_of_a_tree_is_placed_if_too_few_groups_fit() {
    let mut world = zones();
    fill(&mut world, "z0-r0-a");
    fill(&mut world, "z1-r1-b");
    world.fact(tree("t", 2, Some("zone"), None));
    for name in ["x", "y"] {
        world.fact(leaf(name, 4, Some("rack"), "t"));
        add(&mut world, name, 4);
    }
    world.settle();
    assert!(racks(&world, "x").is_empty() && racks(&world, "y").is_empty(), "{}", seats(&world));
    let told = "x0: pod group is unschedulable, group y and 1 others: ";
    assert!(world.told.iter().any(|line| line.starts_with(told)), "{:?}", world.told);
    world.let_go("full-z1-r1-b");
    world.later(20);
    world.settle();
    assert!(racks(&world, "x")[0].starts_with("z1") && racks(&world, "y")[0].starts_with("z1"));
}

#[test]
fn a_tree_that_needs_one_group_places_as_many_as_fit() {
    let mut world = zones();
    fill(&mut world, "z0-r0-a");
    fill(&mut world, "z1-r1-b");
    world.fact(tree("t", 1, Some("zone"), None));
    for name in ["x", "y"] {
        world.fact(leaf(name, 4, Some("rack"), "t"));
        add(&mut world, name, 4);
    }
    world.settle();
    assert_eq!(racks(&world, "x").len() + racks(&world, "y").len(), 1, "{}", seats(&world));
}

#[test]
fn a_group_moves_aside_for_one_that_fits_nowhere_else() {
    let mut world = zones();
    ["z1-r0-a", "z1-r0-b", "z1-r1-a", "z1-r1-b"].into_iter().for_each(|node| fill(&mut world, node));
    // Half of one rack is taken, so that the small group is best placed there or anywhere, but the large one is not.
    world.add_pod(Pod { node: Some("z0-r1-a".into()), ..pod("other", 2_000, &[]) });
    world.fact(tree("t", 2, Some("zone"), None));
    world.fact(leaf("a-small", 2, Some("rack"), "t"));
    world.fact(leaf("b-large", 4, Some("rack"), "t"));
    add(&mut world, "a-small", 2);
    add(&mut world, "b-large", 4);
    world.settle();
    assert_eq!(racks(&world, "b-large"), ["z0-r0"], "{}", seats(&world));
    assert_eq!(racks(&world, "a-small"), ["z0-r1"], "{}", seats(&world));
}

#[test]
fn trees_have_more_than_one_level() {
    let mut world = zones();
    world.fact(tree("root", 2, None, None));
    for (inner, leaves) in [("left", ["p", "q"]), ("right", ["r", "s"])] {
        world.fact(tree(inner, 2, Some("zone"), Some("root")));
        for name in leaves {
            world.fact(leaf(name, 4, Some("rack"), inner));
            add(&mut world, name, 4);
        }
    }
    world.settle();
    let zone = |group: &str| racks(&world, group)[0][..2].to_owned();
    assert_eq!(zone("p"), zone("q"), "{}", seats(&world));
    assert_eq!(zone("r"), zone("s"), "{}", seats(&world));
    assert_ne!(zone("p"), zone("r"), "{}", seats(&world));
}

#[test]
fn members_that_come_later_join_their_group_in_its_rack() {
    let mut world = zones();
    world.fact(tree("t", 1, Some("zone"), None));
    world.fact(leaf("x", 2, Some("rack"), "t"));
    add(&mut world, "x", 2);
    world.settle();
    let before = racks(&world, "x");
    world.add_pod(Pod { group: Some("x".into()), ..pod("x9", 2_000, &[]) });
    world.settle();
    assert!(world.node_of("x9").is_some_and(|node| node.starts_with(&before[0])), "{}", seats(&world));
    world.fact(leaf("y", 2, Some("rack"), "t"));
    add(&mut world, "y", 2);
    world.settle();
    assert_eq!(racks(&world, "y")[0][..2], before[0][..2], "{}", seats(&world));
}

#[test]
fn a_tree_waits_for_what_is_above_it_and_is_then_bound_at_once() {
    let mut world = zones();
    for name in ["x", "y"] {
        world.fact(leaf(name, 2, Some("rack"), "t"));
        add(&mut world, name, 2);
    }
    world.settle();
    assert!(racks(&world, "x").is_empty(), "what is above them is not known: {}", seats(&world));
    world.fact(tree("t", 2, None, None));
    world.turn();
    let is_binding = |write: &Write| matches!(write, Write::Bind { .. });
    assert_eq!(world.open.iter().filter(|(_, write)| is_binding(write)).count(), 4, "{:?}", world.open);
    world.settle();
    assert_eq!((racks(&world, "x").len(), racks(&world, "y").len()), (1, 1), "{}", seats(&world));
}

#[test]
fn groups_are_on_their_own_while_trees_are_off() {
    let mut world = crate::gangs::gang_world();
    world.fact(node_in("r0", "a", 4_000));
    world.fact(leaf("x", 2, Some("rack"), "t"));
    add(&mut world, "x", 2);
    world.settle();
    assert_eq!(seats(&world), "x0@a x1@a");
}

/// How often a tree was looked at in vain.
fn looks(world: &World) -> usize {
    world.told.iter().filter(|line| line.starts_with("x0: ")).count()
}

/// Tells a fact after a while, and says whether the tree was looked at for it.
#[track_caller]
fn wakes(world: &mut World, change: Change, expected: bool) {
    world.later(20);
    let before = (looks(world), seats(world));
    world.fact(change);
    world.settle();
    assert_eq!((looks(world), seats(world)) != before, expected, "{:?}", world.told.last());
}

/// A node of the second zone with another label.
fn relabelled(key: &str) -> Change {
    let Change::NodeApplied(mut node) = node_in("z1-r1", "z1-r1-b", 4_000) else {
        unreachable!("it is a node")
    };
    node.labels.insert("zone".into(), "z1".into());
    node.labels.insert(key.into(), "new".into());
    Change::NodeApplied(node)
}

#[test]
fn a_tree_that_sleeps_is_woken_by_what_can_help_and_by_nothing_else() {
    for level in [None, Some("zone")] {
        let mut world = zones();
        world.fact(tree("t", 2, level, None));
        for name in ["x", "y"] {
            world.fact(leaf(name, 10, None, "t"));
            add(&mut world, name, 10);
        }
        world.settle();
        assert_eq!(looks(&world), 1, "{:?}", world.told);
        wakes(&mut world, gpus("z0-r0-a", &["gpu-0"]), false);
        wakes(&mut world, leaf("another", 2, None, "elsewhere"), false);
        wakes(&mut world, relabelled("colour"), level.is_some());
        wakes(&mut world, node_in("z1-r1", "z1-r1-c", 4_000), true);
        wakes(&mut world, tree("t", 1, level, None), true);
    }
}

#[test]
fn groups_that_may_be_anywhere_in_a_domain_are_seated_so_that_both_fit() {
    let mut world = zones();
    for node in ["z0-r1-a", "z0-r1-b", "z1-r0-a", "z1-r0-b", "z1-r1-a", "z1-r1-b"] {
        fill(&mut world, node);
    }
    // On two nodes of four processors: two members of one and two of three, which leaves nothing.
    world.fact(tree("t", 2, Some("zone"), None));
    for (name, needs) in [("x", [1_000, 1_000]), ("y", [3_000, 3_000])] {
        world.fact(leaf(name, 2, None, "t"));
        for (at, cpu_milli) in needs.into_iter().enumerate() {
            world.add_pod(Pod { group: Some(name.into()), ..pod(&format!("{name}{at}"), cpu_milli, &[]) });
        }
    }
    world.settle();
    assert!(["x0", "x1", "y0", "y1"].iter().all(|name| world.node_of(name).is_some()), "{}", seats(&world));
}

#[test]
fn members_of_two_groups_that_share_a_claim_go_where_its_devices_are() {
    for level in [None, Some("rack")] {
        let mut world = zones();
        world.fact(gpu_class());
        for node in ["z0-r0-a", "z1-r0-a"] {
            world.fact(gpus(node, &["gpu-0"]));
        }
        world.add_claim(claim("shared"));
        world.fact(tree("t", 2, Some("zone"), None));
        for name in ["x", "y"] {
            world.fact(leaf(name, 1, level, "t"));
            world.add_pod(Pod { group: Some(name.into()), ..pod(&format!("{name}0"), 1_000, &["shared"]) });
        }
        world.turn();
        let allocations = world.open.iter().filter(|(_, write)| matches!(write, Write::Allocate { .. }));
        assert_eq!(allocations.count(), 1, "{level:?}: {:?}", world.open);
        world.settle();
        assert_eq!(world.node_of("x0"), world.node_of("y0"), "{level:?}: {}", seats(&world));
        assert!(world.node_of("x0").is_some(), "{level:?}: {}", seats(&world));
        let users = &world.claims[&crate::world::claim_id("shared")].reserved_for;
        assert_eq!(users.len(), 2, "{level:?}: {users:?}");
    }
}

#[test]
fn a_tree_for_which_not_everything_could_be_tried_is_not_called_impossible() {
    let mut world = tree_world();
    world.engine = Engine::new(tree_settings()).with_work_max(1_000_000);
    (0..6).for_each(|number| world.fact(node_in(&format!("r{number}"), &format!("n{number}"), 100)));
    // In sum there is enough, and each of them has many places to be.
    let sizes = [51, 49, 48, 43, 41, 39, 37, 34, 33, 31, 29, 28, 26, 24, 23, 21, 19, 14];
    world.fact(tree("t", sizes.len() as u32, None, None));
    for (number, cpu_milli) in sizes.into_iter().enumerate() {
        let name = format!("g{number}");
        world.fact(leaf(&name, 1, Some("rack"), "t"));
        world.add_pod(Pod { group: Some((&*name).into()), ..pod(&format!("x{number}"), cpu_milli, &[]) });
    }
    world.settle();
    let told = "x0: pod group is unschedulable, the search limit was reached before a placement was found or \
        excluded; the closest: group g";
    assert!(world.told.iter().any(|line| line.starts_with(told)), "{:?}", world.told.last());
}

#[test]
fn a_group_that_fits_nowhere_is_found_out_whatever_others_could_do() {
    let mut world = tree_world();
    for number in 0..40 {
        world.fact(node_in(&format!("r{number:02}"), &format!("n{number}"), 4_000 + number));
    }
    world.fact(tree("t", 4, None, None));
    // Three small groups may be in any rack, and the last is in none.
    for (name, count) in [("a", 1), ("b", 1), ("c", 1), ("x", 3)] {
        world.fact(leaf(name, count, Some("rack"), "t"));
        add(&mut world, name, count as usize);
    }
    world.settle();
    let told = "x0: pod group is unschedulable, group x: 3 members fit in none of 40 domains at once; r00 comes closest: \
                2 of 3 fit, insufficient cpu: 6 needed, 4 free";
    assert!(world.told.iter().any(|line| line.starts_with(told)), "{:?}", world.told.last());
}

/// A tree of so many groups with a small member each, and nodes for so many pods in two racks.
fn many_groups(count: usize, level: Option<&str>, room_for: i64) -> World {
    let mut world = tree_world();
    for name in ["a", "b", "c", "d"] {
        let rack = if name < "c" { "r0" } else { "r1" };
        let Change::NodeApplied(mut node) = node_in(rack, name, 100 * (room_for / 4)) else {
            unreachable!("it is a node")
        };
        node.pods_max = room_for;
        world.fact(Change::NodeApplied(node));
    }
    world.fact(tree("t", count as u32, None, None));
    for number in 0..count {
        let name = format!("g{number}");
        world.fact(leaf(&name, 1, level, "t"));
        world.add_pod(Pod { group: Some((&*name).into()), ..pod(&format!("p{number}"), 100, &[]) });
    }
    world.settle();
    world
}

#[test]
fn a_tree_of_many_groups_is_placed() {
    // Groups that may be anywhere are seated as one; those that have to be in one rack are seated one by one.
    for (count, level) in [(501, None), (501, Some("rack")), (1_200, Some("rack"))] {
        let world = many_groups(count, level, 1_200);
        let seated = (0..count).filter(|number| world.node_of(&format!("p{number}")).is_some()).count();
        assert_eq!(seated, count, "{level:?}: {:?}", world.told.last());
    }
}

#[test]
fn a_tree_of_many_groups_that_does_not_fit_is_refused_for_its_own_reason() {
    for level in [None, Some("rack")] {
        let world = many_groups(501, level, 500);
        let told = world.told.iter().find(|line| line.starts_with("p0: pod group is unschedulable, "));
        let told = told.expect("it is refused");
        assert!(told.contains(" and 500 others: "), "{level:?}: {told}");
    }
}
