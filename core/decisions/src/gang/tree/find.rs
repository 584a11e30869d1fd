//! The search for seats of a tree, way by way; see [`seats`](super::seats).
//!
//! Of several domains for the whole tree, those that will do by building are compared as those of gangs are.
//!
//! Invariant: a way that is no proof says nothing if it finds no seats.

use std::cmp::Reverse;

use placement::{Amounts, Budget, Scored, judge};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::gang::answer::seats::Seated;
use crate::gang::tree::across::{Across, Chosen};
use crate::gang::tree::build::{Builder, Extent};
use crate::gang::tree::choices::{Choices, Errand, Outcome};
use crate::gang::tree::ground::Ground;
use crate::gang::tree::loads::SeatRun;
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::{Content, Outline, PartIdx};
use crate::gang::tree::runs::{hand_out, seats_by_node};
use crate::gang::tree::sought::Tree;
use crate::gang::tree::why::Lacking;
use crate::scores::placement::PlacementScore;
use crate::values::certainty::Certainty;
use crate::values::miss::Miss;

/// How often members are added to seats that were found for no more than have to, if they may be in each other's way.
const MORE_MAX: usize = 16;

/// A search for seats of a tree.
pub(crate) struct TreeSearch<'s, 'g, 'c> {
    ground: &'s mut Ground<'g, 'c>,
    pub map: &'s mut DomainMap,
    outline: &'s Outline,
    builder: Builder<'s>,
    /// The domains in which it may be as a whole; of those that are alike only the first.
    roots: Vec<DomainIdx>,
    is_monotone: bool,
    wanted: usize,
    certainty: Certainty,
    /// What came closest of seats that were looked for all at once.
    nearest: Option<Lacking>,
}

