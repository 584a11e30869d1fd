//! Every other kind.

use serde_json::json;

use super::check;

#[test]
fn a_node_shows_its_state_roles_and_addresses() {
    check(
        "v1",
        "Node",
        json!({}),
        json!([
            "x",
            "Unknown",
            "<none>",
            "5m",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ]),
    );
    check(
        "v1",
        "Node",
        json!({
            "metadata": {"labels": {
                "node-role.kubernetes.io/worker": "",
                "node-role.kubernetes.io/": "x",
                "kubernetes.io/role": "gpu",
                "other": "y",
            }},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [
                    {"type": "Hostname", "address": "h"},
                    {"type": "InternalIP", "address": "10.0.0.1"},
                    {"type": "InternalIP", "address": "10.0.0.2"},
                    {"type": "ExternalIP", "address": "192.0.2.1"},
                ],
                "nodeInfo": {
                    "kubeletVersion": "v1.37.0",
                    "osImage": "Linux",
                    "kernelVersion": "6.1",
                    "architecture": "arm64",
                    "containerRuntimeVersion": "containerd://2",
                },
            },
        }),
        json!([
            "x",
            "NotReady,SchedulingDisabled",
            "gpu,worker",
            "5m",
            "v1.37.0",
            "10.0.0.1",
            "192.0.2.1",
            "Linux",
            "6.1 (arm64)",
            "containerd://2"
        ]),
    );
}

#[test]
fn an_event_is_told_alike_in_both_spellings() {
    let cells = |count: i64, last: &str, first: &str| {
        json!([last, "Warning", "Why", "pod/p", "spec", "me, here", "it broke", first, count, "x"])
    };
    check(
        "v1",
        "Event",
        json!({
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "source": {"component": "me", "host": "here"},
            "type": "Warning", "reason": "Why", "message": " it broke\n", "count": 7,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:04:00Z",
        }),
        cells(7, "60s", "5m"),
    );
    check(
        "events.k8s.io/v1",
        "Event",
        json!({
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "reportingController": "me", "reportingInstance": "here",
            "type": "Warning", "reason": "Why", "note": "it broke",
            "eventTime": "2026-01-01T00:03:00.000000Z",
            "deprecatedFirstTimestamp": null, "deprecatedSource": {},
        }),
        cells(1, "2m", "2m"),
    );
    check(
        "v1",
        "Event",
        json!({
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "source": {}, "reportingComponent": "me", "reportingInstance": "here",
            "type": "Warning", "reason": "Why", "message": "it broke", "count": 7,
            "series": {"count": 3, "lastObservedTime": "2026-01-01T00:04:30.5Z"},
        }),
        cells(3, "29s", "<unknown>"),
    );
}

#[test]
fn a_service_shows_how_it_is_reached() {
    let told = |spec, status, expected: [&str; 5]| {
        let [kind, inside, outside, ports, selector] = expected;
        let cells = json!(["x", kind, inside, outside, ports, "5m", selector]);
        check("v1", "Service", json!({"spec": spec, "status": status}), cells);
    };
    told(
        json!({"type": "ClusterIP", "clusterIPs": ["None"]}),
        json!({}),
        ["ClusterIP", "None", "<none>", "<none>", "<none>"],
    );
    told(
        json!({
            "type": "NodePort", "clusterIPs": ["10.0.0.1", "fd00::1"], "externalIPs": ["192.0.2.1", "192.0.2.2"],
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
            "selector": {"b": "2", "a": "1"},
        }),
        json!({}),
        ["NodePort", "10.0.0.1", "192.0.2.1,192.0.2.2", "80:30080/TCP,53/UDP", "a=1,b=2"],
    );
    let balanced = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"hostname": "b.example.com"}, {"ip": "192.0.2.1"}]}});
    told(
        json!({"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "externalIPs": ["192.0.2.7"]}),
        balanced,
        ["LoadBalancer", "10.0.0.1", "192.0.2.1,192.0.2.9,b.example.com,192.0.2.7", "<none>", "<none>"],
    );
    told(
        json!({"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"]}),
        json!({}),
        ["LoadBalancer", "10.0.0.1", "<pending>", "<none>", "<none>"],
    );
    told(
        json!({"type": "ExternalName", "externalName": "a.example.com"}),
        json!({}),
        ["ExternalName", "<none>", "a.example.com", "<none>", "<none>"],
    );
}

