//! Why a pod is where it is: how its node compares with others, as if the pod had yet to be placed.

use std::cmp::Reverse;
use std::sync::Arc;

use decisions::comparison::{NodeScores, compare};
use decisions::considering::Snapshot;
use decisions::notice::Notice;
use decisions::readiness::Standing;
use decisions::scores::Score;
use model::claim::ClaimId;
use model::identity::NodeName;
use model::pod::{Pod, PodId};

use crate::audience::Shown;
use crate::case::Case;
use crate::edit::Edit;
use crate::effort::{Effort, Extent, Oracle, Outcome};
use crate::nodes::NAMES_MAX;
use crate::preparing::standing;

/// A pod that is on a node, or on its way there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedPod {
    /// The pod.
    pub pod: PodId,
    /// The node.
    pub node: NodeName,
    /// It is on its way: what it needs is being written.
    pub on_its_way: bool,
    /// What it waits for on its node, as its condition tells it.
    pub pending: Option<Notice>,
    /// How many nodes no filter is against, as if the pod were not placed yet; whatever devices it needs.
    pub candidates: usize,
    /// The scores of its node, if no filter is against that now.
    pub scores: Option<NodeScores>,
    /// Other nodes that have a place for it, the best first.
    pub others: Vec<NodeScores>,
    /// Whether all that score better were tried.
    pub extent: Extent,
    /// Where it would go now.
    pub now: NowPlaced,
}

/// Where a pod that is placed would go now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NowPlaced {
    /// To the same node.
    Here,
    /// To another.
    There(NodeName),
    /// Nowhere: something changed since.
    Nowhere,
    /// It is not known: the pod is not of this scheduler, or a bound was met.
    Unknown,
}

impl PlacedPod {
    /// By how much another node scores less than that of the pod, and by how much by each kind of score.
    #[must_use]
    pub fn ahead_of(&self, other: &NodeScores) -> Option<(i64, Vec<(Score, i64)>)> {
        let own = self.scores.as_ref()?;
        let of = |kind: Score| own.scores.iter().find(|(one, _)| *one == kind).map_or(0, |(_, score)| *score);
        let by_kind = other.scores.iter().map(|(kind, score)| (*kind, of(*kind) - score)).collect();
        Some((own.total - other.total, by_kind))
    }
}

/// What a pod on its way waits for.
fn pending(snapshot: &Snapshot, pod: &Pod, node: &NodeName) -> Option<Notice> {
    let claims: Vec<ClaimId> = pod.claim_ids().collect();
    match standing(snapshot, &claims)? {
        Standing::Pending(until, awaited) => {
            Some(Notice::DevicesPending { node: node.clone(), awaited, until })
        }
        Standing::Broken(_) | Standing::Ready | Standing::Lost(_) => None,
    }
}

/// Why a pod is on its node.
pub(crate) fn explain_placed(
    snapshot: &Snapshot,
    pod: &Arc<Pod>,
    node: &NodeName,
    effort: Effort,
) -> PlacedPod {
    let id = pod.id.clone();
    let on_its_way = snapshot.underway.ties.contains_key(&pod.uid);
    let unplaced = Arc::new(Pod { node: None, nominated_node: None, ..Pod::clone(pod) });
    let end = Edit::EndPod { pod: Shown::Named(id.clone()), node: node.clone() };
    let case = Case::of_pod(snapshot.clone(), unplaced.clone()).after([&end]);
    let mut ranked = compare(&case.snapshot.settings, &case.snapshot.facts, &unplaced);
    ranked.sort_by_key(|scores| Reverse(scores.total));
    let candidates = ranked.len();
    let scores = ranked.iter().find(|scores| scores.node == *node).cloned();
    let mut oracle = Oracle::new(effort);
    let mut placed = PlacedPod {
        pod: id,
        node: node.clone(),
        on_its_way,
        pending: if on_its_way { pending(snapshot, pod, node) } else { None },
        candidates,
        scores,
        others: Vec::new(),
        extent: Extent::Whole,
        now: NowPlaced::Unknown,
    };
    if snapshot.settings.profile(pod).is_none() {
        return placed;
    }
    placed.now = match oracle.ask(&case) {
        Outcome::Placed(nodes) => match nodes.into_iter().next() {
            Some((_, there)) if there != *node => NowPlaced::There(there),
            _ => NowPlaced::Here,
        },
        Outcome::Refused(_) | Outcome::Preempting { .. } => NowPlaced::Nowhere,
        Outcome::NotAsked => NowPlaced::Unknown,
    };
    for other in ranked.into_iter().filter(|scores| scores.node != *node) {
        if placed.others.len() == NAMES_MAX {
            break;
        }
        let narrowed = case.narrowed_to(std::slice::from_ref(&other.node));
        match narrowed.map(|case| oracle.ask(&case)) {
            Some(Outcome::Placed(_)) | None => placed.others.push(other),
            Some(Outcome::NotAsked) => {
                placed.extent = Extent::Bounded;
                break;
            }
            Some(Outcome::Refused(_) | Outcome::Preempting { .. }) => {}
        }
    }
    placed
}
