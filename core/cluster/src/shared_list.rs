//! A list of which a copy costs little: it shares with the original what neither has changed since.
//!
//! Invariant: all parts but the last are full, so that an entry's number says where it is.

use std::ops::Range;
use std::sync::Arc;

/// How many entries a part has. What is changed for the first time since a copy was made costs a copy of its part; what is looked at one
/// after the other lies side by side.
const PART: usize = 32;

/// A list in parts that copies share.
#[derive(Clone, Debug)]
pub(crate) struct SharedList<T> {
    parts: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for SharedList<T> {
    fn default() -> SharedList<T> {
        SharedList { parts: Vec::new(), len: 0 }
    }
}

impl<T> SharedList<T> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// An entry.
    pub fn get(&self, at: usize) -> &T {
        &self.parts[at / PART][at % PART]
    }

    /// The entries with these numbers, in their order.
    pub fn within(&self, numbers: Range<usize>) -> impl Iterator<Item = &T> {
        let first = numbers.start / PART;
        let parts = self.parts[first..numbers.end.div_ceil(PART).max(first)].iter().enumerate();
        parts.flat_map(move |(part, entries)| {
            let begin = (first + part) * PART;
            entries[numbers.start.saturating_sub(begin)..(numbers.end - begin).min(entries.len())].iter()
        })
    }
}

impl<T: Clone> SharedList<T> {
    /// An entry, to be changed.
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        &mut Arc::make_mut(&mut self.parts[at / PART])[at % PART]
    }

    /// Adds an entry, and tells its number.
    pub fn push(&mut self, entry: T) -> usize {
        if self.len.is_multiple_of(PART) {
            self.parts.push(Arc::new(Vec::with_capacity(PART)));
        }
        Arc::make_mut(&mut self.parts[self.len / PART]).push(entry);
        self.len += 1;
        self.len - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_and_its_original_change_apart() {
        let mut list = SharedList::default();
        assert_eq!((0..100).map(|entry| list.push(entry)).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        let copy = list.clone();
        *list.get_mut(40) = 1_000;
        list.push(100);
        assert_eq!((list.len(), *list.get(40), *list.get(100)), (101, 1_000, 100));
        assert_eq!((copy.len(), *copy.get(40)), (100, 40));
        assert!(copy.within(0..100).copied().eq(0..100));
    }

    #[test]
    fn entries_come_by_any_range_of_numbers() {
        let mut list = SharedList::default();
        assert_eq!(list.within(0..0).count(), 0);
        for entry in 0..PART * 3 {
            list.push(entry);
        }
        for start in 0..=PART * 3 {
            for end in start..=PART * 3 {
                assert!(list.within(start..end).copied().eq(start..end), "{start}..{end}");
            }
        }
    }
}
