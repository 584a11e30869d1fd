//! Where a gang may be: domains by levels, and sets of devices that its claims are met from.

pub(crate) mod device_sets;
pub(crate) mod levels;
pub(crate) mod within;
