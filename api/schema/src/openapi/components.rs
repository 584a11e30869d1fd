//! Structures as components that refer to each other, in the two dialects that Kubernetes serves.
//!
//! A document holds exactly the components that its kinds reach, and each reference leads to one of them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::names::{FIELDS, LIST_META, PATCH, RAW, component_name, scalar_component};
use super::{describe, group_version_kind};
use crate::table::{Field, Kind, ListKind, Patch, Presence, Scalar, Shape, Struct, StructId, Table};

/// Which OpenAPI is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Kept for older clients: no defaults, and references may have siblings.
    V2,
    /// What kubectl asks for first.
    V3,
}

impl Dialect {
    /// Where a component lies.
    pub(super) fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            Self::V3 => json!({ "$ref": format!("#/components/schemas/{name}") }),
        }
    }
}

/// Everything that the kinds and the requests for them are made of.
pub(super) fn schemas(table: &Table, kinds: &[&Kind], dialect: Dialect) -> Map<String, Value> {
    let mut walk = Walk { table, dialect, seen: BTreeSet::new(), waiting: Vec::new(), done: Map::new() };
    for name in ["meta.v1.DeleteOptions", "meta.v1.ListMeta", "meta.v1.Status", "meta.v1.WatchEvent"] {
        walk.ask(table.find(name).expect("the table holds what every request needs"));
    }
    for kind in kinds {
        walk.ask(kind.object);
        if kind.kind != "Binding" {
            walk.list(kind);
        }
    }
    // Evictions are sent to pods, which are served in another group than they are.
    if kinds.iter().any(|kind| kind.api_version == "v1") {
        walk.ask(table.find("policy.v1.Eviction").expect("the table holds evictions"));
    }
    while let Some(id) = walk.waiting.pop() {
        let structure = table.get(id);
        let schema = walk.structure(structure, &meanings(table, kinds, id, &structure.name));
        walk.done.insert(component_name(structure), schema);
    }
    walk.done.insert(
        PATCH.to_owned(),
        json!({ "type": "object", "description": "Changes to an object, in one of several forms." }),
    );
    walk.done
}

/// The groups, versions and kinds that a structure is the form of.
fn meanings(table: &Table, kinds: &[&Kind], id: StructId, name: &str) -> Vec<Value> {
    let core = |name: &str| json!({ "group": "", "version": "v1", "kind": name });
    match name {
        "meta.v1.Status" => vec![core("Status")],
        "meta.v1.DeleteOptions" | "meta.v1.WatchEvent" => {
            let name = name.rsplit('.').next().unwrap_or(name);
            let versions: BTreeSet<(&str, &str)> =
                kinds.iter().map(|kind| (kind.group(), kind.version())).chain([("", "v1")]).collect();
            let entry =
                |(group, version): (&str, &str)| json!({ "group": group, "version": version, "kind": name });
            versions.into_iter().map(entry).collect()
        }
        _ => {
            let found = table.kinds().iter().filter(|kind| kind.object == id);
            found.map(|kind| group_version_kind(kind, &kind.kind)).collect()
        }
    }
}

struct Walk<'t> {
    table: &'t Table,
    dialect: Dialect,
    seen: BTreeSet<StructId>,
    waiting: Vec<StructId>,
    done: Map<String, Value>,
}

