//! Where the parts of a tree may be: domains within domains, each once, and which of them are alike.
//!
//! A domain is told by the levels of a part and by the domain of what is above it. Two domains are alike if to exchange them, node by
//! node, changes nothing for any part of the tree: their nodes are alike, they are divided in the same way by all levels that
//! count, and every other domain has both or neither of them in it.
//!
//! Invariant: a domain is in the list once, and its nodes are in the order of the domain that it is in.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use placement::Domain;
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::gang::tree::ground::Ground;

/// A domain, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct DomainIdx(pub usize);

/// Levels that a part has to be in one domain of, by number. The first are none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LevelsIdx(pub usize);

/// Where members that run have a part be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pin {
    Anywhere,
    /// In this cell of its levels.
    Cell(u32),
    /// They are not in one.
    Nowhere,
}

/// A domain.
pub(crate) struct MapDomain {
    pub domain: Domain,
    pub nodes: Vec<usize>,
    /// What is free in it before any member comes.
    pub free: Vec<u64>,
    bits: Box<[u64]>,
    cell: u32,
    /// The number of all that are like it, unless it is like no other.
    pub look: Option<u32>,
}

/// How levels divide nodes.
struct Cells {
    levels: Vec<Arc<str>>,
    of_node: Vec<Option<u32>>,
    numbers: BTreeMap<Vec<Arc<str>>, u32>,
    sizes: Vec<usize>,
    /// Members that run are there.
    pinned: Vec<bool>,
}

/// The domains in which parts of a tree may be.
pub(crate) struct DomainMap {
    known: Vec<MapDomain>,
    cells: Vec<Cells>,
    at: FxHashMap<NodeIdx, usize>,
    within: FxHashMap<(DomainIdx, LevelsIdx), Arc<[DomainIdx]>>,
    looks: FxHashMap<Vec<u64>, u32>,
}

/// Stands for nodes that are in no domain, and for the ends of lists, when looks are compared.
const NONE: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

impl DomainMap {
    /// The map of nodes for all levels that count in a tree, of which the first are none.
    pub fn new(ground: &Ground<'_, '_>, levels: Vec<Vec<Arc<str>>>) -> DomainMap {
        let cells = levels.into_iter().map(|levels| Cells::new(ground, levels)).collect();
        let at = ground.nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let (known, within, looks) = Default::default();
        DomainMap { known, cells, at, within, looks }
    }

    /// A domain of the list.
    pub fn get(&self, DomainIdx(at): DomainIdx) -> &MapDomain {
        &self.known[at]
    }

    /// How many domains are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Where members on these nodes have a part of such levels be. It is noted, so that such a domain is like no other.
    pub fn pin(&mut self, cycle: &Cycle<'_>, LevelsIdx(levels): LevelsIdx, pins: &[NodeIdx]) -> Pin {
        let cells = &mut self.cells[levels];
        if cells.levels.is_empty() || pins.is_empty() {
            return Pin::Anywhere;
        }
        let mut of_pins = pins.iter().map(|at| cells.numbers.get(&path(cycle, &cells.levels, *at)?).copied());
        let first = of_pins.next().flatten();
        let is_one = of_pins.all(|cell| cell == first);
        let Some(cell) = first.filter(|_| is_one) else { return Pin::Nowhere };
        cells.pinned[cell as usize] = true;
        Pin::Cell(cell)
    }

    /// Adds a domain in which the whole tree may be.
    pub fn add(&mut self, ground: &Ground<'_, '_>, domain: &Domain) -> DomainIdx {
        let nodes: Vec<usize> = domain
            .nodes
            .iter()
            .map(|at| *self.at.get(at).expect("all nodes of the tree are known"))
            .collect();
        let mut bits = vec![0; ground.nodes.len().div_ceil(64)];
        let mut free = vec![0_u64; ground.axes];
        for node in &nodes {
            bits[node / 64] |= 1 << (node % 64);
            let here = ground.free_on(*node);
            free.iter_mut().zip(here).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        }
        let look = self.look(ground, &nodes).map(|look| {
            let next = self.looks.len() as u32;
            *self.looks.entry(look).or_insert(next)
        });
        let domain = domain.clone();
        self.known.push(MapDomain { domain, nodes, free, bits: bits.into(), cell: 0, look });
        DomainIdx(self.known.len() - 1)
    }

    /// The domains of levels within another.
    pub fn within(
        &mut self,
        ground: &mut Ground<'_, '_>,
        within: DomainIdx,
        levels: LevelsIdx,
        pin: Pin,
    ) -> Arc<[DomainIdx]> {
        let all = match self.within.get(&(within, levels)) {
            Some(known) => known.clone(),
            None => {
                let found = self.divide(ground, within, levels);
                self.within.insert((within, levels), found.clone());
                found
            }
        };
        match pin {
            Pin::Anywhere => all,
            Pin::Nowhere => Arc::new([]),
            Pin::Cell(cell) => all.iter().copied().filter(|at| self.get(*at).cell == cell).collect(),
        }
    }

