//! All devices that match a request, which is what a request for all of them must get.

use gates::Gate;

use crate::attempt::{Attempt, Pick};
use crate::capacity;
use crate::policy::amounts;
use crate::pools::PoolView;
use crate::selection;
use crate::violation::Violation;
use crate::wanted::Wanted;

/// The devices that the request selects and that would be large enough if nobody used them, in the order of pools and
/// slices. Whether they are free plays no role: all means all.
pub(crate) fn matching<'o>(attempt: &Attempt<'o>, wanted: &Wanted<'o>) -> Vec<Pick<'o>> {
    let mut matching = Vec::new();
    for pool in &attempt.pools {
        for found in pool.near_devices(&attempt.evidence) {
            let pick = Pick { wanted: wanted.clone(), found };
            let fits = amounts(attempt, &pick).1.is_empty() && capacity::too_small(attempt, &pick).is_empty();
            if !is_ignored(attempt, &pick) && fits && selection::check(attempt, &pick).is_empty() {
                matching.push(pick);
            }
        }
    }
    matching
}

/// Pools that are being updated or contradict themselves, so that nobody knows all devices.
pub(crate) fn unsettled(attempt: &Attempt<'_>, wanted: &Wanted<'_>) -> Vec<Violation> {
    let open = |view: &PoolView<'_>| matches!(view, PoolView::Incomplete { .. } | PoolView::Invalid { .. });
    let pools = attempt.pools.iter().filter(|pool| open(&pool.view));
    pools
        .map(|pool| Violation::UnsettledPool {
            claim: wanted.claim_name(),
            request: wanted.name(),
            pool: pool.name.clone(),
            why: pool.obstacle().unwrap_or_default(),
        })
        .collect()
}

/// Devices with binding conditions or compatibility groups are not seen at all while the feature is off.
fn is_ignored(attempt: &Attempt<'_>, pick: &Pick<'_>) -> bool {
    let device = pick.found.device;
    let grouped = device.consumes_counters.iter().any(|one| !one.compatibility_groups.is_empty());
    (!device.binding_conditions.is_empty() && !attempt.evidence.binding_conditions())
        || (grouped && !attempt.evidence.gates.enabled(Gate::DRADeviceCompatibilityGroups))
}
