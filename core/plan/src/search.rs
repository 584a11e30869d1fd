//! The fewest pods that would have to move so that all of some others have a place.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use decisions::considering::Snapshot;
use explain::Extent;
use model::group::{Composite, Group};
use model::identity::PodUid;
use model::pod::{Pod, PodId};

use crate::defragment::{Found, Move, Trials};
use crate::plan::{Origin, PlannedPod, standing, tell_all};
use crate::rehearsal::Rehearsal;

/// Looks for moves.
pub(crate) struct Search<'t> {
    trials: &'t mut Trials,
    /// What is to be placed, without preempting anything.
    calm: Vec<Change>,
    /// The same, more important than everything else.
    urgent: Vec<Change>,
    /// Pods that could move.
    movable: BTreeSet<PodUid>,
    /// The cluster with pods that could move and are all as unimportant, and others that are not.
    flat: Snapshot,
}

/// Pods that would move, and pods that are kept where they are for that, the fewest that move first.
type Candidate = (usize, BTreeSet<PodUid>, BTreeSet<PodUid>);

impl<'t> Search<'t> {
    pub fn new(trials: &'t mut Trials, arrivals: &[Change], stays: &BTreeSet<PodId>) -> Search<'t> {
        let movable = trials.movable(stays);
        let mut flat = Rehearsal::of(trials.base.clone(), u64::MAX);
        let pods: Vec<Arc<Pod>> = flat.facts().nodes.pods().cloned().collect();
        for pod in pods {
            let priority = if movable.contains(&pod.uid) { 0 } else { i32::MAX };
            with_priority(&mut flat, &pod, priority);
        }
        let flat = flat.snapshot();
        let (calm, urgent) = (all_with(arrivals, None), all_with(arrivals, Some(i32::MAX)));
        Search { trials, calm, urgent, movable, flat }
    }

    /// Looks for no more moves than so many.
    pub fn run(mut self, moves_max: usize) -> Found {
        if let Some(found) = self.moves(&BTreeSet::new()) {
            return self.found(found, Extent::Whole);
        }
        let found = self.best_first(moves_max);
        // Fewer that do as well would have been found if there are not too many to try them all.
        let sizes = 1..found.as_ref().map_or(moves_max + 1, |(moves, _)| moves.len());
        for size in sizes {
            if count_of_sets(self.movable.len(), size).is_none_or(|count| count > self.trials.left) {
                return self.told(found, Extent::Bounded);
            }
            let all: Vec<PodUid> = self.movable.iter().cloned().collect();
            let mut fewer = None;
            each_set(&all, size, &mut |set| {
                fewer = self.moves(set);
                fewer.is_some()
            });
            if let Some(fewer) = fewer {
                return self.found(fewer, Extent::Whole);
            }
        }
        let extent = if self.trials.left == 0 { Extent::Bounded } else { Extent::Whole };
        self.told(found, extent)
    }

    fn told(&self, found: Option<(Vec<Move>, Vec<PlannedPod>)>, extent: Extent) -> Found {
        match found {
            Some(found) => self.found(found, extent),
            None => Found { moves: None, pods: Vec::new(), partition: None, extent },
        }
    }

    fn found(&self, (moves, pods): (Vec<Move>, Vec<PlannedPod>), extent: Extent) -> Found {
        Found { moves: Some(moves), pods, partition: None, extent }
    }

    /// Asks which pods would be preempted, the fewest first, until one of the answers holds as moves.
    fn best_first(&mut self, moves_max: usize) -> Option<(Vec<Move>, Vec<PlannedPod>)> {
        let mut open: BTreeSet<Candidate> = BTreeSet::new();
        let (mut asked, mut tried) = (BTreeSet::new(), BTreeSet::new());
        open.extend(self.candidate(BTreeSet::new()));
        while let Some((count, moved, kept)) = open.pop_first() {
            if count > moves_max {
                return None;
            }
            if tried.insert(moved.clone())
                && let Some(found) = self.moves(&moved)
            {
                return Some(found);
            }
            for uid in &moved {
                let mut kept = kept.clone();
                kept.insert(uid.clone());
                if asked.insert(kept.clone()) {
                    open.extend(self.candidate(kept));
                }
            }
        }
        None
    }

    /// The pods that the scheduler would preempt if some were kept where they are.
    fn candidate(&mut self, kept: BTreeSet<PodUid>) -> Option<Candidate> {
        let (flat, urgent) = (self.flat.clone(), self.urgent.clone());
        let moved = self.trials.try_on(&flat, |rehearsal| {
            for uid in &kept {
                if let Some((_, pod)) = rehearsal.facts().nodes.pod(uid) {
                    let pod = pod.clone();
                    with_priority(rehearsal, &pod, i32::MAX);
                }
            }
            let pods = tell_all(rehearsal, urgent);
            rehearsal.run();
            let is_placed = |pod: &Arc<Pod>| rehearsal.node_of(&pod.uid).is_some();
            pods.iter().all(is_placed).then(|| {
                let gone = rehearsal.preempted.iter().map(|one| one.uid.clone());
                gone.collect::<BTreeSet<PodUid>>()
            })
        });
        let moved = moved.flatten()?;
        let may_move = moved.iter().all(|uid| self.movable.contains(uid) && !kept.contains(uid));
        (may_move && !moved.is_empty()).then_some((moved.len(), moved, kept))
    }

    /// Tries whether some pods could move so that there is a place for the others.
    fn moves(&mut self, pods: &BTreeSet<PodUid>) -> Option<(Vec<Move>, Vec<PlannedPod>)> {
        let calm = self.calm.clone();
        let found = self.trials.moves(pods, |rehearsal| {
            let pods = tell_all(rehearsal, calm);
            rehearsal.run();
            let stand = |pod: &Arc<Pod>| PlannedPod {
                pod: pod.id.clone(),
                origin: Origin::New,
                from: None,
                standing: standing(rehearsal, pod),
            };
            let planned: Vec<PlannedPod> = pods.iter().map(stand).collect();
            planned.iter().all(PlannedPod::is_placed).then_some(planned)
        })?;
        // One that comes back to its node did not have to go: it is tried without it when sets of fewer pods are.
        (found.0.len() == pods.len()).then_some(found)
    }
}

/// Gives a pod that is there another priority.
fn with_priority(rehearsal: &mut Rehearsal, pod: &Arc<Pod>, priority: i32) {
    if pod.priority != priority {
        rehearsal.tell(Change::PodApplied(Arc::new(Pod { priority, ..Pod::clone(pod) })));
    }
}

/// The same objects, of which pods and groups preempt others with a priority if it is given, and none if not.
fn all_with(arrivals: &[Change], priority: Option<i32>) -> Vec<Change> {
    let preempts = priority.is_some();
    let with = |change: &Change| match change {
        Change::PodApplied(pod) => {
            let priority = priority.unwrap_or(pod.priority);
            Change::PodApplied(Arc::new(Pod { priority, preempts, ..Pod::clone(pod) }))
        }
        Change::Group(GroupChange::Applied(group)) => {
            let priority = priority.unwrap_or(group.priority);
            let group = Group { priority, preempts, ..Group::clone(group) };
            Change::Group(GroupChange::Applied(Box::new(group)))
        }
        Change::Group(GroupChange::CompositeApplied(group)) => {
            let priority = priority.unwrap_or(group.priority);
            let group = Composite { priority, preempts, ..Composite::clone(group) };
            Change::Group(GroupChange::CompositeApplied(Box::new(group)))
        }
        other => other.clone(),
    };
    arrivals.iter().map(with).collect()
}

/// How many sets of so many there are, unless that is beyond all bounds.
fn count_of_sets(of: usize, size: usize) -> Option<usize> {
    (0..size).try_fold(1_usize, |count, at| Some(count.checked_mul(of.saturating_sub(at))? / (at + 1)))
}

/// Goes through all sets of so many, until one will do.
fn each_set(all: &[PodUid], size: usize, will_do: &mut dyn FnMut(&BTreeSet<PodUid>) -> bool) {
    let mut chosen: Vec<usize> = (0..size).collect();
    while chosen.last().is_none_or(|last| *last < all.len()) {
        if will_do(&chosen.iter().map(|at| all[*at].clone()).collect()) {
            return;
        }
        // The last that can go on does, and those behind it follow.
        let can_go_on = |at: &usize| chosen[*at] + (size - *at) < all.len();
        let Some(at) = (0..size).rev().find(can_go_on) else { return };
        chosen[at] += 1;
        for behind in at + 1..size {
            chosen[behind] = chosen[behind - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_tried_once() {
        for (of, size) in [(0, 1), (1, 1), (3, 1), (3, 2), (4, 2), (5, 3), (4, 4), (2, 3)] {
            let all: Vec<PodUid> = (0..of).map(|number: usize| number.to_string().into()).collect();
            let mut sets = Vec::new();
            each_set(&all, size, &mut |set| {
                sets.push(set.clone());
                false
            });
            let distinct: BTreeSet<_> = sets.iter().cloned().collect();
            let expected = count_of_sets(of, size).expect("they are few");
            assert_eq!((sets.len(), distinct.len()), (expected, expected), "{size} of {of}");
            assert!(sets.iter().all(|set| set.len() == size));
        }
        assert_eq!(count_of_sets(usize::MAX, 3), None);
    }
}
