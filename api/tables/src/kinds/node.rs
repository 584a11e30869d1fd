//! Nodes.

use std::collections::BTreeSet;

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::age;
use crate::column::{AGE, Column, NAME};
use crate::fields::{entries, is_true, items, last_condition, name, text, text_or, truth};

pub(super) const COLUMNS: &[Column] = &[
    NAME,
    Column::text("Status", "Whether the node is ready, and whether it is cordoned."),
    Column::text("Roles", "The roles that the node's labels give it."),
    AGE,
    Column::text("Version", "The version of the node's kubelet."),
    Column::text("Internal-IP", "The address of the node inside the cluster.").wide(),
    Column::text("External-IP", "The address of the node outside the cluster.").wide(),
    Column::text("OS-Image", "The operating system of the node.").wide(),
    Column::text("Kernel-Version", "The kernel of the node.").wide(),
    Column::text("Container-Runtime", "The container runtime of the node.").wide(),
];

pub(super) fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let about = &node["status"]["nodeInfo"];
    let mut kernel = text_or(&about["kernelVersion"], "<unknown>").to_owned();
    if !text(&about["architecture"]).is_empty() {
        kernel += &format!(" ({})", text(&about["architecture"]));
    }
    vec![
        name(node),
        status(node).into(),
        roles(node).into(),
        age(node, now),
        text(&about["kubeletVersion"]).into(),
        address(node, "InternalIP").into(),
        address(node, "ExternalIP").into(),
        text_or(&about["osImage"], "<unknown>").into(),
        kernel.into(),
        text_or(&about["containerRuntimeVersion"], "<unknown>").into(),
    ]
}

fn status(node: &Value) -> String {
    let ready = match last_condition(&node["status"]["conditions"], "Ready") {
        Some(condition) if is_true(condition) => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = if truth(&node["spec"]["unschedulable"]) { ",SchedulingDisabled" } else { "" };
    format!("{ready}{closed}")
}

fn roles(node: &Value) -> String {
    let role = |(key, value): (&'_ String, &'_ Value)| {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role,
            None if key == "kubernetes.io/role" => text(value),
            None => "",
        };
        (!role.is_empty()).then(|| role.to_owned())
    };
    let roles: BTreeSet<String> = entries(&node["metadata"]["labels"]).filter_map(role).collect();
    if roles.is_empty() { "<none>".to_owned() } else { Vec::from_iter(roles).join(",") }
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let found = items(&node["status"]["addresses"]).iter().find(|address| text(&address["type"]) == kind);
    found.map_or("<none>", |address| text(&address["address"]))
}
