//! How far the devices of a claim have come that must be made ready, read from what is reported of each.

use std::sync::Arc;

use cluster::preparation::{Failed, Preparation, Progress};
use model::device::DeviceId;
use model::duration;
use objects::meta::Condition;
use objects::resource::allocation::{
    AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaimStatus,
};

/// What is left to do before a pod may be bound with a claim; nothing if no device of it has conditions.
pub(crate) fn preparation(status: &ResourceClaimStatus) -> Option<Arc<Preparation>> {
    let allocation = status.allocation.as_ref()?;
    let results = allocation.devices.results.iter().filter(|result| !result.binding_conditions.is_empty());
    let devices: Vec<Progress> = results.map(|result| progress(result, &status.devices)).collect();
    let since = allocation.allocation_timestamp.map(|time| time.0);
    (!devices.is_empty()).then(|| Arc::new(Preparation { since, devices }))
}

fn progress(result: &DeviceRequestAllocationResult, reports: &[AllocatedDeviceStatus]) -> Progress {
    // Shares of one device are made ready one by one, and each has a report of its own.
    let is_about = |report: &&AllocatedDeviceStatus| {
        report.driver == result.driver
            && report.pool == result.pool
            && report.device == result.device
            && report.share_id == result.share_id
    };
    let reported = reports.iter().find(is_about).map_or(&[][..], |report| &report.conditions);
    let holding = |name: &String| {
        reported.iter().find(|condition| condition.type_ == *name && condition.status == "True")
    };
    let missing = result.binding_conditions.iter().filter(|name| holding(name).is_none());
    let device = DeviceId {
        driver: result.driver.as_str().into(),
        pool: result.pool.as_str().into(),
        device: result.device.as_str().into(),
    };
    // A time that cannot be read is none: the server refuses such, and the common one counts then.
    let timeout = result.binding_timeout.as_deref().and_then(|text| duration::parse(text).ok());
    Progress {
        device,
        timeout_ms: timeout.map(|length| i64::try_from(length.as_millis()).unwrap_or(i64::MAX)),
        missing: missing.map(|name| name.as_str().into()).collect(),
        failed: result.binding_failure_conditions.iter().find_map(|name| holding(name).map(failed)),
    }
}

fn failed(condition: &Condition) -> Failed {
    Failed {
        condition: condition.type_.as_str().into(),
        reason: condition.reason.as_str().into(),
        message: condition.message.as_str().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(results: &Value, devices: &Value) -> Option<Arc<Preparation>> {
        let allocation = json!({
            "allocationTimestamp": "2026-01-02T03:04:05Z", "devices": { "results": results },
        });
        let status = json!({ "allocation": allocation, "devices": devices });
        preparation(&serde_json::from_value(status).expect("a status"))
    }

    fn result(share: Option<&str>) -> Value {
        json!({
            "request": "r", "driver": "d.example.com", "pool": "p", "device": "x", "shareID": share,
            "bindingConditions": ["Attached", "Checked"], "bindingFailureConditions": ["Broken"],
            "bindingTimeout": "90s",
        })
    }

    fn report(share: Option<&str>, conditions: &[(&str, &str)]) -> Value {
        let condition = |(name, status): &(&str, &str)| json!({ "type": name, "status": status, "reason": "R", "message": "m", "lastTransitionTime": null });
        let conditions: Vec<Value> = conditions.iter().map(condition).collect();
        json!({ "driver": "d.example.com", "pool": "p", "device": "x", "shareID": share, "conditions": conditions })
    }

    #[test]
    fn only_what_is_reported_as_true_counts() {
        let missing = |devices: Value| -> Vec<Arc<str>> {
            let found = read(&json!([result(None)]), &devices).expect("it has conditions");
            found.devices[0].missing.clone()
        };
        assert_eq!(missing(json!([])), ["Attached".into(), "Checked".into()]);
        let reported = report(None, &[("Attached", "True"), ("Checked", "Unknown")]);
        assert_eq!(missing(json!([reported])), ["Checked".into()]);
        let other = json!({ "driver": "d.example.com", "pool": "p", "device": "y", "conditions": [] });
        let both = report(None, &[("Attached", "True"), ("Checked", "True")]);
        assert!(missing(json!([other, both])).is_empty());
    }

    #[test]
    fn shares_of_a_device_are_told_apart() {
        let ready = report(Some("one"), &[("Attached", "True"), ("Checked", "True")]);
        let found =
            read(&json!([result(Some("one")), result(Some("two"))]), &json!([ready])).expect("conditions");
        assert!(found.devices[0].missing.is_empty());
        assert_eq!(found.devices[1].missing.len(), 2);
        assert_eq!(found.devices[1].timeout_ms, Some(90_000));
    }

    #[test]
    fn a_failure_tells_its_reason_and_devices_without_conditions_need_nothing() {
        let broken = report(None, &[("Broken", "True")]);
        let found = read(&json!([result(None)]), &json!([broken])).expect("it has conditions");
        let failed = Failed { condition: "Broken".into(), reason: "R".into(), message: "m".into() };
        assert_eq!(found.devices[0].failed, Some(failed));
        assert_eq!(found.since.map(|time| time.to_string()).as_deref(), Some("2026-01-02T03:04:05Z"));
        let plain = json!({ "request": "r", "driver": "d.example.com", "pool": "p", "device": "x" });
        assert_eq!(read(&json!([plain]), &json!([])), None);
    }
}
