//! Small clusters, and where their pods go.

use gates::{Gate, Gates};
use invariants::{Evidence, GroupsFrom, check_state, with_taint_rules};
use objects::Object;
use serde_json::Value;
use simulation::{BadInput, Outcome, read, simulate};

/// Two nodes with a GPU each, a class and a template.
const CLUSTER: &str = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: {zone: z1}}, status: &room {allocatable: {cpu: 2, memory: 1Gi, pods: 10}}}
- {apiVersion: v1, kind: Node, metadata: {name: b, labels: {zone: z2}}, status: *room}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu}
  spec: {selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: a-gpus}
  spec:
    {driver: gpu.example.com, pool: {name: a, generation: 1, resourceSliceCount: 1}, nodeName: a, devices: [{name: gpu-a}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: b-gpus}
  spec:
    {driver: gpu.example.com, pool: {name: b, generation: 1, resourceSliceCount: 1}, nodeName: b, devices: [{name: gpu-b}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: one-gpu}
  spec: {spec: &one {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared}, spec: *one}
";

fn pod(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}], {spec}}}\n"
    )
}

const SHARED: &str = "resourceClaims: [{name: gpu, resourceClaimName: shared}]";
const OWN: &str = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]";

fn tried(pods: &[String]) -> Result<Outcome, BadInput> {
    let text = format!("{CLUSTER}{}", pods.concat());
    let ending = simulate(read("test.yaml", &text)?, Gates::default())?;
    judge(&ending.objects());
    Ok(ending.outcome)
}

/// Whatever comes out must be right by the objects alone.
fn judge(objects: &[Value]) {
    let (classes, claims) = (all(objects), all(objects));
    let slices = with_taint_rules(&all(objects), &all(objects));
    let groups = GroupsFrom::Results;
    let evidence =
        Evidence { gates: Gates::default(), slices: &slices, classes: &classes, claims: &claims, groups };
    let violations = check_state(&evidence, Some(&all(objects)));
    assert!(violations.is_empty(), "{violations:?}");
}

fn all<T: Object>(objects: &[Value]) -> Vec<T> {
    let of_kind = objects.iter().filter(|one| one["kind"] == T::KIND && one["apiVersion"] == T::API_VERSION);
    of_kind.map(|one| T::read_value(one).expect("it was admitted")).collect()
}

fn run(pods: &[String]) -> Outcome {
    tried(pods).expect("good manifests")
}

/// The node of a pod, or why it has none.
fn fate<'o>(outcome: &'o Outcome, pod: &str) -> &'o str {
    let pod = outcome.pods.iter().find(|one| one.name == pod).expect("every pod is told of");
    assert!(pod.node.is_some() != pod.reason.is_some(), "{pod:?}");
    pod.node.as_deref().or(pod.reason.as_deref()).unwrap_or_default()
}

fn devices<'o>(outcome: &'o Outcome, claim: &str) -> Vec<&'o str> {
    let claim =
        outcome.claims.iter().find(|one| one.name.starts_with(claim)).expect("every claim is told of");
    claim.devices.iter().map(|device| device.device.as_str()).collect()
}

#[test]
fn pods_that_share_a_claim_share_a_node_and_others_get_devices_of_their_own() {
    let outcome = run(&[pod("one", SHARED), pod("two", SHARED), pod("three", OWN)]);
    assert_eq!(fate(&outcome, "one"), fate(&outcome, "two"));
    assert_ne!(fate(&outcome, "one"), fate(&outcome, "three"));
    assert_eq!(devices(&outcome, "shared"), [format!("gpu-{}", fate(&outcome, "one"))]);
    assert_eq!(devices(&outcome, "three-gpu-"), [format!("gpu-{}", fate(&outcome, "three"))]);
    assert_eq!(outcome.pending(), 0);
}

