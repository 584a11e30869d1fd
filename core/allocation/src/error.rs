//! What makes a question unanswerable.

use std::sync::Arc;

use gates::Gate;
use model::claim::ClaimId;
use model::device::{DeviceId, PoolId};
use model::node::BadRequirement;
use model::request_name::RequestName;
use selector::{BadAttribute, CompileError, EvalError};

use crate::asked::Asker;
use crate::capacity::CapacityFault;

/// Why claims cannot be judged, whatever devices there are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum AllocationError {
    /// A request uses a feature that is off.
    #[error("{claim}, request {request}: it uses {what}, but {} is off; hint: turn the gate on or change the claim", .gate.spec().name)]
    GateOff {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// What it uses.
        what: &'static str,
        /// The gate.
        gate: Gate,
    },
    /// A selector does not compile.
    #[error("{place}, selector {index}: {fault}")]
    SelectorCompile {
        /// The class or claim that it stands in.
        place: Place,
        /// Its place there.
        index: usize,
        /// What is wrong with it.
        fault: Box<ExpressionFault>,
    },
    /// A selector failed on a device.
    #[error("{place}, selector {index}, on device {device}: {fault}")]
    SelectorRun {
        /// The class or claim that it stands in.
        place: Place,
        /// Its place there.
        index: usize,
        /// The device.
        device: Box<DeviceId>,
        /// What happened.
        fault: Box<ExpressionFault>,
    },
    /// A selector is of a kind that we do not know.
    #[error(
        "{claim}, request {request}, selector {index}: it has no expression; hint: only CEL selectors are known"
    )]
    SelectorEmpty {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// Its place.
        index: usize,
    },
    /// All devices are asked for, and a pool is not whole.
    #[error(
        "{claim}, request {request}: it asks for all devices, but {pool} has {seen} of {expected} slices; it waits until the driver has published the rest"
    )]
    AllOfGathering {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// The pool.
        pool: PoolId,
        /// How many slices there are.
        seen: usize,
        /// How many there should be.
        expected: i64,
    },
    /// All devices are asked for, and a pool contradicts itself.
    #[error("{claim}, request {request}: it asks for all devices, but {pool} is invalid: {reason}")]
    AllOfContradictory {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// The pool.
        pool: PoolId,
        /// How.
        reason: String,
    },
    /// All devices are asked for, and a constraint excludes one of them.
    #[error(
        "{claim}, request {request}: it asks for all devices, but a constraint of the claim excludes {device}"
    )]
    AllAgainstConstraint {
        /// The claim.
        claim: Asker,
        /// The request.
        request: RequestName,
        /// The device.
        device: Box<DeviceId>,
    },
    /// A request names no class.
    #[error("{claim}, request {request}: it has no deviceClassName")]
    ClassUnnamed {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
    },
    /// The class is not there.
    #[error("{claim}, request {request}: DeviceClass {class} does not exist")]
    ClassUnknown {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// The class.
        class: Arc<str>,
    },
    /// More devices are asked for than a claim can hold.
    #[error("{claim}: it asks for {wanted} devices, and a claim can hold {}", crate::RESULTS_MAX)]
    TooMany {
        /// The claim.
        claim: Asker,
        /// How many, at least.
        wanted: i64,
    },
    /// An amount cannot be given from a device's capacity, by its own rules.
    #[error("{claim}, request {request}, device {device}, capacity {capacity}: {fault}")]
    Capacity {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// The device.
        device: Box<DeviceId>,
        /// The capacity.
        capacity: Arc<str>,
        /// Why not.
        fault: CapacityFault,
    },
    /// An attribute could not be derived.
    #[error(
        "{claim}, request {request}: attribute {attribute} of device {device} cannot be derived: {fault}"
    )]
    Derived {
        /// The claim.
        claim: Asker,
        /// The request.
        request: RequestName,
        /// The attribute.
        attribute: Arc<str>,
        /// The device.
        device: Box<DeviceId>,
        /// Why not.
        fault: Box<ExpressionFault>,
    },
    /// A constraint is of a kind that we do not know.
    #[error("{claim}, constraint {index}: its type is unknown")]
    ConstraintEmpty {
        /// The claim.
        claim: Asker,
        /// Its place.
        index: usize,
    },
    /// The number of devices is given in a way that we do not know.
    #[error("{claim}, request {request}: the allocation mode {mode:?} is not known")]
    Mode {
        /// The claim.
        claim: Asker,
        /// The request.
        request: Arc<str>,
        /// The mode.
        mode: Arc<str>,
    },
    /// The nodes of a device are picked in a way that cannot be judged.
    #[error("device {device}: {source}")]
    NodeSelector {
        /// The device.
        device: Box<DeviceId>,
        /// Why not.
        source: BadRequirement,
    },
    /// The nodes of a device are picked by several terms, which one selector cannot combine with others.
    #[error("{claim}: device {device} picks its nodes by {terms} terms, and only one can be combined")]
    NodeSelectorTerms {
        /// The claim.
        claim: Asker,
        /// The device.
        device: Box<DeviceId>,
        /// How many.
        terms: usize,
    },
}

