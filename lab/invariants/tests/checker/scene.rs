//! A small cluster with one of everything, and a valid answer to three claims.

use std::collections::BTreeMap;

use gates::Gates;
use invariants::{Evidence, GroupsFrom, Made, Violation, check_allocations, check_state};
use objects::core::node::Node;
use objects::resource::allocation::{AllocationResult, DeviceRequestAllocationResult};
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::{Device, ResourceSlice};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Objects by name, so that a test can say what it damages.
#[derive(Clone, Debug)]
pub struct Scene {
    pub gates: Gates,
    pub groups: GroupsFrom,
    pub node: Node,
    pub slices: BTreeMap<String, ResourceSlice>,
    pub classes: BTreeMap<String, DeviceClass>,
    /// Claims with allocations from before.
    pub holders: BTreeMap<String, ResourceClaim>,
    /// Claims and what was allocated to them together: `train`, `net` and `watch`.
    pub made: BTreeMap<String, (ResourceClaim, AllocationResult)>,
}

impl Scene {
    /// What the checker says about the answer.
    pub fn violations(&self) -> Vec<Violation> {
        let (slices, classes, holders) = self.lists();
        let made = |(claim, allocation)| Made { claim, allocation };
        let made: Vec<_> = self.made.values().map(|(claim, allocation)| made((claim, allocation))).collect();
        check_allocations(&self.evidence(&slices, &classes, &holders), &self.node, &made)
    }

    /// What the checker says about the cluster after the answer was written down.
    pub fn state_violations(&self) -> Vec<Violation> {
        let (slices, classes, mut claims) = self.lists();
        for (claim, allocation) in self.made.values() {
            let mut claim = claim.clone();
            claim.status.allocation = Some(allocation.clone());
            claims.push(claim);
        }
        check_state(&self.evidence(&slices, &classes, &claims), None)
    }

    pub fn result(&mut self, claim: &str, at: usize) -> &mut DeviceRequestAllocationResult {
        &mut self.allocation(claim).devices.results[at]
    }

    pub fn allocation(&mut self, claim: &str) -> &mut AllocationResult {
        &mut self.made.get_mut(claim).expect("the claim is in the scene").1
    }

    pub fn claim(&mut self, claim: &str) -> &mut ResourceClaim {
        &mut self.made.get_mut(claim).expect("the claim is in the scene").0
    }

    pub fn slice(&mut self, slice: &str) -> &mut ResourceSlice {
        self.slices.get_mut(slice).expect("the slice is in the scene")
    }

    pub fn device(&mut self, slice: &str, device: &str) -> &mut Device {
        let devices = self.slice(slice).spec.devices.as_mut().expect("the slice has devices");
        devices.iter_mut().find(|one| one.name == device).expect("the device is in the slice")
    }

    pub fn held(&mut self, holder: &str) -> &mut DeviceRequestAllocationResult {
        let claim = self.holders.get_mut(holder).expect("the holder is in the scene");
        &mut claim.status.allocation.as_mut().expect("a holder has devices").devices.results[0]
    }

    fn lists(&self) -> (Vec<ResourceSlice>, Vec<DeviceClass>, Vec<ResourceClaim>) {
        (
            self.slices.values().cloned().collect(),
            self.classes.values().cloned().collect(),
            self.holders.values().cloned().collect(),
        )
    }

    fn evidence<'o>(
        &self,
        slices: &'o [ResourceSlice],
        classes: &'o [DeviceClass],
        claims: &'o [ResourceClaim],
    ) -> Evidence<'o> {
        Evidence { gates: self.gates, slices, classes, claims, groups: self.groups }
    }
}

pub fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the object is readable")
}

/// The whole cluster, with every feature on.
pub fn scene() -> Scene {
    Scene {
        gates: Gates::all_on(),
        groups: GroupsFrom::Results,
        node: read(json!({
            "metadata": {"name": "node-1", "labels": {"zone": "a"}},
            "status": {"declaredFeatures": ["DRAOptionalNodeOperations"]},
        })),
        slices: named(slices(), |slice: &ResourceSlice| &slice.metadata.name),
        classes: named(classes(), |class: &DeviceClass| &class.metadata.name),
        holders: named(holders(), |claim: &ResourceClaim| &claim.metadata.name),
        made: answer(),
    }
}

