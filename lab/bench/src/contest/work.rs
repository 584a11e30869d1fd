//! The work that schedulers get: nodes with devices, and pods of one shape, as objects of the API.

use std::fmt;

use clap::ValueEnum;
use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "contest";
const DRIVER: &str = "gpu.example.com";
pub(crate) const HOST: &str = "kubernetes.io/hostname";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const RACK: &str = "topology.kubernetes.io/rack";
/// How many replicas an application has.
pub(crate) const REPLICAS: usize = 25;
const ZONES: usize = 3;

/// What pods are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum WorkShape {
    /// They ask for processor and memory
    Plain,
    /// Each has a claim for a device
    Claim,
    /// The same, while a driver of another kind publishes devices that every node reaches
    SharedSlice,
    /// They have a Service and a ReplicaSet
    Service,
    /// They must be spread over zones, and had better be over nodes
    Spread,
    /// Each replica must be on another node
    AntiAffinity,
    /// They are gangs
    Gang,
    /// They are gangs, each of which must be in one rack
    GangRack,
}

/// How much of it there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) shape: WorkShape,
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
    /// Devices of each node.
    pub(crate) devices: usize,
    pub(crate) gang_size: usize,
    pub(crate) racks: usize,
}

impl fmt::Display for WorkShape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no shape is hidden");
        out.pad(value.get_name())
    }
}

impl WorkShape {
    pub(crate) fn has_claims(self) -> bool {
        matches!(self, Self::Claim | Self::SharedSlice)
    }

    fn has_gangs(self) -> bool {
        matches!(self, Self::Gang | Self::GangRack)
    }

    fn has_replicas(self) -> bool {
        matches!(self, Self::Service | Self::Spread | Self::AntiAffinity)
    }

    /// The features without which there are no such pods.
    pub(crate) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Gang | Self::GangRack => &["GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"],
            _ => &[],
        }
    }
}

/// Something to make: where, and what.
pub(crate) type Making = (String, Value);

impl Work {
    /// What is there before the pods are, in the order in which it is made; what is in one list can be made at once.
    pub(crate) fn surroundings(&self) -> Vec<Vec<Making>> {
        let shape = self.shape;
        let mut kinds = vec![
            vec![made("/api/v1/namespaces", json!({ "metadata": { "name": NAMESPACE } }))],
            (0..self.nodes).map(|number| made("/api/v1/nodes", self.node(number))).collect(),
        ];
        if shape.has_claims() {
            kinds.push(vec![made(&resource("deviceclasses"), class())]);
            let mut slices: Vec<Value> = (0..self.nodes).map(|number| self.slice(number)).collect();
            slices.extend((shape == WorkShape::SharedSlice).then(reached_by_all));
            kinds.push(slices.into_iter().map(|slice| made(&resource("resourceslices"), slice)).collect());
            let claims = format!("/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims");
            kinds.push((0..self.pods).map(|number| made(&claims, claim(number))).collect());
        }
        if shape.has_gangs() {
            let groups = format!("/apis/scheduling.k8s.io/v1beta1/namespaces/{NAMESPACE}/podgroups");
            kinds.push((0..self.gangs()).map(|number| made(&groups, self.gang(number))).collect());
        }
        if shape.has_replicas() {
            let apps = || 0..self.pods.div_ceil(REPLICAS);
            let sets = format!("/apis/apps/v1/namespaces/{NAMESPACE}/replicasets");
            kinds.push(apps().map(|app| made(&sets, replica_set(app))).collect());
            let services = format!("/api/v1/namespaces/{NAMESPACE}/services");
            kinds.push(apps().map(|app| made(&services, service(app))).collect());
        }
        kinds
    }

    pub(crate) fn pods(&self) -> Vec<Making> {
        let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        (0..self.pods).map(|number| made(&pods, self.pod(number))).collect()
    }

    fn gangs(&self) -> usize {
        self.pods.div_ceil(self.gang_size)
    }

    /// The value of a node's label.
    pub(crate) fn domain(&self, node: usize, key: &str) -> String {
        match key {
            ZONE => format!("zone-{}", node % ZONES),
            RACK => format!("rack-{}", node % self.racks),
            _ => format!("node-{node}"),
        }
    }

