//! Which nodes a driver judges, and what it says of them.

use std::collections::{BTreeMap, BTreeSet};

use objects::supercargo::pod_scheduling_context::{PodSchedulingContext, ResourceClaimSchedulingStatus};

/// The most nodes that may be named for a claim.
const NODES_MAX: usize = 128;

/// The nodes to be judged: those that are asked about, and those that were called unsuitable for one of these claims before, since
/// they may have become suitable.
#[must_use]
pub fn nodes_to_judge(context: &PodSchedulingContext, entries: &BTreeSet<&str>) -> Vec<String> {
    let spec = &context.spec;
    let selected = Some(&spec.selected_node).filter(|node| !node.is_empty());
    let answers = context.status.resource_claims.iter();
    let before = answers.filter(|one| entries.contains(one.name.as_str()));
    let mut nodes: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for node in
        selected.into_iter().chain(&spec.potential_nodes).chain(before.flat_map(|one| &one.unsuitable_nodes))
    {
        if seen.insert(node.as_str()) {
            nodes.push(node.clone());
        }
    }
    nodes
}

/// Whether a context asks what it asked before, so that at most another driver's answer is new.
#[must_use]
pub fn asks_the_same(before: &PodSchedulingContext, now: &PodSchedulingContext) -> bool {
    let (old, new) = (&before.metadata, &now.metadata);
    let is_same = old.uid == new.uid
        && old.deletion_timestamp == new.deletion_timestamp
        && old.owner_references == new.owner_references
        && before.spec == now.spec;
    let answers = &now.status.resource_claims;
    is_same && before.status.resource_claims.iter().all(|one| answers.iter().any(|now| now.name == one.name))
}

/// The context with what a driver says about its claims, if that is news. What others say is left alone, and what was said of
/// claims that are not asked about any more as well.
#[must_use]
pub fn answer(
    context: &PodSchedulingContext,
    unsuitable: &BTreeMap<String, BTreeSet<String>>,
) -> Option<PodSchedulingContext> {
    let mut answered = context.clone();
    let mut is_news = false;
    for (entry, nodes) in unsuitable {
        let nodes = most_important(context, nodes);
        let claims = &mut answered.status.resource_claims;
        match claims.iter_mut().find(|one| one.name == *entry) {
            Some(known) => {
                let same = known.unsuitable_nodes.iter().collect::<BTreeSet<_>>() == nodes.iter().collect();
                if !same {
                    known.unsuitable_nodes = nodes;
                    is_news = true;
                }
            }
            None => {
                claims.push(ResourceClaimSchedulingStatus {
                    name: entry.clone(),
                    unsuitable_nodes: nodes,
                    ..ResourceClaimSchedulingStatus::default()
                });
                is_news = true;
            }
        }
    }
    is_news.then_some(answered)
}

/// Whether a node was called unsuitable for a claim that it is judged for now.
#[must_use]
pub fn was_unsuitable(
    context: &PodSchedulingContext,
    node: &str,
    judged: &BTreeMap<String, BTreeSet<String>>,
) -> bool {
    let said = context.status.resource_claims.iter().filter(|one| judged.contains_key(&one.name));
    said.flat_map(|one| &one.unsuitable_nodes).any(|one| one == node)
}

/// As many nodes as may be named: the one that is chosen, those that are asked about, and then others.
fn most_important(context: &PodSchedulingContext, nodes: &BTreeSet<String>) -> Vec<String> {
    let spec = &context.spec;
    let rank = |node: &&String| {
        let is_chosen = **node == spec.selected_node;
        let is_asked = spec.potential_nodes.contains(*node);
        (!is_chosen, !is_asked, (*node).clone())
    };
    let mut ranked: Vec<&String> = nodes.iter().collect();
    ranked.sort_by_key(rank);
    ranked.truncate(NODES_MAX);
    let mut named: Vec<String> = ranked.into_iter().cloned().collect();
    named.sort();
    named
}
