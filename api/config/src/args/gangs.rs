//! How gangs are placed: `GangSchedulingArgs`. They are ours; in Kubernetes the plugin has none.

use crate::fault::{Faults, Problem};
use crate::fields::Item;

/// How gangs are placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangScheduling {
    /// How placements are compared. Nothing says that it is left to the scheduler.
    pub placement_scorers: Vec<PlacementWeight>,
    /// What becomes of a gang of which a pod cannot be bound, unless the gang says so itself.
    pub binding_failure_policy: Option<BindingFailurePolicy>,
}

/// What becomes of a gang if a pod cannot be bound after others were, and they are too few without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingFailurePolicy {
    /// The pod gets another place beside the others.
    Replace,
    /// The others are let go as well, and all are placed anew.
    Release,
}

impl BindingFailurePolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Replace, Self::Release];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replace => "Replace",
            Self::Release => "Release",
        }
    }
}

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

pub(super) fn read(item: Item<'_>, args: &mut GangScheduling, faults: &mut Faults) {
    const SCORERS: &str = "placementScorers";
    const POLICY: &str = "bindingFailurePolicy";
    let Some(fields) = super::fields(item, "GangSchedulingArgs", &[SCORERS, POLICY], faults) else { return };
    let policies = BindingFailurePolicy::ALL.map(|policy| (policy.name(), policy));
    args.binding_failure_policy = fields.get(POLICY).and_then(|item| item.choice(&policies, faults));
    let choices = PlacementScorer::ALL.map(|scorer| (scorer.name(), scorer));
    let mut seen: Vec<PlacementScorer> = Vec::new();
    args.placement_scorers = fields.list(SCORERS, faults, |item, faults| {
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
