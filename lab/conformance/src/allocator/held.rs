//! What is allocated already, as claims that hold it.
//!
//! The vectors name devices, shares and consumed amounts, and not who has them. Here each device or share gets a
//! made-up claim, so that everything downstream sees what it would see in a cluster.

use std::collections::BTreeMap;

use anyhow::Context;
use objects::Quantity;
use objects::resource::allocation::{AllocationResult, DeviceRequestAllocationResult};
use objects::resource::claim::ResourceClaim;
use serde_json::Value;

/// A share that nobody named, to carry amounts.
const UNNAMED_SHARE: &str = "ffffffff-ffff-4fff-8fff-ffffffffffff";

/// The claims that hold what a case says is allocated.
pub(super) fn holders(allocated: &Value) -> anyhow::Result<Vec<ResourceClaim>> {
    let mut consumed = consumed(allocated)?;
    let mut results = Vec::new();
    for device in names(allocated, "devices")? {
        results.push(result(&device)?);
    }
    for share in names(allocated, "sharedDevices")? {
        let (id, device) = share.split_last().context("a share without a name")?;
        let mut result = result(device)?;
        result.share_id = Some(id.clone());
        // Only the sum of what shares consume matters, so the first one may have it all.
        result.consumed_capacity = consumed.remove(device).unwrap_or_default();
        results.push(result);
    }
    for (device, amounts) in consumed {
        let mut result = result(&device)?;
        result.share_id = Some(UNNAMED_SHARE.to_owned());
        result.consumed_capacity = amounts;
        results.push(result);
    }
    Ok(results.into_iter().enumerate().map(|(number, result)| holder(number, result)).collect())
}

/// A claim that holds one device. No claim of a case lives in its namespace.
fn holder(number: usize, result: DeviceRequestAllocationResult) -> ResourceClaim {
    let mut claim = ResourceClaim::default();
    claim.metadata.namespace = "already-allocated".to_owned();
    claim.metadata.name = format!("holder-{number}");
    let mut allocation = AllocationResult::default();
    allocation.devices.results.push(result);
    claim.status.allocation = Some(allocation);
    claim
}

/// A held device. Which groups it declares is said by the slices alone, as the reference has it.
fn result(name: &[String]) -> anyhow::Result<DeviceRequestAllocationResult> {
    let [driver, pool, device] = name else { anyhow::bail!("a device has three names, not {name:?}") };
    Ok(DeviceRequestAllocationResult {
        device: device.clone(),
        driver: driver.clone(),
        pool: pool.clone(),
        request: "request".to_owned(),
        ..Default::default()
    })
}

/// Lists of names, such as driver, pool and device.
fn names(allocated: &Value, key: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let lists = allocated.get(key).and_then(Value::as_array).into_iter().flatten();
    lists.map(|list| name(list).with_context(|| format!("allocated.{key}"))).collect()
}

fn name(list: &Value) -> anyhow::Result<Vec<String>> {
    let parts = list.as_array().context("no list of names")?.iter();
    parts.map(|part| Ok(part.as_str().context("a name that is no text")?.to_owned())).collect()
}

fn consumed(allocated: &Value) -> anyhow::Result<BTreeMap<Vec<String>, BTreeMap<String, Quantity>>> {
    let entries = allocated.get("consumedCapacity").and_then(Value::as_array).into_iter().flatten();
    entries
        .map(|entry| {
            let device = name(entry.get("device").context("consumed of no device")?)?;
            let amounts = entry.get("consumed").and_then(Value::as_object).into_iter().flatten();
            let amounts = amounts.map(|(name, amount)| {
                let text = amount.as_str().with_context(|| format!("no amount of {name}"))?;
                Ok((name.clone(), Quantity(text.parse()?)))
            });
            Ok((device, amounts.collect::<anyhow::Result<_>>()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use cluster::ledger::Ledger;
    use model::device::DeviceId;
    use serde_json::json;

    use super::*;

    #[test]
    fn devices_shares_and_amounts_are_held_by_somebody() {
        let allocated = json!({
            "devices": [["d", "p", "whole"]],
            "sharedDevices": [["d", "p", "shared", "one"], ["d", "p", "shared", "two"]],
            "consumedCapacity": [
                { "device": ["d", "p", "shared"], "consumed": { "memory": "3" } },
                { "device": ["d", "p", "unshared"], "consumed": { "memory": "500m" } },
            ],
        });
        let mut ledger = Ledger::default();
        for holder in holders(&allocated).expect("all is well formed") {
            convert::take_into(&mut ledger, &holder);
        }
        let held = |device: &str| {
            let id = DeviceId { driver: "d".into(), pool: "p".into(), device: device.into() };
            ledger.holdings(&id).expect("it is held")
        };
        assert!(held("whole").is_dedicated() && !held("whole").is_shared());
        let groups = &held("whole").iter().next().expect("a holding").groups;
        assert!(groups.is_empty(), "nobody noted any");
        assert!(held("shared").is_shared() && !held("shared").is_dedicated());
        assert_eq!((held("shared").iter().count(), held("shared").consumed("memory")), (2, 3_000_000_000));
        assert!(held("unshared").is_shared());
        assert_eq!(held("unshared").consumed("memory"), 500_000_000);
    }
}
