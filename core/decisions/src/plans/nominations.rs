//! Nominations: pods for which room is being made on a node, and the pods that were preempted for them.
//!
//! Invariant: the devices that are planned for a nominee are in the ledger with the nominee as their holder, except while a pod is
//! looked at to which they do not matter: the nominee itself, and pods that are more important.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Held;
use cluster::nodes::has_rules;
use model::claim::ClaimId;
use model::identity::{ClaimUid, NodeName, PodUid};
use model::pod::{Pod, PodTerm};

/// Room that is being made for a pod.
#[derive(Clone, Debug)]
pub struct Nomination {
    /// The node.
    pub node: NodeName,
    /// The pod.
    pub pod: Arc<Pod>,
    /// The devices that it will get, under holders of its own.
    pub planned: Vec<Held>,
    /// The pods that go for it, by uid.
    pub victims: BTreeSet<PodUid>,
    /// The claims that give devices back when these are gone, with their uids.
    pub freeing: Vec<(ClaimId, ClaimUid)>,
}

impl Nomination {
    /// Room on a node, with nothing known of how it is made.
    pub fn new(node: NodeName, pod: Arc<Pod>) -> Nomination {
        Nomination { node, pod, planned: Vec::new(), victims: BTreeSet::new(), freeing: Vec::new() }
    }
}

/// All nominations.
#[derive(Clone, Debug, Default)]
pub struct Nominations {
    pub(crate) by_pod: BTreeMap<PodUid, Nomination>,
    by_node: BTreeMap<NodeName, BTreeSet<PodUid>>,
    /// Nominees with planned devices, by priority.
    pub(crate) with_plans: BTreeSet<(i32, PodUid)>,
    with_rules: usize,
    /// The pods that nominees must be apart from, and how many nominees say so.
    apart: Vec<(PodTerm, usize)>,
}

impl Nominations {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

    /// The room that is being made for a pod, by its uid.
    #[must_use]
    pub fn get(&self, uid: &str) -> Option<&Nomination> {
        if self.is_empty() { None } else { self.by_pod.get(uid) }
    }

    /// Whether a nominee has rules about which pods it must be near or apart from.
    pub fn have_rules(&self) -> bool {
        self.with_rules > 0
    }

    /// Whether a nominee must be apart from pods with these labels. Which namespaces it means is not looked at.
    pub(crate) fn must_be_apart_from(&self, labels: &BTreeMap<Arc<str>, Arc<str>>) -> bool {
        self.apart.iter().any(|(term, _)| term.selector.picks(labels))
    }

    /// The nominees of a node.
    pub fn on(&self, node: &str) -> impl Iterator<Item = &Nomination> {
        let here = if self.is_empty() { None } else { self.by_node.get(node) };
        here.into_iter().flatten().filter_map(|uid| self.by_pod.get(uid))
    }

    /// All nominees.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_pod.values().map(|one| &one.pod)
    }

    /// All of them, by the uid of the pod.
    pub fn iter(&self) -> impl Iterator<Item = &Nomination> {
        self.by_pod.values()
    }

    /// Keeps room for a pod, and no other than this.
    pub fn insert(&mut self, nomination: Nomination) {
        let uid = nomination.pod.uid.clone();
        self.remove(&uid);
        self.by_node.entry(nomination.node.clone()).or_default().insert(uid.clone());
        if !nomination.planned.is_empty() {
            self.with_plans.insert((nomination.pod.priority, uid.clone()));
        }
        self.with_rules += usize::from(has_rules(&nomination.pod));
        for term in &nomination.pod.shape.apart {
            match self.apart.iter_mut().find(|(known, _)| known == term) {
                Some((_, count)) => *count += 1,
                None => self.apart.push((term.clone(), 1)),
            }
        }
        self.by_pod.insert(uid, nomination);
    }

    /// Keeps no room for a pod.
    pub fn remove(&mut self, uid: &str) -> Option<Nomination> {
        let nomination = self.by_pod.remove(uid)?;
        if let Some(pods) = self.by_node.get_mut(&nomination.node) {
            pods.remove(uid);
            if pods.is_empty() {
                self.by_node.remove(&nomination.node);
            }
        }
        self.with_plans.remove(&(nomination.pod.priority, nomination.pod.uid.clone()));
        self.with_rules -= usize::from(has_rules(&nomination.pod));
        for term in &nomination.pod.shape.apart {
            if let Some((_, count)) = self.apart.iter_mut().find(|(known, _)| known == term) {
                *count -= 1;
            }
        }
        self.apart.retain(|(_, count)| *count > 0);
        Some(nomination)
    }
}
