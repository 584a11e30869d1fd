//! Random stories in which no wake-up is lost: when all that could be done is done, the clock alone changes nothing.
//!
//! A pod that sleeps is tried again after a while whatever happens. If it finds a place then, or preempts another, there was a
//! change before that could have helped it and did not wake it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::Change;
use model::claim::Amount;
use model::group::{Disruption, Group};
use model::identity::{NodeName, PodUid};
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{Pod, Resources, Shape};

use crate::GPUS_BY_CLASS;
use crate::gangs::{applied, gang, gang_world};
use crate::turmoil::{Dice, collect};
use crate::wakes::{claim_of, class, slice};
use crate::wakes_of_pods::{evenly, reshape, term, with};
use crate::world::{World, claim_id, named_pod, node, pod};

const NODES: [&str; 3] = ["a", "b", "c"];
const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];
const CLASSES: [&str; 3] = ["gpu", "nic", "any"];
const APPS: [&str; 2] = ["web", "db"];

fn pick<'a>(dice: &mut Dice, all: &[&'a str]) -> &'a str {
    all[dice.below(all.len() as u64) as usize]
}

fn random_node(dice: &mut Dice, name: &str) -> Change {
    let taint = NodeTaint { key: "k".into(), value: "v".into(), effect: NodeTaintEffect::NoSchedule };
    let label = if dice.below(5) == 0 { "none" } else { name };
    Change::NodeApplied(Box::new(Node {
        name: name.into(),
        labels: BTreeMap::from([("name".into(), label.into())]),
        allocatable: Resources {
            cpu_milli: [50, 1_000, 4_000][dice.below(3) as usize],
            ..Resources::default()
        },
        pods_max: 1 + dice.below(4) as i64,
        taints: if dice.below(4) == 0 { vec![taint] } else { Vec::new() },
        ..Node::default()
    }))
}

fn random_class(dice: &mut Dice, name: &str) -> Change {
    let driver = match name {
        "any" => None,
        _ => Some(pick(dice, &DRIVERS)),
    };
    class(name, driver)
}

/// Pods that are placed together.
fn random_gang(dice: &mut Dice, world: &mut World, pods: &mut u64) {
    let (name, count) = (format!("g{pods}"), 2 + dice.below(2));
    let group = gang(&name, count as u32, 0, Disruption::default());
    let levels = if dice.below(2) == 0 { vec!["name".into()] } else { Vec::new() };
    world.fact(applied(Group { levels, preempts: dice.below(2) == 0, ..group }));
    for _ in 0..count {
        random_pod(dice, world, *pods, Some(&name));
        *pods += 1;
    }
}

/// Labels, and of so many pods three have rules about pods with such labels.
fn random_rules(dice: &mut Dice, shape: &mut Shape, of: u64) {
    shape.labels = BTreeMap::from([("app".into(), pick(dice, &APPS).into())]);
    let app = pick(dice, &APPS);
    match dice.below(of) {
        0 => shape.near = vec![term(app, "name")],
        1 => shape.apart = vec![term(app, "name")],
        2 => shape.spread = vec![evenly(app, "name")],
        _ => {}
    }
}

/// A pod changes where it is.
fn change_pod(dice: &mut Dice, world: &mut World, name: &str) {
    let Some(known) = world.pods.get(&*format!("uid-{name}")).cloned() else { return };
    match dice.below(5) {
        0 | 1 => {
            let app = pick(dice, &APPS);
            reshape(world, name, |shape| shape.labels = BTreeMap::from([("app".into(), app.into())]));
        }
        2 | 3 => {
            let cpu_milli = [50, 300, 900][dice.below(3) as usize];
            reshape(world, name, |shape| shape.requests.cpu_milli = cpu_milli);
        }
        _ if known.node.is_some() => world.add_pod(Pod { deleting: true, ..known }),
        _ => {}
    }
}

