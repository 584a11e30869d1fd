//! Which domain a group of groups had better be in.
//!
//! A domain that lacks something by mere arithmetic is left out, and of several that are alike one is tried. The others are
//! tried one after the other, each by itself, and their seats are compared as those of gangs are. That takes half of the tries
//! at the most: those of which nothing is known then come after those that will do.
//!
//! Invariant: a domain is left out only if there is a proof that what is in the group of groups has no seats there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::group::Composite;
use model::pod::Pod;
use placement::{
    Amounts, Domain, Gang, Likeness, Load, PlacementState, Refusal, Scored, Seats, Shortfall, judge,
    shortfall,
};
use rustc_hash::FxHashMap;

use super::cast::Cast;
use super::ground::Ground;
use super::seek::Seated;
use super::tree::Branch;
use super::tree_search::{Part, Then, TreeSearch};
use crate::certainty::Certainty;
use crate::filters;
use crate::profile::Profile;

/// Domains as members see them before they come.
struct Survey {
    profile: Arc<Profile>,
    gang: Gang,
    /// The kind of each member, by uid.
    kinds: FxHashMap<Arc<str>, usize>,
    /// The domains that arithmetic has nothing against.
    sights: Vec<Sight>,
    /// The one that comes closest of those that lack something.
    nearest: Option<(usize, Shortfall)>,
}

struct Sight {
    /// Which of the domains it is.
    at: usize,
    /// What its nodes have left.
    free: FxHashMap<NodeIdx, Amounts>,
    /// What none of them has for itself.
    shared: Amounts,
    /// What they are like, if that is all that counts.
    look: Option<Look>,
}

/// What nodes are like, by their domain of the level that counts further down: whether there is one, and those in it.
type Look = Vec<(bool, Vec<Likeness>)>;

/// What came of trying a domain by itself.
#[derive(Clone, Copy)]
enum Trial {
    /// There are seats: whether for everybody, and what scorers make of them.
    Seats(bool, f64),
    Impossible,
    /// It was not found out.
    Open,
}

impl TreeSearch<'_, '_> {
    /// Seats what is in a group of groups, at least so many members, in one of these domains: in the best in which the rest fits
    /// as well. Says in which.
    pub fn seat_in_best(
        &mut self,
        (composite, branches): (&Composite, &[Branch]),
        domains: &[Domain],
        wanted: u32,
        then: Then<'_>,
    ) -> Option<usize> {
        let part = |at: usize| Part { composite, branches, within: &domains[at] };
        // So many tries it takes to seat each group once.
        let leaves =
            branches.iter().flat_map(Branch::leaves).filter(|(_, pods)| !pods.is_empty()).count() as u64;
        let wanted = self.cycle.least(composite, branches).unwrap_or(0).max(wanted);
        let order = match self.survey(branches, domains, wanted) {
            None => (0..domains.len()).collect(),
            Some(Survey { sights, nearest, .. }) if sights.is_empty() => {
                if let Some((at, shortfall)) = nearest {
                    // For the sake of the sentence: which group would be short of what.
                    let _ = self.attempt(part(at), 2 * leaves);
                    let refusal = Refusal { domains: domains.len(), wanted, nearest: Some(shortfall) };
                    self.lacks(|| refusal.to_string());
                }
                Vec::new()
            }
            Some(Survey { sights, .. }) if sights.len() == 1 => vec![sights[0].at],
            Some(survey) => self.best_first(&survey, part, leaves),
        };
        order.into_iter().find(|at| self.seat_together(part(*at), then))
    }

    /// What can be told of domains without looking for seats; nothing if nobody waits.
    fn survey(&mut self, branches: &[Branch], domains: &[Domain], wanted: u32) -> Option<Survey> {
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
        for (kind, units) in cast.kinds.iter().enumerate() {
            let members = units.iter().flat_map(|unit| &unit.members);
            kinds.extend(members.map(|member| (member.pod.uid.clone(), kind)));
        }
        let mut levels = BTreeSet::new();
        branches.iter().for_each(|branch| branch.collect_levels(&mut levels));
        let mut survey = Survey { profile: profile.clone(), gang, kinds, sights: Vec::new(), nearest: None };
        let mut ground = Ground::new(self.cycle, &cast, &profile);
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

    /// The domains that may do: those that are known to first, by what scorers make of the seats there.
    fn best_first<'p>(
        &mut self,
        survey: &Survey,
        part: impl Fn(usize) -> Part<'p>,
        leaves: u64,
    ) -> Vec<usize> {
        let mut known: BTreeMap<&Look, Trial> = BTreeMap::new();
        let mut trials: Vec<(usize, Trial)> = Vec::new();
        let mut to_spend = self.tries_left / 2;
        for (done, sight) in survey.sights.iter().enumerate() {
            let alike = sight.look.as_ref().and_then(|look| known.get(look));
            let trial = match alike {
                Some(trial) => *trial,
                None if to_spend < leaves => Trial::Open,
                None => {
                    let left = (survey.sights.len() - done) as u64;
                    let tries = to_spend.div_ceil(left).max(leaves).min(to_spend);
                    let before = self.tries_left;
                    let trial = self.try_by_itself(survey, sight, part(sight.at), tries);
                    to_spend -= before - self.tries_left;
                    trial
                }
            };
            known.extend(sight.look.as_ref().map(|look| (look, trial)));
            trials.push((sight.at, trial));
        }
        let rank = |trial: &Trial| match *trial {
            Trial::Seats(is_everybody, score) => Some((is_everybody, score)),
            Trial::Impossible | Trial::Open => None,
        };
        let mut order: Vec<(usize, (bool, f64))> =
            trials.iter().filter_map(|(at, trial)| Some((*at, rank(trial)?))).collect();
        // The first of those that are equally good is kept.
        order.sort_by(|(_, one), (_, other)| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
        let open = trials.iter().filter(|(_, trial)| matches!(trial, Trial::Open)).map(|(at, _)| *at);
        order.into_iter().map(|(at, _)| at).chain(open).collect()
    }

    fn try_by_itself(&mut self, survey: &Survey, sight: &Sight, part: Part<'_>, tries: u64) -> Trial {
        let seated = match self.attempt(part, tries) {
            Ok(seated) => seated,
            Err(Certainty::Proved) => return Trial::Impossible,
            Err(Certainty::LimitReached) => return Trial::Open,
        };
        let Survey { profile, gang, kinds, .. } = survey;
        let is_everybody = seated.len() == gang.members() as usize;
        let seats = self.seats_by_node(gang, kinds, &seated);
        let scored =
            Scored { gang, domain: part.within, free: &sight.free, shared: &sight.shared, seats: &seats };
        Trial::Seats(is_everybody, judge(&profile.placement.scorers(), &scored))
    }

    fn seats_by_node(&self, gang: &Gang, kinds: &FxHashMap<Arc<str>, usize>, seated: &Seated) -> Vec<Seats> {
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

impl Ground<'_, '_> {
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
