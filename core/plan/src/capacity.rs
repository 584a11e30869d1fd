//! How many more pods like one would fit, what runs out first, and of which nodes one more would help.
//!
//! Pods are placed by the scheduler one after the other until one has no place. None is preempted for them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::Expressions;
use cluster::change::Change;
use cluster::claims::ClaimState;
use decisions::pod::Nearest;
use decisions::pod::obstacles::DeviceObstacle;
use decisions::reason::{DeviceReason, Reason};
use explain::{Audience, Effort, Extent, PodExplanation, WaitingPod, explain_pod, reasons};
use model::claim::{Claim, ClaimId};
use model::identity::{NodeName, PodUid};
use model::pod::{ClaimSource, Pod, PodClaim, PodId, Shape};

use crate::alter::{NoSuchThing, add_node};
use crate::plan::{PlanQuestion, Prepared, prepare, tell_all};
use crate::rehearsal::Rehearsal;
use crate::usage::{LikeNodes, like_nodes};

/// How many pods are tried at the most.
pub const COPIES_MAX: usize = 100_000;

/// How many pods are tried on one node at the most.
const ON_NODE_MAX: usize = 1_000;

/// Of how many groups of like nodes one more node is tried.
const GROUPS_MAX: usize = 16;

/// How many pods are told to the scheduler before it looks at them: few at first.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 1_024;

/// How much work it may be to find out what keeps a pod off nodes, in nominal nanoseconds.
const SURVEY: u64 = 200_000_000;

/// Why capacity cannot be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoCapacity {
    /// Something that is to be otherwise is not there.
    Missing(NoSuchThing),
    /// It is about one pod, and there are so many.
    NotOnePod(usize),
    /// The pod is placed together with others.
    InGroup(PodId),
}

/// How many more pods like one would fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// The pod.
    pub pod: PodId,
    /// How many.
    pub count: usize,
    /// Whether there are no more than these.
    pub extent: Extent,
    /// How many on which node.
    pub nodes: BTreeMap<NodeName, usize>,
    /// All nodes, put together with those that are like them.
    pub like: Vec<LikeNodes>,
    /// Why the next one has no place, in a sentence.
    pub refusal: Option<String>,
    /// What keeps the next one off nodes that took some, or off all nodes if none did; the most frequent first.
    pub shortages: Vec<Shortage>,
    /// How many more one more node would take, for each kind of node.
    pub more: Vec<OneMoreNode>,
    /// How many pods that wait in the cluster were left out.
    pub left_out: usize,
    /// What is to be known besides.
    pub notes: Vec<String>,
}

/// What keeps a pod off nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Its code.
    pub code: &'static str,
    /// In words.
    pub reason: String,
    /// Off how many nodes.
    pub nodes: usize,
    /// Off how many nodes that took some of the pods, or of all if none did.
    pub of: usize,
}

/// How many pods one more node would take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneMoreNode {
    /// The node that it is like.
    pub like: NodeName,
    /// How many nodes like it there are.
    pub nodes: usize,
    /// How many of the pods it would take.
    pub pods: usize,
    /// Whether it would take no more than these.
    pub extent: Extent,
}

