//! Clusters in which time passes: pods end and make room, and jobs are carried through.

use controllers::simulated::Times;
use gates::{Gate, Gates};
use serde_json::Value;
use simulation::{Ending, Outcome, Rules, read, simulate, simulate_by};
use std::time::Duration;

/// One node with a GPU, a class and a template.
const CLUSTER: &str = "
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 8, memory: 1Gi, pods: 10}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'true'}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a-gpus}
spec: {driver: gpu.example.com, pool: {name: a, generation: 1, resourceSliceCount: 1}, nodeName: a, devices: [{name: gpu-0}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
";

/// A pod that wants the GPU, with these annotations.
fn pod(name: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec: {{restartPolicy: Never, containers: [{{name: c, image: i}}], resourceClaims: [{{name: gpu, resourceClaimTemplateName: one-gpu}}]}}\n"
    )
}

/// A job whose pods want the GPU for ten seconds.
fn job(spec: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec:\n  {spec}\n  template:\n    metadata: {{annotations: {{supercargo.dev/run-seconds: '10', {annotations}}}}}\n    spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}], resourceClaims: [{{name: gpu, resourceClaimTemplateName: one-gpu}}]}}\n"
    )
}

fn run(objects: &[String]) -> Ending {
    let text = format!("{CLUSTER}{}", objects.concat());
    simulate(read("test.yaml", &text).expect("manifests"), Gates::default()).expect("good manifests")
}

/// How each pod ended and when, or where it is.
fn fates(outcome: &Outcome) -> Vec<String> {
    let fate = |pod: &simulation::PodOutcome| match (&pod.ended, &pod.node, &pod.reason) {
        (Some(end), ..) => format!("{} {}s", end.phase, end.after_seconds),
        (None, Some(node), _) => format!("on {node}"),
        (None, None, reason) => reason.clone().unwrap_or_default(),
    };
    outcome.pods.iter().map(fate).collect()
}

fn of_kind(ending: &Ending, kind: &str) -> Vec<Value> {
    ending.objects().into_iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn a_pod_that_ends_makes_room_for_one_that_waits() {
    let ending =
        run(&[pod("p", "supercargo.dev/run-seconds: '60'"), pod("q", "supercargo.dev/run-seconds: '30'")]);
    assert_eq!(fates(&ending.outcome), ["Succeeded 60s", "Succeeded 90s"]);
    assert!(ending.outcome.claims.is_empty(), "claims go with the pods that they were made for");
}

#[test]
fn pods_that_run_already_begin_with_the_simulation_whatever_the_clock_of_their_cluster_says() {
    let runs = |name: &str, started: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{supercargo.dev/run-seconds: '60'}}}}\n\
             spec: {{restartPolicy: Never, nodeName: a, containers: [{{name: c, image: i}}]}}\n\
             status: {{phase: Running, startTime: '{started}', containerStatuses: [{{name: c, state: {{running: {{startedAt: '{started}'}}}}}}]}}\n"
        )
    };
    let ending = run(&[runs("early", "2020-01-01T00:00:00Z"), runs("late", "2040-01-01T00:00:00Z")]);
    assert_eq!(fates(&ending.outcome), ["Succeeded 60s", "Succeeded 60s"]);
}

#[test]
fn pods_of_whose_end_nobody_told_keep_their_devices() {
    let ending = run(&[pod("p", ""), pod("q", "supercargo.dev/run-seconds: '30'")]);
    let fates = fates(&ending.outcome);
    assert_eq!(fates[0], "on a");
    assert!(fates[1].starts_with("0/1 nodes are available"), "{}", fates[1]);
    let text = format!("{CLUSTER}{}{}", pod("p", ""), pod("q", ""));
    let times = Times { run: Some(Duration::from_secs(5)), ..Times::default() };
    let rules = Rules { times, ..Rules::new(Gates::default()) };
    let ending = simulate_by(read("test.yaml", &text).expect("manifests"), &rules).expect("good manifests");
    assert_eq!(self::fates(&ending.outcome), ["Succeeded 5s", "Succeeded 10s"]);
}

#[test]
fn the_pods_of_a_job_take_turns_with_one_device() {
    let ending = run(&[job("parallelism: 3\n  completions: 3\n  completionMode: Indexed", "")]);
    assert_eq!(fates(&ending.outcome), ["Succeeded 10s", "Succeeded 20s", "Succeeded 30s"]);
    let status = &of_kind(&ending, "Job")[0]["status"];
    assert_eq!((&status["succeeded"], &status["completedIndexes"]), (&3.into(), &"0-2".into()));
    assert_eq!(status["conditions"][1]["type"], "Complete");
    assert!(ending.unheeded.is_empty() && ending.troubles.is_empty());
}

