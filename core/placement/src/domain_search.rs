//! Seats for a gang in one domain: a short search in the order in which nodes had better be used, then the passes of [`crate::pack`],
//! then a search to the end.
//!
//! Most gangs have plenty of room, and the short search seats them on few nodes in few parts. What it does not decide within a
//! number of steps that grows with the nodes is a matter for the passes. If something crosses nodes, members are seated
//! one after the other before all that, as that will often do.
//!
//! Invariant: what comes of it does not depend on where it pauses.

use cluster::nodes::NodeIdx;
use rustc_hash::FxHashMap;

use crate::generator::Domain;
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::{Packed, Packing};
use crate::search::{Outcome, Search};
use crate::state::{PlacementState, Walk};

/// How many steps the short search has, besides those for each node.
const SHORT_STEPS: u64 = 2_000;

/// How many steps it has for each node.
const SHORT_STEPS_OF_NODE: u64 = 8;

/// What came of looking for seats in a domain.
#[derive(Debug)]
pub(crate) struct Attempted<W> {
    pub outcome: Outcome,
    /// How members were seated one after the other, if something crosses nodes.
    pub walk: Option<Walk<W>>,
    /// The largest set of members that had seats at once in a pass, if there was one and nothing crosses nodes.
    pub best: Option<Vec<(NodeIdx, Load)>>,
}

/// Looks for seats in a domain.
#[derive(Debug)]
pub(crate) struct DomainSearch<W> {
    at_least: u32,
    /// How many members of each kind nodes take if there are no others, as far as they were asked.
    alone: Vec<(NodeIdx, Load)>,
    is_unsure: bool,
    preferred: Vec<NodeIdx>,
    walk: Option<Walk<W>>,
    best: Option<Vec<(NodeIdx, Load)>>,
    /// How much has to be left when this part of the work ends.
    floor: u64,
    at: Place,
}

#[derive(Debug)]
enum Place {
    Rooms,
    Short(Box<Search>),
    Pack(Box<Packing>),
    Long(Box<Search>),
}

impl<W: Clone> DomainSearch<W> {
    /// Looks for seats for so many members.
    pub fn new(at_least: u32) -> DomainSearch<W> {
        let (alone, preferred) = (Vec::new(), Vec::new());
        let (walk, best, is_unsure, floor) = (None, None, false, 0);
        DomainSearch { at_least, alone, is_unsure, preferred, walk, best, floor, at: Place::Rooms }
    }

    /// Looks on. Nothing if it is to pause.
    pub fn advance<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        domain: &Domain,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Attempted<W>> {
        loop {
            let floor = self.floor;
            let outcome = match &mut self.at {
                Place::Rooms => {
                    self.ask_rooms(domain, inquiry)?;
                    if let Some(outcome) = self.glance(domain, inquiry) {
                        return Some(self.end(outcome));
                    }
                    let search = Box::new(Search::new(self.preferred.clone(), self.at_least, inquiry));
                    let (left, nodes) = (inquiry.budget.left(), domain.nodes.len() as u64);
                    let short = if inquiry.state.crosses_nodes() {
                        left
                    } else {
                        SHORT_STEPS + nodes * SHORT_STEPS_OF_NODE
                    };
                    self.floor = inquiry.budget.floor(4).max(left.saturating_sub(short));
                    self.at = Place::Short(search);
                    continue;
                }
                Place::Short(search) => inquiry.above(floor, |inquiry| search.advance(inquiry))?,
                Place::Pack(packing) => {
                    let packed = inquiry.above(floor, |inquiry| packing.advance(inquiry))?;
                    if !inquiry.state.crosses_nodes() {
                        self.best = Some(packing.best());
                    }
                    match packed {
                        Packed::Seated(loads) => Outcome::Found(loads),
                        Packed::Refused => Outcome::Impossible { seated_max: 0 },
                        Packed::Open => Outcome::Spent { seated_max: 0 },
                    }
                }
                Place::Long(search) => {
                    let outcome = search.advance(inquiry)?;
                    return Some(self.end(outcome));
                }
            };
            if !matches!(outcome, Outcome::Spent { .. }) {
                return Some(self.end(outcome));
            }
            self.go_on(domain, inquiry);
            if inquiry.budget.is_paused() {
                return None;
            }
        }
    }