/// How many more pods would fit that are like the one among the arrivals.
///
/// # Errors
/// There is not one such pod, it belongs to a group, or something that is to be otherwise is not there.
pub fn capacity(question: PlanQuestion) -> Result<Capacity, NoCapacity> {
    let Prepared { mut rehearsal, arrivals, notes, .. } = prepare(question).map_err(NoCapacity::Missing)?;
    let is_pod = |change: &Change| matches!(change, Change::PodApplied(_));
    let (pods, others): (Vec<Change>, Vec<Change>) = arrivals.into_iter().partition(is_pod);
    let [Change::PodApplied(pod)] = &pods[..] else { return Err(NoCapacity::NotOnePod(pods.len())) };
    if pod.group.is_some() && rehearsal.facts().groups.gang_of(pod).is_some() {
        return Err(NoCapacity::InGroup(pod.id.clone()));
    }
    let (own, shared) = own_claims(pod, others);
    let left_out = rehearsal.waiting().count();
    rehearsal.forget_waiting();
    tell_all(&mut rehearsal, shared);
    let like = like_nodes(rehearsal.facts());
    let mut copies = Copies { pod: Pod::clone(pod), claims: own, made: 0 };
    let placed = copies.place(&mut rehearsal, COPIES_MAX);
    let mut nodes = BTreeMap::new();
    for pod in &placed.pods {
        if let Some(node) = rehearsal.node_of(&pod.uid) {
            *nodes.entry(node.clone()).or_default() += 1;
        }
    }
    let (refusal, shortages) = match &placed.refused {
        Some(pod) => (Some(refusal(&rehearsal, pod)), shortages(&rehearsal, pod, &nodes)),
        None => (None, Vec::new()),
    };
    let mut more = Vec::new();
    if placed.refused.is_some() {
        copies.remove(&mut rehearsal, placed.refused.as_slice());
        let groups = like.iter().take(GROUPS_MAX);
        more.extend(groups.filter_map(|group| one_more(&mut rehearsal, &mut copies, group)));
        more.sort_by_key(|one| Reverse(one.pods));
    }
    let (pod, count) = (copies.pod.id.clone(), placed.pods.len());
    let extent = placed.extent;
    Ok(Capacity { pod, count, extent, nodes, like, refusal, shortages, more, left_out, notes })
}

/// The claims that were made for a pod, and everything else.
fn own_claims(pod: &Pod, others: Vec<Change>) -> (Vec<ClaimState>, Vec<Change>) {
    let (mut own, mut shared) = (Vec::new(), Vec::new());
    for change in others {
        match change {
            Change::ClaimApplied(state) if state.owner.as_ref().is_some_and(|owner| owner.is(&pod.uid)) => {
                own.push(*state);
            }
            other => shared.push(other),
        }
    }
    (own, shared)
}

/// What a node like those of a group would take.
fn one_more(rehearsal: &mut Rehearsal, copies: &mut Copies, group: &LikeNodes) -> Option<OneMoreNode> {
    let like = group.nodes.first()?.clone();
    let name = add_node(rehearsal, &like)?;
    let placed = copies.place(rehearsal, ON_NODE_MAX);
    let (pods, extent) = (placed.pods.len(), placed.extent);
    copies.remove(rehearsal, &placed.pods);
    copies.remove(rehearsal, placed.refused.as_slice());
    rehearsal.tell(Change::NodeGone(name));
    Some(OneMoreNode { like, nodes: group.nodes.len(), pods, extent })
}

/// Why a pod has no place, without a word on preemption, which copies do not ask for.
fn refusal(rehearsal: &Rehearsal, pod: &Pod) -> String {
    let effort = Effort { decisions_max: 1, ..Effort::default() };
    match explain_pod(&rehearsal.snapshot(), &pod.id, &Audience::AllNamespaces, effort) {
        PodExplanation::Waiting(WaitingPod::Refused(refused)) => refused.refusal.to_string(),
        _ => rehearsal.reason(pod),
    }
}

/// What a node lacks, in words. Of devices it is told which.
fn words(reason: &Reason, devices: &DeviceObstacle) -> String {
    if let (Reason::Devices(DeviceReason::Insufficient), DeviceObstacle::Lacking { nearest, .. }) =
        (reason, devices)
        && let Some(Nearest::Refused { refusal, .. }) = nearest
        && let Some(miss) = &refusal.nearest
    {
        return format!("devices of class {} for request {}", miss.class, miss.request);
    }
    reason.to_string()
}

