//! The loop of all simulated nodes: facts come in, deeds are done when their time has come.
//!
//! Invariant: a pod or node has at most one deed under way, and one that failed is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use client::{Clock, Connection, Event, Recorder, Resource, Selectors};
use controllers::simulated::phases::{self, Deed};
use controllers::simulated::{SIMULATED, Times, report};
use objects::core::node::Node;
use objects::core::pod::Pod;
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::Complaints;
use super::agenda::{Agenda, Name, Subject};
use super::deeds::{self, Undone};

/// How many facts may wait; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// How many deeds may be under way.
const DEEDS_MAX: usize = 64;

/// How long a pod or a node is left alone after something went wrong with it.
const REST: Duration = Duration::from_millis(500);

/// How long until a node looks again at the claims of a pod that it refused.
const REFUSED_AGAIN: Duration = Duration::from_secs(2);

enum Fact {
    Node(Box<Event<Node>>),
    Pod(Box<Event<Pod>>),
}

/// All simulated nodes and their pods.
struct Drive {
    connection: Connection,
    clock: Clock,
    /// Since when signs of life are counted.
    began: Instant,
    recorder: Arc<Recorder>,
    times: Times,
    nodes: BTreeMap<String, Arc<Node>>,
    pods: BTreeMap<Name, Arc<Pod>>,
    /// Pods by node.
    on: BTreeMap<String, BTreeSet<Name>>,
    agenda: Agenda,
    deeds: JoinSet<(Subject, Result<(), Undone>)>,
}

