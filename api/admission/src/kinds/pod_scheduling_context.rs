//! The negotiation about one pod.

use std::collections::BTreeSet;

use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, spec_and_status_apart};
use crate::names;

/// Larger clusters need several rounds. KEP-3063 says 128 in its text and 256 in its code; every version that
/// was ever shipped had 128.
const NODES_MAX: usize = 128;

impl Admit for PodSchedulingContext {
    spec_and_status_apart!();

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        if !self.spec.selected_node.is_empty() {
            let faults = names::dns_subdomain(&self.spec.selected_node);
            causes.malformed(&path.field("selectedNode"), &self.spec.selected_node, faults);
        }
        node_list(&self.spec.potential_nodes, &path.field("potentialNodes"), causes);
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        let mut seen = BTreeSet::new();
        for (index, claim) in self.status.resource_claims.iter().enumerate() {
            let list = path.field("resourceClaims");
            let path = list.index(index);
            causes.malformed(&path.field("name"), &claim.name, names::dns_label(&claim.name));
            if !seen.insert(&claim.name) {
                causes.duplicate(&path, &claim.name);
            }
            node_list(&claim.unsuitable_nodes, &path.field("unsuitableNodes"), causes);
        }
    }
}

fn node_list(nodes: &[String], path: &Path<'_>, causes: &mut Causes) {
    causes.each_once(nodes, NODES_MAX, path, Clone::clone, |causes, node, path| {
        causes.malformed(path, node, names::dns_subdomain(node));
    });
}
