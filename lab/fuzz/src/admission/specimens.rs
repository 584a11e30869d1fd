//! Objects that look like those of real clusters, one or more of every kind that has rules of its own.

use schema::{Kind, table};
use serde_json::{Value, json};

/// The objects with their kinds.
pub fn specimens() -> Vec<(&'static Kind, Value)> {
    [devices(), claims(), groups(), own(), core()].concat().into_iter().map(with_kind).collect()
}

fn with_kind(mut object: Value) -> (&'static Kind, Value) {
    let (version, name) =
        (object["apiVersion"].as_str().unwrap_or(""), object["kind"].as_str().unwrap_or(""));
    let kind = table().kind(version, name).expect("every specimen is of a kind of the table");
    object["metadata"]["labels"] = json!({ "example.com/team": "vision" });
    (kind, object)
}

fn devices() -> Vec<Value> {
    let device = json!({
        "name": "gpu-0",
        "attributes": {
            "model": { "string": "H100" }, "index": { "int": 0 }, "healthy": { "bool": true },
            "driver.example.com/version": { "version": "1.2.3" },
        },
        "capacity": { "memory": { "value": "80Gi" } },
        "consumesCounters": [{ "counterSet": "board", "counters": { "slots": { "value": "1" } }, "compatibilityGroups": ["a"] }],
        "taints": [{ "key": "example.com/slow", "value": "yes", "effect": "NoSchedule" }],
    });
    let shared = json!({
        "name": "nic-0", "allowMultipleAllocations": true, "bindsToNode": true,
        "bindingConditions": ["example.com/Attached"], "bindingFailureConditions": ["example.com/Failed"],
        "bindingTimeout": "5m",
        "capacity": { "bandwidth": { "value": "100G", "requestPolicy": { "default": "1G", "validRange": { "min": "1G", "step": "1G" } } } },
    });
    vec![
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": "node-1-gpu" },
            "spec": {
                "driver": "gpu.example.com", "nodeName": "node-1",
                "pool": { "name": "node-1", "generation": 1, "resourceSliceCount": 1 },
                "devices": [device],
            },
        }),
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": "fabric" },
            "spec": {
                "driver": "gpu.example.com",
                "nodeSelector": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "fabric", "operator": "In", "values": ["a"] }] }] },
                "pool": { "name": "fabric", "generation": 1, "resourceSliceCount": 2 },
                "devices": [shared],
            },
        }),
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": "counters" },
            "spec": {
                "driver": "gpu.example.com", "allNodes": true,
                "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 },
                "sharedCounters": [{ "name": "board", "counters": { "slots": { "value": "7" } } }],
            },
        }),
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu.example.com" },
            "spec": {
                "selectors": [{ "cel": { "expression": "device.driver == 'gpu.example.com'" } }],
                "config": [{ "opaque": { "driver": "gpu.example.com", "parameters": { "mode": "fast" } } }],
                "extendedResourceName": "example.com/gpu", "controllerName": "controller.example.com",
                "suitableNodes": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "gpu", "operator": "Exists" }] }] },
            },
        }),
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": { "name": "drain" },
            "spec": {
                "deviceSelector": { "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0" },
                "taint": { "key": "example.com/drain", "effect": "NoExecute" },
            },
        }),
    ]
}

fn claim_spec() -> Value {
    json!({
        "devices": {
            "requests": [
                { "name": "gpus", "exactly": {
                    "deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 2,
                    "selectors": [{ "cel": { "expression": "device.attributes['gpu.example.com'].model == 'H100'" } }],
                    "tolerations": [{ "key": "example.com/slow", "operator": "Exists" }],
                    "capacity": { "requests": { "memory": "10Gi" } },
                } },
                { "name": "nic", "firstAvailable": [
                    { "name": "fast", "deviceClassName": "nic.example.com", "count": 1, "allocationMode": "ExactCount" },
                    { "name": "any", "deviceClassName": "nic.example.com", "allocationMode": "All" },
                ] },
            ],
            "constraints": [{ "matchAttribute": "gpu.example.com/model", "requests": ["gpus"] }],
            "config": [{ "requests": ["nic/fast"], "opaque": { "driver": "nic.example.com", "parameters": { "mtu": 9000 } } }],
        },
    })
}

