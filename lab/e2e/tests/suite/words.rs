//! What is said about pods, beside what kube-scheduler says about pods like them.

use anyhow::{Result, ensure};
use e2e::shapes::{claim, claims_of, containers, node, pod, slice};
use e2e::{Account, Cluster, Program, Servant, Terms, Worker};
use objects::core::pod::Pod;
use objects::events::Event;
use serde_json::{Value, json};

use crate::devices::nodes_with_devices;
use crate::pods::{refused, scheduled};

crate::on_both![; real: refusals_read_like_those_of_kube_scheduler];

/// The sentence with the counts, which tools read; what comes after it is everybody's own.
fn counts(message: &str) -> &str {
    message.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// Pods that fit nowhere, by what they want.
fn misfits() -> Vec<(&'static str, Value)> {
    let unknown = json!({ "kubernetes.io/hostname": "nowhere" });
    vec![
        ("cpus", json!({ "containers": containers(99) })),
        ("selector", json!({ "nodeSelector": unknown })),
        (
            "both",
            json!({ "nodeSelector": { "kubernetes.io/hostname": "n-1" }, "containers": containers(99) }),
        ),
        ("devices", json!({ "resourceClaims": claims_of(&["too-many"]) })),
    ]
}

/// What an event says, but for names and times.
fn gist(event: &Event) -> (&str, &str, &str, &str) {
    (&event.type_, &event.action, &event.regarding.kind, counts(&event.note))
}

async fn refusals_read_like_those_of_kube_scheduler(cluster: &Cluster) -> Result<()> {
    let Some(program) = Program::kube_scheduler() else {
        eprintln!("skipped: there is no kube-scheduler beside the kube-apiserver");
        return Ok(());
    };
    nodes_with_devices(cluster, &["n-1", "n-2"], 2).await?;
    // A pool that has a device twice contradicts itself, and none of its devices is used.
    cluster.create_node(&node("contradictory", 4)?).await?;
    for name in ["one", "two"] {
        let mut twice = slice("contradictory", 1)?;
        twice.metadata.name = name.to_owned();
        twice.spec.pool.resource_slice_count = 2;
        cluster.create(&twice).await?;
    }
    let mut cordoned = node("cordoned", 64)?;
    cordoned.spec.unschedulable = true;
    cluster.create_node(&cordoned).await?;
    cluster.create(&claim("too-many", 9)?).await?;
    let _theirs = Servant::start(&program, cluster, &Terms::default())?;
    let _ours = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::named("ours"))?;
    for (what, wants) in misfits() {
        let (ours, theirs) = (format!("{what}-ours"), format!("{what}-theirs"));
        for (name, scheduler) in [(&ours, "ours"), (&theirs, "default-scheduler")] {
            let mut wants = wants.clone();
            wants["schedulerName"] = json!(scheduler);
            cluster.create(&pod(name, wants)?).await?;
        }
        let [ours_pod, theirs_pod]: [Pod; 2] = [
            cluster.pod_when(&ours, "is refused", refused).await?,
            cluster.pod_when(&theirs, "is refused", refused).await?,
        ];
        let said = |pod: &Pod| scheduled(pod).map(|one| counts(&one.message).to_owned());
        let is_counted =
            said(&ours_pod).is_some_and(|said| said.contains("1 invalid resource pools were encountered"));
        ensure!(is_counted == (what == "devices"), "{:?}", said(&ours_pod));
        ensure!(said(&ours_pod) == said(&theirs_pod), "{:?} but {:?}", said(&ours_pod), said(&theirs_pod));
        let ours = cluster.event(&ours, "FailedScheduling").await?;
        let theirs = cluster.event(&theirs, "FailedScheduling").await?;
        ensure!(gist(&ours) == gist(&theirs), "{:?} but {:?}", gist(&ours), gist(&theirs));
        ensure!(ours.reporting_controller == "ours" && theirs.reporting_controller == "default-scheduler");
    }
    let (ours, theirs) = ("bound-ours", "bound-theirs");
    cluster.create(&pod(ours, json!({ "schedulerName": "ours" }))?).await?;
    cluster.create(&pod(theirs, json!({}))?).await?;
    let said =
        |pod: &Pod| scheduled(pod).map(|one| (one.status.clone(), one.reason.clone(), one.message.clone()));
    let (one, two) = (said(&cluster.bound(ours).await?), said(&cluster.bound(theirs).await?));
    ensure!(one == two, "{one:?} but {two:?}");
    let (one, two) = (cluster.event(ours, "Scheduled").await?, cluster.event(theirs, "Scheduled").await?);
    ensure!((&one.type_, &one.action) == (&two.type_, &two.action), "{one:?} but {two:?}");
    let without_names = |event: &Event| event.note.split(' ').take(2).collect::<Vec<_>>().join(" ");
    ensure!(without_names(&one) == without_names(&two), "{one:?} but {two:?}");
    Ok(())
}