    fn divide(
        &mut self,
        ground: &mut Ground<'_, '_>,
        within: DomainIdx,
        LevelsIdx(levels): LevelsIdx,
    ) -> Arc<[DomainIdx]> {
        if self.cells[levels].levels.is_empty() {
            return Arc::new([within]);
        }
        let parent = &self.get(within).domain;
        ground.spend(parent.nodes.len() as u64 * crate::values::work::NODE);
        let found = ground.view.cycle.domains_within(&self.cells[levels].levels, &[], parent);
        let mut domains = Vec::new();
        for domain in found {
            let at = self.add(ground, &domain);
            let first = self.known[at.0].nodes[0];
            self.known[at.0].cell =
                self.cells[levels].of_node[first].expect("nodes of a domain are in a cell");
            domains.push(at);
        }
        domains.into()
    }

    /// Whether two domains have nodes in common.
    pub fn overlap(&self, one: DomainIdx, other: DomainIdx) -> bool {
        one == other
            || self.get(one).bits.iter().zip(&self.get(other).bits).any(|(one, other)| one & other != 0)
    }

    /// Whether all nodes of the first domain are in the second.
    pub fn is_within(&self, inner: DomainIdx, outer: DomainIdx) -> bool {
        inner == outer
            || self
                .get(inner)
                .bits
                .iter()
                .zip(&self.get(outer).bits)
                .all(|(inner, outer)| inner & !outer == 0)
    }

    /// Whether a node is in a domain.
    pub fn contains(&self, domain: DomainIdx, node: usize) -> bool {
        self.get(domain).bits[node / 64] >> (node % 64) & 1 == 1
    }

    /// All that matters of these nodes, if levels divide them in a way that can be compared.
    fn look(&self, ground: &Ground<'_, '_>, nodes: &[usize]) -> Option<Vec<u64>> {
        if ground.crosses {
            return None;
        }
        let mut look = Vec::new();
        let mut inner: Vec<(usize, usize)> = Vec::new();
        for (at, cells) in self.cells.iter().enumerate().filter(|(_, cells)| !cells.levels.is_empty()) {
            let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
            nodes
                .iter()
                .filter_map(|node| cells.of_node[*node])
                .for_each(|cell| *counts.entry(cell).or_default() += 1);
            let is_inner = counts.iter().all(|(cell, count)| cells.sizes[*cell as usize] == *count);
            let outer = counts.first_key_value().filter(|(_, count)| **count == nodes.len());
            match outer {
                _ if is_inner => inner.push((counts.len(), at)),
                Some((cell, _)) => look.extend([at as u64, u64::from(*cell)]),
                None => return None,
            }
        }
        look.push(END);
        inner.sort_unstable();
        let inner: Vec<usize> = inner.into_iter().map(|(_, at)| at).collect();
        self.add_look(ground, nodes, &inner, &mut look)?;
        Some(look)
    }

    fn add_look(
        &self,
        ground: &Ground<'_, '_>,
        nodes: &[usize],
        levels: &[usize],
        look: &mut Vec<u64>,
    ) -> Option<()> {
        let Some((first, rest)) = levels.split_first() else {
            let mut likeness: Vec<u64> = nodes.iter().map(|node| ground.likeness[*node].0).collect();
            likeness.sort_unstable();
            look.extend(likeness);
            return Some(());
        };
        let cells = &self.cells[*first];
        let mut parts: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        nodes.iter().for_each(|node| parts.entry(cells.of_node[*node]).or_default().push(*node));
        let mut looks = Vec::new();
        for (cell, part) in &parts {
            // A finer level that goes across cells of this one is not told by what it does in each of them.
            let is_whole = |levels: &usize| {
                let finer = &self.cells[*levels];
                let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
                part.iter()
                    .filter_map(|node| finer.of_node[*node])
                    .for_each(|cell| *counts.entry(cell).or_default() += 1);
                counts.iter().all(|(cell, count)| finer.sizes[*cell as usize] == *count)
            };
            if !rest.iter().all(is_whole) {
                return None;
            }
            let mut own = vec![
                cell.map_or(NONE, |cell| if cells.pinned[cell as usize] { u64::from(cell) + 1 } else { 0 }),
            ];
            self.add_look(ground, part, rest, &mut own)?;
            own.push(END);
            looks.push(own);
        }
        looks.sort_unstable();
        look.extend(looks.into_iter().flatten());
        Some(())
    }
}

impl Cells {
    fn new(ground: &Ground<'_, '_>, levels: Vec<Arc<str>>) -> Cells {
        let mut cells = Cells {
            levels,
            of_node: Vec::new(),
            numbers: BTreeMap::new(),
            sizes: Vec::new(),
            pinned: Vec::new(),
        };
        if cells.levels.is_empty() {
            return cells;
        }
        for at in &ground.nodes {
            let cell = path(ground.view.cycle, &cells.levels, *at).map(|path| {
                let next = cells.numbers.len() as u32;
                *cells.numbers.entry(path).or_insert(next)
            });
            if let Some(cell) = cell {
                cells.sizes.resize(cells.numbers.len(), 0);
                cells.sizes[cell as usize] += 1;
            }
            cells.of_node.push(cell);
        }
        cells.pinned = vec![false; cells.sizes.len()];
        cells
    }
}

/// The domain of each level that a node is in, if there is one of each.
fn path(cycle: &Cycle<'_>, levels: &[Arc<str>], at: NodeIdx) -> Option<Vec<Arc<str>>> {
    // A member may be on a node that is gone, of which no domain is known.
    let labels = &cycle.facts.nodes.get(at).node.as_ref()?.labels;
    levels.iter().map(|level| labels.get(level).cloned()).collect()
}
