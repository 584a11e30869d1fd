//! Forward checks: is there still enough of everything for what is still to be satisfied?
//!
//! Each check drops some of the rules and asks whether even then too little is left. So a branch that is cut has no
//! solution; a branch that is not cut may have none either.

use fixedbitset::FixedBitSet;

use super::{Miss, Search, Slot};
use crate::constraint::{ConstraintPlan, Memory};
use crate::plan::Plan;

/// Requests are told apart by a bit each; those beyond are not checked together.
const DEMANDS_MAX: usize = 64;

/// What one request still needs, and the devices that could be given.
pub(super) struct Demand {
    pub plan: usize,
    pub need: usize,
    pub open: FixedBitSet,
}

impl Search<'_, '_> {
    /// Whether what is left may suffice for the rest of a plan and for all requests after it.
    pub(super) fn can_still_fit(&mut self, slot: Slot) -> bool {
        let mut demands = Vec::new();
        let starved = self.collect(slot, &mut demands).or_else(|| {
            if self.is_matchable(&demands)
                && self.is_drawable(&demands)
                && have_enough_together(self, &demands)
            {
                return None;
            }
            Some((slot.plan, slot.taken))
        });
        let Some((plan, found)) = starved else { return true };
        let depth = self.state.chosen.len();
        if self.miss.as_ref().is_none_or(|(deepest, _)| *deepest < depth) {
            let in_claim = self.problem.requests[self.problem.plans[plan].request as usize].claim as usize;
            let steps = if in_claim == self.state.claim() { self.dynamic_steps(plan) } else { Vec::new() };
            self.miss = Some((depth, Miss { plan, found, steps }));
        }
        false
    }

    /// Collects what is needed; the plan that starves by itself and what it could have, if one does.
    fn collect(&self, slot: Slot, demands: &mut Vec<Demand>) -> Option<(usize, usize)> {
        let plan = &self.problem.plans[slot.plan];
        let mut open = self.open_to(slot.plan);
        let need = match &plan.all {
            Some(all) => {
                open.clear();
                all[slot.taken..].iter().for_each(|spot| open.insert(*spot as usize));
                open.intersect_with(&self.open_to(slot.plan));
                plan.need - slot.taken
            }
            None => {
                open.remove_range(..slot.start.min(open.len()));
                plan.need - slot.taken
            }
        };
        if open.count_ones(..) < need {
            return Some((slot.plan, slot.taken + open.count_ones(..)));
        }
        demands.push(Demand { plan: slot.plan, need, open });
        for request in &self.problem.requests[slot.request + 1..] {
            let mut best: Option<(usize, usize)> = None;
            let mut any = false;
            for plan in request.plans() {
                let known = &self.problem.plans[plan];
                let open = self.open_to(plan);
                let count = open.count_ones(..);
                if count >= known.need && !known.all.as_ref().is_some_and(Vec::is_empty) {
                    any = true;
                    if request.plans == 1 && known.need > 0 {
                        demands.push(Demand { plan, need: known.need, open });
                    }
                } else if best.is_none_or(|(_, most)| count > most) {
                    best = Some((plan, count));
                }
            }
            if !any {
                return best.or(Some((request.first_plan as usize, 0)));
            }
        }
        None
    }

    /// The devices that could still be given for a plan, one at a time.
    fn open_to(&self, plan: usize) -> FixedBitSet {
        let known = &self.problem.plans[plan];
        let mut open = known.candidates.clone();
        let present = self.is_in_present_claim(known);
        if !known.admin {
            open.difference_with(&self.state.picked);
        } else if present {
            open.difference_with(&self.state.picked_here);
        }
        if !self.problem.counters.sets.is_empty() {
            for spot in known.candidates.ones() {
                if open.contains(spot)
                    && !(self.state.counters_cover(spot as u32) && self.state.groups_admit(spot as u32))
                {
                    open.set(spot, false);
                }
            }
        }
        if present {
            for (constraint, table) in &known.constraints {
                self.keep_allowed(*constraint, *table, &mut open);
            }
        }
        open
    }

    fn is_in_present_claim(&self, plan: &Plan<'_>) -> bool {
        self.problem.requests[plan.request as usize].claim as usize == self.state.claim()
    }

