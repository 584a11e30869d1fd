//! Facts: what the engine is told of objects, by table.

use cluster::change::{Change, CompanionChange, GroupChange, NegotiationChange, StorageChange};
use convert::change::{CLAIM_FINALIZER, applied, claim_state, gone};
use model::pod::LabelSelector;
use serde_json::{Value, json};

/// One object of each kind that matters.
fn objects() -> Vec<Value> {
    let object = |version: &str, kind: &str, spec: Value| {
        let metadata = json!({ "name": "one", "namespace": "ns", "uid": "u", "resourceVersion": "7" });
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
    };
    let slice = json!({ "driver": "d", "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 }, "nodeName": "n" });
    vec![
        object("v1", "Node", json!({})),
        object("v1", "Pod", json!({ "containers": [] })),
        object("v1", "Namespace", json!({})),
        object("resource.k8s.io/v1", "ResourceSlice", slice),
        object("resource.k8s.io/v1", "DeviceTaintRule", json!({ "taint": { "key": "k" } })),
        object("resource.k8s.io/v1", "DeviceClass", json!({})),
        object("resource.k8s.io/v1", "ResourceClaim", json!({ "devices": {} })),
        object("v1", "PersistentVolume", json!({})),
        object("v1", "PersistentVolumeClaim", json!({})),
        object("storage.k8s.io/v1", "StorageClass", json!({})),
        object("storage.k8s.io/v1", "CSINode", json!({ "drivers": [] })),
        object("storage.k8s.io/v1", "CSIDriver", json!({})),
        object("storage.k8s.io/v1", "CSIStorageCapacity", json!({})),
        object("storage.k8s.io/v1", "VolumeAttachment", json!({ "nodeName": "n" })),
        object("v1", "Service", json!({ "selector": { "k": "v" } })),
        object("v1", "ReplicationController", json!({ "selector": { "k": "v" } })),
        object("apps/v1", "ReplicaSet", json!({ "selector": { "matchLabels": { "k": "v" } } })),
        object("apps/v1", "StatefulSet", json!({ "selector": { "matchLabels": { "k": "v" } } })),
        object("policy/v1", "PodDisruptionBudget", json!({ "selector": {} })),
        object(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            json!({ "schedulingPolicy": { "gang": { "minCount": 3 } } }),
        ),
        object(
            "scheduling.k8s.io/v1alpha3",
            "CompositePodGroup",
            json!({ "schedulingPolicy": { "gang": { "minGroupCount": 2 } } }),
        ),
        object("supercargo.dev/v1alpha1", "Workload", workload()),
        object(
            "supercargo.dev/v1alpha1",
            "NodeTopology",
            json!({ "levels": [{ "name": "rack", "nodeLabel": "example.com/rack" }] }),
        ),
    ]
}

fn workload() -> Value {
    let levels = json!([
        { "level": "block", "mode": "Required" },
        { "level": "rack", "mode": "Preferred", "rank": 2 },
    ]);
    let devices = json!([
        { "resourceClaimName": "c" },
        { "resourceClaimTemplateName": "t", "matchAttribute": "a/b" },
    ]);
    let constraints = json!({ "topologyConstraints": levels, "draConstraints": devices });
    json!({ "podGroups": [
        { "name": "g", "policy": { "gang": { "minCount": 2 } }, "replicas": 2, "schedulingConstraints": constraints },
        { "name": "h", "policy": { "basic": {} } },
    ] })
}

/// The fact's name and what it is about.
fn told(change: Option<Change>) -> String {
    match change {
        None => "nothing".to_owned(),
        Some(Change::NodeApplied(node)) => format!("node {}", node.name),
        Some(Change::NodeGone(name)) => format!("no node {name}"),
        Some(Change::PodApplied(pod)) => format!("pod {} {}", pod.id.name, pod.uid),
        Some(Change::PodGone(uid)) => format!("no pod {uid}"),
        Some(Change::SliceApplied(published)) => {
            format!("slice {} at {}", published.slice.name, published.revision.revision)
        }
        Some(Change::SliceGone(name)) => format!("no slice {name}"),
        Some(Change::TaintRuleApplied(rule)) => format!("rule {} for {}", rule.name, rule.taint.key),
        Some(Change::TaintRuleGone(name)) => format!("no rule {name}"),
        Some(Change::ClassApplied(class)) => format!("class {}", class.name),
        Some(Change::ClassGone(name)) => format!("no class {name}"),
        Some(Change::ClaimListed(_) | Change::ClaimAnswered(_) | Change::ClaimMissing(..)) => {
            unreachable!("who asks knows that")
        }
        Some(Change::ClaimApplied(state)) => format!("claim {} {}", state.wish.id, state.uid),
        Some(Change::ClaimGone(id)) => format!("no claim {id}"),
        Some(Change::NamespaceApplied(name, _)) => format!("namespace {name}"),
        Some(Change::NamespaceGone(name)) => format!("no namespace {name}"),
        Some(Change::BudgetApplied(budget)) => format!("budget {} {}", budget.namespace, budget.name),
        Some(Change::BudgetGone(namespace, name)) => format!("no budget {namespace} {name}"),
        Some(Change::Group(change)) => told_of_groups(change),
        Some(Change::Negotiation(NegotiationChange::Applied(context))) => {
            format!("context {} of {}", context.pod, context.owner)
        }
        Some(Change::Negotiation(NegotiationChange::Gone(id, _))) => format!("no context {id}"),
        Some(Change::Storage(change)) => told_of_storage(change),
        Some(Change::Companions(change)) => told_of_companions(change),
    }
}

fn told_of_groups(change: GroupChange) -> String {
    match change {
        GroupChange::Applied(group) => format!("group {} of {}", group.id, group.at_least),
        GroupChange::Gone(id) => format!("no group {id}"),
        GroupChange::CompositeApplied(tree) => format!("groups {} of {}", tree.id, tree.at_least),
        GroupChange::CompositeGone(id) => format!("no groups {id}"),
        GroupChange::WorkloadApplied(workload) => {
            let name = &workload.id.name;
            let told = |(group, terms): (model::group::Group, &std::sync::Arc<model::workload::Terms>)| {
                let (levels, devices) = (&terms.levels, &terms.devices);
                format!("{} {} {levels:?} {devices:?}", group.id, group.at_least)
            };
            format!("workload {name}: {}", workload.replicas().map(told).collect::<Vec<_>>().join(", "))
        }
        GroupChange::WorkloadGone(id) => format!("no workload {}", id.name),
        GroupChange::TopologyApplied(topology) => {
            format!("topology {} of {} levels", topology.name, topology.levels.len())
        }
        GroupChange::TopologyGone(name) => format!("no topology {name}"),
    }
}

fn told_of_storage(change: StorageChange) -> String {
    match change {
        StorageChange::VolumeApplied(volume) | StorageChange::VolumeAnswered(volume) => {
            format!("volume {}", volume.name)
        }
        StorageChange::VolumeGone(name) => format!("no volume {name}"),
        StorageChange::VolumeClaimApplied(claim) | StorageChange::VolumeClaimAnswered(claim) => {
            format!("volume claim {}/{}", claim.id.namespace, claim.id.name)
        }
        StorageChange::VolumeClaimGone(id) => format!("no volume claim {}/{}", id.namespace, id.name),
        StorageChange::StorageClassApplied(class) => format!("storage class {}", class.name),
        StorageChange::StorageClassGone(name) => format!("no storage class {name}"),
        StorageChange::NodeApplied(node) => format!("storage of node {}", node.name),
        StorageChange::NodeGone(name) => format!("no storage of node {name}"),
        StorageChange::DriverApplied(driver) => format!("storage driver {}", driver.name),
        StorageChange::DriverGone(name) => format!("no storage driver {name}"),
        StorageChange::CapacityApplied(capacity) => {
            format!("capacity {}/{}", capacity.namespace, capacity.name)
        }
        StorageChange::CapacityGone(namespace, name) => format!("no capacity {namespace}/{name}"),
        StorageChange::AttachmentApplied(attachment) => format!("attachment {}", attachment.name),
        StorageChange::AttachmentGone(name) => format!("no attachment {name}"),
    }
}

fn told_of_companions(change: CompanionChange) -> String {
    let picked = |selector| match selector {
        LabelSelector::Nothing => "nothing".to_owned(),
        LabelSelector::All(all) => {
            all.iter().map(|one| format!("{}={}", one.key, one.values.join("|"))).collect()
        }
    };
    match change {
        CompanionChange::ServiceApplied(namespace, name, labels) => {
            let labels: String = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("service {namespace}/{name} of {labels}")
        }
        CompanionChange::ServiceGone(namespace, name) => format!("no service {namespace}/{name}"),
        CompanionChange::OwnerApplied(namespace, owner, selector) => {
            format!("{:?} {namespace}/{} of {}", owner.kind, owner.name, picked(selector))
        }
        CompanionChange::OwnerGone(namespace, owner) => {
            format!("no {:?} {namespace}/{}", owner.kind, owner.name)
        }
    }
}

#[test]
fn each_kind_that_matters_is_a_fact_when_it_is_there_and_when_it_is_gone() {
    let terms = "[LevelTerm { level: \"block\", rank: None }, LevelTerm { level: \"rack\", rank: Some(2) }] \
                 [DeviceTerm { claims: Named(\"c\"), together: Pool }, \
                 DeviceTerm { claims: Template(\"t\"), together: Attribute(\"a/b\") }]";
    let expected = [
        ("node one", "no node one"),
        ("pod one u", "no pod u"),
        ("namespace one", "no namespace one"),
        ("slice one at 7", "no slice one"),
        ("rule one for k", "no rule one"),
        ("class one", "no class one"),
        ("claim ns/one u", "no claim ns/one"),
        ("volume one", "no volume one"),
        ("volume claim ns/one", "no volume claim ns/one"),
        ("storage class one", "no storage class one"),
        ("storage of node one", "no storage of node one"),
        ("storage driver one", "no storage driver one"),
        ("capacity ns/one", "no capacity ns/one"),
        ("attachment one", "no attachment one"),
        ("service ns/one of k=v", "no service ns/one"),
        ("ReplicationController ns/one of k=v", "no ReplicationController ns/one"),
        ("ReplicaSet ns/one of k=v", "no ReplicaSet ns/one"),
        ("StatefulSet ns/one of k=v", "no StatefulSet ns/one"),
        ("budget ns one", "no budget ns one"),
        ("group ns/one of 3", "no group ns/one"),
        ("groups ns/one of 2", "no groups ns/one"),
        (
            &*format!("workload one: ns/one/g/0 2 {terms}, ns/one/g/1 2 {terms}, ns/one/h/0 1 [] []"),
            "no workload one",
        ),
        ("topology one of 1 levels", "no topology one"),
    ];
    for (object, (there, away)) in objects().iter().zip(expected) {
        assert_eq!(told(applied(object, 7).expect("a good object")), there);
        assert_eq!(told(gone(object).expect("a good object")), away);
    }
}

#[test]
fn a_budget_says_how_many_of_which_pods_may_still_go() {
    let object = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "b", "namespace": "ns" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "minAvailable": 1 },
        "status": { "disruptionsAllowed": 2, "disruptedPods": { "web-1": "2026-01-02T03:04:05Z" } },
    });
    let Ok(Some(Change::BudgetApplied(budget))) = applied(&object, 1) else { unreachable!("it is a budget") };
    assert_eq!((budget.allowed, budget.disrupted.len()), (2, 1));
    assert!(budget.disrupted.contains("web-1"));
    assert!(budget.selector.picks(&[("app".into(), "web".into())].into()));
    assert!(!budget.selector.picks(&[("app".into(), "db".into())].into()));
}

