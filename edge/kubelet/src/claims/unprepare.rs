//! Claims are taken back when their last pod is done: begin, one call for each driver, settle each answer, finish.
//!
//! Invariant: a claim is forgotten only when nothing of it is left with any driver.

use std::collections::BTreeMap;

use thiserror::Error;

use super::held::{Calls, ClaimKey, Errand, Errands, Held, HeldClaimStage};

/// The name of the call.
pub(crate) const CALL: &str = "NodeUnprepareResources";

/// Why the claims of a pod are still in place.
#[derive(Debug, Error)]
pub(crate) enum UnprepareError {
    #[error(
        "DRA driver {driver} is not registered; hint: restart the driver on this node, which is needed to release its devices"
    )]
    NotRegistered { driver: String },
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
    #[error("{0}")]
    Disk(String),
}

/// What is to be done for a pod that is over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unpreparation {
    /// The claims that nobody else uses.
    pub(crate) claims: Vec<ClaimKey>,
    pub(crate) calls: Calls,
}

/// Lets go of claims that others use too, closes the rest to newcomers, and says which drivers to call.
pub(crate) fn begin(held: &mut Held, pod: &str) -> Unpreparation {
    let mut errands = Errands::default();
    let mut claims = Vec::new();
    for (key, claim) in held.0.iter_mut().filter(|(_, claim)| claim.pods.contains(pod)) {
        if claim.pods.len() > 1 {
            claim.pods.remove(pod);
            continue;
        }
        claim.stage = HeldClaimStage::Unpreparing;
        errands.add(CALL, key, claim);
        claims.push(key.clone());
    }
    Unpreparation { claims, calls: errands.into_calls() }
}

/// Takes a driver's answer: nothing or an error for each claim, by uid.
///
/// # Errors
/// The driver refused a claim, or its answer is not about the claims that it was asked for.
pub(crate) fn settle(
    errand: &Errand,
    mut answer: BTreeMap<String, Result<(), String>>,
) -> Result<(), UnprepareError> {
    let driver = || errand.driver.clone();
    let is_asked = |uid: &String| errand.claims.iter().any(|(_, asked)| asked == uid);
    if let Some(uid) = answer.keys().find(|uid| !is_asked(uid)) {
        return Err(UnprepareError::UnknownClaim { driver: driver(), uid: uid.clone() });
    }
    for (key, uid) in &errand.claims {
        let claim = || key.name.clone();
        match answer.remove(uid) {
            None => return Err(UnprepareError::Skipped { driver: driver(), claim: claim() }),
            Some(Err(why)) => return Err(UnprepareError::Refused { driver: driver(), claim: claim(), why }),
            Some(Ok(())) => {}
        }
    }
    Ok(())
}

/// All drivers have answered: the claims are gone.
pub(crate) fn finish(held: &mut Held, claims: &[ClaimKey]) {
    for key in claims {
        held.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::held::{DriverPart, HeldClaim};
    use super::*;

    fn held(pods: &[&str]) -> (Held, ClaimKey) {
        let key = ClaimKey { namespace: "ns".into(), name: "a".into() };
        let claim = HeldClaim {
            uid: "1".into(),
            pods: pods.iter().map(|&pod| pod.to_owned()).collect::<BTreeSet<_>>(),
            drivers: BTreeMap::from([("gpu".to_owned(), DriverPart::default())]),
            stage: HeldClaimStage::Prepared,
        };
        (Held(BTreeMap::from([(key.clone(), claim)])), key)
    }

    #[test]
    fn only_the_last_pod_has_a_claim_taken_back() {
        let (mut held, key) = held(&["one", "two"]);
        assert_eq!(begin(&mut held, "one"), Unpreparation::default());
        assert_eq!(held.0[&key].stage, HeldClaimStage::Prepared);
        let unpreparation = begin(&mut held, "two");
        assert_eq!((unpreparation.claims.len(), unpreparation.calls.errands.len()), (1, 1));
        assert_eq!(held.0[&key].stage, HeldClaimStage::Unpreparing);
        let answer = BTreeMap::from([("1".to_owned(), Ok(()))]);
        settle(&unpreparation.calls.errands[0], answer).expect("a good answer");
        finish(&mut held, &unpreparation.claims);
        assert_eq!(held, Held::default());
    }

    #[test]
    fn a_pod_that_never_got_as_far_has_nothing_to_give_back() {
        let (mut held, _) = held(&["one"]);
        assert_eq!(begin(&mut held, "two"), Unpreparation::default());
        assert!(held.pods().contains("one"));
    }

    #[test]
    fn what_failed_is_asked_for_again() {
        let (mut held, _) = held(&["one"]);
        let first = begin(&mut held, "one");
        for bad in [
            BTreeMap::new(),
            BTreeMap::from([("1".to_owned(), Err("busy".to_owned()))]),
            BTreeMap::from([("2".to_owned(), Ok(()))]),
        ] {
            let error = settle(&first.calls.errands[0], bad).expect_err("a bad answer").to_string();
            assert!(error.contains("driver gpu") && error.contains("hint: "), "{error}");
        }
        assert_eq!(begin(&mut held, "one"), first);
    }
}
