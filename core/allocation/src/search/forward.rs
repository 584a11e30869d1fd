//! Forward checks: is there still enough of everything for what is still to be satisfied?
//!
//! Each check drops some of the rules and asks whether even then too little is left. So a branch that is cut has no
//! solution; a branch that is not cut may have none either.

use fixedbitset::FixedBitSet;

use super::cuts::Cut;
use super::{Miss, Search, Slot};
use crate::constraint::{Found, Memory, ParsedConstraint};
use crate::problem::Alternative;
use crate::refusal::{Stage, StageCount};

/// Requests are told apart by a bit each; those beyond are not checked together.
const DEMANDS_MAX: usize = 64;

/// What one request still needs, and the devices that could be given.
pub(super) struct Demand {
    pub alternative: usize,
    pub need: usize,
    pub open: FixedBitSet,
}

/// Why what is left cannot suffice: the request that goes short, and how many devices it could have.
pub(super) struct Shortage {
    pub alternative: usize,
    pub found: usize,
    /// What stands in the way beyond what each device by itself shows, and how many devices it leaves.
    pub stage_count: Option<StageCount>,
}

/// Devices that were held against the counters in the present state, so that many requests ask about each once.
#[derive(Default)]
struct Judged {
    all: FixedBitSet,
    refused: FixedBitSet,
}

impl Search {
    /// Whether what is left may suffice for the rest of an alternative and for all requests after it.
    pub(super) fn can_still_fit(&mut self, slot: Slot) -> bool {
        let mut demands = Vec::new();
        // What the alternative has already counts for it, which those that look at demands do not see.
        let with_taken = |mut short: Shortage| {
            short.found += if short.alternative == slot.alternative { slot.taken } else { 0 };
            short
        };
        let short = self.collect(slot, &mut demands).or_else(|| {
            let together = self.unmatchable(&demands).or_else(|| self.overdrawing(&demands));
            together.or_else(|| self.short_together(&demands)).map(with_taken)
        });
        let Some(Shortage { alternative, found, stage_count }) = short else { return true };
        let depth = self.state.chosen.len();
        if self.miss.as_ref().is_none_or(|(deepest, _)| *deepest < depth) {
            let mut stages = self.dynamic_stages(alternative);
            stages.extend(stage_count);
            self.miss = Some((depth, Miss { alternative, found, stages }));
        }
        false
    }

    /// Collects what is needed; the request that goes short by itself, if one does.
    fn collect(&self, slot: Slot, demands: &mut Vec<Demand>) -> Option<Shortage> {
        let alternative = &self.problem.alternatives[slot.alternative];
        let mut judged = Judged::default();
        let mut open = self.open_to(slot.alternative, &mut judged);
        let need = match &alternative.all {
            Some(all) => {
                let mut rest = FixedBitSet::with_capacity(open.len());
                all[slot.taken..].iter().for_each(|spot| rest.insert(*spot as usize));
                open.intersect_with(&rest);
                alternative.need - slot.taken
            }
            None => {
                open.remove_range(..slot.start.min(open.len()));
                alternative.need - slot.taken
            }
        };
        if self.cuts.has(Cut::Candidates) && open.count_ones(..) < need {
            let found = slot.taken + open.count_ones(..);
            return Some(Shortage { alternative: slot.alternative, found, stage_count: None });
        }
        demands.push(Demand { alternative: slot.alternative, need, open });
        for request in &self.problem.requests[slot.request + 1..] {
            let mut best: Option<(usize, usize)> = None;
            let mut any = false;
            for alternative in request.alternatives() {
                let known = &self.problem.alternatives[alternative];
                let open = self.open_to(alternative, &mut judged);
                let count = open.count_ones(..);
                let enough = count >= known.need && !known.all.as_ref().is_some_and(Vec::is_empty);
                if enough || !self.cuts.has(Cut::Candidates) {
                    any = true;
                    if request.alternatives == 1 && known.need > 0 {
                        demands.push(Demand { alternative, need: known.need, open });
                    }
                } else if best.is_none_or(|(_, most)| count > most) {
                    best = Some((alternative, count));
                }
            }
            if !any {
                let (alternative, found) = best.unwrap_or((request.first_alternative as usize, 0));
                return Some(Shortage { alternative, found, stage_count: None });
            }
        }
        None
    }

    /// The devices that could still be given for an alternative, one at a time.
    fn open_to(&self, alternative: usize, judged: &mut Judged) -> FixedBitSet {
        let known = &self.problem.alternatives[alternative];
        let mut open = known.candidates.clone();
        let present = self.is_in_present_claim(known);
        if !known.admin {
            open.difference_with(&self.state.picked);
        } else if present {
            open.difference_with(&self.state.picked_here);
        }
        if !self.problem.counters.sets.is_empty() {
            self.judge(&open, judged);
            open.difference_with(&judged.refused);
        }
        if present {
            for (constraint, table) in &known.constraints {
                self.keep_allowed(*constraint, *table, &mut open);
            }
        }
        open
    }

