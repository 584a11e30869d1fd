//! A list of resource slices: 8 to 64 devices each, some of them partitions that draw from shared counters.

use serde_json::{Map, Value, json};

use crate::random::Random;

const MODELS: [&str; 4] = ["A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM5-141GB", "L40S-PCIE-48GB"];

/// The list as JSON text.
pub(crate) fn list(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from(
        r#"{"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"8100233"},"items":["#,
    );
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&slice(index, &mut random).to_string());
    }
    text.push_str("]}");
    text
}

fn slice(index: usize, random: &mut Random) -> Value {
    let node = format!("gpu-node-{index:04}.cluster.internal");
    let partitioned = random.below(4) == 0;
    let devices: Vec<Value> =
        (0..8 + random.below(57)).map(|device| gpu(device, partitioned, random)).collect();
    let mut slice = json!({
        "metadata": {
            "name": format!("{node}-gpu.example.com-{:05x}", random.below(0xf_ffff)),
            "generateName": format!("{node}-gpu.example.com-"),
            "uid": random.uid(),
            "resourceVersion": random.below(9_000_000).to_string(),
            "generation": 3,
            "creationTimestamp": "2026-11-03T08:15:42Z",
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": node, "uid": random.uid(), "controller": true }],
            "managedFields": [{
                "manager": "gpu-kubelet-plugin", "operation": "Update", "apiVersion": "resource.k8s.io/v1",
                "time": "2026-11-03T08:15:42Z", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:spec": { "f:devices": {}, "f:driver": {}, "f:nodeName": {}, "f:pool": { "f:generation": {}, "f:name": {}, "f:resourceSliceCount": {} } } },
            }],
        },
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": { "name": node, "generation": 3, "resourceSliceCount": 1 },
            "devices": devices,
        },
    });
    if partitioned {
        let counters: Map<String, Value> =
            (0..8).map(|at| (format!("memory-slice-{at}"), json!({ "value": "1" }))).collect();
        slice["spec"]["sharedCounters"] = json!([{ "name": "gpu-0", "counters": counters }]);
    }
    slice
}

fn gpu(index: u64, partitioned: bool, random: &mut Random) -> Value {
    let model = random.pick(&MODELS);
    let mut device = json!({
        "name": format!("gpu-{index}"),
        "attributes": {
            "type": { "string": "gpu" },
            "uuid": { "string": format!("GPU-{}", random.uid()) },
            "productName": { "string": model },
            "architecture": { "string": "Hopper" },
            "brand": { "string": "Example" },
            "index": { "int": index },
            "minor": { "int": index },
            "cudaComputeCapability": { "version": "9.0.0" },
            "driverVersion": { "version": "570.124.6" },
            "resource.kubernetes.io/pcieRoot": { "string": format!("pci0000:{:02x}", random.below(8) * 16) },
        },
        "capacity": { "memory": { "value": "81559Mi" }, "multiprocessors": { "value": "132" } },
    });
    if partitioned {
        let at = random.below(8);
        device["consumesCounters"] = json!([{ "counterSet": "gpu-0", "counters": { format!("memory-slice-{at}"): { "value": "1" } } }]);
    }
    if random.below(50) == 0 {
        device["taints"] = json!([{ "key": "example.com/unhealthy", "value": "ecc", "effect": "NoSchedule", "timeAdded": "2026-11-03T08:15:42Z" }]);
    }
    device
}

#[cfg(test)]
mod tests {
    use objects::resource::slice::ResourceSlice;

    use super::list;

    #[test]
    fn slices_have_eight_to_sixty_four_devices() {
        let text = list(300, 1);
        let slices =
            objects::decode_list::<ResourceSlice>(text.as_bytes()).expect("the slices are well formed");
        let sizes: Vec<usize> =
            slices.items.iter().map(|slice| slice.spec.devices.iter().flatten().count()).collect();
        assert_eq!(sizes.iter().min(), Some(&8));
        assert_eq!(sizes.iter().max(), Some(&64));
        assert_eq!(text, list(300, 1), "the same seed gives the same slices");
    }
}
