//! A driver's controller that is not made with the kit: the one in Python, which the protocol's page is about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use e2e::shapes::{claim_of, node, object, pod_with_claims};
use e2e::{Account, Cluster, Keeper, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};

use crate::pods::scheduled;

crate::on_both![
    a_controller_without_the_kit_gives_takes_back_and_says_which_nodes_will_not_do,
    a_controller_without_the_kit_allocates_immediate_claims_and_all_requests,
    a_controller_without_the_kit_names_no_more_nodes_than_a_list_holds,
];

const DRIVER: &str = "lender.example.com";

/// The controller, which is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/negotiation/controller.py")
}

/// Starts it with the rights of its manifest; none where Python is not installed.
fn start(cluster: &Cluster, stock: &str) -> Result<Option<Running>> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("left out: python3 is not installed");
        return Ok(None);
    }
    let mut command = Command::new("python3");
    command.arg("-u").arg(script()).args(["--driver", DRIVER, "--stock", stock, "--every", "0.1"]);
    command.arg("--server").arg(cluster.url()).stdout(Stdio::null());
    command.arg("--account").arg(cluster.account_folder(Account::DriverController)?);
    Ok(Some(Running(command.spawn().context("cannot start python3")?)))
}

fn class(cluster: &Cluster) -> Result<DeviceClass> {
    object(&if cluster.is_ours() {
        json!({ "metadata": { "name": "lent" }, "spec": { "controllerName": DRIVER } })
    } else {
        json!({ "metadata": { "name": "lent", "annotations": { "supercargo.dev/controller-name": DRIVER } } })
    })
}

fn asking(name: &str, requests: &[&str]) -> Result<ResourceClaim> {
    let request = |name: &&str| json!({ "name": name, "exactly": { "deviceClassName": "lent" } });
    let requests: Value = requests.iter().map(request).collect();
    claim_of(name, &json!({ "requests": requests }))
}

async fn stage(cluster: &Cluster, nodes: usize) -> Result<(Worker, Keeper)> {
    cluster.teach_our_kinds().await?;
    cluster.create(&class(cluster)?).await?;
    for at in 1..=nodes {
        cluster.create_node(&node(&format!("n-{at}"), 4)?).await?;
    }
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    Ok((worker, Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?))
}

/// What a claim has: for which request, of which driver, in which pool, and which device.
fn results(claim: &ResourceClaim) -> Vec<(&str, &str, &str, &str)> {
    let results = claim.status.allocation.iter().flat_map(|one| &one.devices.results);
    results.map(|one| (&*one.request, &*one.driver, &*one.pool, &*one.device)).collect()
}

async fn is_gone(cluster: &Cluster, claim: &str) -> Result<()> {
    until(&format!("claim {claim} is gone"), async || {
        Ok(cluster.get::<ResourceClaim>(claim).await?.is_none().then_some(()))
    })
    .await
}

pub async fn a_controller_without_the_kit_gives_takes_back_and_says_which_nodes_will_not_do(
    cluster: &Cluster,
) -> Result<()> {
    let Some(controller) = start(cluster, "n-1=0,n-2=1,n-3=0")? else { return Ok(()) };
    let _stage = stage(cluster, 3).await?;
    for (pod, claim) in [("first", "c-1"), ("second", "c-2")] {
        cluster.create(&asking(claim, &["r"])?).await?;
        cluster.create(&pod_with_claims(pod, &[claim])?).await?;
        if pod == "first" {
            let pod = cluster.bound(pod).await?;
            ensure!(pod.spec.node_name == "n-2", "it is on {}", pod.spec.node_name);
        }
    }
    let claim: ResourceClaim = cluster.read("c-1").await?;
    ensure!(control::controller(&claim) == DRIVER);
    ensure!(claim.metadata.finalizers == [format!("{DRIVER}/deletion-protection")]);
    let handles = control::handles(&claim).map_err(anyhow::Error::msg)?;
    ensure!(handles.len() == 1 && handles[0].data.contains("n-2"), "{handles:?}");
    // A kubelet finds the driver there.
    let device = format!("lent-{}-0", claim.metadata.uid);
    ensure!(results(&claim) == [("r", DRIVER, "n-2", &*device)], "{:?}", results(&claim));
    // The second has no place, and is told whose doing that is.
    let is_refused = |pod: &Pod| {
        scheduled(pod).is_some_and(|one| one.reason == "Unschedulable" && one.message.contains(DRIVER))
    };
    cluster.pod_when("second", "has no place", is_refused).await?;
    cluster.delete::<Pod>("first").await?;
    let pod = cluster.bound("second").await?;
    ensure!(pod.spec.node_name == "n-2", "it is on {}", pod.spec.node_name);
    // One that is started anew goes on with what the API says.
    drop(controller);
    let Some(_controller) = start(cluster, "n-2=1")? else { return Ok(()) };
    cluster.delete::<Pod>("second").await?;
    cluster.delete::<ResourceClaim>("c-2").await?;
    until("nothing is left", async || {
        let claims = cluster.get::<ResourceClaim>("c-2").await?;
        let contexts = cluster.get::<PodSchedulingContext>("second").await?;
        let first: ResourceClaim = cluster.read("c-1").await?;
        let is_free = first.status.allocation.is_none() && first.metadata.finalizers.is_empty();
        Ok((claims.is_none() && contexts.is_none() && is_free).then_some(()))
    })
    .await
}

