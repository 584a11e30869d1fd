//! Seats for a tree by taking what is best for each part, and never looking back: quickly found, and no proof if there are none.
//!
//! Parts that are hard to place come first: those that have to be in one domain, and large ones. Each goes to the domain that is left
//! with the least, or with the most if scorers like that better. If a group has no seats, it is blamed, and comes first the next
//! time.
//!
//! Invariant: seats that are found are right, if members on one node are in the way of no others.

use crate::gang::tree::ground::{Counts, Ground};
use crate::gang::tree::loads::{Loads, SeatRun};
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::{Content, GroupPart, Outline, PartIdx};
use crate::values::work;

/// Which pods are to have seats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// All members.
    Everybody,
    /// As many as can be found, and enough.
    Enough,
    /// No more than have to.
    Least,
}

/// A part that had no seats beside others.
pub(crate) struct Setback {
    pub part: PartIdx,
    pub within: DomainIdx,
    /// How many other groups had seats.
    pub beside: usize,
    pub seats: Vec<SeatRun>,
}

/// How often it is tried again with other parts first.
const AGAIN_MAX: usize = 8;

/// Of how many parts it is kept what they lacked.
const SETBACKS_MAX: usize = 4;

/// Seats for a tree that are being found.
pub(crate) struct Builder<'b> {
    pub outline: &'b Outline,
    pub loads: Loads,
    /// Domains with much room are better.
    pub likes_room: bool,
    /// Which domain each part has.
    pub domains: Vec<Option<DomainIdx>>,
    blame: Vec<u32>,
    sizes: Vec<f64>,
    /// How much there is of everything.
    total: Vec<u64>,
    pub setbacks: Vec<Setback>,
}

