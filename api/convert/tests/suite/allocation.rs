//! Allocations: what was granted is written in full, and what was written is held when it is read back.

use cluster::ledger::{Ledger, ShareId};
use convert::{ConvertError, allocation, claim_id, give_back_from, take_into};
use model::allocation::{Allocation, ConfigSource, Grant, GrantedConfig};
use model::claim::{Toleration, TolerationValue};
use model::device::{Binding, DeviceId};
use model::node::NodeSelector;
use model::request_name::RequestName;
use objects::resource::allocation::AllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use serde_json::json;

fn first() -> RequestName {
    RequestName { subrequest: Some("first".into()), .."r1".into() }
}

fn plain(request: impl Into<RequestName>, device: &str) -> Grant {
    Grant {
        request: request.into(),
        device: DeviceId { driver: "gpu.example.com".into(), pool: "p".into(), device: device.into() },
        admin_access: false,
        share: None,
        tolerations: Vec::new(),
        binding: Binding::default(),
        skip_node_operations: Vec::new(),
        groups: [].into(),
    }
}

/// One grant of each sort.
fn granted() -> Allocation {
    let amount = |text: &str| text.parse().expect("a quantity");
    let toleration = Toleration {
        key: "k".into(),
        value: TolerationValue::Equal("v".into()),
        effect: "NoExecute".into(),
        seconds: Some(5),
    };
    let full = Grant {
        tolerations: vec![toleration],
        binding: Binding {
            conditions: vec!["attached".into()],
            failures: vec!["failed".into()],
            timeout: Some("90s".into()),
        },
        skip_node_operations: vec!["*".into()],
        groups: [("set".into(), vec!["mig".into()]), ("other".into(), Vec::new())].into(),
        ..plain("r0", "full")
    };
    let consumed = [("memory".into(), amount("10Gi")), ("slots".into(), amount("0"))].into();
    let config = |source, requests: &[RequestName]| GrantedConfig { source, requests: requests.to_vec() };
    Allocation {
        grants: vec![
            full,
            plain(first(), "plain"),
            Grant { share: Some(consumed), ..plain(first(), "shared") },
            Grant { share: Some([].into()), ..plain("r2", "shared") },
            Grant { admin_access: true, ..plain("r3", "watched") },
            Grant { admin_access: true, share: Some([].into()), ..plain("r3", "shared") },
        ],
        configs: vec![
            config(ConfigSource::Class { class: "gpu".into(), index: 1 }, &["r0".into(), first()]),
            config(ConfigSource::Claim(0), &[]),
        ],
        nodes: Some(NodeSelector::only(&"n".into())),
    }
}

fn claim() -> ResourceClaim {
    let object = json!({ "metadata": { "name": "c", "namespace": "ns" }, "spec": { "devices": { "config": [
        { "requests": ["r0"], "opaque": { "driver": "d", "parameters": { "of": "claim" } } },
    ] } } });
    serde_json::from_value(object).expect("a claim")
}

fn class() -> DeviceClass {
    let object = json!({ "metadata": { "name": "gpu" }, "spec": { "config": [
        { "opaque": { "driver": "d", "parameters": { "of": "nobody" } } },
        { "opaque": { "driver": "d", "parameters": { "of": "class" } } },
    ] } });
    serde_json::from_value(object).expect("a class")
}

fn written(granted: &Allocation) -> Result<AllocationResult, ConvertError> {
    let class = class();
    let mut shares = 0;
    let mut fresh = || {
        shares += 1;
        format!("share-{shares}")
    };
    let lookup = |name: &str| (name == class.metadata.name).then_some(&class);
    allocation(granted, &claim(), &lookup, &mut fresh)
}

