//! Kills the scheduler, the drivers' controllers, or both at each step of a negotiation, and looks at what came of it.
//!
//! Each time the server is held at the change that makes the step: it is made, but who made it has no answer. The process is
//! killed there, and the change is seen by all who are left and by who comes after.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Cluster, until};
use crate::givers::GIVERS;
use crate::hold::{Hold, Made};
use crate::keeper::Keeper;
use crate::servant::{Program, Servant};
use crate::shapes;
use crate::worker::Terms;

/// A step: what it is, and whether a change makes it for the pod of this name.
type NegotiationStep = (&'static str, fn(&Made, &str) -> bool);

const CONTEXT: &str = "PodSchedulingContext";
const CLAIM: &str = "ResourceClaim";

/// The steps, in their order.
const STEPS: [NegotiationStep; 10] = [
    ("after the context was made", |made, pod| is(made, CONTEXT, pod, |_| true)),
    ("after one driver answered", |made, pod| is(made, CONTEXT, pod, |context| answers(context) == 1)),
    ("after all drivers answered", |made, pod| is(made, CONTEXT, pod, |context| answers(context) == 2)),
    ("after a node was chosen", |made, pod| {
        is(made, CONTEXT, pod, |context| context["spec"]["selectedNode"].is_string())
    }),
    ("after a claim was protected", |made, pod| {
        is(made, CLAIM, &own(pod, "fpga"), |claim| claim["metadata"]["finalizers"].is_array())
    }),
    ("after one claim was given devices", |made, pod| {
        is(made, CLAIM, &own(pod, "fpga"), |claim| claim["status"]["allocation"].is_object())
    }),
    ("after the other claim was given devices", |made, pod| {
        is(made, CLAIM, &own(pod, "nic"), |claim| claim["status"]["allocation"].is_object())
    }),
    ("after the shared claim was reserved, before the pod is bound", |made, pod| {
        is(made, CLAIM, SHARED, |claim| users(claim).any(|name| name == pod))
    }),
    ("after the pod was bound", |made, pod| is(made, "Pod", pod, |pod| pod["spec"]["nodeName"].is_string())),
    ("after the context was deleted", |made, pod| {
        made.kind == CONTEXT && made.name == pod && made.object.is_none()
    }),
];

/// The claim that all pods share.
const SHARED: &str = "shared";

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Scheduler,
    Drivers,
    Both,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// How often somebody was killed.
    pub deaths: usize,
    /// How long it took.
    pub took: Duration,
}

/// Does it, on a cluster that is empty.
///
/// # Errors
/// When a pod is not bound in the end, or something is left of a negotiation.
pub async fn run(cluster: &Cluster, hold: &Hold, program: &Path) -> Result<Report> {
    let began = Instant::now();
    prepare(cluster).await?;
    let keeper = Keeper::start(&cluster.connect()?, &["*"])?;
    let mut cast = Cast::start(cluster, program)?;
    cluster.create(&shapes::pod_with_claims("first", &[SHARED])?).await?;
    cluster.bound("first").await?;
    let mut deaths = 0;
    for (step, (what, is_it)) in STEPS.into_iter().enumerate() {
        for victim in [Victim::Scheduler, Victim::Drivers, Victim::Both] {
            let pod = format!("p-{step}-{victim:?}").to_lowercase();
            let death = cast.die(hold, &pod, is_it, victim).await;
            death.with_context(|| format!("{victim:?} killed {what}"))?;
            deaths += 1;
        }
    }
    nothing_is_left(cluster).await.with_context(|| format!("controllers say {:?}", keeper.troubles()))?;
    Ok(Report { deaths, took: began.elapsed() })
}

async fn prepare(cluster: &Cluster) -> Result<()> {
    for giver in GIVERS {
        let class = giver.name.split('.').next().unwrap_or_default();
        let class = json!({ "metadata": { "name": class }, "spec": { "controllerName": giver.name } });
        cluster.create(&shapes::object::<DeviceClass>(&class)?).await?;
    }
    for number in 0..4 {
        cluster.create_node(&shapes::node(&format!("n-{number}"), 64)?).await?;
    }
    cluster.create(&asking(SHARED, SHARED)?).await.map(drop)
}

/// Who takes part, besides controllers.
struct Cast<'c> {
    cluster: &'c Cluster,
    program: &'c Path,
    scheduler: Option<Servant>,
    drivers: Option<Servant>,
}

