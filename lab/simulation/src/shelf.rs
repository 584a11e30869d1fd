//! The objects of a simulation, as an API server would hold them.
//!
//! Invariant: every object has been admitted as the embedded API server admits it. Bindings are the one exception, as they
//! are there.

use std::collections::BTreeMap;

use admission::{
    Context, FieldValidation, Identity, Operation, Submission, Surroundings, admit, stored_kind, to_stored,
};
use controllers::simulated::FAULT;
use gates::Gates;
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::node::Node;
use objects::resource::class::DeviceClass;
use objects::scheduling::priority_class::PriorityClass;
use scheduling::request::{ApiCall, Verb};
use schema::{Kind, Scope, table};
use serde_json::{Value, json};
use store::binding::Wish;
use store::patch::strategic_merge_patch;

use crate::kept::Kept;
use crate::merged_keys;

/// Which object it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The version in which it is stored, such as `resource.k8s.io/v1`.
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn of<T: Object>(namespace: &str, name: &str) -> Key {
        Key {
            api_version: T::API_VERSION.to_owned(),
            kind: T::KIND.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub fn is<T: Object>(&self) -> bool {
        self.api_version == T::API_VERSION && self.kind == T::KIND
    }
}

/// An object of a simulation.
#[derive(Clone, Debug)]
struct Stored {
    object: Kept,
    /// The number of its creation; no two are equal.
    created: u64,
}

/// Kinds whose status is taken as somebody wrote it: what drivers, kubelets and earlier schedulers said.
const WITH_STATUS: [&str; 7] = [
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodSchedulingContext",
    "ResourceClaim",
];

/// The taint that every node is born with, until somebody sees that it is ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// All objects.
#[derive(Debug)]
pub(crate) struct Shelf {
    objects: BTreeMap<Key, Stored>,
    /// How many writes there were.
    revision: u64,
    /// How many names were made up, by namespace and beginning.
    named: BTreeMap<(String, String), u64>,
    gates: Gates,
    pub now: Timestamp,
}

impl Shelf {
    pub fn new(gates: Gates, now: Timestamp) -> Shelf {
        Shelf { objects: BTreeMap::new(), revision: 0, named: BTreeMap::new(), gates, now }
    }

    /// The features that are on.
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// An object, if it is there.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key).map(|stored| stored.object.get())
    }

    /// An object as its wire type.
    pub fn read<T: Object>(&self, namespace: &str, name: &str) -> Option<T> {
        self.objects.get(&Key::of::<T>(namespace, name))?.object.read()
    }

    /// All objects of a kind, by namespace and name.
    pub fn all<T: Object>(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.of_kind::<T>().map(|(key, stored)| (key, stored.object.get()))
    }

    /// All objects of a kind as their wire type, by namespace and name.
    pub fn read_all<T: Object>(&self) -> impl Iterator<Item = (&Key, T)> {
        self.of_kind::<T>().filter_map(|(key, stored)| Some((key, stored.object.read()?)))
    }

    fn of_kind<T: Object>(&self) -> impl Iterator<Item = (&Key, &Stored)> {
        self.objects.iter().filter(|(key, _)| key.is::<T>())
    }

    /// The keys of all objects, by kind, namespace and name.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys()
    }

    /// Every object, by kind, namespace and name.
    pub fn into_objects(self) -> Vec<Kept> {
        self.objects.into_values().map(|stored| stored.object).collect()
    }

    /// Nobody is expected to look at an object soon.
    pub fn rest(&mut self, key: &Key) {
        if let Some(stored) = self.objects.get_mut(key) {
            stored.object.rest();
        }
    }

    /// The keys of all objects, in the order in which they were created.
    pub fn in_order(&self) -> Vec<Key> {
        let mut keys: Vec<(u64, Key)> =
            self.objects.iter().map(|(key, stored)| (stored.created, key.clone())).collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// Stores a new object, with the status that it came with.
    pub fn create(&mut self, manifest: Value, duplicates: Vec<String>) -> Result<Key, String> {
        let kind = kind_of(&manifest)?;
        let namespace = namespace_of(kind, &manifest);
        self.revision += 1;
        // A uid that came along is kept: owners and reservations speak of it.
        let uid = text(&manifest["metadata"]["uid"])
            .unwrap_or_else(|| format!("00000000-0000-4000-8000-{:012}", self.revision));
        let suffix = self.suffix(&namespace, &manifest);
        let identity = Identity { uid: &uid, suffix: &suffix };
        let is_ready = !is_told_unready(&manifest);
        let status = status_of(kind, &manifest);
        let deleted = text(&manifest["metadata"]["deletionTimestamp"]);
        let submission = Submission {
            kind,
            namespace: &namespace,
            object: without_history(manifest),
            owners: None,
            duplicates,
            field_validation: FieldValidation::Strict,
        };
        let object = self.admitted(submission, Operation::Create, identity)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let stored = stored_kind(kind);
        let (api_version, kind_name) = (stored.api_version.clone(), stored.kind.clone());
        let key = Key { api_version, kind: kind_name, namespace, name };
        if self.objects.contains_key(&key) {
            return Err(format!("there is a {} {} already", key.kind, key.name));
        }
        let created = self.revision;
        self.objects.insert(key.clone(), Stored { object: Kept::Tree(object), created });
        self.store(&key, |_| ());
        if key.is::<Node>() && is_ready {
            self.make_ready(&key);
        }
        if let Some(status) = status {
            let mut object = self.get(&key).cloned().unwrap_or_default();
            object["status"] = status;
            self.replace(&key, object, Some("status"))?;
        }
        if let Some(since) = deleted {
            // It is on its way out, and stays so.
            self.store(&key, |object| object["metadata"]["deletionTimestamp"] = json!(since));
        }
        Ok(key)
    }

    /// Five characters for a generated name, out of those that the API server uses. They look random and follow from
    /// the rest of the name, so that one manifest more does not change the names of others.
    fn suffix(&mut self, namespace: &str, manifest: &Value) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let prefix = manifest["metadata"]["generateName"].as_str().unwrap_or_default();
        let before = self.named.entry((namespace.to_owned(), prefix.to_owned())).or_default();
        let text = format!("{namespace}/{prefix}");
        // FNV-1a, and then a walk by steps that are prime to the number of texts, so that none comes twice.
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let texts = 27_u64.pow(5);
        let start = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) % texts;
        let mut rest = (start + *before * 7_654_321) % texts;
        *before += 1;
        let mut suffix = String::new();
        for _ in 0..5 {
            let at = usize::try_from(rest % 27).expect("it is below 27");
            suffix.push(char::from(LETTERS[at]));
            rest /= 27;
        }
        suffix
    }

    /// Nodes are ready in a simulation, unless they say that they are not.
    fn make_ready(&mut self, key: &Key) {
        self.store(key, |object| {
            if let Some(taints) = object["spec"]["taints"].as_array_mut() {
                taints.retain(|taint| taint["key"] != NOT_READY);
            }
        });
    }

    /// The object that a call goes to.
    pub fn find(&self, call: &ApiCall) -> Option<Value> {
        let (kind, namespace, name) = (kind_of_call(call).ok()?, call.namespace.clone(), call.name.clone());
        let key = Key { api_version: kind.api_version.clone(), kind: kind.kind.clone(), namespace, name };
        self.get(&key).cloned()
    }

    /// Carries out a call, and gives the object that came of it.
    pub fn perform(&mut self, call: ApiCall) -> Result<Key, String> {
        let kind = kind_of_call(&call)?;
        let ApiCall { verb, namespace, name, subresource, body, .. } = call;
        if verb == Verb::Create && subresource.is_none() {
            return self.create(body, Vec::new());
        }
        let key = Key { api_version: kind.api_version.clone(), kind: kind.kind.clone(), namespace, name };
        let mut object = self.get(&key).cloned().ok_or_else(|| format!("{} is not there", key.name))?;
        match verb {
            Verb::Update => self.replace(&key, body, subresource)?,
            Verb::Patch => {
                strategic_merge_patch(table(), kind.object, &mut object, body)
                    .map_err(|error| error.to_string())?;
                self.replace(&key, object, subresource)?;
            }
            Verb::Create => {
                let wish =
                    Wish::read(&body, &key.namespace, Some(&key.name)).map_err(|bad| bad.to_string())?;
                let node = self.get(&Key::of::<Node>("", wish.node));
                let labels = node.map(|node| node["metadata"]["labels"].clone()).unwrap_or_default();
                wish.bind(&mut object, &labels, &self.now.to_string()).map_err(|why| why.to_string())?;
                self.store(&key, |stored| *stored = object);
            }
            Verb::Delete => {
                let expected = &body["preconditions"]["uid"];
                if expected.is_string() && *expected != object["metadata"]["uid"] {
                    return Err(format!("{} is another by now", key.name));
                }
                self.delete(&key);
            }
        }
        Ok(key)
    }

    /// Deletes an object: it goes at once, unless a finalizer keeps it. Nobody waits for its grace period.
    pub fn delete(&mut self, key: &Key) {
        let Some(object) = self.get(key) else { return };
        let is_kept = object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        if is_kept {
            let now = self.now.to_seconds().to_string();
            return self.store(key, |object| object["metadata"]["deletionTimestamp"] = json!(now));
        }
        self.revision += 1;
        self.objects.remove(key);
    }

    /// Puts an object, or its status, in place of the one that is there.
    pub fn replace(&mut self, key: &Key, object: Value, subresource: Option<&str>) -> Result<(), String> {
        let old = self.get(key).cloned().ok_or_else(|| format!("{} is not there", key.name))?;
        let kind = table().kind(&key.api_version, &key.kind).ok_or("there is no such kind")?;
        let operation =
            if subresource.is_some() { Operation::UpdateStatus(&old) } else { Operation::Update(&old) };
        let submission = Submission {
            kind,
            namespace: &key.namespace,
            object,
            owners: None,
            duplicates: Vec::new(),
            field_validation: FieldValidation::Ignore,
        };
        let object = self.admitted(submission, operation, Identity { uid: "", suffix: "" })?;
        self.store(key, |stored| *stored = object);
        Ok(())
    }

    fn admitted(
        &self,
        submission: Submission<'_>,
        operation: Operation<'_>,
        identity: Identity<'_>,
    ) -> Result<Value, String> {
        let context = Context { now: self.now, gates: &self.gates, surroundings: self };
        let admitted = admit(submission, operation, identity, &context);
        admitted.map(|admitted| admitted.object).map_err(|rejection| rejection.to_string())
    }

    /// Changes an object that is there, at a revision of its own.
    fn store(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let Some(stored) = self.objects.get_mut(key) else { return };
        let object = stored.object.get_mut();
        change(object);
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
    }
}

