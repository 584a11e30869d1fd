//! The loop of the node: facts of pods and news of drivers come in, and what is next for each pod is done in its time.
//!
//! Invariant: one thing at a time is done for a pod, what failed is tried again, and no pod waits for another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Event, Recorder, Report, Resource, Selectors};
use objects::core::node::Node;
use objects::core::pod::Pod;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

use super::life::{Means, Trouble};
use super::next::{Task, next};
use super::notice::Notice;
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

/// The pods of a node, and when each is looked at.
pub(crate) struct Attendance {
    means: Means,
    node: Node,
    recorder: Recorder,
    complaints: Complaints,
    pods: BTreeMap<String, Arc<Pod>>,
    /// All pods of the node have been named once.
    synced: bool,
    /// The pods that something is held for.
    held: BTreeSet<String>,
    /// How many claims are prepared, by driver.
    in_use: BTreeMap<String, usize>,
    /// The pods whose devices may not be as their status says.
    unwell: BTreeSet<String>,
    /// What last failed for a pod.
    failures: BTreeMap<String, Failure>,
    busy: BTreeSet<String>,
    due: BTreeSet<(Instant, String)>,
    at: BTreeMap<String, Instant>,
}

/// Something that failed for a pod and will be tried again.
struct Failure {
    task: Task,
    /// How often, one time after the other.
    times: u32,
    not_before: Instant,
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
        Self {
            means,
            node,
            recorder,
            complaints,
            pods: BTreeMap::new(),
            synced: false,
            held: BTreeSet::new(),
            in_use: BTreeMap::new(),
            unwell: BTreeSet::new(),
            failures: BTreeMap::new(),
            busy: BTreeSet::new(),
            due: BTreeSet::new(),
            at: BTreeMap::new(),
        }
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
        let mut deeds: JoinSet<Done> = JoinSet::new();
        let mut wipes: JoinSet<()> = JoinSet::new();
        let mut review = tokio::time::interval(REVIEW_EVERY);
        let mut beat = tokio::time::interval(BEAT_EVERY);
        loop {
            while let Some(uid) = self.take_due() {
                self.begin(uid, &mut deeds);
            }
            let wake = self.due.first().map(|(time, _)| *time);
            let stale = self.means.book.lock().next_expiry();
            let wake = wake.into_iter().chain(stale).min();
            tokio::select! {
                Some(event) = facts.recv() => self.take_pod(event).await,
                Some(news) = news.recv() => self.take_news(news, &mut wipes),
                Some(done) = deeds.join_next() => {
                    self.settle(done.expect("deeds do not panic, and nobody cancels them")).await;
                }
                _ = review.tick() => self.review().await,
                _ = beat.tick() => self.means.listener.hear(&Notice::Beat),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            while wipes.try_join_next().is_some() {}
            if self.means.book.lock().expire(Instant::now()) {
                self.doubt_health();
            }
        }
    }

    async fn take_pod(&mut self, event: Event<Pod>) {
        let gone = match event {
            Event::Applied(pod) => {
                let uid = pod.metadata.uid.clone();
                self.pods.insert(uid.clone(), Arc::new(pod));
                return self.plan(&uid);
            }
            Event::Deleted(pod) => pod.metadata.uid,
            Event::Vanished(gone) => gone.uid,
            Event::Synced { .. } => {
                self.synced = true;
                self.means.listener.hear(&Notice::Ready);
                return self.review().await;
            }
            Event::Interrupted { why, .. } => return (self.complaints)(&why),
            Event::Progressed { .. } | Event::Unreadable { .. } => return,
        };
        self.pods.remove(&gone);
        self.review().await;
        self.plan(&gone);
    }

    fn take_news(&mut self, news: News, wipes: &mut JoinSet<()>) {
        match news {
            News::Changed => {
                // Whoever waits for a driver need not wait for their pause to end.
                self.failures.values_mut().for_each(|failure| failure.not_before = Instant::now());
                let waiting: Vec<String> = self.failures.keys().cloned().collect();
                waiting.iter().for_each(|uid| self.plan(uid));
            }
            News::Rejected(rejection) => {
                let why = rejection.to_string();
                warn!("{why}");
                self.recorder.record(reports::rejected(&self.node, &why));
            }
            News::Abandoned(driver) => {
                let (connection, complaints) = (self.means.connection.clone(), self.complaints.clone());
                let node = self.node.metadata.name.clone();
                info!(driver, "nobody answers for the driver, so its slices go");
                wipes.spawn(async move {
                    slices::wipe(&connection, &node, Some(&driver), &complaints).await;
                });
            }
            News::Health(driver, report) => {
                if self.means.book.lock().take(&driver, report, Instant::now()) {
                    self.doubt_health();
                }
            }
            News::Unwatched(driver) => {
                if self.means.book.lock().forget(&driver) {
                    self.doubt_health();
                }
            }
            News::Blind(why) => (self.complaints)(&why),
        }
    }

    /// The devices of every pod may not be as their status says.
    fn doubt_health(&mut self) {
        let has_claims = |pod: &&Arc<Pod>| !pod.spec.resource_claims.is_empty();
        self.unwell = self.pods.values().filter(has_claims).map(|pod| pod.metadata.uid.clone()).collect();
        let unwell: Vec<String> = self.unwell.iter().cloned().collect();
        unwell.iter().for_each(|uid| self.plan(uid));
    }

