//! Claims become ready for a pod: begin, one call for each driver, settle each answer, finish.
//!
//! Invariant: a claim counts as prepared only after every driver with a part in it has said so in this run of the node.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::held::{
    Calls, ClaimKey, DriverPart, Errand, Errands, Held, HeldClaim, HeldClaimStage, HeldDevice,
};
use super::wanted::Wanted;

/// What a driver gives for a claim, before it is ours.
pub(crate) type PreparedDevice = HeldDevice;

/// The name of the call.
pub(crate) const CALL: &str = "NodePrepareResources";

/// Why the claims of a pod are not ready.
#[derive(Debug, Error)]
pub(crate) enum PrepareError {
    #[error(
        "ResourceClaim not created yet for {entry}; hint: check that the template exists and that the resourceclaim \
            controller runs"
    )]
    NotMade { entry: String },
    #[error("fetch ResourceClaim {claim}: {why}")]
    NotRead { claim: String, why: String },
    #[error(
        "ResourceClaim {claim} was not created for pod {pod}; hint: delete the pod; its controller recreates it with a new claim"
    )]
    OfAnother { claim: String, pod: String },
    #[error(
        "pod {pod} ({pod_uid}) is not allowed to use ResourceClaim {claim} ({claim_uid}); hint: the scheduler must \
            reserve the claim for the pod"
    )]
    NotReserved { claim: String, claim_uid: String, pod: String, pod_uid: String },
    #[error("ResourceClaim {claim}: not allocated; hint: check that the scheduler bound the pod")]
    NotAllocated { claim: String },
    #[error(
        "DRA driver {driver} is not registered; hint: check that the driver runs on this node and registers in {registry}"
    )]
    NotRegistered { driver: String, registry: String },
    #[error(
        "old ResourceClaim with same name {claim} and different UID {uid} still exists; hint: it is removed when \
            its driver has unprepared it; see the events of the node"
    )]
    Predecessor { claim: String, uid: String },
    #[error("ResourceClaim {claim} is being unprepared; hint: it is retried when that is done")]
    BeingUnprepared { claim: String },
    #[error("{CALL} of DRA driver {driver}: {why}")]
    Call { driver: String, why: String },
    #[error(
        "{CALL} of DRA driver {driver} failed for ResourceClaim {claim}: {why}; hint: see the log of the driver"
    )]
    Refused { driver: String, claim: String, why: String },
    #[error(
        "{CALL} of DRA driver {driver} returned result for unknown claim UID {uid}; hint: this is a bug in the \
            driver; check for an update"
    )]
    UnknownClaim { driver: String, uid: String },
    #[error(
        "{CALL} of DRA driver {driver} skipped ResourceClaim {claim}; hint: this is a bug in the driver; check for an update"
    )]
    Skipped { driver: String, claim: String },
    #[error(
        "{CALL} of DRA driver {driver} returned device {device} of pool {pool} twice for ResourceClaim {claim}; \
            hint: this is a bug in the driver; check for an update"
    )]
    Twice { driver: String, claim: String, pool: String, device: String },
    #[error("{0}")]
    Disk(String),
}

/// Notes that a pod uses its claims, and says which drivers to call for those that are not ready.
///
/// # Errors
/// A claim of the same name is still here, or the claim is being taken back.
pub(crate) fn begin(held: &mut Held, pod: &str, wanted: &[Wanted]) -> Result<Calls, PrepareError> {
    for claim in wanted {
        let name = || claim.key.name.clone();
        match held.0.get(&claim.key) {
            Some(known) if known.uid != claim.uid => {
                return Err(PrepareError::Predecessor { claim: name(), uid: known.uid.clone() });
            }
            Some(known) if known.stage == HeldClaimStage::Unpreparing => {
                return Err(PrepareError::BeingUnprepared { claim: name() });
            }
            _ => {}
        }
    }
    let mut errands = Errands::default();
    for claim in wanted {
        let known = held.0.entry(claim.key.clone()).or_insert_with(|| taken(claim));
        known.pods.insert(pod.to_owned());
        if known.stage != HeldClaimStage::Prepared {
            errands.add(CALL, &claim.key, known);
        }
    }
    Ok(errands.into_calls())
}

