//! Reads the bodies of requests: JSON, YAML, and protobuf, which kubectl sends for some commands.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use schema::{Document, parse, parse_protobuf, parse_yaml, table};
use serde_json::Value;

use crate::status::Failure;

/// What a request may send.
pub(crate) const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How long a request may take to send its body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Reads a body that is not too large, from a client that does not take too long.
pub(crate) async fn collect(body: Incoming) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(BODY_TIME, read_all(body)).await;
    read.unwrap_or_else(|_| {
        Err(Failure::new(408, "Timeout", "the body of the request did not arrive in time"))
    })
}

async fn read_all(mut body: Incoming) -> Result<Bytes, Failure> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Failure::bad_request(format!("the body could not be read: {error}")))?;
        if let Ok(chunk) = frame.into_data() {
            if all.len() + chunk.len() > BODY_BYTES_MAX {
                let message = format!("the body may have at most {BODY_BYTES_MAX} bytes");
                return Err(Failure::new(413, "RequestEntityTooLarge", message));
            }
            all.extend_from_slice(&chunk);
        }
    }
    Ok(all.freeze())
}

/// Reads an object in the form that its media type names.
pub(crate) fn document(media_type: &str, body: &[u8]) -> Result<Document, Failure> {
    match media_type {
        "" | "application/json" | "*/*" => json(body),
        "application/yaml" => yaml(body),
        "application/vnd.kubernetes.protobuf" => {
            let value =
                parse_protobuf(table(), body).map_err(|error| Failure::bad_request(error.to_string()))?;
            Ok(Document { value, duplicates: Vec::new() })
        }
        other => {
            Err(unsupported(other, "application/json, application/yaml, application/vnd.kubernetes.protobuf"))
        }
    }
}

pub(crate) fn unsupported(media_type: &str, supported: &str) -> Failure {
    let message = format!(
        "the body of the request was in the unknown format {media_type:?}, accepted are: {supported}"
    );
    Failure::new(415, "UnsupportedMediaType", message)
}

pub(crate) fn json(body: &[u8]) -> Result<Document, Failure> {
    parse(body).map_err(|error| Failure::bad_request(error.to_string()))
}

pub(crate) fn yaml(body: &[u8]) -> Result<Document, Failure> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Failure::bad_request(format!("the body is not valid UTF-8: {error}")))?;
    parse_yaml(text).map_err(|error| Failure::bad_request(error.to_string()))
}

/// The options of a deletion, which are also allowed as a body.
pub(crate) fn optional(media_type: &str, body: &[u8]) -> Result<Value, Failure> {
    if body.is_empty() { Ok(Value::Null) } else { document(media_type, body).map(|document| document.value) }
}
