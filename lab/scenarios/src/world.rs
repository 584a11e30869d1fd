//! The objects of a run, as an API server would hold them.
//!
//! Invariant: every object has been admitted, with every gate on, so that a gate of a scenario is the scheduler's alone
//! and no field is taken off what is written. Nothing but objects is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission::{Context, FieldValidation, Identity, Operation, Submission, Surroundings, admit};
use anyhow::{Context as _, bail};
use cluster::ledger::Ledger;
use cluster::published::Published;
use controllers::simulated::readiness;
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::scheduling::priority_class::PriorityClass;
use schema::{Scope, table};
use selector::SliceRevision;
use serde_json::{Value, json};

use crate::difference;

/// Kinds that mean something to a scenario today.
const KINDS: [&str; 22] = [
    "CompositePodGroup",
    "DeviceClass",
    "DeviceTaintRule",
    "Namespace",
    "Node",
    "NodeTopology",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PodSchedulingContext",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "StorageClass",
    "Workload",
];

/// The taint that every node is born with, until somebody sees that it is ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Kind, namespace and name.
type Key = (String, String, String);

/// All objects of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    objects: BTreeMap<Key, Value>,
    /// How many writes there were.
    revision: u64,
}

impl World {
    /// Stores a new object.
    pub fn create(&mut self, manifest: &Value) -> anyhow::Result<()> {
        let key = key(manifest)?;
        if self.objects.contains_key(&key) {
            bail!("{}/{} is there already; hint: use replace", key.0, key.2);
        }
        self.write(&key, manifest, Operation::Create)?;
        self.write_status(&key, manifest)
    }

