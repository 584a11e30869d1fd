//! Server-side apply: a client says what it wants of an object, and who else owns fields is respected.

use std::sync::Arc;

use admission::from_stored;
use schema::{Document, table};
use serde_json::{Value, json};
use store::managed::{ApplyError, Manager, apply as merge, reset_fields};

use crate::body;
use crate::objects::{Done, Options, Site};
use crate::registry::Registry;
use crate::route::{Query, Target};
use crate::status::Failure;

/// Applies a configuration.
pub(crate) async fn apply(
    registry: &Arc<Registry>,
    site: &Site,
    target: &Target,
    body: &[u8],
    query: &Query,
    mut options: Options,
) -> Result<Done, Failure> {
    let name = target.name.as_deref().unwrap_or_default();
    if query.get("fieldManager").is_empty() {
        let message = "must be set for apply";
        return Err(Failure::bad_option("PatchOptions", "FieldValueRequired", "fieldManager", message));
    }
    let force = query.flag("force");
    let mut config = body::yaml(body)?.value;
    check(site, target, &mut config)?;
    options.applied = true;
    let time = Registry::now().to_string();
    let manager_name = options.manager.clone();
    let subresource = options.subresource;
    let merged = |live: Option<&Value>| -> Result<Document, Failure> {
        let manager = Manager { name: &manager_name, subresource, time: &time };
        let live = live.map(|live| from_stored(site.kind, live.clone()));
        let reset = reset_fields(site.kind, subresource);
        let value = merge(table(), site.kind, live.as_ref(), &config, &manager, force, reset)
            .map_err(|error| refused(site, name, error))?;
        Ok(Document { value, duplicates: Vec::new() })
    };
    if registry.get(site.resource, &site.key(name)).is_none() {
        if target.subresource.is_some() {
            return Err(Failure::not_found(site.kind, name));
        }
        if config["metadata"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()) {
            return Err(Failure::conflict(
                site.kind,
                name,
                "uid mismatch: the provided object specified a uid, and no existing object was found",
            ));
        }
        return registry.create(site, merged(None)?, &options).await;
    }
    let status = target.subresource.is_some();
    registry.change(site, name, status, &options, Failure::rejected, &mut |live| merged(Some(live))).await
}

/// What must hold of a configuration before it is merged.
fn check(site: &Site, target: &Target, config: &mut Value) -> Result<(), Failure> {
    let name = target.name.as_deref().unwrap_or_default();
    if !config.is_object() {
        return Err(Failure::bad_request("the configuration must be an object"));
    }
    if config["metadata"].get("managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    for field in ["kind", "apiVersion"] {
        if config[field].as_str().is_none_or(str::is_empty) {
            return Err(Failure::bad_request(format!("{field} must be set for apply")));
        }
    }
    match config["metadata"]["name"].as_str() {
        Some(sent) if sent == name => {}
        Some(sent) if !sent.is_empty() => {
            return Err(Failure::bad_request(format!(
                "the name of the object ({sent}) does not match the name on the URL ({name})"
            )));
        }
        _ => return Err(Failure::bad_request("metadata.name must be set for apply")),
    }
    let namespace = config["metadata"]["namespace"].as_str().unwrap_or_default();
    if !namespace.is_empty() && namespace != site.namespace {
        return Err(Failure::bad_request(
            "the namespace of the object does not match the namespace on the URL",
        ));
    }
    Ok(())
}

fn refused(site: &Site, name: &str, error: ApplyError) -> Failure {
    let message = error.to_string();
    match error {
        ApplyError::Malformed(_) => Failure::bad_request(message),
        ApplyError::Internal(_) => Failure::unexplained(message),
        ApplyError::Conflicts(conflicts) => {
            let mut failure = Failure::conflict(site.kind, name, &message);
            failure.message = message;
            let causes = conflicts.iter().map(|conflict| {
                json!({"reason": "FieldManagerConflict", "message": conflict.to_string(), "field": conflict.field_path})
            });
            failure.details = json!({"causes": causes.collect::<Vec<_>>()});
            failure
        }
    }
}