pub async fn a_controller_without_the_kit_allocates_immediate_claims_and_all_requests(
    cluster: &Cluster,
) -> Result<()> {
    let Some(_controller) = start(cluster, "n-1=1,n-2=2")? else { return Ok(()) };
    let _stage = stage(cluster, 2).await?;
    let mut immediate = asking("now", &["r"])?;
    if cluster.is_ours() {
        immediate.spec.allocation_mode = "Immediate".to_owned();
    } else {
        let mode = ("supercargo.dev/allocation-mode".to_owned(), "Immediate".to_owned());
        immediate.metadata.annotations.extend([mode]);
    }
    cluster.create(&immediate).await?;
    let now = until("the immediate claim is allocated without a pod", async || {
        let claim: ResourceClaim = cluster.read("now").await?;
        Ok(claim.status.allocation.is_some().then_some(claim))
    })
    .await?;
    let only = format!("lent-{}-0", now.metadata.uid);
    ensure!(results(&now) == [("r", DRIVER, "n-1", &*only)], "{:?}", results(&now));
    ensure!(control::controller(&now) == DRIVER && now.status.reserved_for.is_empty(), "{now:?}");
    // A claim with two requests has two devices, both on the one node that has as many.
    cluster.create(&asking("two", &["left", "right"])?).await?;
    cluster.create(&pod_with_claims("p", &["two"])?).await?;
    ensure!(cluster.bound("p").await?.spec.node_name == "n-2");
    let two: ResourceClaim = cluster.read("two").await?;
    let devices = [0, 1].map(|at| format!("lent-{}-{at}", two.metadata.uid));
    let wanted = [("left", DRIVER, "n-2", &*devices[0]), ("right", DRIVER, "n-2", &*devices[1])];
    ensure!(results(&two) == wanted, "{:?}", results(&two));
    // The pod of the immediate claim goes where its device is, and nothing is negotiated.
    cluster.create(&pod_with_claims("q", &["now"])?).await?;
    ensure!(cluster.bound("q").await?.spec.node_name == "n-1");
    ensure!(cluster.get::<PodSchedulingContext>("q").await?.is_none(), "there was nothing to negotiate");
    cluster.delete::<Pod>("q").await?;
    until("the immediate claim is unused", async || {
        let claim: ResourceClaim = cluster.read("now").await?;
        ensure!(claim.status.allocation.is_some(), "it keeps its device");
        Ok(claim.status.reserved_for.is_empty().then_some(()))
    })
    .await?;
    cluster.delete::<ResourceClaim>("now").await?;
    is_gone(cluster, "now").await?;
    cluster.delete::<Pod>("p").await?;
    cluster.delete::<ResourceClaim>("two").await?;
    is_gone(cluster, "two").await
}

/// More nodes than the server accepts in one list.
const MANY: usize = 150;
const LISTED: usize = 128;

pub async fn a_controller_without_the_kit_names_no_more_nodes_than_a_list_holds(
    cluster: &Cluster,
) -> Result<()> {
    let Some(controller) = start(cluster, "n-1=0")? else { return Ok(()) };
    let _stage = stage(cluster, MANY).await?;
    cluster.create(&asking("c", &["r"])?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    // It is asked about some and then about others. What it said of the first has no room beside the others.
    let mut named = BTreeSet::new();
    until("all nodes are named unsuitable", async || {
        let context = cluster.get::<PodSchedulingContext>("p").await?;
        let answers = context.into_iter().flat_map(|context| context.status.resource_claims);
        let nodes: Vec<String> = answers.flat_map(|answer| answer.unsuitable_nodes).collect();
        ensure!(nodes.len() <= LISTED, "{} nodes", nodes.len());
        named.extend(nodes);
        Ok((named.len() == MANY).then_some(()))
    })
    .await?;
    drop(controller);
    let stock = format!("n-{MANY}=1");
    let Some(_controller) = start(cluster, &stock)? else { return Ok(()) };
    let pod = cluster.bound("p").await?;
    ensure!(stock.starts_with(&format!("{}=", pod.spec.node_name)), "it is on {}", pod.spec.node_name);
    Ok(())
}
