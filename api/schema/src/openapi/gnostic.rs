//! The OpenAPI v2 document in protobuf, in the messages of gnostic, which is the form that kubectl asks for.
//!
//! The messages follow the JSON document field by field, so they are a table, and writing is one walk over it. What the
//! table does not know is noted, and the tests see to it that nothing of our document is.

use serde_json::{Map, Value};

use crate::protobuf::Message;

/// Writes a document; also tells the fields that have no place in the messages.
pub(super) fn write(document: &Value) -> (Vec<u8>, Vec<String>) {
    let mut walk = Walk::default();
    let mut out = Message::default();
    walk.message(&DOCUMENT, document, &mut out);
    (out.into_bytes(), walk.unknown)
}

/// A message: the JSON name, number and form of each field, and the number of fields whose name begins with `x-`.
struct Shape {
    fields: &'static [(&'static str, u64, Form)],
    extensions: Option<u64>,
}

/// How a JSON value is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Texts,
    Bool,
    Integer,
    Double,
    /// Any value, as YAML, of which JSON is a part.
    Any,
    Anys,
    One(&'static Shape),
    Each(&'static Shape),
    /// A map of names to messages, in a message of its own.
    Named(&'static Shape),
    /// A message with a single field 1, which holds the value in this form.
    Wrapped(&'static Form),
    /// A text or a list of texts, in a message of their own.
    Type,
    /// A structure, in a message that could hold several.
    Items,
    /// A structure or a truth value.
    Additional,
    Paths,
    Parameters,
    Responses,
    Security,
    SecurityDefinitions,
}

use Form::{
    Additional, Any, Anys, Bool, Double, Each, Integer, Items, Named, One, Parameters, Paths, Responses,
    Security, SecurityDefinitions, Text, Texts, Type, Wrapped,
};

static DOCUMENT: Shape = Shape {
    fields: &[
        ("swagger", 1, Text),
        ("info", 2, One(&INFO)),
        ("host", 3, Text),
        ("basePath", 4, Text),
        ("schemes", 5, Texts),
        ("consumes", 6, Texts),
        ("produces", 7, Texts),
        ("paths", 8, Paths),
        ("definitions", 9, Named(&SCHEMA)),
        ("security", 12, Security),
        ("securityDefinitions", 13, SecurityDefinitions),
    ],
    extensions: Some(16),
};

static INFO: Shape = Shape {
    fields: &[("title", 1, Text), ("version", 2, Text), ("description", 3, Text)],
    extensions: Some(7),
};

static PATH_ITEM: Shape = Shape {
    fields: &[
        ("$ref", 1, Text),
        ("get", 2, One(&OPERATION)),
        ("put", 3, One(&OPERATION)),
        ("post", 4, One(&OPERATION)),
        ("delete", 5, One(&OPERATION)),
        ("options", 6, One(&OPERATION)),
        ("head", 7, One(&OPERATION)),
        ("patch", 8, One(&OPERATION)),
        ("parameters", 9, Parameters),
    ],
    extensions: Some(10),
};

static OPERATION: Shape = Shape {
    fields: &[
        ("tags", 1, Texts),
        ("summary", 2, Text),
        ("description", 3, Text),
        ("operationId", 5, Text),
        ("produces", 6, Texts),
        ("consumes", 7, Texts),
        ("parameters", 8, Parameters),
        ("responses", 9, Responses),
        ("schemes", 10, Texts),
        ("deprecated", 11, Bool),
        ("security", 12, Security),
    ],
    extensions: Some(13),
};

static BODY_PARAMETER: Shape = Shape {
    fields: &[
        ("description", 1, Text),
        ("name", 2, Text),
        ("in", 3, Text),
        ("required", 4, Bool),
        ("schema", 5, One(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY_PARAMETER: Shape = Shape {
    fields: &[
        ("required", 1, Bool),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("allowEmptyValue", 5, Bool),
        ("type", 6, Text),
        ("format", 7, Text),
        ("default", 10, Any),
        ("uniqueItems", 20, Bool),
        ("enum", 21, Anys),
    ],
    extensions: Some(23),
};

/// Of parameters in the path and in headers.
static PLAIN_PARAMETER: Shape = Shape {
    fields: &[
        ("required", 1, Bool),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("type", 5, Text),
        ("format", 6, Text),
        ("default", 9, Any),
        ("uniqueItems", 19, Bool),
        ("enum", 20, Anys),
    ],
    extensions: Some(22),
};

static RESPONSE: Shape =
    Shape { fields: &[("description", 1, Text), ("schema", 2, Wrapped(&One(&SCHEMA)))], extensions: Some(5) };

static REFERENCE: Shape = Shape { fields: &[("$ref", 1, Text), ("description", 2, Text)], extensions: None };

static API_KEY: Shape = Shape {
    fields: &[("type", 1, Text), ("name", 2, Text), ("in", 3, Text), ("description", 4, Text)],
    extensions: Some(5),
};

static SCHEMA: Shape = Shape {
    fields: &[
        ("$ref", 1, Text),
        ("format", 2, Text),
        ("title", 3, Text),
        ("description", 4, Text),
        ("default", 5, Any),
        ("multipleOf", 6, Double),
        ("maximum", 7, Double),
        ("exclusiveMaximum", 8, Bool),
        ("minimum", 9, Double),
        ("exclusiveMinimum", 10, Bool),
        ("maxLength", 11, Integer),
        ("minLength", 12, Integer),
        ("pattern", 13, Text),
        ("maxItems", 14, Integer),
        ("minItems", 15, Integer),
        ("uniqueItems", 16, Bool),
        ("maxProperties", 17, Integer),
        ("minProperties", 18, Integer),
        ("required", 19, Texts),
        ("enum", 20, Anys),
        ("additionalProperties", 21, Additional),
        ("type", 22, Type),
        ("items", 23, Items),
        ("allOf", 24, Each(&SCHEMA)),
        ("properties", 25, Named(&SCHEMA)),
        ("discriminator", 26, Text),
        ("readOnly", 27, Bool),
        ("example", 30, Any),
    ],
    extensions: Some(31),
};

#[derive(Default)]
struct Walk {
    unknown: Vec<String>,
}

impl Walk {
    /// Writes the fields in the order of their numbers, extensions last.
    fn message(&mut self, shape: &'static Shape, value: &Value, out: &mut Message) {
        let empty = Map::new();
        let entries = value.as_object().unwrap_or(&empty);
        for (name, number, form) in shape.fields {
            if let Some(value) = entries.get(*name) {
                self.field(*number, *form, value, out);
            }
        }
        for (name, value) in entries {
            match shape.extensions.filter(|_| name.starts_with("x-")) {
                Some(number) => out.message(number, |out| {
                    out.bytes(1, name.as_bytes());
                    out.message(2, |out| any(value, out));
                }),
                None if shape.fields.iter().any(|(known, _, _)| known == name) => {}
                None => self.unknown.push(name.clone()),
            }
        }
    }

    fn field(&mut self, number: u64, form: Form, value: &Value, out: &mut Message) {
        match form {
            Text => out.bytes(number, value.as_str().unwrap_or_default().as_bytes()),
            Texts => texts(number, value, out),
            Bool => out.number(number, u64::from(value.as_bool().unwrap_or_default())),
            Integer => out.number(number, value.as_i64().unwrap_or_default().cast_unsigned()),
            Double => out.double(number, value.as_f64().unwrap_or_default()),
            Any => out.message(number, |out| any(value, out)),
            Anys => items(value).iter().for_each(|item| out.message(number, |out| any(item, out))),
            One(shape) => out.message(number, |out| self.message(shape, value, out)),
            Each(shape) => {
                items(value)
                    .iter()
                    .for_each(|item| out.message(number, |out| self.message(shape, item, out)));
            }
            Named(shape) => out.message(number, |out| {
                self.named(1, value, out, &mut |walk, value, out| {
                    walk.message(shape, value, out);
                })
            }),
            Wrapped(form) => out.message(number, |out| self.field(1, *form, value, out)),
            Type => out.message(number, |out| match value {
                Value::Array(_) => texts(1, value, out),
                _ => out.bytes(1, value.as_str().unwrap_or_default().as_bytes()),
            }),
            Items => out.message(number, |out| match value {
                Value::Array(list) => list.iter().for_each(|item| self.field(1, One(&SCHEMA), item, out)),
                _ => self.field(1, One(&SCHEMA), value, out),
            }),
            Additional => out.message(number, |out| match value {
                Value::Bool(allowed) => out.number(2, u64::from(*allowed)),
                _ => self.field(1, One(&SCHEMA), value, out),
            }),
            Paths => out.message(number, |out| {
                self.named(2, value, out, &mut |walk, value, out| {
                    walk.message(&PATH_ITEM, value, out);
                })
            }),
            Parameters => {
                items(value).iter().for_each(|item| out.message(number, |out| self.parameter(item, out)));
            }
            Responses => out.message(number, |out| {
                self.named(1, value, out, &mut |walk, value, out| {
                    walk.field(1, One(&RESPONSE), value, out);
                })
            }),
            Security => items(value).iter().for_each(|item| {
                out.message(number, |out| {
                    self.named(1, item, out, &mut |_, scopes, out| texts(1, scopes, out));
                })
            }),
            // The one kind of security there is: a key in a header.
            SecurityDefinitions => out.message(number, |out| {
                self.named(1, value, out, &mut |walk, value, out| {
                    walk.field(2, One(&API_KEY), value, out);
                })
            }),
        }
    }

    /// Writes each entry of a map as a message of its name and its value.
    fn named(
        &mut self,
        number: u64,
        value: &Value,
        out: &mut Message,
        write: &mut dyn FnMut(&mut Self, &Value, &mut Message),
    ) {
        for (name, value) in value.as_object().into_iter().flatten() {
            out.message(number, |out| {
                out.bytes(1, name.as_bytes());
                out.message(2, |out| write(self, value, out));
            });
        }
    }

    /// A reference, or a parameter in the body or elsewhere, each in its own message.
    fn parameter(&mut self, value: &Value, out: &mut Message) {
        if value.get("$ref").is_some() {
            return self.field(2, One(&REFERENCE), value, out);
        }
        let (number, shape) = match value["in"].as_str() {
            Some("body") => {
                return out.message(1, |out| self.field(1, One(&BODY_PARAMETER), value, out));
            }
            Some("header") => (1, &PLAIN_PARAMETER),
            Some("query") => (3, &QUERY_PARAMETER),
            _ => (4, &PLAIN_PARAMETER),
        };
        out.message(1, |out| out.message(2, |out| self.field(number, One(shape), value, out)));
    }
}

fn any(value: &Value, out: &mut Message) {
    out.bytes(2, format!("{value}\n").as_bytes());
}

fn texts(number: u64, value: &Value, out: &mut Message) {
    for text in items(value).iter().filter_map(Value::as_str) {
        out.bytes(number, text.as_bytes());
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