impl<'c> Cast<'c> {
    fn start(cluster: &'c Cluster, program: &'c Path) -> Result<Self> {
        let mut cast = Self { cluster, program, scheduler: None, drivers: None };
        cast.go_on()?;
        Ok(cast)
    }

    /// Starts who does not run.
    fn go_on(&mut self) -> Result<()> {
        if self.scheduler.is_none() {
            let program = Program::Own(self.program.to_owned());
            self.scheduler = Some(Servant::start(&program, self.cluster, &Terms::negotiating())?);
        }
        if self.drivers.is_none() {
            self.drivers = Some(Servant::givers(self.program, self.cluster)?);
        }
        Ok(())
    }

    fn kill(&mut self, victim: Victim) -> Result<()> {
        if victim != Victim::Drivers {
            self.scheduler.take().map_or(Ok(()), Servant::kill)?;
        }
        if victim != Victim::Scheduler {
            self.drivers.take().map_or(Ok(()), Servant::kill)?;
        }
        Ok(())
    }

    /// Makes a pod, kills the victim at the step, starts it again, and waits until the pod is bound.
    async fn die(
        &mut self,
        hold: &Hold,
        pod: &str,
        is_it: fn(&Made, &str) -> bool,
        victim: Victim,
    ) -> Result<()> {
        let claims = [own(pod, "fpga"), own(pod, "nic")];
        for (claim, class) in claims.iter().zip(["fpga", "nic"]) {
            self.cluster.create(&asking(claim, class)?).await?;
        }
        let name = pod.to_owned();
        hold.at(move |made| is_it(made, &name));
        let new = shapes::pod_with_claims(pod, &[claims[0].as_str(), claims[1].as_str(), SHARED])?;
        self.cluster.create(&new).await?;
        let reached = hold.reached().await;
        let killed = self.kill(victim);
        hold.let_go();
        reached?;
        killed?;
        self.go_on()?;
        let bound = self.cluster.bound(pod).await?;
        let node = bound.spec.node_name;
        ensure!(!GIVERS.iter().any(|giver| giver.never_on == Some(&*node)), "{pod} is on {node}");
        Ok(())
    }
}

/// All claims are those of their pods, no context is left, and nothing is left of claims whose pods go.
async fn nothing_is_left(cluster: &Cluster) -> Result<()> {
    until("nothing is negotiated any more", async || {
        Ok(cluster.list::<PodSchedulingContext>().await?.is_empty().then_some(()))
    })
    .await?;
    let pods: Vec<Pod> = cluster.list().await?;
    for claim in cluster.list::<ResourceClaim>().await? {
        let name = &claim.metadata.name;
        let users = pods.iter().filter(|pod| {
            pod.spec.resource_claims.iter().any(|one| one.resource_claim_name.as_ref() == Some(name))
        });
        let mut wanted: Vec<&str> = users.map(|pod| &*pod.metadata.uid).collect();
        let mut reserved: Vec<&str> = claim.status.reserved_for.iter().map(|one| &*one.uid).collect();
        wanted.sort_unstable();
        reserved.sort_unstable();
        ensure!(wanted == reserved, "claim {name} is reserved for {reserved:?} and used by {wanted:?}");
    }
    for pod in pods {
        cluster.delete::<Pod>(&pod.metadata.name).await?;
    }
    until("no claim has anything or is protected", async || {
        let claims: Vec<ResourceClaim> = cluster.list().await?;
        let is_free = |claim: &ResourceClaim| {
            claim.status.allocation.is_none()
                && claim.status.reserved_for.is_empty()
                && !claim.status.deallocation_requested
                && claim.metadata.finalizers.is_empty()
        };
        Ok(claims.iter().all(is_free).then_some(()))
    })
    .await
}

fn asking(name: &str, class: &str) -> Result<ResourceClaim> {
    let request = json!({ "name": "r", "exactly": { "deviceClassName": class } });
    shapes::claim_of(name, &json!({ "requests": [request] }))
}

/// The claim of a class that is a pod's own.
fn own(pod: &str, class: &str) -> String {
    format!("{pod}-{class}")
}

fn is(made: &Made, kind: &str, name: &str, is_so: impl Fn(&Value) -> bool) -> bool {
    made.kind == kind && made.name == name && made.object.as_ref().is_some_and(is_so)
}

fn answers(context: &Value) -> usize {
    context["status"]["resourceClaims"].as_array().map_or(0, Vec::len)
}

fn users(claim: &Value) -> impl Iterator<Item = &str> {
    let users = claim["status"]["reservedFor"].as_array().into_iter().flatten();
    users.filter_map(|user| user["name"].as_str())
}
