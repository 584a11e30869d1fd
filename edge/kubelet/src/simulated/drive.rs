//! The loop of all simulated nodes: facts come in, deeds are done when their time has come.
//!
//! Invariant: a pod or node has at most one deed under way, and one that failed is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Answer, Connection, Event, Patch, Resource, Selectors};
use model::timestamp::Timestamp;
use objects::coordination::Lease;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::phases::{self, Deed};
use super::{Complaints, SIMULATED, Times, report};

/// How many facts may wait; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// How many deeds may be under way.
const DEEDS_MAX: usize = 64;

/// How long a pod or a node is left alone after something went wrong with it.
const REST: Duration = Duration::from_millis(500);

enum Fact {
    Node(Box<Event<Node>>),
    Pod(Box<Event<Pod>>),
}

/// What a deed is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Subject {
    /// A node, by name.
    Node(String),
    /// A pod, by namespace and name.
    Pod(String, String),
}

/// All simulated nodes and their pods.
struct Drive {
    times: Times,
    nodes: BTreeMap<String, Arc<Node>>,
    pods: BTreeMap<(String, String), Arc<Pod>>,
    /// What is to be looked at when.
    due: BTreeSet<(Instant, Subject)>,
    /// When each is to be looked at, to find it in `due`.
    at: BTreeMap<Subject, Instant>,
    busy: BTreeSet<Subject>,
}

