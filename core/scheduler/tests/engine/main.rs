//! The engine against an API made of values.

mod alternatives;
mod bound;
mod clash;
mod companions;
mod conflicts;
mod considering;
mod deallocate;
mod device_preemption;
mod driven_off;
mod extended;
mod footprint;
mod gang_binding;
mod gang_judge;
mod gang_policy;
mod gang_preemption;
mod gang_queue;
mod gang_readying;
mod gang_release;
mod gang_sharing;
mod gang_story;
mod gang_turmoil;
mod gang_whole;
mod gangs;
mod gated;
mod group_claims;
mod group_news;
mod group_trees;
mod hard_turns;
mod images;
mod lanes;
mod negotiation;
mod negotiation_contention;
mod negotiation_gangs;
mod negotiation_preemption;
mod negotiation_quiet;
mod negotiation_waiting;
mod negotiation_work;
mod own_words;
mod preemption;
mod preemption_story;
mod profiles;
mod quiet;
mod readying;
mod replicas;
mod shared_claims;
mod slices;
mod taint_rules;
mod tree_choice;
mod tree_flights;
mod tree_instances;
mod tree_judge;
mod tree_losses;
mod tree_preemption;
mod tree_verdicts;
mod turmoil;
mod volume_binding;
mod volume_limits;
mod volume_storms;
mod volumes;
mod wakes;
mod wakes_kept;
mod wakes_of_pods;
mod workload_queue;
mod world;
mod world_writes;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use cluster::published::Published;
use model::device::{DeviceId, Slice};
use model::identity::ConsumerUid;
use model::node::{Node, NodeTaint, NodeTaintEffect};
use model::pod::Pod;
use scheduler::engine::Input;
use scheduler::write::{Write, WriteId, WriteOutcome};
use selector::SliceRevision;
use world::{World, alternatives, claim, claim_id, engine, gpu_class, gpus, named_pod, node, pod, world};

/// Two nodes with a card each, as facts.
fn two_gpus() -> [Change; 5] {
    [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"]), node("b", 4_000), gpus("b", &["gpu-b"])]
}

/// Two nodes with a card each.
fn with_gpus() -> World {
    let mut world = world();
    two_gpus().into_iter().for_each(|change| world.fact(change));
    world
}

#[test]
fn a_pod_goes_where_there_is_room_and_otherwise_waits_with_the_reason() {
    let mut world = world();
    world.fact(node("small", 500));
    world.fact(node("large", 2_000));
    world.add_pod(pod("first", 1_500, &[]));
    world.add_pod(pod("second", 1_500, &[]));
    world.settle();
    assert_eq!((world.node_of("first").as_deref(), world.node_of("second")), (Some("large"), None));
    let told = "second: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.";
    assert!(world.told.iter().any(|line| line == told), "{:?}", world.told);
    world.remove_pod("first");
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("second").as_deref(), Some("large"));
}

#[test]
fn a_slice_that_goes_can_make_devices_usable_again() {
    let mut world = world();
    for change in [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])] {
        world.fact(change);
    }
    // The same device in two slices of a pool is a contradiction.
    let Change::SliceApplied(published) = gpus("a", &["gpu-a"]) else { panic!("it is a slice") };
    let twin = Slice { name: "twin".into(), ..published.slice.clone() };
    let revision = SliceRevision { slice: 7, revision: 7 };
    world.fact(Change::SliceApplied(Arc::new(Published::new(twin, revision))));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.node_of("p"), None);
    world.fact(Change::SliceGone("twin".into()));
    world.later(2);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn the_more_important_pod_is_placed_first() {
    let mut world = world();
    world.add_pod(pod("plain", 1_500, &[]));
    world.add_pod(Pod { priority: 7, ..pod("urgent", 1_500, &[]) });
    world.fact(node("only", 2_000));
    world.settle();
    assert_eq!((world.node_of("urgent").as_deref(), world.node_of("plain")), (Some("only"), None));
}

