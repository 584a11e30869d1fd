//! The smallest changes that help. Each that is told was tried: with it the scheduler finds a place.
//!
//! Candidates come from what nodes lack that come near. Single changes are tried before pairs, and those that disturb least before
//! others.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::identity::NodeName;
use model::pod::{Pod, PodId};
use model::request_name::RequestName;

use crate::audience::{Audience, Shown};
use crate::candidates::{Candidate, Known, fixes, pairs, rank, singles, starts};
use crate::case::Case;
use crate::constraint::{Constraint, Entry};
use crate::edit::Edit;
use crate::effort::{Extent, Oracle, Outcome};
use crate::nodes::NAMES_MAX;

/// How many changes are told at the most that are needed together.
pub(crate) const TOGETHER_MAX: usize = 5;

/// How many remedies are told.
pub const REMEDIES_MAX: usize = 5;

/// Changes that help, those that disturb least first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remedies {
    /// The changes.
    pub remedies: Vec<Remedy>,
    /// Whether all candidates were tried. More may help than those that were.
    pub extent: Extent,
}

/// Changes that help together. Each of several is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remedy {
    /// The changes.
    pub edits: Vec<Edit>,
    /// What they lead to.
    pub leads_to: LeadsTo,
}

/// What a remedy leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeadsTo {
    /// The pod, or the first of a group, fits on this node.
    Place(NodeName),
    /// It fits on this node once these pods are preempted.
    Preemption {
        /// The node.
        node: NodeName,
        /// How many pods.
        count: usize,
        /// Some of them.
        victims: Vec<Shown<PodId>>,
    },
}

/// How many remedies of a kind are told at the most, so that there are several kinds of them.
fn most_of_kind(edit: &Edit) -> usize {
    match edit {
        Edit::EndPod { .. } | Edit::FreeClaim(_) | Edit::Drop(_) => 2,
        Edit::Uncordon(_)
        | Edit::RemoveTaint { .. }
        | Edit::LowerRequest { .. }
        | Edit::LowerCount { .. }
        | Edit::LowerMinCount { .. }
        | Edit::RaisePriority { .. }
        | Edit::AddDevices { .. }
        | Edit::AddNode { .. } => 1,
    }
}

/// Changes that help a case that has no place.
pub(crate) fn remedies(oracle: &mut Oracle, case: &Case, known: &Known<'_>, audience: &Audience) -> Remedies {
    let mut told: Vec<Remedy> = Vec::new();
    let mut extent = Extent::Whole;
    let mut tried = BTreeSet::new();
    for candidate in singles(case, known) {
        if told.len() == REMEDIES_MAX {
            break;
        }
        extent = extent.and(try_one(oracle, case, candidate, (&mut told, &mut tried)));
    }
    if told.is_empty() {
        for candidate in pairs(case, known) {
            extent = extent.and(try_one(oracle, case, candidate, (&mut told, &mut tried)));
            if told.len() >= NAMES_MAX {
                break;
            }
        }
    }
    if told.is_empty()
        && let Some(pod) = case.pod()
    {
        for node in starts(known.survey) {
            let (found, whole) = together(oracle, case, pod, &node);
            extent = extent.and(whole);
            if let Some(candidate) = found {
                extent = extent.and(try_one(oracle, case, candidate, (&mut told, &mut tried)));
            }
            if !told.is_empty() {
                break;
            }
        }
    }
    for remedy in &mut told {
        remedy.edits.iter_mut().for_each(|edit| edit.mask(audience));
        if let LeadsTo::Preemption { victims, .. } = &mut remedy.leads_to {
            victims.iter_mut().for_each(|pod| audience.mask(pod));
        }
    }
    Remedies { remedies: told, extent }
}

fn try_one(
    oracle: &mut Oracle,
    case: &Case,
    candidate: Candidate,
    (told, tried): (&mut Vec<Remedy>, &mut BTreeSet<Candidate>),
) -> Extent {
    let is_of_kind = |remedy: &&Remedy| {
        let codes = |edits: &[Edit]| edits.iter().map(Edit::code).collect::<Vec<_>>();
        codes(&remedy.edits) == codes(&candidate.edits)
    };
    let is_told = told.iter().any(|remedy| remedy.edits == candidate.edits);
    let is_enough = told.iter().filter(is_of_kind).count() >= candidate.edits.first().map_or(0, most_of_kind);
    if is_told || is_enough || !tried.insert(candidate.clone()) {
        return Extent::Whole;
    }
    let outcome = verdict(oracle, case, &candidate);
    let Candidate { edits, .. } = candidate;
    let leads_to = match outcome {
        Outcome::NotAsked => return Extent::Bounded,
        Outcome::Refused(_) => return Extent::Whole,
        Outcome::Placed(nodes) => {
            LeadsTo::Place(nodes.into_iter().next().map(|(_, node)| node).unwrap_or_default())
        }
        Outcome::Preempting { node, victims } => {
            let count = victims.len();
            let victims = victims.iter().take(NAMES_MAX).map(|pod| Shown::Named(pod.id.clone())).collect();
            LeadsTo::Preemption { node, count, victims }
        }
    };
    // Of several changes each is needed, or fewer would be told.
    for number in 0..edits.len() {
        let mut fewer = edits.clone();
        fewer.remove(number);
        if fewer.is_empty() {
            break;
        }
        match verdict(oracle, case, &Candidate { edits: fewer, place: None }) {
            Outcome::Refused(_) => {}
            Outcome::NotAsked => return Extent::Bounded,
            Outcome::Placed(_) | Outcome::Preempting { .. } => return Extent::Whole,
        }
    }
    told.push(Remedy { edits, leads_to });
    Extent::Whole
}

