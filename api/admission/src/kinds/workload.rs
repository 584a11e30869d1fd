//! Workloads: either templates of pod groups, or trees of templates.
//!
//! Within a tree names are unique, the priority is one, and every inner template has something below it.

use std::collections::BTreeSet;

use gates::Gate;
use objects::scheduling::workload::{
    CompositePodGroupTemplate, PodGroupTemplate, TypedLocalObjectReference, Workload, WorkloadSpec,
};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::change::Change;
use crate::kinds::group_priority::Prioritized;
use crate::kinds::{group_fields, group_templates};
use crate::names;

/// So many levels of templates, the pod groups at the bottom included.
const LEVELS_MAX: usize = 4;

impl Admit for Workload {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn prepare_create(&mut self, context: &Context<'_>) {
        strip_spec(&mut self.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        strip_spec(&mut self.spec, Some(&old.spec), context);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(Change::create(&self.spec), context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(Change::update(&self.spec, &old.spec), context, causes);
    }
}

const GATED: &[Gated<WorkloadSpec>] = &[Gated {
    gates: &[Gate::CompositePodGroup],
    in_use: |spec| !spec.composite_pod_group_templates.is_empty(),
    clear: |spec| spec.composite_pod_group_templates.clear(),
}];

fn strip_spec(spec: &mut WorkloadSpec, old: Option<&WorkloadSpec>, context: &Context<'_>) {
    strip(GATED, spec, old, context);
    let (groups, composites) = old.map_or((&[][..], &[][..]), |old| {
        (&old.pod_group_templates[..], &old.composite_pod_group_templates[..])
    });
    group_templates::strip_groups(&mut spec.pod_group_templates, groups, context);
    group_templates::strip_composites(&mut spec.composite_pod_group_templates, composites, context);
}

fn validate_spec(change: Change<'_, WorkloadSpec>, context: &Context<'_>, causes: &mut Causes) {
    let path = Path::ROOT.field("spec");
    let spec = change.new;
    let mut names = spec.pod_group_templates.iter().map(|template| template.name.as_str()).collect();
    unique_names(&spec.composite_pod_group_templates, &path, &mut names, causes);
    levels(&spec.composite_pod_group_templates, &path.field("compositePodGroupTemplates"), causes);
    one_priority(spec, &path, causes);
    children(&spec.composite_pod_group_templates, &path, causes);
    if change.is_news() {
        validate_fields(change, &path, context, causes);
    }
}

fn validate_fields(
    change: Change<'_, WorkloadSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let chosen = |spec: &WorkloadSpec| {
        [
            ("podGroupTemplates", !spec.pod_group_templates.is_empty()),
            ("compositePodGroupTemplates", !spec.composite_pod_group_templates.is_empty()),
        ]
    };
    if change.old.is_none_or(|old| chosen(old) != chosen(change.new)) {
        group_fields::exactly_one(&chosen(change.new), path, causes);
    }
    let controller = change.part(|spec| &spec.controller_ref);
    let path_of_controller = path.field("controllerRef");
    if controller.is_fixed(&path_of_controller, causes)
        && let Some(reference) = controller.new
    {
        controller_reference(reference, &path_of_controller, causes);
    }
    let groups = change.part(|spec| &spec.pod_group_templates);
    group_templates::validate_groups(groups, &path.field("podGroupTemplates"), context, causes);
    let composites = change.part(|spec| &spec.composite_pod_group_templates);
    let path_of_composites = path.field("compositePodGroupTemplates");
    if !context.has(Gate::CompositePodGroup) && composites.is_news() && !composites.new.is_empty() {
        causes.forbidden(&path_of_composites, "needs feature gate CompositePodGroup");
    }
    group_templates::validate_composites(composites, &path_of_composites, context, causes);
}

fn controller_reference(reference: &TypedLocalObjectReference, path: &Path<'_>, causes: &mut Causes) {
    if !reference.api_group.is_empty() {
        let faults = names::dns_subdomain(&reference.api_group);
        causes.malformed(&path.field("apiGroup"), &reference.api_group, faults);
    }
    group_fields::required(&reference.kind, names::path_segment, &path.field("kind"), causes);
    group_fields::required(&reference.name, names::path_segment, &path.field("name"), causes);
}

/// Names that other lists of the tree have are taken. That a list has a name twice is reported with the list.
fn unique_names<'a>(
    templates: &'a [CompositePodGroupTemplate],
    path: &Path<'_>,
    taken: &mut BTreeSet<&'a str>,
    causes: &mut Causes,
) {
    let path = path.field("compositePodGroupTemplates");
    let names = templates.iter().map(|template| template.name.as_str());
    take_names(names, &path, taken, causes);
    for (index, template) in templates.iter().enumerate() {
        let path = path.index(index);
        let names = template.pod_group_templates.iter().map(|template| template.name.as_str());
        take_names(names, &path.field("podGroupTemplates"), taken, causes);
        unique_names(&template.composite_pod_group_templates, &path, taken, causes);
    }
}

fn take_names<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    path: &Path<'_>,
    taken: &mut BTreeSet<&'a str>,
    causes: &mut Causes,
) {
    for (index, name) in names.clone().enumerate() {
        if taken.contains(name) {
            causes.duplicate(&path.index(index).field("name"), name);
        }
    }
    taken.extend(names);
}

fn levels(templates: &[CompositePodGroupTemplate], path: &Path<'_>, causes: &mut Causes) {
    for (index, template) in templates.iter().enumerate() {
        if height(template) >= LEVELS_MAX {
            causes.invalid(
                &path.index(index),
                format!(
                    "templates can have at most {LEVELS_MAX} levels, the pod groups at the bottom included"
                ),
            );
        }
    }
}

fn height(template: &CompositePodGroupTemplate) -> usize {
    1 + template.composite_pod_group_templates.iter().map(height).max().unwrap_or(0)
}

/// All templates of a tree must say the same of their priority.
fn one_priority(spec: &WorkloadSpec, path: &Path<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    groups_priorities(&spec.pod_group_templates, &mut seen);
    composites_priorities(&spec.composite_pod_group_templates, &mut seen);
    if seen.len() > 1 {
        causes.invalid(path, "all templates must have the same priorityClassName and priority");
    }
}

fn groups_priorities<'a>(templates: &'a [PodGroupTemplate], seen: &mut BTreeSet<(&'a str, Option<i32>)>) {
    seen.extend(templates.iter().map(|each| (each.class_name().as_str(), *each.priority())));
}

fn composites_priorities<'a>(
    templates: &'a [CompositePodGroupTemplate],
    seen: &mut BTreeSet<(&'a str, Option<i32>)>,
) {
    for template in templates {
        seen.insert((template.class_name().as_str(), *template.priority()));
        groups_priorities(&template.pod_group_templates, seen);
        composites_priorities(&template.composite_pod_group_templates, seen);
    }
}

fn children(templates: &[CompositePodGroupTemplate], path: &Path<'_>, causes: &mut Causes) {
    let path = path.field("compositePodGroupTemplates");
    for (index, template) in templates.iter().enumerate() {
        let path = path.index(index);
        if template.pod_group_templates.is_empty() && template.composite_pod_group_templates.is_empty() {
            causes.invalid(&path, "must have at least one template below it");
        }
        children(&template.composite_pod_group_templates, &path, causes);
    }
}
