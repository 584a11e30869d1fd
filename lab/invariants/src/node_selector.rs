//! The node selector of an allocation names the nodes that can reach all its devices.

use std::collections::BTreeSet;

use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use crate::attempt::{Attempt, Pick};
use crate::evidence::Made;
use crate::names::ClaimName;
use crate::violation::Violation;

/// Whether the node selector is the expected one.
pub(crate) fn check(attempt: &Attempt<'_>, made: &Made<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let expected = match expected(attempt, picks) {
        Ok(expected) => expected,
        Err(violation) => return vec![*violation],
    };
    let found = &made.allocation.node_selector;
    if expected == *found {
        return Vec::new();
    }
    let shown = |selector: &Option<NodeSelector>| match selector {
        Some(selector) => serde_json::to_string(selector).expect("a selector can be written"),
        None => "none".to_owned(),
    };
    vec![Violation::WrongNodeSelector {
        claim: ClaimName::of(made.claim),
        expected: shown(&expected),
        found: shown(found),
    }]
}

/// This very node if a device is bound to a node; else all requirements of the devices together.
pub(crate) fn expected(
    attempt: &Attempt<'_>,
    picks: &[Pick<'_>],
) -> Result<Option<NodeSelector>, Box<Violation>> {
    let mut term = NodeSelectorTerm::default();
    for pick in picks {
        let (spec, device) = (&pick.found.slice.spec, pick.found.device);
        let (name, selector) = match spec.per_device_node_selection {
            Some(true) => (&device.node_name, &device.node_selector),
            _ => (&spec.node_name, &spec.node_selector),
        };
        if name.is_some() || device.binds_to_node == Some(true) {
            let requirement = NodeSelectorRequirement {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: vec![attempt.node.metadata.name.clone()],
                ..Default::default()
            };
            let term = NodeSelectorTerm { match_fields: vec![requirement], ..Default::default() };
            return Ok(Some(NodeSelector { node_selector_terms: vec![term], ..Default::default() }));
        }
        match selector.as_ref().map(|selector| selector.node_selector_terms.as_slice()).unwrap_or_default() {
            [] => {}
            [one] => {
                extend(&mut term.match_fields, &one.match_fields);
                extend(&mut term.match_expressions, &one.match_expressions);
            }
            several => {
                let violation = Violation::SeveralTerms { choice: pick.choice(), terms: several.len() };
                return Err(Box::new(violation));
            }
        }
    }
    let empty = term.match_fields.is_empty() && term.match_expressions.is_empty();
    let selector = NodeSelector { node_selector_terms: vec![term], ..Default::default() };
    Ok((!empty).then_some(selector))
}

fn extend(known: &mut Vec<NodeSelectorRequirement>, more: &[NodeSelectorRequirement]) {
    let set = |one: &NodeSelectorRequirement| one.values.iter().cloned().collect::<BTreeSet<_>>();
    for one in more {
        let same = |other: &NodeSelectorRequirement| {
            other.key == one.key && other.operator == one.operator && set(other) == set(one)
        };
        if !known.iter().any(same) {
            known.push(one.clone());
        }
    }
}
