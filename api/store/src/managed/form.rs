//! How server-side apply sees the places of an object: as one value, or as parts that have owners of their own.

use std::borrow::Cow;

use schema::{Field, Kind, ListKind, Presence, Shape, Struct, Table};
use serde_json::{Map, Value};

use super::path_element::PathElement;

/// A place of the schema.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    pub shape: &'t Shape,
    pub list: &'t ListKind,
    pub atomic: bool,
}

/// What a place is to server-side apply.
#[derive(Clone, Copy)]
pub(super) enum Form<'t> {
    /// One value, whatever is inside.
    Whole,
    /// An object with known fields.
    Struct(&'t Struct),
    /// A map, with the place of its entries.
    Map(Place<'t>),
    /// A list whose elements are told apart.
    List(Elements<'t>),
}

/// The elements of a list that are told apart.
#[derive(Clone, Copy)]
pub(super) struct Elements<'t> {
    pub place: Place<'t>,
    key: Option<(&'t [String], &'t Struct)>,
}

impl<'t> Place<'t> {
    pub fn of(field: &'t Field) -> Self {
        Self { shape: &field.shape, list: &field.list, atomic: field.atomic }
    }

    /// The place of an element or entry, about which the schema says nothing more.
    pub fn inside(shape: &'t Shape) -> Self {
        Self { shape, list: &ListKind::Atomic, atomic: false }
    }

    pub fn form(self, table: &'t Table) -> Form<'t> {
        match (self.shape, self.list) {
            (_, _) if self.atomic => Form::Whole,
            (Shape::Struct(id), _) => {
                let known = table.get(*id);
                if known.atomic { Form::Whole } else { Form::Struct(known) }
            }
            (Shape::Map(entry), _) => Form::Map(Place::inside(entry)),
            (Shape::List(element), ListKind::Set) => {
                Form::List(Elements { place: Place::inside(element), key: None })
            }
            (Shape::List(element), ListKind::Keys(names)) => match &**element {
                Shape::Struct(id) => {
                    Form::List(Elements { place: Place::inside(element), key: Some((names, table.get(*id))) })
                }
                _ => Form::Whole,
            },
            (Shape::List(_) | Shape::Scalar(_) | Shape::Any, _) => Form::Whole,
        }
    }
}

impl<'a> Elements<'a> {
    /// What tells `element` from the others; `Err` says why nothing does.
    pub fn path_element(self, element: &'a Value) -> Result<PathElement<'a>, &'static str> {
        let Some((names, known)) = self.key else {
            return match element {
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    Err("an element of a set must be a single value")
                }
                single => Ok(PathElement::Item(Cow::Borrowed(single))),
            };
        };
        let Value::Object(fields) = element else {
            return Err("an element of a list with keys must be an object");
        };
        let mut key = Vec::with_capacity(names.len());
        for name in names {
            let value = fields.get(name).map(Cow::Borrowed).or_else(|| key_default(known, name));
            key.extend(value.map(|value| (Cow::Borrowed(name.as_str()), value)));
        }
        if key.is_empty() {
            return Err("an element of a list with keys has none of them");
        }
        key.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(PathElement::Key(key))
    }

    /// The elements with their path elements, in the order of path elements; equal ones stay in the list's order.
    pub fn sorted(self, items: &'a [Value]) -> Vec<(PathElement<'a>, &'a Value)> {
        let mut path_elements: Vec<_> = items
            .iter()
            .filter_map(|item| self.path_element(item).ok().map(|path_element| (path_element, item)))
            .collect();
        path_elements.sort_by(|(a, _), (b, _)| a.cmp(b));
        path_elements
    }
}

/// The value that a key has when an element leaves it out: what is documented, else its zero unless it is optional.
fn key_default<'a>(known: &'a Struct, name: &str) -> Option<Cow<'a, Value>> {
    let field = known.field(name)?;
    match (&field.default, &field.shape, field.presence) {
        (Some(default), _, _) => Some(Cow::Borrowed(default)),
        (None, Shape::Scalar(scalar), Presence::Always | Presence::OmitZero) => {
            Some(Cow::Owned(scalar.zero()))
        }
        _ => None,
    }
}

/// The object of a kind in which nothing was set, as it is written.
pub(super) fn nothing(table: &Table, kind: &Kind) -> Value {
    let mut object = Value::Object(Map::new());
    schema::fill(table, kind.object, &mut object);
    object
}

/// The fields of an object, or none.
pub(super) fn fields_in(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|fields| !fields.is_empty())
}

/// The elements of a list, or none.
pub(super) fn items_in(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
