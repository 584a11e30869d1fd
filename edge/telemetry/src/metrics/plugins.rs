//! Profiles, their extension points and their plugins, each with a handle whose labels are looked up once.

use std::time::Duration;

use super::Metrics;
use super::family::{Family, Named, Registry, growing};
use super::labels::{Label, Point, Status, Verdict};
use super::series::{Counter, Gauge, Histogram};
use super::slots::Slots;

/// What is known of profiles and plugins.
pub struct Plugins {
    points: Family<Histogram>,
    executions: Family<Histogram>,
    unschedulable: Family<Gauge>,
    waiting: Family<Gauge>,
}

impl Plugins {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            points: registry.seconds(
                Named {
                    name: "scheduler_framework_extension_point_duration_seconds",
                    help: "Latency of all plugins of an extension point, in seconds.",
                    labels: &["extension_point", "status", "profile"],
                },
                &growing(0.0001, 2.0, 12),
            ),
            executions: registry.seconds(
                Named {
                    name: "scheduler_plugin_execution_duration_seconds",
                    help: "Latency of a plugin at an extension point, in seconds.",
                    labels: &["plugin", "extension_point", "status"],
                },
                &growing(0.000_01, 1.5, 20),
            ),
            unschedulable: registry.gauge(Named {
                name: "scheduler_unschedulable_pods",
                help: "Number of unschedulable pods, by plugin that rejected them; a pod is counted for each plugin.",
                labels: &["plugin", "profile"],
            }),
            waiting: registry.gauge(Named {
                name: "supercargo_scheduler_waiting_pods",
                help: "Pods that wait for a reason, by its code in docs/reasons.md. A pod that waits for several counts for each of them.",
                labels: &["reason", "profile"],
            }),
        }
    }
}

/// What is counted for one profile. Made once for each; recording then neither allocates nor locks.
pub struct Profile {
    name: Box<str>,
    attempts: Vec<(Counter, Histogram)>,
    points: Family<Histogram>,
    point_slots: Slots<Histogram>,
    unschedulable: Family<Gauge>,
    waiting: Family<Gauge>,
}

/// What is counted for one plugin at one extension point. Made once for each.
pub struct Plugin {
    name: Box<str>,
    point: Point,
    executions: Family<Histogram>,
    slots: Slots<Histogram>,
}

impl Metrics {
    /// The handle of a profile.
    #[must_use]
    pub fn profile(&self, name: &str) -> Profile {
        let attempts = Verdict::ALL.iter().map(|verdict| {
            let values = [verdict.text(), name];
            (self.attempts.total.with(&values), self.attempts.duration.with(&values))
        });
        Profile {
            name: name.into(),
            attempts: attempts.collect(),
            points: self.plugins.points.clone(),
            point_slots: Slots::new(Point::ALL.len() * Status::ALL.len()),
            unschedulable: self.plugins.unschedulable.clone(),
            waiting: self.plugins.waiting.clone(),
        }
    }

    /// The handle of a plugin at an extension point.
    #[must_use]
    pub fn plugin(&self, plugin: &str, point: Point) -> Plugin {
        Plugin {
            name: plugin.into(),
            point,
            executions: self.plugins.executions.clone(),
            slots: Slots::of::<Status>(),
        }
    }
}

impl Profile {
    /// An attempt to schedule a pod ended.
    pub fn attempt(&self, verdict: Verdict, took: Duration) {
        let (total, duration) = &self.attempts[verdict.place()];
        total.one();
        duration.took(took);
    }

    /// All plugins of an extension point had their say.
    pub fn point(&self, point: Point, status: Status, took: Duration) {
        let place = point.place() * Status::ALL.len() + status.place();
        let find = || self.points.with(&[point.text(), status.text(), &self.name]);
        self.point_slots.get(place, find).took(took);
    }

    /// So many more pods wait because of this plugin, or fewer.
    pub fn unschedulable(&self, plugin: &str, change: i64) {
        self.unschedulable.with(&[plugin, &self.name]).add(change);
    }

    /// So many more pods wait for the reason with this code, or fewer.
    pub fn waiting(&self, reason: &str, change: i64) {
        self.waiting.with(&[reason, &self.name]).add(change);
    }
}

impl Plugin {
    /// The plugin took so long. Kubernetes measures this in one of ten attempts.
    pub fn ran(&self, status: Status, took: Duration) {
        let find = || self.executions.with(&[&self.name, self.point.text(), status.text()]);
        self.slots.get(status.place(), find).took(took);
    }
}