impl Walk<'_> {
    fn ask(&mut self, id: StructId) {
        if self.seen.insert(id) {
            self.waiting.push(id);
        }
    }

    fn list(&mut self, kind: &Kind) {
        let item = component_name(self.table.get(kind.object));
        let name = format!("{item}List");
        let schema = json!({
            "description": format!("A list of objects of the kind {}.", kind.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": { "type": "string", "description": API_VERSION },
                "kind": { "type": "string", "description": KIND },
                "metadata": self.wrapped(LIST_META, "The revision of the list, and the token of the next page.", Some(json!({}))),
                "items": {
                    "type": "array",
                    "items": self.dialect.reference(&item),
                    "description": "The objects.",
                },
            },
            "x-kubernetes-group-version-kind": [group_version_kind(kind, &format!("{}List", kind.kind))],
        });
        self.done.insert(name, schema);
    }

    fn structure(&mut self, structure: &Struct, meanings: &[Value]) -> Value {
        let mut properties: Map<String, Value> = Map::new();
        for field in &structure.fields {
            let schema = self.field(field);
            properties.insert(field.name.clone(), schema);
        }
        if !meanings.is_empty() && !structure.name.ends_with(".WatchEvent") {
            properties
                .insert("apiVersion".to_owned(), json!({ "type": "string", "description": API_VERSION }));
            properties.insert("kind".to_owned(), json!({ "type": "string", "description": KIND }));
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        describe(&mut schema, &structure.description);
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), properties.into());
        }
        let required: Vec<&str> =
            structure.fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if structure.atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        if !meanings.is_empty() {
            schema.insert("x-kubernetes-group-version-kind".to_owned(), meanings.into());
        }
        schema.into()
    }

    fn field(&mut self, field: &Field) -> Value {
        let default = default(field).filter(|_| self.dialect == Dialect::V3);
        let mut schema = match self.component(&field.shape, &field.name) {
            Some(name) => self.wrapped(&name, "", default),
            None => {
                let mut schema = self.shape(&field.shape);
                if let (Value::Object(schema), Some(default)) = (&mut schema, default) {
                    schema.insert("default".to_owned(), default);
                }
                schema
            }
        };
        if let Value::Object(schema) = &mut schema {
            describe(schema, &field.description);
            extend(schema, field);
        }
        schema
    }

    /// A reference with more to say than where it leads.
    fn wrapped(&self, name: &str, description: &str, default: Option<Value>) -> Value {
        let reference = self.dialect.reference(name);
        let mut schema = match (self.dialect, reference) {
            (Dialect::V2, Value::Object(reference)) => reference,
            (_, reference) => Map::from_iter([("allOf".to_owned(), json!([reference]))]),
        };
        describe(&mut schema, description);
        if let Some(default) = default.filter(|_| self.dialect == Dialect::V3) {
            schema.insert("default".to_owned(), default);
        }
        schema.into()
    }

    /// The component that a shape is, if it has a name.
    fn component(&mut self, shape: &Shape, field: &str) -> Option<String> {
        match shape {
            Shape::Struct(id) => {
                self.ask(*id);
                Some(component_name(self.table.get(*id)))
            }
            Shape::Scalar(scalar) => {
                let name = scalar_component(*scalar)?;
                self.done.insert(name.to_owned(), named_scalar(*scalar, self.dialect));
                Some(name.to_owned())
            }
            Shape::Any => {
                let (name, text) = match field {
                    "fieldsV1" => (FIELDS, "A tree of fields: names with f:, keys of list elements with k:."),
                    _ => (RAW, "Any object, kept as it is."),
                };
                self.done.insert(name.to_owned(), json!({ "type": "object", "description": text }));
                Some(name.to_owned())
            }
            Shape::List(_) | Shape::Map(_) => None,
        }
    }

    fn shape(&mut self, shape: &Shape) -> Value {
        if let Some(name) = self.component(shape, "") {
            return self.dialect.reference(&name);
        }
        match shape {
            Shape::List(element) => json!({ "type": "array", "items": self.shape(element) }),
            Shape::Map(element) => json!({ "type": "object", "additionalProperties": self.shape(element) }),
            Shape::Scalar(scalar) => plain(*scalar),
            Shape::Struct(_) | Shape::Any => unreachable!("structures have components"),
        }
    }
}

const API_VERSION: &str = "The version in which the object is written.";
const KIND: &str = "The kind of the object.";

