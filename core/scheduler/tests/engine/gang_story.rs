//! Random stories of gangs and single pods that matter more and less: gangs displace and are displaced, as a whole where they say
//! so, no pod sleeps through what could help, and the engine comes to rest.

use std::collections::BTreeMap;

use cluster::change::{Change, GroupChange};
use cluster::claims::ClaimState;
use model::group::{Composite, Disruption, Group};
use model::pod::Pod;
use scheduler::write::Write;

use crate::gangs::{applied, gang, member_of, node_in};
use crate::group_trees::{id, tree_world};
use crate::turmoil::Dice;
use crate::world::{World, claim, gpu_class, gpus, pod};

/// A group by name: how many of it are needed, how important it is, how it goes, and what it is in.
type Kind = (&'static str, u32, i32, Disruption, Option<&'static str>);

const SINGLE: Disruption = Disruption::Single;
const WHOLE: Disruption = Disruption::Whole;

/// Groups, and groups of those.
struct Play {
    groups: [Kind; 3],
    trees: &'static [Kind],
    /// Pods of these groups go together.
    whole: &'static [&'static str],
}

const GANGS: Play = Play {
    groups: [("g0", 2, 0, SINGLE, None), ("g1", 2, 5, WHOLE, None), ("g2", 3, 10, SINGLE, None)],
    trees: &[],
    whole: &["g1"],
};

/// A tree that goes as a whole, and one that needs one of its groups.
const TREES: Play = Play {
    groups: [
        ("g0", 1, 5, SINGLE, Some("t")),
        ("g1", 2, 5, SINGLE, Some("t")),
        ("g2", 2, 10, SINGLE, Some("u")),
    ],
    trees: &[("t", 2, 5, WHOLE, None), ("u", 1, 10, SINGLE, None)],
    whole: &["g0", "g1"],
};

struct Story {
    world: World,
    play: &'static Play,
    dice: Dice,
    /// Nodes, slices and groups as they are, to be told to another engine.
    facts: BTreeMap<String, Change>,
    pods: u64,
    evictions: usize,
}

impl Story {
    fn begin(seed: u64, play: &'static Play) -> Story {
        let (world, dice, facts) = (tree_world(), Dice(seed), BTreeMap::new());
        let mut story = Story { world, play, dice, facts, pods: 0, evictions: 0 };
        story.fact("class", gpu_class());
        for (name, at_least, priority, disruption, _) in play.trees {
            let composite = Composite {
                id: id(name),
                at_least: *at_least,
                priority: *priority,
                disruption: *disruption,
                preempts: true,
                ..Composite::default()
            };
            story.fact(name, Change::Group(GroupChange::CompositeApplied(Box::new(composite))));
        }
        for (name, at_least, priority, disruption, parent) in play.groups {
            let group = gang(name, at_least, priority, disruption);
            story.fact(name, applied(Group { parent: parent.map(Into::into), ..group }));
        }
        story
    }

    fn fact(&mut self, name: &str, change: Change) {
        self.world.fact(change.clone());
        match change {
            Change::NodeGone(_) | Change::SliceGone(_) => drop(self.facts.remove(name)),
            other => drop(self.facts.insert(name.to_owned(), other)),
        }
    }

    fn event(&mut self) {
        let number = self.dice.below(4);
        let which = format!("n{number}");
        match self.dice.below(16) {
            0 | 1 => {
                let cpu = 1_000 * (1 + self.dice.below(3) as i64);
                self.fact(&which, node_in(&format!("r{}", number / 2), &which, cpu));
            }
            2 | 3 => {
                let cards = &["g0", "g1", "g2"][..1 + self.dice.below(3) as usize];
                self.fact(&format!("slice {which}"), gpus(&which, cards));
            }
            4 => {
                let name = format!("{which}-gpus");
                self.fact(&format!("slice {which}"), Change::SliceGone(name.as_str().into()));
            }
            5 | 6 if self.pods > 0 => {
                let name = format!("p{}", self.dice.below(self.pods));
                self.world.let_go(&name);
            }
            7 => self.let_going_go(),
            _ => self.come(),
        }
    }

    /// A pod comes, of a gang or by itself, with a claim of its own or none.
    fn come(&mut self) {
        let name = format!("p{}", self.pods);
        self.pods += 1;
        let cpu = 300 * (1 + self.dice.below(3) as i64);
        let claims: &[&str] = if self.dice.below(2) == 0 { &[&name] } else { &[] };
        if !claims.is_empty() {
            self.world.add_claim(claim(&name));
        }
        let pod = pod(&name, cpu, claims);
        let pod = match self.play.groups.get(self.dice.below(4) as usize) {
            Some((gang, _, priority, ..)) => member_of(gang, *priority, pod),
            None => Pod { priority: [0, 3, 7][self.dice.below(3) as usize], ..pod },
        };
        self.world.add_pod(pod);
    }

