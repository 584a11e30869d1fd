//! What people may set about scores.

use std::sync::Arc;

use model::node::NodeTerm;
use model::pod::{LabelSelector, Spread};

use crate::scores::kind::Score;
use crate::scores::resources::Strategy;

/// The label that tells nodes apart.
pub(crate) const HOST: &str = "kubernetes.io/hostname";

/// The label that tells zones apart.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";

/// What people may set about scores.
#[derive(Clone, PartialEq, Debug)]
pub struct ScoreSettings {
    /// How much each kind counts; what is not listed does not count.
    pub weights: Vec<(Score, i64)>,
    /// Whether more or less should be left of a node, and of what.
    pub strategy: Strategy,
    /// Resources that should be used alike.
    pub balanced: Vec<Arc<str>>,
    /// Nodes that any pod would like, by how much.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// How much it counts for a node that a pod there must be near the new one.
    pub required_near: i32,
    /// Whether the wishes of placed pods do not count for a pod that has none itself.
    pub ignores_wishes_of_others: bool,
    /// Whether tolerations may compare numbers.
    pub compares_taints: bool,
    /// How pods should be spread that say nothing about it, if it is known among which pods. Selectors are left open here.
    pub default_spread: Vec<Spread>,
    /// Whether nodes that lack a label of these rules are worst, as they are for the rules of pods.
    pub default_spread_needs_labels: bool,
}

impl Default for ScoreSettings {
    fn default() -> ScoreSettings {
        ScoreSettings {
            weights: vec![
                (Score::Taints, 3),
                (Score::NodeAffinity, 2),
                (Score::Resources, 1),
                (Score::Spread, 2),
                (Score::PodAffinity, 2),
                (Score::Devices, 2),
                (Score::Balanced, 1),
                (Score::Images, 1),
                (Score::ReadyDevices, 3),
            ],
            strategy: Strategy::default(),
            balanced: vec!["cpu".into(), "memory".into()],
            preferred_nodes: Vec::new(),
            required_near: 1,
            ignores_wishes_of_others: false,
            compares_taints: false,
            default_spread: system_rules(),
            default_spread_needs_labels: false,
        }
    }
}

impl ScoreSettings {
    /// How much a kind counts.
    #[must_use]
    pub fn weight(&self, kind: Score) -> i64 {
        self.weights.iter().filter(|(weighted, _)| *weighted == kind).map(|(_, weight)| weight).sum()
    }
}

/// Over nodes and zones: how pods are spread unless they or the settings say otherwise.
#[must_use]
pub fn system_rules() -> Vec<Spread> {
    let rule = |(key, max_skew): (&str, i32)| Spread {
        max_skew,
        key: key.into(),
        required: false,
        selector: LabelSelector::Nothing,
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    [(HOST, 3), (ZONE, 5)].map(rule).into()
}
