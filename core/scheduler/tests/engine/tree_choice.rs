//! In which domain a tree of groups is: the one that scorers like best of those in which it fits.

use std::sync::Arc;

use cluster::change::Change;
use decisions::placement_scores::{PlacementScore, PlacementSettings};
use decisions::profile::Profile;
use model::pod::Pod;
use scheduler::engine::Engine;

use crate::gangs::{node_in, seats};
use crate::group_trees::{add, fill, leaf, racks, tree, tree_settings, tree_world, zones};
use crate::world::{World, pod};

/// The zone in which all members of these groups are.
#[track_caller]
fn zone(world: &World, groups: &[&str]) -> String {
    let mut zones: Vec<String> =
        groups.iter().flat_map(|group| racks(world, group)).map(|rack| rack[..2].to_owned()).collect();
    zones.dedup();
    assert_eq!(zones.len(), 1, "{}", seats(world));
    zones.remove(0)
}

/// A tree of two groups of two members each, in one zone.
fn pair(world: &mut World, level: Option<&str>) {
    world.fact(tree("t", 2, Some("zone"), None));
    for name in ["x", "y"] {
        world.fact(leaf(name, 2, level, "t"));
        add(world, name, 2);
    }
}

fn with_scorer(mut world: World, score: PlacementScore) -> World {
    let mut settings = tree_settings();
    let placement = PlacementSettings { weights: vec![(score, 1)] };
    settings.profiles = vec![Arc::new(Profile { placement, ..Profile::named("supercargo") })];
    world.engine = Engine::new(settings);
    world
}

#[test]
fn a_tree_is_placed_in_the_tightest_zone_wherever_that_is_in_the_order() {
    for level in [None, Some("rack")] {
        for (full, expected) in [("z1", "z1"), ("z0", "z0")] {
            let mut world = zones();
            // What is left is just enough.
            fill(&mut world, &format!("{full}-r0-a"));
            fill(&mut world, &format!("{full}-r1-b"));
            pair(&mut world, level);
            world.settle();
            assert_eq!(zone(&world, &["x", "y"]), expected, "{level:?}: {}", seats(&world));
        }
    }
}

#[test]
fn what_scorers_are_told_to_like_counts_for_trees() {
    for (score, expected) in [(PlacementScore::TightestFit, "z0"), (PlacementScore::LooseFit, "z1")] {
        let mut world = with_scorer(tree_world(), score);
        crate::group_trees::add_zones(&mut world);
        fill(&mut world, "z0-r0-a");
        pair(&mut world, Some("rack"));
        world.settle();
        assert_eq!(zone(&world, &["x", "y"]), expected, "{score:?}: {}", seats(&world));
    }
}

#[test]
fn a_zone_that_is_tight_but_has_no_rack_for_a_group_is_not_chosen() {
    let mut world = zones();
    // Half of each node: two members fit in a rack, but not three.
    for node in ["z1-r0-a", "z1-r0-b", "z1-r1-a", "z1-r1-b"] {
        world.add_pod(Pod { node: Some(node.into()), ..pod(&format!("half-{node}"), 2_000, &[]) });
    }
    world.fact(tree("t", 1, Some("zone"), None));
    world.fact(leaf("x", 3, Some("rack"), "t"));
    add(&mut world, "x", 3);
    world.settle();
    assert_eq!(zone(&world, &["x"]), "z0", "{}", seats(&world));
}

#[test]
fn a_zone_for_all_groups_is_better_than_a_tight_one_for_some() {
    let mut world = zones();
    for node in ["z0-r0-a", "z0-r0-b", "z0-r1-a"] {
        fill(&mut world, node);
    }
    world.fact(tree("t", 1, Some("zone"), None));
    for name in ["x", "y"] {
        world.fact(leaf(name, 2, Some("rack"), "t"));
        add(&mut world, name, 2);
    }
    world.settle();
    assert_eq!(zone(&world, &["x", "y"]), "z1", "{}", seats(&world));
}