    fn let_going_go(&mut self) {
        let going = self.world.pods.values().filter(|pod| pod.deleting);
        let going: Vec<String> = going.map(|pod| pod.id.name.to_string()).collect();
        going.iter().for_each(|name| self.world.let_go(name));
        // What a cluster's controller does: claims that no pod uses any more give their devices back.
        let claims = self.world.claims.values();
        let unused = claims.filter(|one| one.allocation.is_some() && one.reserved_for.is_empty());
        let unused: Vec<ClaimState> =
            unused.map(|one| ClaimState { allocation: None, ..one.clone() }).collect();
        unused.into_iter().for_each(|one| self.world.add_claim(one));
    }

    /// Takes a turn; what goes of a group that is disrupted as a whole goes with all others of it.
    fn turn(&mut self, seed: u64) {
        let before = self.world.evicted().len();
        self.world.turn();
        let evicted = self.world.evicted().split_off(before);
        self.evictions += evicted.len();
        let whole = self.play.whole;
        let is_whole = |pod: &&Pod| {
            pod.group.as_ref().is_some_and(|group| whole.contains(&&*group.to_string())) && pod.node.is_some()
        };
        let members: Vec<&Pod> = self.world.pods.values().filter(is_whole).collect();
        let is_asked = |pod: &&Pod| evicted.iter().any(|name| **name == *pod.id.name);
        if members.iter().any(is_asked) {
            let all = self.world.evicted();
            let stays = |pod: &&&Pod| !pod.deleting && !all.iter().any(|name| **name == *pod.id.name);
            let staying: Vec<_> = members.iter().filter(stays).map(|pod| &pod.id.name).collect();
            assert!(staying.is_empty(), "seed {seed}: {staying:?} stay of a group that goes");
        }
    }

    /// Another engine, told all that there is, finds nothing to do.
    fn check_nothing_missed(self, seed: u64) {
        let Story { world, facts, .. } = self;
        let mut fresh = World { now: world.now, revision: world.revision, ..tree_world() };
        facts.into_values().for_each(|change| fresh.fact(change));
        world.claims.into_values().for_each(|claim| fresh.add_claim(claim));
        world.pods.into_values().for_each(|pod| fresh.add_pod(pod));
        fresh.open.clear();
        fresh.turn();
        let is_said = |write: &Write| {
            matches!(write, Write::Note { .. } | Write::NoteGroup { .. } | Write::Nominate { node: None, .. })
        };
        let missed: Vec<_> = fresh.open.iter().filter(|(_, write)| !is_said(write)).collect();
        assert!(missed.is_empty(), "seed {seed}: {missed:?}");
    }
}

/// How many members of gangs have a node in the end, and how many pods were evicted.
fn story(seed: u64, play: &'static Play) -> (usize, usize) {
    let mut story = Story::begin(seed, play);
    for _ in 0..80 {
        story.event();
        story.world.lingering = story.dice.below(2) == 0;
        if story.dice.below(2) == 0 {
            story.turn(seed);
        }
        if story.dice.below(2) == 0 {
            story.world.carry_out();
        }
        let seconds = story.dice.below(3) as i64;
        story.world.later(seconds);
    }
    for _ in 0..8 {
        story.world.settle();
        story.let_going_go();
        story.world.later(12);
    }
    let members = story.world.pods.values().filter(|pod| pod.group.is_some() && pod.node.is_some());
    let placed = members.count();
    let evictions = story.evictions;
    story.check_nothing_missed(seed);
    (placed, evictions)
}

#[test]
fn gangs_that_matter_more_and_less_come_to_rest_and_nobody_sleeps_through_a_chance() {
    let (mut placed, mut evicted) = (0, 0);
    for seed in 0..40 {
        let (of_gangs, evictions) = story(seed, &GANGS);
        placed += of_gangs;
        evicted += evictions;
    }
    assert!(placed > 60 && evicted > 30, "{placed} members were placed and {evicted} evicted");
}

#[test]
fn trees_that_matter_more_and_less_come_to_rest_and_nobody_sleeps_through_a_chance() {
    let (mut placed, mut evicted) = (0, 0);
    for seed in 0..40 {
        let (of_gangs, evictions) = story(seed, &TREES);
        placed += of_gangs;
        evicted += evictions;
    }
    assert!(placed > 60 && evicted > 30, "{placed} members were placed and {evicted} evicted");
}