fn taken(claim: &Wanted) -> HeldClaim {
    let part = |(driver, skips): (&String, &Vec<String>)| {
        (driver.clone(), DriverPart { devices: Vec::new(), skips: skips.clone() })
    };
    HeldClaim {
        uid: claim.uid.clone(),
        pods: BTreeSet::new(),
        drivers: claim.drivers.iter().map(part).collect(),
        stage: HeldClaimStage::Unsure,
    }
}

/// Takes a driver's answer: devices or an error for each claim, by uid. What the driver said before of these claims is void.
///
/// # Errors
/// The driver refused a claim, or its answer is not about the claims that it was asked for.
pub(crate) fn settle(
    held: &mut Held,
    errand: &Errand,
    mut answer: BTreeMap<String, Result<Vec<PreparedDevice>, String>>,
) -> Result<(), PrepareError> {
    let driver = || errand.driver.clone();
    let is_asked = |uid: &String| errand.claims.iter().any(|(_, asked)| asked == uid);
    if let Some(uid) = answer.keys().find(|uid| !is_asked(uid)) {
        return Err(PrepareError::UnknownClaim { driver: driver(), uid: uid.clone() });
    }
    for (key, uid) in &errand.claims {
        let claim = || key.name.clone();
        let devices = match answer.remove(uid) {
            None => return Err(PrepareError::Skipped { driver: driver(), claim: claim() }),
            Some(Err(why)) => return Err(PrepareError::Refused { driver: driver(), claim: claim(), why }),
            Some(Ok(devices)) => devices,
        };
        if let Some(device) = repeated(&devices) {
            let (pool, device) = (device.pool.clone(), device.device.clone());
            return Err(PrepareError::Twice { driver: driver(), claim: claim(), pool, device });
        }
        if let Some(known) = held.0.get_mut(key).filter(|known| known.uid == *uid) {
            known.drivers.entry(errand.driver.clone()).or_default().devices = devices;
        }
    }
    Ok(())
}

/// The first device that is there twice for the same requests. One that serves several requests, or is shared, may be there
/// several times.
fn repeated(devices: &[PreparedDevice]) -> Option<&PreparedDevice> {
    let is_same = |a: &PreparedDevice, b: &PreparedDevice| {
        (&a.pool, &a.device, &a.share, &a.requests) == (&b.pool, &b.device, &b.share, &b.requests)
    };
    let before =
        |(at, device): &(usize, &PreparedDevice)| devices[..*at].iter().any(|one| is_same(one, device));
    devices.iter().enumerate().find(before).map(|(_, device)| device)
}

