//! Objects as the API told of them or answered, whichever is newer.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Event, Gone};
use objects::Object;

/// An object by its namespace and its name.
pub(super) type Name = (String, String);

/// All objects of a kind.
#[derive(Debug)]
pub(super) struct Known<K> {
    objects: BTreeMap<Name, Arc<K>>,
    pub(super) is_synced: bool,
}

impl<K> Default for Known<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), is_synced: false }
    }
}

pub(super) fn name_of<K: Object>(object: &K) -> Name {
    (object.metadata().namespace.clone(), object.metadata().name.clone())
}

impl<K: Object> Known<K> {
    pub(super) fn get(&self, name: &Name) -> Option<&Arc<K>> {
        self.objects.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.objects.keys()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Name, &Arc<K>)> {
        self.objects.iter()
    }

    /// Takes in what a watch says, and says which object it is about, if that is news. What we wrote ourselves is none.
    pub(super) fn hear(&mut self, event: Event<K>) -> Option<Name> {
        match event {
            Event::Applied(object) => {
                let name = name_of(&object);
                self.learn(object).then_some(name)
            }
            Event::Deleted(object) => {
                let name = name_of(&object);
                self.forget(&name, &object.metadata().uid);
                Some(name)
            }
            Event::Vanished(Gone { namespace, name, uid }) => {
                let name = (namespace, name);
                self.forget(&name, &uid);
                Some(name)
            }
            Event::Synced { .. } => {
                self.is_synced = true;
                None
            }
            Event::Progressed { .. } | Event::Unreadable { .. } | Event::Interrupted { .. } => None,
        }
    }

    /// Takes in an object, unless a newer state of it is known, and says whether that is news. An answer may overtake a watch, and a
    /// watch an answer.
    pub(super) fn learn(&mut self, object: K) -> bool {
        let metadata = object.metadata();
        let name = name_of(&object);
        // The answer to whoever takes its last finalizer away is its last state, of the version before.
        if metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty() {
            let was_known = self.objects.contains_key(&name);
            self.forget(&name, &metadata.uid);
            return was_known;
        }
        let version = |object: &K| object.metadata().resource_version.parse::<u64>().ok();
        let known = self.objects.get(&name).filter(|known| known.metadata().uid == metadata.uid);
        let order = known.and_then(|known| Some(version(&object)?.cmp(&version(known)?)));
        if order != Some(Ordering::Less) {
            self.objects.insert(name, Arc::new(object));
        }
        !matches!(order, Some(Ordering::Less | Ordering::Equal))
    }

    fn forget(&mut self, name: &Name, uid: &str) {
        if self.objects.get(name).is_some_and(|known| uid.is_empty() || known.metadata().uid == uid) {
            self.objects.remove(name);
        }
    }
}
