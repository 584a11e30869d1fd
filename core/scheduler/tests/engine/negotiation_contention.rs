//! Pods that are negotiated about at the same time: they are sent to different nodes where these are as good, and who found no node
//! rests before the next round.

use std::collections::{BTreeMap, BTreeSet};

use cluster::change::{Change, NegotiationChange};
use cluster::contexts::PodContext;
use model::identity::NodeName;
use model::pod::PodId;

use crate::negotiation::{DRIVER, lent, negotiating};
use crate::world::{World, claim, claim_id, gpu_class, gpus, node, pod};

/// A world with so many nodes of this size each, and so many pods with a claim each.
fn crowd(nodes: usize, pods: usize) -> World {
    let mut world = negotiating();
    (0..nodes).for_each(|at| world.fact(node(&format!("n{at}"), 100_000)));
    for at in 0..pods {
        world.add_claim(lent(&format!("p{at}")));
        world.add_pod(pod(&format!("p{at}"), 100, &[&format!("p{at}")]));
    }
    world.settle();
    world
}

/// A driver with so many devices on each node gives them, and says who cannot have one where. Says how often it tried.
fn serve(world: &mut World, pods: usize, per_node: usize) -> usize {
    let mut tries = 0;
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..100 {
        let is_waiting = |name: &String| world.claims[&claim_id(name)].allocation.is_none();
        let names: Vec<String> = (0..pods).map(|at| format!("p{at}")).filter(is_waiting).collect();
        // All of them were selected before the driver looks at the first.
        let chosen: Vec<(String, String)> = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), world.selected(&name)?.to_owned())))
            .collect();
        for (name, node) in chosen {
            tries += 1;
            let count = given.entry(node.clone()).or_default();
            if *count < per_node {
                *count += 1;
                world.give(&name, DRIVER, Some(&node), &[&name]);
            } else {
                let full: BTreeSet<&str> = given
                    .iter()
                    .filter(|(_, count)| **count >= per_node)
                    .map(|(node, _)| node.as_str())
                    .collect();
                world.answer(&name, &name, &full.into_iter().collect::<Vec<_>>());
            }
        }
        world.settle();
        if (0..pods).all(|at| world.node_of(&format!("p{at}")).is_some()) {
            return tries;
        }
        world.later(1);
        world.settle();
    }
    let unplaced = (0..pods).filter(|at| world.node_of(&format!("p{at}")).is_none()).count();
    assert_eq!(unplaced, 0, "{:?}", world.told.last());
    tries
}

#[test]
fn pods_that_negotiate_at_the_same_time_choose_different_nodes() {
    for (nodes, per_node) in [(40, 1), (20, 2), (5, 8)] {
        let mut world = crowd(nodes, 40);
        let tries = serve(&mut world, 40, per_node);
        assert_eq!(tries, 40, "on {nodes} nodes with {per_node} devices each");
    }
}

#[test]
fn which_of_equal_nodes_a_pod_chooses_follows_from_the_pod() {
    let chosen = |name: &str| {
        let mut world = negotiating();
        (0..20).for_each(|at| world.fact(node(&format!("n{at}"), 1_000)));
        world.add_claim(lent(name));
        world.add_pod(pod(name, 100, &[name]));
        world.settle();
        world.selected(name).expect("chosen").to_owned()
    };
    let names: Vec<String> = (0..20).map(|at| format!("p{at}")).collect();
    let first: BTreeSet<String> = names.iter().map(|name| chosen(name)).collect();
    assert!(first.len() > 8, "schedulers that know nothing of each other choose different nodes: {first:?}");
    assert_eq!(chosen("p0"), chosen("p0"));
}

