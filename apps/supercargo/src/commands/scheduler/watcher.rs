//! What a scheduler does, as lines of its log, as metrics, and as answers about its health.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use decisions::filters::FilterSet;
use decisions::readiness::ReadyOutcome;
use decisions::wake::Wake;
use model::group::Grouping;
use model::pod::{Pod, PodId};
use parking_lot::Mutex;
use runtime::{AttemptResult, Comparison, Listener, Notice, State};
use scheduler::news::{Await, GangNews, GangOutcome, PreemptionNews, PreemptionOutcome};
use scheduler::queue::{Cause, Counts, Entity, Station, Tries};
use scheduler::write::{Preemptor as WritePreemptor, Write};
use telemetry::metrics::{
    BindingOutcome, CacheSize, Entity as EntityLabel, GangResult, Metrics, Pending, Point, Preemptor,
    Profile, Queue, Status, Verdict,
};
use telemetry::surface::{Check, Checks, Flag, Pulse};
use tracing::{debug, error, info, warn};

use crate::troubles::Troubles;

/// Turns notices into logs, metrics and health checks.
pub(crate) struct Watcher {
    metrics: Arc<Metrics>,
    /// The lease, if a leader is elected.
    lease: Option<String>,
    synced: Flag,
    /// The loop still turns.
    alive: Pulse,
    profiles: Mutex<Vec<(String, Profile)>>,
    /// Pods that were refused, by uid.
    refused: Mutex<HashMap<String, Refusal>>,
    /// What pods waited for the last time, by driver.
    awaited: Mutex<BTreeSet<(Await, Arc<str>)>>,
    troubles: Troubles,
}

/// Who refused a pod, and why.
struct Refusal {
    profile: Arc<str>,
    filters: FilterSet,
    reasons: Vec<&'static str>,
}

/// After this long without a sign the loop counts as stuck: it gives one each second.
const STUCK_AFTER: Duration = Duration::from_secs(60);

impl Watcher {
    /// A watcher, and the checks that tell what it knows.
    pub(crate) fn new(metrics: Arc<Metrics>, lease: Option<String>, troubles: Troubles) -> (Watcher, Checks) {
        let (synced, synced_flag) = Check::flag("sched-handler-sync", "the initial list is not complete yet");
        let (alive, pulse) = Check::pulse("loop", STUCK_AFTER);
        let checks =
            Checks { healthz: vec![alive.clone()], livez: vec![alive.clone()], readyz: vec![alive, synced] };
        let (profiles, refused, awaited) = (Mutex::default(), Mutex::default(), Mutex::default());
        let synced = synced_flag;
        (Watcher { metrics, lease, synced, alive: pulse, profiles, refused, awaited, troubles }, checks)
    }

    /// Records how many pods wait for each driver; drivers that are not listed any longer have none.
    fn negotiating(&self, counts: &BTreeMap<(Await, Arc<str>), usize>) {
        let now = counts.keys().cloned().collect();
        let before = std::mem::replace(&mut *self.awaited.lock(), now);
        for (what, driver) in before.iter().filter(|one| !counts.contains_key(*one)) {
            self.metrics.negotiations.waiting(what.name(), driver, 0);
        }
        for ((what, driver), pods) in counts {
            self.metrics.negotiations.waiting(what.name(), driver, *pods);
        }
    }

