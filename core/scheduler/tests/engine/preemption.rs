//! Important pods make room for themselves: which pods go, where, and what is kept for which pod meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::budgets::DisruptionBudget;
use cluster::change::Change;
use decisions::preempt::PreemptionSettings;
use decisions::profile::Profile;
use model::node::{Node, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{HostPort, LabelSelector, Pod, PodTerm, Shape, Spread};
use model::timestamp::Timestamp;
use scheduler::news::{PreemptionNews, PreemptionOutcome};
use scheduler::queue::Entity;
use scheduler::write::Write;

use crate::world::{World, claim, engine, engine_with, gpu_class, gpus, node, pod, world};

/// A pod of a priority on a node already.
pub fn running(name: &str, priority: i32, node: &str, cpu_milli: i64) -> Pod {
    Pod { priority, node: Some(node.into()), ..pod(name, cpu_milli, &[]) }
}

fn urgent(name: &str, cpu_milli: i64) -> Pod {
    Pod { priority: 10, ..pod(name, cpu_milli, &[]) }
}

/// Nodes with a thousand thousandths of processor each.
fn nodes(names: &[&str]) -> World {
    let mut world = world();
    names.iter().for_each(|name| world.fact(node(name, 1_000)));
    world
}

fn with(mut pod: Pod, change: impl FnOnce(&mut Shape)) -> Pod {
    change(Arc::make_mut(&mut pod.shape));
    pod
}

pub fn labelled(pod: Pod, app: &str) -> Pod {
    with(pod, |shape| {
        shape.labels.insert("app".into(), app.into());
    })
}

fn apps(app: &str) -> LabelSelector {
    LabelSelector::All(vec![Requirement {
        key: "app".into(),
        operator: Operator::In,
        values: vec![app.into()],
    }])
}

pub fn budget(app: &str, allowed: i32) -> Change {
    let (namespace, name) = ("default".into(), app.into());
    let disrupted = BTreeSet::new();
    let budget = DisruptionBudget { namespace, name, selector: apps(app), allowed, disrupted };
    Change::BudgetApplied(Box::new(budget))
}

impl World {
    /// The names of pods whose eviction is asked for.
    pub fn evicted(&self) -> Vec<String> {
        let names = self.open.iter().filter_map(|(_, write)| match write {
            Write::Evict { pod, .. } => Some(pod.name.to_string()),
            _ => None,
        });
        names.collect()
    }

    /// What the last refusal of a pod said about preemption.
    pub fn hope(&self, pod: &str) -> String {
        let prefix = format!("{pod}: ");
        let told = self.told.iter().rev().find(|line| line.starts_with(&prefix));
        let hope = told.and_then(|line| line.split_once(" preemption: "));
        hope.map(|(_, hope)| hope.to_owned()).unwrap_or_default()
    }

    /// Another engine in place of the one that there was, told all that the API has.
    pub fn restart(&mut self, facts: impl IntoIterator<Item = Change>) {
        self.open.clear();
        self.engine = engine();
        facts.into_iter().for_each(|change| self.fact(change));
        let claims: Vec<_> = self.claims.values().cloned().collect();
        claims.into_iter().for_each(|claim| self.add_claim(claim));
        let pods: Vec<_> = self.pods.values().cloned().collect();
        pods.into_iter().for_each(|pod| self.add_pod(pod));
    }

    pub fn nominated(&self, pod: &str) -> Option<String> {
        self.pods[&*format!("uid-{pod}")].nominated_node.as_ref().map(ToString::to_string)
    }
}

#[test]
fn a_more_important_pod_displaces_a_less_important_one_and_takes_its_place() {
    let mut world = nodes(&["a"]);
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.turn();
    let writes: Vec<&Write> = world.open.iter().map(|(_, write)| write).collect();
    assert!(
        matches!(
            writes[..],
            [Write::Evict { .. }, Write::Nominate { node: Some(_), .. }, Write::Note { .. }]
        ),
        "{writes:?}"
    );
    assert_eq!(world.told[0], "low preempted by uid-high on a");
    let text = "high: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node a, preempting 1 victims";
    assert_eq!(world.told[1], text);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
    assert!(!world.pods.contains_key("uid-low"));
}

#[test]
fn pods_of_the_same_or_a_higher_priority_stay() {
    let mut world = nodes(&["a", "b"]);
    world.add_pod(running("same", 10, "a", 800));
    world.add_pod(running("higher", 11, "b", 800));
    world.add_pod(urgent("high", 500));
    world.turn();
    assert!(world.evicted().is_empty());
    let hope = "0/2 nodes are available: 2 No preemption victims found for incoming pod.";
    assert_eq!(world.hope("high"), hope);
}

#[test]
fn a_pod_that_may_not_preempt_waits() {
    let mut world = nodes(&["a"]);
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(Pod { preempts: false, ..urgent("high", 500) });
    world.turn();
    assert!(world.evicted().is_empty());
    assert_eq!(world.hope("high"), "not eligible due to preemptionPolicy=Never.");
}

#[test]
fn nobody_is_evicted_if_it_would_not_help() {
    let mut world = nodes(&["a", "b", "c"]);
    world.add_pod(running("low", 0, "a", 500));
    world.add_pod(running("same", 10, "a", 400));
    world.add_pod(running("alone", 10, "b", 800));
    let taint =
        NodeTaint { key: "k".into(), value: "v".into(), effect: NodeTaintEffect::named("NoSchedule") };
    world.fact(Change::NodeApplied(Box::new(Node {
        name: "c".into(),
        taints: vec![taint],
        ..Node::default()
    })));
    world.add_pod(running("tainted", 0, "c", 100));
    world.add_pod(urgent("high", 700));
    world.settle();
    assert!(world.pods.values().all(|pod| !pod.deleting) && world.pods.len() == 5);
    let hope = "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.";
    assert_eq!(world.hope("high"), hope);
}

#[test]
fn as_many_as_can_stay_and_the_most_important_first() {
    let mut world = nodes(&["a"]);
    for (name, priority, cpu) in [("tiny", 1, 100), ("mid", 3, 400), ("big", 2, 400)] {
        world.add_pod(running(name, priority, "a", cpu));
    }
    world.add_pod(urgent("high", 500));
    world.turn();
    assert_eq!(world.evicted(), ["big"], "mid matters more, and without big there is room for tiny");
}

#[test]
fn pods_that_a_budget_covers_stay_if_others_can_go_instead() {
    let mut world = nodes(&["a"]);
    world.fact(budget("web", 0));
    world.add_pod(labelled(running("covered", 1, "a", 500), "web"));
    world.add_pod(running("free", 5, "a", 500));
    world.add_pod(urgent("high", 500));
    world.turn();
    assert_eq!(world.evicted(), ["free"], "though it matters more");
}

#[test]
fn a_node_where_no_budget_is_violated_comes_first_and_a_violation_is_the_last_resort() {
    let mut world = nodes(&["a", "b"]);
    world.fact(budget("web", 0));
    world.add_pod(labelled(running("covered", 1, "a", 800), "web"));
    world.add_pod(running("free", 5, "b", 800));
    world.add_pod(urgent("high", 600));
    world.add_pod(urgent("next", 600));
    world.turn();
    assert_eq!(world.evicted(), ["free", "covered"]);
    let found = |violations| PreemptionOutcome::Found { pods: 1, units: 1, violations };
    let counted =
        [0, 1].map(|violations| (PreemptionNews { by: Entity::Pod, outcome: found(violations) }, 1));
    assert_eq!(world.engine.take_preemptions(), counted.into());
    world.settle();
    assert_eq!((world.node_of("high").as_deref(), world.node_of("next").as_deref()), (Some("b"), Some("a")));
}

#[test]
fn the_node_where_the_least_important_pods_go_is_chosen() {
    let mut world = nodes(&["a", "b", "c"]);
    world.add_pod(running("a1", 5, "a", 900));
    world.add_pod(running("b1", 4, "b", 500));
    world.add_pod(running("b2", 4, "b", 400));
    let started = Some(Timestamp::from_micros(1));
    world.add_pod(Pod { started, ..running("c1", 4, "c", 900) });
    world.add_pod(urgent("high", 900));
    world.turn();
    assert_eq!(world.evicted(), ["c1"], "one of priority 4 is less than two, and less than one of 5");
}

#[test]
fn of_equals_the_one_that_began_last_goes() {
    let mut world = nodes(&["a", "b", "c"]);
    for (name, node, started) in [("early", "a", 10), ("late", "b", 30), ("middle", "c", 20)] {
        let started = Some(Timestamp::from_micros(started));
        world.add_pod(Pod { started, ..running(name, 1, node, 900) });
    }
    world.add_pod(urgent("high", 900));
    world.turn();
    assert_eq!(world.evicted(), ["late"]);
}

#[test]
fn a_choice_is_made_among_no_more_nodes_than_the_settings_say() {
    let mut world = world();
    let preemption = Some(PreemptionSettings { candidates_min: 1, ..PreemptionSettings::default() });
    world.engine = engine_with(vec![Profile { preemption, ..Profile::named("supercargo") }]);
    for (name, priority) in [("a", 3), ("b", 1)] {
        world.fact(node(name, 1_000));
        world.add_pod(running(&format!("on-{name}"), priority, name, 900));
    }
    world.add_pod(urgent("high", 900));
    world.turn();
    assert_eq!(world.evicted(), ["on-a"], "the first that will do is enough");
}

#[test]
fn a_port_and_a_rule_about_other_pods_are_made_free_too() {
    let port = HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 };
    let mut world = nodes(&["a"]);
    world.add_pod(with(running("low", 0, "a", 0), |shape| shape.ports = vec![port.clone()]));
    world.add_pod(with(urgent("high", 0), |shape| shape.ports = vec![port]));
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));

    let mut world = world_with_zones();
    let apart = PodTerm {
        selector: apps("web"),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: "zone".into(),
    };
    world.add_pod(labelled(running("low", 0, "a", 0), "web"));
    world.add_pod(running("other", 0, "a", 0));
    world.add_pod(with(urgent("high", 0), |shape| shape.apart = vec![apart]));
    world.turn();
    assert_eq!(world.evicted(), ["low"]);
}

