//! Slices: every field arrives, and what has no name stays outside.

use std::sync::Arc;

use convert::slice;
use model::device::{
    Allowed, Attribute, Binding, Capacity, CounterSet, Device, Draw, NodeShare, Part, PoolId, Reach,
    RequestPolicy, Slice, Taint, TaintEffect,
};
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::quantity::Quantity;
use objects::resource::slice::ResourceSlice;
use serde_json::{Value, json};

fn read(object: Value) -> ResourceSlice {
    serde_json::from_value(object).expect("a slice")
}

fn amount(text: &str) -> Quantity {
    text.parse().expect("a quantity")
}

fn full_device() -> Value {
    json!({
        "name": "gpu-0",
        "attributes": {
            "index": { "int": 3 },
            "nvlink": { "bool": true },
            "model": { "string": "a100" },
            "driverVersion": { "version": "1.2.3" },
            "ports": { "ints": [1, 2] },
            "flags": { "bools": [true, false] },
            "lanes": { "strings": ["x", "y"] },
            "firmware": { "versions": ["1.0.0"] },
            "later": {},
        },
        "capacity": {
            "plain": { "value": "80Gi" },
            "any": { "value": "10", "requestPolicy": { "default": "1" } },
            "values": { "value": "10", "requestPolicy": { "default": "1", "validValues": ["1", "2"] } },
            "range": { "value": "10", "requestPolicy": {
                "default": "1", "validRange": { "min": "1", "max": "8", "step": "500m" },
            } },
        },
        "consumesCounters": [
            { "counterSet": "set", "counters": { "memory": { "value": "40Gi" } }, "compatibilityGroups": ["mig"] },
            { "counterSet": "other", "counters": { "slots": { "value": "1" } } },
        ],
        "nodeSelector": { "nodeSelectorTerms": [
            { "matchExpressions": [{ "key": "rack", "operator": "In", "values": ["r1"] }] },
        ] },
        "taints": [
            { "key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" },
            { "key": "note", "effect": "None" },
        ],
        "bindingConditions": ["attached"],
        "bindingFailureConditions": ["failed"],
        "bindingTimeout": "90s",
        "bindsToNode": true,
        "allowMultipleAllocations": true,
        "nodeAllocatableResources": {
            "cpu": { "mapping": { "deviceMultiplier": "4" }, "overhead": { "perPod": "1" } },
            "hugepages-2Mi": { "mapping": { "capacityKey": "pages", "capacityMultiplier": "2Mi" } },
            "memory": { "overhead": { "perContainer": "5" } },
        },
    })
}

fn expected_device() -> Device {
    let rack = Requirement { key: "rack".into(), operator: Operator::In, values: vec!["r1".into()] };
    let policy = |allowed| Some(Box::new(RequestPolicy { default: Some(amount("1")), allowed }));
    let range = Allowed::Range { min: Some(amount("1")), max: Some(amount("8")), step: Some(amount("500m")) };
    Device {
        name: "gpu-0".into(),
        attributes: [
            ("index".into(), Attribute::Int(3)),
            ("nvlink".into(), Attribute::Bool(true)),
            ("model".into(), Attribute::String("a100".into())),
            ("driverVersion".into(), Attribute::Version("1.2.3".into())),
            ("ports".into(), Attribute::Ints(vec![1, 2])),
            ("flags".into(), Attribute::Bools(vec![true, false])),
            ("lanes".into(), Attribute::Strings(vec!["x".into(), "y".into()])),
            ("firmware".into(), Attribute::Versions(vec!["1.0.0".into()])),
            ("later".into(), Attribute::Missing),
        ]
        .into(),
        capacity: [
            ("plain".into(), Capacity { value: amount("80Gi"), policy: None }),
            ("any".into(), Capacity { value: amount("10"), policy: policy(Allowed::Any) }),
            (
                "values".into(),
                Capacity {
                    value: amount("10"),
                    policy: policy(Allowed::Values(vec![amount("1"), amount("2")])),
                },
            ),
            ("range".into(), Capacity { value: amount("10"), policy: policy(range) }),
        ]
        .into(),
        draws: vec![
            Draw {
                counter_set: "set".into(),
                counters: [("memory".into(), amount("40Gi"))].into(),
                groups: vec!["mig".into()],
            },
            Draw {
                counter_set: "other".into(),
                counters: [("slots".into(), amount("1"))].into(),
                groups: Vec::new(),
            },
        ],
        reach: Reach::Matching(NodeSelector {
            terms: vec![NodeTerm { fields: Vec::new(), labels: vec![rack] }],
        }),
        taints: vec![
            Taint { key: "k".into(), value: "v".into(), effect: TaintEffect::NoExecute },
            Taint { key: "note".into(), value: "".into(), effect: TaintEffect::Told("None".into()) },
        ],
        binding: Binding {
            conditions: vec!["attached".into()],
            failures: vec!["failed".into()],
            timeout: Some("90s".into()),
        },
        binds_to_node: true,
        shareable: true,
        node_resources: [
            (
                "cpu".into(),
                NodeShare {
                    part: Some(Part::Device(amount("4"))),
                    per_pod: Some(amount("1")),
                    per_container: None,
                },
            ),
            (
                "hugepages-2Mi".into(),
                NodeShare {
                    part: Some(Part::Capacity { key: "pages".into(), factor: Some(amount("2Mi")) }),
                    ..NodeShare::default()
                },
            ),
            ("memory".into(), NodeShare { per_container: Some(amount("5")), ..NodeShare::default() }),
        ]
        .into(),
    }
}

