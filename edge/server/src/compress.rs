//! Compresses large answers for those who accept that.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;
use hyper::header::{CONTENT_ENCODING, HeaderValue, VARY};

use crate::respond::Answer;

/// Below this size compression costs more than it saves.
const BYTES_MIN: u64 = 128 * 1024;

/// The answer, compressed if it is large and the client accepts gzip. Streams are left alone.
pub(crate) async fn compress(answer: Answer, gzip: bool) -> Answer {
    let size = answer.body().size_hint();
    if !gzip || size.exact().is_none_or(|bytes| bytes < BYTES_MIN) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    let compressed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    let body = match compressed {
        Ok(compressed) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
            Bytes::from(compressed)
        }
        Err(_) => bytes,
    };
    Answer::from_parts(parts, Full::new(body).boxed())
}
