//! Domains for a group of groups before seats are looked for: which lack something by mere arithmetic, and which are alike.
//!
//! Invariant: a domain is left out only if there is a proof that the group of groups has no seats there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::identity::PodUid;
use model::pod::Pod;
use placement::{Amounts, Domain, Gang, Likeness, Load, PlacementState, Seats, Shortfall, shortfall};
use rustc_hash::FxHashMap;

use crate::filters;
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::search::view::ClusterView;
use crate::gang::tree::branch::Branch;
use crate::gang::tree::progress::TreeSearch;
use crate::profile::Profile;
use crate::values::gang_reason::NextMember;

/// Domains as members see them before they come.
pub(crate) struct Survey {
    pub(crate) profile: Arc<Profile>,
    pub(crate) gang: Gang,
    /// The kind of each member, by uid.
    pub(crate) kinds: FxHashMap<PodUid, usize>,
    /// The domains that arithmetic has nothing against.
    pub(crate) sights: Vec<Sight>,
    /// The one that comes closest of those that lack something.
    pub(crate) nearest: Option<(usize, Shortfall<NextMember>)>,
}

pub(crate) struct Sight {
    /// Which of the domains it is.
    pub(crate) at: usize,
    /// What its nodes have left.
    pub(crate) free: FxHashMap<NodeIdx, Amounts>,
    /// What none of them has for itself.
    pub(crate) shared: Amounts,
    /// What they are like, if that is all that counts.
    pub(crate) look: Option<Look>,
}

/// What nodes are like, by their domain of the level that counts further down: whether there is one, and those in it.
pub(crate) type Look = Vec<(bool, Vec<Likeness>)>;

impl TreeSearch<'_, '_> {
    /// What can be told of domains without looking for seats; nothing if no member waits.
    pub(crate) fn survey(&mut self, branches: &[Branch], domains: &[Domain], wanted: u32) -> Option<Survey> {
        let leaves = branches.iter().flat_map(Branch::leaves);
        let pods: Vec<Arc<Pod>> = leaves.flat_map(|(_, pods)| pods).cloned().collect();
        let profile = self.cycle.settings.profile_of(pods.first()?);
        let members = self.cycle.members_of(&pods, &profile);
        if members.is_empty() {
            return None;
        }
        let cast = Cast::new(self.cycle, members, &profile).each_apart(self.cycle);
        let gang = cast.gang(wanted);
        let mut kinds = FxHashMap::default();
        for (kind, bundles) in cast.kinds.iter().enumerate() {
            let members = bundles.iter().flat_map(|bundle| &bundle.members);
            kinds.extend(members.map(|member| (member.pod.uid.clone(), kind)));
        }
        let mut levels = BTreeSet::new();
        branches.iter().for_each(|branch| branch.collect_levels(&mut levels));
        let mut survey = Survey { profile: profile.clone(), gang, kinds, sights: Vec::new(), nearest: None };
        let mut ground = ClusterView::new(self.cycle, &cast, &profile);
        for (at, domain) in domains.iter().enumerate() {
            let free: FxHashMap<NodeIdx, Amounts> =
                domain.nodes.iter().map(|node| (*node, ground.free(*node))).collect();
            let shared = ground.shared(&domain.nodes);
            let mut sum = Amounts::nothing(survey.gang.axes.len());
            sum.add(&shared);
            free.values().for_each(|free| sum.add(free));
            if let Some(lack) = shortfall(&survey.gang, survey.gang.at_least, domain, &sum) {
                ground.tried(false);
                if survey.nearest.as_ref().is_none_or(|(_, known)| known.room_for < lack.room_for) {
                    survey.nearest = Some((at, lack));
                }
                continue;
            }
            let look = if domains.len() > 1 { ground.look(domain, &levels) } else { None };
            survey.sights.push(Sight { at, free, shared, look });
        }
        Some(survey)
    }

    pub(crate) fn seats_by_node(
        &self,
        gang: &Gang,
        kinds: &FxHashMap<PodUid, usize>,
        seated: &Seated,
    ) -> Vec<Seats> {
        let mut loads: BTreeMap<NodeIdx, Load> = BTreeMap::new();
        for (pod, choice) in seated {
            if let (Some(node), Some(kind)) = (self.cycle.facts.nodes.find(&choice.node), kinds.get(&pod.uid))
            {
                let load = loads.entry(node).or_insert_with(|| Load::none(gang.kinds.len()));
                load.set(*kind, load.get(*kind) + 1);
            }
        }
        loads.into_iter().map(|(node, load)| Seats { node, load }).collect()
    }
}

impl ClusterView<'_, '_> {
    /// What the nodes of a domain are like to groups that have to be in one domain of these levels; nothing if that is not all
    /// that counts.
    fn look(&mut self, domain: &Domain, levels: &BTreeSet<&Arc<str>>) -> Option<Look> {
        if self.crosses_nodes() || levels.len() > 1 {
            return None;
        }
        let mut parts: BTreeMap<Option<Arc<str>>, Vec<Likeness>> = BTreeMap::new();
        for node in &domain.nodes {
            let labels = &filters::node_of(self.cycle.facts.nodes.get(*node)).labels;
            let place = levels.first().and_then(|level| labels.get(*level)).cloned();
            parts.entry(place).or_default().push(self.likeness(*node));
        }
        let sorted = |(place, mut nodes): (Option<Arc<str>>, Vec<Likeness>)| {
            nodes.sort_unstable();
            (place.is_some(), nodes)
        };
        let mut look: Look = parts.into_iter().map(sorted).collect();
        look.sort_unstable();
        Some(look)
    }
}
