//! Claims that drivers' own controllers give devices: which driver is asked what, which pods wait, and what is asked back.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::{Change, NegotiationChange};
use cluster::claims::{Allocated, ClaimState};
use cluster::contexts::PodContext;
use decisions::negotiation::NODES_MAX;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::claim::{Class, Control};
use model::identity::{ConsumerUid, NodeName};
use model::node::NodeSelector;
use model::pod::PodId;
use scheduler::engine::{Engine, Input};
use scheduler::news::Await;
use scheduler::write::{Write, WriteOutcome};

use crate::world::{World, claim, claim_id, gpu_class, gpus, node, pod, settings, world};

pub const DRIVER: &str = "fabric.example.com";

pub fn negotiating() -> World {
    let gates = Gates::default().with(Gate::DRAControlPlaneController, true);
    let mut world = world();
    world.engine = Engine::new(Settings { gates, ..settings() });
    world.fact(class("lent", DRIVER, None));
    world
}

pub fn class(name: &str, controller: &str, suitable: Option<NodeSelector>) -> Change {
    let control = Some(Arc::new(Control { controller: controller.into(), suitable }));
    Change::ClassApplied(Class { name: name.into(), control, ..Class::default() })
}

/// A claim of a class.
pub fn wanting(name: &str, class: &str) -> ClaimState {
    let mut state = claim(name);
    let wish = Arc::make_mut(&mut state.wish);
    let model::claim::Wish::Exactly(ask) = &mut wish.spec.requests[0].wish else {
        unreachable!("it asks for one device")
    };
    ask.class = class.into();
    state
}

pub fn lent(name: &str) -> ClaimState {
    wanting(name, "lent")
}

fn id(pod: &str) -> PodId {
    PodId { namespace: "default".into(), name: pod.into() }
}

fn texts(nodes: &[NodeName]) -> Vec<&str> {
    nodes.iter().map(|node| &**node).collect()
}

impl World {
    fn context(&self, pod: &str) -> &PodContext {
        &self.contexts[&id(pod)]
    }

    pub fn selected(&self, pod: &str) -> Option<&str> {
        self.contexts.get(&id(pod)).and_then(|context| context.selected.as_deref())
    }

    /// A driver says which nodes will not do for a claim of a pod.
    pub fn answer(&mut self, pod: &str, entry: &str, unsuitable: &[&str]) {
        let version = self.next_version();
        let context = self.contexts.get_mut(&id(pod)).expect("it is negotiated about");
        let nodes: BTreeSet<Arc<str>> = unsuitable.iter().map(|node| Arc::from(*node)).collect();
        context.answers.insert(entry.into(), nodes);
        context.version = version;
        let context = Box::new(context.clone());
        self.fact(Change::Negotiation(NegotiationChange::Applied(context)));
    }

    pub fn change_claim(&mut self, name: &str, change: impl FnOnce(&mut ClaimState)) {
        let mut state = self.claims[&claim_id(name)].clone();
        change(&mut state);
        self.add_claim(state);
    }

    /// A driver gives a claim something that can be used on these nodes, or everywhere, and reserves it for pods.
    pub fn give(&mut self, name: &str, driver: &str, node: Option<&str>, users: &[&str]) {
        let nodes = node.map(|node| NodeSelector::only(&node.into()));
        self.change_claim(name, |state| {
            state.allocation = Some(Arc::new(Allocated { nodes, held: Vec::new() }));
            state.control.controller = Some(driver.into());
            state.reserved_for = users.iter().map(|user| format!("uid-{user}").into()).collect();
        });
    }

    /// A driver takes back what it was asked for.
    pub fn take_back(&mut self, name: &str) {
        assert!(self.claims[&claim_id(name)].control.leaving, "nobody asked for it");
        self.change_claim(name, |state| {
            state.allocation = None;
            state.control = Default::default();
        });
    }

    fn awaited(&self) -> Vec<(Await, String, usize)> {
        let counts = self.engine.negotiating();
        counts.into_iter().map(|((what, driver), count)| (what, driver.to_string(), count)).collect()
    }
}

