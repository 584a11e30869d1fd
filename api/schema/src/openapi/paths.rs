//! The paths of a document: where the objects of a kind are, and what can be done there.

use serde_json::{Map, Value};

use super::components::Dialect;
use super::operations::{self, Action, Subject, Target};
use crate::table::{Kind, PartVerb, Scope};

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
        if kind.sent_only {
            put(format!("{home}/{plural}"), subject(Target::All, is_namespaced), &[Action::Create]);
            continue;
        }
        put(format!("{home}/{plural}"), subject(Target::All, is_namespaced), &Action::ON_ALL);
        put(format!("{home}/{plural}/{{name}}"), subject(Target::One, is_namespaced), &Action::ON_ONE);
        if is_namespaced {
            put(format!("{root}/{plural}"), subject(Target::AllNamespaces, false), &[Action::List]);
        }
        let status = kind.status.then_some(("status", Action::ON_PART.as_slice()));
        let sent = kind.parts.iter().filter(|part| part.verb == PartVerb::Create);
        let sent = sent.map(|part| (part.name.as_str(), [Action::Create].as_slice()));
        for (name, actions) in status.into_iter().chain(sent) {
            let path = format!("{home}/{plural}/{{name}}/{name}");
            put(path, subject(Target::Part(name), is_namespaced), actions);
        }
    }
    paths
}
