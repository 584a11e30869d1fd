//! On a real server beside kube-controller-manager, which does to claims, pods and volumes what it does in every cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use driver_kit::Failure;
use driver_kit::api::NodeSelector;
use driver_kit::controller::{ClaimRequest, Control, ControlOptions, Controller, Grant};
use e2e::shapes::{claim_of, node, object, pod_with_claims};
use e2e::{Account, Cluster, Keeper, Servant, Served, Terms, Worker, until};
use gates::Gate;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::{compatibility, kills, sharing, stage, volumes};

/// Plays a case, if kube-controller-manager is there.
fn beside(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    stage::real_with_groups(async |cluster: &Cluster| {
        let Some(mut controllers) = Servant::kube_controllers(cluster, Served::Groups)? else {
            eprintln!("skipped: there is no kube-controller-manager");
            return Ok(());
        };
        case(cluster).await?;
        ensure!(controllers.runs()?, "kube-controller-manager ended by itself");
        Ok(())
    })
}

mod real {
    #[test]
    fn schedulers_and_drivers_may_die() -> anyhow::Result<()> {
        super::beside(crate::kube::kills::mixed)
    }

    #[test]
    fn partitions_go_together_after_a_restart() -> anyhow::Result<()> {
        super::beside(crate::kube::compatibility::devices_that_go_together_do_so_after_a_restart)
    }

    #[test]
    fn two_hundred_members_share_a_claim() -> anyhow::Result<()> {
        super::beside(crate::kube::sharing::two_hundred_members_share_a_claim_that_is_written_twice)
    }

    #[test]
    fn two_hundred_pods_negotiate_at_once() -> anyhow::Result<()> {
        super::beside(super::two_hundred_pods_negotiate_at_once)
    }

    #[test]
    fn volumes_are_provisioned_by_another() -> anyhow::Result<()> {
        super::beside(super::volumes::a_volume_is_provisioned_beside_the_controllers_of_kubernetes)
    }
}

const LENDER: &str = "lender.example.com";
const PODS: usize = 200;

/// A driver that has one of something on each node.
#[derive(Clone, Default)]
struct One {
    /// The node of each claim, by uid.
    lent: Arc<Mutex<BTreeMap<String, String>>>,
    calls: Arc<Mutex<usize>>,
}

impl Controller for One {
    fn name(&self) -> &str {
        LENDER
    }

    async fn allocate(&self, claims: &[ClaimRequest], node: Option<&str>) -> Vec<Result<Grant, Failure>> {
        *self.calls.lock() += claims.len();
        let mut lent = self.lent.lock();
        let give = |request: &ClaimRequest| {
            let (uid, node) = (&request.claim.metadata.uid, node.ok_or("no node was chosen")?);
            if lent.iter().any(|(holder, at)| holder != uid && at == node) {
                return Err("it is lent".into());
            }
            let at = lent.entry(uid.clone()).or_insert_with(|| node.to_owned());
            Ok(Grant { nodes: Some(NodeSelector::only(at)), ..Grant::default() })
        };
        claims.iter().map(give).collect()
    }

    async fn deallocate(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        self.lent.lock().remove(&claim.metadata.uid);
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let lent: BTreeSet<String> = self.lent.lock().values().cloned().collect();
        let bad: BTreeSet<String> = nodes.iter().filter(|node| lent.contains(*node)).cloned().collect();
        Ok(vec![bad; claims.len()])
    }
}

async fn two_hundred_pods_negotiate_at_once(cluster: &Cluster) -> Result<()> {
    cluster.teach_our_kinds().await?;
    let class = json!({ "metadata": { "name": "lent", "annotations": { "supercargo.dev/controller-name": LENDER } } });
    cluster.create(&object::<DeviceClass>(&class)?).await?;
    for at in 0..PODS {
        cluster.create_node(&node(&format!("n-{at}"), 4)?).await?;
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "lent" } });
        cluster.create(&claim_of(&format!("c-{at}"), &json!({ "requests": [request] }))?).await?;
        let name = format!("p-{at}");
        cluster.create(&pod_with_claims(&name, &[&format!("c-{at}")])?).await?;
    }
    let driver = One::default();
    let options = ControlOptions { refresh: Duration::from_secs(1), ..ControlOptions::default() };
    let _control = Control::start(cluster.connect_as(Account::DriverController)?, options, driver.clone());
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    let began = Instant::now();
    let gates = Served::Groups.gates().with(Gate::DRAControlPlaneController, true);
    let terms = Terms { gates, ..Terms::default() };
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
    let pods = until("all pods are bound", async || {
        let pods: Vec<Pod> = cluster.list().await?;
        Ok(pods.iter().all(|pod| !pod.spec.node_name.is_empty()).then_some(pods))
    })
    .await?;
    let (took, calls) = (began.elapsed(), *driver.calls.lock());
    eprintln!(
        "{PODS} pods of as many nodes were bound {took:?} after the scheduler began, with {calls} allocations"
    );
    let nodes: BTreeSet<&str> = pods.iter().map(|pod| pod.spec.node_name.as_str()).collect();
    ensure!(nodes.len() == PODS, "{} nodes for {PODS} pods that have one each", nodes.len());
    ensure!(calls <= PODS * 11 / 10, "{calls} allocations for {PODS} pods");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    // What they had is taken back, also where kube-controller-manager is the first to clear it.
    for pod in &pods {
        cluster.delete::<Pod>(&pod.metadata.name).await?;
    }
    until("nothing is lent or negotiated any more", async || {
        let claims: Vec<ResourceClaim> = cluster.list().await?;
        let is_free =
            |claim: &ResourceClaim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty();
        let contexts: Vec<PodSchedulingContext> = cluster.list().await?;
        Ok((claims.iter().all(is_free) && contexts.is_empty() && driver.lent.lock().is_empty()).then_some(()))
    })
    .await
}
