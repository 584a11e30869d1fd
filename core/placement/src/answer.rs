//! What came of looking for seats.

use std::fmt;
use std::sync::Arc;

use cluster::nodes::NodeIdx;

use crate::axis::Axis;
use crate::domain_name::DomainName;
use crate::load::Load;

/// What came of a question.
#[derive(Clone, PartialEq, Debug)]
pub enum PlacementAnswer<W> {
    /// Seats for as many members as have to be seated, at least.
    Placed(Placement),
    /// No choice of seats will do, in any domain.
    Impossible(Refusal<W>),
    /// The search met its bound before it knew; this is what came closest.
    BudgetSpent(Refusal<W>),
}

/// All seats of a gang.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// The domain.
    pub domain: DomainName,
    /// How many wishes were given up for it.
    pub rank: u32,
    /// The seats, in the order in which nodes were filled.
    pub seats: Vec<Seats>,
    /// What scorers made of it; more is better.
    pub score: f64,
}

impl Placement {
    /// How many members have a seat.
    #[must_use]
    pub fn seated(&self) -> u32 {
        self.seats.iter().map(|seats| seats.load.total()).sum()
    }
}

/// The seats on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seats {
    /// The node.
    pub node: NodeIdx,
    /// For how many members of which kinds.
    pub load: Load,
}

/// Why a gang has no seats. `W` says why a walk stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal<W> {
    /// How many domains there are.
    pub domains: usize,
    /// How many members have to be seated at once.
    pub wanted: u32,
    /// The domain that came closest, unless there is none.
    pub nearest: Option<Shortfall<W>>,
    /// What domains lack, in the order in which they were looked at; of those that are alike only the first, and not of too many.
    pub lacks: Vec<Shortfall<W>>,
}

/// What a domain lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortfall<W> {
    /// The domain.
    pub domain: DomainName,
    /// For how many members at once seats were found there; for a domain that does not come closest, for how many there may be.
    pub room_for: u32,
    /// What it lacks.
    pub lack: Lack<W>,
}

/// What is lacking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack<W> {
    /// The sum of what is free is too small.
    Amount {
        /// Of what.
        axis: Axis,
        /// How much members need at the least.
        needed: u64,
        /// How much is free.
        free: u64,
    },
    /// Members of this kind alone have too few seats.
    Seats {
        /// The kind.
        kind: Arc<str>,
        /// How many there are.
        wanted: u32,
        /// How many fit if there are no others.
        room_for: u32,
    },
    /// Enough is free in all, but where others have their seats no node has enough for a member of this kind.
    Fragments {
        /// The kind.
        kind: Arc<str>,
        /// Of what.
        axis: Axis,
        /// How much each of them needs.
        needed: u64,
        /// How much a node has left at the most.
        free: u64,
    },
    /// There is room for members of each kind, but not for all of them at once.
    Together,
    /// Members that have a seat leave none for the next, for these reasons.
    Next(W),
}

impl<W: fmt::Display> fmt::Display for Refusal<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { domains, wanted, nearest, .. } = self;
        let members = if *wanted == 1 { "member" } else { "members" };
        let Some(nearest) = nearest else {
            return write!(out, "there is no domain for {wanted} {members}");
        };
        let fail = if *wanted == 1 { "does not fit" } else { "do not fit" };
        match (&nearest.domain, domains) {
            (DomainName::Cluster, _) => write!(out, "{wanted} {members} {fail} at once: ")?,
            (DomainName::Part(name), 1) => write!(out, "{wanted} {members} {fail} in {name} at once: ")?,
            (DomainName::Part(name), domains) => {
                let fit = if *wanted == 1 { "fits" } else { "fit" };
                write!(out, "{wanted} {members} {fit} in none of {domains} domains at once; ")?;
                write!(out, "{name} comes closest: ")?;
            }
        }
        let Shortfall { room_for, lack, .. } = nearest;
        write!(out, "{room_for} of {wanted} fit")?;
        match lack {
            Lack::Amount { axis, needed, free } => {
                let (needed, free) = (axis.told(*needed), axis.told(*free));
                write!(out, ", insufficient {axis}: {needed} needed, {free} free")
            }
            Lack::Seats { kind, wanted, room_for } => {
                write!(out, ", at most {room_for} of {wanted} pods like {kind} fit")
            }
            Lack::Fragments { kind, axis, needed, free } => {
                let (needed, free) = (axis.told(*needed), axis.told(*free));
                write!(out, ", insufficient {axis} on every node for pods like {kind}: ")?;
                write!(out, "{needed} needed, {free} free at most")
            }
            Lack::Together => Ok(()),
            Lack::Next(why) => write!(out, ", and none for the next: {why}"),
        }
    }
}
