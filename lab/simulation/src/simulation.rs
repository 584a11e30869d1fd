//! The loop: the engine decides, its writes are carried out, and what they change comes back as facts.
//!
//! Invariant: the engine learns nothing but what an API server would tell it, and every write is answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use cluster::change::Change;
use config::SchedulerSettings;
use controllers::simulated::Times;
use convert::{change, claim_id, claim_use};
use decisions::considering::Snapshot;
use gates::{Gate, Gates};
use model::claim::ClaimId;
use model::claim_use::ClaimUse;
use model::group::Grouping;
use model::pod::{Pod, PodId};
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::supercargo::workload::Workload as OwnWorkload;
use scheduler::engine::{Announcement, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::write::{About, Write, WriteId, WriteOutcome};
use scheduling::request::{self, Next, Seen, Verb};
use serde_json::Value;

use crate::life::Life;
use crate::manifest::{BadInput, Manifest};
use crate::outcome::{ClaimOutcome, Ended, Ending, GrantedDevice, Outcome, PodOutcome};
use crate::shelf::{Key, Shelf};
use crate::workloads::Workloads;

/// When every simulation begins.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// For how long the clock goes on when pods fail again and again.
const TIME_MS_MAX: i64 = 3_600_000;

/// For how long the clock goes on at all, in a cluster in which something always happens.
const LIFE_MS_MAX: i64 = 7 * 24 * 3_600_000;

/// How much time passes with a write that fails.
const RETRY_MS: i64 = 10_000;

/// Kinds that decide where pods go in a cluster, or which pods there are, and that the engine knows nothing of yet.
const UNHEEDED: [&str; 2] = ["HorizontalPodAutoscaler", "Workload"];

pub(crate) type PodObject = objects::core::pod::Pod;

/// Places the pods of these manifests in the cluster of these manifests.
///
/// # Errors
/// A manifest is refused.
pub fn simulate(manifests: Vec<Manifest>, gates: Gates) -> Result<Ending, BadInput> {
    simulate_by(manifests, &Rules::new(gates))
}

/// The same with a scheduler that is configured like this, and runs with gates of its own. It leaves pods alone that ask for
/// another scheduler.
///
/// # Errors
/// A manifest is refused.
pub fn simulate_with(
    manifests: Vec<Manifest>,
    admission: Gates,
    scheduler: &SchedulerSettings,
    gates: Gates,
) -> Result<Ending, BadInput> {
    simulate_by(
        manifests,
        &Rules { scheduler: Some(scheduler), scheduler_gates: gates, ..Rules::new(admission) },
    )
}

/// What a simulation goes by.
#[derive(Clone, Debug)]
pub struct Rules<'a> {
    /// Features of the cluster.
    pub admission: Gates,
    /// How the scheduler is configured; it then leaves pods alone that ask for another. Without it all pods are its own.
    pub scheduler: Option<&'a SchedulerSettings>,
    /// Features of the scheduler.
    pub scheduler_gates: Gates,
    /// How long things take on nodes.
    pub times: Times,
    /// The scheduler dies after so many writes, if it gets that far, and all is left as it is then.
    pub writes_max: Option<usize>,
    /// Who joins claims and volumes.
    pub volumes: VolumeBinder,
}

/// Who joins claims and volumes, and provisions volumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VolumeBinder {
    /// A controller that does so from the beginning.
    Running,
    /// A controller that begins when the scheduler has decided about every pod, which so finds volumes as they are given.
    Following,
    /// Nobody.
    Absent,
}

impl Rules<'_> {
    /// A scheduler that takes every pod, with the features of the cluster, and pods that run for ever unless they say
    /// otherwise.
    pub fn new(gates: Gates) -> Self {
        Rules {
            admission: gates,
            scheduler: None,
            scheduler_gates: gates,
            times: Times::default(),
            writes_max: None,
            volumes: VolumeBinder::Running,
        }
    }
}

/// Places the pods of these manifests, and goes on until nothing happens any more.
///
/// # Errors
/// A manifest is refused.
pub fn simulate_by(manifests: Vec<Manifest>, rules: &Rules<'_>) -> Result<Ending, BadInput> {
    let (_, ending) = ended(manifests, rules)?.ending();
    Ok(ending)
}

