//! Kills a scheduler again and again while pods with claims are on their way, and looks at what came of it.
//!
//! There are exactly as many devices as pods, so that a device that is lost is a pod that is never bound. The seed decides
//! after how many bound pods each kill comes and how long after that; the operating system decides the rest.

use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Connection, Event, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::pod::Pod;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{Cluster, PATIENCE};
use crate::judge::all_is_well;
use crate::kind::Kind;
use crate::servant::{Program, Servant};
use crate::shapes;
use crate::worker::Terms;

/// How many devices a node has.
const DEVICES_PER_NODE: u32 = 8;

/// How many connections make pods.
const MAKERS: u32 = 8;

/// A kill comes up to so long after the pod that it is for.
const DELAY_MICROS_MAX: u64 = 50_000;

/// What is to be done to a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct KillOptions {
    /// How many pods there are, each with a claim of one device.
    pub pods: u32,
    /// How often the scheduler is killed.
    pub kills: u32,
    /// When it is killed.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many pods were bound when the scheduler was killed, each time.
    pub killed_at: Vec<usize>,
    /// How long it took until all were bound.
    pub took: Duration,
}

impl KillOptions {
    /// Does it, on a cluster that is empty.
    ///
    /// # Errors
    /// When a pod is not bound in the end, or anything else is not as it should be.
    pub async fn run(&self, cluster: &Cluster, program: &Program) -> Result<Report> {
        self.prepare(cluster).await?;
        let began = Instant::now();
        let mut bound = follow(cluster.connect()?);
        let mut makers = self.make_pods(cluster)?;
        let mut servant = Servant::start(program, cluster, &Terms::default())?;
        let mut killed_at = Vec::new();
        for (count, delay) in self.moments() {
            reach(&mut bound, &mut servant, count).await?;
            sleep(delay).await;
            servant.kill()?;
            killed_at.push(*bound.borrow());
            servant = Servant::start(program, cluster, &Terms::default())?;
        }
        while let Some(made) = makers.join_next().await {
            made??;
        }
        let all = usize::try_from(self.pods)?;
        reach(&mut bound, &mut servant, all).await?;
        let took = began.elapsed();
        servant.kill()?;
        all_is_well(cluster).await?;
        Ok(Report { killed_at, took })
    }

    async fn prepare(&self, cluster: &Cluster) -> Result<()> {
        cluster.create(&shapes::class()?).await?;
        for at in 0..self.pods.div_ceil(DEVICES_PER_NODE) {
            let name = format!("node-{at}");
            let devices = DEVICES_PER_NODE.min(self.pods - at * DEVICES_PER_NODE);
            cluster.create_node(&shapes::node(&name, 64)?).await?;
            cluster.create(&shapes::slice(&name, devices)?).await?;
        }
        Ok(())
    }

    /// Makes claims and pods while the scheduler is at work.
    fn make_pods(&self, cluster: &Cluster) -> Result<JoinSet<Result<()>>> {
        let mut makers = JoinSet::new();
        for maker in 0..MAKERS {
            let connection = cluster.connect()?;
            let pods = self.pods;
            makers.spawn(async move {
                for at in (maker..pods).step_by(MAKERS as usize) {
                    let (claim, pod) = (format!("claim-{at}"), format!("pod-{at}"));
                    create(&connection, &shapes::claim(&claim, 1)?).await?;
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
