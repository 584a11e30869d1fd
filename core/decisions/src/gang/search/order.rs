//! Whether members can come to their nodes one after the other, so that each may as a single pod may.
//!
//! That is what it means for seats to be right: there is an order in which every member passes all filters, with those before
//! it on their nodes. It is looked for depth first. Who is in nobody's way goes at once, and who has to wait for the same
//! members as before, in vain, is not tried again.
//!
//! Invariant: nobody is counted afterwards who was not before.

use cluster::nodes::NodeIdx;
use placement::{Budget, Load, Verdict};
use rustc_hash::FxHashSet;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::search::rules::Rules;
use crate::profile::Profile;

/// Members of a kind on nodes that rules do not tell apart.
struct Party {
    kind: usize,
    at: NodeIdx,
    left: u32,
}

/// A place in the order, and who could be next there.
struct Choice {
    parties: Vec<usize>,
    next: usize,
}

/// Whether there is such an order for these loads. Nobody of them may be counted yet.
pub(crate) fn find(
    cycle: &Cycle<'_>,
    rules: &mut Rules,
    loads: &[(NodeIdx, Load)],
    profile: &Profile,
    budget: &mut Budget,
) -> Verdict {
    let parties = parties(cycle, rules, loads);
    let mut search =
        Search { cycle, rules, profile, parties, choices: Vec::new(), failed: FxHashSet::default() };
    let verdict = search.run(budget);
    while search.step_back() {}
    verdict
}

fn parties(cycle: &Cycle<'_>, rules: &mut Rules, loads: &[(NodeIdx, Load)]) -> Vec<Party> {
    let mut parties: Vec<(u32, Party)> = Vec::new();
    for (at, load) in loads {
        let group = rules.group(*at, filters::node_of(cycle.facts.nodes.get(*at)));
        for (kind, count) in load.present() {
            let known = parties.iter_mut().find(|(of, party)| *of == group && party.kind == kind);
            match known {
                Some((_, party)) => party.left += count,
                None => parties.push((group, Party { kind, at: *at, left: count })),
            }
        }
    }
    parties.into_iter().map(|(_, party)| party).collect()
}

struct Search<'s> {
    cycle: &'s Cycle<'s>,
    rules: &'s mut Rules,
    profile: &'s Profile,
    parties: Vec<Party>,
    choices: Vec<Choice>,
    /// Who was left where nothing succeeded.
    failed: FxHashSet<Vec<u32>>,
}

impl Search<'_> {
    fn run(&mut self, budget: &mut Budget) -> Verdict {
        loop {
            if self.parties.iter().all(|party| party.left == 0) {
                return Verdict::Yes;
            }
            if !budget.spend(1) {
                return Verdict::Unknown;
            }
            let parties = self.who_could_come();
            self.choices.push(Choice { parties, next: 0 });
            while !self.advance() {
                self.choices.pop();
                self.failed.insert(self.left());
                if !self.undo_last() {
                    return Verdict::No;
                }
            }
        }
    }

    fn left(&self) -> Vec<u32> {
        self.parties.iter().map(|party| party.left).collect()
    }

    /// The parties of which one may come next. Who is in nobody's way leaves no choice.
    fn who_could_come(&self) -> Vec<usize> {
        if self.failed.contains(&self.left()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (number, party) in self.parties.iter().enumerate().filter(|(_, party)| party.left > 0) {
            let state = self.cycle.facts.nodes.get(party.at);
            if self.rules.check(self.cycle, party.kind, state, self.profile).is_ok() {
                if self.rules.is_harmless(party.kind) {
                    return vec![number];
                }
                found.push(number);
            }
        }
        found
    }

    /// Lets the next of those come that could.
    fn advance(&mut self) -> bool {
        let choice = self.choices.last_mut().expect("a place in the order was added");
        let Some(number) = choice.parties.get(choice.next).copied() else { return false };
        choice.next += 1;
        self.move_party(number, true);
        true
    }

    /// Takes the one back who came last.
    fn undo_last(&mut self) -> bool {
        let Some(choice) = self.choices.last() else { return false };
        let number = choice.parties[choice.next - 1];
        self.move_party(number, false);
        true
    }

    fn step_back(&mut self) -> bool {
        let is_undone = self.undo_last();
        self.choices.pop();
        is_undone
    }

    fn move_party(&mut self, number: usize, comes: bool) {
        let Party { kind, at, left } = &mut self.parties[number];
        *left = if comes { *left - 1 } else { *left + 1 };
        self.rules.count(*kind, filters::node_of(self.cycle.facts.nodes.get(*at)), comes);
    }
}
