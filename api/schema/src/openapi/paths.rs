//! The paths of a document: where the objects of a kind are, and what can be done there.

use serde_json::{Map, Value};

use super::components::Dialect;
use super::operations::{self, Action, Subject, Target};
use crate::table::{Kind, Scope};

/// The paths of the kinds.
pub(super) fn paths(kinds: &[&Kind], dialect: Dialect) -> Map<String, Value> {
    let mut paths = Map::new();
    for kind in kinds {
        let is_namespaced = kind.scope == Scope::Namespaced;
        let root = match kind.group() {
            "" => format!("/api/{}", kind.version()),
            group => format!("/apis/{group}/{}", kind.version()),
        };
        let home = if is_namespaced { format!("{root}/namespaces/{{namespace}}") } else { root.clone() };
        let plural = &kind.plural;
        let subject = |target, namespaced| Subject { kind, target, namespaced, dialect };
        let mut put = |path: String, subject: Subject<'_>, actions: &[Action]| {
            paths.insert(path, operations::path_item(&subject, actions));
        };
        // Bindings can be made and never be read.
        if plural == "bindings" {
            put(format!("{home}/{plural}"), subject(Target::All, is_namespaced), &[Action::Create]);
            continue;
        }
        put(format!("{home}/{plural}"), subject(Target::All, is_namespaced), &Action::ON_ALL);
        put(format!("{home}/{plural}/{{name}}"), subject(Target::One, is_namespaced), &Action::ON_ONE);
        if is_namespaced {
            put(format!("{root}/{plural}"), subject(Target::AllNamespaces, false), &[Action::List]);
        }
        let mut part = |name: &'static str, actions: &[Action]| {
            let path = format!("{home}/{plural}/{{name}}/{name}");
            put(path, subject(Target::Part(name), is_namespaced), actions);
        };
        if kind.status {
            part("status", &Action::ON_PART);
        }
        if kind.group().is_empty() && kind.kind == "Pod" {
            part("binding", &[Action::Create]);
            part("eviction", &[Action::Create]);
        }
    }
    paths
}