fn named<T: DeserializeOwned>(values: Value, name: fn(&T) -> &String) -> BTreeMap<String, T> {
    let objects: Vec<T> = read(values);
    objects.into_iter().map(|object| (name(&object).clone(), object)).collect()
}

fn slices() -> Value {
    let gpu = |name: &str, model: &str, numa: u32, index: u32| {
        json!({"name": name, "attributes": {
            "model": {"string": model}, "numa": {"int": numa}, "index": {"int": index}}})
    };
    let mut tainted = gpu("gpu-0", "a100", 0, 0);
    tainted["taints"] = json!([{"key": "old", "effect": "NoSchedule"}, {"key": "dusty", "effect": "None"}]);
    tainted["bindingConditions"] = json!(["ready"]);
    tainted["bindingFailureConditions"] = json!(["broken"]);
    let nic = |name: &str| {
        let policy = json!({"default": "1", "validRange": {"min": "1", "max": "7", "step": "2"}});
        json!({"name": name, "allowMultipleAllocations": true,
               "capacity": {"bandwidth": {"value": "10", "requestPolicy": policy}}})
    };
    let part = |name: &str, memory: &str, groups: &[&str]| {
        json!({"name": name, "consumesCounters": [
            {"counterSet": "g0", "counters": {"memory": {"value": memory}}, "compatibilityGroups": groups}]})
    };
    let pool = |name: &str, generation: u32, count: u32| json!({"name": name, "generation": generation, "resourceSliceCount": count});
    let zone = json!({"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a"]}]}]});
    json!([
        {"metadata": {"name": "gpus"}, "spec": {
            "driver": "gpu.example.com", "pool": pool("p1", 2, 1), "nodeName": "node-1",
            "devices": [tainted, gpu("gpu-1", "a100", 0, 1), gpu("gpu-2", "a100", 1, 2), gpu("gpu-3", "t4", 0, 3)]}},
        {"metadata": {"name": "gpus-before"}, "spec": {
            "driver": "gpu.example.com", "pool": pool("p1", 1, 1), "nodeName": "node-1",
            "devices": [gpu("gpu-9", "a100", 0, 9)]}},
        {"metadata": {"name": "gpus-elsewhere"}, "spec": {
            "driver": "gpu.example.com", "pool": pool("p2", 1, 1), "nodeName": "node-2",
            "devices": [gpu("gpu-7", "a100", 0, 7)]}},
        {"metadata": {"name": "nics"}, "spec": {
            "driver": "nic.example.com", "pool": pool("net", 1, 1), "nodeSelector": zone,
            "devices": [nic("nic-0"), nic("nic-1")]}},
        {"metadata": {"name": "part-counters"}, "spec": {
            "driver": "part.example.com", "pool": pool("mig", 1, 2), "allNodes": true,
            "sharedCounters": [{"name": "g0", "counters": {"memory": {"value": "40"}}}]}},
        {"metadata": {"name": "parts"}, "spec": {
            "driver": "part.example.com", "pool": pool("mig", 1, 2), "allNodes": true,
            "devices": [part("mig-0", "20", &["mig"]), part("mig-1", "20", &["mig", "any"]),
                        part("mig-2", "30", &["mig"]), part("vgpu-0", "10", &["vgpu"]), part("bare-0", "10", &[])]}},
        {"metadata": {"name": "lights"}, "spec": {
            "driver": "light.example.com", "pool": pool("lights", 1, 1), "allNodes": true,
            "skipNodeOperations": ["*"], "devices": [{"name": "light-0"}, {"name": "light-1"}]}},
    ])
}

