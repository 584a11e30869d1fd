//! What the conditions of pods say of the drivers that they wait for: nothing if drivers answer soon.
//!
//! Invariant: a pod that waits is told after [`ANSWERS_WITHIN_MS`], and then what it waits for by that time. Facts alone write nothing: it
//! is said with a turn.

use std::collections::{BTreeMap, BTreeSet};

use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::write::{WaitReason, Write};

/// How long drivers may take before it is worth a write to tell which pods wait for them.
const ANSWERS_WITHIN_MS: i64 = 1_000;

/// Sentences that have yet to be written.
#[derive(Debug, Default)]
pub(super) struct Unnoted {
    due: BTreeSet<(Timestamp, PodUid)>,
    sentences: BTreeMap<PodUid, (Timestamp, String)>,
}

impl Unnoted {
    /// This is to be said of a pod, in place of what was to be said before.
    fn put(&mut self, pod: &PodUid, now: Timestamp, sentence: String) {
        let due = self.sentences.get(pod).map_or_else(|| now.plus_millis(ANSWERS_WITHIN_MS), |(due, _)| *due);
        self.due.insert((due, pod.clone()));
        self.sentences.insert(pod.clone(), (due, sentence));
    }

    /// Nothing is to be said of a pod.
    pub(super) fn forget(&mut self, pod: &str) {
        if let Some((uid, (due, _))) = self.sentences.remove_entry(pod) {
            self.due.remove(&(due, uid));
        }
    }

    fn pop(&mut self, now: Timestamp) -> Option<(PodUid, String)> {
        let (_, uid) = self.due.first().filter(|(due, _)| *due <= now)?.clone();
        let (due, sentence) = self.sentences.remove(&uid)?;
        self.due.remove(&(due, uid.clone()));
        Some((uid, sentence))
    }
}

impl Engine {
    /// The condition of a pod is to say what of drivers it waits for, unless that is over soon.
    pub(super) fn note_wait(&mut self, pod: &Pod, sentence: String) {
        self.negotiations.unnoted.put(&pod.uid, self.now, sentence);
    }

    /// Says of pods what they wait for, if they do so for some time.
    pub(crate) fn note_waits(&mut self, now: Timestamp) {
        while let Some((uid, message)) = self.negotiations.unnoted.pop(now) {
            let waits = self.negotiations.waits.contains_key(&uid) && !self.bindings.has(&uid);
            let pod = self.facts.waiting.get(&uid).filter(|pod| waits && pod.node.is_none()).cloned();
            let Some(pod) = pod else { continue };
            self.queue.forget_told(&self.facts.groups.key_of(&pod));
            let (id, reason) = (pod.id.clone(), WaitReason::Negotiating);
            self.outbox.submit(Write::Note { pod: id, uid, reason, message });
        }
    }

    /// When the condition of a pod is to say what it waits for.
    pub(crate) fn next_wait_noted(&self) -> Option<Timestamp> {
        self.negotiations.unnoted.due.first().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_waits_for_last_is_told_at_the_time_at_which_it_began_to_wait() {
        let at = |millis: i64| Timestamp::from_micros(0).plus_millis(millis);
        let mut unnoted = Unnoted::default();
        let (a, b): (PodUid, PodUid) = ("a".into(), "b".into());
        unnoted.put(&a, at(0), "first".to_owned());
        unnoted.put(&a, at(900), "second".to_owned());
        unnoted.put(&b, at(500), "other".to_owned());
        assert_eq!(unnoted.pop(at(999)), None);
        assert_eq!(unnoted.pop(at(1_000)), Some((a.clone(), "second".to_owned())));
        unnoted.put(&a, at(1_000), "third".to_owned());
        unnoted.forget("b");
        assert_eq!(unnoted.pop(at(1_900)), None);
        assert_eq!(unnoted.pop(at(2_000)), Some((a, "third".to_owned())));
        assert!(unnoted.due.is_empty() && unnoted.sentences.is_empty());
    }
}