    /// Holds devices against the counters and the devices that hold them.
    fn judge(&self, open: &FixedBitSet, judged: &mut Judged) {
        judged.all.grow(open.len());
        judged.refused.grow(open.len());
        let blocked = |cut: Cut, fits: bool| self.cuts.has(cut) && !fits;
        for spot in open.difference(&judged.all) {
            if blocked(Cut::Left, self.state.counters_cover(spot as u32))
                || blocked(Cut::Groups, self.state.groups_admit(spot as u32))
            {
                judged.refused.insert(spot);
            }
        }
        judged.all.union_with(open);
    }

    fn is_in_present_claim(&self, alternative: &Alternative) -> bool {
        self.problem.requests[alternative.request as usize].claim as usize == self.state.claim()
    }

    /// Keeps the devices that a constraint of the present claim still allows.
    fn keep_allowed(&self, constraint: u32, table: u32, open: &mut FixedBitSet) {
        let table = &self.problem.tables[table as usize];
        let rule = self.problem.claims[self.state.claim()].constraints[constraint as usize];
        match (&self.state.memories[constraint as usize], rule) {
            (Memory::Empty, _) | (Memory::Alone, ParsedConstraint::Distinct) => {}
            (Memory::Alone, ParsedConstraint::Match) => open.clear(),
            (Memory::Values(values), ParsedConstraint::Match) => {
                let mut allowed = FixedBitSet::with_capacity(open.len());
                values.iter().filter_map(|value| table.having.get(value)).for_each(|having| {
                    allowed.union_with(having);
                });
                open.intersect_with(&allowed);
            }
            (Memory::Values(values), ParsedConstraint::Distinct) => {
                values.iter().filter_map(|value| table.having.get(value)).for_each(|having| {
                    open.difference_with(having);
                });
            }
        }
    }

    /// A match constraint without a value that enough devices share, or a distinction without enough values.
    fn unmatchable(&self, demands: &[Demand]) -> Option<Shortage> {
        for (claim, known) in self.problem.claims.iter().enumerate() {
            for (constraint, rule) in known.constraints.iter().enumerate() {
                let concerned: Vec<(&Demand, u32)> = demands
                    .iter()
                    .filter_map(|demand| {
                        let alternative = &self.problem.alternatives[demand.alternative];
                        let of = self.problem.requests[alternative.request as usize].claim as usize;
                        let found =
                            alternative.constraints.iter().find(|(index, _)| *index as usize == constraint);
                        found.filter(|_| of == claim).map(|(_, table)| (demand, *table))
                    })
                    .collect();
                let wanted: usize = concerned.iter().map(|(demand, _)| demand.need).sum();
                // A single device goes with itself, whatever its value.
                if wanted < 2 {
                    continue;
                }
                let most = match rule {
                    ParsedConstraint::Match if self.cuts.has(Cut::Match) => {
                        self.most_alike(&concerned, wanted)
                    }
                    ParsedConstraint::Distinct if self.cuts.has(Cut::Distinct) => self.values(&concerned),
                    _ => continue,
                };
                if let (true, Some((demand, _))) = (most < wanted, concerned.last()) {
                    // The others come first, so the last goes short.
                    let found = most.saturating_sub(wanted - demand.need);
                    let stage_count = StageCount { stage: Stage::Constraint(constraint), left: found };
                    return Some(Shortage {
                        alternative: demand.alternative,
                        found,
                        stage_count: Some(stage_count),
                    });
                }
            }
        }
        None
    }

    /// At most how many devices of the demands have a value in common; `wanted` if that may be enough.
    fn most_alike(&self, concerned: &[(&Demand, u32)], wanted: usize) -> usize {
        let mut most = 0;
        let first = &self.problem.tables[concerned[0].1 as usize];
        for value in first.having.keys() {
            let mut together = FixedBitSet::with_capacity(self.problem.spots.len());
            let mut each = true;
            for (demand, table) in concerned {
                let Some(having) = self.problem.tables[*table as usize].having.get(value) else {
                    each = false;
                    continue;
                };
                let mut open = demand.open.clone();
                open.intersect_with(having);
                together.union_with(&open);
                each &= open.count_ones(..) >= demand.need;
            }
            let count = together.count_ones(..);
            if each && (count >= wanted || self.may_repeat(concerned, &together)) {
                return wanted;
            }
            most = most.max(count.min(wanted - 1));
        }
        most
    }

