//! Every device with its state and its holders, and what is left of the counters that devices draw on.
//!
//! Invariant: a device is told once, whatever reaches it. Rows are in the order of nodes, drivers, pools and names, and equal
//! facts give equal rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use allocation::{Expressions, Stock, Supply};
use cluster::ledger::Holdings;
use cluster::pools::PoolView;
use cluster::preparation::{Failed, Progress};
use cluster::published::Published;
use gates::Gate;
use model::claim::ClaimId;
use model::claim_use::ClaimUser;
use model::code::Code;
use model::codes;
use model::device::{Device, DeviceId, PoolId, Reach, Taint, TaintEffect};
use model::quantity::Quantity;
use model::request_name::RequestName;
use model::timestamp::Timestamp;

use crate::natural::natural;
use crate::observed::{Namespaces, Observed};
use crate::place::DevicePlace;

/// The devices of a cluster.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inventory {
    /// Every device.
    pub devices: Vec<DeviceRow>,
    /// Every counter of every pool.
    pub counters: Vec<CounterRow>,
}

/// A device.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceRow {
    /// Which device it is.
    pub id: DeviceId,
    /// The nodes from which it can be used.
    pub place: DevicePlace,
    /// Its state.
    pub state: DeviceState,
    /// The claims that hold it, wholly or in part, and those with administrative access.
    pub holders: Vec<HolderRow>,
    /// Of a device that can be shared: what is left of each capacity, and all of it.
    pub left: BTreeMap<Arc<str>, (Quantity, Quantity)>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// The classes whose selectors pick it.
    pub classes: Vec<Arc<str>>,
    /// The counter sets that it draws on: partitions of one device draw on the same.
    pub counter_sets: Vec<Arc<str>>,
}

/// How a device stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceState {
    /// No claim holds it, and a claim could get it.
    Free,
    /// A claim holds it, or claims hold shares of it and leave nothing.
    Allocated,
    /// Claims hold shares of it, and some is left.
    PartlyUsed,
    /// A claim holds it, and these conditions are not reported yet.
    AwaitingReadiness(Vec<Arc<str>>),
    /// A claim holds it, and a failure was reported.
    Failed(Failed),
    /// No claim holds it, and a taint keeps claims off.
    Tainted,
    /// No claim holds it, and other devices leave too little of its counters.
    CountersUsedUp,
    /// No claim holds it, and devices in other compatibility groups hold its counter set.
    IncompatibleGroups,
    /// No claim holds it, and some slices of its pool are not there.
    PoolIncomplete {
        /// How many slices there are.
        seen: usize,
        /// How many there should be.
        expected: i64,
    },
    /// No claim holds it, and its pool contradicts itself.
    PoolInvalid(String),
    /// A claim holds it, and no slice has it.
    NotPublished,
    /// No claim that may be read holds it, and another may.
    Unknown,
}

/// A claim that holds a device.
#[derive(Clone, PartialEq, Debug)]
pub struct HolderRow {
    /// The claim and its users; nothing if its namespace is not to be named.
    pub named: Option<NamedHolder>,
    /// It has administrative access, and holds nothing.
    pub admin: bool,
    /// Of a share: how much it takes of each capacity.
    pub consumed: BTreeMap<Arc<str>, Quantity>,
}

/// A claim by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedHolder {
    /// The claim.
    pub claim: ClaimId,
    /// Its requests that the device was allocated for.
    pub requests: Vec<RequestName>,
    /// The objects for which the claim is reserved.
    pub users: Vec<ClaimUser>,
    /// When it got the device, if that is known.
    pub since: Option<Timestamp>,
}

/// A counter of a pool.
#[derive(Clone, PartialEq, Debug)]
pub struct CounterRow {
    /// The pool.
    pub pool: PoolId,
    /// The counter set.
    pub set: Arc<str>,
    /// The counter.
    pub counter: Arc<str>,
    /// What is left; below zero if more was allocated than there is.
    pub left: Quantity,
    /// All of it.
    pub value: Quantity,
}

