//! Namespaces with their labels, by which rules about pods may pick them.

use std::collections::BTreeMap;
use std::sync::Arc;

type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// All namespaces by name.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    labels: BTreeMap<Arc<str>, Labels>,
}

impl Namespaces {
    /// Adds or replaces a namespace.
    pub fn apply(&mut self, name: Arc<str>, labels: Labels) {
        self.labels.insert(name, labels);
    }

    /// Takes a namespace away.
    pub fn remove(&mut self, name: &str) {
        self.labels.remove(name);
    }

    /// The labels of a namespace, if it is known.
    #[must_use]
    pub fn labels(&self, name: &str) -> Option<&Labels> {
        self.labels.get(name)
    }

    /// The namespaces by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Labels)> {
        self.labels.iter()
    }
}
