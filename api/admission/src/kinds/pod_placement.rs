//! Where a pod wants to be: affinity, spreading and tolerations, and the labels that are merged into them.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use objects::core::affinity::{Affinity, PodAffinityTerm, Toleration, TopologySpreadConstraint};
use objects::core::pod::PodSpec;
use objects::meta::{LabelSelector, LabelSelectorRequirement};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;
use crate::names;
use crate::selectors::{label_selector, node_selector, preferred_node_term};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Attractions and repulsions.
pub(crate) fn validate_affinity(affinity: &Affinity, path: &Path<'_>, causes: &mut Causes) {
    if let Some(nodes) = &affinity.node_affinity {
        let path = path.field("nodeAffinity");
        if let Some(selector) = &nodes.required_during_scheduling_ignored_during_execution {
            node_selector(selector, &path.field(REQUIRED), causes);
        }
        let list = path.field(PREFERRED);
        for (index, term) in nodes.preferred_during_scheduling_ignored_during_execution.iter().enumerate() {
            let path = list.index(index);
            validate_weight(term.weight, &path, causes);
            preferred_node_term(&term.preference, &path.field("preference"), causes);
        }
    }
    for (name, required, preferred) in pod_terms(affinity) {
        let path = path.field(name);
        for (index, term) in required.iter().enumerate() {
            validate_term(term, &path.field(REQUIRED).index(index), causes);
        }
        for (index, term) in preferred.iter().enumerate() {
            let list = path.field(PREFERRED);
            let path = list.index(index);
            validate_weight(term.weight, &path, causes);
            validate_term(&term.pod_affinity_term, &path.field("podAffinityTerm"), causes);
        }
    }
}

type Terms<'a> =
    (&'static str, &'a [PodAffinityTerm], &'a [objects::core::affinity::WeightedPodAffinityTerm]);

fn pod_terms(affinity: &Affinity) -> impl Iterator<Item = Terms<'_>> {
    let near = affinity.pod_affinity.iter().map(|terms| {
        (
            "podAffinity",
            terms.required_during_scheduling_ignored_during_execution.as_slice(),
            terms.preferred_during_scheduling_ignored_during_execution.as_slice(),
        )
    });
    let far = affinity.pod_anti_affinity.iter().map(|terms| {
        (
            "podAntiAffinity",
            terms.required_during_scheduling_ignored_during_execution.as_slice(),
            terms.preferred_during_scheduling_ignored_during_execution.as_slice(),
        )
    });
    near.chain(far)
}

fn validate_weight(weight: i32, path: &Path<'_>, causes: &mut Causes) {
    if !(1..=100).contains(&weight) {
        causes.invalid(&path.field("weight"), "must be from 1 to 100");
    }
}

fn validate_term(term: &PodAffinityTerm, path: &Path<'_>, causes: &mut Causes) {
    for (name, selector) in
        [("labelSelector", &term.label_selector), ("namespaceSelector", &term.namespace_selector)]
    {
        if let Some(selector) = selector {
            label_selector(selector, &path.field(name), causes);
        }
    }
    for namespace in &term.namespaces {
        causes.malformed(&path.field("namespace"), namespace, names::dns_label(namespace));
    }
    let selector = term.label_selector.as_ref();
    validate_label_keys(&term.match_label_keys, &term.mismatch_label_keys, selector, path, causes);
    let key = path.field("topologyKey");
    if term.topology_key.is_empty() {
        causes.required(&key, "must be set");
    }
    causes.malformed(&key, &term.topology_key, names::label_key(&term.topology_key));
}

