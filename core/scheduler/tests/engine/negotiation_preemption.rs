//! Gangs and trees of which members have claims that drivers' controllers give devices, where less important pods are in the way:
//! no pod goes, and no room is kept, before drivers have given all that they are to give.

use cluster::change::{Change, GroupChange};
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::group::{Composite, Disruption, Group};
use model::node::NodeSelector;
use model::pod::Pod;
use scheduler::engine::Engine;

use crate::gangs::{applied, gang, member_of};
use crate::group_trees::id;
use crate::negotiation::{DRIVER, class, lent, negotiating};
use crate::preemption::running;
use crate::world::{World, claim_id, node, pod, settings};

/// What the members are together.
#[derive(Clone, Copy, Debug)]
enum Form {
    Gang,
    Tree,
}

const FORMS: [Form; 2] = [Form::Gang, Form::Tree];
const MEMBERS: [&str; 2] = ["p", "q"];

/// Nodes a and b, and no pod.
fn empty() -> World {
    let mut world = negotiating();
    let gates = [Gate::DRAControlPlaneController, Gate::GenericWorkload, Gate::CompositePodGroup];
    let gates = gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    world.engine = Engine::new(Settings { gates, ..settings() });
    world.fact(class("lent", DRIVER, None));
    ["a", "b"].iter().for_each(|name| world.fact(node(name, 1_000)));
    world
}

/// Two members of priority ten that need half of a node each, and a claim of the driver.
fn add_urgent(world: &mut World, form: Form, nominated: Option<&str>) {
    let group = |name: &str, at_least: u32| Group {
        levels: Vec::new(),
        ..gang(name, at_least, 10, Disruption::default())
    };
    let groups = match form {
        Form::Gang => {
            world.fact(applied(group("urgent", 2)));
            ["urgent", "urgent"]
        }
        Form::Tree => {
            let tree = Composite {
                id: id("urgent"),
                uid: "uid-urgent".into(),
                at_least: 2,
                priority: 10,
                preempts: true,
                ..Composite::default()
            };
            world.fact(Change::Group(GroupChange::CompositeApplied(Box::new(tree))));
            for name in ["one", "two"] {
                world.fact(applied(Group { parent: Some("urgent".into()), ..group(name, 1) }));
            }
            ["one", "two"]
        }
    };
    for (name, group) in MEMBERS.into_iter().zip(groups) {
        world.add_claim(lent(name));
        let member = Pod { nominated_node: nominated.map(Into::into), ..pod(name, 500, &[name]) };
        world.add_pod(member_of(group, 10, member));
    }
    world.settle();
}

/// The same where a less important pod is on each node.
fn crowded(form: Form) -> World {
    let mut world = empty();
    for (name, node) in [("x", "a"), ("y", "b")] {
        world.add_pod(running(name, 0, node, 900));
    }
    add_urgent(&mut world, form, None);
    world
}

/// How many of the less important pods were asked to go.
fn evicted(world: &World) -> usize {
    let goes = |uid: &&str| world.pods.get(*uid).is_none_or(|pod| pod.deleting);
    ["uid-x", "uid-y"].iter().filter(|uid| goes(uid)).count()
}

fn chosen(world: &World) -> [String; 2] {
    MEMBERS.map(|name| world.selected(name).expect("the driver is asked").to_owned())
}

fn nominated(world: &World) -> usize {
    let is_nominated = |name: &&str| world.pods[&*format!("uid-{name}")].nominated_node.is_some();
    MEMBERS.iter().filter(|name| is_nominated(name)).count()
}

fn nodes(world: &World) -> [Option<String>; 2] {
    MEMBERS.map(|name| world.node_of(name))
}

#[test]
fn nobody_is_preempted_for_pods_that_are_placed_together_before_drivers_have_given_all() {
    for form in FORMS {
        let mut world = crowded(form);
        assert_eq!((evicted(&world), nominated(&world)), (0, 0), "{form:?}: {:?}", world.told);
        let seats = chosen(&world);
        world.give("p", DRIVER, Some(&seats[0]), &["p"]);
        world.settle();
        assert_eq!(evicted(&world), 0, "{form:?}: {:?}", world.told);
        assert!(!world.claims[&claim_id("p")].control.leaving, "{form:?}: it waits for the other");
        let seats = chosen(&world);
        world.lingering = true;
        world.give("q", DRIVER, Some(&seats[1]), &["q"]);
        world.settle();
        let needed = if seats[0] == seats[1] { 1 } else { 2 };
        assert_eq!((evicted(&world), nominated(&world)), (needed, 2), "{form:?}: {:?}", world.told);
        for _ in 0..10 {
            world.later(15);
            world.settle();
        }
        let gives_back = |name: &&str| world.claims[&claim_id(name)].control.leaving;
        assert_eq!(MEMBERS.iter().filter(|name| gives_back(name)).count(), 0, "{form:?}: they keep it");
        for name in ["x", "y"] {
            if world.pods[&*format!("uid-{name}")].deleting {
                world.let_go(name);
            }
        }
        world.settle();
        assert_eq!(nodes(&world), seats.map(Some), "{form:?}: {:?}", world.told);
    }
}

#[test]
fn another_node_is_tried_for_members_together_before_anybody_goes() {
    for form in FORMS {
        let mut world = crowded(form);
        let first = chosen(&world);
        world.answer("p", "p", &[&first[0]]);
        for _ in 0..5 {
            world.later(2);
            world.settle();
        }
        let second = chosen(&world);
        assert!(evicted(&world) == 0 && second[0] != first[0], "{form:?}: {first:?} {second:?}");
        world.give("p", DRIVER, Some(&second[0]), &["p"]);
        world.give("q", DRIVER, Some(&second[1]), &["q"]);
        world.settle();
        world.later(15);
        world.settle();
        assert_eq!(nodes(&world), second.map(Some), "{form:?}: {:?}", world.told);
    }
}

