//! The API of a simulated cluster: admitted objects in `api/store`, with revisions, conflicts and preconditions.
//!
//! Invariant: an object is changed in no other way than the embedded API server changes it. What that does between two
//! threads is not here: a request is carried out at one moment.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use admission::{
    Context, FieldValidation, Identity, Operation, Submission, Surroundings, admit, stored_kind,
};
use convert::followed::FOLLOWED;
use gates::Gates;
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::kinds::Namespace;
use objects::core::node::Node;
use objects::resource::class::DeviceClass;
use objects::scheduling::priority_class::PriorityClass;
use scheduling::request::{ApiCall, Verb};
use schema::{Kind, fill, table};
use serde_json::{Value, json};
use store::binding;
use store::deletion::{self, Deletion};
use store::patch::strategic_merge_patch;
use store::{Body, Event, Expected, Key, ListAt, Resource, Selection, Store, WriteError, selectable};
use thiserror::Error;

use super::shown::Shown;
use simulation::{kind_of, namespace_of};

/// Why the API did not do something. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum Refused {
    /// The object is another, or at another revision, than the request wants.
    #[error("conflict: {0}")]
    Conflict(String),
    /// There is no such object.
    #[error("not found")]
    NotFound,
    /// It makes no sense, and never will.
    #[error("refused: {0}")]
    Invalid(String),
    /// The server has too much to do.
    #[error("too many requests")]
    Busy,
}

/// A kind of the API and where its objects are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub kind: &'static Kind,
    pub resource: Resource,
}

/// Objects of a kind.
pub(crate) type Listed = Arc<[(Key, Arc<Shown>)]>;

/// Where the objects of each kind are, by the name of the kind.
static SITES: LazyLock<BTreeMap<&'static str, Site>> = LazyLock::new(|| {
    // Of kinds that share a name, that which schedulers follow is meant.
    let is_meant = |kind: &Kind| {
        let mut named = FOLLOWED.iter().filter(|row| row.kind == kind.kind);
        named.all(|row| row.api_version == kind.api_version)
    };
    let stored = |kind: &&'static Kind| stored_kind(kind).api_version == kind.api_version && is_meant(kind);
    let site = |kind: &'static Kind| {
        Resource::of(kind).map(|resource| (kind.kind.as_str(), Site { kind, resource }))
    };
    table().kinds().iter().filter(stored).filter_map(site).collect()
});

/// A scheduler whose call makes changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    /// Its number.
    pub replica: usize,
    /// The revision of the API when it sent the call: of what came later it could not know.
    pub sent: u64,
}

/// A change that was made, and by which scheduler, if it was one.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub site: Site,
    pub event: Arc<Event>,
    pub by: Option<Caller>,
}

/// The API server.
#[derive(Debug)]
pub(crate) struct Api {
    store: Store,
    /// Every object that there ever was, in the order of revisions: each change has one of its own.
    versions: Vec<Arc<Shown>>,
    /// What there is of kinds, until something changes about it.
    lists: BTreeMap<Resource, Listed>,
    /// The revision of the last change of each kind.
    changed: BTreeMap<Resource, u64>,
    gates: Gates,
    /// It does not know the compatibility groups in the status of a claim, and drops them.
    pub drops_groups: bool,
    pub now: Timestamp,
    created: u64,
    /// Which scheduler makes the changes that follow.
    pub by: Option<Caller>,
    /// Changes that nobody has looked at yet.
    made: Vec<Made>,
}

impl Api {
    pub fn new(gates: Gates, now: Timestamp) -> Api {
        Api {
            store: Store::default(),
            versions: Vec::new(),
            lists: BTreeMap::new(),
            changed: BTreeMap::new(),
            gates,
            drops_groups: false,
            now,
            created: 0,
            by: None,
            made: Vec::new(),
        }
    }

    /// The changes since the last time that somebody asked.
    pub fn take_made(&mut self) -> Vec<Made> {
        std::mem::take(&mut self.made)
    }

    /// The features that are on.
    pub fn gates(&self) -> Gates {
        self.gates
    }

    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    pub fn site(&self, kind: &str) -> Site {
        SITES[kind]
    }

