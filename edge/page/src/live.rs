//! The thread that follows the cluster and keeps what is shown.
//!
//! It takes facts, answers questions, and says from time to time what is new. It is not the scheduler's thread, and rests at least
//! [`REST`] times as long as it worked, so that open pages cost others little whatever the size of the cluster.
//!
//! Invariant: one task owns the observer. Updates are made once for all pages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use client::{Clock, Outage, Reach};
use convert::claim_use;
use inventory::observed::Namespaces;
use model::claim::ClaimId;
use objects::core::pod::{Pod, PodCondition};
use parking_lot::Mutex;
use runtime::{Shown, Sighting, observe};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use views::observer::{Note, Observer};
use views::waiting::{PodNote, Told};

use crate::stream::{Message, RELOAD};
use crate::{Connect, Source};

/// How many messages may wait for a page. A page that is further behind is told to load everything again.
pub(crate) const BEHIND_MAX: usize = 64;
/// How many questions may wait.
const QUESTIONS_MAX: usize = 64;
/// How many sightings may wait, and how many are taken at once.
const SIGHTINGS_MAX: usize = 1024;
/// Updates are at least so far apart.
const UPDATE_EVERY: Duration = Duration::from_millis(150);
/// And so many times as long as the last one took to make.
const REST: u32 = 12;
/// Samples of the figures are at least so far apart.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// And so many times as long as the last one took to make.
const SAMPLE_REST: u32 = 60;
/// How many troubles are shown.
const TROUBLES_MAX: usize = 5;
/// An API server that does not answer for so long is said to be away.
const PATIENCE: Duration = Duration::from_millis(1_500);

type Question = Box<dyn FnOnce(&mut Live) + Send>;

/// The way to the thread.
pub(crate) struct Handle {
    questions: Sender<Question>,
    updates: broadcast::Sender<Message>,
    starting: Mutex<Option<Starting>>,
    stop: watch::Sender<bool>,
}

/// What the thread begins with.
struct Starting {
    source: Source,
    named: Namespaces,
    title: String,
    inbox: Receiver<Question>,
}

/// What the thread has.
pub(crate) struct Live {
    pub(crate) observer: Observer,
    updates: broadcast::Sender<Message>,
    status: Status,
}

/// What is said of the connection.
#[derive(Clone, Debug, Default)]
struct Status {
    title: String,
    is_live: bool,
    is_reading: bool,
    away: Option<String>,
    limits: BTreeMap<&'static str, (Vec<String>, String)>,
    troubles: Vec<String>,
}

/// The thread is not there any more.
#[derive(Debug)]
pub(crate) struct Ended;

impl Handle {
    pub(crate) fn new(source: Source, named: Namespaces, title: String) -> Handle {
        let (questions, inbox) = channel(QUESTIONS_MAX);
        let (updates, _) = broadcast::channel(BEHIND_MAX);
        let starting = Mutex::new(Some(Starting { source, named, title, inbox }));
        Handle { questions, updates, starting, stop: watch::Sender::new(false) }
    }

    /// Asks the thread, which begins its work with the first question.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Live) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        self.start();
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |live| {
            // Who went away needs no answer.
            let _ = answer.send(question(live));
        });
        self.questions.send(question).await.map_err(|_| Ended)?;
        answered.await.map_err(|_| Ended)
    }

    /// The updates from now on.
    pub(crate) fn updates(&self) -> broadcast::Receiver<Message> {
        self.updates.subscribe()
    }

    /// Ends the thread and all streams.
    pub(crate) fn end(&self) {
        self.stop.send_replace(true);
    }

    /// Done when everything ends.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    fn start(&self) {
        let Some(starting) = self.starting.lock().take() else { return };
        let (updates, stopped) = (self.updates.clone(), self.stop.subscribe());
        let run = move || {
            let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // Without a runtime every question is answered with Ended.
            if let Ok(runtime) = built {
                runtime.block_on(run(starting, updates, stopped));
            }
        };
        // The same holds without a thread.
        drop(thread::Builder::new().name("page".to_owned()).spawn(run));
    }
}

