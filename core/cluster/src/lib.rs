//! The state of the cluster as decisions see it: what is published, and what of it is taken.

pub mod budgets;
pub mod change;
pub mod claims;
pub mod companions;
pub mod contexts;
pub mod facts;
pub mod groups;
pub mod images;
pub mod ledger;
pub mod namespaces;
mod node_idx;
pub mod nodes;
pub mod pools;
pub mod preparation;
pub mod published;
pub mod resource_classes;
mod shared_list;
pub mod shared_map;
pub mod taint_rules;
pub mod topologies;
pub mod touches;
pub mod trial;
pub mod users;
pub mod volumes;
pub mod what_if;
