//! Devices that several nodes reach: what one member takes, another cannot have elsewhere.
//!
//! Verdicts are compared with trying every assignment of members to nodes and of devices to members.

use crate::model::Dice;
use cluster::nodes::NodeIdx;
use placement::{
    Amounts, Axis, Budget, Domain, Gang, Kind, Likeness, Load, PlacementAnswer, PlacementQuestion,
    PlacementState, Trial, Verdict, place,
};

/// Nodes with places for members, and devices, each with the nodes that reach it. A member needs so many devices.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// How many members a node takes.
    pub places: Vec<u32>,
    reach: Vec<Vec<usize>>,
    kinds: Vec<usize>,
    /// The loads that are assumed.
    pub assumed: Vec<(usize, Load)>,
}

impl Fabric {
    /// For each device that is wanted, the node that wants it.
    fn wanted(&self) -> Vec<usize> {
        let of = |(node, load): &(usize, Load)| {
            let devices: usize = load.present().map(|(kind, count)| self.kinds[kind] * count as usize).sum();
            std::iter::repeat_n(*node, devices).collect::<Vec<_>>()
        };
        self.assumed.iter().flat_map(of).collect()
    }

    fn suffices(&self, wanted: &[usize], taken: &mut Vec<usize>) -> bool {
        let Some((node, rest)) = wanted.split_first() else { return true };
        (0..self.reach.len()).any(|device| {
            if taken.contains(&device) || !self.reach[device].contains(node) {
                return false;
            }
            taken.push(device);
            let done = self.suffices(rest, taken);
            taken.pop();
            done
        })
    }
}

impl PlacementState for Fabric {
    type Stop = String;

    fn free(&mut self, node: NodeIdx) -> Amounts {
        Amounts(vec![u64::from(self.places[node.0 as usize])])
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        Likeness(u64::from(node.0))
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, _: &mut Budget) -> Verdict {
        if load.total() <= self.places[node.0 as usize] { Verdict::Yes } else { Verdict::No }
    }

    fn crosses_nodes(&self) -> bool {
        true
    }

    fn assume(&mut self, node: NodeIdx, load: &Load, _: &mut Budget) -> Verdict {
        self.assumed.push((node.0 as usize, load.clone()));
        if self.suffices(&self.wanted(), &mut Vec::new()) {
            return Verdict::Yes;
        }
        self.assumed.pop();
        Verdict::No
    }

    fn revert(&mut self) {
        self.assumed.pop().expect("something is assumed");
    }
}

/// Whether there is a node for each member, by trying all.
fn fits(fabric: &mut Fabric, left: &mut Vec<usize>) -> bool {
    let Some(kind) = left.pop() else { return fabric.suffices(&fabric.wanted(), &mut Vec::new()) };
    let mut fitting = false;
    for node in 0..fabric.places.len() {
        let here = fabric.assumed.iter().filter(|(at, _)| *at == node).count();
        if !fitting && here < fabric.places[node] as usize {
            fabric.assumed.push((node, Load::of(fabric.kinds.len(), kind, 1)));
            fitting = fits(fabric, left);
            fabric.assumed.pop();
        }
    }
    left.push(kind);
    fitting
}

fn gang(members: &[u32]) -> Gang {
    let kind = |(at, members): (usize, &u32)| Kind {
        name: format!("kind-{at}").into(),
        members: *members,
        needs: Amounts(vec![1]),
    };
    Gang {
        axes: vec![Axis::counted("pods")],
        kinds: members.iter().enumerate().map(kind).collect(),
        at_least: members.iter().sum(),
    }
}

/// A small fabric and a gang by their seed.
pub fn instance(seed: u64) -> (Fabric, Gang) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let nodes = 1 + dice.below(4) as usize;
    let places = (0..nodes).map(|_| 1 + dice.below(3) as u32).collect();
    let reach = (0..dice.below(6)).map(|_| (0..nodes).filter(|_| dice.below(2) == 0).collect()).collect();
    let members = [1 + dice.below(3) as u32, dice.below(3) as u32];
    let kinds = vec![1, 2 * dice.below(2) as usize];
    (Fabric { places, reach, kinds, assumed: Vec::new() }, gang(&members))
}

#[test]
fn verdicts_are_those_of_trying_everything() {
    let mut verdicts = [0, 0];
    for seed in 0..800_u64 {
        let (mut fabric, gang) = instance(seed);
        let nodes = fabric.places.len() as u32;
        let domains = [Domain::whole((0..nodes).map(NodeIdx).collect())];
        let question = PlacementQuestion { gang: &gang, domains: &domains, scorers: &[] };
        let answer = place(question, &mut fabric, &mut Budget::new(1_000_000));
        assert!(fabric.assumed.is_empty(), "a trial leaves nothing behind");
        let mut left: Vec<usize> =
            gang.everybody().present().flat_map(|(kind, count)| (0..count).map(move |_| kind)).collect();
        let is_possible = fits(&mut fabric, &mut left);
        match answer {
            PlacementAnswer::Placed(placement) => {
                assert!(is_possible, "seed {seed}");
                fabric.assumed =
                    placement.seats.into_iter().map(|one| (one.node.0 as usize, one.load)).collect();
                assert!(
                    fabric.suffices(&fabric.wanted(), &mut Vec::new()),
                    "seed {seed}: there are devices for all"
                );
            }
            PlacementAnswer::Impossible(_) => assert!(!is_possible, "seed {seed}"),
            PlacementAnswer::BudgetSpent(_) => panic!("seed {seed}: the budget was spent"),
        }
        verdicts[usize::from(is_possible)] += 1;
    }
    assert!(verdicts.into_iter().all(|count| count > 100), "{verdicts:?}");
}

#[test]
fn a_trial_rewinds_when_it_is_dropped() {
    let mut fabric =
        Fabric { places: vec![2, 2], reach: vec![vec![0], vec![1]], kinds: vec![1], assumed: Vec::new() };
    let one = Load::of(1, 0, 1);
    let mut budget = Budget::new(10);
    let mut trial = Trial::begin(&mut fabric);
    assert_eq!(trial.assume(NodeIdx(0), &one, &mut budget), Verdict::Yes);
    assert_eq!(trial.assume(NodeIdx(0), &one, &mut budget), Verdict::No, "there is no second device");
    assert_eq!(trial.assume(NodeIdx(1), &one, &mut budget), Verdict::Yes);
    trial.step_back();
    assert_eq!(trial.state().assumed.len(), 1);
    drop(trial);
    assert!(fabric.assumed.is_empty());
}
