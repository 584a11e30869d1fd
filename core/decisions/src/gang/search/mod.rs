//! The cluster as the search for a placement of a gang sees it.

pub(crate) mod assume;
pub(crate) mod assumed_loads;
pub(crate) mod joint_devices;
pub(crate) mod joint_volumes;
pub(crate) mod likeness;
pub(crate) mod node_devices;
pub(crate) mod order;
pub(crate) mod place;
pub(crate) mod placement_state;
pub(crate) mod pool_bins;
pub(crate) mod pool_room;
pub(crate) mod rules;
pub(crate) mod view;
pub(crate) mod walk;
