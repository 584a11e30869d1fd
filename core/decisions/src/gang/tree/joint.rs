//! Seats for members of all groups at once, each within the domain of its group, if members on one node are in the way of no others.
//!
//! Groups whose domains have no nodes in common, directly or by others, are looked at by themselves. What came of it is kept, so that
//! it is found out once for each set of wishes.
//!
//! Invariant: "no" is a proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use placement::{
    Amounts, Axis, Budget, Domain, Gang, Kind, Likeness, Load, PlacementAnswer, PlacementQuestion,
    PlacementState, Verdict, place,
};
use rustc_hash::FxHashMap;

use crate::gang::tree::ground::{Counts, Ground};
use crate::gang::tree::loads::SeatRun;
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::PartIdx;
use crate::values::work;

/// How many members of a kind are to be in a domain.
pub(crate) type Demands = BTreeMap<(DomainIdx, usize), u32>;

/// Members of a kind that are to be in a domain, on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JointSeat {
    pub node: usize,
    pub domain: DomainIdx,
    pub kind: usize,
    pub count: u32,
}

/// So many members of a kind that are to be in a domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct JointWish {
    domain: DomainIdx,
    kind: usize,
    count: u32,
}

/// Wishes that are in each other's way, and their domains.
struct Crowd {
    domains: Vec<DomainIdx>,
    wishes: Vec<JointWish>,
}

/// Seats that were found; nothing if there are none.
type Found = Option<Arc<[JointSeat]>>;

/// What is known of sets of wishes.
#[derive(Default)]
pub(crate) struct Joint {
    known: FxHashMap<Vec<JointWish>, Found>,
}

impl Joint {
    /// Whether there are seats for all of these.
    pub fn check(&mut self, ground: &mut Ground<'_, '_>, map: &DomainMap, demands: &Demands) -> Verdict {
        let mut verdict = Verdict::Yes;
        for part in crowds(map, demands) {
            match self.seat(ground, map, part) {
                Ok(Some(_)) => {}
                Ok(None) => return Verdict::No,
                Err(()) => verdict = Verdict::Unknown,
            }
        }
        verdict
    }

    /// Seats for all of these, of which it is known that there are some.
    pub fn seats(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        demands: &Demands,
    ) -> Option<Vec<JointSeat>> {
        let mut seats = Vec::new();
        for part in crowds(map, demands) {
            seats.extend(self.seat(ground, map, part).ok().flatten()?.iter());
        }
        Some(seats)
    }

    /// Seats for groups that are in each other's way; nothing if there are none.
    fn seat(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        part: Vec<JointWish>,
    ) -> Result<Found, ()> {
        if let Some(known) = self.known.get(&part) {
            return Ok(known.clone());
        }
        let found = search(ground, map, &part)?;
        self.known.insert(part, found.clone());
        Ok(found)
    }
}

/// Draws the seats of a group from those of all.
pub(crate) fn draw(
    seats: &mut [JointSeat],
    part: PartIdx,
    domain: DomainIdx,
    members: &[(usize, u32)],
) -> Vec<SeatRun> {
    let mut runs = Vec::new();
    for (kind, count) in members {
        let mut left = *count;
        let own = seats.iter_mut().filter(|seat| seat.domain == domain && seat.kind == *kind);
        for seat in own.filter(|seat| seat.count > 0) {
            let count = seat.count.min(left);
            if count == 0 {
                break;
            }
            (seat.count, left) = (seat.count - count, left - count);
            runs.push(SeatRun { part, node: seat.node, kind: *kind, count });
        }
    }
    runs
}

/// Wishes by which of them are in each other's way.
fn crowds(map: &DomainMap, demands: &Demands) -> Vec<Vec<JointWish>> {
    let mut crowds: Vec<Crowd> = Vec::new();
    for ((domain, kind), count) in demands.iter().filter(|(_, count)| **count > 0) {
        let own = JointWish { domain: *domain, kind: *kind, count: *count };
        if let Some(crowd) = crowds.iter_mut().find(|crowd| crowd.domains.contains(domain)) {
            crowd.wishes.push(own);
            continue;
        }
        let touches = |crowd: &mut Crowd| crowd.domains.iter().any(|other| map.overlap(*domain, *other));
        let mut joined = Crowd { domains: vec![*domain], wishes: vec![own] };
        for crowd in crowds.extract_if(.., touches) {
            joined.domains.extend(crowd.domains);
            joined.wishes.extend(crowd.wishes);
        }
        crowds.push(joined);
    }
    let sorted = |mut crowd: Crowd| {
        crowd.wishes.sort_unstable();
        crowd.wishes
    };
    crowds.into_iter().map(sorted).collect()
}

