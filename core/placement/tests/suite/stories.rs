//! Single cases, each with what it is about in its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Device, Member, Model, Node, gang};
use cluster::nodes::NodeIdx;
use placement::{
    Budget, Domain, FewestParts, Gang, PlacementAnswer, PlacementGenerator, PlacementQuestion, Strictness,
    TightestFit, Topology, TopologyConstraint, TopologyGenerator, Weighted, place,
};

const WHOLE: u8 = 0;
const HALF: u8 = 1;

/// A node with so many GPUs, each given whole or in halves.
fn gpus(count: usize) -> Node {
    let parts = |counter| {
        let device = move |class, draws| Device { class, counter, draws };
        [device(HALF, 1), device(HALF, 1), device(WHOLE, 2)]
    };
    Node { cpu: 64, zone: 0, devices: (0..count).flat_map(parts).collect(), counters: vec![2; count] }
}

fn members(count: usize, classes: &[u8]) -> Vec<Member> {
    vec![Member { cpu: 1, zone: None, classes: classes.to_vec() }; count]
}

struct Racks {
    nodes: Vec<Node>,
    labels: Vec<BTreeMap<Arc<str>, Arc<str>>>,
}

impl Racks {
    /// Nodes by block and rack.
    fn new(nodes: &[(&str, &str, Node)]) -> Racks {
        let labels = |(block, rack, _): &(&str, &str, Node)| {
            let both = [("block", *block), ("rack", *rack)];
            both.into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(key, value)| (key.into(), value.into()))
                .collect()
        };
        Racks {
            nodes: nodes.iter().map(|(_, _, node)| node.clone()).collect(),
            labels: nodes.iter().map(labels).collect(),
        }
    }

    fn topology(&self) -> Topology {
        let numbered = self.labels.iter().enumerate().map(|(at, labels)| (NodeIdx(at as u32), labels));
        Topology::read(["block", "rack"].map(Arc::from), numbered)
    }

    fn domains(&self, constraints: &[(&str, Strictness)], pinned: &[u32]) -> Vec<Domain> {
        let constraint = |(level, strictness): &(&str, Strictness)| TopologyConstraint {
            level: (*level).into(),
            strictness: *strictness,
        };
        let constraints: Vec<TopologyConstraint> = constraints.iter().map(constraint).collect();
        let pinned: Vec<NodeIdx> = pinned.iter().map(|at| NodeIdx(*at)).collect();
        let topology = self.topology();
        let generator = TopologyGenerator { topology: &topology, constraints: &constraints, pinned: &pinned };
        generator.generate(&[Domain::whole(topology.nodes().collect())])
    }

    /// Where the members go, as `domain: node×members`, or why they do not.
    fn place(&self, members: &[Member], at_least: u32, domains: &[Domain]) -> String {
        let (gang, kinds) = gang(members, at_least);
        told(&gang, domains, &mut Model::new(&self.nodes, &kinds), 100_000)
    }
}

fn told(gang: &Gang, domains: &[Domain], model: &mut Model<'_>, steps: u64) -> String {
    let scorers =
        [Weighted { scorer: &TightestFit, weight: 1.0 }, Weighted { scorer: &FewestParts, weight: 1.0 }];
    let question = PlacementQuestion { gang, domains, scorers: &scorers };
    match place(question, model, &mut Budget::new(steps)) {
        PlacementAnswer::Placed(placement) => {
            let seats =
                placement.seats.iter().map(|seats| format!(" {}×{}", seats.node.0, seats.load.total()));
            format!("{}:{}", placement.domain, seats.collect::<String>())
        }
        PlacementAnswer::Impossible(refusal) => refusal.to_string(),
        PlacementAnswer::BudgetSpent(refusal) => format!("after all steps, {refusal}"),
    }
}

const RACK: (&str, Strictness) = ("rack", Strictness::Required);

#[test]
fn members_with_whole_and_half_gpus_share_hardware_that_just_suffices() {
    let racks = Racks::new(&[("b0", "r0", gpus(2)), ("b0", "r0", gpus(1))]);
    let mut gang = members(2, &[HALF]);
    gang.extend(members(2, &[WHOLE]));
    assert_eq!(racks.place(&gang, 4, &racks.domains(&[RACK], &[])), "r0: 0×2 1×2");
    gang.extend(members(1, &[HALF]));
    assert_eq!(
        racks.place(&gang, 5, &racks.domains(&[RACK], &[])),
        "5 members do not fit in r0 at once: 4 of 5 fit"
    );
}

#[test]
fn the_rack_in_which_least_is_left_over_is_taken() {
    let racks = Racks::new(&[("b0", "r0", gpus(8)), ("b0", "r1", gpus(4)), ("b1", "r2", gpus(3))]);
    let domains = racks.domains(&[RACK], &[]);
    assert_eq!(racks.place(&members(4, &[WHOLE]), 4, &domains), "r1: 1×4");
    assert_eq!(racks.place(&members(3, &[WHOLE]), 3, &domains), "r2: 2×3");
    assert_eq!(racks.place(&members(5, &[WHOLE]), 5, &domains), "r0: 0×5");
    assert_eq!(
        racks.place(&members(9, &[WHOLE]), 9, &domains),
        "9 members fit in none of 3 domains at once; \
         r0 comes closest: 8 of 9 fit, insufficient class 0: 9 needed, 8 free"
    );
}

#[test]
fn what_sums_cannot_see_is_said_by_kind() {
    let racks = Racks::new(&[("b0", "r0", gpus(1)), ("b0", "r0", gpus(1))]);
    let pairs = members(1, &[WHOLE, WHOLE]);
    assert_eq!(
        racks.place(&pairs, 1, &racks.domains(&[RACK], &[])),
        "1 member does not fit in r0 at once: 0 of 1 fit, at most 0 of 1 pods like kind-0 fit"
    );
}

