//! Jobs on an API server, with simulated pods: whoever plays the node says what becomes of them.

use std::time::{Duration, Instant};

use client::{Connection, Event, Patch, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::{Gate, Gates};
use objects::Object;
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;
use serde_json::{Value, json};
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::time::sleep;

/// A server, and controllers that keep it in order.
async fn kept_in_order(gates: Gates) -> Connection {
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates,
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a free port");
    let url = format!("http://{}", server.address().expect("it listens"));
    tokio::spawn(server.serve(std::future::pending()));
    let connection =
        Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address");
    let options = upkeep::Options { gates, ..upkeep::Options::default() };
    tokio::spawn(upkeep::run(connection.clone(), options, std::future::pending()));
    connection
}

fn jobs() -> Resource<Job> {
    Resource::named("jobs").within("default")
}

fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

/// Everything of a kind that there is in the namespace.
async fn all<K: Object + Send + 'static>(connection: &Connection, plural: &'static str) -> Vec<K> {
    let resource = Resource::<K>::named(plural).within("default");
    let stream = connection.list_and_watch(&resource, &Selectors::default(), &WatchOptions::default());
    let mut stream = Box::pin(stream);
    let mut found = Vec::new();
    loop {
        match stream.next().await.expect("it goes on for ever") {
            Event::Applied(object) => found.push(object),
            Event::Synced { .. } => return found,
            _ => {}
        }
    }
}

