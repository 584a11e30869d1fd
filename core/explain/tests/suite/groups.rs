//! Groups of pods, as they are told, and what holds for random ones that have no place.

use cluster::groups::Root;
use decisions::considering::{Clearing, Consideration, SchedulingVerdict, SeatsVerdict};
use decisions::gang::Way;
use decisions::gang_preemption::GangPreemption;
use decisions::lanes::OneLane;
use explain::{Audience, Case, Effort, Extent, GroupExplanation, explain_group};
use model::device::Device;
use std::sync::Arc;

use crate::cluster_of::{Cluster, claim, cluster_with_groups, group_id, labelled, node, on, pod};
use crate::random::{Dice, random_card, random_node, random_wish, with_counters};
use crate::texts::check;

/// How many groups that do not fit are looked at.
const INSTANCES: usize = if cfg!(feature = "many-instances") { 1_000 } else { 100 };

fn racks() -> Cluster {
    cluster_with_groups()
        .with_gpus(labelled(node("a", 8), "rack", "r1"), 2)
        .with_gpus(labelled(node("b", 8), "rack", "r1"), 2)
        .with_gpus(labelled(node("c", 8), "rack", "r2"), 2)
}

#[test]
fn a_group_for_which_no_rack_has_enough_devices() {
    let mut cluster = racks().user("infer", "b", &[0]).group("ring", 4, &["rack"]);
    for number in 0..4 {
        let name = format!("ring-{number}");
        cluster = cluster.claim(claim(&name, 1)).pod(pod(&name).of("ring").claims(&[&name]).0);
    }
    check(
        &cluster.group_text("ring"),
        r#"
        pod group is unschedulable, 4 members fit in none of 2 domains at once; r1 comes closest: 3 of 4 fit, insufficient devices: 4 needed, 3 free
        group default/ring waits with 4 pods: GroupDoesNotFit

        2 domains:
          r1 fits 3 of 4 pods
          r2 fits 2 of 4 pods

        best attempt, 3 pods on 2 nodes:
          node a: ring-0, ring-1
          node b: ring-2

        nodes for pod ring-3 in addition to these:
          2 nodes [InsufficientDevices]: a, b
            a: claim default/ring-3, request gpus: wants 1 device of class gpu, can have 0
              2 published for the node
              0 not held by other claims
              gpu.example.com/a/gpu-0: held for pod default/ring-0
              gpu.example.com/a/gpu-1: held for pod default/ring-1

        smallest set of constraints that conflict:
          - 1 device for request gpus of claim ring-0 [DeviceCount]
          - devices that are allocated already [HeldDevices]
          - one domain of rack for all pods of group ring [Topology]
          - minCount 4 of group ring [MinCount]

        each of these changes alone would help, as trials have shown:
          - minCount of group ring is 3: the group fits on node a
          - pod default/infer on node b ends: the group fits on node a
          - without one domain of rack for all pods of group ring: the group fits on node a
          - each pod has priority 1: the group fits on node a by preemption of pod default/infer
          - node a has 1 more device like gpu.example.com/a/gpu-0: the group fits on node a
        "#,
    );
    assert!(cluster.text("ring-0").contains("pod default/ring-0 waits with its group"));
}

#[test]
fn a_group_that_would_fit_but_for_its_topology() {
    let mut cluster = racks().group("ring", 3, &["rack"]);
    for number in 0..3 {
        cluster = cluster.pod(pod(&format!("ring-{number}")).of("ring").cpu(5).0);
    }
    check(
        &cluster.group_text("ring"),
        r#"
        pod group is unschedulable, 3 members fit in none of 2 domains at once; r1 comes closest: 2 of 3 fit, at most 2 of 3 pods like ring-0 fit
        group default/ring waits with 3 pods: GroupDoesNotFit

        2 domains:
          r1 fits 2 of 3 pods
          r2 fits 1 of 3 pods

        best attempt, 2 pods on 2 nodes:
          node a: ring-0
          node b: ring-1

        nodes for pod ring-2 in addition to these:
          2 nodes [InsufficientCpu]: a, b
            a: the pod requests 5 cpu, 3 of 8 are free

        smallest set of constraints that conflict:
          - the pod's request for cpu [ResourceRequest]
          - one domain of rack for all pods of group ring [Topology]
          - minCount 3 of group ring [MinCount]

        each of these changes alone would help, as trials have shown:
          - each pod requests 3 cpu: the group fits on node a
          - minCount of group ring is 2: the group fits on node a
          - without one domain of rack for all pods of group ring: the group fits on node a
          - a node like a is added: the group fits on node a
        "#,
    );
}

#[test]
fn a_group_that_has_too_few_pods() {
    let cluster = racks().group("ring", 3, &[]).pod(pod("ring-0").of("ring").0);
    check(
        &cluster.group_text("ring"),
        r#"
        waiting for pod group ring to have at least 3 pods; hint: create the missing pods, or lower minCount
        group default/ring waits with 1 pod: WaitingForMembers
        "#,
    );
    check(
        &cluster.group_text("other"),
        r#"
        group default/other not found
        "#,
    );
}

