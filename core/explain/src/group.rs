//! Why the pods of a group, or of a tree of groups, wait.

use std::sync::Arc;

use cluster::groups::Root;
use decisions::considering::{GangVerdict, SchedulingQuestion, SchedulingVerdict, SeatsVerdict, Snapshot};
use decisions::driver_wait::Wait;
use decisions::gang::{GangRefusal, Seated};
use decisions::gang_preemption::GangPreemption;
use decisions::gang_reason::{GangReason, NextMember};
use decisions::held_back::lack_of_gang;
use decisions::lacking::Lacking;
use decisions::pod::obstacles::Obstacles;
use decisions::pod::{Choice, Wanted};
use decisions::preempt::planned;
use model::group::GroupId;
use model::identity::NodeName;
use model::pod::Pod;
use placement::{DomainName, Refusal};

use crate::audience::Audience;
use crate::candidates::{Known, fixes, rank};
use crate::case::Case;
use crate::conflict::{Conflict, conflict};
use crate::edit::Edit;
use crate::effort::{Effort, Extent, Oracle};
use crate::nodes::{NodeGroup, distance, groups};
use crate::remedies::{Remedies, TOGETHER_MAX, is_undone_by_lists, remedies, remedy_of};
use crate::waiting::wait_of;

/// What is to be said of a group, or of a group of groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupExplanation {
    /// There is no such group.
    NotFound(GroupId),
    /// No pod of it waits.
    NoneWait {
        /// The group.
        group: GroupId,
        /// How many pods have a node.
        placed: usize,
    },
    /// It is not looked at: it has too few pods, or one of them lacks something.
    HeldBack {
        /// The group.
        group: GroupId,
        /// How many pods wait.
        waiting: usize,
        /// What is lacking.
        lack: Lacking,
    },
    /// There is a place: its turn has yet to come.
    Fits {
        /// The group.
        group: GroupId,
        /// Its pods and their nodes.
        places: Vec<(Arc<str>, NodeName)>,
    },
    /// There are nodes for it, and the controllers of drivers have been asked for devices.
    AwaitsDrivers {
        /// The group.
        group: GroupId,
        /// Its pods and their nodes, with what of drivers each waits for, if it does; at least one does.
        places: Vec<(Arc<str>, NodeName, Option<Wait>)>,
    },
    /// There is none.
    Refused(Box<RefusedGroup>),
    /// It was not decided: a bound was met.
    Undecided(GroupId),
}

/// Why a group has no place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedGroup {
    /// The group.
    pub group: GroupId,
    /// How many pods wait.
    pub waiting: usize,
    /// Why, as the condition of the group tells it.
    pub refusal: Box<GangRefusal>,
    /// How many domains it may be in.
    pub domain_count: usize,
    /// For how many pods there is room in domains, the nearest first; of domains that are alike only in the first.
    pub domains: Vec<DomainRoom>,
    /// The best attempt: pods that would have a node, if that were enough.
    pub seated: Vec<(Arc<str>, NodeName)>,
    /// A pod that has none then.
    pub next: Option<Arc<str>>,
    /// What removes nodes for that one then.
    pub groups: Vec<NodeGroup>,
    /// What conflicts.
    pub conflict: Conflict,
    /// What would help.
    pub remedies: Remedies,
    /// How much was done to find this out.
    pub done: Effort,
}

/// For how many pods of a group there is room in a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainRoom {
    /// The domain.
    pub domain: DomainName,
    /// For how many.
    pub room_for: u32,
    /// Of how many.
    pub wanted: u32,
}

/// Why the pods of a group, or of a group of groups, wait.
#[must_use]
pub fn explain_group(
    snapshot: &Snapshot,
    root: &Root,
    audience: &Audience,
    effort: Effort,
) -> GroupExplanation {
    let id = root.id().clone();
    let Some(case) = Case::of_group(snapshot.clone(), root) else { return GroupExplanation::NotFound(id) };
    let groups = &snapshot.facts.groups;
    let waiting = case.question.pods().len();
    if waiting == 0 {
        let placed = groups.leaves_of(root).iter().map(|leaf| groups.seated(leaf).count()).sum();
        return GroupExplanation::NoneWait { group: id, placed };
    }
    if let Some(lack) = lack_of_gang(&snapshot.facts, &snapshot.settings, root, case.question.pods()) {
        return GroupExplanation::HeldBack { group: id, waiting, lack };
    }
    let mut oracle = Oracle::new(effort);
    let Some(considered) = oracle.decide(case.clone()) else { return GroupExplanation::Undecided(id) };
    let SchedulingVerdict::Gang(verdict) = considered.verdict else { return GroupExplanation::Undecided(id) };
    match judged(*verdict) {
        Judged::Placed(seated) => placed(&case, id, &seated),
        Judged::Refused(refusal) => {
            GroupExplanation::Refused(Box::new(refused(&mut oracle, &case, id, refusal, audience)))
        }
        Judged::Unknown => GroupExplanation::NotFound(id),
    }
}

