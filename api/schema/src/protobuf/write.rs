//! Writes objects in protobuf.
//!
//! What the JSON form has is written and nothing else, fields in the order of their numbers. So what `parse_protobuf`
//! reads from it is the same object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::timestamp::Timestamp;
use serde_json::{Map, Value};

use super::PREFIX;
use crate::table::{Field, Scalar, Shape, StructId, Table};

/// Writes an object, a list of objects or a `Status`, with its envelope; `None` if its kind has no protobuf form.
pub fn write_protobuf(table: &Table, value: &Value) -> Option<Vec<u8>> {
    let (api_version, kind) = (value.get("apiVersion")?.as_str()?, value.get("kind")?.as_str()?);
    let mut message = Message::default();
    body(table, api_version, kind, value, &mut message)?;
    let mut names = Message::default();
    names.bytes(1, api_version.as_bytes());
    names.bytes(2, kind.as_bytes());
    let mut envelope = Message(Vec::with_capacity(message.0.len() + 64));
    envelope.0.extend_from_slice(PREFIX);
    envelope.bytes(1, &names.0);
    envelope.bytes(2, &message.0);
    // The message is neither compressed nor of another form.
    envelope.bytes(3, b"");
    envelope.bytes(4, b"");
    Some(envelope.0)
}

/// An event of a watch, as a frame of its stream: what happened, and the object with its envelope.
pub fn watch_frame(change: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Message::default();
    raw.bytes(1, object);
    let mut event = Message::default();
    event.bytes(1, change.as_bytes());
    event.bytes(2, &raw.0);
    let length = u32::try_from(event.0.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event.0].concat()
}

fn body(table: &Table, api_version: &str, kind: &str, value: &Value, out: &mut Message) -> Option<()> {
    let (object_meta, list_meta) = (table.find("meta.v1.ObjectMeta")?, table.find("meta.v1.ListMeta")?);
    let partial = |of: &Value, out: &mut Message| {
        out.message(1, |out| structure(table, object_meta, &of["metadata"], out));
    };
    let list = |each: &dyn Fn(&Value, &mut Message), out: &mut Message| {
        out.message(1, |out| structure(table, list_meta, &value["metadata"], out));
        for item in value["items"].as_array().into_iter().flatten() {
            out.message(2, |out| each(item, out));
        }
    };
    if let Some(known) = table.kind(api_version, kind) {
        return known.protobuf.then(|| structure(table, known.object, value, out));
    }
    match (api_version, kind) {
        ("v1", "Status") => structure(table, table.find("meta.v1.Status")?, value, out),
        ("meta.k8s.io/v1", "PartialObjectMetadata") => partial(value, out),
        ("meta.k8s.io/v1", "PartialObjectMetadataList") => list(&partial, out),
        _ => {
            let known = table.kind(api_version, kind.strip_suffix("List")?).filter(|kind| kind.protobuf)?;
            list(&|item, out| structure(table, known.object, item, out), out);
        }
    }
    Some(())
}

/// A message as far as it is written.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    pub(crate) fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    pub(crate) fn double(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// A field that is set, and what is left of its numbers from here inwards.
type Set<'a> = (&'a [u64], &'a Field, &'a Value);

fn structure(table: &Table, id: StructId, value: &Value, out: &mut Message) {
    let empty = Map::new();
    let known = table.get(id);
    let entries = value.as_object().unwrap_or(&empty).iter();
    let mut set: Vec<Set<'_>> = entries
        .filter(|(_, value)| !value.is_null())
        .filter_map(|(name, value)| known.field(name).map(|field| (field.numbers.as_slice(), field, value)))
        .collect();
    set.sort_by_key(|(numbers, _, _)| *numbers);
    fields(table, &set, out);
}

