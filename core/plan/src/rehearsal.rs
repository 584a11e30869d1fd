//! The scheduler at work on a copy of what is known of a cluster: every write is carried out on the copy, and nowhere else.
//!
//! Invariant: the scheduler learns nothing but what an API server would tell it. Time passes only while pods wait for nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use cluster::change::Change;
use cluster::claims::Held;
use cluster::facts::Facts;
use cluster::groups::Key;
use cluster::what_if;
use decisions::considering::Snapshot;
use decisions::gang_outcome::GangOutcome;
use explain::{Audience, Effort, Extent, explain_pod};
use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::{NodeName, PodUid};
use model::pod::{Pod, PodId};
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::write::WriteOutcome;

use crate::written::{gone, written};

/// For how long the clock goes on at the most while pods back off.
const TIME_MS_MAX: i64 = 600_000;

/// How many decisions are made before their writes are carried out.
const ATTEMPTS: u32 = 256;

/// What is counted for a turn besides its decisions, in nominal nanoseconds, so that there is an end in any case.
const TURN: u64 = 50_000;

/// A pod that is preempted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreemptedPod {
    /// The pod.
    pub pod: PodId,
    /// Its uid.
    pub uid: PodUid,
    /// Its node.
    pub node: NodeName,
    /// The pod or the group of pods that needs its place.
    pub by: String,
}

/// The scheduler at work on a copy.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    engine: Engine,
    /// The names under which pods ask for it.
    schedulers: Vec<Arc<str>>,
    now: Timestamp,
    end: Timestamp,
    wake_at: Option<Timestamp>,
    /// Why pods wait, by uid, as it was told last.
    reasons: BTreeMap<PodUid, String>,
    /// Why groups wait.
    group_reasons: BTreeMap<GroupId, String>,
    /// Pods that were preempted, in order.
    pub preempted: Vec<PreemptedPod>,
    /// How many refusals were told.
    refusals: usize,
    writes: u64,
    /// How much work it was, in nominal nanoseconds, and how much it may be.
    work: u64,
    work_max: u64,
}

impl Rehearsal {
    /// A scheduler that begins with a copy of what is known, and may do so much work in nominal nanoseconds.
    pub fn of(snapshot: Snapshot, work_max: u64) -> Rehearsal {
        // Pods that wait have their places in the queue by then.
        let now = snapshot.now.plus(Duration::from_micros(snapshot.facts.waiting.len() as u64));
        let names = snapshot.settings.profiles.iter().map(|profile| profile.name.clone());
        Rehearsal {
            schedulers: names.collect(),
            engine: Engine::of(snapshot),
            now,
            end: now.plus_millis(TIME_MS_MAX),
            wake_at: None,
            reasons: BTreeMap::new(),
            group_reasons: BTreeMap::new(),
            preempted: Vec::new(),
            refusals: 0,
            writes: 0,
            work: 0,
            work_max,
        }
    }

    /// What is known now.
    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// What the scheduler would decide from now.
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// How much work may still be done, in nominal nanoseconds.
    pub fn work_left(&self) -> u64 {
        self.work_max.saturating_sub(self.work)
    }

    /// Whether the scheduler said that a pod has no place.
    pub fn is_refused(&self, pod: &Pod) -> bool {
        self.reasons.contains_key(&pod.uid)
    }

    /// Tells the scheduler of something.
    pub fn tell(&mut self, change: Change) {
        let effects = self.handle(Input::Changed(change));
        self.carry_out(effects);
    }

    /// A pod ends, and its claims give their devices back unless others use them.
    pub fn end_pod(&mut self, uid: &PodUid) {
        gone(self.facts(), uid).into_iter().for_each(|change| self.tell(change));
    }

    /// A pod as if it were made now, for this scheduler whichever it asks for.
    pub fn anew(&self, pod: &Pod) -> Arc<Pod> {
        let is_ours = self.schedulers.contains(&pod.scheduler);
        let ours = self.schedulers.first().filter(|_| !is_ours);
        Arc::new(Pod {
            scheduler: ours.unwrap_or(&pod.scheduler).clone(),
            node: None,
            nominated_node: None,
            running: false,
            finished: false,
            deleting: false,
            created: Some(self.now),
            started: None,
            landing: None,
            ..pod.clone()
        })
    }

    /// Has a pod wait, behind those that wait already and are as important.
    pub fn enqueue(&mut self, pod: Arc<Pod>) {
        self.now = self.now.plus(Duration::from_micros(1));
        self.tell(Change::PodApplied(pod));
    }

    /// Forgets pods that wait, so that only those count that are told from now on.
    pub fn forget_waiting(&mut self) {
        let waiting: Vec<PodUid> = self.waiting().map(|pod| pod.uid.clone()).collect();
        waiting.iter().for_each(|uid| self.tell(Change::PodGone(uid.clone())));
    }

    /// Pods that wait for a node.
    pub fn waiting(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.facts().waiting.values().filter(|pod| pod.node.is_none() && self.node_of(&pod.uid).is_none())
    }

    /// The node of a pod that is there or on its way there.
    pub fn node_of(&self, uid: &str) -> Option<&NodeName> {
        self.facts().nodes.pod(uid).and_then(|(_, pod)| pod.node.as_ref())
    }

