//! Seats for a gang in one domain: node by node, each with a load, depth first.
//!
//! If nothing crosses nodes, a load that leaves room for another member is never tried: to seat one more here only
//! frees room elsewhere. What is left to seat then is all that counts, so a state in which it failed once is not entered
//! again; that also makes the order in which alike nodes get their loads of no account. A branch is left only for a reason
//! that proves that nothing succeeds there:
//! - the rest of the nodes has too little room ([`bounds`]),
//! - as much was left to seat at this place before, in vain ([`memory`]),
//! - the loads of other nodes are in the way, and nothing that follows could change that.
//!
//! [`bounds`]: self::bounds
//! [`memory`]: self::memory

mod bounds;
mod fillings;
mod memory;

use cluster::nodes::NodeIdx;

use crate::budget::Budget;
use crate::gang::Gang;
use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::room::Room;
use crate::state::{PlacementState, Trial, Verdict};

use bounds::Bounds;
use fillings::Fillings;
use memory::Memory;

/// What came of a search.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Outcome {
    /// Loads for nodes, in the order of nodes; nodes with none are left out.
    Found(Vec<(NodeIdx, Load)>),
    /// There are none, and this many members had a seat at once.
    Impossible { seated_max: u32 },
    /// The budget was spent, or a question was left open.
    Spent { seated_max: u32 },
}

/// A node that has its load, and what else it could have.
#[derive(Debug)]
struct Frame {
    fillings: Fillings,
    load: Load,
    is_assumed: bool,
    /// What mattered of the loads before, if something crosses nodes.
    gist: Option<Box<[u32]>>,
}

/// The search, as far as it has come.
#[derive(Debug)]
pub(crate) struct Search {
    /// In the order in which they are filled.
    nodes: Vec<NodeIdx>,
    /// How many members have to be seated, of whatever kinds.
    at_least: u32,
    bounds: Bounds,
    memory: Memory,
    crosses: bool,
    /// Members that have no seat yet.
    left: Load,
    seated: u32,
    seated_max: u32,
    frames: Vec<Frame>,
    /// What matters of the loads that are assumed, for the node that comes next.
    gist: Option<Box<[u32]>>,
    /// Where it goes on after a pause.
    next: Option<Move>,
}

/// Where the walk goes from a place.
#[derive(Debug)]
enum Move {
    Down,
    Up,
    Done,
    Spent,
}

impl Search {
    /// A search that seats so many members on these nodes, or proves that it cannot be.
    pub fn new<S: PlacementState + ?Sized>(
        nodes: Vec<NodeIdx>,
        at_least: u32,
        inquiry: &mut Inquiry<'_, S>,
    ) -> Search {
        inquiry.room.unsure = false;
        Search {
            bounds: Bounds::new(&nodes, inquiry),
            nodes,
            at_least,
            memory: Memory::default(),
            crosses: inquiry.state.crosses_nodes(),
            left: inquiry.gang.everybody(),
            seated: 0,
            seated_max: 0,
            frames: Vec::new(),
            gist: None,
            next: None,
        }
    }

    /// Searches on. Nothing if it is to pause; then nothing is assumed any more.
    pub fn advance<S: PlacementState + ?Sized>(&mut self, inquiry: &mut Inquiry<'_, S>) -> Option<Outcome> {
        let Inquiry { gang, state, room, budget } = inquiry;
        if self.crosses {
            state.begin(&self.nodes);
        }
        let mut trial = Trial::begin(*state);
        let (trial, room) = (&mut trial, &mut **room);
        if !self.assume_again(trial) {
            return Some(Outcome::Spent { seated_max: self.seated_max });
        }
        let mut next = match self.next.take() {
            Some(next) => next,
            None => self.enter(gang, trial, room, budget),
        };
        loop {
            next = match next {
                Move::Done => return Some(Outcome::Found(self.found(trial, room, budget))),
                Move::Spent => return Some(Outcome::Spent { seated_max: self.seated_max }),
                Move::Down => {
                    let fillings = Fillings::new(&self.left, self.bounds.order(), self.crosses);
                    let load = Load::none(self.left.counts().len());
                    let gist = self.gist.take();
                    self.frames.push(Frame { fillings, load, is_assumed: false, gist });
                    self.go_on(gang, trial, room, budget)
                }
                Move::Up if self.frames.is_empty() => {
                    let seated_max = self.seated_max;
                    let is_open = room.unsure || budget.left() == 0;
                    return Some(if is_open {
                        Outcome::Spent { seated_max }
                    } else {
                        Outcome::Impossible { seated_max }
                    });
                }
                Move::Up => self.go_on(gang, trial, room, budget),
            };
            if budget.is_paused() && matches!(next, Move::Down | Move::Up) {
                self.next = Some(next);
                return None;
            }
        }
    }

