//! What domains lack in which a gang has no seats, and which of them comes closest.
//!
//! Sums and proofs refuse a domain without telling how many members would fit. That is found out at the end, for the domains that
//! may come closest: members are seated there, as many as can be.
//!
//! Invariant: the domain that is said to come closest has seats for as many members at once as is said.

use cluster::nodes::NodeIdx;

use crate::answer::{Lack, Shortfall};
use crate::gang::Gang;
use crate::generator::Domain;
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::most_seated;
use crate::state::PlacementState;

/// Of how many domains it is found out for how many members they have room.
const MEASURED_MAX: usize = 4;

/// Of how many domains it is told what they lack.
const LACKS_MAX: usize = 64;

/// What a domain lacks.
#[derive(Clone, Debug)]
pub(crate) struct Near<W> {
    /// The number of the domain.
    pub domain: usize,
    /// For how many members there may be room at the most.
    pub most: u32,
    pub lack: Lack<W>,
    /// The seats that were found, if they were looked for.
    pub seated: Option<u32>,
}

/// What all domains lack.
#[derive(Clone, Debug)]
pub(crate) struct Closest<W>(Vec<Near<W>>);

impl<W: Clone + PartialEq> Closest<W> {
    pub fn new() -> Closest<W> {
        Closest(Vec::new())
    }

    pub fn add(&mut self, near: Near<W>) {
        self.0.push(near);
    }

    /// Finds out for one more domain how many members it has room for, unless the one that comes closest is known.
    pub fn measure<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        domains: &[Domain],
        inquiry: &mut Inquiry<'_, S>,
    ) -> bool {
        let known = self.0.iter().filter_map(|near| near.seated);
        let (count, most) = (known.clone().count(), known.max());
        let promising = |near: &&mut Near<W>| {
            near.seated.is_none() && most.is_none_or(|most| near.most > most && count < MEASURED_MAX)
        };
        // The first of those for which the most members may have room.
        let Some(near) = self
            .0
            .iter_mut()
            .filter(promising)
            .reduce(|best, near| if near.most > best.most { near } else { best })
        else {
            return false;
        };
        let nodes = &domains[near.domain].nodes;
        if inquiry.state.crosses_nodes() {
            // Once over all members is enough for telling what is in the way.
            let floor = inquiry.budget.left().saturating_sub(2 * u64::from(inquiry.gang.members()));
            let walk = inquiry.above(floor, |inquiry| inquiry.state.walk(nodes, inquiry.budget));
            near.seated = Some(walk.seated());
            if let (Some(why), false) = (walk.stopped_by, matches!(near.lack, Lack::Amount { .. })) {
                near.lack = Lack::Next(why);
            }
            return true;
        }
        let loads = most_seated(nodes, inquiry);
        near.seated = Some(loads.iter().map(|(_, load)| load.total()).sum());
        if near.lack == Lack::Together {
            near.lack = lack_beside(nodes, &loads, inquiry);
        }
        true
    }

    /// The domain that comes closest, and what domains lack, in the order in which they were tried.
    pub fn told(self, domains: &[Domain]) -> (Option<Shortfall<W>>, Vec<Shortfall<W>>) {
        let tell = |near: &Near<W>| Shortfall {
            domain: domains[near.domain].name.clone(),
            room_for: near.seated.unwrap_or(near.most),
            lack: near.lack.clone(),
        };
        let measured = self.0.iter().filter(|near| near.seated.is_some());
        let closest = measured.reduce(|best, near| if near.seated > best.seated { near } else { best });
        (closest.map(tell), self.0.iter().take(LACKS_MAX).map(tell).collect())
    }
}

/// What nodes lack for members that have no seat while others have theirs: that along which the most is missing.
pub(crate) fn lack_beside<S: PlacementState + ?Sized>(
    nodes: &[NodeIdx],
    loads: &[(NodeIdx, Load)],
    inquiry: &mut Inquiry<'_, S>,
) -> Lack<S::Stop> {
    let Inquiry { gang, state, room, budget } = inquiry;
    let mut left = gang.everybody();
    loads.iter().for_each(|(_, load)| left.subtract(load));
    // The smallest of them says the most.
    let size = |kind: &usize| gang.kinds[*kind].needs.0.clone();
    let Some(kind) = left.present().map(|(kind, _)| kind).min_by_key(size) else { return Lack::Together };
    let mut most = vec![0_u64; gang.axes.len()];
    for node in nodes {
        if room.alone(*state, gang, *node, budget).get(kind) == 0 {
            continue;
        }
        let load = loads.iter().find(|(at, _)| at == node).map(|(_, load)| load);
        let limits = room.limits(*state, *node);
        for (axis, limit) in limits.iter().enumerate() {
            most[axis] = most[axis].max(limit.saturating_sub(taken(gang, load, axis)));
        }
    }
    let needs = &gang.kinds[kind].needs;
    let short = (0..gang.axes.len()).filter(|axis| most[*axis] < needs.get(*axis));
    // Parts of what is needed, compared without dividing.
    let scarcest = short.min_by(|one, other| {
        let part = |axis: usize, other: usize| u128::from(most[axis]) * u128::from(needs.get(other));
        part(*one, *other).cmp(&part(*other, *one))
    });
    match scarcest {
        None => Lack::Together,
        Some(axis) => Lack::Fragments {
            kind: gang.kinds[kind].name.clone(),
            axis: gang.axes[axis].clone(),
            needed: needs.get(axis),
            free: most[axis],
        },
    }
}

fn taken(gang: &Gang, load: Option<&Load>, axis: usize) -> u64 {
    let present = load.into_iter().flat_map(Load::present);
    let needs =
        present.map(|(kind, count)| gang.kinds[kind].needs.get(axis).saturating_mul(u64::from(count)));
    needs.fold(0, u64::saturating_add)
}
