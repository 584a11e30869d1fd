//! Seats for the members of a tree: each group in the domain of its parent.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use placement::{Domain, DomainName};

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::tree::progress::TreeSearch;
use crate::gang::tree::sought::Tree;
use crate::values::gang_reason::GangReason;
use crate::values::miss::Miss;

impl Cycle<'_> {
    /// Seats for members of enough groups, and for so many members in all, in one of these domains, or why there are none.
    pub(crate) fn find_tree_seats(
        &mut self,
        tree: &Tree,
        domains: &[Domain],
        wanted: u32,
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        let mut search = TreeSearch::new(self, steps_max, tree.groups.len());
        let wanted = wanted.max(1);
        let mut is_enough = |search: &mut TreeSearch<'_, '_>| search.count() >= wanted as usize;
        let whole = (&*tree.composite, &*tree.branches);
        let found = search.seat_in_best(whole, domains, wanted, &mut is_enough);
        let mut found = found.map(|at| (at, search.end()));
        if found.is_none() {
            search.end();
            found = search.seat_whole(tree, domains, wanted);
        }
        let Some((at, seated)) = found else {
            return Err(search.miss(|cycle| match domains.is_empty() {
                true => cycle.lack_of_domains(tree),
                false => cycle.lack_of_groups(tree),
            }));
        };
        Ok((domains[at].name.clone(), seated))
    }

    fn lack_of_groups(&self, tree: &Tree) -> GangReason {
        let needed = tree.composite.at_least;
        match self.least(&tree.composite, &tree.branches) {
            None => GangReason::TooFewWholeGroups { needed },
            Some(_) => GangReason::TooFewGroupsFit { needed },
        }
    }

    fn lack_of_domains(&self, tree: &Tree) -> GangReason {
        let runs = !self.pins(&tree.branches).is_empty();
        GangReason::NoTreeDomain { levels: tree.composite.levels.clone(), runs }
    }
}
