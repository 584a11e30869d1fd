//! Pods that would have to go so that a gang or a tree of groups fits.

pub(crate) mod bounds;
pub(crate) mod candidate;
pub(crate) mod hopeful;
pub(crate) mod in_the_way;
pub(crate) mod reprieve;
pub(crate) mod victims;
pub(crate) mod way;
pub(crate) mod without;
