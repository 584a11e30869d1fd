//! What can be wrong with allocations: one variant a promise, with the names and numbers that show it.

use gates::Gate;
use thiserror::Error;

use crate::names::{ClaimName, DeviceName, PoolName};

/// A device that was chosen for a request of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{claim}, request {request}: {device}")]
pub struct Choice {
    /// The claim.
    pub claim: ClaimName,
    /// The request, or `request/alternative`.
    pub request: String,
    /// The device.
    pub device: DeviceName,
}

/// A field of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the API")]
pub enum ResultField {
    AdminAccess,
    BindingConditions,
    BindingFailureConditions,
    BindingTimeout,
    CompatibilityGroups,
    ConsumedCapacity,
    ShareId,
    SkipNodeOperations,
    Tolerations,
}

/// Something that must never be true of allocations.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the sentence says what the fields are")]
pub enum Violation {
    // Requests and how many devices they get.
    #[error("{claim}: a result is for {request}, which is no request of the claim")]
    UnknownRequest { claim: ClaimName, request: String },
    #[error("{claim}, request {request}: no alternative was allocated")]
    NoAlternative { claim: ClaimName, request: String },
    #[error("{claim}, request {request}: results are for several alternatives: {}", alternatives.join(", "))]
    SeveralAlternatives { claim: ClaimName, request: String, alternatives: Vec<String> },
    #[error("{claim}, request {request}: wants {wanted} devices and got {found}")]
    WrongCount { claim: ClaimName, request: String, wanted: usize, found: usize },
    #[error("{0} was allocated twice for the one request")]
    TwiceInRequest(Choice),
    #[error("{0} matches and was left out, although the request wants all devices")]
    LeftOut(Choice),
    #[error("{claim}, request {request}: wants all devices and there is none")]
    NothingForAll { claim: ClaimName, request: String },
    #[error("{claim}, request {request}: wants all devices, but of {pool} nobody knows them all: {why}")]
    UnsettledPool { claim: ClaimName, request: String, pool: PoolName, why: String },
    #[error("{claim}, request {request}: the way of counting is unknown")]
    UnknownMode { claim: ClaimName, request: String },
    #[error("{claim}: has {found} results, at most {max} are allowed")]
    TooManyResults { claim: ClaimName, found: usize, max: usize },
    #[error("{claim}, request {request}: needs feature gate {gate}, which is off")]
    RequestFeatureOff { claim: ClaimName, request: String, gate: Gate },

    // The device by itself.
    #[error("{0} is in no slice")]
    UnknownDevice(Choice),
    #[error("{choice} cannot be used from node {node}: {why}")]
    NotOffered { choice: Choice, node: String, why: String },
    #[error("{claim}, request {request}: class {class} does not exist")]
    UnknownClass { claim: ClaimName, request: String, class: String },
    #[error("{choice} is not selected by {expression}")]
    NotSelected { choice: Choice, expression: String },
    #[error("{choice}: {expression} cannot be evaluated: {why}")]
    SelectorFails { choice: Choice, expression: String, why: String },
    #[error("{choice} needs feature gate {gate}, which is off")]
    DeviceFeatureOff { choice: Choice, gate: Gate },
    #[error("{choice} skips operations of the node, and node {node} does not declare that it can")]
    NodeLacksFeature { choice: Choice, node: String },
    #[error("{choice} has the taint {taint}, which the request does not tolerate")]
    NotTolerated { choice: Choice, taint: String },
    #[error("{choice} has no capacity {capacity}, which the request asks for")]
    CapacityMissing { choice: Choice, capacity: String },
    #[error("{choice}: {amount} of {capacity} is nothing that the device's policy allows")]
    PolicyBroken { choice: Choice, capacity: String, amount: String },
    #[error("{choice}: how much of {capacity} is consumed cannot be said: {why}")]
    AmountUnclear { choice: Choice, capacity: String, why: String },

    // Devices of one claim beside each other.
    #[error("{claim}: constraint {index} names no attribute")]
    EmptyConstraint { claim: ClaimName, index: usize },
    #[error("{choice} has no value for {attribute}, which constraint {index} compares")]
    AttributeMissing { choice: Choice, index: usize, attribute: String },
    #[error("{choice}: {attribute} cannot be derived: {why}")]
    AttributeFails { choice: Choice, attribute: String, why: String },
    #[error("{choice}: {attribute} differs from that of the devices before it, against constraint {index}")]
    AttributesDiffer { choice: Choice, index: usize, attribute: String },
    #[error("{choice}: {attribute} equals that of {other}, against constraint {index}")]
    AttributesEqual { choice: Choice, index: usize, attribute: String, other: DeviceName },

    // Devices of all claims beside each other.
    #[error("{device} is allocated to {first} and to {second}")]
    TakenTwice { device: DeviceName, first: ClaimName, second: ClaimName },
    #[error("{device} is allocated as a whole to {whole} and in shares to {shared}")]
    WholeAndShared { device: DeviceName, whole: ClaimName, shared: ClaimName },
    #[error("{device}: two shares have the id {share}")]
    ShareIdTwice { device: DeviceName, share: String },
    #[error("{device}: {used} of {capacity} are consumed, the device has {value}")]
    CapacityOverdrawn { device: DeviceName, capacity: String, used: String, value: String },
    #[error("{pool}: {used} of {set}/{counter} are consumed, the pool has {value}")]
    CounterOverdrawn { pool: PoolName, set: String, counter: String, used: String, value: String },
    #[error(
        "{pool}: the devices that draw from {set} have no compatibility group in common: {}",
        listed(devices)
    )]
    GroupsApart { pool: PoolName, set: String, devices: Vec<DeviceName> },
    #[error("{device} draws from {set} beside devices with compatibility groups, while these are off")]
    GroupsClosed { device: DeviceName, set: String },

    // What is written about the devices.
    #[error("{choice}: {field:?} should be {expected} and is {found}")]
    WrongField { choice: Choice, field: ResultField, expected: String, found: String },
    #[error("{claim}: the configuration should be {expected} and is {found}")]
    WrongConfiguration { claim: ClaimName, expected: String, found: String },
    #[error("{claim}: the node selector should be {expected} and is {found}")]
    WrongNodeSelector { claim: ClaimName, expected: String, found: String },
    #[error("{choice}: its node selector has {terms} terms, and only one can be passed on")]
    SeveralTerms { choice: Choice, terms: usize },

    // Reservations.
    #[error("{claim}: is reserved for {consumers} consumers and not allocated")]
    ReservedUnallocated { claim: ClaimName, consumers: usize },
    #[error("{claim}: is reserved for {found} consumers, at most {max} are allowed")]
    TooManyConsumers { claim: ClaimName, found: usize, max: usize },
    #[error("{claim}: is reserved for pod {pod} with uid {uid}, which is gone")]
    ReservedForGone { claim: ClaimName, pod: String, uid: String },

    // Pods that are put on nodes.
    #[error("pod {pod} is put on a node, and of {device}, which {claim} has, {condition} is not reported")]
    BoundUnready { pod: String, claim: ClaimName, device: DeviceName, condition: String },
    #[error("pod {pod} is put on a node, and of {device}, which {claim} has, {condition} is reported")]
    BoundBroken { pod: String, claim: ClaimName, device: DeviceName, condition: String },
}

fn listed(devices: &[DeviceName]) -> String {
    devices.iter().map(|device| device.device.as_str()).collect::<Vec<_>>().join(", ")
}
