//! Templates of pod groups and of composite pod groups, as workloads have them.
//!
//! Templates keep their names, so an old and a new template with one name are the same template. Of its fields only
//! the size of a gang can change.

use std::collections::BTreeMap;

use gates::Gate;
use objects::scheduling::workload::{CompositePodGroupTemplate, PodGroupTemplate};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Context, Gated, strip};
use crate::kinds::change::Change;
use crate::kinds::{group_fields, group_priority};
use crate::names;

const TEMPLATES_MAX: usize = 8;

const GROUP_GATED: &[Gated<PodGroupTemplate>] = &[
    Gated {
        gates: &[Gate::TopologyAwareWorkloadScheduling],
        in_use: |template| template.scheduling_constraints.is_some(),
        clear: |template| template.scheduling_constraints = None,
    },
    Gated {
        gates: &[Gate::DRAWorkloadResourceClaims],
        in_use: |template| !template.resource_claims.is_empty(),
        clear: |template| template.resource_claims.clear(),
    },
    Gated {
        gates: &[Gate::PodGroupPreemptionPolicy],
        in_use: |template| template.preemption_policy.is_some(),
        clear: |template| template.preemption_policy = None,
    },
];

const COMPOSITE_GATED: &[Gated<CompositePodGroupTemplate>] = &[
    Gated {
        gates: &[Gate::PodGroupPreemptionPolicy],
        in_use: |template| template.preemption_policy.is_some(),
        clear: |template| template.preemption_policy = None,
    },
    Gated {
        gates: &[Gate::CompositePodGroup],
        in_use: |template| !template.composite_pod_group_templates.is_empty(),
        clear: |template| template.composite_pod_group_templates.clear(),
    },
];

/// Clears fields whose features are off. As in Kubernetes, a template's place says which stored one it was.
pub(crate) fn strip_groups(
    templates: &mut [PodGroupTemplate],
    old: &[PodGroupTemplate],
    context: &Context<'_>,
) {
    for (index, template) in templates.iter_mut().enumerate() {
        strip(GROUP_GATED, template, old.get(index), context);
    }
}

/// Clears fields whose features are off. Here a template's name says which stored one it was.
pub(crate) fn strip_composites(
    templates: &mut [CompositePodGroupTemplate],
    old: &[CompositePodGroupTemplate],
    context: &Context<'_>,
) {
    let old: BTreeMap<&str, &CompositePodGroupTemplate> =
        old.iter().map(|template| (template.name.as_str(), template)).collect();
    for template in templates {
        let old = old.get(template.name.as_str()).copied();
        strip(COMPOSITE_GATED, template, old, context);
        let (groups, composites) = old.map_or((&[][..], &[][..]), |old| {
            (&old.pod_group_templates[..], &old.composite_pod_group_templates[..])
        });
        strip_composites(&mut template.composite_pod_group_templates, composites, context);
        strip_groups(&mut template.pod_group_templates, groups, context);
    }
}

/// The rules for a list of templates of pod groups.
pub(crate) fn validate_groups(
    change: Change<'_, Vec<PodGroupTemplate>>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let name = |template: &PodGroupTemplate| template.name.clone();
    each_template(change, path, causes, name, |change, path, causes| {
        validate_group(change, path, context, causes);
    });
}

/// The rules for a list of templates of composite pod groups.
pub(crate) fn validate_composites(
    change: Change<'_, Vec<CompositePodGroupTemplate>>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let name = |template: &CompositePodGroupTemplate| template.name.clone();
    each_template(change, path, causes, name, |change, path, causes| {
        validate_composite(change, path, context, causes);
    });
}

/// No template joins or leaves a stored list. Those that changed are checked next to what they were.
fn each_template<T: PartialEq>(
    change: Change<'_, Vec<T>>,
    path: &Path<'_>,
    causes: &mut Causes,
    name: impl Fn(&T) -> String,
    check: impl Fn(Change<'_, T>, &Path<'_>, &mut Causes),
) {
    if !change.is_news() {
        return;
    }
    let joined = change.old.is_some_and(|old| members_changed(change.new, old, path, causes, &name));
    if joined {
        if change.new.len() > TEMPLATES_MAX {
            causes.too_many(path, change.new.len(), TEMPLATES_MAX);
        }
        return;
    }
    causes.each_once(change.new, TEMPLATES_MAX, path, &name, |causes, new, path| {
        let old = change.old.and_then(|old| old.iter().find(|old| name(old) == name(new)));
        let change = Change { new, old };
        if change.is_news() {
            check(change, path, causes);
        }
    });
}

fn members_changed<T>(
    new: &[T],
    old: &[T],
    path: &Path<'_>,
    causes: &mut Causes,
    name: impl Fn(&T) -> String,
) -> bool {
    let has = |list: &[T], wanted: &T| list.iter().any(|each| name(each) == name(wanted));
    let mut changed = false;
    for (index, template) in new.iter().enumerate() {
        if !has(old, template) {
            changed = true;
            causes.forbidden(&path.index(index), "no template can be added after the workload was made");
        }
    }
    for template in old {
        if !has(new, template) {
            changed = true;
            causes.forbidden(path, format!("the template {:?} cannot be removed", name(template)));
        }
    }
    changed
}

fn validate_group(
    change: Change<'_, PodGroupTemplate>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    // The name correlates templates, so it is news only on new ones.
    if change.old.is_none() {
        group_fields::required(&change.new.name, names::dns_label, &path.field("name"), causes);
    }
    let policy = change.part(|template| &template.scheduling_policy);
    group_fields::policy(policy, &path.field("schedulingPolicy"), causes);
    let constraints = change.part(|template| &template.scheduling_constraints);
    let path_of_constraints = path.field("schedulingConstraints");
    let on = context.has(Gate::TopologyAwareWorkloadScheduling);
    if !on && constraints.is_news() && constraints.new.is_some() {
        causes.forbidden(&path_of_constraints, "needs feature gate TopologyAwareWorkloadScheduling");
    }
    if constraints.is_fixed(&path_of_constraints, causes)
        && on
        && let Some(constraints) = constraints.new
    {
        group_fields::topology(&constraints.topology, &path_of_constraints, causes);
    }
    let claims = change.part(|template| &template.resource_claims);
    group_fields::resource_claims(claims, &path.field("resourceClaims"), causes);
    let mode = change.part(|template| &template.disruption_mode);
    group_fields::disruption_mode(mode, &path.field("disruptionMode"), causes);
    group_priority::validate(change, path, context, causes);
}

fn validate_composite(
    change: Change<'_, CompositePodGroupTemplate>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    if change.old.is_none() {
        group_fields::required(&change.new.name, names::dns_label, &path.field("name"), causes);
    }
    let policy = change.part(|template| &template.scheduling_policy);
    group_fields::policy(policy, &path.field("schedulingPolicy"), causes);
    let constraints = change.part(|template| &template.scheduling_constraints);
    let path_of_constraints = path.field("schedulingConstraints");
    if constraints.is_fixed(&path_of_constraints, causes)
        && let Some(constraints) = constraints.new
    {
        group_fields::topology(&constraints.topology, &path_of_constraints, causes);
    }
    let mode = change.part(|template| &template.disruption_mode);
    group_fields::disruption_mode(mode, &path.field("disruptionMode"), causes);
    group_priority::validate(change, path, context, causes);
    let groups = change.part(|template| &template.pod_group_templates);
    validate_groups(groups, &path.field("podGroupTemplates"), context, causes);
    let composites = change.part(|template| &template.composite_pod_group_templates);
    validate_composites(composites, &path.field("compositePodGroupTemplates"), context, causes);
}