codes! { DeviceState, STATES:
    Free => "Free": "No claim holds the device, and a claim could get it.",
        "Nothing.";
    Allocated => "Allocated": "A claim holds the device, or claims hold shares of it and leave nothing.",
        "Nothing.";
    PartlyUsed => "PartlyUsed": "Claims hold shares of the device, and some of it is left.",
        "Nothing.";
    AwaitingReadiness(_) => "AwaitingReadiness": "A claim holds the device, and binding conditions are not reported yet.",
        "Wait; if it stays so, check the controller that prepares the device.";
    Failed(_) => "Failed": "A claim holds the device, and a binding failure was reported.",
        "Read the conditions in the status of the claim.";
    Tainted => "Tainted": "No claim holds the device, and a taint keeps claims off.",
        "Remove the taint, or tolerate it in the request.";
    CountersUsedUp => "CountersUsedUp": "No claim holds the device, and other partitions leave too little of its counters.",
        "Free other partitions of the same device.";
    IncompatibleGroups => "IncompatibleGroups": "No claim holds the device, and allocated partitions are in other compatibility groups.",
        "Free other partitions of the same device.";
    PoolIncomplete { .. } => "PoolIncomplete": "No claim holds the device, and some ResourceSlices of its pool are missing.",
        "Check the driver that publishes the pool.";
    PoolInvalid(_) => "PoolInvalid": "No claim holds the device, and the ResourceSlices of its pool contradict each other.",
        "Check the driver that publishes the pool.";
    NotPublished => "NotPublished": "A claim holds the device, and no ResourceSlice has it.",
        "Check whether the device or its driver is gone.";
    Unknown => "Unknown": "No claim that you may read holds the device, and another may.",
        "Ask for permission to list ResourceClaims in all namespaces.";
}

impl DeviceState {
    /// All codes.
    #[must_use]
    pub fn catalogue() -> &'static [Code] {
        STATES
    }

    /// What more there is to say.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            DeviceState::AwaitingReadiness(missing) => {
                let names: Vec<&str> = missing.iter().map(AsRef::as_ref).collect();
                Some(format!("{} not reported yet", names.join(", ")))
            }
            DeviceState::Failed(failed) => Some(failed.to_string()),
            DeviceState::PoolIncomplete { seen, expected } => Some(format!("{seen} of {expected} slices")),
            DeviceState::PoolInvalid(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// Whether a claim holds it, wholly or in part.
    #[must_use]
    pub fn is_held(&self) -> bool {
        match self {
            DeviceState::Allocated
            | DeviceState::PartlyUsed
            | DeviceState::AwaitingReadiness(_)
            | DeviceState::Failed(_)
            | DeviceState::NotPublished => true,
            DeviceState::Free
            | DeviceState::Tainted
            | DeviceState::CountersUsedUp
            | DeviceState::IncompatibleGroups
            | DeviceState::PoolIncomplete { .. }
            | DeviceState::PoolInvalid(_)
            | DeviceState::Unknown => false,
        }
    }
}

impl fmt::Display for DeviceState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            DeviceState::Free => "free",
            DeviceState::Allocated => "allocated",
            DeviceState::PartlyUsed => "partly used",
            DeviceState::AwaitingReadiness(_) => "waiting for readiness",
            DeviceState::Failed(_) => "failed",
            DeviceState::Tainted => "tainted",
            DeviceState::CountersUsedUp => "counters used up",
            DeviceState::IncompatibleGroups => "incompatible groups",
            DeviceState::PoolIncomplete { .. } => "pool incomplete",
            DeviceState::PoolInvalid(_) => "pool invalid",
            DeviceState::NotPublished => "not published",
            DeviceState::Unknown => "unknown",
        })
    }
}

/// Every device of a cluster.
#[must_use]
pub fn inventory(observed: &Observed<'_>) -> Inventory {
    let facts = observed.facts;
    rows(observed, facts.slices.pools(facts.gates), |_| true)
}