/// Keys whose values are taken from the pod's own labels. They were merged into the selector before, so a key that is
/// there twice was there from the start.
fn validate_label_keys(
    matched: &[String],
    mismatched: &[String],
    selector: Option<&LabelSelector>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    for (name, keys) in [("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)] {
        let path = path.field(name);
        if keys.is_empty() {
            continue;
        }
        if selector.is_none() {
            causes.forbidden(&path, "requires a labelSelector");
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            causes.malformed(&path.index(index), key, names::label_key(key));
        }
    }
    if let Some(selector) = selector {
        let mut seen: BTreeSet<&str> = selector.match_labels.keys().map(String::as_str).collect();
        for requirement in &selector.match_expressions {
            let key = requirement.key.as_str();
            let at = matched.iter().rposition(|each| each == key);
            if let Some(at) = at
                && seen.contains(key)
            {
                // Quirk: the index is that of the key, on the path of the term.
                causes.invalid(&path.index(at), format!("{key:?} is in matchLabelKeys and in labelSelector"));
            }
            seen.insert(key);
        }
    }
    for (index, key) in matched.iter().enumerate().filter(|(_, key)| mismatched.contains(key)) {
        let path = path.field("matchLabelKeys");
        causes.invalid(&path.index(index), format!("{key:?} is in mismatchLabelKeys too"));
    }
}

/// How pods are spread over domains.
pub(crate) fn validate_spread(
    constraints: &[TopologySpreadConstraint],
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    const POLICIES: [&str; 2] = ["Honor", "Ignore"];
    const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
    let last: BTreeMap<_, usize> = constraints.iter().map(spread_key).zip(0..).collect();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        if constraint.max_skew <= 0 {
            causes.invalid(&path.field("maxSkew"), "must be greater than zero");
        }
        if constraint.topology_key.is_empty() {
            causes.required(&path.field("topologyKey"), "must be set");
        }
        let action = constraint.when_unsatisfiable.as_str();
        if !ACTIONS.contains(&action) {
            causes.not_supported(&path.field("whenUnsatisfiable"), action, &ACTIONS);
        }
        if last.get(&spread_key(constraint)).is_some_and(|last| index < *last) {
            causes.duplicate(
                &path.field("{topologyKey, whenUnsatisfiable}"),
                &format!("{}, {action}", constraint.topology_key),
            );
        }
        if let Some(domains) = constraint.min_domains {
            if domains <= 0 {
                causes.invalid(&path.field("minDomains"), "must be greater than zero");
            }
            if action != "DoNotSchedule" {
                causes.invalid(&path.field("minDomains"), "needs whenUnsatisfiable DoNotSchedule");
            }
        }
        for (name, policy) in [
            ("nodeAffinityPolicy", &constraint.node_affinity_policy),
            ("nodeTaintsPolicy", &constraint.node_taints_policy),
        ] {
            if let Some(policy) = policy.as_deref().filter(|policy| !POLICIES.contains(policy)) {
                causes.not_supported(&path.field(name), policy, &POLICIES);
            }
        }
        let selector = constraint.label_selector.as_ref();
        if merges_spread_keys(context) {
            validate_label_keys(&constraint.match_label_keys, &[], selector, &path, causes);
        } else {
            validate_plain_label_keys(&constraint.match_label_keys, selector, &path, causes);
        }
        if let Some(selector) = selector {
            label_selector(selector, &path.field("labelSelector"), causes);
        }
    }
}

/// What no two constraints may have in common.
fn spread_key(constraint: &TopologySpreadConstraint) -> (&str, &str) {
    (&constraint.topology_key, &constraint.when_unsatisfiable)
}

/// Keys that stay beside the selector, and so may not be in it.
fn validate_plain_label_keys(
    keys: &[String],
    selector: Option<&LabelSelector>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let path = path.field("matchLabelKeys");
    if !keys.is_empty() && selector.is_none() {
        causes.forbidden(&path, "requires a labelSelector");
    }
    let labels = selector.iter().flat_map(|selector| selector.match_labels.keys());
    let requirements = selector.iter().flat_map(|selector| &selector.match_expressions);
    let used: BTreeSet<&String> = labels.chain(requirements.map(|requirement| &requirement.key)).collect();
    for (index, key) in keys.iter().enumerate() {
        causes.malformed(&path.index(index), key, names::label_key(key));
        if used.contains(key) {
            causes.invalid(&path.index(index), format!("{key:?} is in labelSelector too"));
        }
    }
}