/// A single value that needs no component.
pub(super) fn plain(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Bool => json!({ "type": "boolean" }),
        Scalar::Int32 => json!({ "type": "integer", "format": "int32" }),
        Scalar::Int64 => json!({ "type": "integer", "format": "int64" }),
        Scalar::Double => json!({ "type": "number", "format": "double" }),
        Scalar::Bytes => json!({ "type": "string", "format": "byte" }),
        Scalar::Time | Scalar::MicroTime => json!({ "type": "string", "format": "date-time" }),
        Scalar::String | Scalar::Quantity | Scalar::IntOrString => json!({ "type": "string" }),
    }
}

fn named_scalar(scalar: Scalar, dialect: Dialect) -> Value {
    let (mut schema, text) = match (scalar, dialect) {
        (Scalar::Quantity, Dialect::V3) => (
            json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
            "An amount such as 500m or 80Gi, with a decimal or binary suffix.",
        ),
        (Scalar::Quantity, Dialect::V2) => {
            (json!({ "type": "string" }), "An amount such as 500m or 80Gi, with a decimal or binary suffix.")
        }
        (Scalar::IntOrString, Dialect::V3) => (
            json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] }),
            "A number, or a text such as 50%.",
        ),
        (Scalar::IntOrString, Dialect::V2) => {
            (json!({ "format": "int-or-string", "type": "string" }), "A number, or a text such as 50%.")
        }
        (Scalar::MicroTime, _) => (plain(scalar), "A time with six decimals."),
        (other, _) => (plain(other), "A time to the second."),
    };
    schema["description"] = text.into();
    schema
}

/// The default as Kubernetes documents it: a value that is always written has its zero.
fn default(field: &Field) -> Option<Value> {
    if field.default.is_some() {
        return field.default.clone();
    }
    match (&field.shape, field.presence) {
        (Shape::Struct(_), Presence::Always) => Some(json!({})),
        (Shape::Scalar(scalar), Presence::Always) => match scalar {
            Scalar::String => Some("".into()),
            Scalar::Bool => Some(false.into()),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double => Some(0.into()),
            _ => None,
        },
        _ => None,
    }
}

/// What Kubernetes says of fields beyond what OpenAPI knows.
fn extend(schema: &mut Map<String, Value>, field: &Field) {
    allow(schema, &field.allowed);
    let mut say = |name: &str, value: Value| schema.insert(name.to_owned(), value);
    if matches!(field.shape, Shape::List(_)) {
        list_type(&field.list, &mut say);
    }
    if field.atomic {
        say("x-kubernetes-map-type", "atomic".into());
    }
    let strategy = match &field.patch {
        Patch::Plain => return,
        Patch::Merge { key, retain_keys } => {
            if let Some(key) = key {
                say("x-kubernetes-patch-merge-key", key.clone().into());
            }
            if *retain_keys { "merge,retainKeys" } else { "merge" }
        }
        Patch::RetainKeys => "retainKeys",
        Patch::Replace => "replace",
    };
    say("x-kubernetes-patch-strategy", strategy.into());
}

/// The documented values, which for a list are those of its elements.
pub(super) fn allow(schema: &mut Map<String, Value>, allowed: &[String]) {
    if allowed.is_empty() {
        return;
    }
    let values = match schema.get_mut("items") {
        Some(Value::Object(element)) => element,
        _ => schema,
    };
    values.insert("enum".to_owned(), allowed.into());
}

/// How server-side apply tells the elements of a list apart.
pub(super) fn list_type(list: &ListKind, say: &mut impl FnMut(&str, Value) -> Option<Value>) {
    match list {
        ListKind::Atomic => say("x-kubernetes-list-type", "atomic".into()),
        ListKind::Set => say("x-kubernetes-list-type", "set".into()),
        ListKind::Keys(keys) => {
            say("x-kubernetes-list-map-keys", keys.clone().into());
            say("x-kubernetes-list-type", "map".into())
        }
    };
}
