//! The one door: a fact, a turn or an answer comes in, and what is to be done comes out.
//!
//! Invariant: everything here follows from what came in. The same inputs at the same times give the same effects; after a
//! restart the API's objects alone lead to a state that goes on from there.

mod bound;
mod clash;
mod consider;
mod deallocate;
mod driven_off;
mod extended;
pub(crate) mod fold;
mod forlorn;
mod gang;
mod negotiation;
mod outlook;
mod placed;
mod preempt;
mod readying;
mod settle;
mod sharing;
mod touched;
pub(crate) mod turn;
mod volumes;

use cluster::groups::{Key, Root};
use decisions::cycle::{Caches, Cycle};
use decisions::plans::Plans;
use decisions::underway::Underway;
pub(crate) use forlorn::Forlorn;

pub use decisions::readiness::ReadyOutcome;
pub use decisions::settings::Settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::ledger::Ledger;
use cluster::nodes::Nodes;
use decisions::comparison::{NodeScores, compare};
use decisions::gang::members_here;
use decisions::lanes::Lanes;
use decisions::readiness::Readiness;
use model::claim::ClaimId;
use model::identity::{ClaimUid, NodeName, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::bindings::Bindings;
pub use crate::considerations::{ConsiderationId, ConsiderationOutcome};
use crate::engine::gang::Gangs;
use crate::engine::negotiation::Negotiations;
use crate::life_cycles::binding::Binding;
pub use crate::news::Announcement;
use crate::news::PreemptionNews;
pub use crate::outbox::Effect;
use crate::outbox::Outbox;
use crate::queue::{Cause, Counts, Entity, Queue, Station};
use crate::write::{WriteId, WriteOutcome};
use cluster::change::Change;
use decisions::wake::{Wake, Wakes};

/// What comes in.
#[derive(Debug)]
pub enum Input {
    /// A fact arrived.
    Changed(Change),
    /// There is time to place pods: at most so many.
    Turn {
        /// How many attempts.
        attempts: u32,
    },
    /// It is certain what became of a write. The claim that shows it, answered or read, is told before this as a [`Change`],
    /// whether it is done or has failed, and so is that it is missing, unless it is known to be gone by now: a watch may be
    /// late, and may never show what was undone soon after.
    Settled(WriteId, WriteOutcome),
    /// What came of a consideration. It need not be the one of what was asked last, nor come at all.
    Considered(ConsiderationId, ConsiderationOutcome),
}

/// The scheduler.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    /// What is so.
    pub(crate) facts: Facts,
    /// What we are about to do.
    pub(crate) plans: Plans,
    /// What was found out and could be found out again.
    pub(crate) caches: Caches,
    /// Pods on their way to nodes.
    pub(crate) bindings: Bindings,
    pub(crate) queue: Queue,
    /// Pods that are placed together.
    pub(crate) gangs: Gangs,
    /// What drivers' controllers are asked about.
    pub(crate) negotiations: Negotiations,
    /// What is to be done, and what waits for which answer.
    pub(crate) outbox: Outbox,
    /// The time of what is being handled.
    pub(crate) now: Timestamp,
}