/// Simulates nodes without end.
pub(crate) async fn drive(connection: &Connection, times: Times, complaints: &Complaints) {
    let (sender, mut inbox) = channel(INBOX_MAX);
    let mut streams = JoinSet::new();
    let from = || connection.clone();
    let node = |event| Fact::Node(Box::new(event));
    streams.spawn(from().follow(Resource::named("nodes"), Selectors::default(), node, sender.clone()));
    let placed = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
    let pod = |event| Fact::Pod(Box::new(event));
    streams.spawn(from().follow(Resource::named("pods"), placed, pod, sender));
    let (nodes, pods) = (BTreeMap::new(), BTreeMap::new());
    let (due, at, busy) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    let mut drive = Drive { times, nodes, pods, due, at, busy };
    let mut deeds: JoinSet<(Subject, Result<(), String>)> = JoinSet::new();
    loop {
        while drive.busy.len() < DEEDS_MAX {
            let Some(subject) = drive.take_due() else { break };
            drive.begin(subject, connection, &mut deeds);
        }
        let next = drive.due.first().filter(|_| drive.busy.len() < DEEDS_MAX).map(|(time, _)| *time);
        tokio::select! {
            Some(fact) = inbox.recv() => drive.take(fact),
            Some(done) = deeds.join_next() => {
                let (subject, result) = done.expect("deeds do not panic, and nobody cancels them");
                drive.busy.remove(&subject);
                match result {
                    Ok(()) => drive.plan(&subject, Duration::ZERO),
                    Err(why) => {
                        complaints(&why);
                        drive.plan(&subject, REST);
                    }
                }
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}

impl Drive {
    fn take(&mut self, fact: Fact) {
        match fact {
            Fact::Node(event) => self.take_node(*event),
            Fact::Pod(event) => self.take_pod(*event),
        }
    }

    fn take_node(&mut self, event: Event<Node>) {
        let gone = match event {
            Event::Applied(node) if node.metadata.annotations.contains_key(SIMULATED) => {
                let name = node.metadata.name.clone();
                if self.nodes.insert(name.clone(), Arc::new(node)).is_some() {
                    // It is looked at with each sign of life anyway.
                    return;
                }
                self.look_at(Subject::Node(name.clone()), Instant::now());
                let on_node = |pod: &&Arc<Pod>| pod.spec.node_name == name;
                let pods: Vec<Subject> = self.pods.values().filter(on_node).map(|pod| subject(pod)).collect();
                pods.iter().for_each(|pod| self.plan(pod, Duration::ZERO));
                return;
            }
            Event::Applied(node) | Event::Deleted(node) => node.metadata.name,
            Event::Vanished(gone) => gone.name,
            _ => return,
        };
        self.nodes.remove(&gone);
    }

    fn take_pod(&mut self, event: Event<Pod>) {
        let gone = match event {
            Event::Applied(pod) => {
                let subject = subject(&pod);
                let key = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
                self.pods.insert(key, Arc::new(pod));
                return self.plan(&subject, Duration::ZERO);
            }
            Event::Deleted(pod) => (pod.metadata.namespace, pod.metadata.name),
            Event::Vanished(gone) => (gone.namespace, gone.name),
            _ => return,
        };
        self.pods.remove(&gone);
    }

    /// Plans what is next for a pod or a node, not before `rest` has passed.
    fn plan(&mut self, subject: &Subject, rest: Duration) {
        if self.busy.contains(subject) {
            return;
        }
        let wait = match subject {
            Subject::Node(name) if self.nodes.contains_key(name) => {
                Some(if rest.is_zero() { self.times.heartbeat } else { rest })
            }
            Subject::Node(_) => None,
            Subject::Pod(..) => self.next(subject).map(|(wait, _, _)| wait.max(rest)),
        };
        match wait {
            Some(wait) => self.look_at(subject.clone(), Instant::now() + wait),
            None => self.forget(subject),
        }
    }

    /// What is next for a pod, if it is on a node of ours.
    fn next(&self, subject: &Subject) -> Option<(Duration, Deed, Arc<Pod>)> {
        let Subject::Pod(namespace, name) = subject else { return None };
        let pod = self.pods.get(&(namespace.clone(), name.clone()))?;
        self.nodes.get(&pod.spec.node_name)?;
        let (wait, deed) = phases::next(pod, now(), self.times)?;
        Some((wait, deed, pod.clone()))
    }

    fn look_at(&mut self, subject: Subject, time: Instant) {
        self.forget(&subject);
        self.at.insert(subject.clone(), time);
        self.due.insert((time, subject));
    }

    fn forget(&mut self, subject: &Subject) {
        if let Some(time) = self.at.remove(subject) {
            self.due.remove(&(time, subject.clone()));
        }
    }

    fn take_due(&mut self) -> Option<Subject> {
        let (_, subject) = self.due.first().filter(|(time, _)| *time <= Instant::now())?.clone();
        self.forget(&subject);
        Some(subject)
    }

    fn begin(
        &mut self,
        subject: Subject,
        connection: &Connection,
        deeds: &mut JoinSet<(Subject, Result<(), String>)>,
    ) {
        let connection = connection.clone();
        match &subject {
            Subject::Node(name) => {
                let Some(node) = self.nodes.get(name).cloned() else { return };
                self.busy.insert(subject.clone());
                deeds.spawn(async move { (subject, live(&connection, &node).await) });
            }
            Subject::Pod(..) => {
                let Some((_, deed, pod)) = self.next(&subject) else { return };
                self.busy.insert(subject.clone());
                deeds.spawn(async move {
                    let done = perform(&connection, &pod, deed).await;
                    // What was done is told by the stream of pods, a moment later.
                    sleep(Duration::from_millis(20)).await;
                    (subject, done)
                });
            }
        }
    }
}

fn subject(pod: &Pod) -> Subject {
    Subject::Pod(pod.metadata.namespace.clone(), pod.metadata.name.clone())
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A node's sign of life, and that it is ready if it has not said so.
async fn live(connection: &Connection, node: &Node) -> Result<(), String> {
    if let Some(ready) = report::ready(node, now()) {
        let nodes = Resource::<Node>::named("nodes");
        let name = &node.metadata.name;
        answered(connection.patch_status(&nodes, name, &Patch::Strategic, &ready).await)?;
    }
    let leases = Resource::<Lease>::named("leases").within(report::LEASES);
    let name = &node.metadata.name;
    match connection.patch(&leases, name, &Patch::Merge, &report::renewal(node, now())).await {
        Answer::NotFound(_) => answered(connection.create(&leases, &report::lease(node, now())).await),
        answer => answered(answer),
    }
}

async fn perform(connection: &Connection, pod: &Pod, deed: Deed) -> Result<(), String> {
    let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
    let name = &pod.metadata.name;
    match phases::said(pod, deed, now()) {
        Some(said) => answered(connection.patch_status(&pods, name, &Patch::Strategic, &said).await),
        None => {
            let uid = Some(pod.metadata.uid.clone());
            let options = DeleteOptions {
                grace_period_seconds: Some(0),
                preconditions: Some(Preconditions { uid, ..Preconditions::default() }),
                ..DeleteOptions::default()
            };
            answered(connection.delete(&pods, name, &options).await)
        }
    }
}

/// Whoever was faster than we were, or took the object away, will be told of.
fn answered<T>(answer: Answer<T>) -> Result<(), String> {
    match answer {
        Answer::Done(_) | Answer::Conflict(_) | Answer::NotFound(_) | Answer::AlreadyExists(_) => Ok(()),
        other => Err(other.trouble().unwrap_or_default()),
    }
}
