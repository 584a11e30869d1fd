//! The nouns of Supercargo: values that every other crate speaks in, free of any wire format.

pub mod allocation;
pub mod claim;
pub mod claim_use;
pub mod code;
pub mod device;
pub mod disk;
pub mod duration;
pub mod group;
pub mod identity;
pub mod nearest;
pub mod node;
pub mod pod;
pub mod quantity;
pub mod request_name;
pub mod timestamp;
pub mod volume;
pub mod workload;
