//! Plans on clusters that are made of facts.

mod cluster;
mod plans;