    /// Keeps the devices that a constraint of the present claim still allows.
    fn keep_allowed(&self, constraint: u32, table: u32, open: &mut FixedBitSet) {
        let table = &self.problem.tables[table as usize];
        let rule = self.problem.claims[self.state.claim()].constraints[constraint as usize];
        match (&self.state.memories[constraint as usize], rule) {
            (Memory::Empty, _) | (Memory::Alone, ConstraintPlan::Distinct) => {}
            (Memory::Alone, ConstraintPlan::Match) => open.clear(),
            (Memory::Values(values), ConstraintPlan::Match) => {
                let mut allowed = FixedBitSet::with_capacity(open.len());
                values.iter().filter_map(|value| table.having.get(value)).for_each(|having| {
                    allowed.union_with(having);
                });
                open.intersect_with(&allowed);
            }
            (Memory::Values(values), ConstraintPlan::Distinct) => {
                values.iter().filter_map(|value| table.having.get(value)).for_each(|having| {
                    open.difference_with(having);
                });
            }
        }
    }

    /// Whether each match constraint has a value that enough devices share, and each distinction enough values.
    fn is_matchable(&self, demands: &[Demand]) -> bool {
        self.problem.claims.iter().enumerate().all(|(claim, known)| {
            known.constraints.iter().enumerate().all(|(constraint, rule)| {
                let concerned: Vec<(&Demand, u32)> = demands
                    .iter()
                    .filter_map(|demand| {
                        let plan = &self.problem.plans[demand.plan];
                        let of = self.problem.requests[plan.request as usize].claim as usize;
                        let found = plan.constraints.iter().find(|(index, _)| *index as usize == constraint);
                        found.filter(|_| of == claim).map(|(_, table)| (demand, *table))
                    })
                    .collect();
                concerned.is_empty()
                    || match rule {
                        ConstraintPlan::Match => self.some_value_suffices(&concerned),
                        ConstraintPlan::Distinct => self.enough_values(&concerned),
                    }
            })
        })
    }

    /// Whether some value is had by enough devices for each demand, and by enough for all of them together.
    fn some_value_suffices(&self, concerned: &[(&Demand, u32)]) -> bool {
        let Some((first, table)) = concerned.first() else { return true };
        let found = &self.problem.tables[*table as usize];
        if concerned.iter().all(|(demand, _)| demand.need == 1) && concerned.len() == 1 {
            return true;
        }
        // A device that cannot be compared may be the only one of all, which this does not count.
        let total: usize = concerned.iter().map(|(demand, _)| demand.need).sum();
        if total == 1 {
            return true;
        }
        found.having.iter().any(|(value, having)| {
            if first.open.intersection_count(having) < first.need {
                return false;
            }
            let mut together = FixedBitSet::with_capacity(first.open.len());
            let each = concerned.iter().all(|(demand, table)| {
                let Some(having) = self.problem.tables[*table as usize].having.get(value) else {
                    return false;
                };
                let mut open = demand.open.clone();
                open.intersect_with(having);
                together.union_with(&open);
                open.count_ones(..) >= demand.need
            });
            each && (self.may_repeat(concerned, &together) || together.count_ones(..) >= total)
        })
    }

    /// Whether one device may serve two of the demands.
    fn may_repeat(&self, concerned: &[(&Demand, u32)], open: &FixedBitSet) -> bool {
        concerned.iter().any(|(demand, _)| self.problem.plans[demand.plan].admin)
            || open.ones().any(|spot| self.problem.spots[spot].shareable)
    }

