//! Selectors: how long one evaluation takes, beside `cel`.
//!
//! Before anything is measured, all ways of evaluating have to give the same answer for every device; while it is
//! measured, the matches are counted and have to stay the same. Nothing fails to evaluate.
//!
//! Ours are compiled once, and read devices that were converted once, as the scheduler keeps them. They are measured one
//! device at a time with `Selector::holds`, and a slice at a time with `Selector::matches_slice`.
//!
//! `cel` has no types for quantities and versions, and no way to say that an unknown domain is an empty map, so it is
//! given both; `rival` says how. It is used in the fastest way that we know.

mod devices;
#[cfg(feature = "compare")]
mod rival;

use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use selector::{Device, DeviceSlice, Environment, ExpressionKind, Names, Selector};

use crate::clock::worked;

/// How long a turn lasts at least: many times what the clock can tell apart.
const TURN_MIN: Duration = Duration::from_millis(100);
/// How many times faster than `cel` the common shapes have to be.
const RATIO_GOAL: f64 = 20.0;
/// How many evaluations a second one core has to do.
const RATE_GOAL: f64 = 5e6;

/// Evaluates typical selectors over many devices.
#[derive(Args, Debug)]
pub(crate) struct Selectors {
    /// How many devices
    #[arg(long, default_value_t = 10_000)]
    devices: usize,
    /// How many devices are in a slice
    #[arg(long, default_value_t = 64)]
    slice: usize,
    /// How often each way of evaluating gets its turn; the best time counts
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// What the devices are generated from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A selector of a typical shape.
struct Shape {
    name: &'static str,
    common: bool,
    expression: &'static str,
}

const fn frequent(name: &'static str, expression: &'static str) -> Shape {
    Shape { name, common: true, expression }
}

const fn rare(name: &'static str, expression: &'static str) -> Shape {
    Shape { name, common: false, expression }
}

/// The commonest come first.
const SHAPES: [Shape; 10] = [
    frequent("driver", r#"device.driver == "gpu.example.com""#),
    frequent("string", r#"device.attributes["gpu.example.com"].productName == "H100-SXM5-80GB""#),
    frequent("quantity", r#"device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0"#),
    frequent(
        "driver, string and quantity",
        r#"device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].productName == "H200-SXM5-141GB" && device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0"#,
    ),
    frequent(
        "version",
        r#"device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("560.0.0"))"#,
    ),
    frequent(
        "one of several",
        r#"device.attributes["gpu.example.com"].productName in ["H100-SXM5-80GB", "H200-SXM5-141GB"]"#,
    ),
    frequent(
        "has, bool and int",
        r#"has(device.attributes["gpu.example.com"].shared) && device.attributes["gpu.example.com"].shared == false && device.attributes["gpu.example.com"].index < 4"#,
    ),
    rare("list includes", r#"device.attributes["gpu.example.com"].rails.includes("rail-3")"#),
    rare("pattern", r#"device.attributes["gpu.example.com"].productName.matches("^H[12]00-SXM")"#),
    rare(
        "bind and exists",
        r#"cel.bind(gpu, device.attributes["gpu.example.com"], ["H100", "H200"].exists(model, gpu.productName.startsWith(model)))"#,
    ),
];

/// A way to evaluate a selector over all devices; says how many match.
type Pass<'a> = Box<dyn Fn() -> anyhow::Result<usize> + 'a>;

/// Nanoseconds for one evaluation.
struct Row {
    shape: &'static Shape,
    matching: usize,
    single: f64,
    sliced: f64,
    rival: Option<f64>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.rival.map(|rival| rival / self.single)
    }
}

impl Selectors {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let published = devices::published(self.devices.max(1), self.seed);
        let mut devices = published.iter().map(devices::Published::ours).collect::<Result<Vec<_>, _>>()?;
        let mut names = Names::default();
        devices.iter_mut().for_each(|device| names.share(device));
        let slices: Vec<DeviceSlice> =
            devices.chunks(self.slice.max(1)).map(|chunk| DeviceSlice::new(chunk.to_vec())).collect();
        let selectors = compiled()?;

        #[cfg(feature = "compare")]
        let rival = rival::Rival::new(&SHAPES.map(|shape| shape.expression), &published)?;
        #[cfg(feature = "compare")]
        let asked = rival.asked();
        #[cfg(feature = "compare")]
        let contexts = rival.contexts(&asked);

        let mut rows = Vec::with_capacity(SHAPES.len());
        for (at, (shape, selector)) in SHAPES.iter().zip(&selectors).enumerate() {
            let answers = one_by_one(selector, &devices)?;
            ensure!(by_slice(selector, &slices)? == answers, "{}: slices have other answers", shape.name);
            let ours: [Pass<'_>; 2] = [
                Box::new(|| count(devices.iter().map(|device| Ok(selector.holds(device)?)))),
                Box::new(|| Ok(slices.iter().map(|slice| matching(selector, slice)).sum())),
            ];
            #[cfg(feature = "compare")]
            let theirs: Option<Pass<'_>> = {
                let theirs: Vec<bool> =
                    contexts.iter().map(|context| rival.holds(at, context)).collect::<Result<_, _>>()?;
                ensure!(theirs == answers, "{}: cel has other answers", shape.name);
                let rival = &rival;
                let contexts = &contexts;
                Some(Box::new(move || count(contexts.iter().map(|context| rival.holds(at, context)))))
            };
            #[cfg(not(feature = "compare"))]
            let (theirs, _) = (None, at);
            let passes: Vec<Pass<'_>> = ours.into_iter().chain(theirs).collect();
            let matching = answers.iter().filter(|answer| **answer).count();
            let times = self.measure(shape, &passes, matching)?;
            rows.push(Row {
                shape,
                matching,
                single: times[0],
                sliced: times[1],
                rival: times.get(2).copied(),
            });
        }
        self.report(&rows);
        Ok(())
    }

    /// The best turn of each way, in nanoseconds for one evaluation. The ways take turns.
    fn measure(&self, shape: &Shape, passes: &[Pass<'_>], matching: usize) -> anyhow::Result<Vec<f64>> {
        let mut best = vec![f64::INFINITY; passes.len()];
        for _ in 0..self.turns.max(1) {
            for (best, pass) in best.iter_mut().zip(passes) {
                let (took, times) = turn(&**pass, matching).context(shape.name)?;
                let evaluations = times as f64 * self.devices.max(1) as f64;
                *best = best.min(took.as_secs_f64() * 1e9 / evaluations);
            }
        }
        Ok(best)
    }

    fn report(&self, rows: &[Row]) {
        println!(
            "{} selectors over {} devices, {} in a slice, on one core; ns for one evaluation, best of {}",
            rows.len(),
            self.devices,
            self.slice,
            self.turns
        );
        println!("  selectors are compiled once and devices converted once, before the clock starts");
        if rows.iter().any(|row| row.rival.is_some()) {
            println!(
                "  cel: a context for each device, made before; quantities, versions and patterns are constants"
            );
        }
        println!(
            "  {:<6} {:<28} {:>8} {:>8} {:>8} {:>9} {:>7}",
            "", "selector", "matching", "ours", "slice", "cel 0.15", "ratio"
        );
        for row in rows {
            println!(
                "  {:<6} {:<28} {:>8} {:>8.1} {:>8.2} {:>9} {:>7}",
                if row.shape.common { "common" } else { "" },
                row.shape.name,
                row.matching,
                row.single,
                row.sliced,
                row.rival.map_or("-".to_owned(), |rival| format!("{rival:.1}")),
                row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.1}x")),
            );
        }
        totals(rows);
    }
}

fn totals(rows: &[Row]) {
    println!("evaluations a second on one core, in millions");
    println!("  {:<28} {:>8} {:>8} {:>9}", "", "ours", "slice", "cel 0.15");
    for (name, only_common) in [("common shapes", true), ("all ten", false)] {
        let chosen: Vec<&Row> = rows.iter().filter(|row| row.shape.common || !only_common).collect();
        let theirs: Option<Vec<f64>> = chosen.iter().map(|row| row.rival).collect();
        println!(
            "  {:<28} {:>8.2} {:>8.2} {:>9}",
            name,
            rate(chosen.iter().map(|row| row.single)) / 1e6,
            rate(chosen.iter().map(|row| row.sliced)) / 1e6,
            theirs.map_or("-".to_owned(), |theirs| format!("{:.2}", rate(theirs.into_iter()) / 1e6)),
        );
    }
    let verdict = |met: bool| if met { "met" } else { "not met" };
    let ratios = rows.iter().filter(|row| row.shape.common).map(Row::ratio);
    let least = ratios.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
    match least {
        Some(least) => println!(
            "goal: each common shape at least {RATIO_GOAL:.0} times as fast as cel, one device at a time: {}, {least:.1} times at least",
            verdict(least >= RATIO_GOAL)
        ),
        None => println!(
            "goal: each common shape at least {RATIO_GOAL:.0} times as fast as cel: not measured; hint: build with --features compare"
        ),
    }
    let all = rate(rows.iter().map(|row| row.single));
    println!(
        "goal: at least {:.0} million evaluations a second, one device at a time, over all ten: {}, {:.1} million",
        RATE_GOAL / 1e6,
        verdict(all >= RATE_GOAL),
        all / 1e6
    );
}

/// Evaluations a second, if each selector gets as many.
fn rate(nanoseconds: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = nanoseconds.len() as f64;
    count * 1e9 / nanoseconds.sum::<f64>()
}

fn compiled() -> anyhow::Result<Vec<Selector>> {
    let compile = |shape: &Shape| {
        Selector::compile(shape.expression, ExpressionKind::Selector, Environment::all()).context(shape.name)
    };
    SHAPES.iter().map(compile).collect()
}

fn one_by_one(selector: &Selector, devices: &[Device]) -> anyhow::Result<Vec<bool>> {
    devices.iter().map(|device| Ok(selector.holds(device)?)).collect()
}

fn by_slice(selector: &Selector, slices: &[DeviceSlice]) -> anyhow::Result<Vec<bool>> {
    let mut answers = Vec::new();
    for slice in slices {
        let found = selector.matches_slice(slice);
        ensure!(found.failures.is_empty(), "a device cannot be evaluated");
        answers.extend((0..slice.devices().len()).map(|at| found.matching.contains(at)));
    }
    Ok(answers)
}

fn matching(selector: &Selector, slice: &DeviceSlice) -> usize {
    selector.matches_slice(slice).matching.count_ones(..)
}

fn count(mut answers: impl Iterator<Item = anyhow::Result<bool>>) -> anyhow::Result<usize> {
    answers.try_fold(0, |matching, answer| Ok(matching + usize::from(answer?)))
}

/// Evaluates all devices as often as it takes to be measurable: how long that took, and how often it was.
fn turn(pass: &dyn Fn() -> anyhow::Result<usize>, matching: usize) -> anyhow::Result<(Duration, u32)> {
    let mut times = 1;
    loop {
        let began = worked();
        let mut found = 0;
        for _ in 0..times {
            found += pass()?;
        }
        let took = worked() - began;
        ensure!(found == matching * times as usize, "other devices match than before");
        if took >= TURN_MIN {
            return Ok((took, times));
        }
        times *= 2;
    }
}

#[cfg(test)]
mod tests {
    use selector::DeviceSlice;

    use super::{SHAPES, by_slice, compiled, devices, one_by_one};

    #[test]
    fn every_way_of_evaluating_gives_the_same_answers() {
        let published = devices::published(300, 7);
        let ours: Vec<_> = published.iter().map(|device| device.ours().expect("valid")).collect();
        let selectors = compiled().expect("the selectors are valid");
        #[cfg(feature = "compare")]
        let rival = super::rival::Rival::new(&SHAPES.map(|shape| shape.expression), &published)
            .expect("cel parses the selectors");
        for (at, (shape, selector)) in SHAPES.iter().zip(&selectors).enumerate() {
            let answers = one_by_one(selector, &ours).expect("every device can be evaluated");
            for size in [8, 100] {
                let slices: Vec<_> =
                    ours.chunks(size).map(|chunk| DeviceSlice::new(chunk.to_vec())).collect();
                assert_eq!(by_slice(selector, &slices).expect("valid"), answers, "{}", shape.name);
            }
            let matching = answers.iter().filter(|answer| **answer).count();
            assert!(matching > 0 && matching < answers.len(), "{}: the answer is known before", shape.name);
            assert!(selector.is_fast() || !shape.common, "{}: a common shape takes the long way", shape.name);
            #[cfg(feature = "compare")]
            for (context, answer) in rival.contexts(&rival.asked()).iter().zip(&answers) {
                assert_eq!(rival.holds(at, context).expect("cel evaluates"), *answer, "{}", shape.name);
            }
            #[cfg(not(feature = "compare"))]
            let _ = at;
        }
    }
}
