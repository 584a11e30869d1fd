//! What a pod waits for that no node refused, or what is told of it besides.

use std::fmt;
use std::fmt::Display;

use super::Out;
use crate::values::driver_wait::{Await, Wait};
use crate::values::notice::Notice;

impl Display for Notice {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Notice::DevicesPending { node, awaited, until } => {
                write!(
                    out,
                    "waiting for binding conditions for device on node {node}: {awaited}, until {until}"
                )
            }
            Notice::MembersPending { node } => write!(
                out,
                "devices are ready on node {node}; waiting for binding conditions for devices of other members of the pod group"
            ),
            Notice::CannotWait { node, unready } => {
                write!(
                    out,
                    "already bound to node {node}, so binding conditions cannot be awaited: {unready}"
                )
            }
            Notice::ClaimLost => {
                write!(out, "one of its claims was deallocated or released concurrently")
            }
            Notice::Undecided => {
                write!(out, "the scheduler is still searching for a node")
            }
            Notice::SearchFailed { why } => write!(out, "the search for a node failed: {why}"),
            Notice::MemberWaits { member, wait } => write!(out, "pod {member} of its group is {wait}"),
            Notice::GroupIgnored { group } => write!(
                out,
                "pod group {group} is ignored and its pods are scheduled individually, because feature gate \
                    GenericWorkload is off"
            ),
        }
    }
}

impl Display for Wait {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let list = |names: Vec<&str>| names.join(", ");
        let drivers = self.drivers();
        let drivers = list(drivers.iter().map(|name| &**name).collect());
        let claims = list(self.claims.iter().map(|(claim, _)| &**claim).collect());
        match (&self.what, &self.node) {
            (Await::Information, _) => write!(
                out,
                "waiting for resource driver {drivers} to provide information about nodes for claim {claims}"
            ),
            (Await::Allocation, Some(node)) => {
                write!(
                    out,
                    "waiting for resource driver {drivers} to allocate claim {claims} for node {node}"
                )
            }
            (Await::Allocation, None) => {
                write!(out, "waiting for resource driver {drivers} to allocate claim {claims}")
            }
        }
    }
}
