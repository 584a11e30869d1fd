//! Changes that may help a case that has no place, from what is known of why it has none. Whether they do is found out by trying.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allocation::{Asker, NearestMiss};
use cluster::facts::Facts;
use cluster::ledger::Holder;
use cluster::nodes::NodeState;
use cluster::what_if;
use decisions::gang::GangRefusal;
use decisions::node_refusal::NodeRefusal;
use decisions::pod::Nearest;
use decisions::pod::obstacles::{DeviceObstacle, Obstacles};
use model::claim::{Amount, ClaimId, Wish};
use model::device::{Device, DeviceId, PoolId};
use model::identity::NodeName;
use model::node::Node;
use model::pod::Pod;

use crate::audience::Shown;
use crate::case::Case;
use crate::conflict::{Conflict, of_miss, of_rule};
use crate::constraint::{Constraint, Entry};
use crate::edit::Edit;
use crate::nodes::{distance, reasons, share_of, users};

/// On how many nodes it is looked for what may help.
const NODES_MAX: usize = 6;

/// How many pods of a node are thought of at the most, one by one.
const PODS_MAX: usize = 4;

/// How many kinds of nodes are thought of.
const KINDS_MAX: usize = 4;

/// What is known of why a case has no place.
pub(crate) struct Known<'k> {
    /// The pod, or the one of a group that has no node.
    pub pod: Option<&'k Arc<Pod>>,
    /// What keeps it off each node.
    pub survey: &'k [Obstacles],
    /// What a gang lacks.
    pub refusal: Option<&'k GangRefusal>,
    /// What conflicts.
    pub conflict: &'k Conflict,
}

/// Changes that may help, and the node where they would, if that is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Candidate {
    pub edits: Vec<Edit>,
    pub place: Option<NodeName>,
}

/// Single changes, those that disturb least first.
pub(crate) fn singles(case: &Case, known: &Known<'_>) -> Vec<Candidate> {
    let mut found: Vec<(Edit, Option<NodeName>)> = Vec::new();
    if let Some(pod) = known.pod {
        for node in near_nodes(known.survey, |node| reasons(node).len() == 1) {
            let edits = fixes(case, pod, node).into_iter().flatten();
            found.extend(edits.map(|edit| (edit, Some(node.node.clone()))));
        }
    }
    // A pod that is on its node goes to no other.
    let is_bound = case.pod().is_some_and(|pod| pod.node.is_some());
    for like in kinds(case, known).into_iter().filter(|_| !is_bound) {
        let place = what_if::free_name(&case.snapshot.facts, &like);
        found.push((Edit::AddNode { like }, Some(place)));
    }
    found.extend(droppable(known).map(|edit| (edit, None)));
    found.extend(priorities(case).into_iter().map(|to| (Edit::RaisePriority { to }, None)));
    found.extend(smaller_groups(case, known).map(|edit| (edit, None)));
    let mut candidates: Vec<Candidate> =
        found.into_iter().map(|(edit, place)| Candidate { edits: vec![edit], place }).collect();
    // Candidates of one kind stay in their order: the nearest node first.
    candidates.sort_by_key(|candidate| rank(&candidate.edits[0]));
    candidates
}

/// Pairs of changes: both things that a node lacks at once, or two constraints.
pub(crate) fn pairs(case: &Case, known: &Known<'_>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if let Some(pod) = known.pod {
        for node in near_nodes(known.survey, |node| reasons(node).len() <= 2) {
            let place = Some(node.node.clone());
            let groups = fixes(case, pod, node);
            let together: Vec<(&Edit, &Edit)> = match &groups[..] {
                [one, other] => {
                    one.iter().take(2).flat_map(|a| other.iter().take(2).map(move |b| (a, b))).collect()
                }
                [one] => one
                    .iter()
                    .enumerate()
                    .flat_map(|(at, a)| one[at + 1..].iter().map(move |b| (a, b)))
                    .collect(),
                _ => Vec::new(),
            };
            let pair = |(one, other): (&Edit, &Edit)| Candidate {
                edits: BTreeSet::from([one.clone(), other.clone()]).into_iter().collect(),
                place: place.clone(),
            };
            candidates.extend(together.into_iter().map(pair));
        }
    }
    let dropped: Vec<Edit> = droppable(known).collect();
    for (at, one) in dropped.iter().enumerate() {
        let others = dropped[at + 1..].iter();
        candidates
            .extend(others.map(|other| Candidate { edits: vec![one.clone(), other.clone()], place: None }));
    }
    candidates.retain(|candidate| candidate.edits.len() == 2);
    candidates
}

