//! The loop of a controller: what is told is taken in, and what is to be seen to is handed out, one task for each.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Event, Recorder, Resource, Selectors, WatchOptions, reference};
use controllers::classic::{self, Duty};
use futures_util::{FutureExt as _, Stream, StreamExt};
use objects::core::event::ObjectReference;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control::Form;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::known::{Known, Name, name_of};
use super::order::{Key, Order};
use super::tend::{Case, Found, Tools, Trouble};
use super::{ClaimRequest, ControlOptions, ControlTrouble, Controller};

/// When nothing is due.
const IDLE: Duration = Duration::from_secs(3600);

/// So often at most are nodes judged again for all pods that wait.
const NEWS_EVERY: Duration = Duration::from_secs(1);

type Events<K> = Pin<Box<dyn Stream<Item = Event<K>> + Send>>;

/// A controller and all that it knows.
pub(super) struct Worker<C> {
    tools: Tools<C>,
    options: ControlOptions,
    recorder: Recorder,
    classes: Known<DeviceClass>,
    claims: Known<ResourceClaim>,
    contexts: Known<PodSchedulingContext>,
    order: Order,
    tasks: JoinSet<(Key, Vec<Name>, Result<Found, Trouble>)>,
    /// Claims that the driver is being asked about.
    asked: BTreeSet<Name>,
    /// What waits for such a claim.
    blocked: BTreeSet<Key>,
    /// The claims of the pods of contexts, as far as they were read.
    wants: BTreeMap<Name, BTreeSet<String>>,
    /// When nodes were judged again for all pods that wait, or will be.
    news_at: Option<Instant>,
}

fn events<K: objects::Object + Send + Sync + 'static>(
    connection: &Connection,
    plural: &'static str,
) -> Events<K> {
    let resource = Resource::<K>::named(plural);
    Box::pin(connection.list_and_watch(&resource, &Selectors::default(), &WatchOptions::default()))
}

impl<C: Controller> Worker<C> {
    pub(super) fn new(
        connection: Connection,
        options: ControlOptions,
        controller: Arc<C>,
        recorder: Recorder,
    ) -> Self {
        Self {
            tools: Tools { connection, controller },
            options,
            recorder,
            classes: Known::default(),
            claims: Known::default(),
            contexts: Known::default(),
            order: Order::default(),
            tasks: JoinSet::new(),
            asked: BTreeSet::new(),
            blocked: BTreeSet::new(),
            wants: BTreeMap::new(),
            news_at: None,
        }
    }

