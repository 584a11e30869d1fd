//! What is asked, what must come of it, and how many steps that may take.
//!
//! The limits are about twice what is needed today: they are there to show that a way to skip branches was lost, which
//! costs orders of magnitude and not a few steps.

use model::claim::Claim;

use super::world::{World, claim, of_profile};
use super::{partitions, ties};

/// A question about one node.
pub(super) struct Case {
    pub name: &'static str,
    pub world: fn() -> anyhow::Result<World>,
    /// For each claim its requests: how many devices of which profile.
    pub claims: &'static [&'static [(i64, &'static str)]],
    /// Attributes of which all devices of a claim have a value in common.
    pub tied_by: &'static [&'static str],
    pub outcome: Outcome,
    pub steps_max: u64,
}

/// What must come of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Allocated,
    Impossible,
}

use Outcome::{Allocated, Impossible};

const FIVE_KINDS: &[(i64, &str)] =
    &[(1, "kind-0"), (1, "kind-1"), (1, "kind-2"), (1, "kind-3"), (1, "kind-4")];
const FIVE_ALIKE: &[(i64, &str)] = &[(1, "kind-0"); 5];

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "partitions: 1 × 1g",                       world: partitions::empty,            claims: &[&[(1, "1g.5gb")]],                             tied_by: &[],                outcome: Allocated,  steps_max: 10 },
    Case { name: "partitions: 7 × 1g",                       world: partitions::empty,            claims: &[&[(7, "1g.5gb")]],                             tied_by: &[],                outcome: Allocated,  steps_max: 20 },
    Case { name: "partitions: 7 × 1g of one GPU",            world: partitions::one_taken,        claims: &[&[(7, "1g.5gb")]],                             tied_by: &["parentIndex"],   outcome: Allocated,  steps_max: 20 },
    Case { name: "partitions: 8 × 1g of one GPU",            world: partitions::empty,            claims: &[&[(8, "1g.5gb")]],                             tied_by: &["parentIndex"],   outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 56 × 1g in two claims",        world: partitions::empty,            claims: &[&[(28, "1g.5gb")], &[(28, "1g.5gb")]],         tied_by: &[],                outcome: Allocated,  steps_max: 120 },
    Case { name: "partitions: 57 × 1g in two claims",        world: partitions::empty,            claims: &[&[(28, "1g.5gb")], &[(29, "1g.5gb")]],         tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 56 × 1g, a request each",      world: partitions::empty,            claims: &[&[(1, "1g.5gb"); 28], &[(1, "1g.5gb"); 28]],   tied_by: &[],                outcome: Allocated,  steps_max: 240 },
    Case { name: "partitions: 57 × 1g, a request each",      world: partitions::empty,            claims: &[&[(1, "1g.5gb"); 28], &[(1, "1g.5gb"); 29]],   tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 8 full GPUs",                  world: partitions::empty,            claims: &[&[(8, "full")]],                               tied_by: &[],                outcome: Allocated,  steps_max: 20 },
    Case { name: "partitions: 8 full GPUs, one part taken",  world: partitions::one_taken,        claims: &[&[(8, "full")]],                               tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 7 full GPUs and 7 × 1g",       world: partitions::empty,            claims: &[&[(7, "full"), (7, "1g.5gb")]],                tied_by: &[],                outcome: Allocated,  steps_max: 40 },
    Case { name: "partitions: 7 × 1g, then 7 full GPUs",     world: partitions::empty,            claims: &[&[(7, "1g.5gb"), (7, "full")]],                tied_by: &[],                outcome: Allocated,  steps_max: 40 },
    Case { name: "partitions: 8 × 3g, then 8 × 4g",          world: partitions::empty,            claims: &[&[(8, "3g.20gb"), (8, "4g.20gb")]],            tied_by: &[],                outcome: Allocated,  steps_max: 60 },
    Case { name: "partitions: 6 × 3g and 18 × 2g",           world: partitions::empty,            claims: &[&[(6, "3g.20gb"), (18, "2g.10gb")]],           tied_by: &[],                outcome: Allocated,  steps_max: 70 },
    Case { name: "partitions: 18 × 2g and 6 × 3g",           world: partitions::empty,            claims: &[&[(18, "2g.10gb"), (6, "3g.20gb")]],           tied_by: &[],                outcome: Allocated,  steps_max: 70 },
    Case { name: "partitions: 6 × 3g and 19 × 2g",           world: partitions::empty,            claims: &[&[(6, "3g.20gb"), (19, "2g.10gb")]],           tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 19 × 2g and 6 × 3g",           world: partitions::empty,            claims: &[&[(19, "2g.10gb"), (6, "3g.20gb")]],           tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 27 × 1g, then 9 × 3g",         world: partitions::empty,            claims: &[&[(27, "1g.5gb")], &[(9, "3g.20gb")]],         tied_by: &[],                outcome: Allocated,  steps_max: 250 },
    Case { name: "partitions: 29 × 1g, then 9 × 3g",         world: partitions::empty,            claims: &[&[(29, "1g.5gb")], &[(9, "3g.20gb")]],         tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 18 × 2g, 9 × 1g.10gb and 11 × 1g", world: partitions::empty,            claims: &[&[(18, "2g.10gb")], &[(9, "1g.10gb"), (11, "1g.5gb")]], tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 8 × 1g.10gb, 18 × 2g and 10 × 1g", world: partitions::empty,            claims: &[&[(8, "1g.10gb"), (18, "2g.10gb")], &[(10, "1g.5gb")]], tied_by: &[],                outcome: Allocated,  steps_max: 12_000 },
    Case { name: "partitions: 17 × 2g, 4 × 1g and 4 × 4g",   world: partitions::empty,            claims: &[&[(17, "2g.10gb"), (4, "1g.5gb"), (4, "4g.20gb")]], tied_by: &[],                outcome: Impossible, steps_max: 9_000 },
    Case { name: "partitions: 8 × 3g, the middles taken",    world: partitions::middles_taken,    claims: &[&[(8, "3g.20gb")]],                            tied_by: &[],                outcome: Allocated,  steps_max: 20 },
    Case { name: "partitions: 9 × 3g, the middles taken",    world: partitions::middles_taken,    claims: &[&[(9, "3g.20gb")]],                            tied_by: &[],                outcome: Impossible, steps_max: 10 },
    Case { name: "partitions: 5 profiles in 2 claims",       world: partitions::empty,            claims: &[&[(2, "4g.20gb"), (5, "3g.20gb"), (4, "2g.10gb")], &[(8, "1g.10gb"), (6, "1g.5gb")]], tied_by: &[], outcome: Allocated, steps_max: 60 },
    Case { name: "ties: 5 kinds, the last of 16 trays",      world: ties::last_tray_has_all,      claims: &[FIVE_KINDS],                                   tied_by: &["tray"],          outcome: Allocated,  steps_max: 60 },
    Case { name: "ties: 5 kinds, none of 16 trays",          world: ties::no_tray_has_all,        claims: &[FIVE_KINDS],                                   tied_by: &["tray"],          outcome: Impossible, steps_max: 10 },
    Case { name: "ties: 5 alike, the last switch",           world: ties::last_switch_has_five,   claims: &[FIVE_ALIKE],                                   tied_by: &["switch"],        outcome: Allocated,  steps_max: 150 },
    Case { name: "ties: 5 alike, no switch",                 world: ties::no_switch_has_five,     claims: &[FIVE_ALIKE],                                   tied_by: &["switch"],        outcome: Impossible, steps_max: 10 },
    Case { name: "ties: 5 alike by two ties, the last row",  world: ties::last_row_is_one_column, claims: &[FIVE_ALIKE],                                   tied_by: &["row", "column"], outcome: Allocated,  steps_max: 260 },
    Case { name: "ties: 5 alike by two ties, nowhere",       world: ties::two_in_each_cell,       claims: &[FIVE_ALIKE],                                   tied_by: &["row", "column"], outcome: Impossible, steps_max: 260 },
];

impl Case {
    /// The claims in full.
    pub fn claims(&self) -> Vec<Claim> {
        let full = |(at, requests): (usize, &&[(i64, &str)])| {
            let asks: Vec<_> =
                requests.iter().map(|(count, profile)| (*count, of_profile(profile))).collect();
            claim(&format!("claim-{at}"), &asks, self.tied_by)
        };
        self.claims.iter().enumerate().map(full).collect()
    }
}
