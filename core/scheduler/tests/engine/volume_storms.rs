//! Random stories with volumes: provisioners that are slow, fail and take back, writes that fail or are told to have failed, and pods,
//! gangs and nodes that come and go meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use model::group::Disruption;
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{Pod, Shape};
use model::quantity::{Format, Quantity};
use model::volume::{
    StorageClass, StorageNode, Volume, VolumeClaim, VolumeClaimId, VolumeOwner, VolumeSource, VolumeWish,
};
use scheduler::engine::{Effect, Input};

use crate::gangs::{applied, gang, gang_world, node_in};
use crate::turmoil::{Dice, carry_out};
use crate::world::{World, pod};

const HOSTS: [&str; 3] = ["a", "b", "c"];
const DRIVER: &str = "disks.example.com";

/// Node `a` attaches so many volumes that are provisioned.
const LIMIT: i64 = 2;

fn storage(change: StorageChange) -> Change {
    Change::Storage(change)
}

fn reached_from(hosts: &[&str]) -> NodeSelector {
    let values = hosts.iter().map(|host| (*host).into()).collect();
    let labels = vec![Requirement { key: "host".into(), operator: Operator::In, values }];
    NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] }
}

/// What never changes: classes, the limit of a node, and volumes that are there.
fn ground(dice: &mut Dice) -> Vec<Change> {
    let mut facts: Vec<Change> = HOSTS.map(|host| node_in("r", host, 4_000)).into();
    for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", DRIVER)] {
        let (name, provisioner) = (name.into(), provisioner.into());
        let class = StorageClass { name, provisioner, waits_for_pod: true, ..StorageClass::default() };
        facts.push(storage(StorageChange::StorageClassApplied(class)));
    }
    let drivers = [(DRIVER.into(), Some(LIMIT))].into();
    facts.push(storage(StorageChange::NodeApplied(StorageNode { name: "a".into(), drivers })));
    for at in 0..4 {
        let hosts: Vec<&str> = HOSTS.into_iter().filter(|_| dice.below(2) == 0).collect();
        let volume = Volume {
            name: format!("v{at}").into(),
            class: "local".into(),
            capacity: Quantity::new(1 + dice.below(3) as i64, Format::DecimalSi),
            nodes: Some(reached_from(&hosts)),
            available: true,
            ..Volume::default()
        };
        facts.push(storage(StorageChange::VolumeApplied(Box::new(volume))));
    }
    facts
}

struct Story {
    world: World,
    dice: Dice,
    pods: usize,
    claims: usize,
    made: usize,
}

impl Story {
    fn begin(seed: u64) -> Story {
        let (mut world, mut dice) = (gang_world(), Dice(seed));
        ground(&mut dice).into_iter().for_each(|fact| world.fact(fact));
        Story { world, dice, pods: 0, claims: 0, made: 0 }
    }

    fn claim_anew(&mut self) -> Arc<str> {
        let name: Arc<str> = format!("c{}", self.claims).into();
        self.claims += 1;
        let class = ["local", "made"][self.dice.below(2) as usize];
        let claim = VolumeClaim {
            id: VolumeClaimId { namespace: "default".into(), name: name.clone() },
            uid: format!("uid-{name}").into(),
            class: Some(class.into()),
            wish: VolumeWish {
                size: Some(Quantity::new(1 + self.dice.below(2) as i64, Format::DecimalSi)),
                ..VolumeWish::default()
            },
            ..VolumeClaim::default()
        };
        self.world.fact(storage(StorageChange::VolumeClaimApplied(Box::new(claim))));
        name
    }

    /// A claim that there was before, or a new one.
    fn some_claim(&mut self) -> Arc<str> {
        match self.dice.below(4) {
            0 if self.claims > 0 => format!("c{}", self.dice.below(self.claims as u64)).into(),
            _ => self.claim_anew(),
        }
    }