    /// The object of an event, as it is told to those who watch.
    pub fn shown(&self, entry: &store::StoredObject) -> Arc<Shown> {
        let at = usize::try_from(entry.revision() - 1).expect("a world has few changes");
        Arc::clone(&self.versions[at])
    }

    /// Changes of a kind after a revision, at most so many.
    pub fn events_after(&self, site: Site, revision: u64, most: usize) -> Vec<Arc<Event>> {
        // Those who watch ask often, and nearly always there is nothing.
        if self.changed.get(&site.resource).is_none_or(|last| *last <= revision) {
            return Vec::new();
        }
        let events = self.store.events_after(site.resource, revision, most);
        events.expect("a world is shorter than the window of changes")
    }

    /// Everything of a kind.
    pub fn list(&mut self, kind: &str) -> Listed {
        let site = self.site(kind);
        if let Some(listed) = self.lists.get(&site.resource) {
            return Arc::clone(listed);
        }
        let listed: Listed = self.select(site, &Selection::default()).into();
        self.lists.insert(site.resource, Arc::clone(&listed));
        listed
    }

    /// What a selection picks of a kind.
    pub fn select(&self, site: Site, selection: &Selection) -> Vec<(Key, Arc<Shown>)> {
        let page = self.store.list(site.resource, None, selection, ListAt::Latest, None, None);
        let items = page.expect("the latest is always there").items;
        items.into_iter().map(|(key, entry)| (key, self.shown(&entry))).collect()
    }

    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Arc<Shown>> {
        let entry = self.store.get(self.site(kind).resource, &Key::new(namespace, name))?;
        Some(self.shown(&entry))
    }

    /// Makes an object. Its status, if it has one, is written at once, as drivers and kubelets soon would.
    pub fn create(&mut self, object: &Value) -> Result<Arc<Shown>, Refused> {
        let kind = kind_of(object).map_err(Refused::Invalid)?;
        let namespace = namespace_of(kind, object);
        self.created += 1;
        let uid = format!("00000000-0000-4000-8000-{:012}", self.created);
        let suffix = suffix(self.created);
        let identity = Identity { uid: &uid, suffix: &suffix };
        let admitted = self.admitted(kind, &namespace, object.clone(), Operation::Create, identity)?;
        let name = text(&admitted["metadata"]["name"]).to_owned();
        let site = self.site(&kind.kind);
        let made = self.put(site, Key::new(&namespace, &name), admitted, Expected::Absent)?;
        if !object["status"].is_object() {
            return Ok(made);
        }
        let mut with_status = Value::clone(&made);
        with_status["status"] = object["status"].clone();
        self.update(&kind.kind, with_status, true)
    }

    /// Takes an object in as it is: it was admitted elsewhere.
    pub fn adopt(&mut self, object: &Value) -> Result<(), Refused> {
        let meta = &object["metadata"];
        let key = Key::new(text(&meta["namespace"]), text(&meta["name"]));
        self.put(self.site(text(&object["kind"])), key, object.clone(), Expected::Absent).map(drop)
    }

    /// Goes on to count what is made at this number, so that uids are not those of objects that were made elsewhere.
    pub fn count_from(&mut self, number: u64) {
        self.created = number;
    }

    /// Puts an object, or its status, in place of the one that is there.
    pub fn update(&mut self, kind: &str, mut object: Value, status: bool) -> Result<Arc<Shown>, Refused> {
        if self.drops_groups && kind == "ResourceClaim" {
            let results = object.pointer_mut("/status/allocation/devices/results");
            let results = results.and_then(Value::as_array_mut).into_iter().flatten();
            let results = results.filter_map(Value::as_object_mut);
            results.for_each(|result| drop(result.remove("compatibilityGroups")));
        }
        let site = self.site(kind);
        let meta = &object["metadata"];
        let key = Key::new(text(&meta["namespace"]), text(&meta["name"]));
        let stored = self.store.get(site.resource, &key).ok_or(Refused::NotFound)?;
        let sent = text(&meta["resourceVersion"]);
        if !matches!(sent, "" | "0") && sent.parse() != Ok(stored.revision()) {
            return Err(Refused::Conflict("the object has been modified".to_owned()));
        }
        let old = self.shown(&stored);
        let operation = if status { Operation::UpdateStatus(&old) } else { Operation::Update(&old) };
        let nobody = Identity { uid: "", suffix: "" };
        let admitted = self.admitted(site.kind, &key.namespace, object, operation, nobody)?;
        if admitted == **old {
            return Ok(old);
        }
        self.put(site, key, admitted, Expected::Revision(stored.revision()))
    }

