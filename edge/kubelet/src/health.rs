//! How devices are, as their drivers say it, and what containers are told of it.
//!
//! Invariant: what a driver said holds for as long as it said, or as we say if it did not; after that nobody knows.

use std::collections::BTreeMap;
use std::time::Duration;

use objects::core::container::Container;
use objects::core::pod::Pod;
use plugin::health::v1::{DeviceHealth, HealthStatus};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::claims::{ClaimKey, Held, HeldDevice, base_request, claim_of};

/// How long a report holds if its driver does not say.
const HOLDS_DEFAULT: Duration = Duration::from_secs(30);

/// How many devices of one driver are remembered.
const DEVICES_MAX: usize = 16_384;

/// The longest message that the API takes, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;

/// What is known of devices, by driver.
#[derive(Default)]
pub(crate) struct Book(BTreeMap<String, BTreeMap<(String, String), KnownHealth>>);

struct KnownHealth {
    health: HealthStatus,
    message: String,
    until: Instant,
}

impl Book {
    /// Takes a report of a driver, and says whether anybody has to hear of it. Devices that it does not mention stay as they
    /// are until that is too old.
    pub(crate) fn take(&mut self, driver: &str, report: Vec<DeviceHealth>, now: Instant) -> bool {
        let known = self.0.entry(driver.to_owned()).or_default();
        let mut changed = false;
        for device in report {
            let health = device.health();
            let holds =
                u64::try_from(device.health_check_timeout_seconds).ok().filter(|seconds| *seconds > 0);
            // A time that is beyond all clocks is as good as a year.
            let holds = holds.map_or(HOLDS_DEFAULT, |seconds| Duration::from_secs(seconds.min(31_536_000)));
            let key = device.device.map(|of| (of.pool_name, of.device_name)).unwrap_or_default();
            let before = known.get(&key);
            if before.is_none() && known.len() >= DEVICES_MAX {
                continue;
            }
            let seen = KnownHealth { health, message: shortened(device.message), until: now + holds };
            changed |=
                before.is_none_or(|before| (before.health, &before.message) != (seen.health, &seen.message));
            known.insert(key, seen);
        }
        changed
    }

    /// A driver says no more, and says whether anybody has to hear of it.
    pub(crate) fn forget(&mut self, driver: &str) -> bool {
        self.0.remove(driver).is_some_and(|devices| !devices.is_empty())
    }

    /// Forgets what is too old, and says whether anybody has to hear of it.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let count = |book: &Self| book.0.values().map(BTreeMap::len).sum::<usize>();
        let before = count(self);
        self.0.values_mut().for_each(|devices| devices.retain(|_, seen| seen.until > now));
        count(self) < before
    }

    /// When something will be too old.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.0.values().flat_map(BTreeMap::values).map(|seen| seen.until).min()
    }

    fn of(&self, driver: &str, device: &HeldDevice) -> Value {
        let key = (device.pool.clone(), device.device.clone());
        let seen = self.0.get(driver).and_then(|devices| devices.get(&key));
        let word = match seen.map_or(HealthStatus::Unknown, |seen| seen.health) {
            HealthStatus::Healthy => "Healthy",
            HealthStatus::Unhealthy => "Unhealthy",
            HealthStatus::Unknown => "Unknown",
        };
        let fallback = || format!("{driver}/{}/{}", device.pool, device.device);
        let id = device.cdi_ids.first().cloned().unwrap_or_else(fallback);
        let mut said = json!({ "resourceID": id, "health": word });
        if let Some(seen) = seen.filter(|seen| !seen.message.is_empty()) {
            said["message"] = json!(seen.message);
        }
        said
    }
}

/// What a container is told of the devices that it uses: the `allocatedResourcesStatus` of its status.
pub(crate) fn of_container(pod: &Pod, container: &Container, held: &Held, book: &Book) -> Vec<Value> {
    let mut told: Vec<Value> = Vec::new();
    for use_of in &container.resources.claims {
        let Some(claim) = claim_of(pod, &use_of.name) else { continue };
        let key = ClaimKey { namespace: pod.metadata.namespace.clone(), name: claim.to_owned() };
        let request = base_request(&use_of.request);
        let name = match use_of.request.as_str() {
            "" => format!("claim:{}", use_of.name),
            request => format!("claim:{}/{request}", use_of.name),
        };
        let mut devices: Vec<Value> = Vec::new();
        for (driver, part) in held.0.get(&key).into_iter().flat_map(|claim| &claim.drivers) {
            for device in part.devices.iter().filter(|device| device.serves(request)) {
                let said = book.of(driver, device);
                // Several devices may go by one id.
                if devices.iter().all(|one| one["resourceID"] != said["resourceID"]) {
                    devices.push(said);
                }
            }
        }
        if !devices.is_empty() && told.iter().all(|one| one["name"] != json!(name)) {
            told.push(json!({ "name": name, "resources": devices }));
        }
    }
    told
}

