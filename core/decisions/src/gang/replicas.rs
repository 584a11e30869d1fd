//! Replicas of a group that wait at the same time: as many as fit are placed in one pass.
//!
//! Each replica is a gang with a domain of its own, and with sets of devices of its own if its claims are to be met from such. Where
//! nothing but nodes and their devices decides, the most that fit are found plot by plot: as many replicas as one takes when they
//! are seated as if they were one gang, those plots first that grant more wishes. Otherwise replicas are seated one after the
//! other, until there is no room for one more. A replica that is left has a turn of its own.
//!
//! Invariant: what is found here is what each replica could have found alone with the others in their seats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use cluster::trial::Mark;
use model::group::{Group, GroupId, GroupName};
use model::identity::PodUid;
use model::pod::Pod;
use placement::{Domain, Gang, Placement, PlacementAnswer, PlacementGenerator, ReachGenerator};

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::domains::device_sets::Sets;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::profile::Profile;

/// On how many plots replicas are tried together; in larger clusters they are seated one after the other.
const PLOTS_MAX: usize = 512;

/// How many replicas are tried together.
const REPLICAS_MAX: usize = 256;

/// How many members are seated at once as if they were one gang.
const MEMBERS_MAX: usize = 1_024;

/// How many steps the search for seats of several replicas on one plot may take.
const STEPS_MAX: u64 = 50_000;

/// Replicas that are alike, and their members.
type Replicas = [(GroupId, Vec<Member>)];

/// Where replicas may be: a domain, with devices from these sets if that matters.
struct Plot {
    domain: Domain,
    sets: Option<Sets>,
}

/// What is sought where wishes were given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// Each replica by itself is in as few parts as it can.
    InFewParts,
    /// As many as can be, wherever their members are.
    AsMany,
}

/// Replicas that fit on a plot.
struct Fit {
    count: usize,
    /// As many as were asked for, so that there may be room for more.
    is_open: bool,
    placement: Placement,
}

/// What is known of a plot.
enum Known {
    /// It takes no more than so many.
    AtMost(usize),
    Takes(Fit),
}

/// Replicas that have their seats for the moment, and those that have none.
struct Pass<'r> {
    left: &'r Replicas,
    found: Vec<(GroupId, Seated)>,
}

impl Plot {
    /// The cast with claims that stay within the sets.
    fn restrict(&self, cast: Cast) -> Cast {
        match &self.sets {
            None => cast,
            Some(sets) => sets.restrict(&cast),
        }
    }

    /// Whether a wish was given up for it, so that a replica had better be in few parts.
    fn has_parts(&self) -> bool {
        self.domain.parts.iter().any(|part| *part != self.domain.parts[0])
    }

    /// How many of these replicas may be tried together.
    fn bound(&self, replicas: &Replicas, manner: Manner) -> usize {
        let size = replicas.first().map_or(1, |(_, members)| members.len().max(1));
        let is_alone = manner == Manner::InFewParts && self.has_parts();
        if is_alone { 1 } else { (MEMBERS_MAX / size).max(1) }.min(replicas.len())
    }
}