impl<'b> Builder<'b> {
    pub fn new(ground: &Ground<'_, '_>, outline: &'b Outline, likes_room: bool) -> Builder<'b> {
        let mut total = vec![1_u64; ground.axes];
        for node in 0..ground.nodes.len() {
            total
                .iter_mut()
                .zip(ground.free_on(node))
                .for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        }
        let size = |most: &Vec<u64>| {
            let shares = most.iter().zip(&total).map(|(need, all)| *need as f64 / *all as f64);
            shares.fold(0.0, f64::max)
        };
        let parts = outline.parts.len();
        Builder {
            outline,
            loads: Loads::new(ground),
            likes_room,
            domains: vec![None; parts],
            blame: vec![0; parts],
            sizes: outline.parts.iter().map(|part| size(&part.most)).collect(),
            total,
            setbacks: Vec::new(),
        }
    }

    /// Seats for the whole tree in a domain. They stay in [`Builder::loads`] if there are any.
    pub fn build(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &mut DomainMap,
        domain: DomainIdx,
        extent: Extent,
    ) -> bool {
        self.blame.fill(0);
        let mark = self.loads.mark();
        for _ in 0..AGAIN_MAX {
            if self.build_groups(ground, map, (PartIdx(0), domain), extent) {
                return true;
            }
            self.loads.rewind(ground, mark);
            if ground.is_spent() || self.blame.iter().all(|blame| *blame == 0) {
                return false;
            }
        }
        false
    }

    /// Parts of a group of groups, the hardest to place first. Those that are alike stand together.
    pub fn order(&self, at: PartIdx) -> Vec<PartIdx> {
        let mut children = self.outline.children(at).to_vec();
        let rank = |at: &PartIdx| {
            let part = self.outline.get(*at);
            let is_free = part.levels.0 == 0 && matches!(part.content, Content::Group(_));
            (std::cmp::Reverse(self.blame[at.0]), is_free)
        };
        children.sort_by(|one, other| {
            let by_size = self.sizes[other.0].total_cmp(&self.sizes[one.0]);
            let by_shape = self.outline.get(*one).shape.cmp(&self.outline.get(*other).shape);
            rank(one).cmp(&rank(other)).then(by_size).then(by_shape).then(one.cmp(other))
        });
        children
    }

    fn build_groups(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &mut DomainMap,
        (at, domain): (PartIdx, DomainIdx),
        extent: Extent,
    ) -> bool {
        let Content::Groups { at_least, .. } = &self.outline.get(at).content else {
            unreachable!("it is a group of groups")
        };
        self.domains[at.0] = Some(domain);
        let children = self.order(at);
        let (mut placed, mut left) = (0, children.len());
        if extent == Extent::Least {
            placed = children.iter().filter(|child| self.outline.get(**child).is_met).count();
        }
        for child in children {
            left -= 1;
            if extent == Extent::Least && (placed >= *at_least || self.outline.get(child).is_met) {
                self.domains[child.0] = None;
                continue;
            }
            if self.build_part(ground, map, (child, domain), extent) {
                placed += 1;
                continue;
            }
            self.blame[child.0] += 1;
            if extent == Extent::Everybody || placed + left < *at_least || ground.is_spent() {
                return false;
            }
        }
        placed >= *at_least
    }

    /// Seats a part in the best domain within that of its parent.
    fn build_part(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &mut DomainMap,
        (at, within): (PartIdx, DomainIdx),
        extent: Extent,
    ) -> bool {
        let outline = self.outline;
        let part = outline.get(at);
        self.domains[at.0] = None;
        if part.waiting == 0 {
            return part.is_met;
        }
        let domains = map.within(ground, within, part.levels, part.pin);
        // If groups of groups have a domain, it is a group in them that has none.
        let mut is_told = true;
        let found = match &part.content {
            Content::Group(group) => {
                let mut found = None;
                if extent != Extent::Least {
                    let everybody = self.sorted(ground, group.everybody());
                    found = self.put_best(ground, map, (at, &everybody), &domains);
                }
                if found.is_none() && extent != Extent::Everybody {
                    let smallest = self.smallest(ground, group);
                    found = self.put_best(ground, map, (at, &smallest), &domains);
                }
                if let (Some(domain), Extent::Enough) = (found, extent) {
                    self.put_rest(ground, map, (at, group), domain);
                }
                found
            }
            Content::Groups { .. } => {
                let needed = if extent == Extent::Everybody { &part.most } else { &part.least };
                let mut open = self.open_domains(ground, map, needed, &domains);
                open.sort_by(|(one, _), (other, _)| one.total_cmp(other));
                is_told = open.is_empty();
                let mark = self.loads.mark();
                open.into_iter().map(|(_, domain)| domain).find(|domain| {
                    let is_found = self.build_groups(ground, map, (at, *domain), extent);
                    if !is_found {
                        self.loads.rewind(ground, mark);
                    }
                    is_found
                })
            }
        };
        self.domains[at.0] = found;
        if found.is_none() && is_told {
            self.note(at, within);
        }
        found.is_some() || (part.is_met && extent != Extent::Everybody)
    }

    /// Seats for members that have none beside those that have, as many as there are.
    pub fn extend(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &mut DomainMap,
        at: PartIdx,
        domain: DomainIdx,
    ) {
        for child in self.order(at) {
            match (&self.outline.get(child).content, self.domains[child.0]) {
                (_, None) => {
                    let mark = self.loads.mark();
                    if !self.build_part(ground, map, (child, domain), Extent::Enough) {
                        self.loads.rewind(ground, mark);
                    }
                }
                (Content::Group(group), Some(own)) => self.put_rest(ground, map, (child, group), own),
                (Content::Groups { .. }, Some(own)) => self.extend(ground, map, child, own),
            }
        }
    }

    /// Seats more members of a group in its domain, as many as fit.
    fn put_rest(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        (at, group): (PartIdx, &GroupPart),
        domain: DomainIdx,
    ) {
        for (kind, count) in self.sorted(ground, group.everybody()) {
            let seated = self.loads.seated(at, kind);
            self.loads.put_some(ground, map, (at, kind, count - seated), domain);
        }
    }

    /// Puts members into the best domain that takes them.
    fn put_best(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        (at, wanted): (PartIdx, &[(usize, u32)]),
        domains: &[DomainIdx],
    ) -> Option<DomainIdx> {
        let needed = sum(ground, wanted);
        let mut open = self.open_domains(ground, map, &needed, domains);
        while !open.is_empty() && !ground.is_spent() {
            let best = (0..open.len()).min_by(|one, other| open[*one].0.total_cmp(&open[*other].0))?;
            let (_, domain) = open.swap_remove(best);
            let is_put = self.loads.put(ground, map, (at, wanted), domain)
                || (wanted.len() > 1 && self.loads.put_tightly(ground, map, (at, wanted), domain));
            if is_put {
                return Some(domain);
            }
        }
        None
    }

    /// The domains in which enough is left by mere sums, and how much that is; less is better.
    fn open_domains(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        needed: &[u64],
        domains: &[DomainIdx],
    ) -> Vec<(f64, DomainIdx)> {
        ground.spend(domains.len() as u64 * work::GLANCE);
        let mut open = Vec::new();
        for domain in domains {
            let left = self.loads.left_in(map, *domain);
            if left.iter().zip(needed).any(|(left, need)| left < need) {
                continue;
            }
            let share = |axis: usize| {
                if needed[axis] == 0 { 0.0 } else { left[axis] as f64 / self.total[axis] as f64 }
            };
            let room: f64 = (0..ground.amounts).map(share).sum();
            open.push((if self.likes_room { -room } else { room }, *domain));
        }
        open
    }

    /// Members in the order in which they are seated, the largest first.
    fn sorted(&self, ground: &Ground<'_, '_>, mut counts: Counts) -> Counts {
        counts.sort_by(|(one, _), (other, _)| self.size(ground, *other).total_cmp(&self.size(ground, *one)));
        counts
    }

    fn size(&self, ground: &Ground<'_, '_>, kind: usize) -> f64 {
        let shares =
            ground.needs_of(kind).iter().zip(&self.total).map(|(need, all)| *need as f64 / *all as f64);
        shares.fold(0.0, f64::max)
    }

    /// As many members as a group needs, at least one, the smallest.
    fn smallest(&self, ground: &Ground<'_, '_>, group: &GroupPart) -> Counts {
        let mut left = group.missing.max(1);
        let mut counts = self.sorted(ground, group.everybody());
        counts.reverse();
        for (_, count) in &mut counts {
            *count = (*count).min(left);
            left -= *count;
        }
        counts.retain(|(_, count)| *count > 0);
        counts.reverse();
        counts
    }

    /// Takes note of a part that has no seats.
    fn note(&mut self, part: PartIdx, within: DomainIdx) {
        let beside = self.loads.groups();
        let known = self.setbacks.iter().position(|known| known.part == part);
        let full = self.setbacks.len() >= SETBACKS_MAX;
        let farthest = (0..self.setbacks.len()).min_by_key(|at| self.setbacks[*at].beside);
        let place = known.or(farthest.filter(|_| full));
        if place.is_some_and(|at| self.setbacks[at].beside >= beside) {
            return;
        }
        let setback = Setback { part, within, beside, seats: self.loads.seats().to_vec() };
        match place {
            Some(at) => self.setbacks[at] = setback,
            None => self.setbacks.push(setback),
        }
    }
}

/// What so many members need.
pub(crate) fn sum(ground: &Ground<'_, '_>, counts: &[(usize, u32)]) -> Vec<u64> {
    let mut sum = vec![0_u64; ground.axes];
    for (kind, count) in counts {
        let needs = ground.needs_of(*kind);
        sum.iter_mut().zip(needs).for_each(|(sum, need)| {
            *sum = sum.saturating_add(need.saturating_mul(u64::from(*count)));
        });
    }
    sum
}
