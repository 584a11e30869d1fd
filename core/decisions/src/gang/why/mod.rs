//! Why a gang has no seats, and which changes could help it.

pub(crate) mod alone;
pub(crate) mod closed;
pub(crate) mod helps;
