//! What must hold of every object's metadata.

use std::collections::BTreeSet;

use objects::meta::{ObjectMeta, OwnerReference};
use schema::{Path, Scope};

use crate::cause::Causes;
use crate::names::{self, Faults};

/// All annotations of an object together, keys included.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// Finalizers that may do without a domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Takes out owners that are named twice, and says so.
pub(crate) fn drop_repeated_owners(meta: &mut ObjectMeta) -> Option<String> {
    let named = meta.owner_references.len();
    let mut seen = BTreeSet::new();
    meta.owner_references.retain(|owner| {
        let OwnerReference { api_version, block_owner_deletion, controller, kind, name, uid, .. } =
            owner.clone();
        seen.insert((uid, name, kind, api_version, controller, block_owner_deletion))
    });
    let repeated = meta.owner_references.len() < named;
    repeated.then(|| "metadata.ownerReferences: an owner was named twice and is kept once".to_owned())
}

/// The rules for an object that is made or replaced.
pub(crate) fn validate(meta: &ObjectMeta, scope: Scope, name_form: fn(&str) -> Faults, causes: &mut Causes) {
    let path = Path::ROOT.field("metadata");
    if !meta.generate_name.is_empty() {
        // The name's end is still to come, so a prefix may end with a dash, as no name may.
        let stand_in = match meta.generate_name.strip_suffix('-') {
            Some(start) if !start.is_empty() => format!("{start}a"),
            _ => meta.generate_name.clone(),
        };
        causes.malformed(&path.field("generateName"), &meta.generate_name, name_form(&stand_in));
    }
    if meta.name.is_empty() {
        causes.required(&path.field("name"), "name or generateName must be set");
    } else {
        let faults = name_form(&meta.name);
        let faults = if faults.is_empty() { names::path_segment(&meta.name) } else { faults };
        causes.malformed(&path.field("name"), &meta.name, faults);
    }
    match scope {
        Scope::Namespaced if meta.namespace.is_empty() => {
            causes.required(&path.field("namespace"), "objects of this kind live in a namespace");
        }
        Scope::Namespaced => {
            causes.malformed(&path.field("namespace"), &meta.namespace, names::dns_label(&meta.namespace));
        }
        Scope::Cluster if !meta.namespace.is_empty() => {
            causes.forbidden(&path.field("namespace"), "objects of this kind live in no namespace");
        }
        Scope::Cluster => {}
    }
    if meta.generation < 0 {
        causes.invalid(&path.field("generation"), "must not be negative");
    }
    validate_contents(meta, causes);
    validate_finalizers(meta, causes);
}

/// The rules for a change of an object.
pub(crate) fn validate_update(meta: &ObjectMeta, old: &ObjectMeta, causes: &mut Causes) {
    let path = Path::ROOT.field("metadata");
    let before: BTreeSet<&String> = old.finalizers.iter().collect();
    if old.deletion_timestamp.is_some() && meta.finalizers.iter().any(|name| !before.contains(name)) {
        causes.forbidden(
            &path.field("finalizers"),
            "no finalizer can be added to an object that is being deleted",
        );
    }
    if meta.resource_version.is_empty() {
        causes.invalid(
            &path.field("resourceVersion"),
            "must be set, so that no change of others is overwritten",
        );
    }
    causes.immutable(&path.field("name"), &meta.name, &old.name);
    causes.immutable(&path.field("namespace"), &meta.namespace, &old.namespace);
    causes.immutable(&path.field("uid"), &meta.uid, &old.uid);
    causes.immutable(&path.field("creationTimestamp"), &meta.creation_timestamp, &old.creation_timestamp);
    causes.immutable(&path.field("deletionTimestamp"), &meta.deletion_timestamp, &old.deletion_timestamp);
    causes.immutable(
        &path.field("deletionGracePeriodSeconds"),
        &meta.deletion_grace_period_seconds,
        &old.deletion_grace_period_seconds,
    );
    validate_contents(meta, causes);
}

