//! Kills a scheduler again and again while pods with claims are on their way, and looks at what came of it.
//!
//! There are exactly as many devices as pods, so that a device that is lost is a pod that is never bound. The seed decides
//! after how many bound pods each kill comes and how long after that; the operating system decides the rest.
//!
//! A mixed run has partitions in compatibility groups and claims that a driver's own controller allocates beside whole devices; that controller is
//! killed too, each second time.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Connection, Event, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gate;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::annotations::CONTROLLER_NAME;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{Cluster, PATIENCE};
use crate::givers::GIVERS;
use crate::judge::all_is_well_with;
use crate::kind::Kind;
use crate::partitions;
use crate::real::Served;
use crate::servant::{Program, Servant};
use crate::shapes;
use crate::worker::Terms;

/// How many devices a node has.
const DEVICES_PER_NODE: u32 = 8;

/// The class of claims that a driver's own controller allocates.
const LENT: &str = "lent";

/// How many connections make pods.
const MAKERS: u32 = 8;

/// A kill comes up to so long after the pod that it is for.
const DELAY_MICROS_MAX: u64 = 50_000;

/// What is to be done to a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct KillOptions<'a> {
    /// How many pods there are, each with a claim of one device.
    pub pods: u32,
    /// How often the scheduler is killed.
    pub kills: u32,
    /// When it is killed.
    pub seed: u64,
    /// The program that is the drivers' controllers, if claims are of all sorts.
    pub mixed: Option<&'a Path>,
}

/// What a claim asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Device,
    Partition,
    Lent,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many pods were bound when the scheduler was killed, each time.
    pub killed_at: Vec<usize>,
    /// How long it took until all were bound.
    pub took: Duration,
}

impl KillOptions<'_> {
    /// Does it, on a cluster that is empty.
    ///
    /// # Errors
    /// When a pod is not bound in the end, or anything else is not as it should be.
    pub async fn run(&self, cluster: &Cluster, program: &Program) -> Result<Report> {
        self.prepare(cluster).await?;
        let began = Instant::now();
        let mut bound = follow(cluster.connect()?);
        let mut makers = self.make_pods(cluster)?;
        let mut servant = Servant::start(program, cluster, &self.terms())?;
        let mut givers = self.mixed.map(|program| Servant::givers(program, cluster)).transpose()?;
        let mut killed_at = Vec::new();
        for (at, (count, delay)) in self.moments().into_iter().enumerate() {
            reach(&mut bound, &mut servant, count).await?;
            sleep(delay).await;
            servant.kill()?;
            if let (Some(program), 1) = (self.mixed, at % 2) {
                givers.take().map_or(Ok(()), Servant::kill)?;
                givers = Some(Servant::givers(program, cluster)?);
            }
            killed_at.push(*bound.borrow());
            servant = Servant::start(program, cluster, &self.terms())?;
        }
        while let Some(made) = makers.join_next().await {
            made??;
        }
        let all = usize::try_from(self.pods)?;
        reach(&mut bound, &mut servant, all).await?;
        let took = began.elapsed();
        servant.kill()?;
        givers.map_or(Ok(()), Servant::kill)?;
        all_is_well_with(cluster, self.terms().gates).await?;
        Ok(Report { killed_at, took })
    }

    fn terms(&self) -> Terms {
        match self.mixed {
            None => Terms::default(),
            Some(_) => Terms {
                gates: Served::Groups.gates().with(Gate::DRAControlPlaneController, true),
                ..Terms::default()
            },
        }
    }

    /// The sort of a pod's claim.
    fn sort(&self, at: u32) -> Sort {
        match (self.mixed, at % 3) {
            (Some(_), 1) => Sort::Partition,
            (Some(_), 2) => Sort::Lent,
            _ => Sort::Device,
        }
    }

    fn count(&self, sort: Sort) -> u32 {
        u32::try_from((0..self.pods).filter(|at| self.sort(*at) == sort).count()).unwrap_or(u32::MAX)
    }

    async fn prepare(&self, cluster: &Cluster) -> Result<()> {
        cluster.create(&shapes::class()?).await?;
        if self.mixed.is_some() {
            cluster.teach_our_kinds().await?;
            cluster.create(&partitions::class()?).await?;
            cluster.create(&lent_class(cluster)?).await?;
        }
        let (devices, partitions) = (self.count(Sort::Device), self.count(Sort::Partition));
        for at in 0..devices.max(partitions).div_ceil(DEVICES_PER_NODE) {
            let name = format!("node-{at}");
            let share = |all: u32| DEVICES_PER_NODE.min(all.saturating_sub(at * DEVICES_PER_NODE));
            cluster.create_node(&shapes::node(&name, 64)?).await?;
            cluster.create(&shapes::slice(&name, share(devices))?).await?;
            for slice in partitions::slices(&name, share(partitions))? {
                cluster.create(&slice).await?;
            }
        }
        Ok(())
    }

    /// Makes claims and pods while the scheduler is at work.
    fn make_pods(&self, cluster: &Cluster) -> Result<JoinSet<Result<()>>> {
        let mut makers = JoinSet::new();
        for maker in 0..MAKERS {
            let connection = cluster.connect()?;
            let sorts: Vec<(u32, Sort)> =
                (maker..self.pods).step_by(MAKERS as usize).map(|at| (at, self.sort(at))).collect();
            makers.spawn(async move {
                for (at, sort) in sorts {
                    let (claim, pod) = (format!("claim-{at}"), format!("pod-{at}"));
                    let wanted = match sort {
                        Sort::Device => shapes::claim(&claim, 1)?,
                        Sort::Partition => partitions::claim(&claim)?,
                        Sort::Lent => lent(&claim)?,
                    };
                    create(&connection, &wanted).await?;
                    create(&connection, &shapes::pod_with_claims(&pod, &[&claim])?).await?;
                }
                Ok(())
            });
        }
        Ok(makers)
    }

    /// After how many pods the scheduler is killed, and how long after that.
    fn moments(&self) -> Vec<(usize, Duration)> {
        let mut state = self.seed;
        let mut dice = |end: u64| {
            // After Steele, Lea and Flood (splitmix64).
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % end.max(1)
        };
        let mut moments: Vec<(usize, Duration)> = (0..self.kills)
            .map(|_| {
                // Towards the end there would be nothing left on its way.
                let count = usize::try_from(dice(u64::from(self.pods) * 9 / 10)).unwrap_or_default();
                (count, Duration::from_micros(dice(DELAY_MICROS_MAX)))
            })
            .collect();
        moments.sort();
        moments
    }
}