    /// Stores an object in place of the one of its name.
    pub fn replace(&mut self, manifest: &Value) -> anyhow::Result<()> {
        let key = key(manifest)?;
        let Some(old) = self.objects.get(&key).cloned() else {
            bail!("{}/{} is not there; hint: use create", key.0, key.2);
        };
        let mut manifest = manifest.clone();
        // Some kinds want to be told what is replaced.
        manifest["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        self.write(&key, &manifest, Operation::Update(&old))?;
        if key.0 == "PodGroup" {
            // What was noted on it stays.
            return Ok(());
        }
        self.write_status(&key, &manifest)
    }

    /// Changes parts of an object, by `Kind/name`: maps are merged, `null` takes away.
    pub fn patch(&mut self, object: &str, with: &Value) -> anyhow::Result<()> {
        let key = self.key_of(object)?.with_context(|| format!("{object} is not there"))?;
        let mut patched = self.objects[&key].clone();
        merge(&mut patched, with);
        if with.as_object().is_some_and(|with| with.keys().any(|part| part != "status")) {
            let old = self.objects[&key].clone();
            self.write(&key, &patched, Operation::Update(&old))?;
        }
        if with.get("status").is_some() { self.write_status(&key, &patched) } else { Ok(()) }
    }

    /// Removes an object, by `Kind/name` or `Kind/namespace/name`. One that somebody protects is only marked.
    pub fn delete(&mut self, object: &str) -> anyhow::Result<()> {
        let key = self.key_of(object)?.with_context(|| format!("{object} is not there"))?;
        let is_protected =
            self.objects[&key]["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        if !is_protected {
            self.objects.remove(&key);
            return Ok(());
        }
        self.revision += 1;
        let number = self.revision.to_string();
        if let Some(object) = self.objects.get_mut(&key) {
            object["metadata"]["deletionTimestamp"] = json!(now().to_seconds().to_string());
            object["metadata"]["resourceVersion"] = json!(number);
        }
        Ok(())
    }

    /// An object as it is stored, by `Kind/name` or `Kind/namespace/name`.
    pub fn object(&self, object: &str) -> anyhow::Result<Option<&Value>> {
        Ok(self.key_of(object)?.map(|key| &self.objects[&key]))
    }

    /// Which object is meant, if it is there. A `*` at the end of a name stands for what the API server makes up.
    fn key_of(&self, object: &str) -> anyhow::Result<Option<Key>> {
        let (kind, name) = object.split_once('/').context("an object is written as Kind/name")?;
        if !KINDS.contains(&kind) {
            bail!("scenarios know no {kind}; hint: they know {}", KINDS.join(", "));
        }
        let (namespace, name) = match name.split_once('/') {
            Some((namespace, name)) => (namespace, name),
            None if is_namespaced(kind) => ("default", name),
            None => ("", name),
        };
        let is_it = |key: &&Key| {
            let is_named = match name.strip_suffix('*') {
                Some(beginning) => key.2.starts_with(beginning),
                None => key.2 == name,
            };
            key.0 == kind && key.1 == namespace && is_named
        };
        let found: Vec<&Key> = self.objects.keys().filter(is_it).collect();
        if found.len() > 1 {
            bail!("there are {} objects {object}", found.len());
        }
        Ok(found.first().map(|key| Key::clone(key)))
    }

    /// Everything but what every write changes, to tell whether something happened.
    pub fn contents(&self) -> BTreeMap<Key, Value> {
        let content = |(key, object): (&Key, &Value)| {
            let mut object = object.clone();
            if let Some(meta) = object["metadata"].as_object_mut() {
                meta.retain(|field, _| !matches!(field.as_str(), "resourceVersion" | "creationTimestamp"));
            }
            (key.clone(), object)
        };
        self.objects.iter().map(content).collect()
    }

    /// The number of the last write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Has a pod's node say whether it would start it, and says what is otherwise than expected.
    pub fn start(&self, pod: &str, refused: &[String]) -> anyhow::Result<Vec<String>> {
        let pod: Pod = serde_json::from_value(self.pod(pod)?.clone())?;
        if pod.spec.node_name.is_empty() {
            bail!("it has no node that could start it");
        }
        let claims = self.all::<ResourceClaim>()?;
        let claim = |name: &str| {
            let is_it = |claim: &&ResourceClaim| {
                claim.metadata.namespace == pod.metadata.namespace && claim.metadata.name == name
            };
            claims.iter().find(is_it)
        };
        Ok(match (readiness::refusal(&pod, &claim), refused) {
            (None, []) => Vec::new(),
            (None, parts) => {
                vec![format!("expected refused: {}", parts.join(" … ")), "found    started".to_owned()]
            }
            (Some(why), []) => vec!["expected started".to_owned(), format!("found    refused: {why}")],
            (Some(why), parts) => difference::of_sentence(parts, &why),
        })
    }

    /// A claim, by `name` or `namespace/name`.
    pub fn claim(&self, name: &str) -> anyhow::Result<ResourceClaim> {
        let (_, object) = self.found(name)?;
        Ok(serde_json::from_value(object.clone())?)
    }

    /// The status of a claim as it is stored.
    pub fn status(&self, claim: &str) -> anyhow::Result<Value> {
        if let Some(name) = claim.strip_prefix("PodGroup/") {
            let key = ("PodGroup".to_owned(), "default".to_owned(), name.to_owned());
            let group = self.objects.get(&key).with_context(|| format!("there is no group {name}"))?;
            return Ok(group["status"].clone());
        }
        Ok(self.found(claim)?.1["status"].clone())
    }

    /// Writes what was allocated to a claim into its status, or that nothing is.
    pub fn store_allocation(&mut self, claim: &str, allocation: Value) -> anyhow::Result<()> {
        let (key, object) = self.found(claim)?;
        let mut object = object.clone();
        object["status"]["allocation"] = allocation;
        self.write_status(&key, &object)
    }

    /// Writes down what somebody says of all devices of a claim, in place of what was said before.
    pub fn report_devices(&mut self, claim: &str, says: &BTreeMap<String, bool>) -> anyhow::Result<()> {
        let (key, object) = self.found(claim)?;
        let mut object = object.clone();
        let results = object["status"]["allocation"]["devices"]["results"].as_array().cloned();
        let results = results.with_context(|| format!("claim {claim} has no devices to say something of"))?;
        let condition = |(name, holds): (&String, &bool)| {
            json!({
                "type": name, "status": if *holds { "True" } else { "False" }, "reason": "Said", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            })
        };
        let conditions: Vec<Value> = says.iter().map(condition).collect();
        let report = |result: &Value| {
            let mut report = json!({ "conditions": conditions });
            for field in ["driver", "pool", "device", "shareID"] {
                if let Some(value) = result.get(field) {
                    report[field] = value.clone();
                }
            }
            report
        };
        object["status"]["devices"] = results.iter().map(report).collect();
        self.write_status(&key, &object)
    }

    /// A pod as it is stored, by `name` or `namespace/name`.
    pub fn pod(&self, name: &str) -> anyhow::Result<&Value> {
        let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
        let key = ("Pod".to_owned(), namespace.to_owned(), name.to_owned());
        self.objects.get(&key).with_context(|| format!("there is no pod {name}"))
    }

    /// Everything there is, in the order in which it was written last.
    pub fn in_order(&self) -> Vec<&Value> {
        let mut all: Vec<&Value> = self.objects.values().collect();
        all.sort_by_key(|object| revision_of(object));
        all
    }

    /// Takes over what became of objects that are there; other objects are taken in as they are.
    pub fn take_over(&mut self, object: Value) -> anyhow::Result<()> {
        let key = key(&object)?;
        self.revision += 1;
        let mut object = object;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert(key, object);
        Ok(())
    }

    /// Forgets an object that is gone.
    pub fn forget(&mut self, object: &Value) -> anyhow::Result<()> {
        let key = key(object)?;
        self.objects.remove(&key).map(drop).with_context(|| format!("{}/{} is not there", key.0, key.2))
    }

    /// A node by name.
    pub fn node(&self, name: &str) -> anyhow::Result<Node> {
        let all = self.all::<Node>()?;
        all.into_iter()
            .find(|node| node.metadata.name == name)
            .with_context(|| format!("there is no node {name}"))
    }

    /// All objects of a kind, in the order of their names.
    pub fn all<T: Object>(&self) -> anyhow::Result<Vec<T>> {
        let of_kind = self.objects.iter().filter(|((kind, _, _), _)| kind == T::KIND);
        Ok(of_kind.map(|(_, object)| T::read_value(object)).collect::<Result<_, _>>()?)
    }

    /// The rules that put taints on devices, while they count.
    pub fn taint_rules(&self, gates: Gates) -> anyhow::Result<Vec<DeviceTaintRule>> {
        let on = gates.enabled(Gate::DRADeviceTaints) && gates.enabled(Gate::DRADeviceTaintRules);
        if on { self.all() } else { Ok(Vec::new()) }
    }

    /// The slices as decisions see them. The revision of a slice is that of its last write, of which no two are equal.
    pub fn published(&self, gates: Gates) -> anyhow::Result<Vec<Arc<Published>>> {
        let rules = self.taint_rules(gates)?;
        let rules = rules.iter().map(convert::taint_rule).collect::<Result<Vec<_>, _>>()?;
        let mut published = Vec::new();
        for slice in self.all::<objects::resource::slice::ResourceSlice>()? {
            let written: u64 = slice.metadata.resource_version.parse()?;
            let revision = SliceRevision { slice: written, revision: written };
            let mut slice = convert::slice(&slice)?;
            rules.iter().for_each(|rule| rule.put_on(&mut slice));
            published.push(Arc::new(Published::new(slice, revision)));
        }
        Ok(published)
    }

    /// What is taken, told from the status of claims and nothing else.
    pub fn ledger(&self) -> anyhow::Result<Ledger> {
        let mut ledger = Ledger::default();
        for claim in self.all::<ResourceClaim>()? {
            convert::take_into(&mut ledger, &claim);
        }
        Ok(ledger)
    }

    fn found(&self, claim: &str) -> anyhow::Result<(Key, &Value)> {
        let (namespace, name) = claim.split_once('/').unwrap_or(("default", claim));
        let key = (ResourceClaim::KIND.to_owned(), namespace.to_owned(), name.to_owned());
        let object = self.objects.get(&key).with_context(|| format!("there is no claim {claim}"))?;
        Ok((key, object))
    }

    /// What a manifest says of the status goes where kubelets and schedulers write it.
    fn write_status(&mut self, key: &Key, manifest: &Value) -> anyhow::Result<()> {
        let Some(old) = self.objects.get(key).cloned() else { bail!("there is no {}/{}", key.0, key.2) };
        let Some(status) = manifest.get("status") else { return Ok(()) };
        let mut object = old.clone();
        object["status"] = status.clone();
        self.write(key, &object, Operation::UpdateStatus(&old))
    }

    fn write(&mut self, key: &Key, object: &Value, operation: Operation<'_>) -> anyhow::Result<()> {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let kind = table()
            .kind(api_version, &key.0)
            .with_context(|| format!("there is no {} in apiVersion {api_version:?}", key.0))?;
        let submitted = object;
        let submission = Submission {
            kind,
            namespace: &key.1,
            object: object.clone(),
            owners: None,
            duplicates: Vec::new(),
            field_validation: FieldValidation::Strict,
        };
        self.revision += 1;
        let uid = format!("00000000-0000-4000-8000-{:012}", self.revision);
        let identity = Identity { uid: &uid, suffix: "x7k2p" };
        let gates = Gates::all_on();
        let context = Context { now: now(), gates: &gates, surroundings: self };
        let admitted = admit(submission, operation, identity, &context)
            .map_err(|rejection| NotAdmitted(format!("{}/{} is not admitted: {rejection}", key.0, key.2)))?;
        let mut object = admitted.object;
        // Nodes are ready here, unless they say that they are not.
        let says = |taints: &Value| taints.as_array().is_some_and(|all| all.iter().any(is_not_ready));
        if key.0 == Node::KIND
            && !says(&submitted["spec"]["taints"])
            && let Some(taints) = object["spec"]["taints"].as_array_mut()
        {
            taints.retain(|taint| !is_not_ready(taint));
        }
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert(key.clone(), object);
        Ok(())
    }
}

/// The API refuses an object.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotAdmitted(String);

/// The time of a run, which stands still.
fn now() -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000)
}

