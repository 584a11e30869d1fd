//! What can be done with a resource and its subresources.

use schema::{Kind, PartVerb};

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];
const STATUS: &[&str] = &["get", "patch", "update"];

/// A part of an object with a path of its own.
pub(crate) struct Subresource {
    /// The last part of the path, such as `status`.
    pub(crate) name: &'static str,
    /// The group and version of the kind that is sent and answered, empty for those of the resource itself.
    pub(crate) group_version: (&'static str, &'static str),
    pub(crate) kind: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

/// What can be done with the objects of a kind.
pub(crate) fn verbs(kind: &Kind) -> &'static [&'static str] {
    match kind {
        Kind { sent_only: true, .. } => CREATE,
        Kind { deleted_singly: true, .. } => &["create", "delete", "get", "list", "patch", "update", "watch"],
        _ => ALL,
    }
}

/// The subresources of a kind, in order of name.
pub(crate) fn subresources(kind: &'static Kind) -> Vec<Subresource> {
    let parts = kind.parts.iter().map(|part| Subresource {
        name: &part.name,
        group_version: part.api_version.as_deref().and_then(|of| of.split_once('/')).unwrap_or_default(),
        kind: &part.kind,
        verbs: match part.verb {
            PartVerb::Create => CREATE,
            PartVerb::Update => &["update"],
        },
    });
    let status = kind.status.then_some(Subresource {
        name: "status",
        group_version: ("", ""),
        kind: &kind.kind,
        verbs: STATUS,
    });
    parts.chain(status).collect()
}

/// The name of one object of a kind, such as `pod`.
pub(crate) fn singular(kind: &Kind) -> String {
    kind.kind.to_lowercase()
}
