//! A node of a world: its agent has the claims of pods prepared before they run, and undone before it says that they ended.
//!
//! Invariant: what [`Machine::deeds`] gives follows from what is on the machine and in the API alone, so that an agent that
//! was interrupted after any deed goes on from there. Only `ready` is forgotten with the agent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use objects::core::pod::Pod;
use store::Key;

use super::setup::Sabotage;

/// A claim that pods on the machine use, as the agent's checkpoint has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CheckpointEntry {
    pub claim: Key,
    /// The uids of the pods.
    pub pods: BTreeSet<String>,
}

/// What the containers of a pod do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Containers {
    Run {
        since: i64,
    },
    /// They have ended, and this is the phase to be told.
    Ended(&'static str),
}

/// A claim that a pod may use: where it is, and its uid.
pub(crate) type Usable = (Key, String);

/// The next thing that an agent does about a pod.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Notes in the checkpoint that a pod uses a claim.
    Enter { claim: Usable, pod: String },
    /// Has the driver prepare a claim, which it may have done before.
    Prepare { claim: String },
    /// Starts the containers of a pod.
    Start { pod: String },
    /// Tells the API in which phase a pod is.
    Report { pod: Arc<Pod>, phase: &'static str },
    /// Stops the containers of a pod.
    Stop { pod: String },
    /// Has the driver undo what it prepared.
    Unprepare { claim: String },
    /// Notes in the checkpoint that a pod uses a claim no more.
    Leave { claim: String, pod: String },
    /// Tells the API that nothing is left of a pod that is to go.
    Remove { pod: Arc<Pod> },
}

/// A machine. Times are milliseconds of the agenda.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The checkpoint: claims by uid.
    pub entries: BTreeMap<String, CheckpointEntry>,
    /// Claims that the driver has prepared, by uid.
    pub prepared: BTreeSet<String>,
    /// Containers by the uid of their pod.
    pub containers: BTreeMap<String, Containers>,
    /// Claims of which the agent knows that they are prepared.
    pub ready: BTreeSet<String>,
    pub agent_down_until: i64,
    pub driver_down_until: i64,
}

impl Machine {
    /// What could be done next: for each pod on the machine, and for each that is gone, at most one thing. What a pod may
    /// use is nothing until all of its claims may be used.
    pub fn deeds(
        &self,
        pods: &[Arc<Pod>],
        usable: &mut dyn FnMut(&Pod) -> Option<Vec<Usable>>,
        sabotage: Sabotage,
    ) -> Vec<Deed> {
        let mut deeds: Vec<Deed> =
            pods.iter().filter_map(|pod| self.deed_for(pod, usable, sabotage)).collect();
        let here: BTreeSet<&str> = pods.iter().map(|pod| pod.metadata.uid.as_str()).collect();
        let entered = self.entries.values().flat_map(|entry| &entry.pods);
        let gone: BTreeSet<&String> =
            entered.chain(self.containers.keys()).filter(|pod| !here.contains(pod.as_str())).collect();
        deeds.extend(gone.into_iter().filter_map(|pod| self.wind_down(pod)));
        deeds
    }

    fn deed_for(
        &self,
        pod: &Arc<Pod>,
        usable: &mut dyn FnMut(&Pod) -> Option<Vec<Usable>>,
        sabotage: Sabotage,
    ) -> Option<Deed> {
        let id = pod.metadata.uid.as_str();
        let phase = pod.status.phase.as_str();
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        let containers = self.containers.get(id);
        if matches!(phase, "Succeeded" | "Failed") {
            return self.wind_down(id).or_else(|| is_leaving.then(|| Deed::Remove { pod: pod.clone() }));
        }
        if is_leaving {
            return self.wind_down(id).or_else(|| Some(Deed::Remove { pod: pod.clone() }));
        }
        match containers {
            Some(Containers::Ended(phase)) => {
                let report = Deed::Report { pod: pod.clone(), phase };
                if sabotage == Sabotage::ReportsBeforeUndoing {
                    return Some(report);
                }
                Some(self.undo(id).unwrap_or(report))
            }
            Some(Containers::Run { .. }) if phase != "Running" => {
                Some(Deed::Report { pod: pod.clone(), phase: "Running" })
            }
            Some(Containers::Run { .. }) => None,
            None if sabotage == Sabotage::RunsUnprepared => Some(Deed::Start { pod: id.to_owned() }),
            None => self.bring_up(id, usable(pod)?),
        }
    }

    /// The next thing before a pod runs.
    fn bring_up(&self, pod: &str, claims: Vec<Usable>) -> Option<Deed> {
        for claim in &claims {
            // A claim that had the name before must be undone first.
            if self.entries.iter().any(|(uid, entry)| entry.claim == claim.0 && *uid != claim.1) {
                return None;
            }
        }
        for claim in claims {
            let entry = self.entries.get(&claim.1);
            if entry.is_none_or(|entry| !entry.pods.contains(pod)) {
                return Some(Deed::Enter { claim, pod: pod.to_owned() });
            }
            if !self.ready.contains(&claim.1) {
                return Some(Deed::Prepare { claim: claim.1 });
            }
        }
        Some(Deed::Start { pod: pod.to_owned() })
    }

    /// The next thing when a pod is to go, or is gone.
    fn wind_down(&self, pod: &str) -> Option<Deed> {
        if self.containers.contains_key(pod) {
            return Some(Deed::Stop { pod: pod.to_owned() });
        }
        self.undo(pod)
    }

    /// The next thing to undo of what was prepared for a pod whose containers do not run.
    fn undo(&self, pod: &str) -> Option<Deed> {
        let (claim, entry) = self.entries.iter().find(|(_, entry)| entry.pods.contains(pod))?;
        let is_last = entry.pods.len() == 1;
        if is_last && self.prepared.contains(claim) {
            return Some(Deed::Unprepare { claim: claim.clone() });
        }
        Some(Deed::Leave { claim: claim.clone(), pod: pod.to_owned() })
    }

    /// The agent dies. What it only remembered is forgotten.
    pub fn stop_agent(&mut self, until: i64, sabotage: Sabotage) {
        self.agent_down_until = until;
        self.ready.clear();
        if sabotage == Sabotage::ForgetsCheckpoint {
            self.entries.clear();
        }
    }
}