/// Writes fields; those that share their first number are in a message that JSON inlines.
fn fields(table: &Table, set: &[Set<'_>], out: &mut Message) {
    for together in set.chunk_by(|(a, _, _), (b, _, _)| a.first() == b.first()) {
        match together {
            [([number], of, value)] => field(table, *number, &of.shape, value, out),
            [([number, ..], _, _), ..] => {
                let inside: Vec<Set<'_>> =
                    together.iter().map(|(numbers, field, value)| (&numbers[1..], *field, *value)).collect();
                out.message(*number, |out| fields(table, &inside, out));
            }
            // Without a number there is no way to write it, and its kind is not written in protobuf.
            _ => {}
        }
    }
}

fn field(table: &Table, number: u64, shape: &Shape, value: &Value, out: &mut Message) {
    match (shape, value) {
        (Shape::List(element), Value::Array(items)) => {
            items.iter().for_each(|item| one(table, number, element, item, out));
        }
        (Shape::Map(element), Value::Object(entries)) => {
            for (key, value) in entries {
                out.message(number, |out| {
                    out.bytes(1, key.as_bytes());
                    one(table, 2, element, value, out);
                });
            }
        }
        (shape, value) => one(table, number, shape, value, out),
    }
}

fn one(table: &Table, number: u64, shape: &Shape, value: &Value, out: &mut Message) {
    match shape {
        Shape::Struct(id) => out.message(number, |out| structure(table, *id, value, out)),
        Shape::Any => out.message(number, |out| out.bytes(1, value.to_string().as_bytes())),
        Shape::Scalar(kind) => scalar(number, *kind, value, out),
        // No message has a list in a list or a map in a map without a message between them.
        Shape::List(_) | Shape::Map(_) => {}
    }
}

fn scalar(number: u64, scalar: Scalar, value: &Value, out: &mut Message) {
    let text = value.as_str().unwrap_or_default();
    // Negative numbers are sent as 64-bit two's complement.
    let integer = value.as_i64().unwrap_or_default().cast_unsigned();
    match scalar {
        Scalar::String => out.bytes(number, text.as_bytes()),
        Scalar::Bytes => out.bytes(number, &STANDARD.decode(text).unwrap_or_default()),
        Scalar::Bool => out.number(number, u64::from(value.as_bool().unwrap_or_default())),
        Scalar::Int32 | Scalar::Int64 => out.number(number, integer),
        Scalar::Double => out.double(number, value.as_f64().unwrap_or_default()),
        Scalar::Quantity => out.message(number, |out| out.bytes(1, text.as_bytes())),
        Scalar::Time | Scalar::MicroTime => out.message(number, |out| {
            let Ok(time) = Timestamp::parse(text) else { return };
            let micros = time.micros();
            out.number(1, micros.div_euclid(1_000_000).cast_unsigned());
            let nanos = if scalar == Scalar::MicroTime { micros.rem_euclid(1_000_000) * 1_000 } else { 0 };
            out.number(2, nanos.cast_unsigned());
        }),
        Scalar::IntOrString => out.message(number, |out| {
            out.number(1, u64::from(value.is_string()));
            out.number(2, integer);
            out.bytes(3, text.as_bytes());
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{watch_frame, write_protobuf};
    use crate::protobuf::parse_protobuf;
    use crate::table::table;

    #[test]
    fn a_namespace_is_written_in_its_envelope() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "abc", "labels": {"k": ""}}});
        let written = write_protobuf(table(), &namespace).expect("namespaces have a form");
        let body = b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12\x0e\n\x0c\n\x03abcZ\x05\n\x01k\x12\0\x1a\0\"\0";
        assert_eq!(written, body);
        assert_eq!(parse_protobuf(table(), &written), Ok(namespace));
    }

    #[test]
    fn a_message_that_json_inlines_is_written_as_one() {
        let volume = table().find("core.v1.Volume").expect("pods have volumes");
        let mut out = super::Message::default();
        let value = json!({"name": "v", "configMap": {"defaultMode": 7}});
        super::structure(table(), volume, &value, &mut out);
        assert_eq!(out.0, b"\n\x01v\x12\x05\x9a\x01\x02\x18\x07");
    }

    #[test]
    fn lists_statuses_and_metadata_have_a_form_and_kinds_of_our_own_have_none() {
        let has = |api_version: &str, kind: &str| {
            let value = json!({"apiVersion": api_version, "kind": kind, "metadata": {}, "items": [{}]});
            write_protobuf(table(), &value).is_some()
        };
        for (api_version, kind) in [
            ("v1", "PodList"),
            ("v1", "Status"),
            ("resource.k8s.io/v1beta1", "ResourceSliceList"),
            ("meta.k8s.io/v1", "PartialObjectMetadata"),
            ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        ] {
            assert!(has(api_version, kind), "{kind}");
        }
        for (api_version, kind) in [
            ("supercargo.dev/v1alpha1", "Workload"),
            ("supercargo.dev/v1alpha1", "WorkloadList"),
            ("networking.k8s.io/v1", "Ingress"),
            ("meta.k8s.io/v1", "Table"),
            ("v1", "Unknown"),
        ] {
            assert!(!has(api_version, kind), "{kind}");
        }
    }

    #[test]
    fn a_frame_begins_with_its_length() {
        assert_eq!(watch_frame("ADDED", b"x"), b"\0\0\0\x0c\n\x05ADDED\x12\x03\n\x01x");
    }
}
