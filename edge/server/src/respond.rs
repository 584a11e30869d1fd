//! Answers as HTTP has them.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use schema::{table, write_protobuf};
use serde_json::Value;

use crate::negotiate::Media;
use crate::status::Failure;

/// An answer.
pub(crate) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// An answer with this body.
pub(crate) fn plain(code: u16, content_type: &str, body: impl Into<Bytes>) -> HttpResponse {
    let mut answer = Response::new(Full::new(body.into()).boxed());
    *answer.status_mut() =
        hyper::StatusCode::from_u16(code).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        answer.headers_mut().insert(CONTENT_TYPE, value);
    }
    answer
}

/// A JSON value, or the same as YAML or protobuf.
pub(crate) fn value(code: u16, value: &Value, media: Media, pretty: bool) -> HttpResponse {
    match media {
        Media::Json => {}
        Media::Yaml => return plain(code, "application/yaml", crate::yaml::write(value)),
        Media::Protobuf => {
            if let Some(message) = write_protobuf(table(), value) {
                return plain(code, PROTOBUF, message);
            }
        }
    }
    let text = if pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) };
    plain(code, JSON, text.unwrap_or_default())
}

/// An answer that says no.
pub(crate) fn failure(failure: &Failure, media: Media) -> HttpResponse {
    let mut answer = value(failure.code, &failure.status(), media, false);
    if let Some(seconds) = failure.retry_after_seconds {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// What all warnings of an answer may have, and each of them when they have more, as upstream cuts them.
const WARNINGS_CHARS_MAX: usize = 4 * 1024;
const WARNING_CHARS_MAX: usize = 256;

/// The same answer with warnings for the sender.
pub(crate) fn with_warnings(mut answer: HttpResponse, warnings: &[String]) -> HttpResponse {
    let fits = warnings.iter().map(|warning| warning.chars().count()).sum::<usize>() <= WARNINGS_CHARS_MAX;
    let each_max = if fits { WARNINGS_CHARS_MAX } else { WARNING_CHARS_MAX };
    for warning in warnings.iter().take(WARNINGS_CHARS_MAX / if fits { 1 } else { each_max }) {
        let text: String = warning
            .chars()
            .take(each_max)
            .map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' })
            .collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(WARNING, value);
        }
    }
    answer
}