    fn with_profile(&self, name: &str, tell: impl FnOnce(&Profile)) {
        let mut profiles = self.profiles.lock();
        let place = profiles.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            profiles.push((name.to_owned(), self.metrics.profile(name)));
            profiles.len() - 1
        });
        tell(&profiles[place].1);
    }

    fn state(&self, state: &State) {
        self.alive.beat();
        match state {
            State::Reading(kinds) => {
                self.synced.lower();
                debug!(kinds = kinds.join(","), "listing objects");
            }
            State::Standby { leader } => {
                self.synced.raise();
                let leader = leader.as_deref().unwrap_or("unknown");
                info!(leader, "standing by; another replica is the leader");
            }
            State::Working => {
                self.synced.raise();
                info!("scheduling");
            }
        }
        if let Some(lease) = &self.lease {
            self.metrics.state.leads(lease, *state == State::Working);
        }
    }

    /// Counts who is refused by which plugin, and for which reason: what was said of a pod before counts no more.
    fn refused(&self, uid: &str, now: Option<Refusal>) {
        let count = |refusal: &Refusal, change: i64| {
            self.with_profile(&refusal.profile, |profile| {
                let plugins = scheduling::plugins_of(refusal.filters);
                plugins.for_each(|plugin| profile.unschedulable(plugin, change));
                refusal.reasons.iter().for_each(|reason| profile.waiting(reason, change));
            });
        };
        if let Some(refusal) = &now {
            count(refusal, 1);
        }
        let mut refused = self.refused.lock();
        let before = match now {
            Some(refusal) => refused.insert(uid.to_owned(), refusal),
            None => refused.remove(uid),
        };
        if let Some(refusal) = before {
            count(&refusal, -1);
        }
    }

    /// Writes are what plugins do at the points that touch the API.
    fn executed(&self, profile: &str, write: &Write, done: bool, took: Duration) {
        let (plugin, point) = match write {
            Write::Bind { .. } => ("DefaultBinder", Point::Bind),
            _ => ("DynamicResources", Point::PreBind),
        };
        let status = if done { Status::Success } else { Status::Error };
        if let Write::Allocate { allocation, .. } = write
            && allocation.grants.iter().all(|grant| grant.binding.conditions.is_empty())
        {
            let outcome = if done { BindingOutcome::Success } else { BindingOutcome::Error };
            self.metrics.devices.prepared(outcome, false, took);
        }
        self.metrics.plugin(plugin, point).ran(status, took);
        self.with_profile(profile, |profile| profile.point(point, status, took));
    }

    fn readied(&self, profile: &str, outcome: ReadyOutcome, waited: Duration, drivers: &[Arc<str>]) {
        let outcome = match outcome {
            ReadyOutcome::Success => BindingOutcome::Success,
            ReadyOutcome::Failure => BindingOutcome::Failure,
            ReadyOutcome::Timeout => BindingOutcome::Timeout,
            ReadyOutcome::Error => BindingOutcome::Error,
        };
        for driver in drivers {
            self.metrics.devices.waited(profile, driver, outcome, waited);
        }
        self.metrics.devices.prepared(outcome, true, waited);
    }

    /// How many pods of no group, and how many groups, are in each queue.
    fn entities(&self, counts: &BTreeMap<(Station, Entity), usize>) {
        for ((station, entity), count) in counts {
            self.metrics.queue.entities(queue(*station), labelled(*entity), *count);
        }
    }

    /// How long each placement took is not known; they share what all of them took.
    fn gang(&self, news: &GangNews, took: Option<Duration>) {
        let group = news.group.to_string();
        match &news.outcome {
            GangOutcome::Seated { members } => debug!(group, members, "found nodes for pod group"),
            GangOutcome::Refused { message } => debug!(group, reason = message, "pod group is unschedulable"),
            GangOutcome::MakingRoom { message } => {
                debug!(group, reason = message, "preempting pods for pod group")
            }
            GangOutcome::Placed { members } => debug!(group, members, "pod group scheduled"),
        }
        let Some(took) = took else { return };
        let result = match news.outcome {
            GangOutcome::Refused { .. } => GangResult::Unschedulable,
            GangOutcome::MakingRoom { .. } => GangResult::WaitingOnPreemption,
            GangOutcome::Seated { .. } | GangOutcome::Placed { .. } => GangResult::Scheduled,
        };
        let (gangs, tried) = (&self.metrics.gangs, news.tried);
        gangs.attempt(result, &news.scheduler, took);
        gangs.algorithm(took);
        gangs.generated(&news.scheduler, tried.generated);
        let each = took / u32::try_from((tried.feasible + tried.infeasible).max(1)).unwrap_or(u32::MAX);
        for (count, fits) in [(tried.feasible, true), (tried.infeasible, false)] {
            (0..count).for_each(|_| gangs.tried(fits, &news.scheduler, each));
        }
    }

    fn preemptions(&self, news: &PreemptionNews, count: u64) {
        let (preemption, amount) = (&self.metrics.preemption, |many| u64::try_from(many).unwrap_or(u64::MAX));
        let preemptor = match news.by {
            Entity::Pod => Preemptor::Pod,
            Entity::Group => Preemptor::PodGroup,
        };
        for _ in 0..count {
            match news.outcome {
                PreemptionOutcome::Found { pods, units, violations } => {
                    preemption.attempt(preemptor, Status::Success);
                    preemption.victims(preemptor, amount(pods), amount(units), amount(violations));
                }
                PreemptionOutcome::None => preemption.attempt(preemptor, Status::Unschedulable),
            }
        }
    }

    /// A write was answered.
    fn settled(&self, write: &Write, profile: Option<&str>, done: bool, took: Duration) {
        self.metrics.writes.settled(write.name(), done, took);
        if let Some(profile) = profile {
            self.executed(profile, write, done, took);
        }
        if let Write::Evict { by, .. } = write {
            let preemptor = match by {
                WritePreemptor::Pod => Preemptor::Pod,
                WritePreemptor::Group => Preemptor::PodGroup,
                WritePreemptor::OwnGang => return,
            };
            self.metrics.preemption.executed(preemptor, done, took);
        }
    }

    fn preempted(&self, pod: &Pod, by: &Pod, group: Option<&Grouping>, node: &str) {
        let by = group.map_or_else(|| named(&by.id), |group| group.id().to_string());
        let pod = named(&pod.id);
        info!(pod, by, node, "preempted by a pod with higher priority");
    }

    /// Servers end watches at any time; only longer failures are logged, and an outage is logged once for all kinds.
    fn interrupted(&self, kind: &str, why: &str, retry_in: Duration) {
        let retry_ms = retry_in.as_millis();
        if retry_in >= Duration::from_secs(1) && self.troubles.is_news(&format!("{kind}: {why}")) {
            warn!(kind, error = why, retry_ms, "watch failed; retrying");
        } else {
            debug!(kind, error = why, retry_ms, "watch restarted");
        }
    }

    fn attempt(&self, profile: &str, result: AttemptResult, took: Duration) {
        let (verdict, status) = match result {
            AttemptResult::Scheduled => (Verdict::Scheduled, Status::Success),
            AttemptResult::Unschedulable => (Verdict::Unschedulable, Status::Unschedulable),
            AttemptResult::Error => (Verdict::Error, Status::Error),
        };
        self.metrics.attempts.algorithm(took);
        self.with_profile(profile, |profile| {
            profile.attempt(verdict, took);
            profile.point(Point::Filter, status, took);
        });
    }

    /// How many pods wait.
    fn waiting(&self, counts: &Counts) {
        self.alive.beat();
        self.metrics.queue.pending(Pending {
            active: counts.ready + counts.undecided,
            backoff: counts.backing_off,
            unschedulable: counts.asleep,
            gated: counts.gated,
            ..Pending::default()
        });
    }

    fn unschedulable(&self, pod: &Pod, message: &str, refusal: Refusal) {
        let codes = refusal.reasons.join(",");
        self.refused(&pod.uid, Some(refusal));
        let pod = named(&pod.id);
        debug!(pod, reasons = codes, message, "unschedulable");
    }

    fn bound(&self, pod: &Pod, node: &str, tries: Tries, waited: Duration) {
        self.metrics.attempts.bound(tries.attempts, waited);
        if tries.after_flush {
            self.metrics.attempts.bound_after_flush();
        }
        let pod = named(&pod.id);
        debug!(pod, node, "bound");
    }

    fn held(&self, size: CacheSize) {
        self.metrics.state.running("binding", size.assumed_pods);
        self.metrics.state.cache(size);
    }

    fn recording_ended(&self, why: &str) {
        self.metrics.state.records(false);
        error!(why, "the recording has stopped; scheduling continues");
    }
}

