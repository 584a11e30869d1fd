//! Which fields a request cannot change, and who a request comes from.

use std::sync::OnceLock;

use schema::Kind;

use super::fieldset::FieldSet;

/// The longest name of a field manager, in bytes.
const NAME_MAX: usize = 128;

/// The fields that a request to this subresource (empty for the object itself) leaves as they were. Nobody comes to own
/// them by such a request.
pub fn reset_fields(kind: &Kind, subresource: &str) -> &'static FieldSet<'static> {
    static SETS: OnceLock<[FieldSet<'static>; 5]> = OnceLock::new();
    let [none, status, spec, all, pod] = SETS.get_or_init(|| {
        [
            FieldSet::default(),
            FieldSet::of(&[&["status"]]),
            FieldSet::of(&[&["spec"]]),
            FieldSet::of(&[&["metadata"], &["spec"]]),
            FieldSet::of(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]),
        ]
    });
    match (subresource, kind.group()) {
        ("status", "") if kind.kind == "Pod" => pod,
        // Older groups let a request through /status change labels and annotations; later ones do not.
        ("status", "" | "apps" | "batch" | "policy") => spec,
        ("status", _) => all,
        _ if kind.status => status,
        _ => none,
    }
}

/// The name of a program that gave none: the part of its user agent before the first slash.
pub fn name_from_user_agent(user_agent: &str) -> String {
    let program = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for character in program.chars().filter(|c| !c.is_control() && (*c == ' ' || !c.is_whitespace())) {
        if name.len() + character.len_utf8() > NAME_MAX {
            break;
        }
        name.push(character);
    }
    name
}

#[cfg(test)]
mod tests {
    use schema::table;

    use super::{name_from_user_agent, reset_fields};

    #[test]
    fn a_program_is_named_by_its_user_agent() {
        assert_eq!(name_from_user_agent("kubectl/v1.37.0 (linux/amd64)"), "kubectl");
        assert_eq!(name_from_user_agent("a\tb\u{7f}c"), "abc");
        assert_eq!(name_from_user_agent(&"ä".repeat(100)).len(), 128);
    }

    #[test]
    fn status_belongs_to_its_subresource() {
        let reset = |version, kind, subresource| {
            reset_fields(table().kind(version, kind).expect("served"), subresource).paths()
        };
        assert_eq!(reset("v1", "Node", ""), [".status"]);
        assert_eq!(reset("v1", "Node", "status"), [".spec"]);
        assert_eq!(reset("v1", "ConfigMap", ""), [""; 0]);
        assert_eq!(reset("resource.k8s.io/v1", "ResourceClaim", "status"), [".metadata", ".spec"]);
    }
}
