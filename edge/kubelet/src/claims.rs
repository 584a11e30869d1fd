//! Claims on a node: which a pod may use, which are prepared, for whom, and what a crash leaves behind.
//!
//! What is decided here is values in, values out; `desk` keeps the values together with their copy on disk.
//!
//! Invariant: before a driver is asked to prepare a claim, the claim is on disk with the pod that it is for; it leaves the
//! disk only when every driver has said that nothing of it is left.

mod checkpoint;
mod containers;
mod desk;
mod held;
mod prepare;
mod unprepare;
mod wanted;

pub use checkpoint::CheckpointError;
pub(crate) use containers::devices_of;
pub(crate) use desk::Desk;
pub(crate) use held::{ClaimKey, Errand, Held, HeldDevice};
#[cfg(test)]
pub(crate) use held::{HeldClaim, HeldClaimStage};
pub(crate) use prepare::{PrepareError, PreparedDevice};
pub(crate) use unprepare::UnprepareError;
pub(crate) use wanted::{Wanted, base_request, claim_of, references};

pub(crate) mod steps {
    //! The steps of preparing and unpreparing, in the order in which they are taken.
    pub(crate) use super::prepare::{
        begin as begin_prepare, finish as finish_prepare, settle as settle_prepare,
    };
    pub(crate) use super::unprepare::{
        begin as begin_unprepare, finish as finish_unprepare, settle as settle_unprepare,
    };
}
