//! Which pods and groups use a claim, and what gives it its devices.
//!
//! A claim is reserved for pods, or for a group that uses it in its members' stead: from the first of them that comes until the last one
//! that is on a node or on its way to one has let it go.

use std::sync::Arc;

use gates::Gate;
use model::claim::{Ask, Claim, ClaimId, Control, Wish};
use model::group::Group;
use model::identity::ConsumerUid;
use model::pod::{ClaimSource, Pod, Shape};

use crate::claims::{ClaimState, Clash};
use crate::facts::Facts;

impl Facts {
    /// The uid under which a claim of a pod is reserved: that of the pod, or of its group.
    #[must_use]
    pub fn user_of(&self, pod: &Pod, claim: &ClaimId) -> ConsumerUid {
        let group = self.group_user(pod, claim).map(|group| (&group.uid).into());
        group.unwrap_or_else(|| (&pod.uid).into())
    }

    /// The group that uses a claim in the stead of its member: the claim was made for the group, or both name it under the same
    /// entry.
    #[must_use]
    pub fn group_user(&self, pod: &Pod, claim: &ClaimId) -> Option<&Arc<Group>> {
        let id = self.groups.gang_of(pod).filter(|_| self.gates.enabled(Gate::DRAWorkloadResourceClaims))?;
        let group = self.groups.get(&id)?;
        let owner = self.claims.get(claim).and_then(|state| state.owner.as_ref());
        let mut entries = pod.claims.iter().filter(|entry| pod.claim_id(entry).as_ref() == Some(claim));
        let is_used = entries.any(|entry| match &entry.source {
            ClaimSource::Generated(_) => owner.is_some_and(|owner| **owner == *group.uid),
            ClaimSource::Named(name) => group.claims.get(&entry.name) == Some(name),
            ClaimSource::ToBeGenerated { .. } | ClaimSource::NotNeeded | ClaimSource::Unknown => false,
        });
        is_used.then_some(group)
    }

    /// Whether others of the group with this uid than this pod are on a node or on their way to one.
    #[must_use]
    pub fn has_members_besides(&self, group: &str, pod: &str) -> bool {
        self.groups.seated_by_uid(group).any(|member| **member != *pod)
    }

    /// Whether a user of a claim is this pod, or its group while no other member is on a node or on its way to one.
    #[must_use]
    pub fn is_user_alone(&self, user: &str, pod: &str) -> bool {
        user == pod || (self.is_member(pod, user) && !self.has_members_besides(user, pod))
    }

    fn is_member(&self, pod: &str, group: &str) -> bool {
        let found = self.waiting.get(pod).or_else(|| self.nodes.pod(pod).map(|(_, pod)| pod));
        let id = found.and_then(|pod| self.groups.gang_of(pod));
        id.is_some_and(|id| self.groups.by_uid(group) == Some(&id))
    }

    /// Whether a claim is reserved for others than this pod.
    #[must_use]
    pub fn has_other_users(&self, claim: &ClaimId, pod: &str) -> bool {
        let is_other = |user: &ConsumerUid| !self.is_user_alone(user, pod);
        self.claims.get(claim).is_some_and(|state| state.reserved_for.iter().any(is_other))
    }

    /// Whether what a claim has can be used on a node. Of a node that is not there nothing can be.
    #[must_use]
    pub fn is_usable_at(&self, claim: &ClaimId, node: &str) -> bool {
        let node = self.nodes.find(node).and_then(|at| self.nodes.get(at).node.as_ref());
        let nodes = self.claims.allocation(claim).and_then(|allocated| allocated.nodes.as_ref());
        node.is_some_and(|node| nodes.is_none_or(|nodes| nodes.picks(node).unwrap_or(false)))
    }

    /// Whether a pod that is on a node may use what a claim has. While the node is not known that cannot be told, and nothing is
    /// taken from the pod.
    #[must_use]
    pub fn may_use_at(&self, claim: &ClaimId, node: &str) -> bool {
        let is_known = self.nodes.find(node).is_some_and(|at| self.nodes.get(at).node.is_some());
        !is_known || self.is_usable_at(claim, node)
    }

    /// The controllers that give devices to a claim, one for each request that names a class of theirs.
    pub fn controls<'f>(&'f self, wish: &'f Claim) -> impl Iterator<Item = &'f Arc<Control>> {
        asks(wish).filter_map(|ask| self.classes.get(&ask.class)?.control.as_ref())
    }

    /// Whether a controller of a driver gives a claim its devices, or is to.
    #[must_use]
    pub fn is_controlled(&self, state: &ClaimState) -> bool {
        let is_to_be_given = || state.allocation.is_none() && self.controls(&state.wish).next().is_some();
        state.control.leaving || self.is_of_driver(state) || is_to_be_given()
    }

    /// Whether a controller of a driver gave a claim what it has.
    ///
    /// An allocation may lack the name of the controller that wrote it: an API server of Kubernetes drops the field, and an annotation
    /// can be lost. A scheduler protects a claim before it allocates it, so what a claim of such a class has without that protection
    /// is the driver's.
    #[must_use]
    pub fn is_of_driver(&self, state: &ClaimState) -> bool {
        let is_nameless = || !state.protected && self.controls(&state.wish).next().is_some();
        state.allocation.is_some() && (state.control.controller.is_some() || is_nameless())
    }

    /// Whether a pod may use devices: those of claims, or such that stand for what it asks for by name.
    #[must_use]
    pub fn wants_devices(&self, pod: &Pod) -> bool {
        !pod.claims.is_empty() || self.named_needs(pod).is_some()
    }

    /// The shape of a pod that asks for something that devices may stand for.
    #[must_use]
    pub fn named_needs(&self, pod: &Pod) -> Option<Arc<Shape>> {
        self.resources.classes_of(&pod.shape).next().map(|_| pod.shape.clone())
    }

    /// The clash for which a claim has to give its devices back, unless pods run with it: another claim had one of them first, or is in use
    /// by now, or just has it.
    #[must_use]
    pub fn clash(&self, claim: &ClaimId, gives_way: bool) -> Option<Clash> {
        // A pod on its way is not there yet. A pod that was bound by hand may run as soon as its claims are reserved for it.
        let is_coming = |user: &str| self.waiting.get(user).is_some_and(|pod| pod.node.is_none());
        let is_there = |user: &str| self.nodes.has_pod(user) && !is_coming(user);
        let is_in_use =
            |user: &ConsumerUid| is_there(user) || self.groups.seated_by_uid(user).any(|pod| is_there(pod));
        let has_user = |claim: &ClaimId| {
            let state = self.claims.get(claim);
            state.is_some_and(|state| state.reserved_for.iter().any(is_in_use))
        };
        if has_user(claim) {
            return None;
        }
        let mut clashes = self.claims.clashes(claim);
        clashes.find(|clash| gives_way || clash.rival_was_first || has_user(&clash.rival))
    }
}

/// All that a claim asks for, alternatives too.
pub fn asks(wish: &Claim) -> impl Iterator<Item = &Ask> {
    wish.spec.requests.iter().flat_map(|request| match &request.wish {
        Wish::Exactly(ask) => std::slice::from_ref(ask).iter().collect::<Vec<_>>(),
        Wish::FirstAvailable(alternatives) => alternatives.iter().map(|(_, ask)| ask).collect(),
    })
}
