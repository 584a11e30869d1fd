//! Adjusts sets of fields to the schema.

use schema::{Shape, StructId, Table};

use super::fieldset::FieldSet;
use super::form::{Form, Place};
use super::path_element::PathElement;

/// Adds the named fields on the way to a field: `a.b.c` brings `a` and `a.b`, but no entry of a map and no element of
/// a list.
pub(super) fn with_named_fields<'a>(table: &Table, id: StructId, mut set: FieldSet<'a>) -> FieldSet<'a> {
    name_fields(table, Form::Struct(table.get(id)), &mut set);
    set
}

fn name_fields(table: &Table, form: Form<'_>, set: &mut FieldSet<'_>) {
    for node in &mut set.nodes {
        let Some(place) = part(form, &node.path_element) else { continue };
        node.member |= matches!(form, Form::Struct(_)) && !node.children.is_empty();
        name_fields(table, place.form(table), &mut node.children);
    }
}

/// Corrects a set that was written for a schema in which more was told apart than in this one: who owned parts of what
/// is one value now owns the value.
pub(super) fn reconcile(table: &Table, id: StructId, set: &mut FieldSet<'_>) {
    reconcile_below(table, Form::Struct(table.get(id)), set);
}

fn reconcile_below(table: &Table, form: Form<'_>, set: &mut FieldSet<'_>) {
    for node in &mut set.nodes {
        let Some(place) = part(form, &node.path_element) else { continue };
        match place.form(table) {
            Form::Whole if matches!(place.shape, Shape::Scalar(_) | Shape::Any) => {}
            Form::Whole => {
                if !node.children.is_empty() {
                    node.member = true;
                    node.children = FieldSet::default();
                }
            }
            form => reconcile_below(table, form, &mut node.children),
        }
    }
}

/// The place to which a path element leads.
fn part<'t>(form: Form<'t>, path_element: &PathElement<'_>) -> Option<Place<'t>> {
    match (form, path_element) {
        (Form::Struct(known), PathElement::Field(name)) => known.field(name).map(Place::of),
        (Form::Map(entry), PathElement::Field(_)) => Some(entry),
        (Form::List(elements), PathElement::Key(_) | PathElement::Item(_)) => Some(elements.place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::json;

    use super::{reconcile, with_named_fields};
    use crate::managed::fieldset::FieldSet;

    #[test]
    fn fields_on_the_way_are_named_but_entries_and_elements_are_not() {
        let pod = table().kind("v1", "Pod").expect("pods are served").object;
        let fields = json!({"f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}}}}});
        let set = with_named_fields(table(), pod, FieldSet::from_json(&fields).expect("well formed"));
        assert_eq!(
            set.to_json(),
            json!({"f:metadata": {".": {}, "f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:containers": {".": {}, "k:{\"name\":\"c\"}": {"f:image": {}}}}})
        );
    }

    #[test]
    fn who_owned_a_part_of_what_is_one_value_owns_the_value() {
        let pod = table().kind("v1", "Pod").expect("pods are served").object;
        let fields = json!({"f:spec": {"f:nodeSelector": {"f:zone": {}}, "f:hostname": {}}});
        let mut set = FieldSet::from_json(&fields).expect("well formed");
        reconcile(table(), pod, &mut set);
        assert_eq!(set.to_json(), json!({"f:spec": {"f:nodeSelector": {}, "f:hostname": {}}}));
    }
}