/// Looks at everything of a kind until something is so.
async fn until<K: Object + Send + 'static>(
    connection: &Connection,
    plural: &'static str,
    is_so: impl Fn(&[K]) -> bool,
) -> Vec<K> {
    let began = Instant::now();
    loop {
        let found = all(connection, plural).await;
        if is_so(&found) {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{plural} never became what they should");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn job(connection: &Connection, spec: Value) -> Job {
    let mut spec = spec;
    let container = json!({ "name": "c", "image": "i" });
    spec["template"] = json!({ "spec": { "containers": [container], "restartPolicy": "Never" } });
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" }, "spec": spec });
    let job = serde_json::from_value(job).expect("a job");
    connection.create(&jobs(), &job).await.done().expect("a good job")
}

/// Plays the node: the pod is in this phase.
async fn becomes(connection: &Connection, pod: &Pod, phase: &str) {
    let body = json!({ "status": { "phase": phase } });
    let patched = connection.patch_status(&pods(), &pod.metadata.name, &Patch::Strategic, &body).await;
    patched.done().expect("it is there");
}

fn is_finished(jobs: &[Job], how: &str) -> bool {
    let conditions = jobs.iter().flat_map(|job| &job.status.conditions);
    conditions.into_iter().any(|condition| condition.type_ == how && condition.status == "True")
}

fn are(count: usize) -> impl Fn(&[Pod]) -> bool {
    move |pods| pods.len() == count
}

#[tokio::test]
async fn a_job_makes_its_pods_and_is_complete_when_they_are() {
    let connection = kept_in_order(Gates::default()).await;
    job(&connection, json!({ "parallelism": 2, "completions": 3 })).await;
    let two = until(&connection, "pods", are(2)).await;
    assert!(
        two.iter().all(|pod| pod.metadata.labels["job-name"] == "j" && pod.metadata.finalizers.len() == 1)
    );
    becomes(&connection, &two[0], "Succeeded").await;
    becomes(&connection, &two[1], "Running").await;
    let three = until(&connection, "pods", are(3)).await;
    for pod in three.iter().filter(|pod| pod.status.phase != "Succeeded") {
        becomes(&connection, pod, "Succeeded").await;
    }
    let complete = until(&connection, "jobs", |jobs| is_finished(jobs, "Complete")).await;
    let status = &complete[0].status;
    assert_eq!((status.active, status.succeeded, status.failed), (0, 3, 0));
    assert!(status.start_time.is_some() && status.completion_time.is_some());
    until(&connection, "pods", |pods: &[Pod]| pods.iter().all(|pod| pod.metadata.finalizers.is_empty()))
        .await;
    let events = until(&connection, "events", |events: &[objects::events::Event]| {
        events.iter().any(|event| event.reason == "Completed")
    });
    let made = events.await.iter().filter(|event| event.reason == "SuccessfulCreate").count();
    assert_eq!(made, 3);
}

#[tokio::test]
async fn a_job_takes_its_pods_along_when_it_goes() {
    let connection = kept_in_order(Gates::default()).await;
    job(&connection, json!({ "parallelism": 3 })).await;
    until(&connection, "pods", are(3)).await;
    let options =
        DeleteOptions { propagation_policy: Some("Background".to_owned()), ..DeleteOptions::default() };
    connection.delete(&jobs(), "j", &options).await.done().expect("it is there");
    until(&connection, "pods", are(0)).await;
    assert!(all::<Job>(&connection, "jobs").await.is_empty());
}

#[tokio::test]
async fn a_pod_that_somebody_deletes_counts_as_failed_and_a_job_expires() {
    let connection = kept_in_order(Gates::default()).await;
    job(&connection, json!({ "backoffLimit": 0, "ttlSecondsAfterFinished": 1 })).await;
    let one = until(&connection, "pods", are(1)).await;
    let name = &one[0].metadata.name;
    connection.delete(&pods(), name, &DeleteOptions::default()).await.done().expect("it is there");
    let failed = until(&connection, "jobs", |jobs| is_finished(jobs, "Failed")).await;
    assert_eq!((failed[0].status.failed, failed[0].status.active), (1, 0));
    until(&connection, "jobs", |jobs: &[Job]| jobs.is_empty()).await;
    until(&connection, "pods", are(0)).await;
}

#[tokio::test]
async fn a_gang_of_indexed_pods_gets_a_workload_and_a_group() {
    let gates = Gates::default().with(Gate::GenericWorkload, true).with(Gate::WorkloadWithJob, true);
    let connection = kept_in_order(gates).await;
    job(
        &connection,
        json!({
            "parallelism": 4, "completions": 4, "completionMode": "Indexed",
            "scheduling": { "schedulingPolicy": { "gang": {} } },
        }),
    )
    .await;
    let four = until(&connection, "pods", are(4)).await;
    let groups = all::<PodGroup>(&connection, "podgroups").await;
    let workloads = all::<Workload>(&connection, "workloads").await;
    assert_eq!((groups.len(), workloads.len()), (1, 1));
    let gang = groups[0].spec.scheduling_policy.gang.as_ref().expect("it is a gang");
    assert_eq!(gang.min_count, 4);
    let mut hosts: Vec<&str> = four.iter().map(|pod| pod.spec.hostname.as_str()).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["j-0", "j-1", "j-2", "j-3"]);
    let named = four.iter().filter_map(|pod| pod.spec.scheduling_group.as_ref()?.pod_group_name.as_ref());
    assert!(named.collect::<Vec<_>>().iter().all(|name| **name == groups[0].metadata.name));
    let options =
        DeleteOptions { propagation_policy: Some("Background".to_owned()), ..DeleteOptions::default() };
    connection.delete(&jobs(), "j", &options).await.done().expect("it is there");
    until(&connection, "pods", are(0)).await;
    until(&connection, "podgroups", |groups: &[PodGroup]| groups.is_empty()).await;
    until(&connection, "workloads", |workloads: &[Workload]| workloads.is_empty()).await;
}

#[tokio::test]
async fn a_workload_of_nobody_gets_a_group_for_each_template() {
    let connection = kept_in_order(Gates::default().with(Gate::GenericWorkload, true)).await;
    let template = |name: &str| json!({ "name": name, "schedulingPolicy": { "gang": { "minCount": 2 } } });
    let workload = serde_json::from_value(json!({
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": { "name": "w" },
        "spec": { "podGroupTemplates": [template("a"), template("b")] },
    }));
    let resource = Resource::<Workload>::named("workloads").within("default");
    let workload: Workload = workload.expect("a workload");
    connection.create(&resource, &workload).await.done().expect("a good workload");
    let groups = until(&connection, "podgroups", |groups: &[PodGroup]| groups.len() == 2).await;
    assert_eq!(groups.iter().map(|group| group.metadata.name.as_str()).collect::<Vec<_>>(), ["w-a", "w-b"]);
    connection.delete(&resource, "w", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, "podgroups", |groups: &[PodGroup]| groups.is_empty()).await;
}
