//! Workloads in a simulation: the pods that their controllers would make.

use gates::Gates;
use serde_json::Value;
use simulation::{BadInput, Ending, read, simulate};

/// Three nodes: one with a label, and one with a taint.
const NODES: &str = "
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {disk: ssd}}, status: &room {allocatable: {cpu: 4, memory: 8Gi, pods: 100}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 100}}}
---
{apiVersion: v1, kind: Node, metadata: {name: c}, spec: {taints: [{key: dedicated, effect: NoSchedule}]}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 100}}}
";

const TEMPLATE: &str = "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}";

fn tried(manifests: &str) -> Result<Ending, BadInput> {
    simulate(
        read("test.yaml", &format!("{}---\n{manifests}", NODES.replace("&room ", "")))?,
        Gates::default(),
    )
}

fn run(manifests: &str) -> Ending {
    tried(manifests).expect("good manifests")
}

fn refused(manifests: &str) -> String {
    tried(manifests).expect_err("it is wrong").to_string()
}

fn workload(api_version: &str, kind: &str, name: &str, spec: &str) -> String {
    format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: {name}}}, spec: {{{spec}}}}}\n")
}

fn of_kind(ending: &Ending, kind: &str) -> Vec<Value> {
    ending.objects().into_iter().filter(|object| object["kind"] == kind).collect()
}

/// Pods with their nodes.
fn pods(ending: &Ending) -> Vec<String> {
    let told = |pod: &simulation::PodOutcome| format!("{} {}", pod.name, pod.node.as_deref().unwrap_or("-"));
    ending.outcome.pods.iter().map(told).collect()
}

#[test]
fn a_deployment_has_a_replica_set_with_as_many_pods() {
    let deployment = workload("apps/v1", "Deployment", "web", &format!("replicas: 3, {TEMPLATE}"));
    let ending = run(&deployment);
    assert_eq!(ending.notes, ["3 pods from Deployment default/web"]);
    assert_eq!((ending.outcome.pods.len(), ending.outcome.pending()), (3, 0));
    let set = &of_kind(&ending, "ReplicaSet")[0];
    let hash =
        set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"].as_str().expect("it has a hash");
    assert_eq!(set["metadata"]["name"], format!("web-{hash}"));
    for pod in of_kind(&ending, "Pod") {
        assert!(
            pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&format!("web-{hash}-")))
        );
        assert_eq!(pod["metadata"]["labels"]["pod-template-hash"], hash);
        let owner = &pod["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["uid"]), (&Value::from("ReplicaSet"), &set["metadata"]["uid"]));
    }
    assert_eq!(run(&deployment).outcome, ending.outcome, "names follow from the manifests");
}

#[test]
fn what_a_whole_cluster_has_is_not_made_again() {
    let deployment = workload("apps/v1", "Deployment", "web", &format!("replicas: 3, {TEMPLATE}"));
    let first = run(&deployment);
    let objects: Vec<String> = first.objects().iter().map(ToString::to_string).collect();
    let again = simulate(read("all.yaml", &objects.join("\n---\n")).expect("YAML"), Gates::default());
    let again = again.expect("objects of a cluster");
    assert_eq!(again.notes, ["0 pods from Deployment default/web"]);
    assert_eq!(again.outcome, first.outcome);
}

#[test]
fn the_pods_of_a_stateful_set_come_one_after_the_other_with_their_volumes() {
    let volumes = "volumeClaimTemplates: [{metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}]";
    let class = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: p.example.com}\n---\n";
    let spec = format!("replicas: 2, serviceName: db, ordinals: {{start: 5}}, {volumes}, {TEMPLATE}");
    let ending = run(&format!("{class}{}", workload("apps/v1", "StatefulSet", "db", &spec)));
    assert_eq!(ending.notes, ["2 pods from StatefulSet default/db"]);
    let names: Vec<String> = ending.outcome.pods.iter().map(|pod| pod.name.clone()).collect();
    assert_eq!((names, ending.outcome.pending()), (vec!["db-5".to_owned(), "db-6".to_owned()], 0));
    let pod = &of_kind(&ending, "Pod")[0];
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "disk-db-5");
    assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&"db-5".into(), &"db".into()));
    let claims = of_kind(&ending, "PersistentVolumeClaim");
    let names: Vec<&str> = claims.iter().filter_map(|claim| claim["metadata"]["name"].as_str()).collect();
    assert_eq!(names, ["disk-db-5", "disk-db-6"]);
}

