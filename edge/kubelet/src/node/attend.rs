//! The loop of the node: facts of pods and news of drivers come in, and what [`Work`] says is done about them.
//!
//! Invariant: nothing is decided here. What is next for a pod, and when, follows from what `Work` was told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Event, Gone, Recorder, Resource, Selectors};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::ObjectMeta;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

use super::life::{Means, Trouble};
use super::next::Task;
use super::notice::Notice;
use super::work::{Act, Heard, Outcome, Pace, Uids, Work};
use super::{reports, slices};
use crate::claims::Held;
use crate::plugins::News;
use crate::simulated::Complaints;

/// How many facts may wait; beyond that their stream does.
const INBOX_MAX: usize = 1024;

/// How often it is looked whether something is held for nobody, though nothing happened.
const REVIEW_EVERY: Duration = Duration::from_secs(60);

/// How often the loop says that it is alive.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// How long a pod is left alone after a step, until what became of it comes back as a fact.
const ECHO: Duration = Duration::from_millis(20);

/// Attends to the pods of a node.
pub(crate) struct Attendance {
    means: Means,
    node: Node,
    recorder: Recorder,
    complaints: Complaints,
    work: Work,
    /// How many claims are prepared, by driver.
    in_use: BTreeMap<String, usize>,
    deeds: JoinSet<Done>,
    wipes: JoinSet<()>,
}

/// Something that was done for a pod.
struct Done {
    uid: String,
    /// The pod as it was when it began.
    pod: Option<Arc<Pod>>,
    task: Task,
    result: Result<Option<Pod>, Trouble>,
}

impl Attendance {
    pub(crate) fn new(means: Means, node: Node, recorder: Recorder, complaints: Complaints) -> Self {
        let options = &means.options;
        let (retry_first, retry_max) = (options.retry_first, options.retry_max);
        let work = Work::new(Pace { times: options.times, retry_first, retry_max });
        let (in_use, deeds, wipes) = (BTreeMap::new(), JoinSet::new(), JoinSet::new());
        Self { means, node, recorder, complaints, work, in_use, deeds, wipes }
    }

