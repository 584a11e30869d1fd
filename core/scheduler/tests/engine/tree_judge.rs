//! Whether a tree of pod groups can be placed, found out by trying everything.
//!
//! Nothing of the engine is used here. Members get seats one after the other, on every node that has room and then on none, and every
//! place for each group is tried. Only what failed before is not tried again: the same things left to do with as much left of
//! nodes, where nodes with the same labels count as one another.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::tree_instances::{HOST, Instance, Part};

/// Where the members of each group are that did not run before, in order; nothing for those that have no seat.
pub type Seats = Vec<Vec<Option<usize>>>;

/// How many states are looked at before it is given up.
const STATES_MAX: usize = 100_000;

/// Nodes, as bits.
type Nodes = u32;

/// What a member wants, and whether it tolerates taints.
type Want = (i64, i64, bool);

/// Something that has to be done.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Errand {
    /// A part, by its number, has to be placed on some of these nodes; at least one of its members, if it is the one that has to.
    Place(usize, Nodes),
    /// So many of these parts of a part have to be placed.
    Some { left: usize, parts: Vec<usize>, nodes: Nodes },
    /// So many of these members, by what they want, need seats on some of these nodes; by a level they must be apart.
    Seat { left: usize, members: Vec<Want>, nodes: Nodes, apart: Option<usize> },
}

/// What is left to do, and what is left of nodes.
type State = (Vec<Errand>, Vec<(i64, i64)>);

/// A part, with its number given by its place.
struct Listed<'p> {
    part: &'p Part,
    children: Vec<usize>,
    /// The nodes on which members of it run.
    runs_on: Vec<usize>,
    /// It needs no more members.
    is_met: bool,
    holds: BTreeSet<usize>,
}

struct Judge<'i> {
    instance: &'i Instance,
    parts: Vec<Listed<'i>>,
    /// A group of which at least one member has to get a seat.
    forced: Option<usize>,
    failed: FxHashSet<State>,
    states: usize,
}