/// The kind of the object that a call goes to, in the version in which it is stored.
fn kind_of_call(call: &ApiCall) -> Result<&'static Kind, String> {
    let is_stored = |kind: &Kind| stored_kind(kind).api_version == kind.api_version;
    let known = table().kinds().iter().find(|kind| kind.kind == call.kind && is_stored(kind));
    known.ok_or_else(|| format!("there is no kind {}", call.kind))
}

/// The kind of a manifest.
pub fn kind_of(manifest: &Value) -> Result<&'static Kind, String> {
    let text = |field: &str| {
        let text = manifest[field].as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("a manifest needs {field}"))
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    table().kind(api_version, kind).ok_or_else(|| format!("there is no {kind} in apiVersion {api_version:?}"))
}

/// The namespace that a manifest goes to: empty for kinds that live in none.
pub fn namespace_of(kind: &Kind, manifest: &Value) -> String {
    if kind.scope != Scope::Namespaced {
        return String::new();
    }
    let named = manifest["metadata"]["namespace"].as_str().filter(|name| !name.is_empty());
    named.unwrap_or("default").to_owned()
}

/// Whether the manifest of a node says that it is not ready.
fn is_told_unready(manifest: &Value) -> bool {
    let taints = manifest["spec"]["taints"].as_array().into_iter().flatten();
    let is_faulty = manifest["metadata"]["annotations"][FAULT].is_string();
    is_faulty || taints.into_iter().any(|taint| taint["key"] == NOT_READY)
}

