//! Why a tree has no seats: a group that has none beside others that have, and what it lacks in the domain that comes closest.
//!
//! Invariant: what is assumed to find out is taken back.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::trial::Mark;
use model::allocation::Allocation;
use model::group::GroupId;
use placement::Domain;

use crate::cycle::Cycle;
use crate::devices::holding::held;
use crate::gang::answer::seats::Seated;
use crate::gang::tree::outline::{Content, Part};
use crate::gang::tree::sought::Tree;
use crate::values::choice::Wanted;
use crate::values::gang_reason::GangReason;

/// How many steps it may take to find out what a group lacks.
const STEPS_MAX: u64 = 20_000;

/// What is known of a part that has no seats.
pub(crate) struct Lacking {
    pub group: Option<GroupId>,
    pub beside: usize,
    pub why: GangReason,
}

impl Cycle<'_> {
    /// What a part lacks in these domains beside groups that have these seats; nothing if it has seats there after all.
    pub(crate) fn why_part(
        &mut self,
        (part, domains): (&Part, &[Domain]),
        others: &Seated,
        beside: usize,
    ) -> Option<Lacking> {
        match &part.content {
            Content::Group(group) => {
                let mark = self.assume_groups(others);
                let found = self.seat_gang_in(&group.group, &group.pods, domains, STEPS_MAX);
                self.revert_groups(mark, others);
                Some(Lacking { group: Some(group.group.id.clone()), beside, why: found.err()?.why })
            }
            Content::Groups { composite, .. } if domains.is_empty() => {
                let runs = part.pin == crate::gang::tree::map::Pin::Nowhere;
                let why = GangReason::NoTreeDomain { levels: composite.levels.clone(), runs };
                Some(Lacking { group: Some(composite.id.clone()), beside, why })
            }
            Content::Groups { composite, .. } => {
                let why = GangReason::TooFewGroupsFit { needed: composite.at_least };
                Some(Lacking { group: Some(composite.id.clone()), beside, why })
            }
        }
    }

    /// Why a tree has no seats, by what is known of its parts.
    pub(crate) fn why_tree(&self, tree: &Tree, lacks: Vec<Lacking>) -> GangReason {
        let nearest = lacks.iter().min_by_key(|lack| Reverse(lack.beside));
        let nearest = match nearest {
            None => GangReason::TooFewGroupsFit { needed: tree.composite.at_least },
            Some(Lacking { group: Some(group), beside, why }) => {
                GangReason::Group { group: group.clone(), beside: *beside, why: Box::new(why.clone()) }
            }
            Some(Lacking { group: None, why, .. }) => why.clone(),
        };
        let groups: BTreeMap<GroupId, GangReason> =
            lacks.into_iter().filter_map(|lack| Some((lack.group?, lack.why))).collect();
        GangReason::Tree { nearest: Box::new(nearest), groups }
    }

    /// Goes on as if members of groups were on their nodes. Their claims have devices then, which members of other groups that name
    /// them share.
    fn assume_groups(&mut self, seated: &Seated) -> Mark {
        let mark = self.facts.mark();
        seated.iter().for_each(|(pod, choice)| self.assume_choice(pod, choice));
        for (state, allocation) in brought(seated) {
            let allocation = Some(Arc::new(held(&state.wish.id.clone().into(), &state.uid, allocation).0));
            let with_devices = ClaimState { allocation, ..ClaimState::clone(state) };
            self.assumed.insert(state.wish.id.clone(), Arc::new(with_devices));
        }
        mark
    }

    fn revert_groups(&mut self, mark: Mark, seated: &Seated) {
        self.facts.rewind(mark);
        for (state, _) in brought(seated) {
            self.assumed.remove(&state.wish.id);
        }
    }
}

/// The claims that get devices with members.
fn brought(seated: &Seated) -> impl Iterator<Item = (&Arc<ClaimState>, &Allocation)> {
    let claims = seated.iter().flat_map(|(_, choice)| &choice.claims);
    claims.filter_map(|wanted| match wanted {
        Wanted::Allocation { state, allocation } => Some((state, allocation)),
        _ => None,
    })
}
