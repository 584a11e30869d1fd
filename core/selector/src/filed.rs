//! Values by domain and id, close together in memory.
//!
//! Invariant: domains are sorted by name, the entries of a domain by id, and the entries of all domains stand in one row.
//! The names are apart from the values, so that devices with the same names can share them: then a lookup touches names
//! that the last one has just touched, and of the device only the value.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

/// Values by domain and id.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Filed<T> {
    layout: Arc<Layout>,
    /// One for each entry of the layout.
    values: Vec<T>,
}

/// The names: which entries there are, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// A number that no other layout ever had, once it is shared; zero before.
    number: u64,
    /// All names in one text.
    names: String,
    domains: Vec<Domain>,
    entries: Vec<QualifiedName>,
}

/// The number of the next layout that is shared.
static LAYOUTS: AtomicU64 = AtomicU64::new(1);

/// How many places a sighting can tell apart.
const PLACES: u64 = 1 << 16;
/// The place of a name that is not there: no row is that long.
const ABSENT: u64 = PLACES - 1;

/// How many layouts a sighting remembers.
const SIGHTINGS: usize = 4;

/// Where a name was found last, in which layouts.
///
/// It only makes finding faster: what it says counts for the very same layout, and is checked for any other.
#[derive(Debug)]
pub(crate) struct Sighting {
    /// Each the number of a layout, and the place in it. Which one is for a layout goes by its number, so that the few
    /// layouts of a driver do not push each other out.
    seen: [AtomicU64; SIGHTINGS],
    /// The question is the same for every device, so that the layout alone decides the answer.
    always_same: bool,
}

impl Sighting {
    pub(crate) fn new(always_same: bool) -> Sighting {
        Sighting { seen: Default::default(), always_same }
    }
}

/// A piece of the names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Span {
    start: u32,
    length: u32,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Domain {
    name: Span,
    first: usize,
    last: usize,
}

/// The name of an entry: an id in a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct QualifiedName {
    domain: Span,
    id: Span,
}

/// The entries of one domain.
#[derive(Debug)]
pub(crate) struct Entries<'a, T> {
    names: &'a str,
    entries: &'a [QualifiedName],
    values: &'a [T],
}

impl<T> Clone for Entries<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Entries<'_, T> {}

impl<T> Default for Entries<'_, T> {
    fn default() -> Self {
        Entries { names: "", entries: &[], values: &[] }
    }
}

impl<T> Default for Filed<T> {
    fn default() -> Self {
        Filed { layout: Arc::default(), values: Vec::new() }
    }
}

impl Ord for Layout {
    /// By the names; the number says nothing about them.
    fn cmp(&self, other: &Self) -> Ordering {
        let names = (&self.names, &self.domains, &self.entries);
        names.cmp(&(&other.names, &other.domains, &other.entries))
    }
}

impl PartialOrd for Layout {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Layout {}

fn text(names: &str, span: Span) -> &str {
    &names[span.start as usize..(span.start + span.length) as usize]
}

impl Layout {
    fn add_name(&mut self, name: &str) -> Span {
        let start = self.names.len() as u32;
        self.names.push_str(name);
        Span { start, length: name.len() as u32 }
    }

    fn search(&self, domain: &str) -> Result<usize, usize> {
        self.domains.binary_search_by(|known| text(&self.names, known.name).cmp(domain))
    }

    fn place(&self, domain: &str, id: &str) -> Option<usize> {
        let domain = &self.domains[self.search(domain).ok()?];
        let entries = &self.entries[domain.first..domain.last];
        Some(domain.first + search(&self.names, entries, id).ok()?)
    }

