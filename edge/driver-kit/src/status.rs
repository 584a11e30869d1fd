//! The state of allocated devices, in the status of their claim, for people and for schedulers that wait for it.
//!
//! Entries are written by server-side apply in the driver's name, so that several drivers of one claim do not overwrite
//! each other. Invariant: a state is written only to the claim that is meant, never to one that took its name.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Answer, Connection, Patch, Resource};
use model::timestamp::Timestamp;
use objects::Time;
use objects::meta::Condition;
use objects::resource::allocation::{AllocatedDeviceStatus, NetworkDeviceData};
use objects::resource::claim::ResourceClaim;
use objects::{Object, Raw};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::sleep;

use crate::plugin::ClaimReference;

/// The most that a driver may say of a device in words of its own.
const OWN_WORDS_BYTES_MAX: usize = 10 * 1024;

/// The most conditions of a device.
const CONDITIONS_MAX: usize = 8;

/// How often a report is tried while the server is not well, and the pause between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// The state of an allocated device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceState {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub device: String,
    /// Which share of it, if it is allocated several times.
    pub share_id: Option<String>,
    /// What holds of it, such as `Ready`. The time of the last change is filled in.
    pub conditions: Vec<Condition>,
    /// What else the driver wants to say: a JSON object of at most 10 KiB.
    pub own_words: Option<Value>,
    /// Addresses, if it is a network device.
    pub network: Option<NetworkDeviceData>,
}

impl DeviceState {
    /// The same state with one more condition.
    #[must_use]
    pub fn condition(mut self, type_: &str, holds: bool, reason: &str, message: &str) -> Self {
        self.conditions.push(Condition {
            type_: type_.to_owned(),
            status: if holds { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Condition::default()
        });
        self
    }
}

/// Why a state was not written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReportError {
    /// The claim is gone, or another has its name.
    #[error("claim {0} was deleted")]
    Gone(ClaimReference),
    /// The state itself is wrong.
    #[error("device {pool}/{device}: {what}")]
    BadState {
        /// The pool.
        pool: String,
        /// The device.
        device: String,
        /// What is wrong with it.
        what: String,
    },
    /// The server refuses it or cannot be reached.
    #[error("cannot report the state of claim {claim}: {why}")]
    Failed {
        /// The claim.
        claim: ClaimReference,
        /// What it said.
        why: String,
    },
}

/// Reports states of devices in the name of a driver.
#[derive(Clone)]
pub struct StatusReporter {
    connection: Connection,
    driver: String,
}

impl StatusReporter {
    /// A reporter of a driver.
    pub fn new(connection: Connection, driver: impl Into<String>) -> Self {
        Self { connection, driver: driver.into() }
    }

    /// Says that the driver's devices of a claim are in these states, and nothing about others. What was said before of a
    /// device that is not named any more is taken back.
    ///
    /// # Errors
    /// When a state is wrong, the claim is gone, or the server refuses it or is not well for about a second.
    pub async fn report(&self, claim: &ClaimReference, states: &[DeviceState]) -> Result<(), ReportError> {
        states.iter().try_for_each(check)?;
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&claim.namespace);
        let patch = Patch::Apply { manager: self.driver.clone(), force: true };
        let mut why = String::new();
        for _ in 0..TRIES {
            let old = self.connection.get(&claims, &claim.name).await;
            let answer = match old {
                Answer::Done(old) if old.metadata.uid == claim.uid => {
                    let body = self.body(claim, states, &old);
                    self.connection.patch_status(&claims, &claim.name, &patch, &body).await
                }
                Answer::Done(_) => return Err(ReportError::Gone(claim.clone())),
                other => other,
            };
            match answer {
                Answer::Done(_) => return Ok(()),
                Answer::NotFound(_) => return Err(ReportError::Gone(claim.clone())),
                Answer::Invalid(_) | Answer::Forbidden(_) => {
                    let why = answer.trouble().unwrap_or_default();
                    return Err(ReportError::Failed { claim: claim.clone(), why });
                }
                // A conflict says that the claim was just replaced, which the next look shows.
                other => why = other.trouble().unwrap_or_default(),
            }
            sleep(PAUSE).await;
        }
        Err(ReportError::Failed { claim: claim.clone(), why })
    }

    fn body(&self, claim: &ClaimReference, states: &[DeviceState], old: &ResourceClaim) -> Value {
        let key = |pool: &str, device: &str, share: &Option<String>| {
            (pool.to_owned(), device.to_owned(), share.clone())
        };
        let said: BTreeMap<_, &AllocatedDeviceStatus> = (old.status.devices.iter())
            .filter(|status| status.driver == self.driver)
            .map(|status| (key(&status.pool, &status.device, &status.share_id), status))
            .collect();
        let status = |state: &DeviceState| {
            let before = said.get(&key(&state.pool, &state.device, &state.share_id));
            let before = before.map_or(&[][..], |status| &status.conditions);
            AllocatedDeviceStatus {
                driver: self.driver.clone(),
                pool: state.pool.clone(),
                device: state.device.clone(),
                share_id: state.share_id.clone(),
                conditions: state.conditions.iter().map(|condition| timed(condition, before)).collect(),
                data: state.own_words.as_ref().map(Raw::of),
                network_data: state.network.clone(),
                ..AllocatedDeviceStatus::default()
            }
        };
        let devices: Vec<AllocatedDeviceStatus> = states.iter().map(status).collect();
        json!({
            "apiVersion": ResourceClaim::API_VERSION,
            "kind": ResourceClaim::KIND,
            "metadata": { "name": claim.name, "namespace": claim.namespace, "uid": claim.uid },
            "status": { "devices": devices },
        })
    }
}

/// The condition with the time since which it holds.
fn timed(condition: &Condition, before: &[Condition]) -> Condition {
    let same = before.iter().find(|old| old.type_ == condition.type_ && old.status == condition.status);
    let since = condition.last_transition_time.or_else(|| same?.last_transition_time);
    Condition { last_transition_time: Some(since.unwrap_or_else(now)), ..condition.clone() }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)).to_seconds())
}

fn check(state: &DeviceState) -> Result<(), ReportError> {
    let bad = |what: String| {
        Err(ReportError::BadState { pool: state.pool.clone(), device: state.device.clone(), what })
    };
    if state.conditions.len() > CONDITIONS_MAX {
        return bad(format!("has {} conditions; the limit is {CONDITIONS_MAX}", state.conditions.len()));
    }
    match &state.own_words {
        Some(words) if !words.is_object() => bad("the driver's data must be a JSON object".to_owned()),
        Some(words) if words.to_string().len() > OWN_WORDS_BYTES_MAX => {
            bad(format!("the driver's data has more than {OWN_WORDS_BYTES_MAX} bytes"))
        }
        _ => Ok(()),
    }
}
