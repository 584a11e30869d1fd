//! Replicas of a group that wait at the same time: as many as fit are placed in one pass.
//!
//! Each replica is a gang with a domain of its own, but domains of one rank have no node in common. So the most that fit are
//! found domain by domain: as many replicas as one takes when they are seated as if they were one gang. Who is left after the
//! best domains has a turn of its own.
//!
//! Invariant: what is found here is what each replica could have found alone with the others in their seats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::group::{Group, GroupId};
use model::pod::Pod;
use model::workload::family;
use placement::{Answer, Budget, Domain, Gang, Placement, Question, place};

use super::cast::{Cast, Member};
use super::ground::Ground;
use super::turn::Seated;
use crate::engine::Engine;
use crate::profile::Profile;

/// In how many domains replicas are tried together; in larger clusters each has a turn of its own.
const DOMAINS_MAX: usize = 512;

/// How many replicas are tried together.
const REPLICAS_MAX: usize = 256;

/// How many steps the search for seats of several replicas in one domain may take.
const STEPS_MAX: u64 = 50_000;

/// Replicas that fit into a domain.
struct Fit {
    domain: usize,
    count: usize,
    placement: Placement,
}

impl Engine {
    /// Replicas of the same group that wait besides this one, whole and with nobody of them on a node or on the way.
    fn siblings(&self, id: &GroupId) -> Vec<GroupId> {
        let Some(family) = family(&id.name) else { return Vec::new() };
        let first = GroupId { namespace: id.namespace.clone(), name: format!("{family}/").into() };
        let waiting = self.gangs.waiting.range(first..).map(|(other, _)| other);
        let same = waiting.take_while(|other| {
            other.namespace == id.namespace && model::workload::family(&other.name) == Some(family)
        });
        same.filter(|other| *other != id && self.is_fresh(other)).take(REPLICAS_MAX - 1).cloned().collect()
    }

    /// Whether a gang may be placed, and nobody of it has been so far.
    fn is_fresh(&self, id: &GroupId) -> bool {
        let Some(group) = self.gangs.groups.get(id) else { return false };
        let waiting = self.gangs.waiting.get(id);
        let is_free = |(uid, gated): (&Arc<str>, &bool)| !gated && !self.placing.contains_key(uid);
        self.gangs.seated(id).next().is_none()
            && waiting.is_some_and(|members| {
                members.len() >= group.at_least as usize && members.iter().all(is_free)
            })
    }

    /// Seats for a replica and for others of its group, as many as fit; nothing if each is to be looked at alone.
    pub(super) fn seat_replicas(&mut self, group: &Group, pods: &[Arc<Pod>]) -> Vec<(GroupId, Seated)> {
        let terms = self.gangs.terms.get(&group.id);
        if terms.is_none_or(|terms| !terms.devices.is_empty()) || !self.is_fresh(&group.id) {
            return Vec::new();
        }
        // Room that is being made for some of them is for them alone.
        if !self.preempting.nominations.is_empty() {
            return Vec::new();
        }
        let mut ids = vec![group.id.clone()];
        ids.extend(self.siblings(&group.id));
        let profile = self.settings.profile_of(&pods[0]);
        let replicas = self.alike_replicas(&ids, &profile);
        if replicas.len() < 2 {
            return Vec::new();
        }
        let cast = Cast::new(self, replicas[0].1.clone(), &profile);
        let domains = self.domains_of(group, &cast, &profile).all;
        let rank = domains.iter().map(|domain| domain.rank).min();
        let domains: Vec<Domain> = domains.into_iter().filter(|domain| Some(domain.rank) == rank).collect();
        // In one domain there is nothing to distribute, and what is left over has to be looked at anew anyway.
        if domains.len() < 2 || domains.len() > DOMAINS_MAX {
            return Vec::new();
        }
        self.distribute(&replicas, &domains, &profile)
    }

