//! A gang that is placed in slices: what comes of it is the same as at once, and between slices nothing is assumed.

use std::borrow::Cow;

use cluster::nodes::NodeIdx;
use placement::{
    Budget, Domain, Gang, PlacementAnswer, PlacementQuestion, PlacementState, Placing, Progress, place,
};

use crate::across_nodes::{self, Fabric};
use crate::exhaustive;
use crate::model::{Model, gang};
use crate::near_full;

/// Places a gang in slices of so many steps, and looks at the state between them.
fn in_slices<S: PlacementState>(
    gang: &Gang,
    domains: &[Domain],
    state: &mut S,
    (steps, slice): (u64, u64),
    look: impl Fn(&S),
) -> (PlacementAnswer<S::Stop>, u64, u64) {
    let owned: (Cow<'static, Gang>, Cow<'static, [Domain]>) =
        (Cow::Owned(gang.clone()), Cow::Owned(domains.to_vec()));
    let mut placing = Placing::new(owned.0, owned.1, Budget::new(steps));
    let mut pauses = 0;
    loop {
        let progress = placing.advance(state, &[], slice);
        look(state);
        match progress {
            Progress::Done(answer) => return (answer, steps - placing.left(), pauses),
            Progress::Paused => pauses += 1,
        }
    }
}

fn at_once<S: PlacementState>(
    gang: &Gang,
    domains: &[Domain],
    state: &mut S,
    steps: u64,
) -> (PlacementAnswer<S::Stop>, u64) {
    let mut budget = Budget::new(steps);
    let answer = place(PlacementQuestion { gang, domains, scorers: &[] }, state, &mut budget);
    (answer, steps - budget.left())
}

const SLICES: [u64; 3] = [1, 7, 1_000];

fn whole(nodes: usize) -> [Domain; 1] {
    [Domain::whole((0..nodes as u32).map(NodeIdx).collect())]
}

#[test]
fn small_gangs_are_placed_in_slices_as_at_once() {
    for seed in 0..300 {
        let instance = exhaustive::instance(seed, 6, 7);
        let (gang, kinds) = gang(&instance.members, instance.at_least);
        let domains = whole(instance.nodes.len());
        for steps in [40, 100_000] {
            let expected = at_once(&gang, &domains, &mut Model::new(&instance.nodes, &kinds), steps);
            for slice in SLICES {
                let mut model = Model::new(&instance.nodes, &kinds);
                let (answer, used, _) = in_slices(&gang, &domains, &mut model, (steps, slice), |_| {});
                assert_eq!((answer, used), expected, "seed {seed}, slices of {slice}");
            }
        }
    }
}

#[test]
fn gangs_of_several_sizes_are_placed_in_slices_as_at_once() {
    let mut pauses_max = 0;
    let mut hard = 0;
    for seed in 0..300 {
        let instance = near_full::instance(seed);
        let (gang, domains) = (instance.gang(), whole(instance.nodes.len()));
        if instance.nodes.len() > 32 || hard == 12 {
            continue;
        }
        let expected = at_once(&gang, &domains, &mut instance.state(), 20_000);
        // Those that a short search decides are of no interest here.
        if expected.1 < 2_500 {
            continue;
        }
        hard += 1;
        for slice in SLICES {
            let (answer, used, pauses) =
                in_slices(&gang, &domains, &mut instance.state(), (20_000, slice), |_| {});
            assert_eq!((&answer, used), (&expected.0, expected.1), "seed {seed}, slices of {slice}");
            pauses_max = pauses_max.max(pauses);
        }
    }
    assert!(hard == 12 && pauses_max > 1_000, "{hard} are hard, and pause up to {pauses_max} times");
}

#[test]
fn nothing_is_assumed_while_a_search_across_nodes_pauses() {
    let mut is_paused = false;
    for seed in 0..200 {
        let (mut fabric, gang) = across_nodes::instance(seed);
        let domains = whole(fabric.places.len());
        for steps in [30, 100_000] {
            let expected = at_once(&gang, &domains, &mut fabric.clone(), steps);
            for slice in SLICES {
                let look = |fabric: &Fabric| assert!(fabric.assumed.is_empty(), "seed {seed}");
                let (answer, used, pauses) = in_slices(&gang, &domains, &mut fabric, (steps, slice), look);
                assert_eq!((answer, used), expected, "seed {seed}, slices of {slice}");
                is_paused |= pauses > 20;
            }
        }
    }
    assert!(is_paused, "some searches pause often");
}
