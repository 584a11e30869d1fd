//! Our own kinds as CustomResourceDefinitions, for servers that are not ours.

use serde_json::{Value, json};

use super::structural;
use crate::table::{Kind, Scope, table};

/// The group of our own kinds.
const GROUP: &str = "supercargo.dev";

/// A column of `kubectl get`: title, path and description.
type Column = (&'static str, &'static str, &'static str);

/// What `kubectl get` shows beside the name, by kind.
const COLUMNS: &[(&str, &[Column])] = &[
    (
        "DeviceAttachment",
        &[
            ("Model", ".spec.model", "The model of the device."),
            ("Node", ".spec.node", "The node that it is attached to."),
            ("Claim", ".spec.claim.name", "The claim that it is attached for."),
            ("Phase", ".status.phase", "State of the attachment."),
            (
                "Origin",
                ".spec.origin",
                "Whether it was attached by the fabric's controller, or found attached.",
            ),
        ],
    ),
    (
        "NodeTopology",
        &[
            ("Coarsest", ".spec.levels[0].name", "The coarsest level."),
            ("Coarsest label", ".spec.levels[0].nodeLabel", "The node label of the coarsest level."),
        ],
    ),
    ("PodSchedulingContext", &[("Node", ".spec.selectedNode", "The node that was chosen.")]),
    (
        "Workload",
        &[
            ("First group", ".spec.podGroups[0].name", "The first pod group."),
            ("Bound", ".status.podGroups[0].bound", "How many pods of the first group are bound to a node."),
            (
                "Placed",
                ".status.conditions[?(@.type==\"Placed\")].status",
                "Whether every replica of every group has the pods that it needs on nodes.",
            ),
        ],
    ),
];

/// Our own kinds as CustomResourceDefinitions, in the table's order.
pub fn crds() -> Vec<Value> {
    table().kinds().iter().filter(|kind| kind.group() == GROUP).map(definition).collect()
}

fn definition(kind: &Kind) -> Value {
    let mut version = json!({
        "name": kind.version(),
        "served": true,
        "storage": true,
        "additionalPrinterColumns": columns(kind),
        "schema": { "openAPIV3Schema": structural(table(), kind.object) },
    });
    if kind.status {
        version["subresources"] = json!({ "status": {} });
    }
    let mut names = json!({
        "kind": kind.kind,
        "listKind": format!("{}List", kind.kind),
        "plural": kind.plural,
        "singular": kind.kind.to_lowercase(),
    });
    if !kind.short.is_empty() {
        names["shortNames"] = kind.short.clone().into();
    }
    if !kind.categories.is_empty() {
        names["categories"] = kind.categories.clone().into();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", kind.plural, kind.group()) },
        "spec": {
            "group": kind.group(),
            "names": names,
            "scope": match kind.scope {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            "versions": [version],
        },
    })
}

fn columns(kind: &Kind) -> Value {
    let own = COLUMNS.iter().find(|(name, _)| *name == kind.kind).map_or(&[][..], |(_, columns)| columns);
    let mut columns: Vec<Value> = own
        .iter()
        .map(|(title, path, description)| {
            json!({ "name": title, "type": "string", "jsonPath": path, "description": description })
        })
        .collect();
    columns.push(json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }));
    columns.into()
}
