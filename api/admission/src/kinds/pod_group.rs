//! Pod groups: their policy's kind and everything else but the size of a gang are settled when they are made.

use gates::Gate;
use std::collections::BTreeSet;

use objects::scheduling::pod_group::{
    PodGroup, PodGroupResourceClaimStatus, PodGroupSchedulingConstraints, PodGroupSpec,
};
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::change::Change;
use crate::kinds::{group_fields, group_priority};
use crate::names;
use crate::rejection::Rejection;

/// Keeps a group from going away while pods refer to it; a controller takes it off.
const PROTECTION: &str = "scheduling.k8s.io/podgroup-protection";
const CLAIM_STATUSES_MAX: usize = 4;

impl Admit for PodGroup {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn set_defaults(&mut self, context: &Context<'_>) {
        group_priority::set_defaults(&mut self.spec, context);
    }

    fn mutate(&mut self, old: Option<&Self>, context: &Context<'_>) -> Result<(), Rejection> {
        if old.is_some() || !context.has(Gate::GenericWorkload) {
            return Ok(());
        }
        group_priority::resolve(&mut self.spec, context)?;
        if !self.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION) {
            self.metadata.finalizers.push(PROTECTION.to_owned());
        }
        Ok(())
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        strip(GATED, &mut self.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        strip(GATED, &mut self.spec, Some(&old.spec), context);
    }

    fn prepare_status(&mut self, old: &Self, context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        strip(STATUS_GATED, self, Some(old), context);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        if self.spec.parent_composite_pod_group_name.is_some() && self.spec.workload_ref.is_none() {
            let message = "must be set where parentCompositePodGroupName is set";
            causes.required(&path.field("workloadRef"), message);
        }
        validate_spec(Change::create(&self.spec), &path, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(Change::update(&self.spec, &old.spec), &Path::ROOT.field("spec"), context, causes);
    }

    fn validate_status(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        conditions::validate(&self.status.conditions, &path.field("conditions"), causes);
        validate_claim_statuses(self, old, &path.field("resourceClaimStatuses"), causes);
    }
}

const GATED: &[Gated<PodGroupSpec>] = &[
    Gated {
        gates: &[Gate::TopologyAwareWorkloadScheduling],
        in_use: |spec| spec.scheduling_constraints.is_some(),
        clear: |spec| spec.scheduling_constraints = None,
    },
    Gated {
        gates: &[Gate::DRAWorkloadResourceClaims],
        in_use: |spec| !spec.resource_claims.is_empty(),
        clear: |spec| spec.resource_claims.clear(),
    },
    Gated {
        gates: &[Gate::PodGroupPreemptionPolicy],
        in_use: |spec| spec.preemption_policy.is_some(),
        clear: |spec| spec.preemption_policy = None,
    },
    Gated {
        gates: &[Gate::CompositePodGroup],
        in_use: |spec| spec.parent_composite_pod_group_name.is_some(),
        clear: |spec| spec.parent_composite_pod_group_name = None,
    },
];

const STATUS_GATED: &[Gated<PodGroup>] = &[Gated {
    gates: &[Gate::DRAWorkloadResourceClaims],
    in_use: |group| !group.spec.resource_claims.is_empty(),
    clear: |group| group.status.resource_claim_statuses.clear(),
}];

fn validate_spec(
    change: Change<'_, PodGroupSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    parent(
        change.part(|spec| &spec.parent_composite_pod_group_name),
        &path.field("parentCompositePodGroupName"),
        context,
        causes,
    );
    let reference = change.part(|spec| &spec.workload_ref);
    let path_of_reference = path.field("workloadRef");
    if reference.is_fixed(&path_of_reference, causes)
        && let Some(reference) = reference.new
    {
        group_fields::workload_reference(reference, &path_of_reference, causes);
    }
    group_fields::policy(
        change.part(|spec| &spec.scheduling_policy),
        &path.field("schedulingPolicy"),
        causes,
    );
    constraints(
        change.part(|spec| &spec.scheduling_constraints),
        &path.field("schedulingConstraints"),
        context,
        causes,
    );
    let claims = change.part(|spec| &spec.resource_claims);
    group_fields::resource_claims(claims, &path.field("resourceClaims"), causes);
    let mode = change.part(|spec| &spec.disruption_mode);
    group_fields::disruption_mode(mode, &path.field("disruptionMode"), causes);
    group_priority::validate(change, path, context, causes);
}

fn parent(change: Change<'_, Option<String>>, path: &Path<'_>, context: &Context<'_>, causes: &mut Causes) {
    let on = context.has(Gate::CompositePodGroup);
    if !on && change.is_news() && change.new.is_some() {
        causes.forbidden(path, "needs feature gate CompositePodGroup");
    }
    if change.is_fixed(path, causes)
        && on
        && let Some(name) = change.new
    {
        causes.malformed(path, name, names::dns_subdomain(name));
    }
}

/// With the feature off, constraints can be taken away from a group that has them, but not given or changed.
fn constraints(
    change: Change<'_, Option<PodGroupSchedulingConstraints>>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    if !context.has(Gate::TopologyAwareWorkloadScheduling) {
        if change.is_news() && change.new.is_some() {
            causes.forbidden(path, "needs feature gate TopologyAwareWorkloadScheduling");
        }
    } else if change.is_fixed(path, causes)
        && let Some(constraints) = change.new
    {
        group_fields::topology(&constraints.topology, path, causes);
    }
}

fn validate_claim_statuses(group: &PodGroup, old: &PodGroup, path: &Path<'_>, causes: &mut Causes) {
    let statuses = &group.status.resource_claim_statuses;
    let claims: BTreeSet<&str> = group.spec.resource_claims.iter().map(|claim| claim.name.as_str()).collect();
    for (index, status) in statuses.iter().enumerate() {
        if !claims.contains(status.name.as_str()) {
            let path = path.index(index);
            causes.invalid(&path.field("name"), "must be the name of an entry of spec.resourceClaims");
        }
    }
    let before = &old.status.resource_claim_statuses;
    if statuses == before {
        return;
    }
    let key = |status: &PodGroupResourceClaimStatus| status.name.clone();
    causes.each_once(statuses, CLAIM_STATUSES_MAX, path, key, |causes, status, path| {
        let known = before.iter().find(|known| known.name == status.name);
        let claim = &status.resource_claim_name;
        if let Some(name) = claim
            && known.is_none_or(|known| known.resource_claim_name != *claim)
        {
            causes.malformed(&path.field("resourceClaimName"), name, names::dns_subdomain(name));
        }
    });
}
