//! How placements of gangs are compared: which scorers there are, and how much each counts.

use placement::{
    FewestNodes, FewestParts, LeastFragments, LooseFit, MostMembers, PlacementScorer, TightestFit, Weighted,
};

/// A way to compare placements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlacementScore {
    /// Domains in which little is left over are better.
    TightestFit,
    /// Domains in which much is left over are better.
    LooseFit,
    /// Fewer domains of a level that could not be kept are better.
    FewestDomains,
    /// Fewer nodes are better.
    FewestNodes,
    /// Nodes of which little is left over are better, devices and counters included.
    LeastFragments,
    /// More members than have to be seated are better.
    MostMembers,
}

impl PlacementScore {
    /// All of them.
    pub const ALL: [PlacementScore; 6] = [
        PlacementScore::TightestFit,
        PlacementScore::LooseFit,
        PlacementScore::FewestDomains,
        PlacementScore::FewestNodes,
        PlacementScore::LeastFragments,
        PlacementScore::MostMembers,
    ];

    fn scorer(self) -> &'static dyn PlacementScorer {
        match self {
            PlacementScore::TightestFit => &TightestFit,
            PlacementScore::LooseFit => &LooseFit,
            PlacementScore::FewestDomains => &FewestParts,
            PlacementScore::FewestNodes => &FewestNodes,
            PlacementScore::LeastFragments => &LeastFragments,
            PlacementScore::MostMembers => &MostMembers,
        }
    }
}

/// How placements are compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacementSettings {
    /// What counts, and how much.
    pub weights: Vec<(PlacementScore, u32)>,
}

impl Default for PlacementSettings {
    /// The tightest domain, few domains where a level could not be kept, and nodes that are used up, the last half as much.
    fn default() -> Self {
        let weights = vec![
            (PlacementScore::TightestFit, 2),
            (PlacementScore::FewestDomains, 2),
            (PlacementScore::LeastFragments, 1),
            (PlacementScore::MostMembers, 2),
        ];
        PlacementSettings { weights }
    }
}

impl PlacementSettings {
    /// The scorers, with what each counts.
    pub(crate) fn scorers(&self) -> Vec<Weighted<'static>> {
        let weighted = |(score, weight): &(PlacementScore, u32)| Weighted {
            scorer: score.scorer(),
            weight: f64::from(*weight),
        };
        self.weights.iter().map(weighted).collect()
    }
}
