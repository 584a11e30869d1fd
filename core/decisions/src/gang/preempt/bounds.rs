//! How much is searched to find out which pods have to be preempted for a gang.
//!
//! It is found out which pods may stay in at most [`DOMAINS_MAX`] domains, those that look best at first, by at most [`SEARCHES_MAX`]
//! searches in all, and by fewer for large ones.

use placement::Domain;

use crate::gang::party::Party;

/// How many steps a search for seats may take, while it is tried which pods have to go.
pub(crate) const STEPS_MAX: u64 = 200_000;

/// In how many domains it is found out which pods may stay.
pub(crate) const DOMAINS_MAX: usize = 8;

/// By how many searches in all.
const SEARCHES_MAX: usize = 256;

/// By how many if members are in each other's way, or groups are seated one after the other, which takes longer.
const SEARCHES_MAX_LONG: usize = 64;

/// By how many at the least, however large domain and gang are.
const SEARCHES_MIN: usize = 16;

/// How many nodes and members may be looked at by these searches: the larger they are, the fewer searches there are.
const LOOKS_MAX: usize = 100_000;

/// By how many searches it is found out which pods may stay, if only in this domain.
pub(crate) fn searches(party: Party<'_>, domain: &Domain) -> usize {
    let is_one_search = party.cast().is_local && matches!(party, Party::Gang(_));
    let most = if is_one_search { SEARCHES_MAX } else { SEARCHES_MAX_LONG };
    let looks = domain.nodes.len() + party.everybody() as usize;
    (LOOKS_MAX / looks.max(1)).clamp(SEARCHES_MIN, most)
}
