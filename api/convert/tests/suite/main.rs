//! Objects as facts, and decisions as objects.

mod allocation;
mod bare;
mod change;
mod claim;
mod group;
mod pod;
mod slice;
