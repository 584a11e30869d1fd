//! The state of a cluster for commands that only look at it: from its API server, from files that kubectl wrote,
//! or from a recording.
//!
//! Invariant: nothing is written. Each kind that a scheduler follows is listed once, in pages; a kind that the caller may not
//! list is told of and does not fail the command.

mod aside;
mod live;
mod recorded;
mod saved;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;
use client::{Connection, Options};
use cluster::change::Change;
use cluster::facts::Facts;
use config::SchedulerSettings;
use decisions::considering::Snapshot;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use inventory::observed::{Namespaces, Observed};
use model::claim::ClaimId;
use model::claim_use::ClaimUse;
use model::pod::PodId;
use model::timestamp::Timestamp;
use scheduler::engine::{Engine, Input};
use scheduling::recording::UnreadableLine;
use serde_json::{Map, Value, json};
use simulation::Observation;
use views::observer::Observer;

use crate::commands::features::refusal;
use crate::commands::simulate::read_objects;
use crate::configuration;
use crate::failure::Failure;
use crate::page::{Connector, ShownCluster};
use crate::reach;

pub(crate) use self::aside::Aside;
pub(crate) use self::unread::Unread;

/// Where the state of a cluster comes from.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// Kubeconfig file; if not set, $KUBECONFIG, ~/.kube/config or the service account of the pod
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context; the current context if not set
    #[arg(long, value_name = "NAME", conflicts_with = "state")]
    context: Option<String>,
    /// Saved state to read instead of a cluster: a YAML or JSON file from kubectl, a folder of files, or - for stdin; can
    /// be repeated. Or a recording of a scheduler, or a folder of recordings
    #[arg(long, value_name = "FILE")]
    state: Vec<PathBuf>,
    /// Time at which the state was saved, such as 2026-01-02T03:04:05Z; deadlines are computed for that time. For a recording, the
    /// time to look at; its end if not set
    #[arg(long, value_name = "TIME", requires = "state", value_parser = Timestamp::parse)]
    at: Option<Timestamp>,
    /// KubeSchedulerConfiguration file of the scheduler
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Feature gates of the scheduler, such as A=true,B=false; gates that the objects use are on by default
    #[arg(long, value_name = "SETTING", default_value = "")]
    feature_gates: String,
}

/// The namespaces of which claims and pods are named.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Show names of claims and pods of this namespace only; other devices are "in use"
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Show names of claims and pods of all readable namespaces (default)
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// Which objects of a cluster are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// Those that a scheduler follows.
    ForDecisions,
    /// Those that decide what a cluster makes of manifests as well.
    ForManifests,
}

/// The state of a cluster.
pub(crate) struct State {
    engine: Engine,
    gates: Gates,
    around: Vec<Value>,
    of_nodes: BTreeSet<PodId>,
    uses: BTreeMap<ClaimId, ClaimUse>,
    claims: Namespaces,
    namespace: String,
    unread: Unread,
    /// Pods that the scheduler leaves alone.
    asides: BTreeMap<PodId, Aside>,
}

/// Objects of a cluster, and what of them could not be had.
pub(crate) struct Gathered {
    observation: Observation,
    /// The namespaces whose claims were read.
    claims: Namespaces,
    /// The namespace of objects that are named without one.
    namespace: String,
    unread: Unread,
}

impl Source {
    /// Reads the state. If the caller may not list all namespaces, this one is read as well. Objects that
    /// could not be read are reported to `complaints`.
    pub(crate) fn read(&self, namespace: Option<&str>, complaints: &mut dyn Write) -> Result<State, Failure> {
        self.read_with(namespace, Wanted::ForDecisions, &[], BTreeSet::new(), complaints)
    }

    /// The same with what decides about manifests, with these features set too, such as `X=true`, and with those that manifests
    /// use.
    pub(crate) fn read_for_manifests(
        &self,
        namespace: Option<&str>,
        features: &[String],
        used: BTreeSet<Gate>,
        complaints: &mut dyn Write,
    ) -> Result<State, Failure> {
        self.read_with(namespace, Wanted::ForManifests, features, used, complaints)
    }

    fn read_with(
        &self,
        namespace: Option<&str>,
        wanted: Wanted,
        features: &[String],
        used: BTreeSet<Gate>,
        complaints: &mut dyn Write,
    ) -> Result<State, Failure> {
        if let Some(recording) = recorded::recording_of(&self.state)? {
            return self.recorded(recording, namespace, features, used, complaints);
        }
        let gathered = if self.state.is_empty() {
            self.live(namespace, wanted, complaints)?
        } else {
            self.saved(complaints)?
        };
        let named = [self.feature_gates.clone()].into_iter().filter(|named| !named.is_empty());
        let named: Vec<String> = named.chain(features.iter().cloned()).collect();
        let terms = Terms { config: self.config.as_deref(), features: named, used, at: self.at };
        State::assembled(gathered, namespace, terms)
    }