    fn pod(&mut self, group: Option<usize>) {
        let claims = (0..1 + self.dice.below(2)).map(|_| self.some_claim()).collect();
        let pod = pod(&format!("p{}", self.pods), 500, &[]);
        self.pods += 1;
        let shape = Shape { volume_claims: claims, ..Shape::clone(&pod.shape) };
        let group = group.map(|group| format!("g{group}").as_str().into());
        self.world.add_pod(Pod { shape: Arc::new(shape), group, ..pod });
    }

    fn gang(&mut self) {
        let number = self.pods;
        self.world.fact(applied(gang(&format!("g{number}"), 2, 0, Disruption::default())));
        (0..2).for_each(|_| self.pod(Some(number)));
    }

    fn change_claim(&mut self, claim: &VolumeClaim, change: impl FnOnce(&mut VolumeClaim)) {
        let mut claim = claim.clone();
        self.world.revision += 1;
        claim.revision = self.world.revision;
        change(&mut claim);
        self.world.fact(storage(StorageChange::VolumeClaimApplied(Box::new(claim))));
    }

    /// What joins claims and volumes, and provisions them, does one step for a claim; it may fail.
    fn bind(&mut self, at: usize, may_fail: bool) {
        let volumes = &self.world.engine.facts().volumes;
        let Some(claim) = volumes.claim("default", &format!("c{at}")).cloned() else { return };
        if claim.bound {
            return;
        }
        let own = volumes.owned_by(&claim).find(|volume| volume.is_for(&claim)).map(|one| one.name.clone());
        if let Some(own) = own {
            return self.change_claim(&claim, |claim| {
                (claim.volume, claim.bound) = (Some(own), true);
            });
        }
        let Some(node) = claim.selected_node.clone() else { return };
        let is_there = self
            .world
            .engine
            .facts()
            .nodes
            .find(&node)
            .is_some_and(|at| self.world.engine.facts().nodes.get(at).node.is_some());
        if !is_there || (may_fail && self.dice.below(3) == 0) {
            return self.change_claim(&claim, |claim| claim.selected_node = None);
        }
        let name: Arc<str> = format!("made-{}", self.made).into();
        self.made += 1;
        let volume = Volume {
            name: name.clone(),
            class: "made".into(),
            capacity: Quantity::new(9, Format::DecimalSi),
            nodes: Some(reached_from(&[&node])),
            claim: Some(VolumeOwner { id: claim.id.clone(), uid: Some(claim.uid.clone()) }),
            source: VolumeSource::Driver { driver: DRIVER.into(), handle: name },
            ..Volume::default()
        };
        self.world.fact(storage(StorageChange::VolumeApplied(Box::new(volume))));
    }

    fn step(&mut self) {
        match self.dice.below(9) {
            0 if self.pods < 12 => self.pod(None),
            1 if self.pods < 12 => self.gang(),
            2 if self.pods > 0 => {
                let name = format!("p{}", self.dice.below(self.pods as u64));
                self.world.remove_pod(&name);
            }
            3 => {
                let host = HOSTS[self.dice.below(3) as usize];
                let is_empty = !self.world.pods.values().any(|pod| pod.node.as_deref() == Some(host));
                if self.dice.below(2) == 0 && is_empty {
                    self.world.fact(Change::NodeGone(host.into()));
                } else {
                    self.world.fact(node_in("r", host, 4_000));
                }
            }
            4 | 5 if self.claims > 0 => {
                let at = self.dice.below(self.claims as u64) as usize;
                self.bind(at, true);
            }
            6 => {
                let seconds = [1, 30, 700][self.dice.below(3) as usize];
                self.world.later(seconds);
            }
            _ => self.world.turn(),
        }
        if self.dice.below(2) == 0 {
            carry_out(&mut self.world, &mut self.dice);
        }
        self.judge();
    }

