//! Which class of devices stands for which resource that pods ask for by name.
//!
//! Invariant: this follows from the classes alone, not from the order in which they came. A class stands for the resource of
//! its own name, and for another if it says so; of several that say the same, the newest does, or of equally new ones the
//! first by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::Class;
use model::pod::Shape;

/// What comes before the name of a class in the name of the resource that it always stands for.
pub const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// The class of each resource.
#[must_use]
pub fn resource_classes<'c>(classes: impl IntoIterator<Item = &'c Class>) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut all: Vec<&Class> = classes.into_iter().collect();
    // Of two classes for one resource the last counts.
    all.sort_by_key(|class| (class.created, Reverse(&class.name)));
    let said = all.iter().filter_map(|class| Some((class.resource.clone()?, class.name.clone())));
    let own = all.iter().map(|class| (format!("{CLASS_PREFIX}{}", class.name).into(), class.name.clone()));
    said.chain(own).collect()
}

/// Which class stands for which resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceClasses(BTreeMap<Arc<str>, Arc<str>>);

impl ResourceClasses {
    /// What these classes stand for.
    #[must_use]
    pub fn new<'c>(classes: impl IntoIterator<Item = &'c Class>) -> ResourceClasses {
        ResourceClasses(resource_classes(classes))
    }

    /// The resources, in order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.keys()
    }

    /// A resource that a class stands for, and the class.
    #[must_use]
    pub fn get(&self, resource: &str) -> Option<(&Arc<str>, &Arc<str>)> {
        self.0.get_key_value(resource)
    }

    /// The classes that may stand for something that a pod asks for.
    pub fn classes_of(&self, shape: &Shape) -> impl Iterator<Item = &Arc<str>> {
        let names = shape.device_containers.iter().flat_map(|container| container.amounts.keys());
        names.filter_map(|name| self.0.get(name))
    }
}

#[cfg(test)]
mod tests {
    use model::timestamp::Timestamp;

    use super::*;

    fn class(name: &str, resource: Option<&str>, created: i64) -> Class {
        Class {
            name: name.into(),
            resource: resource.map(Into::into),
            created: Some(Timestamp::from_micros(created)),
            ..Class::default()
        }
    }

    #[test]
    fn a_class_stands_for_its_own_name_and_for_what_it_says() {
        let classes = [class("a", Some("example.com/gpu"), 1), class("b", None, 1)];
        let expected: BTreeMap<Arc<str>, Arc<str>> = [
            ("example.com/gpu".into(), "a".into()),
            ("deviceclass.resource.kubernetes.io/a".into(), "a".into()),
            ("deviceclass.resource.kubernetes.io/b".into(), "b".into()),
        ]
        .into();
        assert_eq!(resource_classes(&classes), expected);
    }

    #[test]
    fn the_newest_stands_for_what_several_say_and_the_first_by_name_of_equally_new_ones() {
        let said = |classes: &[Class]| resource_classes(classes)["example.com/gpu"].to_string();
        let gpu = |name: &str, created: i64| class(name, Some("example.com/gpu"), created);
        assert_eq!(said(&[gpu("a", 1), gpu("b", 2)]), "b");
        assert_eq!(said(&[gpu("b", 2), gpu("a", 1)]), "b");
        assert_eq!(said(&[gpu("a", 2), gpu("b", 2)]), "a");
        assert_eq!(said(&[gpu("b", 2), gpu("a", 2)]), "a");
    }
}
