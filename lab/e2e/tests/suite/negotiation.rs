//! Claims that a driver's own controller gives devices: asked, given, asked back, on a server that has fields for it and on one
//! that has annotations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use driver_kit::Failure;
use driver_kit::api::{NodeSelector, ResourceHandle};
use driver_kit::controller::{ClaimRequest, Control, ControlOptions, Controller, Grant};
use e2e::negotiate::Others;
use e2e::shapes::{claim_of, node, object, pod_with_claims};
use e2e::{Account, Cluster, Keeper, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::pods::scheduled;

crate::on_both![
    a_claim_is_given_for_the_chosen_node_and_asked_back_when_its_pod_is_gone,
    claims_of_two_drivers_meet_on_a_node_that_both_accept,
    what_was_given_in_vain_is_asked_back_and_given_elsewhere,
    what_is_given_when_a_node_will_do_again_is_not_asked_back,
    what_was_begun_for_a_pod_that_is_gone_is_let_go,
    an_immediate_claim_is_given_at_once_and_stays,
    a_pod_waits_for_a_driver_that_is_not_there_and_says_so,
    a_pod_waits_for_information_first_and_says_of_whom,
    a_pod_bound_by_hand_gets_what_its_driver_gives_there,
];

/// A driver that lends so many of something on each node.
#[derive(Clone)]
pub struct Lender {
    name: &'static str,
    free: Arc<Mutex<BTreeMap<String, usize>>>,
    /// What claims have, by uid.
    lent: Arc<Mutex<BTreeMap<String, String>>>,
    /// It finds out only when it is to give something that it cannot.
    is_wrong: Arc<AtomicBool>,
    pub calls: Arc<AtomicUsize>,
    /// How often something was taken back.
    returned: Arc<AtomicUsize>,
}

impl Lender {
    pub fn new(name: &'static str, free: &[(&str, usize)]) -> Lender {
        let free = free.iter().map(|(node, count)| ((*node).to_owned(), *count)).collect();
        Lender {
            name,
            free: Arc::new(Mutex::new(free)),
            lent: Arc::default(),
            is_wrong: Arc::default(),
            calls: Arc::default(),
            returned: Arc::default(),
        }
    }

    fn start(&self, cluster: &Cluster) -> Result<Control> {
        let options = ControlOptions { refresh: Duration::from_millis(500), ..ControlOptions::default() };
        Ok(Control::start(cluster.connect_as(Account::DriverController)?, options, self.clone()))
    }

    fn set(&self, node: &str, count: usize) {
        self.free.lock().insert(node.to_owned(), count);
    }

    fn has(&self, node: &str) -> bool {
        self.free.lock().get(node).is_some_and(|count| *count > 0)
    }
}

impl Controller for Lender {
    fn name(&self) -> &str {
        self.name
    }

    async fn allocate(&self, claims: &[ClaimRequest], node: Option<&str>) -> Vec<Result<Grant, Failure>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let give = |request: &ClaimRequest| {
            let uid = &request.claim.metadata.uid;
            let known = self.lent.lock().get(uid).cloned();
            let at = known.clone().unwrap_or_else(|| node.unwrap_or("anywhere").to_owned());
            if known.is_none() && node.is_some() {
                let mut free = self.free.lock();
                let count = free.get_mut(&at).filter(|count| **count > 0).ok_or("nothing is left")?;
                *count -= 1;
            }
            self.lent.lock().insert(uid.clone(), at.clone());
            let handle = ResourceHandle {
                driver_name: self.name.to_owned(),
                data: json!({ "at": at, "wants": request.claim_parameters }).to_string(),
                ..ResourceHandle::default()
            };
            let nodes = (at != "anywhere").then(|| NodeSelector::only(&at));
            Ok(Grant { nodes, handles: vec![handle], ..Grant::default() })
        };
        claims.iter().map(give).collect()
    }

    async fn deallocate(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        if let Some(node) = self.lent.lock().remove(&claim.metadata.uid) {
            self.returned.fetch_add(1, Ordering::Relaxed);
            *self.free.lock().entry(node).or_default() += 1;
        }
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let is_blind = self.is_wrong.load(Ordering::Relaxed);
        let bad = nodes.iter().filter(|node| !is_blind && !self.has(node)).cloned();
        Ok(vec![bad.collect(); claims.len()])
    }
}

/// A class whose claims a driver serves, as this server can be told of it.
pub fn class(cluster: &Cluster, name: &str, driver: &str) -> Result<DeviceClass> {
    object(&if cluster.is_ours() {
        json!({ "metadata": { "name": name }, "spec": { "controllerName": driver } })
    } else {
        json!({ "metadata": { "name": name, "annotations": { "supercargo.dev/controller-name": driver } } })
    })
}

