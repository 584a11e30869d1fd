//! What simulated nodes do about themselves and their pods, and when: one step from what was heard to what is to be done.
//!
//! | heard | then |
//! |---|---|
//! | a node that is simulated and new, or is told otherwise | it gives a sign of life in its moment, and its pods are looked at |
//! | a simulated node that has not said whether it is ready | it does so at once |
//! | a node that is simulated no more, or gone | nothing is done for it any more, nor for its pods |
//! | a pod on such a node | what `phases` says is done in its time |
//! | a deed ended | what is next; if it failed or was refused, not before a rest |
//!
//! Invariant: a pod or node has at most one deed under way, so many are under way at once at most, and one that failed is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use controllers::simulated::phases::{self, Deed};
use controllers::simulated::{SIMULATED, Times, report};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::core::pod::Pod;

use super::agenda::{Agenda, Name, Subject};

/// How many deeds may be under way.
const DEEDS_MAX: usize = 64;

/// How long a pod or a node is left alone after something went wrong with it.
const REST: Duration = Duration::from_millis(500);

/// How long until a node looks again at the claims of a pod that it refused.
const REFUSED_AGAIN: Duration = Duration::from_secs(2);

/// Something that was heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// A node is new or has changed, be it simulated or not.
    NodeApplied(Arc<Node>),
    NodeGone(String),
    /// A pod that has a node is new or has changed.
    PodApplied(Arc<Pod>),
    PodGone(Name),
    /// A deed ended.
    Ended(Subject, Outcome),
    /// Time has passed.
    Time,
}

/// What came of a deed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Done,
    /// The node refuses to start the pod for now.
    Refused,
    /// It went wrong.
    Failed,
}

/// A deed that begins. Its end is to be told.
#[derive(Debug)]
pub(super) enum Begin {
    /// A node gives a sign of life.
    Live(Arc<Node>),
    /// Something becomes of a pod.
    Perform(Arc<Pod>, Deed),
}

/// All simulated nodes and their pods.
pub(super) struct Fleet {
    times: Times,
    /// Since when signs of life are counted.
    began: Timestamp,
    nodes: BTreeMap<String, Arc<Node>>,
    pods: BTreeMap<Name, Arc<Pod>>,
    /// Pods by node.
    on: BTreeMap<String, BTreeSet<Name>>,
    agenda: Agenda,
}

impl Fleet {
    pub(super) fn new(times: Times, now: Timestamp) -> Self {
        let (nodes, pods, on) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { times, began: now, nodes, pods, on, agenda: Agenda::default() }
    }

    /// When there is something to do, even if nothing is heard until then.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.agenda.next().filter(|_| self.agenda.busy() < DEEDS_MAX)
    }

    /// Hears something, and says what is to be done.
    pub(super) fn step(&mut self, now: Timestamp, heard: Heard) -> Vec<(Subject, Begin)> {
        match heard {
            Heard::NodeApplied(node) if node.metadata.annotations.contains_key(SIMULATED) => {
                self.keep_node(now, node);
            }
            Heard::NodeApplied(node) => self.forget_node(node.metadata.name.clone()),
            Heard::NodeGone(name) => self.forget_node(name),
            Heard::PodApplied(pod) => self.keep_pod(now, pod),
            Heard::PodGone(name) => self.forget_pod(&name),
            Heard::Ended(subject, outcome) => self.end(now, &subject, outcome),
            Heard::Time => {}
        }
        let mut begun = Vec::new();
        while self.agenda.busy() < DEEDS_MAX {
            let Some(subject) = self.agenda.begin(now) else { break };
            begun.extend(self.begin(now, subject));
        }
        begun
    }

    fn forget_node(&mut self, name: String) {
        self.nodes.remove(&name);
        self.agenda.forget(&Subject::Node(name));
    }

    fn keep_node(&mut self, now: Timestamp, node: Arc<Node>) {
        let name = node.metadata.name.clone();
        let has_said = report::ready(&node, now).is_none();
        let before = self.nodes.insert(name.clone(), node);
        // A node that was there before lives on as it did; one that is told otherwise, or is new, does something about it.
        let told = &self.nodes[&name].metadata.annotations;
        let is_otherwise = before.as_ref().is_none_or(|before| before.metadata.annotations != *told);
        if is_otherwise {
            let pods: Vec<Name> = self.on.get(&name).into_iter().flatten().cloned().collect();
            pods.into_iter().for_each(|pod| self.plan(now, &Subject::Pod(pod), Duration::ZERO));
        }
        let subject = Subject::Node(name);
        if !has_said {
            self.agenda.by(&subject, now);
        } else if is_otherwise {
            self.plan(now, &subject, Duration::ZERO);
        }
    }

    fn keep_pod(&mut self, now: Timestamp, pod: Arc<Pod>) {
        let name = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
        if self.pods.get(&name).is_some_and(|known| known.metadata.uid != pod.metadata.uid) {
            self.forget_pod(&name);
        }
        self.on.entry(pod.spec.node_name.clone()).or_default().insert(name.clone());
        self.pods.insert(name.clone(), pod);
        self.plan(now, &Subject::Pod(name), Duration::ZERO);
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
    fn plan(&mut self, now: Timestamp, subject: &Subject, rest: Duration) {
        let wait = match subject {
            Subject::Node(name) => {
                let since = u64::try_from(now.micros().saturating_sub(self.began.micros())).unwrap_or(0);
                let wait = report::until_sign(name, Duration::from_micros(since), self.times.heartbeat);
                self.living(name).map(|_| wait)
            }
            Subject::Pod(name) => self.next(now, name).map(|(wait, _, _)| wait),
        };
        match wait {
            Some(wait) => self.agenda.by(subject, now.plus(wait.max(rest))),
            None => self.agenda.forget(subject),
        }
    }

    /// A node of ours that has not been told to be lost.
    fn living(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name).filter(|node| report::lives(node))
    }

    /// What is next for a pod, if it is on a node of ours.
    fn next(&self, now: Timestamp, name: &Name) -> Option<(Duration, Deed, Arc<Pod>)> {
        let pod = self.pods.get(name)?;
        self.living(&pod.spec.node_name)?;
        let (wait, deed) = phases::next(pod, now, self.times)?;
        Some((wait, deed, pod.clone()))
    }

    /// Begins what a subject's time has come for, if there still is something to do.
    fn begin(&mut self, now: Timestamp, subject: Subject) -> Option<(Subject, Begin)> {
        let begun = match &subject {
            Subject::Node(name) => self.living(name).cloned().map(Begin::Live),
            Subject::Pod(name) => self
                .next(now, name)
                .filter(|(wait, deed, _)| wait.is_zero() || deed.waits_from_now())
                .map(|(_, deed, pod)| Begin::Perform(pod, deed)),
        };
        if begun.is_none() {
            self.agenda.end(&subject);
            // It may be too early for what is next of a pod by now.
            if matches!(subject, Subject::Pod(_)) {
                self.plan(now, &subject, Duration::ZERO);
            }
        }
        begun.map(|begun| (subject, begun))
    }

    fn end(&mut self, now: Timestamp, subject: &Subject, outcome: Outcome) {
        self.agenda.end(subject);
        let rest = match outcome {
            Outcome::Done => Duration::ZERO,
            Outcome::Refused => REFUSED_AGAIN,
            Outcome::Failed => REST,
        };
        match subject {
            Subject::Node(_) if !rest.is_zero() => self.agenda.by(subject, now.plus(rest)),
            Subject::Node(_) | Subject::Pod(_) => self.plan(now, subject, rest),
        }
    }
}

#[cfg(test)]
mod tests;
