//! What has been chosen, in whatever order, and what that leaves open to each way.
//!
//! Invariant: rewinding to a mark restores exactly the state at that mark. A device is open to a way only if choosing it breaks no
//! rule now; it may be closed although it breaks none, because the search has refuted it.

use super::bits;
use super::model::Model;
use crate::RESULTS_MAX;
use crate::constraint::{Memory, ParsedConstraint};
use crate::counters::Members;

/// A change, with what it takes to undo it.
#[derive(Debug)]
enum Change {
    Word { at: u32, way: u32, before: u64 },
    Died(u32),
    Chosen { request: u32 },
    Picked { request: u32, device: u32 },
    Left { slot: u32, before: i128 },
    Joined { set: u32, before: Members },
    Capacity { device: u32, at: u32, before: i128 },
    Remembered { rule: u32, before: Memory },
}

/// What has been chosen.
#[derive(Debug)]
pub(crate) struct Board {
    /// The devices that are open to each way, one after the other.
    open: Vec<u64>,
    pub count: Vec<u32>,
    /// Ways that may still be chosen.
    pub alive: Vec<bool>,
    /// The way that was chosen for each request.
    pub chosen: Vec<Option<usize>>,
    /// The devices that each request has.
    pub picks: Vec<Vec<u32>>,
    pub left: Vec<i128>,
    pub members: Vec<Members>,
    /// How many requests have each device.
    pub held: Vec<u32>,
    pub capacity_left: Vec<smallvec::SmallVec<[i128; 2]>>,
    pub memories: Vec<Memory>,
    trail: Vec<Change>,
    /// Ways that lost devices since the last look at them.
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    pub picked: usize,
}

impl Board {
    pub fn new(model: &Model) -> Board {
        Board {
            open: model.ways.iter().flat_map(|way| way.open.iter().copied()).collect(),
            count: model.ways.iter().map(|way| bits::count(&way.open)).collect(),
            alive: vec![true; model.ways.len()],
            chosen: model
                .requests
                .iter()
                .map(|wants| Some(wants.ways.start).filter(|_| wants.ways.len() == 1))
                .collect(),
            picks: vec![Vec::new(); model.requests.len()],
            left: model.counters.left.clone(),
            members: model.counters.sets.iter().map(|set| set.members.clone()).collect(),
            held: vec![0; model.devices.len()],
            capacity_left: model.devices.iter().map(|device| device.capacity_left.clone()).collect(),
            memories: vec![Memory::Empty; model.rules.len()],
            trail: Vec::new(),
            touched: (0..model.ways.len()).collect(),
            is_touched: vec![true; model.ways.len()],
            picked: 0,
        }
    }

    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// The devices that are open to a way.
    pub fn open(&self, model: &Model, way: usize) -> &[u64] {
        &self.open[way * model.words..(way + 1) * model.words]
    }

    /// How many devices a request still needs, if it is satisfied in this way.
    pub fn missing(&self, model: &Model, way: usize) -> u32 {
        let way = &model.ways[way];
        way.need - (self.picks[way.request].len() as u32).min(way.need)
    }

    /// Whether a request has all that it needs.
    pub fn is_done(&self, model: &Model, request: usize) -> bool {
        self.chosen[request].is_some_and(|way| self.missing(model, way) == 0)
    }

