//! Reads the protobuf bodies that `kubectl create` sends: namespaces, priority classes, settings, jobs and reviews.
//!
//! Kubernetes wraps a message in an envelope with its kind. Only the fields that those requests use are known, and a
//! body that says anything else is refused, so that nothing is lost on the way. Answers are always JSON, which every
//! client accepts besides.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// How a field of a message is read.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Flag,
    Texts,
    TextMap,
    BytesMap,
    Messages(&'static [(u64, &'static str, Shape)]),
    Message(&'static [(u64, &'static str, Shape)]),
}

const META: &[(u64, &str, Shape)] = &[
    (1, "name", Shape::Text),
    (2, "generateName", Shape::Text),
    (3, "namespace", Shape::Text),
    (5, "uid", Shape::Text),
    (6, "resourceVersion", Shape::Text),
    (11, "labels", Shape::TextMap),
    (12, "annotations", Shape::TextMap),
    (14, "finalizers", Shape::Texts),
];

const NAMESPACE: &[(u64, &str, Shape)] = &[
    (1, "metadata", Shape::Message(META)),
    (2, "spec", Shape::Message(&[(1, "finalizers", Shape::Texts)])),
    (3, "status", Shape::Message(&[(1, "phase", Shape::Text)])),
];

const PRIORITY_CLASS: &[(u64, &str, Shape)] = &[
    (1, "metadata", Shape::Message(META)),
    (2, "value", Shape::Integer),
    (3, "globalDefault", Shape::Flag),
    (4, "description", Shape::Text),
    (5, "preemptionPolicy", Shape::Text),
];

const CONFIG_MAP: &[(u64, &str, Shape)] = &[
    (1, "metadata", Shape::Message(META)),
    (2, "data", Shape::TextMap),
    (3, "binaryData", Shape::BytesMap),
    (4, "immutable", Shape::Flag),
];

const SECRET: &[(u64, &str, Shape)] = &[
    (1, "metadata", Shape::Message(META)),
    (2, "data", Shape::BytesMap),
    (3, "type", Shape::Text),
    (4, "stringData", Shape::TextMap),
    (5, "immutable", Shape::Flag),
];

const JOB: &[(u64, &str, Shape)] = &[
    (1, "metadata", Shape::Message(META)),
    (
        2,
        "spec",
        Shape::Message(&[
            (1, "parallelism", Shape::Integer),
            (2, "completions", Shape::Integer),
            (3, "activeDeadlineSeconds", Shape::Integer),
            (6, "template", Shape::Message(&[(1, "metadata", Shape::Message(META)), (2, "spec", POD_SPEC)])),
            (7, "backoffLimit", Shape::Integer),
        ]),
    ),
];

const POD_SPEC: Shape = Shape::Message(&[
    (
        2,
        "containers",
        Shape::Messages(&[
            (1, "name", Shape::Text),
            (2, "image", Shape::Text),
            (3, "command", Shape::Texts),
            (4, "args", Shape::Texts),
        ]),
    ),
    (3, "restartPolicy", Shape::Text),
]);

const ACCESS_REVIEW: &[(u64, &str, Shape)] = &[(
    2,
    "spec",
    Shape::Message(&[
        (
            1,
            "resourceAttributes",
            Shape::Message(&[
                (1, "namespace", Shape::Text),
                (2, "verb", Shape::Text),
                (3, "group", Shape::Text),
                (4, "version", Shape::Text),
                (5, "resource", Shape::Text),
                (6, "subresource", Shape::Text),
                (7, "name", Shape::Text),
            ]),
        ),
        (2, "nonResourceAttributes", Shape::Message(&[(1, "path", Shape::Text), (2, "verb", Shape::Text)])),
    ]),
)];

const TYPE: &[(u64, &str, Shape)] = &[(1, "apiVersion", Shape::Text), (2, "kind", Shape::Text)];

/// Reads an object.
pub(crate) fn decode(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(b"k8s\0").ok_or("the body lacks the prefix of Kubernetes' protobuf")?;
    let named = message(field_bytes(envelope, 1)?.unwrap_or_default(), TYPE, 0)?;
    let raw = field_bytes(envelope, 2)?.unwrap_or_default();
    let shape = match named["kind"].as_str() {
        Some("Namespace") => NAMESPACE,
        Some("PriorityClass") => PRIORITY_CLASS,
        Some("ConfigMap") => CONFIG_MAP,
        Some("Secret") => SECRET,
        Some("Job") => JOB,
        Some("SelfSubjectAccessReview" | "SelfSubjectReview") => ACCESS_REVIEW,
        Some("DeleteOptions") => &[],
        other => {
            return Err(format!(
                "protobuf is not read for {}; hint: send JSON",
                other.unwrap_or("this kind")
            ));
        }
    };
    let mut object = message(raw, shape, 0)?;
    object["apiVersion"] = named["apiVersion"].clone();
    object["kind"] = named["kind"].clone();
    Ok(object)
}

enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Skipped,
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or("a number ends too early")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long".to_owned())
}

fn next<'a>(bytes: &mut &'a [u8]) -> Result<(u64, Wire<'a>), String> {
    let tag = varint(bytes)?;
    let mut take = |length: u64| -> Result<&'a [u8], String> {
        let length = usize::try_from(length).map_err(|_| "a field is too long")?;
        let (taken, rest) = bytes.split_at_checked(length).ok_or("a field ends too early")?;
        *bytes = rest;
        Ok(taken)
    };
    let wire = match tag & 7 {
        0 => Wire::Varint(varint(bytes)?),
        1 => take(8).map(|_| Wire::Skipped)?,
        5 => take(4).map(|_| Wire::Skipped)?,
        2 => {
            let length = varint(bytes)?;
            let length = usize::try_from(length).map_err(|_| "a field is too long")?;
            let (taken, rest) = bytes.split_at_checked(length).ok_or("a field ends too early")?;
            *bytes = rest;
            Wire::Bytes(taken)
        }
        _ => return Err("a field has an unknown form".to_owned()),
    };
    Ok((tag >> 3, wire))
}

