//! Which pods would have to move so that there is a place for others, or for the largest partition of a device.
//!
//! The scheduler is asked which pods it would preempt if all were as unimportant, and whether these would have a place elsewhere then. If
//! not, it is asked again with one of them kept where it is, and so on: sets of fewer pods first. Then every smaller set is tried, as far
//! as there are not too many.
//!
//! Invariant: moves that are told were tried, and keep to disruption budgets. What was not tried because a bound was met is said.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::Change;
use cluster::facts::Facts;
use cluster::what_if;
use decisions::considering::Snapshot;
use explain::Extent;
use model::device::DeviceId;
use model::identity::{NodeName, PodUid};
use model::pod::{Pod, PodId};

use crate::alter::{NoSuchThing, is_tied};
use crate::partitions::{WantedPartition, free_partition, largest_partitions};
use crate::plan::{PlanQuestion, PlannedPod, Prepared, prepare, tell_all};
use crate::rehearsal::Rehearsal;
use crate::search::Search;

/// How often it is tried at the most whether something fits.
const TRIALS_MAX: usize = 400;

/// Why no moves can be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoMoves {
    /// Something that is to be otherwise is not there.
    Missing(NoSuchThing),
    /// There are no pods to find a place for.
    NoPods,
    /// No device of the cluster is a partition of another.
    NoPartitions,
}

/// What a place is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// All pods that are yet to be made.
    Pods,
    /// One of the largest partitions, as far as these are not free.
    LargestPartition,
}

/// A pod that would move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The pod.
    pub pod: PodId,
    /// Its node.
    pub from: NodeName,
    /// Where the scheduler would place it.
    pub to: NodeName,
}

/// What would make a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defragmentation {
    /// The moves; none if there is a place without any. Nothing if none were found.
    pub moves: Option<Vec<Move>>,
    /// Where the pods would be then.
    pub pods: Vec<PlannedPod>,
    /// The partition that would be free then.
    pub partition: Option<String>,
    /// Whether no fewer moves would do, or none would: every smaller set of pods was tried.
    pub extent: Extent,
    /// How often it was tried whether something fits.
    pub trials: usize,
    /// How many pods that wait in the cluster were left out.
    pub left_out: usize,
    /// What is to be known besides.
    pub notes: Vec<String>,
}

/// The fewest moves of pods, and no more than this, that make a place.
///
/// # Errors
/// There is nothing to find a place for, or something that is to be otherwise is not there.
pub fn defragment(question: PlanQuestion, goal: Goal, moves_max: usize) -> Result<Defragmentation, NoMoves> {
    let stays = question.stays.clone();
    let Prepared { mut rehearsal, arrivals, notes, .. } = prepare(question).map_err(NoMoves::Missing)?;
    let left_out = rehearsal.waiting().count();
    rehearsal.forget_waiting();
    let target = match goal {
        Goal::Pods if arrivals.iter().any(|change| matches!(change, Change::PodApplied(_))) => {
            Target::Pods(arrivals)
        }
        Goal::Pods => return Err(NoMoves::NoPods),
        Goal::LargestPartition => {
            tell_all(&mut rehearsal, arrivals);
            Target::Partitions(largest_partitions(rehearsal.facts()).ok_or(NoMoves::NoPartitions)?)
        }
    };
    let mut trials =
        Trials { base: rehearsal.snapshot(), left: TRIALS_MAX, work_left: rehearsal.work_left() };
    let found = match target {
        Target::Pods(arrivals) => Search::new(&mut trials, &arrivals, &stays).run(moves_max),
        Target::Partitions(wanted) => free_partition(&mut trials, wanted, &stays, moves_max),
    };
    let Found { moves, pods, partition, extent } = found;
    let trials = TRIALS_MAX - trials.left;
    Ok(Defragmentation { moves, pods, partition, extent, trials, left_out, notes })
}

/// What a place is looked for, and what it takes.
enum Target {
    Pods(Vec<Change>),
    Partitions(Vec<WantedPartition>),
}

/// What came of a search.
pub(crate) struct Found {
    pub moves: Option<Vec<Move>>,
    pub pods: Vec<PlannedPod>,
    pub partition: Option<String>,
    pub extent: Extent,
}

/// Tries things on copies of the cluster, as often as it may.
pub(crate) struct Trials {
    /// The cluster before any move.
    pub base: Snapshot,
    /// How many trials are left.
    pub left: usize,
    work_left: u64,
}

impl Trials {
    /// Tries something on a copy of the cluster, unless a bound is met.
    pub fn try_on<T>(&mut self, snapshot: &Snapshot, attempt: impl FnOnce(&mut Rehearsal) -> T) -> Option<T> {
        if self.left == 0 || self.work_left == 0 {
            self.left = 0;
            return None;
        }
        self.left -= 1;
        let mut rehearsal = Rehearsal::of(snapshot.clone(), self.work_left);
        let came = attempt(&mut rehearsal);
        self.work_left = rehearsal.work_left();
        Some(came)
    }

    /// Tries whether pods could move: they go, a place is taken by what it is for, and they are placed anew. Nobody is preempted for
    /// them. Nothing if they cannot, or if a budget keeps one where it is; `take` says whether the place was found.
    pub fn moves<T>(
        &mut self,
        pods: &BTreeSet<PodUid>,
        take: impl FnOnce(&mut Rehearsal) -> Option<T>,
    ) -> Option<(Vec<Move>, T)> {
        let base = self.base.clone();
        let known: Vec<Arc<Pod>> =
            pods.iter().filter_map(|uid| base.facts.nodes.pod(uid)).map(|(_, pod)| pod.clone()).collect();
        if base.facts.budgets.violations(known.iter().map(|pod| &**pod)).contains(&true) {
            return None;
        }
        self.try_on(&base, |rehearsal| {
            known.iter().for_each(|pod| rehearsal.end_pod(&pod.uid));
            let taken = take(rehearsal)?;
            for pod in &known {
                let again = Pod { preempts: false, ..Pod::clone(&rehearsal.anew(pod)) };
                rehearsal.enqueue(Arc::new(again));
            }
            rehearsal.run();
            let devices = |facts: &Facts, pod: &Pod| -> BTreeSet<DeviceId> {
                let ids = what_if::claims_of(facts, pod).into_iter();
                ids.flat_map(|id| facts.claims.held(&id)).map(|held| held.device).collect()
            };
            let mut moves = Vec::new();
            for pod in &known {
                let (from, to) = (pod.node.clone()?, rehearsal.node_of(&pod.uid)?.clone());
                // One that comes back to its node, with its devices, did not have to go.
                if from != to || devices(&base.facts, pod) != devices(rehearsal.facts(), pod) {
                    moves.push(Move { pod: pod.id.clone(), from, to });
                }
            }
            Some((moves, taken))
        })
        .flatten()
    }

    /// Pods that could move: they are on nodes, belong to none of them, and no budget keeps each of them where it is.
    pub fn movable(&self, stays: &BTreeSet<PodId>) -> BTreeSet<PodUid> {
        let facts = &self.base.facts;
        let can = |pod: &&Arc<Pod>| {
            !stays.contains(&pod.id)
                && !pod.deleting
                && pod.node.as_ref().is_some_and(|node| !is_tied(pod, node))
                && facts.budgets.violations([&***pod]) == [false]
        };
        facts.nodes.pods().filter(can).map(|pod| pod.uid.clone()).collect()
    }
}