/// Simulates nodes without end.
pub(super) async fn drive(connection: &Connection, times: Times, complaints: &Complaints) {
    let (sender, mut inbox) = channel(INBOX_MAX);
    let mut streams = JoinSet::new();
    let from = || connection.clone();
    let node = |event| Fact::Node(Box::new(event));
    streams.spawn(from().follow(Resource::named("nodes"), Selectors::default(), node, sender.clone()));
    let placed = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
    let pod = |event| Fact::Pod(Box::new(event));
    streams.spawn(from().follow(Resource::named("pods"), placed, pod, sender));
    let clock = Clock::start();
    let mut drive = Drive {
        connection: connection.clone(),
        clock,
        began: Instant::now(),
        recorder: Arc::new(Recorder::start(connection.clone(), clock)),
        times,
        nodes: BTreeMap::new(),
        pods: BTreeMap::new(),
        on: BTreeMap::new(),
        agenda: Agenda::default(),
        deeds: JoinSet::new(),
    };
    loop {
        while drive.agenda.busy() < DEEDS_MAX {
            let Some(subject) = drive.agenda.begin(Instant::now()) else { break };
            drive.begin(subject);
        }
        let next = drive.agenda.next().filter(|_| drive.agenda.busy() < DEEDS_MAX);
        tokio::select! {
            Some(fact) = inbox.recv() => match fact {
                Fact::Node(event) => drive.take_node(*event),
                Fact::Pod(event) => drive.take_pod(*event),
            },
            Some(done) = drive.deeds.join_next() => {
                let (subject, result) = done.expect("deeds do not panic, and nobody cancels them");
                drive.end(&subject, result, complaints);
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}

impl Drive {
    fn take_node(&mut self, event: Event<Node>) {
        let gone = match event {
            Event::Applied(node) if node.metadata.annotations.contains_key(SIMULATED) => {
                return self.keep_node(node);
            }
            Event::Applied(node) | Event::Deleted(node) => node.metadata.name,
            Event::Vanished(gone) => gone.name,
            _ => return,
        };
        self.nodes.remove(&gone);
        self.agenda.forget(&Subject::Node(gone));
    }

    fn keep_node(&mut self, node: Node) {
        let name = node.metadata.name.clone();
        let has_said = report::ready(&node, self.clock.now()).is_none();
        let before = self.nodes.insert(name.clone(), Arc::new(node));
        // A node that was there before lives on as it did; one that is told otherwise, or is new, does something about it.
        let now = &self.nodes[&name].metadata;
        let is_otherwise =
            before.as_ref().is_none_or(|before| before.metadata.annotations != now.annotations);
        if is_otherwise {
            let pods: Vec<Name> = self.on.get(&name).into_iter().flatten().cloned().collect();
            pods.into_iter().for_each(|pod| self.plan(&Subject::Pod(pod), Duration::ZERO));
        }
        let subject = Subject::Node(name);
        if !has_said {
            self.agenda.by(&subject, Instant::now());
        } else if is_otherwise {
            self.plan(&subject, Duration::ZERO);
        }
    }

    fn take_pod(&mut self, event: Event<Pod>) {
        let gone = match event {
            Event::Applied(pod) => return self.keep_pod(pod),
            Event::Deleted(pod) => (pod.metadata.namespace, pod.metadata.name),
            Event::Vanished(gone) => (gone.namespace, gone.name),
            _ => return,
        };
        self.forget_pod(&gone);
    }

    fn keep_pod(&mut self, pod: Pod) {
        let name = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
        if self.pods.get(&name).is_some_and(|known| known.metadata.uid != pod.metadata.uid) {
            self.forget_pod(&name);
        }
        self.on.entry(pod.spec.node_name.clone()).or_default().insert(name.clone());
        self.pods.insert(name.clone(), Arc::new(pod));
        self.plan(&Subject::Pod(name), Duration::ZERO);
    }

    fn forget_pod(&mut self, name: &Name) {
        let Some(pod) = self.pods.remove(name) else { return };
        if let Some(pods) = self.on.get_mut(&pod.spec.node_name) {
            pods.remove(name);
            if pods.is_empty() {
                self.on.remove(&pod.spec.node_name);
            }
        }
        self.agenda.forget(&Subject::Pod(name.clone()));
    }

    /// Plans what is next for a pod or a node, not before `rest` has passed.
    fn plan(&mut self, subject: &Subject, rest: Duration) {
        let wait = match subject {
            Subject::Node(name) => {
                let wait = report::until_sign(name, self.began.elapsed(), self.times.heartbeat);
                self.living(name).map(|_| wait)
            }
            Subject::Pod(name) => self.next(name).map(|(wait, _, _)| wait),
        };
        match wait {
            Some(wait) => self.agenda.by(subject, Instant::now() + wait.max(rest)),
            None => self.agenda.forget(subject),
        }
    }

    /// A node of ours that has not been told to be lost.
    fn living(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name).filter(|node| report::lives(node))
    }

    /// What is next for a pod, if it is on a node of ours.
    fn next(&self, name: &Name) -> Option<(Duration, Deed, Arc<Pod>)> {
        let pod = self.pods.get(name)?;
        self.living(&pod.spec.node_name)?;
        let (wait, deed) = phases::next(pod, self.clock.now(), self.times)?;
        Some((wait, deed, pod.clone()))
    }

    /// Begins what a subject's time has come for.
    fn begin(&mut self, subject: Subject) {
        let (connection, clock) = (self.connection.clone(), self.clock);
        match &subject {
            Subject::Node(name) => {
                let Some(node) = self.living(name).cloned() else { return self.agenda.end(&subject) };
                self.deeds.spawn(async move { (subject, deeds::live(&connection, clock, &node).await) });
            }
            Subject::Pod(name) => match self.next(name) {
                Some((wait, deed, pod)) if wait.is_zero() || deed.waits_from_now() => {
                    let recorder = self.recorder.clone();
                    self.deeds.spawn(async move {
                        let done = deeds::perform(&connection, clock, &recorder, &pod, deed).await;
                        // What was done is told by the stream of pods, a moment later.
                        sleep(Duration::from_millis(20)).await;
                        (subject, done)
                    });
                }
                // It is too early for what is next by now, or there is nothing to do any more.
                _ => {
                    self.agenda.end(&subject);
                    self.plan(&subject, Duration::ZERO);
                }
            },
        }
    }

    fn end(&mut self, subject: &Subject, result: Result<(), Undone>, complaints: &Complaints) {
        self.agenda.end(subject);
        let rest = match result {
            Ok(()) => Duration::ZERO,
            Err(Undone::Refused) => REFUSED_AGAIN,
            Err(Undone::Failed(why)) => {
                complaints(&why);
                REST
            }
        };
        match subject {
            Subject::Node(_) if !rest.is_zero() => self.agenda.by(subject, Instant::now() + rest),
            _ => self.plan(subject, rest),
        }
    }
}
