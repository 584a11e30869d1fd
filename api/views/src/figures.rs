//! Figures of a cluster over time: devices in use, fragmentation, pods that wait, and how long pods wait for their nodes.
//!
//! Invariant: there are never more than [`KEPT_MAX`] samples. When there are, each two become one, so that the whole time since the
//! beginning is kept, more coarsely the longer it is.

use inventory::domains::{Domain, Tally};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

/// How many samples are kept.
pub const KEPT_MAX: usize = 600;

/// The figures of a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// Devices.
    pub devices: usize,
    /// Devices that claims could get.
    pub free: usize,
    /// Devices that claims hold, wholly or in part.
    pub held: usize,
    /// Of the free devices, how many in a hundred the node with the most of them cannot use.
    pub fragmentation: Option<usize>,
    /// Pods without a node.
    pub waiting: usize,
    /// Pods on nodes.
    pub placed: usize,
    /// Pods that got a node since the sample before.
    pub scheduled: usize,
    /// How long the one in the middle of these had waited, in milliseconds.
    pub wait_ms_median: Option<i64>,
    /// How long the longest of these had waited, in milliseconds.
    pub wait_ms_max: Option<i64>,
}

/// Samples over time.
#[derive(Debug)]
pub struct Figures {
    samples: Vec<Sample>,
    /// How many moments one sample is for.
    each: usize,
    /// The moments of the sample that is being made.
    open: Vec<Sample>,
}

impl Default for Figures {
    fn default() -> Self {
        Figures { samples: Vec::new(), each: 1, open: Vec::new() }
    }
}

impl Figures {
    /// Adds the figures of a moment.
    pub fn push(&mut self, sample: Sample) {
        self.open.push(sample);
        if self.open.len() < self.each {
            return;
        }
        self.samples.extend(joined(&self.open));
        self.open.clear();
        if self.samples.len() > KEPT_MAX {
            self.samples = self.samples.chunks(2).filter_map(joined).collect();
            self.each *= 2;
        }
    }

    /// All samples, the oldest first.
    #[must_use]
    pub fn document(&self) -> Value {
        let now = joined(&self.open);
        let samples: Vec<Value> = self.samples.iter().chain(now.iter()).map(Sample::document).collect();
        json!({ "samples": samples })
    }
}

/// Samples as one: counts of the last, sums and extremes of all.
fn joined(samples: &[Sample]) -> Option<Sample> {
    let last = *samples.last()?;
    Some(Sample {
        scheduled: samples.iter().map(|one| one.scheduled).sum(),
        wait_ms_median: samples.iter().filter_map(|one| one.wait_ms_median).max(),
        wait_ms_max: samples.iter().filter_map(|one| one.wait_ms_max).max(),
        ..last
    })
}

impl Sample {
    /// What the sums of a cluster say of a moment, and how long pods waited that got a node since the last.
    #[must_use]
    pub fn of(at: Timestamp, root: &Domain, waiting: usize, mut waits: Vec<i64>) -> Sample {
        waits.sort_unstable();
        let sum = |of: fn(&Tally) -> usize| root.by_driver.values().map(of).sum();
        // Devices of different drivers do not stand for each other, so each is compared with its own.
        let most_on_a_node = |tally: &Tally| tally.largest_on_node.as_ref().map_or(0, |(_, most)| *most);
        let (free, usable): (usize, usize) = (sum(|tally| tally.free), sum(most_on_a_node));
        Sample {
            at,
            devices: sum(|tally| tally.devices),
            free,
            held: sum(|tally| tally.allocated),
            fragmentation: (free > 0).then(|| (100 * free.saturating_sub(usable) + free / 2) / free),
            waiting,
            placed: root.pods,
            scheduled: waits.len(),
            wait_ms_median: waits.get(waits.len() / 2).copied(),
            wait_ms_max: waits.last().copied(),
        }
    }

    /// The figures of the moment as one object.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "time": self.at.with_micros().to_string(),
            "devices": self.devices,
            "free": self.free,
            "held": self.held,
            "fragmentationPercent": self.fragmentation,
            "waitingPods": self.waiting,
            "placedPods": self.placed,
            "scheduled": self.scheduled,
            "medianWaitMilliseconds": self.wait_ms_median,
            "longestWaitMilliseconds": self.wait_ms_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_time_is_kept_in_a_bounded_number_of_samples() {
        let mut figures = Figures::default();
        let moments = 10 * KEPT_MAX;
        for second in 0..moments {
            let at = Timestamp::from_micros(second as i64 * 1_000_000);
            figures.push(Sample { at, scheduled: 1, ..Sample::default() });
        }
        assert!(figures.samples.len() <= KEPT_MAX, "{}", figures.samples.len());
        let scheduled: usize = figures.samples.iter().chain(&figures.open).map(|one| one.scheduled).sum();
        assert_eq!(scheduled, moments, "none is lost");
        assert!(figures.samples[0].at.micros() < 60_000_000, "the beginning is kept");
    }
}
