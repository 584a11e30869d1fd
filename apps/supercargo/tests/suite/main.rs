//! The command as people run it.

mod chart;
mod command_line;
mod controllers;
mod devices;
mod documents;
mod explain;
mod fabric;
mod kubeconfig;
mod mistakes;
mod monitoring;
mod moved_metrics;
mod outages;
mod page;
mod plan;
mod readers;
mod reasons;
mod recordings;
mod reference;
mod simulate;
mod up;