#[test]
fn wishes_are_given_up_from_the_finest() {
    let racks =
        Racks::new(&[("b0", "r0", gpus(2)), ("b0", "r1", gpus(2)), ("b1", "r2", gpus(2)), ("", "", gpus(1))]);
    let wishes = [("block", Strictness::Preferred(0)), ("rack", Strictness::Preferred(0))];
    let domains = racks.domains(&wishes, &[]);
    assert_eq!(racks.place(&members(2, &[WHOLE]), 2, &domains), "b0/r0: 0×2");
    assert_eq!(racks.place(&members(3, &[WHOLE]), 3, &domains), "b0: 0×2 1×1");
    assert_eq!(racks.place(&members(7, &[WHOLE]), 7, &domains), "cluster: 0×2 1×2 2×2 3×1");
    let strict = racks.domains(&[("block", Strictness::Required), ("rack", Strictness::Preferred(0))], &[]);
    assert!(racks.place(&members(5, &[WHOLE]), 5, &strict).contains("b0 comes closest"));
}

#[test]
fn a_gang_that_is_too_large_for_a_rack_is_in_as_few_as_possible() {
    let racks = Racks::new(&[
        ("b0", "r0", gpus(1)),
        ("b0", "r1", gpus(2)),
        ("b0", "r0", gpus(1)),
        ("b0", "r2", gpus(4)),
        ("b0", "r1", gpus(2)),
    ]);
    let domains = racks.domains(&[("rack", Strictness::Preferred(0))], &[]);
    assert_eq!(racks.place(&members(8, &[WHOLE]), 8, &domains), "cluster: 1×2 4×2 3×4");
}

#[test]
fn members_that_run_pin_the_domain() {
    let racks = Racks::new(&[("b0", "r0", gpus(2)), ("b0", "r1", gpus(2)), ("b0", "", gpus(2))]);
    assert_eq!(racks.place(&members(1, &[WHOLE]), 1, &racks.domains(&[RACK], &[1])), "r1: 1×1");
    for torn in [&[0, 1][..], &[2]] {
        assert_eq!(
            racks.place(&members(1, &[WHOLE]), 1, &racks.domains(&[RACK], torn)),
            "there is no domain for 1 member"
        );
    }
}

#[test]
fn who_need_not_be_seated_is_seated_where_there_is_room() {
    let racks = Racks::new(&[("b0", "r0", gpus(2)), ("b0", "r0", gpus(1))]);
    let domains = racks.domains(&[RACK], &[]);
    assert_eq!(racks.place(&members(5, &[WHOLE]), 2, &domains), "r0: 0×2 1×1");
    assert_eq!(racks.place(&members(2, &[WHOLE]), 1, &domains), "r0: 0×2");
}

#[test]
fn racks_that_are_alike_are_tried_once() {
    let nodes: Vec<(String, Node)> = (0..600).map(|at| (format!("r{}", at / 12), gpus(2))).collect();
    let nodes: Vec<(&str, &str, Node)> =
        nodes.iter().map(|(rack, node)| ("b0", &**rack, node.clone())).collect();
    let racks = Racks::new(&nodes);
    let domains = racks.domains(&[RACK], &[]);
    let mut all = members(21, &[WHOLE]);
    all.extend(members(7, &[HALF]));
    let (gang, kinds) = gang(&all, 28);
    let mut model = Model::new(&racks.nodes, &kinds);
    assert!(told(&gang, &domains, &mut model, 100_000).contains("comes closest: "));
    assert!(model.asked < 40, "asked {} times", model.asked);
}

#[test]
fn a_search_that_meets_its_bound_proves_nothing() {
    let racks = Racks::new(&[("b0", "r0", gpus(2)), ("b0", "r0", gpus(1))]);
    let mut all = members(2, &[HALF]);
    all.extend(members(2, &[WHOLE]));
    let (gang, kinds) = gang(&all, 4);
    let told = told(&gang, &racks.domains(&[RACK], &[]), &mut Model::new(&racks.nodes, &kinds), 5);
    assert!(told.starts_with("after all steps, "), "{told}");
}

#[test]
fn wishes_of_a_higher_rank_are_tried_in_the_place_of_lower_ones() {
    let racks = Racks::new(&[("b0", "r0", gpus(2)), ("b1", "r0", gpus(2)), ("b1", "r1", gpus(1))]);
    let wishes = [("rack", Strictness::Preferred(0)), ("block", Strictness::Preferred(1))];
    let domains = racks.domains(&wishes, &[]);
    assert_eq!(
        racks.place(&members(4, &[WHOLE]), 4, &domains),
        "r0: 0×2 1×2",
        "the rack, whatever its blocks"
    );
    assert!(
        racks.domains(&wishes, &[]).iter().any(|domain| domain.name.part() == Some("b1") && domain.rank == 1)
    );
    assert_eq!(racks.place(&members(5, &[WHOLE]), 5, &domains), "cluster: 0×2 1×2 2×1");
}

#[test]
fn who_is_lost_comes_back_to_where_the_others_are_if_there_is_room() {
    let racks = Racks::new(&[("b0", "r0", gpus(8)), ("b0", "r1", gpus(1)), ("b0", "r1", gpus(1))]);
    let wish = [("rack", Strictness::Preferred(0))];
    assert_eq!(racks.place(&members(2, &[WHOLE]), 2, &racks.domains(&wish, &[1])), "r1: 1×1 2×1");
    assert_eq!(racks.place(&members(3, &[WHOLE]), 3, &racks.domains(&wish, &[1])), "cluster: 1×1 2×1 0×1");
}
