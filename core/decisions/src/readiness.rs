//! Whether devices that are made ready once they are chosen are so: by what is reported on their claims, and by the clock.

use cluster::claims::ClaimState;
use cluster::facts::Facts;
use cluster::preparation::PreparationState;
use gates::Gate;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::duration;
use model::timestamp::Timestamp;

use crate::profile::Profile;
use crate::settings::Settings;
use crate::values::not_ready::{Awaited, ClaimLost, NotReady};

/// How it ended that devices were made ready for a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReadyOutcome {
    /// All of them are ready.
    Success,
    /// One failed.
    Failure,
    /// One took too long.
    Timeout,
    /// The pod or a claim went, so that nothing waits for it any more.
    Error,
}

impl ReadyOutcome {
    /// In a word, as metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }
}

/// A claim whose devices will not become ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The claim.
    pub claim: ClaimId,
    /// The device.
    pub device: DeviceId,
    /// What became of it.
    pub outcome: ReadyOutcome,
    /// Why.
    pub why: NotReady,
}

impl Broken {
    /// What the state of its devices says against a claim, if it does.
    fn of(id: &ClaimId, state: PreparationState<'_>) -> Option<Broken> {
        let (device, outcome, why) = match state {
            PreparationState::Ready | PreparationState::Pending { .. } => return None,
            PreparationState::Failed(progress, failed) => {
                let (claim, device) = (id.clone(), progress.device.clone());
                let why = NotReady::Failed { claim, device, failed: failed.clone() };
                (&progress.device, ReadyOutcome::Failure, why)
            }
            PreparationState::TimedOut { device, after_ms } => {
                let why = NotReady::TimedOut { claim: id.clone(), device: device.clone(), after_ms };
                (&device.device, ReadyOutcome::Timeout, why)
            }
        };
        Some(Broken { claim: id.clone(), device: device.clone(), outcome, why })
    }
}

/// How the claims of a pod stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// All devices are ready.
    Ready,
    /// Until when, and for what.
    Pending(Timestamp, Awaited),
    /// A claim has its devices no more.
    Lost(ClaimLost),
    /// Some will not become ready.
    Broken(Vec<Broken>),
}

/// Judges whether devices are ready, by facts and settings.
#[derive(Clone, Copy, Debug)]
pub struct Readiness<'r> {
    /// How long devices may take, and whether it counts.
    pub settings: &'r Settings,
    /// What is reported of them.
    pub facts: &'r Facts,
}

impl<'r> Readiness<'r> {
    /// Whether it counts at all if devices are ready.
    #[must_use]
    pub fn counts(self) -> bool {
        let gates = &self.settings.gates;
        gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus)
    }

    /// How claims stand at a time, for a pod that began to wait at another.
    #[must_use]
    pub fn standing(
        self,
        now: Timestamp,
        began: Timestamp,
        claims: &[ClaimId],
        profile: &'r Profile,
    ) -> Standing {
        let mut pending: Option<(Timestamp, Awaited)> = None;
        let mut broken = Vec::new();
        for id in claims {
            let Some(state) = self.facts.claims.get(id) else {
                return Standing::Lost(ClaimLost::Gone(id.clone()));
            };
            if state.allocation.is_none() {
                return Standing::Lost(ClaimLost::Deallocated(id.clone()));
            }
            let Some(preparation) = &state.preparation else { continue };
            match preparation.state(now, began, &self.timeout(profile)) {
                PreparationState::Pending { until, device }
                    if pending.as_ref().is_none_or(|(first, _)| until < *first) =>
                {
                    pending = Some((until, Awaited { claim: id.clone(), device: device.clone() }));
                }
                state => broken.extend(Broken::of(id, state)),
            }
        }
        if !broken.is_empty() {
            return Standing::Broken(broken);
        }
        pending.map_or(Standing::Ready, |(until, what)| Standing::Pending(until, what))
    }

    /// How long a device may take of which its claim does not say so: what its driver says, or what is configured.
    fn timeout(self, profile: &'r Profile) -> impl Fn(&DeviceId) -> i64 + 'r {
        move |device| {
            let published =
                self.facts.slices.device(device).and_then(|device| device.binding.timeout.as_deref());
            let own = published.and_then(|text| duration::parse(text).ok());
            own.map_or(profile.binding_timeout_ms, |own| i64::try_from(own.as_millis()).unwrap_or(i64::MAX))
        }
    }

    /// Why a claim that has devices is of no use to a pod, since they will not become ready.
    #[must_use]
    pub fn will_not_be_ready(self, now: Timestamp, id: &ClaimId, profile: &'r Profile) -> Option<NotReady> {
        let preparation = self.facts.claims.get(id).filter(|_| self.counts())?.preparation.as_ref()?;
        let state = preparation.state(now, now, &self.timeout(profile));
        Broken::of(id, state).map(|broken| broken.why)
    }

    /// Whether the devices of a claim will not become ready for any pod.
    #[must_use]
    pub fn is_broken(self, now: Timestamp, state: &ClaimState) -> bool {
        let Some(preparation) = state.preparation.as_ref().filter(|_| self.counts()) else { return false };
        let longest = self.settings.profiles.iter().max_by_key(|profile| profile.binding_timeout_ms);
        longest.is_some_and(|profile| {
            Broken::of(&state.wish.id, preparation.state(now, now, &self.timeout(profile))).is_some()
        })
    }
}
