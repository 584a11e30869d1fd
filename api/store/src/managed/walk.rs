//! Walks over objects by the schema: which fields an object has, and which fields a change changed or removed.

use std::cmp::Ordering;

use schema::{Struct, StructId, Table};
use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::form::{Elements, Form, Place, fields_in, items_in};
use super::path_element::{PathElement, same};

/// How one object became another.
#[derive(Debug, Default)]
pub(super) struct Difference<'a> {
    /// What is new or has another value.
    pub changed: FieldSet<'a>,
    /// What is gone.
    pub removed: FieldSet<'a>,
}

/// The fields that are set in `object`, as the one who applies it owns them.
pub(super) fn fields_of<'a>(table: &'a Table, id: StructId, object: &'a Value) -> FieldSet<'a> {
    Walk { table }.struct_fields(table.get(id), object)
}

/// How the object `old` became `new`.
pub(super) fn compare<'a>(table: &'a Table, id: StructId, old: &'a Value, new: &'a Value) -> Difference<'a> {
    let known = table.get(id);
    Walk { table }.entries(fields_in(Some(old)), fields_in(Some(new)), |name| tracked(known, name))
}

/// The place of a field. Managed fields are no part of the object that they describe.
fn tracked<'a>(known: &'a Struct, name: &str) -> Option<Place<'a>> {
    known.field(name).filter(|_| name != "managedFields").map(Place::of)
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    table: &'a Table,
}

