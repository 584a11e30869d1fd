//! Which devices an alternative can use, as far as that does not depend on what else is chosen.
//!
//! A device is either a candidate, or left out at a stage that is counted, or faulty: looking at it ends the search. The
//! reference skips devices in use before it looks at them, so a device that is taken is never faulty for an alternative that
//! counts; for one that wants all devices every device is looked at.

use std::sync::Arc;

use cluster::ledger::Holdings;
use cluster::published::Published;
use fixedbitset::FixedBitSet;
use gates::Gate;
use model::claim::{Ask, Class, Rule};
use selector::SliceMatches;

use super::{Parser, place, usable_from};
use crate::asked::Asked;
use crate::capacity;
use crate::error::{AllocationError, ExpressionFault};
use crate::problem::{Alternative, Spot, Taken};
use crate::refusal::{HOLDERS_MAX, Stage, StageCount};

/// A selector of a class or of a request.
struct Test<'t> {
    class: Option<&'t Class>,
    index: usize,
    expression: &'t Option<Arc<str>>,
}

impl Parser<'_, '_> {
    /// The devices that the selectors pick and that the node can reach.
    pub(super) fn select(
        &mut self,
        claim: Asked<'_>,
        request: &Arc<str>,
        (ask, class): (&Ask, &Class),
        alternative: &mut Alternative,
    ) -> FixedBitSet {
        let mut open = FixedBitSet::with_capacity(self.problem.spots.len());
        open.insert_range(..);
        let (others, binding) = (self.problem.others, self.binding_is_on());
        alternative.note_beside(Stage::Published, &open, others.devices);
        // Such devices are as good as not published: a request for all devices does without them.
        if !binding {
            keep(&self.problem.spots, &mut open, |spot| !spot.device().needs_preparation());
            let others = others.understood(false, true);
            alternative.note_beside(Stage::Off(Gate::DRADeviceBindingConditions), &open, others);
        }
        if !self.groups_are_on() {
            keep(&self.problem.spots, &mut open, |spot| !spot.device().declares_groups());
            let others = others.understood(binding, false);
            alternative.note_beside(Stage::Off(Gate::DRADeviceCompatibilityGroups), &open, others);
        }
        for (index, expression) in class.selectors.iter().enumerate() {
            self.test(
                claim,
                request,
                alternative,
                &mut open,
                &Test { class: Some(class), index, expression },
            );
        }
        alternative.note(Stage::Class, &open);
        for (index, expression) in ask.selectors.iter().enumerate() {
            self.test(claim, request, alternative, &mut open, &Test { class: None, index, expression });
            alternative.note(Stage::Selector(index), &open);
        }
        for constraint in &claim.spec().constraints {
            if let Rule::Within(set) = &constraint.rule {
                keep(&self.problem.spots, &mut open, |spot| {
                    set.contains(&spot.published.slice.pool, spot.device())
                });
                alternative.note(Stage::Together, &open);
            }
        }
        for at in 0..self.problem.spots.len() {
            if open.contains(at) {
                match usable_from(&self.problem.spots[at], self.question) {
                    Ok(usable) => open.set(at, usable),
                    Err(error) => alternative.fail(&mut open, at, error),
                }
            }
        }
        alternative.note(Stage::Reach, &open);
        open
    }

