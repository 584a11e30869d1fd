//! Explanations of typical cases as texts, and what holds for random ones.

mod cluster_of;
mod groups;
mod others;
mod random;
mod texts;
