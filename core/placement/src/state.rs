//! What a search asks of the cluster: does a node take a load?
//!
//! Invariant: whatever is assumed for a trial is taken back when the trial ends, in reverse order.

use std::fmt;

use cluster::nodes::NodeIdx;

use crate::arithmetic::Amounts;
use crate::budget::Budget;
use crate::load::Load;

/// Nodes of equal likeness give equal answers about every load.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Likeness(pub u64);

/// Whether a load can be seated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It can.
    Yes,
    /// It cannot, for certain.
    No,
    /// It was not found out: a bound was met.
    Unknown,
}

/// Seats that were found by taking what comes first, and never looking back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk<W> {
    /// The members that have a seat, by node.
    pub loads: Vec<(NodeIdx, Load)>,
    /// Why the next member has none.
    pub stopped_by: Option<W>,
}

impl<W> Walk<W> {
    /// How many members have a seat.
    #[must_use]
    pub fn seated(&self) -> u32 {
        self.loads.iter().map(|(_, load)| load.total()).sum()
    }
}

/// The cluster, as far as a gang can change it.
///
/// A load is judged as a whole, with the devices of all its members chosen together. A node that takes a load also takes
/// every smaller one, unless loads of other nodes decide about it; then [`PlacementState::crosses_nodes`] says so.
pub trait PlacementState {
    /// Why a walk stopped.
    type Stop: Clone + PartialEq + fmt::Debug;

    /// What a node has left along the axes of the gang, at the most.
    fn free(&mut self, node: NodeIdx) -> Amounts;

    /// What there is along the axes of the gang, at the most, that no node has for itself and some of these can use.
    fn shared(&mut self, nodes: &[NodeIdx]) -> Amounts {
        let _ = nodes;
        Amounts::default()
    }

    /// By what a node can be told apart from others.
    fn likeness(&mut self, node: NodeIdx) -> Likeness;

    /// Whether a node takes a load, as far as that depends on this node alone.
    fn takes(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict;

    /// A domain was tried for the gang; told so that it can be counted.
    fn tried(&mut self, fits: bool) {
        let _ = fits;
    }

    /// Whether members on one node can be in the way of members on another: devices that several nodes reach, claims that
    /// members share, rules about which pods are near which.
    fn crosses_nodes(&self) -> bool {
        false
    }

    /// Nodes between which loads of others make no difference are in one group. Only asked if something crosses nodes.
    fn group(&mut self, node: NodeIdx) -> u32 {
        let _ = node;
        0
    }

    /// How many members of each kind can be seated at once at the most, if each of these nodes takes so many of each kind while
    /// there are no others. Only asked if something crosses nodes.
    fn most(&mut self, rooms: &[(NodeIdx, Load)]) -> Load {
        let mut most =
            rooms.first().map_or_else(|| Load::none(0), |(_, load)| Load::none(load.counts().len()));
        rooms.iter().for_each(|(_, room)| most.add(room));
        most
    }

    /// Seats for members one after the other, if something crosses nodes: quickly found, and no proof if there are too few.
    fn walk(&mut self, nodes: &[NodeIdx], budget: &mut Budget) -> Walk<Self::Stop> {
        let _ = (nodes, budget);
        Walk { loads: Vec::new(), stopped_by: None }
    }

    /// A search begins that fills nodes in this order. Only told if something crosses nodes.
    fn begin(&mut self, nodes: &[NodeIdx]) {
        let _ = nodes;
    }

    /// All that matters of what is assumed to the nodes from this one of the order on: two sets of assumptions of which the
    /// same is told, with the same members left, can be completed in the same ways. Nothing if that cannot be told.
    fn gist(&mut self, from: usize) -> Option<Box<[u32]>> {
        let _ = from;
        None
    }

    /// Goes on as if a load were on a node, besides all that is assumed already. The answer is no only if nothing that is
    /// assumed later could change that; then nothing is assumed. Only asked if something crosses nodes.
    fn assume(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        let _ = (node, load, budget);
        Verdict::Yes
    }

    /// Takes the last assumption back.
    fn revert(&mut self) {}

    /// Whether all that is assumed can be so at once. Only asked if something crosses nodes.
    fn confirm(&mut self, budget: &mut Budget) -> Verdict {
        let _ = budget;
        Verdict::Yes
    }
}

/// Assumptions that are taken back when this is dropped.
#[derive(Debug)]
pub struct Trial<'s, S: PlacementState + ?Sized> {
    state: &'s mut S,
    assumed: usize,
}

impl<'s, S: PlacementState + ?Sized> Trial<'s, S> {
    /// A trial with nothing assumed.
    pub fn begin(state: &'s mut S) -> Trial<'s, S> {
        Trial { state, assumed: 0 }
    }

    /// The state, with what is assumed.
    pub fn state(&mut self) -> &mut S {
        self.state
    }

    /// Goes on as if a load were on a node.
    pub fn assume(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        let verdict = self.state.assume(node, load, budget);
        self.assumed += usize::from(verdict == Verdict::Yes);
        verdict
    }

    /// Takes the last assumption back.
    pub fn step_back(&mut self) {
        assert!(self.assumed > 0, "there is an assumption to take back");
        self.assumed -= 1;
        self.state.revert();
    }
}

impl<S: PlacementState + ?Sized> Drop for Trial<'_, S> {
    fn drop(&mut self) {
        (0..self.assumed).for_each(|_| self.state.revert());
    }
}