    /// Whether one device may serve two of the demands.
    fn may_repeat(&self, concerned: &[(&Demand, u32)], open: &FixedBitSet) -> bool {
        concerned.iter().any(|(demand, _)| self.problem.alternatives[demand.alternative].admin)
            || open.ones().any(|spot| self.problem.spots[spot].shareable)
    }

    /// How many values the devices of the demands have among them, which bounds how many of them can differ.
    fn values(&self, concerned: &[(&Demand, u32)]) -> usize {
        let mut values: Vec<u32> = Vec::new();
        let mut alone = 0;
        for (demand, table) in concerned {
            let table = &self.problem.tables[*table as usize];
            for spot in demand.open.ones() {
                match &table.found[spot] {
                    Found::Values(found) => values.extend_from_slice(found),
                    _ => alone = 1,
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        values.len() + alone
    }

    /// A demand that goes short when each device serves one, as far as only that is asked.
    ///
    /// Devices that the same demands could use are counted together, and what flows from demands to such groups is raised
    /// along alternating paths until all is met or nothing more can be moved.
    fn short_together(&self, demands: &[Demand]) -> Option<Shortage> {
        let alternatives = &self.problem.alternatives;
        let exclusive: Vec<&Demand> =
            demands.iter().filter(|demand| !alternatives[demand.alternative].admin).collect();
        if !self.cuts.has(Cut::Together) || exclusive.len() < 2 || exclusive.len() > DEMANDS_MAX {
            return None;
        }
        let mut needs: Vec<usize> = exclusive.iter().map(|demand| demand.need).collect();
        let mut groups: Vec<(u64, usize)> = Vec::new();
        for (spot, known) in self.problem.spots.iter().enumerate() {
            let mut users = 0_u64;
            for (number, demand) in exclusive.iter().enumerate() {
                if demand.open.contains(spot) {
                    users |= 1 << number;
                    if known.shareable {
                        needs[number] = needs[number].saturating_sub(1);
                    }
                }
            }
            if users == 0 || known.shareable {
                continue;
            }
            match groups.iter_mut().find(|(known, _)| *known == users) {
                Some((_, count)) => *count += 1,
                None => groups.push((users, 1)),
            }
        }
        let (demand, found) = flow::shortage(&needs, &groups)?;
        let stage_count = Some(StageCount { stage: Stage::Chosen, left: found });
        Some(Shortage { alternative: exclusive[demand].alternative, found, stage_count })
    }
}

mod flow {
    //! Enough for all, when each unit serves one.

    /// The first demand that groups of units, each usable for some demands, do not cover, and how much it gets.
    pub(super) fn shortage(needs: &[usize], groups: &[(u64, usize)]) -> Option<(usize, usize)> {
        let mut given = vec![vec![0_usize; groups.len()]; needs.len()];
        let mut free: Vec<usize> = groups.iter().map(|(_, count)| *count).collect();
        for (demand, need) in needs.iter().enumerate() {
            for got in 0..*need {
                let mut seen = vec![false; groups.len()];
                if !give(demand, groups, &mut given, &mut free, &mut seen) {
                    return Some((demand, got));
                }
            }
        }
        None
    }

    /// Gives a demand one more unit, moving other demands to other groups if it must.
    fn give(
        demand: usize,
        groups: &[(u64, usize)],
        given: &mut [Vec<usize>],
        free: &mut [usize],
        seen: &mut [bool],
    ) -> bool {
        for group in 0..groups.len() {
            if seen[group] || groups[group].0 & (1 << demand) == 0 {
                continue;
            }
            seen[group] = true;
            if free[group] > 0 {
                free[group] -= 1;
                given[demand][group] += 1;
                return true;
            }
            for other in 0..given.len() {
                if other != demand && given[other][group] > 0 && give(other, groups, given, free, seen) {
                    given[other][group] -= 1;
                    given[demand][group] += 1;
                    return true;
                }
            }
        }
        false
    }

    #[cfg(test)]
    mod tests {
        use super::shortage;

        #[test]
        fn units_are_moved_to_make_room() {
            // Two of the first kind serve both demands, one of the second serves the first only.
            assert_eq!(shortage(&[1, 2], &[(0b11, 2), (0b01, 1)]), None);
            assert_eq!(shortage(&[2, 2], &[(0b11, 2), (0b01, 1)]), Some((1, 1)));
            assert_eq!(shortage(&[2, 2, 1], &[(0b001, 1), (0b011, 2), (0b110, 2)]), None);
        }

        #[test]
        fn more_wishes_than_units_is_too_few() {
            assert_eq!(shortage(&[3, 3], &[(0b11, 5)]), Some((1, 2)));
            assert_eq!(shortage(&[], &[]), None);
        }
    }
}