    /// The first of these replicas and those that are like it, member by member.
    fn alike_replicas(&self, ids: &[GroupId], profile: &Profile) -> Vec<(GroupId, Vec<Member>)> {
        let members = |id: &GroupId| -> Option<Vec<Member>> {
            let waiting = self.gangs.waiting.get(id)?.keys().filter_map(|uid| self.waiting.get(uid));
            let mut pods: Vec<&Arc<Pod>> = waiting.collect();
            pods.sort_by(|one, other| one.id.name.cmp(&other.id.name));
            let member = |pod: &Arc<Pod>| {
                let claims = self.claims_of(pod, profile).ok()?;
                Some(Member { pod: pod.clone(), claims, follows: Vec::new() })
            };
            pods.into_iter().map(member).collect()
        };
        let all: Vec<(GroupId, Vec<Member>)> =
            ids.iter().filter_map(|id| Some((id.clone(), members(id)?))).collect();
        let Some((first, _)) = all.first().filter(|(first, _)| *first == ids[0]) else { return Vec::new() };
        let everybody = all.iter().flat_map(|(_, members)| members.clone()).collect();
        let cast = Cast::new(self, everybody, profile);
        if !cast.is_local || cast.kinds.iter().flatten().any(|unit| unit.members.len() > 1) {
            return Vec::new();
        }
        let mut counts: BTreeMap<&str, BTreeMap<usize, usize>> = BTreeMap::new();
        for (kind, units) in cast.kinds.iter().enumerate() {
            for pod in units.iter().flat_map(|unit| &unit.members).map(|member| &member.pod) {
                let group = pod.group.as_deref().unwrap_or_default();
                *counts.entry(group).or_default().entry(kind).or_default() += 1;
            }
        }
        let wanted = counts.get(&*first.name).cloned();
        all.iter().filter(|(id, _)| counts.get(&*id.name).cloned() == wanted).cloned().collect()
    }

    /// Gives replicas to domains, those first in which they fit best, until none is left or no domain takes another.
    fn distribute(
        &mut self,
        replicas: &[(GroupId, Vec<Member>)],
        domains: &[Domain],
        profile: &Profile,
    ) -> Vec<(GroupId, Seated)> {
        let mut found = Vec::new();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut most: BTreeMap<usize, usize> = BTreeMap::new();
        let mut left = replicas;
        while !left.is_empty() {
            let mut best: Option<Fit> = None;
            for domain in (0..domains.len()).filter(|domain| !used.contains(domain)) {
                // Who took so many before takes no more of fewer that are left.
                let bound = most.get(&domain).copied().unwrap_or(usize::MAX).min(left.len());
                let fit = self.most_that_fit(left, bound, (domain, &domains[domain]), profile);
                most.insert(domain, fit.as_ref().map_or(0, |fit| fit.count));
                let rank = |fit: &Fit| (fit.placement.score, fit.count);
                if let Some(fit) = fit
                    && best.as_ref().is_none_or(|best| rank(best) < rank(&fit))
                {
                    best = Some(fit);
                }
            }
            let Some(Fit { domain, count, placement }) = best else { break };
            used.insert(domain);
            let (here, rest) = left.split_at(count);
            left = rest;
            let cast = self.cast_of(here, profile);
            let Ok(seated) = self.hand_out(&cast, &placement) else { break };
            found.extend(by_group(here, seated));
        }
        found
    }

    /// The most replicas that fit into a domain, and their seats.
    fn most_that_fit(
        &mut self,
        replicas: &[(GroupId, Vec<Member>)],
        bound: usize,
        (number, domain): (usize, &Domain),
        profile: &Profile,
    ) -> Option<Fit> {
        let (mut fits, mut refused) = (None, bound + 1);
        let (mut most, mut step) = (0, 1);
        while refused - most > 1 {
            let count = (most + step).min(most + (refused - most).div_ceil(2)).max(most + 1);
            match self.fit(&replicas[..count], domain, profile) {
                Some(placement) => {
                    (most, step) = (count, step * 2);
                    fits = Some(Fit { domain: number, count, placement });
                }
                None => refused = count,
            }
        }
        fits
    }

    fn fit(
        &mut self,
        replicas: &[(GroupId, Vec<Member>)],
        domain: &Domain,
        profile: &Profile,
    ) -> Option<Placement> {
        let cast = self.cast_of(replicas, profile);
        let gang: Gang = cast.gang(u32::MAX);
        let gang = Gang { at_least: gang.members(), ..gang };
        let scorers = profile.placement.scorers();
        let question = Question { gang: &gang, domains: std::slice::from_ref(domain), scorers: &scorers };
        let mut ground = Ground::new(self, &cast, profile);
        match place(question, &mut ground, &mut Budget::new(STEPS_MAX)) {
            Answer::Placed(placement) => Some(placement),
            Answer::Impossible(_) | Answer::BudgetSpent(_) => None,
        }
    }

    fn cast_of(&mut self, replicas: &[(GroupId, Vec<Member>)], profile: &Profile) -> Cast {
        let members = replicas.iter().flat_map(|(_, members)| members.clone()).collect();
        Cast::new(self, members, profile).counted(self)
    }
}

/// Seats by the replica that each is for.
fn by_group(replicas: &[(GroupId, Vec<Member>)], seated: Seated) -> Vec<(GroupId, Seated)> {
    let mut found: Vec<(GroupId, Seated)> = replicas.iter().map(|(id, _)| (id.clone(), Vec::new())).collect();
    for (pod, choice) in seated {
        let own = found.iter_mut().find(|(id, _)| pod.group.as_ref() == Some(&id.name));
        own.expect("seats are for members of these replicas").1.push((pod, choice));
    }
    found
}
