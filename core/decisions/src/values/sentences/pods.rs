//! Why a pod has no node: the whole sentence, and where it comes closest.

use std::fmt;
use std::fmt::Display;

use super::{Out, counts, list};
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_refusal::{Nearest, PodRefusal};
use crate::values::reason::Reason;

impl Display for PodRefusal {
    /// Kubernetes' sentence, which tools look for, and ours after it.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match &self.bound_to {
            Some(node) => write!(out, "bound to node {node} without devices for its claims:")?,
            None if self.nodes == 0 => return write!(out, "no nodes available to schedule pods"),
            None => write!(out, "0/{} nodes are available:", self.nodes)?,
        }
        match &self.everywhere {
            Some(reason) => write!(out, " {reason}.")?,
            None => {
                let counted = self.reasons.iter().map(|(reason, removed)| (reason, removed.nodes));
                write!(out, " {}.", counts(counted))?;
            }
        }
        if let Some(nearest) = &self.nearest {
            write!(out, " {nearest}.")?;
        }
        match &self.in_the_way {
            Some(InTheWay { claim, remedy: Remedy::Deallocate, .. }) => {
                write!(out, " Claim {claim}, which no pod uses, holds its devices until it is deallocated.")
            }
            Some(InTheWay { claim, remedy: Remedy::Delete, .. }) => {
                write!(out, " Claim {claim} of an earlier attempt is deleted.")
            }
            None => Ok(()),
        }
    }
}

impl Display for Nearest {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Nearest::Refused { node, refusal } => write!(out, "On node {node}, {refusal}"),
            Nearest::LimitReached { node } => write!(
                out,
                "On node {node}, the search limit was reached before devices were found or excluded"
            ),
            Nearest::Unsuitable { node, entry, driver, by_class: true } => write!(
                out,
                "On node {node}, the class of claim {entry} excludes the node for resource driver {driver}"
            ),
            Nearest::Unsuitable { node, entry, driver, by_class: false } => {
                write!(out, "On node {node}, resource driver {driver} has no devices for claim {entry}")
            }
        }
    }
}

impl Display for Reason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Reason::Rule(rule) => rule.fmt(out),
            Reason::Volume(refusal) => refusal.fmt(out),
            Reason::Claim(reason) => reason.fmt(out),
            Reason::Devices(reason) => reason.fmt(out),
            Reason::Preemption(reason) => reason.fmt(out),
            Reason::NoSuchNode => write!(out, "the node does not exist"),
        }
    }
}

impl Display for NodeRefusal {
    /// Several things that are wrong are separated by commas.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(&list(self.reasons()))
    }
}
