//! What an engine is told by whoever makes a mistake on purpose.

use std::sync::Arc;

use cluster::change::{Change, CompanionChange, GroupChange, StorageChange};
use cluster::claims::ClaimState;
use cluster::published::Published;
use model::pod::Pod;

use super::provisioner;
use super::setup::Sabotage;

/// A fact as it is told with a mistake; nothing, if it is not told at all.
pub(super) fn told(change: Change, sabotage: Sabotage) -> Option<Change> {
    Some(match (sabotage, change) {
        (Sabotage::LeavesBoundPods, Change::PodApplied(pod)) if pod.node.is_some() => {
            Change::PodApplied(Arc::new(Pod { running: true, ..Pod::clone(&pod) }))
        }
        (Sabotage::BindsUnready, change) => all_ready(change),
        (Sabotage::MistakesPriorities, Change::PodApplied(pod)) => {
            Change::PodApplied(Arc::new(Pod { priority: -pod.priority, ..Pod::clone(&pod) }))
        }
        (Sabotage::DeafToTaints, Change::NodeApplied(mut node)) => {
            node.taints.clear();
            Change::NodeApplied(node)
        }
        (Sabotage::DeafToBudgets, Change::BudgetApplied(_) | Change::BudgetGone(..))
        | (Sabotage::DeafToTaintRules, Change::TaintRuleApplied(_) | Change::TaintRuleGone(_))
        | (Sabotage::DeafToNamespaces, Change::NamespaceApplied(..))
        | (
            Sabotage::DeafToServices,
            Change::Companions(CompanionChange::ServiceApplied(..) | CompanionChange::ServiceGone(..)),
        ) => return None,
        (Sabotage::ForgetsReach, Change::Storage(StorageChange::VolumeApplied(mut volume))) => {
            volume.nodes = None;
            Change::Storage(StorageChange::VolumeApplied(volume))
        }
        (Sabotage::SharesVolumes, Change::Storage(StorageChange::VolumeClaimApplied(mut claim))) => {
            claim.one_pod = false;
            Change::Storage(StorageChange::VolumeClaimApplied(claim))
        }
        (Sabotage::ForgetsLimits, Change::Storage(StorageChange::NodeApplied(mut node))) => {
            node.drivers.values_mut().for_each(|most| *most = None);
            Change::Storage(StorageChange::NodeApplied(node))
        }
        (Sabotage::ForgetsCapacity, Change::Storage(StorageChange::DriverApplied(mut driver))) => {
            driver.tells_capacity = false;
            Change::Storage(StorageChange::DriverApplied(driver))
        }
        (Sabotage::SkipsVolumes, Change::Storage(StorageChange::VolumeClaimApplied(mut claim))) => {
            let any = claim.volume.take().unwrap_or_else(|| provisioner::ANY.into());
            (claim.volume, claim.bound) = (Some(any), true);
            Change::Storage(StorageChange::VolumeClaimApplied(claim))
        }
        (Sabotage::ForgetsParents, Change::Group(GroupChange::Applied(mut group))) => {
            group.parent = None;
            Change::Group(GroupChange::Applied(group))
        }
        (Sabotage::ForgetsLevels, Change::Group(GroupChange::WorkloadApplied(mut workload))) => {
            for group in &mut workload.groups {
                Arc::make_mut(&mut group.terms).levels.clear();
            }
            Change::Group(GroupChange::WorkloadApplied(workload))
        }
        (Sabotage::ForgetsGroups, Change::SliceApplied(published)) => {
            let mut published = Published::clone(&published);
            let draws = published.slice.devices.iter_mut().flat_map(|device| &mut device.draws);
            draws.for_each(|draw| draw.groups.clear());
            Change::SliceApplied(Arc::new(published))
        }
        (_, change) => change,
    })
}

/// A fact without what is left to do for the devices of a claim.
fn all_ready(change: Change) -> Change {
    let ready = |mut state: Box<ClaimState>| {
        state.preparation = None;
        state
    };
    match change {
        Change::ClaimApplied(state) => Change::ClaimApplied(ready(state)),
        Change::ClaimListed(state) => Change::ClaimListed(ready(state)),
        Change::ClaimAnswered(state) => Change::ClaimAnswered(ready(state)),
        other => other,
    }
}
