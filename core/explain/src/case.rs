//! A question to the scheduler, with all that is known when it is asked. What would be otherwise is tried on copies.
//!
//! Invariant: nothing here decides. A case is changed, and the scheduler's own decision is asked about it.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::groups::Root;
use decisions::considering::{SchedulingQuestion, Snapshot};
use decisions::filters::Filter;
use decisions::gang::members_here;
use decisions::profile::Profile;
use model::claim::ClaimId;
use model::identity::NodeName;
use model::node::{NAME_FIELD, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{Pod, Shape};

/// A question, and what is known. Copies share what neither changes.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is known.
    pub snapshot: Snapshot,
    /// What is asked.
    pub question: SchedulingQuestion,
}

impl Case {
    /// Where a pod goes, whatever group it belongs to.
    #[must_use]
    pub fn of_pod(snapshot: Snapshot, pod: Arc<Pod>) -> Case {
        Case { snapshot, question: SchedulingQuestion::Pod(pod) }
    }

    /// Where the members of a group or of a tree of groups go that wait. Nothing if it is not known.
    #[must_use]
    pub fn of_group(mut snapshot: Snapshot, root: &Root) -> Option<Case> {
        let members = members_here(&snapshot.facts, &snapshot.underway, root);
        // Room that is kept for members does not matter to them.
        let mut is_nominated = false;
        for pod in &members {
            is_nominated |= drop_nomination(&mut snapshot, &pod.uid);
        }
        let question = match root {
            Root::Group(id) => {
                let group = snapshot.facts.groups.get(id)?.clone();
                SchedulingQuestion::Gang { group, members, is_nominated }
            }
            Root::Composite(id) => {
                snapshot.facts.groups.composite(id)?;
                SchedulingQuestion::Tree { root: root.clone(), members }
            }
        };
        Some(Case { snapshot, question })
    }

    /// The pod that is asked about, if it is a single one.
    pub(crate) fn pod(&self) -> Option<&Arc<Pod>> {
        match &self.question {
            SchedulingQuestion::Pod(pod) => Some(pod),
            SchedulingQuestion::Gang { .. } | SchedulingQuestion::Tree { .. } => None,
        }
    }

    /// The profile of the pods.
    pub(crate) fn profile(&self) -> Option<&Arc<Profile>> {
        self.question.pods().first().and_then(|pod| self.snapshot.settings.profile(pod))
    }

    /// Changes each pod that is asked about.
    pub(crate) fn change_pods(&mut self, change: &dyn Fn(&mut Pod)) {
        let facts = &mut self.snapshot.facts;
        let mut changed = |pod: &mut Arc<Pod>| {
            change(Arc::make_mut(pod));
            if facts.waiting.contains_key(&pod.uid) {
                facts.waiting.insert(pod.uid.clone(), pod.clone());
            }
        };
        match &mut self.question {
            SchedulingQuestion::Pod(pod) => changed(pod),
            SchedulingQuestion::Gang { members, .. } | SchedulingQuestion::Tree { members, .. } => {
                members.iter_mut().for_each(changed);
            }
        }
    }

    /// Changes what decides where each of the pods can go.
    pub(crate) fn change_shapes(&mut self, change: &dyn Fn(&mut Shape)) {
        self.change_pods(&|pod| change(Arc::make_mut(&mut pod.shape)));
    }

    /// Changes the profile of the pods.
    pub(crate) fn change_profile(&mut self, change: &dyn Fn(&mut Profile)) {
        let Some(name) = self.profile().map(|profile| profile.name.clone()) else { return };
        let mut profiles = self.snapshot.settings.profiles.iter_mut();
        if let Some(profile) = profiles.find(|profile| profile.name == name) {
            change(Arc::make_mut(profile));
        }
    }

    /// Changes a claim.
    pub(crate) fn change_claim(&mut self, id: &ClaimId, change: impl FnOnce(&mut ClaimState)) {
        let Some(known) = self.snapshot.facts.claims.get(id) else { return };
        let mut state = ClaimState::clone(known);
        change(&mut state);
        self.snapshot.facts.touch_claim(id);
        self.snapshot.facts.claims.apply(state);
        self.snapshot.facts.touch_claim(id);
    }

    /// The claims that pods know under an entry, each once, and those of other pods that ask for the same and have no devices either:
    /// what is said of a claim of one pod of a group holds for all like it.
    pub(crate) fn claims_of_entry(&self, entry: &str) -> Vec<ClaimId> {
        let claims = &self.snapshot.facts.claims;
        let named = self.question.pods().iter().flat_map(|pod| {
            let entries = pod.claims.iter().filter(|claim| *claim.name == *entry);
            entries.filter_map(|claim| pod.claim_id(claim))
        });
        let mut ids: Vec<ClaimId> = named.collect();
        if let Some(first) = ids.iter().find_map(|id| claims.get(id)).filter(|_| self.pod().is_none()) {
            let is_like = |id: &ClaimId| {
                claims.get(id).is_some_and(|state| {
                    state.wish.spec == first.wish.spec && claims.allocation(id).is_none()
                })
            };
            let others = self.question.pods().iter().flat_map(|pod| pod.claim_ids());
            ids.extend(others.filter(is_like).collect::<Vec<_>>());
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The same question with these nodes alone, if a place there is a place for the pod as it is, and no other has to be looked at.
    /// That is so for a pod that is not to be spread: over which places pods are spread depends on the nodes that it may go to.
    pub(crate) fn narrowed_to(&self, nodes: &[NodeName]) -> Option<Case> {
        let pod = self.pod()?;
        let filters = &self.profile()?.filters;
        let is_spread =
            pod.shape.spread.iter().any(|spread| spread.required) || !filters.default_spread.is_empty();
        if pod.node.is_some() || is_spread || !filters.has(Filter::NodeAffinity) {
            return None;
        }
        let values = nodes.iter().map(|node| (**node).into()).collect();
        let named = Requirement { key: NAME_FIELD.into(), operator: Operator::In, values };
        let mut case = self.clone();
        case.change_shapes(&|shape| match &mut shape.node_affinity {
            None => {
                let term = NodeTerm { fields: vec![named.clone()], labels: Vec::new() };
                shape.node_affinity = Some(NodeSelector { terms: vec![term] });
            }
            Some(selector) => {
                // A term without any requirement picks nothing, and stays so.
                let is_empty = |term: &NodeTerm| term.fields.is_empty() && term.labels.is_empty();
                let terms = selector.terms.iter_mut().filter(|term| !is_empty(term));
                terms.for_each(|term| term.fields.push(named.clone()));
            }
        });
        Some(case)
    }
}

/// Keeps no room for a pod, and says whether there was some.
fn drop_nomination(snapshot: &mut Snapshot, uid: &str) -> bool {
    let Some(nomination) = snapshot.plans.nominations.remove(uid) else { return false };
    snapshot.facts.claims.give_back(&nomination.planned);
    true
}

/// Keeps no room for any pod.
pub(crate) fn drop_nominations(snapshot: &mut Snapshot) {
    let uids: Vec<_> = snapshot.plans.nominations.iter().map(|one| one.pod.uid.clone()).collect();
    for uid in uids {
        drop_nomination(snapshot, &uid);
    }
}
