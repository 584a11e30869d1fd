//! Compatibility groups, checked again before devices are prepared.
//!
//! Schedulers see to it that devices which draw on the same counter set are in a common group. A driver checks it once more:
//! a scheduler may be older than the groups, two schedulers may decide at the same moment, and a feature gate may be off.
//!
//! Invariant: whichever claims are prepared, on each counter set none of their devices has groups, or all of them have one in
//! common. A claim that would break this is refused, and the claims that are prepared stay so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use objects::resource::claim::ResourceClaim;
use objects::supercargo::noted_groups::NotedGroups;
use thiserror::Error;

use crate::plugin::{ClaimReference, own_results};
use crate::publish::Pool;

/// The claims that are prepared, and with which groups their devices draw on which counter sets.
#[derive(Clone, Debug, Default)]
pub struct PreparedGroups {
    /// By uid.
    claims: BTreeMap<String, Vec<Draw>>,
}

/// What a device of a claim draws on.
#[derive(Clone, Debug)]
struct Draw {
    claim: ClaimReference,
    device: String,
    /// A counter set of a pool.
    on: (String, String),
    groups: BTreeSet<String>,
}

/// A claim whose devices do not go with those that are prepared.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "device {device} cannot be prepared: its compatibility groups on counter set {set} are {groups}, and those of {others} are not \
     compatible; hint: delete the pods that use one of them"
)]
pub struct Incompatible {
    /// The device.
    pub device: String,
    /// The counter set.
    pub set: String,
    /// Its groups.
    pub groups: GroupNames,
    /// The devices in the way. Claims of other namespaces are not named: whoever reads this may not know of them.
    pub others: String,
}

/// Groups as people read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupNames(pub BTreeSet<String>);

impl fmt::Display for GroupNames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        if names.is_empty() { write!(out, "none") } else { write!(out, "{}", names.join(", ")) }
    }
}

impl PreparedGroups {
    /// Takes in a claim that is about to be prepared, if its devices go with those that are prepared. One that is in
    /// already stays as it was taken in: the kubelet asks again after restarts.
    ///
    /// The groups are those that were noted when the devices were chosen, or else those that the pools have now.
    ///
    /// # Errors
    /// When its devices do not go together, or not with those of other claims.
    pub fn admit(
        &mut self,
        claim: &ResourceClaim,
        driver: &str,
        pools: &[Pool],
    ) -> Result<(), Box<Incompatible>> {
        if self.claims.contains_key(&claim.metadata.uid) {
            return Ok(());
        }
        let draws = draws(claim, driver, pools);
        for (at, draw) in draws.iter().enumerate() {
            let prepared = self.claims.values().flatten().chain(&draws[..at]);
            let there: Vec<&Draw> = prepared.filter(|other| other.on == draw.on).collect();
            if !go_together(there.iter().copied().chain([draw])) {
                return Err(Box::new(draw.refused_beside(&there)));
            }
        }
        self.claims.insert(claim.metadata.uid.clone(), draws);
        Ok(())
    }

    /// Takes in a claim that was prepared before a restart, whether or not its devices go with the others: they are in use.
    pub fn restore(&mut self, claim: &ResourceClaim, driver: &str, pools: &[Pool]) {
        self.claims.insert(claim.metadata.uid.clone(), draws(claim, driver, pools));
    }

    /// Forgets a claim that is prepared no more.
    pub fn forget(&mut self, claim_uid: &str) {
        self.claims.remove(claim_uid);
    }
}

impl Draw {
    fn refused_beside(&self, there: &[&Draw]) -> Incompatible {
        let goes_along = |other: &&&Draw| go_together([**other, self].into_iter());
        // Devices may go together two by two and not all at once; then all of them are in the way.
        let (near, far): (Vec<&&Draw>, Vec<&&Draw>) = there.iter().partition(goes_along);
        let in_the_way = if far.is_empty() { near } else { far };
        let (own, foreign): (Vec<&&Draw>, Vec<&&Draw>) =
            in_the_way.into_iter().partition(|other| other.claim.namespace == self.claim.namespace);
        let named = |other: &&Draw| {
            let groups = GroupNames(other.groups.clone());
            format!("device {} of claim {} ({groups})", other.device, other.claim)
        };
        let mut others: Vec<String> = own.into_iter().map(named).collect();
        match foreign.len() {
            0 => {}
            1 => others.push("1 device of a claim in another namespace".to_owned()),
            more => others.push(format!("{more} devices of claims in other namespaces")),
        }
        Incompatible {
            device: self.device.clone(),
            set: self.on.1.clone(),
            groups: GroupNames(self.groups.clone()),
            others: others.join(" and "),
        }
    }
}

