//! Many pods that negotiate at once, on as many nodes with one device of each driver: about as many allocations as there are pods, and
//! few writes for each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, ensure};
use client::{Event as Watched, Selectors, WatchOptions};
use driver_kit::Failure;
use driver_kit::api::NodeSelector;
use driver_kit::controller::{ClaimRequest, Control, ControlOptions, Controller, Grant};
use e2e::shapes::{claim_of, node, object, pod_with_claims};
use e2e::{Account, Cluster, Keeper, Kind, Served, Terms, Worker, until};
use futures_util::StreamExt;
use gates::Gate;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::stage;

const FPGA: &str = "fpga.example.com";
const NIC: &str = "nic.example.com";

/// How many pods and nodes there are.
const PODS: usize = 200;

/// How often a pod, its claims and its context may be written in all, besides the making of pods and claims. What the condition of a pod
/// says while it waits for longer than a second is counted by itself.
const WRITES_MAX: usize = 10;

mod embedded {
    #[test]
    fn two_hundred_pods_negotiate_with_one_driver_at_once() -> anyhow::Result<()> {
        super::stage::embedded_with_groups(super::one_driver)
    }

    #[test]
    fn two_hundred_pods_negotiate_with_two_drivers_at_once() -> anyhow::Result<()> {
        super::stage::embedded_with_groups(super::two_drivers)
    }
}

pub async fn one_driver(cluster: &Cluster) -> Result<()> {
    compete(cluster, &[FPGA]).await
}

pub async fn two_drivers(cluster: &Cluster) -> Result<()> {
    compete(cluster, &[FPGA, NIC]).await
}

/// A driver that has one of something on each node.
#[derive(Clone)]
struct One {
    name: &'static str,
    /// The node of each claim, by uid.
    lent: Arc<Mutex<BTreeMap<String, String>>>,
    calls: Arc<Mutex<usize>>,
}

impl One {
    fn new(name: &'static str) -> Self {
        Self { name, lent: Arc::default(), calls: Arc::default() }
    }

    /// The short name of the driver: its class, and what the names of its claims begin with.
    fn short(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    async fn stage(&self, cluster: &Cluster) -> Result<()> {
        let name = self.short();
        let class = if cluster.is_ours() {
            json!({ "metadata": { "name": name }, "spec": { "controllerName": self.name } })
        } else {
            json!({ "metadata": { "name": name, "annotations": { "supercargo.dev/controller-name": self.name } } })
        };
        cluster.create(&object::<DeviceClass>(&class)?).await?;
        let requests = json!([{ "name": "r", "exactly": { "deviceClassName": name } }]);
        for at in 0..PODS {
            let claim = claim_of(&format!("{name}-{at}"), &json!({ "requests": requests }))?;
            cluster.create(&claim).await?;
        }
        Ok(())
    }

    fn start(&self, cluster: &Cluster) -> Result<Control> {
        let connection = cluster.connect_as(Account::DriverController)?;
        Ok(Control::start(connection, ControlOptions::default(), self.clone()))
    }
}

impl Controller for One {
    fn name(&self) -> &str {
        self.name
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

/// What a pod is written for that has no node, and one that has.
const TOLD: &str = "told";
const BOUND: &str = "bound";

fn told_or_bound(pod: &Pod) -> &'static str {
    if pod.spec.node_name.is_empty() { TOLD } else { BOUND }
}

/// Every version of pods, claims and contexts that watches tell, by the number at the end of their names.
#[derive(Clone, Default)]
struct Versions {
    told: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    /// What else watches say that could make them leave something out.
    gaps: Arc<Mutex<Vec<String>>>,
}

impl Versions {
    /// Follows a kind, beginning with what is there, which does not count.
    async fn follow<K: Kind>(
        &self,
        cluster: &Cluster,
        how: fn(&K) -> &'static str,
    ) -> Result<JoinHandle<()>> {
        let there: Vec<K> = cluster.list().await?;
        let there: BTreeSet<String> =
            there.iter().map(|one| one.metadata().resource_version.clone()).collect();
        let (connection, versions) = (cluster.connect()?, self.clone());
        Ok(tokio::spawn(async move {
            let options = WatchOptions::default();
            let mut stream =
                Box::pin(connection.list_and_watch(&K::resource(), &Selectors::default(), &options));
            while let Some(event) = stream.next().await {
                match event {
                    Watched::Applied(object) if !there.contains(&object.metadata().resource_version) => {
                        versions.add::<K>(&object, how(&object));
                    }
                    Watched::Deleted(object) => versions.add::<K>(&object, "deleted"),
                    Watched::Vanished(gone) => {
                        versions.note(format!("{} {} has vanished", K::KIND, gone.name));
                    }
                    Watched::Unreadable { object, why } => {
                        versions.note(format!("{} {} cannot be read: {why}", K::KIND, object.name));
                    }
                    Watched::Interrupted { why, .. } => {
                        versions.note(format!("the watch of {} was interrupted: {why}", K::KIND));
                    }
                    Watched::Applied(_) | Watched::Synced { .. } | Watched::Progressed { .. } => {}
                }
            }
        }))
    }

