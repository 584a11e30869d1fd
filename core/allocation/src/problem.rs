//! The question in numbers: devices by place, requests by index, constraints and counters as tables.
//!
//! A *spot* is a device at its place in the search order. Everything that does not depend on what else is chosen has been
//! decided here once, so the search looks at bits and integers only. Nothing is borrowed from the question, so that a search can be
//! put down and taken up later.

use std::sync::Arc;

use cluster::ledger::Holder;
use cluster::pools::WholePool;
use cluster::published::Published;
use fixedbitset::FixedBitSet;
use gates::Gates;
use model::claim::Toleration;
use model::device::{Device, DeviceId, PoolId};
use model::identity::NodeName;
use model::request_name::RequestName;
use smallvec::SmallVec;

use crate::asked::Asker;
use crate::capacity::Consumption;
use crate::constraint::{ParsedConstraint, ValueTable};
use crate::counters::Counters;
use crate::error::AllocationError;
use crate::refusal::StageCount;

/// The whole question.
#[derive(PartialEq, Debug)]
pub(crate) struct Problem {
    pub spots: Vec<Spot>,
    pub others: Others,
    /// One for each way to satisfy each request, in order.
    pub alternatives: Vec<Alternative>,
    pub requests: Vec<ParsedRequest>,
    pub claims: Vec<ParsedClaim>,
    pub tables: Vec<ValueTable>,
    pub counters: Counters,
    pub node: NodeName,
    pub gates: Gates,
    /// Pools that contradict themselves.
    pub contradictory_pools: Vec<(PoolId, String)>,
    /// Pools of which slices are missing.
    pub gathering_pools: Vec<PoolId>,
}

/// Devices of pools of which no request could get one. They are only counted, as everything else about them changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Others {
    pub devices: usize,
    /// How many of them have to be made ready, declare groups, or do both.
    pub preparing: usize,
    pub grouped: usize,
    pub both: usize,
}

impl Others {
    /// Counts the devices of one more pool.
    pub fn add(&mut self, pool: &WholePool) {
        for device in pool.here.iter().flat_map(|published| &published.slice.devices) {
            let (prepares, groups) = (device.needs_preparation(), device.declares_groups());
            self.devices += 1;
            self.preparing += usize::from(prepares);
            self.grouped += usize::from(groups);
            self.both += usize::from(prepares && groups);
        }
    }

    /// How many are seen with preparation and groups understood, or not.
    pub fn understood(&self, preparation: bool, groups: bool) -> usize {
        match (preparation, groups) {
            (true, true) => self.devices,
            (false, true) => self.devices - self.preparing,
            (true, false) => self.devices - self.grouped,
            (false, false) => self.devices + self.both - self.preparing - self.grouped,
        }
    }
}

/// A device at its place in the search order.
#[derive(Debug)]
pub(crate) struct Spot {
    pub published: Arc<Published>,
    /// Its place in the slice.
    pub row: usize,
    pub id: DeviceId,
    pub pool: u32,
    /// Several claims may hold it, and the feature is on.
    pub shareable: bool,
    /// It has shares already, so its draws on counters are counted.
    pub charged: bool,
    /// Those shares were allocated with the groups that it declares now, so they vouch for further ones.
    pub settled: bool,
    pub draws: SmallVec<[ParsedDraw; 1]>,
    /// What it draws can be counted.
    pub counted: bool,
    /// Of a shareable device: what is left of each capacity, in billionths, in the order of names.
    pub capacity_left: Vec<i128>,
}

impl PartialEq for Spot {
    /// A device that was published again is another one, whatever it says now.
    fn eq(&self, other: &Spot) -> bool {
        let Spot { published, row, id, pool, shareable, charged, settled, draws, counted, capacity_left } =
            self;
        Arc::ptr_eq(published, &other.published)
            && (row, id, pool) == (&other.row, &other.id, &other.pool)
            && (shareable, charged) == (&other.shareable, &other.charged)
            && (settled, counted) == (&other.settled, &other.counted)
            && (draws, capacity_left) == (&other.draws, &other.capacity_left)
    }
}

impl Spot {
    pub fn device(&self) -> &Device {
        &self.published.slice.devices[self.row]
    }
}

/// What a device draws from one counter set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ParsedDraw {
    pub set: u32,
    /// Counters by slot, and how much.
    pub amounts: SmallVec<[(u32, i128); 4]>,
    /// The groups by number, sorted.
    pub groups: SmallVec<[u32; 2]>,
}

/// One way to satisfy a request: all of it, or one of its subrequests.
#[derive(PartialEq, Debug)]
pub(crate) struct Alternative {
    pub class: Arc<str>,
    /// How many configurations the class comes with.
    pub class_configs: usize,
    pub tolerations: Vec<Toleration>,
    pub request: u32,
    /// What it is called.
    pub name: RequestName,
    pub admin: bool,
    /// How many devices.
    pub need: usize,
    /// Every device that matches, if all of them are wanted.
    pub all: Option<Vec<u32>>,
    /// Devices that could be given if nothing else were chosen.
    pub candidates: FixedBitSet,
    /// Devices that end the search when they are looked at.
    pub faulty: FixedBitSet,
    pub faults: Vec<(u32, AllocationError)>,
    /// Of shareable devices: what is taken, sorted by device.
    pub consumption: Vec<(u32, Taken)>,
    /// Constraints that concern it: which, and where the values of devices stand.
    pub constraints: SmallVec<[(u32, u32); 2]>,
    /// How many devices each stage left.
    pub stages: Vec<StageCount>,
    /// Devices that would be candidates if nothing held them, and what does; some of them.
    pub holders: Vec<(DeviceId, Holder)>,
    /// How many more there are.
    pub more_holders: usize,
}

/// What a request takes from a shareable device.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Taken {
    pub amounts: Consumption,
    /// The same in billionths, in the order of names.
    pub nanos: Vec<i128>,
}

impl Alternative {
    /// What is taken from a shareable device.
    pub fn taken(&self, spot: u32) -> Option<&Taken> {
        let at = self.consumption.binary_search_by_key(&spot, |(spot, _)| *spot).ok()?;
        Some(&self.consumption[at].1)
    }

    /// The error that looking at a device ends in.
    pub fn fault(&self, spot: u32) -> Option<&AllocationError> {
        self.faults.iter().find(|(faulty, _)| *faulty == spot).map(|(_, error)| error)
    }
}

/// A request: the alternatives of which one has to succeed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ParsedRequest {
    pub claim: u32,
    pub first_alternative: u32,
    pub alternatives: u32,
    /// Whether they are a list of which the first that is available is taken, even if there is one only.
    pub first_available: bool,
}

impl ParsedRequest {
    /// The alternatives, in order of preference.
    pub fn alternatives(&self) -> std::ops::Range<usize> {
        self.first_alternative as usize..(self.first_alternative + self.alternatives) as usize
    }
}

/// A claim: its requests and constraints.
#[derive(PartialEq, Debug)]
pub(crate) struct ParsedClaim {
    pub asker: Asker,
    /// For each configuration, the requests that it is for.
    pub configs: Vec<Vec<RequestName>>,
    pub first_request: usize,
    pub requests: usize,
    pub constraints: Vec<ParsedConstraint>,
}
