//! Values by domain and id, close together in memory.
//!
//! Invariant: domains are sorted by name, the entries of a domain by id, and the entries of all domains stand in one row.
//! All names are in one text. A lookup touches a few neighbouring cache lines instead of an allocation for each name.

/// Values by domain and id.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Filed<T> {
    names: String,
    domains: Vec<Domain>,
    entries: Vec<Entry<T>>,
}

/// A piece of the names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: u32,
    length: u32,
}

#[derive(Clone, PartialEq, Debug)]
struct Domain {
    name: Span,
    first: usize,
    last: usize,
}

#[derive(Clone, PartialEq, Debug)]
struct Entry<T> {
    id: Span,
    value: T,
}

/// The entries of one domain.
#[derive(Debug)]
pub(crate) struct Entries<'a, T> {
    names: &'a str,
    entries: &'a [Entry<T>],
}

impl<T> Clone for Entries<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Entries<'_, T> {}

impl<T> Default for Entries<'_, T> {
    fn default() -> Self {
        Entries { names: "", entries: &[] }
    }
}

impl<T> Default for Filed<T> {
    fn default() -> Self {
        Filed { names: String::new(), domains: Vec::new(), entries: Vec::new() }
    }
}

fn text(names: &str, span: Span) -> &str {
    &names[span.start as usize..(span.start + span.length) as usize]
}

impl<T> Filed<T> {
    /// Sets the value of an id in a domain.
    pub(crate) fn insert(&mut self, domain: &str, id: &str, value: T) {
        let names = &self.names;
        let at = match self.domains.binary_search_by(|known| text(names, known.name).cmp(domain)) {
            Ok(at) => at,
            Err(at) => {
                let first = self.domains.get(at).map_or(self.entries.len(), |next| next.first);
                let name = self.add_name(domain);
                self.domains.insert(at, Domain { name, first, last: first });
                at
            }
        };
        let (first, last) = (self.domains[at].first, self.domains[at].last);
        let names = &self.names;
        match self.entries[first..last].binary_search_by(|known| text(names, known.id).cmp(id)) {
            Ok(place) => self.entries[first + place].value = value,
            Err(place) => {
                let id = self.add_name(id);
                self.entries.insert(first + place, Entry { id, value });
                self.domains[at].last += 1;
                for later in &mut self.domains[at + 1..] {
                    later.first += 1;
                    later.last += 1;
                }
            }
        }
    }

    fn add_name(&mut self, name: &str) -> Span {
        let start = self.names.len() as u32;
        self.names.push_str(name);
        Span { start, length: name.len() as u32 }
    }

    /// How many domains there are.
    pub(crate) fn len(&self) -> usize {
        self.domains.len()
    }

    /// A domain by its place in the order of names.
    pub(crate) fn at(&self, index: usize) -> Option<(&str, Entries<'_, T>)> {
        let domain = self.domains.get(index)?;
        Some((text(&self.names, domain.name), self.entries_of(domain)))
    }

    /// All domains, in the order of names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Entries<'_, T>)> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// The entries of a domain, if it has any.
    pub(crate) fn domain(&self, name: &str) -> Option<Entries<'_, T>> {
        let at = self.domains.binary_search_by(|known| text(&self.names, known.name).cmp(name)).ok()?;
        Some(self.entries_of(&self.domains[at]))
    }

    fn entries_of(&self, domain: &Domain) -> Entries<'_, T> {
        Entries { names: &self.names, entries: &self.entries[domain.first..domain.last] }
    }
}

impl<'a, T> Entries<'a, T> {
    pub(crate) fn len(self) -> usize {
        self.entries.len()
    }

    /// The entry with an id.
    pub(crate) fn find(self, id: &str) -> Option<&'a T> {
        let at = self.entries.binary_search_by(|known| text(self.names, known.id).cmp(id)).ok()?;
        Some(&self.entries[at].value)
    }

    /// An entry by its place in the order of ids.
    pub(crate) fn at(self, index: usize) -> Option<(&'a str, &'a T)> {
        let entry = self.entries.get(index)?;
        Some((text(self.names, entry.id), &entry.value))
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
}