/// Looks for seats for these wishes on all nodes of their domains.
fn search(ground: &mut Ground<'_, '_>, map: &DomainMap, wishes: &[JointWish]) -> Result<Found, ()> {
    let mut nodes: Vec<usize> = wishes.iter().flat_map(|wish| &map.get(wish.domain).nodes).copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    let kind = |JointWish { kind, count, .. }: &JointWish| Kind {
        name: ground.view.cast.kinds[*kind][0].members[0].pod.id.name.clone(),
        members: *count,
        needs: Amounts(ground.needs_of(*kind).to_vec()),
    };
    let kinds: Vec<Kind> = wishes.iter().map(kind).collect();
    let axes = (0..ground.axes).map(|axis| Axis::counted(&axis.to_string())).collect();
    let at_least = kinds.iter().map(|kind| kind.members).sum();
    let gang = Gang { axes, kinds, at_least };
    let domains = [Domain::whole(nodes.iter().map(|node| NodeIdx(*node as u32)).collect())];
    ground.spend(nodes.len() as u64 * wishes.len() as u64 * work::GLANCE + work::MEMBER);
    let left = ground.view.cycle.caches.work.left() / work::STEP;
    let granted = ground.budget.left().min(left);
    let mut budget = Budget::new(granted);
    let was_unsure = std::mem::replace(&mut ground.unsure, false);
    let question = PlacementQuestion { gang: &gang, domains: &domains, scorers: &[] };
    let mut state = Wishing { ground, map, wishes, likeness: FxHashMap::default() };
    let answer = place(question, &mut state, &mut budget);
    let spent = granted - budget.left();
    ground.spend(spent * work::STEP);
    ground.budget.spend(spent);
    let is_unsure = std::mem::replace(&mut ground.unsure, was_unsure);
    match answer {
        PlacementAnswer::Placed(placement) => {
            let seats = placement.seats.iter().flat_map(|seats| {
                let seat = |(wish, count): (usize, u32)| {
                    let JointWish { domain, kind, .. } = wishes[wish];
                    JointSeat { node: seats.node.0 as usize, domain, kind, count }
                };
                seats.load.present().map(seat)
            });
            Ok(Some(seats.collect()))
        }
        PlacementAnswer::Impossible(_) if !is_unsure => Ok(None),
        PlacementAnswer::Impossible(_) | PlacementAnswer::BudgetSpent(_) => Err(()),
    }
}

/// Nodes as these wishes see them. Nodes and kinds are those of the ground by number.
struct Wishing<'w, 'g, 'c> {
    ground: &'w mut Ground<'g, 'c>,
    map: &'w DomainMap,
    wishes: &'w [JointWish],
    likeness: FxHashMap<(Likeness, Vec<bool>), u64>,
}

impl PlacementState for Wishing<'_, '_, '_> {
    type Stop = ();

    fn free(&mut self, node: NodeIdx) -> Amounts {
        Amounts(self.ground.free_on(node.0 as usize).to_vec())
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        let node = node.0 as usize;
        let reached = self.wishes.iter().map(|wish| self.map.contains(wish.domain, node)).collect();
        let next = self.likeness.len() as u64;
        Likeness(*self.likeness.entry((self.ground.likeness[node], reached)).or_insert(next))
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, _: &mut Budget) -> Verdict {
        let node = node.0 as usize;
        let mut counts: Counts = Vec::new();
        for (wish, count) in load.present() {
            let JointWish { domain, kind, .. } = self.wishes[wish];
            if !self.map.contains(domain, node) {
                return Verdict::No;
            }
            match counts.binary_search_by_key(&kind, |(known, _)| *known) {
                Ok(at) => counts[at].1 += count,
                Err(at) => counts.insert(at, (kind, count)),
            }
        }
        let was_unsure = std::mem::replace(&mut self.ground.unsure, false);
        let is_taken = self.ground.takes(node, &counts);
        let is_unknown = self.ground.unsure;
        self.ground.unsure |= was_unsure;
        match (is_taken, is_unknown) {
            (true, _) => Verdict::Yes,
            (false, true) => Verdict::Unknown,
            (false, false) => Verdict::No,
        }
    }
}
