//! Refusals can be walked: by rule for a pod, by domain for a gang, by group for a tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::groups::Root;
use decisions::cycle::{Caches, Cycle};
use decisions::gang::{Party, STEPS_MAX};
use decisions::gang_reason::GangReason;
use decisions::node_refusal::NodeRefusal;
use decisions::plans::Plans;
use decisions::profile::Profile;
use decisions::reason::{ClaimReason, Reason};
use decisions::settings::{Patience, Settings};
use decisions::underway::{Tie, Underway};
use gates::Gates;
use model::claim::ClaimId;
use model::group::{Composite, Group, GroupId};
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::{ClaimSource, Pod, PodClaim, PodId, Resources, Shape};
use model::timestamp::Timestamp;

const RACK: &str = "example.com/rack";

/// Nothing is being written.
struct Idle;

impl Underway for Idle {
    fn is_on_its_way(&self, _: &str) -> bool {
        false
    }

    fn is_being_reserved(&self, _: &ClaimId, _: Option<&str>) -> bool {
        false
    }

    fn reserving(&self, _: &ClaimId) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn is_given_up(&self, _: &ClaimId) -> bool {
        false
    }

    fn tie(&self, _: &str) -> Tie {
        Tie::None
    }
}

struct World {
    settings: Settings,
    facts: Facts,
    plans: Plans,
    caches: Caches,
}

impl World {
    fn new(nodes: impl IntoIterator<Item = Node>) -> World {
        let gates = Gates::all_on();
        let mut facts = Facts::new(gates);
        nodes.into_iter().for_each(|node| drop(facts.apply_node(node)));
        let settings = Settings {
            profiles: vec![Arc::new(Profile::named("s"))],
            gates,
            patience: Patience::default(),
            search_steps_max: 10_000,
        };
        World { settings, facts, plans: Plans::default(), caches: Caches::default() }
    }

    fn cycle(&mut self) -> Cycle<'_> {
        let now = Timestamp::from_micros(1_000_000);
        Cycle::new(&self.settings, &mut self.facts, (&self.plans, &Idle), &mut self.caches, now)
    }

    /// A group of pods that wait, and need so much processor each.
    fn group(&mut self, name: &str, pods: u32, cpu_milli: i64, parent: Option<&str>) -> Vec<Arc<Pod>> {
        let id = id(name);
        self.facts.groups.apply(Group {
            id: id.clone(),
            at_least: pods,
            levels: vec![RACK.into()],
            parent: parent.map(Into::into),
            ..Group::default()
        });
        let pod = |number: u32| {
            let group = Some(name.into());
            Arc::new(Pod { group, ..pod(&format!("{name}-{number}"), cpu_milli) })
        };
        let pods: Vec<Arc<Pod>> = (0..pods).map(pod).collect();
        for pod in &pods {
            self.facts.waiting.insert(pod.uid.clone(), pod.clone());
            self.facts.groups.wait(&id, &pod.uid, false);
        }
        pods
    }
}

fn id(name: &str) -> GroupId {
    GroupId { namespace: "default".into(), name: name.into() }
}

fn node(name: &str, rack: &str, cpu_milli: i64) -> Node {
    let allocatable = Resources { cpu_milli, ..Resources::default() };
    let labels = BTreeMap::from([(RACK.into(), rack.into())]);
    Node { name: name.into(), labels, pods_max: 10, allocatable, ..Node::default() }
}

fn pod(name: &str, cpu_milli: i64) -> Pod {
    let requests = Resources { cpu_milli, ..Resources::default() };
    let shape = Shape { namespace: "default".into(), requests, ..Shape::default() };
    Pod {
        id: PodId { namespace: "default".into(), name: name.into() },
        uid: name.into(),
        scheduler: "s".into(),
        shape: Arc::new(shape),
        ..Pod::default()
    }
}