    /// Keeps the devices that a selector picks.
    fn test(
        &mut self,
        claim: Asked<'_>,
        request: &Arc<str>,
        alternative: &mut Alternative,
        open: &mut FixedBitSet,
        test: &Test<'_>,
    ) {
        let class = test.class;
        let mut known: Option<(&Published, Result<Arc<SliceMatches>, ExpressionFault>)> = None;
        for (at, spot) in self.problem.spots.iter().enumerate() {
            if !open.contains(at) {
                continue;
            }
            let matches = match &known {
                Some((published, matches)) if std::ptr::eq(*published, &*spot.published) => matches,
                _ => {
                    let matches = match test.expression {
                        Some(expression) => {
                            self.expressions.matches(expression, &spot.published).map_err(Into::into)
                        }
                        None => Err(ExpressionFault::Missing),
                    };
                    &known.insert((&*spot.published, matches)).1
                }
            };
            let error = |fault: ExpressionFault| AllocationError::SelectorRun {
                place: place(class, claim, request),
                index: test.index,
                device: Box::new(spot.id.clone()),
                fault: Box::new(fault),
            };
            let unreadable = spot.published.unreadable.iter().find(|(row, _)| *row == spot.row);
            match (matches, unreadable) {
                (Err(fault), _) => {
                    let (place, fault) = (place(class, claim, request), Box::new(fault.clone()));
                    alternative.fail(
                        open,
                        at,
                        AllocationError::SelectorCompile { place, index: test.index, fault },
                    );
                }
                (Ok(_), Some((_, bad))) => {
                    alternative.fail(open, at, error(ExpressionFault::Unreadable(bad.clone())));
                }
                (Ok(matches), None) if matches.matching.contains(spot.row) => {}
                (Ok(matches), None) => {
                    match matches.failures.iter().find(|(row, _)| *row == spot.row) {
                        Some((_, failure)) => alternative.fail(open, at, error(failure.clone().into())),
                        None => open.set(at, false),
                    };
                }
            }
        }
    }

    /// Keeps the devices whose capacities are enough while no other claim uses them.
    pub(super) fn fit_capacity(
        &mut self,
        claim: Asked<'_>,
        request: &Arc<str>,
        ask: &Ask,
        alternative: &mut Alternative,
        mut open: FixedBitSet,
    ) -> FixedBitSet {
        if !self.question.gates.enabled(Gate::DRAConsumableCapacity) {
            return open;
        }
        let fractional = self.question.gates.enabled(Gate::DRAFractionalCapacityRange);
        let asked = ask.capacity.as_ref();
        for (at, spot) in self.problem.spots.iter().enumerate() {
            if !open.contains(at) || (!spot.shareable && capacity::is_plain(asked, &spot.device().capacity)) {
                continue;
            }
            match capacity::consumption(asked, &spot.device().capacity, fractional) {
                Ok(None) => open.set(at, false),
                Ok(Some(amounts)) if spot.shareable => {
                    let nanos = amounts.values().map(|amount| amount.nanos().unwrap_or(i128::MAX)).collect();
                    alternative.consumption.push((at as u32, Taken { amounts, nanos }));
                }
                Ok(Some(_)) => {}
                Err((capacity, fault)) => {
                    let device = Box::new(spot.id.clone());
                    let (claim, request) = (claim.asker(), request.clone());
                    alternative.fail(
                        &mut open,
                        at,
                        AllocationError::Capacity { claim, request, device, capacity, fault },
                    );
                }
            }
        }
        alternative.note(Stage::Capacity, &open);
        open
    }

