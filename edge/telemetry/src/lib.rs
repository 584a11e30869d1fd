//! What the scheduler and the controllers show of themselves while they work.
//!
//! [`metrics`] counts and measures, under the names that dashboards for the Kubernetes scheduler know. [`surface`]
//! answers over HTTP whether all is well, what was measured and what the configuration is. [`logs`] writes what
//! happens, for people or for machines. Nothing in this crate knows the scheduler's types: the runtime says what
//! happened in plain words.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use telemetry::logs::{self, Format};
//! use telemetry::metrics::{Entity, Metrics, Point, Queue, Status, Verdict};
//! use telemetry::surface::{Check, Checks, Component, Options, PORT, Readers, Surface, Transport};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! logs::start(Format::Text, 2)?;
//! let metrics = Arc::new(Metrics::default());
//! let (synced, all_lists_read) = Check::flag("sched-handler-sync", "the cluster is not known yet");
//! let (leads, renewed) = Check::pulse("leaderElection", Duration::from_secs(35));
//! let surface = Surface::bind(Options {
//!     listen: ([0, 0, 0, 0], PORT).into(),
//!     transport: Transport::SelfSigned,
//!     checks: Checks { healthz: vec![leads.clone()], livez: vec![], readyz: vec![leads, synced] },
//!     configuration: serde_json::json!({"kind": "KubeSchedulerConfiguration"}),
//!     component: Component { name: "supercargo-scheduler".to_owned(), ..Component::default() },
//!     metrics: metrics.clone(),
//!     readers: Readers::Everyone,
//! });
//! let serving = tokio::spawn(surface.await?.serve(async { /* until the process is told to stop */ }));
//!
//! // Handles are made once; what follows is an atomic addition each.
//! let profile = metrics.profile("default-scheduler");
//! let fit = metrics.plugin("NodeResourcesFit", Point::Filter);
//! all_lists_read.raise();
//! renewed.beat();
//! metrics.queue.queued(Queue::Active, "UnscheduledPodAdd", Entity::Pod, 1);
//! fit.ran(Status::Success, Duration::from_micros(3));
//! profile.attempt(Verdict::Scheduled, Duration::from_millis(2));
//! metrics.attempts.bound(1, Duration::from_millis(5));
//! tracing::info!(pod = "default/web-0", node = "node-1", "bound");
//! serving.await?;
//! # Ok(())
//! # }
//! ```

pub mod logs;
pub mod metrics;
pub mod surface;