/// The devices of some pools: the same rows that all devices of the cluster have of these.
#[must_use]
pub fn inventory_of(observed: &Observed<'_>, pools: &BTreeSet<PoolId>) -> Inventory {
    let facts = observed.facts;
    let views = pools.iter().filter_map(|pool| facts.slices.pool_of(pool, facts.gates));
    rows(observed, views, |pool| pools.contains(pool))
}

fn rows<'o>(
    observed: &'o Observed<'o>,
    pools: impl Iterator<Item = (PoolView, Vec<&'o Arc<Published>>)>,
    is_wanted: impl Fn(&PoolId) -> bool,
) -> Inventory {
    let facts = observed.facts;
    let mut census = Census { observed, expressions: Expressions::default(), admins: admins(observed) };
    let mut found = Inventory::default();
    let mut published = BTreeSet::new();
    for (view, slices) in pools {
        let mut standing = match &view {
            PoolView::Whole(pool) => {
                let stock = Stock::of(pool, facts.claims.ledger(), facts.gates);
                let sets = pool.counters.iter().flat_map(|slice| &slice.slice.counter_sets);
                let values: BTreeMap<_, _> = sets.map(|set| (&set.name, &set.counters)).collect();
                found.counters.extend(stock.left().filter_map(|(set, counter, left)| {
                    let value = values.get(set)?.get(counter)?;
                    let (set, counter) = (set.clone(), counter.clone());
                    Some(CounterRow {
                        pool: pool.id.clone(),
                        set,
                        counter,
                        left: left_of(value, left),
                        value: value.clone(),
                    })
                }));
                Standing::Whole(stock)
            }
            PoolView::Gathering { seen, expected, .. } => {
                Standing::Not(DeviceState::PoolIncomplete { seen: *seen, expected: *expected })
            }
            PoolView::Contradictory { reason, .. } => {
                Standing::Not(DeviceState::PoolInvalid(reason.to_string()))
            }
        };
        for slice in slices {
            for row in census.rows(slice, &mut standing) {
                published.insert(row.id.clone());
                found.devices.push(row);
            }
        }
    }
    found.devices.extend(census.unpublished(&published, is_wanted));
    found.devices.sort_by(|one, other| {
        let names = |row: &DeviceRow| [row.id.driver.clone(), row.id.pool.clone(), row.id.device.clone()];
        let by_name =
            || names(one).iter().zip(&names(other)).map(|(a, b)| natural(a, b)).find(|order| order.is_ne());
        one.place.order(&other.place).then_with(|| by_name().unwrap_or(std::cmp::Ordering::Equal))
    });
    found
}

/// The claims with administrative access to each device.
fn admins(observed: &Observed<'_>) -> BTreeMap<DeviceId, BTreeSet<ClaimId>> {
    let mut admins: BTreeMap<DeviceId, BTreeSet<ClaimId>> = BTreeMap::new();
    for (claim, used) in observed.uses {
        for one in used.devices.iter().filter(|one| one.admin) {
            admins.entry(one.device.clone()).or_default().insert(claim.clone());
        }
    }
    admins
}

/// What remains of a value, in its own format.
fn left_of(value: &Quantity, left_nanos: i128) -> Quantity {
    let drawn = value.nanos().unwrap_or(left_nanos).saturating_sub(left_nanos);
    let (drawn, scale) = if drawn % 1_000_000_000 == 0 { (drawn / 1_000_000_000, 0) } else { (drawn, -9) };
    let drawn = i64::try_from(drawn).unwrap_or(if drawn < 0 { i64::MIN + 1 } else { i64::MAX });
    value - &Quantity::from_scaled(drawn, scale)
}

/// How a pool stands, as far as its devices that no claim holds are concerned.
enum Standing {
    Whole(Stock),
    Not(DeviceState),
}