#[test]
fn who_comes_first_is_first_in_line_and_the_others_wait_with_a_reason() {
    let outcome = run(&[pod("p3", OWN), pod("p2", OWN), pod("p1", OWN)]);
    let names: Vec<_> = outcome.pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(names, ["p1", "p2", "p3"], "the answer is in the order of names");
    assert_eq!(outcome.pending(), 1);
    let reason = fate(&outcome, "p1");
    assert!(reason.starts_with("0/2 nodes are available: 2 cannot allocate all claims."), "{reason}");
    assert!(devices(&outcome, "p1-gpu-").is_empty());
}

#[test]
fn a_pod_that_matters_more_goes_first() {
    let class =
        "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}\n";
    let urgent = pod("urgent", &format!("priorityClassName: high, {OWN}"));
    let outcome = run(&[pod("one", OWN), pod("two", OWN), urgent, class.to_owned()]);
    assert!(matches!(fate(&outcome, "urgent"), "a" | "b"));
    assert!(fate(&outcome, "two").starts_with("0/2 nodes"));
}

#[test]
fn pods_of_any_scheduler_are_placed_where_nodes_have_room() {
    let theirs = "schedulerName: somebody-else, nodeSelector: {zone: z2}";
    let outcome = run(&[pod("p", theirs), pod("q", theirs), pod("r", theirs)]);
    assert_eq!((fate(&outcome, "p"), fate(&outcome, "q")), ("b", "b"));
    let reason = fate(&outcome, "r");
    assert!(reason.contains("1 Insufficient cpu") && reason.starts_with("0/2 nodes"), "{reason}");
}

#[test]
fn what_keeps_a_pod_from_being_looked_at_is_said() {
    let outcome = run(&[
        pod("gated", "schedulingGates: [{name: example.com/wait}]"),
        pod("claimless", "resourceClaims: [{name: gpu, resourceClaimName: nowhere}]"),
        pod("untemplated", "resourceClaims: [{name: gpu, resourceClaimTemplateName: nowhere}]"),
    ]);
    assert_eq!(fate(&outcome, "gated"), "Scheduling is blocked due to non-empty scheduling gates");
    let expected = "resourceclaim \"nowhere\" not found; hint: create ResourceClaim default/nowhere";
    assert_eq!(fate(&outcome, "claimless"), expected);
    let expected = "PodResourceClaim gpu: resourceclaimtemplate \"nowhere\" not found";
    assert_eq!(fate(&outcome, "untemplated"), expected);
}

#[test]
fn what_a_cluster_has_already_decided_stands() {
    let held = "---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, uid: 7a4f1f0e-0000-4000-8000-000000000001, resourceVersion: \"812\"}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: a, device: gpu-a}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}
  reservedFor: [{resource: pods, name: old, uid: 7a4f1f0e-0000-4000-8000-000000000002}]
";
    let old = "---
apiVersion: v1
kind: Pod
metadata: {name: old, uid: 7a4f1f0e-0000-4000-8000-000000000002}
spec:
  nodeName: a
  containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
  resourceClaims: [{name: gpu, resourceClaimName: held}]
";
    let fresh = pod("fresh", OWN);
    let outcome = run(&[held.to_owned(), old.to_owned(), fresh]);
    assert_eq!((fate(&outcome, "old"), fate(&outcome, "fresh")), ("a", "b"));
    assert_eq!(devices(&outcome, "held"), ["gpu-a"]);
}

#[test]
fn older_versions_of_objects_are_as_good_as_the_newest() {
    let claim = "---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: old-form}
spec: {devices: {requests: [{name: gpu, deviceClassName: gpu}]}}
";
    let wants = "resourceClaims: [{name: gpu, resourceClaimName: old-form}]";
    let outcome = run(&[claim.to_owned(), pod("p", wants)]);
    assert_eq!(devices(&outcome, "old-form"), [format!("gpu-{}", fate(&outcome, "p"))]);
}

#[test]
fn a_node_that_says_it_is_not_ready_is_not_used() {
    let taint = "{key: node.kubernetes.io/not-ready, effect: NoSchedule}";
    let text = format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: node}}, spec: {{taints: [{taint}]}}, status: {{allocatable: {{cpu: 2, pods: 9}}}}}}\n{}",
        pod("p", "")
    );
    let outcome = simulate(read("test.yaml", &text).expect("good YAML"), Gates::default());
    let outcome = outcome.expect("good manifests").outcome;
    assert!(fate(&outcome, "p").contains("untolerated taint"), "{outcome:?}");
}

