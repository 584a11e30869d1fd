//! For which namespaces an explanation may name pods and claims. Those of others are counted, and never named.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::claim::ClaimId;
use model::pod::PodId;

/// Of which namespaces objects may be named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Of all.
    AllNamespaces,
    /// Of these.
    Namespaces(BTreeSet<Arc<str>>),
}

/// An object that is named only to an audience that may know of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shown<T> {
    /// It may be named.
    Named(T),
    /// It is in a namespace that the audience may not see.
    Hidden,
}

impl<T> Shown<T> {
    /// The object, if it may be named.
    #[must_use]
    pub fn named(&self) -> Option<&T> {
        match self {
            Shown::Named(object) => Some(object),
            Shown::Hidden => None,
        }
    }
}

/// Objects that are in a namespace.
pub trait Namespaced {
    /// The namespace.
    fn namespace(&self) -> &Arc<str>;
}

impl Namespaced for PodId {
    fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }
}

impl Namespaced for ClaimId {
    fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }
}

impl Audience {
    /// An audience that may see one namespace.
    #[must_use]
    pub fn of(namespace: &str) -> Audience {
        Audience::Namespaces([namespace.into()].into())
    }

    /// Whether objects of a namespace may be named.
    #[must_use]
    pub fn sees(&self, namespace: &str) -> bool {
        match self {
            Audience::AllNamespaces => true,
            Audience::Namespaces(seen) => seen.contains(namespace),
        }
    }

    /// An object as it is shown.
    pub fn show<T: Namespaced>(&self, object: T) -> Shown<T> {
        if self.sees(object.namespace()) { Shown::Named(object) } else { Shown::Hidden }
    }

    /// A reference to an object as it may be told on.
    pub(crate) fn mask<T: Namespaced>(&self, shown: &mut Shown<T>) {
        if shown.named().is_some_and(|object| !self.sees(object.namespace())) {
            *shown = Shown::Hidden;
        }
    }
}
