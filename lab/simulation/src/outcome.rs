//! What came of a simulation: where each pod is or why it waits, and which devices each claim has.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::kept::Kept;

/// The end of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Ending {
    /// What came of it.
    pub outcome: Outcome,
    /// How many writes the scheduler made.
    pub writes: usize,
    /// All objects as they are now.
    pub(crate) objects: Vec<Kept>,
    /// Kinds that were given, that a cluster would heed, and that the engine does not yet.
    pub unheeded: BTreeSet<String>,
    /// What is odd about the manifests, and what kept workloads from having pods.
    pub troubles: Vec<String>,
    /// How many pods were made for each workload.
    pub notes: Vec<String>,
}

impl Ending {
    /// All objects as they are now, in the versions in which they are stored.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        self.objects.iter().map(|kept| kept.get().clone()).collect()
    }
}

/// All placements, by namespace and name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Outcome {
    /// Every pod.
    pub pods: Vec<PodOutcome>,
    /// Every claim.
    pub claims: Vec<ClaimOutcome>,
}

impl Outcome {
    /// How many pods wait.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pods.iter().filter(|pod| pod.reason.is_some()).count()
    }
}

/// Where a pod is, or why it is nowhere.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PodOutcome {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its node, if it has one.
    pub node: Option<String>,
    /// Why it waits, if it does.
    pub reason: Option<String>,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// How a pod ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// `Succeeded` or `Failed`.
    pub phase: String,
    /// How many seconds after the start of the simulation.
    pub after_seconds: i64,
}

/// Which devices a claim has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClaimOutcome {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its devices, in the order of its requests.
    pub devices: Vec<GrantedDevice>,
}

/// A device of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GrantedDevice {
    /// The request that it is for.
    pub request: String,
    /// Its driver.
    pub driver: String,
    /// Its pool.
    pub pool: String,
    /// Its name in the pool.
    pub device: String,
}
