//! Reads objects in protobuf. What the table does not know is skipped, as protobuf has it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::timestamp::Timestamp;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::PREFIX;
use crate::table::{Field, Scalar, Shape, StructId, Table};

/// Bytes that are no object in protobuf.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotProtobuf {
    /// The envelope is missing.
    #[error("the body lacks the prefix of Kubernetes' protobuf")]
    NoPrefix,
    /// A message ends too early, or has another form.
    #[error("the body is not valid protobuf: {0}")]
    Malformed(&'static str),
    /// The kind is not served, or has no protobuf form.
    #[error("{0} is not served in protobuf; hint: send JSON")]
    UnknownKind(String),
}

const DEPTH_MAX: usize = 64;

/// Reads an object.
///
/// # Errors
/// When the bytes are malformed or of a kind that is not in the table.
pub fn parse_protobuf(table: &Table, body: &[u8]) -> Result<Value, NotProtobuf> {
    let envelope = body.strip_prefix(PREFIX).ok_or(NotProtobuf::NoPrefix)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in wire(envelope)? {
        match field {
            (1, Wire::Bytes(names)) => {
                for name in wire(names)? {
                    match name {
                        (1, Wire::Bytes(text)) => api_version = lossy(text),
                        (2, Wire::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let known = table.kind(&api_version, &kind).filter(|kind| kind.protobuf).map(|kind| kind.object);
    let others =
        || table.find(&format!("reviews.v1.{kind}")).or_else(|| table.find(&format!("meta.v1.{kind}")));
    let id =
        known.or_else(others).ok_or_else(|| NotProtobuf::UnknownKind(format!("{api_version} {kind}")))?;
    let mut object = structure(table, id, raw, 0)?;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    Ok(object)
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> Result<u64, NotProtobuf> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(NotProtobuf::Malformed("a number ends too early"))?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(NotProtobuf::Malformed("a number is too long"))
}

/// The fields of a message in the order in which they were sent.
fn wire(mut bytes: &[u8]) -> Result<Vec<(u64, Wire<'_>)>, NotProtobuf> {
    const EARLY: NotProtobuf = NotProtobuf::Malformed("a field ends too early");
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => {
                let (eight, rest) = bytes.split_first_chunk::<8>().ok_or(EARLY)?;
                bytes = rest;
                Wire::Number(u64::from_le_bytes(*eight))
            }
            5 => {
                let (four, rest) = bytes.split_first_chunk::<4>().ok_or(EARLY)?;
                bytes = rest;
                Wire::Number(u64::from(u32::from_le_bytes(*four)))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| EARLY)?;
                let (taken, rest) = bytes.split_at_checked(length).ok_or(EARLY)?;
                bytes = rest;
                Wire::Bytes(taken)
            }
            _ => return Err(NotProtobuf::Malformed("a field has an unknown form")),
        };
        fields.push((tag >> 3, value));
    }
    Ok(fields)
}

fn structure(table: &Table, id: StructId, bytes: &[u8], depth: usize) -> Result<Value, NotProtobuf> {
    let mut object = Map::new();
    let fields: Vec<(&Field, &[u64])> =
        table.get(id).fields.iter().map(|field| (field, field.numbers.as_slice())).collect();
    message(table, &fields, bytes, &mut object, depth)?;
    Ok(Value::Object(object))
}

/// Reads a message whose fields have these numbers; a message that JSON inlines goes into the same object.
fn message(
    table: &Table,
    fields: &[(&Field, &[u64])],
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), NotProtobuf> {
    if depth > DEPTH_MAX {
        return Err(NotProtobuf::Malformed("the message is nested too deeply"));
    }
    for (number, value) in wire(bytes)? {
        if let Some((field, _)) = fields.iter().find(|(_, numbers)| *numbers == [number]) {
            take(table, field, &value, object, depth)?;
            continue;
        }
        let inlined = fields.iter().filter_map(|(field, numbers)| match numbers.split_first() {
            Some((first, rest)) if *first == number && !rest.is_empty() => Some((*field, rest)),
            _ => None,
        });
        let inlined: Vec<(&Field, &[u64])> = inlined.collect();
        if let Wire::Bytes(inside) = value
            && !inlined.is_empty()
        {
            message(table, &inlined, inside, object, depth + 1)?;
        }
    }
    Ok(())
}

fn take(
    table: &Table,
    field: &Field,
    value: &Wire<'_>,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), NotProtobuf> {
    match (&field.shape, value) {
        (Shape::List(element), value) => {
            let item = one(table, element, value, depth)?;
            if let Value::Array(list) = object.entry(field.name.clone()).or_insert_with(|| json!([])) {
                list.push(item);
            }
        }
        (Shape::Map(element), Wire::Bytes(entry)) => {
            let (mut key, mut held) = (String::new(), Value::Null);
            for part in wire(entry)? {
                match part {
                    (1, Wire::Bytes(text)) => key = lossy(text),
                    (2, value) => held = one(table, element, &value, depth)?,
                    _ => {}
                }
            }
            if let Value::Object(map) = object.entry(field.name.clone()).or_insert_with(|| json!({})) {
                map.insert(key, held);
            }
        }
        (shape, value) => {
            let value = one(table, shape, value, depth)?;
            object.insert(field.name.clone(), value);
        }
    }
    Ok(())
}

fn one(table: &Table, shape: &Shape, value: &Wire<'_>, depth: usize) -> Result<Value, NotProtobuf> {
    Ok(match (shape, value) {
        (Shape::Struct(id), Wire::Bytes(bytes)) => structure(table, *id, bytes, depth + 1)?,
        (Shape::Scalar(scalar), value) => scalar_of(*scalar, value)?,
        // Any JSON is sent as its text.
        (Shape::Any, Wire::Bytes(bytes)) => wire(bytes)?
            .into_iter()
            .find_map(|part| match part {
                (1, Wire::Bytes(text)) => serde_json::from_slice(text).ok(),
                _ => None,
            })
            .unwrap_or(Value::Null),
        _ => Value::Null,
    })
}

fn scalar_of(scalar: Scalar, value: &Wire<'_>) -> Result<Value, NotProtobuf> {
    Ok(match (scalar, value) {
        (Scalar::String, Wire::Bytes(text)) => json!(lossy(text)),
        (Scalar::Bytes, Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        (Scalar::Bool, Wire::Number(number)) => json!(*number != 0),
        // Negative numbers are sent as 64-bit two's complement.
        (Scalar::Int32 | Scalar::Int64, Wire::Number(number)) => json!(number.cast_signed()),
        (Scalar::Double, Wire::Number(number)) => json!(f64::from_bits(*number)),
        (Scalar::Quantity, Wire::Bytes(bytes)) => wire(bytes)?
            .into_iter()
            .find_map(|part| match part {
                (1, Wire::Bytes(text)) => Some(json!(lossy(text))),
                _ => None,
            })
            .unwrap_or(Value::Null),
        (Scalar::Time | Scalar::MicroTime, Wire::Bytes(bytes)) => time_of(scalar, bytes)?,
        (Scalar::IntOrString, Wire::Bytes(bytes)) => {
            let (mut is_text, mut int, mut text) = (false, 0, String::new());
            for part in wire(bytes)? {
                match part {
                    (1, Wire::Number(kind)) => is_text = kind == 1,
                    (2, Wire::Number(number)) => int = number.cast_signed(),
                    (3, Wire::Bytes(bytes)) => text = lossy(bytes),
                    _ => {}
                }
            }
            if is_text { json!(text) } else { json!(int) }
        }
        _ => Value::Null,
    })
}

fn time_of(scalar: Scalar, bytes: &[u8]) -> Result<Value, NotProtobuf> {
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    for part in wire(bytes)? {
        match part {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    // An empty message is no time; one of zeros is 1970.
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let time = Timestamp::from_micros(seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000));
    Ok(if scalar == Scalar::MicroTime {
        json!(time.with_micros().to_string())
    } else {
        json!(time.to_string())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_protobuf;
    use crate::table::table;

    #[test]
    fn a_namespace_as_kubectl_sends_it_is_read() {
        let body = b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12\x16\n\x0e\n\x03abc\x12\0Z\x05\n\x01k\x12\0\x12\0\x1a\x02\n\0\x1a\0\"\0";
        let read = parse_protobuf(table(), body).expect("it is well formed");
        assert_eq!(read["metadata"]["name"], "abc");
        assert_eq!(read["metadata"]["labels"], json!({"k": ""}));
        assert_eq!(read["kind"], "Namespace");
    }

    #[test]
    fn a_message_that_json_inlines_goes_into_the_object_around_it() {
        let volume = table().find("core.v1.Volume").expect("pods have volumes");
        // name: "v", then message 2 with field 19, configMap, whose field 3 is defaultMode.
        let body = b"\n\x01v\x12\x05\x9a\x01\x02\x18\x07";
        let read = super::structure(table(), volume, body, 0).expect("it is well formed");
        assert_eq!(read, json!({"name": "v", "configMap": {"defaultMode": 7}}));
    }

    #[test]
    fn broken_messages_are_refused() {
        let long = b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
        for bad in [&b"{}"[..], long, b"k8s\0\n\x7f", b"k8s\0\n\x09\x12\x07Unknown"] {
            assert!(parse_protobuf(table(), bad).is_err(), "{bad:?}");
        }
    }
}
