//! What the node does about its pods, and when: one step from what was heard to what is to be done.
//!
//! | a pod is | heard | then it is |
//! |---|---|---|
//! | idle | anything after which there is something to do | due at a time |
//! | due | anything after which there is nothing to do | idle, and what was noted of it is forgotten |
//! | due | its time has come | busy: the task begins |
//! | busy | anything else | busy: what is next is seen when the task has ended |
//! | busy | the task is done | due for what is next, or idle |
//! | busy | the task failed | due for it after a pause, which doubles with each failure of the same task up to a bound |
//!
//! Invariants: one thing at a time is done for a pod, what failed is tried again, and no pod waits for another. Before all pods of the
//! node have been named, nothing is done about one that is missing: it may just not have been named yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use controllers::simulated::Times;
use model::timestamp::Timestamp;
use objects::core::pod::Pod;

use super::next::{Task, next};

/// How long things take, and how long until what failed is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) times: Times,
    /// Doubles with each failure.
    pub(crate) retry_first: Duration,
    pub(crate) retry_max: Duration,
}

/// The pods that something is held for, by uid.
pub(crate) type Uids = BTreeSet<String>;

/// Something that the node heard. `F` says why a task failed.
#[derive(Debug)]
pub(crate) enum Heard<F> {
    /// A pod is new or has changed.
    Applied(Arc<Pod>),
    /// A pod is gone.
    Gone { uid: String, held: Uids },
    /// All pods of the node have been named.
    Synced { held: Uids },
    /// It was looked for what something is held.
    Reviewed { held: Uids },
    /// A driver can be called, or cannot any more.
    DriversChanged,
    /// The devices of pods may not be as their status says.
    HealthChanged,
    /// A task ended.
    Ended {
        uid: String,
        /// The pod as it was when the task began.
        before: Option<Arc<Pod>>,
        task: Task,
        outcome: Outcome<F>,
        held: Uids,
    },
    /// Time has passed.
    Time,
}

/// What came of a task.
#[derive(Debug)]
pub(crate) enum Outcome<F> {
    /// It is done. If something was said of the pod, this is the pod now.
    Done(Option<Arc<Pod>>),
    /// It is to be tried again.
    Failed(F),
}

/// Something to be done.
#[derive(Debug)]
pub(crate) enum Act<F> {
    /// Carry out a task, and say when it has ended.
    Begin { uid: String, pod: Option<Arc<Pod>>, task: Task },
    /// Tell people that a task has failed.
    Report {
        uid: String,
        pod: Option<Arc<Pod>>,
        why: F,
        /// It has not failed the last time.
        is_first: bool,
    },
}

/// What a pod is that is not idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Due(Timestamp),
    Busy,
}

/// A task that failed for a pod and will be tried again.
#[derive(Debug)]
struct Failure {
    task: Task,
    /// How often, one time after the other.
    times: u32,
    not_before: Timestamp,
}

/// The pods of a node, and when each is looked at.
#[derive(Debug)]
pub(crate) struct Work {
    pace: Pace,
    pods: BTreeMap<String, Arc<Pod>>,
    /// All pods of the node have been named once.
    is_synced: bool,
    /// The pods that something is held for.
    held: Uids,
    /// The pods whose devices may not be as their status says.
    unwell: BTreeSet<String>,
    failures: BTreeMap<String, Failure>,
    /// Pods that are not idle.
    states: BTreeMap<String, State>,
    /// Those that are due, in order.
    due: BTreeSet<(Timestamp, String)>,
}

