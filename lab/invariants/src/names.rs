//! Names of objects in violations: what people would look for with kubectl.

use std::fmt;

use objects::resource::allocation::DeviceRequestAllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::{Device, ResourceSlice};

/// A pool of devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolName {
    /// The driver that offers the pool.
    pub driver: String,
    /// The pool's name, which is the driver's own.
    pub pool: String,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceName {
    /// The pool that the device is in.
    pub pool: PoolName,
    /// The device's name in the pool.
    pub device: String,
}

/// A claim, with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimName {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name in the namespace.
    pub name: String,
}

impl PoolName {
    /// The pool that a slice is part of.
    pub fn of(slice: &ResourceSlice) -> Self {
        Self { driver: slice.spec.driver.clone(), pool: slice.spec.pool.name.clone() }
    }
}

impl DeviceName {
    /// A device of a slice.
    pub fn of(slice: &ResourceSlice, device: &Device) -> Self {
        Self { pool: PoolName::of(slice), device: device.name.clone() }
    }

    /// The device that a result names.
    pub fn in_result(result: &DeviceRequestAllocationResult) -> Self {
        let pool = PoolName { driver: result.driver.clone(), pool: result.pool.clone() };
        Self { pool, device: result.device.clone() }
    }
}

impl ClaimName {
    /// The name of a claim.
    pub fn of(claim: &ResourceClaim) -> Self {
        Self { namespace: claim.metadata.namespace.clone(), name: claim.metadata.name.clone() }
    }
}

impl fmt::Display for PoolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.driver, self.pool)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.pool, self.device)
    }
}

impl fmt::Display for ClaimName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}
