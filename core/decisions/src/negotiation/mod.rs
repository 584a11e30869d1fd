//! Claims whose devices are given by drivers' own controllers: what is wanted and what is there means nothing to us, so that
//! nodes are found by asking.

mod say;

pub use self::say::{Say, awaited};
pub use crate::plans::rounds::Rounds;
pub use crate::plans::selections::Selections;
pub use crate::values::openings::{NODES_MAX, Openings};
pub use crate::values::pending::Pending;
