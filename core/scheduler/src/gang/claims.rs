//! Claims that a group uses in its members' stead: they are reserved for the group, whoever of it comes first, and let go with
//! the last member that is on a node or on its way to one.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use gates::Gate;
use model::claim::ClaimId;
use model::group::Group;
use model::pod::{ClaimSource, Pod};

use crate::cycle::{CONSUMERS_MAX, Claims, PodRefusal};
use crate::engine::{Engine, claim_id};
use crate::profile::Profile;
use crate::write::{Consumer, GroupUser};

/// How many users claims would have with the members that were looked at so far, if more than those that they have.
#[derive(Default)]
pub(super) struct ClaimUsers(BTreeMap<ClaimId, usize>);

impl Engine {
    /// The claims of a member, if all of them can be used beside the members that were looked at before.
    pub(super) fn claims_beside(
        &self,
        users: &mut ClaimUsers,
        pod: &Pod,
        profile: &Profile,
    ) -> Result<Claims, Box<PodRefusal>> {
        let claims = self.claims_of(pod, profile)?;
        // A group that uses a claim in its members' stead is one user, however many they are.
        let is_new_user = |state: &&Arc<ClaimState>| {
            !claims.group_users.contains_key(&state.wish.id) && !state.reserved_for.contains(&pod.uid)
        };
        let states = claims.settled.iter().chain(&claims.open).filter(is_new_user);
        let count = |users: &ClaimUsers, state: &ClaimState| {
            users.0.get(&state.wish.id).copied().unwrap_or(state.reserved_for.len())
        };
        if let Some(full) = states.clone().find(|state| count(users, state) >= CONSUMERS_MAX) {
            let name = &full.wish.id.name;
            return Err(self.refused_by_claims(format!(
                "resourceclaim \"{name}\" may have {CONSUMERS_MAX} consumers at most, and other pods of the group are as many"
            )));
        }
        for state in states {
            let before = count(users, state);
            users.0.insert(state.wish.id.clone(), before + 1);
        }
        Ok(claims)
    }

    /// Who uses a claim of a pod: the pod, or its group in its stead.
    pub(crate) fn consumer(&self, pod: &Pod, claim: &ClaimId) -> Consumer {
        let group = self.sharing_group(pod).filter(|group| self.is_of_group(group, pod, claim));
        let group = group.map(|group| GroupUser { name: group.id.name.clone(), uid: group.uid.clone() });
        Consumer { name: pod.id.name.clone(), uid: pod.uid.clone(), group }
    }

    /// The uid under which a claim of a pod is reserved.
    pub(crate) fn user_of(&self, pod: &Pod, claim: &ClaimId) -> Arc<str> {
        match self.sharing_group(pod).filter(|group| self.is_of_group(group, pod, claim)) {
            Some(group) => group.uid.clone(),
            None => pod.uid.clone(),
        }
    }

    /// The group of a pod, if groups may use claims.
    fn sharing_group(&self, pod: &Pod) -> Option<&Arc<Group>> {
        let id = self
            .facts
            .groups
            .gang_of(pod)
            .filter(|_| self.settings.gates.enabled(Gate::DRAWorkloadResourceClaims))?;
        self.facts.groups.get(&id)
    }

    /// Whether the group uses a claim of its member: it was made for the group, or both name it under the same entry.
    fn is_of_group(&self, group: &Group, pod: &Pod, claim: &ClaimId) -> bool {
        let owner = self.facts.claims.get(claim).and_then(|state| state.owner.as_ref());
        let mut entries = pod.claims.iter().filter(|entry| claim_id(pod, entry).as_ref() == Some(claim));
        entries.any(|entry| match &entry.source {
            ClaimSource::Generated(_) => owner == Some(&group.uid),
            ClaimSource::Named(name) => group.claims.get(&entry.name) == Some(name),
            ClaimSource::ToBeGenerated { .. } | ClaimSource::NotNeeded | ClaimSource::Unknown => false,
        })
    }

    /// Whether others of a group than this pod are on a node or on their way to one.
    pub(crate) fn has_members_besides(&self, group: &str, pod: &str) -> bool {
        self.members_seated(group).any(|member| **member != *pod)
    }

    /// The members of the group with this uid that are on a node or on their way to one.
    pub(crate) fn members_seated(&self, group: &str) -> impl Iterator<Item = &Arc<str>> {
        self.facts.groups.by_uid(group).into_iter().flat_map(|id| self.facts.groups.seated(id))
    }

    /// Whether there is a group with this uid.
    pub(crate) fn knows_group(&self, uid: &str) -> bool {
        self.facts.groups.by_uid(uid).is_some()
    }

    /// Whether a user of a claim is this pod, or its group while no other member is on a node or on its way to one.
    pub(crate) fn is_user_alone(&self, user: &str, pod: &str) -> bool {
        user == pod || (self.is_member(pod, user) && !self.has_members_besides(user, pod))
    }

    fn is_member(&self, pod: &str, group: &str) -> bool {
        let found = self.facts.waiting.get(pod).or_else(|| self.facts.nodes.pod(pod).map(|(_, pod)| pod));
        let id = found.and_then(|pod| self.facts.groups.gang_of(pod));
        id.is_some_and(|id| self.facts.groups.by_uid(group) == Some(&id))
    }
}