#[test]
fn a_claim_is_allocated_and_reserved_before_its_pod_is_bound() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    assert!(matches!(world.open[..], [(_, Write::Allocate { .. })]), "{:?}", world.open);
    world.carry_out();
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
    assert!(matches!(world.open[..], [(_, Write::Bind { .. })]), "{:?}", world.open);
    world.settle();
    let node = world.node_of("p").expect("it is bound");
    assert_eq!(world.devices_of("one"), [format!("gpu-{node}")]);
}

#[test]
fn no_device_is_given_twice_and_who_waits_gets_it_when_it_is_free() {
    let mut world = with_gpus();
    for name in ["one", "two", "three"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
        world.later(1);
    }
    world.settle();
    let mut given = [world.devices_of("one"), world.devices_of("two")].concat();
    given.sort();
    assert_eq!(given, ["gpu-a", "gpu-b"]);
    assert_eq!(world.node_of("three"), None);
    let why = world.told.iter().find(|line| line.starts_with("three: ")).expect("it was told");
    let kubernetes = "three: 0/2 nodes are available: 2 cannot allocate all claims. On node ";
    assert!(
        why.starts_with(kubernetes) && why.contains("claim default/three, request gpu: wants 1"),
        "{why}"
    );
    world.remove_pod("one");
    world.claims.remove(&claim_id("one"));
    world.fact(Change::ClaimGone(claim_id("one")));
    world.later(2);
    world.settle();
    assert!(world.node_of("three").is_some());
}

#[test]
fn a_device_that_somebody_else_gave_away_is_taken() {
    let mut world = with_gpus();
    let mut foreign = claim("foreign");
    let device =
        |name: &str| DeviceId { driver: "gpu.example.com".into(), pool: "a".into(), device: name.into() };
    let holding =
        Holding { holder: claim_id("foreign").into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
    let held = vec![Held { device: device("gpu-a"), share: None, holding, tolerations: Vec::new() }];
    foreign.allocation = Some(Arc::new(Allocated { nodes: None, held }));
    world.add_claim(foreign);
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.devices_of("one"), ["gpu-b"]);
}

#[test]
fn a_write_that_fails_is_undone_and_tried_again() {
    let mut world = with_gpus();
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world.carry_out();
    assert!(world.told.iter().any(|line| line == "p: claim default/one: conflict"), "{:?}", world.told);
    world.later(2);
    world.settle();
    assert!(world.node_of("p").is_some());
    assert_eq!(world.devices_of("one").len(), 1);
}

#[test]
fn a_binding_that_fails_releases_the_claim_and_the_pod_is_tried_again() {
    let mut world = with_gpus();
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    // The claim is written, the binding fails, and the reservation is taken back.
    (0..3).for_each(|_| world.carry_out());
    assert!(world.claims[&claim_id("one")].reserved_for.is_empty(), "it was released");
    world.later(2);
    world.settle();
    assert!(world.node_of("p").is_some());
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
}

#[test]
fn a_pod_is_tried_again_only_when_its_devices_are_given_back() {
    let mut world = with_gpus();
    world.fail.push(|write| matches!(write, Write::Bind { .. }));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    (0..2).for_each(|_| world.carry_out());
    let gives_back = |(_, write): &(WriteId, Write)| matches!(write, Write::Deallocate { .. });
    assert!(world.open.iter().any(gives_back), "{:?}", world.open);
    world.later(60);
    world.turn();
    let is_note = |(_, write): &(WriteId, Write)| matches!(write, Write::Note { .. });
    let others: Vec<_> = world.open.iter().filter(|one| !gives_back(one) && !is_note(one)).collect();
    assert!(others.is_empty(), "what is written for it anew would be overtaken: {others:?}");
    world.settle();
    world.later(2);
    world.settle();
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
    assert!(world.node_of("p").is_some());
}

