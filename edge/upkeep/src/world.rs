//! What is there: the objects of every kind that is followed, each found by its name, its owners and its marks.
//!
//! Invariant: an object is never replaced by an older state of itself, and one that is gone does not come back, whether
//! it was heard of by a stream or learnt from the answer to a write.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use model::timestamp::Timestamp;
use objects::Object;

use crate::kinds::{Followed, Mark};

/// A namespace and a name.
pub(crate) type Name = (String, String);

/// How many objects of a kind are remembered that are gone: what is said of them late is not believed.
const GONE_MAX: usize = 4096;

/// Everything that is followed.
pub(crate) struct World {
    /// When it was last looked at the clock.
    pub(crate) now: Timestamp,
    tables: HashMap<TypeId, Box<dyn Any + Send>>,
}

impl Default for World {
    fn default() -> Self {
        Self { now: Timestamp::from_micros(0), tables: HashMap::new() }
    }
}

/// The objects of one kind, each with the time since when it is known to be as it is.
struct Table<K> {
    objects: BTreeMap<Name, (Arc<K>, Timestamp)>,
    /// Objects that an answer told of before the stream did, with their version: what the stream says until it has come so far
    /// is about an older state, or about another object of the name.
    ahead: BTreeMap<Name, u64>,
    marked: BTreeMap<Mark, BTreeSet<Name>>,
    gone: Gone,
    is_served: bool,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        let (objects, ahead, marked) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { objects, ahead, marked, gone: Gone::default(), is_served: false }
    }
}

/// An object that is otherwise than before, is new, or is gone.
pub(crate) struct Change {
    before: Option<Arc<dyn Any + Send + Sync>>,
    after: Option<Arc<dyn Any + Send + Sync>>,
}

/// A change of an object whose kind is known.
pub(crate) struct Changed<'a, K> {
    /// What it was, unless it is new.
    pub(crate) before: Option<&'a K>,
    /// What it is, unless it is gone.
    pub(crate) after: Option<&'a K>,
}

impl Change {
    /// The change, if it is one of this kind.
    pub(crate) fn of<K: Followed>(&self) -> Option<Changed<'_, K>> {
        let before = self.before.as_ref().and_then(|object| object.downcast_ref::<K>());
        let after = self.after.as_ref().and_then(|object| object.downcast_ref::<K>());
        (before.is_some() || after.is_some()).then_some(Changed { before, after })
    }
}

impl<'a, K> Changed<'a, K> {
    /// The object as it was last seen.
    pub(crate) fn object(&self) -> &'a K {
        self.after.or(self.before).expect("a change is about something")
    }
}

impl World {
    /// An object by its name.
    pub(crate) fn get<K: Followed>(&self, name: &Name) -> Option<&Arc<K>> {
        self.table::<K>()?.objects.get(name).map(|(object, _)| object)
    }

    /// Since when an object is as it is, as far as we know.
    pub(crate) fn since<K: Followed>(&self, name: &Name) -> Option<Timestamp> {
        self.table::<K>()?.objects.get(name).map(|(_, since)| *since)
    }

    /// All objects of a kind.
    pub(crate) fn all<K: Followed>(&self) -> impl Iterator<Item = &Arc<K>> {
        self.table::<K>().into_iter().flat_map(|table| table.objects.values()).map(|(object, _)| object)
    }

