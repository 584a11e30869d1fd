//! Seats for the members of a tree: each group in the domain of its parent.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use std::sync::Arc;

use model::group::Composite;
use placement::Domain;

use crate::cycle::Cycle;
use crate::gang::answer::miss::Miss;
use crate::gang::answer::seats::Seated;
use crate::gang::tree::progress::TreeSearch;
use crate::gang::tree::sought::Tree;

impl Cycle<'_> {
    /// Seats for members of enough groups, and for so many members in all, in one of these domains, or why there are none.
    pub(crate) fn find_tree_seats(
        &mut self,
        tree: &Tree,
        domains: &[Domain],
        wanted: u32,
        steps_max: u64,
    ) -> Result<(Arc<str>, Seated), Miss> {
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
            let miss = search.miss(String::new);
            return Err(match (&*miss.message, domains.is_empty()) {
                ("", true) => Miss { message: self.lack_of_domains(tree), ..miss },
                ("", false) => Miss { message: self.lack_of_groups(tree), ..miss },
                _ => miss,
            });
        };
        Ok((domains[at].name.clone(), seated))
    }

    fn lack_of_groups(&self, tree: &Tree) -> String {
        let Composite { at_least, .. } = *tree.composite;
        match self.least(&tree.composite, &tree.branches) {
            None => format!("too few of its groups have enough members, {at_least} needed"),
            Some(_) => format!("too few of its groups fit, {at_least} needed"),
        }
    }

    fn lack_of_domains(&self, tree: &Tree) -> String {
        let levels = tree.composite.levels.join(", ");
        let runs = !self.pins(&tree.branches).is_empty();
        let lack = if runs { "members that run are not all" } else { "no node is" };
        format!("{lack} in one domain of level {levels}")
    }
}