/// A driver that has two devices on node a and one on node b gives, refuses and takes back.
fn serve(world: &mut World) {
    let names = ["q", "p", "p-too"];
    for name in names {
        if world.claims[&claim_id(name)].control.leaving {
            world.take_back(name);
            world.change_claim(name, |state| state.reserved_for.clear());
        }
    }
    for (pod, claims) in [("q", &names[..1]), ("p", &names[1..])] {
        if world.claims[&claim_id(claims[0])].allocation.is_some() || world.node_of(pod).is_some() {
            continue;
        }
        let is_at = |name: &str, node: &str| {
            let allocation = world.claims[&claim_id(name)].allocation.as_ref();
            allocation.is_some_and(|given| given.nodes == Some(NodeSelector::only(&node.into())))
        };
        let left = |(node, room): (&'static str, usize)| {
            let taken = names.iter().filter(|name| is_at(name, node)).count();
            (taken + claims.len() > room).then_some(node)
        };
        let full: Vec<&str> = [("a", 2), ("b", 1)].into_iter().filter_map(left).collect();
        match world.selected(pod).map(str::to_owned) {
            Some(node) if !full.contains(&&*node) => {
                claims.iter().for_each(|name| world.give(name, DRIVER, Some(&node), &[pod]));
            }
            _ => claims.iter().for_each(|name| world.answer(pod, name, &full)),
        }
    }
}

#[test]
fn members_get_nodes_apart_before_long_though_fewer_pods_go_for_them_together() {
    for full in [&[("y", "b")][..], &[("x", "a"), ("y", "b")]] {
        let mut world = empty();
        for (name, node) in full {
            world.add_pod(running(name, 0, node, 900));
        }
        world.fact(applied(gang("urgent", 2, 10, Disruption::default())));
        for (name, claims) in [("p", &["p", "p-too"][..]), ("q", &["q"])] {
            claims.iter().for_each(|claim| world.add_claim(lent(claim)));
            world.add_pod(member_of("urgent", 10, pod(name, 400, claims)));
        }
        world.settle();
        for _ in 0..60 {
            serve(&mut world);
            world.settle();
            world.later(2);
            world.settle();
        }
        let apart = ["a", "b"].map(|node| Some(node.to_owned()));
        assert_eq!(nodes(&world), apart, "{full:?}: {:?}", world.told);
    }
}

#[test]
fn nobody_goes_for_members_that_drivers_give_nothing_to() {
    for form in FORMS {
        let mut world = crowded(form);
        let seats = chosen(&world);
        world.give("p", DRIVER, Some(&seats[0]), &["p"]);
        world.answer("q", "q", &["a", "b"]);
        world.settle();
        assert_eq!(evicted(&world), 0, "{form:?}: {:?}", world.told);
        assert!(world.claims[&claim_id("p")].control.leaving, "{form:?}: others could have it");
        world.take_back("p");
        world.later(60);
        world.settle();
        assert_eq!((evicted(&world), nominated(&world)), (0, 0), "{form:?}: {:?}", world.told);
    }
}

#[test]
fn no_room_is_kept_for_members_while_drivers_do_not_answer() {
    for form in FORMS {
        let mut world = empty();
        add_urgent(&mut world, form, Some("a"));
        assert_eq!(nominated(&world), 0, "{form:?}: {:?}", world.told);
        chosen(&world);
        for name in ["x", "y"] {
            world.add_pod(pod(name, 900, &[]));
        }
        world.settle();
        assert!(["x", "y"].iter().all(|name| world.node_of(name).is_some()), "{form:?}: {:?}", world.told);
        // Others have taken the room, and make way once the members have what they lack.
        for _ in 0..4 {
            let open = |name: &&str| world.claims[&claim_id(name)].allocation.is_none();
            if let Some(name) = MEMBERS.into_iter().find(open) {
                let node = world.selected(name).expect("the driver is asked").to_owned();
                world.give(name, DRIVER, Some(&node), &[name]);
            }
            world.later(2);
            world.settle();
        }
        assert!(evicted(&world) > 0, "{form:?}: {:?}", world.told);
        assert!(nodes(&world).iter().all(Option::is_some), "{form:?}: {:?}", world.told);
    }
}

#[test]
fn room_that_is_being_made_is_kept_no_longer_once_a_driver_takes_its_devices_back() {
    for form in FORMS {
        let mut world = crowded(form);
        world.lingering = true;
        for (name, seat) in MEMBERS.into_iter().zip(chosen(&world)) {
            world.give(name, DRIVER, Some(&seat), &[name]);
        }
        world.settle();
        assert_eq!(nominated(&world), 2, "{form:?}: {:?}", world.told);
        world.change_claim("q", |state| {
            state.allocation = None;
            state.control = Default::default();
            state.reserved_for.clear();
        });
        world.settle();
        assert_eq!(nominated(&world), 0, "{form:?}: {:?}", world.told);
        ["x", "y"].iter().for_each(|name| world.let_go(name));
        let seat = world.selected("q").expect("the driver is asked").to_owned();
        world.give("q", DRIVER, Some(&seat), &["q"]);
        for _ in 0..3 {
            world.later(15);
            world.settle();
        }
        assert!(nodes(&world).iter().all(Option::is_some), "{form:?}: {:?}", world.told);
    }
}