/// Whether devices on one counter set may be in use at the same time: none has groups, or all have one in common.
fn go_together<'d>(mut draws: impl Iterator<Item = &'d Draw>) -> bool {
    let Some(first) = draws.next() else { return true };
    let mut common = first.groups.clone();
    let mut alike = true;
    for draw in draws {
        alike &= draw.groups.is_empty() == first.groups.is_empty();
        common.retain(|group| draw.groups.contains(group));
    }
    alike && (first.groups.is_empty() || !common.is_empty())
}

/// What the devices of a claim draw on. Those that it only looks after draw on nothing.
fn draws(claim: &ResourceClaim, driver: &str, pools: &[Pool]) -> Vec<Draw> {
    let noted = NotedGroups::of(claim);
    let reference = ClaimReference::of(claim);
    let mut draws = Vec::new();
    for result in own_results(claim, driver).filter(|result| result.admin_access != Some(true)) {
        let groups = noted.groups(result);
        let pool = pools.iter().find(|pool| pool.name == result.pool);
        let device = pool.and_then(|pool| pool.devices.iter().find(|device| device.name == result.device));
        let mut sets: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for one in device.iter().flat_map(|device| &device.consumes_counters) {
            // The note says with which groups the device was chosen; without one the pool does.
            let now = if groups.is_empty() { one.compatibility_groups.as_slice() } else { &[] };
            sets.insert(&one.counter_set, now.iter().cloned().collect());
        }
        for (set, groups) in groups {
            sets.insert(set, groups.iter().cloned().collect());
        }
        draws.extend(sets.into_iter().map(|(set, groups)| Draw {
            claim: reference.clone(),
            device: result.device.clone(),
            on: (result.pool.clone(), set.to_owned()),
            groups,
        }));
    }
    draws
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const DRIVER: &str = "gpu.example.com";

    /// A GPU that can be cut by two schemes, or used as it is.
    fn pools() -> Vec<Pool> {
        let device = |name: &str, groups: &[&str]| json!({ "name": name, "consumesCounters": [{ "counterSet": "gpu-0", "compatibilityGroups": groups }] });
        let devices = json!([
            device("mig-0", &["mig"]),
            device("mig-1", &["mig", "both"]),
            device("vgpu-0", &["vgpu", "both"]),
            device("vgpu-1", &["vgpu"]),
            device("plain-0", &[]),
            device("plain-1", &[]),
            { "name": "nic" },
        ]);
        let devices = serde_json::from_value(devices).expect("devices");
        vec![Pool { name: "n1".to_owned(), devices, ..Pool::default() }]
    }

    /// A claim with devices, each with the groups that were noted when it was chosen, if they were.
    fn claim(name: &str, devices: &[(&str, Value)]) -> ResourceClaim {
        let result = |(device, noted): &(&str, Value)| {
            json!({
                "request": "r", "driver": DRIVER, "pool": "n1", "device": device, "compatibilityGroups": noted,
            })
        };
        let results: Vec<Value> = devices.iter().map(result).collect();
        let (namespace, own) = name.split_once('/').unwrap_or(("default", name));
        let claim = json!({
            "metadata": { "name": own, "namespace": namespace, "uid": name },
            "status": { "allocation": { "devices": { "results": results } } },
        });
        serde_json::from_value(claim).expect("a claim")
    }

    fn of(name: &str, devices: &[&str]) -> ResourceClaim {
        let devices: Vec<(&str, Value)> = devices.iter().map(|device| (*device, json!({}))).collect();
        claim(name, &devices)
    }

    fn admitted(prepared: &mut PreparedGroups, claim: &ResourceClaim) -> Result<(), String> {
        prepared.admit(claim, DRIVER, &pools()).map_err(|why| why.to_string())
    }

    #[test]
    fn devices_of_two_schemes_are_not_prepared_at_the_same_time() {
        let mut prepared = PreparedGroups::default();
        let (mig, vgpu) = (of("a", &["mig-0"]), of("b", &["vgpu-1"]));
        assert_eq!(admitted(&mut prepared, &mig), Ok(()));
        let refused = "device vgpu-1 cannot be prepared: its compatibility groups on counter set gpu-0 are vgpu, and those \
                       of device mig-0 of claim default/a (mig) are not compatible; hint: delete the pods that use one of them";
        assert_eq!(admitted(&mut prepared, &vgpu), Err(refused.to_owned()));
        assert_eq!(admitted(&mut prepared, &mig), Ok(()), "it is prepared already");
        assert_eq!(admitted(&mut prepared, &of("c", &["mig-1", "nic"])), Ok(()));
        prepared.forget("a");
        prepared.forget("c");
        assert_eq!(admitted(&mut prepared, &vgpu), Ok(()));
    }

    #[test]
    fn all_devices_on_a_counter_set_share_a_group() {
        let mut prepared = PreparedGroups::default();
        assert_eq!(admitted(&mut prepared, &of("a", &["mig-1", "vgpu-0"])), Ok(()));
        // Each of the two goes with one of these, and neither with both.
        assert!(admitted(&mut prepared, &of("b", &["mig-0"])).is_err());
        assert!(admitted(&mut prepared, &of("b", &["vgpu-1"])).is_err());
        assert!(admitted(&mut PreparedGroups::default(), &of("b", &["mig-0", "vgpu-1"])).is_err());
    }

    #[test]
    fn devices_with_and_without_groups_do_not_go_together_in_any_order() {
        for order in [["plain-0", "mig-0"], ["mig-0", "plain-0"]] {
            let mut prepared = PreparedGroups::default();
            assert_eq!(admitted(&mut prepared, &of("a", &order[..1])), Ok(()));
            assert!(admitted(&mut prepared, &of("b", &order[1..])).is_err(), "{order:?}");
        }
        let mut prepared = PreparedGroups::default();
        assert_eq!(admitted(&mut prepared, &of("a", &["plain-0"])), Ok(()));
        assert_eq!(admitted(&mut prepared, &of("b", &["plain-1"])), Ok(()));
        // What was prepared before a restart is in use, whatever it is; nothing joins it.
        prepared.restore(&of("c", &["mig-0"]), DRIVER, &pools());
        for name in ["plain-0", "mig-0"] {
            assert!(admitted(&mut prepared, &of("d", &[name])).is_err(), "{name}");
        }
    }

    #[test]
    fn the_groups_are_those_with_which_a_device_was_chosen() {
        let mut prepared = PreparedGroups::default();
        let noted = claim("a", &[("mig-0", json!({ "gpu-0": ["vgpu"] }))]);
        assert_eq!(admitted(&mut prepared, &noted), Ok(()));
        assert_eq!(admitted(&mut prepared, &of("b", &["vgpu-1"])), Ok(()));
        assert!(admitted(&mut prepared, &of("c", &["mig-1"])).is_err());
        let gone = claim("d", &[("no-longer-published", json!({ "gpu-0": ["mig"] }))]);
        assert!(admitted(&mut prepared, &gone).is_err());
    }

    #[test]
    fn who_only_looks_after_a_device_is_in_nobodys_way() {
        let mut prepared = PreparedGroups::default();
        let mut admin = of("a", &["mig-0"]);
        let allocation = admin.status.allocation.as_mut().expect("an allocation");
        allocation.devices.results[0].admin_access = Some(true);
        assert_eq!(admitted(&mut prepared, &admin), Ok(()));
        assert_eq!(admitted(&mut prepared, &of("b", &["vgpu-1"])), Ok(()));
    }

    #[test]
    fn claims_of_other_namespaces_are_counted_and_not_named() {
        let mut prepared = PreparedGroups::default();
        for name in ["secret/a", "secret/b"] {
            assert_eq!(admitted(&mut prepared, &of(name, &["mig-0"])), Ok(()));
        }
        let refused = admitted(&mut prepared, &of("c", &["vgpu-1"])).expect_err("they do not go together");
        assert!(refused.contains("2 devices of claims in other namespaces"), "{refused}");
        assert!(!refused.contains("secret") && !refused.contains("mig-0"), "{refused}");
    }
}
