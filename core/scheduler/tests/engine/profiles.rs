//! Pods ask for a profile by name, and each profile has filters and scores of its own.

use std::sync::Arc;

use cluster::change::Change;
use decisions::filters::{Filter, FilterSettings};
use decisions::profile::Profile;
use decisions::scores::ScoreSettings;
use decisions::scores::resources::{Aim, Strategy};
use model::pod::Pod;

use crate::world::{World, engine_with, gpu_class, gpus, node, pod, world};

fn world_with(profiles: Vec<Profile>) -> World {
    World { engine: engine_with(profiles), ..world() }
}

fn packing() -> Profile {
    let strategy = Strategy { aim: Aim::Pack, ..Strategy::default() };
    Profile { scores: ScoreSettings { strategy, ..ScoreSettings::default() }, ..Profile::named("packing") }
}

fn without(name: &str, off: Filter) -> Profile {
    let filters = FilterSettings { off: [off].into_iter().collect(), ..FilterSettings::default() };
    Profile { filters, ..Profile::named(name) }
}

fn of(scheduler: &str, pod: Pod) -> Pod {
    Pod { scheduler: scheduler.into(), ..pod }
}

#[test]
fn pods_of_one_shape_are_placed_as_their_profiles_say() {
    let mut world = world_with(vec![Profile::named("spreading"), packing()]);
    world.fact(node("small", 2_000));
    world.fact(node("large", 8_000));
    // One after the other, so that answers that were kept for one profile are there when the other asks.
    for (name, scheduler) in
        [("s1", "spreading"), ("p1", "packing"), ("s2", "spreading"), ("p2", "packing"), ("p3", "packing")]
    {
        world.add_pod(of(scheduler, pod(name, 500, &[])));
        world.settle();
    }
    for (name, expected) in
        [("s1", "large"), ("s2", "large"), ("p1", "small"), ("p2", "small"), ("p3", "small")]
    {
        assert_eq!(world.node_of(name).as_deref(), Some(expected), "{name}");
    }
}

#[test]
fn a_filter_that_is_off_keeps_nobody_away() {
    let mut world = world_with(vec![Profile::named("strict"), without("lenient", Filter::Resources)]);
    world.fact(node("a", 1_000));
    world.add_pod(of("strict", pod("s", 5_000, &[])));
    world.add_pod(of("lenient", pod("l", 5_000, &[])));
    world.settle();
    assert_eq!((world.node_of("s"), world.node_of("l").as_deref()), (None, Some("a")));
}

#[test]
fn without_the_filter_for_devices_claims_are_not_looked_at() {
    let mut world = world_with(vec![without("lenient", Filter::Devices)]);
    for change in [gpu_class(), node("a", 4_000), gpus("a", &[])] {
        world.fact(change);
    }
    world.add_pod(of("lenient", pod("p", 100, &["missing"])));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn gates_hold_a_pod_back_if_its_profile_heeds_them() {
    let heedless = Profile { heeds_gates: false, ..Profile::named("heedless") };
    let mut world = world_with(vec![Profile::named("heedful"), heedless]);
    world.fact(node("a", 4_000));
    for scheduler in ["heedful", "heedless"] {
        let gates = vec![Arc::from("example.com/wait")];
        world.add_pod(Pod { gates, ..of(scheduler, pod(scheduler, 100, &[])) });
    }
    world.settle();
    assert_eq!((world.node_of("heedful"), world.node_of("heedless").as_deref()), (None, Some("a")));
    let free = of("heedful", pod("heedful", 100, &[]));
    world.fact(Change::PodApplied(Arc::new(free)));
    world.settle();
    assert_eq!(world.node_of("heedful").as_deref(), Some("a"));
}