fn world_with_zones() -> World {
    let mut world = world();
    let labels = [("zone".into(), "z".into())].into();
    let node = Node { name: "a".into(), labels, pods_max: 10, ..Node::default() };
    world.fact(Change::NodeApplied(Box::new(node)));
    world
}

#[test]
fn pods_are_spread_by_the_going_of_others() {
    let mut world = world();
    for name in ["a", "b"] {
        let labels = [("host".into(), name.into())].into();
        let taints = if name == "b" {
            vec![NodeTaint {
                key: "k".into(),
                value: "v".into(),
                effect: NodeTaintEffect::named("NoSchedule"),
            }]
        } else {
            Vec::new()
        };
        let node = Node { name: name.into(), labels, taints, pods_max: 10, ..Node::default() };
        world.fact(Change::NodeApplied(Box::new(node)));
    }
    let rule = Spread {
        max_skew: 1,
        key: "host".into(),
        required: true,
        selector: apps("web"),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    world.add_pod(labelled(running("one", 0, "a", 0), "web"));
    world.add_pod(labelled(running("two", 1, "a", 0), "web"));
    world.add_pod(with(labelled(urgent("high", 0), "web"), |shape| shape.spread = vec![rule]));
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
    assert!(!world.pods.contains_key("uid-one") && !world.pods.contains_key("uid-two"));
}

#[test]
fn room_that_is_being_made_is_left_to_the_nominee_by_pods_that_matter_no_more() {
    let mut world = nodes(&["a"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("a"));
    world.add_pod(Pod { priority: 5, ..pod("less", 200, &[]) });
    world.add_pod(Pod { priority: 10, ..pod("equal", 200, &[]) });
    world.settle();
    assert_eq!((world.node_of("less"), world.node_of("equal")), (None, None), "800 and 500 are too much");
    world.add_pod(Pod { priority: 11, ..pod("more", 200, &[]) });
    world.settle();
    assert_eq!(world.node_of("more").as_deref(), Some("a"));
    world.let_go("low");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
    assert_eq!(world.node_of("equal").as_deref(), Some("a"), "now there is room for it");
}

#[test]
fn a_nominee_whose_victims_are_still_going_evicts_nobody_else() {
    let mut world = nodes(&["a", "b"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(running("other", 1, "b", 800));
    world.add_pod(urgent("high", 500));
    world.turn();
    assert_eq!(world.evicted(), ["low"]);
    // Something else wakes it, before and after the eviction is answered.
    for carry_out in [false, true] {
        if carry_out {
            world.carry_out();
        }
        world.fact(node("c", 100 + i64::from(carry_out)));
        world.later(2);
        world.turn();
        let others: Vec<_> = world.evicted().into_iter().filter(|name| name != "low").collect();
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(world.hope("high"), "found a potential placement for pod on node a, preempting 1 victims");
    }
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("a"));
    world.let_go("low");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
    assert_eq!(world.node_of("other").as_deref(), Some("b"));
}

#[test]
fn a_nominee_preempts_again_if_its_node_is_out_of_the_question_by_now() {
    let mut world = nodes(&["a", "b"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(running("other", 1, "b", 800));
    world.add_pod(urgent("high", 500));
    world.settle();
    world.fact(Change::NodeGone("a".into()));
    world.later(2);
    world.turn();
    assert_eq!(world.evicted(), ["other"]);
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("b"));
}

#[test]
fn the_nominated_node_is_taken_before_better_ones() {
    let mut world = nodes(&["a", "b"]);
    world.add_pod(running("some", 0, "b", 400));
    world.add_pod(Pod { nominated_node: Some("b".into()), ..urgent("high", 500) });
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("b"));
}

#[test]
fn another_engine_reads_nominations_from_the_api() {
    let mut world = nodes(&["a", "b"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(running("other", 1, "b", 900));
    world.add_pod(urgent("high", 500));
    world.settle();
    world.restart([node("a", 1_000), node("b", 1_000)]);
    world.add_pod(Pod { priority: 5, ..pod("less", 200, &[]) });
    world.settle();
    assert_eq!(world.nominated("high").as_deref(), Some("a"));
    assert_eq!(world.node_of("less"), None);
    assert_eq!(world.hope("high"), "found a potential placement for pod on node a, preempting 1 victims");
    world.let_go("low");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn a_nomination_that_leads_to_nothing_is_withdrawn_and_others_may_have_the_room() {
    let mut world = nodes(&["a"]);
    world.add_pod(running("top", 100, "a", 800));
    world.add_pod(Pod { nominated_node: Some("a".into()), ..urgent("high", 500) });
    world.add_pod(pod("small", 100, &[]));
    world.turn();
    assert!(world.open.iter().any(|(_, write)| matches!(write, Write::Nominate { node: None, .. })));
    world.later(2);
    world.settle();
    assert_eq!(world.nominated("high"), None);
    assert_eq!(world.node_of("small").as_deref(), Some("a"));
}

#[test]
fn less_important_nominees_of_a_node_make_way_and_look_for_another() {
    let mut world = nodes(&["a"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.settle();
    world.add_pod(Pod { priority: 20, ..pod("higher", 900, &[]) });
    world.turn();
    assert!(world.evicted().is_empty(), "who goes already need not be evicted");
    world.settle();
    assert_eq!((world.nominated("higher").as_deref(), world.nominated("high")), (Some("a"), None));
    world.let_go("low");
    world.later(2);
    world.settle();
    assert_eq!((world.node_of("higher").as_deref(), world.node_of("high")), (Some("a"), None));
}

#[test]
fn a_nominee_that_is_deleted_leaves_its_room_to_others() {
    let mut world = nodes(&["a"]);
    world.lingering = true;
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.settle();
    world.add_pod(Pod { priority: 5, ..pod("less", 200, &[]) });
    world.settle();
    assert_eq!(world.node_of("less"), None);
    world.remove_pod("high");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("less").as_deref(), Some("a"));
}

#[test]
fn an_eviction_that_fails_is_tried_again_after_a_while_and_not_at_once() {
    let mut world = nodes(&["a"]);
    world.fail.push(|write| matches!(write, Write::Evict { .. }));
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.turn();
    world.carry_out();
    world.turn();
    assert!(world.evicted().is_empty());
    world.later(2);
    world.turn();
    assert_eq!(world.evicted(), ["low"]);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn a_pod_on_its_way_to_its_node_can_be_displaced_too() {
    let mut world = nodes(&["a"]);
    world.add_pod(pod("low", 800, &[]));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Bind { .. })]));
    world.add_pod(urgent("high", 500));
    world.turn();
    assert_eq!(world.evicted(), ["low"]);
    world.settle();
    assert_eq!(world.node_of("high").as_deref(), Some("a"));
}

#[test]
fn a_pod_that_is_not_being_bound_yet_is_called_back_and_not_deleted() {
    let mut world = nodes(&["a"]);
    for change in [gpu_class(), gpus("a", &["card"])] {
        world.fact(change);
    }
    world.add_claim(claim("low"));
    world.add_pod(pod("low", 800, &["low"]));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]));
    world.add_pod(urgent("high", 500));
    world.turn();
    assert!(world.evicted().is_empty());
    assert!(world.told.contains(&"low preempted by uid-high on a".to_owned()));
    world.settle();
    world.later(2);
    world.settle();
    assert_eq!((world.node_of("high").as_deref(), world.node_of("low")), (Some("a"), None));
    assert!(world.pods.contains_key("uid-low"));
    world.let_go("high");
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("low").as_deref(), Some("a"));
}