#[test]
fn other_kinds_and_other_versions_are_no_facts() {
    for (version, kind) in
        [("v1", "Secret"), ("apps/v1", "Deployment"), ("resource.k8s.io/v1beta1", "ResourceClaim")]
    {
        let object = json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "x" } });
        assert_eq!(told(applied(&object, 1).expect("it does not matter")), "nothing");
        assert_eq!(told(gone(&object).expect("it does not matter")), "nothing");
    }
}

#[test]
fn an_object_without_a_name_or_with_fields_of_other_types_is_refused() {
    for object in objects() {
        let mut unnamed = object.clone();
        unnamed["metadata"]["name"] = json!("");
        let error = applied(&unnamed, 1).expect_err("it has no name").to_string();
        assert!(error.ends_with("without a name: metadata.name is empty"), "{error}");
        let mut odd = object;
        odd["metadata"]["labels"] = json!(5);
        let error = applied(&odd, 1).expect_err("labels are no number").to_string();
        assert!(error.contains(" one: "), "{error}");
    }
}

#[test]
fn a_claim_arrives_with_all_that_is_decided_about_it() {
    let result = json!({ "request": "r", "driver": "d", "pool": "p", "device": "a" });
    let selector = json!({ "nodeSelectorTerms": [
        { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] },
    ] });
    let owner = |name: &str, controller: bool| json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": controller });
    let full = json!({
        "metadata": {
            "name": "c", "namespace": "ns", "uid": "u", "resourceVersion": "12",
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "finalizers": ["other", CLAIM_FINALIZER],
            "ownerReferences": [owner("bystander", false), owner("owner", true)],
        },
        "status": {
            "allocation": { "devices": { "results": [result] }, "nodeSelector": selector },
            "reservedFor": [{ "resource": "pods", "name": "p", "uid": "pu" }],
        },
    });
    let state = claim_state(&serde_json::from_value(full).expect("a claim")).expect("it has a uid");
    assert_eq!((&*state.uid, &*state.version), ("u", "12"));
    assert_eq!((state.owner.as_deref(), state.deleting, state.protected), (Some("owner"), true, true));
    assert_eq!(state.reserved_for, ["pu".into()]);
    let allocated = state.allocation.expect("it has devices");
    assert_eq!(allocated.nodes.as_ref().map(|nodes| nodes.terms.len()), Some(1));
    assert_eq!(allocated.held.iter().map(|held| &*held.device.device).collect::<Vec<_>>(), ["a"]);

    let bare = json!({ "metadata": { "name": "c", "namespace": "ns", "uid": "u" } });
    let state = claim_state(&serde_json::from_value(bare).expect("a claim")).expect("it has a uid");
    assert_eq!((state.allocation, state.owner, state.deleting, state.protected), (None, None, false, false));
}

#[test]
fn a_pod_joins_a_workload_by_its_labels() {
    let group = |labels: Value, named: Option<&str>| {
        let mut spec = json!({ "containers": [] });
        if let Some(named) = named {
            spec["schedulingGroup"] = json!({ "podGroupName": named });
        }
        let pod = json!({ "metadata": { "name": "p", "uid": "u", "labels": labels }, "spec": spec });
        let pod = serde_json::from_value(pod).expect("a pod");
        convert::pod(&pod).expect("a good pod").group.map(|group| group.to_string())
    };
    let (workload, in_group) = ("supercargo.dev/workload", "supercargo.dev/pod-group");
    let both = json!({ workload: "w", in_group: "g" });
    assert_eq!(group(both.clone(), None).as_deref(), Some("w/g/0"));
    let third = json!({ workload: "w", in_group: "g", "supercargo.dev/replica": "3" });
    assert_eq!(group(third, None).as_deref(), Some("w/g/3"));
    assert_eq!(group(both, Some("other")).as_deref(), Some("other"), "what the pod itself says counts more");
    assert_eq!(group(json!({ workload: "w" }), None), None, "it does not say which group");
}
