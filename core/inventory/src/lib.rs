//! What devices a cluster has, which claims hold them, and how they are spread over domains, for people to look at.
//!
//! [`inventory`](devices::inventory) tells the state of every device and what is left of the counters that partitions draw on,
//! [`root`](domains::root) sums devices and nodes up by domains of the topology.
//!
//! Invariant: nothing is decided here. Whether the counters of a pool cover a device is what the allocator counts, and what is
//! held is what the ledger has.

pub mod devices;
pub mod domains;
mod natural;
pub mod observed;
pub mod place;
