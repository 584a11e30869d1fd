//! All series of one name, and all names together.
//!
//! A series comes into being when its labels are first named. Names that come from the cluster are labels too, so a
//! family has a bound: what comes after it is counted under labels that say `other`.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::RwLock;

use super::series::{Bounds, Counter, Gauge, Histogram, Series};

/// How many series one name may have.
const SERIES_MAX: usize = 1_000;
const OVERFLOW: &str = "other";

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
}

/// A metric as its reference lists it.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Its name, as Prometheus reads it.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it counts or measures.
    pub help: &'static str,
}

/// All series of one name.
pub(super) struct Family<S>(Arc<Inner<S>>);

impl<S> Clone for Family<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<S> {
    named: Named,
    make: Box<dyn Fn() -> S + Send + Sync>,
    /// Sorted by the values of the labels.
    series: RwLock<Vec<Labelled<S>>>,
}

/// The values of the labels, and the series.
type Labelled<S> = (Box<[Box<str>]>, S);

impl<S: Series> Family<S> {
    /// The series with these values, one for each label. Allocates only when there is none yet.
    pub(super) fn with(&self, values: &[&str]) -> S {
        let inner = &*self.0;
        assert_eq!(values.len(), inner.named.labels.len(), "{} has other labels", inner.named.name);
        let find = |series: &[Labelled<S>], values: &[&str]| {
            series.binary_search_by(|(labels, _)| {
                labels.iter().map(|label| &**label).cmp(values.iter().copied())
            })
        };
        {
            let series = inner.series.read();
            if let Ok(at) = find(&series, values) {
                return series[at].1.clone();
            }
        }
        let mut series = inner.series.write();
        let overflow = vec![OVERFLOW; values.len()];
        let values = if series.len() < SERIES_MAX { values } else { &overflow };
        // Somebody else may have made it in between.
        match find(&series, values) {
            Ok(at) => series[at].1.clone(),
            Err(at) => {
                let made = (inner.make)();
                series.insert(at, (values.iter().map(|value| Box::from(*value)).collect(), made.clone()));
                made
            }
        }
    }
}

trait Exposed: Send + Sync {
    fn name(&self) -> &'static str;
    fn described(&self) -> Described;
    fn write(&self, out: &mut String);
}

impl<S: Series> Exposed for Family<S> {
    fn name(&self) -> &'static str {
        self.0.named.name
    }

    fn described(&self) -> Described {
        let Named { name, help, labels } = self.0.named;
        Described { name, kind: S::TYPE, labels, help }
    }

    fn write(&self, out: &mut String) {
        let Named { name, help, labels } = self.0.named;
        heading(out, name, help, S::TYPE);
        for (values, series) in self.0.series.read().iter() {
            let mut text = String::new();
            for (label, value) in labels.iter().zip(values) {
                let comma = if text.is_empty() { "" } else { "," };
                let _ = write!(text, "{comma}{label}=\"{}\"", escaped(value));
            }
            series.write(name, &text, out);
        }
    }
}

/// The two lines that introduce a name.
pub(super) fn heading(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All names.
#[derive(Default)]
pub(super) struct Registry {
    families: Vec<Box<dyn Exposed>>,
}

impl Registry {
    fn add<S: Series>(&mut self, named: Named, make: Box<dyn Fn() -> S + Send + Sync>) -> Family<S> {
        let family = Family(Arc::new(Inner { named, make, series: RwLock::new(Vec::new()) }));
        let at = self.families.binary_search_by_key(&named.name, |family| family.name());
        let at = at.expect_err("every name is given once");
        self.families.insert(at, Box::new(family.clone()));
        family
    }

    pub(super) fn counter(&mut self, named: Named) -> Family<Counter> {
        self.add(named, Box::new(Counter::default))
    }

    pub(super) fn gauge(&mut self, named: Named) -> Family<Gauge> {
        self.add(named, Box::new(Gauge::default))
    }

    /// Measures durations.
    pub(super) fn seconds(&mut self, named: Named, bounds: &[f64]) -> Family<Histogram> {
        let bounds = Arc::new(Bounds::seconds(bounds));
        self.add(named, Box::new(move || Histogram::new(&bounds)))
    }

    /// Measures how many there are of something.
    pub(super) fn amounts(&mut self, named: Named, bounds: &[f64]) -> Family<Histogram> {
        let bounds = Arc::new(Bounds::amounts(bounds));
        self.add(named, Box::new(move || Histogram::new(&bounds)))
    }

    /// What there is, sorted by name.
    pub(super) fn described(&self) -> Vec<Described> {
        self.families.iter().map(|family| family.described()).collect()
    }

    /// Everything, sorted by name.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for family in &self.families {
            family.write(&mut out);
        }
        out
    }
}

/// Bounds that grow by a factor, each computed from the one before: the rounding is part of the printed text.
pub(super) fn growing(start: f64, factor: f64, count: usize) -> Vec<f64> {
    std::iter::successors(Some(start), |bound| Some(bound * factor)).take(count).collect()
}

/// Bounds that grow by the same factor from the first to the last.
pub(super) fn ranging(first: f64, last: f64, count: u16) -> Vec<f64> {
    let factor = (last / first).powf(1.0 / f64::from(count - 1));
    (0..count).map(|at| first * factor.powi(i32::from(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Named, Registry, SERIES_MAX};

    const NAMED: Named = Named { name: "x_total", help: "Things.", labels: &["a", "b"] };

    #[test]
    fn labels_are_escaped_and_series_are_sorted() {
        let mut registry = Registry::default();
        let family = registry.counter(NAMED);
        family.with(&["z", "1"]).add(2);
        family.with(&["q\"\\\n", "1"]).one();
        family.with(&["z", "1"]).one();
        let expected = "# HELP x_total Things.\n# TYPE x_total counter\n\
                        x_total{a=\"q\\\"\\\\\\n\",b=\"1\"} 1\nx_total{a=\"z\",b=\"1\"} 3\n";
        assert_eq!(registry.text(), expected);
    }

    #[test]
    fn a_name_with_too_many_series_counts_the_rest_as_other() {
        let mut registry = Registry::default();
        let family = registry.counter(NAMED);
        for at in 0..SERIES_MAX + 5 {
            family.with(&["driver", &at.to_string()]).one();
        }
        assert_eq!(registry.text().lines().count(), SERIES_MAX + 3);
        assert!(registry.text().contains("x_total{a=\"other\",b=\"other\"} 5\n"));
    }
}
