//! The question in numbers: devices by place, requests by index, constraints and counters as tables.
//!
//! A *spot* is a device at its place in the search order. Everything that does not depend on what else is chosen has been
//! decided here once, so the search looks at bits and integers only.

use cluster::ledger::Holdings;
use cluster::published::Published;
use fixedbitset::FixedBitSet;
use model::claim::{Ask, Class};
use model::device::{Device, DeviceId};
use model::request_name::RequestName;
use smallvec::SmallVec;

use crate::asked::Asked;
use crate::capacity::Consumption;
use crate::constraint::{ParsedConstraint, ValueTable};
use crate::counters::Counters;
use crate::error::AllocationError;
use crate::refusal::StageCount;

/// The whole question.
#[derive(Debug)]
pub(crate) struct Problem<'q> {
    pub spots: Vec<Spot<'q>>,
    /// One for each way to satisfy each request, in order.
    pub alternatives: Vec<Alternative<'q>>,
    pub requests: Vec<ParsedRequest>,
    pub claims: Vec<ParsedClaim<'q>>,
    pub tables: Vec<ValueTable>,
    pub counters: Counters,
}

/// A device at its place in the search order.
#[derive(Debug)]
pub(crate) struct Spot<'q> {
    pub published: &'q Published,
    /// Its place in the slice.
    pub row: usize,
    pub device: &'q Device,
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
    pub holdings: Option<&'q Holdings>,
    /// Of a shareable device: what is left of each capacity, in billionths, in the order of names.
    pub capacity_left: Vec<i128>,
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
#[derive(Debug)]
pub(crate) struct Alternative<'q> {
    pub ask: &'q Ask,
    pub class: &'q Class,
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
    /// Devices that would be candidates if nobody held them.
    pub wanted_but_taken: FixedBitSet,
}

/// What a request takes from a shareable device.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub amounts: Consumption,
    /// The same in billionths, in the order of names.
    pub nanos: Vec<i128>,
}

impl Alternative<'_> {
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
#[derive(Clone, Copy, Debug)]
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
#[derive(Debug)]
pub(crate) struct ParsedClaim<'q> {
    pub asked: Asked<'q>,
    pub first_request: usize,
    pub requests: usize,
    pub constraints: Vec<ParsedConstraint>,
}