    /// The cluster that is meant, for a web page; nothing if a saved state is meant.
    pub(crate) fn cluster(&self, named: &Named) -> Result<Option<ShownCluster>, Failure> {
        if !self.state.is_empty() {
            return Ok(None);
        }
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let settings = match &self.config {
            None => SchedulerSettings::defaults(gates),
            Some(file) => configuration::read(file, gates)?,
        };
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        let connector: Connector = Arc::new(move |reach| {
            let (kubeconfig, context) = (kubeconfig.clone(), context.clone());
            Box::pin(async move {
                let options = Options { reach, ..Options::default() };
                let made = reach::connect_as_user(kubeconfig.as_deref(), context.as_deref(), &options).await;
                made.map_err(|failure| failure.to_string())
            })
        });
        Ok(Some(ShownCluster {
            connector,
            settings: scheduling::settings(&settings, gates),
            config: self.config.clone(),
            features: self.feature_gates.clone(),
            title: self.context.clone().unwrap_or_else(|| "current context".to_owned()),
            named: named.namespaces(),
            namespaces: named.namespace().map(str::to_owned).into_iter().collect(),
            sessions: None,
        }))
    }

    /// Whether the state is read from stdin.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.state.iter().any(|file| *file == *"-")
    }

    /// The state that a recording has of a moment, with the settings of the scheduler unless others are given.
    fn recorded(
        &self,
        path: &Path,
        namespace: Option<&str>,
        features: &[String],
        used: BTreeSet<Gate>,
        complaints: &mut dyn Write,
    ) -> Result<State, Failure> {
        let moment = recorded::read(path, self.at, complaints)?;
        let recorded::RecordedMoment { observation, start, at } = moment;
        let Observation { changes, uses, around, of_nodes, .. } = observation;
        let unreadable = |error: UnreadableLine| recorded::failed(path, &error.to_string());
        let named: Vec<&str> = [&*self.feature_gates].into_iter().filter(|named| !named.is_empty()).collect();
        let named = [named, features.iter().map(String::as_str).collect()].concat().join(",");
        let (given, _) = Gates::with_needed(&named, used.clone()).map_err(|error| refusal(&error))?;
        let mut gates = start.features().map_err(unreadable)?;
        if !self.feature_gates.is_empty() {
            gates = given;
        }
        let changed = features.iter().filter_map(|one| Gate::named(one.split_once('=')?.0));
        for gate in changed.chain(used) {
            gates = gates.with(gate, given.enabled(gate));
        }
        let settings = match &self.config {
            None => start.settings().map_err(unreadable)?,
            Some(file) => scheduling::settings(&configuration::read(file, gates)?, gates),
        };
        let (engine, asides) = learned(Settings { gates, ..settings }, at, changes);
        let (claims, unread) = (Namespaces::All, Unread::default());
        let namespace = namespace.unwrap_or("default").to_owned();
        Ok(State { engine, gates, around, of_nodes, uses, claims, namespace, unread, asides })
    }

    fn saved(&self, complaints: &mut dyn Write) -> Result<Gathered, Failure> {
        let (mut observation, mut kinds) = (Observation::default(), BTreeSet::new());
        for path in &self.state {
            for manifest in read_objects(path)? {
                kinds.extend(manifest.value["kind"].as_str().map(str::to_owned));
                observation.take(manifest)?;
            }
        }
        if observation.changes.is_empty() {
            return Err(Failure::Failed {
                wrong: "the saved state has no nodes, pods or other objects that the scheduler uses".to_owned(),
                hint: "save one with `kubectl get nodes,pods,resourceslices,resourceclaims,deviceclasses -A -o yaml`"
                    .to_owned(),
            });
        }
        saved::tell_missing(&observation, &kinds, complaints);
        let (claims, unread) = (Namespaces::All, Unread::default());
        Ok(Gathered { observation, claims, namespace: "default".to_owned(), unread })
    }

    fn live(
        &self,
        namespace: Option<&str>,
        wanted: Wanted,
        complaints: &mut dyn Write,
    ) -> Result<Gathered, Failure> {
        self.connected(async |connection| live::gather(connection, namespace, wanted, complaints).await)
    }

    /// Why the scheduler leaves a pod alone that is not among those of the state, if it is there nevertheless.
    pub(crate) fn aside(&self, id: &PodId, state: &State) -> Result<Option<Aside>, Failure> {
        if !self.state.is_empty() {
            return Ok(state.asides.get(id).cloned());
        }
        // Lists of pods leave finished ones out.
        let pod = self.connected(async |connection| live::pod(connection, id).await)?;
        Ok(pod.and_then(|pod| Aside::of(&pod, &state.snapshot().settings)))
    }

    fn connected<T>(&self, ask: impl AsyncFnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (kubeconfig, context) = (self.kubeconfig.as_deref(), self.context.as_deref());
            let connection = reach::connect_as_user(kubeconfig, context, &Options::default()).await?;
            ask(&connection).await
        })
    }
}

