//! Sets of completion indexes, as a job's status writes them: `1,3-5,7`.
//!
//! Invariant: ranges are in order, and no two of them touch. A job of a hundred thousand indexes that end more or less in
//! order has a handful of ranges.

use std::fmt;

/// A set of indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes {
    /// First and last of each range.
    ranges: Vec<(u32, u32)>,
}

impl Indexes {
    /// Reads what a status says, up to the number of completions. What cannot be read is left out.
    pub(super) fn parse(text: &str, completions: u32) -> Self {
        let mut indexes = Self::default();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
            if completions > 0 && first < completions {
                indexes.insert_range(first, last.min(completions - 1));
            }
        }
        indexes
    }

    /// Adds an index; says whether it is new.
    pub(super) fn insert(&mut self, index: u32) -> bool {
        let is_new = !self.contains(index);
        if is_new {
            self.insert_range(index, index);
        }
        is_new
    }

    pub(super) fn contains(&self, index: u32) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < index);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// How many indexes there are.
    pub(super) fn len(&self) -> u32 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// How many indexes there are in both.
    pub(super) fn overlap(&self, other: &Self) -> u32 {
        let shared = |&(first, last): &(u32, u32)| -> u32 {
            let overlap = |&(from, to): &(u32, u32)| (to.min(last) + 1).saturating_sub(from.max(first));
            other.ranges.iter().map(overlap).sum()
        };
        self.ranges.iter().map(shared).sum()
    }

    fn insert_range(&mut self, first: u32, last: u32) {
        if last < first {
            return;
        }
        // Ranges that overlap the new one, or end right before or begin right after it, become one with it.
        let from = self.ranges.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = self.ranges.partition_point(|(begin, _)| *begin <= last.saturating_add(1));
        let joined = self.ranges[from..to]
            .iter()
            .fold((first, last), |joined, range| (joined.0.min(range.0), joined.1.max(range.1)));
        self.ranges.splice(from..to, [joined]);
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_and_writes_what_kubernetes_does() {
        let table = [
            ("", "", 0),
            ("1,3-5,7", "1,3-5,7", 5),
            ("0,1", "0,1", 2),
            ("1,2,3", "1-3", 3),
            ("2-4,3-8", "2-8", 7),
            ("5-20", "5-9", 5),
            ("x,3,4-y,-1", "3", 1),
            ("11", "", 0),
        ];
        for (text, written, len) in table {
            let indexes = Indexes::parse(text, 10);
            assert_eq!((indexes.to_string().as_str(), indexes.len()), (written, len), "{text}");
        }
    }

    #[test]
    fn ranges_grow_together() {
        let mut indexes = Indexes::default();
        for index in [4, 0, 2, 9, 3, 1, 4] {
            indexes.insert(index);
        }
        assert_eq!(indexes.to_string(), "0-4,9");
        assert!(indexes.contains(2) && indexes.contains(9) && !indexes.contains(5));
        assert!(!indexes.insert(3) && indexes.insert(5));
    }

    #[test]
    fn two_sets_know_what_they_share() {
        let (left, right) = (Indexes::parse("0-4,8", 10), Indexes::parse("3-8", 10));
        assert_eq!((left.overlap(&right), right.overlap(&left)), (3, 3));
    }
}
