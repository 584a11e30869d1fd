//! Metrics under the names of the Kubernetes scheduler, of its controllers and of the kubelet, in Prometheus' text format 0.0.4.
//!
//! Names, labels, types and bounds of buckets are those of Kubernetes 1.37; the words that describe them are ours.
//! Recording is an atomic addition: labels are looked up once, where handles such as [`Profile`] and [`Plugin`] are
//! made, or without allocating. How many series a name may have is bounded.
//!
//! What Kubernetes measures and we do not is listed in `docs/differences.md`; a test compares both with Kubernetes' own list.

mod attempts;
mod considerations;
mod controllers;
mod devices;
mod family;
mod gangs;
mod labels;
mod negotiations;
mod node;
mod number;
mod plugins;
mod preemption;
mod queue;
mod removals;
mod requests;
mod series;
mod slots;
mod state;
mod usage;
mod writes;

pub use attempts::Attempts;
pub use considerations::Considerations;
pub use controllers::{ClaimLabels, Claims, ControllerMetrics, WorkQueues};
pub use devices::Devices;
pub use gangs::Gangs;
pub use labels::{BindingOutcome, Entity, GangResult, Point, Preemptor, Queue, Status, Verdict};
pub use negotiations::Negotiations;
pub use node::NodeMetrics;
pub use plugins::{Plugin, Plugins, Profile};
pub use preemption::Preemption;
pub use queue::{Pending, Queues};
pub use removals::Removals;
pub use requests::Requests;
pub use series::{Counter, Gauge, Histogram};
pub use state::{CacheSize, State};
pub use writes::Writes;

pub use family::Described;
use family::Registry;

/// Everything that is counted and measured. Made once, shared by reference or in an `Arc`.
pub struct Metrics {
    registry: Registry,
    /// Attempts to schedule pods.
    pub attempts: Attempts,
    /// Pods and groups that wait, and what moves them.
    pub queue: Queues,
    /// Profiles, their extension points and their plugins.
    pub plugins: Plugins,
    /// Pods that make way for others.
    pub preemption: Preemption,
    /// Groups of pods that are placed together.
    pub gangs: Gangs,
    /// Devices that are made ready after they were chosen.
    pub devices: Devices,
    /// Pods that wait for drivers' controllers.
    pub negotiations: Negotiations,
    /// Questions that take long to decide.
    pub considerations: Considerations,
    /// Writes to the API server.
    pub writes: Writes,
    /// All requests to the API server.
    pub requests: Requests,
    /// What the scheduler holds, does and is at this moment.
    pub state: State,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        Self {
            attempts: Attempts::new(&mut registry),
            queue: Queues::new(&mut registry),
            plugins: Plugins::new(&mut registry),
            preemption: Preemption::new(&mut registry),
            gangs: Gangs::new(&mut registry),
            devices: Devices::new(&mut registry),
            negotiations: Negotiations::new(&mut registry),
            considerations: Considerations::new(&mut registry),
            writes: Writes::new(&mut registry),
            requests: Requests::new(&mut registry),
            state: State::new(&mut registry),
            registry,
        }
    }
}

/// The media type of [`Exposition::text`].
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Something that was counted and measured, and counts requests to the API server.
pub trait Exposition: Send + Sync {
    /// All requests to the API server.
    fn requests(&self) -> &Requests;

    /// Everything as Prometheus reads it, with what this process takes from the machine.
    #[must_use]
    fn text(&self) -> String;

    /// Every metric, but for those of the process.
    #[must_use]
    fn described(&self) -> Vec<Described>;
}

impl Exposition for Metrics {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn text(&self) -> String {
        let mut out = self.registry.text();
        usage::write(&mut out);
        out
    }

    fn described(&self) -> Vec<Described> {
        self.registry.described()
    }
}
