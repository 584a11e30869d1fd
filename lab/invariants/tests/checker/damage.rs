//! Every kind of damage to a valid answer is noticed, and called by its name.

use crate::scene::{Scene, read, scene};
use gates::Gate;
use invariants::ResultField as Field;
use invariants::Violation;
use objects::resource::allocation::DeviceRequestAllocationResult;
use serde_json::{Value, json};

/// What is done to the answer, and what the checker must say among other things.
type Row = (&'static str, fn(&mut Scene), fn(&Violation) -> bool);

fn give(scene: &mut Scene, claim: &str, at: usize, device: &str) {
    scene.result(claim, at).device = device.to_owned();
}

fn off(scene: &mut Scene, gate: Gate) {
    scene.gates = scene.gates.with(gate, false);
}

fn patch<T: serde::Serialize + serde::de::DeserializeOwned>(object: &mut T, pointer: &str, value: Value) {
    let mut json = serde_json::to_value(&*object).expect("an object can be written");
    *json.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    *object = read(json);
}

fn wrong(violation: &Violation, wanted: Field) -> bool {
    matches!(violation, Violation::WrongField { field, .. } if *field == wanted)
}

#[rustfmt::skip]
const DEVICES: &[Row] = &[
    ("a device that does not exist", |s| give(s, "train", 0, "gpu-66"), |v| matches!(v, Violation::UnknownDevice(_))),
    ("a device of an older generation", |s| give(s, "train", 0, "gpu-9"), |v| matches!(v, Violation::NotOffered { .. })),
    ("a device of another node", |s| { s.result("train", 0).pool = "p2".into(); give(s, "train", 0, "gpu-7"); }, |v| matches!(v, Violation::NotOffered { .. })),
    ("a node that the devices do not reach", |s| { s.node.metadata.labels.clear(); }, |v| matches!(v, Violation::NotOffered { .. })),
    ("a pool that is incomplete", |s| { s.slice("gpus").spec.pool.resource_slice_count = 2; }, |v| matches!(v, Violation::NotOffered { .. })),
    ("a pool whose newer generation is elsewhere", |s| {
        s.slice("gpus").spec.pool.resource_slice_count = 2;
        let elsewhere = s.slice("gpus-elsewhere");
        (elsewhere.spec.pool.name, elsewhere.spec.pool.generation) = ("p1".into(), 3);
    }, |v| matches!(v, Violation::NotOffered { why, .. } if why.contains("newer"))),
    ("a counter set that is there twice", |s| {
        let mut twin = s.slices["part-counters"].clone();
        twin.metadata.name = "twin".into();
        s.slices.insert("twin".into(), twin);
        for slice in ["part-counters", "parts", "twin"] {
            s.slice(slice).spec.pool.resource_slice_count = 3;
        }
    }, |v| matches!(v, Violation::NotOffered { why, .. } if why.contains("g0 is there twice"))),
    ("a pool with two devices of one name", |s| s.device("gpus", "gpu-2").name = "gpu-1".into(), |v| matches!(v, Violation::NotOffered { .. })),
    ("a pool that consumes unknown counters", |s| s.device("parts", "bare-0").consumes_counters[0].counter_set = "g9".into(), |v| matches!(v, Violation::NotOffered { .. })),
    ("a device for other nodes in a slice that reaches the node", |s| {
        s.slice("lights").spec.all_nodes = None;
        s.slice("lights").spec.per_device_node_selection = Some(true);
        s.device("lights", "light-0").all_nodes = Some(true);
        s.device("lights", "light-1").node_name = Some("node-2".into());
    }, |v| matches!(v, Violation::NotOffered { .. })),
    ("a device that the class does not select", |s| patch(&mut s.classes.get_mut("part").unwrap().spec, "/selectors/0/cel/expression", json!("false")), |v| matches!(v, Violation::NotSelected { .. })),
    ("a device that the request does not select", |s| give(s, "train", 1, "gpu-3"), |v| matches!(v, Violation::NotSelected { .. })),
    ("a selector that fails", |s| { s.device("gpus", "gpu-1").attributes.remove("model"); }, |v| matches!(v, Violation::SelectorFails { .. })),
    ("a class that does not exist", |s| { s.classes.remove("part"); }, |v| matches!(v, Violation::UnknownClass { .. })),
    ("a taint that nobody tolerates", |s| s.device("gpus", "gpu-0").taints[0].key = "new".into(), |v| matches!(v, Violation::NotTolerated { .. })),
    ("a taint that evicts", |s| s.device("gpus", "gpu-0").taints[1].effect = "NoExecute".into(), |v| matches!(v, Violation::NotTolerated { .. })),
    ("a node that cannot skip operations", |s| s.node.status.declared_features.clear(), |v| matches!(v, Violation::NodeLacksFeature { .. })),
];

#[rustfmt::skip]
const FEATURES: &[Row] = &[
    ("binding conditions while they are off", |s| off(s, Gate::DRADeviceBindingConditions), |v| matches!(v, Violation::DeviceFeatureOff { gate: Gate::DRADeviceBindingConditions, .. })),
    ("binding conditions without device status", |s| off(s, Gate::DRAResourceClaimDeviceStatus), |v| matches!(v, Violation::DeviceFeatureOff { gate: Gate::DRAResourceClaimDeviceStatus, .. })),
    ("skipped operations while they are off", |s| off(s, Gate::DRAOptionalNodeOperations), |v| matches!(v, Violation::DeviceFeatureOff { gate: Gate::DRAOptionalNodeOperations, .. })),
    ("groups while they are off", |s| off(s, Gate::DRADeviceCompatibilityGroups), |v| matches!(v, Violation::DeviceFeatureOff { gate: Gate::DRADeviceCompatibilityGroups, .. })),
    ("no groups beside groups while they are off", |s| { off(s, Gate::DRADeviceCompatibilityGroups); give(s, "train", 2, "bare-0"); }, |v| matches!(v, Violation::GroupsClosed { .. })),
    ("admin access while it is off", |s| off(s, Gate::DRAAdminAccess), |v| matches!(v, Violation::RequestFeatureOff { gate: Gate::DRAAdminAccess, .. })),
    ("alternatives while they are off", |s| off(s, Gate::DRAPrioritizedList), |v| matches!(v, Violation::RequestFeatureOff { gate: Gate::DRAPrioritizedList, .. })),
    ("capacity while it is off", |s| off(s, Gate::DRAConsumableCapacity), |v| matches!(v, Violation::RequestFeatureOff { gate: Gate::DRAConsumableCapacity, .. })),
    ("partitions while they are off", |s| off(s, Gate::DRAPartitionableDevices), |v| matches!(v, Violation::NotOffered { .. } | Violation::DeviceFeatureOff { .. })),
    ("derived attributes while they are off", |s| {
        off(s, Gate::DRADerivedAttributes);
        let derived = json!([{"name": "gpu.example.com/numa", "expression": "1"}]);
        s.claim("train").spec.devices.requests[0].exactly.as_mut().unwrap().derived_attributes = read(derived);
    }, |v| matches!(v, Violation::RequestFeatureOff { gate: Gate::DRADerivedAttributes, .. })),
];

#[rustfmt::skip]
const NUMBERS: &[Row] = &[
    ("a result for no request", |s| s.result("train", 0).request = "more".into(), |v| matches!(v, Violation::UnknownRequest { .. })),
    ("a result for a request without its alternative", |s| s.result("train", 2).request = "part".into(), |v| matches!(v, Violation::UnknownRequest { .. })),
    ("one device fewer", |s| { s.allocation("train").devices.results.remove(1); }, |v| matches!(v, Violation::WrongCount { wanted: 2, found: 1, .. })),
    ("one device more", |s| { let more = s.result("train", 1).clone(); s.allocation("train").devices.results.push(DeviceRequestAllocationResult { device: "gpu-2".into(), ..more }); }, |v| matches!(v, Violation::WrongCount { wanted: 2, found: 3, .. })),
    ("a device twice for one request", |s| give(s, "train", 0, "gpu-1"), |v| matches!(v, Violation::TwiceInRequest(_))),
    ("no alternative", |s| { s.allocation("train").devices.results.pop(); }, |v| matches!(v, Violation::NoAlternative { .. })),
    ("two alternatives", |s| { let other = s.result("train", 2).clone(); s.allocation("train").devices.results.push(DeviceRequestAllocationResult { request: "part/two".into(), ..other }); }, |v| matches!(v, Violation::SeveralAlternatives { .. })),
    ("too few for the alternative", |s| s.result("train", 2).request = "part/two".into(), |v| matches!(v, Violation::WrongCount { wanted: 2, found: 1, .. })),
    ("not all of all", |s| { s.allocation("net").devices.results.pop(); }, |v| matches!(v, Violation::LeftOut(_))),
    ("all of nothing", |s| { s.slices.remove("lights"); s.allocation("net").devices.results.truncate(1); }, |v| matches!(v, Violation::NothingForAll { .. })),
    ("all while a pool is being updated", |s| s.slice("nics").spec.pool.resource_slice_count = 2, |v| matches!(v, Violation::UnsettledPool { .. })),
    ("a way of counting that nobody knows", |s| s.claim("watch").spec.devices.requests[0].exactly.as_mut().unwrap().allocation_mode = "Some".into(), |v| matches!(v, Violation::UnknownMode { .. })),
    ("more than 32 results", |s| { let one = s.result("watch", 0).clone(); s.allocation("watch").devices.results = vec![one; 33]; }, |v| matches!(v, Violation::TooManyResults { found: 33, .. })),
];

#[rustfmt::skip]
const BESIDE_EACH_OTHER: &[Row] = &[
    ("another numa node", |s| give(s, "train", 1, "gpu-2"), |v| matches!(v, Violation::AttributesDiffer { .. })),
    ("an attribute that is not there", |s| { s.device("gpus", "gpu-1").attributes.remove("numa"); }, |v| matches!(v, Violation::AttributeMissing { .. })),
    ("an attribute of another type", |s| patch(s.device("gpus", "gpu-1"), "/attributes/numa", json!({"string": "0"})), |v| matches!(v, Violation::AttributesDiffer { .. })),
    ("lists without a common value", |s| patch(s.device("gpus", "gpu-1"), "/attributes/numa", json!({"ints": [1, 2]})), |v| matches!(v, Violation::AttributesDiffer { .. })),
    ("a list while lists are off", |s| { off(s, Gate::DRAListTypeAttributes); patch(s.device("gpus", "gpu-1"), "/attributes/numa", json!({"ints": [0]})); }, |v| matches!(v, Violation::AttributesDiffer { .. })),
    ("one value where they should be distinct", |s| patch(s.device("gpus", "gpu-1"), "/attributes/index", json!({"int": 0})), |v| matches!(v, Violation::AttributesEqual { .. })),
    ("lists with a common value where they should be distinct", |s| patch(s.device("gpus", "gpu-1"), "/attributes/index", json!({"ints": [4, 0]})), |v| matches!(v, Violation::AttributesEqual { .. })),
    ("a derived attribute that differs", |s| {
        let derived = json!([{"name": "gpu.example.com/numa", "expression": "device.attributes['gpu.example.com'].index"}]);
        s.claim("train").spec.devices.requests[0].exactly.as_mut().unwrap().derived_attributes = read(derived);
    }, |v| matches!(v, Violation::AttributesDiffer { .. })),
    ("a derived attribute that fails", |s| {
        let derived = json!([{"name": "gpu.example.com/numa", "expression": "device.attributes['gpu.example.com'].nothing"}]);
        s.claim("train").spec.devices.requests[0].exactly.as_mut().unwrap().derived_attributes = read(derived);
    }, |v| matches!(v, Violation::AttributeFails { .. })),
    ("a constraint that says nothing", |s| s.claim("train").spec.devices.constraints[0].match_attribute = None, |v| matches!(v, Violation::EmptyConstraint { index: 0, .. })),
    ("a device that somebody has", |s| s.held("gpu-user").device = "gpu-1".into(), |v| matches!(v, Violation::TakenTwice { .. })),
    ("a device that another claim of the attempt has", |s| { give(s, "watch", 0, "gpu-1"); let watch = s.made.remove("watch").unwrap(); s.made.insert("a-watch".into(), watch); }, |v| matches!(v, Violation::TakenTwice { .. })),
    ("admin access to a device of the same claim", |s| {
        let watch = s.claim("watch").spec.devices.requests[0].clone();
        s.claim("train").spec.devices.requests.push(watch);
        let result = DeviceRequestAllocationResult { device: "gpu-1".into(), ..s.result("watch", 0).clone() };
        s.allocation("train").devices.results.push(result);
    }, |v| matches!(v, Violation::TakenTwice { .. })),
    ("a whole device that others share", |s| s.device("nics", "nic-0").allow_multiple_allocations = Some(false), |v| matches!(v, Violation::WholeAndShared { .. })),
    ("a shared device that somebody has as a whole", |s| s.held("nic-user").share_id = None, |v| matches!(v, Violation::TakenTwice { .. })),
    ("an id that another share has", |s| s.result("net", 0).share_id = Some("share-0".into()), |v| matches!(v, Violation::ShareIdTwice { .. })),
    ("more bandwidth than there is", |s| patch(s.held("nic-user"), "/consumedCapacity/bandwidth", json!("6")), |v| matches!(v, Violation::CapacityOverdrawn { .. })),
    ("more memory than the counter has", |s| { give(s, "train", 2, "mig-2"); }, |v| matches!(v, Violation::CounterOverdrawn { .. })),
    ("a counter that is smaller", |s| patch(s.slice("part-counters"), "/spec/sharedCounters/0/counters/memory/value", json!("39")), |v| matches!(v, Violation::CounterOverdrawn { .. })),
    ("groups that do not meet", |s| { give(s, "train", 2, "vgpu-0"); }, |v| matches!(v, Violation::GroupsApart { .. })),
    ("no groups beside groups", |s| { give(s, "train", 2, "bare-0"); }, |v| matches!(v, Violation::GroupsApart { .. })),
    ("groups that were others when the neighbour was allocated", |s| { s.held("part-user").compatibility_groups.insert("g0".into(), vec!["vgpu".into()]); }, |v| matches!(v, Violation::GroupsApart { .. })),
    ("a capacity that the device lacks", |s| patch(s.claim("net"), "/spec/devices/requests/0/exactly/capacity/requests", json!({"lanes": "1"})), |v| matches!(v, Violation::CapacityMissing { .. })),
    ("more than the policy allows", |s| patch(s.device("nics", "nic-0"), "/capacity/bandwidth/requestPolicy/validRange/max", json!("3")), |v| matches!(v, Violation::PolicyBroken { .. })),
    ("a negative amount", |s| {
        s.device("nics", "nic-0").capacity.get_mut("bandwidth").unwrap().request_policy = None;
        patch(s.claim("net"), "/spec/devices/requests/0/exactly/capacity/requests/bandwidth", json!("-1"));
    }, |v| matches!(v, Violation::AmountUnclear { .. })),
];

#[rustfmt::skip]
const WORDS: &[Row] = &[
    ("no admin access", |s| s.result("watch", 0).admin_access = None, |v| wrong(v, Field::AdminAccess)),
    ("admin access denied in so many words", |s| s.result("train", 0).admin_access = Some(false), |v| wrong(v, Field::AdminAccess)),
    ("no tolerations", |s| s.result("train", 1).tolerations.clear(), |v| wrong(v, Field::Tolerations)),
    ("no binding conditions", |s| s.result("train", 0).binding_conditions.clear(), |v| wrong(v, Field::BindingConditions)),
    ("made-up binding conditions", |s| s.result("train", 1).binding_conditions = vec!["ready".into()], |v| wrong(v, Field::BindingConditions)),
    ("other failure conditions", |s| s.result("train", 0).binding_failure_conditions = vec!["lost".into()], |v| wrong(v, Field::BindingFailureConditions)),
    ("another binding timeout", |s| s.result("train", 0).binding_timeout = Some("5m".into()), |v| wrong(v, Field::BindingTimeout)),
    ("operations that are not skipped", |s| s.result("net", 1).skip_node_operations.clear(), |v| wrong(v, Field::SkipNodeOperations)),
    ("a share without an id", |s| s.result("net", 0).share_id = None, |v| wrong(v, Field::ShareId)),
    ("an id for a whole device", |s| s.result("train", 0).share_id = Some("share-2".into()), |v| wrong(v, Field::ShareId)),
    ("less than the policy makes of the request", |s| patch(s.result("net", 0), "/consumedCapacity/bandwidth", json!("4")), |v| wrong(v, Field::ConsumedCapacity)),
    ("nothing consumed", |s| s.result("net", 0).consumed_capacity.clear(), |v| wrong(v, Field::ConsumedCapacity)),
    ("a capacity that is not there", |s| { patch(s.result("net", 0), "/consumedCapacity", json!({"bandwidth": "5", "lanes": "1"})); }, |v| wrong(v, Field::ConsumedCapacity)),
    ("no groups noted", |s| s.result("train", 2).compatibility_groups.clear(), |v| wrong(v, Field::CompatibilityGroups)),
    ("extra groups noted", |s| s.result("train", 2).compatibility_groups.get_mut("g0").unwrap().push("vgpu".into()), |v| wrong(v, Field::CompatibilityGroups)),
    ("groups of another set noted", |s| { s.result("train", 2).compatibility_groups.insert("g1".into(), vec!["mig".into()]); }, |v| wrong(v, Field::CompatibilityGroups)),
    ("no configuration of the class", |s| { s.allocation("train").devices.config.remove(0); }, |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("no configuration of the claim", |s| { s.allocation("train").devices.config.pop(); }, |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("configuration of the other alternative", |s| s.allocation("train").devices.config[1].requests = vec!["part/two".into()], |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("configuration in another order", |s| s.allocation("train").devices.config.reverse(), |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("configuration from elsewhere", |s| s.allocation("train").devices.config[0].source = "FromClaim".into(), |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("other parameters", |s| patch(&mut s.allocation("train").devices.config[0], "/opaque/parameters", json!({})), |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("all requests named instead of none", |s| s.allocation("watch").devices.config[0].requests = vec!["watched".into()], |v| matches!(v, Violation::WrongConfiguration { .. })),
    ("no node selector", |s| s.allocation("train").node_selector = None, |v| matches!(v, Violation::WrongNodeSelector { .. })),
    ("a node selector that is too wide", |s| { let wide = s.allocation("net").node_selector.clone(); s.allocation("train").node_selector = wide; }, |v| matches!(v, Violation::WrongNodeSelector { .. })),
    ("a node selector that is too narrow", |s| { let narrow = s.allocation("train").node_selector.clone(); s.allocation("net").node_selector = narrow; }, |v| matches!(v, Violation::WrongNodeSelector { .. })),
    ("a device that binds to its node", |s| s.device("nics", "nic-0").binds_to_node = Some(true), |v| matches!(v, Violation::WrongNodeSelector { .. })),
    ("a slice with two terms", |s| { let terms = &mut s.slice("nics").spec.node_selector.as_mut().unwrap().node_selector_terms; let again = terms[0].clone(); terms.push(again); }, |v| matches!(v, Violation::SeveralTerms { terms: 2, .. })),
];

#[test]
fn the_answer_is_valid_before_the_damage() {
    assert_eq!(scene().violations(), []);
    assert_eq!(scene().state_violations(), []);
}

fn check(rows: &[Row]) {
    for (what, damage, expected) in rows {
        let mut damaged = scene();
        damage(&mut damaged);
        let violations = damaged.violations();
        assert!(violations.iter().any(expected), "{what}: {violations:#?}");
        for violation in violations {
            assert!(!violation.to_string().is_empty(), "{what}");
        }
    }
}

#[test]
fn damage_to_the_choice_of_a_device_is_noticed() {
    check(DEVICES);
}

#[test]
fn use_of_a_feature_that_is_off_is_noticed() {
    check(FEATURES);
}

#[test]
fn damage_to_numbers_is_noticed() {
    check(NUMBERS);
}

#[test]
fn damage_to_what_stands_beside_each_other_is_noticed() {
    check(BESIDE_EACH_OTHER);
}

#[test]
fn damage_to_what_is_written_is_noticed() {
    check(WORDS);
}

#[test]
fn the_damages_are_many() {
    assert_eq!(
        [DEVICES, FEATURES, NUMBERS, BESIDE_EACH_OTHER, WORDS].map(<[Row]>::len),
        [17, 10, 13, 25, 28]
    );
}