    /// Whether the entry at a place has this domain and id.
    fn is_at(&self, place: usize, domain: &str, id: &str) -> bool {
        self.entries.get(place).is_some_and(|entry| {
            text(&self.names, entry.id) == id && text(&self.names, entry.domain) == domain
        })
    }
}

fn search(names: &str, entries: &[QualifiedName], id: &str) -> Result<usize, usize> {
    entries.binary_search_by(|known| text(names, known.id).cmp(id))
}

impl<T> Filed<T> {
    /// Sets the value of an id in a domain.
    pub(crate) fn insert(&mut self, domain: &str, id: &str, value: T) {
        let layout = Arc::make_mut(&mut self.layout);
        layout.number = 0;
        let at = match layout.search(domain) {
            Ok(at) => at,
            Err(at) => {
                let first = layout.domains.get(at).map_or(layout.entries.len(), |next| next.first);
                let name = layout.add_name(domain);
                layout.domains.insert(at, Domain { name, first, last: first });
                at
            }
        };
        let Domain { name, first, last } = layout.domains[at];
        match search(&layout.names, &layout.entries[first..last], id) {
            Ok(place) => self.values[first + place] = value,
            Err(place) => {
                let id = layout.add_name(id);
                layout.entries.insert(first + place, QualifiedName { domain: name, id });
                self.values.insert(first + place, value);
                layout.domains[at].last += 1;
                for later in &mut layout.domains[at + 1..] {
                    later.first += 1;
                    later.last += 1;
                }
            }
        }
    }

    /// Takes an equal layout from those that are shared, or adds the own to them.
    pub(crate) fn share(&mut self, layouts: &mut BTreeSet<Arc<Layout>>) {
        if let Some(known) = layouts.get(&self.layout) {
            self.layout = known.clone();
            return;
        }
        if self.layout.number == 0 {
            Arc::make_mut(&mut self.layout).number = LAYOUTS.fetch_add(1, Memory::Relaxed);
        }
        layouts.insert(self.layout.clone());
    }

    /// How many domains there are.
    pub(crate) fn len(&self) -> usize {
        self.layout.domains.len()
    }

    /// A domain by its place in the order of names.
    pub(crate) fn at(&self, index: usize) -> Option<(&str, Entries<'_, T>)> {
        let domain = self.layout.domains.get(index)?;
        Some((text(&self.layout.names, domain.name), self.entries_of(domain)))
    }

    /// All domains, in the order of names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Entries<'_, T>)> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// The entries of a domain, if it has any.
    pub(crate) fn domain(&self, name: &str) -> Option<Entries<'_, T>> {
        let at = self.layout.search(name).ok()?;
        Some(self.entries_of(&self.layout.domains[at]))
    }

    fn entries_of(&self, domain: &Domain) -> Entries<'_, T> {
        let range = domain.first..domain.last;
        Entries {
            names: &self.layout.names,
            entries: &self.layout.entries[range.clone()],
            values: &self.values[range],
        }
    }

    /// The value of an id in a domain. `last` remembers the last answer for this question.
    pub(crate) fn find(&self, domain: &str, id: &str, last: &Sighting) -> Option<&T> {
        let layout = &*self.layout;
        let remembered = &last.seen[layout.number as usize % SIGHTINGS];
        let seen = remembered.load(Memory::Relaxed);
        let guess = (seen % PLACES) as usize;
        if last.always_same && layout.number != 0 && seen / PLACES == layout.number {
            return self.values.get(guess);
        }
        let place = if layout.is_at(guess, domain, id) { Some(guess) } else { layout.place(domain, id) };
        let now = layout.number * PLACES + place.map_or(ABSENT, |place| place as u64);
        if now != seen && place.is_none_or(|place| (place as u64) < ABSENT) {
            remembered.store(now, Memory::Relaxed);
        }
        place.map(|place| &self.values[place])
    }
}

impl<'a, T> Entries<'a, T> {
    pub(crate) fn len(self) -> usize {
        self.entries.len()
    }