impl Engine {
    /// A scheduler that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Engine {
        let queue = Queue::new(settings.patience);
        Engine {
            facts: Facts::new(settings.gates),
            plans: Plans::default(),
            caches: Caches::default(),
            bindings: Bindings::default(),
            settings,
            queue,
            gangs: Gangs::default(),
            negotiations: Negotiations::default(),
            outbox: Outbox::default(),
            now: Timestamp::from_micros(0),
        }
    }

    /// The same scheduler, which does no more work for one pod or pod group than this, in nominal nanoseconds. By default it does
    /// as much as takes about half a second.
    #[must_use]
    pub fn with_work_max(mut self, nanos: u64) -> Engine {
        self.caches.work = self.caches.work.with_most(nanos);
        self
    }

    /// The same scheduler, which does side by side in these lanes what it finds out of many nodes. What it decides is the same.
    #[must_use]
    pub fn with_lanes(mut self, lanes: Arc<dyn Lanes>) -> Engine {
        self.caches.lanes = lanes;
        self
    }

    /// The same scheduler, which decides at once what takes no more work than this, in nominal nanoseconds, besides looking at all
    /// nodes. By default that takes some milliseconds.
    #[must_use]
    pub fn with_slice_max(mut self, nanos: u64) -> Engine {
        self.caches.work = self.caches.work.in_slices_of(nanos);
        self
    }

    /// The same scheduler, which has so many considerations under way at once. By default it is one.
    #[must_use]
    pub fn with_considerations_max(mut self, most: usize) -> Engine {
        self.outbox.considerations.set_most(most);
        self
    }

    /// How many considerations are under way.
    #[must_use]
    pub fn considering(&self) -> usize {
        self.outbox.considerations.len()
    }

    /// Judges whether devices are ready.
    pub(crate) fn readiness(&self) -> Readiness<'_> {
        Readiness { settings: &self.settings, facts: &self.facts }
    }

    /// The members of a tree or of a group that wait and are not on their way to a node, in the order in which they are seated.
    pub(crate) fn members_here(&self, root: &Root) -> Vec<Arc<Pod>> {
        members_here(&self.facts, &self.bindings, root)
    }

    /// How the nodes compare that are not out of the question for a pod, whatever devices it needs. There are none for a pod
    /// that asks for no profile of ours, or whose volumes cannot be had.
    #[must_use]
    pub fn compare(&self, pod: &Pod) -> Vec<NodeScores> {
        compare(&self.settings, &self.facts, pod)
    }

    /// Begins to decide something.
    pub(crate) fn cycle(&mut self) -> Cycle<'_> {
        let under_way = (&self.plans, &self.bindings as &dyn Underway);
        Cycle::new(&self.settings, &mut self.facts, under_way, &mut self.caches, self.now)
    }

    /// Takes something in, and tells what is to be done.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.now = now;
        self.caches.work.begin();
        self.end_waits(now);
        if matches!(input, Input::Changed(_) | Input::Settled(..)) {
            self.outbox.considerations.note_change();
        }
        match input {
            Input::Changed(change) => self.fold(now, change),
            Input::Turn { attempts } => self.turn(now, attempts),
            Input::Settled(write, outcome) => self.settle(now, write, &outcome),
            Input::Considered(id, outcome) => self.considered(id, outcome),
        }
        self.note_changes();
        let deadline = self.bindings.next_deadline();
        let times = self.queue.next_time().into_iter().chain(deadline).chain(self.next_note());
        let times = times.chain(self.bindings.forlorn.next_time());
        self.outbox.take(times.min())
    }

    /// How much work it was to decide what was decided last, in nominal nanoseconds: about the time that it takes, but the same on
    /// every machine.
    #[must_use]
    pub fn work_done(&self) -> u64 {
        self.caches.work.done()
    }

    /// How many pods wait, and how.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.queue.counts()
    }

    /// How many pods are on their way to a node.
    #[must_use]
    pub fn placing(&self) -> usize {
        self.bindings.len()
    }

    /// How many of them wait for their devices to be made ready.
    #[must_use]
    pub fn readying(&self) -> usize {
        self.bindings.iter().filter(|binding| binding.is_readying()).count()
    }

    /// A pod that is on its way to a node, and the node.
    #[must_use]
    pub fn on_its_way(&self, uid: &str) -> Option<(&Arc<Pod>, &NodeName)> {
        self.bindings.get(uid).map(|binding| (&binding.pod, &binding.node))
    }

    /// Whether a claim is there, and not another of its name.
    #[must_use]
    pub fn knows_claim(&self, id: &ClaimId, uid: &ClaimUid) -> bool {
        self.facts.claims.get(id).is_some_and(|known| known.uid == *uid)
    }

    /// How many pods and groups came to which place of the queue and why, since this was asked the last time.
    pub fn take_moves(&mut self) -> BTreeMap<(Station, Cause, Entity), u64> {
        self.queue.take_moves()
    }

    /// How many pods of no group, and how many groups, are in each place of the queue.
    #[must_use]
    pub fn entities(&self) -> BTreeMap<(Station, Entity), usize> {
        self.queue.entities()
    }

    /// How often it was looked for pods to preempt and what came of it, since this was asked the last time.
    pub fn take_preemptions(&mut self) -> BTreeMap<PreemptionNews, u64> {
        std::mem::take(&mut self.outbox.preemptions)
    }

    /// Whether a turn would look at a pod, or a pod on its way has waited long enough.
    #[must_use]
    pub fn wants_turn(&self, now: Timestamp) -> bool {
        self.queue.has_next(now)
            || self.begins_consideration()
            || self.ends_wait(now)
            || self.bindings.forlorn.next_time().is_some_and(|time| time <= now)
            || !self.gangs.untold.is_empty()
            || self.doubts_room()
            || self.has_notes(now)
    }

    /// Whether a pod on its way has waited long enough, and a turn lets it go on.
    #[must_use]
    pub fn ends_wait(&self, now: Timestamp) -> bool {
        self.bindings.next_deadline().is_some_and(|time| time <= now)
    }

    /// Which claims hold which devices, or will once what is decided is written.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.facts.claims.ledger()
    }

    /// Everything that it knows of the cluster.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The nodes, and the pods that are on them or on their way there.
    #[must_use]
    pub fn nodes(&self) -> &Nodes {
        &self.facts.nodes
    }

    /// Whether there is nothing to do until something happens. Pods that wait for their devices wait for drivers, and so
    /// do members of a gang that wait for those of others.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let counts = self.queue.counts();
        let waits =
            |binding: &Binding| binding.is_readying() || binding.is_held() || binding.awaits_volumes();
        counts.ready + counts.undecided + counts.backing_off == 0 && self.bindings.iter().all(waits)
    }

    /// Wakes those that a change could help.
    pub(crate) fn wake_others(&mut self, wakes: Wakes, now: Timestamp) {
        if !wakes.is_empty() {
            self.queue.wake(wakes, now);
        }
    }

    /// Wakes a pod that sleeps, whatever it waits for.
    pub(crate) fn wake_nominee(&mut self, uid: &PodUid, now: Timestamp) {
        let key = self.key_of_nominee(uid);
        self.queue.wake_one(&key, Wakes::of(&Wake::ALL), now);
    }

    /// Lets a pod that sleeps try again after a while.
    pub(crate) fn wake_nominee_later(&mut self, uid: &PodUid, now: Timestamp) {
        let key = self.key_of_nominee(uid);
        self.queue.sleep_less(&key, now);
    }

    /// What a pod waits as for which room is made.
    fn key_of_nominee(&self, uid: &PodUid) -> Key {
        let pod = self.facts.waiting.get(uid).filter(|pod| pod.node.is_none());
        pod.map_or_else(|| Key::Pod(uid.clone()), |pod| self.facts.groups.key_of(pod))
    }
}