/// Taints that the pod bears. `comparisons` says whether they may be compared with numbers.
pub(crate) fn validate_tolerations(
    tolerations: &[Toleration],
    comparisons: bool,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        if !toleration.key.is_empty() {
            causes.malformed(&path.field("key"), &toleration.key, names::label_key(&toleration.key));
        } else if toleration.operator != "Exists" {
            causes.invalid(&path.field("operator"), "must be Exists if there is no key");
        }
        if toleration.toleration_seconds.is_some() && toleration.effect != "NoExecute" {
            causes.invalid(&path.field("effect"), "must be NoExecute when tolerationSeconds is set");
        }
        match toleration.operator.as_str() {
            "" | "Equal" => {
                // Quirk: what is wrong with the value is said of the operator, and once.
                if !names::label_value(&toleration.value).is_empty() {
                    causes.invalid(&path.field("operator"), "the value must be one that a label can have");
                }
            }
            "Exists" => {
                if !toleration.value.is_empty() {
                    causes.invalid(&path.field("operator"), "Exists takes no value");
                }
            }
            // Quirk: what is refused is named among what is supported.
            operator @ ("Gt" | "Lt") if !comparisons => {
                causes.unsupported(&path.field("operator"), operator, &["Equal", "Exists", "Lt", "Gt"])
            }
            "Gt" | "Lt" => validate_integer(&toleration.value, &path.field("value"), causes),
            other => causes.not_supported(&path.field("operator"), other, &["Equal", "Exists"]),
        }
        if !toleration.effect.is_empty() {
            validate_effect(&toleration.effect, &path.field("effect"), causes);
        }
    }
}

fn validate_integer(value: &str, path: &Path<'_>, causes: &mut Causes) {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !(digits.starts_with('0') && value != "0");
    if !canonical {
        causes.invalid(path, "must be a whole number without leading zeros");
    }
    if value.parse::<i64>().is_err() {
        causes.invalid(path, "must be a 64-bit number");
    }
}

/// What a taint does to pods.
pub(crate) fn validate_effect(effect: &str, path: &Path<'_>, causes: &mut Causes) {
    if !TAINT_EFFECTS.contains(&effect) {
        causes.not_supported(path, effect, &TAINT_EFFECTS);
    }
}

fn merges_spread_keys(context: &Context<'_>) -> bool {
    context.has(Gate::MatchLabelKeysInPodTopologySpread)
        && context.has(Gate::MatchLabelKeysInPodTopologySpreadSelectorMerge)
}

/// Puts the pod's own values of the keys that terms and constraints name into their selectors.
pub(crate) fn merge_label_keys(spec: &mut PodSpec, labels: &BTreeMap<String, String>, context: &Context<'_>) {
    let affinity = spec.affinity.iter_mut();
    let near_or_far = affinity.flat_map(|affinity| {
        let near = affinity.pod_affinity.iter_mut().flat_map(|terms| {
            let preferred = terms.preferred_during_scheduling_ignored_during_execution.iter_mut();
            let required = terms.required_during_scheduling_ignored_during_execution.iter_mut();
            preferred.map(|term| &mut term.pod_affinity_term).chain(required)
        });
        let far = affinity.pod_anti_affinity.iter_mut().flat_map(|terms| {
            let preferred = terms.preferred_during_scheduling_ignored_during_execution.iter_mut();
            let required = terms.required_during_scheduling_ignored_during_execution.iter_mut();
            preferred.map(|term| &mut term.pod_affinity_term).chain(required)
        });
        near.chain(far)
    });
    for term in near_or_far {
        if let Some(selector) = &mut term.label_selector {
            merge(selector, &term.match_label_keys, "In", labels);
            merge(selector, &term.mismatch_label_keys, "NotIn", labels);
        }
    }
    if merges_spread_keys(context) {
        for constraint in &mut spec.topology_spread_constraints {
            if let Some(selector) = &mut constraint.label_selector {
                merge(selector, &constraint.match_label_keys, "In", labels);
            }
        }
    }
}

fn merge(selector: &mut LabelSelector, keys: &[String], operator: &str, labels: &BTreeMap<String, String>) {
    for (key, value) in keys.iter().filter_map(|key| labels.get_key_value(key)) {
        selector.match_expressions.push(LabelSelectorRequirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: vec![value.clone()],
            ..Default::default()
        });
    }
}