fn classes() -> Value {
    let class = |name: &str, driver: &str| {
        let expression = format!("device.driver == \"{driver}\"");
        json!({"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}})
    };
    let mut gpu = class("gpu", "gpu.example.com");
    gpu["spec"]["config"] =
        json!([{"opaque": {"driver": "gpu.example.com", "parameters": {"mode": "fast"}}}]);
    json!([
        gpu,
        class("nic", "nic.example.com"),
        class("part", "part.example.com"),
        class("light", "light.example.com")
    ])
}

fn holders() -> Value {
    let holder = |name: &str, result: Value| {
        json!({"metadata": {"name": name, "namespace": "before"},
               "status": {"allocation": {"devices": {"results": [result]}}}})
    };
    json!([
        holder(
            "gpu-user",
            json!({"driver": "gpu.example.com", "pool": "p1", "device": "gpu-3", "request": "r"})
        ),
        holder(
            "nic-user",
            json!({"driver": "nic.example.com", "pool": "net", "device": "nic-0", "request": "r",
                                  "shareID": "share-0", "consumedCapacity": {"bandwidth": "5"}})
        ),
        holder(
            "part-user",
            json!({"driver": "part.example.com", "pool": "mig", "device": "mig-0", "request": "r",
                                   "compatibilityGroups": {"g0": ["mig"]}})
        ),
    ])
}

fn answer() -> BTreeMap<String, (ResourceClaim, AllocationResult)> {
    let this_node = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]});
    let zone = json!({"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a"]}]}]});
    let from_class = |requests: Value| {
        json!({"source": "FromClass", "requests": requests,
               "opaque": {"driver": "gpu.example.com", "parameters": {"mode": "fast"}}})
    };
    let part_config = json!({"driver": "part.example.com", "parameters": {"scheme": "mig"}});
    let tolerations = json!([{"key": "old", "operator": "Exists"}]);
    let gpu = |device: &str| json!({"request": "gpus", "driver": "gpu.example.com", "pool": "p1", "device": device, "tolerations": tolerations});
    let mut gpu_0 = gpu("gpu-0");
    gpu_0["bindingConditions"] = json!(["ready"]);
    gpu_0["bindingFailureConditions"] = json!(["broken"]);
    let light = |device: &str| {
        json!({"request": "lights", "driver": "light.example.com", "pool": "lights", "device": device,
               "skipNodeOperations": ["*"]})
    };
    let train = json!({
        "requests": [
            {"name": "gpus", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2,
                "selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].model == 'a100'"}}],
                "tolerations": tolerations}},
            {"name": "part", "firstAvailable": [
                {"name": "two", "deviceClassName": "part", "allocationMode": "ExactCount", "count": 2},
                {"name": "one", "deviceClassName": "part", "allocationMode": "ExactCount", "count": 1}]},
        ],
        "constraints": [{"requests": ["gpus"], "matchAttribute": "gpu.example.com/numa"},
                        {"requests": ["gpus"], "distinctAttribute": "gpu.example.com/index"}],
        "config": [{"requests": ["part/one"], "opaque": part_config}, {"requests": ["part/two"], "opaque": part_config}],
    });
    let net = json!({"requests": [
        {"name": "nic", "exactly": {"deviceClassName": "nic", "allocationMode": "ExactCount", "count": 1,
            "capacity": {"requests": {"bandwidth": "4"}}}},
        {"name": "lights", "exactly": {"deviceClassName": "light", "allocationMode": "All"}},
    ]});
    let watch = json!({"requests": [
        {"name": "watched", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
            "adminAccess": true}}]});
    let made = |name: &str, devices: Value, allocation: Value| {
        let claim = json!({"metadata": {"name": name, "namespace": "new"}, "spec": {"devices": devices}});
        (name.to_owned(), (read(claim), read(allocation)))
    };
    BTreeMap::from([
        made(
            "train",
            train,
            json!({"nodeSelector": this_node, "devices": {
            "results": [gpu_0, gpu("gpu-1"),
                {"request": "part/one", "driver": "part.example.com", "pool": "mig", "device": "mig-1",
                 "compatibilityGroups": {"g0": ["mig", "any"]}}],
            "config": [from_class(json!(["gpus"])),
                {"source": "FromClaim", "requests": ["part/one"], "opaque": part_config}]}}),
        ),
        made(
            "net",
            net,
            json!({"nodeSelector": zone, "devices": {"results": [
            {"request": "nic", "driver": "nic.example.com", "pool": "net", "device": "nic-0",
             "shareID": "share-1", "consumedCapacity": {"bandwidth": "5"}},
            light("light-0"), light("light-1")]}}),
        ),
        made(
            "watch",
            watch,
            json!({"nodeSelector": this_node, "devices": {
            "results": [{"request": "watched", "driver": "gpu.example.com", "pool": "p1", "device": "gpu-3",
                         "adminAccess": true}],
            "config": [from_class(json!(null))]}}),
        ),
    ])
}
