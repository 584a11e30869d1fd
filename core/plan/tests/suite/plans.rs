//! Plans agree with each other, and leave what they are about as it was.

use plan::{Alteration, Extent, Goal, capacity, defragment, plan, usage};

use crate::cluster::{cluster, question};

/// Nodes on which devices are free: one of every so many.
fn one_in(every: usize) -> impl Fn(usize, usize) -> bool {
    move |node, device| node.is_multiple_of(every) && device == 0
}

#[test]
fn as_many_pods_fit_as_capacity_says_and_no_more() {
    for (nodes, devices, every, wanted) in [(6, 2, 2, 1), (10, 4, 3, 1), (4, 3, 1, 2), (5, 4, 5, 1)] {
        let snapshot = cluster(nodes, devices, one_in(every));
        let told = capacity(question(snapshot.clone(), 1, wanted)).expect("there is one pod");
        assert_eq!(told.extent, Extent::Whole);
        let free = if wanted == 1 { nodes.div_ceil(every) } else { 0 };
        assert_eq!(told.count, free, "{nodes} nodes");
        assert_eq!(told.nodes.values().sum::<usize>(), told.count);
        let fit = |count: usize| plan(question(snapshot.clone(), count, wanted)).expect("nothing is missing");
        assert!(fit(told.count).fits());
        assert_eq!(fit(told.count + 1).placed(), told.count);
        let more: Vec<usize> = told.more.iter().map(|one| one.pods).collect();
        assert_eq!(more, [devices / wanted as usize], "what one more node takes");
    }
}

#[test]
fn what_is_in_use_before_and_after_is_a_recount() {
    let snapshot = cluster(8, 4, one_in(2));
    let told = plan(question(snapshot.clone(), 3, 1)).expect("nothing is missing");
    assert_eq!(told.before, usage(&snapshot.facts), "the snapshot is as it was");
    let sum = |usage: &plan::ClusterUsage| {
        let nodes = usage.nodes.values();
        nodes.fold((0, 0, 0), |(pods, cpu, devices), one| {
            let used: i64 = one.devices.values().map(|part| part.used).sum();
            (pods + one.pods.used, cpu + one.cpu_milli.used, devices + used)
        })
    };
    assert_eq!(sum(&told.before), (32, 32_000, 28));
    assert_eq!(sum(&told.after), (35, 35_000, 31));
    let again = plan(question(snapshot, 3, 1)).expect("nothing is missing");
    assert_eq!(again, told, "the same question has the same answer");
}

#[test]
fn alterations_combine_whatever_their_order() {
    let with = |alterations: &[&str]| {
        let alterations = alterations.iter().map(|text| Alteration::parse(text).expect("it is good"));
        let alterations = alterations.collect();
        plan(plan::PlanQuestion { alterations, ..question(cluster(4, 2, |_, _| false), 4, 1) })
            .expect("nothing is missing")
    };
    assert_eq!(with(&[]).placed(), 0);
    assert_eq!(with(&["add-node=node-0"]).placed(), 2);
    assert_eq!(with(&["add-node=node-0:2"]).placed(), 4);
    assert_eq!(with(&["attach=3×gpu@node-1"]).placed(), 3);
    let (one, other) =
        (with(&["drain=node-0", "add-node=node-0:3"]), with(&["add-node=node-0:3", "drain=node-0"]));
    assert_eq!((one.placed(), one.fits()), (6, true), "the two of node-0 and the four new ones");
    assert_eq!(one, other);
    let urgent = with(&["priority=new-0=5", "without=old-3-0"]);
    assert_eq!((urgent.placed(), urgent.preempted.len()), (1, 0), "a free device is taken first");
    assert_eq!(with(&["priority=new-0=5"]).preempted.len(), 1);
}

#[test]
fn moves_make_a_place_as_long_as_there_is_one_elsewhere() {
    // One device is free on each node, and a pod wants two of one node.
    let told = defragment(question(cluster(4, 3, |_, device| device == 0), 1, 2), Goal::Pods, 5);
    let told = told.expect("there is a pod");
    assert_eq!((told.moves.as_ref().map(Vec::len), told.extent), (Some(1), Extent::Whole));
    // Nothing is free elsewhere.
    let told =
        defragment(question(cluster(3, 2, |node, device| node == 0 && device == 0), 1, 2), Goal::Pods, 2);
    let told = told.expect("there is a pod");
    assert_eq!((told.moves, told.extent), (None, Extent::Whole));
    // Three moves, and no fewer: a pod wants all four devices of a node.
    let told = defragment(question(cluster(4, 4, |_, device| device == 0), 1, 4), Goal::Pods, 5);
    let told = told.expect("there is a pod");
    assert_eq!(told.moves.map(|moves| moves.len()), Some(3));
    let few = defragment(question(cluster(4, 4, |_, device| device == 0), 1, 4), Goal::Pods, 2);
    assert_eq!(few.expect("there is a pod").moves, None);
}

#[test]
fn a_bound_is_told() {
    let bounded = plan(plan::PlanQuestion { work_max: 1, ..question(cluster(4, 2, |_, _| true), 300, 1) });
    assert_eq!(bounded.expect("nothing is missing").extent, Extent::Bounded);
}
