//! Facts as they would be if pods and devices were otherwise, for as long as somebody looks.
//!
//! Whoever decides may think pods away, put them on nodes, take devices and give them back, and has no other way to change a fact.
//!
//! Invariant: what a trial does is undone when it is rewound, the last thing first, and when it is dropped nothing of it is left.
//! Answers about nodes that others keep are not touched: nothing has changed.

use std::ops::Deref;
use std::sync::Arc;

use model::identity::PodUid;
use model::pod::Pod;

use crate::claims::Held;
use crate::facts::Facts;
#[cfg(debug_assertions)]
use crate::ledger::Ledger;

/// Facts that can be changed for a moment.
#[derive(Debug)]
pub struct Trial<'f> {
    facts: &'f mut Facts,
    done: Vec<Done>,
    #[cfg(debug_assertions)]
    ledger: Option<Ledger>,
}

/// What was done, so that it can be undone.
#[derive(Clone, PartialEq, Debug)]
enum Done {
    Took(Vec<Held>),
    GaveBack(Vec<Held>),
    Seated(PodUid),
    Unseated(Arc<Pod>),
    Reseated(PodUid),
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
            ledger: None,
        }
    }

    /// How things are now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.done.len())
    }

    /// Undoes what was done since a moment.
    pub fn rewind(&mut self, Mark(mark): Mark) {
        while self.done.len() > mark
            && let Some(done) = self.done.pop()
        {
            self.undo(done);
        }
    }

    /// Takes devices, or takes again what was given back.
    pub fn take(&mut self, held: &[Held]) {
        if held.is_empty() {
            return;
        }
        self.note_ledger();
        self.facts.claims.take(held);
        // Whoever undoes by itself what it did last leaves nothing to be undone.
        if matches!(self.done.last(), Some(Done::GaveBack(last)) if last == held) {
            self.done.pop();
        } else {
            self.done.push(Done::Took(held.to_vec()));
        }
    }

    /// Gives devices back.
    pub fn give_back(&mut self, held: &[Held]) {
        if held.is_empty() {
            return;
        }
        self.note_ledger();
        self.facts.claims.give_back(held);
        if matches!(self.done.last(), Some(Done::Took(last)) if last == held) {
            self.done.pop();
        } else {
            self.done.push(Done::GaveBack(held.to_vec()));
        }
    }

    /// Puts a pod that is on no node on the one that it names.
    pub fn seat(&mut self, pod: Arc<Pod>) {
        debug_assert!(!self.facts.nodes.has_pod(&pod.uid), "pod {} is on a node already", pod.id);
        self.done.push(Done::Seated(pod.uid.clone()));
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
        self.facts.nodes.remove_pod(uid);
        self.done.push(Done::Unseated(pod.clone()));
        Some(pod)
    }

    /// Puts a pod back on the node that it was taken off.
    pub fn reseat(&mut self, pod: Arc<Pod>) {
        self.done.push(Done::Reseated(pod.uid.clone()));
        self.facts.nodes.apply_pod(pod);
    }

    fn undo(&mut self, done: Done) {
        match done {
            Done::Took(held) => self.facts.claims.give_back(&held),
            Done::GaveBack(held) => self.facts.claims.take(&held),
            Done::Seated(uid) => {
                self.facts.groups.unseat(&uid);
                self.facts.nodes.remove_pod(&uid);
            }
            Done::Unseated(pod) => {
                self.facts.nodes.apply_pod(pod);
            }
            Done::Reseated(uid) => {
                self.facts.nodes.remove_pod(&uid);
            }
        }
    }

    /// Keeps a copy of who holds what, to compare when everything is undone.
    fn note_ledger(&mut self) {
        #[cfg(debug_assertions)]
        self.ledger.get_or_insert_with(|| self.facts.claims.ledger().clone());
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.rewind(Mark(0));
        #[cfg(debug_assertions)]
        if let Some(before) = &self.ledger {
            debug_assert!(*before == *self.facts.claims.ledger(), "a trial that ended holds nothing");
        }
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
