//! What a driver should hear while its plugin goes on.

use std::time::Duration;

use thiserror::Error;

use crate::publish::PublishTrouble;

/// Something that went wrong in the background.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// Devices are not published as they should be.
    #[error(transparent)]
    Publish(#[from] PublishTrouble),
    /// The kubelet does not want this driver.
    #[error("the kubelet refused to register the driver: {why}")]
    NotRegistered {
        /// What it said.
        why: String,
    },
    /// Health was not reported in time, so that the kubelet takes devices for unknown.
    #[error(
        "no health report for {silent:?}; hint: report again within the time that the last report is valid for"
    )]
    HealthStale {
        /// How long ago the last report was.
        silent: Duration,
    },
    /// The driver panicked in a call. The kubelet will call again.
    #[error("the driver panicked in a call of the kubelet")]
    Panicked,
}