/// An engine that knows the objects of a cluster, and the pods that it leaves alone.
fn learned(settings: Settings, now: Timestamp, changes: Vec<Change>) -> (Engine, BTreeMap<PodId, Aside>) {
    let pods = changes.iter().filter_map(|change| match change {
        Change::PodApplied(pod) => Some((pod.id.clone(), Aside::of(pod, &settings)?)),
        _ => None,
    });
    let asides = pods.collect();
    let mut engine = Engine::new(settings);
    for change in changes {
        // The engine learns and is never asked to decide, so nothing has to be done.
        drop(engine.handle(now, Input::Changed(change)));
    }
    (engine, asides)
}

/// How a scheduler would see a state.
pub(crate) struct Terms<'t> {
    /// Its configuration file.
    pub(crate) config: Option<&'t Path>,
    /// Features that are set, such as `X=true`.
    pub(crate) features: Vec<String>,
    /// Features that manifests use.
    pub(crate) used: BTreeSet<Gate>,
    /// The time; now if not set.
    pub(crate) at: Option<Timestamp>,
}

impl State {
    /// The state that objects make.
    fn assembled(gathered: Gathered, namespace: Option<&str>, terms: Terms<'_>) -> Result<State, Failure> {
        let Gathered { observation, claims, namespace: of_context, unread } = gathered;
        let Terms { config, features, mut used, at } = terms;
        let namespace = namespace.unwrap_or(&of_context).to_owned();
        let Observation { changes, uses, gates: of_objects, around, of_nodes, .. } = observation;
        used.extend(of_objects);
        let (gates, _) = Gates::with_needed(&features.join(","), used).map_err(|error| refusal(&error))?;
        let settings = match config {
            None => SchedulerSettings::defaults(gates),
            Some(file) => configuration::read(file, gates)?,
        };
        let now = at.unwrap_or_else(now);
        let (engine, asides) = learned(scheduling::settings(&settings, gates), now, changes);
        Ok(State { engine, gates, around, of_nodes, uses, claims, namespace, unread, asides })
    }

    /// The state of a cluster with what decides about manifests, read over a connection.
    pub(crate) async fn of_cluster(
        connection: &Connection,
        namespace: Option<&str>,
        terms: Terms<'_>,
        complaints: &mut dyn Write,
    ) -> Result<State, Failure> {
        let gathered = live::gather(connection, namespace, Wanted::ForManifests, complaints).await?;
        State::assembled(gathered, namespace, terms)
    }

    /// What is known of the cluster.
    pub(crate) fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// The cluster, with names of these namespaces.
    pub(crate) fn observed<'s>(&'s self, named: &'s Namespaces) -> Observed<'s> {
        Observed { facts: self.facts(), uses: &self.uses, claims: &self.claims, named }
    }

    /// What the scheduler would decide from.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// What of the cluster could not be read.
    pub(crate) fn unread(&self) -> &Unread {
        &self.unread
    }

    /// The state for a web page, with names of these namespaces.
    pub(crate) fn into_observer(self, named: Namespaces) -> Observer {
        Observer::still(self.engine, self.uses, self.claims, named, &BTreeMap::new())
    }

    /// The features of the cluster.
    pub(crate) fn gates(&self) -> Gates {
        self.gates
    }

    /// Objects that decide what the cluster makes of manifests.
    pub(crate) fn around(&self) -> &[Value] {
        &self.around
    }

    /// Nodes as objects, with what decides on which of them pods of DaemonSets run.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Value> {
        self.facts().nodes.iter().filter_map(|(_, state)| state.node.as_ref()).map(|node| {
            let taints = node.taints.iter().map(
                |taint| json!({ "key": &*taint.key, "value": &*taint.value, "effect": taint.effect.name() }),
            );
            let labels = node.labels.iter().map(|(key, value)| (key.to_string(), Value::from(&**value)));
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": &*node.name, "labels": labels.collect::<Map<_, _>>() },
                "spec": { "taints": taints.collect::<Vec<_>>() },
            })
        })
    }

    /// Pods that belong to their nodes, as those of DaemonSets do.
    pub(crate) fn of_nodes(&self) -> &BTreeSet<PodId> {
        &self.of_nodes
    }

    /// When a claim got its devices, if it says so.
    pub(crate) fn allocated_at(&self, id: &ClaimId) -> Option<Timestamp> {
        self.uses.get(id).and_then(|used| used.since)
    }

    /// The namespaces that have a claim of this name.
    pub(crate) fn namespaces_of_claim(&self, name: &str) -> impl Iterator<Item = &str> {
        self.uses.keys().filter(move |known| &*known.name == name).map(|known| &*known.namespace)
    }

    /// The claim of the namespace whose name is nearest.
    pub(crate) fn nearest_claim(&self, id: &ClaimId) -> Option<&str> {
        let known = self.uses.keys().filter(|known| known.namespace == id.namespace);
        model::nearest::near(&id.name, known.map(|known| &*known.name))
    }

    /// The namespace of objects that are named without one.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }
}

impl Named {
    /// The one namespace, if there is one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The namespaces.
    pub(crate) fn namespaces(&self) -> Namespaces {
        match &self.namespace {
            None => Namespaces::All,
            Some(name) => Namespaces::Only(BTreeSet::from([Arc::from(name.as_str())])),
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
