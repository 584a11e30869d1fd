//! The search for a placement, within its bounds.

use placement::{Budget, Domain, Gang, PlacementAnswer, Question, place};

use crate::cycle::Cycle;
use crate::gang::members::cast::Cast;
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
        let question = Question { gang, domains, scorers: &scorers };
        let granted = steps.min(self.caches.work.left() / work::STEP);
        let mut budget = Budget::new(granted);
        let answer = place(question, &mut ClusterView::new(self, cast, profile), &mut budget);
        self.caches.work.spend((granted - budget.left()) * work::STEP);
        answer
    }
}
