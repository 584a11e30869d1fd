//! What a gang looks for: its members by kind, how many of them need seats at once, and the domains in which it may be.

use std::sync::Arc;

use model::group::Group;
use model::pod::Pod;
use placement::Domain;

use crate::cycle::Cycle;
use crate::gang::domains::levels::Domains;
use crate::gang::members::cast::Cast;
use crate::gang::members::claims::ClaimUsers;
use crate::gang::members::member::Member;
use crate::gang::seats::sought::Sought;
use crate::values::filter_set::FilterSet;
use crate::values::gang_reason::{GangReason, Unplaceable};
use crate::values::gang_refusal::GangRefusal;
use crate::values::miss::Miss;

/// How many steps the search for seats of one gang may take.
pub const STEPS_MAX: u64 = 2_000_000;

impl Cycle<'_> {
    /// What the members of a gang look for, in given domains or in its own, unless too few of them can be placed anywhere.
    pub fn seek(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: Option<&[Domain]>,
    ) -> Result<Sought, Box<GangRefusal>> {
        let profile = self.settings.profile_of(&pods[0]);
        let mut members = Vec::new();
        let mut unfit = None;
        let mut users = ClaimUsers::default();
        let mut in_the_way = Vec::new();
        for pod in pods {
            match self.claims_beside(&mut users, pod, &profile) {
                Ok(claims) => members.push(Member::new(pod.clone(), claims)),
                Err(refusal) => {
                    // Its claim has devices that are of no use to any pod.
                    in_the_way.extend(refusal.in_the_way().map(|one| (one, pod.uid.clone())));
                    unfit = unfit.or_else(|| Some((pod.clone(), refusal)));
                }
            }
        }
        let seated = self.facts.groups.seated(&group.id).count() as u32;
        let at_least = group.at_least.saturating_sub(seated).max(1);
        if (members.len() as u32) < at_least {
            let (why, filters) = match unfit {
                Some((pod, refusal)) => {
                    let filters = refusal.filters();
                    (GangReason::Member(Unplaceable { pod: pod.id.name.clone(), refusal }), filters)
                }
                None => {
                    let waiting = pods.len();
                    (GangReason::TooFewMembers { waiting, needed: at_least }, FilterSet::default())
                }
            };
            let wakes_on = self.helps(group, pods, None);
            let refusal = GangRefusal::new(Miss::proved(why), wakes_on, filters);
            return Err(Box::new(GangRefusal { in_the_way, ..refusal }));
        }
        let cast = Cast::new(self, members, &profile).counted(self);
        let gang = cast.gang(at_least);
        let Domains { all: domains, empty_levels } = match within {
            None => self.domains_of(group, &cast, &profile),
            Some(within) => Domains { all: within.to_vec(), empty_levels: Vec::new() },
        };
        self.tried.generated += domains.len() as u64;
        Ok(Sought { group: group.clone(), cast, gang, at_least, domains, empty_levels, profile, in_the_way })
    }
}
