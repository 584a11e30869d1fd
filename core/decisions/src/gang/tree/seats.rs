//! Seats for the members of a tree: each group in the domain of its parent.
//!
//! Seats are looked for in four ways, until there are some: for all members by building, for all members by trying every choice of
//! domains, for as many as can be found by building, and for no more than have to by trying every choice. Those that are found
//! so are filled up. If seats for all members are needed anyway, the first two are all.
//!
//! Invariant: what is assumed of members is taken back before the answer is given. That there are no seats is called proved only
//! if every choice was refused by a proof.

use std::sync::Arc;

use model::pod::Pod;
use placement::{Domain, DomainName};

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::tree::branch::Branch;
use crate::gang::tree::find::TreeSearch;
use crate::gang::tree::ground::Ground;
use crate::gang::tree::map::DomainMap;
use crate::gang::tree::outline::{Outline, levels_of};
use crate::gang::tree::sought::Tree;
use crate::values::gang_reason::GangReason;
use crate::values::miss::Miss;
use crate::values::work;

impl Cycle<'_> {
    /// Seats for members of enough groups, and for so many members in all, in one of these domains, or why there are none.
    pub(crate) fn find_tree_seats(
        &mut self,
        tree: &Tree,
        domains: &[Domain],
        wanted: u32,
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        if domains.is_empty() {
            return Err(Miss::proved(of_tree(self.lack_of_domains(tree))));
        }
        self.tried.generated += domains.len() as u64;
        let pods: Vec<Arc<Pod>> =
            tree.branches.iter().flat_map(Branch::leaves).flat_map(|(_, pods)| pods).cloned().collect();
        self.caches.work.spend(pods.len() as u64 * work::MEMBER);
        let members = self.members_of(&pods, &tree.profile);
        let too_few = || of_tree(GangReason::TooFewWholeGroups { needed: tree.composite.at_least });
        if members.is_empty() {
            return Err(Miss::proved(too_few()));
        }
        let cast = Cast::new(self, members, &tree.profile).each_apart(self);
        let is_monotone = self.is_monotone(&cast, tree);
        let mut nodes: Vec<_> = domains.iter().flat_map(|domain| &domain.nodes).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut ground = Ground::new(self, (&cast, &tree.profile), nodes, steps_max);
        let mut map = DomainMap::new(&ground, levels_of(tree));
        let Some(outline) = Outline::new(&ground, &cast, &mut map, tree) else {
            return Err(Miss::proved(too_few()));
        };
        let roots = domains.iter().map(|domain| map.add(&ground, domain)).collect();
        let mut search =
            TreeSearch::new(&mut ground, &mut map, &outline, (roots, is_monotone), wanted as usize);
        match search.find() {
            Some((root, seated)) => Ok((search.map.get(root).domain.name.clone(), seated)),
            None => Err(search.miss(tree)),
        }
    }

    fn lack_of_domains(&self, tree: &Tree) -> GangReason {
        let runs = !self.pins(&tree.branches).is_empty();
        GangReason::NoTreeDomain { levels: tree.composite.levels.clone(), runs }
    }
}

/// Why a tree has no seats, if it is no matter of one group.
fn of_tree(why: GangReason) -> GangReason {
    GangReason::Tree { nearest: Box::new(why), groups: Default::default() }
}
