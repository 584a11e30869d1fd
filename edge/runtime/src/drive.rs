//! The loop: facts, answers and turns go to the engine one after the other, and its effects go out.
//!
//! Invariant: the engine is told everything in the order in which it arrived, and no pod is looked at before everything
//! that was there at the start has been told, or while another leads. Loops and waits are bounded by `writes_max`.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use client::{Clock, Connection, Leadership, Recorder};
use cluster::change::Change;
use decisions::considering::Consideration;
use gates::Gate;
use model::timestamp::Timestamp;
use recordings::RecordingError;
use scheduler::engine::{Announcement, ConsiderationId, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::news::GangOutcome;
use scheduler::write::{Write, WriteId, WriteOutcome};
use scheduling::protocol::{Delivery, Settled, Terms};
use scheduling::recording::FactOrigin;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking, yield_now};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::carry::carry_out;
use crate::facts::event_of;
use crate::feed::{Feed, Feeds, Inbox, follow_all, read_again};
use crate::kept::{Kept, Original};
use crate::lanes::lanes;
use crate::notice::{AttemptResult, Notice, State};
use crate::shadow::Shadow;
use crate::tap::Tap;
use crate::{Options, events};

/// How many messages may wait for the loop; beyond that the streams of facts wait.
const INBOX_MAX: usize = 4096;

/// How many messages are taken in between two looks at the clock.
const BATCH: usize = 256;

/// How many pods are looked at before others may run on this thread.
const TURNS_AT_ONCE: u32 = 16;

/// How many questions are considered at once, at most. Each has a snapshot of all facts.
const CONSIDERATIONS_MAX: usize = 4;