/// What is said of a group for which there are nodes.
fn placed(case: &Case, group: GroupId, seated: &Seated) -> GroupExplanation {
    let wait = |pod: &Pod, choice: &Choice| Some(wait_of(case, pod, choice.negotiation.as_ref()?));
    if seated.iter().any(|(_, choice)| choice.negotiation.is_some()) {
        let place = |(pod, choice): &(Arc<Pod>, Choice)| {
            (pod.id.name.clone(), choice.node.clone(), wait(pod, choice))
        };
        return GroupExplanation::AwaitsDrivers { group, places: seated.iter().map(place).collect() };
    }
    let places = seated.iter().map(|(pod, choice)| (pod.id.name.clone(), choice.node.clone()));
    GroupExplanation::Fits { group, places: places.collect() }
}

enum Judged {
    Placed(Seated),
    Refused(Box<GangRefusal>),
    Unknown,
}

fn judged(verdict: GangVerdict) -> Judged {
    match verdict.seats {
        SeatsVerdict::Seats { seated, .. } => Judged::Placed(seated),
        SeatsVerdict::Replicas(replicas) => {
            Judged::Placed(replicas.into_iter().flat_map(|(_, seated)| seated).collect())
        }
        SeatsVerdict::Unfit(refusal) => Judged::Refused(refusal),
        SeatsVerdict::NoSeats(none) => {
            let preemption = none.way.told();
            Judged::Refused(Box::new(GangRefusal { preemption, ..none.refusal }))
        }
        SeatsVerdict::NoTree => Judged::Unknown,
    }
}

fn refused(
    oracle: &mut Oracle,
    case: &Case,
    group: GroupId,
    refusal: Box<GangRefusal>,
    audience: &Audience,
) -> RefusedGroup {
    let attempt = best_attempt(oracle, case, &group, &refusal);
    let survey = survey(oracle, case, &attempt);
    let is_cleared = matches!(
        refusal.preemption,
        Some(GangPreemption::Found { .. } | GangPreemption::Ongoing | GangPreemption::ClaimsGiveBack { .. })
    );
    let (conflict, remedies) = if is_cleared {
        let extent = Extent::Bounded;
        let none = Conflict { constraints: Default::default(), extent };
        (none, Remedies { remedies: Vec::new(), extent })
    } else {
        let conflict = conflict(oracle, case, None);
        let near = in_the_domain(case, &attempt.seated, &survey);
        let known =
            Known { pod: attempt.next.as_ref(), survey: &near, refusal: Some(&refusal), conflict: &conflict };
        let mut remedies = remedies(oracle, case, &known, audience);
        if remedies.remedies.is_empty() {
            let edits = together(oracle, case, &group, (&attempt, &survey));
            let found = edits.and_then(|edits| remedy_of(oracle, case, edits, audience));
            remedies.remedies.extend(found);
        }
        (conflict, remedies)
    };
    let named = |(pod, choice): &(Arc<Pod>, Choice)| (pod.id.name.clone(), choice.node.clone());
    RefusedGroup {
        group,
        waiting: case.question.pods().len(),
        domain_count: no_room(&refusal.miss.why).map_or(0, |refusal| refusal.domains),
        domains: rooms(&refusal.miss.why),
        refusal,
        seated: attempt.seated.iter().map(named).collect(),
        next: attempt.next.as_ref().map(|pod| pod.id.name.clone()),
        groups: groups(&case.snapshot.facts, audience, &survey),
        conflict,
        remedies,
        done: oracle.done(),
    }
}

/// Pods of a group that would have a node, and one that would not.
struct BestAttempt {
    seated: Seated,
    next: Option<Arc<Pod>>,
}

/// What would be if as many pods as there is room for were enough.
fn best_attempt(oracle: &mut Oracle, case: &Case, group: &GroupId, refusal: &GangRefusal) -> BestAttempt {
    let members = case.question.pods();
    let room_for = refusal.miss.room_for;
    let mut seated: Seated = Vec::new();
    if room_for > 0 && matches!(case.question, SchedulingQuestion::Gang { .. }) {
        let lower = Edit::LowerMinCount { group: group.clone(), to: room_for };
        let considered = oracle.decide(case.after([&lower]));
        if let Some(SchedulingVerdict::Gang(verdict)) = considered.map(|considered| considered.verdict)
            && let Judged::Placed(places) = judged(*verdict)
        {
            seated = places;
        }
    }
    let is_seated = |pod: &&Arc<Pod>| seated.iter().any(|(one, _)| one.uid == pod.uid);
    let next = members.iter().find(|pod| !is_seated(pod)).cloned();
    BestAttempt { seated, next }
}