#[test]
fn a_reservation_that_fails_takes_nothing_from_who_gets_the_claim_devices_now() {
    let mut world = world();
    for change in [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])] {
        world.fact(change);
    }
    world.add_claim(claim("shared"));
    world.add_pod(pod("first", 100, &["shared"]));
    world.settle();
    let written = world.claims[&claim_id("shared")].clone();
    world.add_pod(pod("second", 100, &["shared"]));
    world.turn();
    let [(reserving, Write::Reserve { .. })] = world.open[..] else { panic!("{:?}", world.open) };
    // The first pod is gone, its claim has no devices any more, and a third pod gets some for it.
    world.remove_pod("first");
    world.add_claim(ClaimState { allocation: None, reserved_for: Vec::new(), ..written });
    world.add_pod(pod("third", 100, &["shared"]));
    world.turn();
    assert_eq!(world.open.len(), 1, "what is written for the claim waits for the answer: {:?}", world.open);
    world.tell(Input::Settled(reserving, WriteOutcome::Failed("deallocated".to_owned())));
    assert!(matches!(world.open[..], [_, (_, Write::Allocate { .. }), ..]), "{:?}", world.open);
    world.add_claim(claim("other"));
    world.add_pod(pod("fourth", 100, &["other"]));
    world.turn();
    let allocating = |(_, write): &&(WriteId, Write)| matches!(write, Write::Allocate { .. });
    assert_eq!(world.open.iter().filter(allocating).count(), 1, "the card is spoken for: {:?}", world.open);
}

#[test]
fn news_from_before_a_pod_was_bound_does_not_start_it_again() {
    let mut world = with_gpus();
    world.add_pod(pod("p", 100, &[]));
    world.settle();
    assert!(world.node_of("p").is_some());
    world.fact(Change::PodApplied(Arc::new(pod("p", 100, &[]))));
    world.turn();
    assert!(world.open.is_empty(), "{:?}", world.open);
}

#[test]
fn a_pod_that_somebody_else_bound_stays_there_and_keeps_what_was_reserved_for_it() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    // Another client binds it while our claim is on its way; the binding that we would ask for cannot come any more.
    let mut elsewhere = pod("p", 100, &["one"]);
    elsewhere.node = Some("b".into());
    world.add_pod(elsewhere);
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("b"));
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
    assert_eq!((world.engine.placing(), world.engine.is_idle()), (0, true));
}

#[test]
fn a_binding_whose_answer_is_lost_is_known_by_its_effect() {
    let mut world = with_gpus();
    world.add_pod(pod("p", 4_000, &[]));
    world.turn();
    let (id, write) = world.open.pop().expect("it is bound");
    world.apply(&write);
    assert!(world.told.iter().any(|line| line.starts_with("p on ")), "{:?}", world.told);
    let told = world.told.len();
    world.tell(Input::Settled(id, WriteOutcome::Failed("timed out".to_owned())));
    world.settle();
    assert_eq!((world.told.len(), world.engine.placing()), (told, 0), "{:?}", world.told);
    // The node is full: the pod counts there although its answer was lost.
    let node = world.node_of("p").expect("it is bound");
    world.add_pod(pod("q", 4_000, &[]));
    world.settle();
    assert_ne!(world.node_of("q"), Some(node));
}

#[test]
fn a_pod_that_somebody_else_bound_is_where_they_put_it() {
    let mut world = world();
    world.fact(node("a", 1_000));
    world.fact(Change::NodeApplied(Box::new(Node {
        name: "b".into(),
        unschedulable: true,
        ..Node::default()
    })));
    world.add_pod(pod("p", 100, &[]));
    world.turn();
    let [(binding, Write::Bind { .. })] = world.open[..] else { panic!("{:?}", world.open) };
    world.fact(Change::PodApplied(Arc::new(Pod { node: Some("b".into()), ..pod("p", 100, &[]) })));
    world.tell(Input::Settled(binding, WriteOutcome::Failed("already assigned to node b".to_owned())));
    let at = world.engine.nodes().find("b").expect("it is there");
    assert!(world.engine.nodes().get(at).pods.contains_key("uid-p"), "it counts as being there");
    assert_eq!(world.engine.placing(), 0);
}