fn merge(into: &mut Value, with: &Value) {
    let (Value::Object(into), Value::Object(with)) = (&mut *into, with) else {
        *into = with.clone();
        return;
    };
    for (key, value) in with {
        if value.is_null() {
            into.remove(key);
        } else {
            merge(into.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// The revision of an object's last write.
pub(crate) fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn is_not_ready(taint: &Value) -> bool {
    taint["key"] == NOT_READY
}

fn key(manifest: &Value) -> anyhow::Result<Key> {
    let kind = manifest["kind"].as_str().context("the manifest has no kind")?;
    if !KINDS.contains(&kind) {
        bail!("scenarios know no {kind}; hint: they know {}", KINDS.join(", "));
    }
    let name =
        manifest["metadata"]["name"].as_str().with_context(|| format!("a {kind} has no metadata.name"))?;
    let default = if is_namespaced(kind) { "default" } else { "" };
    let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or(default);
    Ok((kind.to_owned(), namespace.to_owned(), name.to_owned()))
}

fn is_namespaced(kind: &str) -> bool {
    table().kinds().iter().any(|known| known.kind == kind && known.scope == Scope::Namespaced)
}

impl Surroundings for World {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let key = ("Namespace".to_owned(), String::new(), name.to_owned());
        match self.objects.get(&key) {
            Some(object) => {
                let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
                Some(
                    labels
                        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                        .collect(),
                )
            }
            // There is a namespace for whoever names none, as in every cluster.
            None => (name == "default").then(BTreeMap::new),
        }
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        let classes = self.all::<PriorityClass>().unwrap_or_default();
        classes.into_iter().find(|class| class.metadata.name == name)
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn device_class(&self, name: &str) -> Option<DeviceClass> {
        let classes = self.all::<DeviceClass>().unwrap_or_default();
        classes.into_iter().find(|class| class.metadata.name == name)
    }

    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        self.all::<Node>().unwrap_or_default().into_iter().filter(|node| wanted(node)).collect()
    }
}
