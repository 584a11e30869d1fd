//! Calls of the kubelet, whatever version of the protocol they come in.
//!
//! Invariants: every claim of a call has its own answer, and the failure of one spoils no other. A driver never sees a
//! claim that the kubelet does not mean: one with another uid, without devices, or without devices of this driver. A call
//! is carried to its end even if nobody waits for it any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Answer, Connection, Resource};
use objects::resource::allocation::DeviceRequestAllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control;
use thiserror::Error;

use crate::plugin::driver::{ClaimReference, Driver, Failure, PreparedDevice, main_request, own_results};
use crate::plugin::trouble::Trouble;
use crate::plugin::turnstile::Turnstile;

/// What came of each claim, by uid.
pub(crate) type Answers<T> = BTreeMap<String, Result<T, String>>;

/// Why a claim was not handed to the driver.
#[derive(Debug, Error)]
enum Unresolved {
    #[error("claim {0} not found")]
    Missing(ClaimReference),
    #[error("cannot read claim {claim}: {why}")]
    Unreadable { claim: ClaimReference, why: String },
    #[error("claim {claim} has uid {found}, but the kubelet requested {}; it was deleted and recreated", claim.uid)]
    OtherUid { claim: ClaimReference, found: String },
    #[error("claim {0} is not allocated")]
    NotAllocated(ClaimReference),
    #[error("claim {claim} has no device of driver {driver}")]
    NothingOfOurs { claim: ClaimReference, driver: String },
    #[error("driver {driver} prepared device {pool}/{device}, which claim {claim} does not have")]
    NotInClaim { claim: ClaimReference, driver: String, pool: String, device: String },
}

/// The driver, and what stands between it and the kubelet.
pub(crate) struct Calls<D> {
    driver: D,
    name: String,
    connection: Connection,
    turnstile: Turnstile,
}

impl<D: Driver> Calls<D> {
    pub(crate) fn new(driver: D, name: String, connection: Connection, turnstile: Turnstile) -> Self {
        Self { driver, name, connection, turnstile }
    }

    pub(crate) fn driver(&self) -> &D {
        &self.driver
    }

    /// Prepares claims; nothing if the driver panicked.
    pub(crate) async fn prepare(
        self: Arc<Self>,
        claims: Vec<ClaimReference>,
    ) -> Option<Answers<Vec<PreparedDevice>>> {
        let calls = self.clone();
        let work = tokio::spawn(async move {
            let pending = claims.iter().map(|claim| calls.prepare_one(claim)).collect();
            let outcomes = calls.turnstile.pass(pending).await;
            claims.into_iter().map(|claim| claim.uid).zip(outcomes).collect()
        });
        self.unless_it_panicked(work.await.ok())
    }

    /// Unprepares claims; nothing if the driver panicked.
    pub(crate) async fn unprepare(self: Arc<Self>, claims: Vec<ClaimReference>) -> Option<Answers<()>> {
        let calls = self.clone();
        let work = tokio::spawn(async move {
            let pending = claims.iter().map(|claim| calls.driver.unprepare(claim)).collect();
            let outcomes = calls.turnstile.pass(pending).await;
            claims.into_iter().map(|claim| claim.uid).zip(outcomes).collect()
        });
        self.unless_it_panicked(work.await.ok())
    }

    fn unless_it_panicked<T>(&self, answers: Option<T>) -> Option<T> {
        if answers.is_none() {
            self.driver.trouble(&Trouble::Panicked);
        }
        answers
    }

    async fn prepare_one(&self, reference: &ClaimReference) -> Result<Vec<PreparedDevice>, Failure> {
        let claim = self.resolve(reference).await?;
        let mut devices = self.driver.prepare(&claim).await?;
        for device in &mut devices {
            device.requests.iter_mut().for_each(|request| *request = main_request(request).to_owned());
            let is_this = |result: &&DeviceRequestAllocationResult| {
                (&result.pool, &result.device, &result.share_id)
                    == (&device.pool, &device.device, &device.share_id)
            };
            if own_results(&claim, &self.name).find(is_this).is_none() {
                let (claim, driver) = (reference.clone(), self.name.clone());
                let (pool, device) = (device.pool.clone(), device.device.clone());
                return Err(Unresolved::NotInClaim { claim, driver, pool, device }.into());
            }
        }
        Ok(devices)
    }

    /// The claim as it is now, if it is the one that the kubelet means.
    async fn resolve(&self, reference: &ClaimReference) -> Result<ResourceClaim, Unresolved> {
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&reference.namespace);
        let named = reference.clone();
        let claim = match self.connection.get(&claims, &reference.name).await {
            Answer::Done(claim) => claim,
            Answer::NotFound(_) => return Err(Unresolved::Missing(named)),
            other => {
                let why = other.trouble().unwrap_or_default();
                return Err(Unresolved::Unreadable { claim: named, why });
            }
        };
        if claim.metadata.uid != reference.uid {
            return Err(Unresolved::OtherUid { claim: named, found: claim.metadata.uid });
        }
        if claim.status.allocation.is_none() {
            return Err(Unresolved::NotAllocated(named));
        }
        if !holds_something_of(&claim, &self.name) {
            return Err(Unresolved::NothingOfOurs { claim: named, driver: self.name.clone() });
        }
        Ok(claim)
    }
}

/// Whether a claim has devices of a driver, or a handle that the driver's controller left for it.
fn holds_something_of(claim: &ResourceClaim, driver: &str) -> bool {
    let handles = || control::handles(claim).unwrap_or_default();
    own_results(claim, driver).next().is_some() || handles().iter().any(|handle| handle.driver_name == driver)
}
