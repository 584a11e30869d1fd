//! What can be done with a resource and its subresources.

use schema::Kind;

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
    match (kind.group(), kind.kind.as_str()) {
        ("", "Binding") => CREATE,
        // Namespaces are deleted one by one, because each of them takes everything in it along.
        ("", "Namespace") => &["create", "delete", "get", "list", "patch", "update", "watch"],
        _ => ALL,
    }
}

/// The subresources of a kind, in order of name.
pub(crate) fn subresources(kind: &'static Kind) -> Vec<Subresource> {
    let own = |name, of: &'static str, verbs| Subresource { name, group_version: ("", ""), kind: of, verbs };
    let mut found = match (kind.group(), kind.kind.as_str()) {
        ("", "Pod") => vec![
            own("binding", "Binding", CREATE),
            Subresource { group_version: ("policy", "v1"), ..own("eviction", "Eviction", CREATE) },
        ],
        ("", "Namespace") => vec![own("finalize", "Namespace", &["update"])],
        _ => Vec::new(),
    };
    if kind.status {
        found.push(own("status", &kind.kind, STATUS));
    }
    found
}

/// The name of one object of a kind, such as `pod`.
pub(crate) fn singular(kind: &Kind) -> String {
    kind.kind.to_lowercase()
}