fn shortened(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES_MAX {
        let end = (0..=MESSAGE_BYTES_MAX - 3).rev().find(|at| message.is_char_boundary(*at));
        message.truncate(end.unwrap_or(0));
        message.push_str("...");
    }
    message
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plugin::health::v1::DeviceIdentifier;

    use super::*;
    use crate::claims::{HeldClaim, HeldClaimStage};

    fn report(device: &str, health: HealthStatus, seconds: i64, message: &str) -> DeviceHealth {
        DeviceHealth {
            device: Some(DeviceIdentifier { pool_name: "p".into(), device_name: device.into() }),
            health: health.into(),
            last_updated_time: 0,
            health_check_timeout_seconds: seconds,
            message: message.into(),
        }
    }

    fn device(name: &str, id: Option<&str>, request: &str) -> HeldDevice {
        HeldDevice {
            pool: "p".into(),
            device: name.into(),
            cdi_ids: id.map(str::to_owned).into_iter().collect(),
            requests: vec![request.to_owned()],
            ..HeldDevice::default()
        }
    }

    fn word(book: &Book, name: &str) -> String {
        book.of("gpu", &device(name, None, "r"))["health"].as_str().expect("a word").to_owned()
    }

    #[test]
    fn a_report_holds_for_its_time_and_then_nobody_knows() {
        let (mut book, start) = (Book::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let both =
            vec![report("a", HealthStatus::Healthy, 0, ""), report("b", HealthStatus::Unhealthy, 60, "hot")];
        assert!(book.take("gpu", both, start));
        assert_eq!(
            (word(&book, "a"), word(&book, "b"), word(&book, "c")),
            ("Healthy".into(), "Unhealthy".into(), "Unknown".into())
        );
        assert!(!book.take("gpu", vec![report("a", HealthStatus::Healthy, 0, "")], after(10)));
        assert_eq!(book.next_expiry(), Some(after(40)));
        assert!(!book.expire(after(39)));
        assert!(book.expire(after(40)));
        assert_eq!((word(&book, "a"), word(&book, "b")), ("Unknown".into(), "Unhealthy".into()));
        assert!(book.forget("gpu"));
        assert_eq!(word(&book, "b"), "Unknown");
        assert!(!book.forget("gpu"));
    }

    #[test]
    fn a_driver_cannot_fill_the_memory() {
        let mut book = Book::default();
        let many = (0..DEVICES_MAX + 5).map(|at| report(&at.to_string(), HealthStatus::Healthy, 0, ""));
        book.take("gpu", many.collect(), Instant::now());
        assert_eq!(book.0["gpu"].len(), DEVICES_MAX);
        let long = shortened("ü".repeat(1000));
        assert!(long.len() <= MESSAGE_BYTES_MAX && long.ends_with("..."), "{}", long.len());
    }

    #[test]
    fn a_container_is_told_of_the_devices_of_its_requests() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "namespace": "ns" },
            "spec": {
                "resourceClaims": [{ "name": "g", "resourceClaimName": "c" }],
                "containers": [
                    { "name": "one", "resources": { "claims": [{ "name": "g", "request": "a/big" }] } },
                    { "name": "all", "resources": { "claims": [{ "name": "g" }] } },
                    { "name": "none" },
                ],
            },
        }))
        .expect("a pod");
        let mut claim = HeldClaim {
            uid: "u".into(),
            pods: BTreeSet::new(),
            drivers: BTreeMap::new(),
            stage: HeldClaimStage::Prepared,
        };
        let devices = vec![device("d1", Some("v/g=1"), "a"), device("d2", None, "b")];
        claim.drivers.entry("gpu".into()).or_default().devices = devices;
        let key = ClaimKey { namespace: "ns".into(), name: "c".into() };
        let held = Held(BTreeMap::from([(key, claim)]));
        let mut book = Book::default();
        book.take("gpu", vec![report("d1", HealthStatus::Unhealthy, 0, "hot")], Instant::now());
        let told = |at: usize| json!(of_container(&pod, &pod.spec.containers[at], &held, &book));
        let hot = json!({ "resourceID": "v/g=1", "health": "Unhealthy", "message": "hot" });
        assert_eq!(told(0), json!([{ "name": "claim:g/a/big", "resources": [hot] }]));
        let unknown = json!({ "resourceID": "gpu/p/d2", "health": "Unknown" });
        assert_eq!(told(1), json!([{ "name": "claim:g", "resources": [hot, unknown] }]));
        assert_eq!(told(2), json!([]));
    }
}