impl<'s, 'g, 'c> TreeSearch<'s, 'g, 'c> {
    pub fn new(
        ground: &'s mut Ground<'g, 'c>,
        map: &'s mut DomainMap,
        outline: &'s Outline,
        (mut roots, is_monotone): (Vec<DomainIdx>, bool),
        wanted: usize,
    ) -> TreeSearch<'s, 'g, 'c> {
        let weight = |of: PlacementScore| {
            let weights = ground.view.profile.placement.weights.iter();
            weights.filter(|(score, _)| *score == of).map(|(_, weight)| *weight).sum::<u32>()
        };
        let likes_room = weight(PlacementScore::LooseFit) > weight(PlacementScore::TightestFit);
        let builder = Builder::new(ground, outline, likes_room);
        let mut looks = FxHashSet::default();
        roots.retain(|root| map.get(*root).look.is_none_or(|look| looks.insert(look)));
        let wanted = wanted.max(1);
        let certainty = Certainty::Proved;
        TreeSearch { ground, map, outline, builder, roots, is_monotone, wanted, certainty, nearest: None }
    }

    /// Seats, and the domain of the whole tree, if there are any that can be found.
    pub fn find(&mut self) -> Option<(DomainIdx, Seated)> {
        let root = &self.outline.parts[0];
        let needs_all = self.outline.needs_everybody() || self.wanted >= root.waiting;
        if let Some(found) = self.by_building(Extent::Everybody) {
            return Some(found);
        }
        if needs_all {
            return self.by_choosing(Extent::Everybody, 1);
        }
        let found = self.by_choosing(Extent::Everybody, 4);
        self.certainty = Certainty::Proved;
        found
            .or_else(|| self.by_building(Extent::Enough))
            .or_else(|| self.by_building(Extent::Least))
            .or_else(|| self.by_choosing(Extent::Least, 1))
    }

    /// Why there are no seats.
    pub fn miss(&mut self, tree: &Tree) -> Miss {
        let mut lacks: Vec<Lacking> = self.nearest.take().into_iter().collect();
        let mut setbacks = std::mem::take(&mut self.builder.setbacks);
        setbacks.sort_by_key(|setback| Reverse(setback.beside));
        let kept = self.ground.view.cycle.caches.work.begin_hand_out();
        for setback in setbacks {
            if self.ground.view.cycle.caches.work.is_spent() {
                break;
            }
            let part = self.outline.get(setback.part);
            let within = self.map.within(self.ground, setback.within, part.levels, part.pin);
            let domains: Vec<_> = within.iter().map(|at| self.map.get(*at).domain.clone()).collect();
            let others = hand_out(self.ground, self.outline, &setback.seats);
            let cycle = &mut *self.ground.view.cycle;
            let lack =
                others.ok().and_then(|others| cycle.why_part((part, &domains), &others, setback.beside));
            lacks.extend(lack);
        }
        self.ground.view.cycle.caches.work.end_hand_out(kept);
        let why = self.ground.view.cycle.why_tree(tree, lacks);
        Miss { certainty: self.certainty, ..Miss::proved(why) }
    }

    /// Seats by building, in the best domain.
    fn by_building(&mut self, extent: Extent) -> Option<(DomainIdx, Seated)> {
        let mut best: Option<((usize, f64), DomainIdx, Vec<SeatRun>)> = None;
        let half = self.ground.view.cycle.caches.work.left() / 2;
        for root in self.roots.clone() {
            if best.is_some() && self.ground.view.cycle.caches.work.left() < half {
                break;
            }
            let none = self.builder.loads.mark();
            let mut is_found = self.builder.build(self.ground, self.map, root, extent);
            if is_found && extent == Extent::Least {
                self.builder.extend(self.ground, self.map, PartIdx(0), root);
            }
            let (members, runs) = (self.builder.loads.members(), self.builder.loads.seats().to_vec());
            is_found &= members >= self.wanted;
            self.builder.loads.rewind(self.ground, none);
            self.ground.view.cycle.tried.count(is_found);
            if !is_found {
                continue;
            }
            if self.ground.crosses {
                if let Some(seated) = self.seat_across(root, &runs) {
                    return Some((root, seated));
                }
                continue;
            }
            let score = (members, self.score(root, &runs));
            let is_better = |(known, ..): &((usize, f64), DomainIdx, Vec<SeatRun>)| {
                score.0 > known.0 || (score.0 == known.0 && score.1 > known.1)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((score, root, runs));
            }
        }
        let (_, root, runs) = best?;
        self.hand_out(root, &runs)
    }

    /// What scorers make of seats.
    fn score(&self, root: DomainIdx, runs: &[SeatRun]) -> f64 {
        let (ground, root) = (&*self.ground, self.map.get(root));
        let free: FxHashMap<_, _> = root
            .nodes
            .iter()
            .map(|node| (ground.nodes[*node], Amounts(ground.free_on(*node)[..ground.amounts].to_vec())))
            .collect();
        let seats = seats_by_node(ground, runs);
        let gang = ground.view.cast.gang(1);
        let shared = Amounts::default();
        let scored =
            Scored { gang: &gang, domain: &root.domain, free: &free, shared: &shared, seats: &seats };
        judge(&ground.view.profile.placement.scorers(), &scored)
    }

    /// Seats in the domains that groups have by building, if members may be in each other's way.
    fn seat_across(&mut self, root: DomainIdx, runs: &[SeatRun]) -> Option<Seated> {
        let chosen = self.chosen_by(runs);
        let mut across = Across::default();
        across.check(self.ground, (self.map, self.outline), (root, &chosen));
        self.nearest = self.nearest.take().or(across.nearest);
        across.seated
    }

    /// The domain of each group that has seats, with its members.
    fn chosen_by(&self, runs: &[SeatRun]) -> Vec<Chosen> {
        let mut chosen: Vec<Chosen> = Vec::new();
        let mut places: FxHashMap<PartIdx, usize> = FxHashMap::default();
        for SeatRun { part, kind, count, .. } in runs {
            let Some(domain) = self.builder.domains[part.0] else { continue };
            let at = *places.entry(*part).or_insert_with(|| {
                chosen.push(Chosen { part: *part, domain, members: Vec::new() });
                chosen.len() - 1
            });
            match chosen[at].members.iter_mut().find(|(known, _)| known == kind) {
                Some((_, known)) => *known += count,
                None => chosen[at].members.push((*kind, *count)),
            }
        }
        chosen
    }

    fn hand_out(&mut self, root: DomainIdx, runs: &[SeatRun]) -> Option<(DomainIdx, Seated)> {
        match hand_out(self.ground, self.outline, runs) {
            Ok(seated) => Some((root, seated)),
            Err(why) => {
                // That devices are none for members like those they were found for says nothing about other seats.
                self.certainty = Certainty::LimitReached;
                self.nearest = Some(Lacking { group: None, beside: 0, why });
                None
            }
        }
    }
}