pub fn asking(name: &str, class: &str, driver: &str) -> Result<ResourceClaim> {
    let request = json!({ "name": "r", "exactly": { "deviceClassName": class } });
    let config = json!([{ "opaque": { "driver": driver, "parameters": { "size": 3 } } }]);
    claim_of(name, &json!({ "requests": [request], "config": config }))
}

const FPGA: &str = "fpga.example.com";
const NIC: &str = "nic.example.com";

async fn stage(cluster: &Cluster, nodes: &[&str]) -> Result<()> {
    cluster.teach_our_kinds().await?;
    cluster.create(&class(cluster, "fpga", FPGA)?).await?;
    cluster.create(&class(cluster, "nic", NIC)?).await?;
    for name in nodes {
        cluster.create_node(&node(name, 4)?).await?;
    }
    Ok(())
}

async fn no_context(cluster: &Cluster, pod: &str) -> Result<()> {
    until("nothing is negotiated any more", async || {
        Ok(cluster.get::<PodSchedulingContext>(pod).await?.is_none().then_some(()))
    })
    .await
}

async fn claim_when(
    cluster: &Cluster,
    name: &str,
    what: &str,
    is_so: impl Fn(&ResourceClaim) -> bool,
) -> Result<ResourceClaim> {
    until(&format!("claim {name} {what}"), async || {
        Ok(cluster.get::<ResourceClaim>(name).await?.filter(&is_so))
    })
    .await
}

