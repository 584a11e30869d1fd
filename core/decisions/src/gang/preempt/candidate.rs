//! Seats for a gang once other pods are gone, and the harm that their going does.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};
use model::timestamp::Timestamp;
use placement::{Domain, DomainName};

use crate::gang::answer::seats::Seated;
use crate::preempt::{Harm, Unit};

/// Seats for a gang once others are gone.
#[derive(Debug)]
pub struct GangCandidate {
    /// The domain.
    pub domain: DomainName,
    /// Members and their seats.
    pub seated: Seated,
    /// The pods that have to go, the most important first.
    pub victims: Vec<Unit>,
    /// All pods that are gone then, by uid.
    pub gone: BTreeSet<PodUid>,
    /// The claims that give devices back, with their uids.
    pub freeing: Vec<(ClaimId, ClaimUid)>,
}

/// Pods that are going already, for whichever pod.
#[derive(Debug, Default)]
pub(crate) struct Going {
    /// Pods that are still there.
    pub units: Vec<Unit>,
    /// Pods that are gone, and whose claims have yet to give devices back.
    pub gone: Vec<PodUid>,
    /// Those claims.
    pub claims: Vec<ClaimId>,
}

/// The harm that is done, with how many wishes are given up.
pub(crate) type Cost = (usize, i32, usize, i64, usize, u32, Reverse<Timestamp>);

/// What is compared of domains; less is better. Wishes that are given up count for less than any harm, but for more than since when
/// pods run.
pub(crate) fn cost((violations, highest, broken, sum, count, since): Harm, domain: &Domain) -> Cost {
    (violations, highest, broken, sum, count, domain.rank, since)
}