    /// The entry with an id.
    pub(crate) fn find(self, id: &str) -> Option<&'a T> {
        search(self.names, self.entries, id).ok().map(|at| &self.values[at])
    }

    /// An entry by its place in the order of ids.
    pub(crate) fn at(self, index: usize) -> Option<(&'a str, &'a T)> {
        let entry = self.entries.get(index)?;
        Some((text(self.names, entry.id), &self.values[index]))
    }

    /// All entries, in the order of ids.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a T)> {
        (0..self.len()).filter_map(move |index| self.at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_whatever_the_order_they_came_in() {
        let mut filed = Filed::default();
        let names = [("b", "z"), ("a", "y"), ("c", "x"), ("a", "x"), ("b", "a"), ("a", "z"), ("b", "z")];
        for (number, (domain, id)) in names.into_iter().enumerate() {
            filed.insert(domain, id, number);
        }
        let all: Vec<(&str, &str, usize)> = filed
            .iter()
            .flat_map(|(domain, ids)| ids.iter().map(move |(id, value)| (domain, id, *value)))
            .collect();
        assert_eq!(
            all,
            [("a", "x", 3), ("a", "y", 1), ("a", "z", 5), ("b", "a", 4), ("b", "z", 6), ("c", "x", 2)]
        );
        assert_eq!(filed.domain("b").and_then(|ids| ids.find("z")), Some(&6));
        assert_eq!(filed.domain("b").and_then(|ids| ids.find("y")), None);
        assert!(filed.domain("d").is_none());
    }

    /// Values of one domain, numbered in the order of names.
    fn row(domain: &str, ids: &[&str]) -> Filed<usize> {
        let mut filed = Filed::default();
        for (number, id) in ids.iter().enumerate() {
            filed.insert(domain, id, number);
        }
        filed
    }

    #[test]
    fn a_sighting_never_changes_what_is_found() {
        let (mut short, mut long) = (row("a", &["m", "x"]), row("a", &["b", "m", "n", "x"]));
        let mut other = row("b", &["m", "x"]);
        let mut layouts = BTreeSet::new();
        for shared in [false, true] {
            if shared {
                [&mut short, &mut long, &mut other].into_iter().for_each(|filed| filed.share(&mut layouts));
            }
            for always_same in [false, true] {
                let (present, absent) = (Sighting::new(always_same), Sighting::new(always_same));
                for _ in 0..3 {
                    assert_eq!(short.find("a", "x", &present), Some(&1));
                    assert_eq!(long.find("a", "x", &present), Some(&3));
                    assert_eq!(other.find("a", "x", &present), None);
                    assert_eq!(short.find("a", "n", &absent), None);
                    assert_eq!(short.find("a", "n", &absent), None);
                    assert_eq!(long.find("a", "n", &absent), Some(&2));
                }
            }
        }
    }

    #[test]
    fn a_domain_that_varies_is_looked_at_even_in_a_known_layout() {
        let mut filed = row("a", &["x"]);
        filed.insert("b", "x", 7);
        filed.share(&mut BTreeSet::new());
        let last = Sighting::new(false);
        for _ in 0..3 {
            assert_eq!(filed.find("a", "x", &last), Some(&0));
            assert_eq!(filed.find("b", "x", &last), Some(&7));
            assert_eq!(filed.find("c", "x", &last), None);
        }
    }

    #[test]
    fn a_shared_layout_is_copied_before_it_changes() {
        let (mut first, mut second) = (row("a", &["x"]), row("a", &["x"]));
        let mut layouts = BTreeSet::new();
        first.share(&mut layouts);
        second.share(&mut layouts);
        assert!(Arc::ptr_eq(&first.layout, &second.layout));
        let last = Sighting::new(true);
        assert_eq!(first.find("a", "w", &last), None);
        second.insert("a", "w", 3);
        assert_eq!(first.find("a", "w", &last), None);
        assert_eq!(second.find("a", "w", &last), Some(&3));
        assert_eq!(second.find("a", "x", &Sighting::new(true)), Some(&0));
    }
}