impl Listener for Watcher {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::State(state) => self.state(state),
            Notice::NotServed { kind } => {
                info!(kind, "the API server does not serve this kind; ignoring it");
            }
            Notice::Served { kind } => info!(kind, "the API server serves this kind now"),
            Notice::Interrupted { kind, why, retry_in } => self.interrupted(kind, why, *retry_in),
            Notice::Unreadable { object, why } => {
                warn!(object, error = why, "invalid object; using its previous version");
            }
            Notice::ElectionTrouble { why } if self.troubles.is_news(why) => {
                warn!(error = why, "leader election failed; retrying");
            }
            Notice::ElectionTrouble { why } => debug!(error = why, "leader election failed; retrying"),
            Notice::Attempt { profile, result, took } => self.attempt(profile, *result, *took),
            Notice::Gang { news, took } => self.gang(news, *took),
            Notice::Bound { pod, node, tries, waited } => self.bound(pod, node, *tries, *waited),
            Notice::TakenIn { event, took } => self.metrics.queue.handled(event, *took),
            Notice::Entities { counts } => self.entities(counts),
            Notice::Preemptions { news, count } => self.preemptions(news, *count),
            Notice::Queued { station, cause, entity, count } => {
                self.metrics.queue.queued(queue(*station), event(*cause), labelled(*entity), *count);
            }
            Notice::WaitsNoMore { uid } => self.refused(uid, None),
            Notice::Refused { pod, message, filters, reasons } => {
                let (profile, filters, reasons) = (pod.scheduler.clone(), *filters, reasons.to_vec());
                self.unschedulable(pod, message, Refusal { profile, filters, reasons });
            }
            Notice::DevicesPending { pod, message } => {
                let pod = named(&pod.id);
                debug!(pod, reason = message, "waiting for binding conditions");
            }
            Notice::DevicesDone { pod, outcome, waited, drivers } => {
                self.readied(&pod.scheduler, *outcome, *waited, drivers);
                let pod = named(&pod.id);
                debug!(pod, outcome = outcome.name(), ?waited, "finished waiting for binding conditions");
            }
            Notice::Negotiating { pod, wait } => {
                let pod = named(&pod.id);
                debug!(pod, reason = %wait, "waiting for a DRA driver");
            }
            Notice::Drivers { counts } => self.negotiating(counts),
            Notice::Preempted { pod, by, group, node } => self.preempted(pod, by, *group, node),
            Notice::Released { pod, message } => {
                let pod = named(&pod.id);
                warn!(pod, reason = message, "placement cancelled");
            }
            Notice::GroupIgnored { pod, message } => {
                let pod = named(&pod.id);
                warn!(pod, "{message}; hint: start with --feature-gates=GenericWorkload=true");
            }
            Notice::WriteFailed { write, why } if self.troubles.is_outage() => {
                debug!(write = %write, error = why, "write failed; the pod is retried");
            }
            Notice::WriteFailed { write, why } => {
                warn!(write = %write, error = why, "write failed; the pod is retried");
            }
            Notice::Submitted { write } => self.metrics.writes.submitted(write.name()),
            Notice::Settled { write, profile, done, took } => self.settled(write, *profile, *done, *took),
            Notice::RecordingEnded { why } => self.recording_ended(why),
            Notice::EventsDropped { count } => {
                warn!(count, "too many events; some were dropped")
            }
            Notice::Compared { pod, node, comparison } => compared(pod, node, comparison),
            Notice::Waiting { counts, .. } => self.waiting(counts),
            Notice::Held { nodes, pods, placing } => {
                self.held(CacheSize { nodes: *nodes, pods: *pods, assumed_pods: *placing });
            }
            Notice::Considering { count } => {
                self.metrics.considerations.under_way(*count);
                self.metrics.state.running("consideration", *count);
            }
            Notice::Considered { took } => self.metrics.considerations.decided(*took),
            Notice::ConsiderationFailed { why } => {
                error!(error = why, "scheduling attempt failed; retrying")
            }
            Notice::LostLeadership { why } => error!(error = why, "lost leadership"),
        }
    }
}

