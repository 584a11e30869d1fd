//! Pods, nodes and events as they come through the door: what is filled in, what is refused, what features change.

use std::collections::BTreeMap;

use admission::{
    Admitted, Context, FieldValidation, Identity, Operation, Rejection, Submission, Surroundings, admit,
};
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use schema::table;
use serde_json::{Value, json};

struct Cluster {
    default_class: Option<PriorityClass>,
}

impl Surroundings for Cluster {
    fn namespace_labels(&self, _name: &str) -> Option<BTreeMap<String, String>> {
        Some(BTreeMap::new())
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        self.default_class.clone().filter(|class| class.metadata.name == name)
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        self.default_class.clone()
    }

    fn nodes(&self, _wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

fn send(
    object: Value,
    operation: Operation<'_>,
    gates: Gates,
    cluster: &Cluster,
) -> Result<Admitted, Rejection> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let kind = table().kind(&text("apiVersion"), &text("kind")).expect("a kind that is served");
    let namespace = if kind.scope == schema::Scope::Cluster { "" } else { "default" };
    let submission = Submission {
        kind,
        namespace,
        object,
        owners: None,
        duplicates: Vec::new(),
        field_validation: FieldValidation::Strict,
    };
    let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
    let identity = Identity { uid: "00000000-0000-0000-0000-000000000001", suffix: "abcde" };
    admit(submission, operation, identity, &Context { now, gates: &gates, surroundings: cluster })
}

const EMPTY: Cluster = Cluster { default_class: None };

fn create(object: Value) -> Result<Admitted, Rejection> {
    send(object, Operation::Create, Gates::all_on(), &EMPTY)
}

fn update(old: &Value, object: Value) -> Result<Admitted, Rejection> {
    send(object, Operation::Update(old), Gates::all_on(), &EMPTY)
}

/// A stored object has a version.
fn stored(mut admitted: Admitted) -> Value {
    admitted.object["metadata"]["resourceVersion"] = json!("1");
    admitted.object
}

fn pod(spec: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    });
    for (name, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][name] = value.clone();
    }
    pod
}

fn refused(answer: Result<Admitted, Rejection>) -> Vec<String> {
    match answer {
        Err(Rejection::Invalid(causes)) => causes.into_iter().map(|cause| cause.field).collect(),
        other => unreachable!("expected causes, got {other:?}"),
    }
}

#[test]
fn a_pod_without_gates_may_not_choose_its_nodes_anew() {
    let old = stored(create(pod(&json!({}))).expect("a plain pod"));
    let mut new = old.clone();
    new["spec"]["nodeSelector"] = json!({"a": "b"});
    assert_eq!(refused(update(&old, new)), ["spec"]);
}

#[test]
fn a_gated_pod_may_narrow_its_choice_of_nodes_and_lose_gates() {
    let gated = pod(&json!({"schedulingGates": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"x": "y"}}));
    let old = stored(create(gated).expect("a pod with gates"));
    assert_eq!(old["status"]["conditions"][0]["reason"], json!("SchedulingGated"));
    let mut new = old.clone();
    new["spec"]["nodeSelector"]["z"] = json!("w");
    new["spec"]["schedulingGates"] = json!([{"name": "b"}]);
    let changed = update(&old, new.clone()).expect("a narrower choice");
    assert_eq!(changed.object["metadata"]["generation"], json!(2));
    new["spec"]["nodeSelector"] = json!({"x": "other"});
    new["spec"]["schedulingGates"] = json!([{"name": "c"}]);
    assert_eq!(refused(update(&old, new)), ["spec.schedulingGates[0].name", "spec.nodeSelector"]);
}

#[test]
fn writing_a_pod_back_in_other_words_is_no_change() {
    let old = stored(create(pod(&json!({}))).expect("a plain pod"));
    let mut new = old.clone();
    new["spec"]["containers"][0]["stdin"] = json!(false);
    new["spec"]["volumes"] = json!([]);
    let same = update(&old, new).expect("nothing changed");
    assert_eq!(same.object, old);
}

#[test]
fn a_group_is_dropped_while_its_feature_is_off_unless_it_is_in_use() {
    let off = Gates::all_on().with(Gate::GenericWorkload, false);
    let grouped = || pod(&json!({"schedulingGroup": {"podGroupName": "g"}}));
    let made = send(grouped(), Operation::Create, off, &EMPTY).expect("a pod");
    assert_eq!(made.object["spec"].get("schedulingGroup"), None);
    let old = stored(create(grouped()).expect("a pod of a group"));
    let kept = send(old.clone(), Operation::Update(&old), off, &EMPTY).expect("an unchanged pod");
    assert_eq!(kept.object["spec"]["schedulingGroup"], json!({"podGroupName": "g"}));
}

/// What is refused of a pod, with reasons and words.
fn causes(answer: Result<Admitted, Rejection>) -> Vec<(String, &'static str, String)> {
    match answer {
        Ok(_) => Vec::new(),
        Err(Rejection::Invalid(causes)) => {
            causes.into_iter().map(|cause| (cause.field, cause.reason.as_str(), cause.message)).collect()
        }
        Err(other) => unreachable!("expected causes, got {other:?}"),
    }
}

