//! Devices that have to be made ready before a pod may use them, and how far that has come.
//!
//! Invariant: a failure counts before anything else, on whichever device it is, and what is ready at last counts even if it
//! came late.

use std::fmt;
use std::sync::Arc;

use model::device::DeviceId;
use model::timestamp::Timestamp;

/// The devices of a claim that have to be made ready.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Preparation {
    /// When the claim got its devices, if that was written down.
    pub since: Option<Timestamp>,
    /// The devices, in the order of the allocation.
    pub devices: Vec<Progress>,
}

/// How far a device has come.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Progress {
    /// The device.
    pub device: DeviceId,
    /// How long it may take, if the device has a time of its own.
    pub timeout_ms: Option<i64>,
    /// The conditions that are not reported yet.
    pub missing: Vec<Arc<str>>,
    /// The failure that is reported.
    pub failed: Option<Failed>,
}

/// A failure, as the controller that makes the device ready reports it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Failed {
    /// The condition that says so.
    pub condition: Arc<str>,
    /// Why, in a word.
    pub reason: Arc<str>,
    /// Why, in a sentence.
    pub message: Arc<str>,
}

/// What is to be thought of devices that are being made ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreparationState<'p> {
    /// All of them are ready.
    Ready,
    /// One is not, and may become so until then.
    Pending {
        /// Until when.
        until: Timestamp,
        /// The device whose time is over first.
        device: &'p Progress,
    },
    /// One failed.
    Failed(&'p Progress, &'p Failed),
    /// One took too long.
    TimedOut {
        /// The device.
        device: &'p Progress,
        /// How long it had.
        after_ms: i64,
    },
}

impl Preparation {
    /// How it stands. `began` counts where it was not written down when it began, `timeout_ms` for devices of which the claim does
    /// not say how long they may take.
    #[must_use]
    pub fn state(
        &self,
        now: Timestamp,
        began: Timestamp,
        timeout_ms: &dyn Fn(&DeviceId) -> i64,
    ) -> PreparationState<'_> {
        let failed = self.devices.iter().find_map(|one| Some((one, one.failed.as_ref()?)));
        if let Some((device, failed)) = failed {
            return PreparationState::Failed(device, failed);
        }
        let since = self.since.unwrap_or(began);
        let allowed = |one: &Progress| one.timeout_ms.unwrap_or_else(|| timeout_ms(&one.device));
        let pending = self.devices.iter().filter(|one| !one.missing.is_empty());
        let Some(device) = pending.min_by_key(|one| allowed(one)) else { return PreparationState::Ready };
        let (after_ms, until) = (allowed(device), since.plus_millis(allowed(device)));
        if until <= now {
            PreparationState::TimedOut { device, after_ms }
        } else {
            PreparationState::Pending { until, device }
        }
    }
}

impl fmt::Display for Progress {
    /// The device, and what it lacks.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing: Vec<&str> = self.missing.iter().map(AsRef::as_ref).collect();
        write!(out, "device {}: {} not reported yet", self.device, missing.join(", "))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "condition {} is True, reason={:?}, message={:?}",
            self.condition, self.reason, self.message
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(name: &str, missing: &[&str], timeout_ms: Option<i64>) -> Progress {
        let device = DeviceId { driver: "fabric.example.com".into(), pool: "p".into(), device: name.into() };
        Progress {
            device,
            timeout_ms,
            missing: missing.iter().map(|one| (*one).into()).collect(),
            failed: None,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn all_devices_must_be_ready_and_the_shortest_time_counts() {
        let devices = vec![progress("a", &["Attached"], None), progress("b", &["Attached"], Some(30_000))];
        let preparation = Preparation { since: Some(at(100)), devices };
        let PreparationState::Pending { until, device } = preparation.state(at(110), at(0), &|_| 60_000)
        else {
            panic!("neither is ready, and there is time");
        };
        assert_eq!((until, &*device.device.device), (at(130), "b"));
        let late = preparation.state(at(130), at(0), &|_| 60_000);
        assert!(matches!(late, PreparationState::TimedOut { after_ms: 30_000, .. }), "{late:?}");
        let ready = Preparation { devices: vec![progress("a", &[], None)], ..preparation };
        assert_eq!(ready.state(at(1_000_000), at(0), &|_| 1), PreparationState::Ready, "late, but ready");
    }

    #[test]
    fn a_failure_is_seen_wherever_it_is() {
        let failed =
            Failed { condition: "Broken".into(), reason: "NoPort".into(), message: "none is free".into() };
        let broken = Progress { failed: Some(failed), ..progress("b", &["Attached"], None) };
        let preparation =
            Preparation { since: None, devices: vec![progress("a", &["Attached"], None), broken] };
        let PreparationState::Failed(device, why) = preparation.state(at(5), at(5), &|_| 60_000) else {
            panic!("b failed")
        };
        assert_eq!(&*device.device.device, "b");
        assert_eq!(why.to_string(), "condition Broken is True, reason=\"NoPort\", message=\"none is free\"");
    }

    #[test]
    fn without_a_time_written_down_the_wait_counts_from_its_beginning() {
        let preparation = Preparation { since: None, devices: vec![progress("a", &["Attached"], None)] };
        let pending = preparation.state(at(50), at(40), &|_| 60_000);
        assert!(
            matches!(pending, PreparationState::Pending { until, .. } if until == at(100)),
            "{pending:?}"
        );
    }
}
