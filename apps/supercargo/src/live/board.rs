//! What is known of pods and their claims, as rows for people.
//!
//! Invariant: a pod counts as placed only when the devices that came with its node are known too, so that a row is never
//! half true.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use client::Event;
use controllers::claims::{self, Around, User, UserKind};
use controllers::jobs;
use kubelet::simulated::{Times, ends_by_itself};
use objects::Object;
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;

type Name = (String, String);

/// Delay before a pod of an unknown scheduler is reported as such.
const STRANGER_AFTER: Duration = Duration::from_secs(2);

/// What becomes of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It has no node, for this reason, if there is one yet.
    Waits(Option<String>),
    /// It has a node and does not run yet.
    Placed,
    /// It runs.
    Runs,
    /// It has done its work.
    Succeeded,
    /// It has failed.
    Failed,
    /// It is to go.
    Ends,
}

impl State {
    /// One word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Waits(_) => "waits",
            Self::Placed => "placed",
            Self::Runs => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Ends => "ending",
        }
    }
}

/// A pod as people see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// Namespace and name.
    pub(crate) pod: String,
    /// What becomes of it.
    pub(crate) state: State,
    /// Its node, or nothing.
    pub(crate) node: String,
    /// Its devices, or nothing.
    pub(crate) devices: String,
}

/// How many pods there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    /// All.
    pub(crate) pods: usize,
    /// Those without a node.
    pub(crate) waiting: usize,
    /// Those that run.
    pub(crate) running: usize,
    /// Those that have done their work.
    pub(crate) succeeded: usize,
    /// Those that have failed.
    pub(crate) failed: usize,
}

/// All pods and claims.
#[derive(Default)]
pub(crate) struct Board {
    pods: BTreeMap<Name, Pod>,
    claims: BTreeMap<Name, ResourceClaim>,
    jobs: BTreeMap<Name, Job>,
    /// How long pods run.
    times: Times,
    /// The schedulers that run here, by the names that pods ask for.
    schedulers: Vec<String>,
    /// Since when pods are known that ask for another scheduler, by uid.
    strangers: BTreeMap<String, Instant>,
    /// The uids of pods that have or had a node.
    placed: BTreeSet<String>,
}

impl Board {
    /// Nothing yet, on nodes on which things take these times, with these schedulers.
    pub(crate) fn new(times: Times, schedulers: Vec<String>) -> Self {
        Self { times, schedulers, ..Self::default() }
    }

    /// Takes in what happened to a job, and says whether there is something new.
    pub(crate) fn take_job(&mut self, event: Event<Job>) -> bool {
        take(&mut self.jobs, event)
    }

    /// Takes in what happened to a pod, and says whether there is something new.
    pub(crate) fn take_pod(&mut self, event: Event<Pod>) -> bool {
        if let Event::Applied(pod) = &event
            && !pod.spec.node_name.is_empty()
        {
            self.placed.insert(pod.metadata.uid.clone());
        }
        match &event {
            Event::Applied(pod) if !self.schedulers.contains(&pod.spec.scheduler_name) => {
                self.strangers.entry(pod.metadata.uid.clone()).or_insert_with(Instant::now);
            }
            Event::Deleted(pod) => drop(self.strangers.remove(&pod.metadata.uid)),
            Event::Vanished(pod) => drop(self.strangers.remove(&pod.uid)),
            _ => {}
        }
        take(&mut self.pods, event)
    }

    /// Takes in what happened to a claim, and says whether there is something new.
    pub(crate) fn take_claim(&mut self, event: Event<ResourceClaim>) -> bool {
        take(&mut self.claims, event)
    }

    /// How many pods were given a node since the start.
    pub(crate) fn placed(&self) -> usize {
        self.placed.len()
    }