fn claims() -> Vec<Value> {
    let status = json!({
        "allocation": {
            "devices": { "results": [{ "request": "gpus", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0" }] },
            "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["node-1"] }] }] },
        },
        "reservedFor": [{ "resource": "pods", "name": "p", "uid": "1" }],
        "devices": [{
            "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0", "data": { "a": 1 },
            "conditions": [{ "type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-11-15T11:00:00Z" }],
        }],
    });
    let older = json!({ "devices": { "requests": [{ "name": "gpus", "deviceClassName": "gpu.example.com", "count": 1 }] } });
    vec![
        json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "c", "namespace": "default" }, "spec": claim_spec(), "status": status }),
        json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": { "name": "t", "namespace": "default" },
            "spec": { "metadata": { "labels": { "a": "b" } }, "spec": claim_spec() } }),
        json!({ "apiVersion": "resource.k8s.io/v1beta2", "kind": "ResourceClaim", "metadata": { "name": "c2", "namespace": "default" }, "spec": claim_spec() }),
        json!({ "apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": { "name": "c1", "namespace": "default" }, "spec": older }),
        json!({ "apiVersion": "resource.k8s.io/v1alpha3", "kind": "ResourcePoolStatusRequest", "metadata": { "name": "r" }, "spec": { "driver": "gpu.example.com" } }),
    ]
}

fn groups() -> Vec<Value> {
    vec![
        json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "high" }, "value": 1000, "globalDefault": false, "preemptionPolicy": "Never" }),
        json!({ "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": { "name": "g", "namespace": "default" }, "spec": {
            "schedulingPolicy": { "gang": { "minCount": 4 } }, "priorityClassName": "high",
            "schedulingConstraints": { "topology": [{ "key": "example.com/rack" }] },
            "resourceClaims": [{ "name": "shared", "resourceClaimTemplateName": "t" }],
            "workloadRef": { "workloadName": "w", "templateName": "workers" },
        } }),
        json!({ "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": { "name": "w", "namespace": "default" }, "spec": {
            "controllerRef": { "apiGroup": "batch", "kind": "Job", "name": "j" },
            "podGroupTemplates": [{ "name": "workers", "schedulingPolicy": { "basic": {} } }],
        } }),
    ]
}

fn own() -> Vec<Value> {
    vec![
        json!({ "apiVersion": "supercargo.dev/v1alpha1", "kind": "DeviceAttachment", "metadata": { "name": "unit-7" },
            "spec": { "driver": "gpu.example.com", "host": "h", "model": "A1", "node": "node-1", "origin": "Attached", "port": "p", "unit": "7",
                "claim": { "namespace": "default", "name": "c", "uid": "u", "pool": "fabric.free.a1", "device": "slot-0" } },
            "status": { "phase": "Resting", "failures": 1, "retryAt": "2026-01-02T03:04:05.000000Z", "message": "busy" } }),
        json!({ "apiVersion": "supercargo.dev/v1alpha1", "kind": "NodeTopology", "metadata": { "name": "racks" }, "spec": {
            "levels": [{ "name": "zone", "nodeLabel": "topology.kubernetes.io/zone" }, { "name": "rack", "nodeLabel": "example.com/rack" }],
            "nodeSelector": { "matchLabels": { "gpu": "yes" } },
        } }),
        json!({ "apiVersion": "supercargo.dev/v1alpha1", "kind": "PodSchedulingContext", "metadata": { "name": "p", "namespace": "default" },
            "spec": { "potentialNodes": ["node-1", "node-2"], "selectedNode": "node-1" },
            "status": { "resourceClaims": [{ "name": "gpu", "unsuitableNodes": ["node-2"] }] } }),
        json!({ "apiVersion": "supercargo.dev/v1alpha1", "kind": "Workload", "metadata": { "name": "w", "namespace": "default" }, "spec": {
            "podGroups": [
                { "name": "workers", "policy": { "gang": { "minCount": 4 } }, "replicas": 2, "schedulingConstraints": {
                    "topologyConstraints": [{ "level": "rack", "mode": "Preferred", "rank": 1 }],
                    "draConstraints": [{ "resourceClaimName": "shared", "matchAttribute": "gpu.example.com/fabric" }],
                } },
                { "name": "leader", "policy": { "basic": {} } },
            ],
        } }),
    ]
}

fn core() -> Vec<Value> {
    vec![
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "default" }, "spec": {
            "containers": [{ "name": "main", "image": "registry.example.com/app:v1", "resources": {
                "requests": { "cpu": "500m", "memory": "1Gi" }, "limits": { "memory": "1Gi" }, "claims": [{ "name": "gpu", "request": "gpus" }],
            } }],
            "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }],
            "tolerations": [{ "key": "example.com/gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60 }],
            "schedulingGates": [{ "name": "example.com/quota" }],
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "gpu", "operator": "Exists" }] }] } } },
            "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "a": "b" } } }],
        } }),
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-1" },
            "spec": { "taints": [{ "key": "example.com/gpu", "effect": "NoSchedule" }] },
            "status": { "capacity": { "cpu": "8", "memory": "32Gi" }, "allocatable": { "cpu": "8", "memory": "31Gi" } } }),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c", "namespace": "default" }, "data": { "a": "b" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" }, "data": { "a": "aGVsbG8=" } }),
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l", "namespace": "default" },
            "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-11-15T11:00:00.000000Z" } }),
        json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "b", "namespace": "default" },
            "spec": { "minAvailable": "50%", "selector": { "matchLabels": { "a": "b" } } } }),
    ]
}