#[test]
fn a_refused_pod_tells_for_each_rule_how_many_nodes_it_removes_and_one_of_them() {
    let mut tainted = node("c", "x", 4_000);
    tainted.taints.push(NodeTaint {
        key: "k".into(),
        value: "v".into(),
        effect: NodeTaintEffect::NoSchedule,
    });
    let mut world = World::new([node("a", "x", 1_000), node("b", "x", 500), tainted]);
    let refusal = world.cycle().choose(&pod("p", 2_000)).expect_err("no node will do");
    let told: Vec<(&str, usize, &str)> = refusal
        .removed()
        .map(|(reason, removed)| (reason.code(), removed.nodes, &*removed.example))
        .collect();
    assert_eq!(told, [("UntoleratedTaint", 1, "c"), ("InsufficientCpu", 2, "a")]);
    let numbers = refusal.removed().find_map(|(_, removed)| match &removed.detail {
        Some(NodeRefusal::Short(shortages)) => Some((shortages[0].requested, shortages[0].capacity)),
        _ => None,
    });
    assert_eq!(numbers, Some((2_000, 1_000)));
    assert_eq!(
        refusal.to_string(),
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
    );
}

#[test]
fn a_pod_whose_claim_is_missing_tells_which() {
    let mut world = World::new([node("a", "x", 1_000)]);
    let claims = vec![PodClaim { name: "gpu".into(), source: ClaimSource::Named("c".into()) }];
    let refusal = world.cycle().choose(&Pod { claims, ..pod("p", 1) }).expect_err("the claim is missing");
    let claim = ClaimId { namespace: "default".into(), name: "c".into() };
    assert_eq!(refusal.everywhere(), Some(&Reason::Claim(ClaimReason::NotFound(claim))));
}

#[test]
fn a_refused_gang_tells_for_each_domain_what_is_missing() {
    let nodes = [("a", "x", 1_000), ("b", "x", 2_000), ("c", "y", 1_000)];
    let mut world = World::new(nodes.map(|(name, rack, cpu)| node(name, rack, cpu)));
    let pods = world.group("g", 4, 1_000, None);
    let group = world.facts.groups.get(&id("g")).expect("it is there").clone();
    let mut cycle = world.cycle();
    let sought = cycle.seek(&group, &pods, None).expect("all of them can be placed somewhere");
    let miss = cycle.find_seats_anew(Party::Gang(&sought), &pods, STEPS_MAX).expect_err("there is no room");
    let GangReason::NoRoom(refusal) = &miss.why else { panic!("{miss:?}") };
    let lacks: Vec<(Option<&str>, u32)> =
        refusal.lacks.iter().map(|lack| (lack.domain.part(), lack.room_for)).collect();
    assert_eq!(lacks, [(Some("x"), 3), (Some("y"), 1)]);
    assert_eq!(miss.why.code(), "GroupDoesNotFit");
}

#[test]
fn a_refused_tree_tells_for_each_group_what_is_missing() {
    let mut world = World::new([node("a", "x", 2_000), node("b", "y", 1_000)]);
    world.facts.groups.apply_composite(Composite { id: id("all"), at_least: 2, ..Composite::default() });
    let mut pods = world.group("first", 2, 1_000, Some("all"));
    pods.extend(world.group("second", 2, 1_000, Some("all")));
    let mut cycle = world.cycle();
    let tree = cycle.seek_tree(&Root::Composite(id("all")), &pods).expect("it is known");
    let miss = cycle.find_seats_anew(Party::Tree(&tree), &pods, STEPS_MAX).expect_err("there is no room");
    let GangReason::Tree { groups, nearest } = &miss.why else { panic!("{miss:?}") };
    // The first was tried in another rack for the sake of the second.
    assert_eq!(groups.keys().cloned().collect::<Vec<_>>(), [id("first"), id("second")]);
    assert_eq!(groups[&id("second")].code(), "GroupDoesNotFit");
    assert!(matches!(&**nearest, GangReason::Group { group, beside: 1, .. } if *group == id("second")));
}