async fn run(starting: Starting, updates: broadcast::Sender<Message>, mut stopped: watch::Receiver<bool>) {
    let Starting { source, named, title, inbox } = starting;
    let (sightings, seen) = channel(SIGHTINGS_MAX);
    let (outages, away) = watch::channel(None);
    let status = Status { title, ..Status::default() };
    let (live, following) = match source {
        Source::Still(observer) => (Live { observer: *observer, updates, status }, None),
        Source::Live { connect, settings, namespaces } => {
            let observer = Observer::new(*settings.clone(), named);
            let status = Status { is_live: true, is_reading: true, ..status };
            let following = follow(connect, settings.gates, namespaces, sightings, outages);
            (Live { observer, updates, status }, Some(following))
        }
    };
    let following = async {
        match following {
            Some(following) => following.await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = live.work(inbox, seen, away) => {}
        () = following => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

/// Follows the cluster, and tells of outages of its server.
async fn follow(
    connect: Connect,
    gates: gates::Gates,
    namespaces: Vec<String>,
    to: Sender<Sighting>,
    outages: watch::Sender<Option<String>>,
) {
    let reach = Reach::default();
    let told = reach.clone();
    let telling = told.follow(PATIENCE, |outage| {
        outages.send_replace(match outage {
            Outage::Begun { why } => Some(why),
            Outage::Over { .. } => None,
        });
    });
    let observing = async {
        loop {
            match connect(reach.clone()).await {
                Ok(connection) => return observe(&connection, gates, &namespaces, &to).await,
                Err(why) => {
                    if to.send(Sighting::Trouble { why }).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
            }
        }
    };
    tokio::select! {
        () = observing => {}
        () = telling => {}
    }
    std::future::pending::<()>().await;
}

impl Live {
    async fn work(
        mut self,
        mut inbox: Receiver<Question>,
        mut seen: Receiver<Sighting>,
        mut away: watch::Receiver<Option<String>>,
    ) {
        let clock = Clock::start();
        let mut batch = Vec::with_capacity(SIGHTINGS_MAX);
        let (mut update_at, mut sample_at) = (Instant::now(), Instant::now() + SAMPLE_EVERY);
        loop {
            let is_due =
                self.observer.has_news() && self.updates.receiver_count() > 0 && !self.status.is_reading;
            tokio::select! {
                Some(question) = inbox.recv() => question(&mut self),
                count = seen.recv_many(&mut batch, SIGHTINGS_MAX), if !seen.is_closed() || !seen.is_empty() => {
                    if count == 0 {
                        continue;
                    }
                    for sighting in batch.drain(..) {
                        self.see(&clock, sighting);
                    }
                    // Questions and the streams of facts come in between.
                    tokio::task::yield_now().await;
                }
                () = sleep_until(update_at), if is_due => {
                    let began = Instant::now();
                    self.refresh();
                    update_at = Instant::now() + UPDATE_EVERY.max(began.elapsed() * REST);
                }
                () = sleep_until(sample_at), if !self.status.is_reading => {
                    let began = Instant::now();
                    let sample = self.observer.sample(clock.now());
                    self.say("figures", &sample);
                    sample_at = Instant::now() + SAMPLE_EVERY.max(began.elapsed() * SAMPLE_REST);
                }
                Ok(()) = away.changed() => {
                    self.status.away = away.borrow_and_update().clone();
                    if self.status.away.is_none() {
                        self.status.troubles.clear();
                    }
                    self.say_status();
                }
            }
        }
    }

    /// Says what is new, so that what is asked for next is what was said.
    pub(crate) fn refresh(&mut self) {
        if let Some(update) = self.observer.update() {
            self.say("update", &update);
        }
    }

    fn say(&self, name: &str, text: &str) {
        // Without a page nobody hears.
        let _ = self.updates.send(Message::event(name, text));
    }

    fn say_status(&self) {
        self.say("status", &self.status().to_string());
    }

    /// What is said of the connection.
    pub(crate) fn status(&self) -> Value {
        let Status { title, is_live, is_reading, away, limits, troubles } = &self.status;
        let state = match (is_live, away, is_reading) {
            (false, ..) => "Still",
            (true, Some(_), _) => "Stale",
            (true, None, true) => "Reading",
            (true, None, false) => "Live",
        };
        let limits = limits.iter().map(
            |(kind, (namespaces, why))| json!({ "kind": kind, "namespaces": namespaces, "message": why }),
        );
        json!({
            "state": state,
            "title": title,
            "message": away,
            "limits": limits.collect::<Vec<_>>(),
            "troubles": troubles,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn see(&mut self, clock: &Clock, sighting: Sighting) {
        match sighting {
            Sighting::Changed(change, shown) => {
                let note = match shown {
                    Shown::Nothing => Note::Nothing,
                    Shown::Pod(pod) => Note::Pod(pod_note(&pod)),
                    Shown::Claim(claim) => Note::Claim(claim_use(&claim)),
                };
                self.observer.take(clock.now(), change, note);
            }
            Sighting::Complete => {
                self.observer.finish_reading();
                self.status.is_reading = false;
                self.refresh();
                self.say_status();
                let _ = self.updates.send(RELOAD.clone());
            }
            Sighting::Limited { kind, namespaces, why } => {
                if kind == "ResourceClaim" {
                    let names = namespaces.iter().map(|name| Arc::from(name.as_str()));
                    self.observer.limit_claims(Namespaces::Only(names.collect()));
                }
                self.status.limits.insert(kind, (namespaces.into_iter().collect(), why));
                self.say_status();
            }
            Sighting::Unreadable { object, why } => self.trouble(format!("cannot read {object}: {why}")),
            Sighting::Trouble { why } => self.trouble(why),
        }
    }

    fn trouble(&mut self, what: String) {
        if self.status.troubles.contains(&what) {
            return;
        }
        if self.status.troubles.len() == TROUBLES_MAX {
            self.status.troubles.remove(0);
        }
        self.status.troubles.push(what);
        self.say_status();
    }

    /// When a claim got its devices.
    pub(crate) fn with_time(&self, id: &ClaimId, told: explain::Explanation) -> explain::Explanation {
        use explain::{ClaimExplanation, Explanation};
        match told {
            Explanation::Claim(ClaimExplanation::Found(mut claim)) => {
                claim.since = claim.since.or(self.observer.allocated_at(id));
                Explanation::Claim(ClaimExplanation::Found(claim))
            }
            other => other,
        }
    }
}

/// What a pod says of itself.
fn pod_note(pod: &Pod) -> PodNote {
    let condition = |kind: &str| pod.status.conditions.iter().find(|one| one.type_ == kind);
    let told = |one: &PodCondition| Told {
        holds: one.status == "True",
        reason: one.reason.as_str().into(),
        message: one.message.as_str().into(),
        since: one.last_transition_time.map(|time| time.0),
    };
    PodNote {
        scheduled: condition("PodScheduled").map(told),
        disrupted: condition("DisruptionTarget").map(told).filter(|told| told.holds),
    }
}
