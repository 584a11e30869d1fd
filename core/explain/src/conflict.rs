//! The smallest set of constraints that conflict: with these alone there is no place, and without any one of them there is.
//!
//! Invariant: a set is called minimal only if the scheduler found no place with it and a place without each one of it.

use std::collections::BTreeSet;

use allocation::{NearestMiss, Stage};
use decisions::node_refusal::NodeRefusal;
use decisions::pod::Nearest;
use decisions::pod::obstacles::{DeviceObstacle, Obstacles};
use decisions::reason::DeviceReason;
use model::pod::Pod;

use crate::case::Case;
use crate::constraint::{Constraint, constraints, taints_of};
use crate::effort::{Extent, Oracle, Outcome};

/// Constraints of which not all can be met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The constraints. None if there is no place even without any: then there is no node.
    pub constraints: BTreeSet<Constraint>,
    /// Whether it is certain that no proper subset conflicts. If a bound was met, a smaller set may conflict too.
    pub extent: Extent,
}

/// The smallest set of constraints of a case that conflict. There is no place for the case as it is.
pub(crate) fn conflict(oracle: &mut Oracle, case: &Case, survey: Option<&[Obstacles]>) -> Conflict {
    // What would help is told too.
    let kept = oracle.keep_half();
    let conflict = search(oracle, case, survey);
    oracle.restore(kept);
    conflict
}

fn search(oracle: &mut Oracle, case: &Case, survey: Option<&[Obstacles]>) -> Conflict {
    let all = constraints(case);
    let mut kept = all.clone();
    if let Some(guess) = survey.and_then(|survey| guess(case, &all, survey))
        && guess.len() < all.len()
        && conflicts(oracle, case, &all, &guess).is_impossible()
    {
        kept = guess;
    }
    let mut extent = Extent::Whole;
    for constraint in kept.clone() {
        let mut fewer = kept.clone();
        fewer.remove(&constraint);
        match conflicts(oracle, case, &all, &fewer) {
            outcome if outcome.is_impossible() => kept = fewer,
            Outcome::Placed(_) => {}
            Outcome::Preempting { .. } | Outcome::Refused(_) | Outcome::NotAsked => extent = Extent::Bounded,
        }
    }
    Conflict { constraints: kept, extent }
}

/// What is decided with no other constraints than these.
fn conflicts(
    oracle: &mut Oracle,
    case: &Case,
    all: &BTreeSet<Constraint>,
    kept: &BTreeSet<Constraint>,
) -> Outcome {
    if oracle.is_spent() {
        return Outcome::NotAsked;
    }
    oracle.ask(&case.without(all.difference(kept)))
}

/// Constraints that conflict by what is known of each node: it saves asking about most of the others.
fn guess(case: &Case, all: &BTreeSet<Constraint>, survey: &[Obstacles]) -> Option<BTreeSet<Constraint>> {
    let pod = case.pod()?;
    let choices: Vec<BTreeSet<BTreeSet<Constraint>>> =
        survey.iter().map(|node| against(case, pod, all, node)).collect();
    let mut open: Vec<&BTreeSet<BTreeSet<Constraint>>> = choices.iter().collect();
    let mut guess = BTreeSet::new();
    while !open.is_empty() {
        let mut counts = std::collections::BTreeMap::new();
        for sets in open.iter().flat_map(|choices| choices.iter()) {
            *counts.entry(sets).or_insert(0_usize) += 1;
        }
        // What removes most nodes, for each constraint that it adds.
        let more = |set: &BTreeSet<Constraint>| set.difference(&guess).count().max(1);
        let best = counts.iter().max_by_key(|(set, count)| (**count * 1_000) / more(set))?;
        let best: BTreeSet<Constraint> = (*best.0).clone();
        guess.extend(best);
        open.retain(|choices| !choices.iter().any(|set| set.is_subset(&guess)));
    }
    Some(guess)
}

/// Sets of constraints each of which removes a node.
fn against(
    case: &Case,
    pod: &Pod,
    all: &BTreeSet<Constraint>,
    node: &Obstacles,
) -> BTreeSet<BTreeSet<Constraint>> {
    let mut sets: BTreeSet<BTreeSet<Constraint>> = BTreeSet::new();
    for rule in &node.rules {
        sets.extend(of_rule(case, pod, node, rule).into_iter().map(|one| [one].into()));
    }
    if let DeviceObstacle::Lacking { reason, nearest, .. } = &node.devices {
        sets.insert(of_devices(all, reason, nearest.as_ref()));
    }
    sets.retain(|set| set.is_subset(all));
    sets
}

