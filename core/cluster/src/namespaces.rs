//! Namespaces with their labels, by which rules about pods may pick them.

use std::collections::BTreeMap;
use std::sync::Arc;

type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// All namespaces by name.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    labels: BTreeMap<Arc<str>, Labels>,
    revision: u64,
}

impl Namespaces {
    /// Adds or replaces a namespace.
    pub fn apply(&mut self, name: Arc<str>, labels: Labels) {
        if self.labels.get(&name) != Some(&labels) {
            self.labels.insert(name, labels);
            self.revision += 1;
        }
    }

    /// Takes a namespace away.
    pub fn remove(&mut self, name: &str) {
        self.revision += u64::from(self.labels.remove(name).is_some());
    }

    /// Grows with every change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
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
