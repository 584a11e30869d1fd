//! One scheduler, one piece of work, and a server that has nothing else to do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use caller::{Caller, Place};
use hyper::Method;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::entrant::{AtWork, Entrant, Used};
use super::rules::{Placements, broken};
use super::work::{Making, NAMESPACE, Work};
use crate::contestant::{Contestant, Program};

/// How many connections make objects.
const MAKERS: usize = 8;
/// A scheduler that uses less than this in [`LOOK_EVERY`] has nothing left to write.
const RESTING: Duration = Duration::from_millis(30);
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) bound: usize,
    /// Pods bound in a second, from the first to the last.
    pub(crate) rate: f64,
    /// From the start of the program to the first binding.
    pub(crate) first: Duration,
    /// Until the last pod was bound.
    pub(crate) used: Used,
    /// Until events were written too.
    pub(crate) used_in_all: Used,
    /// Rules that the placements break.
    pub(crate) broken: Vec<String>,
}

/// A server to work on, with its folder, and the features that it has.
pub(crate) struct Ring<'a> {
    pub(crate) program: &'a Program,
    pub(crate) dir: &'a Path,
    pub(crate) features: Vec<String>,
    /// How long a scheduler may take.
    pub(crate) patience: Duration,
}

/// Makes the work on a new server, has the scheduler do it, and says what came of it.
pub(crate) async fn bout(ring: &Ring<'_>, work: &Work, entrant: &Entrant) -> anyhow::Result<Outcome> {
    let (mut server, _) = Contestant::start(ring.program, ring.dir, &ring.features).await?;
    for making in work.surroundings() {
        make(&server.place, making).await?;
    }
    untaint(&server.place, work.nodes).await?;
    make(&server.place, work.pods()).await?;
    let kubeconfig = server.kubeconfig(ring.dir)?;
    let watched = watch(&server.place, work).await?;
    let began = Instant::now();
    let mut scheduler = entrant.start(&kubeconfig, &ring.features, ring.dir)?;
    let seen = watched.until(work.pods, began + ring.patience).await?;
    let used = scheduler.used().with_context(|| format!("see {}/scheduler.log", ring.dir.display()))?;
    let used_in_all = rest(&mut scheduler).await?;
    drop(scheduler);
    let claims = if work.shape.has_claims() { claims(&server.place).await? } else { Vec::new() };
    server.stop();
    let (first, last) = seen.times.context("not a single pod was bound")?;
    let bound = seen.placements.len();
    Ok(Outcome {
        bound,
        rate: (bound.max(1) - 1) as f64 / (last - first).as_secs_f64(),
        first: first - began,
        used,
        used_in_all,
        broken: broken(work, &seen.placements, &claims),
    })
}

/// Makes objects, in any order.
async fn make(place: &Place, makings: Vec<Making>) -> anyhow::Result<()> {
    let call = |(path, body): Making| (Method::POST, path, body.to_string());
    call_all(place, makings.into_iter().map(call).collect()).await
}

/// Servers taint new nodes until somebody finds them ready, and here nobody else does.
async fn untaint(place: &Place, nodes: usize) -> anyhow::Result<()> {
    let mut caller = Caller::connect(place).await?;
    let mut calls = Vec::new();
    for number in 0..nodes {
        let path = format!("/api/v1/nodes/node-{number}");
        let mut node: Value = serde_json::from_slice(&ask(&mut caller, &path).await?)?;
        let Some(spec) = node["spec"].as_object_mut() else { continue };
        if spec.remove("taints").is_some() {
            calls.push((Method::PUT, path, node.to_string()));
        }
    }
    call_all(place, calls).await
}