#[test]
fn a_pod_that_is_called_back_leaves_its_devices_to_the_other() {
    let mut world = nodes(&["a"]);
    for change in [gpu_class(), gpus("a", &["card"])] {
        world.fact(change);
    }
    for name in ["low", "high"] {
        world.add_claim(claim(name));
    }
    world.add_pod(pod("low", 100, &["low"]));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]));
    let claims = pod("high", 100, &["high"]).claims;
    world.add_pod(Pod { claims, ..urgent("high", 100) });
    for _ in 0..3 {
        world.settle();
        world.later(12);
    }
    assert_eq!(world.devices_of("high"), ["card"], "{:?}", world.told);
    assert_eq!((world.node_of("high").as_deref(), world.node_of("low")), (Some("a"), None));
}

#[test]
fn several_important_pods_make_room_side_by_side() {
    let mut world = nodes(&["a", "b"]);
    world.lingering = true;
    for (name, node) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        world.add_pod(running(name, 0, node, 500));
    }
    for name in ["one", "two", "three"] {
        world.add_pod(urgent(name, 500));
    }
    world.turn();
    let evicted: BTreeSet<String> = world.evicted().into_iter().collect();
    assert_eq!(evicted.len(), 2, "there is room for one, and each of the others displaces one: {evicted:?}");
    world.settle();
    evicted.iter().for_each(|name| world.let_go(name));
    world.later(2);
    world.settle();
    assert!(["one", "two", "three"].iter().all(|name| world.node_of(name).is_some()));
}

#[test]
fn a_nomination_that_is_heard_of_after_the_pod_went_to_its_node_keeps_no_room() {
    let mut world = nodes(&["a"]);
    world.add_pod(running("low", 0, "a", 800));
    world.add_pod(urgent("high", 500));
    world.turn();
    let nomination = world.open.remove(1);
    assert!(matches!(nomination.1, Write::Nominate { .. }));
    world.carry_out();
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Bind { .. })]));
    let binding = world.open.remove(0);
    world.open.push(nomination);
    world.carry_out();
    world.add_pod(pod("small", 500, &[]));
    world.turn();
    world.open.push(binding);
    world.settle();
    assert_eq!((world.node_of("high").as_deref(), world.node_of("small").as_deref()), (Some("a"), Some("a")));
}