impl TreeSearch<'_, '_, '_> {
    /// Seats by trying every choice of domains, with one share of so many of what may be done.
    fn by_choosing(&mut self, extent: Extent, share: u64) -> Option<(DomainIdx, Seated)> {
        let is_more_wanted = extent == Extent::Least && self.outline.parts[0].is_met;
        let mut forced: Vec<Option<PartIdx>> = vec![None];
        if is_more_wanted {
            // Enough groups are whole as it is, so any group will do that gets seats.
            let mut shapes = FxHashSet::default();
            let is_other = |at: &PartIdx| {
                let part = self.outline.get(*at);
                let shape = (part.parent, part.shape);
                matches!(part.content, Content::Group(_)) && part.waiting > 0 && shapes.insert(shape)
            };
            forced = (0..self.outline.parts.len()).map(PartIdx).filter(is_other).map(Some).collect();
        }
        let mut left = (self.roots.len() * forced.len()) as u64 * share;
        for root in self.roots.clone() {
            for forced in &forced {
                let steps = self.ground.budget;
                let granted = steps.left().div_ceil(left.max(1));
                let nanos = self.ground.view.cycle.caches.work.left().div_ceil(left.max(1));
                left -= 1;
                self.ground.budget = Budget::new(granted);
                let kept = self.ground.view.cycle.caches.work.limit(nanos);
                let found = self.choose(root, extent, *forced);
                self.ground.view.cycle.caches.work.restore(kept);
                let spent = granted - self.ground.budget.left();
                self.ground.budget = Budget::new(steps.left() - spent);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn choose(
        &mut self,
        root: DomainIdx,
        extent: Extent,
        forced: Option<PartIdx>,
    ) -> Option<(DomainIdx, Seated)> {
        let errand = Errand { outline: self.outline, extent, is_monotone: self.is_monotone, forced };
        let builder = &self.builder;
        let mut choices = Choices::new(self.ground, self.map, errand, root, |at| builder.order(at));
        let outcome = choices.run();
        let seats = if outcome == Outcome::Found { choices.joint_seats() } else { None };
        let Choices { chosen, across: Across { seated, nearest, .. }, domains, .. } = choices;
        self.nearest = self.nearest.take().or(nearest);
        match outcome {
            Outcome::Impossible => None,
            Outcome::Open => {
                self.certainty = Certainty::LimitReached;
                None
            }
            Outcome::Found if self.ground.crosses => {
                let seated = self.with_more_across(root, extent, chosen, seated?);
                self.enough(root, seated)
            }
            Outcome::Found => {
                self.builder.domains = domains;
                let none = self.builder.loads.mark();
                for Chosen { part, domain, .. } in &chosen {
                    self.builder.domains[part.0] = Some(*domain);
                }
                let mut seats = seats?;
                for Chosen { part, domain, members } in &chosen {
                    let runs = crate::gang::tree::joint::draw(&mut seats, *part, *domain, members);
                    self.builder.loads.adopt(self.ground, *part, runs);
                }
                if extent == Extent::Least {
                    self.builder.extend(self.ground, self.map, PartIdx(0), root);
                }
                let runs = self.builder.loads.seats().to_vec();
                self.builder.loads.rewind(self.ground, none);
                let (root, seated) = self.hand_out(root, &runs)?;
                self.enough(root, seated)
            }
        }
    }

    fn enough(&mut self, root: DomainIdx, seated: Seated) -> Option<(DomainIdx, Seated)> {
        if seated.len() >= self.wanted {
            return Some((root, seated));
        }
        self.certainty = Certainty::LimitReached;
        None
    }

    /// Adds members to seats that were found for no more than have to.
    fn with_more_across(
        &mut self,
        root: DomainIdx,
        extent: Extent,
        mut chosen: Vec<Chosen>,
        mut seated: Seated,
    ) -> Seated {
        if extent != Extent::Least {
            return seated;
        }
        let mut tries = 0;
        for at in 0..chosen.len() {
            let Content::Group(group) = &self.outline.get(chosen[at].part).content else { continue };
            let everybody = group.everybody();
            if everybody == chosen[at].members || tries == MORE_MAX {
                continue;
            }
            tries += 1;
            let fewer = std::mem::replace(&mut chosen[at].members, everybody);
            let mut across = Across::default();
            across.check(self.ground, (self.map, self.outline), (root, &chosen));
            match across.seated {
                Some(more) => seated = more,
                None => chosen[at].members = fewer,
            }
        }
        seated
    }
}
