//! A structure as one schema without references, as CRDs need it.
//!
//! Whatever such a schema does not name, a server drops, so it must name every field; and it is all that a server knows
//! of the kind, so it also carries the limits that admission keeps for our own server.

use serde_json::{Map, Value, json};

use super::components::{allow, list_type, plain};
use super::describe;
use crate::table::{Field, Limits, Rule, Scalar, Shape, Struct, StructId, Table};

/// The pattern that servers know amounts by.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// The structure `id` as a structural schema. For a kind, `apiVersion`, `kind` and `metadata` are left to the server.
pub fn structural(table: &Table, id: StructId) -> Value {
    Walk { table, above: Vec::new() }.structure(id)
}

struct Walk<'t> {
    table: &'t Table,
    above: Vec<StructId>,
}

impl Walk<'_> {
    fn structure(&mut self, id: StructId) -> Value {
        // A structure that contains itself has no schema without references, so its inside is not looked at.
        if self.above.contains(&id) {
            return json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        }
        let structure = self.table.get(id);
        let is_root = self.above.is_empty();
        self.above.push(id);
        let mut properties = Map::new();
        for field in &structure.fields {
            let is_metadata = is_root && field.name == "metadata";
            let schema = if is_metadata { json!({ "type": "object" }) } else { self.field(field) };
            properties.insert(field.name.clone(), schema);
        }
        if is_root {
            properties.insert("apiVersion".to_owned(), json!({ "type": "string" }));
            properties.insert("kind".to_owned(), json!({ "type": "string" }));
        }
        self.above.pop();
        object(structure, properties)
    }

    fn field(&mut self, field: &Field) -> Value {
        let Value::Object(mut schema) = self.shape(&field.shape) else { unreachable!("schemas are objects") };
        // A structure keeps its own description only where its field has none.
        describe(&mut schema, &field.description);
        if let Some(default) = &field.default {
            schema.insert("default".to_owned(), default.clone());
        }
        allow(&mut schema, &field.allowed);
        if field.atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        if matches!(field.shape, Shape::List(_)) {
            list_type(&field.list, &mut |name, value| schema.insert(name.to_owned(), value));
        }
        limit(&mut schema, &field.limits, &field.shape);
        schema.into()
    }

    fn shape(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Struct(id) => self.structure(*id),
            Shape::List(element) => json!({ "type": "array", "items": self.shape(element) }),
            Shape::Map(element) => json!({ "type": "object", "additionalProperties": self.shape(element) }),
            Shape::Any => json!({ "x-kubernetes-preserve-unknown-fields": true }),
            Shape::Scalar(Scalar::Quantity) => json!({
                "anyOf": [{ "type": "integer" }, { "type": "string" }],
                "pattern": QUANTITY,
                "x-kubernetes-int-or-string": true,
            }),
            Shape::Scalar(Scalar::IntOrString) => json!({
                "anyOf": [{ "type": "integer" }, { "type": "string" }],
                "x-kubernetes-int-or-string": true,
            }),
            Shape::Scalar(scalar) => plain(*scalar),
        }
    }
}

fn object(structure: &Struct, properties: Map<String, Value>) -> Value {
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
    if !structure.rules.is_empty() {
        let rules: Vec<Value> = structure
            .rules
            .iter()
            .map(|Rule { expression, message }| json!({ "rule": expression, "message": message }))
            .collect();
        schema.insert("x-kubernetes-validations".to_owned(), rules.into());
    }
    schema.into()
}

/// Limits of texts belong to the elements of a list, limits of numbers of items to the list.
fn limit(schema: &mut Map<String, Value>, limits: &Limits, shape: &Shape) {
    let items = match shape {
        Shape::Map(_) => [("minProperties", limits.items_min), ("maxProperties", limits.items_max)],
        _ => [("minItems", limits.items_min), ("maxItems", limits.items_max)],
    };
    for (name, value) in items {
        if let Some(value) = value {
            schema.insert(name.to_owned(), value.into());
        }
    }
    let texts = match schema.get_mut("items") {
        Some(Value::Object(element)) => element,
        _ => schema,
    };
    for (name, value) in [("minLength", limits.length_min), ("maxLength", limits.length_max)] {
        if let Some(value) = value {
            texts.insert(name.to_owned(), value.into());
        }
    }
    if let Some(pattern) = &limits.pattern {
        texts.insert("pattern".to_owned(), pattern.clone().into());
    }
    if let Some(least) = limits.value_min {
        texts.insert("minimum".to_owned(), least.into());
    }
    if let Some(most) = limits.value_max {
        texts.insert("maximum".to_owned(), most.into());
    }
}
