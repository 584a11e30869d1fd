//! What is known of a cluster as JSON: for `-o json` of commands, and for the page.
//!
//! [`devices`] and [`domains`] are documents of what the crate inventory tells. [`observer`] follows changes and keeps what the page
//! shows up to date: [`nodes`] with their devices, [`waiting`] pods, [`decisions`], and [`figures`] over time; [`timeline`] puts the life of one object together. [`openapi`] describes what is served.
//!
//! Invariant: nothing is decided here, and nothing is named that those who ask may not read. Names of fields stay as they are; new
//! ones may come.

pub mod decisions;
pub mod devices;
pub mod domains;
pub mod figures;
pub mod nodes;
pub mod observer;
pub mod openapi;
pub mod timeline;
pub mod waiting;
