//! How placements of gangs are compared: `GangSchedulingArgs`. They are ours; in Kubernetes the plugin has none.

use crate::fault::{Faults, Problem};
use crate::fields::Item;

/// A way to compare placements, and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementWeight {
    /// The way.
    pub scorer: PlacementScorer,
    /// Its weight, from 0 to 100.
    pub weight: u32,
}

/// A way to compare placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementScorer {
    /// Little is left over in the domain.
    TightestFit,
    /// Much is left over in the domain.
    LooseFit,
    /// Few domains, where a level could not be kept.
    FewestDomains,
    /// Few nodes.
    FewestNodes,
    /// Little is left over on the nodes that are used.
    LeastFragments,
    /// More members than have to be seated.
    MostMembers,
}

impl PlacementScorer {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::TightestFit,
        Self::LooseFit,
        Self::FewestDomains,
        Self::FewestNodes,
        Self::LeastFragments,
        Self::MostMembers,
    ];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TightestFit => "TightestFit",
            Self::LooseFit => "LooseFit",
            Self::FewestDomains => "FewestDomains",
            Self::FewestNodes => "FewestNodes",
            Self::LeastFragments => "LeastFragments",
            Self::MostMembers => "MostMembers",
        }
    }
}

pub(super) fn read(item: Item<'_>, args: &mut Vec<PlacementWeight>, faults: &mut Faults) {
    const SCORERS: &str = "placementScorers";
    let Some(fields) = super::fields(item, "GangSchedulingArgs", &[SCORERS], faults) else { return };
    let choices = PlacementScorer::ALL.map(|scorer| (scorer.name(), scorer));
    let mut seen: Vec<PlacementScorer> = Vec::new();
    *args = fields.list(SCORERS, faults, |item, faults| {
        let fields = item.fields(&["name", "weight"], faults)?;
        let Some(name) = fields.get("name") else {
            fields.fault("name", Problem::Required { hint: "write the name of a scorer" }, faults);
            return None;
        };
        let scorer = name.choice(&choices, faults)?;
        if seen.contains(&scorer) {
            name.fault(Problem::Rule("an earlier scorer has this name"), faults);
        }
        seen.push(scorer);
        let weight = fields.small("weight", 0..=100, faults).unwrap_or(1).unsigned_abs();
        Some(PlacementWeight { scorer, weight })
    });
}
