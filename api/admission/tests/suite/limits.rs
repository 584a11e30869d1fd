//! The limits that the schema table states for other servers are those that admission keeps: a value at the limit is
//! accepted, and one beyond it is refused for that field.

use std::collections::{BTreeMap, BTreeSet};

use admission::{Context, FieldValidation, Identity, Operation, Rejection, Submission, Surroundings, admit};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use schema::{Field, Kind, Shape, StructId, table};
use serde_json::{Value, json};

struct Nothing;

impl Surroundings for Nothing {
    fn namespace_labels(&self, _name: &str) -> Option<BTreeMap<String, String>> {
        None
    }

    fn priority_class(&self, _name: &str) -> Option<PriorityClass> {
        None
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn nodes(&self, _wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

/// An object of each of our kinds in which every field with a limit is set. Texts that must differ between the elements
/// of a list have a 0, which is replaced by the element's number.
fn samples() -> [(&'static str, Value); 4] {
    let condition = json!({"type": "Ready0", "status": "True", "reason": "R", "message": "m",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:04:05Z"});
    [
        (
            "DeviceAttachment",
            json!({"metadata": {"name": "x"},
                "spec": {"driver": "d.example.com", "host": "h", "model": "m", "node": "n", "origin": "Attached", "port": "p", "unit": "u",
                    "claim": {"namespace": "n", "name": "c", "uid": "u", "pool": "p", "device": "d"}},
                "status": {"phase": "Attached", "failures": 1, "message": "m"}}),
        ),
        (
            "NodeTopology",
            json!({"metadata": {"name": "x"}, "spec": {"levels": [{"name": "l0", "nodeLabel": "k0"}]},
                "status": {"conditions": [condition.clone()]}}),
        ),
        (
            "PodSchedulingContext",
            json!({"metadata": {"name": "x", "namespace": "n"},
                "spec": {"potentialNodes": ["n0"], "selectedNode": "n"},
                "status": {"resourceClaims": [{"name": "c0", "unsuitableNodes": ["n0"]}]}}),
        ),
        (
            "Workload",
            json!({"metadata": {"name": "x", "namespace": "n"},
                "spec": {"podGroups": [{"name": "g0", "replicas": 1,
                    "policy": {"gang": {"minCount": 1}},
                    "schedulingConstraints": {
                        "topologyConstraints": [{"level": "rack0", "mode": "Preferred", "rank": 1}],
                        "draConstraints": [
                            {"resourceClaimName": "c", "matchAttribute": "example.com/a"},
                            {"resourceClaimTemplateName": "t"}]}}]},
                "status": {"conditions": [condition]}}),
        ),
    ]
}

/// Why an object is refused: the fields, with indices as they are; nothing if it is accepted.
fn refused(kind: &Kind, object: &Value) -> Vec<String> {
    let gates = Gates::default();
    let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
    let context = Context { now, gates: &gates, surroundings: &Nothing };
    let judge = |object: &Value, operation| {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let submission = Submission {
            kind,
            namespace,
            object: object.clone(),
            owners: None,
            duplicates: Vec::new(),
            field_validation: FieldValidation::Strict,
        };
        match admit(submission, operation, Identity { uid: "u", suffix: "abcde" }, &context) {
            Ok(_) => Vec::new(),
            Err(Rejection::Invalid(causes)) => causes.into_iter().map(|cause| cause.field).collect(),
            Err(other) => vec![other.to_string()],
        }
    };
    let mut old = object.clone();
    old["metadata"]["resourceVersion"] = json!("1");
    old["metadata"]["uid"] = json!("u");
    [judge(object, Operation::Create), judge(&old, Operation::UpdateStatus(&old))].concat()
}

/// The places in a sample where a field with a limit is, as JSON pointers.
fn limited(value: &Value, id: StructId, at: &str, found: &mut Vec<(String, &'static Field)>) {
    for field in &table().get(id).fields {
        let path = format!("{at}/{}", field.name);
        let Some(inner) = value.get(&field.name) else { continue };
        if field.limits != Default::default() {
            found.push((path.clone(), field));
        }
        match (&field.shape, inner) {
            (Shape::Struct(id), inner) => limited(inner, *id, &path, found),
            (Shape::List(element), Value::Array(items)) => {
                if let Shape::Struct(id) = **element {
                    for (index, item) in items.iter().enumerate() {
                        limited(item, id, &format!("{path}/{index}"), found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A text of a field's form that has so many characters.
fn text(field: &Field, length: usize) -> Value {
    let pattern = field.limits.pattern.as_deref().unwrap_or_default();
    let of = |letter: &str, count: usize| letter.repeat(count);
    json!(match pattern {
        // With a domain, because a bare name may be shorter only.
        _ if pattern.contains("/)?") => format!("{}/{}", of("a", length - 64), of("b", 63)),
        _ if pattern.contains("/[A-Za-z_]") => format!("{}/{}", of("a", length - 33), of("b", 32)),
        _ => of("a", length),
    })
}

fn list(sample: &Value, length: usize) -> Value {
    let first = sample[0].to_string();
    let one = |number: usize| {
        serde_json::from_str::<Value>(&first.replace("0\"", &format!("{number}\""))).expect("still JSON")
    };
    (0..length).map(one).collect::<Vec<_>>().into()
}

/// Values at the limits of a field, and beyond them.
fn values(field: &Field, sample: &Value) -> (Vec<Value>, Vec<Value>) {
    let limits = &field.limits;
    let is_list = matches!(field.shape, Shape::List(_));
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    if let Some(most) = limits.items_max {
        good.push(list(sample, most as usize));
        bad.push(list(sample, most as usize + 1));
    }
    if let Some(least) = limits.items_min {
        good.push(list(sample, least as usize));
        bad.push(list(sample, least as usize - 1));
    }
    if let Some(most) = limits.length_max {
        let wrap = |text: Value| if is_list { json!([text]) } else { text };
        good.push(wrap(text(field, most as usize)));
        bad.push(wrap(text(field, most as usize + 1)));
    }
    if let Some(least) = limits.value_min {
        good.push(json!(least));
        bad.push(json!(least - 1));
    }
    if let Some(most) = limits.value_max {
        good.push(json!(most));
        bad.push(json!(most + 1));
    }
    (good, bad)
}

#[test]
fn admission_keeps_the_limits_that_the_table_states() {
    let mut seen = BTreeSet::new();
    for (name, sample) in samples() {
        let kind = table().kind("supercargo.dev/v1alpha1", name).expect("served");
        assert_eq!(refused(kind, &sample), Vec::<String>::new(), "{name}");
        let mut found = Vec::new();
        limited(&sample, kind.object, "", &mut found);
        for (path, field) in found {
            seen.insert(std::ptr::from_ref(field).addr());
            let here = sample.pointer(&path).expect("it was found there");
            let (good, bad) = values(field, here);
            let with = |value: &Value| {
                let mut object = sample.clone();
                *object.pointer_mut(&path).expect("it was found there") = value.clone();
                object
            };
            for value in good {
                assert_eq!(refused(kind, &with(&value)), Vec::<String>::new(), "{name}{path} at its limit");
            }
            let plain: String = path.split('/').filter(|step| step.parse::<usize>().is_err()).collect();
            for value in bad {
                let causes = refused(kind, &with(&value));
                let bare = |cause: &String| {
                    cause
                        .split(['.', '[', ']'])
                        .filter(|step| step.parse::<usize>().is_err())
                        .collect::<String>()
                };
                assert!(
                    causes.iter().any(|cause| bare(cause) == plain),
                    "{name}{path} beyond its limit: {causes:?}"
                );
            }
        }
    }
    let ours = table().structs().iter().filter(|each| each.name.starts_with("supercargo."));
    let limited = ours.flat_map(|each| &each.fields).filter(|field| field.limits != Default::default());
    let left: Vec<&str> = limited
        .filter(|field| !seen.contains(&std::ptr::from_ref(*field).addr()))
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(left, Vec::<&str>::new(), "the samples have every field that has a limit");
}