    /// Attends to pods without end.
    pub(crate) async fn run(mut self, mut news: Receiver<News>) {
        let (sender, mut facts) = channel(INBOX_MAX);
        let mine = Selectors {
            fields: format!("spec.nodeName={}", self.node.metadata.name),
            ..Selectors::default()
        };
        let pods = Resource::<Pod>::named("pods");
        let connection: Connection = self.means.connection.clone();
        let mut streams = JoinSet::new();
        streams.spawn(connection.follow(pods, mine, |event| event, sender));
        let mut review = tokio::time::interval(REVIEW_EVERY);
        let mut beat = tokio::time::interval(BEAT_EVERY);
        loop {
            let due = self.work.next_time().map(|time| self.means.clock.instant(time));
            let stale = self.means.book.lock().next_expiry();
            let wake = due.into_iter().chain(stale).min();
            tokio::select! {
                Some(event) = facts.recv() => self.take_pod(event).await,
                Some(news) = news.recv() => self.take_news(news),
                Some(done) = self.deeds.join_next() => {
                    self.settle(done.expect("deeds do not panic, and nobody cancels them")).await;
                }
                _ = review.tick() => {
                    let held = self.count().await;
                    self.hear(Heard::Reviewed { held });
                }
                _ = beat.tick() => self.means.listener.hear(&Notice::Beat),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.hear(Heard::Time);
                }
            }
            while self.wipes.try_join_next().is_some() {}
            if self.means.book.lock().expire(Instant::now()) {
                self.hear(Heard::HealthChanged);
            }
        }
    }

    async fn take_pod(&mut self, event: Event<Pod>) {
        let heard = match event {
            Event::Applied(pod) => Heard::Applied(Arc::new(pod)),
            Event::Deleted(Pod { metadata: ObjectMeta { uid, .. }, .. })
            | Event::Vanished(Gone { uid, .. }) => Heard::Gone { uid, held: self.count().await },
            Event::Synced { .. } => {
                self.means.listener.hear(&Notice::Ready);
                Heard::Synced { held: self.count().await }
            }
            Event::Interrupted { why, .. } => return (self.complaints)(&why),
            Event::Progressed { .. } | Event::Unreadable { .. } => return,
        };
        self.hear(heard);
    }

    fn take_news(&mut self, news: News) {
        match news {
            News::Changed => self.hear(Heard::DriversChanged),
            News::Rejected(rejection) => {
                let why = rejection.to_string();
                warn!("{why}");
                self.recorder.record(reports::rejected(&self.node, &why));
            }
            News::Abandoned(driver) => {
                let (connection, complaints) = (self.means.connection.clone(), self.complaints.clone());
                let node = self.node.metadata.name.clone();
                info!(driver, "the driver is disconnected; deleting its ResourceSlices");
                self.wipes.spawn(async move {
                    slices::wipe(&connection, &node, Some(&driver), &complaints).await;
                });
            }
            News::Health(driver, report) => {
                let is_news = self.means.book.lock().take(&driver, report, Instant::now());
                if is_news {
                    self.hear(Heard::HealthChanged);
                }
            }
            News::Unwatched(driver) => {
                let is_news = self.means.book.lock().forget(&driver);
                if is_news {
                    self.hear(Heard::HealthChanged);
                }
            }
            News::Blind(why) => (self.complaints)(&why),
        }
    }

    async fn settle(&mut self, done: Done) {
        let Done { uid, pod: before, task, result } = done;
        let outcome = match result {
            Ok(said) => Outcome::Done(said.map(Arc::new)),
            Err(trouble) => Outcome::Failed(trouble),
        };
        let held = self.count().await;
        self.hear(Heard::Ended { uid, before, task, outcome, held });
    }

    /// Hears something, and does what follows from it.
    fn hear(&mut self, heard: Heard<Trouble>) {
        for act in self.work.step(self.means.clock.now(), heard) {
            match act {
                Act::Begin { uid, pod, task } => self.begin(uid, pod, task),
                Act::Report { uid, pod, why, is_first } => self.report(&uid, pod.as_deref(), &why, is_first),
            }
        }
    }

    fn begin(&mut self, uid: String, pod: Option<Arc<Pod>>, task: Task) {
        let means = self.means.clone();
        self.deeds.spawn(async move {
            let result = means.carry_out(&uid, pod.as_deref(), task).await;
            sleep(ECHO).await;
            Done { uid, pod, task, result }
        });
    }

    /// Tells people what went wrong, as an event if it is about drivers or claims.
    fn report(&self, uid: &str, pod: Option<&Pod>, trouble: &Trouble, is_first: bool) {
        let why = trouble.to_string();
        let report = match (trouble, pod) {
            (Trouble::Prepare(_), Some(pod)) => reports::unprepared(pod, &why),
            (Trouble::Unprepare(_), Some(pod)) => reports::kept(pod, &why),
            (Trouble::Unprepare(_), None) => reports::orphaned(&self.node, uid, &why),
            (Trouble::Server(_) | Trouble::File { .. } | Trouble::Prepare(_), _) => {
                return (self.complaints)(&why);
            }
        };
        // Each time for those who look at events, where repetitions are counted; once for those who read along.
        if is_first {
            warn!(pod = uid, "{}", report.note);
        }
        self.recorder.record(report);
    }

    /// The pods that something is held for. Tells how many claims are prepared.
    async fn count(&mut self) -> Uids {
        let look = |held: &Held| (held.pods(), held.in_use());
        let (pods, (by_driver, all)) = self.means.desk.look(look).await;
        let gone =
            self.in_use.keys().filter(|driver| !by_driver.contains_key(*driver)).map(|driver| (driver, 0));
        let listener = &self.means.listener;
        for (driver, claims) in gone.chain(by_driver.iter().map(|(driver, claims)| (driver, *claims))) {
            listener.hear(&Notice::InUse { driver: Some(driver), claims });
        }
        listener.hear(&Notice::InUse { driver: None, claims: all });
        self.in_use = by_driver;
        pods
    }
}
