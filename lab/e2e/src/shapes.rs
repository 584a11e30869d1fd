//! Objects as tests need them: small, and alike on every server.

use anyhow::Result;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use objects::{Object, decode};
use serde_json::{Value, json};

/// The driver of all devices.
pub const DRIVER: &str = "gpu.example.com";

/// The class of all devices.
pub const CLASS: &str = "gpu";

/// An object of its JSON.
///
/// # Errors
/// When it is none.
pub fn object<K: Object>(value: &Value) -> Result<K> {
    Ok(decode(&serde_json::to_vec(value)?)?)
}

/// A node that is ready and has so many CPUs.
///
/// # Errors
/// When it cannot be read as one.
pub fn node(name: &str, cpus: u32) -> Result<Node> {
    let resources = json!({ "cpu": cpus.to_string(), "memory": "64Gi", "pods": "110" });
    object(&json!({
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    }))
}

/// A pod that wants a tenth of a CPU; what it wants besides is put over its spec.
///
/// # Errors
/// When it cannot be read as one.
pub fn pod(name: &str, besides: Value) -> Result<Pod> {
    let mut spec = json!({
        "terminationGracePeriodSeconds": 0,
        "containers": [{
            "name": "main", "image": "example.com/main",
            "resources": { "requests": { "cpu": "100m" } },
        }],
    });
    if let (Some(spec), Value::Object(besides)) = (spec.as_object_mut(), besides) {
        spec.extend(besides);
    }
    object(&json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec }))
}

/// A pod that wants so many CPUs.
///
/// # Errors
/// When it cannot be read as one.
pub fn pod_of_cpus(name: &str, cpus: u32) -> Result<Pod> {
    pod(name, json!({ "containers": containers(cpus) }))
}

/// One container that wants so many CPUs.
#[must_use]
pub fn containers(cpus: u32) -> Value {
    let resources = json!({ "requests": { "cpu": cpus.to_string() } });
    json!([{ "name": "main", "image": "example.com/main", "resources": resources }])
}

/// A pod that uses these claims.
///
/// # Errors
/// When it cannot be read as one.
pub fn pod_with_claims(name: &str, claims: &[&str]) -> Result<Pod> {
    pod(name, json!({ "resourceClaims": claims_of(claims) }))
}

/// The claims of a pod.
#[must_use]
pub fn claims_of(claims: &[&str]) -> Value {
    claims.iter().map(|claim| json!({ "name": claim, "resourceClaimName": claim })).collect()
}

/// The class of all devices.
///
/// # Errors
/// When it cannot be read as one.
pub fn class() -> Result<DeviceClass> {
    let expression = format!("device.driver == '{DRIVER}'");
    object(&json!({
        "metadata": { "name": CLASS },
        "spec": { "selectors": [{ "cel": { "expression": expression } }] },
    }))
}

/// A claim of so many devices.
///
/// # Errors
/// When it cannot be read as one.
pub fn claim(name: &str, count: u32) -> Result<ResourceClaim> {
    claim_of(name, &json!({ "requests": [request("devices", count)] }))
}

/// A claim of devices as they are asked for.
///
/// # Errors
/// When it cannot be read as one.
pub fn claim_of(name: &str, devices: &Value) -> Result<ResourceClaim> {
    object(&json!({ "metadata": { "name": name, "namespace": "default" }, "spec": { "devices": devices } }))
}

/// A template of claims for devices as they are asked for.
///
/// # Errors
/// When it cannot be read as one.
pub fn template(name: &str, devices: &Value) -> Result<ResourceClaimTemplate> {
    let spec = json!({ "spec": { "devices": devices } });
    object(&json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec }))
}

/// A request for so many devices.
#[must_use]
pub fn request(name: &str, count: u32) -> Value {
    json!({ "name": name, "exactly": {
        "deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count,
    } })
}

/// A node's devices: so many, the first half of them of the kind `small` and the others `large`.
///
/// # Errors
/// When it cannot be read as one.
pub fn slice(node: &str, devices: u32) -> Result<ResourceSlice> {
    let device = |at: u32| {
        let kind = if at < devices.div_ceil(2) { "small" } else { "large" };
        json!({ "name": format!("gpu-{at}"), "attributes": {
            "kind": { "string": kind }, "index": { "int": at },
        } })
    };
    object(&json!({
        "metadata": { "name": format!("{node}-devices") },
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": { "name": node, "generation": 1, "resourceSliceCount": 1 },
            "devices": (0..devices).map(device).collect::<Value>(),
        },
    }))
}
