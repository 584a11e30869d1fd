//! The one door: a fact, a turn or an answer comes in, and what is to be done comes out.
//!
//! Invariant: everything here follows from what came in. The same inputs at the same times give the same effects; after a
//! restart the API's objects alone lead to a state that goes on from there.

mod bound;
mod clash;
pub(crate) mod fold;
mod forlorn;
mod merge;
mod readying;
mod settle;
mod sharing;
mod taint_rules;
pub(crate) mod turn;

pub(crate) use fold::claim_id;
pub use readying::ReadyOutcome;
pub(crate) use turn::held;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allocation::Expressions;
use cluster::claims::Claims;
use cluster::companions::Companions;
use cluster::ledger::Ledger;
use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeIdx, Nodes};
use cluster::pools::Slices;
use cluster::taint_rules::TaintRules;
use cluster::volumes::Volumes;
use gates::Gates;
use model::claim::{ClaimId, Class};
use model::device::DeviceId;
use model::group::Grouping;
use model::pod::Pod;
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::alike::Alike;
use crate::extended::Extended;
use crate::filters::FilterSet;
use crate::gang::gated::Gated;
use crate::gang::{GangNews, Gangs};
use crate::negotiation::{Negotiations, Wait};
use crate::preempt::Preempting;
use crate::profile::Profile;
use crate::queue::{Cause, Counts, Patience, Queue, Station};
use crate::rivals::Rivals;
use crate::scopes::Scopes;
use crate::scores::images::ImageCounts;
use crate::touches::Touches;
use crate::wake::{Wake, Wakes};
use crate::work::Work;
use crate::write::{Consumer, Write, WriteId, WriteOutcome};
use cluster::change::Change;

/// What comes in.
#[derive(Clone, Debug)]
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
}

/// What is to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Write this, and tell what came of it.
    Submit(WriteId, Write),
    /// Tell people.
    Announce(Announcement),
    /// There is something to do at this time, even if nothing happens until then.
    WakeAt(Timestamp),
}

/// Something that people want to know.
#[derive(Clone, PartialEq, Debug)]
pub enum Announcement {
    /// A pod has its node.
    Scheduled {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// The node.
        node: Arc<str>,
        /// How often it was looked at.
        attempts: u32,
        /// When it first was ready to be placed.
        since: Option<Timestamp>,
    },
    /// A pod has none.
    FailedScheduling {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// Why.
        message: String,
        /// The filters that say so; none if something went wrong.
        filters: FilterSet,
    },
    /// A pod waits for its devices, which are being made ready.
    DevicesPending {
        /// The pod.
        pod: Arc<Pod>,
        /// Its node.
        node: Arc<str>,
        /// For what it waits.
        message: String,
    },
    /// A pod waits for its devices no more.
    DevicesDone {
        /// The pod.
        pod: Arc<Pod>,
        /// How it ended.
        outcome: ReadyOutcome,
        /// How long it waited.
        waited_ms: i64,
        /// The driver of each device that had to be made ready.
        drivers: Vec<Arc<str>>,
    },
    /// A pod waits for drivers' controllers.
    Negotiating {
        /// The pod.
        pod: Arc<Pod>,
        /// What it waits for, and of whom.
        wait: Wait,
    },
    /// A pod goes, since a more important one needs its place.
    Preempted {
        /// The pod that goes.
        pod: Arc<Pod>,
        /// The other; if a group needs the place, one of its pods.
        by: Arc<Pod>,
        /// The group that needs the place, if it is one.
        group: Option<Grouping>,
        /// The node on which that is to be; for a group the domain.
        node: Arc<str>,
    },
    /// A pod that was bound is let go, since another of its gang could not be.
    Released {
        /// The pod.
        pod: Arc<Pod>,
        /// Why.
        message: String,
    },
    /// A pod is placed as if it belonged to no group, since the feature is off.
    GroupIgnored {
        /// The pod, the first of its group.
        pod: Arc<Pod>,
        /// What is to be done about it.
        message: String,
    },
    /// Something came of pods that are placed together.
    Gang(Box<GangNews>),
}

/// How the engine decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The schedulers that pods can ask for, each by a name of its own; others are left alone.
    pub profiles: Vec<Arc<Profile>>,
    /// Which features are on.
    pub gates: Gates,
    /// How long pods wait.
    pub patience: Patience,
    /// How many steps a search for devices on one node may take.
    pub search_steps_max: u64,
}

