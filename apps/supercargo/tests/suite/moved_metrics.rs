//! Metrics of a scheduler move when it works: one run with a pod, a gang, preemption and devices that have to be attached.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use caller::real::Files;
use caller::{Caller, Launched, Place};
use e2e::shapes::{DRIVER, claim, class, containers, node, object, pod, pod_of_cpus, pod_with_claims, slice};
use e2e::{Cluster, Served, until};
use hyper::Method;
use objects::core::pod::Pod;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::ResourceSlice;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::priority_class::PriorityClass;
use serde_json::{Value, json};
use telemetry::metrics::{Exposition, Metrics};

/// What this run does not move for certain: it would take minutes, or is over before it is seen. The tests of the watcher move them.
const NOT_HERE: [&str; 5] = [
    "scheduler_pending_async_api_calls",
    "scheduler_pod_scheduled_after_flush_total",
    "supercargo_scheduler_consideration_duration_seconds",
    "supercargo_scheduler_considerations",
    "supercargo_scheduler_negotiating_pods",
];

const CONFIGURATION: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 50, burst: 1}
";

/// A scheduler that runs, and what has moved so far of what it serves.
struct Watched {
    _scheduler: Launched,
    metrics: Place,
    moved: BTreeSet<String>,
}

impl Watched {
    fn start(cluster: &Cluster, folder: &Path) -> anyhow::Result<Self> {
        Files::make(folder, "none", &[])?;
        fs::write(folder.join("config.yaml"), CONFIGURATION)?;
        let address = free()?;
        let gates = Served::GROUPS.map(|gate| format!("{}=true", gate.name())).join(",");
        let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
        command.args(["scheduler", "--secure-port", &address.port().to_string(), "--feature-gates", &gates]);
        command.arg("--config").arg(folder.join("config.yaml"));
        command.arg("--kubeconfig").arg(cluster.kubeconfig()?);
        command.arg("--tls-cert-file").arg(folder.join("server.crt"));
        command.arg("--tls-private-key-file").arg(folder.join("server.key"));
        command.arg("--record").arg(folder.join("recording"));
        command.stdout(Stdio::null()).stderr(File::create(folder.join("log"))?);
        let metrics = Place::new(address, &fs::read(folder.join("authority.crt"))?, "none")?;
        Ok(Self { _scheduler: Launched::start(&mut command)?, metrics, moved: BTreeSet::new() })
    }

    /// Reads the metrics once more.
    async fn look(&mut self) -> anyhow::Result<()> {
        // It may not listen yet.
        let Ok(mut caller) = Caller::connect(&self.metrics).await else { return Ok(()) };
        let answer = caller.call(Method::GET, "/metrics", Vec::new()).await?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
            let name = series.split('{').next().unwrap_or(series);
            if value != "0" && !name.ends_with("_sum") {
                self.moved.insert(name.to_owned());
            }
        }
        Ok(())
    }

    fn has_moved(&self, name: &str) -> bool {
        self.moved.contains(name) || self.moved.contains(&format!("{name}_count"))
    }

    async fn until_moved(&mut self, names: &[&str]) -> anyhow::Result<()> {
        let mut left = names.to_vec();
        let moved = until("metrics move", async || {
            self.look().await?;
            left.retain(|name| !self.has_moved(name));
            Ok(left.is_empty().then_some(()))
        })
        .await;
        moved.map_err(|error| anyhow::anyhow!("{error}: {left:?} did not"))
    }
}

/// An address that nobody listens on at this moment.
fn free() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn folder() -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("supercargo-metrics-{}", process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

async fn add_nodes(cluster: &Cluster) -> anyhow::Result<()> {
    for name in ["a", "b"] {
        let mut node = node(name, 4)?;
        node.metadata.labels.insert("rack".to_owned(), "r".to_owned());
        cluster.create_node(&node).await?;
    }
    let mut devices = serde_json::to_value(slice("a", 1)?)?;
    let device = &mut devices["spec"]["devices"][0];
    device["bindsToNode"] = json!(true);
    device["bindingConditions"] = json!(["Attached"]);
    device["bindingFailureConditions"] = json!(["AttachFailed"]);
    cluster.create(&object::<ResourceSlice>(&devices)?).await?;
    cluster.create(&class()?).await?;
    let important = json!({ "metadata": { "name": "important" }, "value": 1000 });
    cluster.create(&object::<PriorityClass>(&important)?).await?;
    Ok(())
}

/// Two pods that a budget covers, and an important pod and an important gang that preempt one each.
async fn preempt(cluster: &Cluster) -> anyhow::Result<()> {
    let budget = json!({ "metadata": { "name": "b", "namespace": "default" },
        "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "web" } } } });
    cluster.create(&object::<PodDisruptionBudget>(&budget)?).await?;
    for name in ["low-1", "low-2"] {
        let mut pod = pod_of_cpus(name, 3)?;
        pod.metadata.labels.insert("app".to_owned(), "web".to_owned());
        cluster.create(&pod).await?;
        cluster.bound(name).await?;
    }
    let important = |cpus| json!({ "priorityClassName": "important", "containers": containers(cpus) });
    cluster.create(&pod("urgent", important(3))?).await?;
    cluster.bound("urgent").await?;
    let group = json!({ "metadata": { "name": "g", "namespace": "default" }, "spec": {
        "schedulingPolicy": { "gang": { "minCount": 2 } },
        "schedulingConstraints": { "topology": [{ "key": "rack" }] },
        "priorityClassName": "important",
    } });
    cluster.create(&object::<PodGroup>(&group)?).await?;
    for name in ["g-0", "g-1"] {
        let mut member = important(2);
        member["schedulingGroup"] = json!({ "podGroupName": "g" });
        cluster.create(&pod(name, member)?).await?;
    }
    cluster.bound("g-0").await?;
    cluster.bound("g-1").await?;
    Ok(())
}

/// Reports that the device of a claim is attached.
async fn attach(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    let attached = json!({ "type": "Attached", "status": "True", "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z" });
    let claim: ResourceClaim = cluster.read(name).await?;
    let results = claim.status.allocation.map(|allocation| allocation.devices.results).unwrap_or_default();
    let devices: Vec<Value> = results
        .iter()
        .map(|one| json!({ "driver": DRIVER, "pool": one.pool, "device": one.device, "conditions": [attached] }))
        .collect();
    cluster.patch_status::<ResourceClaim>(name, json!({ "status": { "devices": devices } })).await?;
    Ok(())
}

#[tokio::test]
async fn every_metric_of_the_scheduler_moves_when_it_works() -> anyhow::Result<()> {
    let folder = folder()?;
    let cluster = Cluster::embedded_with(&folder, Served::Groups)?;
    add_nodes(&cluster).await?;
    let mut watched = Watched::start(&cluster, &folder)?;
    preempt(&cluster).await?;
    cluster.create(&pod_of_cpus("huge", 100)?).await?;
    watched.until_moved(&["supercargo_scheduler_waiting_pods"]).await?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let is_chosen = |pod: &Pod| !pod.status.nominated_node_name.is_empty();
    cluster.pod_when("p", "waits for its device", is_chosen).await?;
    watched.until_moved(&["scheduler_goroutines"]).await?;
    attach(&cluster, "c").await?;
    cluster.bound("p").await?;
    let described = Metrics::default().described();
    let names = described.iter().map(|one| one.name).filter(|name| !NOT_HERE.contains(name));
    watched.until_moved(&names.collect::<Vec<_>>()).await?;
    fs::remove_dir_all(folder)?;
    Ok(())
}
