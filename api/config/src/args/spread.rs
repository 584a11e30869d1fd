//! How pods are spread that say nothing about it: `PodTopologySpreadArgs`.

use std::sync::Arc;

use crate::fault::{Faults, Problem};
use crate::fields::Item;

/// How pods are spread that say nothing about it, if a service or a controller tells which pods belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultConstraints {
    /// As Kubernetes thinks best: a difference of 3 over hosts and of 5 over zones, where possible.
    System,
    /// Like this.
    List(Vec<DefaultConstraint>),
}

/// A constraint that lacks only the pods it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultConstraint {
    /// By how much places may differ.
    pub max_skew: i32,
    /// The node label that tells places apart.
    pub key: Arc<str>,
    /// Whether a node that would break it is out of the question, or only worse.
    pub required: bool,
    /// Over at least how many places.
    pub min_domains: Option<i32>,
    /// Whether nodes that the pod's node affinity excludes are left out of the count.
    pub honor_affinity: bool,
    /// Whether nodes with taints that the pod does not bear are left out of the count.
    pub honor_taints: bool,
    /// Labels whose values in the pod narrow down the pods it is about.
    pub match_label_keys: Vec<Arc<str>>,
}

impl DefaultConstraints {
    /// The constraints.
    #[must_use]
    pub fn constraints(&self) -> Vec<DefaultConstraint> {
        let system = |key: &str, max_skew| DefaultConstraint {
            max_skew,
            key: key.into(),
            required: false,
            min_domains: None,
            honor_affinity: true,
            honor_taints: false,
            match_label_keys: Vec::new(),
        };
        match self {
            Self::System => {
                vec![system("kubernetes.io/hostname", 3), system("topology.kubernetes.io/zone", 5)]
            }
            Self::List(constraints) => constraints.clone(),
        }
    }
}

pub(super) fn read(item: Item<'_>, faults: &mut Faults) -> DefaultConstraints {
    const TYPE: &str = "defaultingType";
    const CONSTRAINTS: &str = "defaultConstraints";
    let fields = super::fields(item, "PodTopologySpreadArgs", &[TYPE, CONSTRAINTS], faults);
    let Some(fields) = fields else { return DefaultConstraints::System };
    let mut list: Vec<DefaultConstraint> = Vec::new();
    fields.list(CONSTRAINTS, faults, |item, faults| {
        let new = constraint(item, faults)?;
        if list.iter().any(|earlier| earlier.key == new.key && earlier.required == new.required) {
            let sentence = "an earlier constraint has this topologyKey and this whenUnsatisfiable";
            item.fault(Problem::Rule(sentence), faults);
        }
        list.push(new);
        Some(())
    });
    // Empty text is how Kubernetes says "not set".
    let is_list = match fields.get(TYPE) {
        Some(item) => item.choice(&[("System", false), ("List", true), ("", false)], faults),
        None => Some(false),
    };
    if is_list == Some(false) && !list.is_empty() {
        let sentence = "must be empty unless defaultingType is List; hint: write defaultingType: List";
        fields.fault(CONSTRAINTS, Problem::Rule(sentence), faults);
    }
    if is_list == Some(true) { DefaultConstraints::List(list) } else { DefaultConstraints::System }
}

fn constraint(item: &Item<'_>, faults: &mut Faults) -> Option<DefaultConstraint> {
    const SKEW: &str = "maxSkew";
    const KEY: &str = "topologyKey";
    const WHEN: &str = "whenUnsatisfiable";
    const SELECTOR: &str = "labelSelector";
    let known =
        [SKEW, KEY, WHEN, SELECTOR, "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"];
    let fields = item.fields(&known, faults)?;
    for (name, hint) in [
        (SKEW, "write a number of at least 1"),
        (KEY, "write the key of a node label"),
        (WHEN, "write DoNotSchedule or ScheduleAnyway"),
    ] {
        if fields.get(name).is_none() {
            fields.fault(name, Problem::Required { hint }, faults);
        }
    }
    if fields.get(SELECTOR).is_some() {
        let sentence = "must not be set; the pods are those of the pod's service or controller";
        fields.fault(SELECTOR, Problem::Rule(sentence), faults);
    }
    let policy = |name, faults: &mut Faults| {
        fields.get(name).and_then(|item| item.choice(&[("Honor", true), ("Ignore", false)], faults))
    };
    let max_skew = fields.small(SKEW, 1..=i32::MAX, faults);
    let key = fields.get(KEY).and_then(|item| item.label_key(faults));
    let actions = [("DoNotSchedule", true), ("ScheduleAnyway", false)];
    let required = fields.get(WHEN).and_then(|item| item.choice(&actions, faults));
    let constraint = DefaultConstraint {
        max_skew: max_skew.unwrap_or(1),
        key: key?,
        required: required?,
        min_domains: fields.small("minDomains", 1..=i32::MAX, faults),
        honor_affinity: policy("nodeAffinityPolicy", faults).unwrap_or(true),
        honor_taints: policy("nodeTaintsPolicy", faults).unwrap_or(false),
        match_label_keys: fields.list("matchLabelKeys", faults, |item, faults| item.label_key(faults)),
    };
    Some(constraint)
}
