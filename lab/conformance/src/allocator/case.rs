//! A case as objects, with the gates that are on for it.

use anyhow::Context;
use gates::{Gate, Gates};
use objects::Object;
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use serde_json::Value;

use super::{held, oldest};

/// One question to the allocator.
#[derive(Debug)]
pub struct Case {
    /// The features that are on.
    pub gates: Gates,
    /// The answer was recorded from upstream's oldest allocator.
    pub oldest: bool,
    /// The node to allocate for.
    pub node: Node,
    /// All classes.
    pub classes: Vec<DeviceClass>,
    /// All slices.
    pub slices: Vec<ResourceSlice>,
    /// The claims that want devices.
    pub claims: Vec<ResourceClaim>,
    /// Made-up claims that hold what is allocated already.
    pub holders: Vec<ResourceClaim>,
}

impl Case {
    /// Reads a line of the vectors.
    pub fn read(case: &Value) -> anyhow::Result<Case> {
        let slices: Vec<ResourceSlice> = list(case, "slices")?;
        let holders = held::holders(case.get("allocated").unwrap_or(&Value::Null))?;
        let gates = gates(case.get("features").unwrap_or(&Value::Null))?;
        // Some cases say which allocator they were put to; for the others upstream chose by the features that are on.
        let oldest = match case.get("channel").and_then(Value::as_str) {
            Some(channel) => channel == "stable",
            None => oldest::runs(gates),
        };
        Ok(Case {
            gates,
            oldest,
            node: object(case.get("node").context("no node")?).context("the node")?,
            classes: list(case, "classes")?,
            slices,
            claims: list(case, "claims")?,
            holders,
        })
    }
}

/// Only what is listed is on. Two features that go together are one entry, joined by a plus sign.
fn gates(features: &Value) -> anyhow::Result<Gates> {
    let mut gates = Gates::NONE.with(Gate::DynamicResourceAllocation, true);
    for feature in features.as_array().into_iter().flatten() {
        let feature = feature.as_str().context("a feature that is no text")?;
        for name in feature.split('+') {
            let gate = Gate::named(name).with_context(|| format!("there is no gate {name}"))?;
            gates = gates.with(gate, true);
        }
    }
    Ok(gates)
}

fn list<T: Object>(case: &Value, key: &str) -> anyhow::Result<Vec<T>> {
    let elements = case.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
    elements.map(|(at, element)| object(element).with_context(|| format!("{key}[{at}]"))).collect()
}

fn object<T: Object>(json: &Value) -> anyhow::Result<T> {
    Ok(objects::decode(json.to_string().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_listed_features_are_on() {
        let features = json!(["DRAAdminAccess", "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus"]);
        let on: Vec<_> = gates(&features).expect("known gates").iter().map(Gate::name).collect();
        let wanted = [
            "DynamicResourceAllocation",
            "DRAAdminAccess",
            "DRADeviceBindingConditions",
            "DRAResourceClaimDeviceStatus",
        ];
        assert_eq!(on, wanted);
        let nothing = Gates::NONE.with(Gate::DynamicResourceAllocation, true);
        assert_eq!(gates(&Value::Null).expect("no gates"), nothing);
        assert!(gates(&json!(["DRATelepathy"])).is_err());
    }
}