/// A class of a driver whose controller allocates claims itself, as this server can be told of it.
fn lent_class(cluster: &Cluster) -> Result<DeviceClass> {
    let driver = GIVERS[1].name;
    shapes::object(&if cluster.is_ours() {
        json!({ "metadata": { "name": LENT }, "spec": { "controllerName": driver } })
    } else {
        json!({ "metadata": { "name": LENT, "annotations": { CONTROLLER_NAME: driver } } })
    })
}

fn lent(name: &str) -> Result<ResourceClaim> {
    let request = json!({ "name": "r", "exactly": { "deviceClassName": LENT } });
    shapes::claim_of(name, &json!({ "requests": [request] }))
}

async fn create<K: Kind>(connection: &Connection, new: &K) -> Result<()> {
    let answer = connection.create(&K::resource(), new).await;
    ensure!(answer.trouble().is_none(), "cannot make {}: {:?}", new.metadata().name, answer.trouble());
    Ok(())
}

/// How many pods are bound, as long as anybody wants to know.
fn follow(connection: Connection) -> watch::Receiver<usize> {
    let (tell, told) = watch::channel(0);
    tokio::spawn(async move {
        let bound = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
        let stream = connection.list_and_watch(&Pod::resource(), &bound, &WatchOptions::default());
        let mut stream = Box::pin(stream);
        let mut names = std::collections::BTreeSet::new();
        while let Some(event) = stream.next().await {
            if let Event::Applied(pod) = event {
                names.insert(pod.metadata.name);
            }
            if tell.send(names.len()).is_err() {
                return;
            }
        }
    });
    told
}

/// Waits until so many pods are bound. As long as there are ever more, nobody loses patience.
async fn reach(bound: &mut watch::Receiver<usize>, servant: &mut Servant, count: usize) -> Result<()> {
    loop {
        let now = *bound.borrow_and_update();
        if now >= count {
            return Ok(());
        }
        let changed = timeout(PATIENCE, bound.changed()).await;
        ensure!(changed.is_ok(), "{now} pods are bound, and no more after {PATIENCE:?}");
        ensure!(servant.runs()?, "the scheduler ended by itself, with {now} pods bound");
    }
}
