//! Seats for a gang once other pods are gone, and the harm that their going does.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use model::claim::ClaimId;
use model::timestamp::Timestamp;
use placement::Domain;

use crate::gang::answer::seats::Seated;
use crate::preempt::{Harm, Unit};

/// Seats for a gang once others are gone.
#[derive(Debug)]
pub struct GangCandidate {
    /// What people call the domain; nothing if it is the whole cluster.
    pub domain: Arc<str>,
    /// Members and their seats.
    pub seated: Seated,
    /// Those who have to go, the most important first.
    pub victims: Vec<Unit>,
    /// All who are gone then, by uid.
    pub gone: BTreeSet<Arc<str>>,
    /// The claims that give devices back, with their uids.
    pub freeing: Vec<(ClaimId, Arc<str>)>,
}

/// Who is going already, whoever for.
#[derive(Debug, Default)]
pub(crate) struct Going {
    /// Those that are still there.
    pub units: Vec<Unit>,
    /// Those that are gone, and whose claims have yet to give devices back.
    pub gone: Vec<Arc<str>>,
    /// Those claims.
    pub claims: Vec<ClaimId>,
}

/// Why nobody's going would help.
#[derive(Debug)]
pub(crate) enum Helpless {
    /// There is nobody who could go.
    NoVictims,
    /// It would not be enough.
    Lacks(String),
}

/// The harm that is done, with how many wishes are given up.
pub(crate) type Cost = (usize, i32, usize, i64, usize, u32, Reverse<Timestamp>);

/// What is compared of domains; less is better. Wishes that are given up count for less than any harm, but for more than since when
/// pods run.
pub(crate) fn cost((violations, highest, broken, sum, count, since): Harm, domain: &Domain) -> Cost {
    (violations, highest, broken, sum, count, domain.rank, since)
}