    /// Leaves out devices that cannot be given whatever else is chosen.
    pub(super) fn reject_unusable(&self, claim: Asked<'_>, ask: &Ask, alternative: &mut Alternative) {
        let gates = self.question.gates;
        let spots = &self.problem.spots;
        let mut open = std::mem::take(&mut alternative.candidates);
        let optional = Gate::DRAOptionalNodeOperations;
        let is_declared =
            || self.question.node.declared_features.iter().any(|name| &**name == optional.name());
        if !(gates.enabled(optional) && is_declared()) {
            keep(spots, &mut open, |spot| spot.published.slice.skip_node_operations.is_empty());
            let lacking = if gates.enabled(optional) { Stage::NotDeclared } else { Stage::Off };
            alternative.note(lacking(optional), &open);
        }
        if !gates.enabled(Gate::DRAPartitionableDevices) {
            keep(spots, &mut open, |spot| spot.device().draws.is_empty());
            alternative.note(Stage::Off(Gate::DRAPartitionableDevices), &open);
        }
        if gates.enabled(Gate::DRADeviceTaints) {
            keep(spots, &mut open, |spot| ask.tolerates(&spot.device().taints));
            alternative.note(Stage::Taints, &open);
        }
        if !alternative.admin {
            let shares_count = !gates.enabled(Gate::DRAConsumableCapacity);
            let in_use = |at: usize| {
                self.holdings[at].is_some_and(|held| held.is_dedicated() || shares_count && held.is_shared())
            };
            for at in open.ones().filter(|at| in_use(*at)) {
                let room = HOLDERS_MAX - alternative.holders.len();
                let mut holdings = self.holdings[at].into_iter().flat_map(Holdings::iter);
                let named = holdings.by_ref().take(room);
                alternative
                    .holders
                    .extend(named.map(|holding| (spots[at].id.clone(), holding.holder.clone())));
                alternative.more_holders += holdings.count();
            }
            for at in 0..spots.len() {
                if open.contains(at) && in_use(at) {
                    open.set(at, false);
                }
            }
            alternative.note(Stage::Taken, &open);
            alternative.forget_faults_of(in_use);
        }
        for constraint in &claim.spec().constraints {
            if let Rule::Without(devices) = &constraint.rule {
                keep(spots, &mut open, |spot| !devices.contains(&spot.id));
                alternative.note(Stage::Taken, &open);
            }
        }
        let counters = &self.problem.counters;
        keep(spots, &mut open, |spot| {
            spot.charged || (spot.counted && counters.cover(&spot.draws, spot.pool))
        });
        alternative.note(Stage::Counters, &open);
        keep(spots, &mut open, |spot| spot.settled || counters.admit(&spot.draws));
        alternative.note(if self.groups_are_on() { Stage::Groups } else { Stage::GroupsOff }, &open);
        for at in open.ones().collect::<Vec<_>>() {
            let left = &spots[at].capacity_left;
            let enough = alternative
                .taken(at as u32)
                .is_none_or(|taken| taken.nanos.iter().zip(left).all(|(taken, left)| taken <= left));
            open.set(at, enough);
        }
        if !alternative.consumption.is_empty() {
            alternative.note(Stage::CapacityTaken, &open);
        }
        alternative.candidates = open;
    }

    fn groups_are_on(&self) -> bool {
        self.question.gates.enabled(Gate::DRADeviceCompatibilityGroups)
    }

    fn binding_is_on(&self) -> bool {
        let gates = self.question.gates;
        gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus)
    }
}

fn keep(spots: &[Spot], open: &mut FixedBitSet, wanted: impl Fn(&Spot) -> bool) {
    for (at, spot) in spots.iter().enumerate() {
        if open.contains(at) && !wanted(spot) {
            open.set(at, false);
        }
    }
}

impl Alternative {
    fn note(&mut self, stage: Stage, open: &FixedBitSet) {
        self.note_beside(stage, open, 0);
    }

    /// The same with devices that are counted elsewhere.
    fn note_beside(&mut self, stage: Stage, open: &FixedBitSet, others: usize) {
        self.stages.push(StageCount { stage, left: open.count_ones(..) + others });
    }

    /// Marks a device that ends the search when it is looked at.
    fn fail(&mut self, open: &mut FixedBitSet, at: usize, error: AllocationError) {
        open.set(at, false);
        self.faulty.insert(at);
        self.faults.push((at as u32, error));
    }

    /// Devices in use are passed over before anything is asked about them, unless all devices are wanted.
    fn forget_faults_of(&mut self, in_use: impl Fn(usize) -> bool) {
        if self.faults.is_empty() {
            return;
        }
        self.faults.retain(|(at, _)| !in_use(*at as usize));
        self.faulty.clear();
        for (at, _) in &self.faults {
            self.faulty.insert(*at as usize);
        }
    }
}