    /// Goes on with what comes next, since nothing is decided.
    fn go_on<S: PlacementState<Stop = W> + ?Sized>(&mut self, domain: &Domain, inquiry: &mut Inquiry<'_, S>) {
        self.at = match &self.at {
            Place::Rooms | Place::Short(_) => {
                let share = if inquiry.state.crosses_nodes() { 4 } else { 1 };
                self.floor = inquiry.budget.floor(share);
                let packing = inquiry
                    .above(self.floor, |inquiry| Packing::new(&self.preferred, self.at_least, inquiry));
                Place::Pack(Box::new(packing))
            }
            Place::Pack(_) | Place::Long(_) => {
                let rooms: FxHashMap<NodeIdx, u32> =
                    self.alone.iter().map(|(node, room)| (*node, room.total())).collect();
                let mut nodes = domain.nodes.clone();
                let room = &mut *inquiry.room;
                // Those first that take the fewest members, as these leave the least to be tried.
                nodes.sort_by_key(|node| (rooms[node], room.likeness(inquiry.state, *node)));
                Place::Long(Box::new(Search::new(nodes, self.at_least, inquiry)))
            }
        };
    }

    fn end(&mut self, outcome: Outcome) -> Attempted<W> {
        Attempted { outcome, walk: self.walk.take(), best: self.best.take() }
    }

    /// Asks nodes how many members they take. Nothing if it is to pause.
    fn ask_rooms<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        domain: &Domain,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<()> {
        let Inquiry { gang, state, room, budget } = inquiry;
        room.unsure = self.is_unsure;
        for node in &domain.nodes[self.alone.len()..] {
            self.alone.push((*node, room.alone(*state, gang, *node, budget)));
            self.is_unsure = room.unsure;
            if budget.is_paused() && self.alone.len() < domain.nodes.len() {
                return None;
            }
        }
        Some(())
    }

    /// Puts nodes in the order in which they had better be used: the parts where members are already, and then those that have most
    /// room first, so that few are needed. If something crosses nodes, that may be all there is to do.
    fn glance<S: PlacementState<Stop = W> + ?Sized>(
        &mut self,
        domain: &Domain,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Option<Outcome> {
        let mut of_parts: FxHashMap<u32, u64> = FxHashMap::default();
        for (part, (_, room)) in domain.parts.iter().zip(&self.alone) {
            *of_parts.entry(*part).or_default() += u64::from(room.total());
        }
        let mut order: Vec<usize> = (0..domain.nodes.len()).collect();
        let Inquiry { gang, state, room, budget } = inquiry;
        let crosses = state.crosses_nodes();
        order.sort_by_key(|at| {
            let part = domain.parts[*at];
            let group = if crosses { state.group(domain.nodes[*at]) } else { 0 };
            (part >= domain.homes, std::cmp::Reverse(of_parts[&part]), part, group)
        });
        self.preferred = order.iter().map(|at| domain.nodes[*at]).collect();
        if !crosses {
            return None;
        }
        if !room.unsure {
            let most = state.most(&self.alone);
            let counts = gang.kinds.iter().zip(most.counts());
            let seated_max = counts.map(|(kind, most)| kind.members.min(*most)).sum();
            if seated_max < self.at_least {
                return Some(Outcome::Impossible { seated_max });
            }
        }
        let walk = state.walk(&self.preferred, budget);
        if walk.seated() >= self.at_least {
            return Some(Outcome::Found(walk.loads));
        }
        self.walk = Some(walk);
        None
    }
}