#[test]
fn groups_of_groups_further_down_are_in_their_best_domains() {
    let mut world = zones();
    fill(&mut world, "z0-r1-a");
    fill(&mut world, "z1-r0-a");
    fill(&mut world, "z1-r0-b");
    fill(&mut world, "z1-r1-a");
    world.fact(tree("root", 1, Some("zone"), None));
    world.fact(tree("inner", 2, Some("rack"), Some("root")));
    for name in ["x", "y"] {
        world.fact(leaf(name, 1, None, "inner"));
        add(&mut world, name, 1);
    }
    world.settle();
    // The second zone is the tightest, and its second rack all that it has.
    assert_eq!((racks(&world, "x"), racks(&world, "y")), (vec!["z1-r1".into()], vec!["z1-r1".into()]));
    world.fact(tree("other", 2, Some("rack"), None));
    for name in ["p", "q"] {
        world.fact(leaf(name, 1, None, "other"));
        add(&mut world, name, 1);
    }
    world.settle();
    assert_eq!(racks(&world, "p"), ["z0-r1"], "{}", seats(&world));
}

#[test]
fn a_group_of_groups_that_has_enough_keeps_nobody_waiting_if_there_is_no_room_for_more_of_it() {
    let mut world = zones();
    world.fact(tree("root", 1, None, None));
    world.fact(tree("inner", 1, Some("rack"), Some("root")));
    world.fact(leaf("x", 4, None, "inner"));
    add(&mut world, "x", 4);
    world.settle();
    assert_eq!(racks(&world, "x").len(), 1, "{}", seats(&world));
    // The rack is full.
    world.add_pod(Pod { group: Some("x".into()), ..pod("x9", 2_000, &[]) });
    world.fact(tree("root", 2, None, None));
    world.fact(tree("other", 1, Some("rack"), Some("root")));
    world.fact(leaf("y", 4, None, "other"));
    add(&mut world, "y", 4);
    world.later(20);
    world.settle();
    assert_eq!((racks(&world, "y").len(), world.node_of("x9")), (1, None), "{}", seats(&world));
}

/// Adds a zone with one rack of nodes with so many processors.
fn add_zone(world: &mut World, number: usize, cpu_milli: &[i64]) {
    for (at, cpu_milli) in cpu_milli.iter().enumerate() {
        let node = node_in(&format!("r{number}"), &format!("n{number}-{at}"), *cpu_milli);
        let Change::NodeApplied(mut node) = node else { unreachable!("it is a node") };
        node.labels.insert("zone".into(), format!("z{number:04}").into());
        world.fact(Change::NodeApplied(node));
    }
}

#[test]
fn a_tree_has_seats_however_many_domains_there_are_to_compare() {
    // More than can be tried within the bound, and no two of them are alike.
    let mut world = tree_world();
    (0..600).for_each(|number| add_zone(&mut world, number, &[20_000 - 10 * number as i64]));
    pair(&mut world, Some("rack"));
    world.settle();
    let nodes: Vec<_> = ["x0", "x1", "y0", "y1"].into_iter().map(|name| world.node_of(name)).collect();
    assert!(nodes[0].is_some() && nodes.iter().all(|node| *node == nodes[0]), "{}", seats(&world));
}

#[test]
fn of_zones_that_are_alike_only_one_is_tried() {
    let mut world = tree_world();
    // In sum each of these has just enough for four members, but there are seats for three. The last is found only if they are
    // not tried one by one.
    (0..600).for_each(|number| add_zone(&mut world, number, &[4_500, 3_500]));
    add_zone(&mut world, 600, &[5_000, 5_000]);
    pair(&mut world, Some("rack"));
    world.settle();
    assert!(world.node_of("x0").is_some_and(|node| node.starts_with("n600")), "{:?}", world.told.last());
}