    /// Notes for whom something is held, and tells how many claims are prepared.
    async fn count(&mut self) {
        let look = |held: &Held| (held.pods(), held.in_use());
        let (pods, (by_driver, all)) = self.means.desk.look(look).await;
        self.held = pods;
        let gone =
            self.in_use.keys().filter(|driver| !by_driver.contains_key(*driver)).map(|driver| (driver, 0));
        let listener = &self.means.listener;
        for (driver, claims) in gone.chain(by_driver.iter().map(|(driver, claims)| (driver, *claims))) {
            listener.hear(&Notice::InUse { driver: Some(driver), claims });
        }
        listener.hear(&Notice::InUse { driver: None, claims: all });
        self.in_use = by_driver;
    }

    /// Looks for whom something is held.
    async fn review(&mut self) {
        self.count().await;
        let orphans: Vec<String> =
            self.held.iter().filter(|uid| !self.pods.contains_key(*uid)).cloned().collect();
        orphans.iter().for_each(|uid| self.plan(uid));
    }

    async fn settle(&mut self, done: Done) {
        let (uid, task) = (&*done.uid, done.task);
        self.busy.remove(uid);
        self.count().await;
        match done.result {
            Ok(said) => {
                self.failures.remove(uid);
                // What we said of a pod is known before the stream of pods says it, unless that has said something since.
                if let (Some(known), Some(before), Some(said)) = (self.pods.get_mut(uid), done.pod, said)
                    && Arc::ptr_eq(known, &before)
                {
                    *known = Arc::new(said);
                }
            }
            Err(trouble) => {
                if task == Task::TellHealth {
                    self.unwell.insert(uid.to_owned());
                }
                self.note_failure(uid, task, &trouble);
            }
        }
        self.plan(uid);
    }

    /// Notes that something failed, and says so.
    fn note_failure(&mut self, uid: &str, task: Task, trouble: &Trouble) {
        let options = &self.means.options;
        let before = self.failures.get(uid).filter(|failure| failure.task == task);
        let times = before.map_or(0, |failure| failure.times);
        let pause = options.retry_first.saturating_mul(1 << times.min(20)).min(options.retry_max);
        match self.report(uid, trouble) {
            Some(report) => {
                // Each time for those who look at events, where repetitions are counted; once for those who read along.
                if times == 0 {
                    warn!(pod = uid, "{}", report.note);
                }
                self.recorder.record(report);
            }
            None => (self.complaints)(&trouble.to_string()),
        }
        let not_before = Instant::now() + pause;
        self.failures.insert(uid.to_owned(), Failure { task, times: times + 1, not_before });
    }

    /// What people should know of it, if it is about drivers or claims.
    fn report(&self, uid: &str, trouble: &Trouble) -> Option<Report> {
        let why = trouble.to_string();
        match (trouble, self.pods.get(uid)) {
            (Trouble::Prepare(_), Some(pod)) => Some(reports::unprepared(pod, &why)),
            (Trouble::Unprepare(_), Some(pod)) => Some(reports::kept(pod, &why)),
            (Trouble::Unprepare(_), None) => Some(reports::orphaned(&self.node, uid, &why)),
            (Trouble::Server(_) | Trouble::File { .. } | Trouble::Prepare(_), _) => None,
        }
    }

    /// Plans what is next for a pod.
    fn plan(&mut self, uid: &str) {
        if self.busy.contains(uid) {
            return;
        }
        match self.next(uid) {
            Some((wait, task)) => {
                let again = self.failures.get(uid).filter(|failure| failure.task == task);
                let at = Instant::now() + wait;
                self.look_at(uid, again.map_or(at, |failure| failure.not_before.max(at)));
            }
            None => self.forget(uid),
        }
    }

    fn next(&self, uid: &str) -> Option<(Duration, Task)> {
        // Before all pods have been named, one that is missing may just not have been named yet.
        let pod = self.pods.get(uid);
        if pod.is_none() && !self.synced {
            return None;
        }
        let (is_held, is_unwell) = (self.held.contains(uid), self.unwell.contains(uid));
        next(pod.map(|pod| &**pod), is_held, is_unwell, self.means.clock.now(), self.means.options.times)
    }

    fn begin(&mut self, uid: String, deeds: &mut JoinSet<Done>) {
        let Some((_, task)) = self.next(&uid) else { return };
        let (means, pod) = (self.means.clone(), self.pods.get(&uid).cloned());
        self.busy.insert(uid.clone());
        // Whatever is said of a pod from now on includes how its devices are; what changes in between is said again.
        self.unwell.remove(&uid);
        deeds.spawn(async move {
            let result = means.carry_out(&uid, pod.as_deref(), task).await;
            sleep(ECHO).await;
            Done { uid, pod, task, result }
        });
    }

    fn look_at(&mut self, uid: &str, time: Instant) {
        self.drop_plan(uid);
        self.at.insert(uid.to_owned(), time);
        self.due.insert((time, uid.to_owned()));
    }

    fn drop_plan(&mut self, uid: &str) {
        if let Some(time) = self.at.remove(uid) {
            self.due.remove(&(time, uid.to_owned()));
        }
    }

    /// There is nothing left to do for a pod.
    fn forget(&mut self, uid: &str) {
        self.drop_plan(uid);
        self.failures.remove(uid);
        self.unwell.remove(uid);
    }

    fn take_due(&mut self) -> Option<String> {
        let (_, uid) = self.due.first().filter(|(time, _)| *time <= Instant::now())?.clone();
        self.drop_plan(&uid);
        Some(uid)
    }
}
