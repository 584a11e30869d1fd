//! All controllers by name, and the choice of those that are to run.

use thiserror::Error;

use crate::claims::Claims;
use crate::contexts::Contexts;
use crate::controller::Controller;
use crate::device_taints::DeviceTaints;
use crate::jobs::Jobs;
use crate::node_taints::NodeTaints;
use crate::node_topologies::NodeTopologies;
use crate::nodes::Nodes;
use crate::own_workloads::OwnWorkloads;
use crate::pod_garbage::PodGarbage;
use crate::pod_groups::{Protection, Workloads};
use crate::volumes::{EphemeralVolumes, Volumes};

/// Every controller that there is; a new one is added here.
fn all() -> Vec<Box<dyn Controller>> {
    vec![
        Box::new(Claims),
        Box::new(Contexts),
        Box::new(DeviceTaints::default()),
        Box::new(EphemeralVolumes),
        Box::new(Jobs),
        Box::new(NodeTaints::default()),
        Box::new(NodeTopologies),
        Box::new(Nodes::default()),
        Box::new(OwnWorkloads),
        Box::new(PodGarbage::default()),
        Box::new(Protection),
        Box::new(Volumes),
        Box::new(Workloads),
    ]
}

/// The names of all controllers.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|controller| controller.name()).collect()
}

/// Which controllers are to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(Vec<String>);

/// A choice that names no controller.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown controller {name:?}; hint: the controllers are {}", names().join(", "))]
pub struct UnknownController {
    name: String,
}

impl Default for Choice {
    /// All of them.
    fn default() -> Self {
        Self(vec!["*".to_owned()])
    }
}

impl Choice {
    /// Reads a choice as Kubernetes writes it: `*` for all, `name` for one, `-name` for all but one.
    ///
    /// # Errors
    /// When there is no such controller.
    pub fn parse<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownController> {
        let names = names();
        let mut chosen = Vec::new();
        for item in items {
            let name = item.strip_prefix('-').unwrap_or(item);
            if item != "*" && !names.contains(&name) {
                return Err(UnknownController { name: name.to_owned() });
            }
            chosen.push(item.to_owned());
        }
        Ok(Self(chosen))
    }

    /// Whether a controller is to run. What names it counts more than `*`, and the first that does more than others.
    pub fn includes(&self, name: &str) -> bool {
        let named = self.0.iter().find(|item| item.strip_prefix('-').unwrap_or(item) == name);
        named.map_or(self.0.iter().any(|item| item == "*"), |item| !item.starts_with('-'))
    }

    pub(crate) fn controllers(&self) -> Vec<Box<dyn Controller>> {
        all().into_iter().filter(|controller| self.includes(controller.name())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_switched_by_name() {
        let (claims, nodes) = (Claims.name(), Nodes::default().name());
        let (no_claims, no_nodes) = (format!("-{claims}"), format!("-{nodes}"));
        let table: [(&[&str], [bool; 2]); 6] = [
            (&["*"], [true, true]),
            (&[], [false, false]),
            (&[nodes], [false, true]),
            (&["*", &no_claims], [false, true]),
            (&[&no_nodes, "*"], [true, false]),
            (&[&no_nodes, nodes], [false, false]),
        ];
        for (items, expected) in table {
            let choice = Choice::parse(items.iter().copied()).expect("they are there");
            assert_eq!([choice.includes(claims), choice.includes(nodes)], expected, "{items:?}");
        }
        let error = Choice::parse(["-nobody"]).expect_err("there is none");
        assert!(error.to_string().contains("nobody") && error.to_string().contains(claims), "{error}");
    }

    #[test]
    fn no_two_controllers_have_one_name() {
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
