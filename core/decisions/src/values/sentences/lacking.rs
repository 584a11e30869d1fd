//! What a pod or a group lacks before it may be placed.

use std::fmt;
use std::fmt::Display;

use model::workload::Replica;

use super::Out;
use crate::values::lacking::Lacking;

impl Lacking {
    /// What is lacking, and what can be done about it.
    #[must_use]
    pub fn with_hint(&self) -> String {
        let hint = match self {
            Lacking::Claim(claim) => format!("create ResourceClaim {claim}"),
            Lacking::Template { namespace, template } => format!(
                "check that ResourceClaimTemplate {namespace}/{template} exists, and that kube-controller-manager or `supercargo \
                 controllers` runs"
            ),
            Lacking::Members { .. } | Lacking::Groups { .. } => {
                "create the missing pods, or lower minCount".to_owned()
            }
            _ => return self.to_string(),
        };
        // It is told when a controller has had time enough.
        let nobody =
            if matches!(self, Lacking::Template { .. }) { ", and no controller creates it" } else { "" };
        format!("{self}{nobody}; hint: {hint}")
    }
}

impl Display for Lacking {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Lacking::Claim(claim) => write!(out, "resourceclaim \"{}\" not found", claim.name),
            Lacking::Template { template, .. } => write!(
                out,
                "waiting for a resourceclaim to be created from resourceclaimtemplate \"{template}\""
            ),
            Lacking::Gates => write!(out, "it has scheduling gates"),
            Lacking::Group(group) => {
                write!(out, "waiting for pod group {}, which does not exist", group.name)
            }
            Lacking::Workload { workload } => {
                write!(out, "waiting for workload {workload}, which does not exist")
            }
            Lacking::GroupOfWorkload { workload, group } => {
                write!(out, "waiting for pod group {group} of workload {workload}, which has no such group")
            }
            Lacking::Replica { workload, group, replica, replicas } => write!(
                out,
                "waiting for replica {replica} of pod group {group} of workload {workload}, which has {replicas}, counted from 0"
            ),
            Lacking::Composite { group, composite } => write!(
                out,
                "pod group {} waits for composite pod group {composite}, which does not exist",
                group.name
            ),
            Lacking::CompositeCycle { group, composite } => write!(
                out,
                "pod group {} is in composite pod group {composite}, which contains itself",
                group.name
            ),
            Lacking::Member { pod, lacks } => {
                write!(out, "waiting for pod {pod} of the same pod group: {lacks}")
            }
            Lacking::Members { group, at_least } => match group.name.replica() {
                Some(Replica { workload, group, number }) => write!(
                    out,
                    "waiting for replica {number} of pod group {group} of workload {workload} to have at least {at_least} pods"
                ),
                None => write!(out, "waiting for pod group {} to have at least {at_least} pods", group.name),
            },
            Lacking::Groups { composite } => write!(
                out,
                "waiting for enough pod groups of composite pod group {} to have enough pods",
                composite.name
            ),
        }
    }
}
