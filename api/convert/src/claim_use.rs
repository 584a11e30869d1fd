//! What an allocated claim says to people: users by name, the time of its allocation, and all of its devices.

use model::claim_use::{ClaimUse, ClaimUser, UsedDevice};
use model::device::DeviceId;
use objects::resource::claim::ResourceClaim;

use crate::claim::request_name;

/// The users and the devices of a claim, also those to which it has administrative access.
#[must_use]
pub fn claim_use(claim: &ResourceClaim) -> ClaimUse {
    let allocation = claim.status.allocation.as_ref();
    let results = allocation.into_iter().flat_map(|allocation| &allocation.devices.results);
    let devices = results.map(|result| UsedDevice {
        device: DeviceId {
            driver: result.driver.as_str().into(),
            pool: result.pool.as_str().into(),
            device: result.device.as_str().into(),
        },
        request: request_name(&result.request),
        admin: result.admin_access == Some(true),
    });
    let users = claim
        .status
        .reserved_for
        .iter()
        .map(|user| ClaimUser { resource: user.resource.as_str().into(), name: user.name.as_str().into() });
    ClaimUse {
        since: allocation.and_then(|allocation| allocation.allocation_timestamp).map(|time| time.0),
        users: users.collect(),
        devices: devices.collect(),
    }
}

#[cfg(test)]
mod tests {
    use objects::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn users_devices_and_the_time_are_told_and_administrative_access_is_no_holding() {
        let result = |device: &str, admin: bool| json!({ "request": "r/large", "driver": "d", "pool": "p", "device": device, "adminAccess": admin });
        let allocation = json!({
            "allocationTimestamp": "2026-01-02T03:04:05Z",
            "devices": { "results": [result("a", false), result("b", true)] },
        });
        let status = json!({ "allocation": allocation, "reservedFor": [{ "resource": "pods", "name": "web", "uid": "1" }] });
        let object = json!({ "metadata": { "name": "c", "namespace": "n" }, "status": status });
        let told = claim_use(&ResourceClaim::read_value(&object).expect("a claim"));
        let devices: Vec<String> =
            told.devices.iter().map(|one| format!("{} {} {}", one.device, one.request, one.admin)).collect();
        assert_eq!(devices, ["d/p/a r/large false", "d/p/b r/large true"]);
        assert_eq!(told.users, [ClaimUser { resource: "pods".into(), name: "web".into() }]);
        assert_eq!(told.since.map(|time| time.to_string()).as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(claim_use(&ResourceClaim::default()), ClaimUse::default());
    }
}
