//! The configuration file of a scheduler: `KubeSchedulerConfiguration` of `kubescheduler.config.k8s.io/v1`.
//!
//! Text goes in, and settings come out in which every default is filled in and every list of plugins is the one that
//! takes effect. Defaults, merging and limits are those of Kubernetes 1.37. A file with mistakes yields all of them, each
//! with its field, line and column.

mod args;
mod defaults;
mod extenders;
mod fault;
mod fields;
mod merge;
mod plugin;
mod plugin_sets;
mod point;
mod profile;
mod read;
mod render;
mod settings;

pub use args::{
    AddedAffinity, Args, BindingFailurePolicy, DefaultConstraint, DefaultConstraints, DefaultPreemption,
    DynamicResources, GangScheduling, InterPodAffinity, NodeResourcesFit, PlacementScorer, PlacementWeight,
    ResourceWeight, ScoringStrategy, ShapePoint, VolumeBinding,
};
pub use fault::{BadConfig, Fault, Problem};
pub use merge::Plugins;
pub use plugin::Plugin;
pub use point::Point;
pub use profile::Profile;
pub use schema::yaml::tree::Place;
pub use settings::{Backoff, Client, LeaderElection, Profiling, SchedulerSettings};