    /// The objects of a kind in a namespace.
    pub(crate) fn within<'a, K: Followed>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<K>> {
        let from = (namespace.to_owned(), String::new());
        let objects =
            self.table::<K>().into_iter().flat_map(move |table| table.objects.range(from.clone()..));
        objects.take_while(move |((home, _), _)| home == namespace).map(|(_, (object, _))| object)
    }

    /// The objects of a kind that have a mark.
    pub(crate) fn marked<K: Followed>(&self, mark: &Mark) -> impl Iterator<Item = &Arc<K>> + use<'_, K> {
        let table = self.table::<K>();
        let names = table.and_then(|table| table.marked.get(mark)).into_iter().flatten();
        names.filter_map(move |name| table?.objects.get(name).map(|(object, _)| object))
    }

    /// The objects of a kind that have an owner of this uid.
    pub(crate) fn owned<K: Followed>(&self, uid: &str) -> impl Iterator<Item = &Arc<K>> + use<'_, K> {
        self.marked::<K>(&Mark::Owner(uid.to_owned()))
    }

    /// Whether the object of this uid was there and is gone. Of one that went long ago this is not known.
    pub(crate) fn is_gone<K: Followed>(&self, uid: &str) -> bool {
        self.table::<K>().is_some_and(|table| table.gone.contains(uid))
    }

    /// Whether the server has this kind at all.
    pub(crate) fn serves<K: Followed>(&self) -> bool {
        self.table::<K>().is_some_and(|table| table.is_served)
    }

    /// The server has this kind.
    pub(crate) fn serve<K: Followed>(&mut self) {
        self.table_mut::<K>().is_served = true;
    }

    /// A stream says that an object is there. It may be late.
    pub(crate) fn heard<K: Followed>(&mut self, object: K) -> Option<Change> {
        let table = self.table_mut::<K>();
        let name = name(&object);
        let is_late = |ahead: &u64| version(&object.metadata().resource_version) < *ahead;
        if table.ahead.get(&name).is_some_and(is_late) {
            return None;
        }
        table.ahead.remove(&name);
        Some(self.applied(object))
    }

    /// An object is there.
    fn applied<K: Followed>(&mut self, object: K) -> Change {
        let after = Arc::new(without_history(object));
        let now = self.now;
        let before = self.table_mut::<K>().keep(after.clone(), now);
        Change { before: before.map(|object| object as _), after: Some(after) }
    }

    /// A stream says that an object is gone.
    pub(crate) fn gone<K: Followed>(&mut self, name: &Name, uid: &str) -> Option<Change> {
        let table = self.table_mut::<K>();
        table.gone.insert(uid);
        // Another of its name may have been made since, which an answer told.
        let known = table.objects.get(name)?;
        if known.0.metadata().uid != uid {
            return None;
        }
        table.ahead.remove(name);
        let before = table.forget(name)?;
        Some(Change { before: Some(before), after: None })
    }

    /// The answer to a write says what an object is. The stream may have said more of it already.
    pub(crate) fn learnt<K: Followed>(&mut self, object: K) -> Option<Change> {
        let metadata = object.metadata().clone();
        let table = self.table_mut::<K>();
        if table.gone.contains(&metadata.uid) {
            return None;
        }
        let known = table.objects.get(&name(&object)).map(|(known, _)| known.metadata());
        let is_old = known
            .is_some_and(|known| version(&known.resource_version) >= version(&metadata.resource_version));
        if is_old {
            return None;
        }
        table.ahead.insert(name(&object), version(&metadata.resource_version));
        Some(self.applied(object))
    }

    fn table<K: Followed>(&self) -> Option<&Table<K>> {
        self.tables.get(&TypeId::of::<K>())?.downcast_ref()
    }

    fn table_mut<K: Followed>(&mut self) -> &mut Table<K> {
        let table = self.tables.entry(TypeId::of::<K>()).or_insert_with(|| Box::new(Table::<K>::default()));
        table.downcast_mut().expect("a table is kept by its own type")
    }
}

impl<K: Followed> Table<K> {
    fn keep(&mut self, object: Arc<K>, now: Timestamp) -> Option<Arc<K>> {
        let name = name(&*object);
        let before = self.forget(&name);
        for mark in marks(&*object) {
            self.marked.entry(mark).or_default().insert(name.clone());
        }
        self.objects.insert(name, (object, now));
        before
    }

    fn forget(&mut self, name: &Name) -> Option<Arc<K>> {
        let (object, _) = self.objects.remove(name)?;
        for mark in marks(&*object) {
            if let Some(names) = self.marked.get_mut(&mark) {
                names.remove(name);
                if names.is_empty() {
                    self.marked.remove(&mark);
                }
            }
        }
        Some(object)
    }
}

/// Uids of the last objects that went.
#[derive(Default)]
struct Gone {
    uids: HashSet<String>,
    order: VecDeque<String>,
}

impl Gone {
    fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }

    fn insert(&mut self, uid: &str) {
        if !self.uids.insert(uid.to_owned()) {
            return;
        }
        self.order.push_back(uid.to_owned());
        if self.order.len() > GONE_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }
}

fn marks<K: Followed>(object: &K) -> Vec<Mark> {
    let owners = object.metadata().owner_references.iter();
    owners.map(|owner| Mark::Owner(owner.uid.clone())).chain(object.marks()).collect()
}

/// The namespace and the name of an object.
pub(crate) fn name<K: Object>(object: &K) -> Name {
    let metadata = object.metadata();
    (metadata.namespace.clone(), metadata.name.clone())
}

