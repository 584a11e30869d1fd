//! What the scheduler holds, does and is at this moment.

use super::family::{Family, Named, Registry};
use super::series::Gauge;

/// What the scheduler holds, does and is.
pub struct State {
    nodes: Gauge,
    pods: Gauge,
    assumed: Gauge,
    tasks: Family<Gauge>,
    leader: Family<Gauge>,
    features: Family<Gauge>,
    recording: Gauge,
}

/// How much of the cluster the scheduler holds in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Nodes.
    pub nodes: usize,
    /// Pods on nodes, with those that are on their way.
    pub pods: usize,
    /// Pods that are on their way to a node, and not confirmed yet.
    pub assumed_pods: usize,
}

impl State {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let size = registry.gauge(Named {
            name: "scheduler_cache_size",
            help: "Number of nodes, pods and assumed pods in the scheduler cache.",
            labels: &["type"],
        });
        Self {
            nodes: size.with(&["nodes"]),
            pods: size.with(&["pods"]),
            assumed: size.with(&["assumed_pods"]),
            tasks: registry.gauge(Named {
                name: "scheduler_goroutines",
                help: "Number of tasks in progress, by operation: binding or consideration; the name is that of Kubernetes.",
                labels: &["operation"],
            }),
            leader: registry.gauge(Named {
                name: "leader_election_master_status",
                help: "Leader election status: 1 if this replica is the leader, 0 if it stands by.",
                labels: &["name"],
            }),
            features: registry.gauge(Named {
                name: "kubernetes_feature_enabled",
                help: "Whether a feature gate is enabled, with its stage.",
                labels: &["name", "stage"],
            }),
            recording: registry
                .gauge(Named {
                    name: "supercargo_scheduler_recording",
                    help: "Whether decisions are recorded: 1 if they are, 0 if they are not, or not any more.",
                    labels: &[],
                })
                .with(&[]),
        }
    }

    /// So much is held now.
    pub fn cache(&self, size: CacheSize) {
        let sizes = [(&self.nodes, size.nodes), (&self.pods, size.pods), (&self.assumed, size.assumed_pods)];
        for (gauge, count) in sizes {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// So many tasks of a kind such as `binding` are under way.
    pub fn running(&self, operation: &str, count: usize) {
        self.tasks.with(&[operation]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// This replica leads, or stands by, for the lease of this name.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leader.with(&[lease]).set(i64::from(leads));
    }

    /// Decisions are recorded, or are not.
    pub fn records(&self, records: bool) {
        self.recording.set(i64::from(records));
    }

    /// A feature is on or off; the stage is `ALPHA`, `BETA`, `DEPRECATED`, or empty once it is generally available.
    pub fn feature(&self, name: &str, stage: &str, enabled: bool) {
        self.features.with(&[name, stage]).set(i64::from(enabled));
    }
}
