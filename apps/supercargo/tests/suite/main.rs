//! The command as people run it.

mod command_line;
mod controllers;
mod devices;
mod documents;
mod explain;
mod fabric;
mod kubeconfig;
mod outages;
mod plan;
mod simulate;
mod up;