    /// Assumes again what was assumed before a pause. That costs nothing, so that pauses do not change what comes of a search.
    fn assume_again<S: PlacementState + ?Sized>(&self, trial: &mut Trial<'_, S>) -> bool {
        let mut assumed = self.nodes.iter().zip(&self.frames).filter(|(_, frame)| frame.is_assumed);
        assumed
            .all(|(node, frame)| trial.assume(*node, &frame.load, &mut Budget::new(u64::MAX)) == Verdict::Yes)
    }

    /// Gives the last node its next load, or leaves it.
    fn go_on<S: PlacementState + ?Sized>(
        &mut self,
        gang: &Gang,
        trial: &mut Trial<'_, S>,
        room: &mut Room,
        budget: &mut Budget,
    ) -> Move {
        self.lift(trial);
        let at = self.frames.len() - 1;
        let node = self.nodes[at];
        loop {
            if !budget.spend(1) {
                return Move::Spent;
            }
            let frame = self.frames.last_mut().expect("there is a node to be filled");
            let Some(load) = frame.fillings.next(node, trial.state(), room, budget) else {
                match self.frames.pop().and_then(|frame| frame.gist) {
                    Some(gist) => self.memory.failed_with(at, &self.left, gist),
                    None if self.crosses => {}
                    None => self.memory.failed(at, &self.left),
                }
                return Move::Up;
            };
            if self.crosses && !load.is_empty() {
                match trial.assume(node, &load, budget) {
                    Verdict::Yes => frame.is_assumed = true,
                    Verdict::No => continue,
                    Verdict::Unknown => {
                        room.unsure = true;
                        continue;
                    }
                }
            }
            self.left.subtract(&load);
            self.seated += load.total();
            self.seated_max = self.seated_max.max(self.seated);
            frame.load = load;
            return self.enter(gang, trial, room, budget);
        }
    }

    /// Takes the load of the last node away.
    fn lift<S: PlacementState + ?Sized>(&mut self, trial: &mut Trial<'_, S>) {
        let frame = self.frames.last_mut().expect("there is a node that has its load");
        self.left.add(&frame.load);
        self.seated -= frame.load.total();
        frame.load = Load::none(frame.load.counts().len());
        if std::mem::take(&mut frame.is_assumed) {
            trial.step_back();
        }
    }

    /// Looks at what is left to seat, and says whether it is worth going on.
    fn enter<S: PlacementState + ?Sized>(
        &mut self,
        gang: &Gang,
        trial: &mut Trial<'_, S>,
        room: &mut Room,
        budget: &mut Budget,
    ) -> Move {
        let at = self.frames.len();
        let wanted = self.at_least.saturating_sub(self.seated);
        if wanted == 0 {
            let verdict = if self.crosses { trial.state().confirm(budget) } else { Verdict::Yes };
            room.unsure |= verdict == Verdict::Unknown;
            if verdict == Verdict::Yes {
                return Move::Done;
            }
        }
        let is_hopeless = at == self.nodes.len()
            || self.left.is_empty()
            || self.bounds.refuse(gang, at, &self.left, wanted)
            || (!self.crosses && self.memory.knows(at, &self.left));
        if is_hopeless {
            return Move::Up;
        }
        self.gist = if self.crosses { trial.state().gist(at) } else { None };
        let is_known = |gist: &[u32]| self.memory.knows_with(at, &self.left, gist);
        if self.gist.as_deref().is_some_and(is_known) { Move::Up } else { Move::Down }
    }

    /// The loads that were found, and seats for others besides, as far as the rest of the nodes has room.
    fn found<S: PlacementState + ?Sized>(
        &mut self,
        trial: &mut Trial<'_, S>,
        room: &mut Room,
        budget: &mut Budget,
    ) -> Vec<(NodeIdx, Load)> {
        let mut found: Vec<Load> = self.frames.iter().map(|frame| frame.load.clone()).collect();
        while !self.crosses && found.len() < self.nodes.len() && !self.left.is_empty() {
            let node = self.nodes[found.len()];
            let mut fillings = Fillings::new(&self.left, self.bounds.order(), false);
            let Some(load) = fillings.next(node, trial.state(), room, budget) else { break };
            self.left.subtract(&load);
            found.push(load);
        }
        let seats = self.nodes.iter().copied().zip(found);
        seats.filter(|(_, load)| !load.is_empty()).collect()
    }
}
