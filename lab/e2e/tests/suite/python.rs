//! A driver's controller that is not made with the kit: the one in Python, which the protocol's page is about.

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

crate::on_both![a_controller_without_the_kit_gives_takes_back_and_says_which_nodes_will_not_do];

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

/// Starts it; none where Python is not installed.
fn start(cluster: &Cluster, stock: &str) -> Result<Option<Running>> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("left out: python3 is not installed");
        return Ok(None);
    }
    let mut command = Command::new("python3");
    command.arg("-u").arg(script()).arg("--kubeconfig").arg(cluster.kubeconfig()?);
    command.args(["--driver", DRIVER, "--stock", stock, "--every", "0.1"]).stdout(Stdio::null());
    Ok(Some(Running(command.spawn().context("cannot start python3")?)))
}

fn class(cluster: &Cluster) -> Result<DeviceClass> {
    object(&if cluster.is_ours() {
        json!({ "metadata": { "name": "lent" }, "spec": { "controllerName": DRIVER } })
    } else {
        json!({ "metadata": { "name": "lent", "annotations": { "supercargo.dev/controller-name": DRIVER } } })
    })
}

fn asking(name: &str) -> Result<ResourceClaim> {
    let requests: Value = json!([{ "name": "r", "exactly": { "deviceClassName": "lent" } }]);
    claim_of(name, &json!({ "requests": requests }))
}

async fn a_controller_without_the_kit_gives_takes_back_and_says_which_nodes_will_not_do(
    cluster: &Cluster,
) -> Result<()> {
    let Some(controller) = start(cluster, "n-1=0,n-2=1,n-3=0")? else { return Ok(()) };
    cluster.teach_our_kinds().await?;
    cluster.create(&class(cluster)?).await?;
    for name in ["n-1", "n-2", "n-3"] {
        cluster.create_node(&node(name, 4)?).await?;
    }
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    for (pod, claim) in [("first", "c-1"), ("second", "c-2")] {
        cluster.create(&asking(claim)?).await?;
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
    let results = claim.status.allocation.as_ref().map(|one| one.devices.results.len());
    ensure!(results == Some(1), "a kubelet finds the driver there");
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
