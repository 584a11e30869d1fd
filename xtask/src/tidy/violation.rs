//! One broken rule: where, what, and what to do about it.

use std::fmt;

/// A broken rule at a place. Sorted by place, so a reader walks through files once.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Violation {
    /// Path from the workspace root, with forward slashes.
    pub(crate) path: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// What is wrong, without a full stop.
    pub(crate) wrong: String,
    /// What to do next.
    pub(crate) hint: String,
}

impl Violation {
    pub(crate) fn new(path: &str, line: usize, wrong: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, wrong: wrong.into(), hint: hint.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}\n  hint: {}", self.path, self.line, self.wrong, self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::Violation;

    #[test]
    fn a_violation_reads_as_place_then_wrong_then_hint() {
        let violation = Violation::new("core/model/src/lib.rs", 7, "too long", "split it");
        assert_eq!(violation.to_string(), "core/model/src/lib.rs:7: too long\n  hint: split it");
    }
}