#[test]
fn small_kinds_show_what_they_hold() {
    check("v1", "Namespace", json!({"status": {"phase": "Active"}}), json!(["x", "Active", "5m"]));
    check(
        "v1",
        "Secret",
        json!({"type": "Opaque", "data": {"a": "", "b": ""}}),
        json!(["x", "Opaque", 2, "5m"]),
    );
    check("v1", "ConfigMap", json!({"data": {"a": ""}, "binaryData": {"b": ""}}), json!(["x", 2, "5m"]));
    check("v1", "ServiceAccount", json!({}), json!(["x", "5m"]));
    check(
        "coordination.k8s.io/v1",
        "Lease",
        json!({"spec": {"holderIdentity": "me"}}),
        json!(["x", "me", "5m"]),
    );
    check(
        "policy/v1",
        "PodDisruptionBudget",
        json!({"spec": {"minAvailable": 2}, "status": {"disruptionsAllowed": 1}}),
        json!(["x", "2", "N/A", 1, "5m"]),
    );
    check(
        "policy/v1",
        "PodDisruptionBudget",
        json!({"spec": {"maxUnavailable": "10%"}}),
        json!(["x", "N/A", "10%", 0, "5m"]),
    );
}

#[test]
fn kinds_with_a_template_show_its_containers() {
    let template =
        json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}});
    let selector = json!({"matchLabels": {"k": "v"}});
    check(
        "v1",
        "ReplicationController",
        json!({"spec": {"replicas": 3, "template": template, "selector": {"k": "v"}}, "status": {"replicas": 2, "readyReplicas": 1}}),
        json!(["x", 3, 2, 1, "5m", "a,b", "i:1,j", "k=v"]),
    );
    check(
        "apps/v1",
        "ReplicaSet",
        json!({"spec": {"replicas": 3, "template": template, "selector": selector}, "status": {"replicas": 2}}),
        json!(["x", 3, 2, 0, "5m", "a,b", "i:1,j", "k=v"]),
    );
    check(
        "apps/v1",
        "StatefulSet",
        json!({"spec": {"replicas": 3, "template": template}, "status": {"readyReplicas": 2}}),
        json!(["x", "2/3", "5m", "a,b", "i:1,j"]),
    );
}

#[test]
fn a_job_shows_how_far_it_is() {
    let told = |metadata, spec, status, expected: [&str; 3]| {
        let [state, completions, duration] = expected;
        let object = json!({"metadata": metadata, "spec": spec, "status": status});
        check("batch/v1", "Job", object, json!(["x", state, completions, duration, "5m", "", "", "<none>"]));
    };
    let holds =
        |kinds: &[&str]| kinds.iter().map(|kind| json!({"type": kind, "status": "True"})).collect::<Vec<_>>();
    let deleted = json!({"deletionTimestamp": "2026-01-01T00:04:00Z"});
    let started = json!({"startTime": "2026-01-01T00:01:00Z", "succeeded": 1});
    told(json!({}), json!({"completions": 4}), started, ["Running", "1/4", "4m"]);
    told(json!({}), json!({"parallelism": 3}), json!({}), ["Running", "0/1 of 3", ""]);
    let ended = json!({
        "startTime": "2026-01-01T00:01:00Z", "completionTime": "2026-01-01T00:01:09Z",
        "conditions": holds(&["SuccessCriteriaMet", "Complete"]),
    });
    told(deleted.clone(), json!({"parallelism": 1}), ended, ["Complete", "0/1", "9s"]);
    told(
        json!({}),
        json!({}),
        json!({"conditions": holds(&["FailureTarget", "Failed"])}),
        ["Failed", "0/1", ""],
    );
    told(deleted, json!({}), json!({"conditions": holds(&["Suspended"])}), ["Terminating", "0/1", ""]);
    told(json!({}), json!({}), json!({"conditions": holds(&["Suspended"])}), ["Suspended", "0/1", ""]);
    told(
        json!({}),
        json!({}),
        json!({"conditions": holds(&["FailureTarget"])}),
        ["FailureTarget", "0/1", ""],
    );
}