/// The same with what the scheduler knows in the end.
///
/// # Errors
/// A manifest is refused.
pub fn simulate_to_end(manifests: Vec<Manifest>, rules: &Rules<'_>) -> Result<(Ending, Aftermath), BadInput> {
    let simulation = ended(manifests, rules)?;
    let uses = simulation.uses();
    let (engine, ending) = simulation.ending();
    Ok((ending, Aftermath { engine, uses }))
}

/// A simulation in which nothing happens any more.
fn ended(manifests: Vec<Manifest>, rules: &Rules<'_>) -> Result<Simulation, BadInput> {
    let mut simulation = Simulation::new(rules);
    simulation.take_in(manifests)?;
    simulation.begin_workloads()?;
    simulation.begin_jobs();
    simulation.make_claims();
    simulation.tell_all();
    simulation.bind_volumes();
    simulation.run();
    Ok(simulation)
}

/// The cluster as a simulation left it, as its scheduler knows it.
pub struct Aftermath {
    engine: Engine,
    uses: BTreeMap<ClaimId, ClaimUse>,
}

impl Aftermath {
    /// What the scheduler would decide from.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// The scheduler, and the users and devices of each claim.
    #[must_use]
    pub fn into_parts(self) -> (Engine, BTreeMap<ClaimId, ClaimUse>) {
        (self.engine, self.uses)
    }

    /// The users and devices of each claim.
    #[must_use]
    pub fn uses(&self) -> &BTreeMap<ClaimId, ClaimUse> {
        &self.uses
    }
}

pub(crate) struct Simulation {
    pub(crate) shelf: Shelf,
    engine: Engine,
    /// The scheduler that all pods are taken to ask for, if they are all taken.
    takes_all: Option<Arc<str>>,
    /// Names of the schedulers that there are.
    schedulers: Vec<Arc<str>>,
    /// Classes as allocations copy from them.
    pub(crate) classes: BTreeMap<String, DeviceClass>,
    allocation_times: bool,
    open: VecDeque<(WriteId, Write)>,
    /// How many writes the scheduler made, and after how many it dies.
    writes: usize,
    writes_max: Option<usize>,
    wake_at: Option<Timestamp>,
    /// What keeps a pod from being looked at.
    pub(crate) troubles: BTreeMap<Key, String>,
    /// What pods wait for that have a node in view.
    awaited: BTreeMap<Key, String>,
    /// What happens as time goes on.
    pub(crate) life: Life,
    /// Something about volumes changed since they were looked at.
    pub(crate) storage_changed: bool,
    /// Who joins claims and volumes from now on.
    pub(crate) volumes: VolumeBinder,
    /// Pods that others displaced, and who.
    pub(crate) displaced: BTreeMap<Key, String>,
    /// What pods are made for.
    pub(crate) workloads: Workloads,
    /// What is odd about the manifests.
    pub(crate) warnings: Vec<String>,
}

impl Simulation {
    pub(crate) fn new(rules: &Rules<'_>) -> Simulation {
        let (admission, gates) = (rules.admission, rules.scheduler_gates);
        let defaults = SchedulerSettings::defaults(gates);
        let settings = scheduling::settings(rules.scheduler.unwrap_or(&defaults), gates);
        let takes_all = rules.scheduler.is_none();
        let schedulers: Vec<Arc<str>> =
            settings.profiles.iter().map(|profile| profile.name.clone()).collect();
        Simulation {
            shelf: Shelf::new(admission, START),
            engine: Engine::new(settings),
            takes_all: schedulers.first().filter(|_| takes_all).cloned(),
            schedulers,
            classes: BTreeMap::new(),
            allocation_times: gates.enabled(Gate::DRADeviceBindingConditions),
            open: VecDeque::new(),
            writes: 0,
            writes_max: rules.writes_max,
            volumes: rules.volumes,
            wake_at: None,
            troubles: BTreeMap::new(),
            awaited: BTreeMap::new(),
            life: Life::new(rules.times),
            storage_changed: true,
            displaced: BTreeMap::new(),
            workloads: Workloads::default(),
            warnings: Vec::new(),
        }
    }

    /// Tells the engine of the claims that were made for a pod.
    pub(crate) fn tell_claims_of(&mut self, key: &Key) {
        let noted = self.shelf.get(key).map(|pod| pod["status"]["resourceClaimStatuses"].clone());
        let noted = noted.as_ref().and_then(Value::as_array).into_iter().flatten();
        for name in noted.filter_map(|status| status["resourceClaimName"].as_str()) {
            self.tell_of(&Key::of::<ResourceClaim>(&key.namespace, name));
        }
    }