    fn note(&self, gap: String) {
        self.gaps.lock().push(gap);
    }

    fn add<K: Kind>(&self, object: &K, how: &str) {
        let metadata = object.metadata();
        let number = metadata.name.rsplit('-').next().unwrap_or_default().to_owned();
        let version = format!("{} {how} {}", K::KIND, metadata.resource_version);
        self.told.lock().entry(number).or_default().insert(version);
    }

    /// How often something was done to objects of a kind.
    fn count<K: Kind>(&self, how: &str) -> usize {
        let begins = format!("{} {how} ", K::KIND);
        self.told.lock().values().flatten().filter(|version| version.starts_with(&begins)).count()
    }

    /// All writes that are not told to people only, and those about the pod with the most.
    fn most(&self) -> (usize, Vec<String>) {
        let versions = self.told.lock();
        let writes = versions.values().map(|all| {
            let counted = all.iter().filter(|version| !version.contains(TOLD));
            counted.cloned().collect::<Vec<_>>()
        });
        let writes: Vec<Vec<String>> = writes.collect();
        let all = writes.iter().map(Vec::len).sum();
        (all, writes.into_iter().max_by_key(Vec::len).unwrap_or_default())
    }

    /// What is left of a kind of which there is one object for each number: those that watches do not tell as deleted, or tell so more
    /// than once, with all that is told about that number, and what the server has.
    async fn left<K: Kind>(&self, cluster: &Cluster) -> Result<String> {
        let there: Vec<K> = cluster.list().await?;
        let deleted = format!("{} deleted ", K::KIND);
        let mut told = format!("the server has {} of {}\n", there.len(), K::KIND);
        for object in &there {
            told.push_str(&format!("  {}\n", object.write_value()));
        }
        for (number, all) in self.told.lock().iter() {
            if all.iter().filter(|version| version.starts_with(&deleted)).count() != 1 {
                told.push_str(&format!("  {number}: {all:?}\n"));
            }
        }
        told.push_str(&format!("the watches said besides {:#?}\n", self.gaps.lock()));
        Ok(told)
    }

