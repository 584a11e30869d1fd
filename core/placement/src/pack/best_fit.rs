//! Seats by construction: the largest members first, each on the node that is left with the least, and never looking back.
//!
//! Invariant: every load that is told was accepted by the state.

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::state::PlacementState;

/// How many nodes are looked at for a step of a search.
const NODES: u64 = 64;

/// Which members come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum First {
    /// Those that need the largest part of a node, over all axes.
    Largest,
    /// Those that need the smallest part of a node: if not all fit, the most members have seats that way.
    Smallest,
    /// Those that need the largest part of a node along one axis.
    Longest,
    /// Those that have the fewest seats for each of them.
    Scarcest,
    /// Those that are worth the most by given prices.
    Dearest,
}

/// Which node is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// That of which the least is left, over all axes.
    Fullest,
    /// That of which the least is left along one axis.
    Tightest,
    /// The first.
    Preferred,
}

/// The passes, in the order in which they are made.
pub(super) const PASSES: [(First, Next); 10] = [
    (First::Largest, Next::Fullest),
    (First::Scarcest, Next::Fullest),
    (First::Longest, Next::Tightest),
    (First::Largest, Next::Tightest),
    (First::Longest, Next::Fullest),
    (First::Scarcest, Next::Tightest),
    (First::Largest, Next::Preferred),
    (First::Longest, Next::Preferred),
    (First::Scarcest, Next::Preferred),
    (First::Smallest, Next::Fullest),
];

/// A node that is being filled.
struct Bin {
    group: usize,
    rest: Vec<u64>,
    load: Load,
}

/// Loads by likeness for as many members as this order finds seats for.
pub(super) fn best_fit<S: PlacementState + ?Sized>(
    stock: &mut Stock,
    kinds: &[usize],
    next: Next,
    inquiry: &mut Inquiry<'_, S>,
) -> Vec<(usize, Load)> {
    best_fit_beside(stock, &[], kinds, next, inquiry)
}

/// The same if some nodes have loads already, which they are known to take.
pub(super) fn best_fit_beside<S: PlacementState + ?Sized>(
    stock: &mut Stock,
    given: &[(usize, Load)],
    kinds: &[usize],
    next: Next,
    inquiry: &mut Inquiry<'_, S>,
) -> Vec<(usize, Load)> {
    let mut left = stock.members.clone();
    let mut bins: Vec<Bin> = Vec::new();
    for (group, alike) in stock.alike.iter().enumerate() {
        let mut given = given.iter().filter(|(of, _)| *of == group);
        for _ in &alike.nodes {
            let mut bin = Bin { group, rest: alike.free.clone(), load: Load::none(left.len()) };
            for (kind, count) in given.next().iter().flat_map(|(_, load)| load.present()) {
                alike.take(kind, count, &mut bin.rest);
                bin.load.set(kind, count);
                left[kind] -= count;
            }
            bins.push(bin);
        }
    }
    for kind in kinds {
        sort(stock, &mut bins, next);
        inquiry.budget.spend((bins.len() as u64).div_ceil(NODES));
        fill_all(stock, &mut bins, *kind, &mut left[*kind], inquiry);
    }
    if confirm(stock, &mut bins, kinds, &mut left, inquiry) {
        // What nodes gave back may have a seat elsewhere.
        for kind in kinds {
            fill_all(stock, &mut bins, *kind, &mut left[*kind], inquiry);
        }
        confirm(stock, &mut bins, kinds, &mut left, inquiry);
    }
    bins.into_iter().filter(|bin| !bin.load.is_empty()).map(|bin| (bin.group, bin.load)).collect()
}

fn sort(stock: &Stock, bins: &mut [Bin], next: Next) {
    let rest = |bin: &Bin| stock.alike[bin.group].rest_of(&bin.rest);
    match next {
        Next::Fullest => bins.sort_by_cached_key(|bin| rest(bin).0),
        Next::Tightest => bins.sort_by_cached_key(|bin| rest(bin).1),
        Next::Preferred => {}
    }
}