#[test]
fn what_was_granted_is_written_in_full_and_what_was_not_is_left_out() {
    let device = |request: &str, device: &str| json!({ "request": request, "driver": "gpu.example.com", "pool": "p", "device": device });
    let with = |mut result: serde_json::Value, more: serde_json::Value| {
        let fields = more.as_object().expect("fields").clone();
        result.as_object_mut().expect("a result").extend(fields);
        result
    };
    let full = with(
        device("r0", "full"),
        json!({
            "tolerations": [
                { "key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5 },
            ],
            "bindingConditions": ["attached"],
            "bindingFailureConditions": ["failed"],
            "bindingTimeout": "90s",
            "skipNodeOperations": ["*"],
            "compatibilityGroups": { "set": ["mig"], "other": [] },
        }),
    );
    let shared = json!({ "shareID": "share-1", "consumedCapacity": { "memory": "10Gi", "slots": "0" } });
    let expected = json!({
        "devices": {
            "results": [
                full,
                device("r1/first", "plain"),
                with(device("r1/first", "shared"), shared),
                with(device("r2", "shared"), json!({ "shareID": "share-2" })),
                with(device("r3", "watched"), json!({ "adminAccess": true })),
                with(device("r3", "shared"), json!({ "adminAccess": true, "shareID": "share-3" })),
            ],
            "config": [
                {
                    "source": "FromClass",
                    "requests": ["r0", "r1/first"],
                    "opaque": { "driver": "d", "parameters": { "of": "class" } },
                },
                { "source": "FromClaim", "opaque": { "driver": "d", "parameters": { "of": "claim" } } },
            ],
        },
        "nodeSelector": { "nodeSelectorTerms": [
            { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] },
        ] },
    });
    let actual = serde_json::to_value(written(&granted()).expect("all configuration is there"));
    assert_eq!(actual.expect("JSON"), expected);
    let nothing = Allocation { grants: Vec::new(), configs: Vec::new(), nodes: None };
    let actual = serde_json::to_value(written(&nothing).expect("nothing is missing"));
    assert_eq!(actual.expect("JSON"), json!({}));
}

#[test]
fn what_was_written_is_held_when_it_is_read_back() {
    let granted = granted();
    let mut claim = claim();
    claim.status.allocation = Some(written(&granted).expect("all configuration is there"));
    let json = serde_json::to_vec(&claim).expect("JSON");
    let claim: ResourceClaim = objects::decode(&json).expect("a claim");

    let mut expected = Ledger::default();
    for (grant, share) in
        granted.grants.iter().zip([None, None, Some("share-1"), Some("share-2"), None, None])
    {
        expected.take_grant(&claim_id(&claim), grant, share.map(|share| ShareId(share.into())));
    }
    let mut ledger = Ledger::default();
    take_into(&mut ledger, &claim);
    assert_eq!(ledger, expected);
    assert_eq!(ledger.len(), 3, "full, plain and shared are held, watched is not");

    give_back_from(&mut ledger, &claim);
    assert_eq!(ledger, Ledger::default());
}

#[test]
fn a_claim_without_an_allocation_holds_nothing() {
    let mut ledger = Ledger::default();
    take_into(&mut ledger, &claim());
    assert!(ledger.is_empty());
}

#[test]
fn amounts_of_a_device_that_is_not_shared_are_not_counted() {
    let mut claim = claim();
    let result = json!({ "devices": { "results": [
        { "request": "r", "driver": "d", "pool": "p", "device": "a", "consumedCapacity": { "memory": "1" } },
    ] } });
    claim.status.allocation = Some(serde_json::from_value(result).expect("a result"));
    let held: Vec<_> = convert::taken(&claim).collect();
    assert_eq!((held.len(), &held[0].share), (1, &None));
    assert!(held[0].holding.consumed.is_empty());
}

#[test]
fn configuration_that_is_gone_is_an_error() {
    let granted = |source| Allocation {
        grants: Vec::new(),
        configs: vec![GrantedConfig { source, requests: Vec::new() }],
        nodes: None,
    };
    let refused = |source| written(&granted(source)).map_err(|error| error.to_string()).err();
    let class = |name: &str, index| ConfigSource::Class { class: name.into(), index };
    assert_eq!(refused(class("gpu", 2)).as_deref(), Some("DeviceClass gpu: spec.config[2] is gone"));
    assert_eq!(refused(class("nic", 0)).as_deref(), Some("DeviceClass nic: spec.config[0] is gone"));
    let expected = "ResourceClaim ns/c: spec.devices.config[1] is gone";
    assert_eq!(refused(ConfigSource::Claim(1)).as_deref(), Some(expected));
}