async fn a_claim_is_given_for_the_chosen_node_and_asked_back_when_its_pod_is_gone(
    cluster: &Cluster,
) -> Result<()> {
    stage(cluster, &["n-1", "n-2", "n-3"]).await?;
    let lender = Lender::new(FPGA, &[("n-2", 1)]);
    let control = lender.start(cluster)?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    cluster.create(&asking("c", "fpga", FPGA)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let pod = cluster.bound("p").await?;
    ensure!(pod.spec.node_name == "n-2", "it is on {}", pod.spec.node_name);
    let claim: ResourceClaim = cluster.read("c").await?;
    ensure!(control::controller(&claim) == FPGA);
    ensure!(claim.metadata.finalizers == ["fpga.example.com/deletion-protection"]);
    ensure!(claim.status.reserved_for[0].uid == pod.metadata.uid);
    let handles = control::handles(&claim).map_err(anyhow::Error::msg)?;
    let told: Value = serde_json::from_str(&handles[0].data)?;
    ensure!(told == json!({ "at": "n-2", "wants": [{ "size": 3 }] }), "{told}");
    no_context(cluster, "p").await?;
    cluster.delete::<Pod>("p").await?;
    claim_when(cluster, "c", "is free", |claim| {
        claim.status.allocation.is_none()
            && !control::is_leaving(claim)
            && claim.metadata.finalizers.is_empty()
    })
    .await?;
    ensure!(lender.has("n-2") && lender.lent.lock().is_empty());
    // It is delayed, so that it is given again when somebody wants it again.
    cluster.create(&pod_with_claims("q", &["c"])?).await?;
    cluster.bound("q").await?;
    cluster.delete::<Pod>("q").await?;
    cluster.delete::<ResourceClaim>("c").await?;
    until("the claim is gone", async || Ok(cluster.get::<ResourceClaim>("c").await?.is_none().then_some(())))
        .await?;
    ensure!(lender.has("n-2"), "what a claim has is taken back before it goes");
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    control.stop().await;
    Ok(())
}

async fn claims_of_two_drivers_meet_on_a_node_that_both_accept(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1", "n-2", "n-3"]).await?;
    let fpgas = Lender::new(FPGA, &[("n-1", 4), ("n-2", 4)]);
    let nics = Lender::new(NIC, &[("n-2", 4), ("n-3", 4)]);
    let _controls = (fpgas.start(cluster)?, nics.start(cluster)?);
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    for number in 0..3 {
        let (fpga, nic, pod) = (format!("f-{number}"), format!("i-{number}"), format!("p-{number}"));
        cluster.create(&asking(&fpga, "fpga", FPGA)?).await?;
        cluster.create(&asking(&nic, "nic", NIC)?).await?;
        cluster.create(&pod_with_claims(&pod, &[&fpga, &nic])?).await?;
    }
    for pod in ["p-0", "p-1", "p-2"] {
        let pod = cluster.bound(pod).await?;
        ensure!(pod.spec.node_name == "n-2", "{} is on {}", pod.metadata.name, pod.spec.node_name);
    }
    Ok(())
}

async fn what_was_given_in_vain_is_asked_back_and_given_elsewhere(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1", "n-2"]).await?;
    let fpgas = Lender::new(FPGA, &[("n-1", 1), ("n-2", 1)]);
    // It says that everything will do, and finds out when it is to give something.
    let nics = Lender::new(NIC, &[("n-1", 0), ("n-2", 0)]);
    nics.is_wrong.store(true, Ordering::Relaxed);
    let _controls = (fpgas.start(cluster)?, nics.start(cluster)?);
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    cluster.create(&asking("f", "fpga", FPGA)?).await?;
    cluster.create(&asking("i", "nic", NIC)?).await?;
    cluster.create(&pod_with_claims("p", &["f", "i"])?).await?;
    let given = claim_when(cluster, "f", "is given", |claim| claim.status.allocation.is_some()).await?;
    let at = fpgas.lent.lock().get(&given.metadata.uid).cloned().unwrap_or_default();
    let other = if at == "n-1" { "n-2" } else { "n-1" };
    nics.set(other, 1);
    nics.is_wrong.store(false, Ordering::Relaxed);
    let pod = cluster.bound("p").await?;
    ensure!(pod.spec.node_name == other, "it is on {}", pod.spec.node_name);
    let claim: ResourceClaim = cluster.read("f").await?;
    ensure!(!control::is_leaving(&claim) && claim.status.reserved_for.len() == 1);
    Ok(())
}

async fn what_is_given_when_a_node_will_do_again_is_not_asked_back(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1"]).await?;
    let fpgas = Lender::new(FPGA, &[("n-1", 0)]);
    let _control = fpgas.start(cluster)?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    for (claim, class) in [("a", "fpga"), ("b", "fpga")] {
        cluster.create(&asking(claim, class, FPGA)?).await?;
    }
    cluster.create(&pod_with_claims("p", &["a", "b"])?).await?;
    until("the driver says that the node will not do", async || {
        let context = cluster.get::<PodSchedulingContext>("p").await?;
        let answers = context.map(|context| context.status.resource_claims).unwrap_or_default();
        Ok((answers.len() == 2 && answers.iter().all(|one| one.unsuitable_nodes == ["n-1"])).then_some(()))
    })
    .await?;
    // It has been told what there is to know, and waits for no driver.
    let is_refused = |pod: &Pod| scheduled(pod).is_some_and(|one| one.reason == "Unschedulable");
    cluster.pod_when("p", "has no place", is_refused).await?;
    counted(&worker, &[]).await?;
    fpgas.set("n-1", 2);
    cluster.bound("p").await?;
    ensure!(fpgas.returned.load(Ordering::Relaxed) == 0, "what was given was asked back");
    Ok(())
}

async fn what_was_begun_for_a_pod_that_is_gone_is_let_go(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1"]).await?;
    // It says that the node will do, and then has nothing.
    let lender = Lender::new(FPGA, &[]);
    lender.is_wrong.store(true, Ordering::Relaxed);
    let _control = lender.start(cluster)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    cluster.create(&asking("c", "fpga", FPGA)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    claim_when(cluster, "c", "is protected", |claim| !claim.metadata.finalizers.is_empty()).await?;
    cluster.delete::<Pod>("p").await?;
    claim_when(cluster, "c", "is as it was", |claim| claim.metadata.finalizers.is_empty()).await?;
    no_context(cluster, "p").await
}

async fn an_immediate_claim_is_given_at_once_and_stays(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1"]).await?;
    let lender = Lender::new(FPGA, &[]);
    let _control = lender.start(cluster)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    let mut claim = asking("c", "fpga", FPGA)?;
    if cluster.is_ours() {
        claim.spec.allocation_mode = "Immediate".to_owned();
    } else {
        let mode = ("supercargo.dev/allocation-mode".to_owned(), "Immediate".to_owned());
        claim.metadata.annotations.extend([mode]);
    }
    cluster.create(&claim).await?;
    claim_when(cluster, "c", "is given", |claim| claim.status.allocation.is_some()).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    cluster.bound("p").await?;
    ensure!(cluster.get::<PodSchedulingContext>("p").await?.is_none(), "there was nothing to negotiate");
    cluster.delete::<Pod>("p").await?;
    let kept = claim_when(cluster, "c", "is used by nobody", |claim| claim.status.reserved_for.is_empty());
    ensure!(control::controller(&kept.await?) == FPGA);
    cluster.delete::<ResourceClaim>("c").await?;
    until("the claim is gone", async || Ok(cluster.get::<ResourceClaim>("c").await?.is_none().then_some(())))
        .await
}

async fn a_pod_waits_for_a_driver_that_is_not_there_and_says_so(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1"]).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    cluster.create(&asking("c", "fpga", FPGA)?).await?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    let waits = |pod: &Pod| scheduled(pod).is_some_and(|one| one.reason == "WaitingForResourceDriver");
    let pod = cluster.pod_when("p", "waits for its driver", waits).await?;
    let message = scheduled(&pod).map(|one| one.message.clone()).unwrap_or_default();
    let expected = format!("waiting for resource driver {FPGA} to allocate claim c for node n-1");
    ensure!(message == expected, "{message}");
    ensure!(cluster.event("p", "WaitingForResourceDriver").await?.note == expected);
    counted(&worker, &[("allocation", FPGA, 1)]).await?;
    // Others are not held up.
    cluster.create(&pod_with_claims("other", &[])?).await?;
    cluster.bound("other").await?;
    let lender = Lender::new(FPGA, &[("n-1", 1)]);
    let _control = lender.start(cluster)?;
    cluster.bound("p").await?;
    ensure!(lender.calls.load(Ordering::Relaxed) >= 1);
    counted(&worker, &[]).await
}

async fn a_pod_waits_for_information_first_and_says_of_whom(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1", "n-2"]).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let fpgas = Lender::new(FPGA, &[("n-2", 1)]);
    let _control = fpgas.start(cluster)?;
    cluster.create(&asking("f", "fpga", FPGA)?).await?;
    cluster.create(&asking("i", "nic", NIC)?).await?;
    cluster.create(&pod_with_claims("p", &["f", "i"])?).await?;
    // One driver has answered, and the pod waits for the other alone.
    let expected =
        format!("waiting for resource driver {NIC} to provide information about nodes for claim i");
    let says = |pod: &Pod| scheduled(pod).is_some_and(|one| one.message == expected);
    let pod = cluster.pod_when("p", "waits for one driver's information", says).await?;
    ensure!(scheduled(&pod).is_some_and(|one| one.reason == "WaitingForResourceDriver"));
    until("an event says so", async || {
        let mut events = cluster.list::<Event>().await?.into_iter();
        Ok(events.find(|event| event.note == expected && event.regarding.name == "p"))
    })
    .await?;
    counted(&worker, &[("information", NIC, 1)]).await?;
    ensure!(fpgas.lent.lock().is_empty(), "nothing is given while nobody knows where");
    let nics = Lender::new(NIC, &[("n-1", 1), ("n-2", 1)]);
    let _control = nics.start(cluster)?;
    let pod = cluster.bound("p").await?;
    ensure!(pod.spec.node_name == "n-2", "it is on {}", pod.spec.node_name);
    counted(&worker, &[]).await
}

/// Waits until the scheduler says that so many pods wait for this of these drivers, and for nothing else.
async fn counted(worker: &Worker, expected: &[(&str, &str, usize)]) -> Result<()> {
    until(&format!("pods that wait are counted as {expected:?}"), async || {
        let counts = worker.negotiating();
        let counts: Vec<(&str, &str, usize)> =
            counts.iter().map(|((what, driver), count)| (what.name(), &**driver, *count)).collect();
        Ok((counts == expected).then_some(()))
    })
    .await
}

async fn a_pod_bound_by_hand_gets_what_its_driver_gives_there(cluster: &Cluster) -> Result<()> {
    stage(cluster, &["n-1", "n-2"]).await?;
    let lender = Lender::new(FPGA, &[("n-1", 1), ("n-2", 1)]);
    let _control = lender.start(cluster)?;
    let _worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let _keeper = Keeper::start(&cluster.connect_as(Account::Controllers)?, &["*"])?;
    cluster.create(&asking("c", "fpga", FPGA)?).await?;
    let mut pod = pod_with_claims("p", &["c"])?;
    pod.spec.node_name = "n-2".to_owned();
    cluster.create(&pod).await?;
    let claim = claim_when(cluster, "c", "is given", |claim| !claim.status.reserved_for.is_empty()).await?;
    ensure!(lender.lent.lock().get(&claim.metadata.uid).map(String::as_str) == Some("n-2"));
    no_context(cluster, "p").await
}

#[test]
fn many_pods_need_six_writes_each() -> Result<()> {
    let options = e2e::negotiate::NegotiateOptions {
        pods: 20,
        nodes: 4,
        answers_in: Duration::from_millis(10),
        per_second: 0,
        passing: 20,
    };
    crate::stage::embedded(async |cluster: &Cluster| {
        let report = options.run(cluster).await?;
        // A condition that says the same in other words would be one more; nothing else may be.
        ensure!(report.writes <= 20 * 6, "{} writes for 20 pods", report.writes);
        let Others { alone, beside, busy } = &report.others;
        for waits in [alone, beside, busy] {
            ensure!(!waits.whole.is_empty(), "others came too");
            ensure!(
                waits.whole.len() == waits.decision.len(),
                "the scheduler told of each that it was bound"
            );
        }
        Ok(())
    })
}