/// The constraints one of which a filter names when it is against a node.
pub(crate) fn of_rule(case: &Case, pod: &Pod, node: &Obstacles, rule: &NodeRefusal) -> Vec<Constraint> {
    let shape = &pod.shape;
    match rule {
        NodeRefusal::Unschedulable => vec![Constraint::Cordon],
        NodeRefusal::Taint(taint) => {
            let facts = &case.snapshot.facts;
            let known = facts.nodes.find(&node.node).and_then(|at| facts.nodes.get(at).node.as_ref());
            let told = known.into_iter().flat_map(|node| taints_of(node));
            told.filter(|one| matches!(one, Constraint::Taint { key, .. } if *key == taint.key)).collect()
        }
        NodeRefusal::NotNamed | NodeRefusal::NamesConflict => vec![Constraint::NodeAffinity],
        NodeRefusal::NodeAffinity => match (&shape.node_affinity, shape.node_labels.is_empty()) {
            (Some(_), true) => vec![Constraint::NodeAffinity],
            (None, _) => vec![Constraint::NodeSelector],
            (Some(affinity), false) => {
                let facts = &case.snapshot.facts;
                let known = facts.nodes.find(&node.node).and_then(|at| facts.nodes.get(at).node.as_ref());
                let is_picked = known.is_some_and(|node| affinity.picks(node).unwrap_or(false));
                vec![if is_picked { Constraint::NodeSelector } else { Constraint::NodeAffinity }]
            }
        },
        NodeRefusal::EnforcedNodeAffinity => vec![Constraint::AddedAffinity],
        NodeRefusal::Port(port) => vec![Constraint::HostPort(port.clone())],
        NodeRefusal::Short(shortages) => {
            shortages.iter().map(|short| Constraint::Resource(short.of.clone())).collect()
        }
        NodeRefusal::NoSpreadLabel { key } | NodeRefusal::Skewed { key, .. } => {
            let all = shape.spread.iter().enumerate().filter(|(_, one)| one.required && one.key == *key);
            all.map(|(index, one)| Constraint::Spread { index, key: one.key.clone() }).collect()
        }
        NodeRefusal::NotNear => {
            let all = shape.near.iter().enumerate();
            all.map(|(index, term)| Constraint::PodAffinity { index, key: term.key.clone() }).collect()
        }
        NodeRefusal::NotApart { key } => {
            let all = shape.apart.iter().enumerate().filter(|(_, term)| term.key == *key);
            all.map(|(index, term)| Constraint::PodAntiAffinity { index, key: term.key.clone() }).collect()
        }
        NodeRefusal::Unwelcome { .. } => vec![Constraint::ExistingAntiAffinity],
        NodeRefusal::DiskInUse => vec![Constraint::Disks],
        NodeRefusal::ClaimInUse
        | NodeRefusal::TooManyVolumes { .. }
        | NodeRefusal::DriverMissing { .. }
        | NodeRefusal::Volumes(_)
        | NodeRefusal::Volume(_)
        | NodeRefusal::VolumeZone { .. } => {
            shape.volume_claims.iter().cloned().map(Constraint::Volume).collect()
        }
        NodeRefusal::Feature { feature } => vec![Constraint::Feature(feature.clone())],
        NodeRefusal::OtherNode => Vec::new(),
    }
}

/// The constraints of claims that leave a node without devices, as far as what came closest tells.
fn of_devices(
    all: &BTreeSet<Constraint>,
    reason: &DeviceReason,
    nearest: Option<&Nearest>,
) -> BTreeSet<Constraint> {
    let is_of_claims = |constraint: &&Constraint| {
        matches!(
            constraint,
            Constraint::Count { .. }
                | Constraint::Class { .. }
                | Constraint::Selector { .. }
                | Constraint::Capacity { .. }
                | Constraint::DeviceTaints { .. }
                | Constraint::Attribute { .. }
                | Constraint::HeldDevices
        )
    };
    let whole = || all.iter().filter(is_of_claims).cloned().collect();
    match (reason, nearest) {
        (DeviceReason::ClaimElsewhere, _) => {
            all.iter().filter(|one| matches!(one, Constraint::Claim(_))).cloned().collect()
        }
        (_, Some(Nearest::Refused { refusal, .. })) => match &refusal.nearest {
            Some(miss) => of_miss(all, miss),
            None => whole(),
        },
        _ => whole(),
    }
}

/// The constraints that leave too few devices for a request, as far as what came closest tells.
pub(crate) fn of_miss(all: &BTreeSet<Constraint>, miss: &NearestMiss) -> BTreeSet<Constraint> {
    let mut before: Option<usize> = None;
    let mut stages: Vec<&Stage> = Vec::new();
    for count in &miss.stages {
        if before.is_some_and(|before| count.left < before) {
            stages.push(&count.stage);
        }
        before = Some(count.left);
    }
    let own = |request: &model::request_name::RequestName| *request == miss.request;
    let is_meant = |constraint: &&Constraint| match constraint {
        Constraint::Count { request, .. } => {
            *request == miss.request.request || stages.contains(&&Stage::Chosen)
        }
        Constraint::Class { request, .. } => own(request) && stages.contains(&&Stage::Class),
        Constraint::Selector { request, index, .. } => {
            own(request) && stages.contains(&&Stage::Selector(*index))
        }
        Constraint::Capacity { request, .. } => own(request) && stages.contains(&&Stage::Capacity),
        Constraint::DeviceTaints { request, .. } => own(request) && stages.contains(&&Stage::Taints),
        Constraint::Attribute { .. } => stages.iter().any(|stage| matches!(stage, Stage::Constraint(_))),
        Constraint::HeldDevices => stages.iter().any(|stage| {
            matches!(
                stage,
                Stage::Taken
                    | Stage::Counters
                    | Stage::CountersTogether
                    | Stage::CapacityTaken
                    | Stage::Groups
            )
        }),
        // Extended resources are requests of the pod.
        Constraint::Resource(decisions::node_refusal::ResourceName::Other(_)) => {
            miss.claim.namespace().is_none()
        }
        _ => false,
    };
    all.iter().filter(is_meant).cloned().collect()
}
