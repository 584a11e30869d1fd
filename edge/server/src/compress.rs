//! Compresses large answers, and watches that begin with everything there is, for those who accept that.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::HeaderMap;
use hyper::body::Body as _;
use hyper::header::{CONTENT_ENCODING, HeaderValue, VARY};

use crate::respond::HttpResponse;

/// Below this size compression costs more than it saves.
const BYTES_MIN: u64 = 128 * 1024;

/// Whether an `Accept-Encoding` header names gzip. As upstream, weights are not understood: who sends one gets plain text.
pub(crate) fn accepts_gzip(header: Option<&str>) -> bool {
    header.is_some_and(|header| header.split(',').any(|encoding| encoding.trim() == "gzip"))
}

/// Says in the head of an answer that its body is compressed.
pub(crate) fn declare(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// The bytes as a gzip file of their own; files one after the other are one stream.
///
/// The bytes are flushed before the file ends, because a reader that finds the end right behind them, such as Go's, waits
/// for the next file before it hands them out.
pub(crate) fn file(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    let flushed = encoder.write_all(bytes).and_then(|()| encoder.flush());
    flushed.and_then(|()| encoder.finish()).expect("a vector takes all bytes")
}

/// The answer, compressed if it is large and the client accepts gzip. Streams are left alone.
pub(crate) async fn compress(answer: HttpResponse, gzip: bool) -> HttpResponse {
    let size = answer.body().size_hint();
    if !gzip || size.exact().is_none_or(|bytes| bytes < BYTES_MIN) {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    declare(&mut parts.headers);
    HttpResponse::from_parts(parts, Full::new(Bytes::from(file(&bytes))).boxed())
}

#[cfg(test)]
mod tests {
    use super::{accepts_gzip, file};

    #[test]
    fn all_bytes_are_there_before_the_file_ends() {
        // An empty stored block, which is a flush, then an empty last block, and eight bytes of checksum and size.
        let end = [0, 0, 0xff, 0xff, 3, 0];
        let compressed = file(b"something");
        assert_eq!(compressed[compressed.len() - 14..compressed.len() - 8], end, "{compressed:x?}");
    }

    #[test]
    fn gzip_is_accepted_by_name_alone() {
        for yes in ["gzip", "deflate, gzip", " gzip ,br"] {
            assert!(accepts_gzip(Some(yes)), "{yes}");
        }
        for no in [None, Some(""), Some("gzip;q=0"), Some("x-gzip"), Some("identity")] {
            assert!(!accepts_gzip(no), "{no:?}");
        }
    }
}