#[test]
fn a_manifest_that_is_refused_is_named_with_its_line() {
    let lines = CLUSTER.lines().count();
    let cases = [
        ("unknwon: 1", 5, "unknown field \"spec.unknwon\""),
        ("resourceClaims: 1", 5, "spec.resourceClaims: expected a list, found 1"),
        ("restartPolicy: Perhaps", 2, "spec.restartPolicy"),
        ("priorityClassName: nobody", 2, "nobody"),
    ];
    for (spec, line, expected) in cases {
        let error = tried(&[pod("p", spec)]).expect_err("it is wrong").to_string();
        assert!(error.starts_with(&format!("test.yaml:{}:", lines + line)), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let error = tried(&[pod("p", ""), pod("p", "")]).expect_err("it is there twice").to_string();
    assert!(error.ends_with("there is a Pod p already"), "{error}");
}

#[test]
fn the_same_manifests_give_the_same_placements_and_names() {
    let pods = [pod("one", OWN), pod("two", SHARED), pod("three", OWN)];
    assert_eq!(run(&pods), run(&pods));
    let claims =
        |outcome: &Outcome| outcome.claims.iter().map(|claim| claim.name.clone()).collect::<Vec<_>>();
    let fewer = claims(&run(&pods[..2]));
    let more = claims(&run(&pods));
    assert!(fewer.iter().all(|name| more.contains(name)), "{fewer:?} {more:?}");
}

const CLASSES: &str = "---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mid}, value: 5}
";

/// A pod on a node already, with a claim that was made for it.
fn settled(name: &str, node: &str, more: &str) -> String {
    let uid = format!("{:0>8}-0000-4000-8000-000000000000", name.len());
    let owner = format!(
        "{{apiVersion: v1, kind: Pod, name: {name}, uid: {uid}, controller: true, blockOwnerDeletion: true}}"
    );
    format!(
        "---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, uid: {uid}, labels: {{app: {name}}}{more}}}
spec: {{nodeName: {node}, containers: [{{name: c, image: i}}], {OWN}}}
status: {{resourceClaimStatuses: [{{name: gpu, resourceClaimName: {name}-gpu}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}-gpu, annotations: {{resource.kubernetes.io/pod-claim-name: gpu}}, ownerReferences: [{owner}]}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu}}}}]}}}}
status:
  allocation: {{devices: {{results: [{{request: gpu, driver: gpu.example.com, pool: {node}, device: gpu-{node}}}]}}}}
  reservedFor: [{{resource: pods, name: {name}, uid: {uid}}}]
"
    )
}

fn urgent() -> String {
    pod("urgent", &format!("priorityClassName: high, {OWN}"))
}

#[test]
fn a_claim_that_was_made_for_a_pod_goes_with_it_when_it_is_displaced() {
    let outcome = run(&[CLASSES.to_owned(), settled("one", "a", ""), settled("other", "b", ""), urgent()]);
    assert_eq!(fate(&outcome, "urgent"), "a");
    assert_eq!(fate(&outcome, "one"), "it was preempted by pod default/urgent, which goes to node a");
    assert_eq!(fate(&outcome, "other"), "b");
    assert!(outcome.claims.iter().all(|claim| claim.name != "one-gpu"), "{:?}", outcome.claims);
    assert_eq!(devices(&outcome, "urgent-gpu"), ["gpu-a"]);
}

#[test]
fn a_pod_that_a_budget_covers_stays_if_another_can_go() {
    let budget = "---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: one}
spec: {minAvailable: 1, selector: {matchLabels: {app: one}}}
status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}
";
    let outcome = run(&[
        CLASSES.to_owned(),
        budget.to_owned(),
        settled("one", "a", ""),
        settled("other", "b", ""),
        urgent(),
    ]);
    assert_eq!((fate(&outcome, "urgent"), fate(&outcome, "one")), ("b", "a"));
}

