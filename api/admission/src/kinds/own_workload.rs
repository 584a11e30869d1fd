//! Our own workload: pod groups with several constraints.

use std::collections::BTreeSet;

use objects::supercargo::workload::{
    DRAConstraint, GangPolicy, PodGroup, PodGroupSchedulingConstraints, TopologyConstraint, Workload,
};
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context, spec_and_status_apart};
use crate::kinds::device_names::fully_qualified_name;
use crate::names;

const GROUPS_MAX: usize = 64;
const CONSTRAINTS_MAX: usize = 8;
const REPLICAS_MAX: i32 = 1_000;

/// The longest value of a label.
const LABEL_MAX: usize = 63;

impl Admit for Workload {
    spec_and_status_apart!();

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        let groups = path.field("podGroups");
        if self.spec.pod_groups.is_empty() {
            causes.required(&groups, "must have at least one group");
        }
        causes.each_once(
            &self.spec.pod_groups,
            GROUPS_MAX,
            &groups,
            |group| group.name.clone(),
            validate_group,
        );
        let name = &self.metadata.name;
        if name.len() > LABEL_MAX {
            let why = "must have at most 63 characters, because pods name it in a label";
            causes.invalid(&Path::ROOT.field("metadata").field("name"), why);
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

fn validate_group(causes: &mut Causes, group: &PodGroup, path: &Path<'_>) {
    causes.malformed(&path.field("name"), &group.name, names::dns_label(&group.name));
    let policy = path.field("policy");
    match (&group.policy.basic, &group.policy.gang) {
        (None, None) => causes.required(&policy, "basic or gang must be set"),
        (Some(_), Some(_)) => causes.invalid(&policy, "only one of basic and gang can be set"),
        (Some(_), None) => {}
        (None, Some(gang)) => validate_gang(gang, &policy.field("gang"), causes),
    }
    if group.replicas.is_some_and(|replicas| replicas < 1) {
        causes.invalid(&path.field("replicas"), "must be at least 1");
    }
    if group.replicas.is_some_and(|replicas| replicas > REPLICAS_MAX) {
        causes.invalid(&path.field("replicas"), "must be at most 1000");
    }
    if let Some(constraints) = &group.scheduling_constraints {
        validate_constraints(constraints, &path.field("schedulingConstraints"), causes);
    }
}

fn validate_gang(gang: &GangPolicy, path: &Path<'_>, causes: &mut Causes) {
    const POLICIES: [&str; 2] = ["Release", "Replace"];
    if gang.min_count < 1 {
        causes.invalid(&path.field("minCount"), "must be at least 1");
    }
    if let Some(policy) = gang.binding_failure_policy.as_deref().filter(|policy| !POLICIES.contains(policy)) {
        causes.not_supported(&path.field("bindingFailurePolicy"), policy, &POLICIES);
    }
}

fn validate_constraints(constraints: &PodGroupSchedulingConstraints, path: &Path<'_>, causes: &mut Causes) {
    let topology = path.field("topologyConstraints");
    causes.each(&constraints.topology_constraints, CONSTRAINTS_MAX, &topology, validate_topology);
    let mut seen = BTreeSet::new();
    for (index, constraint) in constraints.topology_constraints.iter().enumerate() {
        if !seen.insert(&constraint.level) {
            causes.duplicate(&topology.index(index).field("level"), &constraint.level);
        }
    }
    causes.each(
        &constraints.dra_constraints,
        CONSTRAINTS_MAX,
        &path.field("draConstraints"),
        validate_devices,
    );
}

fn validate_topology(causes: &mut Causes, constraint: &TopologyConstraint, path: &Path<'_>) {
    const MODES: [&str; 2] = ["Required", "Preferred"];
    if constraint.level.is_empty() {
        causes.required(&path.field("level"), "must be a node label, or a level of a NodeTopology");
    } else {
        causes.malformed(&path.field("level"), &constraint.level, names::label_key(&constraint.level));
    }
    if !MODES.contains(&constraint.mode.as_str()) {
        causes.not_supported(&path.field("mode"), &constraint.mode, &MODES);
    }
    if constraint.rank < 0 {
        causes.invalid(&path.field("rank"), "must not be negative");
    }
    if constraint.rank > 0 && constraint.mode == "Required" {
        causes.invalid(
            &path.field("rank"),
            "must be left out of a required constraint, which is never given up",
        );
    }
}

fn validate_devices(causes: &mut Causes, constraint: &DRAConstraint, path: &Path<'_>) {
    let (claim, template) = (&constraint.resource_claim_name, &constraint.resource_claim_template_name);
    match (claim, template) {
        (None, None) => causes.required(path, "resourceClaimName or resourceClaimTemplateName must be set"),
        (Some(_), Some(_)) => {
            causes.invalid(path, "only one of resourceClaimName and resourceClaimTemplateName can be set");
        }
        _ => {}
    }
    for (name, value) in [("resourceClaimName", claim), ("resourceClaimTemplateName", template)] {
        if let Some(value) = value {
            causes.malformed(&path.field(name), value, names::dns_subdomain(value));
        }
    }
    if let Some(attribute) = &constraint.match_attribute {
        fully_qualified_name(attribute, &path.field("matchAttribute"), causes);
    }
}
