//! The one door: a fact, a turn or an answer comes in, and what is to be done comes out.
//!
//! Invariant: everything here follows from what came in. The same inputs at the same times give the same effects; after a
//! restart the API's objects alone lead to a state that goes on from there.

mod clash;
mod fold;
mod settle;
mod taint_rules;
mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allocation::Expressions;
use cluster::claims::Claims;
use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeIdx, Nodes};
use cluster::pools::Slices;
use cluster::taint_rules::TaintRules;
use cluster::volumes::Volumes;
use gates::Gates;
use model::claim::{ClaimId, Class};
use model::pod::Pod;
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::alike::Alike;
use crate::change::{Change, Consumer, Write, WriteId, WriteOutcome};
use crate::profile::Profile;
use crate::queue::{Counts, Patience, Queue};
use crate::rivals::Rivals;
use crate::scores::images::ImageCounts;
use crate::touches::Touches;

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
    /// The API answered.
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
    },
    /// A pod has none.
    FailedScheduling {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// Why.
        message: String,
    },
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
}

/// A pod on its way to a node.
#[derive(Clone, Debug)]
struct Placing {
    pod: Arc<Pod>,
    node: Arc<str>,
    /// Claims whose writes are not answered yet.
    open: BTreeMap<WriteId, ClaimId>,
    /// Claims that are reserved for the pod by now.
    reserved: Vec<ClaimId>,
    /// The write that binds it, once it is under way.
    binding: Option<WriteId>,
    /// Until when others may still give its devices away, as they cannot have heard of it before.
    settles_at: Option<Timestamp>,
    /// A write failed: the rest is waited for, and then all is taken back.
    failed: Option<String>,
}

/// The scheduler.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) nodes: Nodes,
    pub(crate) namespaces: Namespaces,
    pub(crate) volumes: Volumes,
    pub(crate) images: ImageCounts,
    pub(crate) slices: Slices,
    taint_rules: TaintRules,
    pub(crate) classes: BTreeMap<Arc<str>, Class>,
    pub(crate) claims: Claims,
    /// Pods that wait for us, by uid.
    waiting: FxHashMap<Arc<str>, Arc<Pod>>,
    /// Waiting pods by claims that have yet to be made, so that a claim that is made looks at those only.
    lacking: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    pub(crate) queue: Queue,
    /// Pods on their way, by uid.
    placing: FxHashMap<Arc<str>, Placing>,
    /// Writes for claims of pods that are gone, with the claim and its user; their devices stay taken until the answer.
    abandoned: FxHashMap<WriteId, (ClaimId, Consumer)>,
    /// Pods whose claims are written, by the claim whose news they wait for before they are bound.
    unheard: BTreeMap<ClaimId, Arc<str>>,
    /// Schedulers besides us that give out devices.
    rivals: Rivals,
    /// Pods whose claims are written, by the time until which rivals are waited for.
    settling: BTreeSet<(Timestamp, Arc<str>)>,
    /// Claims that are about to lose their devices.
    pub(crate) giving_up: BTreeMap<WriteId, ClaimId>,
    /// Whose write it is, by uid; writes that nobody waits for are not here.
    writes: FxHashMap<WriteId, Arc<str>>,
    next_write: u64,
    pub(crate) expressions: Expressions,
    /// Answers about nodes for kinds of pods, the youngest last.
    pub(crate) kinds: Vec<Alike>,
    /// For which nodes something changed.
    pub(crate) touches: Touches,
    /// Nodes with taints that make them worse.
    pub(crate) softly_tainted: BTreeSet<NodeIdx>,
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
            slices: Slices::default(),
            taint_rules: TaintRules::default(),
            classes: BTreeMap::new(),
            claims: Claims::default(),
            waiting: FxHashMap::default(),
            lacking: BTreeMap::new(),
            queue,
            placing: FxHashMap::default(),
            abandoned: FxHashMap::default(),
            unheard: BTreeMap::new(),
            rivals: Rivals::default(),
            settling: BTreeSet::new(),
            giving_up: BTreeMap::new(),
            writes: FxHashMap::default(),
            next_write: 0,
            expressions: Expressions::default(),
            kinds: Vec::new(),
            touches: Touches::default(),
            softly_tainted: BTreeSet::new(),
            effects: Vec::new(),
        }
    }

    /// Takes something in, and tells what is to be done.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.end_waits(now);
        match input {
            Input::Changed(change) => self.fold(now, change),
            Input::Turn { attempts } => self.turn(now, attempts),
            Input::Settled(write, outcome) => self.settle(now, write, &outcome),
        }
        let settles = self.settling.first().map(|(time, _)| *time);
        if let Some(time) = self.queue.next_time().into_iter().chain(settles).min() {
            self.effects.push(Effect::WakeAt(time));
        }
        std::mem::take(&mut self.effects)
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

    /// Where a pod on its way goes.
    #[must_use]
    pub fn placed_on(&self, uid: &str) -> Option<&Arc<str>> {
        self.placing.get(uid).map(|placing| &placing.node)
    }

    /// Whether a turn would look at a pod, or a pod on its way has waited long enough.
    #[must_use]
    pub fn wants_turn(&self, now: Timestamp) -> bool {
        self.queue.has_next(now) || self.settling.first().is_some_and(|(time, _)| *time <= now)
    }

    /// Whether there is nothing to do until something happens.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let counts = self.queue.counts();
        counts.ready == 0 && counts.backing_off == 0 && self.placing.is_empty()
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
        let uses = |placing: &Placing| placing.open.values().chain(&placing.reserved).any(|one| one == claim);
        self.placing.values().any(uses) || self.abandoned.values().any(|(known, _)| known == claim)
    }

    /// Asks for a write for whose answer no pod waits.
    pub(crate) fn submit_and_forget(&mut self, write: Write) -> WriteId {
        let id = WriteId(self.next_write);
        self.next_write += 1;
        self.effects.push(Effect::Submit(id, write));
        id
    }
}
