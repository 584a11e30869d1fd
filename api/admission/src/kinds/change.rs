//! A value next to the one that was stored before it.
//!
//! Rules of newer kinds look at what changes only: a stored value stays acceptable although the rules became stricter
//! since, and an object that nobody changed can always be written back.

use schema::Path;

use crate::cause::Causes;

/// A value of a request, and the stored value that it replaces. Without a stored value the object is new.
pub(crate) struct Change<'a, T> {
    pub new: &'a T,
    pub old: Option<&'a T>,
}

// Derived implementations would ask the same of `T`, which is only referred to.
impl<T> Clone for Change<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Change<'_, T> {}

impl<'a, T> Change<'a, T> {
    /// A value of a new object.
    pub fn create(new: &'a T) -> Self {
        Self { new, old: None }
    }

    /// A value that replaces another.
    pub fn update(new: &'a T, old: &'a T) -> Self {
        Self { new, old: Some(old) }
    }

    /// A part of the value, next to the same part of the stored value.
    pub fn part<U>(self, pick: impl Fn(&T) -> &U) -> Change<'a, U> {
        Change { new: pick(self.new), old: self.old.map(pick) }
    }
}

impl<T: PartialEq> Change<'_, T> {
    /// The value is new or another one than before, so the rules apply to it.
    pub fn is_news(self) -> bool {
        self.old != Some(self.new)
    }

    /// A stored value must stay what it is. Returns whether there is a value of a new object to look at.
    pub fn is_fixed(self, path: &Path<'_>, causes: &mut Causes) -> bool {
        if let Some(old) = self.old {
            causes.immutable(path, self.new, old);
        }
        self.old.is_none()
    }
}