/// The status of a manifest as it is stored, if its kind keeps the one that it came with.
fn status_of(kind: &Kind, manifest: &Value) -> Option<Value> {
    let is_kept = WITH_STATUS.contains(&stored_kind(kind).kind.as_str());
    let has_one = manifest.get("status").is_some_and(Value::is_object);
    (is_kept && has_one).then(|| to_stored(kind, manifest.clone())["status"].take())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A manifest without what a server wrote into it, so that objects can be taken out of a cluster as they are.
fn without_history(manifest: Value) -> Value {
    let mut object = manifest;
    if let Some(meta) = object["metadata"].as_object_mut() {
        for field in ["resourceVersion", "managedFields", "selfLink", "creationTimestamp"] {
            meta.remove(field);
        }
    }
    if object["kind"] == "Pod" {
        merged_keys::take_back(&mut object);
    }
    object
}

impl Surroundings for Shelf {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let namespace: objects::core::kinds::Namespace = self.read("", name)?;
        Some(namespace.metadata.labels)
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        self.read("", name)
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        let classes = self.read_all::<PriorityClass>().map(|(_, class)| class);
        classes.filter(|class| class.global_default).min_by_key(|class| class.value)
    }

    fn device_class(&self, name: &str) -> Option<DeviceClass> {
        self.read("", name)
    }

    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        self.read_all().map(|(_, node)| node).filter(|node| wanted(node)).collect()
    }
}
