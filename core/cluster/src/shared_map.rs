//! A map of which a copy costs little: it shares with the original what neither has changed since.
//!
//! Invariant: which entry is in which part follows from its key, so that two maps with the same entries have them in the same parts.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

/// In how many parts a map is. What is changed for the first time since a copy was made costs a copy of its part.
const PARTS: usize = 128;

/// A map in parts that copies share.
#[derive(Clone, Debug)]
pub struct SharedMap<K, V> {
    /// None as long as there never was an entry.
    parts: Vec<Arc<FxHashMap<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap { parts: Vec::new(), len: 0 }
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &SharedMap<K, V>) -> bool {
        // One of them may never have had an entry.
        self.len == other.len
            && (self.len == 0
                || self
                    .parts
                    .iter()
                    .zip(&other.parts)
                    .all(|(one, other)| Arc::ptr_eq(one, other) || one == other))
    }
}

/// The part of a key. Maps find their entries by the lowest and the highest bits of a hash, so that these are of no use here.
fn part_of<Q: Hash + ?Sized>(key: &Q) -> usize {
    (FxBuildHasher.hash_one(key) >> 40) as usize % PARTS
}

impl<K: Eq + Hash + Clone, V: Clone> SharedMap<K, V> {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        if self.len == 0 { None } else { self.parts[part_of(key)].get(key) }
    }

    /// Whether a key has a value.
    #[must_use]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        Arc::make_mut(&mut self.parts[part_of(key)]).get_mut(key)
    }

    /// Gives a key a value, and tells the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.part_mut(&key).insert(key, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// The value of a key, which is made if there is none.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        if !self.contains_key(&key) {
            self.len += 1;
        }
        self.part_mut(&key).entry(key).or_insert_with(value)
    }

    /// Takes a key away, and tells its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        self.len -= 1;
        Arc::make_mut(&mut self.parts[part_of(key)]).remove(key)
    }

    /// All entries, in an order that follows from the keys and from how they came.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// All values, in the same order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    fn part_mut(&mut self, key: &K) -> &mut FxHashMap<K, V> {
        if self.parts.is_empty() {
            self.parts = (0..PARTS).map(|_| Arc::default()).collect();
        }
        Arc::make_mut(&mut self.parts[part_of(key)])
    }
}

#[cfg(test)]
mod tests {
    use super::SharedMap;

    #[test]
    fn a_copy_and_its_original_change_apart() {
        let mut map: SharedMap<u32, u32> = SharedMap::default();
        assert!(map.is_empty() && map.get(&1).is_none() && map.remove(&1).is_none());
        for key in 0..1_000 {
            map.insert(key, key);
        }
        let copy = map.clone();
        assert_eq!(map.insert(1, 7), Some(1));
        assert_eq!(map.remove(&2), Some(2));
        *map.get_mut(&3).expect("it is there") += 1;
        *map.or_insert_with(1_000, || 0) += 5;
        assert_eq!((map.len(), copy.len()), (1_000, 1_000));
        assert_eq!([1, 2, 3, 1_000].map(|key| map.get(&key).copied()), [Some(7), None, Some(4), Some(5)]);
        assert_eq!([1, 2, 3, 1_000].map(|key| copy.get(&key).copied()), [Some(1), Some(2), Some(3), None]);
        assert_eq!(copy.values().sum::<u32>(), 999 * 500);
        assert_ne!(map, copy);
    }

    #[test]
    fn maps_with_the_same_entries_are_equal_however_they_came() {
        let (mut one, mut other) = (SharedMap::default(), SharedMap::default());
        for key in 0..300_u32 {
            one.insert(key, ());
            other.insert(299 - key, ());
        }
        assert_eq!(one, other);
        for key in 0..300 {
            one.remove(&key);
        }
        assert_ne!(one, other);
        assert_eq!(one, SharedMap::default());
    }
}