impl Instance {
    /// Whether members of enough of the tree can be placed, at least one; nothing if it takes too long to find out.
    pub fn is_possible(&self) -> Option<bool> {
        let mut judge = Judge {
            instance: self,
            parts: Vec::new(),
            forced: None,
            failed: FxHashSet::default(),
            states: 0,
        };
        judge.list(&self.tree);
        let all = (1 << self.nodes.len()) - 1;
        let free: Vec<(i64, i64)> = self.nodes.iter().map(|spot| (spot.cpu, spot.cards)).collect();
        let groups: Vec<usize> = match judge.parts[0].is_met {
            false => vec![usize::MAX],
            true => (0..judge.parts.len()).filter(|at| judge.waiting(*at) > 0).collect(),
        };
        for forced in groups {
            judge.forced = Some(forced).filter(|at| *at != usize::MAX);
            judge.failed.clear();
            if judge.go_on(vec![Errand::Place(0, all)], &free)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

impl<'i> Judge<'i> {
    fn list(&mut self, part: &'i Part) -> usize {
        let at = self.parts.len();
        let listed =
            Listed { part, children: Vec::new(), runs_on: Vec::new(), is_met: false, holds: [at].into() };
        self.parts.push(listed);
        match part {
            Part::Leaf { at_least, members, .. } => {
                let runs_on: Vec<usize> = members.iter().filter_map(|member| member.runs_on).collect();
                self.parts[at].is_met = runs_on.len() >= *at_least;
                self.parts[at].runs_on = runs_on;
            }
            Part::Inner { at_least, parts, .. } => {
                let children: Vec<usize> = parts.iter().map(|part| self.list(part)).collect();
                let met = children.iter().filter(|child| self.parts[**child].is_met).count();
                let holds: BTreeSet<usize> =
                    children.iter().flat_map(|child| self.parts[*child].holds.clone()).chain([at]).collect();
                let runs_on = children.iter().flat_map(|child| self.parts[*child].runs_on.clone()).collect();
                self.parts[at] = Listed { part, children, runs_on, is_met: met >= *at_least, holds };
            }
        }
        at
    }

    /// How many members of a group wait.
    fn waiting(&self, at: usize) -> usize {
        match self.parts[at].part {
            Part::Leaf { members, .. } => members.iter().filter(|member| member.runs_on.is_none()).count(),
            Part::Inner { .. } => 0,
        }
    }

    fn has_to(&self, at: usize) -> bool {
        self.forced.is_some_and(|forced| self.parts[at].holds.contains(&forced))
    }

    /// The places within some nodes in which a part may be, each as nodes.
    fn places(&self, levels: &[usize], runs_on: &[usize], nodes: Nodes) -> Vec<Nodes> {
        if levels.is_empty() {
            return vec![nodes];
        }
        let place = |node: usize| -> Option<Vec<u64>> {
            levels.iter().map(|level| self.instance.nodes[node].places[*level]).collect()
        };
        let mut places: BTreeMap<Vec<u64>, Nodes> = BTreeMap::new();
        for node in (0..self.instance.nodes.len()).filter(|node| nodes >> node & 1 == 1) {
            if let Some(place) = place(node) {
                *places.entry(place).or_default() |= 1 << node;
            }
        }
        let is_home = |at: &Vec<u64>| runs_on.iter().all(|node| place(*node).as_ref() == Some(at));
        places.into_iter().filter(|(at, _)| is_home(at)).map(|(_, nodes)| nodes).collect()
    }

    /// Nodes without those that are in one place with this one, by a level.
    fn without(&self, nodes: Nodes, node: usize, apart: Option<usize>) -> Nodes {
        let place = |at: usize| match apart? {
            HOST => Some(at as u64),
            level => self.instance.nodes[at].places[level],
        };
        let is_beside = |other: &usize| place(node).is_some() && place(*other) == place(node);
        (0..self.instance.nodes.len()).filter(is_beside).fold(nodes, |nodes, other| nodes & !(1 << other))
    }

    /// What is left of nodes, without regard to which of those with the same labels has it.
    fn gist(&self, free: &[(i64, i64)], errands: &[Errand]) -> Vec<(i64, i64)> {
        let mut by_labels: BTreeMap<_, Vec<(i64, i64)>> = BTreeMap::new();
        let is_told_apart =
            errands.iter().any(|errand| matches!(errand, Errand::Seat { apart: Some(HOST), .. }));
        for (at, (spot, left)) in self.instance.nodes.iter().zip(free).enumerate() {
            by_labels
                .entry((spot.places, spot.tainted, is_told_apart.then_some(at)))
                .or_default()
                .push(*left);
        }
        by_labels.values_mut().for_each(|left| left.sort_unstable());
        by_labels.into_values().flatten().collect()
    }

    /// Does what is left to do in every way.
    fn go_on(&mut self, mut errands: Vec<Errand>, free: &[(i64, i64)]) -> Option<bool> {
        let Some(errand) = errands.last().cloned() else { return Some(true) };
        self.states += 1;
        if self.states > STATES_MAX {
            return None;
        }
        let state = (errands.clone(), self.gist(free, &errands));
        if self.failed.contains(&state) {
            return Some(false);
        }
        errands.pop();
        if self.try_all(errand, &errands, free)? {
            return Some(true);
        }
        self.failed.insert(state);
        Some(false)
    }

    fn try_all(&mut self, errand: Errand, rest: &[Errand], free: &[(i64, i64)]) -> Option<bool> {
        let with = |more: Vec<Errand>| rest.iter().cloned().chain(more).collect::<Vec<_>>();
        match errand {
            Errand::Place(at, nodes) => {
                let (Part::Leaf { levels, .. } | Part::Inner { levels, .. }) = self.parts[at].part;
                if self.parts[at].is_met && !self.has_to(at) {
                    return self.go_on(with(vec![]), free);
                }
                let runs_on = self.parts[at].runs_on.clone();
                for nodes in self.places(levels, &runs_on, nodes) {
                    let next = match self.parts[at].part {
                        Part::Inner { at_least, .. } => {
                            Errand::Some { left: *at_least, parts: self.parts[at].children.clone(), nodes }
                        }
                        Part::Leaf { at_least, members, apart, .. } => {
                            let nodes =
                                runs_on.iter().fold(nodes, |nodes, at| self.without(nodes, *at, *apart));
                            let waiting = members.iter().filter(|member| member.runs_on.is_none());
                            let mut members: Vec<_> =
                                waiting.map(|member| (member.cpu, member.cards, member.tolerates)).collect();
                            members.sort_unstable();
                            let left =
                                at_least.saturating_sub(runs_on.len()).max(usize::from(self.has_to(at)));
                            Errand::Seat { left, members, nodes, apart: *apart }
                        }
                    };
                    if self.go_on(with(vec![next]), free)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Errand::Some { left, mut parts, nodes } => {
                let Some(part) = parts.pop() else {
                    return if left == 0 { self.go_on(with(vec![]), free) } else { Some(false) };
                };
                let has_to = self.has_to(part);
                let others = |left: usize| Errand::Some { left, parts: parts.clone(), nodes };
                let is_wanted = left > 0 || has_to;
                if is_wanted
                    && self
                        .go_on(with(vec![others(left.saturating_sub(1)), Errand::Place(part, nodes)]), free)?
                {
                    return Some(true);
                }
                if has_to { Some(false) } else { self.go_on(with(vec![others(left)]), free) }
            }
            Errand::Seat { left, mut members, nodes, apart } => {
                let Some((cpu, cards, tolerates)) = members.pop() else {
                    return if left == 0 { self.go_on(with(vec![]), free) } else { Some(false) };
                };
                if left == 0 {
                    return self.go_on(with(vec![]), free);
                }
                // Not even the smallest have enough.
                let mut smallest: Vec<i64> = members.iter().map(|(cpu, ..)| *cpu).chain([cpu]).collect();
                smallest.sort_unstable();
                let here = (0..free.len()).filter(|node| nodes >> node & 1 == 1).map(|node| free[node].0);
                if smallest.len() < left || smallest[..left].iter().sum::<i64>() > here.sum::<i64>() {
                    return Some(false);
                }
                let next = |left: usize, nodes: Nodes| {
                    with(vec![Errand::Seat { left, members: members.clone(), nodes, apart }])
                };
                for node in (0..free.len()).filter(|node| nodes >> node & 1 == 1) {
                    let may_come = tolerates || !self.instance.nodes[node].tainted;
                    if may_come && free[node].0 >= cpu && free[node].1 >= cards {
                        let mut less = free.to_vec();
                        less[node] = (free[node].0 - cpu, free[node].1 - cards);
                        if self.go_on(next(left - 1, self.without(nodes, node, apart)), &less)? {
                            return Some(true);
                        }
                    }
                }
                self.go_on(next(left, nodes), free)
            }
        }
    }
}

impl Instance {
    /// Whether enough of the tree is placed like this, and nothing else that must not be.
    pub fn are_right(&self, seats: &Seats) -> bool {
        let mut free: Vec<(i64, i64)> = self.nodes.iter().map(|spot| (spot.cpu, spot.cards)).collect();
        for (leaf, seats) in self.tree.leaves().iter().zip(seats) {
            let Part::Leaf { members, apart, .. } = leaf else { unreachable!("it is a group") };
            let all = members.iter().zip(seats).filter_map(|(member, seat)| member.runs_on.or(*seat));
            let place = |at: usize| match apart.as_ref()? {
                &HOST => Some(at as u64),
                level => self.nodes[at].places[*level],
            };
            // Those that ran before may be beside each other, but no other comes beside them.
            let places: Vec<u64> = all.filter_map(place).collect();
            let come = seats.iter().copied().flatten().filter_map(place);
            let is_alone = |here: u64| places.iter().filter(|other| **other == here).count() == 1;
            if !come.into_iter().all(is_alone) {
                return false;
            }
            for (member, seat) in members.iter().zip(seats) {
                if let Some(at) = seat {
                    if self.nodes[*at].tainted && !member.tolerates {
                        return false;
                    }
                    free[*at] = (free[*at].0 - member.cpu, free[*at].1 - member.cards);
                }
            }
        }
        let is_enough = free.iter().all(|(cpu, cards)| *cpu >= 0 && *cards >= 0);
        is_enough && self.stands(&self.tree, &mut seats.iter()).is_some_and(|(_, is_placed)| is_placed)
    }

    /// The nodes on which a part is, and whether enough of it is placed; nothing if some of it is where it must not be.
    fn stands<'s>(
        &self,
        part: &Part,
        seats: &mut impl Iterator<Item = &'s Vec<Option<usize>>>,
    ) -> Option<(BTreeSet<usize>, bool)> {
        let (levels, nodes, is_placed, has_come) = match part {
            Part::Leaf { at_least, levels, members, .. } => {
                let own = seats.next()?;
                let come: Vec<usize> = own.iter().copied().flatten().collect();
                let all = members.iter().filter_map(|member| member.runs_on).chain(come.clone());
                let all: Vec<usize> = all.collect();
                (
                    levels,
                    all.iter().copied().collect::<BTreeSet<_>>(),
                    all.len() >= *at_least,
                    !come.is_empty(),
                )
            }
            Part::Inner { at_least, levels, parts } => {
                let mut placed = 0;
                let mut nodes = BTreeSet::new();
                let mut has_come = false;
                for part in parts {
                    let mut own: Vec<&Vec<Option<usize>>> = Vec::new();
                    for _ in part.leaves() {
                        own.push(seats.next()?);
                    }
                    has_come |= own.iter().any(|seats| seats.iter().any(Option::is_some));
                    let (on, is_placed) = self.stands(part, &mut own.into_iter())?;
                    placed += usize::from(is_placed);
                    nodes.extend(on);
                }
                (levels, nodes, placed >= *at_least, has_come)
            }
        };
        let place = |node: &usize| -> Option<Vec<u64>> {
            levels.iter().map(|level| self.nodes[*node].places[*level]).collect()
        };
        let places: BTreeSet<Option<Vec<u64>>> = nodes.iter().map(place).collect();
        let is_one = places.len() < 2 && !places.contains(&None);
        // What runs somewhere else by itself is no mistake.
        (!has_come || (is_placed && (levels.is_empty() || is_one))).then_some((nodes, is_placed))
    }
}