#[test]
fn a_pod_that_a_finalizer_keeps_keeps_its_device_too() {
    let kept = settled("one", "a", ", finalizers: [example.com/keep]");
    let top =
        settled("other", "b", "").replace("spec: {nodeName", "spec: {priorityClassName: high, nodeName");
    let outcome = run(&[CLASSES.to_owned(), kept, top, urgent()]);
    assert_eq!((fate(&outcome, "one"), fate(&outcome, "other")), ("a", "b"));
    let reason = fate(&outcome, "urgent");
    assert!(reason.contains("preemption: "), "{reason}");
}

#[test]
fn a_device_that_a_rule_taints_is_not_given() {
    let rule = "---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: broken}
spec: {deviceSelector: {pool: a}, taint: {key: example.com/broken, effect: NoSchedule}}
";
    let outcome = run(&[pod("one", OWN), pod("two", OWN), rule.to_owned()]);
    assert_eq!(fate(&outcome, "one"), "b");
    let reason = fate(&outcome, "two");
    assert!(reason.contains("taints that the request does not tolerate"), "{reason}");
}

#[test]
fn a_claim_that_nobody_uses_follows_its_pod_to_where_there_is_room() {
    let held = "---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: a, device: gpu-a}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}
";
    let wants = "nodeSelector: {zone: z2}, resourceClaims: [{name: gpu, resourceClaimName: held}]";
    let outcome = run(&[held.to_owned(), pod("p", wants)]);
    assert_eq!((fate(&outcome, "p"), devices(&outcome, "held")), ("b", vec!["gpu-b"]));
}

const BY_NAME: &str = "---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: by-name}
spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}
";

/// A pod with a container that asks for resources.
fn asking(name: &str, resources: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: i, resources: {{limits: {{{resources}}}}}}}]}}\n"
    )
}

#[test]
fn a_claim_is_made_for_a_resource_that_a_class_stands_for() {
    let text = [
        CLUSTER,
        BY_NAME,
        &asking("one", "cpu: 1, example.com/gpu: 1"),
        &asking("two", "deviceclass.resource.kubernetes.io/gpu: 1"),
        &asking("three", "example.com/gpu: 1"),
    ]
    .concat();
    let ending = simulate(read("test.yaml", &text).expect("good YAML"), Gates::default());
    let ending = ending.expect("good manifests");
    judge(&ending.objects());
    let outcome = &ending.outcome;
    assert_eq!(devices(outcome, "one-extended-resources-"), [format!("gpu-{}", fate(outcome, "one"))]);
    assert_eq!(devices(outcome, "two-extended-resources-"), [format!("gpu-{}", fate(outcome, "two"))]);
    let reason = fate(outcome, "three");
    assert!(reason.starts_with("0/2 nodes are available: 2 cannot allocate all claims."), "{reason}");
    let find = |kind: &str, name: &str| {
        let is_it = |one: &&Value| {
            one["kind"] == kind && one["metadata"]["name"].as_str().is_some_and(|it| it.starts_with(name))
        };
        ending.objects().iter().find(is_it).cloned().unwrap_or_default()
    };
    let (claim, pod) = (find("ResourceClaim", "one-extended"), find("Pod", "one"));
    let status = &pod["status"]["extendedResourceClaimStatus"];
    assert_eq!(status["resourceClaimName"], claim["metadata"]["name"]);
    let mapping = serde_json::json!([
        { "containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-1" },
    ]);
    assert_eq!(status["requestMappings"], mapping);
    let meta = &claim["metadata"];
    assert_eq!(meta["annotations"]["resource.kubernetes.io/extended-resource-claim"], "true");
    assert_eq!(meta["ownerReferences"][0]["uid"], pod["metadata"]["uid"]);
    assert_eq!(meta["ownerReferences"][0]["controller"], true);
    assert_eq!(claim["status"]["reservedFor"][0]["uid"], pod["metadata"]["uid"]);
    let request = &claim["spec"]["devices"]["requests"][0];
    assert_eq!(request["exactly"]["deviceClassName"], "by-name");
    assert_eq!(
        (&request["name"], &request["exactly"]["count"]),
        (&"container-0-request-1".into(), &1.into())
    );
}

