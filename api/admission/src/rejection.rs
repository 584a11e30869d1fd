//! Why a request was refused before anything was stored.

use thiserror::Error;

use crate::cause::Cause;

/// A refusal. Each kind has its HTTP status and reason.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Rejection {
    /// The body cannot be read as the kind that was expected: 400.
    #[error("{0}")]
    BadRequest(String),
    /// A rule of the cluster forbids it: 403.
    #[error("{0}")]
    Forbidden(String),
    /// Fields are wrong: 422.
    #[error("{}", list(.0))]
    Invalid(Vec<Cause>),
}

impl Rejection {
    /// The HTTP status.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Forbidden(_) => 403,
            Self::Invalid(_) => 422,
        }
    }
}

fn list(causes: &[Cause]) -> String {
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