/// What keeps the next pod off each node once others have theirs.
fn survey(oracle: &mut Oracle, case: &Case, attempt: &BestAttempt) -> Vec<Obstacles> {
    let Some(next) = &attempt.next else { return Vec::new() };
    let mut after = case.clone();
    let facts = &mut after.snapshot.facts;
    for (pod, choice) in &attempt.seated {
        let allocations = choice.claims.iter().filter_map(|wanted| match wanted {
            Wanted::Allocation { allocation, .. } | Wanted::Claim { allocation } => Some(allocation),
            Wanted::Reserved | Wanted::Reservation { .. } => None,
        });
        facts.claims.take(&planned(pod, allocations));
        facts.put_pod(Arc::new(Pod { node: Some(choice.node.clone()), ..Pod::clone(pod) }));
    }
    let work_max = oracle.work_left() / 4;
    oracle.survey(&mut after, next, None, work_max)
}

/// Changes that make a group fit, found one after the other: what keeps the next pod off the node that comes nearest to it is mended.
fn together(
    oracle: &mut Oracle,
    case: &Case,
    group: &GroupId,
    (attempt, survey_before): (&BestAttempt, &[Obstacles]),
) -> Option<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut near = in_the_domain(case, &attempt.seated, survey_before);
    let mut next = attempt.next.clone()?;
    for _ in 0..TOGETHER_MAX {
        let after = case.after(&edits);
        let node = near.iter().filter(|node| node.count() > 0).min_by_key(|node| distance(node))?;
        let mut fitting: Vec<Edit> = fixes(&after, &next, node).into_iter().flatten().collect();
        fitting.retain(|edit| !edits.contains(edit) && !is_undone_by_lists(edit, &edits));
        fitting.sort_by_key(rank);
        edits.push(fitting.into_iter().next()?);
        let mut after = case.after(&edits);
        after.change_pods(&|pod| pod.preempts = false);
        let SchedulingVerdict::Gang(verdict) = oracle.decide(after.clone())?.verdict else { return None };
        match judged(*verdict) {
            Judged::Placed(_) => return Some(edits),
            Judged::Refused(refusal) => {
                let attempt = best_attempt(oracle, &after, group, &refusal);
                let survey = survey(oracle, &after, &attempt);
                near = in_the_domain(&after, &attempt.seated, &survey);
                next = attempt.next?;
            }
            Judged::Unknown => return None,
        }
    }
    None
}

/// The nodes of the domain in which pods of the group have theirs; all nodes if none has.
fn in_the_domain(case: &Case, seated: &Seated, survey: &[Obstacles]) -> Vec<Obstacles> {
    let facts = &case.snapshot.facts;
    let labels = |name: &str| {
        let state = facts.nodes.find(name).map(|at| facts.nodes.get(at));
        state.and_then(|state| state.node.as_ref()).map(|node| &node.labels)
    };
    let levels: Vec<Arc<str>> =
        crate::relax::groups_of(case).into_iter().flat_map(|group| group.levels).collect();
    let Some(there) = seated.first().and_then(|(_, choice)| labels(&choice.node)) else {
        return survey.to_vec();
    };
    let is_near = |node: &&Obstacles| {
        let own = labels(&node.node);
        levels.iter().all(|level| own.is_some_and(|own| own.get(level) == there.get(level)))
    };
    survey.iter().filter(is_near).cloned().collect()
}

/// For how many pods domains have room, as far as a refusal tells.
fn rooms(why: &GangReason) -> Vec<DomainRoom> {
    let Some(refusal) = no_room(why) else { return Vec::new() };
    let all = refusal.nearest.iter().chain(&refusal.lacks);
    let mut rooms: Vec<DomainRoom> = Vec::new();
    for lack in all {
        if !rooms.iter().any(|room| room.domain == lack.domain) {
            let (domain, room_for) = (lack.domain.clone(), lack.room_for);
            rooms.push(DomainRoom { domain, room_for, wanted: refusal.wanted });
        }
    }
    rooms
}

fn no_room(why: &GangReason) -> Option<&Refusal<NextMember>> {
    match why {
        GangReason::NoRoom(refusal) => Some(refusal),
        GangReason::Tree { nearest, .. } => no_room(nearest),
        GangReason::Group { why, .. } => no_room(why),
        _ => None,
    }
}
