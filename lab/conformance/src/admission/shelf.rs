//! A shelf of objects by resource, namespace and name, with just enough memory for the vectors.

use std::collections::BTreeMap;

use admission::Surroundings;
use objects::Object;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use serde_json::{Value, json};

/// Resource, namespace and name.
pub(super) type Key = (String, String, String);

/// The objects of one case.
#[derive(Debug)]
pub(super) struct Shelf {
    objects: BTreeMap<Key, Value>,
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
    revision: u64,
}

impl Shelf {
    /// What every server has, and the namespace of the case.
    pub(super) fn new(namespace: String, labels: BTreeMap<String, String>) -> Self {
        let mut shelf = Self { objects: BTreeMap::new(), namespaces: BTreeMap::new(), revision: 100 };
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            shelf.namespaces.insert(name.to_owned(), BTreeMap::new());
        }
        shelf.namespaces.insert(namespace, labels);
        for (name, value) in
            [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
        {
            let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                "value": value, "preemptionPolicy": "PreemptLowerPriority"});
            shelf
                .put(("scheduling.k8s.io/priorityclasses".to_owned(), String::new(), name.to_owned()), class);
        }
        shelf
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Stores an object under a new revision.
    pub(super) fn put(&mut self, key: Key, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert(key, object.clone());
        object
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Value> {
        self.objects.remove(key)
    }

    fn all<T: Object>(&self, resource: &str) -> impl Iterator<Item = T> {
        let of_resource = self.objects.iter().filter(move |((have, _, _), _)| have == resource);
        of_resource.filter_map(|(_, object)| T::read_value(object).ok()).collect::<Vec<T>>().into_iter()
    }
}

impl Surroundings for Shelf {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.namespaces.get(name).cloned()
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        self.all::<PriorityClass>("scheduling.k8s.io/priorityclasses")
            .find(|class| class.metadata.name == name)
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        let classes = self.all::<PriorityClass>("scheduling.k8s.io/priorityclasses");
        classes.filter(|class| class.global_default).min_by_key(|class| class.value)
    }

    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        self.all::<Node>("/nodes").filter(|node| wanted(node)).collect()
    }
}