#[test]
fn a_job_that_fails_tries_again_later_each_time_and_gives_up() {
    let ending = run(&[job("backoffLimit: 2", "supercargo.dev/exit-code: '1'")]);
    let mut fates = fates(&ending.outcome);
    fates.sort();
    // Ten seconds of work and then a wait: ten seconds, then twenty.
    assert_eq!(fates, ["Failed 10s", "Failed 30s", "Failed 60s"]);
    let status = &of_kind(&ending, "Job")[0]["status"];
    assert_eq!(
        (&status["failed"], &status["conditions"][1]["reason"]),
        (&3.into(), &"BackoffLimitExceeded".into())
    );
}

#[test]
fn a_job_that_expires_takes_its_pods_along() {
    let ending = run(&[job("ttlSecondsAfterFinished: 100", "")]);
    assert!(of_kind(&ending, "Job").is_empty() && ending.outcome.pods.is_empty());
}

#[test]
fn a_node_that_is_lost_takes_no_pods() {
    let lost = "---\n{apiVersion: v1, kind: Node, metadata: {name: b, annotations: {supercargo.dev/fault: lost}}, status: {allocatable: {cpu: 8, memory: 1Gi, pods: 10}}}\n";
    let ending = run(&[
        lost.to_owned(),
        pod("p", ""),
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, image: i}]}}\n"
            .to_owned(),
    ]);
    assert_eq!(fates(&ending.outcome), ["on a", "on a"]);
}

#[test]
fn a_job_whose_pods_join_our_workload_gets_no_group_beside_it_and_is_in_one_rack() {
    let gates = Gates::default().with(Gate::GenericWorkload, true).with(Gate::WorkloadWithJob, true);
    // Each node has room for one pod of the job, and only the last rack for both.
    let node = |(name, rack): &(&str, &str)| {
        format!(
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{rack: {rack}}}}}, status: {{allocatable: {{cpu: 2, memory: 1Gi, pods: 10}}}}}}\n"
        )
    };
    let racks = [("n-1", "r-1"), ("n-2", "r-2"), ("n-3", "r-3"), ("n-4", "r-3")];
    let nodes: String = racks.iter().map(node).collect();
    let constraints = "{topologyConstraints: [{level: rack, mode: Required}]}";
    let workload = format!(
        "---\n{{apiVersion: supercargo.dev/v1alpha1, kind: Workload, metadata: {{name: w}}, spec: {{podGroups: [{{name: g, policy: {{gang: {{minCount: 2}}}}, schedulingConstraints: {constraints}}}]}}}}\n"
    );
    let template = "{metadata: {labels: {supercargo.dev/workload: w, supercargo.dev/pod-group: g}}, spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}";
    let job = format!(
        "---\n{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{parallelism: 2, completions: 2, template: {template}}}}}\n"
    );
    let text = format!("{nodes}{workload}{job}");
    let ending = simulate(read("test.yaml", &text).expect("manifests"), gates).expect("good manifests");
    assert!(of_kind(&ending, "PodGroup").is_empty());
    let pods = of_kind(&ending, "Pod");
    assert!(pods.iter().all(|pod| pod["spec"].get("schedulingGroup").is_none()), "{pods:?}");
    let mut nodes: Vec<&str> = pods.iter().filter_map(|pod| pod["spec"]["nodeName"].as_str()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["n-3", "n-4"], "the only rack with room for both: {pods:?}");
}

#[test]
fn a_gang_of_a_job_gets_a_workload_and_a_group() {
    let gates = Gates::default().with(Gate::GenericWorkload, true).with(Gate::WorkloadWithJob, true);
    let text = format!("{CLUSTER}{}", job("scheduling: {schedulingPolicy: {gang: {}}}", ""));
    let ending = simulate(read("test.yaml", &text).expect("manifests"), gates).expect("good manifests");
    let groups = of_kind(&ending, "PodGroup");
    assert_eq!((groups.len(), of_kind(&ending, "Workload").len()), (1, 1));
    let pod = &of_kind(&ending, "Pod")[0];
    assert_eq!(pod["spec"]["schedulingGroup"]["podGroupName"], groups[0]["metadata"]["name"]);
    assert_eq!(fates(&ending.outcome), ["Succeeded 10s"]);
}
