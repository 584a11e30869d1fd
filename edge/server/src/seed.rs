//! What every cluster has from the start: four namespaces and two priority classes.

use std::sync::Arc;

use schema::{Document, table};
use serde_json::{Value, json};

use crate::objects::{Options, Site};
use crate::registry::Registry;
use crate::route::{Query, Target};
use crate::status::Failure;

/// Makes what is missing.
pub(crate) async fn seed(registry: &Arc<Registry>) -> Result<(), Failure> {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        make(registry, "v1", "Namespace", json!({"metadata": {"name": name}})).await?;
    }
    for (name, value, description) in [
        (
            "system-node-critical",
            2_000_001_000_i64,
            "Used for system critical pods that must not be moved from \
            their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but \
            can be moved to another node if necessary.",
        ),
    ] {
        let class = json!({"metadata": {"name": name}, "value": value, "description": description});
        make(registry, "scheduling.k8s.io/v1", "PriorityClass", class).await?;
    }
    Ok(())
}

async fn make(registry: &Arc<Registry>, api_version: &str, kind: &str, object: Value) -> Result<(), Failure> {
    let kind = table().kind(api_version, kind).ok_or_else(Failure::no_such_path)?;
    let target = Target { kind, namespace: String::new(), name: None, subresource: None };
    let site = Site::of(&target)?;
    let options = Options::read(&Query::default(), "CreateOptions")?;
    match registry.create(&site, Document { value: object, duplicates: Vec::new() }, &options).await {
        Err(failure) if failure.code != 409 => Err(failure),
        _ => Ok(()),
    }
}
