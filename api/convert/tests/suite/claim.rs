//! Claims: every field arrives, and forms that we do not know arrive as such.

use convert::claim;
use model::claim::{
    Amount, Ask, Claim, ClaimId, ClaimSpec, Constraint, Request, Rule, Toleration, TolerationValue, Wish,
};
use model::request_name::RequestName;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

fn read(object: Value) -> ResourceClaim {
    serde_json::from_value(object).expect("a claim")
}

fn bare(class: &str, amount: Amount) -> Ask {
    Ask {
        class: class.into(),
        selectors: Vec::new(),
        amount,
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    }
}

fn full_ask() -> Value {
    json!({
        "deviceClassName": "gpu",
        "selectors": [{ "cel": { "expression": "true" } }, {}],
        "allocationMode": "ExactCount",
        "count": 2,
        "tolerations": [{ "key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5 }],
        "capacity": { "requests": { "memory": "10Gi" } },
        "derivedAttributes": [{ "name": "example.com/half", "expression": "1" }],
    })
}

fn expected_ask() -> Ask {
    Ask {
        selectors: vec![Some("true".into()), None],
        tolerations: vec![Toleration {
            key: "k".into(),
            value: TolerationValue::Any,
            effect: "NoExecute".into(),
            seconds: Some(5),
        }],
        capacity: Some([("memory".into(), "10Gi".parse().expect("a quantity"))].into()),
        derived: vec![("example.com/half".into(), "1".into())],
        ..bare("gpu", Amount::Exactly(2))
    }
}

#[test]
fn every_field_of_a_claim_arrives() {
    let mut exactly = full_ask();
    exactly["adminAccess"] = json!(false);
    let mut first = full_ask();
    first["name"] = json!("first");
    let object = json!({ "metadata": { "name": "c", "namespace": "ns" }, "spec": { "devices": {
        "requests": [
            { "name": "r0", "exactly": exactly },
            { "name": "r1", "firstAvailable": [
                first, { "name": "second", "deviceClassName": "nic", "allocationMode": "All" },
            ] },
        ],
        "constraints": [
            { "matchAttribute": "a/m", "requests": ["r0", "r1/first"] },
            { "distinctAttribute": "a/d" },
            { "matchAttribute": "a/m", "distinctAttribute": "a/d" },
            { "requests": ["r0"] },
        ],
        "config": [
            { "requests": ["r0"], "opaque": { "driver": "d", "parameters": {} } },
            { "opaque": { "driver": "d", "parameters": {} } },
        ],
    } } });
    let rule = |requests: &[RequestName], rule| Constraint { requests: requests.to_vec(), rule };
    let first = RequestName { subrequest: Some("first".into()), .."r1".into() };
    let spec = ClaimSpec {
        requests: vec![
            Request {
                name: "r0".into(),
                wish: Wish::Exactly(Ask { admin_access: Some(false), ..expected_ask() }),
            },
            Request {
                name: "r1".into(),
                wish: Wish::FirstAvailable(vec![
                    ("first".into(), expected_ask()),
                    ("second".into(), bare("nic", Amount::All)),
                ]),
            },
        ],
        constraints: vec![
            rule(&["r0".into(), first], Rule::Match("a/m".into())),
            rule(&[], Rule::Distinct("a/d".into())),
            rule(&[], Rule::Match("a/m".into())),
            rule(&["r0".into()], Rule::Unknown),
        ],
        configs: vec![vec!["r0".into()], Vec::new()],
    };
    let id = ClaimId { namespace: "ns".into(), name: "c".into() };
    assert_eq!(claim(&read(object)), Ok(Claim { id, spec }));
}

/// The claim of one request.
fn of(request: &Value) -> Result<Claim, String> {
    let object = json!({ "metadata": { "name": "c" }, "spec": { "devices": { "requests": [request] } } });
    claim(&read(object)).map_err(|error| error.to_string())
}

fn wish(request: &Value) -> Wish {
    of(request).expect("a claim").spec.requests.remove(0).wish
}

#[test]
fn forms_that_are_not_known_arrive_as_such() {
    let mode = Wish::Exactly(bare("gpu", Amount::Unknown("Most".into())));
    let exactly = json!({ "deviceClassName": "gpu", "allocationMode": "Most" });
    assert_eq!(wish(&json!({ "name": "r", "exactly": exactly })), mode);
    let neither = Wish::Exactly(bare("", Amount::Unknown("".into())));
    assert_eq!(wish(&json!({ "name": "r", "mostly": {} })), neither);
}

#[test]
fn what_means_nothing_is_said_by_object_and_field() {
    let negative = json!({ "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": -1 });
    let expected = "ResourceClaim c: spec.devices.requests[0].exactly.count is -1, which is below zero";
    assert_eq!(of(&json!({ "name": "r", "exactly": negative })), Err(expected.to_owned()));
    let expected = "ResourceClaim c: spec.devices.requests[0].name is empty";
    assert_eq!(of(&json!({ "exactly": {} })), Err(expected.to_owned()));
    let expected = "ResourceClaim c: spec.devices.requests[0].firstAvailable[0].name is empty";
    assert_eq!(of(&json!({ "name": "r", "firstAvailable": [{}] })), Err(expected.to_owned()));
}
