//! Schedulers at work on whole clusters, on our API server and on a real one.
//!
//! A [`Cluster`] is a server with objects in it. [`Worker`]s are schedulers in this process, [`Servant`]s such in processes
//! of their own, which can be killed; [`Keeper`]s are controllers. What became of the cluster is judged by its objects alone ([`judge`]).
//!
//! Invariant: nothing is taken for done because time has passed. Every wait is for something to be so, and has a limit.

mod account;
mod cluster;
mod embedded;
pub mod gang;
pub mod givers;
mod hold;
pub mod judge;
mod keeper;
pub mod kill;
mod kind;
pub mod life;
pub mod negotiate;
mod partitions;
pub mod passers;
mod permissions;
mod reader;
pub mod ready;
mod real;
mod rote;
mod servant;
pub mod shapes;
pub mod steps;
pub mod upgrade;
mod wire;
mod worker;

pub use account::Account;
pub use cluster::{Cluster, PATIENCE, until};
pub use hold::Hold;
pub use keeper::Keeper;
pub use kind::Kind;
pub use real::Served;
pub use servant::{Program, Servant};
pub use wire::Wire;
pub use worker::{Terms, Worker, serve};
