//! Why a request was refused before anything was stored.

use thiserror::Error;

use crate::cause::{Cause, cut};

/// How long a message may be; causes have a bound of their own.
const MESSAGE_BYTES_MAX: usize = 4_000;

/// A refusal. Each kind has its HTTP status and reason.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Rejection {
    /// The body cannot be read as the kind that was expected: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The object names another namespace than the request: 400.
    #[error("{0}")]
    WrongNamespace(String),
    /// A rule of the cluster forbids it: 403.
    #[error("{0}")]
    Forbidden(String),
    /// Fields are wrong: 422.
    #[error("{}", list(.0))]
    Invalid(Vec<Cause>),
}

impl Rejection {
    /// The same refusal with a message of bounded length, whatever it repeats of what somebody sent.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::BadRequest(text) => Self::BadRequest(cut(text, MESSAGE_BYTES_MAX)),
            Self::WrongNamespace(text) => Self::WrongNamespace(cut(text, MESSAGE_BYTES_MAX)),
            Self::Forbidden(text) => Self::Forbidden(cut(text, MESSAGE_BYTES_MAX)),
            Self::Invalid(causes) => Self::Invalid(causes),
        }
    }

    /// The HTTP status.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) | Self::WrongNamespace(_) => 400,
            Self::Forbidden(_) => 403,
            Self::Invalid(_) => 422,
        }
    }
}

fn list(causes: &[Cause]) -> String {
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