/// One card, a pod that has just been sent to it and is gone again, and another that wants the card.
fn abandoned() -> World {
    let mut world = world();
    for change in [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"])] {
        world.fact(change);
    }
    world.add_claim(claim("one"));
    world.add_claim(claim("two"));
    world.add_pod(pod("first", 100, &["one"]));
    world.turn();
    world.remove_pod("first");
    world.add_pod(pod("second", 100, &["two"]));
    world.turn();
    let allocating = |(_, write): &&(WriteId, Write)| matches!(write, Write::Allocate { .. });
    assert_eq!(world.open.iter().filter(allocating).count(), 1, "the card may be the first claim's by now");
    world
}

#[test]
fn the_devices_of_a_pod_that_is_gone_are_free_when_its_write_has_failed() {
    let mut world = abandoned();
    world.fail.push(|write| matches!(write, Write::Allocate { .. }));
    world.carry_out();
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("two"), ["gpu-a"]);
    assert_eq!(world.node_of("second").as_deref(), Some("a"));
}

#[test]
fn what_was_written_for_a_pod_that_is_gone_is_given_to_who_waits() {
    let mut world = abandoned();
    world.carry_out();
    assert_eq!(world.devices_of("one"), ["gpu-a"]);
    world.settle();
    world.later(2);
    world.settle();
    assert!(world.claims[&claim_id("one")].reserved_for.is_empty());
    assert_eq!((world.devices_of("one").len(), world.devices_of("two").len()), (0, 1));
    assert_eq!(world.node_of("second").as_deref(), Some("a"));
}

#[test]
fn pods_that_share_a_claim_follow_the_first_to_its_node() {
    let mut world = with_gpus();
    world.add_claim(claim("shared"));
    for name in ["p", "q", "r"] {
        world.add_pod(pod(name, 100, &["shared"]));
    }
    world.settle();
    world.later(2);
    world.settle();
    let nodes: Vec<_> = ["p", "q", "r"].iter().map(|pod| world.node_of(pod)).collect();
    assert!(nodes[0].is_some() && nodes.iter().all(|node| *node == nodes[0]), "{nodes:?}");
    assert_eq!(world.claims[&claim_id("shared")].reserved_for.len(), 3);
}

#[test]
fn a_pod_waits_for_its_claim_to_be_made_and_holds_nothing_up() {
    let mut world = with_gpus();
    world.add_pod(pod("early", 100, &["late"]));
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert!(world.node_of("p").is_some() && world.node_of("early").is_none());
    assert_eq!(world.engine.counts().gated, 1);
    world.add_claim(claim("late"));
    world.settle();
    assert!(world.node_of("early").is_some());
}

#[test]
fn a_pod_waits_until_the_last_of_its_claims_is_made() {
    let mut world = world();
    for change in [gpu_class(), node("a", 4_000), gpus("a", &["gpu-0", "gpu-1"])] {
        world.fact(change);
    }
    world.add_pod(pod("p", 100, &["one", "two"]));
    world.add_pod(pod("gone", 100, &["two"]));
    world.remove_pod("gone");
    world.add_claim(claim("two"));
    world.settle();
    assert_eq!((world.node_of("p"), world.engine.counts().gated), (None, 1));
    world.add_claim(claim("one"));
    world.settle();
    assert_eq!(world.node_of("p").as_deref(), Some("a"));
}

#[test]
fn another_engine_goes_on_from_what_the_api_has() {
    let mut world = with_gpus();
    world.add_claim(claim("one"));
    world.add_pod(pod("p", 100, &["one"]));
    world.turn();
    world.carry_out();
    // The binding was asked for and never carried out; the engine that asked is gone.
    world.open.clear();
    let devices = world.devices_of("one");
    world.engine = engine();
    for change in
        [gpu_class(), node("a", 4_000), gpus("a", &["gpu-a"]), node("b", 4_000), gpus("b", &["gpu-b"])]
    {
        world.fact(change);
    }
    let (claims, pods): (Vec<_>, Vec<_>) =
        (world.claims.values().cloned().collect(), world.pods.values().cloned().collect());
    claims.into_iter().for_each(|claim| world.add_claim(claim));
    pods.into_iter().for_each(|pod| world.add_pod(pod));
    world.settle();
    assert!(world.node_of("p").is_some());
    assert_eq!(world.devices_of("one"), devices);
    assert_eq!(world.claims[&claim_id("one")].reserved_for, [ConsumerUid::from("uid-p")]);
}

