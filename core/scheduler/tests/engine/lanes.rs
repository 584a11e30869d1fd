//! With any number of lanes the same is decided, with the same work: random stories, told to engines with one lane and with more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cluster::change::Change;
use decisions::lanes::Lanes;
use model::node::{Node, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodTerm, Resources, Shape, Spread};

use crate::device_preemption::network;
use crate::turmoil::{Dice, collect};
use crate::world::{World, alternatives, claim, claim_id, gpu_class, gpus, pod, world};

const HOST: &str = "kubernetes.io/hostname";

/// Lanes that are worth it for any number of nodes, and of which the last is done first.
#[derive(Debug)]
pub struct Backwards {
    count: usize,
    /// How often there was something to do.
    pub runs: AtomicUsize,
}

impl Backwards {
    pub fn new(count: usize) -> Backwards {
        Backwards { count, runs: AtomicUsize::new(0) }
    }
}

impl Lanes for Backwards {
    fn count(&self) -> usize {
        self.count
    }

    fn begin_nanos(&self) -> u64 {
        1
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        (0..parts).rev().for_each(work);
    }
}

fn random_node(dice: &mut Dice, number: u64) -> Change {
    let name = format!("n{number}");
    let effect = NodeTaintEffect::named(["NoSchedule", "PreferNoSchedule"][dice.below(2) as usize]);
    let taint = NodeTaint { key: "k".into(), value: "v".into(), effect };
    let labels = [(HOST.into(), name.as_str().into()), ("zone".into(), format!("z{}", number % 3).into())];
    let cpu_milli = [500, 1_000, 2_000][dice.below(3) as usize];
    Change::NodeApplied(Box::new(Node {
        name: name.into(),
        labels: labels.into(),
        allocatable: Resources { cpu_milli, memory: 1 << 30, ..Resources::default() },
        pods_max: 10,
        taints: if dice.below(4) == 0 { vec![taint] } else { Vec::new() },
        ..Node::default()
    }))
}

fn random_cards(dice: &mut Dice, number: u64) -> Change {
    gpus(&format!("n{number}"), &["g0", "g1", "g2"][..1 + dice.below(3) as usize])
}

pub fn selector(app: &str) -> LabelSelector {
    LabelSelector::All(vec![Requirement {
        key: "app".into(),
        operator: Operator::In,
        values: vec![app.into()],
    }])
}

/// A pod of an application, which may have rules about others of it.
fn random_pod(dice: &mut Dice, world: &mut World, number: u64) -> Pod {
    let name = format!("p{number}");
    let claims = match dice.below(6) {
        0 => vec![format!("shared-{}", dice.below(2))],
        1 => vec![format!("list-{number}")],
        2 | 3 => vec![name.clone()],
        _ => Vec::new(),
    };
    for one in claims.iter().filter(|one| !world.claims.contains_key(&claim_id(one))).collect::<Vec<_>>() {
        let state = if one.starts_with("list") { alternatives(one, &[2, 1]) } else { claim(one) };
        world.add_claim(state);
    }
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let made = pod(&name, [100, 300, 700][dice.below(3) as usize], &claims);
    let app = ["web", "db"][dice.below(2) as usize];
    let labels = BTreeMap::from([("app".into(), app.into())]);
    let mut shape = Shape { labels, ..Shape::clone(&made.shape) };
    let key: Arc<str> = [HOST, "zone"][dice.below(2) as usize].into();
    let term = || PodTerm {
        selector: selector(app),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: key.clone(),
    };
    match dice.below(8) {
        0 => shape.apart = vec![term()],
        1 => shape.near = vec![term()],
        2 => shape.preferred_pods = vec![(5, term())],
        3 => {
            shape.spread = vec![Spread {
                max_skew: 1,
                key: key.clone(),
                required: dice.below(2) == 0,
                selector: selector(app),
                min_domains: 1,
                honor_affinity: true,
                honor_taints: false,
            }];
        }
        _ => {}
    }
    let priority = [0, 0, 3, 7][dice.below(4) as usize];
    Pod { priority, shape: Arc::new(shape), ..made }
}

/// All that was told and written, and how much work each step was; and how often lanes had something to do.
fn story(seed: u64, count: usize) -> (String, usize) {
    let (mut world, mut dice) = (world(), Dice(seed));
    let lanes = Arc::new(Backwards { count, runs: AtomicUsize::new(0) });
    world.engine = crate::world::engine().with_lanes(lanes.clone());
    if seed.is_multiple_of(3) {
        // Searches end before they have seen all.
        world.engine = world.engine.with_work_max(20_000 + 10_000 * dice.below(10));
    }
    world.fact(gpu_class());
    let (mut pods, mut log) = (0, String::new());
    for step in 0..60 {
        match dice.below(12) {
            0 | 1 => {
                let number = dice.below(12);
                let change = random_node(&mut dice, number);
                world.fact(change);
                let cards = random_cards(&mut dice, number);
                world.fact(cards);
            }
            2 => world.fact(Change::NodeGone(format!("n{}", dice.below(12)).as_str().into())),
            3 => world.fact(network(&["net"])),
            4 | 5 if pods > 0 => {
                world.let_go(&format!("p{}", dice.below(pods)));
                collect(&mut world);
            }
            _ => {
                let made = random_pod(&mut dice, &mut world, pods);
                pods += 1;
                world.add_pod(made);
            }
        }
        world.lingering = dice.below(2) == 0;
        world.turn();
        log += &format!("{step}: {:?} {}\n", world.open, world.engine.work_done());
        if dice.below(3) > 0 {
            world.carry_out();
        }
        world.later(dice.below(3) as i64);
    }
    (log + &world.told.join("\n"), lanes.runs.load(Ordering::Relaxed))
}

#[test]
fn the_same_is_decided_with_the_same_work_in_any_number_of_lanes() {
    let (mut placed, mut refused, mut preempted, mut runs) = (0, 0, 0, 0);
    for seed in 0..24 {
        let (one, _) = story(seed, 1);
        for lanes in [2, 3, 8] {
            let (more, used) = story(seed, lanes);
            assert_eq!(more, one, "seed {seed}, {lanes} lanes");
            runs += used;
        }
        placed += one.matches(" on n").count();
        refused += one.matches("nodes are available").count();
        preempted += one.matches("preempted by").count();
    }
    assert!(placed > 200 && refused > 200 && preempted > 10, "{placed}, {refused}, {preempted}");
    assert!(runs > 1_000, "{runs}");
}
