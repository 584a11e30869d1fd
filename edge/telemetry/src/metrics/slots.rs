//! A row of series that are looked up once each, and then found by index.

use std::sync::OnceLock;

use super::labels::Label;
use super::series::Series;

/// One place for each value of a label.
pub(super) struct Slots<S>(Box<[OnceLock<S>]>);

impl<S: Series> Slots<S> {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| OnceLock::new()).collect())
    }

    pub(super) fn of<L: Label>() -> Self {
        Self::new(L::ALL.len())
    }

    /// The series at this place, found by `find` when it is first needed.
    pub(super) fn get(&self, at: usize, find: impl FnOnce() -> S) -> &S {
        self.0[at].get_or_init(find)
    }
}