/// Changes that make a pod fit on a node, found one after the other: whatever is still wrong with the node is mended next. Those that
/// turn out not to be needed are left out.
fn together(
    oracle: &mut Oracle,
    case: &Case,
    pod: &Arc<Pod>,
    node: &NodeName,
) -> (Option<Candidate>, Extent) {
    let mut edits: Vec<Edit> = Vec::new();
    let within = std::slice::from_ref(node);
    loop {
        if oracle.is_spent() {
            return (None, Extent::Bounded);
        }
        let mut after = case.after(&edits);
        let changed = after.pod().unwrap_or(pod).clone();
        let work_max = oracle.work_left();
        let survey = oracle.survey(&mut after, &changed, Some(within), work_max);
        let Some(there) = survey.first() else { return (None, Extent::Whole) };
        if there.count() == 0 {
            break;
        }
        let mut next: Vec<Edit> = fixes(&after, &changed, there).into_iter().flatten().collect();
        next.retain(|edit| !edits.contains(edit) && !is_undone_by_lists(edit, &edits));
        next.sort_by_key(rank);
        match next.into_iter().next() {
            Some(edit) if edits.len() < TOGETHER_MAX => edits.push(edit),
            _ => return (None, Extent::Whole),
        }
    }
    let mut edits = needed(oracle, case, edits);
    edits.sort_by_key(rank);
    (Some(Candidate { edits, place: None }), Extent::Whole)
}

/// Those of some changes that help together without which they do not.
fn needed(oracle: &mut Oracle, case: &Case, mut edits: Vec<Edit>) -> Vec<Edit> {
    for number in (0..edits.len()).rev() {
        let mut fewer = edits.clone();
        fewer.remove(number);
        let candidate = Candidate { edits: fewer, place: None };
        if matches!(verdict(oracle, case, &candidate), Outcome::Placed(_)) {
            edits = candidate.edits;
        }
    }
    edits
}

/// Changes that were found to help together, as a remedy: without those that are not needed, and tried once more.
pub(crate) fn remedy_of(
    oracle: &mut Oracle,
    case: &Case,
    edits: Vec<Edit>,
    audience: &Audience,
) -> Option<Remedy> {
    let mut edits = needed(oracle, case, edits);
    edits.sort_by_key(rank);
    let mut told = Vec::new();
    let extent = try_one(oracle, case, Candidate { edits, place: None }, (&mut told, &mut BTreeSet::new()));
    told.iter_mut().flat_map(|remedy: &mut Remedy| &mut remedy.edits).for_each(|edit| edit.mask(audience));
    told.pop().filter(|_| extent == Extent::Whole)
}

/// Whether a constraint is known by its place in a list from which another is dropped: then its place is another.
pub(crate) fn is_undone_by_lists(edit: &Edit, edits: &[Edit]) -> bool {
    list_of(edit).is_some_and(|list| edits.iter().any(|one| list_of(one) == Some(list)))
}

/// The list by a place in which a constraint is known that is dropped.
fn list_of(edit: &Edit) -> Option<(&str, Option<&Entry>, Option<&RequestName>)> {
    let Edit::Drop(constraint) = edit else { return None };
    match constraint {
        Constraint::Spread { .. } | Constraint::PodAffinity { .. } | Constraint::PodAntiAffinity { .. } => {
            Some((constraint.code(), None, None))
        }
        Constraint::Selector { claim, request, .. } => Some((constraint.code(), Some(claim), Some(request))),
        Constraint::Attribute { claim, .. } => Some(("Attribute", Some(claim), None)),
        _ => None,
    }
}

/// What is decided after some changes. Pods are preempted only for a priority that was raised.
fn verdict(oracle: &mut Oracle, case: &Case, candidate: &Candidate) -> Outcome {
    if oracle.is_spent() {
        return Outcome::NotAsked;
    }
    let after = case.after(&candidate.edits);
    if candidate.edits.iter().any(|edit| matches!(edit, Edit::RaisePriority { .. })) {
        return oracle.ask_as_it_is(after);
    }
    let narrowed = candidate.place.as_ref().and_then(|place| after.narrowed_to(std::slice::from_ref(place)));
    oracle.ask(narrowed.as_ref().unwrap_or(&after))
}