/// What keeps a pod off nodes.
fn shortages(rehearsal: &Rehearsal, pod: &Pod, took: &BTreeMap<NodeName, usize>) -> Vec<Shortage> {
    let names: Vec<NodeName> = took.keys().cloned().collect();
    let within = (!names.is_empty()).then_some(&names[..]);
    let surveyed = rehearsal.snapshot().survey(pod, within, &mut Expressions::default(), SURVEY);
    let nodes = surveyed.nodes.unwrap_or_default();
    let mut counts = BTreeMap::new();
    for node in &nodes {
        for reason in reasons(node) {
            *counts.entry((reason.code(), words(&reason, &node.devices))).or_insert(0) += 1;
        }
    }
    let of = nodes.len();
    let shortage =
        |((code, reason), nodes): ((&'static str, String), usize)| Shortage { code, reason, nodes, of };
    let mut all: Vec<Shortage> = counts.into_iter().map(shortage).collect();
    all.sort_by_key(|one| Reverse(one.nodes));
    all
}

/// Pods like one, each with claims of its own where the pod has such.
struct Copies {
    pod: Pod,
    claims: Vec<ClaimState>,
    made: usize,
}

/// What became of copies.
struct PlacedCopies {
    /// Those that have a node.
    pods: Vec<Arc<Pod>>,
    /// The first that has none.
    refused: Option<Arc<Pod>>,
    /// Whether there is no place for more, or it is only not known.
    extent: Extent,
}

impl Copies {
    /// Places copies until one has no place.
    fn place(&mut self, rehearsal: &mut Rehearsal, most: usize) -> PlacedCopies {
        let mut placed = PlacedCopies { pods: Vec::new(), refused: None, extent: Extent::Bounded };
        let mut batch = BATCH_MIN;
        while placed.pods.len() < most {
            let count = batch.min(most - placed.pods.len());
            let told: Vec<Arc<Pod>> = (0..count).map(|_| self.make(rehearsal)).collect();
            let extent = rehearsal.run_until_refused();
            let (good, mut bad): (Vec<_>, Vec<_>) =
                told.into_iter().partition(|pod| rehearsal.node_of(&pod.uid).is_some());
            placed.pods.extend(good);
            if !bad.is_empty() {
                // Of those that were not looked at yet none has another fate.
                let at = bad.iter().position(|pod| rehearsal.is_refused(pod)).unwrap_or(0);
                let first = bad.remove(at);
                self.remove(rehearsal, &bad);
                placed.refused = Some(first);
                placed.extent = extent;
                break;
            }
            if extent == Extent::Bounded {
                break;
            }
            batch = (batch * 2).min(BATCH_MAX);
        }
        placed
    }

    /// Makes another pod with its claims.
    fn make(&mut self, rehearsal: &mut Rehearsal) -> Arc<Pod> {
        self.made += 1;
        let number = self.made;
        let named = |name: &str| -> Arc<str> { format!("{name}-{number}").into() };
        let uid = named(&self.pod.uid);
        for claim in &self.claims {
            let wish = &claim.wish;
            let id = ClaimId { namespace: wish.id.namespace.clone(), name: named(&wish.id.name) };
            let state = ClaimState {
                uid: named(&claim.uid).into(),
                wish: Arc::new(Claim { id, spec: wish.spec.clone() }),
                owner: Some((&PodUid::from(uid.clone())).into()),
                ..claim.clone()
            };
            rehearsal.tell(Change::ClaimApplied(Box::new(state)));
        }
        let is_own = |claim: &PodClaim| {
            let id = self.pod.claim_id(claim);
            self.claims.iter().any(|own| Some(&own.wish.id) == id.as_ref())
        };
        let claims = self.pod.claims.iter().map(|claim| match &claim.source {
            ClaimSource::Generated(name) if is_own(claim) => {
                PodClaim { name: claim.name.clone(), source: ClaimSource::Generated(named(name)) }
            }
            _ => claim.clone(),
        });
        let copy = Pod {
            id: PodId { namespace: self.pod.id.namespace.clone(), name: named(&self.pod.id.name) },
            uid: uid.into(),
            claims: claims.collect(),
            preempts: false,
            gates: Vec::new(),
            shape: Arc::<Shape>::clone(&self.pod.shape),
            ..self.pod.clone()
        };
        let copy = rehearsal.anew(&copy);
        rehearsal.enqueue(copy.clone());
        copy
    }

    /// Takes copies away with their claims.
    fn remove(&self, rehearsal: &mut Rehearsal, pods: &[Arc<Pod>]) {
        for pod in pods {
            let own = pod.claims.iter().zip(&self.pod.claims).filter(|(copied, first)| copied != first);
            let ids: Vec<_> = own.filter_map(|(copied, _)| pod.claim_id(copied)).collect();
            rehearsal.end_pod(&pod.uid);
            ids.into_iter().for_each(|id| rehearsal.tell(Change::ClaimGone(id)));
        }
    }
}