fn random_pod(dice: &mut Dice, world: &mut World, number: u64, group: Option<&str>) {
    let name = format!("p{number}");
    let mut claims = Vec::new();
    for _ in 0..dice.below(3) {
        let id = match dice.below(3) {
            0 => format!("shared-{}", dice.below(3)),
            _ => format!("{name}-{}", claims.len()),
        };
        if !world.claims.contains_key(&claim_id(&id)) {
            let amount = if dice.below(6) == 0 { Amount::All } else { Amount::Exactly(1) };
            world.add_claim(claim_of(&id, pick(dice, &CLASSES), amount));
        }
        if !claims.contains(&id) {
            claims.push(id);
        }
    }
    let claims: Vec<&str> = claims.iter().map(|name| &**name).collect();
    let mut made = match dice.below(5) {
        0 => named_pod(&name, GPUS_BY_CLASS, 1, &claims),
        _ => pod(&name, [100, 600][dice.below(2) as usize], &claims),
    };
    if dice.below(3) == 0 {
        let node_labels = BTreeMap::from([("name".into(), pick(dice, &NODES).into())]);
        made.shape = Arc::new(Shape { node_labels, ..Shape::clone(&made.shape) });
    }
    made = with(made, |shape| random_rules(dice, shape, 12));
    let priority = if group.is_some() { 0 } else { [0, 0, 0, 5][dice.below(4) as usize] };
    world.add_pod(Pod { priority, group: group.map(Into::into), ..made });
}

fn happen(dice: &mut Dice, world: &mut World, pods: &mut u64) {
    let node = pick(dice, &NODES);
    match dice.below(17) {
        0..=3 => {
            random_pod(dice, world, *pods, None);
            *pods += 1;
        }
        4 => random_gang(dice, world, pods),
        5 | 6 if *pods > 0 => world.let_go(&format!("p{}", dice.below(*pods))),
        7 if *pods > 0 => {
            world.remove_pod(&format!("p{}", dice.below(*pods)));
            world.settle();
            collect(world);
        }
        8 | 9 => {
            let change = random_node(dice, node);
            world.fact(change);
        }
        10 | 11 => {
            let (driver, devices) = (pick(dice, &DRIVERS), ["d0", "d1"]);
            let slices = if dice.below(4) == 0 { 2 } else { 1 };
            world.fact(slice(node, driver, &devices[..dice.below(3) as usize], slices));
        }
        12 => world.fact(Change::SliceGone(format!("{node}-{}", pick(dice, &DRIVERS)).into())),
        13 => {
            let change = random_class(dice, pick(&mut Dice(dice.0), &CLASSES));
            world.fact(change);
        }
        14..=16 if *pods > 0 => {
            let name = format!("p{}", dice.below(*pods));
            change_pod(dice, world, &name);
        }
        _ => {}
    }
}

fn bound(world: &World) -> Vec<(PodUid, Option<NodeName>)> {
    world.pods.values().map(|pod| (pod.uid.clone(), pod.node.clone())).collect()
}

/// What happens to pods alone: they come, change and go, on nodes that are nearly full.
fn crowd(dice: &mut Dice, world: &mut World, pods: &mut u64) {
    match dice.below(8) {
        0..=2 => {
            let plain = pod(&format!("p{pods}"), [100, 300, 600][dice.below(3) as usize], &[]);
            let made = with(plain, |shape| random_rules(dice, shape, 4));
            world.add_pod(made);
            *pods += 1;
        }
        3..=6 if *pods > 0 => {
            let name = format!("p{}", dice.below(*pods));
            change_pod(dice, world, &name);
        }
        7 if *pods > 0 => world.let_go(&format!("p{}", dice.below(*pods))),
        _ => {}
    }
}

fn play(seed: u64, mut dice: Dice, mut world: World, happen: fn(&mut Dice, &mut World, &mut u64)) {
    let mut pods = 0;
    for step in 0..25 {
        for _ in 0..=dice.below(2) {
            happen(&mut dice, &mut world, &mut pods);
        }
        for _ in 0..4 {
            world.settle();
            world.later(11);
        }
        let before = bound(&world);
        world.told.clear();
        world.later(301);
        world.settle();
        assert_eq!(bound(&world), before, "seed {seed}, step {step}: {:?}", world.told);
        let preempted = world.told.iter().find(|line| line.contains(" preempted by "));
        assert_eq!(preempted, None, "seed {seed}, step {step}");
    }
}

#[test]
fn the_clock_alone_helps_no_pod() {
    for seed in 0..60 {
        let (mut world, mut dice) = (gang_world(), Dice(seed));
        for name in CLASSES {
            let change = random_class(&mut dice, name);
            world.fact(change);
        }
        play(seed, dice, world, happen);
    }
}

#[test]
fn the_clock_alone_helps_no_pod_beside_pods_that_change() {
    for seed in 0..60 {
        let mut world = gang_world();
        for name in NODES {
            let Change::NodeApplied(node) = node(name, 1_000) else { unreachable!("a node comes") };
            let labels = BTreeMap::from([("name".into(), name.into())]);
            world.fact(Change::NodeApplied(Box::new(Node { labels, ..*node })));
        }
        play(seed, Dice(seed), world, crowd);
    }
}
