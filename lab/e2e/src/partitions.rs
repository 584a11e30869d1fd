//! Partitions of one device on each node, in two compatibility groups that do not go together.
//!
//! Of each group there are as many as the counters allow in all, so that a node is full with partitions of one group, whichever it is.

use anyhow::Result;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use serde_json::{Value, json};

use crate::shapes::{claim_of, object};

/// The driver of all partitions, and their class.
const DRIVER: &str = "partitions.example.com";
const CLASS: &str = "partition";

/// The class of all partitions.
///
/// # Errors
/// When it cannot be read as one.
pub(crate) fn class() -> Result<DeviceClass> {
    let expression = format!("device.driver == '{DRIVER}'");
    let selectors = json!([{ "cel": { "expression": expression } }]);
    object(&json!({ "metadata": { "name": CLASS }, "spec": { "selectors": selectors } }))
}

/// A claim of one partition of either group.
///
/// # Errors
/// When it cannot be read as one.
pub(crate) fn claim(name: &str) -> Result<ResourceClaim> {
    let request = json!({ "name": "r", "exactly": { "deviceClassName": CLASS } });
    claim_of(name, &json!({ "requests": [request] }))
}

/// The slices of a node of which so many partitions can be allocated; none, if that is none.
///
/// # Errors
/// When they cannot be read as such.
pub(crate) fn slices(node: &str, count: u32) -> Result<Vec<ResourceSlice>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let pool = json!({ "name": format!("{node}-parts"), "generation": 1, "resourceSliceCount": 2 });
    let partition = |group: &str, at: u32| {
        json!({ "name": format!("{group}-{at}"), "consumesCounters": [{
            "counterSet": "whole", "compatibilityGroups": [group], "counters": { "units": { "value": "1" } },
        }] })
    };
    // The next in line is of the other group, so that only the groups keep it from being given.
    let devices: Value = (0..count).flat_map(|at| [partition("a", at), partition("b", at)]).collect();
    let counters = json!([{ "name": "whole", "counters": { "units": { "value": count.to_string() } } }]);
    let slice = |name: &str, field: &str, value: Value| {
        object(&json!({
            "metadata": { "name": format!("{node}-parts-{name}") },
            "spec": { "driver": DRIVER, "nodeName": node, "pool": pool, field: value },
        }))
    };
    Ok(vec![slice("counters", "sharedCounters", counters)?, slice("devices", "devices", devices)?])
}
