//! Templates: what controllers make pods from.

use std::collections::BTreeMap;

use objects::core::pod::PodTemplateSpec;
use objects::meta::{LabelSelector, ObjectMeta};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;
use crate::kinds::pod_resources;
use crate::kinds::pod_spec::{self, Owner};
use crate::metadata;

/// The defaults of a pod that is still to be made.
pub(crate) fn set_defaults(template: &mut PodTemplateSpec) {
    pod_spec::set_defaults(&mut template.spec);
    pod_resources::round_template(&mut template.spec);
}

/// The rules for a template. `old` is the stored one.
pub(crate) fn validate(
    template: &PodTemplateSpec,
    old: Option<&PodTemplateSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    metadata::validate_labels(&template.metadata, path, causes);
    metadata::validate_annotations(&template.metadata, path, causes);
    let spec = path.field("spec");
    // The pod's name is not known yet, and neither is anything that depends on it.
    let (meta, old) = (ObjectMeta::default(), old.map(|old| &old.spec));
    pod_spec::validate(&template.spec, &meta, Owner::Template, old, &spec, context, causes);
    if !template.spec.ephemeral_containers.is_empty() {
        causes.forbidden(&spec.field("ephemeralContainers"), "are added to a pod that runs");
    }
}

/// The rules for the template of a controller that keeps pods running. `old` is the stored one.
pub(crate) fn validate_lasting(
    template: &PodTemplateSpec,
    old: Option<&PodTemplateSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    validate(template, old, path, context, causes);
    let spec = path.field("spec");
    if template.spec.restart_policy != "Always" {
        causes.not_supported(&spec.field("restartPolicy"), &template.spec.restart_policy, &["Always"]);
    }
    if template.spec.active_deadline_seconds.is_some() {
        causes.forbidden(&spec.field("activeDeadlineSeconds"), "pods of this controller must always restart");
    }
}

/// A selector that a controller finds its pods by must find those that it makes.
pub(crate) fn validate_selected(
    selector: Option<&LabelSelector>,
    template: &PodTemplateSpec,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    // No selector picks nothing.
    if !selector.is_some_and(|selector| selector.selects(&template.metadata.labels)) {
        not_selected(path, causes);
    }
}

/// The same for a selector that is a plain set of labels.
pub(crate) fn validate_labelled(
    selector: &BTreeMap<String, String>,
    template: &PodTemplateSpec,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if !selector.iter().all(|(key, value)| template.metadata.labels.get(key) == Some(value)) {
        not_selected(path, causes);
    }
}

fn not_selected(path: &Path<'_>, causes: &mut Causes) {
    causes.invalid(&path.field("metadata").field("labels"), "must be labels that the selector picks");
}
