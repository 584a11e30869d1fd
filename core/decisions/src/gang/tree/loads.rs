//! Members on nodes, for as long as a search lasts: what is left of nodes and domains, and whether more members fit.
//!
//! Invariant: what is left is what there was before, less what the members need that are in the list. The last that came are
//! taken off first.

use crate::gang::tree::ground::{Counts, Ground, fitting};
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::PartIdx;
use crate::values::work;

/// Members of a group on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeatRun {
    pub part: PartIdx,
    pub node: usize,
    pub kind: usize,
    pub count: u32,
}

/// Members on nodes.
pub(crate) struct Loads {
    axes: usize,
    free: Vec<u64>,
    here: Vec<Counts>,
    /// What is left of domains that were asked for.
    sums: Vec<Option<Vec<u64>>>,
    /// Such domains by node.
    of_node: Vec<Vec<DomainIdx>>,
    seats: Vec<SeatRun>,
    /// Groups that have seats.
    groups: Vec<PartIdx>,
}

/// A moment to which loads can be rewound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoadsMark {
    seats: usize,
    groups: usize,
}

impl Loads {
    /// None.
    pub fn new(ground: &Ground<'_, '_>) -> Loads {
        let nodes = ground.nodes.len();
        Loads {
            axes: ground.axes,
            free: (0..nodes).flat_map(|node| ground.free_on(node)).copied().collect(),
            here: vec![Vec::new(); nodes],
            sums: Vec::new(),
            of_node: vec![Vec::new(); nodes],
            seats: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// All seats, in the order in which they were taken.
    pub fn seats(&self) -> &[SeatRun] {
        &self.seats
    }

    /// How many groups have seats.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// How many members have seats.
    pub fn members(&self) -> usize {
        self.seats.iter().map(|run| run.count as usize).sum()
    }

    pub fn mark(&self) -> LoadsMark {
        LoadsMark { seats: self.seats.len(), groups: self.groups.len() }
    }

    /// Takes those off that came since.
    pub fn rewind(&mut self, ground: &Ground<'_, '_>, mark: LoadsMark) {
        while self.seats.len() > mark.seats
            && let Some(run) = self.seats.pop()
        {
            self.count(ground, run, false);
        }
        self.groups.truncate(mark.groups);
    }

    /// What is left of a domain.
    pub fn left_in(&mut self, map: &DomainMap, domain: DomainIdx) -> &[u64] {
        if self.sums.len() < map.len() {
            self.sums.resize(map.len(), None);
        }
        let Loads { sums, of_node, free, axes, .. } = self;
        sums[domain.0].get_or_insert_with(|| {
            let mut sum = vec![0_u64; *axes];
            for node in &map.get(domain).nodes {
                of_node[*node].push(domain);
                let here = &free[node * *axes..][..*axes];
                sum.iter_mut().zip(here).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            }
            sum
        })
    }

    /// How many members of a kind a group has seats for.
    pub fn seated(&self, part: PartIdx, kind: usize) -> u32 {
        let own = self.seats.iter().filter(|run| run.part == part && run.kind == kind);
        own.map(|run| run.count).sum()
    }

    /// Takes over seats of a group that were found otherwise.
    pub fn adopt(&mut self, ground: &Ground<'_, '_>, part: PartIdx, runs: impl IntoIterator<Item = SeatRun>) {
        self.groups.push(part);
        for run in runs {
            self.count(ground, run, true);
            self.seats.push(run);
        }
    }

    /// Seats as many members of a kind as the nodes of a domain take.
    pub fn put_some(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        (part, kind, count): (PartIdx, usize, u32),
        domain: DomainIdx,
    ) -> u32 {
        let mut left = count;
        let mut looked_at = 0;
        for node in &map.get(domain).nodes {
            if left == 0 {
                break;
            }
            looked_at += 1;
            let room = self.room(ground, *node, kind, left);
            if room > 0 {
                let run = SeatRun { part, node: *node, kind, count: room };
                self.count(ground, run, true);
                self.seats.push(run);
                left -= room;
            }
        }
        ground.spend(looked_at * work::GLANCE);
        count - left
    }

    /// Seats members of a group on the first nodes of a domain that take them, all or none.
    pub fn put(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        (part, wanted): (PartIdx, &[(usize, u32)]),
        domain: DomainIdx,
    ) -> bool {
        let mark = self.mark();
        self.groups.push(part);
        for (kind, count) in wanted {
            if self.put_some(ground, map, (part, *kind, *count), domain) < *count {
                self.rewind(ground, mark);
                return false;
            }
        }
        true
    }

    /// Seats members in the order of how little is left of nodes, so that large rooms stay free for large members.
    pub fn put_tightly(
        &mut self,
        ground: &mut Ground<'_, '_>,
        map: &DomainMap,
        (part, wanted): (PartIdx, &[(usize, u32)]),
        domain: DomainIdx,
    ) -> bool {
        let mark = self.mark();
        self.groups.push(part);
        for (kind, count) in wanted {
            for _ in 0..*count {
                let nodes = &map.get(domain).nodes;
                ground.spend(nodes.len() as u64 * work::GLANCE);
                let left = |node: usize| self.free[node * self.axes..][..2].to_vec();
                let mut open: Vec<(Vec<u64>, usize)> =
                    nodes.iter().map(|node| (left(*node), *node)).collect();
                open.sort_unstable();
                let found = open.into_iter().find(|(_, node)| self.room(ground, *node, *kind, 1) > 0);
                let Some((_, node)) = found else {
                    self.rewind(ground, mark);
                    return false;
                };
                let run = SeatRun { part, node, kind: *kind, count: 1 };
                self.count(ground, run, true);
                self.seats.push(run);
            }
        }
        true
    }

    /// How many members of a kind a node takes beside those that are there, up to a bound.
    fn room(&self, ground: &mut Ground<'_, '_>, node: usize, kind: usize, bound: u32) -> u32 {
        if !ground.admits(node, kind) {
            return 0;
        }
        let fits = fitting(&self.free[node * self.axes..][..self.axes], ground.needs_of(kind), bound);
        let here = &self.here[node];
        if fits == 0 || (ground.is_plain(node, &[(kind, 1)]) && ground.is_plain(node, here)) {
            return fits;
        }
        ground.largest(fits, |ground, count| ground.takes(node, &with(here, kind, count)))
    }

    /// Counts members that come, or go.
    fn count(&mut self, ground: &Ground<'_, '_>, run: SeatRun, comes: bool) {
        let SeatRun { node, kind, count, .. } = run;
        let change = |amount: &mut u64, need: u64| {
            let all = need.saturating_mul(u64::from(count));
            *amount = if comes { amount.saturating_sub(all) } else { amount.saturating_add(all) };
        };
        let needs = ground.needs_of(kind);
        let free = &mut self.free[node * self.axes..][..self.axes];
        free.iter_mut().zip(needs).for_each(|(free, need)| change(free, *need));
        for domain in &self.of_node[node] {
            let sum = self.sums[domain.0].iter_mut().flatten();
            sum.zip(needs).for_each(|(sum, need)| change(sum, *need));
        }
        let here = &mut self.here[node];
        match here.binary_search_by_key(&kind, |(known, _)| *known) {
            Ok(at) if comes => here[at].1 += count,
            Ok(at) if here[at].1 > count => here[at].1 -= count,
            Ok(at) => drop(here.remove(at)),
            Err(at) => here.insert(at, (kind, count)),
        }
    }
}

/// Members with more of a kind.
fn with(here: &[(usize, u32)], kind: usize, count: u32) -> Counts {
    let mut all = here.to_vec();
    match all.binary_search_by_key(&kind, |(known, _)| *known) {
        Ok(at) => all[at].1 += count,
        Err(at) => all.insert(at, (kind, count)),
    }
    all
}