/// Looks at devices one by one.
struct Census<'c> {
    observed: &'c Observed<'c>,
    expressions: Expressions,
    admins: BTreeMap<DeviceId, BTreeSet<ClaimId>>,
}

impl Census<'_> {
    /// The devices of a slice.
    fn rows(&mut self, slice: &Arc<Published>, standing: &mut Standing) -> Vec<DeviceRow> {
        let classes = self.classes(slice);
        let facts = self.observed.facts;
        let one_place = match slice.slice.devices.first() {
            Some(device) if slice.slice.reach != Reach::PerDevice => {
                Some(DevicePlace::of(&slice.slice, device, facts))
            }
            _ => None,
        };
        let devices = slice.slice.devices.iter().zip(classes);
        let row = |(device, classes): (&Device, Vec<Arc<str>>)| {
            let PoolId { driver, pool } = slice.slice.pool.clone();
            let id = DeviceId { driver, pool, device: device.name.clone() };
            let holdings = facts.claims.ledger().holdings(&id);
            let left = left(device, holdings);
            let state = match holdings {
                Some(holdings) => self.held_state(&id, holdings, &left),
                None => self.free_state(device, standing),
            };
            let place = one_place.clone().unwrap_or_else(|| DevicePlace::of(&slice.slice, device, facts));
            let (holders, taints) = (self.holders(&id, holdings), device.taints.clone());
            let mut counter_sets: Vec<Arc<str>> =
                device.draws.iter().map(|draw| draw.counter_set.clone()).collect();
            counter_sets.dedup();
            DeviceRow { id, place, state, holders, left, taints, classes, counter_sets }
        };
        devices.map(row).collect()
    }

    /// The classes that pick each device of a slice.
    fn classes(&mut self, slice: &Published) -> Vec<Vec<Arc<str>>> {
        let mut picked = vec![Vec::new(); slice.slice.devices.len()];
        for (name, class) in &self.observed.facts.classes {
            // A selector that cannot be evaluated picks nothing here; a claim that needs it says what is wrong.
            let matches = class.selectors.iter().map(|expression| {
                expression.as_ref().and_then(|expression| self.expressions.matches(expression, slice).ok())
            });
            let Some(matches) = matches.collect::<Option<Vec<_>>>() else { continue };
            for (at, classes) in picked.iter_mut().enumerate() {
                if matches.iter().all(|one| one.matching.contains(at)) {
                    classes.push(name.clone());
                }
            }
        }
        picked
    }

    /// The state of a device that claims hold.
    fn held_state(
        &self,
        id: &DeviceId,
        holdings: &Holdings,
        left: &BTreeMap<Arc<str>, (Quantity, Quantity)>,
    ) -> DeviceState {
        let claims = &self.observed.facts.claims;
        let holders = holdings.iter().filter_map(|holding| claims.get(holding.holder.claim()?));
        let preparations = holders.filter_map(|claim| claim.preparation.as_deref());
        let progress: Vec<&Progress> =
            preparations.flat_map(|one| &one.devices).filter(|one| one.device == *id).collect();
        if let Some(failed) = progress.iter().find_map(|one| one.failed.as_ref()) {
            return DeviceState::Failed(failed.clone());
        }
        let missing: BTreeSet<&Arc<str>> = progress.iter().flat_map(|one| &one.missing).collect();
        if !missing.is_empty() {
            return DeviceState::AwaitingReadiness(missing.into_iter().cloned().collect());
        }
        let is_open = |(left, all): &(Quantity, Quantity)| left.signum() > 0 || all.is_zero();
        if !holdings.is_dedicated() && left.values().all(is_open) {
            DeviceState::PartlyUsed
        } else {
            DeviceState::Allocated
        }
    }

    /// The state of a device that no known claim holds.
    fn free_state(&self, device: &Device, standing: &mut Standing) -> DeviceState {
        let keeps_off = |taint: &Taint| !matches!(taint.effect, TaintEffect::Told(_));
        let heeds_taints = self.observed.facts.gates.enabled(Gate::DRADeviceTaints);
        match standing {
            Standing::Not(state) => state.clone(),
            Standing::Whole(_) if heeds_taints && device.taints.iter().any(keeps_off) => DeviceState::Tainted,
            Standing::Whole(stock) => match stock.supply(device) {
                Supply::UsedUp => DeviceState::CountersUsedUp,
                Supply::Incompatible => DeviceState::IncompatibleGroups,
                Supply::Enough if *self.observed.claims != Namespaces::All => DeviceState::Unknown,
                Supply::Enough => DeviceState::Free,
            },
        }
    }

    /// The claims that hold a device, and those that look after it.
    fn holders(&self, id: &DeviceId, holdings: Option<&Holdings>) -> Vec<HolderRow> {
        let mut consumed: BTreeMap<&ClaimId, BTreeMap<Arc<str>, Quantity>> = BTreeMap::new();
        for holding in holdings.into_iter().flat_map(Holdings::iter) {
            let Some(claim) = holding.holder.claim() else { continue };
            let sums = consumed.entry(claim).or_default();
            for (name, amount) in &holding.consumed {
                *sums.entry(name.clone()).or_default() += amount;
            }
        }
        let row = |claim: &ClaimId, admin: bool, consumed| HolderRow {
            named: self.named(claim, id),
            admin,
            consumed,
        };
        let holders = consumed.into_iter().map(|(claim, consumed)| row(claim, false, consumed));
        let admins = self.admins.get(id).into_iter().flatten();
        holders.chain(admins.map(|claim| row(claim, true, BTreeMap::new()))).collect()
    }

    /// A claim with its users, if it is to be named.
    fn named(&self, claim: &ClaimId, device: &DeviceId) -> Option<NamedHolder> {
        if !self.observed.named.contains(&claim.namespace) {
            return None;
        }
        let used = self.observed.uses.get(claim);
        let requests = used.into_iter().flat_map(|used| &used.devices).filter(|one| one.device == *device);
        Some(NamedHolder {
            claim: claim.clone(),
            requests: requests.map(|one| one.request.clone()).collect(),
            users: used.map(|used| used.users.clone()).unwrap_or_default(),
            since: used.and_then(|used| used.since),
        })
    }

    /// Devices that claims hold and that no slice has.
    fn unpublished(
        &self,
        published: &BTreeSet<DeviceId>,
        is_wanted: impl Fn(&PoolId) -> bool,
    ) -> Vec<DeviceRow> {
        let facts = self.observed.facts;
        let held = self.observed.uses.keys().flat_map(|claim| facts.claims.held(claim));
        let gone: BTreeSet<DeviceId> = held
            .map(|held| held.device)
            .filter(|device| !published.contains(device) && is_wanted(&device.pool_id()))
            .collect();
        let row = |id: DeviceId| {
            let holders = self.holders(&id, facts.claims.ledger().holdings(&id));
            let place = DevicePlace::Nodes(BTreeSet::new());
            let (left, taints, classes, counter_sets) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
            DeviceRow {
                id,
                place,
                state: DeviceState::NotPublished,
                holders,
                left,
                taints,
                classes,
                counter_sets,
            }
        };
        gone.into_iter().map(row).collect()
    }
}

/// What is left of the capacities of a device that can be shared.
fn left(device: &Device, holdings: Option<&Holdings>) -> BTreeMap<Arc<str>, (Quantity, Quantity)> {
    let capacities = device.capacity.iter().filter(|_| device.shareable);
    let row = |(name, capacity): (&Arc<str>, &model::device::Capacity)| {
        let mut left = capacity.value.clone();
        for holding in holdings.into_iter().flat_map(Holdings::iter) {
            if let Some(amount) = holding.consumed.get(name) {
                left -= amount;
            }
        }
        (name.clone(), (left, capacity.value.clone()))
    };
    capacities.map(row).collect()
}