/// Why an expression gives no answer, for any device or for one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum ExpressionFault {
    /// There is none.
    #[error("it has no expression")]
    Missing,
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// An attribute of the device cannot be read.
    #[error("{0}")]
    Unreadable(BadAttribute),
    /// It failed on the device.
    #[error(transparent)]
    Run(#[from] EvalError),
}

/// What a selector stands in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A class.
    Class(Arc<str>),
    /// A request of a claim.
    Claim(Asker, Arc<str>),
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Class(class) => write!(out, "class {class}"),
            Place::Claim(claim, request) => write!(out, "{claim}, request {request}"),
        }
    }
}

impl AllocationError {
    /// The claim that the error is about, to put in that of another pod that asks for the same.
    pub fn claim_mut(&mut self) -> Option<&mut ClaimId> {
        let asker = match self {
            Self::GateOff { claim, .. }
            | Self::SelectorEmpty { claim, .. }
            | Self::AllOfGathering { claim, .. }
            | Self::AllOfContradictory { claim, .. }
            | Self::AllAgainstConstraint { claim, .. }
            | Self::ClassUnnamed { claim, .. }
            | Self::ClassUnknown { claim, .. }
            | Self::TooMany { claim, .. }
            | Self::Capacity { claim, .. }
            | Self::Derived { claim, .. }
            | Self::ConstraintEmpty { claim, .. }
            | Self::Mode { claim, .. }
            | Self::NodeSelectorTerms { claim, .. } => claim,
            Self::SelectorCompile { place, .. } | Self::SelectorRun { place, .. } => match place {
                Place::Claim(claim, _) => claim,
                Place::Class(_) => return None,
            },
            Self::NodeSelector { .. } => return None,
        };
        asker.claim_mut()
    }

    /// The kind of error, in a word, for labels and comparisons.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::GateOff { .. } => "gate",
            Self::SelectorCompile { .. } => "selector-compile",
            Self::SelectorRun { .. } => "selector-run",
            Self::SelectorEmpty { .. } => "selector-empty",
            Self::AllOfGathering { .. } => "all-pool-incomplete",
            Self::AllOfContradictory { .. } => "all-pool-invalid",
            Self::AllAgainstConstraint { .. } => "all-constraint",
            Self::ClassUnnamed { .. } => "class-unnamed",
            Self::ClassUnknown { .. } => "class-unknown",
            Self::TooMany { .. } => "limit",
            Self::Capacity { .. } => "capacity",
            Self::Derived { .. } => "derived",
            Self::ConstraintEmpty { .. } => "constraint-empty",
            Self::Mode { .. } => "mode",
            Self::NodeSelector { .. } | Self::NodeSelectorTerms { .. } => "node-selector",
        }
    }
}