#[test]
fn every_field_of_a_slice_arrives() {
    let object = json!({ "metadata": { "name": "s" }, "spec": {
        "driver": "gpu.example.com",
        "pool": { "name": "p", "generation": 7, "resourceSliceCount": 2 },
        "perDeviceNodeSelection": true,
        "devices": [full_device(), { "name": "bare" }],
        "sharedCounters": [{ "name": "set", "counters": { "memory": { "value": "80Gi" } } }],
        "skipNodeOperations": ["NodeUnprepareResources"],
    } });
    let expected = Slice {
        name: "s".into(),
        pool: PoolId { driver: "gpu.example.com".into(), pool: "p".into() },
        generation: 7,
        slices_in_pool: 2,
        reach: Reach::PerDevice,
        devices: vec![expected_device(), Device { name: "bare".into(), ..Device::default() }],
        counter_sets: vec![CounterSet {
            name: "set".into(),
            counters: [("memory".into(), amount("80Gi"))].into(),
        }],
        skip_node_operations: vec!["NodeUnprepareResources".into()],
    };
    assert_eq!(slice(&read(object)), Ok(expected));
}

/// A slice of one device, with more fields in both.
fn with(in_spec: Value, in_device: Value) -> Slice {
    let mut object = json!({ "metadata": { "name": "s" }, "spec": {
        "driver": "d", "pool": { "name": "p" }, "devices": [{ "name": "a" }],
    } });
    let join = |into: &mut Value, more: Value| {
        let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) else { return };
        into.extend(more);
    };
    join(&mut object["spec"]["devices"][0], in_device);
    join(&mut object["spec"], in_spec);
    slice(&read(object)).expect("all names are there")
}

#[test]
fn the_first_way_to_say_from_where_counts() {
    let none = NodeSelector::default();
    for (fields, expected) in [
        (json!({ "nodeName": "n", "allNodes": true, "nodeSelector": {} }), Reach::Node("n".into())),
        (json!({ "nodeName": "", "allNodes": true, "nodeSelector": {} }), Reach::Everywhere),
        (json!({ "allNodes": false, "nodeSelector": {} }), Reach::Matching(none)),
        (json!({ "allNodes": false }), Reach::Unsaid),
    ] {
        assert_eq!(with(fields.clone(), json!({})).reach, expected, "{fields}");
        assert_eq!(with(json!({}), fields.clone()).devices[0].reach, expected, "{fields}");
    }
    let per_device = |said: bool| with(json!({ "perDeviceNodeSelection": said }), json!({})).reach;
    assert_eq!((per_device(true), per_device(false)), (Reach::PerDevice, Reach::Unsaid));
}

#[test]
fn lists_win_over_single_values() {
    let order = [
        ("ints", json!([1]), Attribute::Ints(vec![1])),
        ("bools", json!([true]), Attribute::Bools(vec![true])),
        ("strings", json!(["s"]), Attribute::Strings(vec!["s".into()])),
        ("versions", json!(["1.0.0"]), Attribute::Versions(vec!["1.0.0".into()])),
        ("int", json!(1), Attribute::Int(1)),
        ("bool", json!(true), Attribute::Bool(true)),
        ("string", json!("s"), Attribute::String("s".into())),
        ("version", json!("1.0.0"), Attribute::Version("1.0.0".into())),
    ];
    for (at, (name, _, expected)) in order.iter().enumerate() {
        let values: serde_json::Map<_, _> =
            order[at..].iter().map(|(name, value, _)| ((*name).to_owned(), value.clone())).collect();
        let slice = with(json!({}), json!({ "attributes": { "x": values } }));
        assert_eq!(slice.devices[0].attributes.get("x"), Some(expected), "{name}");
    }
}

#[test]
fn what_has_no_name_is_said_by_object_and_field() {
    let refused = |path: &str| {
        let mut object = json!({ "metadata": { "name": "s" }, "spec": {
            "driver": "d", "pool": { "name": "p" },
            "devices": [{ "name": "a", "consumesCounters": [{ "counterSet": "c" }] }],
            "sharedCounters": [{ "name": "c" }],
        } });
        *object.pointer_mut(path).expect("a field") = json!("");
        slice(&read(object)).map_err(|error| error.to_string()).map(|slice| Arc::clone(&slice.name))
    };
    for (path, expected) in [
        ("/metadata/name", "ResourceSlice without a name: metadata.name is empty"),
        ("/spec/driver", "ResourceSlice s: spec.driver is empty"),
        ("/spec/pool/name", "ResourceSlice s: spec.pool.name is empty"),
        ("/spec/devices/0/name", "ResourceSlice s: spec.devices[0].name is empty"),
        ("/spec/sharedCounters/0/name", "ResourceSlice s: spec.sharedCounters[0].name is empty"),
        (
            "/spec/devices/0/consumesCounters/0/counterSet",
            "ResourceSlice s: spec.devices[0].consumesCounters[0].counterSet is empty",
        ),
    ] {
        assert_eq!(refused(path), Err(expected.to_owned()));
    }
}