/// Whether all pods of a group that have to be placed have a node, or would have by preemption.
fn decide(case: Case) -> (bool, bool) {
    let Case { snapshot, question } = case;
    let (expressions, lanes) = (Default::default(), Arc::new(OneLane));
    let considered = Consideration { snapshot, question, expressions, work_max: 500_000_000, lanes }.run();
    let SchedulingVerdict::Gang(verdict) = considered.verdict else { return (false, false) };
    match verdict.seats {
        SeatsVerdict::Seats { .. } | SeatsVerdict::Replicas(_) => (true, false),
        SeatsVerdict::NoSeats(none) => (false, matches!(none.way, Clearing::Pods(Way::Found(_)))),
        SeatsVerdict::Unfit(_) | SeatsVerdict::NoTree => (false, false),
    }
}

fn random_group(seed: u64, is_tree: bool) -> Cluster {
    let mut dice = Dice::new(seed);
    let mut built = cluster_with_groups();
    for number in 0..2 + dice.below(5) {
        let name = format!("n{number}");
        let made = labelled(random_node(&mut dice, &name), "rack", dice.pick(&["r1", "r2"]));
        let count = dice.below(4) as usize;
        let mut cards: Vec<Device> = (0..count).map(|number| random_card(&mut dice, number)).collect();
        // A card that is held is held alone.
        cards.iter_mut().for_each(|card| card.shareable = false);
        let counters = if dice.one_in(3) { with_counters(&mut dice, &mut cards) } else { Vec::new() };
        built = built.with_counted(made, cards, counters);
        if count > 0 && dice.one_in(2) {
            built = built.user(&format!("{name}-user"), &name, &[0]);
        }
        if dice.one_in(2) {
            built = built.pod(on(pod(&format!("{name}-pod")).cpu(1 + dice.below(4) as i64).0, &name));
        }
    }
    let size = 2 + dice.below(4);
    let levels: &[&str] = if dice.one_in(2) { &["rack"] } else { &[] };
    let halves = if is_tree { vec!["left", "right"] } else { vec!["ring"] };
    built = match is_tree {
        false => built.group("ring", size as u32, levels),
        true => {
            let of_half = |number: u64| ((size + 1 - number) / 2) as u32;
            let built = built.composite("ring", 2, levels);
            built.group_in("ring", "left", of_half(0)).group_in("ring", "right", of_half(1))
        }
    };
    let (cpu, has_claims) = (1 + dice.below(4) as i64, dice.below(3) > 0);
    // All pods ask for the same.
    let wish = dice.clone();
    for number in 0..size {
        let name = format!("ring-{number}");
        let mut draft = pod(&name).of(halves[number as usize % halves.len()]).cpu(cpu);
        if has_claims {
            built = built.claim(random_wish(&mut wish.clone(), &name));
            draft = draft.claims(&[&name]);
        }
        built = built.pod(draft.0);
    }
    built
}

#[test]
fn what_is_told_of_random_groups_holds() {
    check_all(false, &Root::Group(group_id("ring")));
}

#[test]
fn what_is_told_of_random_trees_holds() {
    check_all(true, &Root::Composite(group_id("ring")));
}

fn check_all(is_tree: bool, root: &Root) {
    let (mut left, mut helped) = (INSTANCES, 0);
    for seed in 0.. {
        let snapshot = random_group(seed, is_tree).snapshot();
        let told = explain_group(&snapshot, root, &Audience::AllNamespaces, Effort::default());
        let GroupExplanation::Refused(refused) = told else { continue };
        if matches!(
            refused.refusal.preemption,
            Some(GangPreemption::Found { .. } | GangPreemption::ClaimsGiveBack { .. })
        ) {
            continue;
        }
        let case = Case::of_group(snapshot, root).expect("the group is known");
        for remedy in &refused.remedies.remedies {
            let (is_placed, is_preempting) = decide(case.after(&remedy.edits));
            assert!(is_placed || is_preempting, "seed {seed}: {remedy:?} does not help");
        }
        helped += usize::from(!refused.remedies.remedies.is_empty());
        let (all, kept) = (case.constraints(), &refused.conflict.constraints);
        if refused.conflict.extent == Extent::Whole {
            assert!(!decide(case.without(all.difference(kept))).0, "seed {seed}: {kept:?} do not conflict");
            for one in kept {
                let mut fewer = kept.clone();
                fewer.remove(one);
                assert!(decide(case.without(all.difference(&fewer))).0, "seed {seed}: {fewer:?} conflict");
            }
        }
        assert!(refused.seated.len() < refused.waiting, "seed {seed}");
        left -= 1;
        if left == 0 {
            break;
        }
    }
    assert!(helped * 4 > INSTANCES, "only {helped} of {INSTANCES} are helped");
}