/// Adds members of a kind to one node after the other.
fn fill_all<S: PlacementState + ?Sized>(
    stock: &Stock,
    bins: &mut [Bin],
    kind: usize,
    left: &mut u32,
    inquiry: &mut Inquiry<'_, S>,
) {
    for bin in bins {
        if *left == 0 {
            return;
        }
        *left -= fill(stock, bin, kind, *left, inquiry);
    }
}

/// Adds as many members of a kind as a node takes.
fn fill<S: PlacementState + ?Sized>(
    stock: &Stock,
    bin: &mut Bin,
    kind: usize,
    left: u32,
    inquiry: &mut Inquiry<'_, S>,
) -> u32 {
    let alike = &stock.alike[bin.group];
    let here = bin.load.get(kind);
    let mut count = alike.fitting(kind, &bin.rest, left.min(alike.alone[kind].saturating_sub(here)));
    if alike.is_strict && count > 0 {
        let Inquiry { state, room, budget, .. } = inquiry;
        count = room.most(*state, alike.nodes[0], &bin.load, kind, here + count, budget).saturating_sub(here);
    }
    alike.take(kind, count, &mut bin.rest);
    bin.load.set(kind, here + count);
    count
}

/// Asks the state about all loads, and takes members off nodes that do not take theirs. Tells whether there are such.
fn confirm<S: PlacementState + ?Sized>(
    stock: &mut Stock,
    bins: &mut [Bin],
    kinds: &[usize],
    left: &mut [u32],
    inquiry: &mut Inquiry<'_, S>,
) -> bool {
    let mut was_refused = false;
    for bin in bins {
        let Inquiry { state, room, budget, .. } = inquiry;
        if room.takes(*state, stock.alike[bin.group].nodes[0], &bin.load, budget) {
            continue;
        }
        was_refused = true;
        stock.alike[bin.group].is_strict = true;
        let refused = std::mem::replace(&mut bin.load, Load::none(left.len()));
        bin.rest.clone_from(&stock.alike[bin.group].free);
        for kind in kinds {
            left[*kind] += refused.get(*kind) - fill(stock, bin, *kind, refused.get(*kind), inquiry);
        }
    }
    was_refused
}

/// The kinds in the order in which their members come.
pub(super) fn order(stock: &Stock, first: First, prices: &[u64]) -> Vec<usize> {
    let kinds = stock.members.len();
    let over = |of: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
        let nodes = |group: usize| stock.alike[group].nodes.len() as u64;
        let sum = |kind: usize| {
            let groups = (0..stock.alike.len()).filter(|group| stock.alike[*group].alone[kind] > 0);
            let (sum, count) = groups.fold((0_u64, 0_u64), |(sum, count), group| {
                (sum.saturating_add(of(group, kind).saturating_mul(nodes(group))), count + nodes(group))
            });
            sum.checked_div(count).unwrap_or(u64::MAX)
        };
        (0..kinds).map(sum).collect()
    };
    let sizes = over(&|group, kind| stock.alike[group].sizes[kind]);
    let weights = match first {
        First::Largest => sizes.clone(),
        First::Smallest => sizes.iter().map(|size| u64::MAX - size).collect(),
        First::Dearest => prices.to_vec(),
        First::Longest => over(&|group, kind| {
            let alike = &stock.alike[group];
            let mut rest = alike.free.clone();
            alike.take(kind, 1, &mut rest);
            u64::MAX / 4 - alike.rest_of(&rest).1
        }),
        First::Scarcest => {
            let seats = |kind: usize| {
                let of_group = |alike: &crate::pack::alike::Alike| {
                    u64::from(alike.alone[kind]) * alike.nodes.len() as u64
                };
                stock.alike.iter().map(of_group).sum::<u64>()
            };
            (0..kinds).map(|kind| (u64::from(stock.members[kind]) << 20) / seats(kind).max(1)).collect()
        }
    };
    let mut order: Vec<usize> = (0..kinds).filter(|kind| stock.members[*kind] > 0).collect();
    order.sort_by_key(|kind| std::cmp::Reverse((weights[*kind], sizes[*kind])));
    order
}
