//! The question in a form that knows no order: which requests can have which device, what devices draw, and which requests have to agree.
//!
//! Alternatives, requests and devices have the numbers that they have in the problem. The model owns all that it holds, so a
//! search can be put down and taken up while others change what the question was made of.

use std::collections::BTreeMap;
use std::ops::Range;

use smallvec::SmallVec;

use super::bits::{self, Bits};
use super::bundles::{self, Bundles};
use crate::constraint::{Found, ParsedConstraint, Values};
use crate::counters::Counters;
use crate::problem::{Alternative, Problem, Spot};
use crate::search::kinds::Kinds;

/// All that a search for any solution looks at.
#[derive(Debug)]
pub(crate) struct Model {
    /// How many words a set of devices has.
    pub words: usize,
    /// One for each alternative of each request.
    pub ways: Vec<Way>,
    pub requests: Vec<Wants>,
    pub claims: usize,
    pub devices: Vec<Facet>,
    pub rules: Vec<Agreement>,
    pub tables: Vec<ValuesOf>,
    pub counters: Counters,
    /// The devices that draw on each counter set.
    pub on_set: Vec<Vec<u32>>,
    pub kinds: Kinds,
    /// Counter sets that can be exchanged as a whole for others that are alike.
    pub exchangeable: Vec<bool>,
    pub bundles: Bundles,
}

/// One way to satisfy a request.
#[derive(Debug)]
pub(crate) struct Way {
    pub request: usize,
    pub claim: usize,
    pub need: u32,
    pub admin: bool,
    pub open: Bits,
    /// Some of its devices can be shared.
    pub shares: bool,
    /// Rules that concern it, and the table that tells the values of its devices.
    pub rules: SmallVec<[(usize, usize); 2]>,
    /// What is taken from devices that can be shared, sorted by device.
    takes: Vec<(u32, Amounts)>,
}

/// Amounts of the capacities of a device, in the order of names.
type Amounts = SmallVec<[i128; 2]>;

impl Way {
    /// What is taken from a device that can be shared.
    pub fn taken(&self, device: usize) -> Option<&[i128]> {
        let at = self.takes.binary_search_by_key(&(device as u32), |(device, _)| *device).ok()?;
        Some(&self.takes[at].1)
    }
}

/// A request: the ways of which one has to succeed.
#[derive(Clone, Debug)]
pub(crate) struct Wants {
    pub claim: usize,
    pub ways: Range<usize>,
}

/// What counters and shares see of a device.
#[derive(Debug)]
pub(crate) struct Facet {
    pub shareable: bool,
    pub charged: bool,
    pub settled: bool,
    /// Counters by slot, each once, and how much of it is drawn.
    pub amounts: SmallVec<[(u32, i128); 4]>,
    /// Counter sets, and the groups with which the device joins them.
    pub sets: SmallVec<[(u32, SmallVec<[u32; 2]>); 1]>,
    pub capacity_left: Amounts,
    /// The ways that take a share of it.
    pub sharers: SmallVec<[u32; 4]>,
}

/// A rule about the values of devices.
#[derive(Debug)]
pub(crate) struct Agreement {
    /// Its number in the claim.
    pub index: usize,
    pub rule: ParsedConstraint,
    /// The ways that it concerns, and the table that tells the values of their devices.
    pub members: Vec<(usize, usize)>,
}

/// The values of all devices for an attribute.
#[derive(Debug)]
pub(crate) struct ValuesOf {
    pub of: Vec<Values>,
    pub having: BTreeMap<u32, Bits>,
}