/// Constraints of the conflict that can be done without by another wording of the pod, its claims or its group.
fn droppable(known: &Known<'_>) -> impl Iterator<Item = Edit> {
    let constraints = known.conflict.constraints.iter().filter(|constraint| is_droppable(constraint));
    constraints.cloned().map(Edit::Drop)
}

/// Whether it is a rule that can be worded otherwise, and not what the pod needs.
fn is_droppable(constraint: &Constraint) -> bool {
    match constraint {
        Constraint::NodeSelector
        | Constraint::NodeAffinity
        | Constraint::AddedAffinity
        | Constraint::Taint { .. }
        | Constraint::Feature(_)
        | Constraint::HostPort(_)
        | Constraint::Spread { .. }
        | Constraint::PodAffinity { .. }
        | Constraint::PodAntiAffinity { .. }
        | Constraint::Selector { .. }
        | Constraint::Capacity { .. }
        | Constraint::DeviceTaints { .. }
        | Constraint::Attribute { .. }
        | Constraint::Topology { .. }
        | Constraint::DeviceSet { .. } => true,
        Constraint::Cordon
        | Constraint::Resource(_)
        | Constraint::ExistingAntiAffinity
        | Constraint::Volume(_)
        | Constraint::Disks
        | Constraint::Nominations
        | Constraint::Claim(_)
        | Constraint::Count { .. }
        | Constraint::Class { .. }
        | Constraint::HeldDevices
        | Constraint::MinCount { .. } => false,
    }
}

/// How much a change disturbs: less comes first.
pub(crate) fn rank(edit: &Edit) -> usize {
    match edit {
        Edit::FreeClaim(_) => 0,
        Edit::Uncordon(_) => 1,
        Edit::RemoveTaint { .. } => 2,
        Edit::LowerRequest { .. } | Edit::LowerCount { .. } | Edit::LowerMinCount { .. } => 3,
        Edit::EndPod { .. } => 4,
        Edit::Drop(_) => 5,
        Edit::RaisePriority { .. } => 6,
        Edit::AddDevices { .. } => 7,
        Edit::AddNode { .. } => 8,
    }
}

/// Nodes that come near, at most one or two of each kind of reasons.
fn near_nodes(survey: &[Obstacles], is_meant: impl Fn(&Obstacles) -> bool) -> Vec<&Obstacles> {
    let mut by_reasons = BTreeMap::new();
    let meant = survey.iter().filter(|node| node.count() > 0 && is_meant(node));
    for node in meant {
        by_reasons.entry(reasons(node)).or_insert_with(Vec::new).push(node);
    }
    let mut near: Vec<&Obstacles> = Vec::new();
    for nodes in by_reasons.values_mut() {
        nodes.sort_by_key(|node| distance(node));
        near.extend(nodes.iter().take(NODES_MAX / 2));
    }
    near.sort_by_key(|node| distance(node));
    near.truncate(NODES_MAX);
    near
}

/// For each thing that is wrong with a node, what may mend it.
pub(crate) fn fixes(case: &Case, pod: &Pod, node: &Obstacles) -> Vec<Vec<Edit>> {
    let facts = &case.snapshot.facts;
    let Some(at) = facts.nodes.find(&node.node) else { return Vec::new() };
    let state = facts.nodes.get(at);
    let of_rule = |rule: &NodeRefusal| {
        let dropped = of_rule(case, pod, node, rule).into_iter().filter(is_droppable).map(Edit::Drop);
        against_rule(facts, pod, state, rule).into_iter().chain(dropped).collect()
    };
    let mut all: Vec<Vec<Edit>> = node.rules.iter().map(of_rule).collect();
    if let DeviceObstacle::Lacking { nearest, .. } = &node.devices {
        let mut edits = against_lack(case, nearest.as_ref());
        edits.extend(more_devices(case, node));
        if let Some(miss) = miss_of(nearest.as_ref()) {
            let meant = of_miss(&case.constraints(), miss).into_iter().filter(is_droppable);
            edits.extend(meant.map(Edit::Drop));
        }
        all.push(edits);
    }
    all
}