#[test]
fn with_one_claim_a_node_is_chosen_at_once_and_three_writes_of_ours_suffice() {
    let mut world = negotiating();
    world.fact(node("a", 1_000));
    world.fact(node("b", 2_000));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.turn();
    let writes: Vec<&str> = world.open.iter().map(|(_, write)| write.name()).collect();
    assert_eq!(writes, ["negotiate"], "the driver may answer soon");
    world.settle();
    assert_eq!(world.selected("p"), Some("b"), "the emptier one");
    assert_eq!(texts(&world.context("p").potential), ["a", "b"]);
    assert_eq!(world.awaited(), [(Await::Allocation, DRIVER.to_owned(), 1)]);
    let waits = format!("p: waiting for resource driver {DRIVER} to allocate claim c for node b");
    assert_eq!(world.told, [waits]);
    world.give("c", DRIVER, Some("b"), &["p"]);
    world.turn();
    // With the two of the driver, which protects the claim and gives it devices, these are five.
    let writes: Vec<&str> = world.open.iter().map(|(_, write)| write.name()).collect();
    assert_eq!(writes, ["bind"]);
    world.carry_out();
    let writes: Vec<&str> = world.open.iter().map(|(_, write)| write.name()).collect();
    assert_eq!(writes, ["end_negotiation"]);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    assert!(world.contexts.is_empty() && world.awaited().is_empty());
}

#[test]
fn with_several_claims_nothing_is_chosen_before_every_driver_has_answered() {
    let mut world = negotiating();
    world.fact(class("other", "nic.example.com", None));
    ["a", "b", "c"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("one"));
    world.add_claim(wanting("two", "other"));
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.settle();
    assert_eq!((world.selected("p"), world.context("p").potential.len()), (None, 3));
    world.answer("p", "one", &["a"]);
    world.settle();
    assert_eq!(world.selected("p"), None);
    assert_eq!(world.awaited(), [(Await::Information, "nic.example.com".to_owned(), 1)], "by name");
    world.answer("p", "two", &["b"]);
    world.settle();
    assert_eq!(world.selected("p"), Some("c"));
    world.give("one", DRIVER, None, &["p"]);
    world.settle();
    assert_eq!(world.node_of("p"), None, "the other is missing");
    world.give("two", "nic.example.com", Some("c"), &["p"]);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("c"));
}

#[test]
fn a_node_that_turns_out_not_to_do_is_replaced_and_nothing_is_said_twice() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    let first = world.selected("p").expect("chosen").to_owned();
    let version = world.context("p").version.clone();
    world.fact(node("z", 10));
    world.settle();
    assert_eq!(world.context("p").version, version, "a node that is too small changes nothing");
    world.answer("p", "c", &[&first]);
    world.settle();
    let second = world.selected("p").expect("chosen").to_owned();
    assert_ne!(first, second);
    world.answer("p", "c", &["a", "b"]);
    world.settle();
    let last = world.told.last().expect("refused").clone();
    assert!(last.contains("2 resourceclaim cannot be allocated for the node (unsuitable)"), "{last}");
    world.later(20);
    world.answer("p", "c", &[&second]);
    world.settle();
    assert_eq!(world.selected("p"), Some(&*first), "a driver may change its mind");
    world.answer("p", "c", &["a", "b"]);
    world.settle();
    assert!(world.awaited().is_empty(), "everything is said, and no driver is waited for");
    world.later(20);
    world.answer("p", "c", &[&second]);
    world.settle();
    let last = world.told.last().expect("it waits again").clone();
    assert!(last.ends_with(&format!("to allocate claim c for node {first}")), "it is said again: {last}");
}

#[test]
fn what_was_given_where_it_is_of_no_use_is_asked_back_once_nothing_is_chosen() {
    let mut world = negotiating();
    world.fact(class("other", "nic.example.com", None));
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("one"));
    world.add_claim(wanting("two", "other"));
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.settle();
    world.answer("p", "one", &[]);
    world.answer("p", "two", &[]);
    world.settle();
    let first = world.selected("p").expect("chosen").to_owned();
    let second = if first == "a" { "b" } else { "a" };
    world.give("one", DRIVER, Some(&first), &["p"]);
    world.settle();
    // The other driver finds out that it cannot.
    world.answer("p", "two", &[&first]);
    world.turn();
    let writes: Vec<&str> = world.open.iter().map(|(_, write)| write.name()).collect();
    assert_eq!(writes, ["negotiate", "note"], "first nothing is chosen any more");
    world.carry_out();
    let asked =
        |(_, write): &(_, Write)| matches!(write, Write::Deallocate { claim, .. } if *claim.name == *"one");
    assert!(world.selected("p").is_none() && world.open.iter().any(asked));
    world.settle();
    assert!(world.claims[&claim_id("one")].reserved_for.is_empty());
    world.take_back("one");
    world.settle();
    assert_eq!(world.selected("p"), Some(second));
    world.give("one", DRIVER, Some(second), &["p"]);
    world.give("two", "nic.example.com", Some(second), &["p"]);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some(second));
}

