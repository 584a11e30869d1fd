//! Gangs on clusters that are made up.

mod across_nodes;
mod exhaustive;
mod model;
mod near_full;
mod optimum;
mod pauses;
mod stories;
