//! Devices and domains of clusters that are made of values.

mod domains;
mod states;
mod world;
