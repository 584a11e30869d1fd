//! What drivers' controllers write to claims: handles up to their limit, and requests to give devices back.

use std::collections::BTreeMap;

use admission::{Context, FieldValidation, Identity, Operation, Submission, Surroundings, admit};
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::resource::class::DeviceClass;
use objects::scheduling::priority_class::PriorityClass;
use schema::table;
use serde_json::{Value, json};

/// A cluster with a class, if a controller is named that gives its devices.
struct Classes(Option<&'static str>);

impl Surroundings for Classes {
    fn device_class(&self, name: &str) -> Option<DeviceClass> {
        let class = json!({
            "metadata": { "name": name }, "spec": { "controllerName": self.0? },
        });
        serde_json::from_value(class).ok()
    }

    fn namespace_labels(&self, _: &str) -> Option<BTreeMap<String, String>> {
        None
    }

    fn priority_class(&self, _: &str) -> Option<PriorityClass> {
        None
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn nodes(&self, _: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

fn claim(status: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": { "name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1" },
        "spec": { "devices": { "requests": [{ "name": "r", "exactly": {
            "deviceClassName": "c", "allocationMode": "ExactCount", "count": 1,
        } }] } },
        "status": status,
    })
}

/// What becomes of a status that is written over another.
fn write(before: &Value, after: &Value, is_on: bool) -> Result<Value, String> {
    write_beside(&Classes(None), before, after, is_on)
}

/// The same where a controller gives devices of the claim's class.
fn write_beside(classes: &Classes, before: &Value, after: &Value, is_on: bool) -> Result<Value, String> {
    let gates = Gates::default().with(Gate::DRAControlPlaneController, is_on);
    let kind = table().kind("resource.k8s.io/v1", "ResourceClaim").expect("it is in the table");
    let context = Context { now: Timestamp::from_micros(0), gates: &gates, surroundings: classes };
    let submission = Submission {
        kind,
        namespace: "n",
        object: claim(after),
        owners: None,
        duplicates: Vec::new(),
        field_validation: FieldValidation::Strict,
    };
    let old = claim(before);
    let nobody = Identity { uid: "", suffix: "" };
    let admitted = admit(submission, Operation::UpdateStatus(&old), nobody, &context);
    admitted.map(|admitted| admitted.object["status"].clone()).map_err(|why| why.to_string())
}

fn given(bytes: usize, reserved: bool, leaving: bool) -> Value {
    let handle = json!({ "driverName": "d.example.com", "data": "x".repeat(bytes) });
    let mut status = json!({
        "controllerName": "d.example.com",
        "allocation": { "devices": {}, "shareable": true, "resourceHandles": [handle] },
    });
    if reserved {
        status["reservedFor"] = json!([{ "resource": "pods", "name": "p", "uid": "u" }]);
    }
    if leaving {
        status["deallocationRequested"] = json!(true);
    }
    status
}

#[test]
fn a_handle_may_have_16_kib_and_not_a_byte_more() {
    let nothing = json!({});
    let kept = write(&nothing, &given(16 * 1024, true, false), true).expect("at the limit");
    let handle = &kept["allocation"]["resourceHandles"][0]["data"];
    assert_eq!(handle.as_str().map(str::len), Some(16 * 1024));
    let why = write(&nothing, &given(16 * 1024 + 1, true, false), true).expect_err("beyond it");
    assert!(why.contains("resourceHandles[0].data"), "{why}");
}

#[test]
fn without_the_feature_nothing_of_it_is_kept() {
    let kept = write(&json!({}), &given(1, true, false), false).expect("the rest is good");
    for field in ["controllerName", "deallocationRequested"] {
        assert!(kept.get(field).is_none(), "{kept}");
    }
    assert!(
        kept["allocation"].get("resourceHandles").is_none() && kept["allocation"].get("shareable").is_none()
    );
}

#[test]
fn devices_are_asked_back_when_nobody_uses_them_and_nobody_may_begin_to_then() {
    let (used, unused, leaving) = (given(1, true, false), given(1, false, false), given(1, false, true));
    assert!(write(&used, &given(1, true, true), true).is_err(), "it is in use");
    assert!(write(&used, &leaving, true).is_ok(), "the last user lets go and asks at once");
    assert!(write(&leaving, &given(1, true, true), true).is_err(), "nobody may begin to use it");
    assert!(write(&leaving, &unused, true).is_err(), "it is not taken back");
    assert!(write(&leaving, &json!({}), true).is_ok(), "but ends with the devices");
}

#[test]
fn what_was_given_for_one_user_has_one() {
    let used_by = |shareable: bool, users: &[&str]| {
        let mut status = given(1, false, false);
        status["allocation"]["shareable"] = json!(shareable);
        let user = |name: &&str| json!({ "resource": "pods", "name": name, "uid": name });
        status["reservedFor"] = users.iter().map(user).collect();
        status
    };
    let refused = write(&used_by(false, &["p"]), &used_by(false, &["p", "q"]), true);
    assert_eq!(refused, Err("status.reservedFor: the driver allocated the claim for one user".to_owned()));
    assert!(write(&used_by(false, &["p"]), &used_by(false, &["q"]), true).is_ok());
    assert!(write(&used_by(true, &["p"]), &used_by(true, &["p", "q"]), true).is_ok());
    // What is there already may be reduced step by step.
    let many = used_by(false, &["p", "q", "r"]);
    assert!(write(&many, &used_by(false, &["p", "q"]), true).is_ok());
}

#[test]
fn an_allocation_names_the_controller_that_its_class_names() {
    let of_class = |controller| Classes(Some(controller));
    let nothing = json!({});
    let mut nameless = given(1, false, false);
    nameless["controllerName"] = json!("");
    let refused = write_beside(&of_class("d.example.com"), &nothing, &nameless, true);
    let message = "status.controllerName: controller d.example.com allocates claims of this class";
    assert_eq!(refused, Err(message.to_owned()));
    let refused = write_beside(&of_class("other.example.com"), &nothing, &given(1, false, false), true);
    assert_eq!(
        refused,
        Err("status.controllerName: must be other.example.com, as the class says".to_owned())
    );
    assert!(write_beside(&of_class("d.example.com"), &nothing, &given(1, true, false), true).is_ok());
    assert!(
        write_beside(&of_class("d.example.com"), &nothing, &nameless, false).is_ok(),
        "the feature is off"
    );
    let given = given(1, false, false);
    let refused = write_beside(&of_class("d.example.com"), &given, &nameless, true);
    assert_eq!(
        refused,
        Err("status.controllerName: must stay d.example.com while the claim is allocated".to_owned())
    );
}

#[test]
fn devices_of_a_driver_are_not_taken_back_unasked() {
    let refused = write(&given(1, false, false), &json!({}), true);
    let message = "status.allocation: may be cleared only on request; hint: set status.deallocationRequested, or \
        delete the claim, and driver d.example.com deallocates it";
    assert_eq!(refused, Err(message.to_owned()));
    assert!(write(&given(1, false, true), &json!({}), true).is_ok());
    let mut ours = given(1, false, false);
    ours["controllerName"] = json!("");
    assert!(write(&ours, &json!({}), true).is_ok(), "a scheduler gave them");
}
