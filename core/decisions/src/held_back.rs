//! What holds a pod back before it is looked at, by itself or with its gang: something that has to exist first.
//!
//! Invariant: the scheduler holds back those pods for which something is told here, and explanations tell the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::groups::Root;
use gates::Gate;
use model::group::GroupId;
use model::pod::{ClaimSource, Pod};
use model::workload::{Replica, WorkloadId};

use crate::filters::Filter;
use crate::settings::Settings;
use crate::values::lacking::Lacking;

/// What a pod lacks by itself: its group, or a claim.
#[must_use]
pub fn lack_of_pod(facts: &Facts, settings: &Settings, pod: &Pod) -> Option<Lacking> {
    let group = facts.groups.gang_of(pod).and_then(|id| lack_above(facts, settings, &id));
    group.or_else(|| lack_of_claims(facts, settings, pod))
}

/// What keeps all members of a gang or of a tree back: one of them that is held back, or that they are too few.
#[must_use]
pub fn lack_of_gang(facts: &Facts, settings: &Settings, root: &Root, pods: &[Arc<Pod>]) -> Option<Lacking> {
    let kept = pods.iter().find_map(|pod| {
        let gates = || (!pod.gates.is_empty()).then_some(Lacking::Gates);
        let lacks = Box::new(lack_of_claims(facts, settings, pod).or_else(gates)?);
        Some(Lacking::Member { pod: pod.id.name.clone(), lacks })
    });
    kept.or_else(|| lack_of_members(facts, root))
}

/// A claim that a pod names, or that is to be made for it, and that is not there.
fn lack_of_claims(facts: &Facts, settings: &Settings, pod: &Pod) -> Option<Lacking> {
    if !settings.profile(pod)?.filters.has(Filter::Devices) {
        return None;
    }
    pod.claims.iter().find_map(|claim| match &claim.source {
        ClaimSource::ToBeGenerated { template } => {
            let (namespace, template) = (pod.id.namespace.clone(), template.clone());
            Some(Lacking::Template { namespace, template })
        }
        _ => pod.claim_id(claim).filter(|id| facts.claims.get(id).is_none()).map(Lacking::Claim),
    })
}

fn lack_of_members(facts: &Facts, root: &Root) -> Option<Lacking> {
    if facts.groups.has_enough(root) {
        return None;
    }
    Some(match root {
        Root::Composite(id) => Lacking::Groups { composite: id.clone() },
        Root::Group(id) => Lacking::Members { group: id.clone(), at_least: facts.groups.get(id)?.at_least },
    })
}

/// What the members of a group wait for, if the group or a composite group above it is not there.
fn lack_above(facts: &Facts, settings: &Settings, id: &GroupId) -> Option<Lacking> {
    if let Some(group) = facts.groups.get(id) {
        let is_on = settings.gates.enabled(Gate::CompositePodGroup);
        let mut above = group.parent.clone().filter(|_| is_on && facts.groups.root_of(id).is_none())?;
        let mut seen = BTreeSet::new();
        while seen.insert(above.clone()) {
            let at = GroupId { namespace: id.namespace.clone(), name: above.clone().into() };
            match facts.groups.composite(&at) {
                None => return Some(Lacking::Composite { group: id.clone(), composite: above }),
                Some(known) => above = known.parent.clone()?,
            }
        }
        return Some(Lacking::CompositeCycle { group: id.clone(), composite: above });
    }
    let Some(sought) = id.name.replica() else {
        return Some(Lacking::Group(id.clone()));
    };
    let Replica { workload, group, number } = sought.clone();
    let known = WorkloadId { namespace: id.namespace.clone(), name: workload.clone() };
    let Some(groups) = facts.groups.of_workload(&known) else {
        return Some(Lacking::Workload { workload });
    };
    let known = groups.iter().filter_map(|one| one.name.replica());
    let replicas = known.filter(|one| one.is_sibling(sought)).count();
    Some(match replicas {
        0 => Lacking::GroupOfWorkload { workload, group },
        _ => Lacking::Replica { workload, group, replica: number, replicas },
    })
}
