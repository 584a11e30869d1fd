//! What may change in a pod that exists: images, an earlier deadline, more tolerations, fewer gates; and while it has
//! gates, where it may run can be narrowed.

use std::collections::BTreeSet;

use objects::core::affinity::{Affinity, NodeAffinity, NodeSelectorTerm, Toleration};
use objects::core::container::Container;
use objects::core::pod::PodSpec;
use objects::meta::ObjectMeta;
use schema::Path;

use crate::cause::Causes;
use crate::kinds::image;
use crate::kinds::pod_spec::MIRROR;
use crate::same::same;

/// The rules for a change of the spec.
pub(crate) fn validate(spec: &PodSpec, old: &PodSpec, causes: &mut Causes) {
    let path = Path::ROOT.field("spec");
    for (name, new, old) in [
        ("containers", &spec.containers, &old.containers),
        ("initContainers", &spec.init_containers, &old.init_containers),
    ] {
        if !validate_containers(new, old, &path.field(name), causes) {
            return;
        }
    }
    if !validate_deadline(spec, old, &path.field("activeDeadlineSeconds"), causes) {
        return;
    }
    validate_tolerations(spec, old, &path.field("tolerations"), causes);
    let gates: BTreeSet<&str> = old.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
    for (index, gate) in spec.scheduling_gates.iter().enumerate() {
        if !gates.contains(gate.name.as_str()) {
            let gates = path.field("schedulingGates");
            let gate = gates.index(index);
            causes.forbidden(&gate.field("name"), "gates can only be taken away");
        }
    }
    let mut rest = with_allowed_changes_undone(spec, old);
    if !old.scheduling_gates.is_empty() {
        narrow(&mut rest, old, &path, causes);
    }
    if !same("core.v1.PodSpec", &rest, old) {
        causes.forbidden(
            &path,
            "only images, activeDeadlineSeconds, terminationGracePeriodSeconds and tolerations can change",
        );
    }
}

/// Checks the images; false if the containers are others than before, so that nothing more can be said.
fn validate_containers(new: &[Container], old: &[Container], path: &Path<'_>, causes: &mut Causes) -> bool {
    if new.len() != old.len() {
        causes.forbidden(path, "containers cannot be added or taken away");
        return false;
    }
    for (index, container) in new.iter().enumerate() {
        let path = path.index(index);
        if container.image.is_empty() {
            causes.required(&path.field("image"), "must be set");
        }
        image::validate_edges(&container.image, &path, causes);
    }
    true
}

/// A deadline can be set, and then only come closer.
fn validate_deadline(spec: &PodSpec, old: &PodSpec, path: &Path<'_>, causes: &mut Causes) -> bool {
    match (spec.active_deadline_seconds, old.active_deadline_seconds) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            causes.invalid(path, format!("must be from 0 to {}", i32::MAX));
            false
        }
        (Some(new), Some(old)) if new > old => {
            causes.invalid(path, "can only become smaller");
            false
        }
        (None, Some(_)) => {
            causes.invalid(path, "cannot be taken away");
            true
        }
        _ => true,
    }
}

/// Tolerations can be added; of those that are there only the time can change.
fn validate_tolerations(spec: &PodSpec, old: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    let all_but_time = |toleration: &Toleration| {
        let Toleration { key, operator, value, effect, .. } = toleration;
        [key, operator, value, effect].map(String::clone)
    };
    let now: BTreeSet<[String; 4]> = spec.tolerations.iter().map(all_but_time).collect();
    if !old.tolerations.iter().all(|toleration| now.contains(&all_but_time(toleration))) {
        causes.forbidden(path, "of a toleration that is there only tolerationSeconds can change");
    }
}

