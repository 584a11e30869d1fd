//! Pods without claims that come at a steady pace, and how long each waits for its node.
//!
//! Invariant: the pace does not depend on how fast they are served. A cluster that is slow gets no less to do for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use client::{Event, Selectors, WatchOptions};
use futures_util::StreamExt;
use objects::core::pod::Pod;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::cluster::{Cluster, until};
use crate::kind::Kind;
use crate::shapes;

pub(crate) type Moments = Arc<Mutex<BTreeMap<String, Instant>>>;

/// Pods that come one after the other, until they are stopped.
pub(crate) struct Passers {
    made: Moments,
    bound: Moments,
    stop: oneshot::Sender<()>,
    maker: JoinHandle<()>,
    watcher: JoinHandle<()>,
}

/// What became of them.
pub(crate) struct Passed {
    /// From the request that made a pod until its node was seen, the shortest first.
    pub(crate) waits: Vec<Duration>,
    /// When nodes were seen, the first one first.
    pub(crate) moments: Vec<Instant>,
}

impl Passers {
    /// Begins to make so many pods a second, whose names begin with this one.
    pub(crate) fn start(cluster: &Cluster, name: &'static str, per_second: u32) -> Result<Self> {
        let (made, bound) = (Moments::default(), Moments::default());
        let watcher = tokio::spawn(watch(cluster.connect()?, name, bound.clone()));
        let (stop, stopped) = oneshot::channel();
        let maker = tokio::spawn(make(cluster.connect()?, name, per_second, made.clone(), stopped));
        Ok(Self { made, bound, stop, maker, watcher })
    }

    /// How many have their node.
    pub(crate) fn bound(&self) -> usize {
        self.bound.lock().len()
    }

    /// Waits until so many have their node.
    pub(crate) async fn reach(&self, count: usize) -> Result<()> {
        until(&format!("{count} pods are bound"), async || Ok((self.bound() >= count).then_some(()))).await
    }

    /// Makes no more, and says how long each took from the request that made it until its node was seen.
    pub(crate) async fn stop(self) -> Result<Vec<Duration>> {
        Ok(self.finish().await?.waits)
    }

    /// Makes no more, and waits until all have their node.
    pub(crate) async fn finish(self) -> Result<Passed> {
        drop(self.stop);
        self.maker.await?;
        let (made, bound) = (self.made, self.bound);
        until("pods without claims are bound", async || {
            let seen = bound.lock();
            Ok(made.lock().keys().all(|name| seen.contains_key(name)).then_some(()))
        })
        .await?;
        self.watcher.abort();
        let bound = bound.lock();
        let mut waits: Vec<Duration> =
            made.lock().iter().filter_map(|(name, at)| Some(*bound.get(name)? - *at)).collect();
        ensure!(!waits.is_empty(), "no pod came to pass");
        waits.sort_unstable();
        let mut moments: Vec<Instant> = bound.values().copied().collect();
        moments.sort_unstable();
        Ok(Passed { waits, moments })
    }
}

/// The wait that so many in a hundred do not exceed; they are sorted.
#[must_use]
pub fn percentile(waits: &[Duration], percent: usize) -> Duration {
    let at = (waits.len() * percent).div_ceil(100).max(1) - 1;
    waits.get(at).copied().unwrap_or_default()
}

/// Ticks at a pace, and makes up for what it missed.
pub(crate) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every.max(Duration::from_micros(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks
}

async fn make(
    connection: client::Connection,
    name: &'static str,
    per_second: u32,
    made: Moments,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut ticks = ticks(Duration::from_secs(1) / per_second.max(1));
    let mut tasks = JoinSet::new();
    for number in 0_u32.. {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = &mut stopped => break,
        }
        let name = format!("{name}{number}");
        let pod = shapes::pod_with_claims(&name, &[]).expect("a pod without claims is well formed");
        let (connection, made) = (connection.clone(), made.clone());
        tasks.spawn(async move {
            let now = Instant::now();
            // One that was not made waits for nothing.
            if connection.create(&Pod::resource(), &pod).await.done().is_some() {
                made.lock().insert(name, now);
            }
        });
        while tasks.try_join_next().is_some() {}
    }
    // A request that is given up may be carried out all the same, and nobody would count its pod.
    while tasks.join_next().await.is_some() {}
}

/// Notes when pods whose names begin so were seen to have a node, without end.
pub(crate) async fn watch(connection: client::Connection, name: &'static str, bound: Moments) {
    let with_node = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
    let stream = connection.list_and_watch(&Pod::resource(), &with_node, &WatchOptions::default());
    let mut stream = Box::pin(stream);
    while let Some(event) = stream.next().await {
        if let Event::Applied(pod) = event
            && pod.metadata.name.starts_with(name)
        {
            bound.lock().entry(pod.metadata.name).or_insert_with(Instant::now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_wait_that_somebody_had() {
        let waits: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        let millis = |percent| percentile(&waits, percent).as_millis();
        assert_eq!([millis(50), millis(99), millis(100)], [100, 198, 200]);
        assert_eq!(percentile(&waits[..1], 99).as_millis(), 1);
    }
}
