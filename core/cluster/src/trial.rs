//! Facts as they would be if pods and devices were otherwise, for as long as somebody looks.
//!
//! Whoever decides may think pods away, put them on nodes, take devices and give them back, and has no other way to change a fact.
//!
//! Invariant: what a trial does is undone when it is rewound, the last thing first, and when it is dropped nothing of it is left.
//! Answers about nodes that others keep are not touched: nothing has changed. Debug builds keep what each step changes as it was
//! before, and compare it when the step is undone.

#[cfg(debug_assertions)]
mod before;

use std::ops::Deref;
use std::sync::Arc;

use model::identity::PodUid;
use model::pod::Pod;
use model::volume::VolumeClaimId;

use crate::claims::Held;
use crate::facts::Facts;
use crate::volumes::VolumePlan;
#[cfg(debug_assertions)]
use before::Before;

/// Facts that can be changed for a moment.
#[derive(Debug)]
pub struct Trial<'f> {
    facts: &'f mut Facts,
    done: Vec<Done>,
    /// What each of these changed, as it was before.
    #[cfg(debug_assertions)]
    before: Vec<Before>,
}

/// What was done, so that it can be undone.
#[derive(Clone, PartialEq, Debug)]
enum Done {
    Took(Vec<Held>),
    GaveBack(Vec<Held>),
    Seated(Arc<Pod>),
    Unseated(Arc<Pod>),
    Reseated(Arc<Pod>),
    Planned(PodUid, VolumeClaimId),
}

/// A moment of a trial, to which it can be rewound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark(usize);

impl Deref for Trial<'_> {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.facts
    }
}

impl<'f> Trial<'f> {
    /// Nothing is otherwise yet.
    pub fn new(facts: &'f mut Facts) -> Trial<'f> {
        Trial {
            facts,
            done: Vec::new(),
            #[cfg(debug_assertions)]
            before: Vec::new(),
        }
    }

    /// How things are now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.done.len())
    }

    /// Undoes what was done since a moment.
    pub fn rewind(&mut self, Mark(mark): Mark) {
        while self.done.len() > mark {
            self.rewind_one();
        }
    }

    /// Undoes what was done last.
    fn rewind_one(&mut self) {
        let Some(done) = self.done.pop() else { return };
        #[cfg(debug_assertions)]
        let (step, before) = (done.clone(), self.before.pop());
        self.undo(done);
        #[cfg(debug_assertions)]
        assert_eq!(before, Some(self.before(&step)), "what is undone leaves nothing: {step:?}");
    }

    /// Writes down what is about to be done.
    fn note(&mut self, done: Done) {
        #[cfg(debug_assertions)]
        self.before.push(self.before(&done));
        self.done.push(done);
    }

    /// What a step changes, as it is now.
    #[cfg(debug_assertions)]
    fn before(&self, done: &Done) -> Before {
        match done {
            Done::Took(held) | Done::GaveBack(held) => Before::devices(held, self.facts),
            Done::Seated(pod) | Done::Unseated(pod) | Done::Reseated(pod) => Before::pod(pod, self.facts),
            Done::Planned(_, claim) => Before::plan(claim, self.facts),
        }
    }

    /// Takes devices, or takes again what was given back.
    pub fn take(&mut self, held: &[Held]) {
        if held.is_empty() {
            return;
        }
        // Whoever undoes by itself what it did last leaves nothing to be undone.
        if matches!(self.done.last(), Some(Done::GaveBack(last)) if last == held) {
            return self.rewind_one();
        }
        self.note(Done::Took(held.to_vec()));
        self.facts.claims.take(held);
    }

    /// Gives devices back.
    pub fn give_back(&mut self, held: &[Held]) {
        if held.is_empty() {
            return;
        }
        if matches!(self.done.last(), Some(Done::Took(last)) if last == held) {
            return self.rewind_one();
        }
        self.note(Done::GaveBack(held.to_vec()));
        self.facts.claims.give_back(held);
    }

    /// Puts a pod that is on no node on the one that it names.
    pub fn seat(&mut self, pod: Arc<Pod>) {
        debug_assert!(!self.facts.nodes.has_pod(&pod.uid), "pod {} is on a node already", pod.id);
        self.note(Done::Seated(pod.clone()));
        self.facts.groups.seat(&pod);
        self.facts.nodes.apply_pod(pod);
    }

