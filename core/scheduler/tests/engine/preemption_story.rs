//! Random stories with pods that matter more and less: whatever happens, kept answers are right, no pod sleeps through what
//! could help, and the engine comes to rest.

use std::collections::BTreeMap;

use cluster::change::Change;
use cluster::claims::ClaimState;
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::Pod;
use scheduler::write::Write;

use crate::device_preemption::network;
use crate::world::{World, claim, gpu_class, gpus, node, pod, world};

/// What became of a pod: its name, its node and its devices.
type Fate = (String, Option<String>, Vec<String>);

struct Story {
    world: World,
    random: u64,
    /// Nodes and slices as they are, to be told to another engine.
    facts: BTreeMap<String, Change>,
    pods: u64,
    evictions: usize,
}

impl Story {
    fn below(&mut self, bound: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    fn fact(&mut self, name: &str, change: Change) {
        self.world.fact(change.clone());
        match change {
            Change::NodeGone(_) | Change::SliceGone(_) => drop(self.facts.remove(name)),
            other => drop(self.facts.insert(name.to_owned(), other)),
        }
    }

    fn event(&mut self) {
        let which = format!("n{}", self.below(4));
        match self.below(16) {
            0 | 1 => {
                let cpu = 1_000 * (1 + self.below(3) as i64);
                self.fact(&which, node(&which, cpu));
            }
            2 => self.fact(&which, Change::NodeGone(which.as_str().into())),
            3 | 4 => {
                let cards = &["g0", "g1", "g2"][..1 + self.below(3) as usize];
                self.fact(&format!("slice {which}"), gpus(&which, cards));
            }
            5 => {
                let name = format!("{which}-gpus");
                self.fact(&format!("slice {which}"), Change::SliceGone(name.as_str().into()));
            }
            6 => {
                let gone = self.below(2) == 0;
                let change = if gone { Change::SliceGone("net-1".into()) } else { network(&["net"]) };
                self.fact("slice net", change);
            }
            7 | 8 if self.pods > 0 => {
                let name = format!("p{}", self.below(self.pods));
                self.world.let_go(&name);
            }
            9 => self.let_going_go(),
            _ => self.come(),
        }
    }

    /// A pod comes, with a claim of its own, a claim that others use too, or none.
    fn come(&mut self) {
        let name = format!("p{}", self.pods);
        self.pods += 1;
        let priority = [0, 0, 3, 7, 10][self.below(5) as usize];
        let cpu = 300 * (1 + self.below(3) as i64);
        let claims = match self.below(4) {
            0 => Vec::new(),
            1 => vec![format!("shared-{}", self.below(2))],
            _ => vec![name.clone()],
        };
        for one in &claims {
            if !self.world.claims.contains_key(&crate::world::claim_id(one)) {
                self.world.add_claim(claim(one));
            }
        }
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        self.world.add_pod(Pod { priority, ..pod(&name, cpu, &claims) });
    }

    fn let_going_go(&mut self) {
        let going = self.world.pods.values().filter(|pod| pod.deleting);
        let going: Vec<String> = going.map(|pod| pod.id.name.to_string()).collect();
        going.iter().for_each(|name| self.world.let_go(name));
        self.free_unused();
    }

    /// What a cluster's controller does: claims that no pod uses any more give their devices back.
    fn free_unused(&mut self) {
        let unused =
            self.world.claims.values().filter(|one| one.allocation.is_some() && one.reserved_for.is_empty());
        let unused: Vec<ClaimState> =
            unused.map(|one| ClaimState { allocation: None, ..one.clone() }).collect();
        unused.into_iter().for_each(|one| self.world.add_claim(one));
    }

    fn turn(&mut self) {
        self.world.turn();
        self.evictions += self.world.evicted().len();
    }
}

fn story(seed: u64, keeps_answers: bool) -> (Vec<Fate>, usize) {
    let mut story = Story { world: world(), random: seed, facts: BTreeMap::new(), pods: 0, evictions: 0 };
    if !keeps_answers {
        let effect = NodeTaintEffect::named("PreferNoSchedule");
        let taints = vec![NodeTaint { key: "k".into(), value: "v".into(), effect }];
        let useless = Node { name: "z".into(), unschedulable: true, taints, ..Node::default() };
        story.fact("z", Change::NodeApplied(Box::new(useless)));
    }
    story.fact("class", gpu_class());
    for _ in 0..80 {
        story.event();
        story.world.lingering = story.below(2) == 0;
        if story.below(2) == 0 {
            story.turn();
        }
        if story.below(2) == 0 {
            story.world.carry_out();
        }
        let seconds = story.below(3) as i64;
        story.world.later(seconds);
    }
    for _ in 0..8 {
        story.world.settle();
        story.let_going_go();
        story.world.later(12);
    }
    let fates = story.world.pods.values().map(|pod| {
        let devices = pod.claims.iter().flat_map(|claim| story.world.devices_of(&claim.name)).collect();
        (pod.id.name.to_string(), pod.node.as_ref().map(ToString::to_string), devices)
    });
    let fates = fates.collect();
    // No pod sleeps that could be placed: an engine that has just begun finds nothing to do.
    story.world.restart(story.facts.into_values());
    story.world.turn();
    let missed = story.world.open.iter().find(|(_, write)| !matches!(write, Write::Note { .. }));
    assert!(missed.is_none(), "seed {seed}: {missed:?}");
    (fates, story.evictions)
}

#[test]
fn pods_that_matter_more_and_less_come_to_rest_and_nobody_sleeps_through_a_chance() {
    let (mut placed, mut evicted) = (0, 0);
    for seed in 0..100 {
        let (kept, evictions) = story(seed, true);
        placed += kept.iter().filter(|(_, node, _)| node.is_some()).count();
        evicted += evictions;
        assert_eq!(kept, story(seed, false).0, "seed {seed}");
    }
    assert!(placed > 500 && evicted > 100, "{placed} pods were placed and {evicted} evicted");
}
