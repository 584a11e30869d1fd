//! Answers to requests, each with the headers that keep a browser from doing anything else with it.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::Refused;

pub(crate) type PageResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

pub(crate) const JSON: &str = "application/json";
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// Nothing comes from elsewhere, nothing is written into the page but by its own scripts, and no other page may frame it.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// An answer with a body.
pub(crate) fn answer(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> PageResponse {
    streamed(status, media_type, Full::new(body.into()).boxed_unsync())
}

/// An answer with a body that comes bit by bit.
pub(crate) fn streamed(
    status: StatusCode,
    media_type: &'static str,
    body: UnsyncBoxBody<Bytes, Infallible>,
) -> PageResponse {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A document.
pub(crate) fn document(value: &Value) -> PageResponse {
    answer(StatusCode::OK, JSON, value.to_string())
}

/// Why there is no document.
pub(crate) fn refused(status: StatusCode, refused: &Refused) -> PageResponse {
    let body = json!({ "message": refused.message, "hint": refused.hint });
    answer(status, JSON, body.to_string())
}

/// The same in few words.
pub(crate) fn wrong(status: StatusCode, message: &str, hint: &str) -> PageResponse {
    refused(status, &Refused { message: message.to_owned(), hint: hint.to_owned() })
}

/// Sends the browser to the page, with a session.
pub(crate) fn signed_in(cookie: &str) -> PageResponse {
    let mut answer = answer(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/"));
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        headers.insert(SET_COOKIE, cookie);
    }
    answer
}
