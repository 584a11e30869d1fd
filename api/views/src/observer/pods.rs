//! What becomes of pods: they wait, get nodes, are evicted and go.

use std::sync::Arc;

use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Note, Observer};
use crate::decisions::{Decided, Decision};
use crate::waiting::{PodNote, Told, WaitingPod};

impl Observer {
    /// Takes note of a pod before the engine is told of it.
    pub(super) fn take_pod(&mut self, now: Timestamp, pod: &Arc<Pod>, note: Note) {
        let note = match note {
            Note::Pod(note) => note,
            Note::Nothing | Note::Claim(_) => PodNote::default(),
        };
        if pod.finished || !self.names(&pod.id.namespace) {
            return self.forget_pod(&pod.uid);
        }
        if let Some(told) = &note.disrupted
            && self.evicted.insert(pod.uid.clone())
        {
            self.decide(now, Decided::Evicted, pod, Some(told));
        }
        let had_node = self.engine.facts().nodes.has_pod(&pod.uid);
        match &pod.node {
            Some(_) => {
                let waited = self.waiting.remove(&pod.uid);
                if waited.is_some() || !had_node {
                    self.decide(now, Decided::Scheduled, pod, note.scheduled.as_ref());
                }
            }
            None => {
                let told = note.scheduled.as_ref().filter(|told| !told.holds);
                let known = self.waiting.get(&pod.uid).and_then(|known| known.note.scheduled.as_ref());
                let is_news = told.map(|told| &told.message) != known.map(|known| &known.message);
                if let Some(told) = told.filter(|told| is_news && &*told.reason != "SchedulingGated") {
                    self.decide(now, Decided::Unschedulable, pod, Some(told));
                }
                self.waiting.insert(pod.uid.clone(), WaitingPod { pod: pod.clone(), note });
            }
        }
    }

    /// A pod is over.
    pub(super) fn forget_pod(&mut self, uid: &PodUid) {
        self.waiting.remove(uid);
        self.evicted.remove(uid);
    }

    fn decide(&mut self, now: Timestamp, what: Decided, pod: &Pod, told: Option<&Told>) {
        // Of what was decided before it was looked at, the pod says the time to the second.
        let since = told.and_then(|told| told.since).filter(|_| self.reading);
        let at = since.unwrap_or(now);
        let waited = |created: Timestamp| (at.micros() - created.micros()).max(0) / 1_000;
        let (message, waited_ms) = match what {
            Decided::Scheduled => (None, pod.created.map(waited)),
            _ => (told.map(|told| told.message.clone()).filter(|text| !text.is_empty()), None),
        };
        self.decisions.push(Decision {
            at,
            what,
            kind: "Pod",
            namespace: pod.id.namespace.clone(),
            name: pod.id.name.clone(),
            node: pod.node.clone(),
            devices: Vec::new(),
            message,
            waited_ms,
        });
    }
}