impl Cycle<'_> {
    /// Replicas of the same group that wait besides this one, whole and with no member on a node or on the way.
    pub fn siblings(&self, id: &GroupId) -> Vec<GroupId> {
        let Some(own) = id.name.replica() else { return Vec::new() };
        let first = GroupId { namespace: id.namespace.clone(), name: own.before_siblings().into() };
        let waiting = self.facts.groups.waiting_from(first);
        let same = waiting.take_while(|other| {
            other.namespace == id.namespace && other.name.replica().is_some_and(|other| other.is_sibling(own))
        });
        same.filter(|other| *other != id && self.is_fresh(other)).take(REPLICAS_MAX - 1).cloned().collect()
    }

    /// Whether a gang may be placed, and no member of it has been so far.
    fn is_fresh(&self, id: &GroupId) -> bool {
        let Some(group) = self.facts.groups.get(id) else { return false };
        let waiting = self.facts.groups.waiting(id);
        let is_free = |(uid, gated): (&PodUid, &bool)| !gated && !self.underway.is_on_its_way(uid);
        self.facts.groups.seated(id).next().is_none()
            && waiting.is_some_and(|members| {
                members.len() >= group.at_least as usize && members.iter().all(is_free)
            })
    }

    /// Seats for a replica and for others of its group, as many as fit; nothing if each is to be looked at alone.
    pub fn seat_replicas(&mut self, group: &Group, pods: &[Arc<Pod>]) -> Vec<(GroupId, Seated)> {
        // Room that is being made for some of them is for them alone.
        let is_free = self.plans.nominations.is_empty() && self.is_fresh(&group.id);
        if self.facts.groups.terms(&group.id).is_none() || !is_free {
            return Vec::new();
        }
        let mut ids = vec![group.id.clone()];
        ids.extend(self.siblings(&group.id));
        let profile = self.settings.profile_of(&pods[0]);
        let replicas = self.alike_replicas(&ids, &profile);
        if replicas.len() < 2 {
            return Vec::new();
        }
        let plots = self.plots(group, &replicas, &profile);
        let start = self.facts.mark();
        let mut pass = Pass { left: &replicas, found: Vec::new() };
        let ranks: BTreeSet<u32> = plots.iter().map(|plot| plot.domain.rank).collect();
        for rank in ranks {
            let of_rank: Vec<&Plot> = plots.iter().filter(|plot| plot.domain.rank == rank).collect();
            let before = (pass.left, pass.found.len(), self.facts.mark());
            self.distribute(&mut pass, &of_rank, Manner::InFewParts, &profile);
            let in_few_parts = pass.found.len();
            if pass.left.is_empty() || !of_rank.iter().any(|plot| plot.has_parts()) {
                continue;
            }
            self.rewind(&mut pass, before);
            self.distribute(&mut pass, &of_rank, Manner::AsMany, &profile);
            if pass.found.len() <= in_few_parts {
                self.rewind(&mut pass, before);
                self.distribute(&mut pass, &of_rank, Manner::InFewParts, &profile);
            }
        }
        self.facts.rewind(start);
        pass.found
    }

    /// The first of these replicas and those that are like it, member by member.
    fn alike_replicas(&self, ids: &[GroupId], profile: &Profile) -> Vec<(GroupId, Vec<Member>)> {
        let members = |id: &GroupId| -> Option<Vec<Member>> {
            let waiting = self.facts.groups.waiting(id)?.keys().filter_map(|uid| self.facts.waiting.get(uid));
            let mut pods: Vec<&Arc<Pod>> = waiting.collect();
            pods.sort_by(|one, other| one.id.name.cmp(&other.id.name));
            let member = |pod: &Arc<Pod>| {
                // One that has to avoid devices is like no other.
                let claims =
                    self.claims_of(pod, profile).ok().filter(|_| !self.plans.has_shunned(&pod.uid))?;
                Some(Member::new(pod.clone(), claims))
            };
            pods.into_iter().map(member).collect()
        };
        let all: Vec<(GroupId, Vec<Member>)> =
            ids.iter().filter_map(|id| Some((id.clone(), members(id)?))).collect();
        let Some((first, _)) = all.first().filter(|(first, _)| *first == ids[0]) else { return Vec::new() };
        let everybody = all.iter().flat_map(|(_, members)| members.clone()).collect();
        let cast = Cast::new(self, everybody, profile);
        if !cast.is_local || cast.kinds.iter().flatten().any(|bundle| bundle.members.len() > 1) {
            return Vec::new();
        }
        let mut counts: BTreeMap<Option<&GroupName>, BTreeMap<usize, usize>> = BTreeMap::new();
        for (kind, bundles) in cast.kinds.iter().enumerate() {
            for pod in bundles.iter().flat_map(|bundle| &bundle.members).map(|member| &member.pod) {
                *counts.entry(pod.group.as_ref()).or_default().entry(kind).or_default() += 1;
            }
        }
        let wanted = counts.get(&Some(&first.name)).cloned();
        all.iter().filter(|(id, _)| counts.get(&Some(&id.name)).cloned() == wanted).cloned().collect()
    }

    /// Where replicas may be; nothing if that is nowhere, or in too many places to try all of them.
    fn plots(&mut self, group: &Group, replicas: &Replicas, profile: &Profile) -> Vec<Plot> {
        let cast = self.cast_of(&replicas[..1], profile);
        let domains = self.domains_of(group, &cast, profile).all;
        let plots: Vec<Plot> = match self.device_sets(group, &cast, replicas[0].1.len() as u32) {
            Err(_) => Vec::new(),
            Ok(None) => domains.into_iter().map(|domain| Plot { domain, sets: None }).collect(),
            Ok(Some(choices)) => {
                let plots_of = |sets: Sets| {
                    let narrowed = ReachGenerator { name: &sets.name, nodes: &sets.nodes }.generate(&domains);
                    let plot = move |domain| Plot { domain, sets: Some(sets.clone()) };
                    narrowed.into_iter().map(plot)
                };
                choices.into_iter().flat_map(plots_of).take(PLOTS_MAX + 1).collect()
            }
        };
        if plots.len() > PLOTS_MAX { Vec::new() } else { plots }
    }

    /// Gives replicas to plots, those first on which they fit best, until none is left or no plot takes another.
    fn distribute(&mut self, pass: &mut Pass<'_>, plots: &[&Plot], manner: Manner, profile: &Profile) {
        let mut known: Vec<Known> = plots.iter().map(|_| Known::AtMost(usize::MAX)).collect();
        while !pass.left.is_empty() {
            for (plot, known) in plots.iter().zip(&mut known) {
                let bound = match known {
                    Known::Takes(fit) if fit.count <= pass.left.len() => continue,
                    // A plot that took so many before takes no more now.
                    Known::Takes(fit) => fit.count,
                    Known::AtMost(count) => *count,
                };
                let bound = bound.min(plot.bound(pass.left, manner));
                *known = match self.most_that_fit(pass.left, bound, plot, profile) {
                    Some(fit) => Known::Takes(fit),
                    None => Known::AtMost(0),
                };
            }
            let Some((best, fit)) = take_best(&mut known) else { return };
            let (here, rest) = pass.left.split_at(fit.count);
            let cast = plots[best].restrict(self.cast_of(here, profile));
            let Ok(seated) = self.hand_out(&cast, &fit.placement) else { return };
            pass.left = rest;
            seated.iter().for_each(|(pod, choice)| self.assume_choice(pod, choice));
            pass.found.extend(by_group(here, seated));
            known[best] = Known::AtMost(if fit.is_open { usize::MAX } else { 0 });
            let used: BTreeSet<NodeIdx> = fit.placement.seats.iter().map(|seats| seats.node).collect();
            for (plot, known) in plots.iter().zip(&mut known) {
                if let Known::Takes(fit) = known
                    && plot.domain.nodes.iter().any(|node| used.contains(node))
                {
                    let most = if fit.is_open { usize::MAX } else { fit.count };
                    *known = Known::AtMost(most);
                }
            }
        }
    }

    /// Goes on as if replicas had no seats that got them since.
    fn rewind<'r>(&mut self, pass: &mut Pass<'r>, (left, found, mark): (&'r Replicas, usize, Mark)) {
        pass.left = left;
        pass.found.truncate(found);
        self.facts.rewind(mark);
    }

    /// The most replicas that fit on a plot, and their seats.
    fn most_that_fit(
        &mut self,
        replicas: &Replicas,
        bound: usize,
        plot: &Plot,
        profile: &Profile,
    ) -> Option<Fit> {
        let (mut fits, mut refused) = (None, bound + 1);
        let (mut most, mut step) = (0, 1);
        while refused - most > 1 {
            let count = (most + step).min(most + (refused - most).div_ceil(2)).max(most + 1);
            match self.fit(&replicas[..count], plot, profile) {
                Some(placement) => {
                    (most, step) = (count, step * 2);
                    fits = Some(Fit { count, is_open: count == bound, placement });
                }
                None => refused = count,
            }
        }
        fits
    }

    fn fit(&mut self, replicas: &Replicas, plot: &Plot, profile: &Profile) -> Option<Placement> {
        let cast = plot.restrict(self.cast_of(replicas, profile));
        let gang: Gang = cast.gang(u32::MAX);
        let gang = Gang { at_least: gang.members(), ..gang };
        let domains = std::slice::from_ref(&plot.domain);
        match self.place_within(&gang, &cast, domains, STEPS_MAX, profile) {
            PlacementAnswer::Placed(placement) => Some(placement),
            PlacementAnswer::Impossible(_) | PlacementAnswer::BudgetSpent(_) => None,
        }
    }

    fn cast_of(&mut self, replicas: &Replicas, profile: &Profile) -> Cast {
        let members = replicas.iter().flat_map(|(_, members)| members.clone()).collect();
        Cast::new(self, members, profile).counted(self)
    }

    /// Whether a pod needs more than seats: drivers are to be asked about its devices.
    pub fn is_unlike(&self, pod: &Pod) -> bool {
        let profile = self.settings.profile_of(pod);
        self.claims_of(pod, &profile).map_or(true, |claims| !claims.pending.is_empty())
    }
}

/// The plot on which replicas fit best, and how; it is not known any more what that takes.
fn take_best(known: &mut [Known]) -> Option<(usize, Fit)> {
    let mut best: Option<(usize, (f64, usize))> = None;
    for (at, known) in known.iter().enumerate() {
        if let Known::Takes(fit) = known {
            let rank = (fit.placement.score, fit.count);
            if best.is_none_or(|(_, best)| best < rank) {
                best = Some((at, rank));
            }
        }
    }
    let (at, _) = best?;
    match std::mem::replace(&mut known[at], Known::AtMost(0)) {
        Known::Takes(fit) => Some((at, fit)),
        Known::AtMost(_) => None,
    }
}

/// Seats by the replica that each is for.
fn by_group(replicas: &Replicas, seated: Seated) -> Vec<(GroupId, Seated)> {
    let mut found: Vec<(GroupId, Seated)> = replicas.iter().map(|(id, _)| (id.clone(), Vec::new())).collect();
    for (pod, choice) in seated {
        let own = found.iter_mut().find(|(id, _)| pod.group.as_ref() == Some(&id.name));
        own.expect("seats are for members of these replicas").1.push((pod, choice));
    }
    found
}
