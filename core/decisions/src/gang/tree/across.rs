//! Seats for members of all groups at once, each within the domain of its group, if members can be in each other's way wherever they
//! are: rules about pods, devices that several nodes reach, claims that groups share, drivers that are asked.
//!
//! Invariant: "no" is a proof, as far as the search for seats of a gang can prove it.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use placement::Verdict;
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::seats::sought::SeatsWanted;
use crate::gang::tree::ground::{Counts, Ground};
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::{Content, Outline, PartIdx};
use crate::gang::tree::sought::Tree;
use crate::gang::tree::why::Lacking;
use crate::values::certainty::Certainty;
use crate::values::gang_reason::GangReason;

/// Members of a group that are to be in a domain.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub part: PartIdx,
    pub domain: DomainIdx,
    pub members: Counts,
}

/// How many steps a search stands for at the least.
const STEPS_MIN: u64 = 100;

/// Seats that were found last.
#[derive(Default)]
pub(crate) struct Across {
    pub seated: Option<Seated>,
    /// What the last group lacks beside the most others.
    pub nearest: Option<Lacking>,
    nodes: FxHashMap<DomainIdx, Arc<BTreeSet<NodeIdx>>>,
}

impl Across {
    /// Whether there are seats for all of these. Those that are found are kept.
    pub fn check(
        &mut self,
        ground: &mut Ground<'_, '_>,
        (map, outline): (&DomainMap, &Outline),
        (root, chosen): (DomainIdx, &[Chosen]),
    ) -> Verdict {
        let mut members: Vec<Member> = Vec::new();
        for Chosen { part, domain, members: counts } in chosen {
            let Content::Group(group) = &outline.get(*part).content else { continue };
            let nodes = || Arc::new(map.get(*domain).domain.nodes.iter().copied().collect());
            let within = self.nodes.entry(*domain).or_insert_with(nodes);
            for (kind, count) in counts {
                let own = group.members.iter().filter(|(known, _)| known == kind).flat_map(|(_, own)| own);
                let of_cast = |at: &usize| ground.view.cast.kinds[*kind][*at].members[0].pod.clone();
                let pods: Vec<_> = own.take(*count as usize).map(of_cast).collect();
                let (cycle, profile) = (&ground.view.cycle, ground.view.profile);
                let own = cycle.members_of(&pods, profile).into_iter();
                members.extend(own.map(|one| Member { within: Some(within.clone()), ..one }));
            }
        }
        if members.is_empty() {
            self.seated = Some(Vec::new());
            return Verdict::Yes;
        }
        let at_least = members.len() as u32;
        let (profile, steps) = (ground.view.profile, ground.budget.left());
        let cycle = &mut *ground.view.cycle;
        let cast = Cast::new(cycle, members, profile).counted(cycle);
        let (gang, domains) = (&cast.gang(at_least), std::slice::from_ref(&map.get(root).domain));
        let wanted = SeatsWanted { group: None, cast: &cast, gang, at_least, empty_levels: &[], profile };
        let before = cycle.caches.work.done();
        let found = cycle.find_seats(wanted, domains, gang.at_least, steps);
        let worked = cycle.caches.work.done() - before;
        ground.budget.spend(STEPS_MIN + worked / crate::values::work::STEP);
        match found {
            Ok((_, seated)) if seated.len() >= at_least as usize => {
                self.seated = Some(seated);
                Verdict::Yes
            }
            Err(miss) => {
                self.note(outline, chosen, miss.why);
                if miss.certainty == Certainty::Proved { Verdict::No } else { Verdict::Unknown }
            }
            Ok(_) => Verdict::Unknown,
        }
    }
}

impl Across {
    fn note(&mut self, outline: &Outline, chosen: &[Chosen], why: GangReason) {
        let beside = chosen.len().saturating_sub(1);
        let last = chosen.last().map(|chosen| &outline.get(chosen.part).content);
        let Some(Content::Group(group)) = last else { return };
        if self.nearest.as_ref().is_none_or(|known| known.beside < beside) {
            self.nearest = Some(Lacking { group: Some(group.group.id.clone()), beside, why });
        }
    }
}

impl Cycle<'_> {
    /// Whether nothing that is in the way of members of a tree goes away if there are more of them.
    pub(crate) fn is_monotone(&self, cast: &Cast, tree: &Tree) -> bool {
        let is_spread = |member: &Member| {
            !tree.profile.filters.default_spread.is_empty()
                && self.companions_of(&member.pod.shape, &tree.profile).is_some()
        };
        cast.examples().all(|member| {
            let shape = &member.pod.shape;
            shape.near.is_empty()
                && shape.spread.is_empty()
                && member.claims.pending.is_empty()
                && !is_spread(member)
        })
    }
}
