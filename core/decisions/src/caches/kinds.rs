//! What is known about nodes for pods that are alike, kept from one scheduling cycle to the next.
//!
//! Invariant: every node that will do is in `answers` and in `best`, by the same score and worth.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::Claim;
use model::pod::Shape;

use crate::profile::Profile;
use crate::scores::devices;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::Hopeless;

/// What is known about nodes for pods that are alike.
#[derive(Debug)]
pub(crate) struct PodKind {
    pub(crate) profile: Arc<Profile>,
    pub(crate) shape: Arc<Shape>,
    pub(crate) wishes: Vec<Arc<Claim>>,
    /// Nominees that are less important do not count.
    pub(crate) priority: i32,
    /// By node number, if the node will do.
    pub(crate) answers: Vec<Option<KnownNode>>,
    /// The nodes that will do by what their devices are worth, the best first: the score is negated. Few worths are possible,
    /// and what a worth counts depends on the greatest.
    pub(crate) best: BTreeMap<i64, BTreeSet<(i64, NodeIdx)>>,
    /// How common the images were, and the revision of the counts that said so.
    pub(crate) images: (u64, Option<(u32, Vec<u32>)>),
    /// Touches up to this moment are taken into account.
    pub(crate) seen: Option<u64>,
    /// But for touches of nodes that there was no time to look at.
    pub(crate) unseen: BTreeSet<NodeIdx>,
    /// Why no node would do, and when that was.
    pub(crate) refused: Option<(u64, Box<PodRefusal>)>,
    /// Why preemption would not help, and when that was.
    pub(crate) hopeless: Option<((u64, u64), Hopeless)>,
}

/// What is known about a node that will do.
#[derive(Clone, Debug)]
pub(crate) struct KnownNode {
    pub(crate) score: i64,
    /// What the devices are worth, if claims have alternatives.
    pub(crate) worth: i64,
    pub(crate) allocations: Vec<Allocation>,
}

impl PodKind {
    pub(crate) fn forget(&mut self) {
        self.answers.clear();
        self.best.clear();
    }

    pub(crate) fn set(&mut self, at: NodeIdx, answer: Option<KnownNode>) {
        let place = at.0 as usize;
        if self.answers.len() <= place {
            self.answers.resize(place + 1, None);
        }
        if let Some(known) = &self.answers[place]
            && let Some(nodes) = self.best.get_mut(&known.worth)
        {
            nodes.remove(&(-known.score, at));
            if nodes.is_empty() {
                self.best.remove(&known.worth);
            }
        }
        if let Some(known) = &answer {
            self.best.entry(known.worth).or_default().insert((-known.score, at));
        }
        self.answers[place] = answer;
    }

    /// The best node, if what devices are worth counts this much.
    pub(crate) fn best(&self, weight: i64) -> Option<NodeIdx> {
        let leaders: Vec<(i64, i64, NodeIdx)> = self
            .best
            .iter()
            .filter_map(|(worth, nodes)| nodes.first().map(|(score, at)| (*worth, *score, *at)))
            .collect();
        let extra = devices::weighted(leaders.iter().map(|(worth, ..)| *worth).collect(), weight);
        let ranked = leaders.into_iter().zip(extra).map(|((_, score, at), extra)| (score - extra, at));
        ranked.min().map(|(_, at)| at)
    }
}