    /// Tells the engine of everything there is, in the order in which it came.
    fn tell_all(&mut self) {
        for key in self.shelf.in_order() {
            self.shelf.now = self.shelf.now.plus_millis(1);
            self.tell_of(&key);
            self.shelf.rest(&key);
        }
    }

    /// Tells the engine how an object is now.
    pub(crate) fn tell_of(&mut self, key: &Key) {
        if key.is::<PodObject>() {
            self.life.touch(key);
        }
        self.storage_changed |= key.is::<PersistentVolume>() || key.is::<PersistentVolumeClaim>();
        let Some(object) = self.shelf.get(key) else { return };
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let revision = version.parse().expect("the shelf counts its writes");
        // What is stored was converted once already, and writes keep it convertible.
        let Ok(Some(change)) = change::applied(object, revision) else { return };
        let change = match (change, &self.takes_all) {
            (Change::PodApplied(pod), Some(scheduler)) => {
                Change::PodApplied(Arc::new(Pod { scheduler: scheduler.clone(), ..Pod::clone(&pod) }))
            }
            (other, _) => other,
        };
        self.tell(Input::Changed(change));
    }

    pub(crate) fn tell(&mut self, input: Input) {
        self.wake_at = None;
        let mut verdicts = Vec::new();
        for effect in self.engine.handle(self.shelf.now, input) {
            match effect {
                Effect::Submit(id, write) => self.open.push_back((id, write)),
                // Nothing happens while it is considered.
                Effect::Consider(id, consideration) => {
                    verdicts.push((id, ConsiderationOutcome::Decided(Box::new(consideration.run()))));
                }
                Effect::WakeAt(time) => self.wake_at = Some(time),
                Effect::Announce(Announcement::Preempted { pod, by, group, node }) => {
                    let group = group.as_ref().map(Grouping::id);
                    self.note_displaced(&pod.id, &by.id, group, &node);
                }
                Effect::Announce(Announcement::DevicesPending { pod, message, .. }) => {
                    let key = Key::of::<PodObject>(&pod.id.namespace, &pod.id.name);
                    self.awaited.insert(key, message);
                }
                Effect::Announce(Announcement::FailedScheduling { pod, .. }) => {
                    self.awaited.remove(&Key::of::<PodObject>(&pod.id.namespace, &pod.id.name));
                }
                // Notes on pods say the same.
                Effect::Announce(_) => {}
            }
        }
        for (id, outcome) in verdicts {
            self.tell(Input::Considered(id, outcome));
        }
    }

    /// Goes on until there is nothing to do, or nothing but what fails again and again.
    fn run(&mut self) {
        let last = START.plus_millis(LIFE_MS_MAX);
        let mut end = START.plus_millis(TIME_MS_MAX);
        while self.shelf.now < end.min(last) && !self.is_dead() {
            self.tell(Input::Turn { attempts: 1 });
            let is_quiet = self.open.is_empty();
            while let Some((id, write)) = self.open.pop_front() {
                let outcome = match self.carry_out(&write) {
                    Ok(()) => WriteOutcome::Done,
                    Err(_) if self.is_dead() => return,
                    Err(reason) => {
                        // Who is idle tries again at once, and may go on like that. Time must pass, so that there is an end.
                        self.shelf.now = self.shelf.now.plus_millis(RETRY_MS);
                        WriteOutcome::Failed(reason)
                    }
                };
                self.tell(Input::Settled(id, outcome));
            }
            if self.bind_volumes() || self.live() {
                end = self.shelf.now.plus_millis(TIME_MS_MAX);
                continue;
            }
            // A turn may come to nothing that is written, with others still to have theirs.
            if !is_quiet || self.engine.counts().ready > 0 || self.engine.begins_consideration() {
                continue;
            }
            // Time jumps to what happens first. Nothing helps who waits, if nobody does anything any more.
            let engine = self.wake_at.filter(|_| !self.engine.is_idle()).or(self.engine.next_note());
            let engine = engine.filter(|time| *time > self.shelf.now);
            match engine.into_iter().chain(self.life.next()).min() {
                Some(time) => self.shelf.now = self.shelf.now.max(time),
                None => return,
            }
            if self.life.next().is_some_and(|time| time <= self.shelf.now) {
                end = self.shelf.now.plus_millis(TIME_MS_MAX);
            }
        }
    }