#[test]
fn a_better_node_is_chosen_though_others_have_chosen_it() {
    let mut world = negotiating();
    world.fact(node("small", 1_000));
    world.fact(node("large", 100_000));
    for name in ["x", "y", "z"] {
        world.add_claim(lent(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    for name in ["x", "y", "z"] {
        assert_eq!(world.selected(name), Some("large"));
    }
}

#[test]
fn a_node_without_room_for_one_more_is_left_to_who_chose_it() {
    let mut world = negotiating();
    world.fact(node("a", 1_100));
    world.fact(node("b", 1_000));
    for name in ["x", "y", "z"] {
        world.add_claim(lent(name));
        world.add_pod(pod(name, 900, &[name]));
    }
    world.settle();
    let chosen = |world: &World| ["x", "y", "z"].map(|name| world.selected(name).map(str::to_owned));
    let of = |node: &str| chosen(&world).iter().flatten().filter(|one| *one == node).count();
    assert_eq!((of("a") + of("b"), of("b") > 0), (3, true), "{:?}", chosen(&world));
    assert!(of("a") > 0, "{:?}", chosen(&world));
}

/// A context of a pod that the engine knows nothing else of.
fn context(owner: &str, selected: Option<&str>, version: &str) -> Change {
    let pod = PodId { namespace: "default".into(), name: owner.into() };
    let context = PodContext {
        pod,
        uid: format!("uid-of-context-{owner}").into(),
        version: version.into(),
        owner: format!("uid-{owner}").into(),
        selected: selected.map(NodeName::from),
        potential: selected.map(NodeName::from).into_iter().collect(),
        answers: BTreeMap::new(),
    };
    Change::Negotiation(NegotiationChange::Applied(Box::new(context)))
}

#[test]
fn a_node_that_another_scheduler_has_chosen_counts_until_its_negotiation_ends() {
    let gone = |owner: &str| {
        let id = PodId { namespace: "default".into(), name: owner.into() };
        Change::Negotiation(NegotiationChange::Gone(id, "".into()))
    };
    let taken = |owner: &str, node: &str| context(owner, Some(node), "1");
    let table = [
        (vec![taken("x", "a")], "b"),
        (vec![taken("x", "b")], "a"),
        (vec![taken("x", "a"), context("x", Some("b"), "2")], "a"),
        (vec![taken("x", "a"), taken("y", "b"), gone("x")], "a"),
        (vec![taken("x", "b"), taken("y", "a"), context("x", None, "2")], "b"),
    ];
    for (number, (changes, expected)) in table.into_iter().enumerate() {
        let mut world = negotiating();
        ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
        changes.into_iter().for_each(|change| world.fact(change));
        world.add_claim(lent("p"));
        world.add_pod(pod("p", 100, &["p"]));
        world.settle();
        assert_eq!(world.selected("p"), Some(expected), "{number}");
    }
}

#[test]
fn a_pod_whose_negotiation_failed_rests_before_the_next_and_ever_longer() {
    let mut world = negotiating();
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("p"));
    world.add_pod(pod("p", 300, &["p"]));
    world.settle();
    let mut rounds = 0;
    for _ in 0..600 {
        if !world.engine.negotiating().is_empty() {
            rounds += 1;
            // It would have one, and when it is chosen it would not.
            world.answer("p", "p", &["a", "b"]);
            world.settle();
            world.answer("p", "p", &[]);
            world.settle();
            assert!(world.engine.negotiating().is_empty(), "not at once");
        }
        world.later(1);
        world.settle();
    }
    assert!((10..40).contains(&rounds), "{rounds} rounds in ten minutes");
}

#[test]
fn a_pod_that_is_sent_from_node_to_node_and_back_rests_as_well() {
    let mut world = negotiating();
    ["a", "b", "c"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world.add_claim(lent("p"));
    world.add_pod(pod("p", 300, &["p"]));
    world.settle();
    let mut chosen: Vec<String> = Vec::new();
    for _ in 0..600 {
        for _ in 0..10 {
            let node = world.selected("p").expect("chosen").to_owned();
            if chosen.last() != Some(&node) {
                chosen.push(node.clone());
            }
            world.answer("p", "p", &[&node]);
            world.settle();
        }
        world.later(1);
        world.settle();
    }
    assert!((20..150).contains(&chosen.len()), "{} nodes in ten minutes", chosen.len());
    assert_eq!(chosen[..3].iter().collect::<BTreeSet<_>>().len(), 3, "each of them once before any twice");
    world.give("p", DRIVER, None, &["p"]);
    world.settle();
    assert!(world.node_of("p").is_some(), "what it is given while it rests it takes");
}

#[test]
fn a_pod_that_waits_for_others_to_leave_a_claim_gives_back_what_drivers_gave_it() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    for name in ["own", "shared"] {
        world.add_claim(lent(name));
    }
    world.give("own", DRIVER, Some("a"), &[]);
    world.give("shared", DRIVER, None, &["another"]);
    world.add_pod(pod("p", 100, &["own", "shared"]));
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    assert!(!world.claims[&claim_id("shared")].control.leaving, "it is in use");
    world.take_back("own");
    world.change_claim("shared", |state| state.reserved_for.clear());
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"), "it is asked for again when the other has left");
}

#[test]
fn a_pod_that_lacks_devices_of_the_scheduler_gives_back_what_drivers_gave_it() {
    let mut world = negotiating();
    world.fact(node("a", 4_000));
    world.fact(gpu_class());
    world.fact(gpus("a", &["gpu-0"]));
    world.add_claim(claim("taken"));
    world.add_pod(pod("first", 100, &["taken"]));
    world.settle();
    assert_eq!(world.node_of("first").as_deref(), Some("a"));
    world.add_claim(lent("own"));
    world.add_claim(claim("card"));
    world.give("own", DRIVER, Some("a"), &[]);
    world.add_pod(pod("p", 100, &["own", "card"]));
    world.settle();
    assert!(world.claims[&claim_id("own")].control.leaving, "others could have it: {:?}", world.told);
    world.take_back("own");
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), None, "it is not asked for while the card is not to be had");
    world.remove_pod("first");
    world.remove_claim("taken");
    world.later(20);
    world.settle();
    assert_eq!(world.selected("p"), Some("a"), "it is asked for again when the card is to be had");
}