/// Makes calls over some connections.
async fn call_all(place: &Place, calls: Vec<(Method, String, String)>) -> anyhow::Result<()> {
    let (calls, next) = (Arc::new(calls), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..MAKERS {
        let mut caller = Caller::connect(place).await?;
        let (calls, next) = (Arc::clone(&calls), Arc::clone(&next));
        tasks.spawn(async move {
            while let Some((method, path, body)) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answer = caller.call(method.clone(), path, body.clone()).await?;
                let text = String::from_utf8_lossy(&answer.body);
                ensure!((200..300).contains(&answer.code), "{path}: {text}");
            }
            Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

async fn ask(caller: &mut Caller, path: &str) -> anyhow::Result<Vec<u8>> {
    let answer = caller.call(Method::GET, path, Vec::new()).await?;
    ensure!(answer.code == 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    Ok(answer.body.to_vec())
}

async fn claims(place: &Place) -> anyhow::Result<Vec<Value>> {
    let path = format!("/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims");
    let mut list: Value = serde_json::from_slice(&ask(&mut Caller::connect(place).await?, &path).await?)?;
    Ok(list["items"].take().as_array().cloned().unwrap_or_default())
}

/// Waits until a scheduler has nothing more to do, and says what it has used by then.
async fn rest(scheduler: &mut AtWork) -> anyhow::Result<Used> {
    let mut used = scheduler.used()?;
    for _ in 0..30 {
        sleep(LOOK_EVERY).await;
        let now = scheduler.used()?;
        if now.cpu - used.cpu < RESTING {
            return Ok(now);
        }
        used = now;
    }
    Ok(used)
}

/// A watch that shows pods that have a node.
struct Watched<'a> {
    place: &'a Place,
    lines: caller::Lines,
    /// What the API server has told so far.
    revision: String,
}

/// What a watch has shown.
#[derive(Default)]
struct Seen {
    placements: Placements,
    /// When the first and the last of them were shown.
    times: Option<(Instant, Instant)>,
}

async fn watch<'a>(place: &'a Place, work: &Work) -> anyhow::Result<Watched<'a>> {
    let list: Value = serde_json::from_slice(&ask(&mut Caller::connect(place).await?, &pods()).await?)?;
    let made = list["items"].as_array().map_or(0, Vec::len);
    ensure!(made == work.pods, "{} pods were made, and {made} are there", work.pods);
    let revision = list["metadata"]["resourceVersion"].as_str().context("a list has a revision")?.to_owned();
    let lines = watch_from(place, &revision).await?;
    Ok(Watched { place, lines, revision })
}

fn pods() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

async fn watch_from(place: &Place, revision: &str) -> anyhow::Result<caller::Lines> {
    let path = format!("{}?watch=1&fieldSelector=spec.nodeName!%3D&resourceVersion={revision}", pods());
    let lines = Caller::connect(place).await?.lines(&path).await?;
    ensure!(lines.code() == 200, "the watch was answered with {}", lines.code());
    Ok(lines)
}

impl Watched<'_> {
    /// Looks until so many pods have a node, or it is over.
    async fn until(mut self, pods: usize, deadline: Instant) -> anyhow::Result<Seen> {
        let mut seen = Seen::default();
        while seen.placements.len() < pods && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = timeout(left, self.lines.line()).await else { break };
            let Some(line) = line? else {
                // A server that is busy closes a watch whose reader falls behind, and remembers what came after.
                self.lines = watch_from(self.place, &self.revision).await?;
                continue;
            };
            let pod: Value = serde_json::from_slice(&line)?;
            let pod = &pod["object"];
            let number = |name: &Value| name.as_str()?.rsplit('-').next()?.parse().ok();
            let (Some(name), Some(node), Some(revision)) = (
                number(&pod["metadata"]["name"]),
                number(&pod["spec"]["nodeName"]),
                pod["metadata"]["resourceVersion"].as_str(),
            ) else {
                bail!("the watch said {}", String::from_utf8_lossy(&line));
            };
            revision.clone_into(&mut self.revision);
            let now = Instant::now();
            if seen.placements.insert(name, node).is_none() {
                seen.times = Some((seen.times.map_or(now, |(first, _)| first), now));
            }
        }
        Ok(seen)
    }
}