#[test]
fn classic_structured_shared_and_immediate_claims_can_be_mixed() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 4_000)));
    world.fact(gpu_class());
    world.fact(gpus("a", &["gpu-a"]));
    let mut immediate = lent("immediate");
    immediate.control.immediate = true;
    world.add_claim(immediate);
    world.add_claim(lent("shared"));
    world.add_claim(lent("own"));
    world.add_claim(claim("gpu"));
    world.add_pod(pod("p", 100, &["immediate", "shared", "own", "gpu"]));
    world.settle();
    assert!(world.contexts.is_empty(), "first it is the driver's turn");
    assert!(world.told[0].contains("unallocated immediate resourceclaim"), "{}", world.told[0]);
    world.give("immediate", DRIVER, None, &[]);
    world.later(20);
    world.settle();
    assert_eq!(texts(&world.context("p").potential), ["a"], "cards are there only");
    world.answer("p", "shared", &[]);
    world.answer("p", "own", &[]);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"));
    world.give("shared", DRIVER, None, &["p", "another"]);
    world.give("own", DRIVER, Some("a"), &["p"]);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
    assert_eq!(world.devices_of("gpu"), ["gpu-a"]);
    assert_eq!(*world.claims[&claim_id("immediate")].reserved_for, [ConsumerUid::from("uid-p")]);
}

#[test]
fn what_we_say_ourselves_wakes_nobody() {
    let mut world = negotiating();
    world.fact(node("a", 1_000));
    world.add_claim(lent("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world.carry_out();
    assert_eq!(world.selected("p"), Some("a"));
    assert!(!world.engine.wants_turn(world.now), "there is no answer yet");
}

#[test]
fn an_answer_wakes_its_own_pod_and_no_other() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    for name in ["x", "y"] {
        world.add_claim(lent(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    // One that sleeps since there are no cards.
    world.fact(gpu_class());
    world.add_claim(claim("gpu"));
    world.add_pod(pod("z", 100, &["gpu"]));
    world.settle();
    world.later(60);
    world.told.clear();
    assert_eq!(world.engine.counts().asleep, 3);
    world.answer("x", "x", &[]);
    assert_eq!((world.engine.counts().ready, world.engine.counts().asleep), (1, 2));
    world.settle();
    world.give("x", DRIVER, None, &["x"]);
    assert_eq!((world.engine.counts().ready, world.engine.counts().asleep), (1, 2));
    world.settle();
    assert_eq!(world.told, ["x on a"]);
}

#[test]
fn a_claim_that_cannot_be_shared_is_for_one_pod_and_what_is_leaving_for_nobody() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    world.add_claim(lent("c"));
    world.give("c", DRIVER, None, &["another"]);
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    assert!(world.told[0].contains("is in use, and cannot be shared"), "{}", world.told[0]);
    world.later(20);
    world.change_claim("c", |state| state.control.shareable = true);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
    world.add_claim(lent("d"));
    world.give("d", DRIVER, None, &[]);
    world.change_claim("d", |state| state.control.leaving = true);
    world.add_pod(pod("q", 100, &["d"]));
    world.settle();
    let last = world.told.last().expect("refused").clone();
    assert!(last.contains("must be reallocated"), "{last}");
}

#[test]
fn a_pod_that_waits_for_another_to_let_go_of_a_claim_hears_of_it() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    world.add_claim(lent("c"));
    world.give("c", DRIVER, None, &["another"]);
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("p"), None, "it cannot be shared");
    world.change_claim("c", |state| state.reserved_for.clear());
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn a_pod_is_not_bound_where_its_claim_had_devices_before() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("c"));
    world.give("c", DRIVER, Some("a"), &[]);
    world.add_pod(pod("p", 100, &["c"]));
    world.turn();
    let writes: Vec<&str> = world.open.iter().map(|(_, write)| write.name()).collect();
    assert_eq!(writes, ["reserve"]);
    // It was asked back before, and given anew: it is reserved, but not what was to be.
    world.give("c", DRIVER, Some("b"), &["p"]);
    world.carry_out();
    assert!(world.open.iter().all(|(_, write)| write.name() != "bind"), "{:?}", world.open);
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
}