impl Settings {
    /// The profile that a pod asks for.
    #[must_use]
    pub fn profile(&self, pod: &Pod) -> Option<&Arc<Profile>> {
        self.profiles.iter().find(|profile| profile.name == pod.scheduler)
    }

    /// The profile of a pod that waits.
    pub(crate) fn profile_of(&self, pod: &Pod) -> Arc<Profile> {
        self.profile(pod).cloned().expect("only pods that ask for one of us wait")
    }
}

/// A claim with a write that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenClaim {
    pub(crate) claim: ClaimId,
    /// The claim's uid if the write gives it devices, and nothing if it only reserves it.
    pub(crate) decided: Option<Arc<str>>,
}

/// A pod on its way to a node.
#[derive(Clone, Debug)]
pub(crate) struct Placing {
    pub(crate) pod: Arc<Pod>,
    node: Arc<str>,
    /// Claims whose writes are not answered yet.
    open: BTreeMap<WriteId, OpenClaim>,
    /// Claims that are reserved for the pod by now.
    pub(crate) reserved: Vec<ClaimId>,
    /// The write that binds it, once it is under way.
    binding: Option<WriteId>,
    /// Until when news of its claims are waited for.
    hears_by: Option<Timestamp>,
    /// Until when others may still give its devices away, as they cannot have heard of it before.
    settles_at: Option<Timestamp>,
    /// Its devices are being made ready.
    readying: Option<readying::Readying>,
    /// Its node is tried first when it failed there, as it is noted on the pod.
    keeps_node: bool,
    /// A write failed: the rest is waited for, and then all is taken back.
    pub(crate) failed: Option<String>,
    /// It was called back for another pod, which needs its devices.
    displaced: bool,
    /// Writes that take reservations back. The pod is not tried again before they are answered, or they could undo what
    /// is written for it then.
    releasing: BTreeSet<WriteId>,
}

impl Placing {
    /// The write that binds it is under way.
    pub(crate) fn is_being_bound(&self) -> bool {
        self.binding.is_some()
    }
}

/// The scheduler.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) nodes: Nodes,
    pub(crate) namespaces: Namespaces,
    pub(crate) volumes: Volumes,
    pub(crate) images: ImageCounts,
    pub(crate) companions: Companions,
    pub(crate) slices: Slices,
    taint_rules: TaintRules,
    pub(crate) classes: BTreeMap<Arc<str>, Class>,
    pub(crate) claims: Claims,
    /// Pods that wait for us, by uid.
    pub(crate) waiting: FxHashMap<Arc<str>, Arc<Pod>>,
    /// Waiting pods by claims that have yet to be made, so that a claim that is made looks at those only.
    lacking: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    /// Pods that were refused, by claims of theirs that have devices.
    sharing: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    pub(crate) queue: Queue,
    /// Pods on their way, by uid.
    pub(crate) placing: FxHashMap<Arc<str>, Placing>,
    /// Writes for claims of pods that are gone, with the claim and its user; their devices stay taken until the answer.
    abandoned: FxHashMap<WriteId, (OpenClaim, Consumer)>,
    /// Pods whose claims are written, by the claim whose news they wait for before they are bound.
    unheard: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    /// Pods that wait for devices to be made ready, by claim.
    awaited: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    /// Devices that could not be made ready for a pod, by its uid.
    shunned: FxHashMap<Arc<str>, BTreeSet<DeviceId>>,
    /// Claims with devices that nobody uses.
    forlorn: forlorn::Forlorn,
    /// When a list told of a claim the last time.
    claims_listed: Option<Timestamp>,
    /// Schedulers besides us that give out devices.
    pub(crate) rivals: Rivals,
    /// Pods whose claims are written, by the time until which rivals or news are waited for.
    settling: BTreeSet<(Timestamp, Arc<str>)>,
    /// Claims for resources that pods ask for by name.
    pub(crate) extended: Extended,
    /// Claims that are about to lose their devices, or to go, and the pod for which they do.
    pub(crate) giving_up: BTreeMap<WriteId, (Vec<ClaimId>, Arc<str>)>,
    /// Whose write it is, by uid; writes that nobody waits for are not here.
    writes: FxHashMap<WriteId, Arc<str>>,
    /// Writes that are carried out with another, by that.
    merged: FxHashMap<WriteId, Vec<WriteId>>,
    next_write: u64,
    pub(crate) expressions: Expressions,
    /// How much may still be done for what is being decided.
    pub(crate) work: Work,
    /// What claims could get.
    pub(crate) scopes: Scopes,
    /// Answers about nodes for kinds of pods, the youngest last.
    pub(crate) kinds: Vec<Alike>,
    /// For which nodes something changed.
    pub(crate) touches: Touches,
    /// Nodes with taints that make them worse.
    pub(crate) softly_tainted: BTreeSet<NodeIdx>,
    /// Who makes room for whom.
    pub(crate) preempting: Preempting,
    /// Pods that are placed together.
    pub(crate) gangs: Gangs,
    /// Pods and gangs that are held back until something exists.
    pub(crate) gated: Gated,
    /// What drivers' controllers are asked about.
    pub(crate) negotiations: Negotiations,
    /// The time of what is being handled.
    pub(crate) now: Timestamp,
    effects: Vec<Effect>,
}

