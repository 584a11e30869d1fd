//! What a scheduler does, as lines of its log, as metrics, and as answers about its health.

use std::sync::Arc;
use std::time::Duration;

use model::pod::PodId;
use parking_lot::Mutex;
use runtime::{AttemptResult, Comparison, Listener, Notice, State};
use telemetry::metrics::{Metrics, Pending, Point, Preemptor, Profile, Status, Verdict};
use telemetry::surface::{Check, Checks, Flag, Pulse};
use tracing::{debug, error, info, warn};

/// Hears everything, and tells whoever asks.
pub(crate) struct Watcher {
    metrics: Arc<Metrics>,
    /// The lease, if a leader is elected.
    lease: Option<String>,
    synced: Flag,
    /// The loop still turns.
    alive: Pulse,
    profiles: Mutex<Vec<(String, Profile)>>,
}

/// After this long without a sign the loop counts as stuck: it gives one each second.
const STUCK_AFTER: Duration = Duration::from_secs(60);

impl Watcher {
    /// A watcher, and the checks that tell what it knows.
    pub(crate) fn new(metrics: Arc<Metrics>, lease: Option<String>) -> (Watcher, Checks) {
        let (synced, synced_flag) = Check::flag("sched-handler-sync", "what is there has not been read yet");
        let (alive, pulse) = Check::pulse("loop", STUCK_AFTER);
        let checks =
            Checks { healthz: vec![alive.clone()], livez: vec![alive.clone()], readyz: vec![alive, synced] };
        let profiles = Mutex::default();
        (Watcher { metrics, lease, synced: synced_flag, alive: pulse, profiles }, checks)
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
                debug!(kinds = kinds.join(","), "reading what is there");
            }
            State::Standby { leader } => {
                self.synced.raise();
                let leader = leader.as_deref().unwrap_or("nobody that we know of");
                info!(leader, "standing by; another schedules");
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
}

impl Listener for Watcher {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::State(state) => self.state(state),
            Notice::NotServed { kind } => {
                info!(kind, "the API server does not serve this kind; nothing is known of it");
            }
            Notice::Interrupted { kind, why, retry_in } => {
                let retry_ms = retry_in.as_millis();
                warn!(kind, error = why, retry_ms, "cannot follow what changes for a while");
            }
            Notice::Unreadable { object, why } => {
                warn!(object, error = why, "an object means nothing to us; what it was before counts");
            }
            Notice::ElectionTrouble { why } => warn!(error = why, "cannot take part in the election"),
            Notice::Attempt { profile, result, took } => self.attempt(profile, *result, *took),
            Notice::Bound { pod, node } => {
                let pod = named(&pod.id);
                debug!(pod, node, "bound");
            }
            Notice::Refused { pod, message } => {
                let pod = named(&pod.id);
                debug!(pod, message, "no place");
            }
            Notice::Preempted { pod, by, node } => {
                self.metrics.preemption.victims(Preemptor::Pod, 1, 1, 0);
                let (pod, by) = (named(&pod.id), named(&by.id));
                info!(pod, by, node, "displaced by a more important pod");
            }
            Notice::WriteFailed { write, why } => {
                warn!(write = %write, error = why, "a write was not carried out; the pod is tried again");
            }
            Notice::Submitted { write } => self.metrics.writes.submitted(write.name()),
            Notice::Settled { write, done, took } => {
                self.metrics.writes.settled(write.name(), *done, *took);
            }
            Notice::EventsDropped { count } => {
                warn!(count, "too many events at once; these were not written")
            }
            Notice::Compared { pod, node, comparison } => compared(pod, node, comparison),
            Notice::Waiting { counts, .. } => {
                self.alive.beat();
                self.metrics.queue.pending(Pending {
                    active: counts.ready,
                    backoff: counts.backing_off,
                    unschedulable: counts.asleep,
                    gated: counts.gated,
                    ..Pending::default()
                });
            }
            Notice::LostLeadership { why } => error!(error = why, "leads no longer"),
        }
    }
}

fn named(pod: &PodId) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// A shadow tells each pod, and how it compares.
fn compared(pod: &PodId, node: &str, comparison: &Comparison) {
    let pod = named(pod);
    match comparison {
        Comparison::Same => info!(pod, node, "bound as we would have"),
        Comparison::Other { ours } => info!(pod, node, ours = &**ours, "bound elsewhere than we would have"),
        Comparison::Refused { reason } => info!(pod, node, reason, "bound, and we had found no node"),
        Comparison::Unseen => debug!(pod, node, "bound before we looked at it"),
    }
}