#[test]
fn who_names_a_claim_that_was_asked_back_for_a_pod_that_is_gone_hears_of_it() {
    let mut world = negotiating();
    world.fact(node("a", 1_000));
    world.add_claim(lent("c"));
    world.give("c", DRIVER, Some("elsewhere"), &[]);
    world.add_pod(pod("p", 100, &["c"]));
    world.turn();
    let asked = |(_, write): &(_, Write)| matches!(write, Write::Deallocate { .. });
    let (write, _) = world.open.iter().find(|one| asked(one)).expect("it is of no use there").clone();
    world.open.clear();
    // The API does it, and the driver too, and the answer is late.
    world.remove_pod("p");
    world.add_pod(pod("q", 100, &["c"]));
    world.change_claim("c", |state| state.control.leaving = true);
    world.settle();
    world.take_back("c");
    world.settle();
    world.later(20);
    world.settle();
    assert_eq!(world.selected("q"), None, "it could be asked for once more before the answer");
    world.tell(Input::Settled(write, WriteOutcome::Done));
    world.settle();
    assert_eq!(world.selected("q"), Some("a"));
}

#[test]
fn classes_keep_their_claims_off_nodes() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.fact(class("lent", DRIVER, Some(NodeSelector::only(&"b".into()))));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    assert_eq!(texts(&world.context("p").potential), ["b"]);
}

#[test]
fn of_many_nodes_as_many_are_named_as_may_be_and_every_one_is_in_the_end() {
    let mut world = negotiating();
    let names: Vec<String> = (0..300).map(|number| format!("n-{number:03}")).collect();
    names.iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    assert_eq!(world.context("p").potential.len(), NODES_MAX);
    // Only one node will do, and the driver forgets what it said of others before.
    for round in 0.. {
        assert!(round < 50, "it is never asked about");
        let context = world.context("p");
        assert_eq!(context.potential.len(), NODES_MAX);
        assert!(context.potential.contains(context.selected.as_ref().expect("one is chosen")));
        if context.selected.as_deref() == Some("n-217") {
            break;
        }
        let mut unsuitable = texts(&context.potential).into_iter().map(str::to_owned).collect::<Vec<_>>();
        unsuitable.retain(|node| node != "n-217");
        world.answer("p", "c", &unsuitable.iter().map(String::as_str).collect::<Vec<_>>());
        world.settle();
    }
}

#[test]
fn what_was_negotiated_before_a_restart_goes_on_after_it() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    let chosen = world.selected("p").expect("chosen").to_owned();
    let contexts = world.contexts.clone();
    let mut after = negotiating();
    // The other way round, so that by itself another node would be best.
    ["b", "a"].iter().for_each(|name| after.fact(node(name, 1_000)));
    after.revision = world.revision;
    for context in contexts.into_values() {
        after.contexts.insert(context.pod.clone(), context.clone());
        after.fact(Change::Negotiation(NegotiationChange::Applied(Box::new(context))));
    }
    after.add_claim(lent("c"));
    after.add_pod(pod("p", 100, &["c"]));
    after.turn();
    assert!(after.open.is_empty(), "the driver may answer soon: {:?}", after.open);
    after.give("c", DRIVER, Some(&chosen), &["p"]);
    after.settle();
    assert_eq!(after.node_of("p"), Some(chosen));
    assert!(after.contexts.is_empty());
}

#[test]
fn without_the_feature_such_claims_are_refused() {
    let mut world = world();
    world.fact(class("lent", DRIVER, None));
    world.fact(node("a", 1_000));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    assert!(world.told[0].contains("depends on disabled DRAControlPlaneController"), "{}", world.told[0]);
}

#[test]
fn a_late_word_of_a_context_that_is_gone_does_not_hide_the_one_that_took_its_place() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("c"));
    world.add_pod(pod("p", 100, &["c"]));
    world.settle();
    world.answer("p", "c", &[]);
    let mut late = world.context("p").clone();
    (late.uid, late.owner, late.version) = ("before".into(), "uid-before".into(), "0".into());
    world.fact(Change::Negotiation(NegotiationChange::Applied(Box::new(late))));
    world.turn();
    assert!(world.open.iter().all(|(_, write)| write.name() != "negotiate"), "{:?}", world.open);
}

#[test]
fn devices_of_ours_are_given_back_too_while_a_driver_has_nothing_for_the_pod() {
    let mut world = negotiating();
    world.fact(gpu_class());
    world.fact(node("a", 1_000));
    world.fact(gpus("a", &["gpu-0"]));
    world.add_claim(lent("c"));
    // What an earlier attempt left.
    let mut left = claim("gpu");
    left.allocation =
        Some(Arc::new(Allocated { nodes: Some(NodeSelector::only(&"a".into())), held: Vec::new() }));
    world.add_claim(left);
    world.add_pod(pod("p", 100, &["c", "gpu"]));
    world.settle();
    assert!(world.claims[&claim_id("gpu")].allocation.is_some(), "it may be of use yet");
    world.answer("p", "c", &["a"]);
    world.settle();
    assert!(world.claims[&claim_id("gpu")].allocation.is_none(), "{:?}", world.told);
}