#[test]
fn a_node_that_has_the_resource_itself_is_used_without_a_claim() {
    let own = "---
apiVersion: v1
kind: Node
metadata: {name: own}
status: {allocatable: {cpu: 2, pods: 10, example.com/gpu: 1}, capacity: {example.com/gpu: 1}}
";
    let pods: Vec<String> = ["p", "q", "r", "s"].map(|name| asking(name, "example.com/gpu: 1")).to_vec();
    let outcome = run(&[&[BY_NAME.to_owned(), own.to_owned()][..], &pods].concat());
    let fates: Vec<&str> = ["p", "q", "r", "s"].iter().map(|pod| fate(&outcome, pod)).collect();
    assert_eq!(fates.iter().filter(|fate| **fate == "own").count(), 1, "{fates:?}");
    assert_eq!(outcome.claims.iter().filter(|claim| claim.name.contains("extended")).count(), 2);
    assert_eq!(outcome.pending(), 1);
}

#[test]
fn devices_that_are_processors_count_as_such() {
    let cluster = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, pods: 10}, declaredFeatures: [DRANodeAllocatableResources]}}
- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: cpu}, spec: {}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: a-cpus}
  spec:
    driver: cpu.example.com
    pool: {name: a, generation: 1, resourceSliceCount: 1}
    nodeName: a
    devices:
    - name: socket
      nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: 2}, overhead: {perContainer: 500m}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: socket}
  spec: {devices: {requests: [{name: cpu, exactly: {deviceClassName: cpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: mine, resourceClaimName: socket}]
  containers: [{name: c, image: i, resources: {requests: {cpu: 1}, claims: [{name: mine}]}}]
";
    let late = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n";
    let play = |on: bool| {
        let gates = Gates::default().with(Gate::DRANodeAllocatableResources, on);
        simulate(read("test.yaml", &format!("{cluster}{late}")).expect("good YAML"), gates)
            .expect("good manifests")
    };
    assert_eq!(fate(&play(false).outcome, "q"), "a", "three of four processors are free");
    let ending = play(true);
    assert_eq!(fate(&ending.outcome, "p"), "a");
    let reason = fate(&ending.outcome, "q");
    assert!(reason.starts_with("0/1 nodes are available: 1 Insufficient cpu. "), "{reason}");
    let pod = ending.objects().into_iter().find(|one| one["kind"] == "Pod" && one["metadata"]["name"] == "p");
    let status = &pod.expect("it is there")["status"]["nodeAllocatableResourceClaimStatuses"];
    let expected = serde_json::json!([{
        "resourceClaimName": "socket",
        "containers": ["c"],
        "mapping": [{ "name": "cpu", "quantity": "2" }],
        "overhead": [{ "name": "cpu", "perContainer": "500m" }],
    }]);
    assert_eq!(*status, expected);
}

#[test]
fn a_claim_of_a_group_is_made_once_and_named_by_its_members() {
    let group = "---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {schedulingPolicy: {basic: {}}, resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]}
";
    let member = format!("schedulingGroup: {{podGroupName: g}}, {OWN}");
    let text = format!("{CLUSTER}{}{}{group}", pod("first", &member), pod("second", &member));
    let on = [Gate::GenericWorkload, Gate::DRAWorkloadResourceClaims];
    let gates = on.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true));
    let ending = simulate(read("test.yaml", &text).expect("it can be read"), gates).expect("it is admitted");
    let objects = ending.objects();
    let named = |kind: &str| -> Vec<String> {
        let of_kind = objects.iter().filter(|object| object["kind"] == kind);
        let name = |object: &Value| object["status"]["resourceClaimStatuses"][0]["resourceClaimName"].clone();
        of_kind.map(|object| name(object).as_str().unwrap_or_default().to_owned()).collect()
    };
    let group = named("PodGroup");
    assert!(group[0].starts_with("g-gpu-"), "{group:?}");
    assert_eq!(named("Pod"), [group[0].clone(), group[0].clone()]);
}
