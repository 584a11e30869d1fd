//! Type checking: every node gets a type, every name a meaning.

mod advice;
mod checker;
mod unify;

pub(crate) use checker::{Checked, Meaning, check};