    /// Every pod.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.pods.values().map(|pod| self.row(pod)).collect()
    }

    /// How many pods there are.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally { pods: self.pods.len(), ..Tally::default() };
        for pod in self.pods.values() {
            match self.state(pod) {
                State::Waits(_) => tally.waiting += 1,
                State::Runs => tally.running += 1,
                State::Succeeded => tally.succeeded += 1,
                State::Failed => tally.failed += 1,
                State::Placed | State::Ends => {}
            }
        }
        tally
    }

    /// Whether no object is about to change by itself: no pod, no claim that controllers would touch, and no job
    /// that waits to make a pod.
    pub(crate) fn is_at_rest(&self) -> bool {
        let pods = self.pods.values().all(|pod| match self.state(pod) {
            State::Placed | State::Ends => false,
            State::Runs => !ends_by_itself(pod, self.times),
            State::Waits(_) | State::Succeeded | State::Failed => true,
        });
        let is_calm =
            |job: &Job| jobs::is_finished(job) || job.status.active > 0 || job.spec.suspend == Some(true);
        pods && self.jobs.values().all(is_calm)
            && self.claims.iter().all(|((namespace, _), claim)| {
                // Of groups nothing is known here, and a claim that somebody may want changes only with its users.
                let is_gone = |user: &User| {
                    let pod = self.pods.get(&(namespace.clone(), user.name.clone()));
                    let pod = pod.filter(|pod| pod.metadata.uid == user.uid);
                    user.kind == UserKind::Pod && pod.is_none_or(claims::is_done)
                };
                let around = Around { is_gone: &is_gone, is_wanted: true };
                claims::decide(claim, &around) == claims::ClaimAction::Leave
            })
    }

    /// Whether every pod that waits has a reason.
    pub(crate) fn is_explained(&self) -> bool {
        self.pods.values().all(|pod| self.state(pod) != State::Waits(None))
    }

    fn row(&self, pod: &Pod) -> Row {
        let state = self.state(pod);
        let has_node = !matches!(state, State::Waits(_));
        let node = if has_node { pod.spec.node_name.clone() } else { String::new() };
        let devices = if has_node { self.devices(pod) } else { String::new() };
        let pod = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
        Row { pod: plain(&pod), state, node: plain(&node), devices: plain(&devices) }
    }

    fn state(&self, pod: &Pod) -> State {
        if pod.metadata.deletion_timestamp.is_some() {
            return State::Ends;
        }
        match pod.status.phase.as_str() {
            "Running" => State::Runs,
            "Succeeded" => State::Succeeded,
            "Failed" => State::Failed,
            _ if !pod.spec.node_name.is_empty() && self.claims_of(pod).is_some() => State::Placed,
            _ => {
                let scheduled = pod.status.conditions.iter().find(|one| one.type_ == "PodScheduled");
                let refused = scheduled.filter(|one| one.status == "False" && !one.message.is_empty());
                let told = refused.map(|one| plain(&one.message));
                State::Waits(told.or_else(|| self.unscheduled(pod, Instant::now())))
            }
        }
    }

    /// A message for a pod that names a scheduler which does not run here and has not reported anything. It may run elsewhere;
    /// then it reports why the pod waits, or schedules it.
    fn unscheduled(&self, pod: &Pod, now: Instant) -> Option<String> {
        let since = self.strangers.get(&pod.metadata.uid).filter(|_| pod.spec.node_name.is_empty())?;
        let scheduler = &pod.spec.scheduler_name;
        (now.duration_since(*since) >= STRANGER_AFTER).then(|| {
            plain(&format!(
                "no scheduler named {scheduler} runs in this cluster, only {}; hint: correct spec.schedulerName, or \
                 start {scheduler}",
                self.schedulers.join(", ")
            ))
        })
    }

    /// The claims of a pod; nothing if one is not known or has no devices.
    fn claims_of(&self, pod: &Pod) -> Option<Vec<&ResourceClaim>> {
        let noted = &pod.status.resource_claim_statuses;
        let claim = |entry: &objects::core::pod::PodResourceClaim| {
            let made = noted.iter().find(|status| status.name == entry.name);
            let name = entry.resource_claim_name.as_ref();
            let name = name.or_else(|| made.and_then(|status| status.resource_claim_name.as_ref()))?;
            let claim = self.claims.get(&(pod.metadata.namespace.clone(), name.clone()))?;
            claim.status.allocation.is_some().then_some(claim)
        };
        pod.spec.resource_claims.iter().map(claim).collect()
    }

    /// Devices by driver and pool: one by its name, more by their number.
    fn devices(&self, pod: &Pod) -> String {
        let mut pools: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        let claims = self.claims_of(pod).unwrap_or_default();
        let allocations = claims.iter().filter_map(|claim| claim.status.allocation.as_ref());
        for one in allocations.flat_map(|allocation| &allocation.devices.results) {
            pools.entry((&one.driver, &one.pool)).or_default().push(&one.device);
        }
        let pools = pools.into_iter().map(|((driver, pool), devices)| match devices[..] {
            [device] => format!("{driver}/{pool}/{device}"),
            _ => format!("{} of {driver}/{pool}", devices.len()),
        });
        pools.collect::<Vec<_>>().join(", ")
    }
}

