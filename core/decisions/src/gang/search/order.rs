//! Whether members can come to their nodes one after the other, so that each may as a single pod may.
//!
//! That is what it means for seats to be right: there is an order in which every member passes all filters, with those before
//! it on their nodes. It is looked for depth first. A member that is in no other's way comes at once, and one that has to wait for the same
//! members as before, in vain, is not tried again.
//!
//! Invariant: no member is counted afterwards that was not before.

use cluster::nodes::NodeIdx;
use placement::{Budget, Load, Verdict};
use rustc_hash::FxHashSet;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::search::rules::Rules;
use crate::profile::Profile;

/// Members of a kind on nodes that rules do not tell apart.
struct Batch {
    kind: usize,
    at: NodeIdx,
    left: u32,
}

/// A place in the order, and the batches of which one could be next there.
struct Branching {
    batches: Vec<usize>,
    next: usize,
}

/// Whether there is such an order for these loads. No member of them may be counted yet.
pub(crate) fn find(
    cycle: &Cycle<'_>,
    rules: &mut Rules,
    loads: &[(NodeIdx, Load)],
    profile: &Profile,
    budget: &mut Budget,
) -> Verdict {
    let batches = batches(cycle, rules, loads);
    let mut search =
        Search { cycle, rules, profile, batches, branchings: Vec::new(), failed: FxHashSet::default() };
    let verdict = search.run(budget);
    while search.step_back() {}
    verdict
}

fn batches(cycle: &Cycle<'_>, rules: &mut Rules, loads: &[(NodeIdx, Load)]) -> Vec<Batch> {
    let mut batches: Vec<(u32, Batch)> = Vec::new();
    for (at, load) in loads {
        let group = rules.group(*at, filters::node_of(cycle.facts.nodes.get(*at)));
        for (kind, count) in load.present() {
            let known = batches.iter_mut().find(|(of, batch)| *of == group && batch.kind == kind);
            match known {
                Some((_, batch)) => batch.left += count,
                None => batches.push((group, Batch { kind, at: *at, left: count })),
            }
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

struct Search<'s> {
    cycle: &'s Cycle<'s>,
    rules: &'s mut Rules,
    profile: &'s Profile,
    batches: Vec<Batch>,
    branchings: Vec<Branching>,
    /// How many of each batch were left where nothing succeeded.
    failed: FxHashSet<Vec<u32>>,
}

impl Search<'_> {
    fn run(&mut self, budget: &mut Budget) -> Verdict {
        loop {
            if self.batches.iter().all(|batch| batch.left == 0) {
                return Verdict::Yes;
            }
            if !budget.spend(1) {
                return Verdict::Unknown;
            }
            let batches = self.who_could_come();
            self.branchings.push(Branching { batches, next: 0 });
            while !self.advance() {
                self.branchings.pop();
                self.failed.insert(self.left());
                if !self.undo_last() {
                    return Verdict::No;
                }
            }
        }
    }

    fn left(&self) -> Vec<u32> {
        self.batches.iter().map(|batch| batch.left).collect()
    }

    /// The batches of which one may come next. A batch that is in no other's way is the only one.
    fn who_could_come(&self) -> Vec<usize> {
        if self.failed.contains(&self.left()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (number, batch) in self.batches.iter().enumerate().filter(|(_, batch)| batch.left > 0) {
            let state = self.cycle.facts.nodes.get(batch.at);
            if self.rules.check(self.cycle, batch.kind, state, self.profile).is_ok() {
                if self.rules.is_harmless(batch.kind) {
                    return vec![number];
                }
                found.push(number);
            }
        }
        found
    }

    /// Lets a member of the next batch come.
    fn advance(&mut self) -> bool {
        let branching = self.branchings.last_mut().expect("a place in the order was added");
        let Some(number) = branching.batches.get(branching.next).copied() else { return false };
        branching.next += 1;
        self.move_batch(number, true);
        true
    }

    /// Takes the member back that came last.
    fn undo_last(&mut self) -> bool {
        let Some(branching) = self.branchings.last() else { return false };
        let number = branching.batches[branching.next - 1];
        self.move_batch(number, false);
        true
    }

    fn step_back(&mut self) -> bool {
        let is_undone = self.undo_last();
        self.branchings.pop();
        is_undone
    }

    fn move_batch(&mut self, number: usize, comes: bool) {
        let Batch { kind, at, left } = &mut self.batches[number];
        *left = if comes { *left - 1 } else { *left + 1 };
        self.rules.count(*kind, filters::node_of(self.cycle.facts.nodes.get(*at)), comes);
    }
}
