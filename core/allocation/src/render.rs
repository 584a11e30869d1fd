//! From chosen devices to allocations: results, configurations, and the nodes that can use them all.

use std::collections::BTreeMap;
use std::sync::Arc;

use gates::{Gate, Gates};
use model::allocation::{Allocation, ConfigSource, Grant, GrantedConfig};
use model::device::{Binding, Reach};
use model::node::{NodeSelector, NodeTerm, Requirement};
use model::request_name::RequestName;

use crate::error::AllocationError;
use crate::problem::{Alternative, ParsedClaim, Problem, Spot};
use crate::search::Solution;

/// The allocations of all claims.
pub(crate) fn render(problem: &Problem, solution: &Solution) -> Result<Vec<Allocation>, AllocationError> {
    let mut chosen = solution.chosen.iter().peekable();
    let mut allocations = Vec::with_capacity(problem.claims.len());
    for claim in &problem.claims {
        let requests = claim.first_request..claim.first_request + claim.requests;
        let mut grants = Vec::new();
        let mut spots = Vec::new();
        while let Some((alternative, spot)) = chosen.next_if(|(alternative, _)| {
            requests.contains(&(problem.alternatives[*alternative as usize].request as usize))
        }) {
            let (alternative, known) =
                (&problem.alternatives[*alternative as usize], &problem.spots[*spot as usize]);
            grants.push(grant(problem.gates, alternative, known, *spot));
            spots.push(known);
        }
        let alternatives: Vec<&Alternative> = solution.alternatives[requests]
            .iter()
            .map(|alternative| &problem.alternatives[*alternative as usize])
            .collect();
        let nodes = nodes(problem, claim, &spots)?;
        allocations.push(Allocation { grants, configs: configs(claim, &alternatives), nodes });
    }
    Ok(allocations)
}

fn grant(gates: Gates, alternative: &Alternative, spot: &Spot, number: u32) -> Grant {
    let conditions =
        gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus);
    let declares = gates.enabled(Gate::DRADeviceCompatibilityGroups) && spot.device().declares_groups();
    let groups: BTreeMap<_, _> = if declares {
        spot.device().draws.iter().map(|draw| (draw.counter_set.clone(), draw.groups.clone())).collect()
    } else {
        BTreeMap::new()
    };
    Grant {
        request: alternative.name.clone(),
        device: spot.id.clone(),
        admin_access: alternative.admin,
        share: spot
            .shareable
            .then(|| alternative.taken(number).map(|taken| taken.amounts.clone()).unwrap_or_default()),
        tolerations: alternative.tolerations.clone(),
        binding: if conditions { spot.device().binding.clone() } else { Binding::default() },
        skip_node_operations: spot.published.slice.skip_node_operations.clone(),
        groups,
    }
}

/// The configurations of classes, each once and with the requests that it is for, then those of the claim. One that is for
/// all requests names none.
fn configs(claim: &ParsedClaim, alternatives: &[&Alternative]) -> Vec<GrantedConfig> {
    let mut configs: Vec<GrantedConfig> = Vec::new();
    let mut seen: BTreeMap<&Arc<str>, std::ops::Range<usize>> = BTreeMap::new();
    for alternative in alternatives {
        let start = configs.len();
        let class = &alternative.class;
        match seen.get(class) {
            Some(known) => {
                configs[known.clone()]
                    .iter_mut()
                    .for_each(|config| config.requests.push(alternative.name.clone()));
            }
            None => {
                for index in 0..alternative.class_configs {
                    let source = ConfigSource::Class { class: class.clone(), index };
                    configs.push(GrantedConfig { source, requests: vec![alternative.name.clone()] });
                }
                seen.insert(class, start..configs.len());
            }
        }
    }
    let names = |config: &[RequestName], alternative: &Alternative| {
        config.iter().any(|named| named.covers(&alternative.name))
    };
    for (index, requests) in claim.configs.iter().enumerate() {
        if requests.is_empty() || alternatives.iter().any(|alternative| names(requests, alternative)) {
            configs.push(GrantedConfig { source: ConfigSource::Claim(index), requests: requests.clone() });
        }
    }
    for config in &mut configs {
        if alternatives.iter().all(|alternative| names(&config.requests, alternative)) {
            config.requests.clear();
        }
    }
    configs
}

/// The nodes that can use all devices of a claim; `None` for every node.
fn nodes(
    problem: &Problem,
    claim: &ParsedClaim,
    spots: &[&Spot],
) -> Result<Option<NodeSelector>, AllocationError> {
    let mut term = NodeTerm::default();
    for spot in spots {
        let reach = match &spot.published.slice.reach {
            Reach::PerDevice => &spot.device().reach,
            reach => reach,
        };
        if matches!(reach, Reach::Node(_)) || spot.device().binds_to_node {
            return Ok(Some(NodeSelector::only(&problem.node)));
        }
        let Reach::Matching(selector) = reach else { continue };
        match &selector.terms[..] {
            [] => {}
            [only] => {
                add_new(&mut term.fields, &only.fields);
                add_new(&mut term.labels, &only.labels);
            }
            terms => {
                return Err(AllocationError::NodeSelectorTerms {
                    claim: claim.asker.clone(),
                    device: Box::new(spot.id.clone()),
                    terms: terms.len(),
                });
            }
        }
    }
    let narrowed = !(term.fields.is_empty() && term.labels.is_empty());
    Ok(narrowed.then(|| NodeSelector { terms: vec![term] }))
}

/// Adds requirements that are not there yet; the order of values does not matter.
fn add_new(to: &mut Vec<Requirement>, from: &[Requirement]) {
    let values = |requirement: &Requirement| {
        let mut values = requirement.values.clone();
        values.sort_unstable();
        values.dedup();
        values
    };
    for requirement in from {
        let same = |known: &Requirement| {
            known.key == requirement.key
                && known.operator == requirement.operator
                && values(known) == values(requirement)
        };
        if !to.iter().any(same) {
            to.push(requirement.clone());
        }
    }
}
