//! Pod groups, workloads and composite pod groups: what depends on priority classes and on features.
//!
//! The rules of single fields are compared with recorded answers of Kubernetes in `lab/conformance`; those were
//! recorded with every feature on.

use std::collections::BTreeMap;

use admission::{Context, FieldValidation, Identity, Operation, Rejection, Submission, Surroundings, admit};
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use schema::table;
use serde_json::{Value, json};

/// A cluster that has priority classes and nothing else.
#[derive(Default)]
struct Classes(Vec<PriorityClass>);

impl Classes {
    fn with(mut self, name: &str, value: i32, policy: &str, default: bool) -> Self {
        let mut class = PriorityClass {
            value,
            global_default: default,
            preemption_policy: Some(policy.to_owned()),
            ..Default::default()
        };
        class.metadata.name = name.to_owned();
        self.0.push(class);
        self
    }
}

impl Surroundings for Classes {
    fn namespace_labels(&self, _name: &str) -> Option<BTreeMap<String, String>> {
        None
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        self.0.iter().find(|class| class.metadata.name == name).cloned()
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        self.0.iter().find(|class| class.global_default).cloned()
    }

    fn nodes(&self, _wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

/// Where a test's requests go.
struct Server {
    gates: Gates,
    classes: Classes,
}

impl Server {
    fn new(classes: Classes) -> Self {
        Self { gates: Gates::all_on(), classes }
    }

    fn without(mut self, gate: Gate) -> Self {
        self.gates = self.gates.with(gate, false);
        self
    }

    fn send(&self, kind: &str, object: Value, operation: Operation<'_>) -> Result<Value, Rejection> {
        let version = if kind == "CompositePodGroup" { "v1alpha3" } else { "v1beta1" };
        let kind = table().kind(&format!("scheduling.k8s.io/{version}"), kind).expect("a served kind");
        let submission = Submission {
            kind,
            namespace: "team",
            object,
            owners: None,
            duplicates: Vec::new(),
            field_validation: FieldValidation::Strict,
        };
        let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        let context = Context { now, gates: &self.gates, surroundings: &self.classes };
        admit(submission, operation, Identity { uid: "u", suffix: "abcde" }, &context)
            .map(|admitted| admitted.object)
    }

    fn create(&self, kind: &str, spec: Value) -> Result<Value, Rejection> {
        self.send(kind, with(json!({"metadata": {"name": "g"}}), "spec", spec), Operation::Create)
    }

    /// A good object as the server would have stored it.
    fn stored(&self, kind: &str, spec: Value) -> Value {
        let mut object = self.create(kind, spec).expect("a good object");
        object["metadata"]["resourceVersion"] = json!("1");
        object
    }
}

fn causes(answer: Result<Value, Rejection>) -> Vec<(String, String)> {
    match answer {
        Err(Rejection::Invalid(causes)) => {
            let pair =
                |cause: &admission::Cause| (cause.reason.as_str()[10..].to_owned(), cause.field.clone());
            let mut pairs: Vec<(String, String)> = causes.iter().map(pair).collect();
            pairs.sort();
            pairs
        }
        other => unreachable!("expected causes, got {other:?}"),
    }
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(reason, field)| ((*reason).to_owned(), (*field).to_owned())).collect()
}

fn gang() -> Value {
    json!({"schedulingPolicy": {"gang": {"minCount": 2}}})
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

#[test]
fn a_group_without_a_class_gets_priority_zero_and_a_finalizer() {
    let group = Server::new(Classes::default()).stored("PodGroup", gang());
    assert_eq!(group["metadata"]["finalizers"], json!(["scheduling.k8s.io/podgroup-protection"]));
    assert_eq!(
        group["spec"],
        json!({
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "disruptionMode": {"single": {}},
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        })
    );
}

#[test]
fn the_default_class_fills_in_its_name_and_value() {
    let server = Server::new(Classes::default().with("usual", 70, "PreemptLowerPriority", true));
    let group = server.stored("PodGroup", gang());
    assert_eq!(group["spec"]["priorityClassName"], json!("usual"));
    assert_eq!(group["spec"]["priority"], json!(70));
}

#[test]
fn a_class_that_never_preempts_asks_groups_to_say_so_themselves() {
    let server = Server::new(Classes::default().with("meek", 5, "Never", false));
    let named = with(gang(), "priorityClassName", json!("meek"));
    let composite = json!({"schedulingPolicy": {"basic": {}}, "priorityClassName": "meek"});
    for (kind, spec) in [("PodGroup", named.clone()), ("CompositePodGroup", composite)] {
        let answer = server.create(kind, spec);
        assert!(matches!(answer, Err(Rejection::Forbidden(_))), "{kind}: {answer:?}");
    }
    let group = server.stored("PodGroup", with(named.clone(), "preemptionPolicy", json!("Never")));
    assert_eq!(group["spec"]["preemptionPolicy"], json!("Never"));

    let group = server.without(Gate::PodGroupPreemptionPolicy).stored("PodGroup", named);
    assert_eq!(group["spec"].get("preemptionPolicy"), None);
    assert_eq!(group["spec"]["priority"], json!(5));
}

#[test]
fn a_missing_class_comes_before_every_other_fault() {
    let server = Server::new(Classes::default());
    let answer =
        server.create("PodGroup", json!({"priorityClassName": "none", "workloadRef": {"workloadName": "-"}}));
    assert!(matches!(answer, Err(Rejection::Forbidden(_))), "{answer:?}");
}

#[test]
fn a_class_of_the_system_is_too_high_for_groups() {
    let server = Server::new(Classes::default().with("system", 2_000_000_000, "PreemptLowerPriority", false));
    let answer = server.create("PodGroup", with(gang(), "priorityClassName", json!("system")));
    assert_eq!(causes(answer), pairs(&[("Invalid", "spec.priority")]));
}

#[test]
fn fields_of_features_that_are_off_are_dropped_unless_they_are_stored() {
    let all = json!({
        "parentCompositePodGroupName": "p",
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingPolicy": {"basic": {}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
    });
    let gated =
        ["parentCompositePodGroupName", "schedulingConstraints", "resourceClaims", "preemptionPolicy"];
    let stored = Server::new(Classes::default()).stored("PodGroup", all.clone());
    let off = Server::new(Classes::default())
        .without(Gate::CompositePodGroup)
        .without(Gate::TopologyAwareWorkloadScheduling)
        .without(Gate::DRAWorkloadResourceClaims)
        .without(Gate::PodGroupPreemptionPolicy);
    let bare = off.stored("PodGroup", all);
    let mut labelled = stored.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let kept = off.send("PodGroup", labelled, Operation::Update(&stored)).expect("the spec stays");
    for field in gated {
        assert_eq!(bare["spec"].get(field), None, "{field}");
        assert_eq!(kept["spec"][field], stored["spec"][field], "{field}");
    }
}

#[test]
fn constraints_can_be_taken_away_but_not_changed_once_their_feature_is_off() {
    let on = Server::new(Classes::default());
    let spec = with(gang(), "schedulingConstraints", json!({"topology": [{"key": "rack"}]}));
    let stored = on.stored("PodGroup", spec);
    let off = Server::new(Classes::default()).without(Gate::TopologyAwareWorkloadScheduling);
    let mut other = stored.clone();
    other["spec"]["schedulingConstraints"]["topology"][0]["key"] = json!("row");
    let answer = off.send("PodGroup", other, Operation::Update(&stored));
    assert_eq!(causes(answer), pairs(&[("Forbidden", "spec.schedulingConstraints")]));
    let mut none = stored.clone();
    none["spec"].as_object_mut().expect("a spec").remove("schedulingConstraints");
    assert!(off.send("PodGroup", none.clone(), Operation::Update(&stored)).is_ok());
    let answer = on.send("PodGroup", none, Operation::Update(&stored));
    assert_eq!(causes(answer), pairs(&[("Invalid", "spec.schedulingConstraints")]));
}

#[test]
fn a_tree_of_templates_is_dropped_without_its_feature() {
    let leaf = json!({"name": "leaf", "schedulingPolicy": {"basic": {}}, "preemptionPolicy": "Never"});
    let tree = json!({"compositePodGroupTemplates": [
        {"name": "top", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [leaf]},
    ]});
    let server = Server::new(Classes::default()).without(Gate::CompositePodGroup);
    // What is left has no templates at all.
    assert_eq!(causes(server.create("Workload", tree.clone())), pairs(&[("Invalid", "spec")]));

    let server = Server::new(Classes::default()).without(Gate::PodGroupPreemptionPolicy);
    let workload = server.stored("Workload", tree);
    let leaf = &workload["spec"]["compositePodGroupTemplates"][0]["podGroupTemplates"][0];
    assert_eq!(leaf.get("preemptionPolicy"), None);
}

#[test]
fn every_template_that_is_gone_is_named() {
    let server = Server::new(Classes::default());
    let leaf = |name: &str| json!({"name": name, "schedulingPolicy": {"basic": {}}});
    let spec = json!({"podGroupTemplates": [leaf("a"), leaf("b"), leaf("c")]});
    let stored = server.stored("Workload", spec);
    let mut fewer = stored.clone();
    fewer["spec"]["podGroupTemplates"] = json!([leaf("a")]);
    let answer = server.send("Workload", fewer, Operation::Update(&stored));
    let gone = ("Forbidden", "spec.podGroupTemplates");
    assert_eq!(causes(answer), pairs(&[gone, gone]));
}

#[test]
fn a_status_update_keeps_the_spec_and_names_claims_of_the_spec() {
    let server = Server::new(Classes::default());
    let spec = with(gang(), "resourceClaims", json!([{"name": "c", "resourceClaimTemplateName": "t"}]));
    let stored = server.stored("PodGroup", spec);
    let report = |names: &[&str]| {
        let statuses: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let mut group = stored.clone();
        group["status"] = json!({"resourceClaimStatuses": statuses});
        group["spec"]["schedulingPolicy"] = json!({"basic": {}});
        server.send("PodGroup", group, Operation::UpdateStatus(&stored))
    };
    let group = report(&["c"]).expect("c is a claim of the group");
    assert_eq!(group["spec"], stored["spec"]);
    assert_eq!(group["status"], json!({"resourceClaimStatuses": [{"name": "c"}]}));
    assert_eq!(
        causes(report(&["c", "d", "c"])),
        pairs(&[
            ("Duplicate", "status.resourceClaimStatuses[2]"),
            ("Invalid", "status.resourceClaimStatuses[1].name"),
        ])
    );
}