fn queue(station: Station) -> Queue {
    match station {
        Station::Ready => Queue::Active,
        Station::BackingOff => Queue::Backoff,
        Station::Asleep => Queue::Unschedulable,
        Station::Gated => Queue::Gated,
    }
}

fn labelled(entity: Entity) -> EntityLabel {
    match entity {
        Entity::Pod => EntityLabel::Pod,
        Entity::Group => EntityLabel::PodGroup,
    }
}

/// What brought a pod to a queue, as Kubernetes names it.
fn event(cause: Cause) -> &'static str {
    match cause {
        Cause::Added => "UnscheduledPodAdd",
        Cause::Refused | Cause::Failed | Cause::Asking => "ScheduleAttemptFailure",
        Cause::OwnChange => "UnscheduledPodUpdate",
        Cause::BackoffOver => "BackoffComplete",
        Cause::SleptLong => "UnschedulableTimeout",
        Cause::Woken(change) => match change {
            Wake::NodeAdded => "NodeAdd",
            Wake::NodeRemoved => "NodeDelete",
            Wake::NodeLabels => "NodeUpdateNodeLabel",
            Wake::NodeTaints => "NodeUpdateNodeTaint",
            Wake::NodeAllocatable => "NodeUpdateNodeAllocatable",
            Wake::NodeFeatures => "NodeUpdateNodeDeclaredFeature",
            Wake::PodAdded => "AssignedPodAdd",
            Wake::PodRemoved => "AssignedPodDelete",
            Wake::PodLabels => "AssignedPodUpdatePodLabel",
            Wake::PodShrunk => "AssignedPodUpdatePodScaleDown",
            Wake::OwnLabels => "UnscheduledPodUpdatePodLabel",
            Wake::OwnTolerations => "UnscheduledPodUpdatePodToleration",
            Wake::OwnRequests | Wake::OwnSpec => "UnscheduledPodUpdate",
            Wake::OwnClaims => "UnscheduledPodUpdatePodGeneratedResourceClaim",
            Wake::Claim => "ResourceClaimUpdate",
            Wake::Class => "DeviceClassUpdate",
            Wake::Slice => "ResourceSliceUpdate",
            Wake::VolumeClaim => "PersistentVolumeClaimUpdate",
            Wake::Volume => "PersistentVolumeUpdate",
            Wake::StorageClass => "StorageClassUpdate",
            Wake::StorageNode => "CSINodeUpdate",
            Wake::StorageDriver => "CSIDriverUpdate",
            Wake::StorageCapacity => "CSIStorageCapacityUpdate",
            Wake::Attachment => "VolumeAttachmentDelete",
            Wake::Namespace => "NamespaceUpdate",
            Wake::Group => "PodGroupUpdate",
        },
    }
}

fn named(pod: &PodId) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// A shadow tells each pod, and how it compares.
fn compared(pod: &PodId, node: &str, comparison: &Comparison) {
    let pod = named(pod);
    match comparison {
        Comparison::Same => info!(pod, node, "bound to the same node"),
        Comparison::Other { ours } => info!(pod, node, ours = &**ours, "bound to another node"),
        Comparison::Refused { reason } => info!(pod, node, reason, "bound, but we found no node"),
        Comparison::Unseen => debug!(pod, node, "bound before we evaluated it"),
    }
}

#[cfg(test)]
mod tests;