fn validate_contents(meta: &ObjectMeta, causes: &mut Causes) {
    let path = Path::ROOT.field("metadata");
    validate_labels(meta, &path, causes);
    validate_annotations(meta, &path, causes);
    validate_owners(&meta.owner_references, &path.field("ownerReferences"), causes);
}

/// Labels: keys and values.
pub(crate) fn validate_labels(meta: &ObjectMeta, path: &Path<'_>, causes: &mut Causes) {
    label_map(&meta.labels, &path.field("labels"), causes);
}

/// A map of labels.
pub(crate) fn label_map(
    labels: &std::collections::BTreeMap<String, String>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    for (key, value) in labels {
        causes.malformed(path, key, names::label_key(key));
        causes.malformed(path, value, names::label_value(value));
    }
}

/// Annotations: keys in any case, values of any form, all together not too large.
pub(crate) fn validate_annotations(meta: &ObjectMeta, path: &Path<'_>, causes: &mut Causes) {
    let path = path.field("annotations");
    for key in meta.annotations.keys() {
        causes.malformed(&path, key, names::label_key(&key.to_lowercase()));
    }
    let bytes: usize = meta.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        causes.too_long(&path, ANNOTATIONS_BYTES_MAX);
    }
}

fn validate_owners(owners: &[OwnerReference], path: &Path<'_>, causes: &mut Causes) {
    for (index, owner) in owners.iter().enumerate() {
        let path = path.index(index);
        if owner.api_version.is_empty() {
            causes.required(&path.field("apiVersion"), "must be set");
        } else if owner.api_version.split('/').count() > 2 || owner.api_version.ends_with('/') {
            causes.invalid(&path.field("apiVersion"), "must be a group and a version, or a version");
        }
        for (name, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
            if value.is_empty() {
                causes.required(&path.field(name), "must be set");
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            causes.invalid(&path, "an event cannot own anything");
        }
    }
    if owners.iter().filter(|owner| owner.controller == Some(true)).count() > 1 {
        causes.invalid(path, "only one owner can be the controller");
    }
}

fn validate_finalizers(meta: &ObjectMeta, causes: &mut Causes) {
    let metadata = Path::ROOT.field("metadata");
    let path = metadata.field("finalizers");
    for finalizer in &meta.finalizers {
        causes.malformed(&path, finalizer, names::label_key(finalizer));
    }
    for (index, finalizer) in meta.finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.as_str()) {
            causes.invalid(
                &path.index(index),
                format!("{finalizer:?} needs a domain, as in example.com/{finalizer}"),
            );
        }
    }
    let has = |name: &str| meta.finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        causes.invalid(&path, "orphan and foregroundDeletion exclude each other");
    }
}

/// Metadata of a template: labels and annotations, and nothing else.
pub(crate) fn validate_template(meta: &ObjectMeta, path: &Path<'_>, causes: &mut Causes) {
    validate_annotations(meta, path, causes);
    validate_labels(meta, path, causes);
    for (name, set) in [
        ("name", !meta.name.is_empty()),
        ("generateName", !meta.generate_name.is_empty()),
        ("namespace", !meta.namespace.is_empty()),
        // Kubernetes derives these paths from Go's names, and clients know them so.
        ("uID", !meta.uid.is_empty()),
        ("resourceVersion", !meta.resource_version.is_empty()),
        ("generation", meta.generation != 0),
        ("creationTimestamp", meta.creation_timestamp.is_some()),
        ("deletionTimestamp", meta.deletion_timestamp.is_some()),
        ("deletionGracePeriodSeconds", meta.deletion_grace_period_seconds.is_some()),
        ("ownerReferences", !meta.owner_references.is_empty()),
        ("finalizers", !meta.finalizers.is_empty()),
        ("managedFields", meta.managed_fields.is_some()),
        ("selfLink", !meta.self_link.is_empty()),
    ] {
        if set {
            causes.forbidden(&path.field(name), "a template can only have labels and annotations");
        }
    }
}
