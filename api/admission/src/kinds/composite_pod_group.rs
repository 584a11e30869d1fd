//! Composite pod groups: nothing of their spec can change once they are made.

use gates::Gate;
use objects::scheduling::composite_pod_group::{CompositePodGroup, CompositePodGroupSpec};
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::change::Change;
use crate::kinds::{group_fields, group_priority};
use crate::names;
use crate::rejection::Rejection;

impl Admit for CompositePodGroup {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn set_defaults(&mut self, context: &Context<'_>) {
        group_priority::set_defaults(&mut self.spec, context);
    }

    fn mutate(&mut self, old: Option<&Self>, context: &Context<'_>) -> Result<(), Rejection> {
        if old.is_some() || !context.has(Gate::CompositePodGroup) {
            return Ok(());
        }
        group_priority::resolve(&mut self.spec, context)
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        strip(GATED, &mut self.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        strip(GATED, &mut self.spec, Some(&old.spec), context);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(Change::create(&self.spec), context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(Change::update(&self.spec, &old.spec), context, causes);
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        conditions::validate(&self.status.conditions, &path.field("conditions"), causes);
    }
}

const GATED: &[Gated<CompositePodGroupSpec>] = &[Gated {
    gates: &[Gate::PodGroupPreemptionPolicy],
    in_use: |spec| spec.preemption_policy.is_some(),
    clear: |spec| spec.preemption_policy = None,
}];

fn validate_spec(change: Change<'_, CompositePodGroupSpec>, context: &Context<'_>, causes: &mut Causes) {
    let path = Path::ROOT.field("spec");
    let parent = change.part(|spec| &spec.parent_composite_pod_group_name);
    let path_of_parent = path.field("parentCompositePodGroupName");
    if parent.is_fixed(&path_of_parent, causes)
        && let Some(name) = parent.new
    {
        causes.malformed(&path_of_parent, name, names::dns_subdomain(name));
    }
    let reference = change.part(|spec| &spec.workload_ref);
    let path_of_reference = path.field("workloadRef");
    let is_new = reference.is_fixed(&path_of_reference, causes);
    match reference.new {
        None if reference.is_news() => causes.required(&path_of_reference, "must be set"),
        Some(reference) if is_new => {
            group_fields::workload_reference(reference, &path_of_reference, causes);
        }
        _ => {}
    }
    let policy = change.part(|spec| &spec.scheduling_policy);
    let path_of_policy = path.field("schedulingPolicy");
    if policy.is_fixed(&path_of_policy, causes) {
        group_fields::policy(policy, &path_of_policy, causes);
    }
    let constraints = change.part(|spec| &spec.scheduling_constraints);
    let path_of_constraints = path.field("schedulingConstraints");
    if constraints.is_fixed(&path_of_constraints, causes)
        && let Some(constraints) = constraints.new
    {
        group_fields::topology(&constraints.topology, &path_of_constraints, causes);
    }
    let mode = change.part(|spec| &spec.disruption_mode);
    group_fields::disruption_mode(mode, &path.field("disruptionMode"), causes);
    group_priority::validate(change, &path, context, causes);
}
