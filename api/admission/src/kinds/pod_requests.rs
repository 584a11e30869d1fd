//! What is asked of a pod and never stored: to bind it to a node, and to evict it.

use objects::core::kinds::Binding;
use objects::policy::Eviction;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::names;

impl Admit for Binding {
    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("target");
        let target = &self.target;
        let node = matches!(target.kind.as_str(), "" | "Node");
        if !node {
            causes.not_supported(&path.field("kind"), &target.kind, &["Node"]);
        }
        if target.name.is_empty() {
            causes.required(&path.field("name"), "must be the name of a node");
        } else if node {
            causes.malformed(&path.field("name"), &target.name, names::dns_subdomain(&target.name));
        }
    }
}

impl Admit for Eviction {}
