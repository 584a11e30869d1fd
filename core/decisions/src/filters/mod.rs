//! What puts a node out of the question for a pod, one file for each kind of reason.
//!
//! The filters come in layers by what they look at, so that answers can be kept as long as that stays the same: the node
//! alone ([`fixed`]), the node and what its pods use ([`usage`]), volumes ([`Mounts`]), and the pods everywhere
//! ([`Around`]). Within a layer the first reason in Kubernetes' order is the one that is told.

mod around;
mod attachments;
mod disks;
mod exclusive;
mod features;
pub mod helped;
mod layers;
mod node;
mod node_affinity;
mod node_name;
mod pod_affinity;
mod pod_term;
mod ports;
mod reach;
mod resources;
mod settings;
mod spread;
mod taints;
mod unbound;
mod unschedulable;
mod volumes;

pub use self::around::Around;
pub(crate) use self::around::Heeds;
pub(crate) use self::layers::each;
pub use self::layers::{anywhere, fixed, usage};
pub(crate) use self::node::node_of;
pub use self::node_affinity::named_nodes;
pub(crate) use self::node_affinity::wants;
pub use self::node_name::check as node_name;
pub(crate) use self::pod_affinity::PodRules;
pub(crate) use self::pod_term::{OwnTerm, reaches};
pub use self::reach::reaches_volume;
pub use self::settings::FilterSettings;
pub(crate) use self::spread::{SpreadCounts, among, counted, counted_pods};
pub(crate) use self::taints::{keeps_off, tolerates};
pub(crate) use self::unbound::Unbound;
pub(crate) use self::unschedulable::check as unschedulable;
pub use self::volumes::Mounts;
pub use crate::values::filter_set::{Filter, FilterSet};
