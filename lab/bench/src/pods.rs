//! A list of pods as a busy cluster has them: about 6 KB each, a third of it in `managedFields`.

use serde_json::{Value, json};

use crate::random::Random;

const APPS: [&str; 8] =
    ["trainer", "inference", "ingest", "frontend", "billing", "search-index", "etl-nightly", "notebook"];
const TEAMS: [&str; 5] = ["vision", "speech", "platform", "ads-ranking", "research"];
const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];

/// The list as JSON text.
pub(crate) fn list(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from(
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"8100233"},"items":["#,
    );
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&pod(index, &mut random).to_string());
    }
    text.push_str("]}");
    text
}

fn pod(index: usize, random: &mut Random) -> Value {
    let app = random.pick(&APPS);
    let hash = format!("{:x}", random.below(0xffff_ffff));
    let claims = random.below(3);
    let name = format!("{app}-{hash}-{index:05}");
    let node = format!("gpu-node-{:04}.cluster.internal", random.below(5_000));
    json!({
        "metadata": metadata(&name, app, &hash, random),
        "spec": spec(app, &node, claims, random),
        "status": status(&name, claims, random),
    })
}

fn metadata(name: &str, app: &str, hash: &str, random: &mut Random) -> Value {
    let team = random.pick(&TEAMS);
    json!({
        "name": name,
        "generateName": format!("{app}-{hash}-"),
        "namespace": format!("team-{team}"),
        "uid": random.uid(),
        "resourceVersion": random.below(9_000_000).to_string(),
        "generation": 1,
        "creationTimestamp": "2026-11-03T08:15:42Z",
        "labels": {
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": format!("{app}-prod"),
            "app.kubernetes.io/managed-by": "Helm",
            "example.com/team": team,
            "pod-template-hash": hash,
        },
        "annotations": {
            "prometheus.io/scrape": "true",
            "checksum/config": format!("{:016x}{:016x}{:016x}", random.next(), random.next(), random.next()),
        },
        "ownerReferences": [{
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": format!("{app}-{hash}"),
            "uid": random.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }],
        "managedFields": [
            managed("kube-controller-manager", "", &fields_of_spec(random)),
            managed("kube-scheduler", "binding", &json!({ "f:spec": { "f:nodeName": {} } })),
            managed("kubelet", "status", &fields_of_status(random)),
        ],
    })
}

