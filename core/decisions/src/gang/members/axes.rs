//! Devices in mere arithmetic: how many of each class, and how much of each counter.
//!
//! Invariant: members need at least what is said here, and a node has at the most what is said here. So a sum that is too small
//! proves that there is no room, and one that is large enough proves nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::nodes::NodeIdx;
use cluster::published::Published;
use model::claim::{Amount, Class, Wish};
use model::device::{Device, DeviceId, Reach, Slice};
use model::node::Node;
use model::quantity::Quantity;
use placement::{Axis, Unit};

use crate::caches::Caches;
use crate::cycle::Cycle;
use crate::gang::members::member::Member;
use crate::values::pod_claims::PodClaims;

/// How many billionths a whole unit has.
const NANOS: i128 = 1_000_000_000;

/// A counter by the driver of its pools and by name.
type Counter = (Arc<str>, Arc<str>);

/// What devices are counted by.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct DeviceAxes {
    classes: Vec<Arc<str>>,
    /// Counters on which every device of a class draws.
    counters: Vec<Counter>,
    /// For each class, how much a device of it draws on each counter at the least.
    draws: Vec<Vec<u64>>,
}

impl DeviceAxes {
    /// The axes, as people call them.
    pub fn axes(&self) -> impl Iterator<Item = Axis> {
        let classes = self.classes.iter().map(|class| Axis::counted(&format!("devices of class {class}")));
        let counters = self.counters.iter().map(|(driver, counter)| Axis {
            name: format!("{driver}/{counter}").into(),
            unit: Unit::Quantity,
        });
        classes.chain(counters)
    }

    /// What the claims of a member need of each.
    pub fn needs(&self, claims: &PodClaims) -> Vec<u64> {
        let mut classes = vec![0_u64; self.classes.len()];
        for (class, count) in asks(claims) {
            if let Some(at) = self.classes.iter().position(|known| *known == class) {
                classes[at] = classes[at].saturating_add(count);
            }
        }
        let drawn = |counter: usize| {
            let of_class = |(class, count): (usize, &u64)| {
                self.draws.get(class).map_or(0, |draws| draws[counter]).saturating_mul(*count)
            };
            classes.iter().enumerate().map(of_class).fold(0, u64::saturating_add)
        };
        let counters: Vec<u64> = (0..self.counters.len()).map(drawn).collect();
        classes.into_iter().chain(counters).collect()
    }

    /// Whether all devices that a member could get, with its own claims or with those it shares, are of the classes that are counted.
    pub fn count_all(&self, member: &Member) -> bool {
        let mut asked = member.open().flat_map(|state| cluster::users::asks(&state.wish));
        member.claims.named.is_none() && asked.all(|ask| self.classes.contains(&ask.class))
    }

    /// The same, but for counters.
    pub fn without_counters(self) -> DeviceAxes {
        DeviceAxes { classes: self.classes, ..DeviceAxes::default() }
    }

    /// Whether devices are not counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many axes there are.
    pub fn len(&self) -> usize {
        self.classes.len() + self.counters.len()
    }
}

/// The classes that claims certainly need devices of, and how many.
fn asks(claims: &PodClaims) -> impl Iterator<Item = (Arc<str>, u64)> {
    let requests = claims.open.iter().flat_map(|state| &state.wish.spec.requests);
    requests.filter_map(|request| match &request.wish {
        Wish::Exactly(ask) if !ask.is_admin() => match ask.amount {
            Amount::Exactly(count) => Some((ask.class.clone(), u64::try_from(count).unwrap_or(0))),
            Amount::All => Some((ask.class.clone(), 1)),
            Amount::Unknown(_) => None,
        },
        Wish::Exactly(_) | Wish::FirstAvailable(_) => None,
    })
}