impl Work {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            pods: BTreeMap::new(),
            is_synced: false,
            held: BTreeSet::new(),
            unwell: BTreeSet::new(),
            failures: BTreeMap::new(),
            states: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// When there is something to do, even if nothing is heard until then.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        self.due.first().map(|(time, _)| *time)
    }

    /// Hears something, and says what is to be done.
    pub(crate) fn step<F>(&mut self, now: Timestamp, heard: Heard<F>) -> Vec<Act<F>> {
        let report = match heard {
            Heard::Applied(pod) => {
                let uid = pod.metadata.uid.clone();
                self.pods.insert(uid.clone(), pod);
                self.plan(now, &uid);
                None
            }
            Heard::Gone { uid, held } => {
                self.pods.remove(&uid);
                self.review(now, held);
                None
            }
            Heard::Synced { held } => {
                self.is_synced = true;
                self.review(now, held);
                None
            }
            Heard::Reviewed { held } => {
                self.review(now, held);
                None
            }
            Heard::DriversChanged => {
                self.end_pauses(now);
                None
            }
            Heard::HealthChanged => {
                self.doubt_health(now);
                None
            }
            Heard::Ended { uid, before, task, outcome, held } => {
                self.held = held;
                self.end(now, &uid, before.as_ref(), task, outcome)
            }
            Heard::Time => None,
        };
        report.into_iter().chain(self.begin(now)).collect()
    }

    /// What pods that are gone have left behind is taken back, and what was noted of the others is forgotten.
    fn review(&mut self, now: Timestamp, held: Uids) {
        self.held = held;
        let noted = self.states.keys().chain(self.failures.keys()).chain(&self.unwell).chain(&self.held);
        let missing: BTreeSet<String> = noted.filter(|uid| !self.pods.contains_key(*uid)).cloned().collect();
        missing.iter().for_each(|uid| self.plan(now, uid));
    }

    /// A pod that waits for a driver need not wait for its pause to end.
    fn end_pauses(&mut self, now: Timestamp) {
        self.failures.values_mut().for_each(|failure| failure.not_before = now);
        let waiting: Vec<String> = self.failures.keys().cloned().collect();
        waiting.iter().for_each(|uid| self.plan(now, uid));
    }

    fn doubt_health(&mut self, now: Timestamp) {
        let has_claims = |pod: &&Arc<Pod>| !pod.spec.resource_claims.is_empty();
        self.unwell = self.pods.values().filter(has_claims).map(|pod| pod.metadata.uid.clone()).collect();
        let unwell: Vec<String> = self.unwell.iter().cloned().collect();
        unwell.iter().for_each(|uid| self.plan(now, uid));
    }

    /// Begins what is due.
    fn begin<F>(&mut self, now: Timestamp) -> Vec<Act<F>> {
        let mut acts = Vec::new();
        while let Some((_, uid)) = self.due.first().filter(|(time, _)| *time <= now).cloned() {
            self.drop_plan(&uid);
            let Some((_, task)) = self.next(now, &uid) else { continue };
            self.states.insert(uid.clone(), State::Busy);
            // Whatever is said of a pod from now on includes how its devices are; what changes in between is said again.
            self.unwell.remove(&uid);
            let pod = self.pods.get(&uid).cloned();
            acts.push(Act::Begin { uid, pod, task });
        }
        acts
    }

    /// A task has ended.
    fn end<F>(
        &mut self,
        now: Timestamp,
        uid: &str,
        before: Option<&Arc<Pod>>,
        task: Task,
        outcome: Outcome<F>,
    ) -> Option<Act<F>> {
        let state = self.states.remove(uid);
        assert_eq!(state, Some(State::Busy), "only what was begun ends");
        let report = match outcome {
            Outcome::Done(said) => {
                self.failures.remove(uid);
                // What we said of a pod is known before the stream of pods says it, unless that has said something since.
                if let (Some(known), Some(before), Some(said)) = (self.pods.get_mut(uid), before, said)
                    && Arc::ptr_eq(known, before)
                {
                    *known = said;
                }
                None
            }
            Outcome::Failed(why) => {
                if task == Task::TellHealth {
                    self.unwell.insert(uid.to_owned());
                }
                let is_first = self.fail(now, uid, task);
                Some(Act::Report { uid: uid.to_owned(), pod: self.pods.get(uid).cloned(), why, is_first })
            }
        };
        self.plan(now, uid);
        report
    }

    /// Notes that a task failed; says whether it had not failed the last time.
    fn fail(&mut self, now: Timestamp, uid: &str, task: Task) -> bool {
        let before = self.failures.get(uid).filter(|failure| failure.task == task);
        let times = before.map_or(0, |failure| failure.times);
        let Pace { retry_first, retry_max, .. } = self.pace;
        let pause = retry_first.saturating_mul(1 << times.min(20)).min(retry_max);
        let failure = Failure { task, times: times.saturating_add(1), not_before: now.plus(pause) };
        self.failures.insert(uid.to_owned(), failure);
        times == 0
    }

    /// Plans what is next for a pod.
    fn plan(&mut self, now: Timestamp, uid: &str) {
        if self.states.get(uid) == Some(&State::Busy) {
            return;
        }
        self.drop_plan(uid);
        let Some((wait, task)) = self.next(now, uid) else {
            self.failures.remove(uid);
            self.unwell.remove(uid);
            return;
        };
        let paused = self.failures.get(uid).filter(|failure| failure.task == task);
        let at = now.plus(wait);
        let at = paused.map_or(at, |failure| failure.not_before.max(at));
        self.states.insert(uid.to_owned(), State::Due(at));
        self.due.insert((at, uid.to_owned()));
    }

    /// A pod that was due is idle.
    fn drop_plan(&mut self, uid: &str) {
        if let Some(State::Due(time)) = self.states.get(uid).copied() {
            self.states.remove(uid);
            self.due.remove(&(time, uid.to_owned()));
        }
    }

    fn next(&self, now: Timestamp, uid: &str) -> Option<(Duration, Task)> {
        let pod = self.pods.get(uid);
        if pod.is_none() && !self.is_synced {
            return None;
        }
        let (is_held, is_unwell) = (self.held.contains(uid), self.unwell.contains(uid));
        next(pod.map(|pod| &**pod), is_held, is_unwell, now, self.pace.times)
    }
}

#[cfg(test)]
mod tests;