/// What a terminal could take for a command has no place in a row.
fn plain(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

fn take<K: Object>(objects: &mut BTreeMap<Name, K>, event: Event<K>) -> bool {
    let name = |object: &K| (object.metadata().namespace.clone(), object.metadata().name.clone());
    match event {
        Event::Applied(object) => {
            objects.insert(name(&object), object);
            true
        }
        Event::Deleted(object) => objects.remove(&name(&object)).is_some(),
        Event::Vanished(gone) => objects.remove(&(gone.namespace, gone.name)).is_some(),
        Event::Synced { .. }
        | Event::Progressed { .. }
        | Event::Unreadable { .. }
        | Event::Interrupted { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<K: Object>(value: &Value) -> K {
        K::read_value(value).expect("a good object")
    }

    fn pod(node: &str, phase: &str) -> Pod {
        read(&json!({
            "metadata": { "namespace": "ns", "name": "p", "uid": "u" },
            "spec": { "nodeName": node, "resourceClaims": [
                { "name": "a", "resourceClaimName": "c" }, { "name": "b", "resourceClaimTemplateName": "t" },
            ] },
            "status": { "phase": phase, "resourceClaimStatuses": [{ "name": "b", "resourceClaimName": "d" }] },
        }))
    }

    fn claim(name: &str, devices: &[&str]) -> ResourceClaim {
        let results = devices.iter().map(|device| json!({ "driver": "x", "pool": name, "device": device }));
        let allocation = json!({ "devices": { "results": results.collect::<Vec<_>>() } });
        read(
            &json!({ "metadata": { "namespace": "ns", "name": name }, "status": { "allocation": allocation } }),
        )
    }

    fn row(board: &Board) -> Row {
        board.rows().pop().expect("there is a pod")
    }

    #[test]
    fn a_pod_is_placed_when_its_node_and_its_devices_are_known() {
        let mut board = Board::default();
        assert!(board.take_pod(Event::Applied(pod("n", "Pending"))));
        board.take_claim(Event::Applied(claim("c", &["one"])));
        assert_eq!((row(&board).state, board.is_explained()), (State::Waits(None), false));
        board.take_claim(Event::Applied(claim("d", &["one", "two"])));
        let expected = Row {
            pod: "ns/p".to_owned(),
            state: State::Placed,
            node: "n".to_owned(),
            devices: "x/c/one, 2 of x/d".to_owned(),
        };
        assert_eq!((row(&board), board.placed(), board.is_at_rest()), (expected, 1, false));
        board.take_pod(Event::Applied(pod("n", "Running")));
        assert_eq!((row(&board).state, board.placed(), board.is_at_rest()), (State::Runs, 1, true));
        let mut used = claim("c", &["one"]);
        used.metadata.finalizers = vec![claims::PROTECTION.to_owned()];
        used.status.reserved_for = vec![
            serde_json::from_value(json!({ "resource": "pods", "name": "p", "uid": "u" })).expect("a user"),
        ];
        board.take_claim(Event::Applied(used));
        assert!(board.is_at_rest());
        assert!(board.take_pod(Event::Deleted(pod("n", "Running"))));
        assert!(board.rows().is_empty() && !board.is_at_rest(), "the claim has yet to be released");
        board.take_claim(Event::Applied(claim("c", &["one"])));
        assert!(board.is_at_rest());
    }

    #[test]
    fn a_pod_that_waits_says_why_and_cannot_steer_a_terminal() {
        let mut waiting = pod("", "Pending");
        let condition = json!({ "type": "PodScheduled", "status": "False", "message": "no\u{1b}[2Jroom" });
        waiting.status.conditions = vec![serde_json::from_value(condition).expect("a condition")];
        let mut board = Board::default();
        board.take_pod(Event::Applied(waiting));
        assert_eq!(row(&board).state, State::Waits(Some("no [2Jroom".to_owned())));
        assert_eq!(board.tally(), Tally { pods: 1, waiting: 1, ..Tally::default() });
        assert!(board.is_at_rest() && board.is_explained());
    }

    #[test]
    fn a_pod_that_asks_for_a_scheduler_which_does_not_run_here_is_told_so_after_a_while() {
        let mut board = Board::new(Times::default(), vec!["default-scheduler".to_owned()]);
        let mut stranger = pod("", "Pending");
        stranger.spec.scheduler_name = "other".to_owned();
        let began = Instant::now();
        board.take_pod(Event::Applied(stranger.clone()));
        assert_eq!(board.unscheduled(&stranger, began + STRANGER_AFTER / 2), None, "it may run elsewhere");
        let later = began + 2 * STRANGER_AFTER;
        let told = board.unscheduled(&stranger, later).expect("nobody has handled it");
        assert!(told.starts_with("no scheduler named other runs in this cluster, only default-scheduler;"));
        let mut own = stranger.clone();
        own.metadata.uid = "v".to_owned();
        own.spec.scheduler_name = "default-scheduler".to_owned();
        board.take_pod(Event::Applied(own.clone()));
        assert_eq!(board.unscheduled(&own, later), None);
        // It runs elsewhere after all.
        stranger.spec.node_name = "n".to_owned();
        assert_eq!(board.unscheduled(&stranger, later), None);
        board.take_pod(Event::Deleted(stranger.clone()));
        assert!(board.strangers.is_empty());
    }

    #[test]
    fn nothing_is_at_rest_while_a_pod_ends() {
        let mut board = Board::default();
        let mut job = pod("n", "Running");
        job.metadata.annotations.insert(kubelet::simulated::RUN_SECONDS.to_owned(), "2".to_owned());
        job.spec.restart_policy = "Never".to_owned();
        board.take_pod(Event::Applied(job.clone()));
        assert!(!board.is_at_rest());
        job.status.phase = "Succeeded".to_owned();
        board.take_pod(Event::Applied(job));
        assert!(board.is_at_rest());
    }

    #[test]
    fn nothing_is_at_rest_while_a_job_waits_to_make_a_pod() {
        let mut board = Board::default();
        let job = |status: Value| -> Job {
            read(&json!({ "metadata": { "namespace": "ns", "name": "j" }, "status": status }))
        };
        for (status, is_at_rest) in [
            (json!({}), false),
            (json!({ "active": 1 }), true),
            (json!({ "failed": 1 }), false),
            (json!({ "conditions": [{ "type": "Failed", "status": "True" }] }), true),
        ] {
            board.take_job(Event::Applied(job(status.clone())));
            assert_eq!(board.is_at_rest(), is_at_rest, "{status}");
        }
    }
}
