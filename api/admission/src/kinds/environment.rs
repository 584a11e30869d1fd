//! The environment of a container: variables, and where their values come from.

use objects::core::container::{
    Container, EnvVar, FileKeySelector, KeySelector, ObjectFieldSelector, ResourceFieldSelector,
};
use objects::core::pod::LocalObjectReference;
use schema::Path;

use crate::cause::Causes;
use crate::kinds::configuration::validate_key;
use crate::names;

/// Fields of a pod that a variable can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of a pod that are known, but are no single value or change while the pod runs.
const OTHER_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTE_DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Variables have names, and each has one source.
pub(crate) fn validate(container: &Container, path: &Path<'_>, causes: &mut Causes) {
    let list = path.field("env");
    for (index, variable) in container.env.iter().enumerate() {
        let path = list.index(index);
        if variable.name.is_empty() {
            causes.required(&path.field("name"), "must be set");
        } else {
            variable_name(&variable.name, &path.field("name"), causes);
        }
        validate_source(variable, &path.field("valueFrom"), causes);
    }
    let list = path.field("envFrom");
    for (index, source) in container.env_from.iter().enumerate() {
        let path = list.index(index);
        variable_name(&source.prefix, &path.field("prefix"), causes);
        for (name, reference) in [("configMapRef", &source.config_map_ref), ("secretRef", &source.secret_ref)]
        {
            if let Some(reference) = reference {
                validate_reference(reference, &path.field(name), causes);
            }
        }
        // Quirk: how many sources there are is said of the list.
        match (&source.config_map_ref, &source.secret_ref) {
            (None, None) => causes.invalid(&list, "configMapRef or secretRef must be set"),
            (Some(_), Some(_)) => causes.invalid(&list, "only one of configMapRef and secretRef can be set"),
            _ => {}
        }
    }
}

fn variable_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    let allowed = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && byte != b'=';
    if !name.bytes().all(allowed) {
        causes.invalid(path, "must be printable ASCII without '='");
    }
}

fn validate_reference(reference: &LocalObjectReference, path: &Path<'_>, causes: &mut Causes) {
    if reference.name.is_empty() {
        causes.required(&path.field("name"), "must be set");
    } else {
        // The name may be a prefix, so a dash at its end is let through.
        let name = reference.name.strip_suffix('-').map(|start| format!("{start}a"));
        let faults = names::dns_subdomain(name.as_ref().unwrap_or(&reference.name));
        causes.malformed(&path.field("name"), &reference.name, faults);
    }
}

fn validate_source(variable: &EnvVar, path: &Path<'_>, causes: &mut Causes) {
    let Some(source) = &variable.value_from else { return };
    let mut set = 0;
    if let Some(reference) = &source.field_ref {
        set += 1;
        validate_field(reference, &path.field("fieldRef"), causes);
    }
    if let Some(reference) = &source.resource_field_ref {
        set += 1;
        validate_resource(reference, &path.field("resourceFieldRef"), causes);
    }
    for (name, reference) in
        [("configMapKeyRef", &source.config_map_key_ref), ("secretKeyRef", &source.secret_key_ref)]
    {
        if let Some(reference) = reference {
            set += 1;
            validate_key_of(reference, &path.field(name), causes);
        }
    }
    if let Some(reference) = &source.file_key_ref {
        set += 1;
        validate_file(reference, &path.field("fileKeyRef"), causes);
    }
    if set == 0 {
        causes.invalid(path, "one source must be set");
    } else if !variable.value.is_empty() {
        causes.invalid(path, "cannot be set together with value");
    } else if set > 1 {
        causes.invalid(path, "only one source can be set");
    }
}

fn validate_field(reference: &ObjectFieldSelector, path: &Path<'_>, causes: &mut Causes) {
    let place = path.field("fieldPath");
    let field = reference.field_path.as_str();
    if reference.api_version.is_empty() {
        causes.required(&path.field("apiVersion"), "must be set");
    } else if field.is_empty() {
        causes.required(&place, "must be set");
    } else if reference.api_version != "v1" {
        causes.invalid(&place, "apiVersion must be v1");
    } else if let Some((field, key)) = subscript(field) {
        match field {
            "metadata.annotations" => causes.malformed(path, key, names::label_key(&key.to_lowercase())),
            "metadata.labels" => causes.malformed(path, key, names::label_key(key)),
            _ => causes.invalid(&place, "only labels and annotations have keys"),
        }
    } else if OTHER_FIELDS.contains(&field) {
        causes.not_supported(&place, field, &FIELDS);
    } else if !FIELDS.contains(&field) && field != "spec.host" {
        causes.invalid(&place, format!("a pod has no field {field:?} for this"));
    }
}

/// `field['key']`, taken apart.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (field, key) = path.strip_suffix("']")?.split_once("['")?;
    (!field.is_empty()).then_some((field, key))
}

fn validate_resource(reference: &ResourceFieldSelector, path: &Path<'_>, causes: &mut Causes) {
    let resource = reference.resource.as_str();
    let huge = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if resource.is_empty() {
        causes.required(&path.field("resource"), "must be set");
    } else if !RESOURCES.contains(&resource) && !huge {
        causes.not_supported(&path.field("resource"), resource, &RESOURCES);
    }
    let Some(divisor) = reference.divisor.as_ref().filter(|divisor| !divisor.0.is_zero()) else { return };
    let allowed: &[&str] = match resource {
        "limits.cpu" | "requests.cpu" => &["1m", "1"],
        _ if huge || RESOURCES.contains(&resource) => &BYTE_DIVISORS,
        _ => return,
    };
    if !allowed.contains(&divisor.0.to_string().as_str()) {
        causes.invalid(&path.field("divisor"), format!("must be one of {}", allowed.join(", ")));
    }
}

fn validate_key_of(reference: &KeySelector, path: &Path<'_>, causes: &mut Causes) {
    causes.malformed(&path.field("name"), &reference.name, names::dns_subdomain(&reference.name));
    if reference.key.is_empty() {
        causes.required(&path.field("key"), "must be set");
    } else {
        validate_key(&reference.key, &path.field("key"), causes);
    }
}

fn validate_file(reference: &FileKeySelector, path: &Path<'_>, causes: &mut Causes) {
    if reference.key.is_empty() {
        causes.required(&path.field("key"), "must be set");
    } else {
        variable_name(&reference.key, &path.field("key"), causes);
    }
    if reference.volume_name.is_empty() {
        causes.required(&path.field("volumeName"), "must be set");
    } else {
        let faults = names::dns_label(&reference.volume_name);
        causes.malformed(&path.field("volumeName"), &reference.volume_name, faults);
    }
    if reference.path.is_empty() {
        causes.required(&path.field("path"), "must be set");
    } else if reference.path.split('/').any(|part| part == "..") {
        causes.invalid(&path.field("path"), "must not contain '..'");
    }
}
