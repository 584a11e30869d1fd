//! Claims of members that are looked at together.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::ClaimId;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::devices::claims::CONSUMERS_MAX;
use crate::gang::members::member::Member;
use crate::profile::Profile;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::ClaimReason;

/// How many users claims would have with the members that were looked at so far, if more than those that they have.
#[derive(Default)]
pub(crate) struct ClaimUsers(BTreeMap<ClaimId, usize>);

impl Cycle<'_> {
    /// The claims of a member, if all of them can be used beside the members that were looked at before.
    pub(crate) fn claims_beside(
        &self,
        users: &mut ClaimUsers,
        pod: &Pod,
        profile: &Profile,
    ) -> Result<PodClaims, Box<PodRefusal>> {
        let claims = self.claims_of(pod, profile)?;
        // A group that uses a claim in its members' stead is one user, however many they are.
        let is_new_user = |state: &&Arc<ClaimState>| {
            !claims.group_users.contains_key(&state.wish.id) && !state.is_reserved_for(&pod.uid)
        };
        let states = claims.settled.iter().chain(&claims.open).filter(is_new_user);
        let count = |users: &ClaimUsers, state: &ClaimState| {
            users.0.get(&state.wish.id).copied().unwrap_or_else(|| self.consumers(state))
        };
        if let Some(full) = states.clone().find(|state| count(users, state) >= CONSUMERS_MAX) {
            let (claim, consumers_max) = (full.wish.id.clone(), CONSUMERS_MAX);
            return Err(self.refused_by_claims(ClaimReason::FullWithGroup { claim, consumers_max }));
        }
        for state in states {
            let before = count(users, state);
            users.0.insert(state.wish.id.clone(), before + 1);
        }
        Ok(claims)
    }
}

impl Cycle<'_> {
    /// Members as a search sees them, but for those whose claims cannot be met anywhere.
    pub(crate) fn members_of(&self, pods: &[Arc<Pod>], profile: &Profile) -> Vec<Member> {
        let mut users = ClaimUsers::default();
        let member = |pod: &Arc<Pod>| {
            let claims = self.claims_beside(&mut users, pod, profile).ok()?;
            Some(Member::new(pod.clone(), claims))
        };
        pods.iter().filter_map(member).collect()
    }
}