impl Engine {
    /// A scheduler that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Engine {
        let queue = Queue::new(settings.patience);
        Engine {
            settings,
            nodes: Nodes::default(),
            namespaces: Namespaces::default(),
            volumes: Volumes::default(),
            images: ImageCounts::default(),
            companions: Companions::default(),
            slices: Slices::default(),
            taint_rules: TaintRules::default(),
            classes: BTreeMap::new(),
            claims: Claims::default(),
            waiting: FxHashMap::default(),
            lacking: BTreeMap::new(),
            sharing: BTreeMap::new(),
            queue,
            placing: FxHashMap::default(),
            abandoned: FxHashMap::default(),
            unheard: BTreeMap::new(),
            awaited: BTreeMap::new(),
            shunned: FxHashMap::default(),
            forlorn: forlorn::Forlorn::default(),
            claims_listed: None,
            rivals: Rivals::default(),
            settling: BTreeSet::new(),
            extended: Extended::default(),
            giving_up: BTreeMap::new(),
            writes: FxHashMap::default(),
            merged: FxHashMap::default(),
            next_write: 0,
            expressions: Expressions::default(),
            work: Work::default(),
            scopes: Scopes::default(),
            kinds: Vec::new(),
            touches: Touches::default(),
            softly_tainted: BTreeSet::new(),
            preempting: Preempting::default(),
            gangs: Gangs::default(),
            gated: Gated::default(),
            negotiations: Negotiations::default(),
            now: Timestamp::from_micros(0),
            effects: Vec::new(),
        }
    }

    /// The same scheduler, which does no more work for one pod or pod group than this, in nominal nanoseconds. By default it does
    /// as much as takes about half a second.
    #[must_use]
    pub fn with_work_max(mut self, nanos: u64) -> Engine {
        self.work = Work::of(nanos);
        self
    }

    /// Takes something in, and tells what is to be done.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.now = now;
        self.work.begin();
        self.end_waits(now);
        match input {
            Input::Changed(change) => self.fold(now, change),
            Input::Turn { attempts } => self.turn(now, attempts),
            Input::Settled(write, outcome) => self.settle(now, write, &outcome),
        }
        self.merge_writes();
        let settles = self.settling.first().map(|(time, _)| *time);
        let times = self.queue.next_time().into_iter().chain(settles).chain(self.next_note());
        let times = times.chain(self.forlorn.next_time());
        if let Some(time) = times.min() {
            self.effects.push(Effect::WakeAt(time));
        }
        std::mem::take(&mut self.effects)
    }

    /// How much work it was to decide what was decided last, in nominal nanoseconds: about the time that it takes, but the same on
    /// every machine.
    #[must_use]
    pub fn work_done(&self) -> u64 {
        self.work.done()
    }

    /// How many pods wait, and how.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.queue.counts()
    }

    /// How many pods are on their way to a node.
    #[must_use]
    pub fn placing(&self) -> usize {
        self.placing.len()
    }

    /// How many of them wait for their devices to be made ready.
    #[must_use]
    pub fn readying(&self) -> usize {
        self.placing.values().filter(|placing| placing.readying.is_some()).count()
    }

    /// A pod that is on its way to a node, and the node.
    #[must_use]
    pub fn on_its_way(&self, uid: &str) -> Option<(&Arc<Pod>, &Arc<str>)> {
        self.placing.get(uid).map(|placing| (&placing.pod, &placing.node))
    }

    /// Whether a claim is there, and not another of its name.
    #[must_use]
    pub fn knows_claim(&self, id: &ClaimId, uid: &str) -> bool {
        self.claims.get(id).is_some_and(|known| &*known.uid == uid)
    }

    /// How many pods came to which place of the queue and why, since this was asked the last time.
    pub fn take_moves(&mut self) -> BTreeMap<(Station, Cause), u64> {
        self.queue.take_moves()
    }

    /// Whether a turn would look at a pod, or a pod on its way has waited long enough.
    #[must_use]
    pub fn wants_turn(&self, now: Timestamp) -> bool {
        self.queue.has_next(now)
            || self.ends_wait(now)
            || self.forlorn.next_time().is_some_and(|time| time <= now)
            || !self.gangs.untold.is_empty()
            || self.has_notes(now)
    }

    /// Whether a pod on its way has waited long enough, and a turn lets it go on.
    #[must_use]
    pub fn ends_wait(&self, now: Timestamp) -> bool {
        self.settling.first().is_some_and(|(time, _)| *time <= now)
    }

    /// Who holds which devices, or will once what is decided is written.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.claims.ledger()
    }

    /// The nodes, and the pods that are on them or on their way there.
    #[must_use]
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Whether there is nothing to do until something happens. Pods that wait for their devices wait for somebody else, and so
    /// do members of a gang that wait for those of others.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let counts = self.queue.counts();
        let waits =
            |(uid, placing): (&Arc<str>, &Placing)| placing.readying.is_some() || self.is_ready_for_gang(uid);
        counts.ready == 0 && counts.backing_off == 0 && self.placing.iter().all(waits)
    }

    /// Asks for a write whose answer somebody waits for.
    fn submit(&mut self, pod: &Arc<str>, write: Write) -> WriteId {
        let id = WriteId(self.next_write);
        self.next_write += 1;
        self.writes.insert(id, pod.clone());
        self.effects.push(Effect::Submit(id, write));
        id
    }

    /// Whether a pod on its way is about to use a claim that has devices.
    pub(crate) fn is_being_reserved(&self, claim: &ClaimId) -> bool {
        let uses = |placing: &Placing| {
            let open = placing.open.values().map(|open| &open.claim);
            open.chain(&placing.reserved).any(|one| one == claim)
        };
        self.placing.values().any(uses) || self.abandoned.values().any(|(open, _)| open.claim == *claim)
    }

    /// Whether the answer to a write of a claim for a pod is still to come.
    pub(crate) fn is_being_written(&self, pod: &str, claim: &ClaimId) -> bool {
        let open = self
            .placing
            .get(pod)
            .is_some_and(|placing| placing.open.values().any(|open| open.claim == *claim));
        open || self.abandoned.values().any(|(open, _)| open.claim == *claim)
    }

    /// Asks for a write for whose answer no pod waits.
    pub(crate) fn submit_and_forget(&mut self, write: Write) -> WriteId {
        let id = WriteId(self.next_write);
        self.next_write += 1;
        self.effects.push(Effect::Submit(id, write));
        id
    }

    pub(crate) fn announce(&mut self, announcement: Announcement) {
        self.effects.push(Effect::Announce(announcement));
    }

    /// Wakes those that a change could help.
    pub(crate) fn wake_others(&mut self, wakes: Wakes, now: Timestamp) {
        if !wakes.is_empty() {
            self.queue.wake(wakes, now);
        }
    }

    /// Wakes a pod that sleeps, whatever it waits for.
    pub(crate) fn wake_nominee(&mut self, uid: &str, now: Timestamp) {
        let key = self.key_of_nominee(uid);
        self.queue.wake_one(&key, Wakes::of(&Wake::ALL), now);
    }

    /// Lets a pod that sleeps try again after a while.
    pub(crate) fn wake_nominee_later(&mut self, uid: &str, now: Timestamp) {
        let key = self.key_of_nominee(uid);
        self.queue.sleep_less(&key, now);
    }

    /// Under which key a pod waits for which room is made. What is not the uid of such a pod is a key already.
    fn key_of_nominee(&self, uid: &str) -> Arc<str> {
        let pod = self.waiting.get(uid).filter(|pod| pod.node.is_none());
        pod.map_or_else(|| uid.into(), |pod| self.queue_key(pod))
    }
}