impl Cycle<'_> {
    /// The axes along which devices for these claims are counted.
    pub(crate) fn device_axes<'m>(&mut self, of: impl Iterator<Item = &'m PodClaims>) -> DeviceAxes {
        let mut classes: Vec<Arc<str>> = of.flat_map(asks).map(|(class, _)| class).collect();
        classes.sort_unstable();
        classes.dedup();
        let least: Vec<BTreeMap<Counter, u64>> =
            classes.iter().map(|class| self.least_draws(class)).collect();
        let mut counters: Vec<Counter> = least.iter().flat_map(|draws| draws.keys().cloned()).collect();
        counters.sort_unstable();
        counters.dedup();
        let of_class = |least: &BTreeMap<Counter, u64>| {
            counters.iter().map(|counter| least.get(counter).copied().unwrap_or(0)).collect()
        };
        let draws = least.iter().map(of_class).collect();
        DeviceAxes { classes, counters, draws }
    }

    /// How much every device of a class draws at the least.
    fn least_draws(&mut self, class: &str) -> BTreeMap<Counter, u64> {
        let mut least: Option<BTreeMap<Counter, u64>> = None;
        let (Facts { slices, classes, .. }, Caches { expressions, .. }) = (&*self.facts, &mut *self.caches);
        let Some(class) = classes.get(class) else { return BTreeMap::new() };
        for published in slices.iter() {
            let Some(rows) = rows_of(class, published, expressions) else { return BTreeMap::new() };
            for row in rows {
                let device = &published.slice.devices[row];
                let own = draws_of(device, &published.slice.pool.driver);
                let both = least.take().map_or_else(
                    || own.clone(),
                    |known| {
                        let smaller = |(counter, amount): (Counter, u64)| {
                            own.get(&counter).map(|own| (counter, amount.min(*own)))
                        };
                        known.into_iter().filter_map(smaller).collect()
                    },
                );
                if both.is_empty() {
                    return both;
                }
                least = Some(both);
            }
        }
        least.unwrap_or_default()
    }

    /// What a node has left of each for itself, at the most.
    pub(crate) fn device_amounts(&mut self, node: &str, axes: &DeviceAxes) -> Vec<u64> {
        let slices = self.facts.slices.of_node(node).cloned().collect::<Vec<_>>();
        self.amounts_of(&slices, axes, |_, _| true)
    }

    /// What some of these nodes can use of each and none has for itself, at the most, and how many devices that are in all.
    pub(crate) fn shared_amounts(&mut self, nodes: &[NodeIdx], axes: &DeviceAxes) -> (u64, Vec<u64>) {
        let nodes: Vec<Arc<Node>> =
            nodes.iter().filter_map(|at| self.facts.nodes.get(*at).node.clone()).collect();
        // What cannot be judged may be of use.
        let is_reached =
            |reach: &Reach| nodes.iter().any(|node| cluster::pools::reaches(reach, node).unwrap_or(true));
        let is_used = |slice: &Slice, device: &Device| match slice.reach {
            Reach::PerDevice => is_reached(&device.reach),
            _ => true,
        };
        let may_be_used = |published: &&Arc<Published>| match &published.slice.reach {
            Reach::PerDevice | Reach::Unsaid => true,
            reach => is_reached(reach),
        };
        let slices: Vec<Arc<Published>> = self.facts.slices.shared().filter(may_be_used).cloned().collect();
        let free = slices.iter().map(|published| self.free_in(published, is_used));
        let free = free.fold(0, u64::saturating_add);
        (free, self.amounts_of(&slices, axes, is_used))
    }

    /// What is left of each in these slices, at the most.
    fn amounts_of(
        &mut self,
        of: &[Arc<Published>],
        axes: &DeviceAxes,
        is_used: impl Fn(&Slice, &Device) -> bool,
    ) -> Vec<u64> {
        let mut amounts = vec![0_u64; axes.len()];
        if amounts.is_empty() {
            return amounts;
        }
        let (Facts { classes, claims, .. }, Caches { expressions, .. }) = (&*self.facts, &mut *self.caches);
        for published in of {
            let slice = &published.slice;
            let is_free = |device: &Device| {
                let id = DeviceId {
                    driver: slice.pool.driver.clone(),
                    pool: slice.pool.pool.clone(),
                    device: device.name.clone(),
                };
                claims.ledger().holdings(&id).is_none()
            };
            for (at, class) in axes.classes.iter().enumerate() {
                let rows = classes.get(class).and_then(|class| rows_of(class, published, expressions));
                let supply = |row: usize| match &slice.devices[row] {
                    device if !is_used(slice, device) => 0,
                    device if device.shareable => u64::MAX,
                    device => u64::from(is_free(device)),
                };
                // What cannot be judged is taken to be enough.
                let here =
                    rows.map_or(u64::MAX, |rows| rows.into_iter().map(supply).fold(0, u64::saturating_add));
                amounts[at] = amounts[at].saturating_add(here);
            }
            for (at, (driver, counter)) in axes.counters.iter().enumerate() {
                if *driver != slice.pool.driver {
                    continue;
                }
                let sets = slice.counter_sets.iter().filter_map(|set| set.counters.get(counter));
                let all = sets.map(|amount| whole_units(amount, true)).fold(0, u64::saturating_add);
                let sum = &mut amounts[axes.classes.len() + at];
                *sum = sum.saturating_add(all);
            }
        }
        self.subtract_draws(of, axes, &mut amounts);
        amounts
    }

    /// How many devices of a slice are free at the most, of those that count.
    pub(crate) fn free_in(&self, published: &Published, counts: impl Fn(&Slice, &Device) -> bool) -> u64 {
        let slice = &published.slice;
        let of_device = |device: &Device| {
            let id = DeviceId {
                driver: slice.pool.driver.clone(),
                pool: slice.pool.pool.clone(),
                device: device.name.clone(),
            };
            match device.shareable {
                // One device may serve any number of claims.
                true => u64::MAX,
                false => u64::from(self.facts.claims.ledger().holdings(&id).is_none()),
            }
        };
        slice
            .devices
            .iter()
            .filter(|device| counts(slice, device))
            .map(of_device)
            .fold(0, u64::saturating_add)
    }

    /// Takes away what devices draw that are held.
    fn subtract_draws(&self, of: &[Arc<Published>], axes: &DeviceAxes, amounts: &mut [u64]) {
        if axes.counters.is_empty() {
            return;
        }
        for published in of {
            let pool = &published.slice.pool;
            for device in &published.slice.devices {
                let id = DeviceId {
                    driver: pool.driver.clone(),
                    pool: pool.pool.clone(),
                    device: device.name.clone(),
                };
                if self.facts.claims.ledger().holdings(&id).is_none() {
                    continue;
                }
                let drawn = draws_of(device, &pool.driver);
                for (at, counter) in axes.counters.iter().enumerate() {
                    let left = &mut amounts[axes.classes.len() + at];
                    *left = left.saturating_sub(drawn.get(counter).copied().unwrap_or(0));
                }
            }
        }
    }
}

