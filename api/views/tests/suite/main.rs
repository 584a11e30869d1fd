//! What the page is told change by change is what it is told at once, and names are told to those who may read them only.

use std::collections::{BTreeMap, BTreeSet};

use config::SchedulerSettings;
use convert::change;
use convert::claim_use;
use decisions::settings::Settings;
use gates::Gates;
use inventory::observed::Namespaces;
use model::timestamp::Timestamp;
use objects::Object;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};
use views::observer::{Note, Observer};

/// A cluster that is told to an observer.
struct World {
    observer: Observer,
    revision: u64,
}

fn settings() -> Settings {
    let gates = Gates::default();
    scheduling::settings(&SchedulerSettings::defaults(gates), gates)
}

impl World {
    fn new(named: Namespaces) -> World {
        World { observer: Observer::new(settings(), named), revision: 0 }
    }

    fn tell(&mut self, object: &Value) {
        self.revision += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let change =
            change::applied(&object, self.revision).expect("a good object").expect("a kind that matters");
        let note = match object["kind"].as_str() {
            Some("ResourceClaim") => {
                Note::Claim(claim_use(&ResourceClaim::read_value(&object).expect("a claim")))
            }
            _ => Note::Nothing,
        };
        self.observer.take(Timestamp::from_micros(1_000_000 * self.revision as i64), change, note);
    }

    fn cluster(&self) -> Value {
        serde_json::from_str(&self.observer.cluster().text()).expect("JSON")
    }
}

fn node(name: &str, rack: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "uid": name, "labels": { "topology.kubernetes.io/zone": rack, "kubernetes.io/hostname": name } },
        "status": { "allocatable": { "cpu": "8", "memory": "64Gi", "pods": "110" } },
    })
}

fn slice(node: &str, devices: usize) -> Value {
    let devices: Vec<Value> = (0..devices).map(|at| json!({ "name": format!("gpu-{at}") })).collect();
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": format!("{node}-gpus"), "uid": node },
        "spec": { "driver": "gpu.example.com", "nodeName": node, "devices": devices,
                  "pool": { "name": node, "generation": 1, "resourceSliceCount": 1 } },
    })
}

fn claim(namespace: &str, name: &str, device: Option<(&str, &str)>) -> Value {
    let mut claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": { "namespace": namespace, "name": name, "uid": format!("{namespace}-{name}") },
        "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1 } }] } },
    });
    if let Some((pool, device)) = device {
        let result = json!({ "request": "r", "driver": "gpu.example.com", "pool": pool, "device": device });
        claim["status"] = json!({
            "allocation": { "devices": { "results": [result] } },
            "reservedFor": [{ "resource": "pods", "name": "worker", "uid": "u" }],
        });
    }
    claim
}

/// What a page knows that takes updates.
#[derive(Default)]
struct Reader {
    nodes: BTreeMap<String, Value>,
    levels: Value,
    decisions: Vec<Value>,
}

impl Reader {
    fn take(&mut self, update: &str) {
        let update: Value = serde_json::from_str(update).expect("JSON");
        let list = |name: &str| update[name].as_array().cloned().unwrap_or_default();
        for node in list("nodes") {
            self.nodes.insert(node["name"].as_str().expect("a name").to_owned(), node);
        }
        for name in list("nodesGone") {
            self.nodes.remove(name.as_str().expect("a name"));
        }
        if update["levels"].is_array() {
            self.levels = update["levels"].clone();
        }
        self.decisions.extend(list("decisions"));
    }
}

#[test]
fn updates_add_up_to_what_is_told_at_once() {
    let mut world = World::new(Namespaces::All);
    let mut reader = Reader::default();
    let mut steps: Vec<Value> = vec![node("n-1", "a"), slice("n-1", 2), node("n-2", "a"), slice("n-2", 2)];
    steps.push(claim("team", "c", None));
    steps.push(claim("team", "c", Some(("n-1", "gpu-1"))));
    // A slice that comes before its node, a node that moves, a slice that grows, and a claim that is deallocated.
    steps.extend([
        slice("n-3", 1),
        node("n-3", "b"),
        node("n-2", "b"),
        slice("n-2", 3),
        claim("team", "c", None),
    ]);
    for step in &steps {
        world.tell(step);
        let update = world.observer.update();
        update.iter().for_each(|update| reader.take(update));
        let cluster = world.cluster();
        let nodes: Vec<&Value> = reader.nodes.values().collect();
        let told: Vec<&Value> = cluster["nodes"].as_array().expect("nodes").iter().collect();
        assert_eq!(nodes, told, "after {step}");
        assert_eq!(reader.levels, cluster["levels"], "after {step}");
    }
    assert_eq!(world.observer.update(), None, "there is nothing more to say");
    let decided: Vec<&str> = reader.decisions.iter().filter_map(|one| one["decision"].as_str()).collect();
    assert_eq!(decided, ["Allocated", "Deallocated"]);
    let devices = |node: &str| reader.nodes[node]["pools"][0]["devices"].as_array().map_or(0, Vec::len);
    assert_eq!((devices("n-1"), devices("n-2"), devices("n-3")), (2, 3, 1));
}

#[test]
fn holders_in_namespaces_that_are_not_named_are_in_use_only() {
    let mut world = World::new(Namespaces::Only(BTreeSet::from(["mine".into()])));
    for step in [node("n-1", "a"), slice("n-1", 2)] {
        world.tell(&step);
    }
    world.tell(&claim("mine", "c", Some(("n-1", "gpu-0"))));
    world.tell(&claim("secret-team", "secret-claim", Some(("n-1", "gpu-1"))));
    world.observer.update();
    let cluster = world.cluster();
    let devices = &cluster["nodes"][0]["pools"][0]["devices"];
    assert_eq!(devices[0]["holders"], json!([{ "namespace": "mine", "claim": "c", "users": ["worker"] }]));
    assert_eq!(devices[1]["holders"], json!([{ "hidden": true }]));
    assert_eq!(devices[1]["state"], "Allocated");
    let decisions = json!(world.observer.decisions().since(0, 10));
    assert_eq!(decisions.as_array().map(Vec::len), Some(1), "{decisions}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "secret-team", "name": "secret-pod", "uid": "p" },
        "spec": { "schedulerName": "default-scheduler", "containers": [{ "name": "c", "image": "i" }] },
    });
    world.tell(&pod);
    world.observer.update();
    for text in [world.observer.cluster().text(), world.observer.waiting().text(), decisions.to_string()] {
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn what_looks_free_is_unknown_to_those_who_may_not_read_all_claims() {
    let mut world = World::new(Namespaces::All);
    world.observer.limit_claims(Namespaces::Only(BTreeSet::from(["mine".into()])));
    for step in [node("n-1", "a"), slice("n-1", 1)] {
        world.tell(&step);
    }
    world.observer.update();
    assert_eq!(world.cluster()["nodes"][0]["pools"][0]["devices"][0]["state"], "Unknown");
}