#[test]
fn tolerations_compare_numbers_only_while_their_feature_is_on_or_the_stored_pod_does() {
    let gate = Gate::TaintTolerationComparisonOperators;
    let off = Gates::all_on().with(gate, false);
    let tolerates = |operator: &str| json!({ "key": "k", "operator": operator, "value": "5" });
    let comparing = |operator: &str| pod(&json!({ "tolerations": [tolerates(operator)] }));
    for operator in ["Gt", "Lt"] {
        let refused = causes(send(comparing(operator), Operation::Create, off, &EMPTY));
        let words = format!(
            "Unsupported value: {operator:?}: supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\""
        );
        let field = "spec.tolerations[0].operator".to_owned();
        assert_eq!(refused, [(field, "FieldValueNotSupported", words)]);
        assert_eq!(causes(create(comparing(operator))), []);
    }
    let old = stored(create(comparing("Gt")).expect("a pod that compares"));
    let mut new = old.clone();
    new["spec"]["tolerations"].as_array_mut().expect("a list").push(tolerates("Lt"));
    assert_eq!(causes(send(new, Operation::Update(&old), off, &EMPTY)), []);
    let plain = stored(create(pod(&json!({}))).expect("a plain pod"));
    let mut new = plain.clone();
    new["spec"]["tolerations"].as_array_mut().expect("a list").insert(0, tolerates("Lt"));
    let refused = causes(send(new, Operation::Update(&plain), off, &EMPTY));
    assert_eq!(refused.first().map(|cause| cause.0.as_str()), Some("spec.tolerations[0].operator"));
}

#[test]
fn users_of_its_own_go_with_the_network_of_the_node_only_while_their_feature_is_on() {
    let off = Gates::all_on().with(Gate::UserNamespacesHostNetworkSupport, false);
    let made = |spec: Value, gates: Gates| causes(send(pod(&spec), Operation::Create, gates, &EMPTY));
    let on_the_network = || json!({ "hostNetwork": true, "hostUsers": false });
    let because = |field: &str| {
        let words = "Forbidden: when `hostUsers` is false".to_owned();
        (format!("spec.{field}"), "FieldValueForbidden", words)
    };
    assert_eq!(made(on_the_network(), off), [because("hostNetwork")]);
    assert_eq!(made(on_the_network(), Gates::all_on()), []);
    assert_eq!(made(json!({ "hostNetwork": true, "hostUsers": true }), off), []);
    assert_eq!(made(json!({ "hostNetwork": true }), off), []);
    let more = json!({ "hostPID": true, "hostIPC": true, "hostUsers": false });
    assert_eq!(made(more, Gates::all_on()), [because("HostPID"), because("HostIPC")]);
    let raw = json!({
        "hostUsers": false,
        "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "c" } }],
        "containers": [{
            "name": "c", "image": "i", "volumeDevices": [{ "name": "v", "devicePath": "/dev/v" }],
        }],
    });
    assert_eq!(made(raw, Gates::all_on()), [because("containers[0].volumeDevices")]);
    let old = stored(create(pod(&on_the_network())).expect("a pod on the network"));
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({ "a": "b" });
    assert_eq!(causes(send(new, Operation::Update(&old), off, &EMPTY)), []);
}

#[test]
fn a_pod_has_the_priority_of_its_class_and_no_other() {
    let class: PriorityClass = serde_json::from_value(
        json!({"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}),
    )
    .expect("a class");
    let cluster = Cluster { default_class: Some(class) };
    let made = send(pod(&json!({})), Operation::Create, Gates::all_on(), &cluster).expect("a pod");
    assert_eq!(made.object["spec"]["priority"], json!(7));
    assert_eq!(made.object["spec"]["priorityClassName"], json!("high"));
    let other = send(pod(&json!({"priority": 8})), Operation::Create, Gates::all_on(), &cluster);
    assert_eq!(other.map_err(|refusal| refusal.code()).map(|_| ()), Err(403));
    let missing = create(pod(&json!({"priorityClassName": "none"})));
    assert_eq!(missing.map_err(|refusal| refusal.code()).map(|_| ()), Err(403));
}

#[test]
fn a_status_that_does_not_mention_claims_keeps_them() {
    let mut old = stored(
        create(pod(&json!({"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]})))
            .expect("a pod with a claim"),
    );
    old["status"]["resourceClaimStatuses"] = json!([{"name": "a", "resourceClaimName": "made"}]);
    let mut new = old.clone();
    new["status"] = json!({"phase": "Running"});
    let kept = send(new, Operation::UpdateStatus(&old), Gates::all_on(), &EMPTY).expect("a status");
    assert_eq!(kept.object["status"]["resourceClaimStatuses"], old["status"]["resourceClaimStatuses"]);
    assert_eq!(kept.object["status"]["qosClass"], json!("BestEffort"));
}

#[test]
fn a_new_node_is_not_ready() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "0.0001"}}});
    let made = create(node).expect("a node").object;
    let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
    assert_eq!(made["spec"]["taints"], taint);
    assert_eq!(made["status"]["allocatable"], json!({"cpu": "1m"}));
}

#[test]
fn an_event_is_judged_as_it_was_sent_and_stored_as_the_core_group_has_it() {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal",
        "eventTime": "2026-01-02T03:04:05.000006Z", "reportingController": "example.com/s", "action": "a",
        "reportingInstance": "i", "reason": "r", "note": "hello",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    let made = create(event.clone()).expect("an event").object;
    assert_eq!((&made["apiVersion"], &made["message"]), (&json!("v1"), &json!("hello")));
    let mut odd = event;
    odd["type"] = json!("Odd");
    odd["deprecatedCount"] = json!(1);
    assert_eq!(refused(create(odd)), ["type", "count"]);
}
