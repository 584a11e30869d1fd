//! One series of each kind. Recording is atomic additions, without locks and without allocating.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::number;

/// A number that only grows.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Counts one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Counts this many.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }
}

/// A number that goes up and down.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// It is this now.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// It is this much more, or less.
    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }
}

/// How often something took how long, or how many there were.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    bounds: Arc<Bounds>,
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    ticks: AtomicU64,
}

/// Where buckets end, and what is measured: nanoseconds that are printed as seconds, or things that are counted.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The largest tick of each bucket.
    ticks: Vec<u64>,
    texts: Vec<String>,
    ticks_per_unit: f64,
}

const NANOS_PER_SECOND: f64 = 1e9;

impl Bounds {
    pub(super) fn seconds(bounds: &[f64]) -> Self {
        Self::new(bounds, NANOS_PER_SECOND)
    }

    pub(super) fn amounts(bounds: &[f64]) -> Self {
        Self::new(bounds, 1.0)
    }

    fn new(bounds: &[f64], ticks_per_unit: f64) -> Self {
        // Half a nanosecond, which rounding may add, is beyond every clock.
        let ticks = bounds.iter().map(|bound| (bound * ticks_per_unit).round() as u64).collect();
        Self { ticks, texts: bounds.iter().map(|bound| number::text(*bound)).collect(), ticks_per_unit }
    }
}

impl Histogram {
    pub(super) fn new(bounds: &Arc<Bounds>) -> Self {
        let counts = (0..=bounds.ticks.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Buckets { bounds: Arc::clone(bounds), counts, ticks: AtomicU64::new(0) }))
    }

    /// It took so long.
    pub fn took(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// There were so many.
    pub fn amount(&self, amount: u64) {
        self.observe(amount);
    }

    fn observe(&self, ticks: u64) {
        let bucket = self.0.bounds.ticks.partition_point(|bound| *bound < ticks);
        self.0.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.0.ticks.fetch_add(ticks, Ordering::Relaxed);
    }
}

/// A kind of series: what Prometheus calls it, and how it is printed.
pub(super) trait Series: Clone + Send + Sync + 'static {
    const TYPE: &'static str;

    /// Writes the lines of this series; `labels` is empty or `a="b",c="d"`.
    fn write(&self, name: &str, labels: &str, out: &mut String);
}

impl Series for Counter {
    const TYPE: &'static str = "counter";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        line(out, name, "", labels, &self.0.load(Ordering::Relaxed).to_string());
    }
}

impl Series for Gauge {
    const TYPE: &'static str = "gauge";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        line(out, name, "", labels, &self.0.load(Ordering::Relaxed).to_string());
    }
}

impl Series for Histogram {
    const TYPE: &'static str = "histogram";

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let buckets = &self.0;
        let ticks = buckets.ticks.load(Ordering::Relaxed);
        let comma = if labels.is_empty() { "" } else { "," };
        let bounds = buckets.bounds.texts.iter().map(String::as_str).chain(["+Inf"]);
        // The total is the last sum, not a counter of its own, so that it always agrees with the buckets.
        let mut total = 0;
        for (count, bound) in buckets.counts.iter().zip(bounds) {
            total += count.load(Ordering::Relaxed);
            let labels = format!("{labels}{comma}le=\"{bound}\"");
            line(out, name, "_bucket", &labels, &total.to_string());
        }
        line(out, name, "_sum", labels, &number::text(ticks as f64 / buckets.bounds.ticks_per_unit));
        line(out, name, "_count", labels, &total.to_string());
    }
}

fn line(out: &mut String, name: &str, suffix: &str, labels: &str, value: &str) {
    let written = if labels.is_empty() {
        writeln!(out, "{name}{suffix} {value}")
    } else {
        writeln!(out, "{name}{suffix}{{{labels}}} {value}")
    };
    written.expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Histogram, Series};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn what_equals_a_bound_is_within_it() {
        let histogram = Histogram::new(&Arc::new(Bounds::seconds(&[0.001, 0.002])));
        for micros in [1_000, 1_001, 2_000, 5_000] {
            histogram.took(Duration::from_micros(micros));
        }
        let mut out = String::new();
        histogram.write("x", "", &mut out);
        let expected = "x_bucket{le=\"0.001\"} 1\nx_bucket{le=\"0.002\"} 3\nx_bucket{le=\"+Inf\"} 4\n\
                        x_sum 0.009001\nx_count 4\n";
        assert_eq!(out, expected);
    }
}
