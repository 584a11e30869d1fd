//! Which pods wait for something of a claim: one index for all that there is to wait for.
//!
//! Invariant: a pod is here under a claim for as long as it waits for that of it. What changes about a claim looks at these pods, and
//! at no others.

use std::collections::{BTreeMap, BTreeSet};

use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;

/// What a pod waits for of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum For {
    /// That it is there.
    Existence,
    /// That other pods use it, or do so no more, or that something else is reported of its devices: it was refused while the claim
    /// had devices.
    OtherUsers,
    /// That the API has told of what was written.
    News,
    /// That its devices are made ready.
    ReadyDevices,
    /// What a driver's controller does about it.
    Driver,
}

/// Pods by claims, and by what of them they wait for. By uid.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClaimWaits(BTreeMap<ClaimId, BTreeMap<For, BTreeSet<PodUid>>>);

impl ClaimWaits {
    /// A pod waits for something of a claim.
    pub fn add(&mut self, claim: ClaimId, what: For, pod: &PodUid) {
        self.0.entry(claim).or_default().entry(what).or_default().insert(pod.clone());
    }

    /// The pods that wait for something of a claim.
    pub fn pods(&self, claim: &ClaimId, what: For) -> Vec<PodUid> {
        let pods = self.0.get(claim).and_then(|waits| waits.get(&what));
        pods.into_iter().flatten().cloned().collect()
    }

    /// The pods that waited for something of a claim, and do so no more.
    pub fn take(&mut self, claim: &ClaimId, what: For) -> Vec<PodUid> {
        let pods = self.pods(claim, what);
        pods.iter().for_each(|pod| self.remove(claim, what, pod));
        pods
    }

    /// A pod does not wait for something of a claim any more.
    pub fn remove(&mut self, claim: &ClaimId, what: For, pod: &str) {
        let Some(waits) = self.0.get_mut(claim) else { return };
        if let Some(pods) = waits.get_mut(&what) {
            pods.remove(pod);
            if pods.is_empty() {
                waits.remove(&what);
            }
        }
        if waits.is_empty() {
            self.0.remove(claim);
        }
    }

    /// A pod does not wait for something of its claims any more.
    pub fn forget(&mut self, pod: &Pod, what: For) {
        if self.0.is_empty() {
            return;
        }
        pod.claim_ids().for_each(|claim| self.remove(&claim, what, &pod.uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_waits_for_several_things_of_a_claim_and_leaves_nothing() {
        let claim = ClaimId { namespace: "default".into(), name: "c".into() };
        let (a, b): (PodUid, PodUid) = ("a".into(), "b".into());
        let mut waits = ClaimWaits::default();
        for (what, pod) in [(For::News, &a), (For::News, &b), (For::Driver, &a)] {
            waits.add(claim.clone(), what, pod);
        }
        assert_eq!(waits.pods(&claim, For::Driver), std::slice::from_ref(&a));
        assert_eq!(waits.take(&claim, For::News), [a.clone(), b.clone()]);
        assert_eq!(waits.pods(&claim, For::News), [], "they do so no more");
        waits.remove(&claim, For::Driver, &b);
        waits.remove(&claim, For::Driver, &a);
        assert!(waits.0.is_empty());
    }
}
