//! What can be done at a path, in the form that kubectl looks for: it finds a kind's schema, its patch types and
//! whether the server validates fields by these operations.

use serde_json::{Map, Value, json};

use super::components::Dialect;
use super::group_version_kind;
use super::names::{DELETE_OPTIONS, PATCH, STATUS};
use crate::table::{Kind, table};

/// What a path stands for.
pub(super) struct Subject<'t> {
    pub kind: &'t Kind,
    pub target: Target<'t>,
    pub namespaced: bool,
    pub dialect: Dialect,
}

/// Which objects of the kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// All of a namespace, or of the cluster.
    All,
    /// All of all namespaces.
    AllNamespaces,
    /// One by its name.
    One,
    /// A subresource of one.
    Part(&'a str),
}

/// What can be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Get,
    List,
    Create,
    Replace,
    Patch,
    Delete,
    DeleteAll,
}

impl Action {
    pub(super) const ON_ALL: [Self; 3] = [Self::List, Self::Create, Self::DeleteAll];
    pub(super) const ON_ONE: [Self; 4] = [Self::Get, Self::Replace, Self::Patch, Self::Delete];
    pub(super) const ON_PART: [Self; 3] = [Self::Get, Self::Replace, Self::Patch];

    fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List => "get",
            Self::Create => "post",
            Self::Replace => "put",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteAll => "delete",
        }
    }

    /// Kubernetes' name of the action, which is not always that of the method.
    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::DeleteAll => "deletecollection",
            other => other.method(),
        }
    }

    /// The beginning of the operation's id.
    fn verb(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::List => "list",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteAll => "delete",
        }
    }

    fn query(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Get => &[],
            Self::List => LIST,
            Self::Create | Self::Replace => &WRITE[..3],
            Self::Patch => WRITE,
            Self::Delete | Self::DeleteAll => DELETE,
        }
    }
}

const WRITE: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];

const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const ANSWER_TYPES: [&str; 2] = ["application/json", "application/yaml"];

/// All that can be done at one path.
pub(super) fn path_item(subject: &Subject<'_>, actions: &[Action]) -> Value {
    let mut item = Map::new();
    for action in actions {
        item.insert(action.method().to_owned(), subject.operation(*action));
    }
    let mut shared = Vec::new();
    if matches!(subject.target, Target::One | Target::Part(_)) {
        shared.push(subject.parameter("path", "name", "string"));
    }
    if subject.namespaced {
        shared.push(subject.parameter("path", "namespace", "string"));
    }
    shared.push(subject.parameter("query", "pretty", "string"));
    item.insert("parameters".to_owned(), shared.into());
    item.into()
}

impl Subject<'_> {
    fn operation(&self, action: Action) -> Value {
        let mut operation = Map::new();
        let mut say = |name: &str, value: Value| operation.insert(name.to_owned(), value);
        say("operationId", self.id(action).into());
        say("tags", json!([self.tag()]));
        say("x-kubernetes-action", action.name().into());
        say("x-kubernetes-group-version-kind", self.meaning());
        let mut parameters: Vec<Value> =
            action.query().iter().map(|(name, form)| self.parameter("query", name, form)).collect();
        let body = self.body(action);
        match self.dialect {
            Dialect::V2 => {
                if let Some(body) = &body {
                    let schema = self.dialect.reference(body);
                    let required = !matches!(action, Action::Delete | Action::DeleteAll);
                    parameters.push(
                        json!({ "in": "body", "name": "body", "required": required, "schema": schema }),
                    );
                }
                let patch = action == Action::Patch;
                say("consumes", if patch { json!(PATCH_TYPES) } else { json!(["*/*"]) });
                say("produces", json!(ANSWER_TYPES));
            }
            Dialect::V3 => {
                if let Some(body) = &body {
                    let types: &[&str] = if action == Action::Patch { &PATCH_TYPES } else { &["*/*"] };
                    say("requestBody", json!({ "content": self.content(types, body) }));
                }
            }
        }
        if !parameters.is_empty() {
            say("parameters", parameters.into());
        }
        say("responses", self.responses(action));
        operation.into()
    }

    /// The kind that is sent: bindings and evictions are not what they are sent to.
    fn sent(&self) -> &Kind {
        let Target::Part(name) = self.target else { return self.kind };
        let Some(part) = self.kind.parts.iter().find(|part| part.name == name) else { return self.kind };
        let api_version = part.api_version.as_ref().unwrap_or(&self.kind.api_version);
        table().kind(api_version, &part.kind).unwrap_or(self.kind)
    }

    fn meaning(&self) -> Value {
        let sent = self.sent();
        group_version_kind(sent, &sent.kind)
    }

    fn object(&self) -> String {
        super::component_name(table().get(self.sent().object))
    }

    fn body(&self, action: Action) -> Option<String> {
        match action {
            Action::Get | Action::List => None,
            Action::Create | Action::Replace => Some(self.object()),
            Action::Patch => Some(PATCH.to_owned()),
            Action::Delete | Action::DeleteAll => Some(DELETE_OPTIONS.to_owned()),
        }
    }

    fn responses(&self, action: Action) -> Value {
        let (codes, answer): (&[&str], String) = match action {
            Action::Get => (&["200"], self.object()),
            Action::List => (&["200"], format!("{}List", self.object())),
            Action::Create => (&["200", "201", "202"], self.object()),
            Action::Replace | Action::Patch => (&["200", "201"], self.object()),
            Action::Delete => (&["200", "202"], STATUS.to_owned()),
            Action::DeleteAll => (&["200"], STATUS.to_owned()),
        };
        let mut responses = Map::new();
        for code in codes {
            let response = match self.dialect {
                Dialect::V2 => json!({ "description": "done", "schema": self.dialect.reference(&answer) }),
                Dialect::V3 => {
                    json!({ "description": "done", "content": self.content(&ANSWER_TYPES, &answer) })
                }
            };
            responses.insert((*code).to_owned(), response);
        }
        responses.insert("401".to_owned(), json!({ "description": "authentication is required" }));
        responses.into()
    }

    fn content(&self, types: &[&str], component: &str) -> Value {
        let one = |name: &&str| ((*name).to_owned(), json!({ "schema": self.dialect.reference(component) }));
        Value::Object(types.iter().map(one).collect())
    }

    fn parameter(&self, place: &str, name: &str, form: &str) -> Value {
        let mut parameter = json!({ "in": place, "name": name });
        if place == "path" {
            parameter["required"] = true.into();
        }
        match self.dialect {
            Dialect::V2 => parameter["type"] = form.into(),
            Dialect::V3 => parameter["schema"] = json!({ "type": form }),
        }
        parameter
    }

    fn tag(&self) -> String {
        let group = self.kind.group().split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
        format!("{group}_{}", self.kind.version())
    }

    /// The id by which generated clients call the operation.
    fn id(&self, action: Action) -> String {
        let tag: String = self.tag().split('_').map(capital).collect();
        let many = if action == Action::DeleteAll { "Collection" } else { "" };
        let space = if self.namespaced { "Namespaced" } else { "" };
        let end = match self.target {
            Target::AllNamespaces => "ForAllNamespaces".to_owned(),
            Target::Part(part) => capital(part),
            Target::All | Target::One => String::new(),
        };
        format!("{}{tag}{many}{space}{}{end}", action.verb(), self.kind.kind)
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