/// Who wrote what is of no use here, and the server keeps it if it is left out.
fn without_history<K: Object>(mut object: K) -> K {
    object.metadata_mut().managed_fields = Default::default();
    object
}

/// Versions count up. Of one that is no number nothing is known, so it is the newest.
fn version(version: &str) -> u64 {
    version.parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use objects::core::pod::Pod;
    use objects::resource::claim::ResourceClaim;
    use serde_json::{Value, json};

    use super::*;

    fn read<K: Object>(value: &Value) -> K {
        K::read_value(value).expect("a good object")
    }

    fn claim(version: u32) -> ResourceClaim {
        let owners = json!([{ "name": "p", "uid": "u" }]);
        let metadata = json!({
            "namespace": "ns", "name": "c", "uid": "cu", "resourceVersion": version.to_string(),
            "ownerReferences": owners,
        });
        read(&json!({ "metadata": metadata }))
    }

    fn key(name: &str) -> Name {
        ("ns".to_owned(), name.to_owned())
    }

    #[test]
    fn objects_are_found_by_name_owner_and_mark_until_they_change_or_go() {
        let mut world = World::default();
        let pod = |claim: &str| -> Pod {
            let entries = json!([{ "name": "a", "resourceClaimName": claim }]);
            read(
                &json!({ "metadata": { "namespace": "ns", "name": "p" }, "spec": { "resourceClaims": entries } }),
            )
        };
        let users = |world: &World, claim: &str| world.marked::<Pod>(&Mark::Claim(key(claim))).count();
        world.applied(pod("one"));
        assert_eq!((users(&world, "one"), users(&world, "two")), (1, 0));
        let change = world.applied(pod("two"));
        let pods = change.of::<Pod>().expect("a pod");
        assert!(pods.before.is_some() && pods.after.is_some() && change.of::<ResourceClaim>().is_none());
        assert_eq!((users(&world, "one"), users(&world, "two")), (0, 1));
        assert_eq!((world.within::<Pod>("ns").count(), world.within::<Pod>("n").count()), (1, 0));
        world.applied(claim(1));
        assert_eq!(world.owned::<ResourceClaim>("u").count(), 1);
        world.gone::<ResourceClaim>(&key("c"), "cu");
        assert_eq!((world.owned::<ResourceClaim>("u").count(), world.all::<ResourceClaim>().count()), (0, 0));
    }

    #[test]
    fn an_answer_that_is_late_is_not_believed() {
        let mut world = World::default();
        assert!(world.learnt(claim(3)).is_some());
        assert!(world.learnt(claim(3)).is_none() && world.learnt(claim(2)).is_none());
        assert!(world.learnt(claim(10)).is_some());
        assert!(world.gone::<ResourceClaim>(&key("c"), "cu").is_some());
        assert!(world.learnt(claim(11)).is_none() && world.is_gone::<ResourceClaim>("cu"));
        assert_eq!(world.all::<ResourceClaim>().count(), 0);
    }

    #[test]
    fn a_stream_that_is_behind_does_not_bring_back_what_was() {
        let mut world = World::default();
        world.heard(claim(1));
        assert!(world.learnt(claim(5)).is_some());
        assert!(world.heard(claim(3)).is_none(), "it is older than what the answer told");
        let version = |world: &World| {
            world.get::<ResourceClaim>(&key("c")).map(|claim| claim.metadata.resource_version.clone())
        };
        assert_eq!(version(&world).as_deref(), Some("5"));
        assert!(world.heard(claim(5)).is_some() && world.heard(claim(6)).is_some());
        // It is deleted, and made anew, before the stream tells of either.
        let mut anew = claim(9);
        anew.metadata.uid = "other".to_owned();
        assert!(world.learnt(anew.clone()).is_some());
        assert!(world.gone::<ResourceClaim>(&key("c"), "cu").is_none(), "that is about the one before");
        assert_eq!(version(&world).as_deref(), Some("9"));
        assert!(world.heard(anew).is_some());
        assert!(world.gone::<ResourceClaim>(&key("c"), "other").is_some());
        assert_eq!(version(&world), None);
    }

    #[test]
    fn a_kind_that_nobody_told_of_is_not_served() {
        let mut world = World::default();
        assert!(!world.serves::<Pod>());
        world.serve::<Pod>();
        assert!(world.serves::<Pod>() && !world.serves::<ResourceClaim>());
    }
}
