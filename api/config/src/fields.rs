//! Walks the tree and takes typed values out of it.
//!
//! Invariant: a value that is not what it must be leaves a fault behind and counts as not set, so the walk goes on and
//! finds the next mistake as well. A field with nothing in it counts as not set, as it does to Kubernetes.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use model::nearest::nearest;
use schema::yaml::tree::{KeyedNode, Node, Place, Value};
use schema::{Path, names};

use crate::fault::{Faults, Problem};

/// A value, its path, and the place where mistakes in it are told. This is where the value is or, for lists and maps,
/// which begin on a later line, where the name of the field is.
#[derive(Clone, Copy)]
pub(crate) struct Item<'t> {
    node: &'t Node,
    pub path: Path<'t>,
    pub at: Place,
}

/// The fields of a map, all of which have known names.
pub(crate) struct Fields<'t> {
    pub item: Item<'t>,
    entries: &'t [KeyedNode],
}

impl<'t> Fields<'t> {
    /// The value of a field, if there is something in it.
    pub(crate) fn get(&'t self, name: &'t str) -> Option<Item<'t>> {
        // Of a field that comes twice the last counts, as in every other YAML that we read.
        let entry = self.entries.iter().rev().find(|entry| entry.key == name)?;
        match entry.node.value {
            Value::Null => None,
            Value::List(_) | Value::Map(_) => {
                Some(Item { node: &entry.node, path: self.item.path.field(name), at: entry.at })
            }
            _ => Some(Item { node: &entry.node, path: self.item.path.field(name), at: entry.node.at }),
        }
    }

    /// Leaves a fault at a field, or at the map if the field is not there.
    pub(crate) fn fault(&self, name: &str, problem: Problem, faults: &mut Faults) {
        let at = self.get(name).map_or(self.item.at, |item| item.at);
        faults.add(at, &self.item.path.field(name), problem);
    }

    pub(crate) fn flag(&self, name: &str, faults: &mut Faults) -> Option<bool> {
        self.get(name)?.flag(faults)
    }

    pub(crate) fn text(&self, name: &str, faults: &mut Faults) -> Option<String> {
        self.get(name)?.text(faults).map(str::to_owned)
    }

    /// A text that counts as not set when it is empty.
    pub(crate) fn filled_text(&self, name: &str, faults: &mut Faults) -> Option<String> {
        self.text(name, faults).filter(|text| !text.is_empty())
    }

    pub(crate) fn whole(&self, name: &str, range: RangeInclusive<i64>, faults: &mut Faults) -> Option<i64> {
        self.get(name)?.whole(range, faults)
    }

    /// A number of 32 bits.
    pub(crate) fn small(&self, name: &str, range: RangeInclusive<i32>, faults: &mut Faults) -> Option<i32> {
        let range = i64::from(*range.start())..=i64::from(*range.end());
        let number = self.whole(name, range, faults)?;
        Some(i32::try_from(number).expect("the range fits 32 bits"))
    }

    pub(crate) fn duration(&self, name: &str, faults: &mut Faults) -> Option<Duration> {
        self.get(name)?.duration(faults)
    }

    /// The elements of a list; none if it is not there.
    pub(crate) fn list<T>(
        &self,
        name: &str,
        faults: &mut Faults,
        read: impl FnMut(&Item<'_>, &mut Faults) -> Option<T>,
    ) -> Vec<T> {
        self.get(name).map_or_else(Vec::new, |item| item.list(faults, read))
    }
}

impl<'t> Item<'t> {
    /// The whole text.
    pub(crate) fn root(node: &'t Node) -> Self {
        Self { node, path: Path::ROOT, at: node.at }
    }

    /// Leaves a fault here.
    pub(crate) fn fault(&self, problem: Problem, faults: &mut Faults) {
        faults.add(self.at, &self.path, problem);
    }

    fn wrong_type(&self, wanted: &'static str, faults: &mut Faults) {
        let found = self.node.value.told();
        self.fault(Problem::WrongType { wanted, found }, faults);
    }