/// The new spec with everything that may change as it was before.
fn with_allowed_changes_undone(spec: &PodSpec, old: &PodSpec) -> PodSpec {
    let mut rest = spec.clone();
    for (new, old) in
        [(&mut rest.containers, &old.containers), (&mut rest.init_containers, &old.init_containers)]
    {
        for (new, old) in new.iter_mut().zip(old) {
            new.image.clone_from(&old.image);
        }
    }
    rest.active_deadline_seconds = old.active_deadline_seconds;
    rest.scheduling_gates.clone_from(&old.scheduling_gates);
    rest.tolerations.clone_from(&old.tolerations);
    let negative = |seconds: Option<i64>| seconds.is_some_and(|seconds| seconds < 0);
    if negative(old.termination_grace_period_seconds) && rest.termination_grace_period_seconds == Some(1) {
        rest.termination_grace_period_seconds = old.termination_grace_period_seconds;
    }
    rest
}

/// While a pod has gates, its choice of nodes may become smaller.
fn narrow(rest: &mut PodSpec, old: &PodSpec, path: &Path<'_>, causes: &mut Causes) {
    if rest.node_selector != old.node_selector {
        let kept = old.node_selector.iter().all(|(key, value)| rest.node_selector.get(key) == Some(value));
        if !kept {
            causes.invalid(&path.field("nodeSelector"), "labels can only be added");
        }
        rest.node_selector.clone_from(&old.node_selector);
    }
    let of = |affinity: &Option<Affinity>| affinity.as_ref().and_then(|each| each.node_affinity.clone());
    let (new_nodes, old_nodes) = (of(&rest.affinity), of(&old.affinity));
    if new_nodes == old_nodes {
        return;
    }
    let affinity = path.field("affinity");
    validate_narrower(new_nodes.as_ref(), old_nodes.as_ref(), &affinity.field("nodeAffinity"), causes);
    match &mut rest.affinity {
        Some(new)
            if old.affinity.is_none() && new.pod_affinity.is_none() && new.pod_anti_affinity.is_none() =>
        {
            rest.affinity = None;
        }
        Some(new) => new.node_affinity = old_nodes,
        None => rest.affinity = Some(Affinity { node_affinity: old_nodes, ..Default::default() }),
    }
}

fn validate_narrower(
    new: Option<&NodeAffinity>,
    old: Option<&NodeAffinity>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    fn terms(affinity: Option<&NodeAffinity>) -> &[NodeSelectorTerm] {
        let required =
            affinity.and_then(|each| each.required_during_scheduling_ignored_during_execution.as_ref());
        required.map_or(&[], |selector| selector.node_selector_terms.as_slice())
    }
    let (new, old) = (terms(new), terms(old));
    let path = path.field("requiredDuringSchedulingIgnoredDuringExecution");
    let path = path.field("nodeSelectorTerms");
    if old.is_empty() {
        return;
    }
    if new.len() != old.len() {
        causes.invalid(&path, "terms cannot be added or taken away");
        return;
    }
    for (index, (new, old)) in new.iter().zip(old).enumerate() {
        let empty =
            |term: &NodeSelectorTerm| term.match_expressions.is_empty() && term.match_fields.is_empty();
        let narrower = new.match_expressions.starts_with(&old.match_expressions)
            && new.match_fields.starts_with(&old.match_fields);
        // An empty term picks no node, and nothing is narrower than that.
        if !narrower || (empty(old) && !empty(new)) {
            causes.invalid(&path.index(index), "requirements can only be added");
        }
    }
}

/// Annotations that say what a pod is stay as they were.
pub(crate) fn validate_annotations(meta: &ObjectMeta, old: &ObjectMeta, causes: &mut Causes) {
    let fixed =
        |key: &str| key == MIRROR || key.starts_with("container.apparmor.security.beta.kubernetes.io/");
    let metadata = Path::ROOT.field("metadata");
    let path = metadata.field("annotations");
    for key in meta.annotations.keys().chain(old.annotations.keys()).filter(|key| fixed(key)) {
        if meta.annotations.get(key) != old.annotations.get(key) {
            causes.forbidden(&path.key(key), "cannot be added, changed or taken away");
        }
    }
}
