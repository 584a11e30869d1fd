//! How many members of each kind.

/// How many members of each kind, by the kind's number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Load(Box<[u32]>);

impl Load {
    /// No member of any of so many kinds.
    #[must_use]
    pub fn none(kinds: usize) -> Load {
        Load(vec![0; kinds].into())
    }

    /// So many members of each kind.
    #[must_use]
    pub fn new(counts: impl IntoIterator<Item = u32>) -> Load {
        Load(counts.into_iter().collect())
    }

    /// So many members of one kind.
    #[must_use]
    pub fn of(kinds: usize, kind: usize, count: u32) -> Load {
        let mut load = Load::none(kinds);
        load.0[kind] = count;
        load
    }

    /// How many of a kind.
    #[must_use]
    pub fn get(&self, kind: usize) -> u32 {
        self.0[kind]
    }

    /// Says how many of a kind.
    pub fn set(&mut self, kind: usize, count: u32) {
        self.0[kind] = count;
    }

    /// How many of each kind.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.0
    }

    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Whether it has no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// The kinds of which there are some, and how many.
    pub fn present(&self) -> impl Iterator<Item = (usize, u32)> {
        self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// As many of each kind as there are in both.
    pub(crate) fn clipped(&self, other: &Load) -> Load {
        Load(self.0.iter().zip(&other.0).map(|(one, other)| *one.min(other)).collect())
    }

    /// Takes members away.
    pub(crate) fn subtract(&mut self, other: &Load) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, less)| *count -= less);
    }

    /// Adds members.
    pub fn add(&mut self, other: &Load) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count = count.saturating_add(*more));
    }
}