#[test]
fn volumes_show_their_size_and_their_claims() {
    check(
        "v1",
        "PersistentVolume",
        json!({
            "spec": {
                "capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "fast", "volumeMode": "Block",
            },
            "status": {"phase": "Bound", "reason": "why"},
        }),
        json!(["x", "1Gi", "RWO,RWX", "Retain", "Bound", "n/c", "fast", "<unset>", "why", "5m", "Block"]),
    );
    check(
        "v1",
        "PersistentVolumeClaim",
        json!({
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"},
            "status": {"phase": "Pending"},
        }),
        json!(["x", "Pending", "", "", "", "", "<unset>", "5m", "<unset>"]),
    );
    check(
        "v1",
        "PersistentVolumeClaim",
        json!({
            "metadata": {"deletionTimestamp": "2026-01-01T00:04:00Z"},
            "spec": {"volumeName": "v", "volumeAttributesClassName": "gold", "volumeMode": "Filesystem"},
            "status": {"phase": "Bound", "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]},
        }),
        json!(["x", "Terminating", "v", "0", "ROX,RWOP", "", "gold", "5m", "Filesystem"]),
    );
}

#[test]
fn storage_classes_and_drivers_show_their_settings() {
    check(
        "storage.k8s.io/v1",
        "StorageClass",
        json!({"provisioner": "p"}),
        json!(["x", "p", "Delete", "Immediate", false, "5m"]),
    );
    check("storage.k8s.io/v1", "CSINode", json!({"spec": {"drivers": [{}, {}]}}), json!(["x", 2, "5m"]));
    check(
        "storage.k8s.io/v1",
        "CSIDriver",
        json!({"spec": {}}),
        json!(["x", true, false, false, "<unset>", false, "<none>", "5m"]),
    );
    check(
        "storage.k8s.io/v1",
        "CSIDriver",
        json!({"spec": {
            "attachRequired": false, "podInfoOnMount": true, "storageCapacity": true, "requiresRepublish": true,
            "tokenRequests": [{"audience": "a"}, {"audience": ""}], "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        }}),
        json!(["x", false, true, true, "a,", true, "Persistent,Ephemeral", "5m"]),
    );
    check(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        json!({"capacity": "1Gi"}),
        json!(["x", super::CREATED]),
    );
    check(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        json!({
            "spec": { "attacher": "d", "nodeName": "n", "source": { "persistentVolumeName": "v" } },
            "status": { "attached": true },
        }),
        json!(["x", "d", "v", "n", true, "5m"]),
    );
}

#[test]
fn groups_show_their_policy_and_whether_they_are_placed() {
    check(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        json!({"value": 1000, "globalDefault": true, "preemptionPolicy": "Never"}),
        json!(["x", 1000, true, "5m", "Never"]),
    );
    let group = |conditions| {
        json!({
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "workloadRef": {"workloadName": "w"}},
            "status": {"conditions": conditions},
        })
    };
    let scheduled =
        |status: &str| json!({"type": "PodGroupInitiallyScheduled", "status": status, "reason": "R"});
    let told = |conditions, status: &str| {
        check(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            group(conditions),
            json!(["x", "Gang", "w", status, "5m"]),
        );
    };
    told(json!([]), "Pending");
    told(json!([scheduled("True")]), "Scheduled");
    told(json!([scheduled("False")]), "Unschedulable");
    told(
        json!([{"type": "DisruptionTarget", "status": "False", "reason": "Moved"}, scheduled("True")]),
        "Moved",
    );
    let basic = json!({"spec": {"schedulingPolicy": {"basic": {}}, "workloadRef": null}});
    check(
        "scheduling.k8s.io/v1alpha3",
        "PodGroup",
        basic.clone(),
        json!(["x", "Basic", "<none>", "Pending", "5m"]),
    );
    check("scheduling.k8s.io/v1alpha3", "CompositePodGroup", basic, json!(["x", "Basic", "<none>", "5m"]));
    check("scheduling.k8s.io/v1beta1", "Workload", json!({}), json!(["x", "5m"]));
}

#[test]
fn a_claim_shows_its_state() {
    let told = |metadata, status, state: &str| {
        let object = json!({"metadata": metadata, "status": status});
        check("resource.k8s.io/v1", "ResourceClaim", object, json!(["x", state, "5m"]));
    };
    let deleted = json!({"deletionTimestamp": "2026-01-01T00:04:00Z"});
    told(json!({}), json!({}), "pending");
    told(json!({}), json!({"allocation": {}}), "allocated");
    told(json!({}), json!({"allocation": {}, "reservedFor": [{}]}), "allocated,reserved");
    told(deleted.clone(), json!({}), "deleted");
    told(deleted, json!({"allocation": {}}), "deleted,allocated");
}

#[test]
fn device_kinds_show_their_driver() {
    check("resource.k8s.io/v1", "DeviceClass", json!({}), json!(["x", "5m"]));
    check(
        "resource.k8s.io/v1",
        "ResourceSlice",
        json!({"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}}),
        json!(["x", "n", "d", "p", "5m"]),
    );
    check(
        "resource.k8s.io/v1alpha3",
        "DeviceTaintRule",
        json!({"spec": {"taint": {"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:04:55Z"}}}),
        json!(["x", "k", "", "NoExecute", "5s", "5m"]),
    );
}

#[test]
fn a_pool_status_request_sums_up_its_pools() {
    let told = |status, cells| {
        check(
            "resource.k8s.io/v1alpha3",
            "ResourcePoolStatusRequest",
            json!({"spec": {"driver": "d"}, "status": status}),
            cells,
        );
    };
    told(json!(null), json!(["x", "d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"]));
    let complete =
        json!([{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:04:50Z"}]);
    let pools = json!([
        {"totalDevices": 4, "availableDevices": 1, "allocatedDevices": 2, "unavailableDevices": 1},
        {"validationError": "bad"},
    ]);
    told(
        json!({"conditions": complete, "poolCount": 5, "pools": pools}),
        json!(["x", "d", "4", "1", "2", "1", "1", 5, "Complete (2/5 pools)", "10s"]),
    );
    let failed = json!([{"type": "Failed", "status": "True"}]);
    told(
        json!({"conditions": failed, "poolCount": 0}),
        json!(["x", "d", "-", "-", "-", "-", "-", 0, "Failed", "<none>"]),
    );
}

#[test]
fn our_own_kinds_have_columns_too() {
    let claim = json!({"namespace": "ns", "name": "c"});
    check(
        "supercargo.dev/v1alpha1",
        "DeviceAttachment",
        json!({"spec": {"model": "m", "node": "n", "claim": claim, "origin": "Attached"}, "status": {"phase": "Attached"}}),
        json!(["x", "m", "n", "ns/c", "Attached", "Attached", "5m", ""]),
    );
    let levels = json!([{"name": "block", "nodeLabel": "l/block"}, {"name": "rack", "nodeLabel": "l/rack"}]);
    check(
        "supercargo.dev/v1alpha1",
        "NodeTopology",
        json!({"spec": {"levels": levels}}),
        json!(["x", "block,rack", "<unknown>", "5m", "l/block,l/rack", 0, 0]),
    );
    let found =
        json!([{"name": "rack", "domains": 8, "nodesWithoutLabelCount": 3, "contradictionsCount": 1}]);
    check(
        "supercargo.dev/v1alpha1",
        "NodeTopology",
        json!({"spec": {"levels": levels}, "status": {"levels": found}}),
        json!(["x", "block,rack", "?,8", "5m", "l/block,l/rack", 3, 1]),
    );
    check(
        "supercargo.dev/v1alpha1",
        "PodSchedulingContext",
        json!({"spec": {"potentialNodes": ["a", "b"]}, "status": {"resourceClaims": [{"name": "c"}]}}),
        json!(["x", "<none>", 2, 1, "5m"]),
    );
    check(
        "supercargo.dev/v1alpha1",
        "Workload",
        json!({"spec": {"podGroups": [{}, {}]}, "status": {"podGroups": [{"bound": 2}, {"bound": 1}]}}),
        json!(["x", 2, 3, "<unknown>", "5m", ""]),
    );
    let waits = json!([{"type": "Placed", "status": "False", "message": "no rack has room"}]);
    check(
        "supercargo.dev/v1alpha1",
        "Workload",
        json!({
            "spec": {"podGroups": [{}]},
            "status": {"conditions": waits, "podGroups": [{"bound": 1, "conditions": waits}]},
        }),
        json!(["x", 1, 1, "False", "5m", "no rack has room"]),
    );
}
