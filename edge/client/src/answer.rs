//! What may come of a request: one variant for each thing that the caller can do about it.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use serde::Deserialize;
use thiserror::Error;

/// The answer to a request.
#[derive(Debug)]
pub enum Answer<T> {
    /// It was done, and this is the object now.
    Done(T),
    /// The object has changed since it was read, or a precondition does not hold.
    Conflict(String),
    /// There is no such object, or no such resource.
    NotFound(String),
    /// An object of this name is there already.
    AlreadyExists(String),
    /// The version that was asked for is no longer kept.
    Gone(String),
    /// The request makes no sense to the server; sent again it would make no more.
    Invalid(String),
    /// The server has too much to do.
    TooManyRequests {
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached or cannot answer.
    Unavailable(Unavailable),
    /// We may not do this, or the server does not know us.
    Forbidden(String),
}

/// Why there is no useful answer.
#[derive(Debug, Error)]
pub enum Unavailable {
    /// No connection could be made, so nothing happened.
    #[error(
        "cannot reach the API server {server}: {why}; hint: check that it runs and that the address is correct"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// The connection broke before the answer was complete. Whether the request was carried out is not known.
    #[error("lost the connection to the API server {server}: {why}")]
    Broken {
        /// The server.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// There was no answer in time. Whether the request was carried out is not known.
    #[error("the API server {server} did not answer within {after:?}")]
    TimedOut {
        /// The server.
        server: String,
        /// How long was waited.
        after: Duration,
    },
    /// The server says that it cannot.
    #[error("the API server answered {code}: {message}")]
    Failing {
        /// The HTTP code.
        code: u16,
        /// What it said.
        message: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The answer was a good one, but is not what it should be. A write was carried out.
    #[error("cannot read the answer of the API server: {0}")]
    Unreadable(String),
}

impl Unavailable {
    /// The request may have been carried out although nobody said so.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unreachable { .. } => false,
            Self::Broken { .. } | Self::TimedOut { .. } | Self::Failing { .. } | Self::Unreadable(_) => true,
        }
    }
}

impl<T> Answer<T> {
    /// The object, if it was done.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(object) => Some(object),
            _ => None,
        }
    }

    /// The same answer about something else.
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Answer<U> {
        self.and_then(|object| Answer::Done(with(object)))
    }

    /// What comes of the object, if it was done.
    pub fn and_then<U>(self, with: impl FnOnce(T) -> Answer<U>) -> Answer<U> {
        match self {
            Self::Done(object) => with(object),
            Self::Conflict(why) => Answer::Conflict(why),
            Self::NotFound(why) => Answer::NotFound(why),
            Self::AlreadyExists(why) => Answer::AlreadyExists(why),
            Self::Gone(why) => Answer::Gone(why),
            Self::Invalid(why) => Answer::Invalid(why),
            Self::TooManyRequests { retry_after } => Answer::TooManyRequests { retry_after },
            Self::Unavailable(why) => Answer::Unavailable(why),
            Self::Forbidden(why) => Answer::Forbidden(why),
        }
    }

    /// What to tell people, unless it was done.
    pub fn trouble(&self) -> Option<String> {
        Some(match self {
            Self::Done(_) => return None,
            Self::Conflict(why) | Self::NotFound(why) | Self::AlreadyExists(why) | Self::Gone(why) => {
                why.clone()
            }
            Self::Invalid(why) => format!("the API server refuses the request: {why}"),
            Self::TooManyRequests { .. } => "the API server has too many requests".to_owned(),
            Self::Unavailable(why) => why.to_string(),
            Self::Forbidden(why) => why.clone(),
        })
    }

    /// The same request may be answered in a while: the server has too much to do, or cannot be reached or answer now.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable(_))
    }

    /// When the server wants to be asked again, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after }
            | Self::Unavailable(Unavailable::Failing { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }
}

/// The part of a `Status` that we look at.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    code: Option<u16>,
    message: String,
    reason: String,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u64,
}

/// Reads an answer that is no success.
pub(crate) fn refusal<T>(code: u16, headers: &HeaderMap, body: &[u8]) -> Answer<T> {
    // A proxy in between answers with anything at all.
    let status = serde_json::from_slice(body).unwrap_or_else(|_| Status {
        message: String::from_utf8_lossy(&body[..body.len().min(200)]).trim().to_owned(),
        ..Status::default()
    });
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    status.into_answer(Some(code), header.map(Duration::from_secs))
}

impl Status {
    /// The answer that this is. A status within a stream has its own code, and no headers.
    pub(crate) fn into_answer<T>(self, code: Option<u16>, retry_after: Option<Duration>) -> Answer<T> {
        let code = code.or(self.code).unwrap_or(500);
        let details = self.details.unwrap_or_default();
        let retry_after = retry_after.or_else(|| {
            (details.retry_after_seconds > 0).then(|| Duration::from_secs(details.retry_after_seconds))
        });
        let message =
            if self.message.is_empty() { format!("the API server answered {code}") } else { self.message };
        match code {
            401 => Answer::Forbidden(format!(
                "the API server rejected the credentials: {message}; hint: check that the token or certificate is valid"
            )),
            403 => Answer::Forbidden(message),
            404 => Answer::NotFound(message),
            409 if self.reason == "AlreadyExists" => Answer::AlreadyExists(message),
            409 => Answer::Conflict(message),
            410 => Answer::Gone(message),
            429 => Answer::TooManyRequests { retry_after },
            400..=499 => Answer::Invalid(message),
            _ => Answer::Unavailable(Unavailable::Failing { code, message, retry_after }),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderValue, RETRY_AFTER};

    use super::{Answer, refusal};

    fn read(code: u16, headers: &HeaderMap, body: &str) -> String {
        let answer: Answer<()> = refusal(code, headers, body.as_bytes());
        format!("{answer:?}")
    }

    #[test]
    fn codes_and_reasons_become_what_the_caller_can_do() {
        let none = HeaderMap::new();
        let busy = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("7"))]);
        let table = [
            (409, &none, r#"{"reason":"AlreadyExists","message":"m"}"#, r#"AlreadyExists("m")"#),
            (409, &none, r#"{"reason":"Conflict","message":"m"}"#, r#"Conflict("m")"#),
            (404, &none, r#"{"message":"m"}"#, r#"NotFound("m")"#),
            (410, &none, r#"{"message":"m"}"#, r#"Gone("m")"#),
            (422, &none, r#"{"message":"m"}"#, r#"Invalid("m")"#),
            (403, &none, r#"{"message":"m"}"#, r#"Forbidden("m")"#),
            (429, &busy, "{}", "TooManyRequests { retry_after: Some(7s) }"),
            (
                429,
                &none,
                r#"{"details":{"retryAfterSeconds":3}}"#,
                "TooManyRequests { retry_after: Some(3s) }",
            ),
            (
                502,
                &none,
                "<html>bad gateway",
                r#"Unavailable(Failing { code: 502, message: "<html>bad gateway", retry_after: None })"#,
            ),
        ];
        for (code, headers, body, expected) in table {
            assert_eq!(read(code, headers, body), expected, "{code} {body}");
        }
        assert!(read(401, &none, "{}").contains("hint:"));
    }
}