fn field_bytes(mut bytes: &[u8], wanted: u64) -> Result<Option<&[u8]>, String> {
    while !bytes.is_empty() {
        if let (number, Wire::Bytes(found)) = next(&mut bytes)?
            && number == wanted
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether a field is empty, zero, or a message of such fields alone.
fn says_nothing(wire: &Wire<'_>, depth: usize) -> bool {
    match wire {
        Wire::Varint(number) => *number == 0,
        Wire::Skipped => false,
        Wire::Bytes(_) if depth > DEPTH_MAX => false,
        Wire::Bytes(inside) => {
            let mut inside = *inside;
            while !inside.is_empty() {
                match next(&mut inside) {
                    Ok((_, wire)) if says_nothing(&wire, depth + 1) => {}
                    _ => return false,
                }
            }
            true
        }
    }
}

const DEPTH_MAX: usize = 16;

fn message(mut bytes: &[u8], fields: &[(u64, &str, Shape)], depth: usize) -> Result<Value, String> {
    if depth > DEPTH_MAX {
        return Err("the message is nested too deeply".to_owned());
    }
    let mut object = Map::new();
    while !bytes.is_empty() {
        let (number, wire) = next(&mut bytes)?;
        let Some((_, name, shape)) = fields.iter().find(|(have, _, _)| *have == number) else {
            // Go sends what is unset as empty or zero; anything else would be lost.
            if says_nothing(&wire, depth) {
                continue;
            }
            return Err(format!("field {number} of this kind is not read as protobuf; hint: send JSON"));
        };
        match (shape, wire) {
            (Shape::Text, Wire::Bytes(text)) if !text.is_empty() => {
                object.insert((*name).to_owned(), json!(String::from_utf8_lossy(text)));
            }
            // Negative numbers are sent as 64-bit two's complement.
            (Shape::Integer, Wire::Varint(number)) => {
                drop(object.insert((*name).to_owned(), json!(number as i64)))
            }
            (Shape::Flag, Wire::Varint(number)) => {
                drop(object.insert((*name).to_owned(), json!(number != 0)))
            }
            (Shape::Texts, Wire::Bytes(text)) => {
                let list = object.entry(*name).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(json!(String::from_utf8_lossy(text)));
                }
            }
            (Shape::TextMap, Wire::Bytes(entry)) => {
                let pair = message(entry, &[(1, "k", Shape::Text), (2, "v", Shape::Text)], depth + 1)?;
                let key = pair["k"].as_str().unwrap_or_default().to_owned();
                object.entry(*name).or_insert_with(|| json!({}))[key] =
                    json!(pair["v"].as_str().unwrap_or_default());
            }
            (Shape::BytesMap, Wire::Bytes(entry)) => {
                let key = field_bytes(entry, 1)?.unwrap_or_default();
                let value = STANDARD.encode(field_bytes(entry, 2)?.unwrap_or_default());
                object.entry(*name).or_insert_with(|| json!({}))[String::from_utf8_lossy(key).as_ref()] =
                    json!(value);
            }
            (Shape::Messages(inner), Wire::Bytes(inside)) => {
                let list = object.entry(*name).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(message(inside, inner, depth + 1)?);
                }
            }
            (Shape::Message(inner), Wire::Bytes(inside)) => {
                object.insert((*name).to_owned(), message(inside, inner, depth + 1)?);
            }
            _ => {}
        }
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::decode;

    #[test]
    fn a_namespace_as_kubectl_sends_it_is_read() {
        let body = b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12\x16\n\x0e\n\x03abc\x12\0Z\x05\n\x01k\x12\0\x12\0\x1a\x02\n\0\x1a\0\"\0";
        let read = decode(body).expect("it is well formed");
        assert_eq!(read["metadata"], json!({"name": "abc", "labels": {"k": ""}}));
        assert_eq!(read["kind"], "Namespace");
    }

    #[test]
    fn settings_as_kubectl_sends_them_are_read() {
        let body = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x0e\n\x05\n\x03abc\x12\x05\n\x01a\x12\0";
        assert_eq!(decode(body).map(|read| read["data"].clone()), Ok(json!({"a": ""})));
        let body = b"k8s\0\n\x0c\n\x02v1\x12\x06Secret\x12\x0f\n\x05\n\x03abc\x12\x06\n\x01a\x12\x01b";
        assert_eq!(decode(body).map(|read| read["data"].clone()), Ok(json!({"a": "Yg=="})));
    }

    #[test]
    fn a_field_that_would_be_lost_is_refused() {
        let envelope = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12";
        let with = |message: &[u8]| {
            [&envelope[..], &[u8::try_from(message.len()).expect("short")], message].concat()
        };
        assert!(decode(&with(b"\x4a\x02\n\0")).is_ok(), "a message that says nothing");
        assert!(decode(&with(b"\x4a\x03abc")).is_err(), "text in a field that is not known");
        assert!(decode(&with(b"\x48\x01")).is_err(), "a number in a field that is not known");
    }

    #[test]
    fn broken_messages_are_refused() {
        for bad in [
            &b"{}"[..],
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"k8s\0\n\x7f",
            b"k8s\0\n\x09\x12\x07Unknown",
        ] {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }
}