/// Nodes from which it is looked for several changes together, the nearest first.
pub(crate) fn starts(survey: &[Obstacles]) -> Vec<NodeName> {
    near_nodes(survey, |_| true).into_iter().map(|node| node.node.clone()).collect()
}

fn against_rule(facts: &Facts, pod: &Pod, state: &NodeState, rule: &NodeRefusal) -> Vec<Edit> {
    let Some(node) = &state.node else { return Vec::new() };
    let end =
        |pod: &Pod, node: &NodeName| Edit::EndPod { pod: Shown::Named(pod.id.clone()), node: node.clone() };
    match rule {
        NodeRefusal::Unschedulable => vec![Edit::Uncordon(node.name.clone())],
        NodeRefusal::Taint(taint) => vec![Edit::RemoveTaint {
            node: node.name.clone(),
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.name().into(),
        }],
        NodeRefusal::Short(shortages) => {
            let lower = shortages.iter().filter(|one| one.capacity > one.used && one.requested > 1);
            let mut edits: Vec<Edit> = lower
                .map(|one| Edit::LowerRequest { resource: one.of.clone(), to: one.capacity - one.used })
                .collect();
            edits.extend(holding(state, rule).map(|pod| end(pod, &node.name)));
            edits
        }
        NodeRefusal::Port(_) => holding(state, rule).map(|pod| end(pod, &node.name)).collect(),
        NodeRefusal::NotApart { key } | NodeRefusal::Unwelcome { key } | NodeRefusal::Skewed { key, .. } => {
            let related = in_the_way(facts, pod, node, key, rule);
            related.into_iter().filter_map(|pod| Some(end(&pod, pod.node.as_ref()?))).collect()
        }
        NodeRefusal::DiskInUse | NodeRefusal::TooManyVolumes { .. } | NodeRefusal::ClaimInUse => {
            let users = state.pods.values().filter(|one| one.shape.has_volumes());
            users.take(PODS_MAX).map(|pod| end(pod, &node.name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Pods of a node that have what it lacks: the least important first, and of those the smallest that would do.
fn holding<'s>(state: &'s NodeState, rule: &NodeRefusal) -> impl Iterator<Item = &'s Pod> {
    let missing: u64 = match rule {
        NodeRefusal::Short(shortages) => {
            let lack = |requested: i64, lack: i64| lack.max(0) as u64 * 1_000 / requested.max(1) as u64;
            shortages.iter().map(|one| lack(one.requested, one.requested - (one.capacity - one.used))).sum()
        }
        _ => 1,
    };
    let mut pods: Vec<(bool, i32, u64, &Pod)> = Vec::new();
    for pod in state.pods.values() {
        let has = share_of(pod, rule);
        if has > 0 {
            pods.push((has < missing, pod.priority, has, pod));
        }
    }
    // One that has too little alone is thought of last, the largest first.
    pods.sort_by_key(|(is_little, priority, has, pod)| {
        (
            *is_little,
            *priority,
            if *is_little { Reverse(*has) } else { Reverse(u64::MAX - *has) },
            pod.id.clone(),
        )
    });
    pods.into_iter().take(PODS_MAX).map(|(.., pod)| pod)
}

/// Pods in the domain of a node with which a pod may not be there.
fn in_the_way(facts: &Facts, pod: &Pod, node: &Node, key: &str, rule: &NodeRefusal) -> Vec<Arc<Pod>> {
    let is_there = |at| {
        let there = facts.nodes.get(at).node.as_ref();
        there.is_some_and(|there| {
            there.labels.get(key).is_some_and(|value| node.labels.get(key) == Some(value))
        })
    };
    let mut places = BTreeSet::new();
    let selectors = match rule {
        NodeRefusal::NotApart { .. } => {
            pod.shape.apart.iter().filter(|term| &*term.key == key).map(|term| &term.selector).collect()
        }
        NodeRefusal::Skewed { .. } => {
            pod.shape.spread.iter().filter(|one| &*one.key == key).map(|one| &one.selector).collect()
        }
        _ => Vec::new(),
    };
    for selector in &selectors {
        let sets = facts.nodes.label_sets().picked(selector);
        places.extend(sets.flat_map(|set| set.on_nodes().map(|(at, _)| at)).filter(|at| is_there(*at)));
    }
    if selectors.is_empty() {
        let terms = facts.nodes.placed_terms().picking(&pod.shape.labels);
        places.extend(terms.flat_map(|(_, nodes)| nodes.keys().copied()).filter(|at| is_there(*at)));
    }
    let is_meant = |there: &&Arc<Pod>| match selectors.is_empty() {
        true => there.shape.apart.iter().any(|term| term.selector.picks(&pod.shape.labels)),
        false => selectors.iter().any(|selector| selector.picks(&there.shape.labels)),
    };
    let pods = places.into_iter().flat_map(|at| facts.nodes.get(at).pods.values().filter(is_meant));
    pods.take(PODS_MAX).cloned().collect()
}

/// What may mend that there are no devices: holders let go of some, or fewer are asked for.
fn against_lack(case: &Case, nearest: Option<&Nearest>) -> Vec<Edit> {
    let Some(miss) = miss_of(nearest) else { return Vec::new() };
    let facts = &case.snapshot.facts;
    let mut edits = Vec::new();
    if let Some(claim) = asked_by(case, &miss.claim)
        && miss.found > 0
        && miss.request.subrequest.is_none()
        && counts_devices(facts, claim.claim.as_ref(), &miss.request.request)
    {
        edits.push(Edit::LowerCount { claim, request: miss.request.request.clone(), to: miss.found as i64 });
    }
    for (_, holder) in miss.holders.clone() {
        match holder {
            Holder::Claim(id) => edits.extend(let_go(facts, &id)),
            Holder::Made(pod) => {
                let node = facts.nodes.pod(&pod.uid).and_then(|(_, pod)| pod.node.clone());
                edits.extend(node.map(|node| Edit::EndPod { pod: Shown::Named(pod.id.clone()), node }));
            }
            Holder::Nominee(_) | Holder::Assumed(_) | Holder::FailedFor(_) => {}
        }
    }
    edits
}

/// What would have a claim give its devices back.
fn let_go(facts: &Facts, id: &ClaimId) -> Vec<Edit> {
    let is_used = facts.claims.get(id).is_some_and(|state| !state.reserved_for.is_empty());
    if !is_used {
        return vec![Edit::FreeClaim(Shown::Named(id.clone()))];
    }
    let pods = users(facts, id);
    let by_id = |wanted: &model::pod::PodId| {
        let mut uids = facts.claims.get(id).into_iter().flat_map(|state| &state.reserved_for);
        uids.find_map(|uid| facts.nodes.pod(uid).filter(|(_, pod)| pod.id == *wanted))
    };
    let ends = pods.into_iter().filter_map(|pod| {
        let node = by_id(&pod)?.1.node.clone()?;
        Some(Edit::EndPod { pod: Shown::Named(pod), node })
    });
    ends.collect()
}

fn miss_of(nearest: Option<&Nearest>) -> Option<&NearestMiss> {
    match nearest {
        Some(Nearest::Refused { refusal, .. }) => refusal.nearest.as_ref(),
        _ => None,
    }
}

/// The claim that asks, as the pod names it.
fn asked_by(case: &Case, asker: &Asker) -> Option<Entry> {
    let (pod, Asker::Claim(id)) = (case.pod()?, asker) else { return None };
    let entry = pod.claims.iter().find(|entry| pod.claim_id(entry).as_ref() == Some(id))?;
    Some(Entry { entry: entry.name.clone(), claim: Some(id.clone()) })
}

/// Whether a request of a claim says how many devices it wants.
fn counts_devices(facts: &Facts, claim: Option<&ClaimId>, name: &str) -> bool {
    let state = claim.and_then(|id| facts.claims.get(id));
    state.is_some_and(|state| {
        let mut requests = state.wish.spec.requests.iter().filter(|request| *request.name == *name);
        requests.any(
            |request| matches!(&request.wish, Wish::Exactly(ask) if matches!(ask.amount, Amount::Exactly(_))),
        )
    })
}

/// More devices like one that is there.
fn more_devices(case: &Case, node: &Obstacles) -> Vec<Edit> {
    let facts = &case.snapshot.facts;
    let DeviceObstacle::Lacking { nearest, .. } = &node.devices else { return Vec::new() };
    let Some(miss) = miss_of(nearest.as_ref()) else { return Vec::new() };
    let count = miss.wanted.saturating_sub(miss.found).max(1);
    let held = miss.holders.iter().map(|(device, _)| device.clone());
    let local = facts.slices.of_node(&node.node).flat_map(|published| {
        let PoolId { driver, pool } = published.slice.pool.clone();
        let id = move |name: &Arc<str>| DeviceId {
            driver: driver.clone(),
            pool: pool.clone(),
            device: name.clone(),
        };
        published.slice.devices.iter().map(move |device| id(&device.name)).collect::<Vec<_>>()
    });
    // Devices that differ in their names alone are of one kind.
    let mut seen: Vec<Device> = Vec::new();
    let mut is_new = |like: &DeviceId| {
        let Some(device) = facts.slices.device(like) else { return false };
        let kind = Device { name: Arc::default(), taints: Vec::new(), ..device.clone() };
        let is_new = !seen.contains(&kind);
        seen.push(kind);
        is_new
    };
    let kinds = held.chain(local).filter(|like| is_new(like)).take(PODS_MAX);
    kinds.map(|like| Edit::AddDevices { like, node: node.node.clone(), count }).collect()
}

/// Nodes of different kinds, the nearest first.
fn kinds(case: &Case, known: &Known<'_>) -> Vec<NodeName> {
    let facts = &case.snapshot.facts;
    let kind = |node: &Node| {
        let resources = &node.allocatable;
        let taints: Vec<(Arc<str>, String)> =
            node.taints.iter().map(|taint| (taint.key.clone(), taint.effect.name().to_owned())).collect();
        (resources.cpu_milli, resources.memory, resources.others.clone(), taints, node.unschedulable)
    };
    let mut seen = BTreeSet::new();
    let mut like = Vec::new();
    let mut near: Vec<&Obstacles> = known.survey.iter().collect();
    near.sort_by_key(|node| distance(node));
    let near = near.into_iter().map(|node| node.node.clone());
    let all = facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref().map(|node| node.name.clone()));
    for name in near.chain(all) {
        let Some(at) = facts.nodes.find(&name) else { continue };
        let Some(node) = &facts.nodes.get(at).node else { continue };
        let devices: usize = facts.slices.of_node(&name).map(|slice| slice.slice.devices.len()).sum();
        if seen.insert((kind(node), devices)) {
            like.push(name);
        }
        if like.len() == KINDS_MAX {
            break;
        }
    }
    like
}

/// Priorities above those of pods that are on nodes, the lowest first.
fn priorities(case: &Case) -> Vec<i32> {
    let own = case.question.pods().iter().map(|pod| pod.priority).max().unwrap_or(i32::MAX);
    let may_preempt = case.profile().is_some_and(|profile| profile.preemption.is_some())
        && case.question.pods().iter().all(|pod| pod.preempts);
    if !may_preempt {
        return Vec::new();
    }
    let above = case.snapshot.facts.nodes.priorities().filter_map(|priority| priority.checked_add(1));
    let above: Vec<i32> = above.filter(|priority| *priority > own).collect();
    // With the highest it helps if it helps at all, so a lower one is looked for among few.
    above.iter().copied().take(PODS_MAX).chain(above.last().copied()).collect()
}

/// Groups of which fewer pods, or groups of groups of which fewer groups, have to be placed at once.
fn smaller_groups(case: &Case, known: &Known<'_>) -> impl Iterator<Item = Edit> {
    let room = known.refusal.map_or(0, |refusal| refusal.miss.room_for);
    let groups = crate::relax::groups_of(case).into_iter().filter(|group| group.at_least > 1);
    groups.flat_map(move |group| {
        let fewer = if room > 0 && room < group.at_least { room } else { group.at_least - 1 };
        let mut all = vec![fewer, 1];
        all.dedup();
        all.into_iter().map(move |to| Edit::LowerMinCount { group: group.id.clone(), to }).collect::<Vec<_>>()
    })
}