#[test]
fn a_pod_of_another_scheduler_is_left_alone() {
    let mut world = with_gpus();
    world.add_pod(Pod { scheduler: "default-scheduler".into(), ..pod("theirs", 100, &[]) });
    world.settle();
    assert_eq!(world.node_of("theirs"), None);
    assert!(world.told.is_empty());
}

#[test]
fn the_same_inputs_give_the_same_effects() {
    let play = || {
        let mut world = with_gpus();
        for name in ["one", "two", "three"] {
            world.add_claim(claim(name));
            world.add_pod(pod(name, 100, &[name]));
        }
        world.settle();
        world.told
    };
    assert_eq!(play(), play());
}

/// The resource that the class of cards always stands for.
const GPUS_BY_CLASS: &str = "deviceclass.resource.kubernetes.io/gpu";

/// Plays the same random story; with a node that is of no use but has a taint that is judged among all nodes, no answer
/// can be kept.
fn story(seed: u64, keeps_answers: bool) -> Vec<(String, Option<String>, Vec<String>)> {
    let mut world = world();
    let mut random = seed;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    if !keeps_answers {
        let taints = ["PreferNoSchedule"].map(|effect| NodeTaint {
            key: "k".into(),
            value: "v".into(),
            effect: NodeTaintEffect::named(effect),
        });
        let useless =
            Node { name: "z".into(), unschedulable: true, taints: taints.to_vec(), ..Node::default() };
        world.fact(Change::NodeApplied(Box::new(useless)));
    }
    world.fact(gpu_class());
    let mut pods = 0;
    for _ in 0..60 {
        let which = format!("n{}", below(4));
        match below(10) {
            0 => world.fact(node(&which, 1_000 * (1 + below(4) as i64))),
            1 => world.fact(Change::NodeGone(which.as_str().into())),
            2 | 3 => world.fact(gpus(&which, &["g0", "g1", "g2"][..1 + below(3) as usize])),
            4 => world.fact(Change::SliceGone(format!("{which}-gpus").into())),
            5 if pods > 0 => world.remove_pod(&format!("p{}", below(pods))),
            _ => {
                let name = format!("p{pods}");
                pods += 1;
                let cpu = 200 * (1 + below(2) as i64);
                match below(5) {
                    4 => world.add_pod(named_pod(&name, GPUS_BY_CLASS, 1 + below(2) as i64, &[])),
                    0 => world.add_pod(pod(&name, cpu, &[])),
                    1 => {
                        world.add_claim(alternatives(&name, &[2, 1]));
                        world.add_pod(pod(&name, cpu, &[&name]));
                    }
                    _ => {
                        world.add_claim(claim(&name));
                        world.add_pod(pod(&name, cpu, &[&name]));
                    }
                }
            }
        }
        if below(2) == 0 {
            world.turn();
        }
        if below(2) == 0 {
            world.carry_out();
        }
        world.later(below(3) as i64);
    }
    world.settle();
    let placed = world.pods.values().map(|pod| {
        let name = pod.id.name.to_string();
        let named = pod.claims.iter().map(|claim| claim.name.to_string());
        let devices = named.chain(world.made_for(&name)).flat_map(|claim| world.devices_of(&claim)).collect();
        (name, pod.node.as_ref().map(ToString::to_string), devices)
    });
    placed.collect()
}

#[test]
fn kept_answers_are_the_answers_that_looking_anew_gives() {
    let mut placed = 0;
    for seed in 0..100 {
        let kept = story(seed, true);
        placed += kept.iter().filter(|(_, node, _)| node.is_some()).count();
        assert_eq!(kept, story(seed, false), "seed {seed}");
    }
    assert!(placed > 500, "{placed} pods were placed");
}