/// The devices of a slice that a class picks, unless that cannot be judged.
fn rows_of(
    class: &Class,
    published: &Published,
    expressions: &mut allocation::Expressions,
) -> Option<Vec<usize>> {
    let mut rows: Vec<usize> = (0..published.slice.devices.len()).collect();
    for selector in &class.selectors {
        let matches = expressions.matches(selector.as_ref()?, published).ok()?;
        if !matches.failures.is_empty() {
            return None;
        }
        rows.retain(|row| matches.matching.contains(*row));
    }
    Some(rows)
}

/// What a device draws on counters of each name at the least, in all sets together.
fn draws_of(device: &Device, driver: &Arc<str>) -> BTreeMap<Counter, u64> {
    let mut sum: BTreeMap<Counter, u64> = BTreeMap::new();
    for (counter, amount) in device.draws.iter().flat_map(|draw| &draw.counters) {
        let amount = whole_units(amount, false);
        if amount > 0 {
            let known = sum.entry((driver.clone(), counter.clone())).or_default();
            *known = known.saturating_add(amount);
        }
    }
    sum
}

/// An amount in whole whole_units, rounded up or down.
fn whole_units(amount: &Quantity, up: bool) -> u64 {
    let Some(nanos) = amount.nanos() else { return if up { u64::MAX } else { 0 } };
    let whole = if up { nanos.max(0).saturating_add(NANOS - 1) / NANOS } else { nanos.max(0) / NANOS };
    u64::try_from(whole).unwrap_or(u64::MAX)
}
