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
use crate::world::{World, claim_id, named_pod, pod};

const NODES: [&str; 3] = ["a", "b", "c"];
const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];
const CLASSES: [&str; 3] = ["gpu", "nic", "any"];

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
    let priority = if group.is_some() { 0 } else { [0, 0, 0, 5][dice.below(4) as usize] };
    world.add_pod(Pod { priority, group: group.map(Into::into), ..made });
}

fn happen(dice: &mut Dice, world: &mut World, pods: &mut u64) {
    let node = pick(dice, &NODES);
    match dice.below(14) {
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
        _ => {}
    }
}

fn bound(world: &World) -> Vec<(PodUid, Option<NodeName>)> {
    world.pods.values().map(|pod| (pod.uid.clone(), pod.node.clone())).collect()
}

fn play(seed: u64) {
    let (mut world, mut dice) = (gang_world(), Dice(seed));
    for name in CLASSES {
        let change = random_class(&mut dice, name);
        world.fact(change);
    }
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
    (0..60).for_each(play);
}