    /// Whether no pod waits to be decided about.
    pub(crate) fn has_decided(&self) -> bool {
        let counts = self.engine.counts();
        counts.ready + counts.undecided + counts.backing_off + counts.asleep + counts.gated == 0
    }

    /// Whether the scheduler has made as many writes as it is to make.
    fn is_dead(&self) -> bool {
        self.writes_max.is_some_and(|most| self.writes >= most)
    }

    /// Does what a write asks for, and tells the engine what changed before it is told that it is done.
    fn carry_out(&mut self, write: &Write) -> Result<(), String> {
        // The claim that the write has made so far.
        let mut made = None;
        let done = self.call_on(&mut made, |simulation, made| {
            simulation.seen(write, made, |seen| request::next(write, seen)).map_err(|error| error.to_string())
        });
        if done.is_err() && !self.is_dead() {
            self.call_on(&mut made, |simulation, made| {
                Ok(simulation.seen(write, made, |seen| request::undo(write, seen)))
            })?;
        }
        done
    }

    /// Carries out one call after the other until there is no more to call.
    fn call_on(
        &mut self,
        made: &mut Option<Key>,
        next: impl Fn(&Simulation, Option<&Key>) -> Result<Next, String>,
    ) -> Result<(), String> {
        loop {
            let (call, is_last) = match next(self, made.as_ref())? {
                Next::Done => return Ok(()),
                Next::Then(call) => (call, false),
                Next::Last(call) => (call, true),
            };
            let (makes, deletes) = (call.name.is_empty(), call.verb == Verb::Delete);
            let before = if deletes { self.shelf.find(&call) } else { None };
            if self.is_dead() {
                return Err("the scheduler is dead".to_owned());
            }
            let key = self.shelf.perform(call)?;
            self.writes += 1;
            self.tell_of(&key);
            if let Some(before) = before.filter(|_| self.shelf.get(&key).is_none())
                && let Ok(Some(change)) = change::gone(&before)
            {
                self.tell(Input::Changed(change));
                if let Ok(pod) = PodObject::read_value(&before) {
                    self.pod_went(&pod);
                }
            }
            if makes {
                *made = Some(key);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// What a write is made from besides itself.
    fn seen<T>(&self, write: &Write, made: Option<&Key>, look: impl FnOnce(&Seen<'_>) -> T) -> T {
        let made = made.and_then(|key| self.shelf.read::<ResourceClaim>(&key.namespace, &key.name));
        let (mut claim, mut pod, mut group, mut context) = (made, None, None, None);
        let (mut volume, mut volume_claim) = (None, None);
        let mut users = Vec::new();
        match write.about() {
            About::Volume(name) => volume = self.shelf.read::<PersistentVolume>("", name),
            About::VolumeClaim(id) => {
                volume_claim = self.shelf.read::<PersistentVolumeClaim>(&id.namespace, &id.name);
            }
            About::Claim(id) => {
                claim = self.shelf.read::<ResourceClaim>(&id.namespace, &id.name);
                let named = claim.as_ref().map(|claim| request::users(write, claim)).unwrap_or_default();
                let read = |user: &PodId| self.shelf.read::<PodObject>(&user.namespace, &user.name);
                users.extend(named.iter().filter_map(read).map(Arc::new));
            }
            About::Pod { id, .. } => pod = self.shelf.read::<PodObject>(&id.namespace, &id.name),
            About::Group(id) => group = self.shelf.read::<PodGroup>(&id.namespace, &id.name.to_string()),
            About::Context { id, .. } => {
                context = self.shelf.read::<PodSchedulingContext>(&id.namespace, &id.name);
            }
        }
        let seen = Seen {
            claim: claim.as_ref(),
            pod: pod.as_ref(),
            users: &users,
            group: group.as_ref(),
            context: context.as_ref(),
            volume: volume.as_ref(),
            volume_claim: volume_claim.as_ref(),
            class: &|name| self.classes.get(name),
            now: self.shelf.now,
            allocation_times: self.allocation_times,
        };
        look(&seen)
    }

    fn uses(&self) -> BTreeMap<ClaimId, ClaimUse> {
        let claims = self.shelf.read_all::<ResourceClaim>();
        claims.map(|(_, claim)| (claim_id(&claim), claim_use(&claim))).collect()
    }

    /// Kinds that are there and that the engine knows nothing of yet.
    pub(crate) fn unheeded(&self) -> BTreeSet<String> {
        // Our own workloads are heeded; those of Kubernetes are not yet.
        let kinds = self.shelf.keys().filter(|key| !key.is::<OwnWorkload>()).map(|key| &key.kind);
        kinds.filter(|kind| UNHEEDED.contains(&kind.as_str())).cloned().collect()
    }

    fn ending(self) -> (Engine, Ending) {
        let unheeded = self.unheeded();
        let (outcome, notes) = (self.outcome(), self.notes_of_workloads());
        let troubles = self.warnings.iter().cloned().chain(self.troubles_of_workloads()).collect();
        let (writes, objects) = (self.writes, self.shelf.into_objects());
        (self.engine, Ending { outcome, writes, objects, unheeded, troubles, notes })
    }

    /// Pods say themselves what keeps them; workloads say it here.
    fn troubles_of_workloads(&self) -> impl Iterator<Item = String> {
        let workloads = self.troubles.iter().filter(|(key, _)| !key.is::<PodObject>());
        workloads.map(|(key, what)| format!("{} {}/{}: {what}", key.kind, key.namespace, key.name))
    }

    fn outcome(&self) -> Outcome {
        let pods = self.shelf.all::<PodObject>().map(|(key, object)| self.pod_outcome(key, object));
        let mut pods: Vec<PodOutcome> = pods.chain(self.displaced_outcomes()).collect();
        pods.sort_by(|left, right| (&left.namespace, &left.name).cmp(&(&right.namespace, &right.name)));
        let claims = self.shelf.all::<ResourceClaim>().map(|(key, object)| claim_outcome(key, object));
        Outcome { pods, claims: claims.collect() }
    }

    fn pod_outcome(&self, key: &Key, object: &Value) -> PodOutcome {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let node = text(&object["spec"]["nodeName"]);
        let is_over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let reason = || {
            let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
            let noted = conditions
                .filter(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")
                .find_map(|condition| text(&condition["message"]));
            let trouble = || self.troubles.get(key).cloned();
            // What was noted before is out of date then.
            let awaited = self.awaited.get(key).cloned();
            // Why a claim cannot be made says more than that it is waited for.
            awaited
                .or_else(trouble)
                .or(noted)
                .or_else(|| self.held_back(object))
                .unwrap_or_else(|| "it was not looked at before the end of the simulation".to_owned())
        };
        let reason = (node.is_none() && !is_over).then(reason);
        let ended = if is_over { self.ended(object) } else { None };
        PodOutcome { namespace: key.namespace.clone(), name: key.name.clone(), node, reason, ended }
    }

    /// How a pod ended, if it did while we looked.
    fn ended(&self, object: &Value) -> Option<Ended> {
        let containers = object["status"]["containerStatuses"].as_array()?;
        let ends = containers.iter().filter_map(|one| one["state"]["terminated"]["finishedAt"].as_str());
        let end = ends.filter_map(|time| Timestamp::parse(time).ok()).max()?;
        let after_seconds =
            end.micros().checked_sub(START.micros()).filter(|micros| *micros >= 0)? / 1_000_000;
        let phase = object["status"]["phase"].as_str()?.to_owned();
        Some(Ended { phase, after_seconds })
    }

    /// What keeps a pod from being looked at at all.
    fn held_back(&self, object: &Value) -> Option<String> {
        let spec = &object["spec"];
        let gates = spec["schedulingGates"].as_array().into_iter().flatten();
        let gates: Vec<&str> = gates.filter_map(|gate| gate["name"].as_str()).collect();
        if !gates.is_empty() {
            return Some(format!("waiting for scheduling gates: [{}]", gates.join(" ")));
        }
        let scheduler = spec["schedulerName"].as_str().unwrap_or_default();
        let is_known = self.takes_all.is_some() || self.schedulers.iter().any(|name| **name == *scheduler);
        (!is_known).then(|| format!("it asks for the scheduler {scheduler:?}, and that is not here"))
    }
}

fn claim_outcome(key: &Key, object: &Value) -> ClaimOutcome {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = object["status"]["allocation"]["devices"]["results"].as_array().into_iter().flatten();
    let device = |result: &Value| GrantedDevice {
        request: text(&result["request"]),
        driver: text(&result["driver"]),
        pool: text(&result["pool"]),
        device: text(&result["device"]),
    };
    let devices = results.map(device).collect();
    ClaimOutcome { namespace: key.namespace.clone(), name: key.name.clone(), devices }
}