impl Model {
    /// The model of a problem in which the order of devices decides nothing.
    pub fn new(problem: &Problem) -> Model {
        let words = bits::words(problem.spots.len());
        let first_rules: Vec<usize> = problem
            .claims
            .iter()
            .scan(0, |next, claim| Some(std::mem::replace(next, *next + claim.constraints.len())))
            .collect();
        let way = |alternative: &Alternative| {
            let request = alternative.request as usize;
            let claim = problem.requests[request].claim as usize;
            way(problem, alternative, claim, first_rules[claim], words)
        };
        let ways: Vec<Way> = problem.alternatives.iter().map(way).collect();
        let rules = problem.claims.iter().flat_map(|claim| claim.constraints.iter().enumerate());
        let mut rules: Vec<Agreement> =
            rules.map(|(index, rule)| Agreement { index, rule: *rule, members: Vec::new() }).collect();
        let mut devices: Vec<Facet> = problem.spots.iter().map(facet).collect();
        for (number, way) in ways.iter().enumerate() {
            way.rules.iter().for_each(|(rule, table)| rules[*rule].members.push((number, *table)));
            way.takes.iter().for_each(|(device, _)| devices[*device as usize].sharers.push(number as u32));
        }
        let wants = |request: &crate::problem::ParsedRequest| Wants {
            claim: request.claim as usize,
            ways: request.alternatives(),
        };
        let requests: Vec<Wants> = problem.requests.iter().map(wants).collect();
        let mut on_set = vec![Vec::new(); problem.counters.sets.len()];
        let mut exchangeable = vec![problem.alternatives.iter().all(|way| !way.admin); on_set.len()];
        for (number, device) in devices.iter().enumerate() {
            for (set, _) in &device.sets {
                on_set[*set as usize].push(number as u32);
                exchangeable[*set as usize] &= !device.shareable && device.sets.len() == 1;
            }
        }
        let tables = problem.tables.iter().map(|table| values_of(&table.found, words)).collect();
        let bundles = bundles::bundles(&ways, &requests, &rules);
        Model {
            words,
            ways,
            requests,
            claims: problem.claims.len(),
            devices,
            rules,
            tables,
            counters: problem.counters.clone(),
            on_set,
            kinds: Kinds::new(problem),
            exchangeable,
            bundles,
        }
    }

    /// Whether a device draws on counters for each request that has it.
    pub fn is_counted(&self, device: usize) -> bool {
        let facet = &self.devices[device];
        !facet.shareable && !facet.charged
    }

    /// Whether two ways exclude each other from a device that cannot be shared. Admin access is given beside what claims before it
    /// have; what comes after it is kept off.
    pub fn exclude(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.ways[one], &self.ways[other]);
        let later = if one.request > other.request { one } else { other };
        one.claim == other.claim || !later.admin
    }
}

/// Whether a device may end the search, or goes with others only if it comes first.
pub(crate) fn depends_on_order(problem: &Problem) -> bool {
    crate::search::clean_from(problem) > 0
        || problem.alternatives.iter().any(|alternative| {
            alternative.constraints.iter().any(|(_, table)| {
                let found = &problem.tables[*table as usize].found;
                alternative.candidates.ones().any(|spot| !matches!(found[spot], Found::Values(_)))
            })
        })
}

fn way(problem: &Problem, from: &Alternative, claim: usize, first_rule: usize, words: usize) -> Way {
    // A request for all devices can have them only if each of them can be given.
    let given = from
        .all
        .as_ref()
        .is_none_or(|all| !all.is_empty() && all.iter().all(|spot| from.candidates.contains(*spot as usize)));
    let rules = from.constraints.iter().map(|(rule, table)| (first_rule + *rule as usize, *table as usize));
    let open = if given { bits::of(words, from.candidates.ones()) } else { bits::none(words) };
    let shares = bits::ones(&open).any(|spot| problem.spots[spot].shareable);
    Way {
        request: from.request as usize,
        claim,
        need: if given { u32::try_from(from.need).unwrap_or(u32::MAX) } else { u32::MAX },
        admin: from.admin,
        shares,
        open,
        rules: rules.collect(),
        takes: from
            .consumption
            .iter()
            .map(|(spot, taken)| (*spot, Amounts::from_slice(&taken.nanos)))
            .collect(),
    }
}

fn facet(spot: &Spot) -> Facet {
    let mut amounts: SmallVec<[(u32, i128); 4]> = SmallVec::new();
    let mut sets: SmallVec<[(u32, SmallVec<[u32; 2]>); 1]> = SmallVec::new();
    for draw in &spot.draws {
        for (slot, amount) in &draw.amounts {
            match amounts.iter_mut().find(|(known, _)| known == slot) {
                Some((_, known)) => *known += amount,
                None => amounts.push((*slot, *amount)),
            }
        }
        sets.push((draw.set, draw.groups.clone()));
    }
    Facet {
        shareable: spot.shareable,
        charged: spot.charged,
        settled: spot.settled,
        amounts,
        sets,
        capacity_left: Amounts::from_slice(&spot.capacity_left),
        sharers: SmallVec::new(),
    }
}

fn values_of(found: &[Found], words: usize) -> ValuesOf {
    let of: Vec<Values> = found
        .iter()
        .map(|found| match found {
            Found::Values(values) => values.clone(),
            Found::Absent | Found::Alone | Found::Broken(_) => Values::new(),
        })
        .collect();
    let mut having: BTreeMap<u32, Bits> = BTreeMap::new();
    for (device, values) in of.iter().enumerate() {
        for value in values {
            bits::insert(having.entry(*value).or_insert_with(|| bits::none(words)), device);
        }
    }
    ValuesOf { of, having }
}