#[test]
fn a_pod_of_a_stateful_set_that_waits_holds_up_the_next_unless_the_set_is_parallel() {
    let large = TEMPLATE.replace("cpu: 1", "cpu: 3");
    let set = |policy: &str| {
        workload(
            "apps/v1",
            "StatefulSet",
            "db",
            &format!("replicas: 4, podManagementPolicy: {policy}, {large}"),
        )
    };
    let ordered = run(&set("OrderedReady"));
    assert_eq!(
        ordered.notes,
        ["3 pods from StatefulSet default/db, which makes 1 more once pod default/db-2 has a node"]
    );
    assert_eq!(pods(&ordered)[2], "db-2 -");
    let parallel = run(&set("Parallel"));
    assert_eq!(parallel.notes, ["4 pods from StatefulSet default/db"]);
    assert_eq!(parallel.outcome.pending(), 2);
}

#[test]
fn a_daemon_set_has_a_pod_on_each_node_that_it_may_run_on() {
    let set = |name: &str, spec: &str| {
        let template = TEMPLATE.replace("containers:", &format!("{spec}containers:"));
        format!("{}---\n", workload("apps/v1", "DaemonSet", name, &template))
    };
    let cordoned = "{apiVersion: v1, kind: Node, metadata: {name: d}, spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 100}}}\n---\n";
    let nodes_of = |name: &str, spec: &str| {
        let ending = run(&format!("{cordoned}{}", set(name, spec)));
        assert_eq!(ending.outcome.pending(), 0, "{:?}", ending.outcome);
        ending
            .outcome
            .pods
            .iter()
            .filter_map(|pod| pod.node.clone())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(nodes_of("all", ""), ["a", "b", "d"].map(str::to_owned).into());
    assert_eq!(nodes_of("ssd", "nodeSelector: {disk: ssd}, "), ["a".to_owned()].into());
    assert_eq!(
        nodes_of("every", "tolerations: [{operator: Exists}], "),
        ["a", "b", "c", "d"].map(str::to_owned).into()
    );
    let required = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: DoesNotExist}]}]}}}, ";
    assert_eq!(nodes_of("others", required), ["b", "d"].map(str::to_owned).into());
}

#[test]
fn a_daemon_that_its_node_has_no_room_for_waits_for_that_node() {
    let large = TEMPLATE.replace("cpu: 1", "cpu: 9");
    let ending = run(&workload("apps/v1", "DaemonSet", "big", &large));
    assert_eq!(ending.notes, ["2 pods from DaemonSet default/big"]);
    assert_eq!(ending.outcome.pending(), 2);
    let reason = ending.outcome.pods[0].reason.clone().unwrap_or_default();
    assert!(reason.contains("Insufficient cpu"), "{reason}");
}