    /// What must hold at any time, by what the API has alone.
    fn judge(&self) {
        let volumes = &self.world.engine.facts().volumes;
        let mut owners: BTreeMap<VolumeClaimId, usize> = BTreeMap::new();
        let made = (0..self.made).map(|at| format!("made-{at}"));
        for name in (0..4).map(|at| format!("v{at}")).chain(made) {
            if let Some(owner) = volumes.volume(&name).and_then(|volume| volume.claim.as_ref()) {
                *owners.entry(owner.id.clone()).or_default() += 1;
            }
        }
        assert!(owners.values().all(|count| *count == 1), "a claim has two volumes: {owners:?}");
        let mut attached: BTreeMap<&str, std::collections::BTreeSet<&str>> = BTreeMap::new();
        for pod in self.world.pods.values() {
            let Some(node) = &pod.node else { continue };
            for name in &pod.shape.volume_claims {
                let claim = volumes.claim("default", name).expect("claims stay");
                assert!(claim.bound, "{} is bound before its claim {name}", pod.id);
                let volume = claim.volume.as_ref().and_then(|volume| volumes.volume(volume));
                let volume = volume.expect("a claim that is bound has its volume");
                let hosts = volume.nodes.iter().flat_map(|nodes| &nodes.terms[0].labels[0].values);
                assert!(
                    hosts.clone().any(|host| **host == **node),
                    "{} is on {node}, away from {}",
                    pod.id,
                    volume.name
                );
                if volume.source != VolumeSource::Other {
                    attached.entry(&**node).or_default().insert(&*volume.name);
                }
            }
        }
        let on_a = attached.get("a").map_or(0, |volumes| volumes.len());
        assert!(on_a as i64 <= LIMIT, "node a has {attached:?}");
        if self.world.engine.placing() == 0 {
            assert!(!volumes.has_plans(), "something is planned for nobody");
        }
    }

    /// Every controller does what is left to do; then a scheduler that begins anew finds nothing more.
    fn end(&mut self) {
        HOSTS.into_iter().for_each(|host| self.world.fact(node_in("r", host, 4_000)));
        for _ in 0..12 {
            self.world.later(400);
            self.world.settle();
            for at in 0..self.claims {
                self.bind(at, false);
                self.bind(at, false);
            }
            self.world.settle();
            self.judge();
        }
        assert_eq!(self.world.engine.placing(), 0, "somebody is on the way for ever");
        let mut anew = gang_world();
        let facts = self.world.engine.facts();
        for host in HOSTS {
            anew.fact(node_in("r", host, 4_000));
        }
        for class in ["local", "made"] {
            let class = StorageClass::clone(facts.volumes.class(class).expect("it is there"));
            anew.fact(storage(StorageChange::StorageClassApplied(class)));
        }
        let node = facts.volumes.node("a").expect("it is there").clone();
        anew.fact(storage(StorageChange::NodeApplied(node)));
        let made = (0..self.made).map(|at| format!("made-{at}"));
        for name in (0..4).map(|at| format!("v{at}")).chain(made) {
            if let Some(volume) = facts.volumes.volume(&name) {
                anew.fact(storage(StorageChange::VolumeApplied(Box::new(Volume::clone(volume)))));
            }
        }
        for at in 0..self.claims {
            if let Some(claim) = facts.volumes.claim("default", &format!("c{at}")) {
                anew.fact(storage(StorageChange::VolumeClaimApplied(Box::new(VolumeClaim::clone(claim)))));
            }
        }
        (0..self.pods)
            .for_each(|at| anew.fact(applied(gang(&format!("g{at}"), 2, 0, Disruption::default()))));
        self.world.pods.values().for_each(|pod| anew.fact(Change::PodApplied(Arc::new(pod.clone()))));
        let effects = anew.engine.handle(anew.now, Input::Turn { attempts: 100 });
        let places = |effect: &Effect| matches!(effect, Effect::Submit(_, write) if write.places().is_some());
        assert!(!effects.iter().any(places), "somebody sleeps who could go: {effects:?}");
    }
}

fn play(seed: u64) {
    let mut story = Story::begin(seed);
    (0..60).for_each(|_| story.step());
    story.end();
}

#[test]
fn whatever_happens_to_volumes_no_pod_is_where_its_volumes_are_not_and_nobody_sleeps() {
    for seed in 0..400 {
        let told = std::panic::catch_unwind(|| play(seed));
        assert!(told.is_ok(), "seed {seed}");
    }
}