    /// The fields of a map. Names that are not known are faults.
    pub(crate) fn fields(self, known: &[&'static str], faults: &mut Faults) -> Option<Fields<'t>> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a map", faults);
            return None;
        };
        for (index, entry) in entries.iter().enumerate() {
            let path = self.path.field(&entry.key);
            if !known.contains(&entry.key.as_str()) {
                let nearest = nearest(&entry.key, known.iter().copied()).unwrap_or_default();
                faults.add(entry.at, &path, Problem::UnknownField { nearest });
            }
            if let Some(first) = entries[..index].iter().find(|earlier| earlier.key == entry.key) {
                faults.add(entry.at, &path, Problem::RepeatedField { first: first.at.line });
            }
        }
        Some(Fields { item: self, entries })
    }

    /// What `read` makes of each element of a list.
    pub(crate) fn list<T>(
        &self,
        faults: &mut Faults,
        mut read: impl FnMut(&Item<'_>, &mut Faults) -> Option<T>,
    ) -> Vec<T> {
        let Value::List(nodes) = &self.node.value else {
            self.wrong_type("a list", faults);
            return Vec::new();
        };
        let items = nodes.iter().enumerate().map(|(index, node)| Item {
            node,
            path: self.path.index(index),
            at: node.at,
        });
        items.filter_map(|item| read(&item, faults)).collect()
    }

    pub(crate) fn flag(&self, faults: &mut Faults) -> Option<bool> {
        let Value::Bool(flag) = self.node.value else {
            self.wrong_type("true or false", faults);
            return None;
        };
        Some(flag)
    }

    pub(crate) fn text(&self, faults: &mut Faults) -> Option<&'t str> {
        let Value::Text(text) = &self.node.value else {
            self.wrong_type("text", faults);
            return None;
        };
        Some(text)
    }

    /// A text that is the key of a label, or has the form of one.
    pub(crate) fn label_key(&self, faults: &mut Faults) -> Option<Arc<str>> {
        self.name(names::label_key, faults)
    }

    /// A text that is the value of a label.
    pub(crate) fn label_value(&self, faults: &mut Faults) -> Option<Arc<str>> {
        self.name(names::label_value, faults)
    }

    fn name(&self, form: fn(&str) -> names::Faults, faults: &mut Faults) -> Option<Arc<str>> {
        let name = self.text(faults)?;
        let broken = form(name);
        for fault in &broken {
            self.fault(Problem::BadName { name: name.to_owned(), fault }, faults);
        }
        broken.is_empty().then(|| name.into())
    }

    /// A whole number; one that is written with decimals that are zero is one too.
    fn whole(&self, range: RangeInclusive<i64>, faults: &mut Faults) -> Option<i64> {
        let (number, found) = match self.node.value {
            Value::Whole(number) => (number, number.to_string()),
            #[expect(clippy::cast_possible_truncation, reason = "what does not fit is out of every range")]
            Value::Real(number) if number.fract() == 0.0 => (number as i128, format!("{number:e}")),
            _ => {
                self.wrong_type("a whole number", faults);
                return None;
            }
        };
        let (least, most) = range.into_inner();
        let number = i64::try_from(number).ok().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.fault(Problem::OutOfRange { found, least, most }, faults);
        }
        number
    }

    /// A number with or without decimals.
    pub(crate) fn real(&self, faults: &mut Faults) -> Option<f64> {
        match self.node.value {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a rate of this size is no different for a digit less"
            )]
            Value::Whole(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            _ => {
                self.wrong_type("a number", faults);
                None
            }
        }
    }

    fn duration(&self, faults: &mut Faults) -> Option<Duration> {
        let Value::Text(text) = &self.node.value else {
            self.wrong_type("a duration such as 90s or 1h30m", faults);
            return None;
        };
        match model::duration::parse(text) {
            Ok(duration) => Some(duration),
            Err(reason) => {
                self.fault(Problem::BadDuration { text: text.clone(), reason }, faults);
                None
            }
        }
    }

    /// What one of a few texts stands for.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&'static str, T)], faults: &mut Faults) -> Option<T> {
        let text = self.text(faults)?;
        let chosen = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let allowed = choices.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
            self.fault(Problem::UnknownChoice { found: text.to_owned(), allowed }, faults);
        }
        chosen
    }
}
