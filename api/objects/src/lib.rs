//! Wire types of every kind that Supercargo reads or writes, one file per kind or family of small kinds.
//!
//! A type names the fields that something here looks at; all others are kept and written back as they came.
//! `resource.k8s.io/v1`, `scheduling.k8s.io` and `supercargo.dev` are complete.

pub mod apps;
pub mod batch;
pub mod coordination;
pub mod core;
pub mod events;
pub mod kept;
pub mod meta;
mod object;
pub mod policy;
pub mod resource;
pub mod scheduling;
pub mod selecting;
pub mod storage;
pub mod supercargo;
mod value;
mod wire;

pub use object::{List, ListMeta, Object, Unreadable, decode, decode_list};
pub use value::{IntOrString, MicroTime, Quantity, Time};
pub use wire::{Raw, Rest};
