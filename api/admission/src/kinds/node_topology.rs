//! How the nodes of a cluster are grouped.

use std::collections::BTreeSet;

use objects::supercargo::node_topology::NodeTopology;
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context, spec_and_status_apart};
use crate::names;
use crate::selectors::label_selector;

const LEVELS_MAX: usize = 16;

impl Admit for NodeTopology {
    spec_and_status_apart!();

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        let levels = path.field("levels");
        if self.spec.levels.is_empty() {
            causes.required(&levels, "must have at least one level");
        }
        causes.each_once(
            &self.spec.levels,
            LEVELS_MAX,
            &levels,
            |level| level.name.clone(),
            |causes, level, path| {
                causes.malformed(&path.field("name"), &level.name, names::dns_label(&level.name));
                causes.malformed(
                    &path.field("nodeLabel"),
                    &level.node_label,
                    names::label_key(&level.node_label),
                );
            },
        );
        let mut seen = BTreeSet::new();
        for (index, level) in self.spec.levels.iter().enumerate() {
            if !seen.insert(&level.node_label) {
                causes.duplicate(&levels.index(index).field("nodeLabel"), &level.node_label);
            }
        }
        if let Some(selector) = &self.spec.node_selector {
            label_selector(selector, &path.field("nodeSelector"), causes);
        }
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        conditions::validate(
            &self.status.conditions,
            &Path::ROOT.field("status").field("conditions"),
            causes,
        );
    }
}