#[test]
fn jobs_and_one_run_of_each_cron_job_have_pods() {
    let pod = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";
    let job = |name: &str, spec: &str| {
        format!("{}---\n", workload("batch/v1", "Job", name, &format!("{spec}, {pod}")))
    };
    let cron = |name: &str, more: &str| {
        let spec = format!(
            "schedule: '0 * * * *', {more} jobTemplate: {{spec: {{parallelism: 2, completions: 2, completionMode: Indexed, {pod}}}}}"
        );
        format!("{}---\n", workload("batch/v1", "CronJob", name, &spec))
    };
    let manifests = [
        job("some", "parallelism: 3, completions: 5"),
        job("idle", "suspend: true"),
        cron("nightly", ""),
        cron("never", "suspend: true,"),
    ];
    let ending = run(&manifests.concat());
    let expected = [
        "0 pods from CronJob default/never, which is suspended",
        "2 pods from CronJob default/nightly, for one run of it",
        "0 pods from Job default/idle, which is suspended",
        "3 pods from Job default/some",
    ];
    assert_eq!(ending.notes, expected);
    assert_eq!(ending.outcome.pods.iter().filter(|pod| pod.name.starts_with("nightly-29833333-")).count(), 2);
}

#[test]
fn a_workload_that_cannot_have_pods_is_named_with_its_place() {
    let broken = TEMPLATE.replace("image: i", "imagePullPolicy: Perhaps, image: i");
    for kind in ["Deployment", "StatefulSet", "DaemonSet"] {
        let told = refused(&workload("apps/v1", kind, "web", &broken));
        assert!(told.starts_with("test.yaml:8:") && told.contains("imagePullPolicy"), "{told}");
    }
    let typo = TEMPLATE.replace("containers:", "contaners:");
    let told = refused(&workload("apps/v1", "Deployment", "web", &typo));
    assert!(told.contains("unknown field \"spec.template.spec.contaners\"\n  8 | ..."), "{told}");
    assert!(told.ends_with("^\nhint: did you mean `containers`?"), "{told}");
}

#[test]
fn no_number_of_replicas_is_too_much_to_be_refused() {
    for kind in ["Deployment", "ReplicaSet", "StatefulSet"] {
        assert!(
            run(&workload("apps/v1", kind, "web", &format!("replicas: 0, {TEMPLATE}")))
                .outcome
                .pods
                .is_empty()
        );
        let told = refused(&workload("apps/v1", kind, "web", &format!("replicas: 1000000000, {TEMPLATE}")));
        assert_eq!(
            told,
            format!(
                "test.yaml:8: {kind} default/web: too many pods: 1000000000; hint: a simulation makes at most 150000 pods for \
                 workloads, as many as a cluster can have"
            )
        );
    }
    let pod = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";
    let told = refused(&workload("batch/v1", "Job", "j", &format!("parallelism: 1000000000, {pod}")));
    assert!(told.contains("Job default/j: too many pods: 1000000000"), "{told}");
}

#[test]
fn kinds_that_nothing_here_knows_are_told_once() {
    let boats = "{apiVersion: example.com/v1, kind: Boat, metadata: {name: p}}\n---\n{apiVersion: example.com/v1, kind: Boat, metadata: {name: q}}\n---\n{apiVersion: example.com/v1, kind: Job, metadata: {name: q}}\n";
    assert_eq!(
        run(boats).troubles,
        [
            "ignored 2 objects of the unknown kind Boat (example.com/v1)",
            "ignored 1 object of the unknown kind Job (example.com/v1); the simulation knows Job of batch/v1",
        ]
    );
    let told = refused("{kind: Pod, metadata: {name: p}}\n");
    assert_eq!(told, "test.yaml:8: a manifest needs apiVersion");
}

#[test]
fn two_claims_with_the_same_device_are_told() {
    let claim = |name: &str, more: &str| {
        format!(
            "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: {name}}}, spec: {{devices: {{requests: [{{name: r, \
             exactly: {{deviceClassName: gpu{more}}}}}]}}}}, status: {{allocation: {{devices: {{results: [{{request: r, driver: d.example.com, \
             pool: a, device: gpu-0{more}}}]}}}}}}}}\n---\n"
        )
    };
    let told = run(&[claim("one", ""), claim("other", "")].concat()).troubles;
    let expected = "ResourceClaims default/one and default/other both have device d.example.com/a/gpu-0 in their status; a device has one claim";
    assert_eq!(told, [expected]);
}