/// How often it is told how many pods wait.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// Something for the loop.
pub(crate) enum Message {
    /// A fact, the object if writes are made from it, and what the fact comes from if that is recorded.
    Changed(Change, Option<Original>, Option<Box<FactOrigin>>),
    /// Everything of a kind that was there has been told.
    Synced(&'static str),
    /// Everything of a kind that was there has been read once more.
    ReadAgain(&'static str),
    /// A kind is served that was not.
    Served(&'static Feed),
    /// A kind is served no more. That its objects are gone has been told.
    NotServed(&'static Feed),
    /// An object means nothing to us.
    Unreadable { object: String, why: String },
    /// A stream of facts is interrupted.
    Interrupted { kind: &'static str, why: String, retry_in: Duration },
    /// A write was carried out, or was not.
    Settled(WriteId, Write, Settled, Duration),
    /// What took long to decide is decided, or could not be.
    Considered(ConsiderationId, ConsiderationOutcome, Duration),
}

/// How a scheduler ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was told to.
    Stopped,
    /// It leads no longer, and must not go on.
    LostLeadership {
        /// What happened.
        why: String,
    },
}

/// Why a shadow's write comes to nothing.
const OTHERS_DECIDE: &str = "another scheduler decides";

/// The loop and all that it holds.
pub(crate) struct Drive {
    connection: Connection,
    options: Options,
    engine: Engine,
    clock: Clock,
    kept: Kept,
    feeds: Vec<&'static Feed>,
    unsynced: BTreeSet<&'static str>,
    /// Kinds that are read again since we lead.
    rereading: BTreeSet<&'static str>,
    leads: bool,
    feeding: JoinSet<()>,
    inbox: Receiver<Message>,
    outbox: Sender<Message>,
    writing: JoinSet<()>,
    under_way: usize,
    /// What takes long to decide, each on a thread of its own. The engine asks for a few at once.
    considering: JoinSet<()>,
    wake_at: Option<Timestamp>,
    recorder: Option<Recorder>,
    shadow: Option<Shadow>,
    /// Varies the pauses of writes.
    seed: u64,
    told: Option<State>,
    tap: Tap,
}

impl Drive {
    pub(crate) fn new(
        connection: Connection,
        mut options: Options,
        feeds: Feeds,
    ) -> Result<Drive, RecordingError> {
        let clock = Clock::start();
        let (outbox, inbox) = channel(INBOX_MAX);
        let considerations = considerations_max();
        let tap = match options.recording.take() {
            Some(recording) => Tap::start(recording, options.settings.gates, considerations, clock.now())?,
            None => Tap::default(),
        };
        let facts = Inbox { to: outbox.clone(), records: tap.is_recording(), observes: false };
        let recorder = (!options.shadow).then(|| Recorder::start(connection.clone(), clock));
        Ok(Drive {
            engine: Engine::new(options.settings.clone())
                .with_lanes(lanes(options.parallelism))
                .with_considerations_max(considerations),
            clock,
            kept: Kept::default(),
            unsynced: feeds.served.iter().map(|feed| feed.kind).collect(),
            rereading: BTreeSet::new(),
            leads: false,
            feeding: follow_all(&connection, &feeds, &facts),
            feeds: feeds.served,
            inbox,
            outbox,
            writing: JoinSet::new(),
            under_way: 0,
            considering: JoinSet::new(),
            wake_at: None,
            recorder,
            shadow: options.shadow.then(Shadow::default),
            seed: RandomState::new().build_hasher().finish(),
            told: None,
            tap,
            connection,
            options,
        })
    }

    /// Works until it leads no longer. It can be dropped at any time; [`Drive::finish`] then ends what is under way.
    pub(crate) async fn run(&mut self, mut leadership: Option<watch::Receiver<Leadership>>) -> Ended {
        let mut batch = Vec::with_capacity(BATCH);
        let mut turns = 0;
        let mut count_at = Instant::now();
        loop {
            if let Some(why) = self.follow_leadership(leadership.as_mut()) {
                self.options.listener.hear(&Notice::LostLeadership { why: &why });
                return Ended::LostLeadership { why };
            }
            let works = self.told == Some(State::Working) && self.under_way < self.options.writes_max;
            if works && self.engine.wants_turn(self.clock.now()) {
                self.turn();
                turns += 1;
                while batch.len() < BATCH
                    && let Ok(message) = self.inbox.try_recv()
                {
                    batch.push(message);
                }
                batch.drain(..).for_each(|message| self.take(message));
                if turns % TURNS_AT_ONCE == 0 {
                    yield_now().await;
                }
                if count_at.elapsed() < COUNT_EVERY {
                    continue;
                }
            }
            if count_at.elapsed() >= COUNT_EVERY {
                self.tell_counts();
                count_at = Instant::now();
            }
            if works && self.engine.wants_turn(self.clock.now()) {
                continue;
            }
            let wake_at = self.wake_at.filter(|_| works).map(|time| self.clock.instant(time));
            let wake_at = wake_at.map_or(count_at + COUNT_EVERY, |time| time.min(count_at + COUNT_EVERY));
            tokio::select! {
                _ = self.inbox.recv_many(&mut batch, BATCH) => {
                    batch.drain(..).for_each(|message| self.take(message));
                }
                () = sleep_until(wake_at) => {}
                () = changed(leadership.as_mut()) => {}
            }
        }
    }

    /// Ends what is under way: pods that were sent on their way are bound, no others are looked at.
    pub(crate) async fn finish(&mut self) {
        self.feeding.abort_all();
        self.considering.abort_all();
        let deadline = Instant::now() + self.options.stop_within;
        while self.under_way > 0 {
            let Ok(Some(message)) = timeout_at(deadline, self.inbox.recv()).await else { break };
            self.take(message);
        }
        self.writing.abort_all();
        if let Some(error) = std::mem::take(&mut self.tap).finish(self.clock.now()) {
            self.options.listener.hear(&Notice::RecordingEnded { why: &error.to_string() });
        }
        if let Some(recorder) = self.recorder.take() {
            recorder.finish(deadline.saturating_duration_since(Instant::now())).await;
        }
    }

    /// Says where we stand if that changed, and why it is over if it is.
    fn follow_leadership(&mut self, leadership: Option<&mut watch::Receiver<Leadership>>) -> Option<String> {
        let mut state = State::Working;
        if let Some(leadership) = leadership {
            let now = leadership.borrow_and_update();
            match &*now {
                Leadership::Lost { why } => return Some(why.clone()),
                Leadership::Resigned => return Some("it was given up".to_owned()),
                Leadership::Following { leader, trouble } => {
                    if let Some(why) = trouble.as_ref().filter(|_| now.has_changed()) {
                        self.options.listener.hear(&Notice::ElectionTrouble { why });
                    }
                    state = State::Standby { leader: leader.clone() };
                }
                Leadership::Leading { .. } => {}
            }
            drop(now);
            if state == State::Working && !self.leads {
                self.leads = true;
                let facts =
                    Inbox { to: self.outbox.clone(), records: self.tap.is_recording(), observes: false };
                let kinds = read_again(&self.connection, &self.feeds, &facts, &mut self.feeding);
                self.rereading.extend(kinds);
            }
        }
        if !self.unsynced.is_empty() || !self.rereading.is_empty() {
            state = State::Reading(self.unsynced.union(&self.rereading).copied().collect());
        }
        if self.told.as_ref() != Some(&state) {
            self.options.listener.hear(&Notice::State(&state));
            self.tap.stands(self.clock.now(), &state);
            self.told = Some(state);
        }
        None
    }

    fn tell_counts(&mut self) {
        if let Some(error) = self.tap.hand_over() {
            self.options.listener.hear(&Notice::RecordingEnded { why: &error.to_string() });
        }
        for ((station, cause, entity), count) in self.engine.take_moves() {
            self.options.listener.hear(&Notice::Queued { station, cause, entity, count });
        }
        for (news, count) in self.engine.take_preemptions() {
            self.options.listener.hear(&Notice::Preemptions { news, count });
        }
        self.options.listener.hear(&Notice::Entities { counts: &self.engine.entities() });
        let (counts, placing) = (self.engine.counts(), self.engine.placing() - self.engine.readying());
        self.options.listener.hear(&Notice::Waiting { counts, placing });
        let (mut nodes, mut pods) = (0, 0);
        for (_, node) in self.engine.nodes().iter() {
            nodes += 1;
            pods += node.pods.len();
        }
        self.options.listener.hear(&Notice::Held { nodes, pods, placing: self.engine.placing() });
        self.options.listener.hear(&Notice::Considering { count: self.engine.considering() });
        if self.options.settings.gates.enabled(Gate::DRAControlPlaneController) {
            self.options.listener.hear(&Notice::Drivers { counts: &self.engine.negotiating() });
        }
        let count = self.recorder.as_ref().map_or(0, Recorder::take_dropped);
        if count > 0 {
            self.options.listener.hear(&Notice::EventsDropped { count });
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        if self.engine.ends_wait(now) || self.engine.has_notes(now) {
            // Pods that were looked at before go on, which is no attempt.
            self.tell(Input::Turn { attempts: 0 });
        }
        let began = Instant::now();
        let effects = self.tap.handle(&mut self.engine, self.clock.now(), Input::Turn { attempts: 1 }, None);
        let took = began.elapsed();
        if self.tell_gangs(&effects, took) {
            return self.follow(effects);
        }
        let attempt = effects.iter().find_map(|effect| match effect {
            Effect::Submit(_, write) => {
                let (pod, _) = self.engine.on_its_way(write.places()?)?;
                Some((pod.scheduler.clone(), AttemptResult::Scheduled))
            }
            Effect::Announce(
                Announcement::FailedScheduling { pod, .. } | Announcement::Negotiating { pod, .. },
            ) => Some((pod.scheduler.clone(), AttemptResult::Unschedulable)),
            _ => None,
        });
        if let Some((profile, result)) = attempt {
            self.options.listener.hear(&Notice::Attempt { profile: &profile, result, took });
        }
        self.follow(effects);
    }

    /// Tells what came of pods that are placed together, if a turn looked at any; each of them counts as looked at.
    fn tell_gangs(&self, effects: &[Effect], took: Duration) -> bool {
        let gang = |effect: &Effect| match effect {
            Effect::Announce(Announcement::Gang(news)) => Some(news.clone()),
            _ => None,
        };
        let mut looked: Vec<_> = effects.iter().filter_map(gang).collect();
        looked.retain(|news| !matches!(news.outcome, GangOutcome::Placed { .. }));
        let Some(first) = looked.first() else { return false };
        let profile = first.scheduler.clone();
        let is_refused =
            |effect: &&Effect| matches!(effect, Effect::Announce(Announcement::FailedScheduling { .. }));
        let refused = effects.iter().filter(is_refused).count();
        let seated = looked.iter().map(|news| match news.outcome {
            GangOutcome::Seated { members } => members,
            _ => 0,
        });
        let seated: usize = seated.sum();
        let each = took / u32::try_from((seated + refused).max(1)).unwrap_or(u32::MAX);
        let results = [(seated, AttemptResult::Scheduled), (refused, AttemptResult::Unschedulable)];
        for (count, result) in results {
            for _ in 0..count {
                self.options.listener.hear(&Notice::Attempt { profile: &profile, result, took: each });
            }
        }
        // A tree of groups is one attempt, and replicas that are placed in one pass are one each.
        let attempts = if first.group.name.replica().is_some() { looked.len() } else { 1 };
        let each = took / u32::try_from(attempts).unwrap_or(u32::MAX);
        for news in &looked[..attempts] {
            self.options.listener.hear(&Notice::Gang { news, took: Some(each) });
        }
        true
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Changed(change, original, origin) => self.changed(change, original, origin),
            Message::Synced(kind) => drop(self.unsynced.remove(kind)),
            Message::ReadAgain(kind) => drop(self.rereading.remove(kind)),
            Message::Served(feed) => {
                self.feeds.push(feed);
                self.options.listener.hear(&Notice::Served { kind: feed.kind });
            }
            Message::NotServed(feed) => {
                self.feeds.retain(|known| known.kind != feed.kind);
                self.unsynced.remove(feed.kind);
                self.rereading.remove(feed.kind);
                self.options.listener.hear(&Notice::NotServed { kind: feed.kind });
            }
            Message::Unreadable { object, why } => {
                self.options.listener.hear(&Notice::Unreadable { object: &object, why: &why });
            }
            Message::Interrupted { kind, why, retry_in } => {
                self.options.listener.hear(&Notice::Interrupted { kind, why: &why, retry_in });
            }
            Message::Considered(id, outcome, took) => {
                self.options.listener.hear(&Notice::Considered { took });
                if let ConsiderationOutcome::Failed(why) = &outcome {
                    self.options.listener.hear(&Notice::ConsiderationFailed { why });
                }
                self.tell(Input::Considered(id, outcome));
            }
            Message::Settled(id, write, settled, took) => {
                self.under_way -= 1;
                self.note_busy();
                self.learn(&settled);
                let outcome = settled.outcome;
                let done = outcome == WriteOutcome::Done;
                let pod = write.places().and_then(|uid| self.engine.on_its_way(uid));
                let profile = pod.map(|(pod, _)| &*pod.scheduler);
                self.options.listener.hear(&Notice::Settled { write: &write, profile, done, took });
                if let WriteOutcome::Failed(why) = &outcome {
                    self.options.listener.hear(&Notice::WriteFailed { write: &write, why });
                }
                self.tell(Input::Settled(id, outcome));
            }
        }
    }

    /// What was answered or read is a fact too; it may overtake the watch. A watch may leave out what was there for a short time
    /// only, so the engine could wait for ever to see what was written.
    fn learn(&mut self, settled: &Settled) {
        let learned = settled.learned(|id, uid| self.engine.knows_claim(id, uid));
        if let Some(claim) = &settled.claim {
            self.kept.keep_newer(claim);
        }
        for (change, origin) in learned {
            self.kept.follow(&change);
            self.tell_from(Input::Changed(change), Some(Box::new(origin)));
        }
    }

    fn changed(&mut self, change: Change, original: Option<Original>, origin: Option<Box<FactOrigin>>) {
        self.kept.follow(&change);
        if let Some(original) = original {
            self.kept.keep(original);
        }
        if let Some(uid) = waits_no_more(&change) {
            self.options.listener.hear(&Notice::WaitsNoMore { uid });
        }
        let profiles = &self.options.settings.profiles;
        let is_ours = |name: &str| profiles.iter().any(|profile| *profile.name == *name);
        let decided = |uid: &str| self.engine.on_its_way(uid).map(|(_, node)| node.clone());
        let outcome = self.shadow.as_mut().and_then(|shadow| shadow.heed(&change, is_ours, decided));
        let (event, began) = (event_of(&change), Instant::now());
        self.tell_from(Input::Changed(change), origin);
        self.options.listener.hear(&Notice::TakenIn { event, took: began.elapsed() });
        let Some(outcome) = outcome else { return };
        for write in outcome.writes {
            self.tell(Input::Settled(write, WriteOutcome::Failed(OTHERS_DECIDE.to_owned())));
        }
        if let Some((pod, node, comparison)) = &outcome.compared {
            self.options.listener.hear(&Notice::Compared { pod, node, comparison });
        }
    }

    fn tell(&mut self, input: Input) {
        self.tell_from(input, None);
    }

    /// Tells the engine something, and does what it wants done; with what a fact comes from, if that is recorded.
    fn tell_from(&mut self, input: Input, origin: Option<Box<FactOrigin>>) {
        let effects = self.tap.handle(&mut self.engine, self.clock.now(), input, origin);
        self.follow(effects);
    }

    fn follow(&mut self, effects: Vec<Effect>) {
        self.wake_at = None;
        for effect in effects {
            match effect {
                Effect::Submit(id, write) => self.submit(id, write),
                Effect::Consider(id, consideration) => self.consider(id, consideration),
                Effect::Announce(announcement) => self.announce(&announcement),
                Effect::WakeAt(time) => self.wake_at = Some(time),
            }
        }
    }

    fn submit(&mut self, id: WriteId, write: Write) {
        if let Some(shadow) = &mut self.shadow {
            let node = write.places().and_then(|uid| self.engine.on_its_way(uid)).map(|(_, node)| node);
            if node.is_none() && write.places().is_some() {
                // Another scheduler has bound the pod before this was its turn.
                return self.tell(Input::Settled(id, WriteOutcome::Failed(OTHERS_DECIDE.to_owned())));
            }
            return shadow.hold(id, &write, node);
        }
        self.options.listener.hear(&Notice::Submitted { write: &write });
        let allocation_times = self.options.settings.gates.enabled(Gate::DRADeviceBindingConditions);
        let sources = self.kept.sources(&write);
        let seed = self.seed.wrapping_add(id.0 << 16);
        let delivery = Delivery::new(write, sources, Terms { allocation_times, seed, ..Terms::default() });
        let (connection, clock) = (self.connection.clone(), self.clock);
        let outbox = self.outbox.clone();
        self.under_way += 1;
        self.note_busy();
        while self.writing.try_join_next().is_some() {}
        self.writing.spawn(async move {
            let began = Instant::now();
            let (write, settled) = carry_out(connection, delivery, clock).await;
            // If nobody listens any more it is all over.
            let _ = outbox.send(Message::Settled(id, write, settled, began.elapsed())).await;
        });
    }

    /// Decides what takes long on another thread, while this one goes on.
    fn consider(&mut self, id: ConsiderationId, consideration: Box<Consideration>) {
        let outbox = self.outbox.clone();
        while self.considering.try_join_next().is_some() {}
        self.considering.spawn(async move {
            let began = Instant::now();
            let outcome = match spawn_blocking(move || consideration.run()).await {
                Ok(considered) => ConsiderationOutcome::Decided(Box::new(considered)),
                // The scheduler is about to end, or this is a bug. It must not cost more than the pod its turn.
                Err(why) => ConsiderationOutcome::Failed(why.to_string()),
            };
            let _ = outbox.send(Message::Considered(id, outcome, began.elapsed())).await;
        });
    }

    fn note_busy(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.note_busy(self.under_way);
        }
    }

    fn announce(&mut self, announcement: &Announcement) {
        match announcement {
            Announcement::Scheduled { pod, node, tries } => {
                let waited = tries.since.map_or(0, |since| self.clock.now().micros() - since.micros());
                let waited = Duration::from_micros(u64::try_from(waited).unwrap_or(0));
                self.options.listener.hear(&Notice::Bound { pod, node, tries: *tries, waited });
            }
            Announcement::FailedScheduling { pod, message, filters, reasons, .. } => {
                let filters = *filters;
                self.options.listener.hear(&Notice::Refused { pod, message, filters, reasons });
            }
            Announcement::DevicesPending { pod, message, .. } => {
                self.options.listener.hear(&Notice::DevicesPending { pod, message });
            }
            Announcement::DevicesDone { pod, outcome, waited_ms, drivers } => {
                let (outcome, waited) =
                    (*outcome, Duration::from_millis(u64::try_from(*waited_ms).unwrap_or(0)));
                self.options.listener.hear(&Notice::DevicesDone { pod, outcome, waited, drivers });
            }
            Announcement::Negotiating { pod, wait } => {
                self.options.listener.hear(&Notice::Negotiating { pod, wait });
            }
            Announcement::Preempted { pod, by, group, node } => {
                let group = group.as_ref();
                self.options.listener.hear(&Notice::Preempted { pod, by, group, node });
            }
            Announcement::Released { pod, message } => {
                self.options.listener.hear(&Notice::Released { pod, message });
            }
            Announcement::GroupIgnored { pod, message } => {
                self.options.listener.hear(&Notice::GroupIgnored { pod, message });
            }
            Announcement::Gang(news) => {
                if matches!(news.outcome, GangOutcome::Placed { .. }) {
                    self.options.listener.hear(&Notice::Gang { news, took: None });
                }
            }
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.note(announcement);
        }
        if let Some(recorder) = &self.recorder {
            events::report(announcement).into_iter().for_each(|report| recorder.record(report));
        }
    }
}

/// How many questions are considered at once: the loop has a core for itself, if there are several.
fn considerations_max() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() - 1).clamp(1, CONSIDERATIONS_MAX)
}

/// The pod of which a change says that it is gone or has a node.
fn waits_no_more(change: &Change) -> Option<&str> {
    match change {
        Change::PodGone(uid) => Some(uid),
        Change::PodApplied(pod) if pod.node.is_some() => Some(&pod.uid),
        _ => None,
    }
}

/// Done when we stand otherwise in the election; never if there is none.
async fn changed(leadership: Option<&mut watch::Receiver<Leadership>>) {
    match leadership {
        // An election that is over says so before it goes.
        Some(leadership) => drop(leadership.changed().await),
        None => std::future::pending().await,
    }
}
