//! The search for a placement, within its bounds.

use placement::{Budget, Domain, Gang, PlacementAnswer, PlacementQuestion, place};

use crate::cycle::Cycle;
use crate::gang::members::cast::Cast;
use crate::gang::search::pool_bins::ByPools;
use crate::gang::search::view::ClusterView;
use crate::profile::Profile;
use crate::values::gang_reason::NextMember;
use crate::values::work;

impl Cycle<'_> {
    /// Looks for seats with so many steps at the most, and with as much work as may be done.
    pub(crate) fn place_within(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> PlacementAnswer<NextMember> {
        let nodes: usize = domains.iter().map(|domain| domain.nodes.len()).sum();
        self.caches.work.spend(nodes as u64 * work::SURVEY + u64::from(gang.members()) * work::MEMBER);
        let scorers = profile.placement.scorers();
        let question = PlacementQuestion { gang, domains, scorers: &scorers };
        let mut view = ClusterView::new(self, cast, profile);
        let left = view.cycle.caches.work.left();
        // Where devices cross nodes, a part is kept to search pool by pool.
        let kept = view.goes_by_pools().then(|| view.cycle.caches.work.limit(left / 4 * 3));
        let mut answer = view.within_steps(steps, |view, budget| place(question, view, budget));
        if let Some(kept) = kept {
            view.cycle.caches.work.restore(kept);
            if let PlacementAnswer::BudgetSpent(refusal) = answer {
                let found = |view: &mut ClusterView<'_, '_>, budget: &mut Budget| {
                    view.place_by_pools(gang, domains, budget)
                };
                answer = match view.within_steps(steps, found) {
                    ByPools::Placed(placement) => PlacementAnswer::Placed(placement),
                    ByPools::Impossible => PlacementAnswer::Impossible(refusal),
                    ByPools::Open => PlacementAnswer::BudgetSpent(refusal),
                };
            }
        }
        answer
    }
}

impl ClusterView<'_, '_> {
    /// Looks with so many steps at the most, and no more than the work allows that is left, and counts them.
    fn within_steps<T>(&mut self, steps: u64, look: impl FnOnce(&mut Self, &mut Budget) -> T) -> T {
        let granted = steps.min(self.cycle.caches.work.left() / work::STEP);
        let mut budget = Budget::new(granted);
        let found = look(self, &mut budget);
        self.cycle.caches.work.spend((granted - budget.left()) * work::STEP);
        found
    }
}