    /// Changes an object without admission, as the server itself does.
    pub fn adjust(
        &mut self,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value) -> Result<(), Refused>,
    ) -> Result<Arc<Shown>, Refused> {
        let site = self.site(kind);
        let old = self.get(kind, namespace, name).ok_or(Refused::NotFound)?;
        let mut object = Value::clone(&old);
        change(&mut object)?;
        fill(table(), site.kind.object, &mut object);
        let revision = text(&old["metadata"]["resourceVersion"]).parse().unwrap_or_default();
        self.put(site, Key::new(namespace, name), object, Expected::Revision(revision))
    }

    /// Deletes an object, or marks it; with a uid only the object that has it.
    pub fn delete(
        &mut self,
        kind: &str,
        (namespace, name): (&str, &str),
        grace_seconds: Option<i64>,
        uid: Option<&str>,
    ) -> Result<Arc<Shown>, Refused> {
        let site = self.site(kind);
        let old = self.get(kind, namespace, name).ok_or(Refused::NotFound)?;
        if uid.is_some_and(|uid| old["metadata"]["uid"] != uid) {
            return Err(Refused::Conflict("the precondition on uid does not hold".to_owned()));
        }
        let wish = deletion::Wish { grace_seconds, propagation: None };
        let decided = deletion::delete(kind, &old, wish, self.now)
            .map_err(|protected| Refused::Invalid(protected.to_string()))?;
        let key = Key::new(namespace, name);
        let mut revision = text(&old["metadata"]["resourceVersion"]).parse().unwrap_or_default();
        let (marked, then_remove) = match decided {
            Deletion::Pending => return Ok(old),
            Deletion::Mark(object) => (Some(object), false),
            Deletion::MarkAndRemove(object) => (Some(object), true),
            Deletion::Remove => (None, true),
        };
        let mut shown = old;
        if let Some(object) = marked {
            let body = Body::new(&object, selectable(site.kind, &object));
            let made = self.store.put(site.resource, key.clone(), body, Expected::Revision(revision));
            let made = made.map_err(|error| too_late(&error))?;
            revision = made.event.revision();
            shown = self.note(site, made.event, object);
        }
        if then_remove {
            self.remove(site, key, Expected::Revision(revision))?;
        }
        Ok(shown)
    }

    /// Carries out a call, and gives the object that came of it.
    pub fn perform(&mut self, call: &ApiCall) -> Result<Arc<Shown>, Refused> {
        let ApiCall { verb, kind, namespace, name, subresource, body } = call;
        match (verb, *subresource) {
            (Verb::Update, subresource) => self.update(kind, body.clone(), subresource.is_some()),
            (Verb::Patch, subresource) => {
                let site = self.site(kind);
                let old = self.get(kind, namespace, name).ok_or(Refused::NotFound)?;
                if body["metadata"]["uid"].as_str().is_some_and(|uid| old["metadata"]["uid"] != uid) {
                    return Err(Refused::Conflict("the object is another".to_owned()));
                }
                let mut object = Value::clone(&old);
                strategic_merge_patch(table(), site.kind.object, &mut object, body.clone())
                    .map_err(|error| Refused::Invalid(error.to_string()))?;
                self.update(kind, object, subresource.is_some())
            }
            (Verb::Create, Some("binding")) => self.bind(namespace, name, body),
            (Verb::Delete, _) => {
                let uid = body["preconditions"]["uid"].as_str();
                self.delete(kind, (namespace, name), None, uid)
            }
            (Verb::Create, None) => self.create(body),
            (Verb::Create, Some(other)) => Err(Refused::Invalid(format!("there is no {other} to create"))),
        }
    }

    fn bind(&mut self, namespace: &str, name: &str, body: &Value) -> Result<Arc<Shown>, Refused> {
        let wish = binding::Wish::read(body, namespace, Some(name))
            .map_err(|bad| Refused::Invalid(bad.to_string()))?;
        let node = self.get("Node", "", wish.node);
        let labels = node.map(|node| node["metadata"]["labels"].clone()).unwrap_or_default();
        let now = self.now.to_string();
        self.adjust("Pod", namespace, name, |pod| {
            wish.bind(pod, &labels, &now).map_err(|why| Refused::Conflict(why.to_string()))
        })
    }

    fn admitted(
        &self,
        kind: &Kind,
        namespace: &str,
        object: Value,
        operation: Operation<'_>,
        identity: Identity<'_>,
    ) -> Result<Value, Refused> {
        let submission = Submission {
            kind,
            namespace,
            object,
            owners: None,
            duplicates: Vec::new(),
            field_validation: FieldValidation::Ignore,
        };
        let context = Context { now: self.now, gates: &self.gates, surroundings: self };
        let admitted = admit(submission, operation, identity, &context);
        admitted.map(|admitted| admitted.object).map_err(|why| Refused::Invalid(why.to_string()))
    }

    /// Writes an object, or removes it if it was only waiting for this change.
    fn put(
        &mut self,
        site: Site,
        key: Key,
        object: Value,
        expected: Expected,
    ) -> Result<Arc<Shown>, Refused> {
        if expected != Expected::Absent && deletion::is_done(&object) {
            self.remove(site, key, expected)?;
            return Ok(Arc::new(Shown::new(object)));
        }
        let body = Body::new(&object, selectable(site.kind, &object));
        let made = self.store.put(site.resource, key, body, expected).map_err(|error| too_late(&error))?;
        Ok(self.note(site, made.event, object))
    }

    fn remove(&mut self, site: Site, key: Key, expected: Expected) -> Result<(), Refused> {
        let made = self.store.remove(site.resource, key, expected).map_err(|error| too_late(&error))?;
        let before = made.event.before.as_ref().expect("what is removed was there");
        let object = Value::clone(&self.shown(before));
        self.note(site, made.event, object);
        Ok(())
    }

    /// Takes a change down, with the object that was written: to read what was stored would give the same.
    fn note(&mut self, site: Site, event: Arc<Event>, mut object: Value) -> Arc<Shown> {
        let Kind { api_version, kind, .. } = site.kind;
        (object["apiVersion"], object["kind"]) = (json!(api_version), json!(kind));
        object["metadata"]["resourceVersion"] = json!(event.revision().to_string());
        debug_assert_eq!(
            object,
            event.object.value(api_version, kind),
            "what was stored is what was written"
        );
        let shown = Arc::new(Shown::new(object));
        self.versions.push(Arc::clone(&shown));
        self.lists.remove(&site.resource);
        self.changed.insert(site.resource, event.revision());
        self.made.push(Made { site, event, by: self.by });
        shown
    }
}

impl Surroundings for Api {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let namespace = self.get(Namespace::KIND, "", name)?;
        Some(namespace.read::<Namespace>().metadata.labels.clone())
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        let class = self.get(PriorityClass::KIND, "", name)?;
        Some(PriorityClass::clone(class.read()))
    }

    /// A world has none.
    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn device_class(&self, name: &str) -> Option<DeviceClass> {
        let class = self.get(DeviceClass::KIND, "", name)?;
        Some(DeviceClass::clone(class.read()))
    }

    /// Nothing that a world is made of asks for nodes when it is admitted.
    fn nodes(&self, _: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

/// A text, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn too_late(error: &WriteError) -> Refused {
    match error {
        WriteError::Missing => Refused::NotFound,
        WriteError::Exists | WriteError::Changed { .. } => Refused::Conflict(error.to_string()),
    }
}

/// Five characters for a generated name.
fn suffix(number: u64) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let places = (0..5).map(|place| (number / 27_u64.pow(place)) % 27);
    places.map(|at| char::from(LETTERS[usize::try_from(at).unwrap_or_default()])).collect()
}

/// An object with the namespace of all of them.
pub(crate) fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "default" } })
}
