//! How much memory a simulation takes, as the allocator counts it.

use allocation_counter::measure;
use gates::Gates;
use serde_json::{Value, json};
use simulation::{read, simulate};

/// Nodes with eight devices each, and a pod that wants one of them: as YAML documents, and as one list in JSON.
fn cluster(nodes: usize) -> [(&'static str, String); 3] {
    let device =
        |number| json!({ "name": format!("gpu-{number}"), "attributes": { "model": { "string": "A1" } } });
    let of_node = |number| {
        let name = format!("node-{number}");
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "status": { "allocatable": { "cpu": "64", "pods": "110" } },
        });
        let slice = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": name },
            "spec": {
                "driver": "gpu.example.com", "nodeName": name,
                "pool": { "name": name, "generation": 1, "resourceSliceCount": 1 },
                "devices": (0..8).map(device).collect::<Vec<Value>>(),
            },
        });
        [node, slice]
    };
    let spec =
        json!({ "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } });
    let mut objects: Vec<Value> = (0..nodes).flat_map(of_node).collect();
    objects.extend([
        json!({ "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu" }, "spec": {} }),
        json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "one" }, "spec": spec }),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "user" },
            "spec": {
                "containers": [{ "name": "main", "image": "i" }],
                "resourceClaims": [{ "name": "gpu", "resourceClaimName": "one" }],
            },
        }),
    ]);
    let documents = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    [("documents.yaml", documents), ("list.yaml", format!("# a list\n{list}")), ("list.json", list)]
}

#[test]
fn a_simulation_never_holds_its_manifests_twice() {
    for (file, text) in cluster(300) {
        let mut manifests = Vec::new();
        let held = measure(|| manifests = read(file, &text).expect("good manifests")).bytes_current;
        drop(manifests);
        let mut outcome = None;
        let peak = measure(|| {
            let manifests = read(file, &text).expect("good manifests");
            outcome = Some(simulate(manifests, Gates::default()).expect("they are admitted").outcome);
        })
        .bytes_max;
        assert_eq!(outcome.expect("it has run").pending(), 0);
        let held = u64::try_from(held).expect("manifests take memory");
        assert!(peak < 2 * held, "{file}: {peak} bytes at most, for manifests of {held} bytes");
    }
}