impl<'a> Walk<'a> {
    /// What is set below a place. Whether the place itself is in the set depends on what holds it.
    fn below(self, place: Place<'a>, value: &'a Value) -> FieldSet<'a> {
        match place.form(self.table) {
            Form::Whole => FieldSet::default(),
            Form::Struct(known) => self.struct_fields(known, value),
            Form::Map(entry) => {
                let mut set = FieldSet::default();
                for (name, value) in fields_in(Some(value)).into_iter().flatten() {
                    set.push(PathElement::Field(name), true, self.below(entry, value));
                }
                set
            }
            Form::List(elements) => {
                let mut set = FieldSet::default();
                for group in elements.sorted(items_in(Some(value))).chunk_by(|(a, _), (b, _)| a == b) {
                    // Elements that cannot be told apart are owned together, as one value.
                    let children = match group {
                        [(_, only)] => self.below(elements.place, only),
                        _ => FieldSet::default(),
                    };
                    set.push(group[0].0.clone(), true, children);
                }
                set
            }
        }
    }

    fn struct_fields(self, known: &'a Struct, object: &'a Value) -> FieldSet<'a> {
        let mut set = FieldSet::default();
        for (name, value) in fields_in(Some(object)).into_iter().flatten() {
            let Some(place) = tracked(known, name) else { continue };
            let empty = match value {
                Value::Null => true,
                Value::Object(fields) => fields.is_empty(),
                _ => false,
            };
            let member = empty || matches!(place.form(self.table), Form::Whole);
            set.push(PathElement::Field(name), member, self.below(place, value));
        }
        set
    }

    /// Compares the entries of two objects; `place` tells what an entry is, or that it is not looked at.
    fn entries(
        self,
        old: Option<&'a Map<String, Value>>,
        new: Option<&'a Map<String, Value>>,
        place: impl Fn(&str) -> Option<Place<'a>>,
    ) -> Difference<'a> {
        let mut difference = Difference::default();
        let mut visit = |name: &'a str, old: Option<&'a Value>, new: Option<&'a Value>| {
            if let Some(place) = place(name) {
                self.part(&mut difference, PathElement::Field(name), place, old, new);
            }
        };
        let mut olds = old.into_iter().flatten().peekable();
        for (name, value) in new.into_iter().flatten() {
            while let Some((gone, old)) = olds.next_if(|(old, _)| *old < name) {
                visit(gone, Some(old), None);
            }
            visit(name, olds.next_if(|(old, _)| *old == name).map(|(_, old)| old), Some(value));
        }
        for (gone, old) in olds {
            visit(gone, Some(old), None);
        }
        difference
    }

    /// Compares what is at one path element below, of which at least one is there.
    fn part(
        self,
        difference: &mut Difference<'a>,
        path_element: PathElement<'a>,
        place: Place<'a>,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) {
        let inner = match place.form(self.table) {
            Form::Struct(known) => {
                let (old, new) = (fields_in(old), fields_in(new));
                (old.is_some() || new.is_some()).then(|| self.entries(old, new, |name| tracked(known, name)))
            }
            Form::Map(entry) => {
                let (old, new) = (fields_in(old), fields_in(new));
                (old.is_some() || new.is_some()).then(|| self.entries(old, new, |_| Some(entry)))
            }
            Form::List(elements) => {
                let (old, new) = (items_in(old), items_in(new));
                (!old.is_empty() || !new.is_empty()).then(|| self.elements(elements, old, new))
            }
            Form::Whole => None,
        };
        let (added, gone) = (old.is_none(), new.is_none());
        // Where nothing is inside, the place is one value, so that an empty one differs from none.
        let changed = match (&inner, old, new) {
            (None, Some(old), Some(new)) => !same(old, new),
            _ => added,
        };
        let inner = inner.unwrap_or_default();
        match (changed || !inner.changed.is_empty(), gone || !inner.removed.is_empty()) {
            (true, true) => {
                difference.changed.push(path_element.clone(), changed, inner.changed);
                difference.removed.push(path_element, gone, inner.removed);
            }
            (true, false) => difference.changed.push(path_element, changed, inner.changed),
            (false, true) => difference.removed.push(path_element, gone, inner.removed),
            (false, false) => {}
        }
    }

    fn elements(self, elements: Elements<'a>, old: &'a [Value], new: &'a [Value]) -> Difference<'a> {
        let mut difference = Difference::default();
        let (olds, news) = (elements.sorted(old), elements.sorted(new));
        let mut olds = olds.chunk_by(|(a, _), (b, _)| a == b).peekable();
        let mut news = news.chunk_by(|(a, _), (b, _)| a == b).peekable();
        loop {
            let order = match (olds.peek(), news.peek()) {
                (Some(old), Some(new)) => old[0].0.cmp(&new[0].0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return difference,
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            self.element(&mut difference, elements.place, old.unwrap_or_default(), new.unwrap_or_default());
        }
    }

    /// Compares all elements that have the same path element. Several of them are one value.
    fn element(
        self,
        difference: &mut Difference<'a>,
        place: Place<'a>,
        old: &[(PathElement<'a>, &'a Value)],
        new: &[(PathElement<'a>, &'a Value)],
    ) {
        let Some((path_element, _)) = old.first().or(new.first()) else { return };
        let first = |elements: &[(PathElement<'a>, &'a Value)]| elements.first().map(|(_, value)| *value);
        let alone = |old, new| {
            let mut inner = Difference::default();
            self.part(&mut inner, path_element.clone(), place, old, new);
            inner
        };
        let whole = || FieldSet::only(path_element.clone());
        let found = match (old.len(), new.len()) {
            (0 | 1, 0 | 1) => alone(first(old), first(new)),
            (2.., 2..) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|((_, a), (_, b))| same(a, b));
                Difference {
                    changed: if equal { FieldSet::default() } else { whole() },
                    ..Difference::default()
                }
            }
            (2.., _) => {
                let inner = if new.is_empty() { Difference::default() } else { alone(None, first(new)) };
                Difference { changed: inner.changed, removed: inner.removed.union(whole()) }
            }
            (_, _) => {
                let inner = if old.is_empty() { Difference::default() } else { alone(first(old), None) };
                Difference { changed: inner.changed.union(whole()), removed: inner.removed }
            }
        };
        difference.changed.nodes.extend(found.changed.nodes);
        difference.removed.nodes.extend(found.removed.nodes);
    }
}