    /// The ways in which a request may still be satisfied.
    pub fn ways(&self, model: &Model, request: usize) -> impl Iterator<Item = usize> + '_ {
        let range = match self.chosen[request] {
            Some(way) => way..way + 1,
            None => model.requests[request].ways.clone(),
        };
        range.filter(|way| self.alive[*way])
    }

    /// Whether a way may still be the one in which its request is satisfied, and something is missing.
    pub fn is_possible(&self, model: &Model, way: usize) -> bool {
        let chosen = self.chosen[model.ways[way].request];
        self.alive[way] && chosen.is_none_or(|chosen| chosen == way) && self.missing(model, way) > 0
    }

    /// Closes a device to a way.
    pub fn close(&mut self, model: &Model, way: usize, device: usize) {
        let at = way * model.words + device / 64;
        let bit = 1 << (device % 64);
        if self.open[at] & bit != 0 {
            self.set_word(at, way, self.open[at] & !bit);
        }
    }

    fn set_word(&mut self, at: usize, way: usize, word: u64) {
        let before = std::mem::replace(&mut self.open[at], word);
        self.count[way] -= before.count_ones() - word.count_ones();
        self.trail.push(Change::Word { at: at as u32, way: way as u32, before });
        if !self.is_touched[way] {
            self.is_touched[way] = true;
            self.touched.push(way);
        }
    }

    /// Gives a device that is open to a way to its request, and closes what cannot be chosen beside it.
    pub fn take(&mut self, model: &Model, way: usize, device: usize) {
        let request = model.ways[way].request;
        self.choose(model, way);
        self.picks[request].push(device as u32);
        self.picked += 1;
        self.trail.push(Change::Picked { request: request as u32, device: device as u32 });
        self.close(model, way, device);
        let facet = &model.devices[device];
        if !facet.shareable {
            for other in 0..model.ways.len() {
                if model.exclude(way, other) {
                    self.close(model, other, device);
                }
            }
        }
        self.draw(model, device);
        if facet.shareable {
            self.share(model, way, device);
        }
        self.held[device] += 1;
        self.agree(model, way, device);
    }

    /// Settles on a way to satisfy a request.
    pub fn choose(&mut self, model: &Model, way: usize) {
        let request = model.ways[way].request;
        if self.chosen[request].is_none() {
            self.chosen[request] = Some(way);
            self.trail.push(Change::Chosen { request: request as u32 });
        }
    }

    /// Takes what a device draws, once however many share it.
    fn draw(&mut self, model: &Model, device: usize) {
        let facet = &model.devices[device];
        let shared_already = facet.shareable && self.held[device] > 0;
        if facet.sets.is_empty() || shared_already {
            return;
        }
        if !facet.charged {
            for (slot, amount) in facet.amounts.iter().filter(|(_, amount)| *amount != 0) {
                let before = self.left[*slot as usize];
                self.trail.push(Change::Left { slot: *slot, before });
                self.left[*slot as usize] = before - amount;
            }
        }
        if !facet.settled {
            for (set, groups) in &facet.sets {
                let members = &mut self.members[*set as usize];
                let joined = members.joined_by(groups).unwrap_or(Members::Closed);
                if joined != *members {
                    let before = std::mem::replace(members, joined);
                    self.trail.push(Change::Joined { set: *set, before });
                }
            }
        }
        for (set, _) in &facet.sets {
            for other in &model.on_set[*set as usize] {
                if !self.may_draw(model, *other as usize) {
                    (0..model.ways.len()).for_each(|way| self.close(model, way, *other as usize));
                }
            }
        }
    }

    /// Whether counters and the devices that hold them let a device be chosen.
    fn may_draw(&self, model: &Model, device: usize) -> bool {
        let facet = &model.devices[device];
        let shared_already = facet.shareable && self.held[device] > 0;
        let covered = || facet.amounts.iter().all(|(slot, amount)| *amount <= self.left[*slot as usize]);
        let admitted =
            || facet.sets.iter().all(|(set, groups)| self.members[*set as usize].joined_by(groups).is_some());
        shared_already || (facet.charged || covered()) && (facet.settled || admitted())
    }

    fn share(&mut self, model: &Model, way: usize, device: usize) {
        let Some(taken) = model.ways[way].taken(device) else { return };
        for (at, amount) in taken.iter().enumerate() {
            let before = self.capacity_left[device][at];
            self.trail.push(Change::Capacity { device: device as u32, at: at as u32, before });
            self.capacity_left[device][at] = before - amount;
        }
        for other in &model.devices[device].sharers {
            let wanted = model.ways[*other as usize].taken(device).unwrap_or_default();
            if wanted.iter().zip(&self.capacity_left[device]).any(|(wanted, left)| wanted > left) {
                self.close(model, *other as usize, device);
            }
        }
    }

    /// Closes what does not go with the values of a device.
    fn agree(&mut self, model: &Model, way: usize, device: usize) {
        for (rule, table) in &model.ways[way].rules {
            let agreement = &model.rules[*rule];
            let values = &model.tables[*table].of[device];
            let found = crate::constraint::Found::Values(values.clone());
            let next = self.memories[*rule].with(agreement.rule, &found).unwrap_or(Memory::Alone);
            let known = match &next {
                Memory::Values(known) if agreement.rule == ParsedConstraint::Match => known.clone(),
                _ => values.clone(),
            };
            let before = std::mem::replace(&mut self.memories[*rule], next);
            self.trail.push(Change::Remembered { rule: *rule as u32, before });
            for (member, table) in &agreement.members {
                self.keep_agreeing(model, *member, *table, agreement.rule, &known);
            }
        }
    }

    /// Keeps the devices that have one of these values, or none of them.
    pub fn keep_agreeing(
        &mut self,
        model: &Model,
        way: usize,
        table: usize,
        rule: ParsedConstraint,
        known: &[u32],
    ) {
        let having = &model.tables[table].having;
        for at in 0..model.words {
            let have = known.iter().filter_map(|value| having.get(value)).fold(0, |all, set| all | set[at]);
            let allowed = if rule == ParsedConstraint::Match { have } else { !have };
            let word = self.open[way * model.words + at];
            if word & !allowed != 0 {
                self.set_word(way * model.words + at, way, word & allowed);
            }
        }
    }

    /// Gives up ways with too few devices; the request that has none left, if there is one.
    /// Rules that concern ways which lost devices are noted as stale.
    pub fn settle(&mut self, model: &Model, stale: &mut Vec<usize>) -> Result<(), usize> {
        while let Some(way) = self.touched.pop() {
            self.is_touched[way] = false;
            for (rule, _) in &model.ways[way].rules {
                if !stale.contains(rule) {
                    stale.push(*rule);
                }
            }
            if self.alive[way] && self.count[way] < self.missing(model, way) {
                let request = model.ways[way].request;
                if self.chosen[request].is_some_and(|chosen| chosen != way) {
                    continue;
                }
                self.give_up(model, way)?;
            }
        }
        Ok(())
    }

    /// Gives up a way; its request, if it has no other.
    pub fn give_up(&mut self, model: &Model, way: usize) -> Result<(), usize> {
        let request = model.ways[way].request;
        self.alive[way] = false;
        self.trail.push(Change::Died(way as u32));
        if self.ways(model, request).next().is_none() { Err(request) } else { Ok(()) }
    }

    /// Gives up ways that would need more devices than a claim can hold, whatever else it gets.
    pub fn bound_claims(&mut self, model: &Model) -> Result<(), usize> {
        for claim in 0..model.claims {
            let requests = || (0..model.requests.len()).filter(|at| model.requests[*at].claim == claim);
            let least = |board: &Board, request: usize| {
                board.ways(model, request).map(|way| model.ways[way].need as usize).min().unwrap_or(0)
            };
            let total: usize = requests().map(|request| least(self, request)).sum();
            for request in requests() {
                let others = total - least(self, request);
                let beyond: Vec<usize> = self
                    .ways(model, request)
                    .filter(|way| others + model.ways[*way].need as usize > RESULTS_MAX)
                    .collect();
                beyond.into_iter().try_for_each(|way| self.give_up(model, way))?;
            }
        }
        Ok(())
    }

    /// Takes back everything since a mark.
    pub fn rewind(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop().expect("the trail is longer than the mark") {
                Change::Word { at, way, before } => {
                    let word = &mut self.open[at as usize];
                    self.count[way as usize] += before.count_ones() - word.count_ones();
                    *word = before;
                }
                Change::Died(way) => self.alive[way as usize] = true,
                Change::Chosen { request } => self.chosen[request as usize] = None,
                Change::Picked { request, device } => {
                    self.picks[request as usize].pop();
                    self.picked -= 1;
                    self.held[device as usize] -= 1;
                }
                Change::Left { slot, before } => self.left[slot as usize] = before,
                Change::Joined { set, before } => self.members[set as usize] = before,
                Change::Capacity { device, at, before } => {
                    self.capacity_left[device as usize][at as usize] = before
                }
                Change::Remembered { rule, before } => self.memories[rule as usize] = before,
            }
        }
        self.touched.drain(..).for_each(|way| self.is_touched[way] = false);
    }
}