    /// Whether there are as many values as devices that must differ in them.
    fn enough_values(&self, concerned: &[(&Demand, u32)]) -> bool {
        let total: usize = concerned.iter().map(|(demand, _)| demand.need).sum();
        if total < 2 {
            return true;
        }
        let mut values: Vec<u32> = Vec::new();
        let mut alone = 0;
        for (demand, table) in concerned {
            let table = &self.problem.tables[*table as usize];
            for spot in demand.open.ones() {
                match &table.found[spot] {
                    crate::constraint::Found::Values(found) => values.extend_from_slice(found),
                    _ => alone = 1,
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        values.len() + alone >= total
    }

    /// Whether the counters may cover each demand by itself, and all of them together.
    fn is_drawable(&self, demands: &[Demand]) -> bool {
        if self.problem.counters.sets.is_empty() {
            return true;
        }
        demands.iter().all(|demand| demand.need < 2 || self.most_drawn_by(demand) >= demand.need)
            && self.pools_cover(demands)
    }

    /// At most how many devices of a demand the counters cover at the same time: in each set, as many as the cheapest.
    fn most_drawn_by(&self, demand: &Demand) -> usize {
        let counters = &self.state.counters;
        let mut most = 0;
        // For each set the number of devices, and for each of its counters the least that one of them draws.
        let mut counts = vec![0_usize; counters.sets.len()];
        let mut least = vec![i128::MAX; counters.left.len()];
        for spot in demand.open.ones() {
            let known = &self.problem.spots[spot];
            // A device is counted with the first set that it draws on, which bounds it well enough.
            let Some(draw) = known.draws.first().filter(|_| !known.shareable) else {
                most += 1;
                continue;
            };
            counts[draw.set as usize] += 1;
            for slot in counters.sets[draw.set as usize].slots.clone() {
                let amount = draw.amounts.iter().find(|(drawn, _)| *drawn as usize == slot);
                least[slot] = least[slot].min(amount.map_or(0, |(_, amount)| *amount));
            }
        }
        for (set, count) in counters.sets.iter().zip(counts) {
            let fits = |slot: usize| match least[slot] {
                amount if amount > 0 => (counters.left[slot] / amount).max(0) as usize,
                _ => usize::MAX,
            };
            most += set.slots.clone().map(fits).fold(count, usize::min);
        }
        most
    }

    /// Whether what is left in all sets of a pool covers the least that all demands draw.
    fn pools_cover(&self, demands: &[Demand]) -> bool {
        let counters = &self.state.counters;
        let mut at = 0;
        while at < counters.sets.len() {
            let pool = counters.sets[at].pool;
            let end = counters.sets[at..].iter().take_while(|set| set.pool == pool).count() + at;
            let sets = &counters.sets[at..end];
            at = end;
            let mut names: Vec<_> = sets.iter().flat_map(|set| &set.names).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let slots: Vec<usize> = sets
                    .iter()
                    .filter_map(|set| Some(set.slots.start + set.names.binary_search(name).ok()?))
                    .collect();
                let left: i128 = slots.iter().map(|slot| counters.left[*slot].max(0)).sum();
                let drawn = |spot: usize| {
                    let known = &self.problem.spots[spot];
                    if known.shareable {
                        return 0;
                    }
                    let amounts = known.draws.iter().flat_map(|draw| &draw.amounts);
                    amounts
                        .filter(|(slot, _)| slots.contains(&(*slot as usize)))
                        .map(|(_, amount)| *amount)
                        .sum()
                };
                let least = |demand: &Demand| -> i128 {
                    demand.open.ones().map(drawn).min().unwrap_or(0).max(0) * demand.need as i128
                };
                if demands.iter().map(least).sum::<i128>() > left {
                    return false;
                }
            }
        }
        true
    }
}

/// Whether the demands can be met with different devices, as far as only that is asked.
///
/// Devices that the same demands could use are counted together, and what flows from demands to such groups is raised
/// along alternating paths until all is met or nothing more can be moved.
fn have_enough_together(search: &Search<'_, '_>, demands: &[Demand]) -> bool {
    let plans = &search.problem.plans;
    let exclusive: Vec<&Demand> = demands.iter().filter(|demand| !plans[demand.plan].admin).collect();
    if exclusive.len() < 2 || exclusive.len() > DEMANDS_MAX {
        return true;
    }
    let mut needs: Vec<usize> = exclusive.iter().map(|demand| demand.need).collect();
    let mut groups: Vec<(u64, usize)> = Vec::new();
    for (spot, known) in search.problem.spots.iter().enumerate() {
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
    flow::suffices(&needs, &groups)
}

mod flow {
    //! Enough for all, when each unit serves one.

    /// Whether groups of units, each usable for some demands, cover all needs.
    pub(super) fn suffices(needs: &[usize], groups: &[(u64, usize)]) -> bool {
        let mut given = vec![vec![0_usize; groups.len()]; needs.len()];
        let mut free: Vec<usize> = groups.iter().map(|(_, count)| *count).collect();
        (0..needs.len()).all(|demand| {
            (0..needs[demand]).all(|_| {
                let mut seen = vec![false; groups.len()];
                give(demand, groups, &mut given, &mut free, &mut seen)
            })
        })
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
        use super::suffices;

        #[test]
        fn units_are_moved_to_make_room() {
            // Two of the first kind serve both demands, one of the second serves the first only.
            assert!(suffices(&[1, 2], &[(0b11, 2), (0b01, 1)]));
            assert!(!suffices(&[2, 2], &[(0b11, 2), (0b01, 1)]));
            assert!(suffices(&[2, 2, 1], &[(0b001, 1), (0b011, 2), (0b110, 2)]));
        }

        #[test]
        fn more_wishes_than_units_is_too_few() {
            assert!(!suffices(&[3, 3], &[(0b11, 5)]));
            assert!(suffices(&[], &[]));
        }
    }
}