    fn node(&self, number: usize) -> Value {
        let room = json!({ "cpu": "64", "memory": "256Gi", "pods": "110" });
        let labels = json!({
            HOST: self.domain(number, HOST), ZONE: self.domain(number, ZONE), RACK: self.domain(number, RACK),
        });
        json!({
            "metadata": { "name": format!("node-{number}"), "labels": labels },
            "status": { "capacity": room, "allocatable": room, "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] },
        })
    }

    fn slice(&self, number: usize) -> Value {
        let device = |at: usize| {
            json!({
                "name": format!("gpu-{at}"),
                "attributes": { "model": { "string": "h100" }, "index": { "int": at }, "numa": { "int": at % 2 } },
                "capacity": { "memory": { "value": "80Gi" } },
            })
        };
        let node = format!("node-{number}");
        json!({ "metadata": { "name": format!("{node}-gpu") }, "spec": {
            "driver": DRIVER, "nodeName": node,
            "pool": { "name": node, "generation": 1, "resourceSliceCount": 1 },
            "devices": (0..self.devices).map(device).collect::<Vec<_>>(),
        } })
    }

    fn gang(&self, number: usize) -> Value {
        // The last may be smaller.
        let members = self.gang_size.min(self.pods - number * self.gang_size);
        let mut spec = json!({ "schedulingPolicy": { "gang": { "minCount": members } } });
        if self.shape == WorkShape::GangRack {
            spec["schedulingConstraints"] = json!({ "topology": [{ "key": RACK }] });
        }
        json!({ "metadata": { "name": format!("gang-{number}") }, "spec": spec })
    }

    fn pod(&self, number: usize) -> Value {
        let mut metadata = json!({ "name": format!("pod-{number}") });
        let cpu = if self.shape.has_gangs() { "8" } else { "100m" };
        let mut container = json!({
            "name": "main", "image": "registry.example.com/main:v1",
            "resources": { "requests": { "cpu": cpu, "memory": "100Mi" } },
        });
        let mut spec = json!({ "terminationGracePeriodSeconds": 0 });
        if self.shape.has_claims() {
            spec["resourceClaims"] =
                json!([{ "name": "gpu", "resourceClaimName": format!("claim-{number}") }]);
            container["resources"]["claims"] = json!([{ "name": "gpu" }]);
        }
        if self.shape.has_gangs() {
            let gang = format!("gang-{}", number / self.gang_size);
            spec["schedulingGroup"] = json!({ "podGroupName": gang });
        }
        let app = number / REPLICAS;
        if self.shape.has_replicas() {
            metadata["labels"] = labels(app);
            metadata["ownerReferences"] = json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": format!("app-{app}"), "uid": format!("uid-of-app-{app}"), "controller": true }]);
        }
        if self.shape == WorkShape::Spread {
            let constraint = |(key, otherwise): (&str, &str)| {
                json!({ "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": otherwise,
                    "labelSelector": { "matchLabels": labels(app) } })
            };
            let constraints = [(ZONE, "DoNotSchedule"), (HOST, "ScheduleAnyway")].map(constraint);
            spec["topologySpreadConstraints"] = json!(constraints);
        }
        if self.shape == WorkShape::AntiAffinity {
            let term = json!({ "topologyKey": HOST, "labelSelector": { "matchLabels": labels(app) } });
            spec["affinity"] = json!({ "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term] } });
        }
        spec["containers"] = json!([container]);
        json!({ "metadata": metadata, "spec": spec })
    }
}

fn made(path: &str, object: Value) -> Making {
    (path.to_owned(), object)
}

fn resource(plural: &str) -> String {
    format!("/apis/resource.k8s.io/v1/{plural}")
}

fn class() -> Value {
    let expression = format!("device.driver == \"{DRIVER}\"");
    json!({ "metadata": { "name": "gpu" }, "spec": { "selectors": [{ "cel": { "expression": expression } }] } })
}

/// A slice of another driver.
fn reached_by_all() -> Value {
    let devices: Vec<Value> = (0..8).map(|number| json!({ "name": format!("unit-{number}") })).collect();
    json!({ "metadata": { "name": "shared" }, "spec": {
        "driver": "fabric.example.com", "allNodes": true,
        "pool": { "name": "shared", "generation": 1, "resourceSliceCount": 1 }, "devices": devices,
    } })
}

fn claim(number: usize) -> Value {
    let expression = format!("device.capacity[\"{DRIVER}\"].memory.compareTo(quantity(\"40Gi\")) >= 0");
    let exactly = json!({ "deviceClassName": "gpu", "selectors": [{ "cel": { "expression": expression } }] });
    json!({ "metadata": { "name": format!("claim-{number}") },
        "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": exactly }] } } })
}

fn labels(app: usize) -> Value {
    let name = format!("app-{app}");
    json!({ "app": name, "pod-template-hash": name })
}

fn replica_set(app: usize) -> Value {
    let containers = json!([{ "name": "main", "image": "registry.example.com/main:v1" }]);
    let template = json!({ "metadata": { "labels": labels(app) }, "spec": { "containers": containers } });
    json!({ "metadata": { "name": format!("app-{app}") }, "spec": {
        "replicas": REPLICAS, "selector": { "matchLabels": labels(app) }, "template": template,
    } })
}

fn service(app: usize) -> Value {
    json!({ "metadata": { "name": format!("app-{app}") },
        "spec": { "selector": labels(app), "ports": [{ "port": 80 }] } })
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{Work, WorkShape};

    #[test]
    fn every_pod_has_what_it_names() {
        for shape in WorkShape::value_variants() {
            let work = Work { shape: *shape, nodes: 4, pods: 30, devices: 8, gang_size: 20, racks: 2 };
            let surroundings: Vec<_> = work.surroundings().concat();
            let is_there =
                |name: &str| surroundings.iter().any(|(_, object)| object["metadata"]["name"] == name);
            for (_, pod) in work.pods() {
                let claim = pod["spec"]["resourceClaims"][0]["resourceClaimName"].as_str();
                let gang = pod["spec"]["schedulingGroup"]["podGroupName"].as_str();
                let owner = pod["metadata"]["ownerReferences"][0]["name"].as_str();
                for name in [claim, gang, owner].into_iter().flatten() {
                    assert!(is_there(name), "{shape}: {name}");
                }
                assert_eq!(claim.is_some(), shape.has_claims(), "{shape}");
                assert_eq!(gang.is_some(), shape.has_gangs(), "{shape}");
                assert_eq!(owner.is_some(), shape.has_replicas(), "{shape}");
            }
        }
    }
}