    /// Takes a pod off its node, and tells which it was. One on a node that is not known stays: the number of such a node could be
    /// given to another, and nobody looks at it anyway.
    pub fn unseat(&mut self, uid: &str) -> Option<Arc<Pod>> {
        let (at, pod) = self.facts.nodes.pod(uid)?;
        let (is_known, pod) = (self.facts.nodes.get(at).node.is_some(), pod.clone());
        if !is_known {
            return None;
        }
        self.note(Done::Unseated(pod.clone()));
        self.facts.nodes.remove_pod(uid);
        Some(pod)
    }

    /// Puts a pod back on the node that it was taken off.
    pub fn reseat(&mut self, pod: Arc<Pod>) {
        self.note(Done::Reseated(pod.clone()));
        self.facts.nodes.apply_pod(pod);
    }

    /// Plans a volume for a pod.
    pub fn plan(&mut self, pod: &PodUid, plan: &VolumePlan) {
        self.note(Done::Planned(pod.clone(), plan.claim.id.clone()));
        Arc::make_mut(&mut self.facts.volumes).plan(pod, plan);
    }

    fn undo(&mut self, done: Done) {
        match done {
            Done::Planned(pod, claim) => Arc::make_mut(&mut self.facts.volumes).unplan(&pod, &claim),
            Done::Took(held) => self.facts.claims.give_back(&held),
            Done::GaveBack(held) => self.facts.claims.take(&held),
            Done::Seated(pod) => {
                self.facts.groups.unseat(&pod.uid);
                self.facts.nodes.remove_pod(&pod.uid);
            }
            Done::Unseated(pod) => {
                self.facts.nodes.apply_pod(pod);
            }
            Done::Reseated(pod) => {
                self.facts.nodes.remove_pod(&pod.uid);
            }
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.rewind(Mark(0));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::claim::ClaimId;
    use model::device::DeviceId;
    use model::node::Node;
    use model::pod::PodId;

    use super::*;
    use crate::ledger::{Holder, Holding};

    fn held(claim: &str, device: &str) -> Vec<Held> {
        let id = ClaimId { namespace: "default".into(), name: claim.into() };
        let device = DeviceId { driver: "d".into(), pool: "p".into(), device: device.into() };
        let (groups, consumed) = (BTreeMap::new(), BTreeMap::new());
        let holding = Holding { holder: Holder::Assumed(id), groups, consumed };
        vec![Held { device, share: None, holding, tolerations: Vec::new() }]
    }

    fn pod(name: &str, node: &str) -> Arc<Pod> {
        let id = PodId { namespace: "default".into(), name: name.into() };
        Arc::new(Pod { id, uid: name.into(), node: Some(node.into()), ..Pod::default() })
    }

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.apply_node(Node { name: "a".into(), pods_max: 10, ..Node::default() });
        facts.put_pod(pod("there", "a"));
        facts.claims.take(&held("known", "gpu-0"));
        facts
    }

    fn pods(facts: &Facts) -> Vec<String> {
        let nodes = facts.nodes.iter().flat_map(|(_, state)| state.pods.keys());
        nodes.map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_dropped_leaves_everything_as_it_was() {
        let mut facts = facts();
        let before = facts.claims.ledger().clone();
        {
            let mut trial = Trial::new(&mut facts);
            trial.give_back(&held("known", "gpu-0"));
            trial.take(&held("other", "gpu-0"));
            assert!(trial.unseat("there").is_some() && trial.unseat("nobody").is_none());
            trial.seat(pod("new", "a"));
            assert_eq!(pods(&trial), ["new"]);
        }
        assert_eq!(pods(&facts), ["there"]);
        assert_eq!(*facts.claims.ledger(), before);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "what is undone leaves nothing")]
    fn a_step_that_cannot_be_undone_is_noticed_at_a_mark() {
        let mut facts = facts();
        facts.claims.take(&held("one", "gpu-1"));
        let mut trial = Trial::new(&mut facts);
        let mark = trial.mark();
        // It holds the device already, and would give it back.
        trial.take(&held("one", "gpu-1"));
        trial.rewind(mark);
    }

    #[test]
    fn a_mark_is_a_moment_to_come_back_to() {
        let mut facts = facts();
        let mut trial = Trial::new(&mut facts);
        trial.take(&held("one", "gpu-1"));
        let mark = trial.mark();
        trial.take(&held("two", "gpu-2"));
        trial.seat(pod("new", "a"));
        trial.rewind(mark);
        assert_eq!(pods(&trial), ["there"]);
        assert_eq!(trial.claims.ledger().len(), 2);
        trial.give_back(&held("one", "gpu-1"));
        assert_eq!(trial.mark(), Mark(0), "what is undone at once is not undone again");
    }
}