    /// Lets the scheduler place pods until there is nothing to do.
    pub fn run(&mut self) -> Extent {
        self.run_until(ATTEMPTS, &|_| false)
    }

    /// Lets the scheduler place pods until one of them has no place.
    pub fn run_until_refused(&mut self) -> Extent {
        let before = self.refusals;
        self.run_until(ATTEMPTS / 16, &|rehearsal| rehearsal.refusals > before)
    }

    fn run_until(&mut self, attempts: u32, is_enough: &dyn Fn(&Rehearsal) -> bool) -> Extent {
        while !is_enough(self) {
            if self.work_left() == 0 {
                return Extent::Bounded;
            }
            let effects = self.handle(Input::Turn { attempts });
            self.work += TURN;
            self.carry_out(effects);
            if self.engine.wants_turn(self.now) {
                continue;
            }
            let counts = self.engine.counts();
            if counts.ready + counts.undecided + counts.backing_off == 0 {
                return Extent::Whole;
            }
            match self.wake_at.filter(|time| *time > self.now) {
                Some(time) if time <= self.end => self.now = time,
                Some(_) => return Extent::Bounded,
                None => return Extent::Whole,
            }
        }
        Extent::Whole
    }

    /// Tells the scheduler something; what is to be done comes back, but for when it wants to be woken.
    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = self.engine.handle(self.now, input);
        self.work += self.engine.work_done();
        self.wake_at = None;
        effects.retain(|effect| {
            if let Effect::WakeAt(time) = effect {
                self.wake_at = Some(*time);
            }
            !matches!(effect, Effect::WakeAt(_))
        });
        effects
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        let mut open = VecDeque::from(effects);
        while let Some(effect) = open.pop_front() {
            match effect {
                Effect::Submit(id, write) => {
                    self.writes += 1;
                    let outcome = match written(self.facts(), &write, self.writes) {
                        Ok(changes) => {
                            for change in changes {
                                open.extend(self.handle(Input::Changed(change)));
                            }
                            WriteOutcome::Done
                        }
                        Err(why) => WriteOutcome::Failed(why),
                    };
                    open.extend(self.handle(Input::Settled(id, outcome)));
                }
                Effect::Consider(id, consideration) => {
                    let considered = Box::new(consideration.run());
                    self.work += considered.work;
                    open.extend(
                        self.handle(Input::Considered(id, ConsiderationOutcome::Decided(considered))),
                    );
                }
                Effect::Announce(announcement) => self.hear(announcement),
                Effect::WakeAt(_) => {}
            }
        }
    }

    fn hear(&mut self, announcement: Announcement) {
        match announcement {
            Announcement::FailedScheduling { pod, message, .. } => {
                self.refusals += 1;
                self.reasons.insert(pod.uid.clone(), message);
            }
            Announcement::Negotiating { pod, wait } => {
                self.reasons.insert(pod.uid.clone(), wait.to_string());
            }
            Announcement::DevicesPending { pod, message, .. } => {
                self.reasons.insert(pod.uid.clone(), message);
            }
            Announcement::Gang(news) => match &news.outcome {
                GangOutcome::Refused { message } | GangOutcome::MakingRoom { message } => {
                    self.refusals += 1;
                    self.group_reasons.insert(news.group.clone(), message.clone());
                }
                GangOutcome::Seated { .. } | GangOutcome::Placed { .. } => {}
            },
            Announcement::Preempted { pod, by, group, node: _ } => {
                let by = group
                    .map_or_else(|| format!("pod {}", by.id), |group| format!("pod group {}", group.id()));
                let node = pod.node.clone().unwrap_or_default();
                self.preempted.push(PreemptedPod { pod: pod.id.clone(), uid: pod.uid.clone(), node, by });
            }
            Announcement::Scheduled { .. }
            | Announcement::DevicesDone { .. }
            | Announcement::Released { .. }
            | Announcement::GroupIgnored { .. } => {}
        }
    }

    /// Why a pod waits, in one sentence.
    pub fn reason(&self, pod: &Pod) -> String {
        if let Some(told) = self.reasons.get(&pod.uid) {
            return told.clone();
        }
        let told = match self.facts().groups.key_of(pod) {
            Key::Pod(_) => None,
            key => key.root().and_then(|root| self.group_reasons.get(root.id()).cloned()),
        };
        told.unwrap_or_else(|| {
            // It was never looked at, so what keeps it from that is told, as for any pod that waits.
            let effort = Effort { decisions_max: 1, ..Effort::default() };
            let told = explain_pod(&self.snapshot(), &pod.id, &Audience::AllNamespaces, effort).to_string();
            told.lines().next().unwrap_or_default().to_owned()
        })
    }

    /// The devices that a pod has by its claims.
    pub fn devices_of(&self, pod: &Pod) -> Vec<(ClaimId, Held)> {
        let facts = self.facts();
        let ids: BTreeSet<ClaimId> = what_if::claims_of(facts, pod).into_iter().collect();
        let held = |id: ClaimId| facts.claims.held(&id).into_iter().map(move |held| (id.clone(), held));
        ids.into_iter().flat_map(held).collect()
    }
}