    pub(super) async fn run(mut self, mut stopped: watch::Receiver<bool>, news: Arc<Notify>) {
        let connection = &self.tools.connection;
        let mut classes = events::<DeviceClass>(connection, "deviceclasses");
        let mut claims = events::<ResourceClaim>(connection, "resourceclaims");
        let mut contexts = events::<PodSchedulingContext>(connection, "podschedulingcontexts");
        loop {
            self.hand_out();
            let due = self.order.next_due().filter(|_| self.tasks.len() < self.options.at_once);
            let due = due.filter(|_| self.is_synced()).unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                Some(event) = classes.next() => self.class(event),
                Some(event) = claims.next() => self.claim(event),
                Some(event) = contexts.next() => self.context(event),
                Some(done) = self.tasks.join_next() => {
                    // What panics is caught within the task, and only who stops ends one otherwise.
                    if let Ok((key, claims, outcome)) = done {
                        self.ended(key, &claims, outcome);
                    }
                }
                () = sleep_until(due) => {}
                () = news.notified() => self.hear_news(),
                _ = stopped.changed() => break,
            }
        }
        while self.tasks.join_next().await.is_some() {}
        self.recorder.finish(Duration::from_secs(1)).await;
    }

    fn is_synced(&self) -> bool {
        self.classes.is_synced && self.claims.is_synced && self.contexts.is_synced
    }

    fn class(&mut self, event: Event<DeviceClass>) {
        if self.classes.hear(event).is_some() {
            // Whose a claim is, is said by its class.
            let now = Instant::now();
            let claims = self.claims.names().cloned().map(Key::Claim);
            let contexts = self.contexts.names().cloned().map(Key::Context);
            claims.chain(contexts).for_each(|key| self.order.touch(key, now));
        }
    }

    fn claim(&mut self, event: Event<ResourceClaim>) {
        let Some(name) = self.claims.hear(event) else { return };
        let now = Instant::now();
        // Pods that want it may have it now, or may not any more.
        self.known_users(&name).into_iter().for_each(|key| self.order.touch(key, now));
        self.order.touch(Key::Claim(name), now);
    }

    /// Pods that want a claim, or may want it for all that is known.
    fn users(&self, claim: &Name) -> Vec<Key> {
        let users = self.contexts.names().filter(|context| {
            let wants = self.wants.get(*context);
            context.0 == claim.0 && wants.is_none_or(|wants| wants.contains(&claim.1))
        });
        users.cloned().map(Key::Context).collect()
    }

    /// Pods that are known to want a claim. Of the others, which have yet to be read, the claim is looked at when they are.
    fn known_users(&self, claim: &Name) -> Vec<Key> {
        let users = self.wants.iter().filter(|(context, wants)| {
            context.0 == claim.0 && wants.contains(&claim.1) && self.contexts.get(context).is_some()
        });
        users.map(|(context, _)| Key::Context(context.clone())).collect()
    }

    fn context(&mut self, event: Event<PodSchedulingContext>) {
        let before = match &event {
            Event::Applied(context) => self.contexts.get(&name_of(context)).cloned(),
            _ => None,
        };
        let Some(name) = self.contexts.hear(event) else { return };
        match self.contexts.get(&name) {
            None => {
                self.wants.remove(&name);
                self.touch_begun(&name.0);
            }
            // Two drivers whose devices go fast would otherwise answer each other's answers without end.
            Some(now) if before.is_some_and(|before| classic::asks_the_same(&before, now)) => return,
            Some(_) => {}
        }
        self.order.touch(Key::Context(name), Instant::now());
    }

    /// What was begun for a pod that is gone may be wanted by nobody now.
    fn touch_begun(&mut self, namespace: &str) {
        let now = Instant::now();
        let begun = self.claims.all().filter(|(name, claim)| {
            name.0 == namespace && classic::is_begun(claim, self.tools.controller.name())
        });
        begun.for_each(|(name, _)| self.order.touch(Key::Claim(name.clone()), now));
    }

    /// There is more to give or less, so that pods that wait may have it now.
    fn hear_news(&mut self) {
        let now = Instant::now();
        let at = self.news_at.map_or(now, |last| if last > now { last } else { now.max(last + NEWS_EVERY) });
        self.news_at = Some(at);
        self.order.hasten(at);
    }

    /// Whether a pod that is negotiated about wants a claim, or may do so for all that is known.
    fn is_wanted(&self, claim: &Name) -> bool {
        !self.users(claim).is_empty()
    }

    /// Hands out what is due.
    fn hand_out(&mut self) {
        while self.is_synced() && self.tasks.len() < self.options.at_once {
            let Some(key) = self.order.begin(Instant::now()) else { return };
            let case = match &key {
                Key::Claim(name) => self.case_of_claim(name),
                Key::Context(name) => Ok(self.contexts.get(name).cloned().map(Case::ReadPod)),
            };
            self.set_off_or_report(key, case);
        }
    }

    fn set_off_or_report(&mut self, key: Key, case: Result<Option<Case>, Trouble>) {
        match case {
            Ok(case) => self.set_off(key, case),
            Err(trouble) => {
                self.report(&trouble);
                self.order.fail(key, Instant::now());
            }
        }
    }

    fn set_off(&mut self, key: Key, case: Option<Case>) {
        let Some(case) = case else { return self.order.end(key, None, Instant::now()) };
        let claims = case.claims();
        if claims.iter().any(|claim| self.asked.contains(claim)) {
            self.blocked.insert(key.clone());
            return self.order.end(key, None, Instant::now());
        }
        self.asked.extend(claims.iter().cloned());
        let tools = self.tools.clone();
        let about = Box::new(case.about());
        self.tasks.spawn(async move {
            // A call of the driver that panics is its own: it is told, and made again later like one that failed.
            let found = caught(tools.see_to(case)).await;
            (key, claims, found.unwrap_or_else(|why| Err(Trouble { about, why, learnt: Vec::new() })))
        });
    }

    fn case_of_claim(&self, name: &Name) -> Result<Option<Case>, Trouble> {
        let Some(claim) = self.claims.get(name) else { return Ok(None) };
        let form = self.form_of(claim);
        Ok(match classic::duty(claim, self.tools.controller.name(), form) {
            Duty::None => {
                let is_left = classic::is_begun(claim, self.tools.controller.name()) && !self.is_wanted(name);
                is_left.then(|| Case::TakeBack(claim.clone()))
            }
            Duty::Deallocate => Some(Case::TakeBack(claim.clone())),
            Duty::Allocate => {
                let (request, form) = self.request(None, claim)?;
                Some(Case::GiveAtOnce(Box::new(request), form))
            }
        })
    }

    /// How a claim is written, if it is for this controller to give it devices.
    fn form_of(&self, claim: &ResourceClaim) -> Option<Form> {
        let (said, _) = classic::classes_of(claim, &|name| self.class_named(name))?;
        (said.controller == self.tools.controller.name()).then_some(said.form)
    }

    fn class_named(&self, name: &str) -> Option<&DeviceClass> {
        self.classes.get(&(String::new(), name.to_owned())).map(Arc::as_ref)
    }

    /// A claim with all that is said about it.
    fn request(&self, entry: Option<String>, claim: &ResourceClaim) -> Result<(ClaimRequest, Form), Trouble> {
        let controller = &self.tools.controller;
        let failed = |why: crate::plugin::Failure| Trouble::of(claim, why.to_string());
        let found = classic::classes_of(claim, &|name| self.class_named(name));
        let (said, classes) =
            found.ok_or_else(|| Trouble::of(claim, "its DeviceClasses were deleted".to_owned()))?;
        let read = || {
            let mut of_classes = Vec::new();
            for class in &classes {
                of_classes.extend(controller.class_parameters(class)?);
            }
            Ok((of_classes, controller.claim_parameters(claim)?))
        };
        let parameters = catch_unwind(AssertUnwindSafe(read));
        let parameters = parameters.map_err(|panic| Trouble::of(claim, panicked(&*panic)))?;
        let (class_parameters, claim_parameters) = parameters.map_err(failed)?;
        let classes = classes.into_iter().cloned().collect();
        let claim = claim.clone();
        Ok((ClaimRequest { entry, claim, classes, class_parameters, claim_parameters }, said.form))
    }

    /// What a pod whose context was read wants of this driver.
    fn case_of_pod(
        &mut self,
        context: Arc<PodSchedulingContext>,
        pod: Arc<Pod>,
    ) -> Result<Option<Case>, Trouble> {
        let namespace = &context.metadata.namespace;
        let names = controllers::claimants::claim_names(&*pod).map(str::to_owned).collect();
        self.wants.insert((namespace.clone(), context.metadata.name.clone()), names);
        let wanted = classic::wanted(&pod, &|name| {
            self.claims.get(&(namespace.clone(), name.to_owned())).map(Arc::as_ref)
        });
        let mut requests = Vec::new();
        let mut forms = Vec::new();
        for one in wanted {
            if self.form_of(&one.claim).is_none() {
                continue;
            }
            let (request, form) = self.request(Some(one.entry), &one.claim)?;
            requests.push(request);
            forms.push(form);
        }
        Ok((!requests.is_empty()).then_some(Case::Negotiate { context, pod, requests, forms }))
    }

    fn ended(&mut self, key: Key, claims: &[Name], outcome: Result<Found, Trouble>) {
        for claim in claims {
            self.asked.remove(claim);
        }
        let now = Instant::now();
        for blocked in std::mem::take(&mut self.blocked) {
            self.order.touch(blocked, now);
        }
        let mut found = match outcome {
            Ok(found) => found,
            Err(mut trouble) => {
                self.report(&trouble);
                // It rests, whatever was written for it before.
                self.order.fail(key.clone(), now);
                return self.learn(std::mem::take(&mut trouble.learnt), Some(&key));
            }
        };
        self.learn(std::mem::take(&mut found.claims), None);
        if found.is_freed {
            self.hear_news();
        }
        self.contexts_learn(found.context.take());
        if let Some((context, pod)) = found.pod.take() {
            let case = self.case_of_pod(context, pod);
            return self.set_off_or_report(key, case);
        }
        let later = found.is_open.then_some(self.options.refresh);
        self.order.end(key, later, now);
    }

    /// Takes in what was written for something, and has others look at it who want it too.
    fn learn(&mut self, claims: Vec<ResourceClaim>, but: Option<&Key>) {
        let names: BTreeSet<Name> = claims.iter().map(name_of).collect();
        for claim in claims {
            self.claims.learn(claim);
        }
        let users: Vec<Key> = names.iter().flat_map(|name| self.known_users(name)).collect();
        let touched = names.into_iter().map(Key::Claim).chain(users);
        let now = Instant::now();
        touched.filter(|key| Some(key) != but).for_each(|key| self.order.touch(key, now));
    }

    fn contexts_learn(&mut self, context: Option<PodSchedulingContext>) {
        if let Some(context) = context {
            self.contexts.learn(context);
        }
    }

    fn report(&self, trouble: &Trouble) {
        let Trouble { about, why, .. } = trouble;
        let told = ControlTrouble {
            about: format!("{} {}/{}", about.kind, about.namespace, about.name),
            why: why.clone(),
        };
        // Even what it does about trouble is its own, and the event says what went wrong.
        let _ = catch_unwind(AssertUnwindSafe(|| self.tools.controller.trouble(&told)));
        self.recorder.record(client::Report {
            // The API takes a qualified name only.
            controller: self.tools.controller.name().to_owned(),
            regarding: ObjectReference::clone(about),
            related: None,
            reason: "Failed",
            action: "Allocating",
            is_warning: true,
            is_once: false,
            note: why.clone(),
        });
    }
}

/// What a call of the driver comes to; if it panics, what it said.
pub(super) async fn caught<T>(call: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(call).catch_unwind().await.map_err(|panic| panicked(&*panic))
}

/// What a call of the driver said when it panicked.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    format!("the driver panicked: {said}")
}

impl Trouble {
    pub(super) fn of(claim: &ResourceClaim, why: String) -> Trouble {
        Trouble { about: Box::new(reference(claim)), why, learnt: Vec::new() }
    }
}
