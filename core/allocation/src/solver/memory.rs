//! States from which nothing succeeded, however they were reached.
//!
//! A state is remembered by what can still make a difference: which bundles of requests are untouched, by kind, and what those
//! that have begun have; which devices are gone, by kind; what is left of counters and capacities. The whole state is kept,
//! not a hash of it: two states that only look alike would lose a solution.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bits;
use super::board::Board;
use super::model::Model;
use crate::constraint::Memory;
use crate::search::kinds::{push_amount, push_members};

/// How many words are kept; beyond that the search goes on without learning.
const WORDS_MAX: usize = 16 << 20;

/// The states that failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    known: FxHashSet<Box<[u64]>>,
    words: usize,
    contents: FxHashMap<Box<[u64]>, u64>,
    key: Vec<u64>,
    scratch: Vec<u64>,
    lists: Vec<Vec<u64>>,
}

impl Failures {
    /// Whether the present state failed before.
    pub fn contains(&mut self, model: &Model, board: &Board, useful: &[u64]) -> bool {
        if self.known.is_empty() {
            return false;
        }
        self.write(model, board, useful);
        self.known.contains(&self.key[..])
    }

    /// Remembers that the present state failed.
    pub fn insert(&mut self, model: &Model, board: &Board, useful: &[u64]) {
        if self.words < WORDS_MAX {
            self.write(model, board, useful);
            self.words += self.key.len() + 4;
            self.known.insert(self.key.as_slice().into());
        }
    }

    fn write(&mut self, model: &Model, board: &Board, useful: &[u64]) {
        self.key.clear();
        self.write_bundles(model, board);
        self.write_devices(model, board, useful);
    }

    /// What is still wanted. How many devices a claim holds decides whether ways are left to it, if there are several.
    fn write_bundles(&mut self, model: &Model, board: &Board) {
        let key = &mut self.key;
        for alike in &model.bundles.alike {
            let untouched = |bundle: &&usize| {
                let mut requests = model.bundles.requests[**bundle].iter();
                requests.all(|request| board.picks[*request].is_empty())
            };
            key.push(alike.iter().filter(untouched).count() as u64);
        }
        for (number, requests) in model.bundles.requests.iter().enumerate() {
            let begun = requests.iter().any(|request| !board.picks[*request].is_empty());
            if !begun || requests.iter().all(|request| board.is_done(model, *request)) {
                continue;
            }
            key.push(u64::MAX - number as u64);
            for request in requests {
                let chosen = board.chosen[*request].filter(|_| !board.picks[*request].is_empty());
                key.extend([chosen.map_or(0, |way| way as u64 + 1), board.picks[*request].len() as u64]);
                let way = chosen.filter(|way| board.missing(model, *way) > 0 && model.ways[*way].shares);
                if way.is_some() {
                    let start = key.len();
                    key.extend(board.picks[*request].iter().map(|device| u64::from(*device)));
                    key[start..].sort_unstable();
                }
                for (rule, _) in model.requests[*request].ways.clone().flat_map(|way| &model.ways[way].rules)
                {
                    match &board.memories[*rule] {
                        Memory::Empty => key.push(0),
                        Memory::Alone => key.push(1),
                        Memory::Values(values) => {
                            key.push(2 + values.len() as u64);
                            key.extend(values.iter().map(|value| u64::from(*value)));
                        }
                    }
                }
            }
        }
        if model.bundles.claims_matter {
            for claim in 0..model.claims {
                let of = (0..model.requests.len()).filter(|request| model.requests[*request].claim == claim);
                key.push(of.map(|request| board.picks[request].len() as u64).sum());
            }
        }
    }

    /// What is gone. Counter sets that are alike can be exchanged, so they are written in order of what they are like.
    fn write_devices(&mut self, model: &Model, board: &Board, useful: &[u64]) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.lists.resize(model.on_set.len() + 1, Vec::new());
        let start = self.key.len();
        self.key.push(0);
        for device in (0..board.held.len()).filter(|device| board.held[*device] > 0) {
            if !bits::contains(useful, device) {
                continue;
            }
            let facet = &model.devices[device];
            let base = u64::from(model.kinds.base[device]);
            if facet.shareable {
                self.scratch.clear();
                self.scratch.push(base);
                self.scratch.push(if facet.sets.is_empty() { 0 } else { device as u64 + 1 });
                board.capacity_left[device].iter().for_each(|left| push_amount(&mut self.scratch, *left));
                let number = numbered(&mut self.contents, &self.scratch);
                self.key.push(number << 1 | 1);
            } else {
                let set = model.kinds.set[device].map_or(0, |set| set as usize + 1);
                self.lists[set].push(base << 8 | u64::from(board.held[device].min(255)));
            }
        }
        self.key[start + 1..].sort_unstable();
        self.key[start] = (self.key.len() - start) as u64;
        self.lists.iter_mut().for_each(|list| list.sort_unstable());
        self.key.push(self.lists[0].len() as u64);
        self.key.extend_from_slice(&self.lists[0]);
        let start = self.key.len();
        for (number, set) in model.counters.sets.iter().enumerate() {
            let content = &mut self.scratch;
            content.clear();
            if !model.on_set[number].iter().any(|device| bits::contains(useful, *device as usize)) {
                continue;
            }
            content.push(u64::from(model.kinds.of_set[number]));
            if !model.exchangeable[number] {
                content.push(number as u64);
            }
            board.left[set.slots.clone()].iter().for_each(|left| push_amount(content, *left));
            push_members(content, &board.members[number]);
            content.extend_from_slice(&self.lists[number + 1]);
            let number = numbered(&mut self.contents, content);
            self.key.push(number);
        }
        self.key[start..].sort_unstable();
    }
}

fn numbered(known: &mut FxHashMap<Box<[u64]>, u64>, content: &[u64]) -> u64 {
    match known.get(content) {
        Some(number) => *number,
        None => {
            let next = known.len() as u64;
            known.insert(content.into(), next);
            next
        }
    }
}