    /// Waits until watches have told of all objects as they are.
    async fn told<K: Kind>(&self, cluster: &Cluster) -> Result<()> {
        let there: Vec<K> = cluster.list().await?;
        until("watches have told of everything", async || {
            let versions = self.told.lock();
            let is_told = |object: &K| {
                let end = format!(" {}", object.metadata().resource_version);
                versions.values().flatten().any(|version| version.ends_with(&end))
            };
            Ok(there.iter().all(is_told).then_some(()))
        })
        .await
    }
}

async fn compete(cluster: &Cluster, drivers: &[&'static str]) -> Result<()> {
    cluster.teach_our_kinds().await?;
    let drivers: Vec<One> = drivers.iter().map(|name| One::new(name)).collect();
    for driver in &drivers {
        driver.stage(cluster).await?;
    }
    for at in 0..PODS {
        cluster.create_node(&node(&format!("n-{at}"), 4)?).await?;
        let claims: Vec<String> = drivers.iter().map(|one| format!("{}-{at}", one.short())).collect();
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        cluster.create(&pod_with_claims(&format!("p-{at}"), &claims)?).await?;
    }
    let versions = Versions::default();
    let watches = [
        versions.follow::<Pod>(cluster, told_or_bound).await?,
        versions.follow::<ResourceClaim>(cluster, |_| "written").await?,
        versions.follow::<PodSchedulingContext>(cluster, |_| "written").await?,
    ];
    let _controls = drivers.iter().map(|one| one.start(cluster)).collect::<Result<Vec<_>>>()?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    let began = Instant::now();
    let gates = Served::Groups.gates().with(Gate::DRAControlPlaneController, true);
    let terms = Terms { gates, ..Terms::default() };
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms)?;
    // Each quarter of them has its time, for a server may take long for thousands of writes.
    for quarter in 1..=4 {
        until("more pods are bound", async || {
            Ok((versions.count::<Pod>(BOUND) >= PODS * quarter / 4).then_some(()))
        })
        .await?;
    }
    let pods: Vec<Pod> = cluster.list().await?;
    let took = began.elapsed();
    let over = until("nothing is negotiated any more", async || {
        Ok((versions.count::<PodSchedulingContext>("deleted") == PODS).then_some(()))
    });
    if let Err(late) = over.await {
        let left = versions.left::<PodSchedulingContext>(cluster).await?;
        return Err(late.context(format!("{left}the scheduler had trouble with {:?}", worker.troubles())));
    }
    versions.told::<Pod>(cluster).await?;
    versions.told::<ResourceClaim>(cluster).await?;
    watches.iter().for_each(JoinHandle::abort);
    let calls: Vec<usize> = drivers.iter().map(|one| *one.calls.lock()).collect();
    let (all, most) = versions.most();
    eprintln!(
        "{PODS} pods of as many nodes with claims of {} drivers were bound {took:?} after the scheduler began, with {calls:?} \
         allocations, {:.2} writes for each, at most {} for one, and {:.2} conditions of pods that waited for long",
        drivers.len(),
        all as f64 / PODS as f64,
        most.len(),
        versions.count::<Pod>(TOLD) as f64 / PODS as f64,
    );
    let nodes: BTreeSet<&str> = pods.iter().map(|pod| pod.spec.node_name.as_str()).collect();
    ensure!(nodes.len() == PODS && !nodes.contains(""), "{} nodes for {PODS} pods", nodes.len());
    ensure!(calls.iter().all(|calls| *calls <= PODS * 11 / 10), "{calls:?} allocations for {PODS} pods");
    ensure!(most.len() <= WRITES_MAX, "{most:?}");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    all_is_given_back(cluster, &drivers, &pods).await
}

/// What pods had is taken back, also where kube-controller-manager is the first to clear it.
async fn all_is_given_back(cluster: &Cluster, drivers: &[One], pods: &[Pod]) -> Result<()> {
    for pod in pods {
        cluster.delete::<Pod>(&pod.metadata.name).await?;
    }
    until("nothing is lent or negotiated any more", async || {
        let claims: Vec<ResourceClaim> = cluster.list().await?;
        let is_free =
            |claim: &ResourceClaim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty();
        let contexts: Vec<PodSchedulingContext> = cluster.list().await?;
        let are_back = drivers.iter().all(|one| one.lent.lock().is_empty());
        Ok((claims.iter().all(is_free) && contexts.is_empty() && are_back).then_some(()))
    })
    .await
}