/// All drivers have answered: the claims are ready.
pub(crate) fn finish(held: &mut Held, wanted: &[ClaimKey]) {
    for key in wanted {
        if let Some(claim) = held.0.get_mut(key).filter(|claim| claim.stage == HeldClaimStage::Unsure) {
            claim.stage = HeldClaimStage::Prepared;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str, uid: &str, drivers: &[&str]) -> Wanted {
        let key = ClaimKey { namespace: "ns".into(), name: name.into() };
        Wanted { key, uid: uid.into(), drivers: drivers.iter().map(|&name| (name.into(), vec![])).collect() }
    }

    fn device(name: &str) -> PreparedDevice {
        HeldDevice { pool: "p".into(), device: name.into(), ..HeldDevice::default() }
    }

    fn answer(uid: &str, devices: &[&str]) -> BTreeMap<String, Result<Vec<PreparedDevice>, String>> {
        BTreeMap::from([(uid.to_owned(), Ok(devices.iter().map(|name| device(name)).collect()))])
    }

    #[test]
    fn each_driver_is_called_once_for_all_claims_of_a_pod() {
        let mut held = Held::default();
        let claims = [wanted("a", "1", &["gpu", "nic"]), wanted("b", "2", &["gpu"])];
        let errands = begin(&mut held, "pod", &claims).expect("nothing is in the way").errands;
        let calls: Vec<(&str, usize)> = errands.iter().map(|one| (&*one.driver, one.claims.len())).collect();
        assert_eq!(calls, [("gpu", 2), ("nic", 1)]);
        assert!(held.pods().contains("pod"));
    }

    #[test]
    fn a_claim_that_is_ready_is_shared_without_a_call() {
        let mut held = Held::default();
        let claim = [wanted("a", "1", &["gpu"])];
        let errands = begin(&mut held, "first", &claim).expect("nothing is in the way").errands;
        settle(&mut held, &errands[0], answer("1", &["d"])).expect("a good answer");
        finish(&mut held, &[claim[0].key.clone()]);
        assert_eq!(begin(&mut held, "second", &claim).expect("it is ready"), Calls::default());
        assert_eq!(held.0[&claim[0].key].pods.len(), 2);
    }

    #[test]
    fn a_second_answer_replaces_the_first() {
        let mut held = Held::default();
        let claim = [wanted("a", "1", &["gpu"])];
        let errands = begin(&mut held, "pod", &claim).expect("nothing is in the way").errands;
        settle(&mut held, &errands[0], answer("1", &["d"])).expect("a good answer");
        settle(&mut held, &errands[0], answer("1", &["e"])).expect("a good answer");
        assert_eq!(held.0[&claim[0].key].drivers["gpu"].devices, [device("e")]);
    }

    #[test]
    fn a_call_that_a_driver_does_without_is_not_made() {
        let mut claim = wanted("a", "1", &["gpu", "nic"]);
        claim.drivers.insert("gpu".into(), vec!["*".into()]);
        let calls = begin(&mut Held::default(), "pod", &[claim]).expect("nothing is in the way");
        assert_eq!(calls.skipped, ["gpu"]);
        assert_eq!(calls.errands.iter().map(|one| &*one.driver).collect::<Vec<_>>(), ["nic"]);
    }

    #[test]
    fn a_predecessor_and_a_claim_on_its_way_out_are_in_the_way_and_nothing_is_noted() {
        let mut held = Held::default();
        begin(&mut held, "old", &[wanted("a", "1", &["gpu"])]).expect("nothing is in the way");
        let both = [wanted("z", "9", &["gpu"]), wanted("a", "2", &["gpu"])];
        let error = begin(&mut held, "new", &both).expect_err("the old one is there");
        assert!(matches!(error, PrepareError::Predecessor { uid, .. } if uid == "1"));
        for claim in held.0.values_mut() {
            claim.stage = HeldClaimStage::Unpreparing;
        }
        let error = begin(&mut held, "new", &[wanted("a", "1", &["gpu"])]).expect_err("it goes");
        assert!(matches!(error, PrepareError::BeingUnprepared { .. }));
        assert!(!held.pods().contains("new"));
    }

    #[test]
    fn a_driver_that_does_not_answer_what_it_was_asked_is_found_out() {
        let claims = [wanted("a", "1", &["gpu"])];
        let settled = |given: BTreeMap<String, Result<Vec<PreparedDevice>, String>>| {
            let mut held = Held::default();
            let errands = begin(&mut held, "pod", &claims).expect("nothing is in the way").errands;
            settle(&mut held, &errands[0], given).expect_err("the answer is bad").to_string()
        };
        assert!(settled(answer("2", &[])).contains("driver gpu returned result for unknown claim UID 2"));
        assert!(settled(BTreeMap::new()).contains("driver gpu skipped ResourceClaim a"));
        assert!(settled(answer("1", &["d", "d"])).contains("driver gpu returned device d of pool p twice"));
        let refused = BTreeMap::from([("1".to_owned(), Err("no power".to_owned()))]);
        assert!(settled(refused).contains("driver gpu failed for ResourceClaim a: no power"));
    }

    #[test]
    fn a_device_for_two_requests_or_in_two_shares_may_come_twice() {
        let serving = |requests: &[&str], share: Option<&str>| HeldDevice {
            requests: requests.iter().map(|&name| name.to_owned()).collect(),
            share: share.map(str::to_owned),
            ..device("d")
        };
        assert!(repeated(&[serving(&["a"], None), serving(&["b"], None)]).is_none());
        assert!(repeated(&[serving(&["a"], Some("1")), serving(&["a"], Some("2"))]).is_none());
        assert!(repeated(&[serving(&["a"], None), serving(&["a"], None)]).is_some());
    }
}