fn managed(manager: &str, subresource: &str, fields: &Value) -> Value {
    let mut entry = json!({
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-03T08:15:42Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

fn fields_of_spec(random: &mut Random) -> Value {
    let container = json!({
        ".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:terminationMessagePath": {},
        "f:terminationMessagePolicy": {},
        "f:resources": { ".": {}, "f:limits": { ".": {}, "f:memory": {} }, "f:requests": { ".": {}, "f:cpu": {}, "f:memory": {} } },
    });
    json!({
        "f:metadata": {
            "f:generateName": {},
            "f:labels": { ".": {}, "f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/instance": {}, "f:pod-template-hash": {} },
            "f:ownerReferences": { ".": {}, format!("k:{{\"uid\":\"{}\"}}", random.uid()): {} },
        },
        "f:spec": {
            "f:affinity": { ".": {}, "f:podAntiAffinity": {} },
            "f:containers": { "k:{\"name\":\"main\"}": container, "k:{\"name\":\"proxy\"}": { ".": {}, "f:name": {}, "f:image": {} } },
            "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {},
            "f:securityContext": {}, "f:terminationGracePeriodSeconds": {}, "f:resourceClaims": {},
        },
    })
}

fn fields_of_status(random: &mut Random) -> Value {
    let condition =
        json!({ ".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {} });
    json!({
        "f:status": {
            "f:conditions": {
                "k:{\"type\":\"ContainersReady\"}": condition,
                "k:{\"type\":\"Ready\"}": condition,
            },
            "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {},
            "f:podIPs": { ".": {}, format!("k:{{\"ip\":\"10.4.{}.{}\"}}", random.below(256), random.below(256)): { ".": {}, "f:ip": {} } },
            "f:startTime": {},
        },
    })
}

fn spec(app: &str, node: &str, claims: u64, random: &mut Random) -> Value {
    let names: Vec<Value> = (0..claims).map(|claim| json!({ "name": format!("gpu-{claim}") })).collect();
    let requests: Vec<Value> = (0..claims)
        .map(|claim| json!({ "name": format!("gpu-{claim}"), "resourceClaimTemplateName": format!("{app}-gpu") }))
        .collect();
    let token = json!({ "name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true });
    json!({
        "nodeName": node,
        "schedulerName": "supercargo",
        "serviceAccountName": app,
        "serviceAccount": app,
        "priority": random.below(1_000),
        "priorityClassName": "batch",
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": true,
        "terminationGracePeriodSeconds": 30,
        "securityContext": { "runAsUser": 1000, "fsGroup": 1000 },
        "resourceClaims": requests,
        "nodeSelector": { "example.com/pool": "gpu", "topology.kubernetes.io/zone": random.pick(&ZONES) },
        "affinity": { "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 100,
            "podAffinityTerm": {
                "labelSelector": { "matchLabels": { "app.kubernetes.io/name": app } },
                "topologyKey": "kubernetes.io/hostname",
            },
        }] } },
        "tolerations": [
            { "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 },
            { "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 },
            { "key": "example.com/gpu", "operator": "Exists" },
        ],
        "containers": [
            {
                "name": "main",
                "image": format!("registry.example.com/{app}:v{}.{}.{}", random.below(9), random.below(30), random.below(9)),
                "imagePullPolicy": "IfNotPresent",
                "args": ["--config=/etc/app/config.yaml", "--listen=:8080"],
                "env": [
                    { "name": "LOG_LEVEL", "value": "info" },
                    { "name": "NODE_NAME", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "spec.nodeName" } } },
                ],
                "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }],
                "resources": {
                    "limits": { "memory": "64Gi" },
                    "requests": { "cpu": format!("{}", 1 + random.below(32)), "memory": "64Gi" },
                    "claims": names,
                },
                "volumeMounts": [{ "name": "config", "mountPath": "/etc/app" }, token],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            },
            {
                "name": "proxy",
                "image": "registry.example.com/proxy:v1.29.4",
                "imagePullPolicy": "IfNotPresent",
                "resources": { "limits": { "cpu": "500m", "memory": "256Mi" }, "requests": { "cpu": "100m", "memory": "128Mi" } },
                "volumeMounts": [token],
            },
        ],
        "volumes": [
            { "name": "config", "configMap": { "name": format!("{app}-config"), "defaultMode": 420 } },
            { "name": "kube-api-access", "projected": { "defaultMode": 420, "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            ] } },
        ],
    })
}

fn status(name: &str, claims: u64, random: &mut Random) -> Value {
    let made: Vec<Value> = (0..claims)
        .map(|claim| json!({ "name": format!("gpu-{claim}"), "resourceClaimName": format!("{name}-gpu-{claim}-x7k2p") }))
        .collect();
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-03T08:15:44Z" });
    let mut container = |name: &str| {
        json!({
            "name": name, "ready": true, "started": true, "restartCount": random.below(4),
            "image": format!("registry.example.com/{name}:v1"),
            "imageID": format!("registry.example.com/{name}@sha256:{:016x}{:016x}{:016x}{:016x}", random.next(), random.next(), random.next(), random.next()),
            "containerID": format!("containerd://{:016x}{:016x}{:016x}{:016x}", random.next(), random.next(), random.next(), random.next()),
            "state": { "running": { "startedAt": "2026-11-03T08:15:44Z" } }, "lastState": {},
        })
    };
    let containers = [container("main"), container("proxy")];
    json!({
        "phase": "Running",
        "qosClass": "Burstable",
        "hostIP": format!("10.0.{}.{}", random.below(256), random.below(256)),
        "podIP": format!("10.4.{}.{}", random.below(256), random.below(256)),
        "startTime": "2026-11-03T08:15:42Z",
        "conditions": [condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled")],
        "containerStatuses": containers,
        "resourceClaimStatuses": made,
    })
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn pods_have_about_six_kilobytes() {
        let text = list(200, 1);
        let each = text.len() / 200;
        assert!((5_500..6_500).contains(&each), "{each} bytes");
        assert_eq!(text, list(200, 1), "the same seed gives the same pods");
    }
}
